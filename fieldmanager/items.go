package fieldmanager

// items compares the items of two lists that are sets or maps.
func (w *walker) items(s *listShape, l, r []any) {
	switch {
	case len(l) == 0 && s.unique(r):
		for _, rv := range r {
			w.item(s, absent{}, rv, rv)
		}
	case len(r) == 0 && s.unique(l):
		for _, lv := range l {
			w.item(s, lv, absent{}, lv)
		}
	case s.paired(l, r) && s.unique(r):
		for i, rv := range r {
			w.item(s, l[i], rv, rv)
		}
	default:
		w.shuffled(s, l, r)
	}
}

// item compares an item, which is one of the two values.
func (w *walker) item(s *listShape, l, r, item any) {
	w.pushItem(s, item)
	w.values(s.element, l, r, nil)
	w.pop()
}

// shuffled compares lists in which items came, went or moved.
func (w *walker) shuffled(s *listShape, l, r []any) {
	left, okLeft := s.index(l)
	right, okRight := s.index(r)
	if !okLeft || !okRight {
		w.gone = true
		return
	}
	for key, rv := range right {
		lv, ok := left[key]
		if !ok {
			lv = absent{}
		}
		w.item(s, lv, rv, rv)
	}
	for key, lv := range left {
		if _, ok := right[key]; !ok {
			w.item(s, lv, absent{}, lv)
		}
	}
}

// index gives the items of a list by their keys; ok is false if there are
// duplicates, or items without a key.
func (s *listShape) index(list []any) (items map[string]any, ok bool) {
	items = make(map[string]any, len(list))
	for _, v := range list {
		key, ok := s.itemKey(v)
		if !ok {
			return nil, false
		}
		items[key] = v
	}
	return items, len(items) == len(list)
}

// maxCompared is how many items are told apart by comparing all with all.
const maxCompared = 16

// unique tells that all items have a key, each its own. It may be false for
// long lists.
func (s *listShape) unique(list []any) bool {
	if len(list) > maxCompared {
		return false
	}
	for i, v := range list {
		if !s.sameItem(v, v) {
			return false
		}
		for _, other := range list[:i] {
			if s.sameItem(v, other) {
				return false
			}
		}
	}
	return true
}

// paired tells that the lists have the same items in the same order.
func (s *listShape) paired(l, r []any) bool {
	if len(l) != len(r) {
		return false
	}
	for i := range l {
		if !s.sameItem(l[i], r[i]) {
			return false
		}
	}
	return true
}

// sameItem tells that two items have keys, and the same ones.
func (s *listShape) sameItem(a, b any) bool {
	if len(s.keys) == 0 {
		return sameKey(a, b)
	}
	m, mok := a.(map[string]any)
	n, nok := b.(map[string]any)
	if !mok || !nok {
		return false
	}
	for _, k := range s.keys {
		v, ok := m[k.name]
		if !ok {
			v = k.fallback
		}
		o, ok := n[k.name]
		if !ok {
			o = k.fallback
		}
		if !sameKey(v, o) {
			return false
		}
	}
	return true
}

// sameKey compares what itemKey can write.
func sameKey(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	}
	return false
}
