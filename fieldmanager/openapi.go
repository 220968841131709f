package fieldmanager

import (
	"fmt"
	"slices"
	"strings"

	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v4/schema"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
)

// FromOpenAPI makes the type of a custom kind from the openAPIV3Schema of its
// definition, which must be structural. Without a schema it is Deduced.
func FromOpenAPI(openAPIV3Schema []byte) (*Type, error) {
	if len(openAPIV3Schema) == 0 {
		return Deduced(), nil
	}
	var root map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(openAPIV3Schema, &root); err != nil {
		return nil, &SchemaError{Path: "root", What: err.Error()}
	}
	open, err := openAPIType(root, true)
	if err != nil {
		return nil, err
	}
	strict, err := openAPIType(root, false)
	if err != nil {
		return nil, err
	}
	return &Type{open: open, strict: strict}, nil
}

const rootName = "object"

func openAPIType(root map[string]any, open bool) (typed.ParseableType, error) {
	c := &converter{open: open}
	properties := copyMap(child(root, "properties"))
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(properties, name)
	}
	root = copyMap(root)
	root["properties"], root["type"] = properties, "object"
	root["x-kubernetes-embedded-resource"] = true
	atom := c.atom(root, false, "root")
	if c.err != nil {
		return typed.ParseableType{}, c.err
	}
	p := typed.Parser{Schema: schema.Schema{Types: append(commonTypes(), objectMeta(), ownerReference(), schema.TypeDef{Name: rootName, Atom: atom})}}
	return p.Type(rootName), nil
}

// converter makes types of structural schemas; the first error stays.
type converter struct {
	open bool
	err  error
}

func (c *converter) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = &SchemaError{Path: path, What: fmt.Sprintf(format, args...)}
	}
}

// atom makes the type of a schema; keep tells that unknown fields are kept
// here, by this schema or one around it.
func (c *converter) atom(s map[string]any, keep bool, path string) schema.Atom {
	keep = keep || s["x-kubernetes-preserve-unknown-fields"] == true
	typ, _ := s["type"].(string)
	switch typ {
	case "":
		a := scalar(schema.Untyped)
		a.List, a.Map = c.list(s, keep, path), c.object(s, keep, path)
		return a
	case "object":
		return schema.Atom{Map: c.object(s, keep, path)}
	case "array":
		if child(s, "items") == nil {
			c.fail(path, "a list without items")
		}
		return schema.Atom{List: c.list(s, keep, path)}
	case "integer", "number":
		return scalar(schema.Numeric)
	case "boolean":
		return scalar(schema.Boolean)
	case "string":
		if format, _ := s["format"].(string); format != "" && format != "byte" {
			return scalar(schema.Untyped)
		}
		return scalar(schema.String)
	}
	c.fail(path, "unknown type %q", typ)
	return schema.Atom{}
}

func (c *converter) object(s map[string]any, keep bool, path string) *schema.Map {
	m := &schema.Map{}
	properties := child(s, "properties")
	for _, name := range sortedKeys(properties) {
		member, _ := properties[name].(map[string]any)
		m.Fields = append(m.Fields, schema.StructField{
			Name: name, Type: inline(c.atom(member, keep, path+"."+name)), Default: member["default"],
		})
	}
	switch additional := s["additionalProperties"].(type) {
	case nil:
		if keep || c.open || len(properties) == 0 {
			m.ElementType = named(deducedName)
		}
	case map[string]any:
		m.ElementType = inline(c.atom(additional, keep, path+".*"))
	case bool:
		if additional || c.open {
			m.ElementType = named(deducedName)
		}
	}
	if s["x-kubernetes-embedded-resource"] == true {
		embed(m)
	}
	switch s["x-kubernetes-map-type"] {
	case nil:
	case "atomic":
		m.ElementRelationship = schema.Atomic
	case "granular":
		m.ElementRelationship = schema.Separable
	default:
		c.fail(path, "unknown map type %v", s["x-kubernetes-map-type"])
	}
	return m
}

// embed gives a struct the fields that every object has.
func embed(m *schema.Map) {
	m.Fields = slices.DeleteFunc(m.Fields, func(f schema.StructField) bool {
		return f.Name == "apiVersion" || f.Name == "kind" || f.Name == "metadata"
	})
	text := inline(scalar(schema.String))
	m.Fields = append(m.Fields,
		schema.StructField{Name: "apiVersion", Type: text},
		schema.StructField{Name: "kind", Type: text},
		schema.StructField{Name: "metadata", Type: named(metaName)})
}

func (c *converter) list(s map[string]any, keep bool, path string) *schema.List {
	l := &schema.List{ElementRelationship: schema.Atomic, ElementType: named(atomicName)}
	if items := child(s, "items"); items != nil {
		l.ElementType = inline(c.atom(items, keep, path+"[]"))
	}
	switch s["x-kubernetes-list-type"] {
	case nil, "atomic":
	case "set":
		l.ElementRelationship = schema.Associative
	case "map":
		l.ElementRelationship = schema.Associative
		keys, _ := s["x-kubernetes-list-map-keys"].([]any)
		for _, k := range keys {
			if k, ok := k.(string); ok {
				l.Keys = append(l.Keys, k)
			}
		}
		if len(l.Keys) == 0 {
			c.fail(path, "a list of type map without keys")
		}
	default:
		c.fail(path, "unknown list type %v", s["x-kubernetes-list-type"])
	}
	return l
}

const (
	metaName  = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	ownerName = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"
)

// objectMeta is the type of every object's metadata. It is written down here
// because reading it out of the types of all built-in kinds takes long.
func objectMeta() schema.TypeDef {
	text, number, untyped := inline(scalar(schema.String)), inline(scalar(schema.Numeric)), inline(scalar(schema.Untyped))
	texts := inline(schema.Atom{Map: &schema.Map{ElementType: text}})
	f := func(name string, t schema.TypeRef) schema.StructField { return schema.StructField{Name: name, Type: t} }
	return schema.TypeDef{Name: metaName, Atom: schema.Atom{Map: &schema.Map{Fields: []schema.StructField{
		f("annotations", texts),
		f("creationTimestamp", untyped),
		f("deletionGracePeriodSeconds", number),
		f("deletionTimestamp", untyped),
		f("finalizers", inline(schema.Atom{List: &schema.List{ElementType: text, ElementRelationship: schema.Associative}})),
		f("generateName", text),
		f("generation", number),
		f("labels", texts),
		f("managedFields", inline(schema.Atom{List: &schema.List{ElementType: named(atomicName), ElementRelationship: schema.Atomic}})),
		f("name", text),
		f("namespace", text),
		f("ownerReferences", inline(schema.Atom{List: &schema.List{
			ElementType: named(ownerName), ElementRelationship: schema.Associative, Keys: []string{"uid"}}})),
		f("resourceVersion", text),
		f("selfLink", text),
		f("uid", text),
	}}}}
}

func ownerReference() schema.TypeDef {
	m := &schema.Map{ElementRelationship: schema.Atomic}
	for name, kind := range map[string]schema.Scalar{
		"apiVersion": schema.String, "blockOwnerDeletion": schema.Boolean, "controller": schema.Boolean,
		"kind": schema.String, "name": schema.String, "uid": schema.String,
	} {
		field := schema.StructField{Name: name, Type: inline(scalar(kind))}
		if kind == schema.String {
			field.Default = ""
		}
		m.Fields = append(m.Fields, field)
	}
	slices.SortFunc(m.Fields, func(a, b schema.StructField) int { return strings.Compare(a.Name, b.Name) })
	return schema.TypeDef{Name: ownerName, Atom: schema.Atom{Map: m}}
}
