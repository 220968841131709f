package fieldmanager

import "sigs.k8s.io/structured-merge-diff/v4/schema"

// A walker compares two objects of one shape. It finds what
// typed.TypedValue.Compare finds, or gives up: on values that do not fit the
// shape, on duplicates in lists, and on what the library knows better.
type walker struct {
	delta delta
	path  []step
	gone  bool // gave up
}

// step is one element of the path to where the walk is: a field, or an item of
// a list, whose key is made when it is needed.
type step struct {
	name string
	list *listShape
	item any
	node int32 // 0: the delta has none yet
}

// key is the name of the element in a delta.
func (p *step) key() (name string, item bool) {
	if p.list == nil {
		return p.name, false
	}
	if p.name == "" {
		p.name, _ = p.list.itemKey(p.item)
	}
	return p.name, true
}

// A mask is a tree of fields that a write does not set: their owners stay.
type mask struct {
	whole  bool
	fields map[string]*mask
}

func (m *mask) field(name string) *mask {
	if m == nil {
		return nil
	}
	return m.fields[name]
}

// compare walks two objects. It is false if the walk gave up.
func (w *walker) compare(s *shape, l, r map[string]any, m *mask) bool {
	w.delta.reset()
	w.path, w.gone = w.path[:0], false
	if s == nil || s.object == nil || s.object.atomic {
		return false
	}
	w.fields(s.object, l, r, m)
	return !w.gone
}

// mark notes what happened to the path of the walk.
func (w *walker) mark(c change) {
	if len(w.path) == 0 {
		return
	}
	w.delta.mark(w.here(), c)
}

// here returns the node of the path of the walk.
func (w *walker) here() int32 {
	at := len(w.path)
	for at > 0 && w.path[at-1].node == 0 {
		at--
	}
	parent := int32(0)
	if at > 0 {
		parent = w.path[at-1].node
	}
	for ; at < len(w.path); at++ {
		p := &w.path[at]
		name, item := p.key()
		p.node = w.delta.add(parent, name, item)
		parent = p.node
	}
	return parent
}

func (w *walker) push(name string) { w.path = append(w.path, step{name: name}) }

func (w *walker) pushItem(l *listShape, item any) {
	w.path = append(w.path, step{list: l, item: item})
}

func (w *walker) pop() { w.path = w.path[:len(w.path)-1] }

// absent is the value of a field that is not there, as opposed to null.
type absent struct{}

// values compares what is at the path of the walk; one of the two may be
// absent.
func (w *walker) values(s *shape, l, r any, m *mask) {
	if w.gone {
		return
	}
	if s == nil {
		w.gone = true
		return
	}
	if _, ok := l.(absent); ok {
		w.one(s, r, written, m)
		return
	}
	if _, ok := r.(absent); ok {
		w.one(s, l, removed, m)
		return
	}
	switch r := r.(type) {
	case map[string]any:
		w.maps(s, l, r, m)
	case []any:
		w.lists(s, l, r)
	case nil:
		w.nulls(s, l, m)
	default:
		w.scalars(s, l, r)
	}
}

// one walks a value that only one of the objects has.
func (w *walker) one(s *shape, v any, c change, m *mask) {
	w.mark(c)
	switch v := v.(type) {
	case map[string]any:
		switch {
		case s.object == nil:
			w.gone = true
		case s.object.atomic:
		case c == written:
			w.fields(s.object, nil, v, m)
		default:
			w.fields(s.object, v, nil, m)
		}
	case []any:
		switch {
		case s.list == nil:
			w.gone = true
		case s.list.atomic:
		case c == written:
			w.items(s.list, nil, v)
		default:
			w.items(s.list, v, nil)
		}
	case nil:
	default:
		w.gone = w.gone || !s.takes(v)
	}
}

// takes tells whether a scalar is of the shape's type.
func (s *shape) takes(v any) bool {
	switch v.(type) {
	case string:
		return s.scalar == schema.String || s.scalar == schema.Untyped
	case int64, float64:
		return s.scalar == schema.Numeric || s.scalar == schema.Untyped
	case bool:
		return s.scalar == schema.Boolean || s.scalar == schema.Untyped
	}
	return false
}

func (w *walker) scalars(s *shape, l, r any) {
	switch {
	case !s.takes(r):
		w.gone = true
	case l == nil:
		w.gone = w.gone || s.list != nil || s.object != nil
		w.mark(written)
	case !isScalar(l):
		w.gone = true
	case !same(l, r):
		w.mark(written)
	}
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, int64, float64, bool:
		return true
	}
	return false
}

// nulls compares l with an explicit null.
func (w *walker) nulls(s *shape, l any, m *mask) {
	alone := 0
	for _, has := range []bool{s.scalar != "", s.list != nil, s.object != nil} {
		if has {
			alone++
		}
	}
	switch l := l.(type) {
	case nil:
		return
	case map[string]any:
		if alone != 1 || s.object == nil {
			w.gone = true
		} else if s.object.atomic || len(l) == 0 {
			w.mark(written)
		} else {
			w.fields(s.object, l, nil, m)
		}
	case []any:
		if alone != 1 || s.list == nil {
			w.gone = true
		} else if s.list.atomic || len(l) == 0 {
			w.mark(written)
		} else {
			w.items(s.list, l, nil)
		}
	default:
		w.gone = w.gone || alone != 1 || !s.takes(l)
		w.mark(written)
	}
}

func (w *walker) maps(s *shape, l any, r map[string]any, m *mask) {
	left, ok := l.(map[string]any)
	switch {
	case s.object == nil, !ok && l != nil, l == nil && (s.scalar != "" || s.list != nil):
		w.gone = true
	case s.object.atomic, len(left) == 0 && len(r) == 0:
		if !same(l, r) {
			w.mark(written)
		}
	default:
		w.fields(s.object, left, r, m)
	}
}

// fields compares the fields of two maps, either of which may be nil.
func (w *walker) fields(s *mapShape, l, r map[string]any, m *mask) {
	found := 0
	for name, rv := range r {
		var lv any = absent{}
		if v, ok := l[name]; ok {
			found++
			lv = v
		}
		w.member(s, name, lv, rv, m)
	}
	if found == len(l) {
		return
	}
	for name, lv := range l {
		if _, ok := r[name]; !ok {
			w.member(s, name, lv, absent{}, m)
		}
	}
}

func (w *walker) member(s *mapShape, name string, l, r any, m *mask) {
	sub := m.field(name)
	if w.gone || sub != nil && sub.whole {
		return
	}
	if ls, ok := l.(string); ok { // most fields are texts, and most are unchanged
		if rs, ok := r.(string); ok && ls == rs {
			if f := s.field(name); f == nil || f.scalar != schema.String && f.scalar != schema.Untyped {
				w.gone = true
			}
			return
		}
	}
	w.push(name)
	w.values(s.field(name), l, r, sub)
	w.pop()
}

func (w *walker) lists(s *shape, l any, r []any) {
	left, ok := l.([]any)
	switch {
	case s.list == nil, !ok && l != nil, l == nil && (s.scalar != "" || s.object != nil):
		w.gone = true
	case s.list.atomic, len(left) == 0 && len(r) == 0:
		if !same(l, r) {
			w.mark(written)
		}
	default:
		w.items(s.list, left, r)
	}
}

// same tells whether two values are equal the way structured-merge-diff means
// it: numbers by what they are and not by how they are written.
func same(l, r any) bool {
	switch l := l.(type) {
	case nil:
		return r == nil
	case string:
		r, ok := r.(string)
		return ok && l == r
	case bool:
		r, ok := r.(bool)
		return ok && l == r
	case int64:
		switch r := r.(type) {
		case int64:
			return l == r
		case float64:
			return float64(l) == r
		}
		return false
	case float64:
		switch r := r.(type) {
		case int64:
			return l == float64(r)
		case float64:
			return l == r
		}
		return false
	case []any:
		r, ok := r.([]any)
		return ok && sameLists(l, r)
	case map[string]any:
		r, ok := r.(map[string]any)
		return ok && sameMaps(l, r)
	}
	return false
}

func sameLists(l, r []any) bool {
	if len(l) != len(r) {
		return false
	}
	for i := range l {
		if !same(l[i], r[i]) {
			return false
		}
	}
	return true
}

func sameMaps(l, r map[string]any) bool {
	if len(l) != len(r) {
		return false
	}
	for name, lv := range l {
		rv, ok := r[name]
		if !ok || !same(lv, rv) {
			return false
		}
	}
	return true
}
