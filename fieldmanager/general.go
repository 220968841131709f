package fieldmanager

import (
	"errors"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/merge"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
)

// general is Update by structured-merge-diff, whatever the object and its
// entries. It gives the entries after the write.
func (m *Manager) general(live, obj map[string]any, by Actor) ([]any, error) {
	man, reset := m.before(live, obj, by)
	if live == nil {
		live = m.zero()
	} else if len(man.fields) == 0 && !reset {
		return nil, nil // not tracked before the first apply
	}
	if err := m.update(m.set(live, by), m.set(obj, by), man, m.updater(by), by); err != nil {
		return nil, err
	}
	man.limit()
	return encodeEntries(man)
}

// before gives the entries that a write starts from (managedfields/internal
// decodeLiveOrNew). What cannot be read counts as nothing.
func (m *Manager) before(live, obj map[string]any, by Actor) (man managed, reset bool) {
	if by.Subresource == "" {
		if isReset(child(obj, "metadata")["managedFields"]) {
			return noManaged(), true
		}
		man, err := decodeManaged(listed(obj))
		if err == nil && len(man.fields) > 0 {
			return man, false
		}
	}
	man, err := decodeManaged(listed(live))
	if err != nil {
		return noManaged(), false
	}
	return man, false
}

// zero is an object of the kind before its creation.
func (m *Manager) zero() map[string]any {
	z := copyMap(m.cfg.Type.zero)
	z["apiVersion"], z["kind"] = m.cfg.APIVersion, m.cfg.Kind
	return z
}

// own is obj as an object of the manager's version, without managed fields.
// obj is not changed.
func (m *Manager) own(obj map[string]any) map[string]any {
	if obj = bare(obj); obj["apiVersion"] != m.version {
		obj = copyMap(obj)
		obj["apiVersion"] = m.version
	}
	return obj
}

// set is obj as own gives it, without the parts that the write does not set:
// what is wrong with those keeps nothing from being tracked. A conversion
// between versions may need them.
func (m *Manager) set(obj map[string]any, by Actor) map[string]any {
	obj = m.own(obj)
	if m.cfg.Convert != nil {
		return obj
	}
	out := obj
	for name, sub := range m.mask(by.Subresource).fields {
		if _, ok := obj[name]; ok && sub.whole && name != "metadata" {
			if len(out) == len(obj) {
				out = copyMap(obj)
			}
			delete(out, name)
		}
	}
	return out
}

// currentWrite stands for the writer while others are compared with it, so
// that it can be told whether the write changed anything at all.
const currentWrite = "current-operation"

// update tracks a write in man.
func (m *Manager) update(live, obj map[string]any, man managed, id identity, by Actor) error {
	t := m.cfg.Type
	_, fields, err := m.merger(by.Subresource).Update(t.tracked(live), t.tracked(obj), fieldpath.APIVersion(m.cfg.APIVersion), man.fields, currentWrite)
	if err != nil {
		return fmt.Errorf("track an update of %s by %q: %w", describe(obj), id.Manager, err)
	}
	clear(man.fields)
	for k, vs := range fields {
		man.fields[k] = vs
	}
	man.strip(currentWrite)
	vs, ok := man.fields[currentWrite]
	if !ok {
		return nil
	}
	delete(man.fields, currentWrite)
	key := id.String()
	if old, ok := man.fields[key]; ok {
		vs = fieldpath.NewVersionedSet(vs.Set().Union(old.Set()), vs.APIVersion(), vs.Applied())
	}
	man.fields[key], man.times[key] = vs, stamp(by.Now)
	return nil
}

func (m *Manager) merger(subresource string) *merge.Updater {
	b := merge.UpdaterBuilder{Converter: versions{m}, IgnoreFilter: m.filters[subresource]}
	return b.BuildUpdater()
}

// describe names an object the way Kubernetes does in the texts of merges.
func describe(obj map[string]any) string {
	meta := child(obj, "metadata")
	return fmt.Sprintf("%s/%s; %s, Kind=%s", text(meta, "namespace"), text(meta, "name"), text(obj, "apiVersion"), text(obj, "kind"))
}

// versions converts objects between the versions of the kind.
type versions struct{ m *Manager }

var _ merge.Converter = versions{}

var errVersion = errors.New("not a version of the kind")

// IsMissingVersionError tells of versions that are gone; their entries go too.
func (v versions) IsMissingVersionError(err error) bool { return errors.Is(err, errVersion) }

// Convert gives an object in another version.
func (v versions) Convert(object *typed.TypedValue, version fieldpath.APIVersion) (*typed.TypedValue, error) {
	if object.AsValue() == nil {
		return object, nil
	}
	obj, ok := object.AsValue().Unstructured().(map[string]any)
	if !ok || obj["apiVersion"] == string(version) {
		return object, nil
	}
	t := v.m.cfg.Type
	if to := string(version); to != v.m.cfg.APIVersion {
		if t, ok = v.m.cfg.Others[to]; !ok {
			return object, fmt.Errorf("%w: %s", errVersion, to)
		}
	}
	if v.m.cfg.Convert == nil {
		obj = copyMap(obj)
		obj["apiVersion"] = string(version)
		return t.tracked(obj), nil
	}
	converted, err := v.m.cfg.Convert(obj, string(version))
	if err != nil {
		return object, err
	}
	return t.tracked(converted), nil
}
