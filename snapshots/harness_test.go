package snapshots

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 picks one")

func seeded(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -seed=%d)", seed, seed)
	return rand.New(rand.NewPCG(seed, seed))
}

var (
	configMaps = projections.GroupResource{Resource: "configmaps"}
	widgets    = projections.GroupResource{Group: "example.com", Resource: "widgets"}
)

// memLog is a log in memory with the semantics of eventlog.Log.
type memLog struct {
	mu      sync.Mutex
	epoch   string
	first   uint64
	entries []eventlog.Entry // all that ever were, entries[i] is sequence i+1
	heads   map[eventlog.Key]uint64
	changed chan struct{}
	trims   []uint64
	gets    int
	onTrim  func(before uint64)
}

func newMemLog(now time.Time) *memLog {
	l := &memLog{epoch: "epoch-1", first: 1, heads: map[eventlog.Key]uint64{}, changed: make(chan struct{})}
	l.add(eventlog.Key{}, &eventlog.Record{Op: eventlog.OpGenesis, Epoch: l.epoch, Time: now.UnixNano()})
	return l
}

func (l *memLog) add(key eventlog.Key, rec *eventlog.Record) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq := uint64(len(l.entries) + 1)
	rec.Prev = l.heads[key]
	l.entries = append(l.entries, eventlog.Entry{Seq: seq, Key: key, Record: rec, Size: len(rec.Object) + 128})
	switch rec.Op {
	case eventlog.OpDelete:
		delete(l.heads, key)
	case eventlog.OpCreate, eventlog.OpUpdate:
		l.heads[key] = seq
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return seq
}

// put creates or updates a config map.
func (l *memLog) put(name, value string, now time.Time) uint64 {
	key := eventlog.Key{Resource: configMaps.Resource, Namespace: "default", Name: name}
	op := eventlog.OpCreate
	l.mu.Lock()
	if l.heads[key] > 0 {
		op = eventlog.OpUpdate
	}
	l.mu.Unlock()
	object, at := objectJSON(key, value)
	return l.add(key, &eventlog.Record{Op: op, Object: object, RVAt: at, UID: "uid-" + name, Time: now.UnixNano()})
}

// remove deletes a config map; 0 if there is none.
func (l *memLog) remove(name string, now time.Time) uint64 {
	key := eventlog.Key{Resource: configMaps.Resource, Namespace: "default", Name: name}
	l.mu.Lock()
	exists := l.heads[key] > 0
	l.mu.Unlock()
	if !exists {
		return 0
	}
	object, at := objectJSON(key, "last state")
	return l.add(key, &eventlog.Record{Op: eventlog.OpDelete, Object: object, RVAt: at, UID: "uid-" + name, Time: now.UnixNano()})
}

func objectJSON(key eventlog.Key, value string) (object []byte, at int) {
	head := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"%s","tier":"back"},"name":"%s","namespace":"%s",`,
		key.Name, key.Name, key.Namespace)
	return []byte(head + fmt.Sprintf(`"uid":"uid-%s"},"data":{"value":"%s"}}`, key.Name, value)), len(head)
}

func (l *memLog) Epoch() string { return l.epoch }

func (l *memLog) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

func (l *memLog) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.entries))
}

func (l *memLog) Barrier(context.Context) (uint64, error) { return l.Last(), nil }

func (l *memLog) Get(_ context.Context, seq uint64) (eventlog.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gets++
	switch {
	case seq < l.first:
		return eventlog.Entry{}, eventlog.ErrTrimmed
	case seq > uint64(len(l.entries)):
		return eventlog.Entry{}, eventlog.ErrNotYet
	}
	return l.entries[seq-1], nil
}

func (l *memLog) Range(_ context.Context, from, to uint64, fn func([]eventlog.Entry) error) error {
	for from <= to {
		l.mu.Lock()
		if from < l.first {
			defer l.mu.Unlock()
			return &eventlog.TrimmedError{Want: from, First: l.first}
		}
		batch := slices.Clone(l.entries[from-1 : min(to, from+99)])
		l.mu.Unlock()
		for i, e := range batch {
			if e.Seq != from+uint64(i) {
				return &eventlog.DamageError{Seq: from + uint64(i), What: "the record is missing"}
			}
		}
		if err := fn(batch); err != nil {
			return err
		}
		from += uint64(len(batch))
	}
	return nil
}

func (l *memLog) Follow(ctx context.Context, from uint64, fn func([]eventlog.Entry) error) error {
	for {
		l.mu.Lock()
		last, changed := uint64(len(l.entries)), l.changed
		l.mu.Unlock()
		if from <= last {
			if err := l.Range(ctx, from, last, fn); err != nil {
				return err
			}
			from = last + 1
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (l *memLog) Trim(_ context.Context, before uint64) error {
	if l.onTrim != nil {
		l.onTrim(before)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = max(l.first, before)
	l.trims = append(l.trims, before)
	return nil
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// world is a log with projections and a keeper.
type world struct {
	t      testing.TB
	log    *memLog
	clock  *clock
	store  Store
	proj   *projections.Store
	keeper *Keeper
	stop   func()
}

// newWorld starts on log and store as a server does; change adapts the keeper's configuration.
func startWorld(t testing.TB, log *memLog, c *clock, st Store, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, log: log, clock: c, store: st}
	cfg := Config{Store: st, Log: log, Now: c.Now}
	if change != nil {
		change(&cfg)
	}
	state, err := Load(t.Context(), st, cfg.EncryptionKey, log.Epoch(), log.First(), log.Last(), WithLogger(quiet()))
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	w.proj = projections.New(projections.Config{Log: log, MemoryWindow: 1})
	cfg.Projections = w.proj
	w.keeper = NewKeeper(cfg)
	w.proj.SetSource(w.keeper)
	w.proj.Restore(state)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.proj.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("projections ended with %v", err)
		}
	})
	t.Cleanup(w.stop)
	w.sync()
	return w
}

func newWorld(t testing.TB, change func(*Config)) *world {
	c := newClock()
	return startWorld(t, newMemLog(c.Now()), c, newDir(t), change)
}

func newDir(t testing.TB) *Dir {
	t.Helper()
	d, err := NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *world) put(name, value string) uint64 { return w.log.put(name, value, w.clock.Now()) }

// sync waits until all of the log is applied.
func (w *world) sync() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.proj.Wait(ctx, w.log.Last()); err != nil {
		w.t.Fatalf("wait for %d: %v", w.log.Last(), err)
	}
}

func (w *world) tick() {
	w.t.Helper()
	w.sync()
	if err := w.keeper.Tick(context.Background()); err != nil {
		w.t.Fatalf("tick: %v", err)
	}
}

func (w *world) take() Info {
	w.t.Helper()
	w.sync()
	info, err := w.keeper.TakeNow(context.Background())
	if err != nil {
		w.t.Fatalf("take: %v", err)
	}
	return info
}

func (w *world) load() (projections.State, error) {
	return Load(context.Background(), w.store, nil, w.log.Epoch(), w.log.First(), w.log.Last(), WithLogger(quiet()))
}

// model is the state at seq by folding the whole log, trimmed or not: name to served bytes.
func (l *memLog) model(seq uint64) map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := map[string]string{}
	for _, e := range l.entries[:seq] {
		switch e.Record.Op {
		case eventlog.OpCreate, eventlog.OpUpdate:
			m[e.Key.Name] = string(e.Record.Served(e.Seq, "", ""))
		case eventlog.OpDelete:
			delete(m, e.Key.Name)
		}
	}
	return m
}

func objectsOf(objects []*projections.Object) map[string]string {
	m := map[string]string{}
	for _, o := range objects {
		m[o.Name()] = string(o.JSON())
	}
	return m
}

func viewOf(v projections.View) map[string]string {
	m := map[string]string{}
	v.Ascend("", "", func(o *projections.Object) bool {
		m[o.Name()] = string(o.JSON())
		return true
	})
	return m
}

// objects makes n stored objects in key order.
func storedObjects(n, size int) []projections.StoredObject {
	out := make([]projections.StoredObject, n)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range out {
		ns, name := fmt.Sprintf("ns-%03d", i/1000), fmt.Sprintf("object-%06d", i)
		head := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"web-%d","tier":"front"},"name":"%s","namespace":"%s","resourceVersion":"%d","uid":"%032x"},"data":{"value":"`,
			i%20, name, ns, i+1, i)
		var b strings.Builder
		for b.Len() < size-len(head)-4 {
			fmt.Fprintf(&b, "key-%d=%x;", rnd.IntN(1000), rnd.Uint32())
		}
		out[i] = projections.StoredObject{
			Namespace: ns, Name: name, UID: fmt.Sprintf("%032x", i), RV: uint64(i + 1), Data: []byte(head + b.String() + `"}}`),
			Labels: []projections.Label{{Key: "app", Value: fmt.Sprintf("web-%d", i%20)}, {Key: "tier", Value: "front"}}, Added: i%2 == 0,
		}
	}
	return out
}

// cutOf is a cut with the given objects.
func cutOf(seq uint64, resources map[projections.GroupResource][]projections.StoredObject, marks []projections.Mark) projections.Cut {
	st := projections.State{Seq: seq, Epoch: "epoch-1", Resources: map[projections.GroupResource][]*projections.Object{}, Timeline: marks}
	for gr, stored := range resources {
		for _, o := range stored {
			st.Resources[gr] = append(st.Resources[gr], projections.NewObject(o))
		}
	}
	p := projections.New(projections.Config{})
	p.Restore(st)
	return p.Cut()
}

// memFile is a File in memory.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

func fileOf(b []byte) File { return memFile{bytes.NewReader(b)} }

var _ io.ReaderAt = memFile{}
