package fieldmanager

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/schema"
)

// A shape is a type of the schema, compiled for walking decoded JSON. A value
// that is a scalar, a list or a map takes the part for it; a value for which
// there is no part does not fit.
type shape struct {
	scalar schema.Scalar // "": none
	list   *listShape
	object *mapShape
}

type listShape struct {
	element *shape
	atomic  bool
	keys    []listKey // in order of their names; none in a set
}

type listKey struct {
	name     string
	fallback any // the key's default, or nil
}

type mapShape struct {
	fields  map[string]*shape
	element *shape // of fields that have no shape of their own; nil: not allowed
	atomic  bool
	deduced bool // has no fields and takes any: its topology does not change
}

// field returns the shape of a field, or nil.
func (m *mapShape) field(name string) *shape {
	if s, ok := m.fields[name]; ok {
		return s
	}
	return m.element
}

type compiler struct {
	schema *schema.Schema
	named  map[string]*shape
}

func (c *compiler) compile(ref schema.TypeRef) *shape {
	if ref.NamedType != nil && ref.ElementRelationship == nil {
		if s := c.named[*ref.NamedType]; s != nil {
			return s
		}
	}
	atom, ok := c.schema.Resolve(ref)
	if !ok || atom == (schema.Atom{}) {
		return nil
	}
	s := &shape{}
	if ref.NamedType != nil && ref.ElementRelationship == nil {
		c.named[*ref.NamedType] = s
	}
	if atom.Scalar != nil {
		s.scalar = *atom.Scalar
	}
	if atom.List != nil {
		s.list = c.list(atom.List)
	}
	if atom.Map != nil {
		s.object = c.object(atom.Map)
	}
	return s
}

func (c *compiler) list(l *schema.List) *listShape {
	out := &listShape{element: c.compile(l.ElementType), atomic: l.ElementRelationship == schema.Atomic}
	if out.atomic {
		return out
	}
	element, _ := c.schema.Resolve(l.ElementType)
	for _, name := range l.Keys {
		key := listKey{name: name}
		if element.Map != nil {
			field, _ := element.Map.FindField(name)
			key.fallback = plainNumber(field.Default)
		}
		out.keys = append(out.keys, key)
	}
	slices.SortFunc(out.keys, func(a, b listKey) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return out
}

// plainNumber makes the integers of YAML those of JSON.
func plainNumber(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

func (c *compiler) object(m *schema.Map) *mapShape {
	out := &mapShape{
		fields:  make(map[string]*shape, len(m.Fields)),
		element: c.compile(m.ElementType),
		atomic:  m.ElementRelationship == schema.Atomic,
	}
	for _, f := range m.Fields {
		out.fields[f.Name] = c.compile(f.Type)
	}
	if t := m.ElementType; m.Fields == nil {
		if t.NamedType != nil {
			out.deduced = *t.NamedType == deducedName
		} else {
			out.deduced = t.Inlined.Scalar != nil && *t.Inlined.Scalar == schema.Untyped
		}
	}
	return out
}
