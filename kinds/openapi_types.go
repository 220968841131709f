package kinds

import (
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	objectMetaType    = reflect.TypeFor[metav1.ObjectMeta]()
	listMetaType      = reflect.TypeFor[metav1.ListMeta]()
	typeMetaType      = reflect.TypeFor[metav1.TypeMeta]()
	statusType        = reflect.TypeFor[metav1.Status]()
	deleteOptionsType = reflect.TypeFor[metav1.DeleteOptions]()
)

// lenientTypes always write fields that may nevertheless be left out, which
// nothing in the Go type tells.
var lenientTypes = []reflect.Type{reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionStatus]()}

// typeRef adds the schema of a Go type, with those of all types it is made of,
// and returns the schema for a place where it is used.
func (b *openAPI) typeRef(t reflect.Type) part {
	if t.Kind() == reflect.Pointer {
		return b.typeRef(t.Elem())
	}
	if s, ok := ownSchema(t); ok {
		return s
	}
	switch t.Kind() {
	case reflect.Struct:
		name := typeName(t)
		if _, ok := b.schemas[name]; !ok {
			b.schemas[name] = nil // types may be recursive
			b.schemas[name] = b.structSchema(t)
		}
		return schemaRef(name)
	case reflect.Map:
		return part{"type": "object", "additionalProperties": b.typeRef(t.Elem())}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return part{"type": "string", "format": "byte"}
		}
		return part{"type": "array", "items": b.typeRef(t.Elem())}
	}
	return scalarPart(t)
}

// scalar is the schema of a type without parts.
func scalarPart(t reflect.Type) part {
	switch t.Kind() {
	case reflect.String:
		return part{"type": "string"}
	case reflect.Bool:
		return part{"type": "boolean"}
	case reflect.Int32:
		return part{"type": "integer", "format": "int32"}
	case reflect.Int, reflect.Int64:
		return part{"type": "integer", "format": "int64"}
	case reflect.Float32, reflect.Float64:
		return part{"type": "number", "format": "double"}
	}
	return part{} // an interface
}

// ownSchema is the schema of a type that says itself what its JSON is; one that
// names no type can be anything.
func ownSchema(t reflect.Type) (part, bool) {
	v, ok := reflect.Zero(t).Interface().(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	})
	if !ok {
		return nil, false
	}
	s := part{}
	if types := v.OpenAPISchemaType(); len(types) == 1 {
		s["type"] = types[0]
	}
	if format := v.OpenAPISchemaFormat(); format != "" {
		s["format"] = format
	}
	return s, true
}

// structSchema is the schema of a struct.
func (b *openAPI) structSchema(t reflect.Type) part {
	docs := docsOf(t)
	s := described(part{"type": "object"}, docs[""])
	properties, required := part{}, []string(nil)
	b.eachField(t, func(f reflect.StructField, name string, omit bool, doc string) {
		properties[name] = fieldSchema(described(b.typeRef(f.Type), doc), f.Tag)
		if !omit && !slices.Contains(lenientTypes, t) {
			required = append(required, name)
		}
	})
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// fieldSchema adds what the tag of a field says on how patches merge it.
func fieldSchema(s part, tag reflect.StructTag) part {
	if v := tag.Get("patchStrategy"); v != "" {
		s["x-kubernetes-patch-strategy"] = v
	}
	if v := tag.Get("patchMergeKey"); v != "" {
		s["x-kubernetes-patch-merge-key"] = v
	}
	return s
}

// eachField calls fn for every field of a struct that JSON has, those of
// inlined structs included.
func (b *openAPI) eachField(t reflect.Type, fn func(f reflect.StructField, name string, omit bool, doc string)) {
	docs := docsOf(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			b.eachField(f.Type, fn)
		case name != "":
			fn(f, name, strings.Contains(rest, "omitempty") || strings.Contains(rest, "omitzero"), docs[name])
		}
	}
}

// docsOf are the descriptions of a type's fields and, under "", of the type.
func docsOf(t reflect.Type) map[string]string {
	if v, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return v.SwaggerDoc()
	}
	return nil
}

// typeMeta are the fields that tell the kind of an object.
func (b *openAPI) typeMeta() part {
	properties := part{}
	b.eachField(typeMetaType, func(f reflect.StructField, name string, _ bool, doc string) {
		properties[name] = described(b.typeRef(f.Type), doc)
	})
	return properties
}

// typeName names the schema of a Go type by its package:
// k8s.io/api/core/v1.ConfigMap is io.k8s.api.core.v1.ConfigMap.
func typeName(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	return reversed(host) + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

// reversed reverses the labels of a host name.
func reversed(host string) string {
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
