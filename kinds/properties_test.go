package kinds

import (
	"math/rand/v2"
	"reflect"
	"testing"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// settled checks what must hold for every object: what a create makes of it is
// what the Go type would have made, and an update with the same changes nothing.
func settled(t *testing.T, k *Kind, obj map[string]any) bool {
	t.Helper()
	meta := ensure(obj, "metadata")
	meta["name"], meta["uid"] = "a", "u"
	k.PrepareCreate(obj)
	again := deepCopy(obj).(map[string]any)
	if strict, err := k.Conform(again); err != nil || strict != nil {
		t.Errorf("%s: %v %v\n%s", k.Resource, strict, err, fragment(obj))
		return false
	}
	if !reflect.DeepEqual(again, obj) {
		t.Errorf("%s: what a create sets does not conform\n got %s\nwant %s", k.Resource, fragment(obj), fragment(again))
		return false
	}
	k.PrepareUpdate(again, obj)
	if !reflect.DeepEqual(again, obj) {
		t.Errorf("%s: an update with the same object changes it\n got %s\nwant %s", k.Resource, fragment(again), fragment(obj))
		return false
	}
	k.Validate(obj, nil)
	k.Validate(obj, again)
	data, _, err := Encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range k.FieldLabels() {
		slow, _ := k.Field(obj, label)
		if quick, ok := k.FieldJSON(data, label); !ok || quick != slow {
			t.Errorf("%s: %s is %q in JSON and %q in the object", k.Resource, label, quick, slow)
		}
	}
	k.PrepareStatusUpdate(again, obj)
	k.ValidateStatus(again, obj)
	if k.Converts() {
		k.ToStorage(again)
		k.FromStorage(again)
		if strict, err := k.Conform(again); err != nil || strict != nil {
			t.Errorf("%s: %v %v", k.Resource, strict, err)
		}
	}
	return true
}

func TestGoldenObjectsAreSettledByACreate(t *testing.T) {
	withGolden(t, func(t *testing.T, dir string, k *Kind) {
		obj, _, err := DecodeJSON(goldenFile(t, dir, k, "json"))
		if err != nil {
			t.Fatal(err)
		}
		settled(t, k, obj)
	})
}

func TestRandomObjectsAreSettledByACreate(t *testing.T) {
	seed := testSeed(t)
	stream := uint64(0)
	NewRegistry().Current().Kinds(func(k *Kind) bool {
		stream++
		g := &generator{rng: rand.New(rand.NewPCG(seed, stream))}
		good := 0
		for range 60 {
			obj, _ := g.value(k.goPlan(), 0).(map[string]any)
			fixOther(g, k.goPlan(), obj)
			delete(obj, "notAField")
			obj["apiVersion"], obj["kind"] = k.APIVersion, k.Kind
			if _, err := k.Conform(obj); err != nil {
				continue
			}
			good++
			if !settled(t, k, obj) {
				return false
			}
		}
		if good < 5 {
			t.Errorf("%s: only %d objects were good", k.Resource, good)
		}
		return true
	})
}

// fixOther puts good values where the plan only knows that the type has
// methods of its own, and takes bad times and bytes away.
func fixOther(g *generator, p *plan, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			next := p.elem
			if p.shape == shapeStruct {
				f := p.fields[name]
				if f == nil {
					delete(v, name)
					continue
				}
				next = f.plan
			}
			if next != nil {
				v[name] = fixOther(g, next, x)
			}
		}
	case []any:
		if p.elem != nil {
			for i, x := range v {
				v[i] = fixOther(g, p.elem, x)
			}
		}
	}
	switch {
	case p.shape == shapeTime:
		return "2026-11-20T10:00:00Z"
	case p.shape == shapeBytes:
		return "aGk="
	case p.typ == reflect.TypeFor[apiresource.Quantity]():
		return g.pick("1", "100m", "2Gi", "0")
	case p.typ == reflect.TypeFor[intstr.IntOrString]():
		return g.pick("http", "25%", int64(0), int64(80))
	case p.shape == shapeAny:
		return map[string]any{"a": int64(1)}
	}
	return v
}
