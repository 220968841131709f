package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/kronicle/kronicle/eventlog"
)

// applier is what Run uses to turn records into states. Only Run touches it.
type applier struct {
	encoder encoder
	next    uint64 // the sequence to come
	used    int64  // memory of all feeds
	changes []*Change
	dirty   []*resource
	last    *resource // of the record before, which is mostly the one of the next
}

// maxBatch is how many records become visible at once at most, so that nobody
// who waits for the first of them waits for a whole replay.
const maxBatch = 1024

// Run follows the log from Applied()+1 and applies it until ctx ends, the log
// fails, or a record cannot be applied: then the error is an *ApplyError that
// names its sequence, and everything before it has been applied. Those who wait
// in Wait or Fresh then get ErrStopped.
func (s *Store) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("projections: Run is already running")
	}
	defer s.running.Store(false)
	s.progress.resume()
	from := s.Applied() + 1
	s.applier.next = from
	err := s.log.Follow(ctx, from, s.apply)
	if err == nil {
		err = errors.New("the log ended")
	}
	if ctx.Err() == nil {
		err = fmt.Errorf("projections: follow the log from sequence %d, now at %d: %w", from, s.Applied(), err)
		s.logger.Error("projection stopped", "applied", s.Applied(), "error", err)
	}
	s.progress.stop(err)
	return err
}

// apply takes what Follow gives, in batches.
func (s *Store) apply(entries []eventlog.Entry) error {
	for len(entries) > 0 {
		n := min(len(entries), maxBatch)
		if err := s.applyBatch(entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// applyBatch applies records and makes them visible together. If one cannot be
// applied, those before it are made visible.
func (s *Store) applyBatch(entries []eventlog.Entry) error {
	var failed error
	n := 0
	for n < len(entries) {
		if failed = s.applyEntry(&entries[n]); failed != nil {
			break
		}
		n++
	}
	if n > 0 {
		s.publish(entries[:n])
	}
	return failed
}

func (s *Store) applyEntry(e *eventlog.Entry) error {
	a := &s.applier
	if e.Seq != a.next {
		return &ApplyError{Seq: e.Seq, Why: fmt.Sprintf("the log is not contiguous: sequence %d was expected", a.next)}
	}
	if e.Record == nil {
		return &ApplyError{Seq: e.Seq, Why: "there is no record"}
	}
	switch e.Record.Op {
	case eventlog.OpGenesis:
		epoch := e.Record.Epoch
		s.epoch.Store(&epoch)
	case eventlog.OpBarrier:
	case eventlog.OpCreate, eventlog.OpUpdate, eventlog.OpDelete:
		if err := s.applyObject(e); err != nil {
			return err
		}
	default:
		return &ApplyError{Seq: e.Seq, Key: e.Key.String(), Why: fmt.Sprintf("unknown operation %d", e.Record.Op)}
	}
	a.next = e.Seq + 1
	return nil
}

// applyObject changes the working tree of the record's resource.
func (s *Store) applyObject(e *eventlog.Entry) error {
	a := &s.applier
	refuse := func(format string, args ...any) error {
		return &ApplyError{Seq: e.Seq, Key: e.Key.String(), Why: e.Record.Op.String() + ": " + fmt.Sprintf(format, args...)}
	}
	res := a.last
	if gr := (GroupResource{e.Key.Group, e.Key.Resource}); res == nil || res.gr != gr {
		res = s.resources.obtain(gr)
		a.last = res
	}
	prev, exists := find(res.work, e.Key.Namespace, e.Key.Name)
	switch {
	case e.Record.Op == eventlog.OpCreate && exists:
		return refuse("the object exists since sequence %d", prev.rv)
	case e.Record.Op != eventlog.OpCreate && !exists:
		return refuse("the object does not exist")
	case exists && e.Record.Prev != prev.rv:
		return refuse("it follows sequence %d, but the object is at %d", e.Record.Prev, prev.rv)
	case !exists && e.Record.Prev != 0:
		return refuse("it follows sequence %d, but the object does not exist", e.Record.Prev)
	}
	c, err := a.encoder.change(res, e)
	if err != nil {
		return refuse("%v", err)
	}
	c.Prev = prev
	if e.Record.Op == eventlog.OpDelete {
		res.work.Delete(prev)
	} else {
		res.work.Set(c.Object)
	}
	if !res.dirty {
		res.dirty = true
		a.dirty = append(a.dirty, res)
	}
	a.used += res.feed.add(c)
	res.lastSeq = e.Seq
	a.changes = append(a.changes, c)
	return nil
}

// change encodes a record, once for all who will ever be shown it.
func (enc *encoder) change(res *resource, e *eventlog.Entry) (*Change, error) {
	natural := Modified
	switch e.Record.Op {
	case eventlog.OpCreate:
		natural = Added
	case eventlog.OpDelete:
		natural = Deleted
	}
	if at := e.Record.RVAt; at < 0 || at > len(e.Record.Object) {
		return nil, fmt.Errorf("resourceVersion belongs at byte %d of %d", at, len(e.Record.Object))
	}
	o, err := enc.object(e.Key, e.Record, e.Seq, natural)
	if err != nil {
		return nil, err
	}
	return &Change{Seq: e.Seq, Op: e.Record.Op, Object: o, resource: res}, nil
}

// publish makes a batch visible. The order matters: a feed before its root, so
// that a reader who has the root finds in the feed all that leads to it; all
// roots before the applied sequence, so that a reader who has the sequence
// finds all of it; writers are woken before watchers.
func (s *Store) publish(entries []eventlog.Entry) {
	a := &s.applier
	if s.onApply != nil && len(a.changes) > 0 {
		s.onApply(a.changes)
	}
	before, last := s.Applied(), entries[len(entries)-1].Seq
	changed := len(a.dirty)
	s.cold.last.Store(last) // first: what is evicted at once must be found there
	s.cutMu.Lock()
	for _, res := range a.dirty {
		res.seen.Store(true)
	}
	s.evict()
	for i, res := range a.dirty {
		if i >= changed { // only evicted from
			res.feed.publish()
			continue
		}
		r := &root{tree: res.work.Copy(), seq: res.lastSeq}
		a.used += res.feed.mark(r)
		res.feed.publish()
		res.root.Store(r)
	}
	s.timeline.note(entries)
	s.progress.advance(last)
	s.cutMu.Unlock()
	for i, res := range a.dirty {
		res.dirty = false
		if i < changed {
			res.feed.rouse(before)
		}
	}
	s.counts.feedBytes.Store(a.used)
	clear(a.changes)
	clear(a.dirty)
	a.changes, a.dirty = a.changes[:0], a.dirty[:0]
}

// evict drops the oldest changes of all feeds until they fit the window.
func (s *Store) evict() {
	a := &s.applier
	for a.used > s.limit {
		var oldest *resource
		var seq uint64
		s.resources.each(func(res *resource) {
			if first, ok := res.feed.next.first(); ok && (oldest == nil || first < seq) {
				oldest, seq = res, first
			}
		})
		if oldest == nil {
			return
		}
		a.used -= oldest.feed.evict()
		if !oldest.dirty {
			oldest.dirty = true
			a.dirty = append(a.dirty, oldest)
		}
	}
}
