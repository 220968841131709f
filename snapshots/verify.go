package snapshots

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// VerifyLog is what Verify needs of the log; *eventlog.Log is one.
type VerifyLog interface {
	Epoch() string
	First() uint64
	Last() uint64
	Range(ctx context.Context, from, to uint64, fn func([]eventlog.Entry) error) error
}

var _ VerifyLog = (*eventlog.Log)(nil)

// VerifyConfig is what Verify needs. Log is required.
type VerifyConfig struct {
	Log   VerifyLog
	Store Store  // nil: no snapshots to compare with, and the log must begin at 1
	Key   []byte // of the snapshots
	// Live, if given, is compared at a sequence that is at least the log's last one when Verify began.
	Live *projections.Store
	// Progress, if given, is called now and then with the sequence reached and the last one known.
	Progress func(seq, last uint64)
}

// Finding is one thing that is not as it should be.
type Finding struct {
	Seq    uint64 // the sequence at fault, as far as can be told
	Object string // its key, "" if it is no object
	Detail string
}

// Report is what Verify found.
type Report struct {
	From, To  uint64 // the sequences that were folded; From is To+1 if there were none
	Base      string // name of the snapshot whose state was the start; "" for the empty state
	Records   uint64
	Snapshots int // compared with the fold
	Live      bool
	Objects   int // at To

	// Differs says that there are findings. FirstDiffering, Object and Detail are those of the one with the lowest sequence.
	Differs        bool
	FirstDiffering uint64
	Object         string
	Detail         string
	Findings       []Finding // by sequence; at most maxFindings
}

const (
	maxFindings = 100
	// A running server trims while Verify reads. After this many starts from a newer base Verify gives up.
	verifyStarts = 3
)

// Verify folds the log by simple means of its own, from its beginning or from the oldest valid snapshot that it leads on from,
// and compares the result with every later snapshot at that snapshot's sequence, and in the end with the live projections.
//
// What is damaged or differs is in the report. The error is for what prevents the comparison: a store or log that cannot be
// read, a missing key, a log that is trimmed faster than it can be read, an ended context.
func Verify(ctx context.Context, cfg VerifyConfig) (Report, error) {
	for start := 1; ; start++ {
		v := &verification{cfg: cfg, fold: newFold()}
		err := v.run(ctx)
		if errors.Is(err, eventlog.ErrTrimmed) && start < verifyStarts {
			continue
		}
		if err != nil {
			return Report{}, fmt.Errorf("verify: %w", err)
		}
		return v.finish(), nil
	}
}

// verification is one run of Verify.
type verification struct {
	cfg     VerifyConfig
	fold    *fold
	at      uint64 // folded up to here
	last    uint64 // of the log at the beginning
	pending []string
	report  Report
}

func (v *verification) run(ctx context.Context) error {
	v.last = v.cfg.Log.Last()
	if err := v.start(ctx); err != nil {
		return err
	}
	v.report.From = v.at + 1
	for _, name := range v.pending {
		seq, _ := ParseName(name)
		if err := v.foldTo(ctx, min(seq, v.cfg.Log.Last())); err != nil || v.stopped() {
			return err
		}
		if err := v.compareSnapshot(ctx, name); err != nil {
			return err
		}
	}
	if err := v.foldTo(ctx, max(v.last, v.at)); err != nil || v.stopped() || v.cfg.Live == nil {
		return err
	}
	return v.compareLive(ctx)
}

// start finds the base and what is to be compared with later.
func (v *verification) start(ctx context.Context) error {
	var names []string
	if v.cfg.Store != nil {
		var err error
		if names, err = v.cfg.Store.List(ctx); err != nil {
			return err
		}
	}
	first := v.cfg.Log.First()
	if first <= 1 {
		v.pending = names
		return nil
	}
	for i, name := range names {
		if seq, _ := ParseName(name); seq+1 < first {
			continue
		}
		usable, err := v.snapshot(ctx, name, func(r *reader) error { return v.fold.load(ctx, r) })
		if err != nil {
			return err
		}
		if usable {
			v.at, _ = ParseName(name)
			v.report.Base = name
			v.pending = names[i+1:]
			return nil
		}
		v.fold = newFold()
	}
	v.at = first - 1
	v.find(first, "", fmt.Sprintf("the log begins at %d and no valid snapshot holds the state at %d or later", first, first-1))
	return nil
}

// snapshot opens one of this log's snapshots and calls fn. It is not usable if it is damaged, which is a finding, of another
// epoch, or was deleted meanwhile.
func (v *verification) snapshot(ctx context.Context, name string, fn func(*reader) error) (usable bool, err error) {
	r, err := open(ctx, v.cfg.Store, name, v.cfg.Key)
	if err == nil {
		if r.header.Epoch != v.cfg.Log.Epoch() {
			return false, r.close()
		}
		err = errors.Join(fn(r), r.close())
	}
	switch {
	case errors.Is(err, ErrDamaged):
		seq, _ := ParseName(name)
		v.find(seq, "", err.Error())
		return false, nil
	case errors.Is(err, ErrNotExist):
		return false, nil
	}
	return err == nil, err
}

// foldTo folds the log up to seq. Damage is a finding and ends the fold.
func (v *verification) foldTo(ctx context.Context, seq uint64) error {
	if seq <= v.at {
		return nil
	}
	err := v.cfg.Log.Range(ctx, v.at+1, seq, func(entries []eventlog.Entry) error {
		for i := range entries {
			if err := v.apply(&entries[i]); err != nil {
				return err
			}
		}
		if v.cfg.Progress != nil {
			v.cfg.Progress(v.at, max(v.last, v.at))
		}
		return nil
	})
	if damage, ok := errors.AsType[*eventlog.DamageError](err); ok {
		at := damage.Seq
		if at == 0 {
			at = v.at + 1
		}
		v.find(at, "", damage.Error())
		return nil
	}
	if errors.Is(err, errStopFold) {
		return nil
	}
	return err
}

// errStopFold ends a fold after a finding that leaves no sense in going on.
var errStopFold = errors.New("fold ended")

func (v *verification) apply(e *eventlog.Entry) error {
	if e.Seq != v.at+1 {
		v.find(v.at+1, "", fmt.Sprintf("record %d is missing: %d follows %d", v.at+1, e.Seq, v.at))
		return errStopFold
	}
	v.at = e.Seq
	v.report.Records++
	if fault := v.fold.apply(e); fault != "" {
		v.find(e.Seq, e.Key.String(), fault)
	}
	return nil
}

// stopped tells whether the fold ended before the log did: then there is nothing to compare with.
func (v *verification) stopped() bool {
	for _, f := range v.report.Findings {
		if f.Seq > v.at {
			return true
		}
	}
	return false
}

func (v *verification) compareSnapshot(ctx context.Context, name string) error {
	usable, err := v.snapshot(ctx, name, func(r *reader) error {
		if r.header.Seq != v.at {
			return damaged(name, "it holds the state at %d, the log ends at %d", r.header.Seq, v.at)
		}
		c := v.fold.compare()
		for i := range r.index.sections {
			s := &r.index.sections[i]
			err := r.each(ctx, s, func(o *projections.StoredObject) error {
				c.object(keyOf(s.gr, o.Namespace, o.Name), o.RV, o.Data)
				return nil
			})
			if err != nil {
				return err
			}
		}
		v.differences(c, "snapshot "+name)
		return nil
	})
	if usable {
		v.report.Snapshots++
	}
	return err
}

func (v *verification) compareLive(ctx context.Context) error {
	if err := v.cfg.Live.Wait(ctx, v.at); err != nil {
		return fmt.Errorf("wait for the live state at %d: %w", v.at, err)
	}
	cut := v.cfg.Live.Cut()
	if err := v.foldTo(ctx, cut.Seq); err != nil || v.stopped() {
		return err
	}
	c := v.fold.compare()
	for gr, view := range cut.Views {
		view.Ascend("", "", func(o *projections.Object) bool {
			c.object(keyOf(gr, o.Namespace(), o.Name()), o.RV(), o.JSON())
			return true
		})
	}
	v.differences(c, "what is served")
	v.report.Live = true
	return nil
}

func keyOf(gr projections.GroupResource, namespace, name string) eventlog.Key {
	return eventlog.Key{Group: gr.Group, Resource: gr.Resource, Namespace: namespace, Name: name}
}

func (v *verification) differences(c *comparison, what string) {
	for _, f := range c.finish() {
		v.find(f.Seq, f.Object, fmt.Sprintf("at %d %s %s", v.at, what, f.Detail))
	}
}

func (v *verification) find(seq uint64, object, detail string) {
	v.report.Findings = lowest(append(v.report.Findings, Finding{Seq: seq, Object: object, Detail: detail}))
}

// lowest sorts findings and drops the highest if there are too many.
func lowest(f []Finding) []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		switch {
		case a.Seq < b.Seq:
			return -1
		case a.Seq > b.Seq:
			return 1
		}
		return 0
	})
	return f[:min(len(f), maxFindings)]
}

func (v *verification) finish() Report {
	r := v.report
	r.To, r.Objects = v.at, len(v.fold.objects)
	if len(r.Findings) > 0 {
		r.Differs = true
		r.FirstDiffering, r.Object, r.Detail = r.Findings[0].Seq, r.Findings[0].Object, r.Findings[0].Detail
	}
	return r
}
