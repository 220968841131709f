package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kronicle/kronicle/eventlog"
)

// pieceLen is how many sequences of the log are read and decoded together for
// those who read further back than memory.
const pieceLen = 1024

// piece is a contiguous part of the log, decoded once and shared by all who
// read there. It is immutable.
type piece struct {
	from, to uint64 // inclusive
	changes  map[GroupResource][]*Change
	bytes    atomic.Int64

	used uint64 // clock of the last use; guarded by cold.mu
}

// grow accounts for memory that was attached to the piece later.
func (p *piece) grow(n int64) { p.bytes.Add(n) }

// cold is the log behind memory: a few pieces of it, the most recently used
// ones that fit its memory. The log is read unfiltered and each sequence is
// accounted for; a gap is an error and never a silence.
type cold struct {
	store   *Store
	limit   int64
	flights flights[uint64, *piece]
	last    atomic.Uint64 // the last sequence that Run has taken up: there is nothing to read beyond

	mu     sync.Mutex
	pieces []*piece // few, so a walk is as good as an index
	clock  uint64
}

func (c *cold) init(s *Store, limit int64) { c.store, c.limit = s, limit }

// size returns the memory of all pieces, in bytes.
func (c *cold) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sizeLocked()
}

func (c *cold) sizeLocked() (n int64) {
	for _, p := range c.pieces {
		n += p.bytes.Load()
	}
	return n
}

// piece returns a piece that holds seq, which Run must have taken up. If seq
// has been trimmed away it returns an *ExpiredError.
func (c *cold) piece(ctx context.Context, seq uint64) (*piece, error) {
	from := (seq-1)/pieceLen*pieceLen + 1
	for {
		p, next := c.cached(seq, from)
		if p != nil {
			c.store.counts.coldHits.Add(1)
			return p, nil
		}
		first := c.store.log.First()
		if seq < first {
			return nil, c.expired(seq, first)
		}
		from = max(next, first)
		p, err := c.flights.do(ctx, from, func(ctx context.Context) (*piece, error) {
			if p, _ := c.cached(from, from); p != nil {
				return p, nil // it was read between our look and this flight
			}
			return c.load(ctx, from)
		})
		switch {
		case errors.Is(err, eventlog.ErrTrimmed):
			// A trim has passed us. What we want may still be there.
			if now := c.store.log.First(); now <= from || now > seq {
				return nil, c.expired(seq, now)
			}
		case err != nil:
			return nil, err
		case p.from <= seq && seq <= p.to:
			return p, nil
		default: // cut short by its size, or read before seq was applied
			from = p.to + 1
		}
	}
}

func (c *cold) expired(seq, first uint64) error {
	return &ExpiredError{Seq: seq - 1, Floor: max(c.store.Floor(), first-1)}
}

// cached returns the piece that holds seq or, if there is none, where to read
// from: from, or behind the pieces between from and seq that are there.
func (c *cold) cached(seq, from uint64) (*piece, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pieces {
		if p.from <= seq && seq <= p.to {
			c.clock++
			p.used = c.clock
			return p, 0
		}
		if p.to < seq && p.to >= from {
			from = p.to + 1
		}
	}
	return nil, from
}

// keep adds a piece and drops the least recently used ones beyond the limit;
// the one just read is kept however large it is.
func (c *cold) keep(p *piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	p.used = c.clock
	c.pieces = append(c.pieces, p)
	for len(c.pieces) > 1 && c.sizeLocked() > c.limit {
		oldest := 0
		for i, q := range c.pieces {
			if q.used < c.pieces[oldest].used {
				oldest = i
			}
		}
		c.pieces = slices.Delete(c.pieces, oldest, oldest+1)
	}
}

var errEnough = errors.New("piece is large enough")

// load reads the log from a sequence to the end of the piece it is in, to what
// Run has taken up, or until it is large.
func (c *cold) load(ctx context.Context, from uint64) (*piece, error) {
	c.store.counts.coldReads.Add(1)
	to := min((from-1)/pieceLen*pieceLen+pieceLen, c.last.Load())
	l := loader{
		store: c.store, next: from, enough: max(c.limit/4, 1<<20),
		piece:   &piece{from: from, changes: make(map[GroupResource][]*Change)},
		made:    make(map[uint64]*Object),
		encoder: encoder{frames: &c.store.counts.frames},
	}
	err := c.store.log.Range(ctx, from, to, l.take)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read the log from %d to %d: %w", from, to, err)
	}
	if err == nil && l.next != to+1 {
		return nil, fmt.Errorf("read the log from %d to %d: it ended before sequence %d", from, to, l.next)
	}
	l.piece.to = l.next - 1
	c.keep(l.piece)
	return l.piece, nil
}

// loader makes a piece.
type loader struct {
	store   *Store
	piece   *piece
	next    uint64
	enough  int64
	made    map[uint64]*Object // by sequence, for previous states within the piece
	encoder encoder
}

func (l *loader) take(entries []eventlog.Entry) error {
	for i := range entries {
		e := &entries[i]
		if e.Seq != l.next {
			return fmt.Errorf("the log is not contiguous: sequence %d where %d was expected", e.Seq, l.next)
		}
		if l.piece.bytes.Load() >= l.enough && e.Seq > l.piece.from {
			return errEnough
		}
		l.next++
		switch e.Record.Op {
		case eventlog.OpGenesis, eventlog.OpBarrier:
		case eventlog.OpCreate, eventlog.OpUpdate, eventlog.OpDelete:
			if err := l.add(e); err != nil {
				return &ApplyError{Seq: e.Seq, Key: e.Key.String(), Why: err.Error()}
			}
		default:
			return &ApplyError{Seq: e.Seq, Key: e.Key.String(), Why: fmt.Sprintf("unknown operation %d", e.Record.Op)}
		}
	}
	return nil
}

func (l *loader) add(e *eventlog.Entry) error {
	gr := GroupResource{e.Key.Group, e.Key.Resource}
	res := l.store.resources.obtain(gr)
	c, err := l.change(res, e)
	if err != nil {
		return err
	}
	if c.cold.prev > 0 {
		c.Prev = l.made[c.cold.prev]
	}
	l.made[e.Seq] = c.Object
	l.piece.changes[gr] = append(l.piece.changes[gr], c)
	return nil
}

// change makes a change of a record. If what it made is still the current
// version of its object, that is used.
func (l *loader) change(res *resource, e *eventlog.Entry) (*Change, error) {
	cold := &coldChange{store: l.store, piece: l.piece, prev: e.Record.Prev}
	l.piece.grow(changeOverhead + 64)
	if o, ok := find(res.root.Load().tree, e.Key.Namespace, e.Key.Name); ok && o.rv == e.Seq {
		return &Change{Seq: e.Seq, Op: e.Record.Op, Object: o, resource: res, cold: cold}, nil
	}
	c, err := l.encoder.change(res, e)
	if err != nil {
		return nil, err
	}
	c.cold = cold
	l.piece.grow(c.Object.Size())
	return c, nil
}

// loadPrevious finds the state before a change that was read from the log: in
// the pieces that are there, else in the log, else, if that has been trimmed,
// in the whole state before the change.
func (s *Store) loadPrevious(ctx context.Context, c *Change) (*Object, error) {
	prev := c.cold.prev
	if o := s.cold.peek(c.resource.gr, prev); o != nil {
		return o, nil
	}
	e, err := s.log.Get(ctx, prev)
	switch {
	case errors.Is(err, eventlog.ErrTrimmed):
		return s.previousFromState(ctx, c)
	case err != nil:
		return nil, fmt.Errorf("previous state of sequence %d: %w", c.Seq, err)
	}
	if e.Key.Namespace != c.Object.Namespace() || e.Key.Name != c.Object.Name() || e.Record.Op > eventlog.OpUpdate {
		return nil, &ApplyError{Seq: c.Seq, Key: e.Key.String(), Why: fmt.Sprintf("it follows sequence %d, which is no state of that object", prev)}
	}
	enc := encoder{frames: &s.counts.frames}
	before, err := enc.change(c.resource, &e)
	if err != nil {
		return nil, &ApplyError{Seq: prev, Key: e.Key.String(), Why: err.Error()}
	}
	return before.Object, nil
}

func (s *Store) previousFromState(ctx context.Context, c *Change) (*Object, error) {
	r, err := s.stateAt(ctx, c.resource, c.Seq-1)
	if err != nil {
		return nil, fmt.Errorf("previous state of sequence %d: %w", c.Seq, err)
	}
	o, ok := find(r.tree, c.Object.Namespace(), c.Object.Name())
	if !ok || o.rv != c.cold.prev {
		return nil, &ApplyError{Seq: c.Seq, Key: c.Object.key(), Why: fmt.Sprintf("it follows sequence %d, which the state before it does not have", c.cold.prev)}
	}
	return o, nil
}

// peek returns what a sequence made if a piece with it is there.
func (c *cold) peek(gr GroupResource, seq uint64) *Object {
	c.mu.Lock()
	var found []*Change
	for _, p := range c.pieces {
		if p.from <= seq && seq <= p.to {
			found = p.changes[gr]
		}
	}
	c.mu.Unlock()
	if rest := above(found, seq-1); len(rest) > 0 && rest[0].Seq == seq {
		return rest[0].Object
	}
	return nil
}
