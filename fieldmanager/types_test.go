package fieldmanager

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kronicle/kronicle/kinds"
)

func TestSchemasWrittenDownAreThoseOfClientGo(t *testing.T) {
	for _, of := range []interface{ OpenAPIModelName() string }{corev1.ConfigMap{}, corev1.Namespace{}, coordinationv1.Lease{}} {
		typ, err := builtins.Type(of)
		if err != nil {
			t.Fatal(err)
		}
		got := typ.shapes().object
		want := clientGo(t, of.OpenAPIModelName()).shapes().object
		for name, w := range want.fields {
			if name != "metadata" && !reflect.DeepEqual(got.fields[name], w) {
				t.Errorf("%s: %s: got %+v, want %+v", of.OpenAPIModelName(), name, got.fields[name], w)
			}
		}
		if len(got.fields) != len(want.fields) || got.element != nil {
			t.Errorf("%s: %d fields, want %d", of.OpenAPIModelName(), len(got.fields), len(want.fields))
		}
	}
}

// clientGo is a type as client-go has it.
func clientGo(t *testing.T, model string) *Type {
	t.Helper()
	if _, err := builtins.Type(corev1.Secret{}); err != nil { // reads it
		t.Fatal(err)
	}
	p := builtins.parser.Type(model)
	if !p.IsValid() {
		t.Fatalf("client-go has no %s", model)
	}
	return &Type{open: p, strict: p}
}

func TestMetadataOfCustomKindsMergesAsThatOfBuiltinKinds(t *testing.T) {
	want := clientGo(t, "io.k8s.api.core.v1.ConfigMap").shapes().object.field("metadata")
	got := mustType(t, `{"type":"object"}`).shapes().object.field("metadata")
	for name, w := range want.object.fields {
		g := got.object.fields[name]
		if name == "managedFields" && g != nil {
			continue // never walked
		}
		if g == nil || !reflect.DeepEqual(g, w) {
			t.Errorf("%s: got %+v, want %+v", name, g, w)
		}
	}
	if len(got.object.fields) != len(want.object.fields) {
		t.Errorf("%d fields, want %d", len(got.object.fields), len(want.object.fields))
	}
}

func TestBuiltinKindsStartOutAsTheirZeroValue(t *testing.T) {
	typ, err := builtins.Type(corev1.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{APIVersion: "v1", Kind: "Namespace", Type: typ})
	obj := parse(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`)
	if err := m.Update(nil, obj, Actor{Manager: "kubectl", Now: at(0)}); err != nil {
		t.Fatal(err)
	}
	// spec and status are there before the creation, so nobody owns them.
	if got := owners(t, listed(stored(t, obj))); !strings.HasSuffix(got, `{"f:spec":{"f:finalizers":{}},"f:status":{"f:phase":{}}}`+"\n") {
		t.Error(got)
	}
}

func TestDefinitionsOwnTheirVersionsAsAWhole(t *testing.T) {
	typ, err := builtins.Type(apiextensionsv1.CustomResourceDefinition{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Type: typ})
	obj := parse(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a"},
"spec":{"group":"g","scope":"Namespaced","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	obj, err = m.Apply(nil, obj, Actor{Manager: "kubectl", Now: at(0)}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := `kubectl Apply apiextensions.k8s.io/v1 / 2023-11-14T22:13:20Z {"f:spec":{"f:group":{},"f:names":{"f:kind":{},"f:plural":{}},"f:scope":{},"f:versions":{}}}` + "\n"
	if got := owners(t, listed(obj)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestDefinitionSchemaKnowsEveryField fails when the Go type gets a field that
// definitionSchema does not have.
func TestDefinitionSchemaKnowsEveryField(t *testing.T) {
	root := mustType(t, definitionSchema).strictShapes()
	var check func(s *shape, typ reflect.Type, path string)
	check = func(s *shape, typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
			if typ.Kind() == reflect.Slice && s != nil && s.list != nil {
				s = s.list.element
			}
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ.PkgPath() != "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1" || s.object == nil || s.object.deduced || len(s.object.fields) == 0 {
			return
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "metadata" {
				continue
			}
			if field := s.object.fields[name]; field == nil {
				t.Errorf("%s.%s is not in the schema", path, name)
			} else {
				check(field, typ.Field(i).Type, path+"."+name)
			}
		}
	}
	check(root, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](), "")
}

func TestSchemasThatCannotMergeAreRefused(t *testing.T) {
	for _, s := range []string{
		`{`, `{"properties":{"a":{"type":"array"}}}`, `{"properties":{"a":{"type":"tuple"}}}`,
		`{"properties":{"a":{"type":"array","items":{},"x-kubernetes-list-type":"map"}}}`,
		`{"properties":{"a":{"type":"array","items":{},"x-kubernetes-list-type":"heap"}}}`,
		`{"properties":{"a":{"type":"object","x-kubernetes-map-type":"heap"}}}`,
	} {
		var e *SchemaError
		if _, err := FromOpenAPI([]byte(s)); !errors.As(err, &e) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestWhatACreationWritesIsCanonical(t *testing.T) {
	m, obj := widgetManager(t), widget(t)
	if err := m.Update(nil, obj, Actor{Manager: "loadgen", Now: at(1)}); err != nil {
		t.Fatal(err)
	}
	first, _, err := kinds.Encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := kinds.DecodeJSON(first)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := kinds.Encode(again)
	if err != nil || string(first) != string(second) {
		t.Errorf("%v\n%s\n%s", err, first, second)
	}
}

func TestAManagerCanBeUsedByMany(t *testing.T) {
	m := widgetManager(t)
	live := widget(t)
	if err := m.Update(nil, live, Actor{Manager: "a", Now: at(1)}); err != nil {
		t.Fatal(err)
	}
	live = stored(t, live)
	before := render(live)
	config := parse(t, `{"apiVersion":"bench.kronicle.test/v1","kind":"Widget","metadata":{"name":"w-000001"},"spec":{"replicas":3}}`)
	var wg sync.WaitGroup
	for i := range 8 {
		obj := stored(t, live)
		child(obj, "spec")["revision"] = int64(i)
		wg.Go(func() {
			for range 20 {
				if err := m.Update(live, obj, Actor{Manager: "b", Now: at(2)}); err != nil {
					t.Error(err)
				}
				if _, err := m.Apply(live, config, Actor{Manager: "c", Now: at(2)}, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if render(live) != before {
		t.Error("the live object was changed")
	}
}

func TestTrackingAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	m := widgetManager(t)
	created := widget(t)
	by := Actor{Manager: "loadgen", Now: at(1)}
	if n := testing.AllocsPerRun(100, func() {
		delete(child(created, "metadata"), "managedFields")
		if err := m.Update(nil, created, by); err != nil {
			t.Fatal(err)
		}
	}); n > 16 {
		t.Errorf("a creation takes %v allocations", n)
	}
	live := stored(t, created)
	obj := stored(t, live)
	child(obj, "spec")["revision"] = int64(2)
	given := listed(obj)
	if n := testing.AllocsPerRun(100, func() {
		child(obj, "metadata")["managedFields"] = given
		if err := m.Update(live, obj, by); err != nil {
			t.Fatal(err)
		}
	}); n > 14 {
		t.Errorf("an update takes %v allocations", n)
	}
}
