package kinds

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/version"
)

// Catalog is what is served at one moment. It is immutable.
type Catalog struct {
	groups map[string]*group
	order  []*group // as discovery lists them, the core group left out
	server string

	core                               once[*Document]
	legacyGroups, aggregated, coreList once[*Document]
	openAPI                            once[*Document]
}

// group is the kinds of one group; immutable and shared by the catalogues
// between two changes of the group.
type group struct {
	name      string
	resources map[string]*resource
	versions  []*groupVersion // the preferred one first

	legacy, aggregated, entry once[*Document]
}

// groupVersion is the kinds of one version of a group, by resource.
type groupVersion struct {
	version string
	kinds   []*Kind
	legacy  once[*Document]
	openAPI once[*Document]

	openAPIProtobuf once[protobuf]
}

// resource is the kinds of one resource: a few versions, searched in order.
type resource struct {
	kinds   []*Kind
	storage *Kind // of any version, served or not
}

// once is a value made at first use.
type once[T any] struct {
	sync.Once
	v T
}

func (o *once[T]) get(make func() T) T {
	o.Do(func() { o.v = make() })
	return o.v
}

// Lookup returns the kind served as group, version and plural resource name.
func (c *Catalog) Lookup(group, version, resource string) (*Kind, bool) {
	g, ok := c.groups[group]
	if !ok {
		return nil, false
	}
	r, ok := g.resources[resource]
	if !ok {
		return nil, false
	}
	for _, k := range r.kinds {
		if k.Version == version {
			return k, true
		}
	}
	return nil, false
}

// Storage returns the kind of the version in which objects of the resource
// are kept in the log. That version need not be served.
func (c *Catalog) Storage(group, resource string) (*Kind, bool) {
	g, ok := c.groups[group]
	if !ok {
		return nil, false
	}
	r, ok := g.resources[resource]
	if !ok {
		return nil, false
	}
	return r.storage, true
}

// HasGroup tells whether any version of the group is served.
func (c *Catalog) HasGroup(group string) bool {
	_, ok := c.groups[group]
	return ok
}

// HasGroupVersion tells whether the version of the group is served.
func (c *Catalog) HasGroupVersion(group, version string) bool {
	g, ok := c.groups[group]
	return ok && g.version(version) != nil
}

// Kinds calls fn for every served kind until it returns false: groups as
// discovery orders them after the core group, the preferred version first.
func (c *Catalog) Kinds(fn func(*Kind) bool) {
	all := c.order
	if core, ok := c.groups[""]; ok {
		all = append([]*group{core}, c.order...)
	}
	for _, g := range all {
		for _, v := range g.versions {
			for _, k := range v.kinds {
				if !fn(k) {
					return
				}
			}
		}
	}
}

func (g *group) version(name string) *groupVersion {
	for _, v := range g.versions {
		if v.version == name {
			return v
		}
	}
	return nil
}

// newCatalog orders the groups.
func newCatalog(groups map[string]*group, server string) *Catalog {
	c := &Catalog{groups: groups, server: server}
	for name, g := range groups {
		if name != "" {
			c.order = append(c.order, g)
		}
	}
	slices.SortFunc(c.order, func(a, b *group) int {
		if p, q := priority(a.name), priority(b.name); p != q {
			return q - p
		}
		return strings.Compare(a.name, b.name)
	})
	return c
}

// newGroup makes a group of kinds; nil if none of them is served. unserved
// holds storage versions that are not served.
func newGroup(name string, served, unserved []*Kind) *group {
	if len(served) == 0 {
		return nil
	}
	g := &group{name: name, resources: map[string]*resource{}}
	for _, k := range served {
		r := g.resources[k.Resource]
		if r == nil {
			r = &resource{}
			g.resources[k.Resource] = r
		}
		r.kinds = append(r.kinds, k)
		if k.Version == k.StorageVersion {
			r.storage = k
		}
		v := g.version(k.Version)
		if v == nil {
			v = &groupVersion{version: k.Version}
			g.versions = append(g.versions, v)
		}
		v.kinds = append(v.kinds, k)
	}
	for _, k := range unserved {
		if r := g.resources[k.Resource]; r != nil && r.storage == nil {
			r.storage = k
		}
	}
	slices.SortFunc(g.versions, func(a, b *groupVersion) int {
		return version.CompareKubeAwareVersionStrings(b.version, a.version)
	})
	for _, v := range g.versions {
		slices.SortFunc(v.kinds, func(a, b *Kind) int { return strings.Compare(a.Resource, b.Resource) })
	}
	return g
}
