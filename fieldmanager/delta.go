package fieldmanager

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// A delta is what differs between two objects: a tree of the paths that were
// added, changed or removed. Its nodes live in one slice that is used again.
type delta struct {
	nodes []node // the first one is the object itself
	order []int32
}

// node is one element of a path.
type node struct {
	// name is a field's name, or with item set an element of a list as
	// fieldsV1 writes it, such as `k:{"name":"x"}`.
	name        string
	item        bool
	change      change
	first, next int32 // child and sibling; 0: none
}

// change is what happened to a path itself.
type change uint8

const (
	untouched change = iota
	removed
	written // added or modified: whoever did it owns it
)

func (d *delta) reset() {
	clear(d.nodes)
	d.nodes = append(d.nodes[:0], node{})
}

// add makes a child of a node.
func (d *delta) add(parent int32, name string, item bool) int32 {
	i := int32(len(d.nodes))
	d.nodes = append(d.nodes, node{name: name, item: item, next: d.nodes[parent].first})
	d.nodes[parent].first = i
	return i
}

// mark sets what happened to a node. Writes hide removals: they come of
// duplicates, which are not walked.
func (d *delta) mark(i int32, c change) { d.nodes[i].change = c }

func (d *delta) empty() bool { return len(d.nodes) == 1 }

// key writes the name of a node as fieldsV1 has it.
func (n *node) key(b []byte) []byte {
	if !n.item {
		b = append(b, "f:"...)
	}
	return append(b, n.name...)
}

// strip takes back what nobody owns: apiVersion, kind and what the server sets
// in the metadata. What is below it, such as a label, stays.
func (d *delta) strip() {
	for i := d.nodes[0].first; i != 0; i = d.nodes[i].next {
		n := &d.nodes[i]
		switch n.name {
		case "apiVersion", "kind":
			d.unown(n)
		case "metadata":
			d.unown(n)
			for j := n.first; j != 0; j = d.nodes[j].next {
				if m := &d.nodes[j]; strippedMeta(m.name) {
					d.unown(m)
				}
			}
		}
	}
}

// unown keeps a written path from being owned by its writer; who owned it
// before still loses it.
func (d *delta) unown(n *node) {
	if n.change == written {
		n.change = removed
	}
}

// strippedMeta tells which fields of the metadata are nobody's.
func strippedMeta(name string) bool {
	switch name {
	case "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion":
		return true
	}
	return false
}

// owns tells whether there is something that the writer owns.
func (d *delta) owns() bool {
	for i := range d.nodes {
		if d.nodes[i].change == written {
			return true
		}
	}
	return false
}

// appendFields appends what the writer owns at and below the children of a
// node as fieldsV1 JSON, in the order of kinds.Encode. ok is false for names
// that need escaping; those are left to Encode.
func (d *delta) appendFields(b []byte, i int32) (out []byte, ok bool) {
	base := len(d.order)
	for c := d.nodes[i].first; c != 0; c = d.nodes[c].next {
		d.order = append(d.order, c)
	}
	children := d.order[base:]
	slices.SortFunc(children, func(a, b int32) int { return d.compare(a, b) })
	b = append(b, '{')
	start := len(b)
	if d.nodes[i].change == written && len(children) > 0 {
		b = append(b, `".":{}`...)
	}
	self := len(b)
	b, ok = d.appendChildren(b, children, start)
	if len(b) == self { // nothing below is owned: the node is a leaf
		b = b[:start]
	}
	d.order = d.order[:base]
	return append(b, '}'), ok
}

func (d *delta) compare(a, b int32) int {
	m, n := &d.nodes[a], &d.nodes[b]
	if m.item != n.item { // "f:" comes before "k:" and "v:"
		if n.item {
			return -1
		}
		return 1
	}
	return strings.Compare(m.name, n.name)
}

// appendChildren appends those of the nodes that hold something owned. start
// is where their object begins.
func (d *delta) appendChildren(b []byte, children []int32, start int) (out []byte, ok bool) {
	for _, c := range children {
		n := &d.nodes[c]
		before := len(b)
		if before > start {
			b = append(b, ',')
		}
		b = append(b, '"')
		if b, ok = n.appendKey(b); !ok {
			return b, false
		}
		b = append(b, '"', ':')
		value := len(b)
		if b, ok = d.appendFields(b, c); !ok {
			return b, false
		}
		if len(b) == value+2 && n.change != written {
			b = b[:before]
		}
	}
	return b, true
}

// appendKey appends the key as JSON without its quotes. Only quotes, which
// every key of a list's item has, are escaped.
func (n *node) appendKey(b []byte) (out []byte, ok bool) {
	if !n.item {
		b = append(b, "f:"...)
	}
	for i := 0; i < len(n.name); i++ {
		switch c := n.name[i]; {
		case c == '"' && n.item:
			b = append(b, '\\', '"')
		case !plainByte(c):
			return b, false
		default:
			b = append(b, c)
		}
	}
	return b, true
}

// plainByte tells of bytes that JSON holds as they are, whoever writes it.
func plainByte(c byte) bool {
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

// itemKey is the element of a path that leads to an item of a list: by its
// keys, or in a set by its value. ok is false if it cannot be told here.
func (l *listShape) itemKey(item any) (key string, ok bool) {
	var buf [64]byte
	b := buf[:0]
	if len(l.keys) == 0 {
		b, ok = appendScalar(append(b, "v:"...), item)
		return string(b), ok
	}
	m, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	b = append(b, "k:{"...)
	for i, k := range l.keys {
		v, ok := m[k.name]
		if !ok {
			v = k.fallback
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = appendScalar(b, k.name); !ok {
			return "", false
		}
		b = append(b, ':')
		if b, ok = appendScalar(b, v); !ok {
			return "", false
		}
	}
	return string(append(b, '}')), true
}

// appendScalar appends what can be a key as structured-merge-diff writes it.
func appendScalar(b []byte, v any) (out []byte, ok bool) {
	switch v := v.(type) {
	case string:
		for i := 0; i < len(v); i++ {
			if !plainByte(v[i]) {
				return appendSerialized(b, v)
			}
		}
		b = append(b, '"')
		b = append(b, v...)
		return append(b, '"'), true
	case int64:
		return strconv.AppendInt(b, v, 10), true
	case bool:
		return strconv.AppendBool(b, v), true
	}
	return b, false // equal numbers may be written in several ways
}

// appendSerialized leaves unusual strings to structured-merge-diff.
func appendSerialized(b []byte, s string) (out []byte, ok bool) {
	v := value.NewValueInterface(s)
	text, err := fieldpath.SerializePathElement(fieldpath.PathElement{Value: &v})
	if err != nil {
		return b, false
	}
	return append(b, strings.TrimPrefix(text, "v:")...), true
}
