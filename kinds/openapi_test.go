package kinds_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kronicle/kronicle/kinds"
)

const teapots = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"teapots.example.org"},
"spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"teapots","singular":"teapot","kind":"Teapot","listKind":"Teaset"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","description":"Holds tea.",
"properties":{"metadata":{"type":"object"},"spec":{"type":"object","properties":{"cups":{"type":"integer","maximum":12345678901234567890,"minimum":1},
"price":{"type":"number","multipleOf":0.010},"label":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
"inside":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"required":["kind"]}}}}}}}},
{"name":"v1alpha1","served":true,"storage":false,"deprecated":true}]},
"status":{"acceptedNames":{"plural":"teapots","singular":"teapot","kind":"Teapot","listKind":"Teaset"},
"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}],"storedVersions":["v1"]}}`

// catalogWith is the catalogue of the built-in kinds and definitions.
func catalogWith(t *testing.T, definitions ...string) *kinds.Catalog {
	t.Helper()
	r := kinds.NewRegistry()
	for _, d := range definitions {
		if err := r.SetDefinition([]byte(d)); err != nil {
			t.Fatal(err)
		}
	}
	return r.Current()
}

// openAPI returns a document decoded.
func openAPI(t *testing.T, c *kinds.Catalog, group, version string) map[string]any {
	t.Helper()
	doc, ok := c.OpenAPIGroupVersion(group, version)
	if !ok {
		t.Fatalf("no document of %q %q", group, version)
	}
	var m map[string]any
	if err := json.Unmarshal(doc.JSON, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// pick follows keys into nested objects.
func pick(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func TestOpenAPIHasAnOperationForEveryVerb(t *testing.T) {
	c := catalogWith(t, teapots)
	c.Kinds(func(k *kinds.Kind) bool {
		actions := map[string]bool{}
		paths, _ := openAPI(t, c, k.Group, k.Version)["paths"].(map[string]any)
		for _, item := range paths {
			for _, op := range item.(map[string]any) {
				if pick(op, "x-kubernetes-group-version-kind", "kind") == k.Kind {
					actions[pick(op, "x-kubernetes-action").(string)] = true
				}
			}
		}
		for _, verb := range k.Verbs {
			if a, ok := map[string]string{"create": "post", "update": "put", "watch": "list"}[verb]; ok {
				verb = a
			}
			if !actions[verb] {
				t.Errorf("%s has no operation for %s", k.Kind, verb)
			}
		}
		return true
	})
}

func TestOpenAPIReferencesResolve(t *testing.T) {
	c := catalogWith(t, teapots)
	c.Kinds(func(k *kinds.Kind) bool {
		doc := openAPI(t, c, k.Group, k.Version)
		ids := map[string]bool{}
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					walk(e)
				}
			case map[string]any:
				if ref, ok := v["$ref"].(string); ok {
					if pick(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...) == nil || len(v) != 1 {
						t.Errorf("%s: %v", k.Kind, v)
					}
				}
				if id, ok := v["operationId"].(string); ok {
					if ids[id] {
						t.Errorf("two operations are %s", id)
					}
					ids[id] = true
				}
				for _, e := range v {
					walk(e)
				}
			}
		}
		walk(doc)
		return true
	})
}

// The parser of the protobuf form refuses what is no OpenAPI 3.0.
func TestOpenAPIDocumentsParse(t *testing.T) {
	c := catalogWith(t, teapots)
	c.Kinds(func(k *kinds.Kind) bool {
		if data, err := c.OpenAPIProtobuf(k.Group, k.Version); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", k.Kind, len(data), err)
		}
		return true
	})
	if _, err := c.OpenAPIProtobuf("nothing", "v1"); err == nil {
		t.Error("a group that is not served has a document")
	}
}

func TestOpenAPISchemasOfCustomKinds(t *testing.T) {
	c := catalogWith(t, teapots)
	doc := openAPI(t, c, "example.org", "v1")
	s := pick(doc, "components", "schemas", "org.example.v1.Teapot")
	if pick(s, "description") != "Holds tea." || pick(s, "properties", "kind", "type") != "string" || pick(s, "properties", "metadata", "allOf") == nil {
		t.Errorf("schema: %v", s)
	}
	inside, _ := pick(s, "properties", "spec", "properties", "inside", "items").(map[string]any)
	if r, _ := inside["required"].([]any); len(r) != 2 || pick(inside, "properties", "metadata") == nil {
		t.Errorf("embedded resource: %v", inside)
	}
	if raw, _ := c.OpenAPIGroupVersion("example.org", "v1"); !bytes.Contains(raw.JSON, []byte("12345678901234567890")) {
		t.Error("a number of the schema is another one")
	}
	if pick(doc, "components", "schemas", "org.example.v1.Teaset", "properties", "items") == nil {
		t.Error("no schema of lists")
	}
	bare := pick(openAPI(t, c, "example.org", "v1alpha1"), "components", "schemas", "org.example.v1alpha1.Teapot")
	if pick(bare, "type") != "object" || pick(bare, "properties") != nil {
		t.Errorf("without a schema any field is good: %v", bare)
	}
}

func TestOpenAPIOfAGroupStaysWhileOthersChange(t *testing.T) {
	r := kinds.NewRegistry()
	before, _ := r.Current().OpenAPIGroupVersion("", "v1")
	index, _ := r.Current().OpenAPIIndex()
	if err := r.SetDefinition([]byte(teapots)); err != nil {
		t.Fatal(err)
	}
	after, _ := r.Current().OpenAPIGroupVersion("", "v1")
	next, _ := r.Current().OpenAPIIndex()
	if before != after || index.ETag == next.ETag {
		t.Error("a definition must change the index and only its own group's document")
	}
	if !bytes.Contains(next.JSON, []byte(`"apis/example.org/v1":{"serverRelativeURL":"/openapi/v3/apis/example.org/v1?hash=`)) {
		t.Errorf("index: %s", next.JSON)
	}
}

func BenchmarkOpenAPI(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if doc, ok := kinds.NewRegistry().Current().OpenAPIGroupVersion("apiextensions.k8s.io", "v1"); !ok || len(doc.JSON) == 0 {
			b.Fatal("no document")
		}
	}
}

func BenchmarkOpenAPIProtobuf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := kinds.NewRegistry().Current().OpenAPIProtobuf("apiextensions.k8s.io", "v1"); err != nil {
			b.Fatal(err)
		}
	}
}
