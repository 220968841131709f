package projections

import (
	"slices"
	"sort"
	"sync/atomic"
)

const (
	// chunkLen is how many changes a sealed chunk has, and the most that one
	// call of Watcher.Next gives.
	chunkLen = 256
	// markEvery is after how many changes of a resource its root is kept, so
	// that an exact read within memory undoes no more than that many.
	markEvery = 4096
	// markCost is a guess at what a kept root holds in memory for each change
	// since the one before it: a leaf of the tree.
	markCost = 600
)

// feedView is the recent changes of one resource at one moment. It is
// immutable; the slices it shares with later views only ever grow behind its
// end.
//
// A watcher holds no view, only a position, so that nothing evicted stays in
// memory on its account.
type feedView struct {
	start  uint64   // every change with a sequence above start is here
	sealed []*chunk // full chunks, oldest first
	tail   []*Change
	marks  []mark // kept roots, oldest first
}

type chunk struct {
	changes []*Change
	cost    int64
}

// mark is a kept root: what an exact read starts from.
type mark struct {
	root *root
	cost int64
}

// after returns changes with sequences above pos in order: at most a chunk of
// them, none only if there are none at all. It is right only for pos >= start.
func (v *feedView) after(pos uint64) []*Change {
	if n := len(v.tail); n > 0 && v.tail[n-1].Seq <= pos {
		return nil
	}
	if n := len(v.sealed); n > 0 && v.sealed[n-1].last() > pos {
		i := sort.Search(n, func(i int) bool { return v.sealed[i].last() > pos })
		return above(v.sealed[i].changes, pos)
	}
	return above(v.tail, pos)
}

func (c *chunk) last() uint64 { return c.changes[len(c.changes)-1].Seq }

func above(changes []*Change, pos uint64) []*Change {
	i := sort.Search(len(changes), func(i int) bool { return changes[i].Seq > pos })
	return changes[i:len(changes):len(changes)]
}

// backward calls fn for each change above pos, newest first.
func (v *feedView) backward(pos uint64, fn func(*Change)) {
	for i := len(v.tail) - 1; i >= 0 && v.tail[i].Seq > pos; i-- {
		fn(v.tail[i])
	}
	for k := len(v.sealed) - 1; k >= 0 && v.sealed[k].last() > pos; k-- {
		changes := v.sealed[k].changes
		for i := len(changes) - 1; i >= 0 && changes[i].Seq > pos; i-- {
			fn(changes[i])
		}
	}
}

// first returns the sequence of the oldest change, false if there is none.
func (v *feedView) first() (uint64, bool) {
	switch {
	case len(v.sealed) > 0:
		return v.sealed[0].changes[0].Seq, true
	case len(v.tail) > 0:
		return v.tail[0].Seq, true
	}
	return 0, false
}

// feed is the recent changes of one resource and those who wait for more.
type feed struct {
	view atomic.Pointer[feedView]
	wake atomic.Pointer[wake] // made by the first who waits, taken by the batch that wakes

	// The rest belongs to the applier.
	next      feedView
	tailCost  int64
	sinceMark int
}

// wake is what watchers of a resource sleep on.
type wake struct {
	done chan struct{}
	upto uint64 // set before done is closed: up to here there was nothing to wake for
}

// sleep returns what to wait on for the next batch with changes. The caller
// must look at the view again after sleep and before it waits.
func (f *feed) sleep() *wake {
	for {
		if w := f.wake.Load(); w != nil {
			return w
		}
		f.wake.CompareAndSwap(nil, &wake{done: make(chan struct{})})
	}
}

// rouse wakes all who sleep; upto is the sequence before the first change they are woken for.
func (f *feed) rouse(upto uint64) {
	if w := f.wake.Swap(nil); w != nil {
		w.upto = upto
		close(w.done)
	}
}

// add appends a change to what will be published. It returns the memory it takes.
func (f *feed) add(c *Change) int64 {
	cost := c.feedCost()
	f.next.tail = append(f.next.tail, c)
	f.tailCost += cost
	f.sinceMark++
	if len(f.next.tail) == chunkLen {
		f.next.sealed = append(f.next.sealed, &chunk{f.next.tail, f.tailCost})
		f.next.tail, f.tailCost = nil, 0
	}
	return cost
}

// mark keeps the root just published if enough has changed since the last one
// kept. It returns the memory that is guessed to take.
func (f *feed) mark(r *root) int64 {
	if f.sinceMark < markEvery {
		return 0
	}
	cost := int64(min(f.sinceMark, r.tree.Len())) * markCost
	f.next.marks = append(f.next.marks, mark{r, cost})
	f.sinceMark = 0
	return cost
}

// evict drops the oldest changes: the oldest sealed chunk or, of a tail that
// is alone, half. It returns the memory given back. Slices are copied rather
// than cut, because a cut one would go on holding what was in front.
func (f *feed) evict() int64 {
	v := &f.next
	var freed int64
	if len(v.sealed) > 0 {
		freed, v.start = v.sealed[0].cost, v.sealed[0].last()
		v.sealed = slices.Clone(v.sealed[1:])
	} else if n := (len(v.tail) + 1) / 2; n > 0 {
		for _, c := range v.tail[:n] {
			freed += c.feedCost()
		}
		f.tailCost -= freed
		v.start = v.tail[n-1].Seq
		v.tail = slices.Clone(v.tail[n:])
	}
	old := 0
	for old < len(v.marks) && v.marks[old].root.seq <= v.start {
		freed += v.marks[old].cost
		old++
	}
	if old > 0 {
		v.marks = slices.Clone(v.marks[old:])
	}
	return freed
}

// publish makes what was added and evicted visible.
func (f *feed) publish() {
	v := f.next
	f.view.Store(&v)
}
