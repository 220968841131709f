package projections

import (
	"iter"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/kronicle/kronicle/eventlog"
)

// GroupResource names a resource: group "" is the core group, resource is the
// plural ("configmaps").
type GroupResource struct{ Group, Resource string }

func (gr GroupResource) String() string {
	if gr.Group == "" {
		return gr.Resource
	}
	return gr.Resource + "." + gr.Group
}

// Object is one version of one object. It is immutable.
//
// All of its bytes are one allocation: the frame of its natural event type,
//
//	{"type":"MODIFIED","object":<the JSON as served>}\n
//
// followed by its position "namespace/name". Everything else that is known of
// it (uid, labels, owners) are offsets into these bytes, so that 100,000
// objects cost little more than their JSON. An Object must have no method
// named Copy or IsoCopy: the tree would call it.
type Object struct {
	data  *byte // the one allocation
	alt   atomic.Pointer[alternates]
	extra *extra // what offsets cannot say; nil for nearly all objects
	rv    uint64

	size       uint32 // of the allocation
	keyAt      uint32 // where the position starts; the frame ends there
	labelsAt   uint32
	labelsLen  uint32
	ownersAt   uint32
	ownersLen  uint32
	uidAt      uint32
	uidLen     uint16
	nsLen      uint16
	finalizers uint16
	natural    EventType
	deleting   bool
}

// extra holds what could not be expressed as offsets: strings with escapes, or
// bytes whose metadata could not be scanned.
type extra struct {
	uid    string
	labels []Label
	owners []string
}

// objectOverhead is what an Object costs beside its bytes, in bytes.
const objectOverhead = int64(unsafe.Sizeof(Object{})) + 16

// Label is one label of an object.
type Label struct{ Key, Value string }

// StoredObject is an Object taken apart, for storing it in a snapshot.
type StoredObject struct {
	Namespace, Name, UID string
	RV                   uint64
	Data                 []byte // JSON including resourceVersion; not to be modified
	Labels               []Label
	Owners               []string // uids
	Finalizers           int
	Deleting             bool
	Added                bool // the natural frame type is ADDED, else MODIFIED
}

func (o *Object) bytes() []byte { return unsafe.Slice(o.data, o.size) }

func (o *Object) text(at uint32, n int) string {
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(o.data), at)), n)
}

// key is the object's position: namespace + "/" + name.
func (o *Object) key() string { return o.text(o.keyAt, int(o.size-o.keyAt)) }

// Namespace returns the namespace, "" for a cluster-scoped object.
func (o *Object) Namespace() string { return o.text(o.keyAt, int(o.nsLen)) }

// Name returns the name.
func (o *Object) Name() string { return o.key()[o.nsLen+1:] }

// Position returns where the object stands in the order of its resource:
// namespace + "/" + name, compared bytewise.
func (o *Object) Position() string { return o.key() }

// RV returns the resourceVersion: the sequence of the record that made this version.
func (o *Object) RV() uint64 { return o.rv }

// UID returns metadata.uid.
func (o *Object) UID() string {
	if o.extra != nil {
		return o.extra.uid
	}
	return o.text(o.uidAt, int(o.uidLen))
}

// JSON returns the bytes as served, including resourceVersion. They must not be modified.
func (o *Object) JSON() []byte {
	head := uint32(len(heads[o.natural]))
	return o.bytes()[head : o.keyAt-uint32(len(frameTail)) : o.keyAt-uint32(len(frameTail))]
}

// Deleting tells whether metadata.deletionTimestamp is set.
func (o *Object) Deleting() bool { return o.deleting }

// Finalizers returns how many finalizers there are.
func (o *Object) Finalizers() int { return int(o.finalizers) }

// Label returns the value of one label, and whether there is one.
func (o *Object) Label(key string) (value string, ok bool) {
	if o.extra != nil {
		for _, l := range o.extra.labels {
			if l.Key == key {
				return l.Value, true
			}
		}
		return "", false
	}
	if o.labelsLen == 0 {
		return "", false
	}
	eachString(o.part(o.labelsAt, o.labelsLen), func(k, v []byte) bool {
		if string(k) == key {
			value, ok = asString(v), true
		}
		return !ok
	})
	return value, ok
}

// Labels iterates over the labels in the order of the JSON, which is by key.
func (o *Object) Labels() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if o.extra != nil {
			for _, l := range o.extra.labels {
				if !yield(l.Key, l.Value) {
					return
				}
			}
			return
		}
		if o.labelsLen > 0 {
			eachString(o.part(o.labelsAt, o.labelsLen), func(k, v []byte) bool {
				return yield(asString(k), asString(v))
			})
		}
	}
}

// Fetch touches the labels of objects that are about to be asked for them. A walk
// with a selector waits for memory at every object; loads that do not depend on each
// other wait together.
//
//go:noinline
func Fetch(objects []*Object) (touched byte) {
	for _, o := range objects {
		touched ^= *(*byte)(unsafe.Add(unsafe.Pointer(o.data), o.labelsAt))
	}
	return touched
}

// Owners returns the uids of the owner references, nil if there are none.
func (o *Object) Owners() []string {
	if o.extra != nil {
		return o.extra.owners
	}
	if o.ownersLen == 0 {
		return nil
	}
	var uids []string
	eachOwner(o.part(o.ownersAt, o.ownersLen), func(uid []byte) { uids = append(uids, asString(uid)) })
	return uids
}

// Size returns how much memory the object holds, in bytes.
func (o *Object) Size() int64 { return int64(o.size) + objectOverhead }

// Stored takes the object apart for a snapshot. Data is shared with the object.
func (o *Object) Stored() StoredObject {
	s := StoredObject{
		Namespace: o.Namespace(), Name: o.Name(), UID: o.UID(), RV: o.rv,
		Data: o.JSON(), Owners: o.Owners(), Finalizers: o.Finalizers(),
		Deleting: o.deleting, Added: o.natural == Added,
	}
	for k, v := range o.Labels() {
		s.Labels = append(s.Labels, Label{k, v})
	}
	return s
}

// NewObject puts an object together again. Data is copied. Nothing is decoded:
// the metadata is only scanned for where the labels, owners and uid are, and
// if that fails the given ones are kept as they are.
func NewObject(s StoredObject) *Object {
	natural := Modified
	if s.Added {
		natural = Added
	}
	size := len(heads[natural]) + len(s.Data) + len(frameTail) + len(s.Namespace) + 1 + len(s.Name)
	b := make([]byte, 0, size)
	b = append(b, heads[natural]...)
	b = append(b, s.Data...)
	b = append(b, frameTail...)
	b = append(b, s.Namespace...)
	b = append(b, '/')
	b = append(b, s.Name...)
	o, err := assemble(b, natural, s.RV, len(s.Namespace), len(s.Name))
	if err != nil || o.UID() != s.UID {
		o.extra = &extra{uid: s.UID, labels: s.Labels, owners: s.Owners}
		o.finalizers, o.deleting = uint16(min(s.Finalizers, math.MaxUint16)), s.Deleting
	}
	return o
}

// assemble makes an Object of its one allocation: frame and position. If its
// metadata cannot be scanned the object is returned with the error.
func assemble(b []byte, natural EventType, rv uint64, nsLen, nameLen int) (*Object, error) {
	o := &Object{
		data: unsafe.SliceData(b), rv: rv, natural: natural, size: uint32(len(b)),
		keyAt: uint32(len(b) - nsLen - 1 - nameLen), nsLen: uint16(nsLen),
	}
	m, err := scanMetadata(o.JSON())
	if err != nil {
		return o, err
	}
	o.finalizers, o.deleting = uint16(min(m.finalizers, math.MaxUint16)), m.deleting
	if m.escaped || m.uid.len > math.MaxUint16 {
		o.extra = decodeExtra(o.JSON())
		return o, nil
	}
	head := len(heads[natural])
	o.uidAt, o.uidLen = uint32(head+m.uid.off), uint16(m.uid.len)
	o.labelsAt, o.labelsLen = uint32(head+m.labels.off), uint32(m.labels.len)
	o.ownersAt, o.ownersLen = uint32(head+m.owners.off), uint32(m.owners.len)
	return o, nil
}

func (o *Object) part(at, n uint32) []byte { return o.bytes()[at : at+n] }

// asString views bytes of an immutable object as a string.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// encoder builds objects from records, with a buffer for what follows the JSON.
type encoder struct {
	tail   []byte
	frames *atomic.Uint64 // counts the frames encoded
}

// object builds the object that a record made, in one allocation for its
// bytes, with rv as its resourceVersion.
func (e *encoder) object(key eventlog.Key, rec *eventlog.Record, rv uint64, natural EventType) (*Object, error) {
	e.tail = append(e.tail[:0], frameTail...)
	e.tail = append(e.tail, key.Namespace...)
	e.tail = append(e.tail, '/')
	e.tail = append(e.tail, key.Name...)
	b := rec.Served(rv, heads[natural], asString(e.tail))
	e.frames.Add(1)
	return assemble(b, natural, rv, len(key.Namespace), len(key.Name))
}
