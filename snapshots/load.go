package snapshots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kronicle/kronicle/projections"
)

// LoadOption changes how Load works.
type LoadOption func(*loading)

// WithLogger says where Load tells of snapshots that it passes over; the default is slog.Default().
func WithLogger(l *slog.Logger) LoadOption {
	return func(ld *loading) { ld.log = l }
}

// loading is one call of Load.
type loading struct {
	store       Store
	key         []byte
	epoch       string
	first, last uint64 // of the log
	log         *slog.Logger
	passedOver  []string // names of damaged and foreign snapshots
}

// Load gives the newest valid state from which the log, whose retained sequences are first to last, leads on: a snapshot of the
// log's epoch with a sequence in [first-1, last]. Without any, the state is empty if the log begins at 1.
//
// A damaged snapshot, and one of another epoch, is passed over for the one before it with a warning. Otherwise Load refuses:
// ErrUnrecoverable if the log begins too late for every valid snapshot, ErrLogReset if a snapshot is newer than the log's end,
// ErrEncryption and ErrFormat if a snapshot cannot be read for these reasons. It never gives part of the data.
//
// The state's floor is the one persisted, or the oldest usable snapshot's sequence if that is higher.
func Load(ctx context.Context, st Store, key []byte, epoch string, first, last uint64, opts ...LoadOption) (projections.State, error) {
	ld := &loading{store: st, key: key, epoch: epoch, first: first, last: last, log: slog.Default()}
	for _, opt := range opts {
		opt(ld)
	}
	names, err := st.List(ctx)
	if err != nil {
		return projections.State{}, fmt.Errorf("load snapshot: %w", err)
	}
	for _, name := range slices.Backward(names) {
		state, done, err := ld.try(ctx, name)
		if err != nil {
			return projections.State{}, fmt.Errorf("load snapshot: %w", err)
		}
		if !done {
			continue
		}
		base, err := ld.oldest(ctx, names)
		if err != nil {
			return projections.State{}, fmt.Errorf("load snapshot: %w", err)
		}
		state.Floor = max(state.Floor, min(base, state.Seq))
		return state, nil
	}
	if first > 1 {
		return projections.State{}, ld.unrecoverable(names)
	}
	return projections.State{Epoch: epoch}, nil
}

// usable tells whether the log leads on from a snapshot.
func (ld *loading) usable(seq uint64) bool { return seq+1 >= ld.first && seq <= ld.last }

// try loads one snapshot; not done means go on to the one before it.
func (ld *loading) try(ctx context.Context, name string) (state projections.State, done bool, err error) {
	attempt := func() error {
		r, err := open(ctx, ld.store, name, ld.key)
		if err != nil {
			return err
		}
		state, done, err = ld.read(ctx, r)
		return errors.Join(err, r.close())
	}
	err = attempt()
	// A damaged local copy of a shared snapshot says nothing about the shared one.
	if c, ok := ld.store.(cached); ok && errors.Is(err, ErrDamaged) {
		if err := c.forget(name); err != nil {
			return state, false, err
		}
		err = attempt()
	}
	switch {
	case errors.Is(err, ErrDamaged):
		ld.passOver(name, err.Error())
		return projections.State{}, false, nil
	case errors.Is(err, ErrNotExist):
		return projections.State{}, false, nil
	}
	return state, done, err
}

func (ld *loading) read(ctx context.Context, r *reader) (projections.State, bool, error) {
	h := r.header
	if h.Epoch != ld.epoch {
		ld.passOver(r.name, fmt.Sprintf("it belongs to the log with epoch %s, this one has %s", h.Epoch, ld.epoch))
		return projections.State{}, false, nil
	}
	if h.Seq > ld.last {
		return projections.State{}, false, fmt.Errorf("%w: snapshot %s holds the state at %d and the log ends at %d, so the log was reset, "+
			"restored to an earlier state, or has lost acknowledged writes; restore the log from a copy that reaches %d, or, "+
			"to go on without what came after %d, move the newer snapshots away",
			ErrLogReset, r.name, h.Seq, ld.last, h.Seq, ld.last)
	}
	if !ld.usable(h.Seq) {
		return projections.State{}, false, nil
	}
	state, err := r.state(ctx)
	return state, err == nil, err
}

func (ld *loading) passOver(name, reason string) {
	ld.passedOver = append(ld.passedOver, name)
	ld.log.Warn("snapshot is passed over for the one before it", "snapshot", name, "reason", reason)
}

// oldest gives the sequence of the oldest snapshot from which the log leads on; 0 if the log itself begins at 1.
func (ld *loading) oldest(ctx context.Context, names []string) (uint64, error) {
	if ld.first <= 1 {
		return 0, nil
	}
	for _, name := range names {
		if seq, _ := ParseName(name); !ld.usable(seq) || slices.Contains(ld.passedOver, name) {
			continue
		}
		r, err := open(ctx, ld.store, name, ld.key)
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		h := r.header
		if err := r.close(); err != nil {
			return 0, err
		}
		if h.Epoch == ld.epoch {
			return h.Seq, nil
		}
	}
	return 0, nil
}

func (ld *loading) unrecoverable(names []string) error {
	held := "there is no snapshot"
	if len(names) > 0 {
		held = fmt.Sprintf("of %d snapshots (newest %s) none that reaches it is valid", len(names), names[len(names)-1])
	}
	if len(ld.passedOver) > 0 {
		held += fmt.Sprintf(", passed over: %s", strings.Join(ld.passedOver, ", "))
	}
	return fmt.Errorf("load snapshot: %w: the log begins at %d, which needs a snapshot at %d or later, and %s; restore a snapshot "+
		"or the whole data directory from a backup, or start on an empty data directory to give the data up",
		ErrUnrecoverable, ld.first, ld.first-1, held)
}

// state decodes the whole snapshot, its parts in parallel.
func (r *reader) state(ctx context.Context) (projections.State, error) {
	marks, err := r.timeline()
	if err != nil {
		return projections.State{}, err
	}
	state := projections.State{
		Seq: r.header.Seq, Floor: r.header.Floor, Epoch: r.header.Epoch, Timeline: marks,
		Resources: make(map[projections.GroupResource][]*projections.Object, len(r.index.sections)),
	}
	var jobs []loadJob
	for _, s := range r.index.sections {
		objects := make([]*projections.Object, s.count)
		state.Resources[s.gr] = objects
		for _, p := range s.parts {
			jobs = append(jobs, loadJob{part: p, into: objects[:p.count]})
			objects = objects[p.count:]
		}
	}
	if err := r.decode(ctx, jobs); err != nil {
		return projections.State{}, err
	}
	for _, s := range r.index.sections {
		if err := r.checkSeams(s, state.Resources[s.gr]); err != nil {
			return projections.State{}, err
		}
	}
	return state, nil
}

// loadJob is one part to decode.
type loadJob struct {
	part part
	into []*projections.Object
}

func (r *reader) decode(ctx context.Context, jobs []loadJob) error {
	var (
		next  atomic.Int64
		group sync.WaitGroup
		once  sync.Once
		first error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		group.Go(func() {
			err := r.decodeSome(ctx, jobs, &next)
			if err != nil {
				once.Do(func() { first = err })
				cancel()
			}
		})
	}
	group.Wait()
	return first
}

func (r *reader) decodeSome(ctx context.Context, jobs []loadJob, next *atomic.Int64) error {
	l, err := newLoader(r)
	if err != nil {
		return err
	}
	defer l.close()
	for {
		i := int(next.Add(1)) - 1
		if i >= len(jobs) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 0
		err := l.objects(jobs[i].part, func(o *projections.StoredObject) error {
			jobs[i].into[n] = projections.NewObject(*o)
			n++
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// checkSeams checks the order between parts; within a part it has been checked.
func (r *reader) checkSeams(s section, objects []*projections.Object) error {
	at := 0
	for i, p := range s.parts {
		if i > 0 {
			if last := objects[at-1]; position(last.Namespace(), last.Name()) >= p.first {
				return damaged(r.name, "part %d of %s is out of order", p.number, s.gr.Resource)
			}
		}
		at += int(p.count)
	}
	return nil
}
