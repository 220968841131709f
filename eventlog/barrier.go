package eventlog

import (
	"context"
	"sync"
	"time"
)

// barrier shares one barrier append among all who wait: a caller may use an append that began
// after the call, never one that was on its way already.
type barrier struct {
	mu      sync.Mutex
	next    *barrierRound // not begun, may be joined
	running bool
}

type barrierRound struct {
	done chan struct{}
	seq  uint64
	err  error
}

// Barrier returns a sequence that includes every append that was acknowledged, by any server,
// before the call: a read that has applied it is up to date. Embedded, that is the last
// sequence. With a shared stream no answer of JetStream can be trusted with it, a leader that
// was cut off answers for up to ten seconds; so a tiny record is committed, one for all callers
// that wait. It fails as Append does.
func (l *Log) Barrier(ctx context.Context) (uint64, error) {
	if l.emb != nil {
		select {
		case <-l.done:
			return 0, ErrClosed
		default:
		}
		return l.last.Load(), nil
	}
	b := &l.barrier
	b.mu.Lock()
	if b.next == nil {
		b.next = &barrierRound{done: make(chan struct{})}
	}
	round := b.next
	if !b.running {
		b.running = true
		go l.runBarriers()
	}
	b.mu.Unlock()
	select {
	case <-round.done:
		return round.seq, round.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// runBarriers commits rounds until nobody waits.
func (l *Log) runBarriers() {
	b := &l.barrier
	for {
		b.mu.Lock()
		round := b.next
		b.next = nil
		if round == nil {
			b.running = false
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		round.seq, round.err = l.appendBarrier()
		close(round.done)
	}
}

func (l *Log) appendBarrier() (uint64, error) {
	rec := &Record{Op: OpBarrier, Time: l.cfg.Now().UnixNano()}
	data, err := Encode(rec)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.Faults.CommitTimeout)
	defer cancel()
	return l.commit(ctx, &op{subject: barrierSubject, rec: rec, data: data, began: time.Now()})
}
