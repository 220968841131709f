package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kronicle/kronicle/access"
	"github.com/kronicle/kronicle/controllers"
	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/httpapi"
	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
	"github.com/kronicle/kronicle/snapshots"
)

// Server is a running server.
type Server struct {
	opts   Options
	logger *slog.Logger

	lock      *os.File // of the data directory; nil where the log holds it
	log       *eventlog.Log
	snapshots snapshots.Store
	store     *projections.Store
	registry  *kinds.Registry
	keeper    *snapshots.Keeper
	pki       *access.PKI
	api       *httpapi.Server
	listener  net.Listener
	http      *http.Server

	kubeconfig []byte
	readyIn    time.Duration
	serving    atomic.Bool // see S1

	// The background parts run until cancel. The cause is the first failure.
	background context.Context
	cancel     context.CancelCauseFunc
	parts      sync.WaitGroup

	stopping sync.Once
	stopErr  error
	ended    chan error // one value, then closed
}

// errStopped is the cause of a background that was ended on purpose.
var errStopped = errors.New("server stopped")

// Start opens the store in o, replays what the newest snapshot does not hold,
// listens, writes the administrator's kubeconfig, and returns when the server
// is ready. Ending ctx gives up a start that is under way; it does not end a
// running server.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Server{opts: o, logger: o.Logger, registry: kinds.NewRegistry(), ended: make(chan error, 1)}
	s.background, s.cancel = context.WithCancelCause(context.Background())
	if o.TuneGC {
		s.parts.Go(func() { tuneGC(s.background) })
	}
	if err := s.start(ctx); err != nil {
		if cause := context.Cause(s.background); cause != nil {
			err = cause // the part that failed says more than who waited for it
		}
		s.cancel(errStopped)
		return nil, errors.Join(err, s.close(context.Background(), false))
	}
	s.readyIn = time.Since(o.Began)
	s.logger.Info("ready", "address", s.URL(), "applied", s.store.Applied(), "took", s.readyIn)
	s.parts.Go(s.supervise)
	return s, nil
}

// start brings the parts up in their order. What has been opened when it fails
// is closed by close.
func (s *Server) start(ctx context.Context) error {
	if err := s.openLog(ctx); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	if err := s.openProjections(ctx); err != nil {
		return err
	}
	if err := s.openAPI(); err != nil {
		return err
	}
	s.run("http server", func(context.Context) error { return s.serve() })
	s.run("projection", s.store.Run)
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	if err := s.api.Bootstrap(ctx); err != nil {
		return err
	}
	s.run("snapshots", s.keeper.Run)
	for _, c := range s.controllers() {
		s.run("controller of "+c.Resource.Resource, c.Run)
	}
	s.run("certificates", s.renewKubeconfig)
	s.serving.Store(true)
	s.api.Ready()
	return nil
}

// catchUp waits until what was in the log has been applied.
func (s *Server) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.background, cancel)()
	last := s.log.Last()
	if err := s.store.Wait(ctx, last); err != nil {
		return fmt.Errorf("replay the log to %d: %w", last, err)
	}
	return nil
}

// run starts a background part. It may end only because the background did:
// anything else is a failure of the server.
func (s *Server) run(name string, part func(context.Context) error) {
	s.parts.Go(func() {
		err := part(s.background)
		if s.background.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("ended by itself")
		}
		s.fail(fmt.Errorf("%s: %w", name, err))
	})
}

// fail ends the background with err; supervise does the rest.
func (s *Server) fail(err error) { s.cancel(err) }

// supervise waits for the first failure and closes the server with it.
func (s *Server) supervise() {
	select {
	case <-s.log.Failed():
		s.fail(fmt.Errorf("log: %w", s.log.Err()))
	case <-s.background.Done():
	}
	cause := context.Cause(s.background)
	if errors.Is(cause, errStopped) {
		return
	}
	s.logger.Error("the server ends", "error", cause)
	go s.end(cause, func() error { return s.close(context.Background(), false) })
}

func (s *Server) controllers() []*controllers.Cleanup {
	return []*controllers.Cleanup{
		{
			Resource: projections.GroupResource{Resource: "namespaces"},
			Store:    s.store, API: httpapi.NamespaceContents{S: s.api}, Logger: s.logger,
		},
		{
			Resource: definitionsResource,
			Store:    s.store, API: httpapi.DefinitionContents{S: s.api}, Logger: s.logger,
		},
	}
}

// Addr is the host:port that clients connect to.
func (s *Server) Addr() string { return s.advertised() }

// URL is the address of the server as its kubeconfig names it.
func (s *Server) URL() string { return "https://" + s.advertised() }

// Kubeconfig is the administrator's kubeconfig. It holds a private key.
func (s *Server) Kubeconfig() []byte { return s.kubeconfig }

// KubeconfigPath is the file that holds it.
func (s *Server) KubeconfigPath() string { return s.opts.KubeconfigPath() }

// ReadyIn is the time from Options.Began until the server was ready.
func (s *Server) ReadyIn() time.Duration { return s.readyIn }

// Wait returns a channel that gives one value when the server has ended: nil
// after Stop and Kill, else why. The channel is closed after that.
func (s *Server) Wait() <-chan error { return s.ended }
