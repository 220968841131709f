package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kronicle/kronicle/eventlog"
)

// At returns the state of a resource at exactly seq. Within memory the current
// state is taken and the later changes are undone; further back it is rebuilt
// from the nearest snapshot and the log. Either is kept for a while, so that
// the pages of a list continue on it. It fails with *ExpiredError below the
// floor and with *FutureError above the applied sequence.
func (s *Store) At(ctx context.Context, gr GroupResource, seq uint64) (View, error) {
	if floor := s.Floor(); seq < floor {
		return View{}, &ExpiredError{Seq: seq, Floor: floor}
	}
	if applied := s.Applied(); seq > applied {
		return View{}, &FutureError{Seq: seq, Current: applied}
	}
	r, err := s.stateAt(ctx, s.resources.obtain(gr), seq)
	if err != nil {
		return View{}, err
	}
	return View{r, seq}, nil
}

// stateAt returns the state of a resource at an applied sequence.
func (s *Store) stateAt(ctx context.Context, res *resource, seq uint64) (*root, error) {
	if r := res.root.Load(); r.seq <= seq {
		return r, nil
	}
	key := stateKey{res.gr, seq}
	if r := s.states.get(key); r != nil {
		s.counts.exactHits.Add(1)
		return r, nil
	}
	return s.states.flights.do(ctx, key, func(ctx context.Context) (*root, error) {
		if r := s.states.get(key); r != nil { // built between our look and this flight
			return r, nil
		}
		s.counts.exactBuilt.Add(1)
		r, bytes, ok := undo(res, seq)
		if !ok {
			var err error
			if r, bytes, err = s.rebuild(ctx, res, seq); err != nil {
				return nil, err
			}
		}
		s.states.put(key, r, bytes)
		return r, nil
	})
}

// undo makes an older state from a newer one and the changes between them, if
// these are all in memory. It returns the memory the state holds on its own.
func undo(res *resource, seq uint64) (*root, int64, bool) {
	r := res.root.Load()
	v := res.feed.view.Load() // after the root: it has all changes that are in the root
	if seq < v.start {
		return nil, 0, false
	}
	for i := len(v.marks) - 1; i >= 0 && v.marks[i].root.seq >= seq; i-- {
		r = v.marks[i].root
	}
	t := r.fork()
	bytes := int64(stateOverhead)
	v.backward(seq, func(c *Change) {
		if c.Seq > r.seq {
			return
		}
		if c.Op == eventlog.OpCreate {
			t.Delete(c.Object)
		} else {
			t.Set(c.Prev)
			bytes += c.Prev.Size()
		}
		bytes += markCost
	})
	return &root{tree: t, seq: seq}, bytes, true
}

// rebuild makes an older state from the nearest one that is there, a state
// rebuilt before or a snapshot, and the log that follows.
func (s *Store) rebuild(ctx context.Context, res *resource, seq uint64) (*root, int64, error) {
	if near := s.states.nearest(res.gr, seq); near != nil && seq-near.seq <= nearby {
		r, bytes, err := s.replay(ctx, res, near.fork(), near.seq, seq)
		if !errors.Is(err, ErrExpired) {
			return r, bytes, err
		}
		// The log that followed it has been trimmed. A snapshot may be newer.
	}
	t, from, base, err := s.base(ctx, res, seq)
	if err != nil {
		return nil, 0, err
	}
	r, bytes, err := s.replay(ctx, res, t, from, seq)
	return r, base + bytes, err
}

// replay brings a tree of the state at from to the state at seq.
func (s *Store) replay(ctx context.Context, res *resource, t *tree, from, seq uint64) (*root, int64, error) {
	bytes := int64(stateOverhead)
	for from < seq {
		p, err := s.cold.piece(ctx, from+1)
		if err != nil {
			return nil, 0, fmt.Errorf("state of %s at sequence %d: %w", res.gr, seq, err)
		}
		for _, c := range above(p.changes[res.gr], from) {
			if c.Seq > seq {
				break
			}
			grown, err := redo(t, c)
			if err != nil {
				return nil, 0, fmt.Errorf("state of %s at sequence %d: %w", res.gr, seq, err)
			}
			bytes += grown
		}
		from = min(p.to, seq)
	}
	return &root{tree: t, seq: seq}, bytes, nil
}

// redo applies a change to a tree, with the same checks as when it was applied first.
func redo(t *tree, c *Change) (int64, error) {
	var old *Object
	if c.Op == eventlog.OpDelete {
		old, _ = t.Delete(c.Object)
	} else {
		old, _ = t.Set(c.Object)
	}
	var was uint64
	if old != nil {
		was = old.rv
	}
	if was != c.cold.prev {
		return 0, &ApplyError{Seq: c.Seq, Key: c.Object.key(), Why: fmt.Sprintf("it follows sequence %d, but the object is at %d", c.cold.prev, was)}
	}
	if c.Op == eventlog.OpDelete {
		return markCost, nil
	}
	return markCost + c.Object.Size(), nil
}

// nearby is how far back a state rebuilt before is taken without asking for a
// snapshot, in sequences.
const nearby = 8 * pieceLen

// base returns the state in the newest snapshot at or before seq, its sequence
// and the memory it takes on its own. Without a snapshot that is the empty state
// before the first record, if the log still begins there.
func (s *Store) base(ctx context.Context, res *resource, seq uint64) (*tree, uint64, int64, error) {
	none := func() (*tree, uint64, int64, error) {
		if first := s.log.First(); first > 1 {
			return nil, 0, 0, &ExpiredError{Seq: seq, Floor: max(s.Floor(), first)}
		}
		return newTree(), 0, 0, nil
	}
	source := *s.source.Load()
	if source == nil {
		return none()
	}
	snapshot, err := source.Nearest(ctx, seq)
	if errors.Is(err, ErrNoSnapshot) {
		return none()
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("snapshot for sequence %d: %w", seq, err)
	}
	defer snapshot.Close()
	t, bytes := newTree(), int64(0)
	current := res.root.Load().tree
	err = snapshot.Objects(ctx, res.gr, func(o *Object) error {
		if now, ok := current.Get(o); ok && now.rv == o.rv {
			o = now // has not changed since: share it
		} else {
			bytes += o.Size()
		}
		t.Load(o)
		return nil
	})
	if err != nil {
		return nil, 0, 0, fmt.Errorf("snapshot at sequence %d: %w", snapshot.Seq(), err)
	}
	return t, snapshot.Seq(), bytes, nil
}

const (
	stateOverhead = 16 << 10
	statesKept    = 32          // older states kept at most
	stateIdle     = time.Minute // how long an older state is kept when nobody reads it
)

type stateKey struct {
	gr  GroupResource
	seq uint64
}

type state struct {
	key   stateKey
	root  *root
	bytes int64
	used  time.Time
}

// states keeps older states while they are being read: a few, of limited
// memory, and not for long.
type states struct {
	limit   int64
	flights flights[stateKey, *root]

	mu    sync.Mutex
	all   []state // least recently used first
	sweep *time.Timer
}

func (s *states) init(limit int64) { s.limit = limit }

func (s *states) get(key stateKey) *root {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(st state) bool { return st.key == key })
	if i < 0 {
		return nil
	}
	st := s.all[i]
	st.used = time.Now()
	s.all = append(slices.Delete(s.all, i, i+1), st)
	return st.root
}

// nearest returns the newest kept state of a resource at or before seq.
func (s *states) nearest(gr GroupResource, seq uint64) *root {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *root
	for _, st := range s.all {
		if st.key.gr == gr && st.key.seq <= seq && (best == nil || st.key.seq > best.seq) {
			best = st.root
		}
	}
	return best
}

// put keeps a state, and drops others for it: the one just made is kept however large it is.
func (s *states) put(key stateKey, r *root, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, state{key, r, bytes, time.Now()})
	total := int64(0)
	for _, st := range s.all {
		total += st.bytes
	}
	drop := 0
	for drop < len(s.all)-1 && (total > s.limit || len(s.all)-drop > statesKept) {
		total -= s.all[drop].bytes
		drop++
	}
	s.all = slices.Delete(s.all, 0, drop)
	if s.sweep == nil {
		s.sweep = time.AfterFunc(stateIdle, s.expire)
	}
}

// expire drops the states that nobody has read for a while.
func (s *states) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := func(st state) bool { return time.Since(st.used) >= stateIdle }
	s.all = slices.DeleteFunc(s.all, idle)
	if len(s.all) == 0 {
		s.sweep = nil
		return
	}
	s.sweep = time.AfterFunc(stateIdle/4, s.expire)
}
