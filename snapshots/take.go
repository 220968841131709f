package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// A snapshot that is due waits at least dutyFactor times as long as the last one took, so that a small window or a high
	// rate of writes cannot make snapshots the main work.
	dutyFactor = 4

	retryLeast = time.Second
	retryMost  = time.Minute
)

// pace says when the next snapshot may be taken.
type pace struct {
	dueSince time.Time     // zero: none is due
	notUntil time.Time     // a snapshot that is due waits until then
	backoff  time.Duration // after the last failure
}

// takeIfDue takes a snapshot if one is due and the pace allows it.
func (k *Keeper) takeIfDue(ctx context.Context) error {
	now := k.cfg.Now()
	if !k.due(now) {
		k.mu.Lock()
		k.pace.dueSince = time.Time{}
		k.mu.Unlock()
		return nil
	}
	k.mu.Lock()
	if k.pace.dueSince.IsZero() {
		k.pace.dueSince = now
	}
	ready := !now.Before(k.pace.notUntil) && !now.Before(k.pace.dueSince.Add(k.wait))
	k.mu.Unlock()
	if !ready {
		return nil
	}
	// Another server that shares the store may have done it.
	if err := k.note("list", k.catalog.refresh(ctx)); err != nil {
		return err
	}
	if !k.due(now) {
		return nil
	}
	_, err := k.TakeNow(ctx)
	return err
}

// due tells whether a snapshot should be taken: by count, by time, or because the newest one lags so far behind that the log
// could not be trimmed to within a quarter of the window.
func (k *Keeper) due(now time.Time) bool {
	applied := k.cfg.Projections.Applied()
	newest, found := k.catalog.newest()
	if applied <= newest.Seq {
		return false
	}
	age := now.Sub(k.started)
	if found {
		age = now.Sub(newest.Created)
	}
	switch l := k.limits; {
	case applied-newest.Seq >= k.cfg.Every, age >= k.cfg.Interval:
		return true
	case l.events > 0 && applied-newest.Seq >= max(1, l.events/4), l.age > 0 && age >= l.age/4:
		return true
	case l.bytes > 0:
		marks := timeline(k.cfg.Projections.Timeline())
		return marks.end().Bytes-marks.at(newest.Seq).Bytes >= l.bytes/4
	}
	return false
}

// TakeNow takes a snapshot of the state as it is, unless there is one already, and returns when it is durable and verified.
// For clean shutdown and for administrators; writers are not held up.
func (k *Keeper) TakeNow(ctx context.Context) (Info, error) {
	k.taking.Lock()
	defer k.taking.Unlock()
	begin := k.cfg.Now()
	info, err := k.take(ctx, begin)
	k.mu.Lock()
	k.pace.dueSince = time.Time{}
	if err == nil {
		k.pace.backoff = 0
		now := k.cfg.Now()
		k.pace.notUntil = now.Add(max(2*k.limits.tick()*9/10, dutyFactor*now.Sub(begin)))
	} else {
		k.pace.backoff = min(max(2*k.pace.backoff, retryLeast), retryMost)
		k.pace.notUntil = k.cfg.Now().Add(k.pace.backoff)
	}
	k.mu.Unlock()
	return info, k.note("snapshot", err)
}

func (k *Keeper) take(ctx context.Context, now time.Time) (Info, error) {
	if err := k.ensureListed(ctx); err != nil {
		return Info{}, fmt.Errorf("take snapshot: %w", err)
	}
	cut := k.cfg.Projections.Cut()
	if newest, found := k.catalog.newest(); found && newest.Seq == cut.Seq {
		if ok, err := k.catalog.covers(ctx, newest); ok || err != nil {
			return newest.Info, err
		}
	}
	if cut.Seq == 0 {
		return Info{}, nil // nothing has happened yet, and that needs no snapshot
	}
	name := Name(cut.Seq)
	h := Header{Epoch: k.cfg.Log.Epoch(), Seq: cut.Seq, Floor: cut.Floor, Created: now.UTC()}
	err := k.cfg.Store.Put(ctx, name, func(w io.Writer) error { return write(ctx, w, k.cfg.EncryptionKey, h, cut) })
	if err != nil {
		return Info{}, fmt.Errorf("take snapshot at %d: %w", cut.Seq, err)
	}
	info, err := k.verify(ctx, name)
	if err != nil {
		return Info{}, fmt.Errorf("verify snapshot at %d: %w", cut.Seq, err)
	}
	k.catalog.put(entry{Info: info, health: sound})
	k.cfg.Logger.Info("snapshot taken", "sequence", info.Seq, "objects", info.Objects, "bytes", info.Bytes)
	return info, nil
}

// verify reads a snapshot back as a whole. What is not as it should be does not count and is deleted.
func (k *Keeper) verify(ctx context.Context, name string) (Info, error) {
	r, err := k.catalog.open(ctx, name)
	if err != nil {
		return Info{}, err
	}
	info := r.info()
	err = errors.Join(r.check(ctx), r.close())
	if errors.Is(err, ErrDamaged) {
		err = errors.Join(err, k.cfg.Store.Delete(ctx, name))
	}
	return info, err
}
