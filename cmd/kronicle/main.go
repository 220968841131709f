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
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel() // the first asks for an orderly end
		<-signals
		os.Exit(exitError) // the second does not wait for it
	}()
	os.Exit(run(ctx, os.Args[1:], environment{stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, began: began}))
}
