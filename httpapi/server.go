package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/kronicle/kronicle/access"
	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/fieldmanager"
	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
	"github.com/kronicle/kronicle/snapshots"
)

// A Log is what the handlers need of the event log. *eventlog.Log is one.
type Log interface {
	Append(ctx context.Context, key eventlog.Key, expect uint64, rec *eventlog.Record) (uint64, error)
	Range(ctx context.Context, from, to uint64, fn func([]eventlog.Entry) error) error
	Follow(ctx context.Context, from uint64, fn func([]eventlog.Entry) error) error
	Info(ctx context.Context) (eventlog.Info, error)
	First() uint64
	Last() uint64
	Epoch() string
	Err() error
	Stats() eventlog.Stats
}

// History is what the handlers need of the snapshots. *snapshots.Keeper is one.
type History interface {
	TakeNow(ctx context.Context) (snapshots.Info, error)
	Status() snapshots.Status
}

// Config is what a Server is made of. Store, Log, Kinds and Auth are required.
type Config struct {
	Store   *projections.Store
	Log     Log
	Kinds   *kinds.Registry
	History History // nil: none
	Auth    access.Authenticator
	// Verify runs the verifier against the live server; nil: not offered.
	Verify func(ctx context.Context, progress func(seq, last uint64)) (snapshots.Report, error)

	// SharedLog says that other servers append to the log, too: what the projections
	// show may then be behind, and finding out costs an append.
	SharedLog bool

	MaxObjectBytes int64 // of a request body and of an encoded object; 0: 3 MiB
	MaxReads       int   // reads in flight, watches not counted; 0: 400
	MaxWrites      int   // mutating requests in flight; 0: 200
	Version        string
	Logger         *slog.Logger
	Now            func() time.Time
}

// Server answers HTTP requests. Its Handler may be used as soon as New returns; the
// resources are served once the projections are.
type Server struct {
	cfg     Config
	echo    *echo.Echo
	store   *projections.Store
	log     Log
	kinds   *kinds.Registry
	slog    *slog.Logger
	now     func() time.Time
	reads   limiter
	writes  limiter
	metrics *metrics

	// definitions is held while a definition is written: whether its names are
	// free depends on the others.
	definitions sync.Mutex
	builtins    fieldmanager.Builtins

	ready      atomic.Bool
	stopping   atomic.Bool
	full       atomic.Bool     // the newest append found no room
	watches    context.Context // ends when the server shuts down
	endWatches context.CancelFunc
}

// New returns a server over the parts in cfg.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Log == nil || cfg.Kinds == nil || cfg.Auth == nil {
		return nil, errors.New("httpapi: a store, a log, kinds and an authenticator are needed")
	}
	if cfg.MaxObjectBytes <= 0 {
		cfg.MaxObjectBytes = 3 << 20
	}
	if cfg.MaxReads <= 0 {
		cfg.MaxReads = 400
	}
	if cfg.MaxWrites <= 0 {
		cfg.MaxWrites = 200
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, store: cfg.Store, log: cfg.Log, kinds: cfg.Kinds, slog: cfg.Logger, now: cfg.Now}
	s.reads.limit, s.writes.limit = int64(cfg.MaxReads), int64(cfg.MaxWrites)
	s.watches, s.endWatches = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	s.echo = s.routes()
	return s, nil
}

// Handler is the root of the API.
func (s *Server) Handler() http.Handler { return s.echo }

// Ready makes /readyz succeed, given that its checks do.
func (s *Server) Ready() { s.ready.Store(true) }

// ShutDown makes /readyz fail and ends the watches: each stream ends cleanly after
// the event it is writing. Other requests go on.
func (s *Server) ShutDown() {
	s.stopping.Store(true)
	s.endWatches()
}

func (s *Server) routes() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.echoError
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		e.GET(path, s.health)
		e.HEAD(path, s.health)
		e.GET(path+"/*", s.health)
	}
	e.GET("/version", s.version)
	e.GET("/metrics", s.authenticated(s.serveMetrics))
	e.GET("/", s.authenticated(s.index))
	for _, p := range []string{"/api", "/api/", "/apis", "/apis/"} {
		e.GET(p, s.authenticated(s.discovery))
	}
	for _, m := range []string{http.MethodGet, http.MethodHead} {
		e.Add(m, "/openapi/v3", s.authenticated(s.openAPIIndex))
		e.Add(m, "/openapi/v3/*", s.authenticated(s.openAPI))
	}
	e.Any("/api/*", s.resource)
	e.Any("/apis/*", s.resource)
	e.GET("/kronicle/log", s.authenticated(s.serveLog))
	e.GET("/kronicle/verify", s.authenticated(s.serveVerify))
	e.POST("/kronicle/snapshot", s.authenticated(s.takeSnapshot))
	e.Any("/*", s.authenticated(notFound))
	return e
}

// echoError answers what the router itself refuses and what a handler returned.
func (s *Server) echoError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	var he *echo.HTTPError
	if errors.As(err, &he) && he.Code == http.StatusNotFound {
		_ = notFound(c)
		return
	}
	if errors.As(err, &he) && he.Code == http.StatusMethodNotAllowed {
		http.Error(c.Response(), "405 method not allowed", http.StatusMethodNotAllowed)
		return
	}
	s.writeError(c.Response(), c.Request(), err)
}

// notFound is the answer to a path that is no resource, in the form that client-go
// takes for "the server could not find the requested resource".
func notFound(c echo.Context) error {
	http.Error(c.Response(), "404 page not found", http.StatusNotFound)
	return nil
}

// authenticated lets only known users through.
func (s *Server) authenticated(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		setCommonHeaders(c.Response().Header(), c.Request())
		if _, ok := s.cfg.Auth.Authenticate(c.Request()); !ok {
			return errUnauthorized
		}
		return next(c)
	}
}
