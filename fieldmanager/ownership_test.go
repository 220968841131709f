package fieldmanager

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// ownership is what managed fields mean, said simply: a value for every key,
// its owners, and when each owner last changed the object.
type ownership struct {
	values map[string]string
	owners map[string]map[string]bool // by key: "name Operation"
	times  map[string]string
}

func (o *ownership) update(who, now string, next map[string]string) {
	id := who + " " + opUpdate
	for key := range o.values {
		if _, ok := next[key]; !ok {
			delete(o.owners, key)
		}
	}
	for key, v := range next {
		if old, ok := o.values[key]; !ok || old != v {
			o.owners[key] = map[string]bool{id: true}
			o.times[id] = now
		}
	}
	o.values = maps.Clone(next)
	o.settle()
}

// apply gives the conflicts, as owner and key, if there are any.
func (o *ownership) apply(who, now string, config map[string]string, force bool) []string {
	id := who + " " + opApply
	var conflicts []string
	for key, v := range config {
		for owner := range o.owners[key] {
			if owner != id && o.values[key] != v {
				conflicts = append(conflicts, owner+" "+key)
			}
		}
	}
	if slices.Sort(conflicts); len(conflicts) > 0 && !force {
		return conflicts
	}
	changed := false
	for key, owners := range o.owners {
		if _, still := config[key]; still || !owners[id] {
			continue
		}
		if delete(owners, id); len(owners) == 0 {
			delete(o.owners, key)
			delete(o.values, key)
			changed = true
		}
	}
	for key, v := range config {
		if old, ok := o.values[key]; !ok || old != v {
			o.values[key], o.owners[key], changed = v, map[string]bool{}, true
		}
		o.owners[key][id] = true
	}
	if changed {
		o.times[id] = now
	}
	o.settle()
	return nil
}

// settle forgets the times of those who own nothing.
func (o *ownership) settle() {
	for id := range o.times {
		owns := false
		for _, owners := range o.owners {
			owns = owns || owners[id]
		}
		if !owns {
			delete(o.times, id)
		}
	}
}

func (o *ownership) String() string {
	s := ""
	for _, key := range slices.Sorted(maps.Keys(o.owners)) {
		s += fmt.Sprintf("%s=%s %v\n", key, o.values[key], slices.Sorted(maps.Keys(o.owners[key])))
	}
	for _, id := range slices.Sorted(maps.Keys(o.times)) {
		s += id + " at " + o.times[id] + "\n"
	}
	return s
}

// read is the ownership that an object tells of. Only the keys of data count.
func read(t *testing.T, obj map[string]any) *ownership {
	o := &ownership{values: map[string]string{}, owners: map[string]map[string]bool{}, times: map[string]string{}}
	for key := range child(obj, "data") {
		o.values[key], o.owners[key] = text(child(obj, "data"), key), map[string]bool{}
	}
	for _, v := range listed(obj) {
		e, err := readEntry(v)
		if err != nil {
			t.Fatal(err)
		}
		set, err := decodeSet(e.set)
		if err != nil {
			t.Fatal(err)
		}
		id := e.Manager + " " + e.Operation
		set.Iterate(func(p fieldpath.Path) {
			if len(p) == 2 {
				o.owners[*p[1].FieldName][id] = true
			}
		})
		if e.time != "" {
			o.times[id] = e.time
		}
	}
	return o
}

func TestEightManagersOwnWhatASimpleModelSays(t *testing.T) {
	r := rand.New(rand.NewPCG(testSeed(t), 2))
	m := New(Config{APIVersion: "v1", Kind: "Thing", Type: mustType(t,
		`{"type":"object","properties":{"data":{"type":"object","additionalProperties":{"type":"string"}}}}`)})
	for range 20 {
		base := map[string]string{"base": "0"}
		live := thing(base)
		if err := m.Update(nil, live, Actor{Manager: "base", Now: at(0)}); err != nil {
			t.Fatal(err)
		}
		model := read(t, live)
		for step := 1; step < 100; step++ {
			by := Actor{Manager: fmt.Sprintf("m%d", r.IntN(8)), Now: at(step)}
			live = stored(t, takeStep(t, r, m, model, live, by))
			if got := read(t, live); got.String() != model.String() {
				t.Fatalf("step %d by %s: want\n%s\ngot\n%s", step, by.Manager, model, got)
			}
		}
	}
}

// takeStep does something at random, to the object and to the model.
func takeStep(t *testing.T, r *rand.Rand, m *Manager, model *ownership, live map[string]any, by Actor) map[string]any {
	if r.IntN(2) == 0 {
		next := maps.Clone(model.values)
		for range 1 + r.IntN(2) {
			key := fmt.Sprintf("k%d", r.IntN(6))
			next[key] = fmt.Sprint(r.IntN(3))
			if r.IntN(3) == 0 {
				delete(next, key)
			}
		}
		obj := thing(next)
		if err := m.Update(live, obj, by); err != nil {
			t.Fatal(err)
		}
		model.update(by.Manager, stamp(by.Now), next)
		return obj
	}
	config := map[string]string{}
	for range r.IntN(4) {
		config[fmt.Sprintf("k%d", r.IntN(6))] = fmt.Sprint(r.IntN(3))
	}
	force := r.IntN(3) == 0
	want := model.apply(by.Manager, stamp(by.Now), config, force)
	merged, err := m.Apply(live, thing(config), by, force)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		if len(conflict.Causes) != len(want) {
			t.Fatalf("conflicts %v, want %v", conflict.Causes, want)
		}
		return live
	}
	if err != nil || len(want) > 0 {
		t.Fatalf("error %v, want conflicts %v", err, want)
	}
	return merged
}

func thing(data map[string]string) map[string]any {
	obj := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "x"}}
	if len(data) > 0 {
		values := map[string]any{}
		for key, v := range data {
			values[key] = v
		}
		obj["data"] = values
	}
	return obj
}
