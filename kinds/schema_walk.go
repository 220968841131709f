package kinds

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// pruner drops the unknown fields of one object, and looks for nulls.
type pruner struct {
	fitter
	nulls bool
}

// root prunes an object: its type and its metadata are not the schema's.
func (w *pruner) root(n *schemaNode, obj map[string]any) {
	for name, v := range obj {
		switch name {
		case "apiVersion", "kind", "metadata":
			continue
		}
		w.member(n, obj, name, v, n.preserve)
	}
}

// value prunes below a node; n is nil where nothing is known, so that no field
// stays.
func (w *pruner) value(n *schemaNode, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if n == nil {
				w.note(name)
				delete(v, name)
				continue
			}
			if n.embedded && (name == "apiVersion" || name == "kind" || name == "metadata") {
				w.nulls = true // not looked at: the metadata may have some
				continue
			}
			w.member(n, v, name, x, n.preserve)
		}
	case []any:
		w.list(n, v, n != nil && n.preserve)
	case nil:
		w.nulls = true
	}
}

// member prunes one field. keep: unknown ones stay.
func (w *pruner) member(n *schemaNode, m map[string]any, name string, v any, keep bool) {
	next, known := n.props[name]
	if !known && n.hasOther {
		next, known = n.additional, true
	}
	switch {
	case known:
		if isScalar(v) {
			w.nulls = w.nulls || v == nil
			return
		}
		w.path = append(w.path, name)
		w.value(next, v)
		w.path = w.path[:len(w.path)-1]
	case keep:
		w.nulls = true // what is kept unseen may have some
	default:
		w.note(name)
		delete(m, name)
	}
}

// list prunes the items of a list. Within what keeps unknown fields, lists
// keep them too if their items say nothing else.
func (w *pruner) list(n *schemaNode, list []any, keep bool) {
	var items *schemaNode
	if n != nil {
		items = n.items
	}
	if keep && items == nil {
		w.nulls = true
		return
	}
	for i, v := range list {
		if isScalar(v) {
			w.nulls = w.nulls || v == nil
			continue
		}
		w.path = append(w.path, "["+strconv.Itoa(i)+"]")
		if keep {
			w.kept(items, v)
		} else {
			w.value(items, v)
		}
		w.path = w.path[:len(w.path)-1]
	}
}

// kept prunes below an item of a list that keeps unknown fields: there the
// fields at this level stay.
func (w *pruner) kept(n *schemaNode, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if n.embedded && (name == "apiVersion" || name == "kind" || name == "metadata") {
				w.nulls = true
				continue
			}
			w.member(n, v, name, x, true)
		}
	case []any:
		w.list(n, v, true)
	}
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// applyDefaults sets the defaults of the schema below v.
func (n *schemaNode) applyDefaults(v any) {
	if n == nil || !n.deepDefault {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, d := range n.defaults {
			if x, ok := v[d.name]; !ok || x == nil && !d.nullable {
				v[d.name] = copyValue(d.value)
			}
		}
		for name, x := range v {
			next, known := n.props[name]
			if !known {
				if next = n.additional; next == nil {
					continue
				}
				if x == nil && !next.nullable {
					x = copyValue(next.def)
					v[name] = x
				}
			}
			next.applyDefaults(x)
		}
	case []any:
		if n.items == nil {
			return
		}
		for i, x := range v {
			if x == nil && !n.items.nullable {
				x = copyValue(n.items.def)
				v[i] = x
			}
			n.items.applyDefaults(x)
		}
	}
}

// copyValue copies what can be changed.
func copyValue(v any) any {
	if isScalar(v) {
		return v
	}
	return runtime.DeepCopyJSONValue(v)
}
