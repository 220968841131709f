package projections

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// progress owns the applied sequence and everyone who waits for it. Nobody
// else keeps a copy of it.
//
// Waiters stand in a heap by sequence, so that a batch wakes exactly those
// whose sequence it applied: each write waits once, and a broadcast would wake
// all writes in flight for every batch.
type progress struct {
	seq atomic.Uint64

	mu      sync.Mutex
	waiting waiters
	stopped error // why no more will come; nil while it may
	pool    sync.Pool
}

type waiter struct {
	seq  uint64
	at   int // index in the heap, -1 when it has been woken
	done chan error
}

// wait returns once seq has been applied, at once if it has.
func (p *progress) wait(ctx context.Context, seq uint64) error {
	if p.seq.Load() >= seq {
		return nil
	}
	w, _ := p.pool.Get().(*waiter)
	if w == nil {
		w = &waiter{done: make(chan error, 1)}
	}
	defer p.pool.Put(w)
	w.seq = seq
	p.mu.Lock()
	// advance stores before it locks, so what it stored is seen here, or it finds us.
	if p.seq.Load() >= seq {
		p.mu.Unlock()
		return nil
	}
	if p.stopped != nil {
		err := p.stopped
		p.mu.Unlock()
		return err
	}
	heap.Push(&p.waiting, w)
	p.mu.Unlock()

	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
	}
	p.mu.Lock()
	woken := w.at < 0
	if !woken {
		heap.Remove(&p.waiting, w.at)
	}
	p.mu.Unlock()
	if woken {
		return <-w.done
	}
	return ctx.Err()
}

// advance makes seq the applied sequence and wakes those who waited for it.
func (p *progress) advance(seq uint64) {
	p.seq.Store(seq)
	p.mu.Lock()
	for len(p.waiting) > 0 && p.waiting[0].seq <= seq {
		heap.Pop(&p.waiting).(*waiter).done <- nil
	}
	p.mu.Unlock()
}

// stop tells all who wait, and all who come later, that nothing more will be applied.
func (p *progress) stop(cause error) {
	p.mu.Lock()
	p.stopped = fmt.Errorf("%w after sequence %d: %w", ErrStopped, p.seq.Load(), cause)
	for len(p.waiting) > 0 {
		heap.Pop(&p.waiting).(*waiter).done <- p.stopped
	}
	p.mu.Unlock()
}

// resume takes back stop.
func (p *progress) resume() {
	p.mu.Lock()
	p.stopped = nil
	p.mu.Unlock()
}

// waiters is a heap of the least sequence first.
type waiters []*waiter

func (w waiters) Len() int           { return len(w) }
func (w waiters) Less(i, j int) bool { return w[i].seq < w[j].seq }
func (w waiters) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}

func (w *waiters) Push(x any) {
	e := x.(*waiter)
	e.at = len(*w)
	*w = append(*w, e)
}

func (w *waiters) Pop() any {
	old := *w
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*w = old[:len(old)-1]
	e.at = -1
	return e
}
