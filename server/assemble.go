package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kronicle/kronicle/access"
	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/httpapi"
	"github.com/kronicle/kronicle/projections"
	"github.com/kronicle/kronicle/snapshots"
)

// openLog takes the data directory and opens the log. The embedded log holds
// the directory's lock itself.
func (s *Server) openLog(ctx context.Context) error {
	cfg, err := s.opts.EventLogConfig()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.opts.DataDir, 0o700); err != nil {
		return &OptionError{"data-dir", err.Error()}
	}
	if s.opts.NATSURL != "" {
		if s.lock, err = lockDir(s.opts.DataDir); err != nil {
			return err
		}
	}
	s.log, err = eventlog.Open(ctx, cfg)
	return err
}

// lockDir holds a data directory against a second server, in the same file
// that the embedded log uses.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", dir, eventlog.ErrLocked)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// SnapshotStore is where the snapshots of these options are: a directory, or a
// bucket beside an external log.
func (o *Options) SnapshotStore(ctx context.Context, log *eventlog.Log) (snapshots.Store, error) {
	if o.NATSURL == "" {
		return snapshots.NewDir(o.snapshotDir())
	}
	blobs, err := log.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	return snapshots.NewBucket(blobs, filepath.Join(o.DataDir, "cache"))
}

// openProjections loads the newest snapshot and makes what keeps them.
func (s *Server) openProjections(ctx context.Context) error {
	var err error
	if s.snapshots, err = s.opts.SnapshotStore(ctx, s.log); err != nil {
		return err
	}
	key, err := s.opts.EncryptionKey()
	if err != nil {
		return err
	}
	state, err := snapshots.Load(ctx, s.snapshots, key, s.log.Epoch(), s.log.First(), s.log.Last(), snapshots.WithLogger(s.logger))
	if err != nil {
		return err
	}
	s.store = projections.New(projections.Config{
		Log:          s.log,
		MemoryWindow: s.opts.MemoryWindow,
		SharedLog:    s.opts.NATSURL != "",
		Logger:       s.logger,
		OnApply:      s.applyDefinitions,
	})
	if err := s.restoreDefinitions(state); err != nil {
		return err
	}
	s.store.Restore(state)
	s.keeper = snapshots.NewKeeper(snapshots.Config{
		Store:            s.snapshots,
		Projections:      s.store,
		Log:              s.log,
		EncryptionKey:    key,
		Every:            uint64(s.opts.SnapshotEvents),
		Interval:         s.opts.SnapshotInterval,
		HistoryMaxAge:    s.opts.HistoryMaxAge,
		HistoryMaxBytes:  s.opts.HistoryMaxBytes,
		HistoryMaxEvents: uint64(s.opts.HistoryMaxEvents),
		Logger:           s.logger,
		Now:              s.opts.Now,
	})
	s.store.SetSource(s.keeper)
	return nil
}

// listen opens the port, the certificates, and writes the kubeconfig.
func (s *Server) listen() error {
	var err error
	if s.listener, err = net.Listen("tcp", s.opts.Listen); err != nil {
		return fmt.Errorf("--listen %s: %w", s.opts.Listen, err)
	}
	host, _, err := net.SplitHostPort(s.opts.Listen)
	if err != nil {
		return err
	}
	extra := s.opts.TLSSANs
	if name, _, err := net.SplitHostPort(s.advertised()); err == nil {
		extra = append([]string{name}, extra...)
	}
	s.pki, err = access.OpenPKI(access.Config{
		Dir:          s.opts.pkiDir(),
		AuthorityDir: s.opts.PKIDir,
		Hosts:        access.ServerHosts(host, extra...),
		Logger:       s.logger,
		Now:          s.opts.Now,
	})
	if err != nil {
		return err
	}
	return s.writeKubeconfig()
}

func (s *Server) writeKubeconfig() error {
	data, err := s.pki.AdminKubeconfig(s.URL())
	if err != nil {
		return err
	}
	if s.kubeconfig == nil {
		s.kubeconfig = data
	}
	return access.WriteKubeconfig(s.KubeconfigPath(), data)
}

// renewKubeconfig looks once a day whether the administrator's certificate
// nears its end. A failure is told and tried again the next day.
func (s *Server) renewKubeconfig(ctx context.Context) error {
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if err := s.writeKubeconfig(); err != nil {
				s.logger.Error("the administrator's kubeconfig cannot be renewed", "error", err)
			}
		}
	}
}

// advertised is the host:port that clients are told.
func (s *Server) advertised() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return s.listener.Addr().String()
	}
	if a := s.opts.AdvertiseAddress; a != "" {
		if h, p, err := net.SplitHostPort(a); err == nil {
			return net.JoinHostPort(h, p)
		}
		return net.JoinHostPort(a, port)
	}
	if configured, _, err := net.SplitHostPort(s.opts.Listen); err == nil && configured != "" {
		host = configured
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// Timeouts of the listener. writeTimeout is how long a client may take to take an
// ordinary answer; watches, large lists and other long answers set their own.
const (
	writeTimeout  = time.Minute
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 1 << 20
	maxStreams    = 1000
	pingAfter     = time.Minute     // of silence on an HTTP/2 connection
	pingTimeout   = 5 * time.Minute // a client that sleeps is not a dead one
)

// openAPI makes the HTTP side.
func (s *Server) openAPI() error {
	s.registry.SetServerAddress(s.advertised())
	var err error
	s.api, err = httpapi.New(httpapi.Config{
		Store:          s.store,
		Log:            s.log,
		Kinds:          s.registry,
		History:        s.keeper,
		Auth:           s.pki.Authenticator(),
		Verify:         s.verify,
		SharedLog:      s.opts.NATSURL != "",
		MaxObjectBytes: s.opts.MaxObjectBytes,
		MaxReads:       s.opts.MaxReads,
		MaxWrites:      s.opts.MaxWrites,
		Version:        s.opts.Version,
		Logger:         s.logger,
		Now:            s.opts.Now,
	})
	if err != nil {
		return err
	}
	s.http = &http.Server{
		Handler:           s.gate(s.api.Handler()),
		TLSConfig:         s.pki.TLSConfig(),
		ConnContext:       access.ConnContext,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		ErrorLog:          connectionErrors(s.logger),
	}
	return nil
}

func (s *Server) serve() error {
	err := s.http.ServeTLS(s.listener, "", "")
	if errors.Is(err, http.ErrServerClosed) {
		<-s.background.Done() // Stop has more to do
	}
	return err
}
