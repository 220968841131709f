package snapshots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// limits say how much history is kept; 0 is no limit.
type limits struct {
	age    time.Duration
	bytes  uint64
	events uint64
}

const (
	longestTick  = time.Second
	shortestTick = 10 * time.Millisecond
)

func (l limits) none() bool { return l == limits{} }

// tick is how often the floor is moved: a tenth of a short window, so that lagging by a tick matters little.
func (l limits) tick() time.Duration {
	if l.age == 0 {
		return longestTick
	}
	return min(max(l.age/10, shortestTick), longestTick)
}

// timeline answers what the marks know about a sequence.
type timeline []projections.Mark

// at is the last mark that is not after seq; zero before the first one.
func (t timeline) at(seq uint64) projections.Mark {
	i := sort.Search(len(t), func(i int) bool { return t[i].Seq > seq })
	if i == 0 {
		return projections.Mark{}
	}
	return t[i-1]
}

func (t timeline) end() projections.Mark {
	if len(t) == 0 {
		return projections.Mark{}
	}
	return t[len(t)-1]
}

// apart tells whether two sequences are further apart than a fraction 1/n of some limit, as far as the marks know;
// unknown distances count as far.
func (l limits) apart(t timeline, a, b uint64, n uint64) bool {
	if l.events > 0 && b-a > l.events/n {
		return true
	}
	if l.age == 0 && l.bytes == 0 {
		return false
	}
	from, to := t.at(a), t.at(b)
	return l.age > 0 && to.Time-from.Time > int64(l.age)/int64(n) || l.bytes > 0 && to.Bytes-from.Bytes > l.bytes/n
}

// raise moves the floor of the projections to where the limits want it. The floor never falls.
func (k *Keeper) raise(ctx context.Context) error {
	p := k.cfg.Projections
	// Another server may have trimmed a shared log further than our own floor says.
	if first := k.cfg.Log.First(); first > 0 && first-1 <= p.Applied() {
		p.RaiseFloor(first - 1)
	}
	if k.limits.none() {
		return nil
	}
	now := k.cfg.Now()
	marks := timeline(p.Timeline())
	applied := marks.end().Seq
	floor := max(k.limits.floorByEvents(applied), k.limits.floorByBytes(marks))
	if k.limits.age > 0 {
		byAge, err := k.floorByAge(ctx, marks, now.Add(-k.limits.age).UnixNano(), max(floor, p.Floor()))
		if err != nil {
			return fmt.Errorf("find the age limit in the log: %w", err)
		}
		floor = max(floor, byAge)
	}
	p.RaiseFloor(floor)
	return nil
}

// floorByEvents is exact: the records after it are as many as the limit.
func (l limits) floorByEvents(applied uint64) uint64 {
	if l.events == 0 || applied <= l.events {
		return 0
	}
	return applied - l.events
}

// floorByBytes is the highest mark with at least the limit's bytes after it: exact but for the records between two marks.
func (l limits) floorByBytes(marks timeline) uint64 {
	total := marks.end().Bytes
	if l.bytes == 0 || total < l.bytes {
		return 0
	}
	i := sort.Search(len(marks), func(i int) bool { return total-marks[i].Bytes < l.bytes })
	if i == 0 {
		return 0
	}
	return marks[i-1].Seq
}

// floorByAge is the last sequence before the first record that is younger than cutoff (Unix nanoseconds): the state at it was
// the current one at the cutoff. least is a sequence below which nobody needs to look. The marks give the interval, the
// records in it the exact place.
func (k *Keeper) floorByAge(ctx context.Context, marks timeline, cutoff int64, least uint64) (uint64, error) {
	k.mu.Lock()
	low := max(k.boundary, least)
	k.mu.Unlock()
	// A mark's time is that of the youngest record so far, so the first younger mark bounds the first younger record.
	i := sort.Search(len(marks), func(i int) bool { return marks[i].Time > cutoff })
	high := marks.end().Seq + 1
	if i < len(marks) {
		high = marks[i].Seq
	}
	if i > 0 {
		low = max(low, marks[i-1].Seq)
	}
	// Nothing up to low is younger, except where another limit already took it; high is younger or the end.
	for low+1 < high {
		mid := low + (high-low)/2
		e, err := k.cfg.Log.Get(ctx, mid)
		switch {
		case errors.Is(err, eventlog.ErrTrimmed):
			low = mid
		case err != nil:
			return 0, err
		case e.Record.Time > cutoff:
			high = mid
		default:
			low = mid
		}
	}
	k.mu.Lock()
	k.boundary = max(k.boundary, min(low, marks.end().Seq))
	k.mu.Unlock()
	return min(low, marks.end().Seq), nil
}

// coveredBy gives the newest sound snapshot at or below floor from which the log leads on: where the log may be trimmed to.
func (k *Keeper) coveredBy(ctx context.Context, floor uint64) (base entry, found bool, err error) {
	first := k.cfg.Log.First()
	for _, e := range slices.Backward(k.catalog.own()) {
		if e.Seq > floor || e.Seq+1 < first {
			continue
		}
		if ok, err := k.catalog.covers(ctx, e); ok || err != nil {
			return e, ok, err
		}
	}
	return entry{}, false, nil
}
