package kinds

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry holds the built-in kinds and the definitions, and gives out the
// catalogue that they make.
type Registry struct {
	current atomic.Pointer[Catalog] // nil: something changed since the last one

	mu          sync.Mutex
	builtins    map[string][]*Kind // by group
	off         map[*Kind]bool     // built-in ones that are not served
	definitions map[string]*definition
	byGroup     map[string]map[string]*definition
	groups      map[string]*group // as of the last catalogue
	changed     map[string]bool   // groups to make anew
	server      string
}

// NewRegistry returns a registry of the built-in kinds.
func NewRegistry() *Registry {
	r := &Registry{
		builtins:    map[string][]*Kind{},
		definitions: map[string]*definition{},
		byGroup:     map[string]map[string]*definition{},
		groups:      map[string]*group{},
		changed:     map[string]bool{},
		off:         map[*Kind]bool{},
	}
	for _, k := range builtins() {
		r.builtins[k.Group] = append(r.builtins[k.Group], k)
		r.changed[k.Group] = true
	}
	return r
}

// SetServerAddress sets the host:port that the document of /api names.
func (r *Registry) SetServerAddress(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = address
	r.current.Store(nil)
}

// SetServed switches a built-in version of a resource on or off; an empty
// resource stands for all of the version. What is off is not found and in no
// document; objects stored in it are served in the versions that are left. It
// tells whether there is such a version. It is for start-up: requests under way keep the
// catalogue they have.
func (r *Registry) SetServed(group, version, resource string, served bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := false
	for _, k := range r.builtins[group] {
		if k.Version == version && (resource == "" || k.Resource == resource) {
			found = true
			r.off[k] = !served
		}
	}
	r.changed[group] = true
	r.current.Store(nil)
	return found
}

// Current returns the catalogue. It does not lock unless a definition changed
// since the last call; then it makes the groups that changed, and only them.
func (r *Registry) Current() *Catalog {
	if c := r.current.Load(); c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.current.Load(); c != nil {
		return c
	}
	groups := make(map[string]*group, len(r.groups)+len(r.changed))
	for name, g := range r.groups {
		groups[name] = g
	}
	for name := range r.changed {
		if g := r.makeGroup(name); g != nil {
			groups[name] = g
		} else {
			delete(groups, name)
		}
	}
	clear(r.changed)
	r.groups = groups
	c := newCatalog(groups, r.server)
	r.current.Store(c)
	return c
}

// makeGroup collects the kinds of a group. A built-in kind hides a custom one
// of the same resource.
func (r *Registry) makeGroup(name string) *group {
	var served, unserved []*Kind
	taken := map[string]bool{}
	for _, k := range r.builtins[name] {
		taken[k.Resource] = true
		switch {
		case !r.off[k]:
			served = append(served, k)
		case k.Version == k.StorageVersion:
			unserved = append(unserved, k)
		}
	}
	for _, d := range r.sortedGroup(name) {
		if taken[d.accepted.plural] {
			continue
		}
		served = append(served, d.served...)
		if d.unserved != nil {
			unserved = append(unserved, d.unserved)
		}
	}
	return newGroup(name, served, unserved)
}

func (r *Registry) sortedGroup(name string) []*definition {
	list := make([]*definition, 0, len(r.byGroup[name]))
	for _, d := range r.byGroup[name] {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *definition) int { return strings.Compare(a.name, b.name) })
	return list
}

// SetDefinition takes in a definition as it is in the log, new or changed.
// It parses names and versions but no schema, of which it keeps the bytes:
// data must not be changed afterwards. The next Current shows it.
func (r *Registry) SetDefinition(data []byte) error {
	d, err := parseDefinition(data)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.inherit(r.definitions[d.name])
	r.remove(d.name)
	r.definitions[d.name] = d
	if r.byGroup[d.group] == nil {
		r.byGroup[d.group] = map[string]*definition{}
	}
	r.byGroup[d.group][d.name] = d
	r.changed[d.group] = true
	r.current.Store(nil)
	return nil
}

// RemoveDefinition forgets a definition. One that is not known is no error.
func (r *Registry) RemoveDefinition(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(name)
	r.current.Store(nil)
}

func (r *Registry) remove(name string) {
	old := r.definitions[name]
	if old == nil {
		return
	}
	delete(r.definitions, name)
	delete(r.byGroup[old.group], name)
	if len(r.byGroup[old.group]) == 0 {
		delete(r.byGroup, old.group)
	}
	r.changed[old.group] = true
}

// Conflicted returns the names of the definitions of a group that have not
// got all the names they ask for. When a definition of the group is gone or
// renamed they deserve another PrepareDefinition.
func (r *Registry) Conflicted(group string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, d := range r.sortedGroup(group) {
		if !d.settled {
			out = append(out, d.name)
		}
	}
	return out
}
