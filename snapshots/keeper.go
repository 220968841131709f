package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// Log is what a Keeper needs of the log; *eventlog.Log is one.
type Log interface {
	Epoch() string
	First() uint64
	Last() uint64
	Get(ctx context.Context, seq uint64) (eventlog.Entry, error)
	Trim(ctx context.Context, before uint64) error
}

var _ Log = (*eventlog.Log)(nil)

// Defaults of Config.
const (
	DefaultEvery    = 100_000
	DefaultInterval = 10 * time.Minute
)

// Config is what NewKeeper needs. Store, Projections and Log are required.
type Config struct {
	Store         Store
	Projections   *projections.Store
	Log           Log
	EncryptionKey []byte // content of the key file; empty: snapshots are not encrypted

	// A snapshot is taken when Every records (0: DefaultEvery) have been applied since the newest one, and when the newest
	// one is older than Interval (0: DefaultInterval) and something has changed.
	Every    uint64
	Interval time.Duration

	// History is kept as far back as all of these reach together, whichever is first; 0 is no limit, all 0 keeps everything.
	HistoryMaxAge    time.Duration
	HistoryMaxBytes  int64 // of records, as the log counts them
	HistoryMaxEvents uint64

	Logger *slog.Logger     // nil: silent
	Now    func() time.Time // nil: time.Now
}

// Keeper takes snapshots, raises the floor, trims the log and deletes snapshots that nobody needs. It is also where the
// projections find older states (projections.SnapshotSource).
type Keeper struct {
	cfg     Config
	catalog catalog
	limits  limits
	started time.Time
	wait    time.Duration // before a snapshot that is due is taken, so that servers sharing a store seldom do the same work

	refreshing sync.Mutex // held for the first refresh
	listed     atomic.Bool
	ticking    sync.Mutex // held by housekeeping
	taking     sync.Mutex // held while a snapshot is written and verified

	mu       sync.Mutex // guards what follows
	pace     pace
	faults   map[string]error // by what failed last: "floor", "snapshot", "trim", "list"
	boundary uint64           // no record up to here is younger than the age limit
}

var _ projections.SnapshotSource = (*Keeper)(nil)

// NewKeeper returns a Keeper that does nothing until it is run. Its projections must get it as their source.
func NewKeeper(cfg Config) *Keeper {
	if cfg.Every == 0 {
		cfg.Every = DefaultEvery
	}
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	k := &Keeper{
		cfg:     cfg,
		catalog: catalog{store: cfg.Store, key: cfg.EncryptionKey, epoch: cfg.Log.Epoch(), log: cfg.Logger},
		limits:  limits{age: cfg.HistoryMaxAge, bytes: uint64(max(0, cfg.HistoryMaxBytes)), events: cfg.HistoryMaxEvents},
		started: cfg.Now(),
		faults:  map[string]error{},
	}
	if _, shared := cfg.Store.(*Bucket); shared {
		k.wait = rand.N(min(10*time.Second, cfg.Interval/10) + 1)
	}
	return k
}

// Run keeps until ctx ends and returns its error. What fails meanwhile is in Status and the log, and is tried again.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(k.limits.tick())
	defer ticker.Stop()
	var work sync.WaitGroup
	defer work.Wait()
	var busy atomic.Bool
	for {
		// The floor moves on time even while a snapshot is being written.
		k.note("floor", k.raise(ctx))
		if busy.CompareAndSwap(false, true) {
			work.Go(func() {
				defer busy.Store(false)
				k.ticking.Lock()
				defer k.ticking.Unlock()
				_ = k.housekeep(ctx) // noted
			})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Tick does by hand what Run does each tick, one step after the other: raise the floor, take a snapshot if one is due, trim the
// log, delete snapshots. Everything that failed is in the error.
func (k *Keeper) Tick(ctx context.Context) error {
	k.ticking.Lock()
	defer k.ticking.Unlock()
	return errors.Join(k.note("floor", k.raise(ctx)), k.housekeep(ctx))
}

func (k *Keeper) housekeep(ctx context.Context) error {
	if err := k.note("list", k.ensureListed(ctx)); err != nil {
		return err
	}
	taken := k.takeIfDue(ctx)
	base, err := k.trim(ctx)
	if k.note("trim", err) == nil {
		err = k.note("delete", k.thin(ctx, base))
	}
	return errors.Join(taken, err)
}

// note keeps what failed for Status until it works again, and logs it when it changes.
func (k *Keeper) note(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.faults[what]
	switch {
	case err == nil && was != nil:
		delete(k.faults, what)
		k.cfg.Logger.Info("snapshots: works again", "task", what)
	case err != nil:
		k.faults[what] = err
		if was == nil || was.Error() != err.Error() {
			k.cfg.Logger.Error("snapshots: failed and will be tried again", "task", what, "error", err)
		}
	}
	return err
}

// ensureListed reads the store's list once; from then on the catalog follows what this process does and refreshes.
func (k *Keeper) ensureListed(ctx context.Context) error {
	if k.listed.Load() {
		return nil
	}
	k.refreshing.Lock()
	defer k.refreshing.Unlock()
	if k.listed.Load() {
		return nil
	}
	if err := k.catalog.refresh(ctx); err != nil {
		return err
	}
	k.listed.Store(true)
	return nil
}

// Status tells how things are.
type Status struct {
	Newest    Info   // zero if there is none
	Count     int    // snapshots of this log
	Bytes     int64  // stored, of all of them
	Floor     uint64 // oldest readable sequence
	LastError error  // what fails at present, nil if nothing does
}

// Status reports on the snapshots and on what fails.
func (k *Keeper) Status() Status {
	s := Status{Floor: k.cfg.Projections.Floor()}
	own := k.catalog.own()
	s.Count = len(own)
	for _, e := range own {
		s.Bytes += e.Bytes
		s.Newest = e.Info
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, what := range []string{"list", "floor", "snapshot", "trim", "delete"} {
		if err := k.faults[what]; err != nil {
			s.LastError = errors.Join(s.LastError, fmt.Errorf("%s: %w", what, err))
		}
	}
	return s
}

// Nearest opens the newest valid snapshot with a sequence of at most seq from which the log leads on. A damaged one is passed
// over for the one before it. projections.ErrNoSnapshot if there is none: then the log's own beginning is the nearest state,
// if the log still has it.
func (k *Keeper) Nearest(ctx context.Context, seq uint64) (projections.SnapshotReader, error) {
	if err := k.ensureListed(ctx); err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	first := k.cfg.Log.First()
	r, err := k.catalog.nearest(ctx, max(first, 1)-1, seq)
	switch {
	case err == nil:
		return &source{reader: r, catalog: &k.catalog}, nil
	case errors.Is(err, ErrNotExist) && (first <= 1 || !errors.Is(err, ErrDamaged)):
		return nil, projections.ErrNoSnapshot
	}
	return nil, fmt.Errorf("nearest snapshot to %d: %w", seq, err)
}

// source is a snapshot as the projections read it.
type source struct {
	reader  *reader
	catalog *catalog
}

func (s *source) Seq() uint64 { return s.reader.header.Seq }

// Objects reads the section of one resource and no other. A snapshot that turns out to be damaged is not given again.
func (s *source) Objects(ctx context.Context, gr projections.GroupResource, fn func(*projections.Object) error) error {
	section := s.reader.section(gr)
	if section == nil {
		return nil
	}
	err := s.reader.each(ctx, section, func(o *projections.StoredObject) error { return fn(projections.NewObject(*o)) })
	if errors.Is(err, ErrDamaged) {
		s.catalog.mark(s.reader.name, broken)
	}
	return err
}

func (s *source) Close() error { return s.reader.close() }
