package projections

import (
	"strconv"
	"sync"
	"unsafe"
	"weak"

	"github.com/tidwall/gjson"
)

// EventType is the type of a watch event.
type EventType uint8

// The event types that carry an object of the log.
const (
	Added EventType = iota
	Modified
	Deleted
)

// String returns the type as it is written in an event: "ADDED", "MODIFIED", "DELETED".
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	}
	return "EventType(" + strconv.Itoa(int(t)) + ")"
}

const frameTail = "}\n"

var heads = [...]string{
	Added:    `{"type":"ADDED","object":`,
	Modified: `{"type":"MODIFIED","object":`,
	Deleted:  `{"type":"DELETED","object":`,
}

// alternates are the frames of an object under other types than its natural
// one. They are held weakly: whoever is writing one out shares it with all the
// others who do, and nothing of it stays afterwards. Held strongly, one
// watch-list would double the memory of a resource.
type alternates struct {
	mu     sync.Mutex
	frames [len(heads)]weak.Pointer[byte]
}

// Natural returns the event type under which this version was made.
func (o *Object) Natural() EventType { return o.natural }

// Frame returns the watch event {"type":T,"object":...} with a line feed. It
// must not be modified. The natural type's frame is the object's own memory;
// another is built once and shared while anybody holds it.
func (o *Object) Frame(t EventType) []byte {
	if t == o.natural {
		return o.bytes()[:o.keyAt:o.keyAt]
	}
	alt := o.alt.Load()
	if alt == nil {
		o.alt.CompareAndSwap(nil, new(alternates))
		alt = o.alt.Load()
	}
	size := len(heads[t]) + len(o.JSON()) + len(frameTail)
	alt.mu.Lock()
	defer alt.mu.Unlock()
	if p := alt.frames[t].Value(); p != nil {
		return unsafe.Slice(p, size)
	}
	frame := o.AppendFrame(make([]byte, 0, size), t)[:size:size]
	alt.frames[t] = weak.Make(unsafe.SliceData(frame))
	return frame
}

// AppendFrame appends the watch event to dst and keeps nothing. It is the way
// to write out the initial events of a watch, one for each object.
func (o *Object) AppendFrame(dst []byte, t EventType) []byte {
	dst = append(dst, heads[t]...)
	dst = append(dst, o.JSON()...)
	return append(dst, frameTail...)
}

// departed is the object as a watch shows it to those who can no longer see
// it: its content with the resourceVersion of the change that took it away.
func (o *Object) departed(seq uint64) *Object {
	json := o.JSON()
	m, err := scanMetadata(json)
	if err != nil {
		m.version = span{len(json), 0} // cannot be: an object made of a record has been scanned before
	}
	before, after := json[:m.version.off], json[m.version.off+m.version.len:]
	b := make([]byte, 0, len(heads[Deleted])+len(json)+24+int(o.size-o.keyAt))
	b = append(b, heads[Deleted]...)
	b = append(b, before...)
	if m.version.len > 0 {
		b = append(b, '"')
		b = append(strconv.AppendUint(b, seq, 10), '"')
	}
	b = append(b, after...)
	b = append(b, frameTail...)
	b = append(b, o.key()...)
	gone, err := assemble(b, Deleted, seq, int(o.nsLen), len(o.Name()))
	if err != nil {
		gone.extra, gone.finalizers, gone.deleting = o.extra, o.finalizers, o.deleting
	}
	return gone
}

// decodeExtra reads uid, labels and owners the slow way, for the rare object
// that has escapes in them.
func decodeExtra(json []byte) *extra {
	meta := gjson.GetBytes(json, "metadata")
	x := &extra{uid: meta.Get("uid").String()}
	meta.Get("labels").ForEach(func(k, v gjson.Result) bool {
		x.labels = append(x.labels, Label{k.String(), v.String()})
		return true
	})
	meta.Get("ownerReferences").ForEach(func(_, owner gjson.Result) bool {
		x.owners = append(x.owners, owner.Get("uid").String())
		return true
	})
	return x
}
