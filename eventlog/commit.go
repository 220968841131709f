package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// The committer's limits.
const (
	singlesMax  = 8        // up to this many appends go as single messages, more as one batch
	batchMax    = 1000     // messages of an atomic batch, nats-server's limit
	batchBytes  = 4 << 20  // bytes of an atomic batch
	windowMax   = 1024     // messages in flight where appends are pipelined
	windowBytes = 16 << 20 // their bytes
	queueMax    = 1 << 17  // appends that may wait; more is ErrOverloaded
	queueBytes  = 1 << 28  // their bytes

	ackWait       = 3 * time.Second  // before a message is sent again
	commitTimeout = 30 * time.Second // before an append is given up
	retryPause    = 5 * time.Millisecond
	retryPauseMax = 500 * time.Millisecond
)

// embeddedIDHeader carries the append's own id in an embedded log, nats.MsgIdHdr in an external
// one.
const embeddedIDHeader = "Kron-Id"

// op is one append on its way.
type op struct {
	key     Key
	subject string
	expect  uint64
	guarded bool // has a precondition; false only for barriers
	rec     *Record
	data    []byte
	id      string

	// Below is guarded by Log.mu.
	header    uint64 // the precondition as last sent
	sent      bool   // a message may have reached the server
	ambiguous bool   // a message was sent whose outcome is not known
	abandoned bool   // the caller has gone
	finished  bool
	attempts  int
	began     time.Time
	deadline  time.Time
	flight    flight
	alone     [1]*op

	seq  uint64
	err  error
	done chan struct{}
}

// flight is a message, or a batch of them, whose ack is awaited.
type flight struct {
	token uint64
	ops   []*op
	batch bool
	sent  time.Time
}

// committer is the part of the log that orders appends: a queue, what is in flight, and what is
// known of recent records. There is no goroutine of that name: whoever changes its state, an
// append that finds nothing in flight or the ack that ends a round, starts the next round. A
// lone append so costs no hand-over but the server's own.
type committer struct {
	queue       []*op
	queuedBytes int
	flights     map[uint64]*flight
	flyingBytes int
	aside       int // appends neither queued nor in flight: being resolved or about to be resent
	busy        map[string]struct{}
	recent      recent
	held        map[uint64]Entry // acked before one with a lower sequence
	paused      int
	idle        *sync.Cond
	tokens      uint64
	sweeping    bool
}

func (c *committer) init() {
	c.flights = map[uint64]*flight{}
	c.busy = map[string]struct{}{}
	c.held = map[uint64]Entry{}
}

// Append writes one record if its precondition holds and returns its sequence once it is
// durable. expect 0 means that the object must not exist: it was never written, or its last
// record is a delete. expect N is the sequence of the object's last record, retained or not.
// The record belongs to the log from then on; Append sets its Prev, and its Time if that is 0.
//
// It fails with a *ConflictError, ErrTooLarge, ErrFull, ErrUnavailable, ErrOverloaded, ErrClosed
// or ErrFailed. With ErrUnknown the record may or may not have been written, or may be still.
// ctx.Err() alone says that nothing was sent.
//
// What was trimmed away the log cannot check: the caller must know the records below First.
func (l *Log) Append(ctx context.Context, key Key, expect uint64, rec *Record) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	o := &op{key: key, subject: key.Subject(), expect: expect, guarded: true, rec: rec, began: time.Now()}
	if len(o.subject) > maxSubject {
		return 0, fmt.Errorf("%w: append %s: subject of %d bytes, limit %d", ErrTooLarge, key, len(o.subject), maxSubject)
	}
	rec.Prev = expect
	if rec.Time == 0 {
		rec.Time = l.cfg.Now().UnixNano()
	}
	data, err := Encode(rec)
	if err != nil {
		return 0, err
	}
	if len(data) > l.maxData {
		return 0, fmt.Errorf("%w: append %s: %d bytes, limit %d", ErrTooLarge, key, len(data), l.maxData)
	}
	o.data = data
	return l.commit(ctx, o)
}

// commit queues o and waits for its outcome.
func (l *Log) commit(ctx context.Context, o *op) (uint64, error) {
	o.id = l.idPrefix + strconv.FormatUint(l.ids.Add(1), 36)
	o.done = make(chan struct{}, 1)
	o.alone[0] = o
	o.deadline = o.began.Add(l.cfg.Faults.CommitTimeout)
	l.mu.Lock()
	if err := l.admitLocked(o); err != nil {
		l.mu.Unlock()
		l.counters.errs.Add(1)
		return 0, err
	}
	l.queue = append(l.queue, o)
	l.queuedBytes += len(o.data)
	l.startLocked()
	l.mu.Unlock()
	select {
	case <-o.done:
	case <-ctx.Done():
		if err := l.leave(o, ctx.Err()); err != nil {
			return 0, err
		}
	}
	l.count(o)
	return o.seq, o.err
}

func (l *Log) count(o *op) {
	switch {
	case o.err == nil:
		l.counters.observe(time.Since(o.began))
	case errors.Is(o.err, ErrConflict):
		l.counters.conflicts.Add(1)
	default:
		l.counters.errs.Add(1)
	}
}

func (l *Log) admitLocked(o *op) error {
	if l.closed {
		return ErrClosed
	}
	if err := l.Err(); err != nil {
		return err
	}
	if len(l.queue) >= queueMax || l.queuedBytes+len(o.data) > queueBytes {
		return fmt.Errorf("%w: append %s: %d appends wait", ErrOverloaded, o.key, len(l.queue))
	}
	return nil
}

// leave is called when the caller will wait no longer. It returns nil if the outcome has become
// known after all.
func (l *Log) leave(o *op, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.finished {
		return nil
	}
	for i, q := range l.queue {
		if q == o {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			l.queuedBytes -= len(o.data)
			return cause
		}
	}
	o.abandoned = true
	if !o.sent {
		return cause
	}
	return fmt.Errorf("%w: append %s: %w", ErrUnknown, o.key, cause)
}

// startLocked begins the next round if one can begin.
func (l *Log) startLocked() {
	if len(l.queue) == 0 || l.paused > 0 {
		return
	}
	count, size := batchMax, batchBytes
	if l.pipelined {
		count, size = windowMax-len(l.flights), windowBytes-l.flyingBytes
		if count <= 0 || size <= 0 {
			return
		}
	} else if len(l.flights) > 0 {
		return
	}
	ops := l.gatherLocked(count, size)
	if len(ops) == 0 {
		return
	}
	batch := l.atomic && len(ops) > singlesMax
	l.counters.round(len(ops), batch)
	if batch && l.cfg.Faults.BeforePublish == nil {
		l.sendBatchLocked(ops)
		return
	}
	for _, o := range ops {
		l.sendLocked(o)
	}
}

// gatherLocked takes what may be sent now from the queue, in order: at most one append per
// object, and only those whose precondition is not known to fail.
func (l *Log) gatherLocked(count, size int) []*op {
	var ops []*op
	keep := l.queue[:0]
	rest := l.queue
	full := l.emb != nil && l.emb.free() < diskReserve+uint64(l.queuedBytes)
	for i, o := range rest {
		if len(ops) >= count || (size < len(o.data) && len(ops) > 0) {
			keep = append(keep, rest[i:]...)
			break
		}
		if _, busy := l.busy[o.subject]; busy {
			keep = append(keep, o)
			continue
		}
		l.queuedBytes -= len(o.data)
		if full {
			l.finishLocked(o, 0, fmt.Errorf("%w: append %s: the disk of %s is full", ErrFull, o.key, l.emb.dir))
			continue
		}
		var conflict *ConflictError
		if o.header, conflict = l.headerLocked(o); conflict != nil {
			l.finishLocked(o, 0, conflict)
			continue
		}
		l.busy[o.subject] = struct{}{}
		size -= len(o.data)
		ops = append(ops, o)
	}
	clear(rest[len(keep):])
	l.queue = keep
	return ops
}

// headerLocked gives the precondition as the server must check it, or the conflict that is
// certain already. An embedded log knows all writes, so what it remembers is final. An external
// one may have been overtaken by other servers: what it remembers is a lower bound.
func (l *Log) headerLocked(o *op) (uint64, *ConflictError) {
	if !o.guarded {
		return 0, nil
	}
	first := l.first.Load()
	known, ok := l.recent.get(o.subject)
	header := o.expect
	if ok {
		overtaken := known.seq > o.expect
		switch {
		case o.expect == 0 && known.deleted:
			header = known.seq
		case o.expect == 0:
			if l.emb != nil {
				return 0, &ConflictError{Key: o.key, Last: known.seq}
			}
		case overtaken || l.emb != nil && known.seq != o.expect:
			return 0, &ConflictError{Key: o.key, Expected: o.expect, Last: known.seq}
		}
	}
	if header < first {
		header = 0 // the object's last record has been trimmed: to the server there is none
	}
	return header, nil
}

// message builds o's message.
func (l *Log) message(o *op) *nats.Msg {
	m := &nats.Msg{Subject: o.subject, Data: o.data, Header: make(nats.Header, 4)}
	m.Header[l.idHeader] = []string{o.id}
	if o.guarded {
		m.Header[nats.ExpectedLastSubjSeqHdr] = []string{strconv.FormatUint(o.header, 10)}
	}
	return m
}

// sendLocked sends o as a single message.
func (l *Log) sendLocked(o *op) {
	if o.attempts > 0 {
		l.counters.resends.Add(1)
	}
	o.attempts++
	if o.flight.token == 0 {
		l.tokens++
		o.flight = flight{token: l.tokens, ops: o.alone[:]}
	}
	var err error
	if hook := l.cfg.Faults.BeforePublish; hook != nil {
		err = hook(o.key, o.attempts)
	}
	if err == nil {
		m := l.message(o)
		m.Reply = l.inbox + strconv.FormatUint(o.flight.token, 36)
		err = l.nc.PublishMsg(m)
	}
	if err != nil {
		o.failedToSend(err)
		l.laterLocked(o, fmt.Errorf("%w: %w", ErrUnavailable, err))
		return
	}
	o.sent = true
	l.flyLocked(&o.flight)
}

// failedToSend notes what an error of the connection means: unless it refused the message as a
// whole, part of what it wrote may have arrived.
func (o *op) failedToSend(err error) {
	var broken net.Error
	if errors.As(err, &broken) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.ErrShortWrite) {
		o.sent, o.ambiguous = true, true
	}
}

// sendBatchLocked sends ops as one atomic batch.
func (l *Log) sendBatchLocked(ops []*op) {
	l.tokens++
	f := &flight{token: l.tokens, ops: ops, batch: true}
	id := l.idPrefix + "-" + strconv.FormatUint(f.token, 36)
	for i, o := range ops {
		o.attempts++
		m := l.message(o)
		m.Header["Nats-Batch-Id"] = []string{id}
		m.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
		if i == len(ops)-1 {
			m.Header["Nats-Batch-Commit"] = []string{"1"}
			m.Reply = l.inbox + strconv.FormatUint(f.token, 36)
		}
		if err := l.nc.PublishMsg(m); err != nil {
			// Without its last message a batch is dropped by the server.
			for _, o := range ops {
				o.failedToSend(err)
				l.laterLocked(o, fmt.Errorf("%w: %w", ErrUnavailable, err))
			}
			return
		}
	}
	for _, o := range ops {
		o.sent = true
	}
	l.flyLocked(f)
}

func (l *Log) flyLocked(f *flight) {
	f.sent = time.Now()
	if _, flying := l.flights[f.token]; !flying {
		l.flights[f.token] = f
		l.flyingBytes += f.size()
	}
	if !l.sweeping {
		l.sweeping = true
		time.AfterFunc(l.cfg.Faults.AckWait/2, l.sweep)
	}
}

func (f *flight) size() int {
	n := 0
	for _, o := range f.ops {
		n += len(o.data)
	}
	return n
}

// landLocked takes a flight out of the air.
func (l *Log) landLocked(f *flight) {
	if _, flying := l.flights[f.token]; flying {
		delete(l.flights, f.token)
		l.flyingBytes -= f.size()
	}
}

// laterLocked sends o again after a pause that grows, or gives it up: cause says why it could
// not be sent, which is the truth unless an earlier message is unaccounted for.
func (l *Log) laterLocked(o *op, cause error) {
	l.landLocked(&o.flight)
	if l.hopelessLocked(o) {
		l.giveUpLocked(o, cause)
		return
	}
	l.aside++
	wait := min(retryPause<<min(o.attempts, 10), retryPauseMax)
	time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.aside--
		if l.hopelessLocked(o) {
			l.giveUpLocked(o, cause)
		} else {
			l.sendLocked(o)
		}
		l.settleLocked()
	})
}

// hopelessLocked tells whether o is not to be sent again. A caller that left before anything was
// sent has been told so.
func (l *Log) hopelessLocked(o *op) bool {
	return l.Err() != nil || l.closed || o.abandoned || time.Now().After(o.deadline)
}

// giveUpLocked ends o without an outcome. In an embedded log an append of unknown outcome means
// that the server no longer works, and the order handed to followers would have a hole.
func (l *Log) giveUpLocked(o *op, cause error) {
	if o.ambiguous {
		cause = fmt.Errorf("%w: append %s: %w", ErrUnknown, o.key, cause)
		if l.emb != nil && !l.closed {
			l.fail(cause)
		}
	}
	l.finishLocked(o, 0, cause)
}

// sweep looks for acks that are overdue, again and again while any are awaited.
func (l *Log) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overdueLocked(l.cfg.Faults.AckWait)
	l.sweeping = len(l.flights) > 0
	if l.sweeping {
		time.AfterFunc(l.cfg.Faults.AckWait/2, l.sweep)
	}
}

// reconnected sends again at once what was in flight when the connection broke.
func (l *Log) reconnected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overdueLocked(0)
}

// overdueLocked resends what has been in flight for longer than wait.
func (l *Log) overdueLocked(wait time.Duration) {
	now := time.Now()
	overdue := make([]*flight, 0, len(l.flights))
	for _, f := range l.flights {
		if now.Sub(f.sent) >= wait || l.closed {
			overdue = append(overdue, f)
		}
	}
	for _, f := range overdue {
		l.landLocked(f)
		for _, o := range f.ops {
			o.ambiguous = true
			if now.After(o.deadline) || l.closed {
				l.giveUpLocked(o, errors.New("no answer from the log"))
			} else {
				l.sendLocked(o)
			}
		}
	}
	l.settleLocked()
}

// settleLocked is called after each change: it starts the next round and wakes who waits for
// the committer to be idle.
func (l *Log) settleLocked() {
	if l.Err() != nil {
		l.dropQueueLocked(l.Err())
	}
	l.startLocked()
	if l.idle != nil && len(l.flights) == 0 && l.aside == 0 {
		l.idle.Broadcast()
	}
}

// awaitIdleLocked waits until nothing is in flight or aside.
func (l *Log) awaitIdleLocked() {
	if l.idle == nil {
		l.idle = sync.NewCond(&l.mu)
	}
	for len(l.flights) > 0 || l.aside > 0 {
		l.idle.Wait()
	}
}

func (l *Log) dropQueueLocked(err error) {
	for _, o := range l.queue {
		l.finishLocked(o, 0, err)
	}
	l.queue, l.queuedBytes = nil, 0
}

// finishLocked tells o's outcome. A committed record is handed to the followers first, so that
// they are ahead of the caller.
func (l *Log) finishLocked(o *op, seq uint64, err error) {
	if o.finished {
		return
	}
	o.finished = true
	if o.attempts > 0 {
		delete(l.busy, o.subject)
	}
	o.seq, o.err = seq, err
	if err == nil {
		if o.guarded {
			l.recent.put(o.subject, fate{seq: seq, deleted: o.rec.Op == OpDelete})
		}
		if l.emb == nil {
			raise(&l.last, seq)
		} else {
			l.committedLocked(Entry{Seq: seq, Key: o.key, Record: o.rec, Size: len(o.subject) + len(o.data) + entryOverhead})
		}
	}
	o.data = nil
	o.done <- struct{}{}
}
