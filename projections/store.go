package projections

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/kronicle/kronicle/eventlog"
)

// Log is what the projections read. It is satisfied by *eventlog.Log.
type Log interface {
	// Range reads the sequences from to to, inclusive, in order and contiguous.
	Range(ctx context.Context, from, to uint64, fn func([]eventlog.Entry) error) error
	// Follow reads from a sequence on, for ever.
	Follow(ctx context.Context, from uint64, fn func([]eventlog.Entry) error) error
	Get(ctx context.Context, seq uint64) (eventlog.Entry, error)
	// Barrier returns the sequence that a read arriving now must have applied.
	Barrier(ctx context.Context) (uint64, error)
	First() uint64
	Last() uint64
}

var _ Log = (*eventlog.Log)(nil)

// SnapshotSource gives the projections older states to start from. It is
// implemented by package snapshots.
type SnapshotSource interface {
	// Nearest opens the newest valid snapshot with a sequence <= seq, or returns ErrNoSnapshot.
	Nearest(ctx context.Context, seq uint64) (SnapshotReader, error)
}

// SnapshotReader is an open snapshot.
type SnapshotReader interface {
	Seq() uint64
	// Objects calls fn for each object of a resource in the order of their positions.
	Objects(ctx context.Context, gr GroupResource, fn func(*Object) error) error
	Close() error
}

// DefaultMemoryWindow is the memory for recent changes, in bytes, if Config says nothing.
const DefaultMemoryWindow = 64 << 20

// Config is what New needs. Only Log is required.
type Config struct {
	Log Log
	// MemoryWindow is how many bytes recent changes and superseded versions may
	// take, over all resources: 0 is DefaultMemoryWindow. Older ones are read
	// from the log.
	MemoryWindow int64
	// ColdMemory is how many bytes of decoded log may be kept for those who
	// read further back: 0 is half the memory window, at least 8 MiB.
	ColdMemory int64
	// SharedLog says that others append to the log, too: then a barrier is a
	// committed append, made once for all the reads that wait for one. In a log
	// of our own it is a local fact and asked for by each read.
	SharedLog bool
	Source    SnapshotSource // nil: none
	Logger    *slog.Logger   // nil: silent
	// OnApply is called with the changes of a batch, in log order, before they
	// become visible. The slice may be used during the call only.
	OnApply func([]*Change)
}

// Store is the projection of a whole log. See the package documentation.
type Store struct {
	log      Log
	source   atomic.Pointer[SnapshotSource]
	onApply  func([]*Change)
	logger   *slog.Logger
	shared   bool
	limit    int64 // of the memory window
	barriers barriers

	progress  progress
	resources resources
	timeline  timeline
	floor     atomic.Uint64
	epoch     atomic.Pointer[string]
	cutMu     sync.Mutex // held while a batch is published, so that Cut sees all of it or nothing
	running   atomic.Bool

	applier applier
	cold    cold
	states  states
	counts  counts
}

// New returns an empty store: the state before the first record.
func New(cfg Config) *Store {
	s := &Store{
		log: cfg.Log, onApply: cfg.OnApply, logger: cfg.Logger,
		shared: cfg.SharedLog, limit: cfg.MemoryWindow, barriers: barriers{log: cfg.Log},
	}
	if s.limit == 0 {
		s.limit = DefaultMemoryWindow
	}
	if s.logger == nil {
		s.logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s.SetSource(cfg.Source)
	s.applier.encoder.frames = &s.counts.frames
	coldLimit := cfg.ColdMemory
	if coldLimit == 0 {
		coldLimit = max(s.limit/2, 8<<20)
	}
	s.cold.init(s, coldLimit)
	s.states.init(max(s.limit, 64<<20))
	return s
}

// SetSource sets where older states come from, for a source that was made
// after the store. It must be called before Run.
func (s *Store) SetSource(source SnapshotSource) { s.source.Store(&source) }

// State is the state of a store at a sequence, as it is read from a snapshot.
type State struct {
	Seq, Floor uint64
	Epoch      string
	Resources  map[GroupResource][]*Object // in the order of their positions
	Timeline   []Mark
}

// Restore makes st the state of the store. It must be called before Run and
// before any read.
func (s *Store) Restore(st State) {
	s.resources.mu.Lock()
	s.resources.base = st.Seq
	for gr, objects := range st.Resources {
		t := newTree()
		for _, o := range objects {
			t.Load(o)
		}
		res := newResource(gr, t, st.Seq)
		res.seen.Store(true)
		s.resources.add(res)
	}
	s.resources.mu.Unlock()
	s.timeline.restore(st.Timeline)
	s.epoch.Store(&st.Epoch)
	s.RaiseFloor(st.Floor)
	s.cold.last.Store(st.Seq)
	s.progress.advance(st.Seq)
}

// Cut is the state of all resources at exactly one sequence.
type Cut struct {
	Seq, Floor uint64
	Epoch      string
	Timeline   []Mark
	Views      map[GroupResource]View
}

// Cut returns the state at the applied sequence. It is cheap: it copies pointers.
func (s *Store) Cut() Cut {
	s.cutMu.Lock()
	defer s.cutMu.Unlock()
	cut := Cut{
		Seq: s.Applied(), Floor: s.Floor(), Epoch: s.Epoch(),
		Timeline: s.timeline.read(), Views: make(map[GroupResource]View),
	}
	s.resources.each(func(res *resource) {
		if res.seen.Load() {
			cut.Views[res.gr] = View{res.root.Load(), cut.Seq}
		}
	})
	return cut
}

// Applied returns the sequence up to which the log has been applied.
func (s *Store) Applied() uint64 { return s.progress.seq.Load() }

// Wait returns nil once Applied() >= seq. It fails with the context's error or
// with ErrStopped.
func (s *Store) Wait(ctx context.Context, seq uint64) error { return s.progress.wait(ctx, seq) }

// Fresh waits until everything that had been acknowledged when it was called
// has been applied, and returns the sequence that is. A read that follows it is
// linearizable. Reads that wait share one barrier.
func (s *Store) Fresh(ctx context.Context) (uint64, error) {
	var seq uint64
	var err error
	if s.shared {
		seq, err = s.barriers.fresh(ctx)
	} else {
		seq, err = s.log.Barrier(ctx)
	}
	if err != nil {
		return 0, err
	}
	if err := s.progress.wait(ctx, seq); err != nil {
		return 0, err
	}
	return seq, nil
}

// Floor returns the oldest sequence whose state can be read, and behind which a watch can start.
func (s *Store) Floor() uint64 { return s.floor.Load() }

// RaiseFloor raises the floor to seq; it never lowers it. It must be called
// before the log is trimmed.
func (s *Store) RaiseFloor(seq uint64) {
	for {
		old := s.floor.Load()
		if seq <= old {
			return
		}
		if s.floor.CompareAndSwap(old, seq) {
			s.timeline.trim(seq)
			return
		}
	}
}

// Epoch returns the epoch of the log as the genesis record or the snapshot told it, "" before either.
func (s *Store) Epoch() string {
	if e := s.epoch.Load(); e != nil {
		return *e
	}
	return ""
}

// Timeline returns marks of what time and how many bytes into the log its sequences are.
func (s *Store) Timeline() []Mark { return s.timeline.read() }

// Get returns the current version of one object; ns is "" for cluster scope.
func (s *Store) Get(gr GroupResource, ns, name string) (*Object, bool) {
	res := s.resources.lookup(gr)
	if res == nil {
		return nil, false
	}
	return find(res.root.Load().tree, ns, name)
}

// View returns the current state of a resource.
func (s *Store) View(gr GroupResource) View {
	// The order is what makes it exact: the root is loaded after the applied
	// sequence, so it holds every change up to that, and if it holds a later
	// one, it is the state at the last of those.
	applied := s.Applied()
	res := s.resources.lookup(gr)
	if res == nil {
		return View{nil, applied}
	}
	r := res.root.Load()
	return View{r, max(applied, r.seq)}
}

// Resources returns the resources that have objects or have had some, in no order.
func (s *Store) Resources() []GroupResource {
	var all []GroupResource
	s.resources.each(func(res *resource) {
		if res.seen.Load() {
			all = append(all, res.gr)
		}
	})
	return all
}
