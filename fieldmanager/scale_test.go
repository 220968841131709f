package fieldmanager

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// scaled writes replicas of a Deployment through its scale subresource, as an
// update or as an apply, and gives the Deployment's entries after that.
func scaled(t *testing.T, parent map[string]any, replicas int64, by Actor, apply bool) []any {
	t.Helper()
	typ, err := builtins.Type(autoscalingv1.Scale{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{APIVersion: ScaleVersion, Kind: "Scale", Type: typ})
	path := fieldpath.MakePathOrDie("spec", "replicas")
	s := Scale{APIVersion: "apps/v1", Replicas: map[string]fieldpath.Path{"apps/v1": path}}
	entries, err := s.ToScale(listed(parent))
	if err != nil {
		t.Fatal(err)
	}
	live := parse(t, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d","uid":"u"},"spec":{},"status":{"replicas":0}}`)
	child(live, "spec")["replicas"] = child(parent, "spec")["replicas"]
	setManaged(live, entries)
	obj := parse(t, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{}}`)
	child(obj, "spec")["replicas"] = replicas
	by.Subresource = "scale"
	if apply {
		if obj, err = m.Apply(live, obj, by, true); err != nil {
			t.Fatal(err)
		}
	} else {
		obj["status"] = live["status"]
		child(obj, "metadata")["uid"] = "u"
		if err := m.Update(live, obj, by); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err = s.ToParent(listed(parent), listed(obj)); err != nil {
		t.Fatal(err)
	}
	return entries
}

func deployment(t *testing.T) map[string]any {
	m := New(Config{APIVersion: "apps/v1", Kind: "Deployment", Type: Deduced()})
	obj, err := m.Apply(nil, parse(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":3,"paused":true}}`),
		Actor{Manager: "kubectl", Now: at(0)}, false)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// owners lists the entries as manager, operation, subresource and fields.
func owners(t *testing.T, entries []any) string {
	s := ""
	for _, v := range entries {
		e, err := readEntry(v)
		if err != nil {
			t.Fatal(err)
		}
		s += e.Manager + " " + e.Operation + " " + e.version + " /" + e.Subresource + " " + e.time + " " + render(e.set) + "\n"
	}
	return s
}

func TestScaleTakesReplicasFromWhoeverOwnsThem(t *testing.T) {
	d := deployment(t)
	const rest = `kubectl Apply apps/v1 / 2023-11-14T22:13:20Z {"f:spec":{".":{},"f:paused":{}}}` + "\n"

	same := scaled(t, d, 3, Actor{Manager: "hpa", Now: at(1)}, false)
	if got, want := owners(t, same), `kubectl Apply apps/v1 / 2023-11-14T22:13:20Z {"f:spec":{".":{},"f:paused":{},"f:replicas":{}}}`+"\n"; got != want {
		t.Errorf("a scale that changes nothing: got\n%swant\n%s", got, want)
	}
	setManaged(d, scaled(t, d, 5, Actor{Manager: "hpa", Now: at(2)}, false))
	child(d, "spec")["replicas"] = int64(5)
	if got, want := owners(t, listed(d)), rest+`hpa Update apps/v1 /scale 2023-11-14T22:13:22Z {"f:spec":{"f:replicas":{}}}`+"\n"; got != want {
		t.Errorf("a scale: got\n%swant\n%s", got, want)
	}
	setManaged(d, scaled(t, d, 7, Actor{Manager: "hpa", Now: at(3)}, false))
	child(d, "spec")["replicas"] = int64(7)
	if got, want := owners(t, listed(d)), rest+`hpa Update apps/v1 /scale 2023-11-14T22:13:23Z {"f:spec":{"f:replicas":{}}}`+"\n"; got != want {
		t.Errorf("another scale: got\n%swant\n%s", got, want)
	}
	setManaged(d, scaled(t, d, 9, Actor{Manager: "ops", Now: at(4)}, true))
	if got, want := owners(t, listed(d)), rest+`ops Apply apps/v1 /scale 2023-11-14T22:13:24Z {"f:spec":{"f:replicas":{}}}`+"\n"; got != want {
		t.Errorf("an applied scale: got\n%swant\n%s", got, want)
	}
}

func TestScaleKeepsWhoDoesNotOwnReplicas(t *testing.T) {
	s := Scale{APIVersion: "apps/v1", Replicas: map[string]fieldpath.Path{"apps/v1": fieldpath.MakePathOrDie("spec", "replicas"), "apps/v0": nil}}
	entries := func(versions ...string) (list []any) {
		for _, v := range versions {
			list = append(list, element(identity{Manager: "m", Operation: opUpdate, APIVersion: v}, v, "", parse(t, `{"f:spec":{"f:paused":{}}}`)))
		}
		return list
	}
	scale, err := s.ToScale(entries("apps/v1", "apps/v0", "apps/unknown"))
	if err != nil || len(scale) != 0 {
		t.Errorf("scale has %s, %v", render(scale), err)
	}
	parent, err := s.ToParent(entries("apps/v1", "apps/v0", "apps/unknown"), nil)
	if err != nil || len(parent) != 2 {
		t.Errorf("parent has %s, %v; want all but the unknown version", render(parent), err)
	}
}
