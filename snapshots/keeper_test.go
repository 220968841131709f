package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

func names(t testing.TB, st Store) []string {
	t.Helper()
	list, err := st.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSnapshotsAreTakenByCount(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Every = 10 })
	for i := range 9 {
		w.put(fmt.Sprintf("cm-%d", i), "x")
		w.clock.advance(2 * time.Second)
		w.tick()
	}
	if got := names(t, w.store); !slices.Equal(got, []string{Name(10)}) {
		t.Errorf("snapshots %v", got)
	}
	w.put("cm", "x")
	w.tick()
	if got := w.keeper.Status(); got.Count != 1 || got.Newest.Seq != 10 || got.Newest.Objects != 9 {
		t.Errorf("%+v", got)
	}
}

func TestSnapshotsAreTakenByTimeOnlyIfSomethingChanged(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Interval = time.Minute })
	w.tick()
	if got := names(t, w.store); len(got) > 0 {
		t.Errorf("taken at once: %v", got)
	}
	w.clock.advance(time.Minute)
	w.tick()
	for range 3 {
		w.clock.advance(time.Minute)
		w.tick()
	}
	if got := names(t, w.store); !slices.Equal(got, []string{Name(1)}) {
		t.Errorf("snapshots %v", got)
	}
	w.put("cm", "x")
	w.tick()
	if got := names(t, w.store); !slices.Equal(got, []string{Name(1), Name(2)}) {
		t.Errorf("snapshots %v", got)
	}
}

func TestTakeNowTakesOneStateOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.put("cm", "x")
	first := w.take()
	second := w.take()
	if first != second || first.Seq != 2 || first.Bytes == 0 || first.Objects != 1 {
		t.Errorf("%+v, then %+v", first, second)
	}
	spoil(t, w.store, 2)
	w.keeper.catalog.mark(Name(2), unchecked)
	w.take()
	if state, err := w.load(); err != nil || state.Seq != 2 {
		t.Errorf("a damaged one was not taken again: %d, %v", state.Seq, err)
	}
}

// fullStore has room for a number of bytes.
type fullStore struct {
	Store
	room int
}

func (s *fullStore) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	return s.Store.Put(ctx, name, func(w io.Writer) error { return write(&fullWriter{w, s.room}) })
}

type fullWriter struct {
	w    io.Writer
	room int
}

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, &os.PathError{Op: "write", Path: "snapshot", Err: syscall.ENOSPC}
	}
	return w.w.Write(p)
}

func TestFullDiskStopsTrimmingNotTheServer(t *testing.T) {
	c := newClock()
	st := &fullStore{Store: newDir(t)}
	w := startWorld(t, newMemLog(c.Now()), c, st, func(c *Config) { c.HistoryMaxEvents = 10 })
	for i := range 100 {
		w.put(fmt.Sprintf("cm-%d", i%7), fmt.Sprint(i))
	}
	w.sync()
	for range 5 {
		w.clock.advance(2 * time.Minute)
		if err := w.keeper.Tick(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("tick gives %v", err)
		}
	}
	if s := w.keeper.Status(); !errors.Is(s.LastError, syscall.ENOSPC) || s.Count != 0 || s.Floor != w.log.Last()-10 {
		t.Errorf("%+v", s)
	}
	if w.log.First() != 1 {
		t.Errorf("trimmed to %d without a snapshot", w.log.First())
	}
	if left, _ := os.ReadDir(st.Store.(*Dir).path); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	st.room = 1 << 20
	w.clock.advance(2 * time.Minute)
	w.tick()
	if s := w.keeper.Status(); s.LastError != nil || s.Count != 1 {
		t.Errorf("after making room: %+v", s)
	}
}

func TestAfterAFailureRetriesAreSpaced(t *testing.T) {
	c := newClock()
	tries := 0
	st := &countingStore{Store: &fullStore{Store: newDir(t)}, puts: &tries}
	w := startWorld(t, newMemLog(c.Now()), c, st, func(c *Config) { c.Every = 1 })
	for range 120 {
		_ = w.keeper.Tick(t.Context())
		w.clock.advance(time.Second)
	}
	if tries < 5 || tries > 10 {
		t.Errorf("%d tries in two minutes", tries)
	}
}

type countingStore struct {
	Store
	puts *int
}

func (s *countingStore) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	*s.puts++
	return s.Store.Put(ctx, name, write)
}

func TestTrimGoesInSteps(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.HistoryMaxEvents = 1 })
	for i := range 25_000 {
		w.put("cm", fmt.Sprint(i))
	}
	w.sync()
	w.take()
	w.put("cm", "a")
	w.put("cm", "b")
	w.clock.advance(time.Minute)
	floors := true
	w.log.onTrim = func(before uint64) { floors = floors && w.proj.Floor() >= before-1 }
	w.tick()
	if want := []uint64{10_001, 20_001, 25_002}; !slices.Equal(w.log.trims, want) {
		t.Errorf("trims %v, want %v", w.log.trims, want)
	}
	if !floors {
		t.Error("trimmed before the floor was raised")
	}
}

func TestNothingIsTrimmedWithoutLimits(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Every = 5 })
	for i := range 100 {
		w.put("cm", fmt.Sprint(i))
		w.clock.advance(time.Hour)
		w.tick()
	}
	if w.log.First() != 1 || w.proj.Floor() != 0 {
		t.Errorf("log from %d, floor %d", w.log.First(), w.proj.Floor())
	}
}

func TestDamagedSnapshotIsNoReasonToTrim(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 10 {
		w.put("cm", fmt.Sprint(i))
	}
	low := w.take().Seq
	for i := range 10 {
		w.put("cm", fmt.Sprint(i))
	}
	high := w.take().Seq
	for i := range 10 {
		w.put("cm", fmt.Sprint(i))
	}
	w.stop()
	spoil(t, w.store, high)
	r := startWorld(t, w.log, w.clock, w.store, func(c *Config) { c.HistoryMaxEvents = 5 })
	r.tick()
	if w.log.First() != low+1 {
		t.Errorf("trimmed to %d, the sound snapshot is at %d, the damaged one at %d", w.log.First(), low, high)
	}
}

func TestDowntimeLongerThanTheWindowLosesNothing(t *testing.T) {
	limit := func(c *Config) { c.HistoryMaxAge = 10 * time.Second }
	w := newWorld(t, limit)
	for i := range 50 {
		w.put(fmt.Sprintf("cm-%d", i), "x")
		w.clock.advance(100 * time.Millisecond)
		w.tick()
	}
	for i := range 20 { // no snapshot has these
		w.put(fmt.Sprintf("late-%d", i), "x")
	}
	w.sync()
	w.stop()
	w.clock.advance(1000 * time.Hour)
	r := startWorld(t, w.log, w.clock, w.store, limit)
	equalObjects(t, "after the downtime", viewOf(r.proj.View(configMaps)), w.log.model(w.log.Last()))
	for range 5 {
		r.tick()
		r.clock.advance(time.Second)
	}
	r.stop()
	if first, last := w.log.First(), w.log.Last(); first != last+1 || r.proj.Floor() != last {
		t.Errorf("log %d to %d, floor %d", first, last, r.proj.Floor())
	}
	again := startWorld(t, w.log, w.clock, w.store, limit)
	equalObjects(t, "from a snapshot alone", viewOf(again.proj.View(configMaps)), w.log.model(w.log.Last()))
}

func TestNearestPassesOverDamage(t *testing.T) {
	w, seqs := threeSnapshots(t)
	at := func(seq uint64) uint64 {
		r, err := w.keeper.Nearest(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Seq()
	}
	if got := at(seqs[2] + 1); got != seqs[2] {
		t.Errorf("nearest to %d is %d", seqs[2]+1, got)
	}
	if got := at(seqs[1]); got != seqs[1] {
		t.Errorf("nearest to %d is %d", seqs[1], got)
	}
	if _, err := w.keeper.Nearest(t.Context(), seqs[0]-1); !errors.Is(err, projections.ErrNoSnapshot) {
		t.Error(err)
	}
	spoil(t, w.store, seqs[2])
	w.keeper.catalog.mark(Name(seqs[2]), unchecked)
	if got := at(seqs[2] + 1); got != seqs[1] {
		t.Errorf("nearest with the newest damaged is %d", got)
	}
	spoil(t, w.store, seqs[1])
	w.keeper.catalog.mark(Name(seqs[1]), unchecked)
	if err := w.log.Trim(t.Context(), seqs[0]+2); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time the damage is known
		if _, err := w.keeper.Nearest(t.Context(), seqs[2]); !errors.Is(err, ErrDamaged) {
			t.Errorf("log begins after the only sound snapshot: %v", err)
		}
	}
}

func TestDamageFoundWhileReadingIsRemembered(t *testing.T) {
	w, seqs := threeSnapshots(t)
	r, err := w.keeper.Nearest(t.Context(), seqs[2])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spoil(t, w.store, seqs[2])
	err = r.Objects(t.Context(), configMaps, func(*projections.Object) error { return nil })
	if !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	again, err := w.keeper.Nearest(t.Context(), seqs[2])
	if err != nil || again.Seq() != seqs[1] {
		t.Fatalf("%v, %v", again, err)
	}
	again.Close()
}

func TestForeignSnapshotsAreLeftAlone(t *testing.T) {
	w, seqs := threeSnapshots(t)
	w.stop()
	other := newMemLog(w.clock.Now())
	other.epoch = "epoch-2"
	other.entries[0].Record.Epoch = "epoch-2"
	r := startWorld(t, other, w.clock, w.store, func(c *Config) { c.HistoryMaxEvents = 1 })
	for i := range 40 {
		r.put("cm", fmt.Sprint(i))
		r.clock.advance(time.Minute)
		r.tick()
	}
	left := names(t, w.store)
	for _, seq := range seqs[1:] {
		if !slices.Contains(left, Name(seq)) && seq > 40 {
			t.Errorf("%s is gone", Name(seq))
		}
	}
	if s := r.keeper.Status(); s.Newest.Seq < 30 {
		t.Errorf("%+v", s)
	}
}

func TestServersShareOneBucket(t *testing.T) {
	blobs, c := newBlobs(), newClock()
	log := newMemLog(c.Now())
	var servers []*world
	for range 2 {
		b, err := NewBucket(blobs, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, startWorld(t, log, c, b, func(c *Config) { c.HistoryMaxEvents, c.Every = 40, 20 }))
	}
	servers[0].keeper.wait, servers[1].keeper.wait = 0, 3*time.Second
	for i := range 400 {
		log.put(fmt.Sprintf("cm-%d", i%9), fmt.Sprint(i), c.Now())
		c.advance(300 * time.Millisecond)
		for _, w := range servers {
			w.tick()
		}
	}
	for _, w := range servers {
		if floor := w.proj.Floor(); floor != log.Last()-40 || log.First() > floor+1 || log.First() < floor-30 {
			t.Errorf("floor %d, log %d to %d", floor, log.First(), log.Last())
		}
		view, err := w.proj.At(t.Context(), configMaps, w.proj.Floor())
		if err != nil {
			t.Fatal(err)
		}
		equalObjects(t, "at the floor", viewOf(view), log.model(w.proj.Floor()))
	}
	if n := len(names(t, servers[0].store)); n > 12 {
		t.Errorf("%d snapshots", n)
	}
}

func TestRunKeepsUntilItsContextEnds(t *testing.T) {
	w := startWorld(t, newMemLog(time.Now()), newClock(), newDir(t), func(c *Config) { c.Now, c.HistoryMaxAge = time.Now, 100*time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.keeper.Run(ctx) }()
	w.log.put("cm", "x", time.Now())
	deadline := time.After(10 * time.Second)
	for w.log.First() <= w.log.Last() {
		select {
		case <-deadline:
			t.Fatalf("log %d to %d, %+v", w.log.First(), w.log.Last(), w.keeper.Status())
		case err := <-done:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSurplusSnapshots(t *testing.T) {
	k := &Keeper{cfg: Config{Every: 100}}
	marks := timeline{{Seq: 1, Time: 1}}
	for _, c := range []struct {
		seqs []uint64
		base uint64
		want []uint64
	}{
		{[]uint64{10, 20}, 20, nil},
		{[]uint64{10, 20, 30}, 30, []uint64{10}},
		{[]uint64{10, 20, 30, 40}, 10, []uint64{20}},                           // too close to its neighbours
		{[]uint64{10, 110, 210, 310, 410}, 10, nil},                            // as far apart as they should be
		{[]uint64{10, 60, 110, 160, 210, 260}, 60, []uint64{10, 110}},          // each second one is enough
		{[]uint64{10, 20, 30, 40, 50}, 0, []uint64{10, 20, 30}},                // the log is whole
		{[]uint64{10, 200, 210, 390, 400, 410}, 200, []uint64{10}},             // 210 is needed between 200 and 390
		{[]uint64{5, 10, 200, 300, 400}, 200, []uint64{5, 10}},                 // below the base
		{[]uint64{10, 200, 300}, 300, []uint64{10}},                            // the newest two stay
		{[]uint64{100, 150, 180, 190, 199, 500}, 100, []uint64{150, 180, 190}}, // a chain of close ones
	} {
		if got := k.surplus(c.seqs, c.base, marks); !slices.Equal(got, c.want) {
			t.Errorf("of %v with base %d: %v go, want %v", c.seqs, c.base, got, c.want)
		}
	}
}

var _ eventlogReader = (*memLog)(nil)

// eventlogReader is what the harness' log stands for.
type eventlogReader interface {
	Log
	VerifyLog
	projections.Log
}

var _ eventlogReader = (*eventlog.Log)(nil)
