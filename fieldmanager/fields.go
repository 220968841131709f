package fieldmanager

import (
	"maps"
	"strings"
)

// A set of fields is kept the way fieldsV1 has it in decoded JSON: a tree of
// maps by path element, where an empty map is a member and "." makes one of a
// node with children. Sets are shared and never changed.

// edit returns a set after a change: what was written or removed is gone, and
// with own what was written is there. The result may be empty.
func (d *delta) edit(set map[string]any, i int32, own bool) (out map[string]any, changed bool) {
	out = set
	var buf [128]byte
	for c := d.nodes[i].first; c != 0; c = d.nodes[c].next {
		n := &d.nodes[c]
		key := n.key(buf[:0])
		old, has := set[string(key)]
		sub, _ := old.(map[string]any)
		member := has && isMember(sub)
		kids, kidsChanged := d.edit(sub, c, own)
		want := member
		if n.change != untouched {
			want = own && n.change == written
		}
		if want == member && !kidsChanged {
			continue
		}
		if !changed {
			out, changed = copyMap(set), true
		}
		if next := formed(kids, want); next != nil {
			out[string(key)] = next
		} else {
			delete(out, string(key))
		}
	}
	return out, changed
}

// isMember tells whether the path of a node, given what is below it, is itself
// in the set.
func isMember(sub map[string]any) bool {
	if len(sub) == 0 {
		return true
	}
	_, ok := sub["."]
	return ok
}

// formed is the node with these children, and itself in the set or not; nil if
// there is nothing left of it.
func formed(kids map[string]any, member bool) map[string]any {
	_, dot := kids["."]
	children := len(kids)
	if dot {
		children--
	}
	switch {
	case children == 0 && member:
		return map[string]any{}
	case children == 0:
		return nil
	case dot == member:
		return kids
	}
	kids = maps.Clone(kids)
	if member {
		kids["."] = map[string]any{}
	} else {
		delete(kids, ".")
	}
	return kids
}

// settled tells that a set is one of the shape's topology: nothing is owned
// within what is now owned as a whole.
func settled(s *shape, set map[string]any) bool {
	switch {
	case s == nil:
		return false
	case s.object != nil && s.object.deduced, s.object == nil && s.scalar != "":
		return true
	case s.object != nil:
		return !s.object.atomic && s.object.settled(set)
	case s.list == nil || s.list.atomic:
		return false
	}
	for key, v := range set {
		if sub, _ := v.(map[string]any); key != "." && len(sub) > 0 && !settled(s.list.element, sub) {
			return false
		}
	}
	return true
}

func (m *mapShape) settled(set map[string]any) bool {
	for key, v := range set {
		sub, _ := v.(map[string]any)
		if key == "." || len(sub) == 0 {
			continue
		}
		name, ok := strings.CutPrefix(key, "f:")
		if !ok {
			return false
		}
		field, known := m.fields[name]
		if !known {
			if field = m.element; field == nil {
				continue // a field that the schema has lost
			}
		}
		if !settled(field, sub) {
			return false
		}
	}
	return true
}
