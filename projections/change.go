package projections

import (
	"context"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/kronicle/kronicle/eventlog"
)

// Change is one mutation of one object. It is immutable and shared by all who
// watch the resource.
type Change struct {
	Seq uint64
	Op  eventlog.Op // create, update or delete
	// Object is the state that the change made. For a delete it is the last
	// state with the resourceVersion of the deletion.
	Object *Object
	// Prev is the state before, nil for a create. In a change that was read
	// from the log it may be nil although there is one: see Previous.
	Prev *Object

	resource *resource
	cold     *coldChange // nil for a change made by the applied batch itself
	gone     atomic.Pointer[weak.Pointer[Object]]
}

// coldChange is what a change that was read from the log needs to find its
// previous state.
type coldChange struct {
	store *Store
	piece *piece // the memory it is accounted to
	prev  uint64 // sequence of the object's previous record
	found atomic.Pointer[Object]
}

// changeOverhead is what a change costs in the feed beside its objects, in bytes.
const changeOverhead = int64(unsafe.Sizeof(Change{})+unsafe.Sizeof((*Change)(nil))) + 8

// Resource returns the resource that changed.
func (c *Change) Resource() GroupResource { return c.resource.gr }

// Frame returns the watch event of the change as it is for a watcher without a
// selector. It must not be modified.
func (c *Change) Frame() []byte { return c.Object.Frame(c.Object.natural) }

// Previous returns the state before the change, nil if there was none. For a
// change from the feed it is at hand; for one read from the log it may be read
// from there, too. It fails with ExpiredError when the log has been trimmed
// past every source of it.
func (c *Change) Previous(ctx context.Context) (*Object, error) {
	if c.Prev != nil || c.cold == nil || c.cold.prev == 0 {
		return c.Prev, nil
	}
	if o := c.cold.found.Load(); o != nil {
		return o, nil
	}
	o, err := c.cold.store.loadPrevious(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.cold.found.CompareAndSwap(nil, o) {
		c.cold.piece.grow(o.Size())
	}
	return c.cold.found.Load(), nil
}

// Departed returns the object that a watcher is shown, as DELETED, when the
// previous state matched its selector and the new one does not: the previous
// content with the resourceVersion of this change. It is nil if there was no
// previous state. It is built once and shared while anybody holds it.
func (c *Change) Departed(ctx context.Context) (*Object, error) {
	if held := c.gone.Load(); held != nil {
		if o := held.Value(); o != nil {
			return o, nil
		}
	}
	prev, err := c.Previous(ctx)
	if err != nil || prev == nil {
		return nil, err
	}
	o := prev.departed(c.Seq)
	w := weak.Make(o)
	for {
		held := c.gone.Load()
		if held != nil {
			if other := held.Value(); other != nil {
				return other, nil
			}
		}
		if c.gone.CompareAndSwap(held, &w) {
			return o, nil
		}
	}
}

// feedCost returns what the change holds in memory beside the current state:
// the version it superseded and, for a delete, the one that says so.
func (c *Change) feedCost() int64 {
	n := changeOverhead
	if c.Prev != nil {
		n += c.Prev.Size()
	}
	if c.Op == eventlog.OpDelete {
		n += c.Object.Size()
	}
	return n
}
