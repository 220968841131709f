package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kronicle/kronicle/server"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// environment is what a command has beside its arguments.
type environment struct {
	stdout, stderr io.Writer
	lookup         func(name string) (string, bool) // environment variables
	began          time.Time                        // of the process
}

// usageError is a mistake of the caller: one line and exit code 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the whole program but for signals: ctx ends with the first one.
func run(ctx context.Context, args []string, env environment) int {
	root := rootCommand(env)
	root.SetArgs(args)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return exitOK
	}
	fmt.Fprintln(env.stderr, "kronicle: "+oneLine(err))
	var usage usageError
	var option *server.OptionError
	if errors.As(err, &usage) || errors.As(err, &option) {
		return exitUsage
	}
	return exitError
}

// oneLine is the text of err without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func rootCommand(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "kronicle",
		Short:         "A Kubernetes API server on a NATS JetStream log",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagMistake(err)} })
	root.AddCommand(serveCommand(env), logCommand(env), verifyCommand(env), versionCommand(env))
	return root
}

// noArgs refuses arguments; cobra's own check would call an unknown word a
// command only at the root.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasParent() {
		return usagef("unknown command %q; kronicle --help lists the commands", args[0])
	}
	return usagef("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
}

// flagMistake rewords pflag's error without the chain of Go function names
// that a failed conversion carries.
func flagMistake(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		cause := invalid.Unwrap()
		var inner interface{ Unwrap() error }
		if errors.As(cause, &inner) && inner.Unwrap() != nil {
			cause = inner.Unwrap()
		}
		return fmt.Errorf("--%s: %q: %w", invalid.GetFlag().Name, invalid.GetValue(), cause)
	}
	return err
}

// fromEnvironment sets the flags that were not given from their variables.
// The name of a variable is its flag's in capitals with KRONICLE_ before it.
func fromEnvironment(flags *pflag.FlagSet, env environment) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		if first != nil || f.Changed || f.Name == "help" {
			return
		}
		name := variable(f.Name)
		value, ok := env.lookup(name)
		if !ok || value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			first = usageError{fmt.Errorf("%s: %w", name, flagMistake(err))}
		}
	})
	return first
}

func variable(flag string) string {
	return "KRONICLE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// describeVariables adds to each flag's help the variable that sets it, and
// the defaults that pflag does not show because they are zero.
func describeVariables(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		f.Usage += " [" + variable(f.Name) + "]"
		switch f.DefValue {
		case "0", "false":
			f.Usage += " (default " + f.DefValue + ")"
		case "", "[]":
			if !strings.Contains(f.Usage, "(default:") {
				f.Usage += " (default: none)"
			}
		}
	})
}
