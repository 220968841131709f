package projections

import (
	"context"
	"fmt"
	"sync"
)

// barriers asks the log how far a read that arrives now must be, once for all
// reads that were waiting. A read may use only a barrier that was issued after
// the read arrived: one that arrives while a barrier is under way takes part in
// the next one.
type barriers struct {
	log Log

	mu      sync.Mutex
	current *round // under way
	next    *round // to be issued when current returns; nil if nobody waits for it
}

type round struct {
	done    chan struct{}
	readers int // who take part in it
	seq     uint64
	err     error
}

// fresh returns the sequence that a read arriving now must have applied.
func (b *barriers) fresh(ctx context.Context) (uint64, error) {
	b.mu.Lock()
	var r *round
	switch {
	case b.current == nil:
		r = &round{done: make(chan struct{})}
		b.current = r
		// Not the reader's own context: the others must not fail with it.
		go b.run(context.WithoutCancel(ctx), r)
	case b.next == nil:
		r = &round{done: make(chan struct{})}
		b.next = r
	default:
		r = b.next
	}
	r.readers++
	b.mu.Unlock()

	select {
	case <-r.done:
		return r.seq, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run issues barriers until nobody waits for another one.
func (b *barriers) run(ctx context.Context, r *round) {
	for r != nil {
		r.seq, r.err = b.log.Barrier(ctx)
		if r.err != nil {
			r.err = fmt.Errorf("read barrier: %w", r.err)
		}
		close(r.done)
		b.mu.Lock()
		b.current, b.next = b.next, nil
		r = b.current
		b.mu.Unlock()
	}
}
