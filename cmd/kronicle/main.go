// Command kronicle is a Kubernetes API server on a JetStream log.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	began := processStart(time.Now())
	// A closed pipe is an error of the write that met it, and not the end of a
	// process that may have a store open.
	signal.Ignore(syscall.SIGPIPE)
	// The first signal asks for an orderly end. NotifyContext stops listening
	// with it, so a second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], environment{stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, began: began}))
}
