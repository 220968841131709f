package kinds

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func TestCatalogueOfBuiltinKinds(t *testing.T) {
	r := NewRegistry()
	got := ""
	r.Current().Kinds(func(k *Kind) bool {
		got += fmt.Sprintf("%s %s %s %s %s\n", k.APIVersion, k.Resource, k.Singular, k.Kind, k.ListKind)
		for _, fact := range []struct {
			name string
			ok   bool
		}{{"namespaced", k.Namespaced}, {"createOnUpdate", k.CreateOnUpdate}, {"unconditionalUpdate", k.UnconditionalUpdate}, {"returnsDeleted", k.ReturnsDeleted},
			{"status", k.HasStatus}, {"generation", k.Generation}, {"stored as " + k.StorageGroup + "/" + k.StorageVersion, k.StorageGroup != k.Group || k.StorageVersion != k.Version}} {
			if fact.ok {
				got += "  " + fact.name
			}
		}
		got += fmt.Sprintf("\n  %v %v %v\n", k.ShortNames, k.Categories, k.FieldLabels())
		for _, s := range k.Subresources {
			got += fmt.Sprintf("  /%s %s.%s.%s %v\n", s.Name, s.Kind, s.Version, s.Group, s.Verbs)
		}
		for _, c := range k.Columns {
			got += fmt.Sprintf("  | %s %s %d\n", c.Name, c.Type, c.Priority)
			if c.Description == "" {
				t.Errorf("%s: column %s has no description", k.Resource, c.Name)
			}
		}
		return true
	})
	golden(t, "catalogue.txt", got)
}

func TestNames(t *testing.T) {
	r := NewRegistry()
	for _, c := range []struct {
		group, resource, name string
		good                  bool
	}{
		{"", "namespaces", "a-b", true}, {"", "namespaces", "a.b", false}, {"", "namespaces", "A", false}, {"", "namespaces", strings.Repeat("a", 64), false},
		{"", "configmaps", "a.b", true}, {"", "configmaps", "a/b", false}, {"", "configmaps", strings.Repeat("a", 253), true}, {"", "configmaps", strings.Repeat("a", 254), false},
		{"coordination.k8s.io", "leases", "a.b", true}, {"coordination.k8s.io", "leases", "", false}, {DefinitionGroup, DefinitionResource, "a.b", true},
	} {
		if errs := kind(t, r, c.group, "v1", c.resource).ValidateName(c.name); (len(errs) == 0) != c.good {
			t.Errorf("%s %q: %v", c.resource, c.name, errs)
		}
	}
	k := kind(t, r, "", "v1", "configmaps")
	if !k.Allows("watch") || k.Allows("fly") {
		t.Error("verbs")
	}
	ns := kind(t, r, "", "v1", "namespaces")
	if _, ok := ns.Subresource("status"); !ok || ns.Allows("deletecollection") {
		t.Error("namespaces")
	}
	if _, ok := k.Subresource("status"); ok || k.SchemaJSON() != nil {
		t.Error("configmaps")
	}
}

func TestValidationOfBuiltinKinds(t *testing.T) {
	r := NewRegistry()
	big := strings.Repeat("x", 1<<19)
	binary := base64.StdEncoding.EncodeToString([]byte(big))
	for _, c := range []struct{ group, resource, obj, old, want string }{
		{"", "configmaps", `{"data":{"a":"1","b.c-d_E":"2"},"binaryData":{"e":"aGk="}}`, ``, ``},
		{"", "configmaps", `{"data":{"a/b":"1"}}`, ``, `data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`},
		{"", "configmaps", `{"data":{"a":"1"},"binaryData":{"a":"aGk=","..":""}}`, ``, `[data[a]: Invalid value: "a": duplicate of key present in binaryData, binaryData[..]: Invalid value: "..": must not be '..']`},
		{"", "configmaps", `{"data":{"a":"` + big + `"},"binaryData":{"b":"` + binary + `"}}`, ``, ``},
		{"", "configmaps", `{"data":{"a":"` + big + `x"},"binaryData":{"b":"` + binary + `"}}`, ``, `data: Too long: may not be more than 1048576 bytes`},
		{"", "configmaps", `{"data":{"a":"2"},"immutable":true}`, `{"data":{"a":"1"}}`, ``},
		{"", "configmaps", `{"data":{"a":"1"},"immutable":true,"metadata":{"labels":{}}}`, `{"data":{"a":"1"},"immutable":true}`, ``},
		{"", "configmaps", `{"data":{"a":"2"},"immutable":true}`, `{"data":{"a":"1"},"immutable":true}`, "data: Forbidden: field is immutable when `immutable` is set"},
		{"", "configmaps", `{"binaryData":{"a":"aGk="}}`, `{"immutable":true}`, "[immutable: Forbidden: field is immutable when `immutable` is set, binaryData: Forbidden: field is immutable when `immutable` is set]"},
		{"", "namespaces", `{"spec":{"finalizers":["kubernetes","example.com/a"]}}`, ``, ``},
		{"", "namespaces", `{"spec":{"finalizers":["mine"]}}`, ``, `spec.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`},
		{"coordination.k8s.io", "leases", `{"spec":{}}`, ``, ``},
		{"coordination.k8s.io", "leases", `{"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1}}`, ``, `[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]`},
		{"coordination.k8s.io", "leases", `{"spec":{"leaseDurationSeconds":1,"leaseTransitions":0,"holderIdentity":"","strategy":"OldestEmulationVersion","preferredHolder":"a"}}`, ``, ``},
		{"coordination.k8s.io", "leases", `{"spec":{"preferredHolder":"a"}}`, ``, "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"},
		{"coordination.k8s.io", "leases", `{"spec":{"strategy":"x"}}`, ``, `spec.strategy.strategy: Unsupported value: "x": supported values: "OldestEmulationVersion"`},
		{"coordination.k8s.io", "leases", `{"spec":{"strategy":"example.com/x"}}`, ``, ``},
	} {
		var old map[string]any
		if c.old != "" {
			old = object(t, c.old)
		}
		errs := kind(t, r, c.group, "v1", c.resource).Validate(object(t, c.obj), old)
		got := ""
		if err := errs.ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%.200s\n got %s\nwant %s", c.obj, got, c.want)
		}
	}
}

func TestNamespacesAreMadeActive(t *testing.T) {
	k := kind(t, NewRegistry(), "", "v1", "namespaces")
	obj := object(t, `{"metadata":{"name":"a","labels":{"x":"y","kubernetes.io/metadata.name":"b"}},"spec":{"finalizers":["example.com/x"]},"status":{"phase":"Terminating"}}`)
	k.PrepareCreate(obj)
	same(t, "create", string(fragment(obj)), `{"metadata":{"labels":{"kubernetes.io/metadata.name":"a","x":"y"},"name":"a"},"spec":{"finalizers":["example.com/x","kubernetes"]},"status":{"phase":"Active"}}`)
	k.PrepareCreate(obj)
	if n := len(child(obj, "spec")["finalizers"].([]any)); n != 2 {
		t.Errorf("%d finalizers", n)
	}
	update := object(t, `{"metadata":{"name":"a"},"status":{"phase":"Active"}}`)
	k.PrepareUpdate(update, obj)
	same(t, "update", string(fragment(update)), `{"metadata":{"labels":{"kubernetes.io/metadata.name":"a"},"name":"a"},"spec":{"finalizers":["example.com/x","kubernetes"]},"status":{"phase":"Active"}}`)
	update = object(t, `{"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]}}`)
	k.PrepareUpdate(update, object(t, `{"metadata":{"name":"a"},"spec":{}}`))
	if _, ok := child(update, "spec")["finalizers"]; ok {
		t.Error("an update brought finalizers back")
	}
	cm := object(t, `{"metadata":{"name":"a"}}`)
	configMaps := kind(t, NewRegistry(), "", "v1", "configmaps")
	configMaps.PrepareCreate(cm)
	configMaps.PrepareUpdate(cm, cm)
	same(t, "configmap", string(fragment(cm)), `{"metadata":{"name":"a"}}`)
}

func TestDeprecatedBuiltinKindsWarn(t *testing.T) {
	r := NewRegistry()
	k := kind(t, r, "", "v1", "endpoints")
	same(t, "warning", k.DeprecationWarning, "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
	if !k.Deprecated || k.RemovedRelease != "" || kind(t, r, "", "v1", "pods").Deprecated {
		t.Error("deprecated")
	}
}
