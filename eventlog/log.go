package eventlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// requestWait bounds one request to the server if the caller's context does not.
const requestWait = 10 * time.Second

// Log is an open log. It is safe for concurrent use.
type Log struct {
	cfg    Config
	emb    *embedded  // nil if external
	nc     *nats.Conn // appends and their acks
	rc     *nats.Conn // everything else, so that a replay does not delay acks
	js     jetstream.JetStream
	stream jetstream.Stream
	epoch  string

	atomic    bool   // the stream takes atomic batches
	pipelined bool   // appends need not wait for those before them
	direct    bool   // the stream answers direct gets
	maxData   int    // bytes of an encoded record
	inbox     string // prefix of the acks' subjects
	idHeader  string // header with the append's own id
	idPrefix  string

	first, last atomic.Uint64
	ids         atomic.Uint64
	counters    counters

	mu        sync.Mutex
	committer // guarded by mu
	followers map[*follower]struct{}
	closed    bool

	barrier barrier

	failOnce sync.Once
	failed   chan struct{}
	failure  error
	done     chan struct{} // closed by Close
	work     sync.WaitGroup
}

// Open opens the log, creating it if it does not exist. It fails with ErrLocked, ErrEncryption,
// ErrSettings, ErrUnavailable or a *DamageError; in none of these cases has it changed the
// stored records.
func Open(ctx context.Context, cfg Config) (_ *Log, err error) {
	cfg = cfg.withDefaults()
	l := &Log{
		cfg:       cfg,
		idHeader:  nats.MsgIdHdr,
		idPrefix:  strconv.FormatUint(rand.Uint64(), 36) + "-", // two Logs must never share one
		inbox:     nats.NewInbox() + ".",
		followers: map[*follower]struct{}{},
		failed:    make(chan struct{}),
		done:      make(chan struct{}),
	}
	l.committer.init()
	if cfg.URL == "" {
		// The only writer needs no duplicate window, whose memory would grow with the rate.
		l.idHeader = embeddedIDHeader
		if l.emb, err = startEmbedded(ctx, cfg); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			l.abandon()
		}
	}()
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	if err := l.prepareStream(ctx); err != nil {
		return nil, err
	}
	if _, err := l.nc.Subscribe(l.inbox+"*", l.onAck); err != nil {
		return nil, fmt.Errorf("eventlog: open: %w", err)
	}
	if l.emb != nil {
		l.emb.stopped.Add(1)
		go l.emb.mark(l.last.Load, cfg.Logger)
	}
	return l, nil
}

// The names of the two connections.
const (
	connAppend = "append"
	connRead   = "read"
)

// connect makes the two connections. An external server that is not there yet is waited for
// as long as ctx allows.
func (l *Log) connect(ctx context.Context) (err error) {
	dial := func(name string) (*nats.Conn, error) {
		opts := []nats.Option{
			nats.Name("kronicle " + name),
			nats.MaxReconnects(-1),
			nats.ReconnectWait(100 * time.Millisecond),
			nats.ReconnectBufSize(-1),
			nats.Timeout(requestWait),
			nats.IgnoreAuthErrorAbort(),
			nats.ReconnectHandler(func(*nats.Conn) {
				if name == connAppend {
					l.reconnected()
				}
			}),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
				l.cfg.Logger.Warn("nats connection", "name", name, "error", err)
			}),
		}
		if l.emb != nil {
			return l.emb.connect(opts...)
		}
		for {
			nc, err := nats.Connect(l.cfg.URL, opts...)
			if err == nil {
				return nc, nil
			}
			if strings.Contains(err.Error(), "uthorization") || pause(ctx, retryPause) != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, l.cfg.URL, err)
			}
		}
	}
	if l.nc, err = dial(connAppend); err != nil {
		return err
	}
	if l.rc, err = dial(connRead); err != nil {
		return err
	}
	l.js, err = jetstream.New(l.rc)
	return err
}

// abandon undoes an Open that failed.
func (l *Log) abandon() {
	for _, nc := range []*nats.Conn{l.nc, l.rc} {
		if nc != nil {
			nc.Close()
		}
	}
	if l.emb != nil {
		l.emb.shutdown()
	}
}

// Close stops the log. Appends that wait fail with ErrClosed, those already sent are waited
// for. The embedded server is stopped and its store marked as closed in order.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.dropQueueLocked(ErrClosed)
	l.awaitIdleLocked()
	l.mu.Unlock()
	close(l.done)
	l.nc.Close()
	l.rc.Close()
	l.work.Wait()
	if l.emb == nil {
		return nil
	}
	return l.emb.close(l.last.Load(), l.Err() != nil)
}

// fail marks the log as failed: nothing is appended any more.
func (l *Log) fail(err error) {
	l.failOnce.Do(func() {
		l.failure = fmt.Errorf("%w: %w", ErrFailed, err)
		close(l.failed)
		l.cfg.Logger.Error("the log failed and takes no more appends", "error", err)
	})
}

// Failed is closed when the store has failed for good: a write error, or damage. Appends then
// fail; reads go on as far as the store lets them.
func (l *Log) Failed() <-chan struct{} { return l.failed }

// Err returns why the log failed, nil if it has not.
func (l *Log) Err() error {
	select {
	case <-l.failed:
		return l.failure
	default:
		return nil
	}
}

// Epoch returns the id that the log got when it was created.
func (l *Log) Epoch() string { return l.epoch }

// First returns the first retained sequence; exact if embedded, else as last seen.
func (l *Log) First() uint64 { return l.first.Load() }

// Last returns the last committed sequence; exact if embedded, else as last seen.
func (l *Log) Last() uint64 { return l.last.Load() }

// Info asks the server what the log holds. It fails with ErrUnavailable.
func (l *Log) Info(ctx context.Context) (Info, error) {
	ctx, cancel := withWait(ctx)
	defer cancel()
	s, err := l.stream.Info(ctx)
	if err != nil {
		return Info{}, l.readError(fmt.Errorf("%w: info: %w", ErrUnavailable, err))
	}
	i := Info{First: s.State.FirstSeq, Last: s.State.LastSeq, Bytes: s.State.Bytes, Messages: s.State.Msgs, Deleted: s.State.NumDeleted, Replicas: s.Config.Replicas, Backend: "external"}
	if l.emb != nil {
		i.Backend = "embedded"
	}
	raise(&l.first, i.First)
	if l.emb == nil || l.last.Load() == 0 {
		raise(&l.last, i.Last)
	}
	return i, nil
}

// readError puts the reason first when the log was closed or has failed.
func (l *Log) readError(err error) error {
	select {
	case <-l.done:
		return ErrClosed
	default:
	}
	if ferr := l.Err(); ferr != nil && errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w; %w", err, ferr)
	}
	return err
}

// raise sets v to n unless it is higher already.
func raise(v *atomic.Uint64, n uint64) {
	for {
		old := v.Load()
		if n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}

// withWait gives a context without a deadline one.
func withWait(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, requestWait)
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
