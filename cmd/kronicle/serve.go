package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kronicle/kronicle/server"
)

// stopTimeout bounds an orderly end.
const stopTimeout = 60 * time.Second

// logging are the flags about the program's own messages.
type logging struct{ format, level string }

func (l *logging) flags(flags *pflag.FlagSet) {
	l.format, l.level = "text", "info"
	flags.Var(oneOf{&l.format, []string{"text", "json"}}, "log-format", "form of the messages on stderr")
	flags.Var(oneOf{&l.level, []string{"debug", "info", "warn", "error"}}, "log-level", "least important message to write")
}

func (l *logging) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: levels[l.level]}
	if l.format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// storeFlags are the flags that say where a store is.
func storeFlags(flags *pflag.FlagSet, o *server.Options) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory of the store, its certificates and admin.kubeconfig")
	flags.StringVar(&o.NATSURL, "nats-url", o.NATSURL, "keep the log in this NATS instead of an embedded one (nats://host:4222, several with commas)")
	flags.StringVar(&o.NATSStream, "nats-stream", o.NATSStream, "name of the stream")
	flags.StringVar(&o.EncryptionKeyFile, "encryption-key-file", o.EncryptionKeyFile, "encrypt the embedded store and its snapshots with the key in this file")
}

func serveFlags(flags *pflag.FlagSet, o *server.Options) {
	size := func(p *int64, name, usage string) { flags.Var((*bytesValue)(p), name, usage) }
	storeFlags(flags, o)
	flags.StringVar(&o.Listen, "listen", o.Listen, "address of the HTTPS listener; port 0 picks a free one")
	flags.StringVar(&o.AdvertiseAddress, "advertise-address", o.AdvertiseAddress, "host or host:port that the kubeconfig names (default: from --listen)")
	flags.StringSliceVar(&o.TLSSANs, "tls-san", o.TLSSANs, "further name or address for the server's certificate (may be repeated)")
	flags.StringVar(&o.PKIDir, "pki-dir", o.PKIDir, "directory of the certificate authority and the administrator's certificate, which several servers may share (default: pki in the data directory)")
	flags.IntVar(&o.NATSReplicas, "nats-replicas", o.NATSReplicas, "replicas of the stream in an external NATS: 1, 3 or 5")
	flags.DurationVar(&o.HistoryMaxAge, "history-max-age", o.HistoryMaxAge, "how long old versions stay readable; 0: not bounded by age")
	size(&o.HistoryMaxBytes, "history-max-bytes", "size of the retained log; 0: not bounded by size")
	flags.Int64Var(&o.HistoryMaxEvents, "history-max-events", o.HistoryMaxEvents, "number of retained records; 0: not bounded by count")
	flags.Int64Var(&o.SnapshotEvents, "snapshot-events", o.SnapshotEvents, "take a snapshot after so many records")
	flags.DurationVar(&o.SnapshotInterval, "snapshot-interval", o.SnapshotInterval, "take a snapshot this often while there are new records")
	size(&o.MemoryWindow, "memory-window", "bytes of recent changes and old versions kept in memory")
	size(&o.MaxObjectBytes, "max-object-bytes", "largest object, as JSON")
	size(&o.MaxStoreBytes, "max-store-bytes", "disk guard: refuse writes when the log is this large; 0: none")
	flags.IntVar(&o.MaxReads, "max-requests-inflight", o.MaxReads, "reading requests served at a time, watches not counted; more get 429")
	flags.IntVar(&o.MaxWrites, "max-mutating-requests-inflight", o.MaxWrites, "writing requests served at a time; more get 429")
	flags.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", o.ShutdownTimeout, "how long requests in flight may take at shutdown")
}

func serveCommand(env environment) *cobra.Command {
	o := server.DefaultOptions()
	var l logging
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the Kubernetes API",
		Long: `Serve the Kubernetes API from a JetStream log.

Without flags the log is embedded and kept in ./kronicle-data, and the server
listens on https://127.0.0.1:6443. Three lines on stdout tell the address, the
kubeconfig to use, and that the server is ready; messages go to stderr.

Each flag can be set by the environment variable named beside it. Memory: the
garbage collector's target is lowered as the store grows, unless GOGC or
GOMEMLIMIT is set.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), env); err != nil {
				return err
			}
			o.Logger = l.logger(env.stderr)
			o.Began = env.began
			o.Version = buildInfo().Version
			o.TuneGC = true
			return serve(cmd.Context(), o, env)
		},
	}
	cmd.Flags().SortFlags = false
	serveFlags(cmd.Flags(), &o)
	l.flags(cmd.Flags())
	describeVariables(cmd.Flags())
	return cmd
}

// serve runs a server until ctx ends or the server fails.
func serve(ctx context.Context, o server.Options, env environment) error {
	srv, err := server.Start(ctx, o)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil // asked to stop while starting
		}
		return err
	}
	config, err := filepath.Abs(srv.KubeconfigPath())
	if err != nil {
		config = srv.KubeconfigPath()
	}
	// A reader that has gone away is no reason to stop serving.
	_, _ = fmt.Fprintf(env.stdout, "kronicle serves %s\nexport KUBECONFIG=%s\nready in %d ms\n",
		srv.URL(), shellQuote(config), srv.ReadyIn().Milliseconds())
	select {
	case err := <-srv.Wait():
		return err
	case <-ctx.Done():
	}
	o.Logger.Info("stopping; a second signal ends the process at once")
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return srv.Stop(stopCtx)
}

// shellQuote is s as one word of a shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
