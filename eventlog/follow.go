package eventlog

import (
	"context"
	"math"
)

// A follower that is this far behind is sent back to reading the stream.
const (
	followEntries = 1 << 16
	followBytes   = 64 << 20
)

// follower is one Follow on an embedded log that has caught up: the committer puts the entries
// it commits into pending, in order.
type follower struct {
	// Guarded by Log.mu.
	pending []Entry
	bytes   int
	behind  bool // pending overflowed and was dropped

	wake chan struct{}
}

// committedLocked hands a committed entry to the followers. Acks of single messages may be
// resolved out of order, so an entry waits for those before it.
func (l *Log) committedLocked(e Entry) {
	if e.Seq != l.last.Load()+1 {
		if e.Seq > l.last.Load() {
			l.held[e.Seq] = e
		}
		return
	}
	for {
		for f := range l.followers {
			f.push(e)
		}
		l.last.Store(e.Seq)
		if len(l.held) == 0 {
			return
		}
		next, ok := l.held[e.Seq+1]
		if !ok {
			return
		}
		delete(l.held, next.Seq)
		e = next
	}
}

func (f *follower) push(e Entry) {
	if f.behind {
		return
	}
	if len(f.pending) >= followEntries || f.bytes >= followBytes {
		f.pending, f.bytes, f.behind = nil, 0, true
	} else {
		f.pending = append(f.pending, e)
		f.bytes += e.Size
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Follow hands all entries from `from` on to fn, in order and in contiguous batches: first those
// in the log, then each as it is committed, until ctx ends (it returns ctx.Err()), fn fails, the
// log is closed (ErrClosed) or fails (its Err), or the log is found trimmed beyond the next
// entry (*TrimmedError) or damaged (*DamageError). fn may keep the entries. An embedded log
// hands over the very records that were appended.
func (l *Log) Follow(ctx context.Context, from uint64, fn func([]Entry) error) error {
	from = max(from, 1)
	if err := l.readable(from); err != nil && from <= l.last.Load() {
		return err
	}
	if l.emb == nil {
		if first := l.first.Load(); from < first {
			return &TrimmedError{Want: from, First: first}
		}
		_, err := l.read(ctx, from, math.MaxUint64, fn)
		return err
	}
	f := &follower{wake: make(chan struct{}, 1)}
	defer func() {
		l.mu.Lock()
		delete(l.followers, f)
		l.mu.Unlock()
	}()
	for next := from; ; {
		upto := l.join(f)
		if next <= upto {
			if err := l.Range(ctx, next, upto, fn); err != nil {
				return err
			}
			next = upto + 1
		}
		var err error
		if next, err = l.live(ctx, f, next, fn); err != nil {
			return err
		}
	}
}

// join adds f to those who get what is committed after the returned sequence.
func (l *Log) join(f *follower) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.pending, f.bytes, f.behind = nil, 0, false
	l.followers[f] = struct{}{}
	return l.last.Load()
}

// live hands over what the committer puts into f; it returns without an error when f fell behind.
func (l *Log) live(ctx context.Context, f *follower, next uint64, fn func([]Entry) error) (uint64, error) {
	for {
		l.mu.Lock()
		batch, behind := f.pending, f.behind
		f.pending, f.bytes = nil, 0
		l.mu.Unlock()
		for len(batch) > 0 && batch[0].Seq < next {
			batch = batch[1:] // followed from the future
		}
		for len(batch) > 0 {
			n := min(len(batch), readBatch)
			if err := fn(batch[:n:n]); err != nil {
				return next, err
			}
			next = batch[n-1].Seq + 1
			batch = batch[n:]
			if err := ctx.Err(); err != nil {
				return next, err
			}
		}
		if behind {
			return next, nil
		}
		select {
		case <-f.wake:
			continue
		default:
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return next, ctx.Err()
		case <-l.done:
			return next, ErrClosed
		case <-l.failed:
			return next, l.Err()
		}
	}
}
