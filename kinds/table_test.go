package kinds

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func kind(t testing.TB, r *Registry, group, version, resource string) *Kind {
	t.Helper()
	k, ok := r.Current().Lookup(group, version, resource)
	if !ok {
		t.Fatalf("%s/%s %s is not served", group, version, resource)
	}
	return k
}

func TestColumnsAndCellsOfBuiltinKinds(t *testing.T) {
	r := NewRegistry()
	now := testTime.Add(5*time.Minute + 30*time.Second)
	for _, c := range []struct{ group, resource, columns, obj, cells string }{
		{"", "configmaps", "[Name:string Data:string Age:string]", `{"metadata":{"name":"a","creationTimestamp":"2026-11-20T10:00:00Z"},"data":{"a":"1","b":"2"},"binaryData":{"c":""}}`, `["a" 3 "5m30s"]`},
		{"", "namespaces", "[Name:string Status:string Age:string]", `{"metadata":{"name":"a"},"status":{"phase":"Active"}}`, `["a" "Active" "<unknown>"]`},
		{"coordination.k8s.io", "leases", "[Name:string Holder:string Age:string]", `{"metadata":{"name":"a","creationTimestamp":"2026-11-18T10:00:00Z"},"spec":{"holderIdentity":"me"}}`, `["a" "me" "2d"]`},
		{DefinitionGroup, DefinitionResource, "[Name:string Created At:date]", `{"metadata":{"name":"a","creationTimestamp":"2026-11-20T10:00:00Z"}}`, `["a" "2026-11-20T10:00:00Z"]`},
	} {
		k := kind(t, r, c.group, "v1", c.resource)
		columns := []string{}
		for _, col := range k.Columns {
			columns = append(columns, col.Name+":"+col.Type)
			if col.Description == "" {
				t.Errorf("%s: column %s has no description", c.resource, col.Name)
			}
		}
		same(t, c.resource, fmt.Sprint(columns), c.columns)
		cells, err := k.Cells([]byte(c.obj), now)
		if err != nil {
			t.Fatal(err)
		}
		same(t, c.resource, fmt.Sprintf("%#v", cells), `[]interface {}{`+cellText(c.cells)+`}`)
		if k.Columns[0].Format != "name" || k.Columns[0].Description != (metav1.ObjectMeta{}).SwaggerDoc()["name"] {
			t.Errorf("%+v", k.Columns[0])
		}
	}
}

// cellText turns ["a" 3] into what %#v writes.
func cellText(s string) string {
	out := ""
	quoted := false
	for _, c := range s[1 : len(s)-1] {
		if c == '"' {
			quoted = !quoted
		}
		if c == ' ' && !quoted {
			out += ", "
			continue
		}
		out += string(c)
	}
	return out
}

func TestColumnsAndCellsOfCustomKinds(t *testing.T) {
	r := NewRegistry()
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	k := kind(t, r, "example.com", "v1", "widgets")
	want := []Column{
		nameColumn(),
		{Name: "Phase", Type: "string", JSONPath: ".spec.phase", Description: "Custom resource definition column (in JSONPath format): .spec.phase"},
		{Name: "N", Type: "integer", Format: "int32", Priority: 1, JSONPath: ".spec.n", Description: "how many"},
		{Name: "Since", Type: "date", JSONPath: ".spec.since", Description: "Custom resource definition column (in JSONPath format): .spec.since"},
	}
	if !reflect.DeepEqual(k.Columns, want) {
		t.Errorf("%+v", k.Columns)
	}
	now := testTime.Add(5 * time.Minute)
	var wg sync.WaitGroup
	for _, c := range []struct {
		obj  string
		want []any
	}{
		{`{"metadata":{"name":"a"},"spec":{"phase":"New","n":3,"since":"2026-11-20T10:00:00Z"}}`, []any{"a", "New", int64(3), "5m"}},
		{`{"metadata":{"name":"a"},"spec":{"phase":7,"n":3.7,"since":"yesterday"}}`, []any{"a", "7", int64(3), "<invalid>"}},
		{`{"metadata":{"name":"a"},"spec":{"phase":{"b":[1]},"n":"x","since":5}}`, []any{"a", `{"b":[1]}`, nil, nil}},
		{`{"metadata":{"name":"a"},"spec":{"phase":true,"n":null}}`, []any{"a", "true", nil, nil}},
		{`{"metadata":{"name":"a"}}`, []any{"a", nil, nil, nil}},
	} {
		wg.Go(func() { // the compiled paths are shared
			got, err := k.Cells([]byte(c.obj), now)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %#v %v", c.obj, got, err)
			}
		})
	}
	wg.Wait()
	if _, err := k.Cells([]byte(`{`), now); err == nil {
		t.Error("cells of half an object")
	}
	beta := kind(t, r, "example.com", "v1beta1", "widgets")
	got, _ := beta.Cells([]byte(`{"metadata":{"name":"a","creationTimestamp":"2026-11-20T10:00:00Z"}}`), now)
	if !reflect.DeepEqual(got, []any{"a", "5m"}) || beta.Columns[1].Name != "Age" || beta.Columns[1].Type != "date" {
		t.Errorf("%v %+v", got, beta.Columns)
	}
}
