package kinds

import (
	"bytes"
	"encoding/json"
	"slices"
)

// metadataDocs describe the metadata of objects and, under true, of lists.
var metadataDocs = map[bool]string{
	false: "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
	true:  "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
}

// customSchema is the schema of a custom kind: the one of its definition, with
// the fields that every object has. A definition without a usable one gets an
// object that can have any fields.
func (b *openAPI) customSchema(k *Kind) part {
	s := decodeSchema(k.SchemaJSON())
	if s == nil || s["type"] != "object" {
		s = part{"type": "object"}
	} else {
		b.embed(s, 0)
		b.addObjectFields(s)
	}
	identify(s, k.Group, k.Version, k.Kind)
	return s
}

// decodeSchema decodes a schema with its numbers as they are written; nil if it
// is none.
func decodeSchema(data []byte) part {
	var s part
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&s) != nil {
		return nil
	}
	return s
}

// maxSchemaDepth is how deep schemas are searched for embedded resources.
const maxSchemaDepth = 1000

// embed adds to the schemas of embedded resources what every object has.
func (b *openAPI) embed(s part, depth int) {
	if depth > maxSchemaDepth {
		return
	}
	for _, p := range child(s, "properties") {
		if p, ok := p.(part); ok {
			b.embed(p, depth+1)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if p := child(s, key); p != nil {
			b.embed(p, depth+1)
		}
	}
	if depth == 0 || s["x-kubernetes-embedded-resource"] != true {
		return
	}
	b.addObjectFields(s)
	required := texts(s["required"])
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	s["required"] = required
}

// addObjectFields adds apiVersion, kind and metadata.
func (b *openAPI) addObjectFields(s part) {
	properties := child(s, "properties")
	if properties == nil {
		properties = part{}
		s["properties"] = properties
	}
	for name, p := range b.typeMeta() {
		properties[name] = p
	}
	properties["metadata"] = described(b.typeRef(objectMetaType), metadataDocs[false])
}
