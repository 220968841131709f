package kinds

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func doc(t *testing.T, d *Document, ok bool) string {
	t.Helper()
	if !ok {
		t.Fatal("no document")
	}
	if want := fmt.Sprintf(`"%X"`, sha512.Sum512(d.JSON)); d.ETag != want && d.ETag != "" {
		t.Errorf("ETag %s, want %s", d.ETag, want)
	}
	return string(d.JSON)
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", what, got, want)
	}
}

func TestLegacyDiscovery(t *testing.T) {
	r := NewRegistry()
	r.SetServerAddress("127.0.0.1:6443")
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	c := r.Current()
	d, ok := c.LegacyCore()
	same(t, "/api", doc(t, d, ok), `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:6443"}]}`)
	d, ok = c.LegacyGroups()
	golden(t, "apis.json", doc(t, d, ok)+"\n")
	d, ok = c.LegacyGroup("example.com")
	same(t, "/apis/example.com", doc(t, d, ok), `{"kind":"APIGroup","apiVersion":"v1","name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"},{"groupVersion":"example.com/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}`)
	d, ok = c.LegacyResources("", "v1")
	golden(t, "api-v1.json", doc(t, d, ok)+"\n")
	d, ok = c.LegacyResources("example.com", "v1")
	same(t, "/apis/example.com/v1", doc(t, d, ok), `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[`+
		`{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["wi"],"categories":["all"],"storageVersionHash":"`+storageVersionHash("example.com", "v1", "Widget")+`"},`+
		`{"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","update"]}]}`)
	for _, gv := range [][2]string{{"example.com", "v2"}, {"example.org", "v1"}, {"", "v2"}} {
		if _, ok := c.LegacyResources(gv[0], gv[1]); ok {
			t.Errorf("%v is served", gv)
		}
	}
	if _, ok := c.LegacyGroup(""); ok {
		t.Error("the core group is a group of /apis")
	}
}

func TestAggregatedDiscovery(t *testing.T) {
	r := NewRegistry()
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	c := r.Current()
	d, ok := c.AggregatedCore()
	golden(t, "api-aggregated.json", doc(t, d, ok)+"\n")
	d, ok = c.AggregatedGroups()
	got := doc(t, d, ok)
	var list apidiscoveryv2.APIGroupDiscoveryList
	decoder := json.NewDecoder(strings.NewReader(got))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		t.Fatal(err)
	}
	groups := map[string]apidiscoveryv2.APIGroupDiscovery{}
	for _, g := range list.Items {
		groups[g.Name] = g
	}
	same(t, "as the Go type marshals", got, string(fragment(list)))
	if crds := groups[DefinitionGroup].Versions[0].Resources[0]; fmt.Sprint(crds.Categories, crds.ShortNames) != "[api-extensions] [crd crds]" {
		t.Errorf("%+v", crds)
	}
	widgets := groups["example.com"]
	if widgets.Versions[0].Version != "v1" || widgets.Versions[1].Version != "v1beta1" || len(widgets.Versions[1].Resources[0].Subresources) != 0 {
		t.Errorf("%+v", widgets)
	}
}

func TestLegacyGroupsMarshalAsTheGoType(t *testing.T) {
	r := NewRegistry()
	d, ok := r.Current().LegacyGroups()
	got := doc(t, d, ok)
	var list metav1.APIGroupList
	if err := json.Unmarshal([]byte(got), &list); err != nil {
		t.Fatal(err)
	}
	same(t, "/apis", got, string(fragment(list)))
}

func TestGroupOrder(t *testing.T) {
	r := NewRegistry()
	for _, g := range []string{"z.example.com", "a.example.com", "m.example.com"} {
		define(t, r, definitionJSON("widgets", g, "Widget"))
	}
	got := []string{}
	r.Current().Kinds(func(k *Kind) bool {
		if k.Resource == "configmaps" || k.Group == DefinitionGroup || k.Resource == "leases" || k.Custom {
			got = append(got, k.APIVersion+"/"+k.Resource)
		}
		return len(got) < 6
	})
	same(t, "order", fmt.Sprint(got), "[v1/configmaps apiextensions.k8s.io/v1/customresourcedefinitions coordination.k8s.io/v1/leases "+
		"a.example.com/v1/widgets a.example.com/v1beta1/widgets m.example.com/v1/widgets]")
}

func TestVersionPriority(t *testing.T) {
	kinds := []*Kind{}
	for _, v := range []string{"v1", "v1alpha1", "v2beta1", "foo1", "v10", "v2", "v11beta2"} {
		kinds = append(kinds, &Kind{Group: "g", Version: v, Resource: "r", StorageVersion: "v1"})
	}
	got := []string{}
	for _, v := range newGroup("g", kinds, nil).versions {
		got = append(got, v.version)
	}
	same(t, "versions", fmt.Sprint(got), "[v10 v2 v1 v11beta2 v2beta1 v1alpha1 foo1]")
}

func TestChangeOfOneGroupKeepsTheOthers(t *testing.T) {
	r := NewRegistry()
	define(t, r, definitionJSON("widgets", "a.example.com", "Widget"))
	b := define(t, r, definitionJSON("widgets", "b.example.com", "Widget"))
	before := r.Current()
	old, _ := before.AggregatedGroups()
	if r.Current() != before {
		t.Error("the catalogue changes by itself")
	}
	set(t, r, b)
	after := r.Current()
	if after == before || after.groups["a.example.com"] != before.groups["a.example.com"] || after.groups[""] != before.groups[""] {
		t.Error("a group that did not change was made anew")
	}
	if after.groups["b.example.com"] == before.groups["b.example.com"] {
		t.Error("the changed group is the old one")
	}
	d, _ := after.AggregatedGroups()
	if !bytes.Equal(d.JSON, old.JSON) || d.ETag != old.ETag {
		t.Error("the same kinds give another document")
	}
	r.RemoveDefinition("widgets.b.example.com")
	if _, ok := before.Lookup("b.example.com", "v1", "widgets"); !ok {
		t.Error("a catalogue in use changed")
	}
	if _, ok := r.Current().Lookup("b.example.com", "v1", "widgets"); ok {
		t.Error("a definition that is gone is served")
	}
}

func TestVersionsCanBeSwitchedOff(t *testing.T) {
	r := NewRegistry()
	r.Current()
	if !r.SetServed("autoscaling", "v2", "", false) || r.SetServed("autoscaling", "v3", "", false) || !r.SetServed("batch", "v1", "jobs", false) {
		t.Error("found")
	}
	c := r.Current()
	if _, ok := c.Lookup("autoscaling", "v2", "horizontalpodautoscalers"); ok || c.HasGroupVersion("autoscaling", "v2") || !c.HasGroupVersion("autoscaling", "v1") {
		t.Error("a version that is off is served")
	}
	if k, ok := c.Storage("autoscaling", "horizontalpodautoscalers"); !ok || k.Version != "v2" {
		t.Error("the storage version is not known")
	}
	if _, ok := c.Lookup("batch", "v1", "jobs"); ok {
		t.Error("a resource that is off is served")
	}
	if _, ok := c.Lookup("batch", "v1", "cronjobs"); !ok {
		t.Error("one that is not off is not")
	}
	r.SetServed("batch", "v1", "", true)
	if _, ok := r.Current().Lookup("batch", "v1", "jobs"); !ok {
		t.Error("it stays off")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	r := NewRegistry()
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	if n := testing.AllocsPerRun(100, func() { r.Current().Lookup("example.com", "v1", "widgets") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLookupMisses(t *testing.T) {
	c := NewRegistry().Current()
	for _, s := range [][3]string{{"x", "v1", "configmaps"}, {"", "v2", "configmaps"}, {"", "v1", "bindings"}} {
		if _, ok := c.Lookup(s[0], s[1], s[2]); ok {
			t.Errorf("%v", s)
		}
	}
	if _, ok := c.Storage("x", "y"); ok || c.HasGroup("x") || c.HasGroupVersion("", "v2") || !c.HasGroupVersion("", "v1") {
		t.Error("storage or groups")
	}
	if _, ok := c.Storage("", "y"); ok {
		t.Error("storage")
	}
}

// manyDefinitions returns prepared definitions, ten to a group.
func manyDefinitions(tb testing.TB, n int) [][]byte {
	r := NewRegistry()
	obj := object(tb, definitionJSON("widgets", "example.com", "Widget"))
	if errs := r.PrepareDefinition(obj, nil, testTime); len(errs) > 0 {
		tb.Fatal(errs)
	}
	data, _, _ := Encode(obj)
	pad := `"description":"` + strings.Repeat("words that describe a field ", 700) + `",`
	text := strings.Replace(string(data), `"type":"object"`, pad+`"type":"object"`, 1)
	out := make([][]byte, n)
	for i := range out {
		s := strings.ReplaceAll(text, "example.com", fmt.Sprintf("g%03d.example.com", i/10))
		s = strings.ReplaceAll(s, "widget", fmt.Sprintf("widget%d", i))
		out[i] = []byte(strings.ReplaceAll(s, "Widget", fmt.Sprintf("Widget%d", i)))
	}
	return out
}

func TestThousandDefinitions(t *testing.T) {
	r := NewRegistry()
	for _, data := range manyDefinitions(t, 1000) {
		if err := r.SetDefinition(data); err != nil {
			t.Fatal(err)
		}
	}
	c := r.Current()
	if k, ok := c.Lookup("g099.example.com", "v1", "widget999s"); !ok || k.Kind != "Widget999" || !json.Valid(k.SchemaJSON()) {
		t.Fatalf("%+v", k)
	}
	if d, _ := c.AggregatedGroups(); strings.Count(string(d.JSON), `"resource":"widget`) != 2000 {
		t.Error("kinds are missing from discovery")
	}
}

func BenchmarkLookup(b *testing.B) {
	r := NewRegistry()
	for _, data := range manyDefinitions(b, 1000) {
		_ = r.SetDefinition(data)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Current().Lookup("g042.example.com", "v1", "widget420s")
	}
}

// BenchmarkLoadThousandDefinitions is what they cost at start; each is 20 KB.
func BenchmarkLoadThousandDefinitions(b *testing.B) {
	all := manyDefinitions(b, 1000)
	for b.Loop() {
		r := NewRegistry()
		for _, data := range all {
			_ = r.SetDefinition(data)
		}
		r.Current()
	}
}

// BenchmarkChangeOneOfThousand is a change and everyone's discovery after it.
func BenchmarkChangeOneOfThousand(b *testing.B) {
	r := NewRegistry()
	all := manyDefinitions(b, 1000)
	for _, data := range all {
		_ = r.SetDefinition(data)
	}
	r.Current().AggregatedGroups()
	for b.Loop() {
		_ = r.SetDefinition(all[500])
		r.Current().AggregatedGroups()
	}
}
