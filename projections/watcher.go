package projections

import (
	"context"
	"sync/atomic"
)

// Watcher is a cursor into the changes of one resource. It holds a position
// and nothing else: it cannot slow anybody, is never cut off for being slow,
// and costs the same whether it is up to date or a million changes behind.
//
// Next is for one goroutine at a time; the other methods are for any.
type Watcher struct {
	store  *Store
	res    *resource
	pos    uint64 // everything up to here has been returned
	parked atomic.Bool
	closed atomic.Bool
}

// Watch returns a cursor that yields the changes of a resource with sequences
// above seq. A seq in the future is fine: the cursor is silent until then. A
// seq below the floor gives an *ExpiredError.
func (s *Store) Watch(gr GroupResource, seq uint64) (*Watcher, error) {
	if floor := s.Floor(); seq < floor {
		return nil, &ExpiredError{Seq: seq, Floor: floor}
	}
	s.counts.watchers.Add(1)
	return &Watcher{store: s, res: s.resources.obtain(gr), pos: seq}, nil
}

// Next returns the changes that follow, in order. The slice is shared: it must
// not be modified. Every change of the resource with a sequence <= upto has
// been returned by now. Next blocks until there is a change, or until ctx ends:
// then it returns how far it has got and ctx.Err(), and can be called again.
//
// A cursor that has fallen out of memory is served from the log until it has
// caught up. An *ExpiredError means that the log itself has been trimmed past it.
func (w *Watcher) Next(ctx context.Context) (changes []*Change, upto uint64, err error) {
	for {
		// The applied sequence first: what was applied then is in the view.
		applied := w.store.Applied()
		v := w.res.feed.view.Load()
		if w.pos < v.start {
			changes, err = w.fromLog(ctx)
		} else {
			w.park(false)
			changes = v.after(w.pos)
			err = w.advance(ctx, v, changes, applied)
		}
		if err != nil || len(changes) > 0 {
			return changes, w.pos, err
		}
	}
}

// advance moves the cursor behind the changes found in a view. If there are
// none it waits until there may be some.
func (w *Watcher) advance(ctx context.Context, v *feedView, changes []*Change, applied uint64) error {
	if n := len(changes); n > 0 {
		w.pos = changes[n-1].Seq
		if len(v.after(w.pos)) == 0 {
			w.pos = max(w.pos, applied)
		}
		return nil
	}
	w.pos = max(w.pos, applied)
	sleep := w.res.feed.sleep()
	if w.res.feed.view.Load() != v {
		return nil // something was published before we could have been woken for it
	}
	select {
	case <-sleep.done:
		// Nothing came between our position and the batch that woke us, so
		// should its changes be evicted before we run, the log need not be
		// read from as far back as we fell asleep.
		w.pos = max(w.pos, sleep.upto)
		return nil
	case <-ctx.Done():
		w.catchUp()
		return ctx.Err()
	}
}

// catchUp moves the cursor of an idle watcher to the applied sequence, if there
// was no change.
func (w *Watcher) catchUp() {
	applied := w.store.Applied()
	if v := w.res.feed.view.Load(); w.pos >= v.start && len(v.after(w.pos)) == 0 {
		w.pos = max(w.pos, applied)
	}
}

// fromLog reads the part of the log that the cursor stands in front of.
func (w *Watcher) fromLog(ctx context.Context) ([]*Change, error) {
	w.park(true)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := w.store.cold.piece(ctx, w.pos+1)
	if err != nil {
		return nil, err
	}
	changes := above(p.changes[w.res.gr], w.pos)
	w.pos = p.to
	return changes, nil
}

func (w *Watcher) park(parked bool) {
	if w.parked.Load() == parked || w.closed.Load() {
		return
	}
	w.parked.Store(parked)
	if parked {
		w.store.counts.parked.Add(1)
		w.store.counts.parkings.Add(1)
	} else {
		w.store.counts.parked.Add(-1)
	}
}

// Parked tells whether the cursor is being served from the log.
func (w *Watcher) Parked() bool { return w.parked.Load() }

// Close gives the watcher up. It does not end a call of Next: its context does.
func (w *Watcher) Close() {
	if w.closed.CompareAndSwap(false, true) {
		w.store.counts.watchers.Add(-1)
		if w.parked.Swap(false) {
			w.store.counts.parked.Add(-1)
		}
	}
}
