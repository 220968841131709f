package fieldmanager

import (
	"fmt"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v4/schema"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Type is how the objects of a kind in one version merge: which lists are sets
// or maps, which maps are owned as a whole. It is immutable and made once for
// each schema.
type Type struct {
	// open takes fields that the schema does not name as deduced ones, so
	// that an object is tracked whatever it holds. strict refuses them.
	open, strict typed.ParseableType
	// zero is what an object is before its creation.
	zero map[string]any

	once, strictOnce sync.Once
	root, strictRoot *shape
}

// Deduced is the type of objects without a schema: every map is granular and
// every list is owned as a whole.
func Deduced() *Type {
	return &Type{open: typed.DeducedParseableType, strict: typed.DeducedParseableType}
}

// shapes returns the compiled form of the type.
func (t *Type) shapes() *shape {
	t.once.Do(func() {
		c := compiler{schema: t.open.Schema, named: map[string]*shape{}}
		t.root = c.compile(t.open.TypeRef)
	})
	return t.root
}

// strictShapes is shapes without the fields that the schema does not know.
func (t *Type) strictShapes() *shape {
	t.strictOnce.Do(func() {
		c := compiler{schema: t.strict.Schema, named: map[string]*shape{}}
		t.strictRoot = c.compile(t.strict.TypeRef)
	})
	return t.strictRoot
}

// live wraps a stored object, duplicates in its lists included.
func (t *Type) live(obj map[string]any) (*typed.TypedValue, error) {
	return t.open.FromUnstructured(obj, typed.AllowDuplicates)
}

// tracked wraps an object without looking at it: what is wrong with it shows,
// if it matters, when it is compared.
func (t *Type) tracked(obj map[string]any) *typed.TypedValue {
	return typed.AsTypedUnvalidated(value.NewValueInterface(obj), t.open.Schema, t.open.TypeRef)
}

// applied wraps an applied configuration, of which the schema must know every
// field.
func (t *Type) applied(obj map[string]any) (*typed.TypedValue, error) {
	if _, err := t.strict.FromUnstructured(obj); err != nil {
		return nil, err
	}
	return t.tracked(obj), nil
}

// Names of the types that every schema has.
const (
	atomicName  = "__untyped_atomic_"
	deducedName = "__untyped_deduced_"
)

func named(name string) schema.TypeRef { return schema.TypeRef{NamedType: &name} }

func scalar(s schema.Scalar) schema.Atom { return schema.Atom{Scalar: &s} }

func inline(a schema.Atom) schema.TypeRef { return schema.TypeRef{Inlined: a} }

// commonTypes are the two types of values that no schema describes: owned as a
// whole, and with every field owned on its own.
func commonTypes() []schema.TypeDef {
	untyped := func(element string, relationship schema.ElementRelationship) schema.Atom {
		a := scalar(schema.Untyped)
		a.List = &schema.List{ElementType: named(atomicName), ElementRelationship: schema.Atomic}
		a.Map = &schema.Map{ElementType: named(element), ElementRelationship: relationship}
		return a
	}
	return []schema.TypeDef{
		{Name: atomicName, Atom: untyped(atomicName, schema.Atomic)},
		{Name: deducedName, Atom: untyped(deducedName, schema.Separable)},
	}
}

// A SchemaError tells what a type could not be made of.
type SchemaError struct {
	Path string // of the schema
	What string
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("merge type of schema %s: %s", e.Path, e.What)
}
