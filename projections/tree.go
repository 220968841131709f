package projections

import (
	"sync"
	"unsafe"

	"github.com/tidwall/btree"
)

// tree is the objects of one resource by position.
//
// Copy() of tidwall/btree shares all nodes and gives both trees a new owner
// id; a tree copies each node it does not own before it changes it. So the
// writer publishes a copy of its working tree and goes on: it no longer owns
// any node the copy can reach. Reading methods neither compare nor write ids
// and may run at the same time as anything. Copy itself writes the id of the
// tree it is called on, which is why root.fork takes a lock.
type tree = btree.BTreeG[*Object]

func newTree() *tree {
	return btree.NewBTreeGOptions(func(a, b *Object) bool { return a.key() < b.key() },
		btree.Options{NoLocks: true})
}

// root is a published state of one resource. Its tree is never changed.
type root struct {
	tree *tree
	seq  uint64 // of the last change in it: it is the state at seq and at all later ones up to the next change

	mu sync.Mutex // for fork
}

// fork returns a tree of the same objects that may be changed.
func (r *root) fork() *tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tree.Copy()
}

// probe is an object with nothing but a position, to search with. Probes are
// pooled because what is passed to the tree escapes.
type probe struct {
	Object
	buf []byte
}

// probes hold no state of any store, only scratch memory.
var probes = sync.Pool{New: func() any { return new(probe) }}

// find searches a tree for the object of a namespace and name.
func find(t *tree, ns, name string) (*Object, bool) {
	p := probes.Get().(*probe)
	p.buf = append(append(append(p.buf[:0], ns...), '/'), name...)
	o, ok := t.Get(p.at())
	probes.Put(p)
	return o, ok
}

func (p *probe) at() *Object {
	p.data, p.size = unsafe.SliceData(p.buf), uint32(len(p.buf))
	return &p.Object
}

// ascend walks the objects strictly after the position, in order.
func ascend(t *tree, after string, fn func(*Object) bool) {
	if after == "" {
		t.Scan(fn)
		return
	}
	p := probes.Get().(*probe)
	p.buf = append(p.buf[:0], after...)
	t.Ascend(p.at(), func(o *Object) bool {
		return o.key() == after || fn(o)
	})
	probes.Put(p)
}

// rank returns how many objects have a position not above the given one.
func rank(t *tree, position string) int {
	low, high := 0, t.Len()
	for low < high {
		mid := int(uint(low+high) >> 1)
		o, _ := t.GetAt(mid)
		if o.key() <= position {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// View is the state of one resource at one sequence. It is immutable, its
// methods take no lock, and the zero View is empty.
type View struct {
	root *root
	seq  uint64
}

// Seq returns the sequence the view is the exact state at.
func (v View) Seq() uint64 { return v.seq }

// Len returns the number of objects.
func (v View) Len() int {
	if v.root == nil {
		return 0
	}
	return v.root.tree.Len()
}

// Get returns one object; ns is "" for cluster scope.
func (v View) Get(ns, name string) (*Object, bool) {
	if v.root == nil {
		return nil, false
	}
	return find(v.root.tree, ns, name)
}

// Ascend calls fn for each object in order, bytewise by namespace + "/" + name,
// until fn returns false. With ns it gives only that namespace, with "" all
// objects (of cluster scope, too). It begins strictly after the position
// after, "ns/name", or at the start if that is "".
func (v View) Ascend(ns, after string, fn func(*Object) bool) {
	if v.root == nil {
		return
	}
	if ns == "" {
		ascend(v.root.tree, after, fn)
		return
	}
	first, end := bounds(ns)
	ascend(v.root.tree, max(after, first), func(o *Object) bool {
		return o.key() < end && fn(o)
	})
}

// Count returns how many objects Ascend would give, in O(log n).
func (v View) Count(ns, after string) int {
	if v.root == nil {
		return 0
	}
	t := v.root.tree
	if ns == "" {
		if after == "" {
			return t.Len()
		}
		return t.Len() - rank(t, after)
	}
	first, end := bounds(ns)
	return max(0, rank(t, end)-rank(t, max(after, first)))
}

// bounds returns the positions between which the objects of a namespace are,
// both exclusive: no object has an empty name, and '0' follows '/'.
func bounds(ns string) (first, end string) { return ns + "/", ns + "0" }
