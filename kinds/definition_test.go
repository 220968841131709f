package kinds

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

var testTime = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// object decodes a test's JSON.
func object(t testing.TB, s string) map[string]any {
	t.Helper()
	obj, strict, err := DecodeJSON([]byte(s))
	if err != nil || strict != nil {
		t.Fatalf("%v %v: %s", err, strict, s)
	}
	return obj
}

// definitionJSON is a definition of widgets in v1beta1 and v1, the stored one.
func definitionJSON(plural, group, kind string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.%[2]s"},
	"spec":{"group":"%[2]s","scope":"Namespaced","names":{"plural":"%[1]s","kind":"%[3]s","shortNames":["%[4]s"],"categories":["all"]},
	"versions":[
	{"name":"v1beta1","served":true,"storage":false,"deprecated":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
	{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
	 "additionalPrinterColumns":[
	  {"name":"Phase","type":"string","jsonPath":".spec.phase"},
	  {"name":"N","type":"integer","jsonPath":".spec.n","priority":1,"description":"how many","format":"int32"},
	  {"name":"Since","type":"date","jsonPath":".spec.since"}],
	 "selectableFields":[{"jsonPath":".spec.phase"}],
	 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
	  "phase":{"type":"string","default":"New"},"n":{"type":"integer"},"since":{"type":"string"}}}}}}}]}}`,
		plural, group, kind, strings.ToLower(kind)[:2])
}

// define prepares a definition and gives it to the registry.
func define(t testing.TB, r *Registry, s string) map[string]any {
	t.Helper()
	obj := object(t, s)
	k, _ := r.Current().Lookup(DefinitionGroup, "v1", DefinitionResource)
	if err := k.CheckTypes(obj); err != nil {
		t.Fatal(err)
	}
	if errs := r.PrepareDefinition(obj, nil, testTime); len(errs) > 0 {
		t.Fatal(errs)
	}
	set(t, r, obj)
	return obj
}

func set(t testing.TB, r *Registry, obj map[string]any) {
	t.Helper()
	data, _, err := Encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetDefinition(data); err != nil {
		t.Fatal(err)
	}
}

func TestPrepareDefinitionSetsDefaultsAndStatus(t *testing.T) {
	r := NewRegistry()
	obj := define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	want := object(t, `{"acceptedNames":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList","shortNames":["wi"],"categories":["all"]},
	"conditions":[
	{"type":"NamesAccepted","status":"True","reason":"NoConflicts","message":"no conflicts found","lastTransitionTime":"2026-11-20T10:00:00Z"},
	{"type":"Established","status":"True","reason":"InitialNamesAccepted","message":"the initial names have been accepted","lastTransitionTime":"2026-11-20T10:00:00Z"}],
	"storedVersions":["v1"]}`)
	if got := child(obj, "status"); !reflect.DeepEqual(got, want) {
		t.Errorf("status %v\nwant %v", got, want)
	}
	spec := child(obj, "spec")
	if n := child(spec, "names"); n["singular"] != "widget" || n["listKind"] != "WidgetList" {
		t.Errorf("names %v", n)
	}
	if c := child(spec, "conversion"); c["strategy"] != "None" {
		t.Errorf("conversion %v", c)
	}
}

func TestPrepareDefinitionReportsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ change, to, want string }{
		"name":     {`"name":"widgets.example.com"`, `"name":"gadgets.example.com"`, `metadata.name: Invalid value: "gadgets.example.com": must be spec.names.plural+"."+spec.group`},
		"no store": {`"storage":true`, `"storage":false`, `must have exactly one version marked as storage version`},
		"schema":   {`"n":{"type":"integer"}`, `"n":{"type":"whole"}`, `Unsupported value: "whole": supported values: "array", "boolean"`},
		"scope":    {`"Namespaced"`, `"Everywhere"`, `spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"`},
		"group":    {`"group":"example.com"`, `"group":"x"`, `spec.group: Invalid value: "x": should be a domain with at least one dot`},
		"rule":     {`"n":{"type":"integer"}`, `"n":{"type":"integer","x-kubernetes-validations":[{"rule":"self ++ 1"}]}`, `x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self ++ 1"`},
		"column":   {`".spec.n"`, `"spec n"`, `additionalPrinterColumns[1].JSONPath: Invalid value: "spec n"`},
	} {
		obj := object(t, strings.Replace(definitionJSON("widgets", "example.com", "Widget"), c.change, c.to, 1))
		before := fmt.Sprint(obj)
		errs := NewRegistry().PrepareDefinition(obj, nil, testTime)
		if !strings.Contains(fmt.Sprint(errs.ToAggregate()), c.want) {
			t.Errorf("%s: %v", name, errs)
		}
		if fmt.Sprint(obj) != before {
			t.Errorf("%s: a refused definition was changed", name)
		}
	}
	if errs := NewRegistry().PrepareDefinition(object(t, `{"metadata":{"name":"x"},"spec":{"versions":"v1"}}`), nil, testTime); len(errs) == 0 {
		t.Error("a definition of the wrong type was accepted")
	}
}

func TestUpdateKeepsWhatTheDefinitionHas(t *testing.T) {
	r := NewRegistry()
	old := define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	same := object(t, definitionJSON("widgets", "example.com", "Widget"))
	later := testTime.Add(time.Hour)
	if errs := r.PrepareDefinition(same, old, later); len(errs) > 0 {
		t.Fatal(errs)
	}
	if !reflect.DeepEqual(same["status"], old["status"]) || !reflect.DeepEqual(same["spec"], old["spec"]) {
		t.Errorf("an update that changes nothing gives\n%v\nnot\n%v", same, old)
	}
	moved := object(t, strings.NewReplacer(`"storage":true`, `"storage":false`, `"storage":false`, `"storage":true`).Replace(definitionJSON("widgets", "example.com", "Widget")))
	if errs := r.PrepareDefinition(moved, old, later); len(errs) > 0 {
		t.Fatal(errs)
	}
	if got := fmt.Sprint(child(moved, "status")["storedVersions"]); got != "[v1 v1beta1]" {
		t.Errorf("stored versions %s", got)
	}
	set(t, r, moved)
	k, _ := r.Current().Lookup("example.com", "v1", "widgets")
	if k.StorageVersion != "v1beta1" || k.StorageVersionHash != storageVersionHash("example.com", "v1beta1", "Widget") {
		t.Errorf("storage version %s", k.StorageVersion)
	}
	other := object(t, definitionJSON("widgets", "example.com", "Gizmo"))
	if errs := r.PrepareDefinition(other, old, later); !strings.Contains(fmt.Sprint(errs), "field is immutable") {
		t.Errorf("the kind of an established definition may change: %v", errs)
	}
}

func TestConflictingNamesAreNotServed(t *testing.T) {
	for _, c := range []struct{ name, change, to, reason, message string }{
		{"kind", `"kind":"Gadget"`, `"kind":"Widget","singular":"gadget","listKind":"GadgetList"`, "KindConflict", `"Widget" is already in use`},
		{"list kind", `"kind":"Gadget"`, `"kind":"Gadget","listKind":"WidgetList"`, "ListKindConflict", `"WidgetList" is already in use`},
		{"singular", `"kind":"Gadget"`, `"kind":"Gadget","singular":"widgets"`, "SingularConflict", `"widgets" is already in use`},
		{"short", `["ga"]`, `["ga","wi","widget"]`, "ShortNamesConflict", `["wi" is already in use, "widget" is already in use]`},
	} {
		r := NewRegistry()
		define(t, r, definitionJSON("widgets", "example.com", "Widget"))
		second := strings.Replace(definitionJSON("gadgets", "example.com", "Gadget"), c.change, c.to, 1)
		obj := define(t, r, second)
		conditions := fmt.Sprint(child(obj, "status")["conditions"])
		if !strings.Contains(conditions, "reason:"+c.reason) || !strings.Contains(conditions, "message:"+c.message) ||
			!strings.Contains(conditions, "message:not all names are accepted reason:NotAccepted status:False") {
			t.Errorf("%s: %s", c.name, conditions)
		}
		if _, ok := r.Current().Lookup("example.com", "v1", "gadgets"); ok {
			t.Errorf("%s: served", c.name)
		}
		if got := fmt.Sprint(r.Conflicted("example.com")); got != "[gadgets.example.com]" {
			t.Errorf("%s: conflicted %s", c.name, got)
		}
		r.RemoveDefinition("widgets.example.com")
		again := object(t, second)
		if errs := r.PrepareDefinition(again, obj, testTime); len(errs) > 0 {
			t.Fatal(errs)
		}
		set(t, r, again)
		if _, ok := r.Current().Lookup("example.com", "v1", "gadgets"); !ok || len(r.Conflicted("example.com")) > 0 {
			t.Errorf("%s: still not served when the names are free: %v", c.name, again["status"])
		}
	}
}

func TestPluralConflict(t *testing.T) {
	r := NewRegistry()
	define(t, r, strings.Replace(definitionJSON("widgets", "example.com", "Widget"), `["wi"]`, `["gadgets"]`, 1))
	obj := define(t, r, definitionJSON("gadgets", "example.com", "Gadget"))
	if s := fmt.Sprint(obj["status"]); !strings.Contains(s, `message:"gadgets" is already in use reason:PluralConflict`) {
		t.Error(s)
	}
}

func TestBuiltinNamesAreTaken(t *testing.T) {
	r := NewRegistry()
	s := strings.Replace(definitionJSON("things", "coordination.k8s.io", "Lease"), `"metadata":{`,
		`"metadata":{"annotations":{"api-approved.kubernetes.io":"https://github.com/kubernetes/kubernetes/pull/1"},`, 1)
	if s := fmt.Sprint(define(t, r, s)["status"]); !strings.Contains(s, "KindConflict") && !strings.Contains(s, "SingularConflict") {
		t.Error(s)
	}
	if k, ok := r.Current().Lookup("coordination.k8s.io", "v1", "leases"); !ok || k.Custom {
		t.Error("leases are gone")
	}
}

func TestCustomKind(t *testing.T) {
	r := NewRegistry()
	define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	k, ok := r.Current().Lookup("example.com", "v1", "widgets")
	if !ok {
		t.Fatal("not served")
	}
	if !k.Custom || !k.Namespaced || !k.HasStatus || !k.Generation || k.CreateOnUpdate || k.UnconditionalUpdate || k.ReturnsDeleted || k.Terminating || k.Deprecated {
		t.Errorf("%+v", k)
	}
	if k.APIVersion != "example.com/v1" || k.Singular != "widget" || k.ListKind != "WidgetList" || k.StorageVersion != "v1" {
		t.Errorf("%+v", k)
	}
	if got := strings.Join(k.Verbs, " "); got != "delete deletecollection get list patch create update watch" {
		t.Error(got)
	}
	if !json.Valid(k.SchemaJSON()) || !strings.Contains(string(k.SchemaJSON()), `"phase"`) {
		t.Errorf("schema %s", k.SchemaJSON())
	}
	if got := fmt.Sprint(k.FieldLabels()); got != "[metadata.name metadata.namespace spec.phase]" {
		t.Error(got)
	}
	obj := object(t, `{"metadata":{"name":"a","namespace":"n"},"spec":{"phase":"New"}}`)
	for label, want := range map[string]string{"metadata.name": "a", "metadata.namespace": "n", "spec.phase": "New"} {
		if got, ok := k.Field(obj, label); !ok || got != want {
			t.Errorf("%s: %q %v", label, got, ok)
		}
	}
	for value, want := range map[string]string{`true`: "true", `false`: "false", `5`: "5", `null`: "", `{}`: ""} {
		if got, ok := k.Field(object(t, `{"spec":{"phase":`+value+`}}`), "spec.phase"); !ok || got != want {
			t.Errorf("%s is selected as %q", value, got)
		}
	}
	if _, ok := k.Field(obj, "spec.x"); ok {
		t.Error("spec.x is selectable")
	}
	beta, _ := r.Current().Lookup("example.com", "v1beta1", "widgets")
	if !beta.Deprecated || beta.DeprecationWarning != "example.com/v1beta1 Widget is deprecated" || beta.HasStatus {
		t.Errorf("%+v", beta)
	}
	if s, _ := r.Current().Storage("example.com", "widgets"); s != k {
		t.Errorf("storage %+v", s)
	}
	if len(k.ValidateName("a.b-c")) > 0 || len(k.ValidateName("A")) == 0 || len(k.ValidateGenerateName("a-")) > 0 {
		t.Error("names")
	}
}

func TestTerminatingDefinition(t *testing.T) {
	r := NewRegistry()
	obj := define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	for range 2 {
		if err := TerminateDefinition(obj, testTime); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(child(obj, "metadata")["finalizers"]); got != "[customresourcecleanup.apiextensions.k8s.io]" {
		t.Error(got)
	}
	set(t, r, obj)
	k, ok := r.Current().Lookup("example.com", "v1", "widgets")
	if !ok || !k.Terminating || strings.Join(k.Verbs, " ") != "delete deletecollection get list watch" {
		t.Errorf("%+v", k)
	}
	r.RemoveDefinition("widgets.example.com")
	r.RemoveDefinition("widgets.example.com")
	if r.Current().HasGroup("example.com") {
		t.Error("the group is still there")
	}
}

func TestUnservedStorageVersionIsKnown(t *testing.T) {
	r := NewRegistry()
	define(t, r, strings.Replace(definitionJSON("widgets", "example.com", "Widget"), `"name":"v1","served":true`, `"name":"v1","served":false`, 1))
	c := r.Current()
	if _, ok := c.Lookup("example.com", "v1", "widgets"); ok {
		t.Error("v1 is served")
	}
	if k, ok := c.Storage("example.com", "widgets"); !ok || k.Version != "v1" || k.APIVersion != "example.com/v1" {
		t.Errorf("storage %+v", k)
	}
	if k, _ := c.Lookup("example.com", "v1beta1", "widgets"); k.StorageVersionHash != "" || k.StorageVersion != "v1" {
		t.Errorf("%+v", k)
	}
}

func TestSetDefinitionRefusesWhatIsNone(t *testing.T) {
	r := NewRegistry()
	for _, s := range []string{``, `{`, `[]`, `{}`, `{"metadata":{"name":"a.b"}}`, `{"metadata":{"name":"a.b"},"spec":{"group":"b","group":"c"}}`} {
		if err := r.SetDefinition([]byte(s)); err == nil {
			t.Errorf("%q is a definition", s)
		}
	}
}

func TestStatusOfDefinitionIsValidated(t *testing.T) {
	r := NewRegistry()
	old := define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	data, _, _ := Encode(old)
	obj := object(t, string(data))
	if errs := r.ValidateDefinitionStatus(obj, old); len(errs) > 0 {
		t.Error(errs)
	}
	child(child(obj, "status"), "acceptedNames")["plural"] = "Not A Name"
	if errs := r.ValidateDefinitionStatus(obj, old); len(errs) == 0 {
		t.Error("a bad name was accepted")
	}
}

// Readers see each definition with all its versions, or without.
func TestReadersNeverSeeHalfADefinition(t *testing.T) {
	r := NewRegistry()
	obj := define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	data, _, _ := Encode(obj)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := r.Current()
				k, ok := c.Lookup("example.com", "v1", "widgets")
				_, beta := c.Lookup("example.com", "v1beta1", "widgets")
				d, listed := c.LegacyResources("example.com", "v1")
				if ok != beta || ok != listed || ok != c.HasGroup("example.com") || ok && len(d.JSON) == 0 {
					t.Error("half a definition")
					return
				}
				if ok {
					_, _ = k.Cells([]byte(`{"metadata":{"name":"a"},"spec":{"phase":"New"}}`), testTime)
				}
				c.AggregatedGroups()
			}
		})
	}
	for range 200 {
		r.RemoveDefinition("widgets.example.com")
		if _, ok := r.Current().Lookup("example.com", "v1", "widgets"); ok {
			t.Error("still there")
		}
		if err := r.SetDefinition(data); err != nil {
			t.Error(err)
		}
		if _, ok := r.Current().Lookup("example.com", "v1", "widgets"); !ok {
			t.Error("not there yet")
		}
	}
	close(stop)
	wg.Wait()
}
