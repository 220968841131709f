package eventlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Error codes of JetStream that the log tells apart.
const (
	codeUnavailable  = 10008 // JetStream temporarily unavailable
	codeResources    = 10023 // insufficient resources
	codeNotFound     = 10037 // no such message
	codeStorage      = 10047 // insufficient storage
	codeWrongLast    = 10071 // the precondition does not hold
	codeStoreFailed  = 10077 // the store refused or failed to write
	codeDuplicateFly = 10158 // the same id is in flight
	codeInFlight     = 10164 // another write of the subject is in flight
	codeOverloaded   = 10167 // too much waits at the server
	codeBatchOff     = 10174 // atomic batches are not enabled
)

// ack is the server's answer to a message or batch.
type ack struct {
	Seq   uint64 `json:"seq"`
	Count int    `json:"count"`
	Error *struct {
		Code        int    `json:"code"`
		ErrCode     int    `json:"err_code"`
		Description string `json:"description"`
	} `json:"error"`
}

var (
	ackError = []byte(`"error"`)
	ackSeq   = []byte(`"seq":`)
	ackBatch = []byte(`"batch"`)
)

// parseAck reads an ack; the usual one, a single sequence, without reflection.
func parseAck(data []byte) (a ack, err error) {
	if !bytes.Contains(data, ackError) && !bytes.Contains(data, ackBatch) {
		if i := bytes.Index(data, ackSeq); i >= 0 {
			for _, c := range bytes.TrimLeft(data[i+len(ackSeq):], " ") {
				if c < '0' || c > '9' {
					break
				}
				a.Seq = a.Seq*10 + uint64(c-'0')
			}
			if a.Seq > 0 {
				return a, nil
			}
		}
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("eventlog: ack %q: %w", data, err)
	}
	if a.Error == nil && a.Seq == 0 {
		return a, fmt.Errorf("eventlog: ack %q has no sequence", data)
	}
	return a, nil
}

// onAck is the handler of the acks' subscription.
func (l *Log) onAck(m *nats.Msg) {
	if f := &l.cfg.Faults; f.LoseAck != nil || f.Ack != nil || f.DelayAck != nil {
		l.counters.acks++
		n := l.counters.acks
		if f.LoseAck != nil && f.LoseAck(n) {
			return
		}
		if f.Ack != nil {
			m.Data = f.Ack(n, m.Data)
		}
		if f.DelayAck != nil {
			if d := f.DelayAck(n); d > 0 {
				time.AfterFunc(d, func() { l.handleAck(m) })
				return
			}
		}
	}
	l.handleAck(m)
}

func (l *Log) handleAck(m *nats.Msg) {
	token, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, l.inbox), 36, 64)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flights[token]
	if f == nil {
		return // the answer to a message that was sent twice
	}
	l.landLocked(f)
	defer l.settleLocked()
	if m.Header.Get("Status") == "503" {
		l.refusedLocked(f, codeUnavailable, "no stream answers")
		return
	}
	a, err := parseAck(m.Data)
	switch {
	case err != nil:
		l.fail(err)
		for _, o := range f.ops {
			o.ambiguous = true
			l.giveUpLocked(o, err)
		}
	case a.Error != nil:
		l.refusedLocked(f, a.Error.ErrCode, a.Error.Description)
	case f.batch && a.Count != len(f.ops):
		l.fail(fmt.Errorf("eventlog: a batch of %d records was acknowledged as %d", len(f.ops), a.Count))
		for _, o := range f.ops {
			o.ambiguous = true
			l.giveUpLocked(o, l.Err())
		}
	default:
		seq := a.Seq - uint64(len(f.ops)-1)
		for i, o := range f.ops {
			l.finishLocked(o, seq+uint64(i), nil)
		}
	}
}

// refusedLocked handles an error ack. A refused batch does not say which message was at fault:
// each is sent again on its own and gets its own truth.
func (l *Log) refusedLocked(f *flight, code int, text string) {
	if code == codeBatchOff {
		l.atomic, l.pipelined = false, true
	}
	if f.batch && !l.fatal(code, text) {
		for _, o := range f.ops {
			l.sendLocked(o)
		}
		return
	}
	for _, o := range f.ops {
		l.refusedOneLocked(o, code, text)
	}
}

// fatal tells whether an answer means that the embedded store can no longer write. The limit of
// the stream's size comes with the same code as a write error.
func (l *Log) fatal(code int, text string) bool {
	if l.emb == nil {
		return false
	}
	switch code {
	case codeStoreFailed:
		return !isLimit(text)
	case codeResources:
		return true
	case codeUnavailable:
		return !l.emb.srv.JetStreamEnabled() // it shuts itself down at the end of the disk
	}
	return false
}

func isLimit(text string) bool {
	return strings.Contains(text, "maximum bytes") || strings.Contains(text, "maximum messages")
}

func (l *Log) refusedOneLocked(o *op, code int, text string) {
	switch {
	case code == codeWrongLast && o.guarded:
		l.aside++
		l.work.Add(1)
		go l.resolve(o)
	case !l.fatal(code, text) && (code == codeWrongLast || code == codeInFlight || code == codeDuplicateFly || code == codeUnavailable):
		l.laterLocked(o, fmt.Errorf("%w: append %s: %s", ErrUnavailable, o.key, text))
	case code == codeOverloaded:
		l.endLocked(o, fmt.Errorf("%w: append %s: %s", ErrOverloaded, o.key, text))
	case l.fatal(code, text):
		// The record may be in the file although the store could not say so.
		o.ambiguous = true
		cause := storeError(text)
		switch {
		case code == codeUnavailable:
			cause = fmt.Errorf("%w: %s", ErrFull, l.emb.notes.last())
		case code == codeResources:
			cause = fmt.Errorf("%w: %s", ErrFull, text)
		}
		l.fail(cause)
		l.giveUpLocked(o, l.Err())
	case code == codeStoreFailed, code == codeStorage, code == codeResources:
		l.endLocked(o, fmt.Errorf("%w: append %s: %s", ErrFull, o.key, text))
	default:
		l.endLocked(o, fmt.Errorf("eventlog: append %s: the server refused it: %s (%d)", o.key, text, code))
	}
}

// storeError makes an error of what the server says of a failed write.
func storeError(text string) error {
	if isSpace(text) {
		return fmt.Errorf("%w: %s", ErrFull, text)
	}
	return errors.New(text)
}

func isSpace(text string) bool {
	return strings.Contains(text, "no space left") || strings.Contains(text, "quota")
}

// endLocked ends o with an error that says that this message was not written. If an earlier one
// is unaccounted for, that is not the whole truth.
func (l *Log) endLocked(o *op, err error) {
	if o.ambiguous {
		l.laterLocked(o, err)
		return
	}
	l.finishLocked(o, 0, err)
}

// verdict is what resolve finds out.
type verdict struct {
	seq    uint64 // committed already, at this sequence
	header uint64 // else to be sent again with this precondition
	err    error  // else refused
}

// resolve finds out what a refused precondition means: our own record, written by a message
// whose ack was lost; a tombstone that a create may go over; a record that was trimmed away; or
// a conflict.
func (l *Log) resolve(o *op) {
	defer l.work.Done()
	ctx, cancel := context.WithDeadline(context.Background(), o.deadline)
	defer cancel()
	l.mu.Lock()
	header, check := o.header, o.attempts > 1
	l.mu.Unlock()
	v, err := l.judge(ctx, o, header, check)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aside--
	switch {
	case err != nil && check:
		o.ambiguous = true
		l.laterLocked(o, err)
	case err != nil:
		l.laterLocked(o, err)
	case v.seq != 0:
		l.finishLocked(o, v.seq, nil)
	case v.err != nil:
		l.finishLocked(o, 0, v.err)
	default:
		o.header = v.header
		l.sendLocked(o)
	}
	l.settleLocked()
}

func (l *Log) judge(ctx context.Context, o *op, header uint64, check bool) (verdict, error) {
	if check {
		if v, err := l.findOwn(ctx, o, header); err != nil || v.seq != 0 || v.err != nil {
			return v, err
		}
	}
	last, err := l.load(ctx, getRequest{LastFor: o.subject})
	if err != nil {
		return verdict{}, err
	}
	conflict := &ConflictError{Key: o.key, Expected: o.expect}
	if last == nil {
		// Nothing retained: right for a create, and for an update of what was trimmed away.
		if _, err := l.Info(ctx); err != nil {
			return verdict{}, err
		}
		if o.expect < l.first.Load() {
			return verdict{header: 0}, nil
		}
		return verdict{err: conflict}, nil
	}
	conflict.Last = last.Seq
	if o.expect != 0 {
		if last.Seq == o.expect {
			return verdict{header: last.Seq}, nil
		}
		return verdict{err: conflict}, nil
	}
	rec, err := Decode(last.Data)
	if err != nil {
		return verdict{err: fmt.Errorf("eventlog: append %s: record %d: %w", o.key, last.Seq, err)}, nil
	}
	if rec.Op != OpDelete {
		return verdict{err: conflict}, nil
	}
	return verdict{header: last.Seq}, nil
}

// findOwn looks whether an earlier message of o was written: it can only be the first record of
// the object after the state o expected.
func (l *Log) findOwn(ctx context.Context, o *op, header uint64) (verdict, error) {
	m, err := l.load(ctx, getRequest{Seq: header + 1, NextFor: o.subject})
	if err != nil {
		return verdict{}, err
	}
	if m != nil && m.id() == o.id {
		return verdict{seq: m.Seq}, nil
	}
	// Was it written, and trimmed away since?
	before := l.first.Load()
	if _, err := l.Info(ctx); err != nil {
		return verdict{}, err
	}
	if first := l.first.Load(); first > before && first > header+1 {
		return verdict{err: fmt.Errorf("%w: append %s: the log was trimmed to %d meanwhile", ErrUnknown, o.key, first)}, nil
	}
	return verdict{}, nil
}
