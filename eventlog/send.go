package eventlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

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
	if l.emb != nil && len(overdue) > 0 && l.emb.notes.writeError() != "" {
		// The server does not always answer a message that it could not write.
		l.fail(storeError(l.emb.notes.writeError()))
	}
	for _, f := range overdue {
		l.landLocked(f)
		for _, o := range f.ops {
			o.ambiguous = true
			if l.hopelessLocked(o) && !o.abandoned {
				l.giveUpLocked(o, cmp.Or(l.Err(), errors.New("no answer from the log")))
			} else {
				l.sendLocked(o)
			}
		}
	}
	l.settleLocked()
}
