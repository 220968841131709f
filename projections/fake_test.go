package projections

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kronicle/kronicle/eventlog"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 picks one")

// newRand returns a random source whose seed is printed and can be given.
func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed: -seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// fakeLog is a log in memory with the contract of eventlog.Log.
type fakeLog struct {
	mu       sync.Mutex
	grown    chan struct{} // closed by the next append
	first    uint64
	entries  []eventlog.Entry // entries[i] has sequence i+1; trimmed ones are zero
	batch    func() int       // size of the next batch that Follow and Range give; nil: as many as there are
	barriers int
	ranges   int
	hold     chan struct{} // if not nil, Barrier waits until it is closed
	entered  chan struct{} // if not nil, Barrier tells when it is entered
	onRange  func()        // if not nil, called between the batches of a Range
}

func newFakeLog() *fakeLog { return &fakeLog{first: 1, grown: make(chan struct{})} }

func (l *fakeLog) append(key eventlog.Key, rec *eventlog.Record) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq := uint64(len(l.entries) + 1)
	l.entries = append(l.entries, eventlog.Entry{Seq: seq, Key: key, Record: rec, Size: len(rec.Object) + 100})
	close(l.grown)
	l.grown = make(chan struct{})
	return seq
}

// trim drops the sequences below before.
func (l *fakeLog) trim(before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.first < before {
		l.entries[l.first-1] = eventlog.Entry{}
		l.first++
	}
}

func (l *fakeLog) First() uint64 { l.mu.Lock(); defer l.mu.Unlock(); return l.first }
func (l *fakeLog) Last() uint64  { l.mu.Lock(); defer l.mu.Unlock(); return uint64(len(l.entries)) }

func (l *fakeLog) Barrier(ctx context.Context) (uint64, error) {
	l.mu.Lock()
	l.barriers++
	seq, hold := uint64(len(l.entries)), l.hold
	l.mu.Unlock()
	if l.entered != nil {
		l.entered <- struct{}{}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return seq, nil
}

func (l *fakeLog) Get(ctx context.Context, seq uint64) (eventlog.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < l.first {
		return eventlog.Entry{}, &eventlog.TrimmedError{Want: seq, First: l.first}
	}
	if seq > uint64(len(l.entries)) {
		return eventlog.Entry{}, eventlog.ErrNotYet
	}
	return l.entries[seq-1], nil
}

// take copies the next batch; it waits for nothing.
func (l *fakeLog) take(from, to uint64) ([]eventlog.Entry, chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from < l.first {
		return nil, nil, &eventlog.TrimmedError{Want: from, First: l.first}
	}
	to = min(to, uint64(len(l.entries)))
	if from > to {
		return nil, l.grown, nil
	}
	if l.batch != nil {
		to = min(to, from+uint64(l.batch())-1)
	}
	return append([]eventlog.Entry(nil), l.entries[from-1:to]...), nil, nil
}

func (l *fakeLog) Range(ctx context.Context, from, to uint64, fn func([]eventlog.Entry) error) error {
	l.mu.Lock()
	l.ranges++
	if from > to || to > uint64(len(l.entries)) {
		defer l.mu.Unlock()
		return fmt.Errorf("bad range %d to %d of %d", from, to, len(l.entries))
	}
	l.mu.Unlock()
	for from <= to {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch, _, err := l.take(from, to)
		if err != nil {
			return err
		}
		if err := fn(batch); err != nil {
			return err
		}
		from += uint64(len(batch))
		if l.onRange != nil {
			l.onRange()
		}
	}
	return nil
}

func (l *fakeLog) Follow(ctx context.Context, from uint64, fn func([]eventlog.Entry) error) error {
	for {
		batch, grown, err := l.take(from, 1<<60)
		if err != nil {
			return err
		}
		if grown == nil {
			if err := fn(batch); err != nil {
				return err
			}
			from += uint64(len(batch))
			continue
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var things = GroupResource{"example.com", "things"}

// thing builds a record as the codec would.
func thing(op eventlog.Op, ns, name string, prev uint64, labels, fill string) (eventlog.Key, *eventlog.Record) {
	return record(things, op, ns, name, prev, labels, fill)
}

func record(gr GroupResource, op eventlog.Op, ns, name string, prev uint64, labels, fill string) (eventlog.Key, *eventlog.Record) {
	head := `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{`
	if labels != "" {
		head += `"labels":{` + labels + `},`
	}
	head += `"name":"` + name + `",`
	if ns != "" {
		head += `"namespace":"` + ns + `",`
	}
	return eventlog.Key{Group: gr.Group, Resource: gr.Resource, Namespace: ns, Name: name}, &eventlog.Record{
		Op: op, Object: []byte(head + `"uid":"u-` + name + `"},"spec":{"fill":"` + fill + `"}}`), RVAt: len(head),
		UID: "u-" + name, Prev: prev,
	}
}

// put creates or updates a thing and returns its sequence.
func (l *fakeLog) put(ns, name string, prev uint64, labels, fill string) uint64 {
	op := eventlog.OpUpdate
	if prev == 0 {
		op = eventlog.OpCreate
	}
	return l.append(thing(op, ns, name, prev, labels, fill))
}

func (l *fakeLog) remove(ns, name string, prev uint64) uint64 {
	return l.append(thing(eventlog.OpDelete, ns, name, prev, "", "gone"))
}

func (l *fakeLog) genesis() uint64 {
	return l.append(eventlog.Key{}, &eventlog.Record{Op: eventlog.OpGenesis, Epoch: "epoch-1"})
}

// running is a store whose Run is going on.
type running struct {
	*Store
	t     testing.TB
	stop  func() error
	ended chan struct{}
}

func run(t testing.TB, s *Store) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Store: s, t: t, ended: make(chan struct{})}
	var err error
	go func() { err = s.Run(ctx); close(r.ended) }()
	r.stop = func() error { cancel(); <-r.ended; return err }
	t.Cleanup(func() {
		if err := r.stop(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrCannotApply) {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

// reach waits until everything in the log has been applied.
func (r *running) reach(seq uint64) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.Wait(ctx, seq); err != nil {
		r.t.Fatalf("wait for %d at %d: %v", seq, r.Applied(), err)
	}
}

// fakeSource is snapshots in memory.
type fakeSource struct {
	mu     sync.Mutex
	states []State
}

// stateOf takes a cut apart and puts it together again, as storing it would.
func stateOf(s *Store) State {
	cut := s.Cut()
	st := State{Seq: cut.Seq, Floor: cut.Floor, Epoch: cut.Epoch, Timeline: cut.Timeline, Resources: make(map[GroupResource][]*Object)}
	for gr, v := range cut.Views {
		st.Resources[gr] = nil
		v.Ascend("", "", func(o *Object) bool {
			st.Resources[gr] = append(st.Resources[gr], NewObject(o.Stored()))
			return true
		})
	}
	return st
}

func (f *fakeSource) add(st State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states = append(f.states, st)
}

func (f *fakeSource) Nearest(ctx context.Context, seq uint64) (SnapshotReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.states) - 1; i >= 0; i-- {
		if f.states[i].Seq <= seq {
			return fakeReader{f.states[i]}, nil
		}
	}
	return nil, ErrNoSnapshot
}

type fakeReader struct{ State }

func (r fakeReader) Seq() uint64  { return r.State.Seq }
func (r fakeReader) Close() error { return nil }
func (r fakeReader) Objects(ctx context.Context, gr GroupResource, fn func(*Object) error) error {
	for _, o := range r.Resources[gr] {
		if err := fn(o); err != nil {
			return err
		}
	}
	return nil
}

// listing is the bytes of a view, as a list would write them.
func listing(v View) string {
	var b strings.Builder
	v.Ascend("", "", func(o *Object) bool {
		b.Write(o.JSON())
		b.WriteByte('\n')
		return true
	})
	return b.String()
}

var bg = context.Background()
