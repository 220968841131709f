package kinds

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Document is a discovery document. It is shared: JSON must not be changed.
type Document struct {
	JSON []byte
	// ETag is the quoted upper-case SHA-512 of JSON in hex.
	ETag string
}

func newDocument(data []byte) *Document {
	return &Document{JSON: data, ETag: fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(data)))}
}

// document marshals one of the types of this file, which cannot fail.
func document(v any) *Document { return newDocument(fragment(v)) }

func fragment(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // strings, booleans and lists of them only
		return []byte("null")
	}
	return data
}

// join makes a list document from its items' JSON, so that a change of one
// group does not marshal the others again.
func join(head string, items [][]byte) *Document {
	n := len(head) + 2
	for _, b := range items {
		n += len(b) + 1
	}
	data := make([]byte, 0, n)
	data = append(data, head...)
	data = append(data, bytes.Join(items, []byte{','})...)
	return newDocument(append(data, ']', '}'))
}

// LegacyCore is the document of /api: an APIVersions.
func (c *Catalog) LegacyCore() (*Document, bool) {
	return c.core.get(func() *Document {
		return document(metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
			Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
				{ClientCIDR: "0.0.0.0/0", ServerAddress: c.server},
			},
		})
	}), true
}

// LegacyGroups is the document of /apis: an APIGroupList.
func (c *Catalog) LegacyGroups() (*Document, bool) {
	return c.legacyGroups.get(func() *Document {
		items := make([][]byte, len(c.order))
		for i, g := range c.order {
			items[i] = g.entry.get(func() *Document { return &Document{JSON: fragment(g.apiGroup())} }).JSON
		}
		return join(`{"kind":"APIGroupList","apiVersion":"v1","groups":[`, items)
	}), true
}

// LegacyGroup is the document of /apis/<group>: an APIGroup.
func (c *Catalog) LegacyGroup(name string) (*Document, bool) {
	g, ok := c.groups[name]
	if !ok || name == "" {
		return nil, false
	}
	return g.legacy.get(func() *Document {
		v := g.apiGroup()
		v.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		return document(v)
	}), true
}

func (g *group) apiGroup() metav1.APIGroup {
	out := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: apiVersion(g.name, v.version), Version: v.version,
		})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// LegacyResources is the document of /api/<version> or
// /apis/<group>/<version>: an APIResourceList.
func (c *Catalog) LegacyResources(group, version string) (*Document, bool) {
	g, ok := c.groups[group]
	if !ok {
		return nil, false
	}
	v := g.version(version)
	if v == nil {
		return nil, false
	}
	return v.legacy.get(func() *Document {
		list := metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: apiVersion(group, version),
			APIResources: []metav1.APIResource{},
		}
		if group == "" { // that list alone is of the unversioned kind
			list.APIVersion = ""
		}
		for _, k := range v.kinds {
			list.APIResources = append(list.APIResources, k.apiResources()...)
		}
		return document(list)
	}), true
}

// apiResources are the entries of a kind and its subresources.
func (k *Kind) apiResources() []metav1.APIResource {
	out := []metav1.APIResource{{
		Name: k.Resource, SingularName: k.Singular, Namespaced: k.Namespaced, Kind: k.Kind,
		Verbs: k.Verbs, ShortNames: k.ShortNames, Categories: k.Categories,
		StorageVersionHash: k.StorageVersionHash,
	}}
	for _, s := range k.Subresources {
		entry := metav1.APIResource{
			Name: k.Resource + "/" + s.Name, Namespaced: k.Namespaced, Kind: s.Kind, Verbs: s.Verbs,
		}
		if s.Group != k.Group || s.Version != k.Version {
			entry.Group, entry.Version = s.Group, s.Version
		}
		out = append(out, entry)
	}
	return out
}

const aggregatedHead = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[`

// AggregatedCore is the aggregated document of /api, of the core group only.
func (c *Catalog) AggregatedCore() (*Document, bool) {
	return c.coreList.get(func() *Document {
		var items [][]byte
		if g, ok := c.groups[""]; ok {
			items = append(items, g.discovery())
		}
		return join(aggregatedHead, items)
	}), true
}

// AggregatedGroups is the aggregated document of /apis, of all other groups.
func (c *Catalog) AggregatedGroups() (*Document, bool) {
	return c.aggregated.get(func() *Document {
		items := make([][]byte, len(c.order))
		for i, g := range c.order {
			items[i] = g.discovery()
		}
		return join(aggregatedHead, items)
	}), true
}

func (g *group) discovery() []byte {
	return g.aggregated.get(func() *Document {
		out := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			version := apidiscoveryv2.APIVersionDiscovery{Version: v.version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			for _, k := range v.kinds {
				version.Resources = append(version.Resources, k.discovery())
			}
			out.Versions = append(out.Versions, version)
		}
		return &Document{JSON: fragment(out)}
	}).JSON
}

func (k *Kind) discovery() apidiscoveryv2.APIResourceDiscovery {
	out := apidiscoveryv2.APIResourceDiscovery{
		Resource: k.Resource, SingularResource: k.Singular, Scope: apidiscoveryv2.ScopeCluster,
		ResponseKind: &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind},
		Verbs:        k.Verbs, ShortNames: k.ShortNames, Categories: k.Categories,
	}
	if k.Namespaced {
		out.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, s := range k.Subresources {
		out.Subresources = append(out.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource:  s.Name,
			ResponseKind: &metav1.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: s.Kind},
			Verbs:        s.Verbs,
		})
	}
	return out
}

// storageVersionHash is a name for where objects of a kind are stored, which
// clients compare but do not read.
func storageVersionHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
