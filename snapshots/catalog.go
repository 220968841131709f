package snapshots

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Info describes a snapshot in the store.
type Info struct {
	Name    string
	Seq     uint64    // the state is the one after this sequence
	Floor   uint64    // oldest readable state when it was taken
	Created time.Time // UTC
	Bytes   int64     // stored size
	Objects uint64
}

// health of a snapshot as far as this process knows.
type health uint8

const (
	unchecked health = iota // preamble, header, index and footer fit; the parts have not been read
	sound                   // every checksum fits
	broken                  // damaged
	foreign                 // belongs to the log of another epoch
)

type entry struct {
	Info
	health health
}

// catalog knows the snapshots of a store and how far each has been checked. Only this log's count as snapshots;
// those of another epoch are listed so that they are not opened again and again, and never touched.
type catalog struct {
	store Store
	key   []byte
	epoch string
	log   *slog.Logger

	mu      sync.Mutex
	entries []entry // by sequence
}

// refresh lists the store and looks into the snapshots that are new.
func (c *catalog) refresh(ctx context.Context) error {
	names, err := c.store.List(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return !slices.Contains(names, e.Name) })
	known := make(map[string]bool, len(c.entries))
	for _, e := range c.entries {
		known[e.Name] = true
	}
	c.mu.Unlock()
	for _, name := range names {
		if known[name] {
			continue
		}
		e, err := c.look(ctx, name)
		if errors.Is(err, ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		c.put(e)
	}
	return nil
}

func (c *catalog) look(ctx context.Context, name string) (entry, error) {
	seq, _ := ParseName(name)
	e := entry{Info: Info{Name: name, Seq: seq}}
	r, err := c.open(ctx, name)
	if errors.Is(err, ErrDamaged) {
		c.log.Warn("snapshot is damaged", "snapshot", name, "error", err)
		e.health = broken
		return e, nil
	}
	if err != nil {
		return e, err
	}
	e.Info = r.info()
	if r.header.Epoch != c.epoch {
		c.log.Warn("snapshot belongs to another log and is left alone", "snapshot", name, "epoch", r.header.Epoch)
		e.health = foreign
	}
	return e, r.close()
}

// open opens a snapshot, fetching it again if the local copy of a shared one is damaged.
func (c *catalog) open(ctx context.Context, name string) (*reader, error) {
	r, err := open(ctx, c.store, name, c.key)
	if store, ok := c.store.(cached); ok && errors.Is(err, ErrDamaged) {
		if err := store.forget(name); err != nil {
			return nil, err
		}
		return open(ctx, c.store, name, c.key)
	}
	return r, err
}

func (r *reader) info() Info {
	return Info{
		Name: r.name, Seq: r.header.Seq, Floor: r.header.Floor, Created: r.header.Created,
		Bytes: r.file.Size(), Objects: r.index.objects(),
	}
}

// put adds or replaces an entry.
func (c *catalog) put(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, found := slices.BinarySearchFunc(c.entries, e.Seq, bySeq)
	if found {
		c.entries[at] = e
		return
	}
	c.entries = slices.Insert(c.entries, at, e)
}

func bySeq(e entry, seq uint64) int { return cmp.Compare(e.Seq, seq) }

func (c *catalog) mark(name string, h health) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.entries {
		if c.entries[i].Name == name {
			c.entries[i].health = h
		}
	}
}

// own gives this log's snapshots that are not known to be damaged, oldest first.
func (c *catalog) own() []entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.entries), func(e entry) bool { return e.health > sound })
}

// damagedBelow gives the names of damaged snapshots older than seq.
func (c *catalog) damagedBelow(seq uint64) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.health == broken && e.Seq < seq {
			names = append(names, e.Name)
		}
	}
	return names
}

// newest gives the newest of this log's snapshots.
func (c *catalog) newest() (entry, bool) {
	own := c.own()
	if len(own) == 0 {
		return entry{}, false
	}
	return own[len(own)-1], true
}

// nearest opens the newest snapshot in [least, seq] whose checksums all fit. Damaged ones are remembered and passed over.
// ErrNotExist if there is none; if that is because of damage, the error says so too.
func (c *catalog) nearest(ctx context.Context, least, seq uint64) (*reader, error) {
	c.mu.Lock()
	entries := slices.Clone(c.entries)
	c.mu.Unlock()
	var faults []error
	for _, e := range slices.Backward(entries) {
		if e.Seq > seq || e.Seq < least || e.health == foreign {
			continue
		}
		if e.health == broken {
			faults = append(faults, damaged(e.Name, "that was found before"))
			continue
		}
		r, err := c.sound(ctx, e)
		switch {
		case err == nil:
			return r, nil
		case errors.Is(err, ErrDamaged):
			faults = append(faults, err)
		case !errors.Is(err, ErrNotExist):
			return nil, err
		}
	}
	return nil, errors.Join(append(faults, ErrNotExist)...)
}

// sound opens a snapshot; the first time, all its checksums are compared.
func (c *catalog) sound(ctx context.Context, e entry) (*reader, error) {
	r, err := c.open(ctx, e.Name)
	if err == nil && e.health != sound {
		if err = r.sums(ctx); err != nil {
			err = errors.Join(err, r.close())
		}
	}
	if errors.Is(err, ErrDamaged) {
		c.log.Warn("snapshot is damaged and passed over for the one before it", "snapshot", e.Name, "error", err)
		c.mark(e.Name, broken)
	}
	if err != nil {
		return nil, err
	}
	if e.health != sound {
		c.mark(e.Name, sound)
	}
	return r, nil
}

// covers tells whether a snapshot's checksums all fit; a damaged one is remembered as such.
func (c *catalog) covers(ctx context.Context, e entry) (bool, error) {
	if e.health == sound {
		return true, nil
	}
	r, err := c.sound(ctx, e)
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, r.close()
}

// remove deletes a snapshot.
func (c *catalog) remove(ctx context.Context, name string) error {
	c.mu.Lock()
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return e.Name == name })
	c.mu.Unlock()
	return c.store.Delete(ctx, name)
}
