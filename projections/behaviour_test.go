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
