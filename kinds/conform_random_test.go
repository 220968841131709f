package kinds

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

// generator makes values that are more or less of a plan's type.
type generator struct {
	rng   *rand.Rand
	wrong float64 // how often a value is of another type
}

func (g *generator) pick(values ...any) any { return values[g.rng.IntN(len(values))] }

func (g *generator) any() any {
	return g.pick("", "text", "aGk=", int64(0), int64(7), int64(1)<<40, 1.5, true, false, nil, map[string]any{}, []any{}, map[string]any{"a": int64(1)}, []any{"a"})
}

func (g *generator) value(p *plan, depth int) any {
	if g.rng.Float64() < g.wrong {
		return g.any()
	}
	switch p.shape {
	case shapeString:
		return g.pick("", "a", "True")
	case shapeBool:
		return g.pick(true, false)
	case shapeInt:
		return g.pick(int64(0), int64(5), int64(-1))
	case shapeFloat:
		return g.pick(int64(0), 0.0, 1.5)
	case shapeBytes:
		return g.pick("", "aGk=", "aGl=", "a\nGk=", "aGk")
	case shapeTime:
		return g.pick("2026-11-20T10:00:00Z", "2026-11-20T12:00:00+02:00", "2026-11-20T10:00:00.123456Z", "2026-11-20T10:00:00.5Z", "x")
	case shapeStruct:
		m := map[string]any{}
		for name, f := range p.fields {
			if g.rng.IntN(len(p.fields)) < 3 && depth < 6 {
				m[name] = g.value(f.plan, depth+1)
			}
		}
		if g.rng.IntN(10) == 0 {
			m["notAField"] = g.any()
		}
		return m
	case shapeMap:
		m := map[string]any{}
		for _, key := range []string{"a", "b"}[:g.rng.IntN(3)] {
			m[key] = g.value(p.elem, depth+1)
		}
		return m
	case shapeSlice:
		list := []any{}
		for range g.rng.IntN(3) {
			list = append(list, g.value(p.elem, depth+1))
		}
		return list
	}
	return g.any()
}

// deepCopy is for comparing a value before with after.
func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[k] = deepCopy(x)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = deepCopy(x)
		}
		return list
	}
	return v
}

// withoutNulls drops the fields that are null: a pointer to a value that
// marshals as null is a field that Conform drops.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if withoutNulls(x) == nil {
				delete(v, k)
			}
		}
	case []any:
		for _, x := range v {
			withoutNulls(x)
		}
	}
	return v
}

// A walk along the plan must give what decoding into the Go type and encoding
// again gives, for any object.
func TestConformAgreesWithTheGoTypeOnRandomObjects(t *testing.T) {
	seed := testSeed(t)
	r := NewRegistry()
	for i, k := range []*Kind{
		kind(t, r, "", "v1", "configmaps"), kind(t, r, "", "v1", "namespaces"),
		kind(t, r, "coordination.k8s.io", "v1", "leases"), kind(t, r, DefinitionGroup, "v1", DefinitionResource),
	} {
		g := &generator{rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		p := makePlan(k.rules.typ, map[reflect.Type]*plan{})
		good := 0
		for n := range 2000 {
			g.wrong = []float64{0, 0.02}[n%2]
			obj, ok := g.value(p, 0).(map[string]any)
			if !ok {
				continue
			}
			before := deepCopy(obj)
			want, wantErr := roundTrip(k.rules.typ, deepCopy(obj))
			_, err := k.Conform(obj)
			var te *TypeError
			if (err == nil) != (wantErr == nil) || err != nil && !errors.As(err, &te) {
				t.Fatalf("%s: %s\nerror %v, want %v", k.Kind, fragment(before), err, wantErr)
			}
			if err != nil {
				continue
			}
			good++
			if !bytes.Equal(fragment(withoutNulls(obj)), fragment(withoutNulls(want))) {
				t.Fatalf("%s: %s\n got %s\nwant %s", k.Kind, fragment(before), fragment(obj), fragment(want))
			}
		}
		if good < 100 {
			t.Errorf("%s: only %d objects were good", k.Kind, good)
		}
	}
}
