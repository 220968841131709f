package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/httpapi"
	"github.com/kronicle/kronicle/server"
	"github.com/kronicle/kronicle/snapshots"
)

// errDiffers: the verifier has found something, and it has been printed.
var errDiffers = errors.New("the store does not agree with its log")

func verifyCommand(env environment) *cobra.Command {
	o := server.DefaultOptions()
	var l logging
	kubeconfig := ""
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Fold the whole log and compare it with snapshots and the running server",
		Long: `Fold the whole log by a second, simple way and compare the outcome with the
snapshots and, where a server runs, with what it serves.

Exit code 0: everything agrees. 1: something differs, and the first differing
sequence is printed, or the store could not be read.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), env); err != nil {
				return err
			}
			o.Logger = l.logger(env.stderr)
			return verify(cmd.Context(), o, kubeconfig, env)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	storeFlags(flags, &o)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "ask the server of this kubeconfig")
	l.flags(flags)
	l.level = "warn"
	flags.Lookup("log-level").DefValue = l.level
	describeVariables(flags)
	return cmd
}

func verify(ctx context.Context, o server.Options, kubeconfig string, env environment) error {
	bar := newProgress(env.stderr)
	var report snapshots.Report
	var err error
	if kubeconfig == "" {
		report, err = server.Verify(ctx, o, bar.at)
		if errors.Is(err, eventlog.ErrLocked) {
			kubeconfig = o.KubeconfigPath()
		}
	}
	if kubeconfig != "" {
		report, err = verifyRemote(ctx, kubeconfig, bar)
	}
	bar.done()
	if err != nil {
		return err
	}
	return summarize(env.stdout, report)
}

func verifyRemote(ctx context.Context, kubeconfig string, bar *progress) (snapshots.Report, error) {
	body, err := ask(ctx, kubeconfig, "/kronicle/verify")
	if err != nil {
		return snapshots.Report{}, err
	}
	defer body.Close()
	dec := json.NewDecoder(body)
	for {
		var l httpapi.VerifyLine
		if err := dec.Decode(&l); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the report is the last line
			}
			return snapshots.Report{}, fmt.Errorf("read the answer of the server: %w", err)
		}
		switch {
		case l.Error != "":
			return snapshots.Report{}, fmt.Errorf("the server: %s", l.Error)
		case l.Report != nil:
			return *l.Report, nil
		}
		bar.at(l.Seq, l.Last)
	}
}

// summarize prints a report; the error says that it is a bad one.
func summarize(w io.Writer, r snapshots.Report) error {
	against := []string{counted(r.Snapshots, "snapshot")}
	if r.Live {
		against = append(against, "the running server")
	}
	what := fmt.Sprintf("records %d to %d (%s at the end)", r.From, r.To, counted(r.Objects, "object"))
	if r.Records == 0 {
		what = fmt.Sprintf("no records after %d (%s)", r.To, counted(r.Objects, "object"))
	}
	if r.Base != "" {
		what += " from " + r.Base
	}
	if !r.Differs {
		_, err := fmt.Fprintf(w, "verified %s against %s: all agree\n", what, strings.Join(against, " and "))
		return err
	}
	if _, err := fmt.Fprintf(w, "first difference at sequence %d%s: %s\n", r.FirstDiffering, about(r.Object), r.Detail); err != nil {
		return err
	}
	for i, f := range r.Findings {
		if i == 0 && f.Seq == r.FirstDiffering && f.Detail == r.Detail {
			continue
		}
		if _, err := fmt.Fprintf(w, "also at sequence %d%s: %s\n", f.Seq, about(f.Object), f.Detail); err != nil {
			return err
		}
	}
	return errDiffers
}

func about(object string) string {
	if object == "" {
		return ""
	}
	return ", " + word(object)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// progress shows how far something is: a bar on a terminal, now and then a
// line elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	every    time.Duration
	next     time.Time
	drawn    bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, every: 5 * time.Second}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal, p.every = true, 100*time.Millisecond
	}
	p.next = time.Now().Add(p.every)
	return p
}

func (p *progress) at(seq, last uint64) {
	now := time.Now()
	if last == 0 || now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every)
	if !p.terminal {
		fmt.Fprintf(p.w, "verified %d of %d records\n", seq, last)
		return
	}
	const width = 40
	full := int(min(seq, last) * width / last)
	p.drawn = true
	fmt.Fprintf(p.w, "\r[%s%s] %d of %d records ", strings.Repeat("=", full), strings.Repeat(" ", width-full), seq, last)
}

// done takes the bar away.
func (p *progress) done() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
