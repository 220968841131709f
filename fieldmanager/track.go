package fieldmanager

import (
	"encoding/json"
	"slices"
	"sync"
)

var walkers = sync.Pool{New: func() any { return &walker{} }}

// maxKeptNodes bounds what a pooled walker holds on to.
const maxKeptNodes = 4096

func (w *walker) release() {
	if cap(w.delta.nodes) <= maxKeptNodes {
		clear(w.delta.nodes)
		clear(w.path[:cap(w.path)])
		walkers.Put(w)
	}
}

// track is Update for the writes that happen all the time: creations, and
// updates of objects whose entries are all of this version. ok is false where
// the general way has to decide; then nothing was done.
func (m *Manager) track(live, obj map[string]any, by Actor) (entries []any, ok bool) {
	if live == nil {
		return m.trackCreate(obj, by)
	}
	given, had := listed(obj), listed(live)
	if by.Subresource == "" && len(given) > 0 && !sameEntries(given, had, true) {
		return nil, false
	}
	if len(had) == 0 {
		return nil, true // not tracked before the first apply
	}
	old, ok := m.readEntries(had)
	if !ok {
		return nil, false
	}
	w := walkers.Get().(*walker)
	defer w.release()
	if !w.compare(m.cfg.Type.shapes(), live, obj, m.mask(by.Subresource)) {
		return nil, false
	}
	if w.delta.empty() {
		return had, true
	}
	return m.retrack(&w.delta, had, old, by)
}

// readEntries reads the entries of a live object. ok is false if one of them
// is of another version, or of a schema that has changed since.
func (m *Manager) readEntries(list []any) (entries []entry, ok bool) {
	entries = make([]entry, len(list))
	for i, v := range list {
		e, err := readEntry(v)
		if err != nil || e.version != m.cfg.APIVersion || len(e.set) > 0 && !settled(m.cfg.Type.shapes(), e.set) {
			return nil, false
		}
		entries[i] = e
	}
	return entries, true
}

func (m *Manager) trackCreate(obj map[string]any, by Actor) (entries []any, ok bool) {
	if len(listed(obj)) > 0 {
		return nil, false
	}
	w := walkers.Get().(*walker)
	defer w.release()
	if !w.compare(m.cfg.Type.shapes(), m.cfg.Type.zero, obj, m.mask(by.Subresource)) {
		return nil, false
	}
	w.delta.strip()
	if !w.delta.owns() {
		return nil, true
	}
	return []any{element(m.updater(by), m.version, stamp(by.Now), w.delta.fields())}, true
}

// fields is what the writer of a delta owns, as JSON if its names are plain.
func (d *delta) fields() any {
	b, ok := d.appendFields(make([]byte, 0, 1024), 0)
	if ok {
		return json.RawMessage(slices.Clip(b))
	}
	set, _ := d.edit(nil, 0, true)
	return set
}

// retrack makes the entries after a change: its writer takes what was written
// from everybody, and what was removed is nobody's.
func (m *Manager) retrack(d *delta, had []any, old []entry, by Actor) (entries []any, ok bool) {
	id := m.updater(by)
	d.strip()
	own := d.owns()
	entries = make([]any, 0, len(had)+1)
	updates, mine := 0, false
	for i, e := range old {
		self := own && e.identity == id
		set, changed := d.edit(e.set, 0, self)
		mine = mine || self
		switch {
		case len(set) == 0:
			continue
		case self:
			entries = append(entries, element(id, m.version, stamp(by.Now), kept(e, set, changed)))
		case changed:
			entries = append(entries, element(e.identity, m.version, e.time, set))
		default:
			entries = append(entries, had[i])
		}
		if e.Operation == opUpdate {
			updates++
		}
	}
	if own && !mine {
		set, _ := d.edit(nil, 0, true)
		entries = append(entries, element(id, m.version, stamp(by.Now), set))
		updates++
	}
	if updates > maxUpdateEntries {
		return nil, false
	}
	sortEntries(entries)
	return entries, true
}

// kept is the set of an entry in the form it came in, if it is still the same.
func kept(e entry, set map[string]any, changed bool) any {
	if !changed {
		return e.source["fieldsV1"]
	}
	return set
}
