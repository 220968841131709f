package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/httpapi"
	"github.com/kronicle/kronicle/server"
)

// logOptions are the flags of `kronicle log`.
type logOptions struct {
	store      server.Options
	kubeconfig string
	from       uint64
	follow     bool
	object     string
	output     string
}

func logCommand(env environment) *cobra.Command {
	o := logOptions{store: server.DefaultOptions(), output: "text"}
	var l logging
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Print the records of a store",
		Long: `Print the records of a store: sequence, time, who, verb, resource, and
namespace/name.

The store is the one in --data-dir, whether a server runs on it or not, or the
one of a server anywhere (--kubeconfig), or a stream in an external NATS
(--nats-url).`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), env); err != nil {
				return err
			}
			o.store.Logger = l.logger(env.stderr)
			return printLog(cmd.Context(), o, env)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Uint64Var(&o.from, "from", 0, "first sequence to print; 0: the oldest there is")
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on with the records that come")
	flags.StringVar(&o.object, "object", "", "only this object: resource[.group]/namespace/name, or resource[.group]/name")
	flags.VarP(oneOf{&o.output, []string{"text", "json"}}, "output", "o", "form of the output; json is one document a line")
	storeFlags(flags, &o.store)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "ask the server of this kubeconfig")
	l.flags(flags)
	l.level = "warn"
	flags.Lookup("log-level").DefValue = l.level
	describeVariables(flags)
	return cmd
}

func printLog(ctx context.Context, o logOptions, env environment) error {
	filter, err := httpapi.ParseLogFilter(o.object)
	if err != nil {
		return usagef("--object: %w", err)
	}
	p := &printer{w: bufio.NewWriterSize(env.stdout, 64<<10), json: o.output == "json"}
	err = printFrom(ctx, o, filter, p)
	if ctx.Err() != nil {
		err = nil // interrupted
	}
	if ferr := p.w.Flush(); err == nil {
		err = ferr
	}
	return err
}

func printFrom(ctx context.Context, o logOptions, filter httpapi.LogFilter, p *printer) error {
	if o.kubeconfig != "" {
		return printRemote(ctx, o, o.kubeconfig, p)
	}
	log, err := server.OpenLog(ctx, o.store)
	if errors.Is(err, eventlog.ErrLocked) {
		return printRemote(ctx, o, o.store.KubeconfigPath(), p)
	}
	if err != nil {
		return err
	}
	defer log.Close()
	if o.follow && o.store.NATSURL == "" {
		return fmt.Errorf("--follow: no server is running on %s", o.store.DataDir)
	}
	from := o.from
	if from == 0 {
		from = log.First()
	}
	show := func(entries []eventlog.Entry) error {
		for i := range entries {
			e := &entries[i]
			if e.Record.Op == eventlog.OpBarrier || !filter.Matches(e.Key) {
				continue
			}
			if err := p.line(httpapi.NewLogLine(e)); err != nil {
				return err
			}
		}
		return p.w.Flush()
	}
	if o.follow {
		return log.Follow(ctx, from, show)
	}
	if last := log.Last(); from <= last {
		return log.Range(ctx, from, last, show)
	}
	return nil
}

// remoteLine is a line of the server's answer: a record, or what went wrong
// after it began.
type remoteLine struct {
	httpapi.LogLine
	Error string `json:"error"`
}

func printRemote(ctx context.Context, o logOptions, kubeconfig string, p *printer) error {
	query := url.Values{}
	if o.from > 0 {
		query.Set("from", strconv.FormatUint(o.from, 10))
	}
	if o.follow {
		query.Set("follow", "true")
	}
	if o.object != "" {
		query.Set("object", o.object)
	}
	body, err := ask(ctx, kubeconfig, "/kronicle/log?"+query.Encode())
	if err != nil {
		return err
	}
	defer body.Close()
	in := bufio.NewReaderSize(body, 64<<10)
	dec := json.NewDecoder(in)
	for {
		var l remoteLine
		if err := dec.Decode(&l); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read the log of the server: %w", err)
		}
		if l.Error != "" {
			return fmt.Errorf("the server: %s", l.Error)
		}
		if err := p.line(l.LogLine); err != nil {
			return err
		}
		if o.follow {
			if err := p.w.Flush(); err != nil {
				return err
			}
		}
	}
}

// printer writes records.
type printer struct {
	w    *bufio.Writer
	json bool
}

// timeLayout is RFC 3339 with milliseconds, always as wide.
const timeLayout = "2006-01-02T15:04:05.000Z"

func (p *printer) line(l httpapi.LogLine) error {
	if p.json {
		return json.NewEncoder(p.w).Encode(l)
	}
	verb := l.Verb
	if verb == "" {
		verb = l.Op
	}
	if l.Op == "delete" && !strings.HasPrefix(verb, "delete") {
		verb += "+delete" // the write that took the last finalizer away
	}
	resource := l.Resource
	if l.Group != "" {
		resource += "." + l.Group
	}
	if l.Subresource != "" {
		resource += "/" + l.Subresource
	}
	object := l.Name
	if l.Namespace != "" {
		object = l.Namespace + "/" + l.Name
	}
	_, err := fmt.Fprintf(p.w, "%-8d %s  %-20s %-8s %-24s %s\n", l.Seq, l.Time.Format(timeLayout),
		word(l.User), word(verb), word(resource), word(object))
	return err
}

// word makes s safe for a terminal and never empty.
func word(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
