package fieldmanager

import (
	"time"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Config is what a Manager has to know of a kind in one version.
type Config struct {
	// APIVersion is the version, "v1" or "group/version"; Kind the kind.
	APIVersion, Kind string
	// Type says how objects of this version merge.
	Type *Type
	// Others are the types of the other versions of the kind, by apiVersion.
	// Entries of versions that are not there are dropped.
	Others map[string]*Type
	// Convert gives an object in another version of the kind. It must not
	// change the object. Nil: versions differ in their apiVersion only.
	Convert func(obj map[string]any, apiVersion string) (map[string]any, error)
	// ResetFields are, for each subresource and for the main endpoint "", the
	// fields that a write there does not set: paths of field names. They are
	// left to those who own them. They are the same in all versions.
	ResetFields map[string]*fieldpath.Set
}

// A Manager tracks who owns which fields of the objects of a kind, as read and
// written in one version. It is immutable and safe for concurrent use.
type Manager struct {
	cfg     Config
	version any // the apiVersion
	filters map[string]map[fieldpath.APIVersion]fieldpath.Filter
	masks   map[string]*mask // of the subresources that reset fields
	plain   *mask            // of those that do not
}

// Actor is who writes, and how.
type Actor struct {
	// Manager is the field manager; "" stands for "unknown".
	Manager string
	// Subresource is "" for the main endpoint.
	Subresource string
	// Now is the time of the write. Entries have it in whole seconds.
	Now time.Time
}

// New returns the manager of a kind in one version.
func New(cfg Config) *Manager {
	m := &Manager{cfg: cfg, version: cfg.APIVersion, plain: newMask(nil), masks: map[string]*mask{}, filters: map[string]map[fieldpath.APIVersion]fieldpath.Filter{}}
	for subresource, set := range cfg.ResetFields {
		m.masks[subresource] = newMask(set)
		filters := map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(cfg.APIVersion): fieldpath.NewExcludeSetFilter(set)}
		for version := range cfg.Others {
			filters[fieldpath.APIVersion(version)] = fieldpath.NewExcludeSetFilter(set)
		}
		m.filters[subresource] = filters
	}
	return m
}

// StatusResets are the ResetFields of a kind with a status subresource: the
// main endpoint leaves the status alone, and the status all else.
func StatusResets() map[string]*fieldpath.Set {
	return map[string]*fieldpath.Set{
		"":       fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
		"status": fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec")),
	}
}

// newMask compiles the fields that a write does not set. The managed fields
// are always among them: nobody owns them.
func newMask(set *fieldpath.Set) *mask {
	root := &mask{}
	root.add("metadata").add("managedFields").whole = true
	if set == nil {
		return root
	}
	set.Iterate(func(p fieldpath.Path) {
		at := root
		for _, e := range p {
			if e.FieldName == nil {
				return
			}
			at = at.add(*e.FieldName)
		}
		at.whole = true
	})
	return root
}

func (m *mask) add(name string) *mask {
	if m.fields == nil {
		m.fields = map[string]*mask{}
	}
	if m.fields[name] == nil {
		m.fields[name] = &mask{}
	}
	return m.fields[name]
}

func (m *Manager) mask(subresource string) *mask {
	if k, ok := m.masks[subresource]; ok {
		return k
	}
	return m.plain
}

// updater is the identity of an actor who updates.
func (m *Manager) updater(by Actor) identity {
	return identity{Manager: by.name(), Operation: opUpdate, APIVersion: m.cfg.APIVersion, Subresource: by.Subresource}
}

// applier is the identity of an actor who applies.
func (m *Manager) applier(by Actor) identity {
	return identity{Manager: by.name(), Operation: opApply, Subresource: by.Subresource}
}

func (a Actor) name() string {
	if a.Manager == "" {
		return "unknown"
	}
	return a.Manager
}

// Update tracks a write that is no apply: live became obj, or obj was created
// if live is nil. It puts metadata.managedFields into obj, or takes them away
// where nothing is tracked, and changes nothing else. What obj itself has as
// managedFields is taken for the entries before the write, unless it is empty
// or the write is one of a subresource; one empty entry clears them.
//
// An error says why the write cannot be tracked. obj then has the entries of
// live, and the write may go on.
func (m *Manager) Update(live, obj map[string]any, by Actor) error {
	entries, ok := m.track(live, obj, by)
	var err error
	if !ok {
		if entries, err = m.general(live, obj, by); err != nil {
			entries = listed(live)
		}
	}
	setManaged(obj, entries)
	return err
}
