package fieldmanager

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// variedSchema has every topology there is.
const variedSchema = `{"type":"object","properties":{
"spec":{"type":"object","properties":{
 "a":{"type":"string"},"n":{"type":"integer"},"b":{"type":"boolean"},"w":{"type":"number"},
 "any":{"x-kubernetes-preserve-unknown-fields":true},
 "port":{"x-kubernetes-int-or-string":true},
 "at":{"type":"string","format":"date-time"},
 "list":{"type":"array","items":{"type":"string"}},
 "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
 "numbers":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}},
 "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],
  "items":{"type":"object","properties":{"port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},
   "name":{"type":"string"},"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}},
 "labels":{"type":"object","additionalProperties":{"type":"string"}},
 "whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
 "struct":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"object","properties":{"z":{"type":"integer"}}}}},
 "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
 "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}},
"status":{"type":"object","properties":{"phase":{"type":"string"},
 "conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],
  "items":{"type":"object","properties":{"type":{"type":"string"},"status":{"type":"string"}}}}}}}}`

// variedManagers are managers of the varied kind: with its schema, and without.
func variedManagers(t *testing.T) map[string]*Manager {
	managers := map[string]*Manager{}
	for name, typ := range map[string]*Type{"schema": mustType(t, variedSchema), "deduced": Deduced()} {
		managers[name] = New(Config{APIVersion: "example.com/v1", Kind: "Varied", Type: typ, ResetFields: StatusResets()})
	}
	return managers
}

// maker makes random objects of the varied schema. Odd ones, which the short
// way must leave alone, are rare.
type maker struct{ *rand.Rand }

func (r maker) chance(n int) bool { return r.IntN(n) == 0 }
func (r maker) word() string {
	return []string{"red", "green", "blue", `q"uote`, "a<b", "é", ""}[r.IntN(7)]
}

func (r maker) object() map[string]any {
	obj := map[string]any{"apiVersion": "example.com/v1", "kind": "Varied", "spec": r.spec()}
	meta := map[string]any{"name": "x", "generation": int64(r.IntN(3))}
	if r.chance(2) {
		meta["labels"] = r.words()
	}
	if r.chance(3) {
		meta["finalizers"] = r.set()
	}
	if r.chance(4) {
		meta["ownerReferences"] = []any{map[string]any{"uid": r.word(), "name": r.word(), "kind": "X", "apiVersion": "v1"}}
	}
	obj["metadata"] = meta
	if r.chance(2) {
		obj["status"] = map[string]any{"phase": r.word()}
	}
	if r.chance(3) {
		obj["status"] = map[string]any{"conditions": []any{map[string]any{"type": r.word(), "status": r.word()}}}
	}
	if r.chance(20) {
		obj["surprise"] = r.value(2)
	}
	return obj
}

func (r maker) spec() any {
	spec := map[string]any{}
	for name, value := range map[string]func() any{
		"a": func() any { return r.word() }, "n": func() any { return int64(r.IntN(3)) }, "b": func() any { return r.chance(2) },
		"w": func() any { return []any{int64(1), 1.0, 0.5}[r.IntN(3)] }, "any": func() any { return r.value(3) },
		"port": func() any { return []any{int64(80), "http"}[r.IntN(2)] }, "at": func() any { return "2026-01-01T00:00:00Z" },
		"list": func() any { return r.set() }, "set": func() any { return r.set() },
		"numbers": func() any { return []any{int64(r.IntN(3)), int64(3 + r.IntN(3))} }, "ports": r.ports,
		"labels": func() any { return r.words() }, "whole": func() any { return r.words() },
		"struct": func() any {
			return map[string]any{"x": r.word(), "y": map[string]any{"z": int64(r.IntN(2))}}
		},
		"free":     func() any { return map[string]any{r.word(): r.value(3), r.word(): r.value(2)} },
		"template": func() any { return map[string]any{"kind": r.word(), "metadata": map[string]any{"labels": r.words()}} },
	} {
		if r.chance(2) {
			spec[name] = value()
		}
		if r.chance(60) {
			spec[name] = nil
		}
		if r.chance(300) {
			spec[name] = r.value(1)
		}
	}
	return spec
}

func (r maker) words() map[string]any {
	m := map[string]any{}
	for range r.IntN(4) {
		m[r.word()] = r.word()
	}
	return m
}

func (r maker) set() []any {
	var list []any
	seen := map[string]bool{}
	for range r.IntN(4) {
		if w := r.word(); !seen[w] || r.chance(20) {
			seen[w] = true
			list = append(list, w)
		}
	}
	if list == nil {
		return []any{}
	}
	return list
}

func (r maker) ports() any {
	list := []any{}
	for i := range r.IntN(4) {
		p := map[string]any{"port": int64(80 + i)}
		if r.chance(2) {
			p["protocol"] = []any{"TCP", "UDP"}[r.IntN(2)]
		}
		if r.chance(2) {
			p["name"] = r.word()
		}
		if r.chance(3) {
			p["tags"] = r.set()
		}
		list = append(list, p)
		if r.chance(30) {
			list = append(list, runtime.DeepCopyJSON(p))
		}
		if r.chance(100) {
			delete(p, "port")
		}
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (r maker) value(depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return int64(r.IntN(3))
	case n == 1:
		return r.chance(2)
	case n == 2 && r.chance(4):
		return nil
	case n < 5 || depth == 0:
		return r.word()
	case n == 5:
		return r.set()
	default:
		m := map[string]any{}
		for range r.IntN(3) {
			m[r.word()] = r.value(depth - 1)
		}
		return m
	}
}

// next is an object some way from another: mostly the same, or quite another.
func (r maker) next(obj map[string]any) map[string]any {
	other := r.object()
	if r.chance(4) {
		return other
	}
	obj = runtime.DeepCopyJSON(obj)
	spec, with := child(obj, "spec"), child(other, "spec")
	for _, name := range sortedKeys(with) {
		if r.chance(4) {
			spec[name] = with[name]
		}
	}
	for _, name := range sortedKeys(spec) {
		if r.chance(12) {
			delete(spec, name)
		}
	}
	if r.chance(2) {
		obj["metadata"], obj["status"] = other["metadata"], other["status"]
		if obj["status"] == nil {
			delete(obj, "status")
		}
	}
	return obj
}

func TestTheShortWayGivesWhatTheGeneralWayGives(t *testing.T) {
	seed := testSeed(t)
	for name, m := range variedManagers(t) {
		t.Run(name, func(t *testing.T) { compareUpdates(t, maker{rand.New(rand.NewPCG(seed, 1))}, m) })
	}
}

func compareUpdates(t *testing.T, r maker, m *Manager) {
	short, failed, all := 0, 0, 0
	for range 80 {
		var live map[string]any
		obj := r.object()
		for step := range 20 {
			by := Actor{Manager: fmt.Sprintf("m%d", r.IntN(13)), Now: at(step)}
			if live != nil && r.chance(4) {
				by.Subresource = "status"
			}
			kept := r.chance(2) && live != nil
			if kept { // as a server does with what a write does not set
				obj = restored(obj, live, by.Subresource)
			}
			setManaged(obj, r.given(live, obj))
			entries, ok := m.track(live, obj, by)
			want, err := m.general(live, obj, by)
			all++
			if err != nil {
				failed++
			}
			if ok {
				short++
				if err != nil || !sameEntries(entries, want, true) {
					t.Fatalf("step %d by %v\nlive %s\nobj  %s\nshort   %s\ngeneral %s %v", step, by, render(live), render(obj), render(entries), render(want), err)
				}
			}
			if err := m.Update(live, obj, by); err != nil && !sameEntries(listed(obj), listed(live), true) {
				t.Fatalf("after %v the entries are not those of the live object", err)
			}
			live = stored(t, obj)
			obj = r.next(bare(live))
		}
	}
	t.Logf("%d of %d writes took the short way, %d could not be tracked", short, all, failed)
	if short < all/3 {
		t.Error("the short way is hardly ever taken")
	}
}

// restored is obj with what a write through a subresource does not set.
func restored(obj, live map[string]any, subresource string) map[string]any {
	out := copyMap(obj)
	for _, name := range []string{"spec", "metadata", "status"} {
		if (name == "status") == (subresource == "") {
			delete(out, name)
			if v, ok := live[name]; ok {
				out[name] = runtime.DeepCopyJSONValue(v)
			}
		}
	}
	return out
}

// given is what a client sends as managedFields: mostly what it read, or nothing.
func (r maker) given(live, obj map[string]any) []any {
	had := listed(live)
	switch {
	case r.chance(60):
		return []any{map[string]any{}}
	case r.chance(60) && len(had) > 0:
		return had[1:]
	case r.chance(2):
		return nil
	}
	return had
}

// config is what an applier who looks at the object might apply: mostly what
// it applied before, with something changed, added or left out.
func (r maker) config(live, last map[string]any) map[string]any {
	spec := map[string]any{}
	for _, from := range []map[string]any{child(live, "spec"), child(last, "spec"), child(r.object(), "spec")} {
		for _, name := range sortedKeys(from) {
			if from[name] != nil && r.chance(8) {
				spec[name] = from[name]
			}
		}
	}
	if last != nil && !r.chance(6) {
		kept := copyMap(child(last, "spec"))
		for _, name := range sortedKeys(spec) {
			if r.chance(4) {
				kept[name] = spec[name]
			}
		}
		spec = kept
	}
	config := map[string]any{"apiVersion": "example.com/v1", "kind": "Varied", "metadata": map[string]any{"name": "x"}, "spec": spec}
	if r.chance(5) {
		config["metadata"] = map[string]any{"name": "x", "labels": r.words()}
	}
	return runtime.DeepCopyJSON(config)
}

func TestTheShortWayOfApplyGivesWhatTheGeneralWayGives(t *testing.T) {
	seed := testSeed(t)
	for name, m := range variedManagers(t) {
		t.Run(name, func(t *testing.T) { compareApplies(t, maker{rand.New(rand.NewPCG(seed, 3))}, m) })
	}
}

func compareApplies(t *testing.T, r maker, m *Manager) {
	short, conflicts, failed, all := 0, 0, 0, 0
	for range 80 {
		live := r.object()
		if m.Update(nil, live, Actor{Manager: "m9", Now: at(0)}) != nil {
			continue
		}
		live = stored(t, live)
		last := map[string]map[string]any{}
		for step := 1; step < 25; step++ {
			by := Actor{Manager: fmt.Sprintf("m%d", r.IntN(3)), Now: at(step)}
			config, force := r.config(live, last[by.Manager]), r.chance(3)
			before := render(live) + render(config)
			quick, ok := m.quick(live, config, by)
			want, err := m.generalApply(live, config, by, force)
			if after := render(live) + render(config); after != before {
				t.Fatalf("step %d changed what it was given:\n%s\n%s", step, before, after)
			}
			if err != nil && strings.HasPrefix(err.Error(), "failed to create typed live object") {
				break // one of the odd ones
			}
			all++
			if _, conflict := err.(*ConflictError); conflict {
				conflicts++
			} else if err != nil {
				failed++
			}
			if ok {
				short++
				if err != nil || render(quick) != render(want) {
					t.Fatalf("step %d by %s\nlive   %s\nconfig %s\nshort   %s\ngeneral %s %v", step, by.Manager, render(live), render(config), render(quick), render(want), err)
				}
			}
			if err == nil {
				live, last[by.Manager] = stored(t, want), config
			}
		}
	}
	t.Logf("%d of %d applies took the short way; %d conflicts, %d errors", short, all, conflicts, failed)
	if short < all/10 {
		t.Error("the short way is hardly ever taken")
	}
}
