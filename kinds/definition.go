package kinds

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrDefinition is returned by SetDefinition for what is no definition.
var ErrDefinition = errors.New("not a definition")

// definition is one CustomResourceDefinition as far as serving needs it.
// Schemas stay the bytes they came in.
type definition struct {
	name, group string
	// accepted are the names that are this definition's, by its status.
	accepted names
	// settled: the names it asks for are the ones it has.
	settled  bool
	served   []*Kind
	unserved *Kind // the storage version, where that is not served
	schemas  map[string]*lazySchema
}

// names are the names of a definition.
type names struct {
	plural, singular, kind, listKind string
	shortNames, categories           []string
}

// parseDefinition reads a definition as the log has it. It keeps sub-slices
// of data.
func parseDefinition(data []byte) (*definition, error) {
	obj, ok := decodeFrame(data, "schema")
	if !ok {
		_, _, err := DecodeJSON(data)
		return nil, fmt.Errorf("%w: undecodable: %v", ErrDefinition, err)
	}
	spec, status := child(obj, "spec"), child(obj, "status")
	d := &definition{
		name:     text(child(obj, "metadata"), "name"),
		group:    text(spec, "group"),
		accepted: readNames(child(status, "acceptedNames")),
		schemas:  map[string]*lazySchema{},
	}
	if d.name == "" || d.group == "" {
		return nil, fmt.Errorf("%w: name %q, group %q", ErrDefinition, d.name, d.group)
	}
	d.settled = d.accepted.equal(readNames(child(spec, "names")))
	established := condition(status, "Established") || condition(status, "NamesAccepted")
	if !established || d.accepted.plural == "" || d.accepted.kind == "" {
		return d, nil
	}
	versions, _ := spec["versions"].([]any)
	terminating := condition(status, "Terminating") || child(obj, "metadata")["deletionTimestamp"] != nil
	storage := storageVersion(versions)
	for _, v := range versions {
		v, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%w: %s: a version is no object", ErrDefinition, d.name)
		}
		k := d.kind(v, text(spec, "scope") == "Namespaced", terminating, storage)
		if served, _ := v["served"].(bool); served {
			d.served = append(d.served, k)
		} else if k.Version == storage {
			d.unserved = k
		}
	}
	hash := ""
	if d.unserved == nil { // a hash tells of storage only where that version is served
		hash = storageVersionHash(d.group, storage, d.accepted.kind)
	}
	for _, k := range d.served {
		k.StorageVersionHash = hash
	}
	return d, nil
}

// kind makes the kind of one version.
func (d *definition) kind(v map[string]any, namespaced, terminating bool, storage string) *Kind {
	version := text(v, "name")
	n := d.accepted
	k := &Kind{
		Group: d.group, Version: version, APIVersion: apiVersion(d.group, version),
		Resource: n.plural, Singular: n.singular, Kind: n.kind, ListKind: n.listKind,
		ShortNames: n.shortNames, Categories: n.categories,
		Verbs:      customVerbs(terminating),
		Namespaced: namespaced, Custom: true, Generation: true, Terminating: terminating,
		StorageGroup: d.group, StorageVersion: storage, Definition: d.name,
		Columns:    customColumns(v),
		selectable: customSelectable(v),
		rules:      customRules(),
		definition: d,
	}
	if raw, ok := v["schema"].([]byte); ok {
		if schema := openAPISchema(raw); schema != nil {
			d.schemas[version] = &lazySchema{raw: schema}
		}
	}
	sub := child(v, "subresources")
	if _, ok := sub["status"]; ok {
		k.HasStatus = true
		k.Subresources = append(k.Subresources, statusSubresource(k.Group, version, k.Kind))
	}
	if k.rules.scale = customScale(sub); k.rules.scale != nil {
		k.Subresources = append(k.Subresources, scaleSubresource())
	}
	if k.Deprecated, _ = v["deprecated"].(bool); k.Deprecated {
		k.DeprecationWarning = k.APIVersion + " " + k.Kind + " is deprecated"
		if w, ok := v["deprecationWarning"].(string); ok {
			k.DeprecationWarning = w
		}
	}
	return k
}

// openAPISchema returns the bytes of the one field of a version's schema.
func openAPISchema(raw []byte) []byte {
	if m, ok := decodeFrame(raw, "openAPIV3Schema"); ok {
		b, _ := m["openAPIV3Schema"].([]byte)
		return bytes.TrimSpace(b)
	}
	return nil
}

// customVerbs are the verbs of custom kinds in served order.
func customVerbs(terminating bool) []string {
	if terminating {
		return []string{"delete", "deletecollection", "get", "list", "watch"}
	}
	return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
}

func storageVersion(versions []any) string {
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["storage"] == true {
			return text(v, "name")
		}
	}
	return ""
}

// condition tells whether the condition is true in a status.
func condition(status map[string]any, typ string) bool {
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == typ {
			return c["status"] == "True"
		}
	}
	return false
}

func readNames(m map[string]any) names {
	return names{
		plural: text(m, "plural"), singular: text(m, "singular"),
		kind: text(m, "kind"), listKind: text(m, "listKind"),
		shortNames: texts(m["shortNames"]), categories: texts(m["categories"]),
	}
}

func (n names) equal(o names) bool {
	return n.plural == o.plural && n.singular == o.singular && n.kind == o.kind && n.listKind == o.listKind &&
		slices.Equal(n.shortNames, o.shortNames) && slices.Equal(n.categories, o.categories)
}

// resources and kinds are what no other definition of the group may take.
func (n names) resources() []string { return append([]string{n.plural, n.singular}, n.shortNames...) }
func (n names) kinds() []string     { return []string{n.kind, n.listKind} }

// texts returns the strings of a list.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, s := range list {
		if s, ok := s.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// selectable is a field selector label beyond name and namespace.
type selectable struct {
	label string
	path  []string
	or    []string // looked at if there is nothing at path; nil: nowhere else
	zero  string   // the value if there is none
}

// customSelectable reads a version's selectableFields, whose paths are simple
// ones such as .spec.color.
func customSelectable(v map[string]any) []selectable {
	list, _ := v["selectableFields"].([]any)
	var out []selectable
	for _, f := range list {
		f, _ := f.(map[string]any)
		if label := strings.TrimPrefix(text(f, "jsonPath"), "."); label != "" {
			out = append(out, selectable{label: label, path: strings.Split(label, ".")})
		}
	}
	return out
}

// inherit takes over the schemas that old has compiled and that have not
// changed: most changes of a definition are of its status.
func (d *definition) inherit(old *definition) {
	if old == nil {
		return
	}
	for version, l := range d.schemas {
		if before := old.schemas[version]; before != nil && bytes.Equal(before.raw, l.raw) {
			d.schemas[version] = before
		}
	}
}
