package projections

import (
	"maps"
	"sync"
	"sync/atomic"
)

// resource is the projection of one resource.
type resource struct {
	gr   GroupResource
	root atomic.Pointer[root]
	feed feed
	seen atomic.Bool // it has or had objects; else somebody only watches it

	// The rest belongs to the applier.
	work    *tree  // the state being made, published as a copy
	dirty   bool   // it has changes that are not published
	lastSeq uint64 // of its last change
}

// resources is the set of all, read without locks.
type resources struct {
	all atomic.Pointer[map[GroupResource]*resource]

	mu   sync.Mutex // held to add one
	base uint64     // the state the store began from: a resource seen for the first time has had no change since
}

func (r *resources) lookup(gr GroupResource) *resource {
	if all := r.all.Load(); all != nil {
		return (*all)[gr]
	}
	return nil
}

func (r *resources) each(fn func(*resource)) {
	if all := r.all.Load(); all != nil {
		for _, res := range *all {
			fn(res)
		}
	}
}

// obtain returns the resource, making it if this is the first that is heard of it.
func (r *resources) obtain(gr GroupResource) *resource {
	if res := r.lookup(gr); res != nil {
		return res
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if res := r.lookup(gr); res != nil {
		return res
	}
	res := newResource(gr, newTree(), r.base)
	r.add(res)
	return res
}

// add is called with mu held.
func (r *resources) add(res *resource) {
	next := make(map[GroupResource]*resource)
	if all := r.all.Load(); all != nil {
		maps.Copy(next, *all)
	}
	next[res.gr] = res
	r.all.Store(&next)
}

// newResource makes a resource whose state at base and since is t.
func newResource(gr GroupResource, t *tree, base uint64) *resource {
	res := &resource{gr: gr, work: t, lastSeq: base}
	res.root.Store(&root{tree: t.Copy(), seq: base})
	res.feed.next.start = base
	res.feed.publish()
	return res
}
