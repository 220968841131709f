package projections

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kronicle/kronicle/eventlog"
)

func start(t testing.TB, cfg Config) (*fakeLog, *running) {
	log := newFakeLog()
	log.genesis()
	cfg.Log = log
	s := run(t, New(cfg))
	return log, s
}

func names(v View, ns, after string) string {
	var all []string
	v.Ascend(ns, after, func(o *Object) bool { all = append(all, o.Position()); return true })
	return strings.Join(all, " ")
}

func TestOrderIsByPositionBytewise(t *testing.T) {
	log, s := start(t, Config{})
	for _, p := range []string{"a/x", "a-b/x", "ab/x", "a/y", "b/a", "a.c/z", "/cluster", "/alpha"} {
		ns, name, _ := strings.Cut(p, "/")
		log.put(ns, name, 0, "", "")
	}
	s.reach(log.Last())
	v := s.View(things)
	for _, c := range []struct{ ns, after, want string }{
		{"", "", "/alpha /cluster a-b/x a.c/z a/x a/y ab/x b/a"},
		{"", "/alpha", "/cluster a-b/x a.c/z a/x a/y ab/x b/a"},
		{"", "a/x", "a/y ab/x b/a"},
		{"", "a/xx", "a/y ab/x b/a"},
		{"a", "", "a/x a/y"},
		{"a", "a/x", "a/y"},
		{"a", "a/y", ""},
		{"a", "b/a", ""},
		{"a", "/alpha", "a/x a/y"},
		{"b", "zzz", ""},
		{"none", "", ""},
	} {
		if got := names(v, c.ns, c.after); got != c.want {
			t.Errorf("Ascend(%q, %q) gives %q, want %q", c.ns, c.after, got, c.want)
		}
		if got, want := v.Count(c.ns, c.after), len(strings.Fields(c.want)); got != want {
			t.Errorf("Count(%q, %q) is %d, want %d", c.ns, c.after, got, want)
		}
	}
	if o, ok := v.Get("a", "y"); !ok || o.Namespace() != "a" || o.Name() != "y" {
		t.Errorf("Get gives %v, %v", o, ok)
	}
	if _, ok := s.Get(things, "a", "z"); ok {
		t.Error("Get finds what is not there")
	}
}

func TestAnObjectIsItsServedBytesAndKnowsItsMetadata(t *testing.T) {
	json := `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"a":"{\"labels\":{\"no\":\"no\"}}"},` +
		`"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a/b","c/d"],"labels":{"app":"web","tier":""},` +
		`"managedFields":[{"fieldsV1":{"f:metadata":{"f:labels":{}}}}],"name":"p","namespace":"n",` +
		`"ownerReferences":[{"kind":"RS","name":"x","uid":"o1"},{"kind":"RS","name":"y","uid":"o2"}],` +
		`"uid":"u-1"},"spec":{"metadata":{"uid":"wrong"}}}`
	at := strings.Index(json, `"uid":"u-1"`)
	rec := &eventlog.Record{Op: eventlog.OpUpdate, Object: []byte(json), RVAt: at}
	enc := encoder{frames: new(atomic.Uint64)}
	o, err := enc.object(eventlog.Key{Resource: "pods", Namespace: "n", Name: "p"}, rec, 77, Modified)
	if err != nil {
		t.Fatal(err)
	}
	again := NewObject(o.Stored())
	for _, o := range []*Object{o, again} {
		if o.UID() != "u-1" || !o.Deleting() || o.Finalizers() != 2 || !slices.Equal(o.Owners(), []string{"o1", "o2"}) || o.RV() != 77 {
			t.Errorf("got %+v", o.Stored())
		}
		if v, ok := o.Label("tier"); v != "" || !ok {
			t.Error("an empty label is not there")
		}
		if v, _ := o.Label("app"); v != "web" {
			t.Errorf("label app is %q", v)
		}
		if _, ok := o.Label("no"); ok {
			t.Error("a label was found in an annotation")
		}
		if string(o.JSON()) != string(rec.Served(77, "", "")) {
			t.Errorf("JSON is %s", o.JSON())
		}
		if want := `{"type":"MODIFIED","object":` + string(o.JSON()) + "}\n"; string(o.Frame(Modified)) != want {
			t.Errorf("frame is %s", o.Frame(Modified))
		}
		if o.extra != nil {
			t.Error("the offsets did not suffice")
		}
	}
	a, b := o.Frame(Added), o.Frame(Added)
	if &a[0] != &b[0] || string(a) != string(o.AppendFrame(nil, Added)) {
		t.Error("frames of another type are not shared")
	}
	gone := o.departed(99)
	if want := strings.Replace(string(o.JSON()), `"77"`, `"99"`, 1); string(gone.JSON()) != want || gone.RV() != 99 ||
		string(gone.Frame(Deleted)) != `{"type":"DELETED","object":`+want+"}\n" {
		t.Errorf("departed is %s", gone.Frame(Deleted))
	}
}

func TestEscapedMetadataIsDecoded(t *testing.T) {
	o := NewObject(StoredObject{Name: "n", UID: `q"`, RV: 3, Added: true,
		Data: []byte(`{"metadata":{"labels":{"a":"\u0041\"","b":"c"},"name":"n","resourceVersion":"3","uid":"q\""}}`)})
	if v, _ := o.Label("a"); v != `A"` || o.UID() != `q"` {
		t.Errorf("got label %q, uid %q", v, o.UID())
	}
	if string(o.Frame(Added)[:16]) != `{"type":"ADDED",` {
		t.Error("the natural type was lost")
	}
}

func TestMalformedObjectsNeverPanic(t *testing.T) {
	good := `{"a":[1,{"b":"c"}],"metadata":{"finalizers":null,"labels":{"k":"v"},"ownerReferences":[{"uid":"x"}],"uid":"u"}}`
	for i := range good {
		for _, s := range []string{good[:i], good[i:], good[:i] + "\\" + good[i:], good[:i] + `"` + good[i:], good[:i] + "}" + good[i:]} {
			o := NewObject(StoredObject{Name: "n", UID: "u", Data: []byte(s)})
			if o.UID() != "u" || string(o.JSON()) != s {
				t.Fatalf("%q: uid %q, JSON %q", s, o.UID(), o.JSON())
			}
			o.Label("k")
			o.Owners()
			o.departed(1)
		}
	}
}

func TestRecordsThatContradictTheStateStopTheProjection(t *testing.T) {
	_, good := thing(eventlog.OpCreate, "a", "x", 0, "", "")
	key := eventlog.Key{Group: things.Group, Resource: things.Resource, Namespace: "a", Name: "x"}
	with := func(op eventlog.Op, prev uint64) *eventlog.Record {
		r := *good
		r.Op, r.Prev = op, prev
		return &r
	}
	broken := with(eventlog.OpUpdate, 2)
	broken.Object, broken.RVAt = []byte(`{"metadata":`), 1
	other := key
	other.Name = "missing"
	for _, c := range []struct {
		name string
		key  eventlog.Key
		rec  *eventlog.Record
	}{
		{"create of an existing object", key, with(eventlog.OpCreate, 0)},
		{"update of a missing object", other, with(eventlog.OpUpdate, 2)},
		{"delete of a missing object", other, with(eventlog.OpDelete, 2)},
		{"update that follows another version", key, with(eventlog.OpUpdate, 1)},
		{"create that follows something", other, with(eventlog.OpCreate, 2)},
		{"unknown operation", key, with(9, 2)},
		{"broken JSON", key, broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, s := start(t, Config{})
			log.append(key, good) // 2
			log.append(c.key, c.rec)
			log.put("a", "later", 0, "", "")
			err := s.Wait(bg, 4)
			var at *ApplyError
			if !errors.Is(err, ErrStopped) || !errors.As(err, &at) || at.Seq != 3 || at.Key != c.key.String() {
				t.Fatalf("got %v", err)
			}
			if s.Applied() != 2 || s.View(things).Len() != 1 {
				t.Errorf("what came before was not kept: applied %d, %d objects", s.Applied(), s.View(things).Len())
			}
		})
	}
	t.Run("gap", func(t *testing.T) {
		s := New(Config{Log: newFakeLog()})
		s.applier.next = 5
		var at *ApplyError
		if err := s.apply([]eventlog.Entry{{Seq: 6, Record: with(eventlog.OpBarrier, 0)}}); !errors.As(err, &at) || at.Seq != 6 {
			t.Fatalf("got %v", err)
		}
	})
}

func TestAHookSeesABatchBeforeAnybodyElse(t *testing.T) {
	var s *Store
	var seen []uint64
	log := newFakeLog()
	s = New(Config{Log: log, OnApply: func(changes []*Change) {
		for _, c := range changes {
			if s.Applied() >= c.Seq || s.View(things).Seq() >= c.Seq {
				t.Errorf("sequence %d was visible before the hook", c.Seq)
			}
			if c.Resource() != things {
				t.Errorf("resource is %v", c.Resource())
			}
			seen = append(seen, c.Seq)
		}
	}})
	log.genesis()
	for i := range 20 {
		log.put("a", fmt.Sprint(i), 0, "", "")
	}
	r := run(t, s)
	r.reach(21)
	r.stop()
	if len(seen) != 20 || !slices.IsSorted(seen) {
		t.Errorf("the hook saw %v", seen)
	}
	if s.Epoch() != "epoch-1" {
		t.Errorf("epoch is %q", s.Epoch())
	}
}

func TestASlowWatcherIsNeverCutOffAndDelaysNobody(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: 20_000, ColdMemory: 100_000})
	slow, _ := s.Watch(things, 0)
	fast, _ := s.Watch(things, 0)
	rv := uint64(0)
	for i := range 3000 {
		rv = log.put("a", "x", rv, "", strings.Repeat("y", 100))
		if i%500 == 0 {
			s.reach(rv)
			for pos := uint64(0); pos < rv; {
				_, upto, err := fast.Next(bg)
				if err != nil {
					t.Fatal(err)
				}
				pos = upto
			}
		}
	}
	s.reach(rv)
	count, last := 0, uint64(0)
	for last < rv {
		changes, _, err := slow.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if count > 0 && c.Seq != last+1 {
				t.Fatalf("sequence %d after %d", c.Seq, last)
			}
			count, last = count+1, c.Seq
		}
	}
	if count != 3000 {
		t.Errorf("got %d changes, want 3000", count)
	}
	if s.Stats().Parkings == 0 {
		t.Error("the slow watcher never read the log: the test shows nothing")
	}
	if got := s.Stats().FeedBytes; got > 20_000 {
		t.Errorf("recent changes take %d bytes, the window is 20,000", got)
	}
}

func TestAnIdleWatcherNeedsNoLogFromBeforeItWasWoken(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: -1}) // every change is evicted at once
	w, _ := s.Watch(things, 0)
	got := make(chan error, 1)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	asleep := func() {
		for w.res.feed.wake.Load() == nil {
			runtime.Gosched()
		}
	}
	go func() {
		changes, _, err := w.Next(ctx)
		if err == nil && len(changes) != 1 {
			err = fmt.Errorf("%d changes", len(changes))
		}
		got <- err
	}()
	asleep()
	for range 100 {
		log.append(eventlog.Key{}, &eventlog.Record{Op: eventlog.OpBarrier})
	}
	s.reach(log.Last())
	s.RaiseFloor(90)
	log.trim(90)
	log.put("a", "x", 0, "", "")
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestWatchStartsAnywhereAboveTheFloor(t *testing.T) {
	log, s := start(t, Config{})
	for i := range 50 {
		log.put("a", fmt.Sprint(i), 0, "", "")
	}
	s.reach(51)
	s.RaiseFloor(20)
	s.RaiseFloor(10)
	var expired *ExpiredError
	if _, err := s.Watch(things, 19); !errors.As(err, &expired) || expired.Seq != 19 || expired.Floor != 20 {
		t.Errorf("below the floor: %v", err)
	}
	if _, err := s.At(bg, things, 19); !errors.Is(err, ErrExpired) {
		t.Errorf("state below the floor: %v", err)
	}
	var future *FutureError
	if _, err := s.At(bg, things, 52); !errors.As(err, &future) || future.Current != 51 {
		t.Errorf("state in the future: %v", err)
	}
	w, err := s.Watch(things, 20)
	if err != nil {
		t.Fatal(err)
	}
	if changes, _, _ := w.Next(bg); changes[0].Seq != 21 {
		t.Errorf("first change is %d, want 21", changes[0].Seq)
	}
	ahead, _ := s.Watch(things, 60)
	for i := range 10 {
		log.put("b", fmt.Sprint(i), 0, "", "")
	}
	if changes, _, _ := ahead.Next(bg); len(changes) == 0 || changes[0].Seq != 61 {
		t.Errorf("a watch of the future began with %v", changes)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, upto, err := ahead.Next(ctx); upto < 61 || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v", upto, err)
	}
}

func TestACursorTrimmedAwayIsToldSo(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: -1, ColdMemory: 1})
	w, _ := s.Watch(things, 5)
	for i := range 3000 {
		log.put("a", fmt.Sprint(i), 0, "", "")
	}
	s.reach(log.Last())
	s.RaiseFloor(2500)
	log.trim(2400)
	var expired *ExpiredError
	if _, _, err := w.Next(bg); !errors.As(err, &expired) || expired.Floor != 2500 {
		t.Errorf("got %v", err)
	}
	// A trim that passes the reader while it reads is no gap either.
	w, _ = s.Watch(things, 2500)
	log.batch = func() int { return 10 }
	log.onRange = func() { log.onRange = nil; log.trim(2900) }
	if changes, _, err := w.Next(bg); err == nil && changes[0].Seq != 2501 {
		t.Errorf("after a trim the watcher went on at %d", changes[0].Seq)
	} else if err != nil && !errors.Is(err, ErrExpired) {
		t.Errorf("got %v", err)
	}
}

func TestEachChangeIsEncodedOnceHoweverManyWatch(t *testing.T) {
	log, s := start(t, Config{})
	var watchers []*Watcher
	for range 200 {
		w, _ := s.Watch(things, 1)
		watchers = append(watchers, w)
	}
	rv := uint64(0)
	for range 30 {
		rv = log.put("a", "x", rv, "", "")
	}
	s.reach(rv)
	first := map[uint64]*byte{}
	for _, w := range watchers {
		for pos := uint64(0); pos < rv; {
			changes, upto, _ := w.Next(bg)
			pos = upto
			for _, c := range changes {
				if p := first[c.Seq]; p != nil && p != &c.Frame()[0] {
					t.Fatal("frames are not shared")
				}
				first[c.Seq] = &c.Frame()[0]
			}
		}
	}
	if n := s.Stats().Frames; n != 30 {
		t.Errorf("%d frames for 30 changes and 200 watchers", n)
	}
}

func TestParkedWatchersShareWhatIsReadFromTheLog(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: -1, ColdMemory: 10 << 20})
	rv := uint64(0)
	for range 2000 {
		rv = log.put("a", "x", rv, "", "")
	}
	s.reach(rv)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			w, _ := s.Watch(things, 0)
			defer w.Close()
			for pos := uint64(0); pos < rv; {
				changes, _, err := w.Next(bg)
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range changes {
					if prev, err := c.Previous(bg); err != nil || (prev == nil) != (c.Seq == 2) {
						t.Errorf("previous of %d: %v, %v", c.Seq, prev, err)
					}
				}
				pos = changes[len(changes)-1].Seq
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.ColdReads != 2 || log.ranges != 2 {
		t.Errorf("the log was read %d times for 50 watchers, want 2", st.ColdReads)
	}
	if st.Watchers != 0 || st.Parked != 0 {
		t.Errorf("%d watchers, %d parked after all were closed", st.Watchers, st.Parked)
	}
}

func TestDepartedObjectsCarryTheChangesVersion(t *testing.T) {
	for name, window := range map[string]int64{"from memory": 0, "from the log": -1} {
		t.Run(name, func(t *testing.T) {
			log, s := start(t, Config{MemoryWindow: window})
			log.put("a", "x", 0, `"app":"web"`, "")
			log.put("a", "x", 2, "", "")
			s.reach(3)
			w, _ := s.Watch(things, 2)
			changes, _, err := w.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			gone, err := changes[0].Departed(bg)
			if err != nil {
				t.Fatal(err)
			}
			app, _ := gone.Label("app")
			if app != "web" || gone.RV() != 3 || gone.Natural() != Deleted || !strings.Contains(string(gone.JSON()), `"resourceVersion":"3"`) {
				t.Errorf("departed is %s", gone.JSON())
			}
			if again, _ := changes[0].Departed(bg); again != gone {
				t.Error("it is not shared")
			}
		})
	}
}

func TestExactStatesAcrossKeptRootsPiecesAndMemory(t *testing.T) {
	for name, cfg := range map[string]Config{
		"all in memory":   {MemoryWindow: 1 << 30},
		"half in memory":  {MemoryWindow: 1_500_000},
		"none in memory":  {MemoryWindow: -1, ColdMemory: 200_000},
		"little of a log": {MemoryWindow: -1, ColdMemory: 1},
	} {
		t.Run(name, func(t *testing.T) {
			log, s := start(t, cfg)
			rng := newRand(t)
			state := map[string]uint64{}
			sums := make([]uint64, 2, 9002)
			s.reach(1)
			sum := func(v View) uint64 {
				h := fnv.New64a()
				v.Ascend("", "", func(o *Object) bool { h.Write(o.JSON()); return true })
				return h.Sum64()
			}
			sums[0], sums[1] = sum(View{}), sum(View{})
			for range 9000 {
				n := fmt.Sprint(rng.IntN(150))
				if prev := state[n]; prev > 0 && rng.IntN(5) == 0 {
					log.remove("a", n, prev)
					delete(state, n)
				} else {
					state[n] = log.put("a", n, prev, "", "")
				}
				s.reach(log.Last())
				sums = append(sums, sum(s.View(things)))
			}
			for seq := uint64(0); seq <= 9001; seq += 1 + rng.Uint64N(150) {
				v, err := s.At(bg, things, seq)
				if err != nil {
					t.Fatal(err)
				}
				if sum(v) != sums[seq] {
					t.Fatalf("the state at %d is not what it was", seq)
				}
			}
			if name == "all in memory" && len(s.resources.lookup(things).feed.view.Load().marks) != 2 {
				t.Error("no roots were kept")
			}
		})
	}
}

func TestPagesOfAnOldListContinueOnOneRoot(t *testing.T) {
	log, s := start(t, Config{})
	rv := log.put("a", "x", 0, "", "")
	for range 100 {
		rv = log.put("a", "x", rv, "", "")
	}
	s.reach(rv)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := s.At(bg, things, 50); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := s.At(bg, things, 50); err != nil {
		t.Error(err)
	}
	if st := s.Stats(); st.ExactBuilt != 1 {
		t.Errorf("the state was built %d times", st.ExactBuilt)
	}
	if s.states.expire(); len(s.states.all) != 1 {
		t.Error("a state in use was dropped")
	}
}

func TestAWriteWaitsForItsOwnSequence(t *testing.T) {
	log, s := start(t, Config{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			seq := log.put("a", fmt.Sprint(i), 0, "", "")
			if err := s.Wait(bg, seq); err != nil {
				t.Error(err)
			}
			if _, ok := s.Get(things, "a", fmt.Sprint(i)); !ok {
				t.Error("a write does not see itself")
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(bg)
	got := make(chan error)
	go func() { got <- s.Wait(ctx, 1000) }()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	go func() { got <- s.Wait(bg, 1000) }()
	s.stop()
	if err := <-got; !errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
	if len(s.progress.waiting) != 0 {
		t.Error("waiters were left behind")
	}
}

func TestReadsThatWaitShareOneBarrier(t *testing.T) {
	log := newFakeLog()
	log.genesis()
	log.hold, log.entered = make(chan struct{}), make(chan struct{}, 100)
	s := run(t, New(Config{Log: log, SharedLog: true}))
	s.reach(1)
	results := make(chan uint64, 50)
	read := func() {
		seq, err := s.Fresh(bg)
		if err != nil {
			t.Error(err)
		}
		results <- seq
	}
	go read()
	<-log.entered // the first barrier is under way: it cannot serve those who come now
	seq := log.put("a", "x", 0, "", "")
	for range 40 {
		go read()
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := s.Fresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	joined := func() bool {
		s.barriers.mu.Lock()
		defer s.barriers.mu.Unlock()
		return s.barriers.next != nil && s.barriers.next.readers >= 40
	}
	for !joined() {
		runtime.Gosched()
	}
	close(log.hold)
	late := 0
	for range 41 {
		if <-results >= seq {
			late++
		}
	}
	if late < 40 {
		t.Errorf("%d reads saw the write that came before them, want 40", late)
	}
	if log.barriers > 3 { // the read that was cancelled may have been the 40th
		t.Errorf("%d barriers for 41 reads", log.barriers)
	}
}

func TestReadersDuringWritesSeeWholeStates(t *testing.T) {
	log, s := start(t, Config{MemoryWindow: 30_000, ColdMemory: 50_000})
	log.batch = func() int { return 7 }
	stop := make(chan struct{})
	var wg sync.WaitGroup
	reader := func(fn func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					fn()
				}
			}
		})
	}
	reader(func() {
		v := s.View(things)
		n := 0
		v.Ascend("", "", func(o *Object) bool {
			if n++; o.RV() > v.Seq() {
				t.Errorf("a view at %d holds %d", v.Seq(), o.RV())
			}
			return true
		})
		if n != v.Len() || n != v.Count("", "") {
			t.Errorf("walked %d of %d", n, v.Len())
		}
	})
	reader(func() {
		cut := s.Cut()
		for _, v := range cut.Views {
			v.Ascend("", "", func(o *Object) bool {
				if o.RV() > cut.Seq {
					t.Errorf("a cut at %d holds %d", cut.Seq, o.RV())
				}
				return true
			})
		}
	})
	reader(func() {
		if applied := s.Applied(); applied > 300 {
			if _, err := s.At(bg, things, applied-300); err != nil {
				t.Error(err)
			}
		}
	})
	for range 4 {
		wg.Go(func() {
			w, _ := s.Watch(things, 0)
			last := uint64(1)
			for last < 4001 {
				changes, _, err := w.Next(bg)
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range changes {
					if c.Seq != last+1 {
						t.Errorf("sequence %d after %d", c.Seq, last)
						return
					}
					last = c.Seq
				}
			}
		})
	}
	prev := [50]uint64{}
	for i := range 4000 {
		k := i % 50
		prev[k] = log.put("a", fmt.Sprint(k), prev[k], "", "")
		if i%100 == 0 {
			s.reach(prev[k])
		}
	}
	s.reach(log.Last())
	close(stop)
	wg.Wait()
}

func TestARestoredStoreIsTheSameAndGoesOn(t *testing.T) {
	log, s := start(t, Config{})
	rv := log.put("a", "x", 0, `"l":"1"`, "")
	log.put("a", "y", 0, "", "")
	s.reach(3)
	s.RaiseFloor(1)
	st := stateOf(s.Store)
	again := New(Config{Log: log})
	again.Restore(st)
	if listing(again.View(things)) != listing(s.View(things)) || again.Applied() != 3 || again.Floor() != 1 || again.Epoch() != "epoch-1" {
		t.Errorf("got %+v", again.Stats())
	}
	w, _ := again.Watch(things, 1)
	r := run(t, again)
	log.put("a", "x", rv, "", "")
	var got []uint64
	for len(got) < 3 {
		changes, _, err := w.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			got = append(got, c.Seq)
		}
	}
	r.reach(4)
	if !slices.Equal(got, []uint64{2, 3, 4}) {
		t.Errorf("got %v", got)
	}
}

func TestTheTimelineFollowsTheLogAndTheFloor(t *testing.T) {
	log, s := start(t, Config{})
	at := time.Unix(1000, 0).UnixNano()
	for i := range 2000 {
		key, rec := thing(eventlog.OpCreate, "a", fmt.Sprint(i), 0, "", "")
		rec.Time = at + int64(i)*int64(time.Millisecond)*10
		log.append(key, rec)
	}
	s.reach(2001)
	marks := s.Timeline()
	if last := marks[len(marks)-1]; last.Seq != 2001 {
		t.Errorf("the last mark is at %d", last.Seq)
	}
	for i := 1; i < len(marks); i++ {
		a, b := marks[i-1], marks[i]
		if b.Seq <= a.Seq || b.Seq-a.Seq > markRecords || b.Time < a.Time || b.Bytes <= a.Bytes {
			t.Errorf("mark %+v follows %+v", b, a)
		}
	}
	s.RaiseFloor(1500)
	if first := s.Timeline()[0]; first.Seq > 1500 || first.Seq < 1500-markRecords {
		t.Errorf("the first mark is at %d", first.Seq)
	}
}

func TestAnIdleWatcherCostsLittleAndConstant(t *testing.T) {
	log, s := start(t, Config{})
	s.reach(log.Last())
	const n = 10_000
	measure := func() int64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools gave up is freed by the second
		runtime.ReadMemStats(&before)
		all := make([]*Watcher, n)
		for i := range all {
			all[i], _ = s.Watch(things, s.Applied())
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(all)
		return int64(after.HeapAlloc-before.HeapAlloc) / n
	}
	empty := measure()
	for i := range 3000 {
		log.put("a", fmt.Sprint(i), 0, "", "")
	}
	s.reach(log.Last())
	if full := measure(); empty > 128 || full > 128 {
		t.Errorf("a watcher takes %d bytes, %d with a full feed", empty, full)
	}
}
