package fieldmanager

import "k8s.io/apimachinery/pkg/runtime"

// quick is Apply for what appliers do all the time: a configuration that gives
// nothing up, conflicts with nobody and leaves the order of lists as it is. ok
// is false where the general way has to decide; then nothing was done.
func (m *Manager) quick(live, applied map[string]any, by Actor) (merged map[string]any, ok bool) {
	had := listed(live)
	if len(had) == 0 || by.name() == kubectl && text(child(child(live, "metadata"), "annotations"), LastApplied) != "" {
		return nil, false
	}
	old, ok := m.readEntries(had)
	if !ok {
		return nil, false
	}
	claim, diff := walkers.Get().(*walker), walkers.Get().(*walker)
	defer claim.release()
	defer diff.release()
	s := m.cfg.Type.strictShapes()
	if !claim.claims(s, applied, m.mask(by.Subresource)) || !diff.overlays(s, live, applied, m.mask(by.Subresource)) {
		return nil, false
	}
	entries, ok := m.claimed(&claim.delta, &diff.delta, had, old, by)
	if !ok {
		return nil, false
	}
	merged = runtime.DeepCopyJSON(bare(live))
	if !diff.delta.empty() {
		overlay(s.object, merged, applied)
	}
	setManaged(merged, entries)
	return merged, true
}

// claimed makes the entries after an apply that claims fields and changes
// some. ok is false if others own one of those, or if the applier owned more.
func (m *Manager) claimed(claim, diff *delta, had []any, old []entry, by Actor) (entries []any, ok bool) {
	id := m.applier(by)
	mine := entry{identity: id}
	entries = make([]any, 0, len(had)+1)
	for i, e := range old {
		if e.identity == id {
			mine = e
			continue
		}
		if _, lost := diff.edit(e.set, 0, false); lost || len(e.set) == 0 {
			return nil, false
		}
		entries = append(entries, had[i])
	}
	claim.strip()
	n := claim.count()
	set, grown := claim.edit(mine.set, 0, true)
	if n == 0 || members(set) != n {
		return nil, false
	}
	if !grown && diff.empty() {
		return had, true
	}
	at := mine.time
	if !diff.empty() {
		at = stamp(by.Now)
	}
	entries = append(entries, element(id, m.version, at, kept(mine, set, grown)))
	sortEntries(entries)
	return entries, true
}

// count is how many paths the writer owns.
func (d *delta) count() int {
	n := 0
	for i := range d.nodes {
		if d.nodes[i].change == written {
			n++
		}
	}
	return n
}

// members is how many paths are in a set.
func members(set map[string]any) int {
	n := 0
	for key, v := range set {
		sub, _ := v.(map[string]any)
		switch {
		case key == "." || len(sub) == 0:
			n++
		default:
			n += members(sub)
		}
	}
	return n
}

// claims finds the fields that a configuration sets, as
// typed.TypedValue.ToFieldSet does. It is false if the walk gave up: on nulls,
// on duplicates and on what does not fit the shape.
func (w *walker) claims(s *shape, config map[string]any, m *mask) bool {
	w.delta.reset()
	w.path, w.gone = w.path[:0], false
	if s == nil || s.object == nil || s.object.atomic {
		return false
	}
	w.claimFields(s.object, config, m)
	return !w.gone
}

func (w *walker) claimFields(s *mapShape, c map[string]any, m *mask) {
	for name, v := range c {
		sub := m.field(name)
		if w.gone || sub != nil && sub.whole {
			continue
		}
		w.push(name)
		w.claim(s.field(name), v, sub)
		if fields, ok := v.(map[string]any); ok && len(fields) == 0 {
			w.mark(written)
		} else if _, named := s.fields[name]; !named {
			w.mark(written)
		}
		w.pop()
	}
}

func (w *walker) claim(s *shape, v any, m *mask) {
	if s == nil {
		w.gone = true
		return
	}
	switch v := v.(type) {
	case map[string]any:
		switch {
		case s.object == nil:
			w.gone = true
		case s.object.atomic:
			w.mark(written)
		default:
			w.claimFields(s.object, v, m)
		}
	case []any:
		switch {
		case s.list == nil:
			w.gone = true
		case s.list.atomic:
			w.mark(written)
		default:
			w.claimItems(s.list, v)
		}
	default:
		w.gone = w.gone || !s.takes(v)
		w.mark(written)
	}
}

func (w *walker) claimItems(s *listShape, list []any) {
	if !s.unique(list) {
		if _, ok := s.index(list); !ok {
			w.gone = true
			return
		}
	}
	for _, v := range list {
		w.pushItem(s, v)
		w.claim(s.element, v, nil)
		w.mark(written)
		w.pop()
	}
}

// overlays finds what a configuration changes in a live object. It is false if
// the walk gave up: besides the reasons of claims, if lists have to be put in
// order, or if something changes that this write does not set.
func (w *walker) overlays(s *shape, live, config map[string]any, m *mask) bool {
	w.delta.reset()
	w.path, w.gone = w.path[:0], false
	w.overlayFields(s.object, live, config, m)
	return !w.gone
}

func (w *walker) overlayFields(s *mapShape, l, c map[string]any, m *mask) {
	for name, cv := range c {
		if w.gone {
			return
		}
		sub, before := m.field(name), len(w.delta.nodes)
		lv, ok := l[name]
		w.push(name)
		if f := s.field(name); ok {
			w.overlay(f, lv, cv, sub)
		} else {
			w.one(f, cv, written, nil)
		}
		w.pop()
		if sub != nil && sub.whole && len(w.delta.nodes) > before {
			w.gone = true
		}
	}
}

func (w *walker) overlay(s *shape, l, c any, m *mask) {
	if s == nil || l == nil || c == nil {
		w.gone = true
		return
	}
	switch c := c.(type) {
	case map[string]any:
		lv, ok := l.(map[string]any)
		switch {
		case !ok || s.object == nil:
			w.gone = true
		case !s.object.atomic:
			w.overlayFields(s.object, lv, c, m)
		case !same(l, c):
			w.mark(written)
		}
	case []any:
		lv, ok := l.([]any)
		switch {
		case !ok || s.list == nil:
			w.gone = true
		case !s.list.atomic:
			w.overlayItems(s.list, lv, c)
		case !same(l, c):
			w.mark(written)
		}
	default:
		_, float := c.(float64)
		_, was := l.(float64)
		w.gone = w.gone || !s.takes(c) || !isScalar(l) || float != was
		if !same(l, c) {
			w.mark(written)
		}
	}
}

// overlayItems takes lists of the same items in the same order.
func (w *walker) overlayItems(s *listShape, l, c []any) {
	if !s.paired(l, c) {
		w.gone = true
		return
	}
	for i, cv := range c {
		w.pushItem(s, cv)
		w.overlay(s.element, l[i], cv, nil)
		w.pop()
	}
}

// overlay writes a configuration over an object for which the walk of overlays
// did not give up. The object shares nothing with the configuration.
func overlay(s *mapShape, obj, config map[string]any) {
	for name, cv := range config {
		f := s.field(name)
		v, ok := obj[name]
		if !ok || !f.descend(v, cv) {
			obj[name] = runtime.DeepCopyJSONValue(cv)
		}
	}
}

// descend overlays what is within a value; it is false if the value is
// replaced as a whole.
func (s *shape) descend(v, config any) bool {
	switch v := v.(type) {
	case map[string]any:
		if s.object.atomic {
			return false
		}
		overlay(s.object, v, config.(map[string]any))
		return true
	case []any:
		if s.list.atomic {
			return false
		}
		for i, c := range config.([]any) {
			if !s.list.element.descend(v[i], c) {
				v[i] = runtime.DeepCopyJSONValue(c)
			}
		}
		return true
	}
	return false
}
