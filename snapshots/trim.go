package snapshots

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// trimStep is how many sequences one purge takes: a purge holds up appends, about 20 ms for as many as this.
	trimStep = 10_000
	// trimPause is the least time between two purges; they take no more than a third of the time.
	trimPause = 5 * time.Millisecond
	// keptAlways is how many of the newest snapshots are never deleted.
	keptAlways = 2
)

// trim purges what lies at or below the newest sound snapshot that is not above the floor. It gives that snapshot's sequence,
// 0 if there is none. The floor has been raised before: nobody is let in any more to what goes away.
func (k *Keeper) trim(ctx context.Context) (base uint64, err error) {
	if k.limits.none() {
		return 0, nil
	}
	e, found, err := k.coveredBy(ctx, k.cfg.Projections.Floor())
	if err != nil || !found {
		return 0, err
	}
	for first := max(k.cfg.Log.First(), 1); first <= e.Seq; {
		before := min(first+trimStep, e.Seq+1)
		begin := time.Now()
		if err := k.cfg.Log.Trim(ctx, before); err != nil {
			return e.Seq, fmt.Errorf("trim the log to %d: %w", before, err)
		}
		first = before
		if first > e.Seq {
			break
		}
		if err := pause(ctx, max(trimPause, 2*time.Since(begin))); err != nil {
			return e.Seq, err
		}
	}
	return e.Seq, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// thin deletes snapshots that no readable state needs: those below base, and those whose neighbours are near enough.
func (k *Keeper) thin(ctx context.Context, base uint64) error {
	if base == 0 && k.cfg.Log.First() > 1 {
		return nil // without a base below the floor every snapshot may be the one that start-up needs
	}
	own := k.catalog.own()
	seqs := make([]uint64, len(own))
	for i, e := range own {
		seqs[i] = e.Seq
	}
	names := k.catalog.damagedBelow(base)
	for _, seq := range k.surplus(seqs, base, k.cfg.Projections.Timeline()) {
		names = append(names, Name(seq))
	}
	for _, name := range names {
		if err := k.catalog.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// surplus says which of the snapshots at seqs (rising) can go. Kept are the newest two, the base, and above the base so many
// that neighbours are at most Every records and a quarter of the window apart, as far as there are such.
func (k *Keeper) surplus(seqs []uint64, base uint64, marks timeline) []uint64 {
	if len(seqs) <= keptAlways {
		return nil
	}
	old := seqs[:len(seqs)-keptAlways]
	from, found := slices.BinarySearch(old, base)
	gone := slices.Clone(old[:from])
	if base > 0 && !found {
		return gone
	}
	last := base // with base 0 the empty state is the first one to rebuild from
	for i := from; i < len(old); i++ {
		next := seqs[i+1]
		if old[i] != base && next-last <= k.cfg.Every && !k.limits.apart(marks, last, next, 4) {
			gone = append(gone, old[i])
			continue
		}
		last = old[i]
	}
	return gone
}
