package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// The committer's limits.
const (
	singlesMax  = 16       // up to this many appends go as single messages, more as one batch: a batch costs the server as much as that
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
