package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startWait bounds the start of the embedded server; recovery of a large store after an unclean
// stop reads all of it.
const startWait = 10 * time.Minute

// diskReserve is the free space below which the embedded log refuses appends. A server that
// meets the end of the disk itself shuts JetStream down, and reads with it.
const diskReserve = 16 << 20

// markEvery is how often the embedded log notes the last acknowledged sequence.
const markEvery = 10 * time.Second

// embedded is the NATS server inside this process and the files around it.
type embedded struct {
	dir     string
	lock    *os.File
	srv     *server.Server
	notes   *serverLog
	free    func() uint64
	stop    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex // guards state and its file
	state *state
}

// startEmbedded locks the directory, judges the store's files and starts the server on them.
func startEmbedded(ctx context.Context, cfg Config) (_ *embedded, err error) {
	if cfg.Dir == "" {
		return nil, errors.New("eventlog: open: neither Dir nor URL is set")
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("eventlog: open: %w", err)
	}
	e := &embedded{dir: cfg.Dir, notes: &serverLog{to: cfg.Logger}, stop: make(chan struct{})}
	if e.lock, err = lockDir(cfg.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.shutdown()
		}
	}()
	if err := e.judgeFiles(ctx, cfg); err != nil {
		return nil, err
	}
	if err := e.start(cfg); err != nil {
		return nil, err
	}
	return e, nil
}

// streamDir is where JetStream keeps the stream.
func (e *embedded) streamDir(stream string) string {
	return filepath.Join(e.dir, "jetstream", "$G", "streams", stream)
}

// judgeFiles compares the store's files with the state file before anything may change them.
func (e *embedded) judgeFiles(ctx context.Context, cfg Config) (err error) {
	if e.state, err = readState(cfg.Dir); err != nil {
		return err
	}
	dir := e.streamDir(cfg.Stream)
	exists, err := isThere(filepath.Join(dir, "meta.inf"))
	if err != nil {
		return err
	}
	sealed, err := isThere(filepath.Join(dir, "meta.key"))
	if err != nil {
		return err
	}
	if e.state == nil {
		e.state = &state{Format: recordFormat}
		switch {
		case exists && sealed != (len(cfg.EncryptionKey) > 0):
			return fmt.Errorf("%w: the store at %s is encrypted: %v, a key was given: %v", ErrEncryption, dir, sealed, !sealed)
		case !exists:
			e.state.setKey(cfg.EncryptionKey)
			return e.state.write(e.dir)
		}
	} else if err := e.state.checkKey(cfg.EncryptionKey); err != nil {
		return err
	}
	if !exists && e.state.Last > 0 {
		return &DamageError{Seq: e.state.Last, What: fmt.Sprintf("the log reached %d but %s is missing", e.state.Last, dir), Hint: hintStore}
	}
	if exists && !e.state.Clean && !sealed {
		cfg.Logger.Info("the log was not closed in order, checking its files", "dir", dir)
		last, err := scanBlocks(ctx, filepath.Join(dir, "msgs"), cfg.Stream, e.state.Trim)
		if err != nil {
			return err
		}
		if last < e.state.Last {
			return &DamageError{Seq: last + 1, What: fmt.Sprintf("records up to %d were acknowledged, the files end at %d", e.state.Last, last), Hint: hintStore}
		}
	}
	return nil
}

func isThere(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("eventlog: open: %w", err)
	}
	return true, nil
}

func (e *embedded) start(cfg Config) error {
	opts := &server.Options{
		ServerName:             "kronicle",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               cfg.Dir,
		SyncAlways:             true,
		MaxPayload:             embeddedPayload,
		JetStreamMaxStore:      1 << 60, // the guard is diskReserve, not a share of the disk at start
		JetStreamMaxMemory:     256 << 20,
		DisableJetStreamBanner: true,
	}
	if len(cfg.EncryptionKey) > 0 {
		opts.JetStreamKey = string(cfg.EncryptionKey)
		opts.JetStreamCipher = server.ChaCha
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("eventlog: embedded server: %w", err)
	}
	srv.SetLoggerV2(e.notes, false, false, false)
	e.srv = srv
	srv.Start()
	if !srv.ReadyForConnections(startWait) || !srv.JetStreamEnabled() {
		return fmt.Errorf("eventlog: embedded server did not start: %s", e.notes.last())
	}
	e.free = cfg.Faults.Free
	if e.free == nil {
		e.free = func() uint64 { return freeBytes(cfg.Dir) }
	}
	return nil
}

// connect returns a connection to the embedded server.
func (e *embedded) connect(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(opts, nats.InProcessServer(e.srv))...)
}

// opened checks the store that the server found against the state file and marks it as open.
func (e *embedded) opened(first, last uint64, epoch string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.state
	if last < s.Last {
		return &DamageError{Seq: last + 1, What: fmt.Sprintf("records up to %d were acknowledged, the store ends at %d", s.Last, last), Hint: hintStore}
	}
	if first > max(s.Trim, 1) {
		return &DamageError{Seq: max(s.Trim, 1), What: fmt.Sprintf("the store begins at %d, but records were dropped only below %d", first, max(s.Trim, 1)), Hint: hintStore}
	}
	if s.Epoch != "" && s.Epoch != epoch {
		return &DamageError{Seq: first, What: fmt.Sprintf("the store has epoch %s, this directory belongs to %s", epoch, s.Epoch), Hint: hintStore}
	}
	s.Clean, s.Last, s.Epoch = false, last, epoch
	return s.write(e.dir)
}

// mark notes the last acknowledged sequence from time to time, so that the loss of a tail is
// noticed also after an unclean stop.
func (e *embedded) mark(last func() uint64, log *slog.Logger) {
	defer e.stopped.Done()
	t := time.NewTicker(markEvery)
	defer t.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-t.C:
		}
		e.mu.Lock()
		if n := last(); n > e.state.Last {
			e.state.Last = n
			if err := e.state.write(e.dir); err != nil {
				log.Warn("cannot note the last sequence", "error", err)
			}
		}
		e.mu.Unlock()
	}
}

// trimming notes, durably, that records below seq are about to be dropped.
func (e *embedded) trimming(seq uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if seq <= e.state.Trim {
		return nil
	}
	s := *e.state
	s.Trim = seq
	if err := s.write(e.dir); err != nil {
		return err
	}
	e.state = &s
	return nil
}

// close stops the server and, if the log did not fail, marks the store as closed in order.
func (e *embedded) close(last uint64, failed bool) error {
	close(e.stop)
	e.stopped.Wait()
	srvErr := e.stopServer()
	var err error
	if !failed && srvErr == nil {
		e.mu.Lock()
		e.state.Clean, e.state.Last = true, max(last, e.state.Last)
		err = e.state.write(e.dir)
		e.mu.Unlock()
	}
	return errors.Join(srvErr, err, e.lock.Close())
}

func (e *embedded) stopServer() error {
	if e.srv == nil {
		return nil
	}
	e.srv.Shutdown()
	e.srv.WaitForShutdown()
	return nil
}

// shutdown undoes a start that failed half-way; the store stays marked as not clean.
func (e *embedded) shutdown() {
	e.stopServer()
	if e.lock != nil {
		e.lock.Close()
	}
}

func freeBytes(dir string) uint64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 1 << 62
	}
	return s.Bavail * uint64(s.Bsize)
}

// serverLog passes the embedded server's warnings on and keeps the last of them for the text
// of errors.
type serverLog struct {
	to   *slog.Logger
	mu   sync.Mutex
	text string
	bad  string // a failed write
}

func (l *serverLog) note(level slog.Level, format string, v []any) {
	text := fmt.Sprintf(format, v...)
	l.mu.Lock()
	l.text = text
	if level == slog.LevelError && (strings.Contains(text, "failed to store") || strings.Contains(text, "write error")) || isSpace(text) {
		l.bad = text
	}
	l.mu.Unlock()
	l.to.Log(context.Background(), level, "nats: "+text)
}

// writeError returns what the server said of a failed write, "" if there was none.
func (l *serverLog) writeError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}

func (l *serverLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		return "no reason given"
	}
	return l.text
}

func (l *serverLog) Noticef(string, ...any)         {}
func (l *serverLog) Warnf(format string, v ...any)  { l.note(slog.LevelWarn, format, v) }
func (l *serverLog) Errorf(format string, v ...any) { l.note(slog.LevelError, format, v) }
func (l *serverLog) Fatalf(format string, v ...any) { l.note(slog.LevelError, format, v) }
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
