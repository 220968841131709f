package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	readBatch     = 1000             // entries handed over at once, at most
	readBytes     = 8 << 20          // and their bytes
	heartbeat     = 2 * time.Second  // the server's sign of life on an idle reader
	readerTimeout = 3 * heartbeat    // silence after which a reader is made anew
	readerLife    = 60 * time.Second // after which the server drops a reader nobody listens to
)

// embeddedTries is how often a reader of the embedded server is made anew without a record read
// in between. An external server may come back, the embedded one does not.
const embeddedTries = 8

// errReader says that a reader has to be made anew from where it stands.
var errReader = errors.New("eventlog: reader interrupted")

// reader reads the stream in order through a push consumer with flow control, the cheapest way
// that JetStream has. It takes no filter: a filtered consumer loads whole blocks for a few
// records, and could not notice a gap. nats.go's ordered consumer does the same but restarts by
// itself and hides whether a gap is the connection's or the store's, which is what we must know.
type reader struct {
	l    *Log
	next uint64 // the sequence that must come next
	to   uint64 // the last one wanted
	fn   func([]Entry) error

	// Below belongs to the subscription's goroutine.
	sub      *nats.Subscription
	batch    []Entry
	bytes    int
	consumed uint64 // consumer sequence
	stopped  bool

	touched atomic.Int64 // Unix nanoseconds of the last message
	result  chan error
}

// read hands the entries next..to over in order, making readers until it is through.
func (l *Log) read(ctx context.Context, next, to uint64, fn func([]Entry) error) (uint64, error) {
	for tries := 0; ; {
		r := &reader{l: l, next: next, to: to, fn: fn, result: make(chan error, 1)}
		err := r.run(ctx)
		if r.next > next {
			tries, next = 0, r.next
		}
		switch {
		case err == nil:
			return next, nil
		case !errors.Is(err, errReader):
			return next, err
		}
		if err := l.readable(next); err != nil && !errors.Is(err, ErrNotYet) {
			return next, err
		}
		tries++
		if l.emb != nil && tries > embeddedTries {
			return next, l.readError(fmt.Errorf("%w: read from %d: %w", ErrUnavailable, next, err))
		}
		if tries > 1 && errors.Is(err, errGap) {
			if err := l.missing(ctx, next); !errors.Is(err, ErrUnavailable) {
				return next, err
			}
		}
		if err := pause(ctx, min(retryPause<<min(tries, 10), retryPauseMax)); err != nil {
			return next, err
		}
	}
}

// errGap: the consumer skipped a sequence.
var errGap = fmt.Errorf("%w: gap", errReader)

func (r *reader) run(ctx context.Context) error {
	inbox := nats.NewInbox()
	r.touched.Store(time.Now().UnixNano())
	sub, err := r.l.rc.Subscribe(inbox, r.onMessage)
	if err != nil {
		return r.l.readError(fmt.Errorf("%w: %w", errReader, err))
	}
	r.sub = sub
	defer sub.Unsubscribe()
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return fmt.Errorf("%w: %w", errReader, err)
	}
	// Named by us, so that it can be deleted also when the answer to its creation is not awaited.
	name := inbox[len(nats.InboxPrefix):]
	defer r.l.deleteConsumer(name)
	if err := r.l.createConsumer(ctx, name, inbox, r.next); err != nil {
		return err
	}
	return r.wait(ctx)
}

// wait waits for the end of the reading, watching for silence.
func (r *reader) wait(ctx context.Context) error {
	t := time.NewTicker(heartbeat)
	defer t.Stop()
	var err error
	select {
	case err = <-r.result:
		return err
	default:
	}
	for {
		select {
		case err = <-r.result:
			return err
		case <-ctx.Done():
			err = ctx.Err()
		case <-r.l.done:
			err = ErrClosed
		case <-t.C:
			if time.Since(time.Unix(0, r.touched.Load())) < readerTimeout {
				continue
			}
			err = fmt.Errorf("%w: silence", errReader)
		}
		return r.halt(err)
	}
}

// halt stops the subscription's goroutine from outside and waits for it, so that fn is not
// running any more when reading returns.
func (r *reader) halt(err error) error {
	gone := make(chan struct{})
	r.sub.SetClosedHandler(func(string) { close(gone) })
	r.sub.Unsubscribe()
	select {
	case <-gone:
	case err := <-r.result:
		return err
	}
	select {
	case err := <-r.result:
		return err
	default:
	}
	return err
}

// createConsumer makes an ephemeral push consumer that begins at seq.
func (l *Log) createConsumer(ctx context.Context, name, inbox string, seq uint64) error {
	ctx, cancel := withWait(ctx)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"stream_name": l.cfg.Stream,
		"config": map[string]any{
			"name": name, "deliver_subject": inbox, "deliver_policy": "by_start_sequence", "opt_start_seq": seq,
			"ack_policy": "none", "max_deliver": 1, "replay_policy": "instant",
			"flow_control": true, "idle_heartbeat": heartbeat.Nanoseconds(),
			"inactive_threshold": readerLife.Nanoseconds(), "num_replicas": 1, "mem_storage": true,
		},
	})
	if err != nil {
		return fmt.Errorf("eventlog: reader: %w", err)
	}
	m, err := l.rc.RequestWithContext(ctx, "$JS.API.CONSUMER.CREATE."+l.cfg.Stream+"."+name, body)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return l.readError(fmt.Errorf("%w: %w", errReader, err))
	}
	var answer struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return fmt.Errorf("eventlog: reader: %w", err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%w: %s", errReader, answer.Error.Description)
	}
	return nil
}

// deleteConsumer asks for the consumer's removal; nobody waits for the answer, and a consumer
// that the request does not reach ends by itself after readerLife.
func (l *Log) deleteConsumer(name string) {
	l.rc.PublishRequest("$JS.API.CONSUMER.DELETE."+l.cfg.Stream+"."+name, l.inbox+"0", nil)
}

func (r *reader) end(err error) {
	if !r.stopped {
		r.stopped = true
		r.result <- err
		r.sub.Unsubscribe()
	}
}

// onMessage runs on the subscription's goroutine.
func (r *reader) onMessage(m *nats.Msg) {
	r.touched.Store(time.Now().UnixNano())
	if r.stopped {
		return
	}
	if len(m.Data) == 0 && m.Header.Get("Status") != "" {
		r.onStatus(m)
		return
	}
	meta, err := m.Metadata()
	if err != nil {
		r.end(fmt.Errorf("eventlog: reader: %w", err))
		return
	}
	r.consumed++
	seq := meta.Sequence.Stream
	switch {
	case seq < r.next:
		return // asked for the future: the server begins with what it has
	case meta.Sequence.Consumer != r.consumed:
		r.finish(errReader)
		return
	case seq > r.next+uint64(len(r.batch)):
		r.finish(errGap)
		return
	}
	e, err := decodeEntry(m.Subject, seq, m.Data)
	if err != nil {
		r.finish(err)
		return
	}
	r.batch = append(r.batch, e)
	r.bytes += e.Size
	if seq >= r.to {
		r.finish(nil)
		return
	}
	if len(r.batch) >= readBatch || r.bytes >= readBytes || r.drained() {
		r.flush()
	}
}

// finish hands over what there is and ends.
func (r *reader) finish(err error) {
	if r.flush() {
		r.end(err)
	}
}

// drained tells whether the message at hand is the last one that has arrived.
func (r *reader) drained() bool {
	n, _, err := r.sub.Pending()
	return err != nil || n <= 1
}

// onStatus answers flow control and looks for losses in heartbeats.
func (r *reader) onStatus(m *nats.Msg) {
	if len(r.batch) > 0 && !r.flush() {
		return
	}
	if m.Reply != "" {
		r.l.rc.Publish(m.Reply, nil)
	} else if stalled := m.Header.Get("Nats-Consumer-Stalled"); stalled != "" {
		r.l.rc.Publish(stalled, nil)
	}
	if s := m.Header.Get("Nats-Last-Consumer"); s != "" && s != fmt.Sprint(r.consumed) {
		r.end(errReader)
	}
}

// flush hands the batch over; false if that ended the reading.
func (r *reader) flush() bool {
	if len(r.batch) == 0 {
		return true
	}
	batch := r.batch
	r.batch, r.bytes = make([]Entry, 0, min(2*len(batch), readBatch)), 0
	if r.l.emb == nil {
		raise(&r.l.last, batch[len(batch)-1].Seq)
	}
	r.touched.Store(math.MaxInt64) // fn may take its time
	if err := r.fn(batch); err != nil {
		r.end(err)
		return false
	}
	r.next += uint64(len(batch))
	r.touched.Store(time.Now().UnixNano())
	return true
}
