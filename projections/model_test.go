package projections

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kronicle/kronicle/eventlog"
)

// model is what the projections must be equal to: plain maps and slices.
type model struct {
	log    *fakeLog
	rng    *rand.Rand
	states map[GroupResource]map[string]modelObject // by position
	events map[GroupResource][]modelEvent
	lists  map[GroupResource][]string // by sequence
}

type modelObject struct {
	seq  uint64
	json string
}

type modelEvent struct {
	seq         uint64
	frame, prev string
}

var modelResources = []GroupResource{{"", "configmaps"}, {"example.com", "things"}, {"", "namespaces"}}

func newModel(rng *rand.Rand, log *fakeLog) *model {
	m := &model{log: log, rng: rng, states: map[GroupResource]map[string]modelObject{},
		events: map[GroupResource][]modelEvent{}, lists: map[GroupResource][]string{}}
	for _, gr := range modelResources {
		m.states[gr] = map[string]modelObject{}
		m.lists[gr] = []string{""}
	}
	return m
}

// step appends one random record to the log and to the model.
func (m *model) step() {
	if m.log.Last() == 0 {
		m.log.genesis()
		m.remember()
		return
	}
	if m.rng.IntN(40) == 0 {
		m.log.append(eventlog.Key{}, &eventlog.Record{Op: eventlog.OpBarrier})
		m.remember()
		return
	}
	gr := modelResources[min(m.rng.IntN(6), len(modelResources)-1)]
	ns := []string{"a", "a-b", "ab"}[m.rng.IntN(3)]
	if gr.Resource == "namespaces" {
		ns = ""
	}
	name := fmt.Sprintf("o%d", m.rng.IntN(12))
	pos := ns + "/" + name
	old, exists := m.states[gr][pos]
	op, natural := eventlog.OpCreate, "ADDED"
	switch {
	case exists && m.rng.IntN(4) == 0:
		op, natural = eventlog.OpDelete, "DELETED"
	case exists:
		op, natural = eventlog.OpUpdate, "MODIFIED"
	}
	key, rec := record(gr, op, ns, name, old.seq, fmt.Sprintf(`"l":"%d"`, m.rng.IntN(3)), strings.Repeat("x", m.rng.IntN(300)))
	seq := m.log.append(key, rec)
	json := string(rec.Served(seq, "", ""))
	if op == eventlog.OpDelete {
		delete(m.states[gr], pos)
	} else {
		m.states[gr][pos] = modelObject{seq, json}
	}
	m.events[gr] = append(m.events[gr], modelEvent{seq, `{"type":"` + natural + `","object":` + json + "}\n", old.json})
	m.remember()
}

// remember keeps the list of each resource at the sequence just appended.
func (m *model) remember() {
	for _, gr := range modelResources {
		var b strings.Builder
		for _, pos := range slices.Sorted(maps.Keys(m.states[gr])) {
			b.WriteString(m.states[gr][pos].json + "\n")
		}
		m.lists[gr] = append(m.lists[gr], b.String())
	}
}

func (m *model) after(gr GroupResource, pos uint64) []modelEvent {
	all := m.events[gr]
	i, _ := slices.BinarySearchFunc(all, pos+1, func(e modelEvent, seq uint64) int { return int(e.seq) - int(seq) })
	return all[i:]
}

// modelWatcher is a client: it reconnects where it was.
type modelWatcher struct {
	gr    GroupResource
	start uint64
	pos   uint64
	got   []modelEvent
	w     *Watcher
	dead  bool // expired, rightly
}

// drain lets a watcher read up to n times.
func (c *modelWatcher) drain(t *testing.T, m *model, s *running, n int) {
	for range n {
		if c.dead {
			return
		}
		if c.w == nil {
			w, err := s.Watch(c.gr, c.pos)
			if c.expired(t, s, err) {
				return
			}
			c.w = w
		}
		ctx, cancel := context.WithCancel(bg)
		if len(m.after(c.gr, c.pos)) == 0 {
			cancel() // there is nothing to wait for
		}
		changes, upto, err := c.w.Next(ctx)
		cancel()
		if upto < c.pos {
			t.Fatalf("a watcher of %s went back from %d to %d", c.gr, c.pos, upto)
		}
		for _, ch := range changes {
			c.take(t, m, s, ch)
		}
		c.pos = upto
		if err != nil && !errors.Is(err, context.Canceled) {
			c.expired(t, s, err)
			return
		}
		if err != nil {
			return
		}
	}
}

func (c *modelWatcher) take(t *testing.T, m *model, s *running, ch *Change) {
	e := modelEvent{seq: ch.Seq, frame: string(ch.Frame())}
	prev, err := ch.Previous(bg)
	if err != nil && (ch.Seq > s.Floor() || !errors.Is(err, ErrExpired)) {
		t.Fatalf("previous of %d: %v", ch.Seq, err)
	}
	if prev != nil {
		e.prev = string(prev.JSON())
	} else if err != nil { // trimmed under a cursor that was below the floor
		e.prev = m.after(c.gr, ch.Seq-1)[0].prev
	}
	c.got = append(c.got, e)
}

func (c *modelWatcher) expired(t *testing.T, s *running, err error) bool {
	if err == nil {
		return false
	}
	first := s.log.First()
	if !errors.Is(err, ErrExpired) || (c.pos >= s.Floor() && c.pos+1 >= first) {
		t.Fatalf("a watcher of %s at %d with floor %d and first %d got: %v", c.gr, c.pos, s.Floor(), first, err)
	}
	c.dead = true
	return true
}

// check compares what a watcher got with the model.
func (c *modelWatcher) check(t *testing.T, m *model) {
	var want []modelEvent
	for _, e := range m.after(c.gr, c.start) {
		if e.seq <= c.pos || !c.dead {
			want = append(want, e)
		}
	}
	if !slices.Equal(c.got, want) {
		for i := range min(len(want), len(c.got)) {
			if want[i] != c.got[i] {
				t.Fatalf("watcher of %s from %d: event %d is\n%+v, want\n%+v", c.gr, c.start, i, c.got[i], want[i])
			}
		}
		t.Fatalf("watcher of %s from %d to %d got %d events, want %d", c.gr, c.start, c.pos, len(c.got), len(want))
	}
}

// world is one run of the model test.
type world struct {
	t        *testing.T
	m        *model
	s        *running
	cfg      Config
	source   *fakeSource
	watchers []*modelWatcher
}

func (w *world) restart() {
	w.s.reach(w.m.log.Last())
	st := stateOf(w.s.Store)
	w.s.stop()
	if len(w.source.states) > 0 && w.m.rng.IntN(2) == 0 {
		st.Seq, st.Resources, st.Timeline = w.older() // a crash: the newest snapshot is older than the log
	}
	s := New(w.cfg)
	s.Restore(st)
	w.s = run(w.t, s)
	for _, c := range w.watchers {
		c.w = nil
	}
}

func (w *world) older() (uint64, map[GroupResource][]*Object, []Mark) {
	st := w.source.states[len(w.source.states)-1]
	return st.Seq, st.Resources, st.Timeline
}

func (w *world) snapshotAndTrim() {
	w.s.reach(w.m.log.Last())
	st := stateOf(w.s.Store)
	w.source.add(st)
	keep := w.source.states[w.m.rng.IntN(len(w.source.states))]
	floor := keep.Seq + w.m.rng.Uint64N(w.s.Applied()-keep.Seq+1)
	w.s.RaiseFloor(floor)
	if keep.Seq <= w.s.Floor() && w.m.rng.IntN(2) == 0 {
		w.m.log.trim(keep.Seq + 1)
	}
}

func (w *world) verify() {
	w.s.reach(w.m.log.Last())
	last := w.s.Applied()
	for _, gr := range modelResources {
		if got := listing(w.s.View(gr)); got != w.m.lists[gr][last] {
			w.t.Fatalf("list of %s:\n%s\nwant\n%s", gr, got, w.m.lists[gr][last])
		}
		for seq := uint64(0); seq <= last; seq++ {
			v, err := w.s.At(bg, gr, seq)
			if seq < w.s.Floor() {
				if !errors.Is(err, ErrExpired) {
					w.t.Fatalf("state at %d below the floor %d: %v", seq, w.s.Floor(), err)
				}
				continue
			}
			if err != nil {
				w.t.Fatalf("state of %s at %d (floor %d, first %d): %v", gr, seq, w.s.Floor(), w.m.log.First(), err)
			}
			if got := listing(v); got != w.m.lists[gr][seq] || v.Seq() != seq {
				w.t.Fatalf("state of %s at %d:\n%s\nwant\n%s", gr, seq, got, w.m.lists[gr][seq])
			}
		}
	}
	for _, c := range w.watchers {
		for !c.dead && len(w.m.after(c.gr, c.pos)) > 0 {
			c.drain(w.t, w.m, w.s, 1)
		}
		c.check(w.t, w.m)
	}
	for gr, v := range w.s.Cut().Views {
		if got := listing(v); got != w.m.lists[gr][last] {
			w.t.Fatalf("the cut of %s differs", gr)
		}
	}
}

func TestRandomOperationsEqualThePlainMap(t *testing.T) {
	for round := range 12 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			rng := newRand(t)
			rng = rand.New(rand.NewPCG(rng.Uint64(), uint64(round)))
			log := newFakeLog()
			batches := rand.New(rand.NewPCG(rng.Uint64(), 2))
			size := 1 + rng.IntN(40)
			log.batch = func() int { return 1 + batches.IntN(size) } // under the log's lock
			source := &fakeSource{}
			cfg := Config{Log: log, Source: source, MemoryWindow: []int64{-1, 3000, 60_000, 1 << 30}[round%4],
				ColdMemory: []int64{1, 100_000, 1 << 30}[round%3]}
			w := &world{t: t, m: newModel(rng, log), cfg: cfg, source: source}
			w.s = run(t, New(cfg))
			for range 900 {
				switch p := rng.IntN(100); {
				case p < 78:
					w.m.step()
				case p < 82:
					if pos := w.s.Floor(); pos <= w.s.Applied() {
						pos += rng.Uint64N(w.s.Applied() - pos + 3)
						w.watchers = append(w.watchers, &modelWatcher{gr: modelResources[rng.IntN(3)], start: pos, pos: pos})
					}
				case p < 96 && len(w.watchers) > 0:
					w.s.reach(log.Last()) // drain must know that what is in the model will come
					w.watchers[rng.IntN(len(w.watchers))].drain(t, w.m, w.s, 1+rng.IntN(4))
				case p < 97:
					w.restart()
				case p < 99 && log.Last() > 0:
					w.snapshotAndTrim()
				}
			}
			w.verify()
			t.Logf("%d records, %d watchers, %+v", log.Last(), len(w.watchers), w.s.Stats())
		})
	}
}

// outcome is everything a client could see of a run over a fixed list of operations.
func outcome(t *testing.T, m *model, log *fakeLog, cfg Config, batch int, restarts []uint64, readAt []uint64) string {
	log.batch = func() int { return batch }
	cfg.Log = log
	whole := uint64(len(log.entries))
	entries := log.entries
	defer func() { log.entries = entries }()
	var b strings.Builder
	log.entries = entries[:0:0]
	s := run(t, New(cfg))
	watchers := map[GroupResource]*modelWatcher{}
	for _, gr := range modelResources {
		watchers[gr] = &modelWatcher{gr: gr}
	}
	next := uint64(1)
	for _, upto := range append(slices.Clone(restarts), whole) {
		for ; next <= upto; next++ {
			e := entries[next-1]
			log.append(e.Key, e.Record)
			if slices.Contains(readAt, next) {
				s.reach(next)
				for _, gr := range modelResources {
					collect(t, m, watchers[gr], s)
				}
			}
		}
		s.reach(upto)
		st := stateOf(s.Store)
		s.stop()
		again := New(cfg)
		again.Restore(st)
		s = run(t, again)
		for _, c := range watchers {
			c.w = nil
		}
	}
	for _, gr := range modelResources {
		collect(t, m, watchers[gr], s)
		fmt.Fprintf(&b, "%s\n%s", gr, listing(s.View(gr)))
		for _, e := range watchers[gr].got {
			fmt.Fprintf(&b, "%d %s %s", e.seq, e.frame, e.prev)
		}
		for seq := uint64(1); seq <= whole; seq += 17 {
			v, err := s.At(bg, gr, seq)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "at %d\n%s", seq, listing(v))
		}
	}
	s.stop()
	return b.String()
}

// collect reads a watcher up to the applied sequence.
func collect(t *testing.T, m *model, c *modelWatcher, s *running) {
	if c.w == nil {
		w, err := s.Watch(c.gr, c.pos)
		if err != nil {
			t.Fatal(err)
		}
		c.w = w
	}
	done := s.Applied()
	for next := m.after(c.gr, c.pos); len(next) > 0 && next[0].seq <= done; next = m.after(c.gr, c.pos) {
		changes, upto, err := c.w.Next(bg)
		for _, ch := range changes {
			prev, err := ch.Previous(bg)
			if err != nil {
				t.Fatal(err)
			}
			e := modelEvent{seq: ch.Seq, frame: string(ch.Frame())}
			if prev != nil {
				e.prev = string(prev.JSON())
			}
			c.got = append(c.got, e)
		}
		c.pos = upto
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestBatchesMemoryAndRestartsDoNotShow(t *testing.T) {
	log := newFakeLog()
	m := newModel(newRand(t), log)
	for range 700 {
		m.step()
	}
	var reads []uint64
	for seq := uint64(1); seq < 700; seq += 1 + m.rng.Uint64N(60) {
		reads = append(reads, seq)
	}
	want := outcome(t, m, log, Config{MemoryWindow: 1 << 30}, 1000, nil, nil)
	for i, v := range []struct {
		cfg      Config
		batch    int
		restarts []uint64
		reads    []uint64
	}{
		{Config{MemoryWindow: 1 << 30}, 1, nil, reads},
		{Config{MemoryWindow: -1, ColdMemory: 1}, 7, nil, reads},
		{Config{MemoryWindow: 2000, ColdMemory: 50_000}, 3, []uint64{150, 151, 420}, nil},
		{Config{MemoryWindow: 40_000}, 64, []uint64{300}, reads},
	} {
		if got := outcome(t, m, log, v.cfg, v.batch, v.restarts, v.reads); got != want {
			t.Errorf("variant %d differs: %d bytes, want %d", i, len(got), len(want))
		}
	}
}
