package kinds

import (
	"net/url"
	"strings"
)

// part is one object of an OpenAPI document.
type part = map[string]any

// Hash is the hash in the URL by which the index of OpenAPI names a document:
// the ETag without its quotes.
func (d *Document) Hash() string { return strings.Trim(d.ETag, `"`) }

// OpenAPIURL is where the document of a group and version is served as long as it
// is that one.
func OpenAPIURL(group, version string, d *Document) string {
	u := url.URL{Path: "/openapi/v3/" + openAPIPath(group, version), RawQuery: "hash=" + d.Hash()}
	return u.String()
}

// openAPIPath names a group and version in the index: "api/v1" or
// "apis/group/version". The API itself has the same path.
func openAPIPath(group, version string) string {
	if group == "" {
		return "api/" + version
	}
	return "apis/" + group + "/" + version
}

// OpenAPIIndex is the document of /openapi/v3: the URLs of the documents of all
// groups and versions, which are made for their hashes.
func (c *Catalog) OpenAPIIndex() (*Document, bool) {
	return c.openAPI.get(func() *Document {
		paths := part{}
		for _, g := range c.groups {
			for _, v := range g.versions {
				path := openAPIPath(g.name, v.version)
				paths[path] = part{"serverRelativeURL": OpenAPIURL(g.name, v.version, v.openAPIDocument(g.name))}
			}
		}
		return document(part{"paths": paths})
	}), true
}

// OpenAPIGroupVersion is the OpenAPI 3.0 document of one version of a group.
func (c *Catalog) OpenAPIGroupVersion(group, version string) (*Document, bool) {
	g, ok := c.groups[group]
	if !ok {
		return nil, false
	}
	v := g.version(version)
	if v == nil {
		return nil, false
	}
	return v.openAPIDocument(group), true
}

func (v *groupVersion) openAPIDocument(group string) *Document {
	return v.openAPI.get(func() *Document {
		b := newOpenAPI(group, v.version)
		for _, k := range v.kinds {
			b.kind(k)
		}
		return document(b.root())
	})
}

// openAPI collects one document.
type openAPI struct {
	group, version string
	paths, schemas part
	parameters     part
}

func newOpenAPI(group, version string) *openAPI {
	return &openAPI{group: group, version: version, paths: part{}, schemas: part{}, parameters: part{}}
}

// root is the document itself. JSON objects are marshalled in the order of
// their keys, so the same kinds give the same bytes.
func (b *openAPI) root() part {
	return part{
		"openapi": "3.0.0",
		"info":    part{"title": "Kubernetes", "version": apiVersion(b.group, b.version)},
		"paths":   b.paths,
		"components": part{
			"schemas": b.schemas, "parameters": b.parameters,
		},
	}
}

// kind adds a kind: its schema, that of its lists, and its paths.
func (b *openAPI) kind(k *Kind) {
	name := modelName(k)
	if k.Custom {
		b.schemas[name] = b.customSchema(k)
	} else {
		b.typeRef(k.rules.typ)
		identify(b.schemas[name].(part), k.Group, k.Version, k.Kind)
	}
	b.schemas[listName(k)] = b.listSchema(k, name)
	b.kindPaths(k, name)
}

// modelName names the schema of a kind: by its Go type, or by its group with
// the labels reversed.
func modelName(k *Kind) string {
	if !k.Custom {
		return typeName(k.rules.typ)
	}
	return reversed(k.Group) + "." + k.Version + "." + k.Kind
}

// listName names the schema of the lists of a kind.
func listName(k *Kind) string { return strings.TrimSuffix(modelName(k), k.Kind) + k.ListKind }

// listSchema is the schema of a list.
func (b *openAPI) listSchema(k *Kind, name string) part {
	properties := b.typeMeta()
	properties["metadata"] = described(b.typeRef(listMetaType), metadataDocs[true])
	properties["items"] = part{
		"type": "array", "items": schemaRef(name), "description": "List of " + k.Resource + ".",
	}
	s := part{
		"type": "object", "description": k.ListKind + " is a list of " + k.Kind + ".",
		"required": []string{"items"}, "properties": properties,
	}
	identify(s, k.Group, k.Version, k.ListKind)
	return s
}

// identify tells of which kind the objects of a schema are.
func identify(s part, group, version, kind string) {
	s[gvkExtension] = []part{gvk(group, version, kind)}
}

const gvkExtension = "x-kubernetes-group-version-kind"

func gvk(group, version, kind string) part {
	return part{"group": group, "version": version, "kind": kind}
}

// schemaRef refers to a schema of the document.
func schemaRef(name string) part { return part{"$ref": "#/components/schemas/" + name} }

// described gives a schema a description. One that is a reference must have
// nothing beside that, so it goes into an allOf.
func described(s part, doc string) part {
	if doc == "" {
		return s
	}
	if _, ok := s["$ref"]; ok {
		return part{"allOf": []part{s}, "description": doc}
	}
	s["description"] = doc
	return s
}
