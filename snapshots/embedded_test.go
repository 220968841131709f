package snapshots

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

var _ Blobs = (*eventlog.Blobs)(nil)

// TestEmbeddedLogIsTrimmedAndComesBack goes through all of it on the real log: append, snapshot, trim, restart, verify.
func TestEmbeddedLogIsTrimmedAndComesBack(t *testing.T) {
	dir := t.TempDir()
	want := map[string]string{}
	for round := range 3 {
		want = embeddedRound(t, dir, round, want)
	}
}

// embeddedRound opens the log, checks what is there, appends, keeps, verifies and closes.
func embeddedRound(t *testing.T, dir string, round int, want map[string]string) map[string]string {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := eventlog.Open(ctx, eventlog.Config{Dir: dir})
	must(err)
	defer log.Close()
	store, err := NewDir(filepath.Join(dir, "snapshots"))
	must(err)
	state, err := Load(ctx, store, nil, log.Epoch(), log.First(), log.Last())
	must(err)
	proj := projections.New(projections.Config{Log: log})
	keeper := NewKeeper(Config{Store: store, Projections: proj, Log: log, HistoryMaxEvents: 20})
	proj.SetSource(keeper)
	proj.Restore(state)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- proj.Run(running) }()
	must(proj.Wait(ctx, log.Last()))
	equalObjects(t, fmt.Sprintf("round %d", round), viewOf(proj.View(configMaps)), want)

	for i := range 60 {
		key := eventlog.Key{Resource: configMaps.Resource, Namespace: "default", Name: fmt.Sprintf("cm-%d", i%25)}
		expect, op := uint64(0), eventlog.OpCreate
		if o, ok := proj.Get(configMaps, key.Namespace, key.Name); ok {
			expect, op = o.RV(), eventlog.OpUpdate
		}
		object, at := objectJSON(key, fmt.Sprintf("round %d value %d", round, i))
		seq, err := log.Append(ctx, key, expect, &eventlog.Record{Op: op, Object: object, RVAt: at, UID: "uid-" + key.Name})
		must(err)
		must(proj.Wait(ctx, seq))
		if i%20 == 0 {
			_, err := keeper.TakeNow(ctx)
			must(err)
		}
	}
	must(keeper.Tick(ctx))
	if first, floor := log.First(), proj.Floor(); floor != log.Last()-20 || first > floor+1 || round > 0 && first < floor-40 {
		t.Errorf("round %d: log %d to %d, floor %d", round, first, log.Last(), floor)
	}
	report, err := Verify(ctx, VerifyConfig{Log: log, Store: store, Live: proj})
	must(err)
	if report.Differs || !report.Live || report.To != log.Last() {
		t.Errorf("round %d: %+v", round, report)
	}
	want = viewOf(proj.View(configMaps))
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("projections ended with %v", err)
	}
	must(log.Close())
	return want
}
