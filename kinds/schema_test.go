package kinds

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	crvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
)

// schemaGenerator makes random structural schemas and objects that more or
// less follow them.
type schemaGenerator struct{ rng *rand.Rand }

func (g *schemaGenerator) chance(percent int) bool { return g.rng.IntN(100) < percent }

var fieldNames = []string{"a", "b", "c", "name", "kind", "metadata"}

// schema makes a schema, never a structural one's bad cousin.
func (g *schemaGenerator) schema(depth int) map[string]any {
	s := map[string]any{}
	kind := g.rng.IntN(8)
	if depth <= 0 {
		kind = 2 + g.rng.IntN(5)
	}
	switch kind {
	case 0, 7:
		s["type"] = "object"
		g.object(s, depth)
	case 1:
		s["type"] = "array"
		s["items"] = g.schema(depth - 1)
		g.list(s)
	case 2, 3:
		s["type"] = "string"
		g.string(s)
	case 4:
		s["type"] = []any{"integer", "number"}[g.rng.IntN(2)]
		g.number(s)
	case 5:
		s["type"] = "boolean"
	case 6:
		s["x-kubernetes-int-or-string"] = true
		g.either(s)
	}
	if g.chance(20) {
		s["nullable"] = true
	}
	return s
}

func (g *schemaGenerator) object(s map[string]any, depth int) {
	switch {
	case g.chance(15):
		s["additionalProperties"] = g.schema(depth - 1)
		if g.chance(30) {
			s["maxProperties"] = int64(g.rng.IntN(3))
		}
	case g.chance(10):
		s["x-kubernetes-preserve-unknown-fields"] = true
		fallthrough
	default:
		props := map[string]any{}
		for range 1 + g.rng.IntN(4) {
			name := fieldNames[g.rng.IntN(len(fieldNames))]
			p := g.schema(depth - 1)
			if g.chance(30) {
				if v := g.value(p, 100); v != nil {
					p["default"] = v
				}
			}
			props[name] = p
		}
		s["properties"] = props
		if g.chance(40) {
			s["required"] = []any{fieldNames[g.rng.IntN(len(fieldNames))]}
		}
	}
}

func (g *schemaGenerator) list(s map[string]any) {
	items := s["items"].(map[string]any)
	switch {
	case items["type"] == "string" && g.chance(50):
		s["x-kubernetes-list-type"] = "set"
		delete(items, "nullable")
	case items["type"] == "object" && items["properties"] != nil && g.chance(80):
		items["properties"].(map[string]any)["name"] = map[string]any{"type": "string"}
		items["required"] = []any{"name"}
		s["x-kubernetes-list-type"], s["x-kubernetes-list-map-keys"] = "map", []any{"name"}
	}
	if g.chance(30) {
		s["maxItems"] = int64(g.rng.IntN(4))
	}
	if g.chance(10) {
		s["minItems"] = int64(g.rng.IntN(2))
	}
}

func (g *schemaGenerator) string(s map[string]any) {
	switch g.rng.IntN(8) {
	case 0:
		s["enum"] = []any{"x", "yy", "äö"}
	case 1:
		s["maxLength"], s["minLength"] = int64(2), int64(1)
	case 2:
		s["pattern"] = "^[a-z]+$"
	case 3:
		s["format"] = []any{"date-time", "byte", "uuid", "date", "ipv4", "unheard-of"}[g.rng.IntN(6)]
	case 4:
		s["not"] = map[string]any{"enum": []any{"x"}}
	}
}

// either is what controller-gen makes of a quantity, and some of its kin.
func (g *schemaGenerator) either(s map[string]any) {
	if g.chance(50) {
		s["anyOf"] = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
	}
	switch g.rng.IntN(5) {
	case 0:
		s["pattern"] = `^[0-9]+[%m]?$`
	case 1:
		s["maxLength"] = int64(2)
	case 2:
		s["minimum"] = int64(2)
	}
}

func (g *schemaGenerator) number(s map[string]any) {
	switch g.rng.IntN(6) {
	case 0:
		s["minimum"], s["exclusiveMinimum"] = int64(0), g.chance(50)
	case 1:
		s["maximum"], s["exclusiveMaximum"] = 2.5, g.chance(50)
	case 2:
		s["enum"] = []any{int64(1), int64(2)}
	case 3:
		s["format"] = []any{"int32", "int64", "double", "float"}[g.rng.IntN(4)]
	case 4:
		s["multipleOf"] = int64(2)
	}
}

// value makes a value, good by the schema with that chance at every step.
func (g *schemaGenerator) value(s map[string]any, good int) any {
	if !g.chance(good) {
		return []any{nil, "x", int64(3), int64(1) << 40, 1.5, true, map[string]any{"a": nil, "z": "q"}, []any{nil, "x"}}[g.rng.IntN(8)]
	}
	switch s["type"] {
	case "object":
		out := map[string]any{}
		props, _ := s["properties"].(map[string]any)
		for name, p := range props {
			if g.chance(80) {
				out[name] = g.value(p.(map[string]any), good)
			}
		}
		if p, ok := s["additionalProperties"].(map[string]any); ok {
			for range g.rng.IntN(3) {
				out[fieldNames[g.rng.IntN(3)]] = g.value(p, good)
			}
		}
		if !g.chance(good) {
			out["stranger"] = map[string]any{"a": nil}
		}
		return out
	case "array":
		out := []any{}
		for range g.rng.IntN(4) {
			out = append(out, g.value(s["items"].(map[string]any), good))
		}
		return out
	case "string":
		return []any{"x", "yy", "äö", "", "zzz", "2026-11-20T10:00:00Z", "aGk=", "2026-11-20", "10.0.0.1", "name"}[g.rng.IntN(10)]
	case "integer":
		return []any{int64(0), int64(1), int64(2), int64(-1), int64(3_000_000_000), int64(1)<<53 + 1, int64(1_795_241_004_283_554_643), -int64(1) << 62}[g.rng.IntN(8)]
	case "number":
		return []any{int64(0), int64(1), 2.5, -0.5, int64(2), int64(1)<<53 + 1}[g.rng.IntN(6)]
	case "boolean":
		return g.chance(50)
	}
	return []any{int64(1), "25%", "a", int64(7)}[g.rng.IntN(4)]
}

func TestSchemasAgreeWithTheLibrary(t *testing.T) {
	g := &schemaGenerator{rand.New(rand.NewPCG(testSeed(t), 1))}
	schemas, valid, sure := 0, 0, 0
	for range 1500 {
		root := map[string]any{"type": "object"}
		g.object(root, 3)
		for _, name := range []string{"kind", "metadata"} { // at the root they are not the schema's
			delete(child(root, "properties"), name)
		}
		delete(root, "additionalProperties")
		raw, _ := json.Marshal(root)
		s, err := compileSchema(raw)
		if err != nil {
			continue // the generator makes some that no definition may have
		}
		schemas++
		for _, good := range []int{100, 100, 97, 90, 70} {
			obj := map[string]any{}
			for name, p := range child(root, "properties") {
				obj[name] = g.value(p.(map[string]any), good)
			}
			if !checkAgainstLibrary(t, s, obj, &valid, &sure) {
				t.Fatalf("schema %s\nobject %s", raw, fragment(obj))
			}
		}
	}
	t.Logf("%d schemas, %d valid objects, sure of %d", schemas, valid, sure)
	if schemas < 700 || sure*10 < valid*7 {
		t.Errorf("%d schemas, %d valid objects, sure of %d", schemas, valid, sure)
	}
}

func checkAgainstLibrary(t *testing.T, s *schema, obj map[string]any, valid, sure *int) bool {
	mine, theirs := deepCopy(obj).(map[string]any), deepCopy(obj).(map[string]any)
	unknown, _ := s.prune(mine)
	paths := pruning.PruneWithOptions(theirs, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(theirs, s.structural)
	want := []string{}
	for _, p := range paths {
		want = append(want, fmt.Sprintf("unknown field %q", p))
	}
	got := []string{}
	for _, err := range unknown {
		got = append(got, err.Error())
	}
	if !slices.Equal(got, want) || !reflect.DeepEqual(mine, theirs) {
		t.Errorf("pruned\n got %s %v\nwant %s %v", fragment(mine), got, fragment(theirs), want)
		return false
	}
	s.root.applyDefaults(mine)
	defaulting.Default(theirs, s.structural)
	if !reflect.DeepEqual(mine, theirs) {
		t.Errorf("defaulted\n got %s\nwant %s", fragment(mine), fragment(theirs))
		return false
	}
	errs := crvalidation.ValidateCustomResource(nil, mine, s.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, mine)...)
	if len(errs) == 0 {
		*valid++
	}
	if s.root.certain(mine) {
		*sure++
		if len(errs) > 0 {
			t.Errorf("sure of %s: %v", fragment(mine), errs)
			return false
		}
	}
	if mineErrs := s.validate(mine, nil, nil); len(mineErrs) != len(errs) {
		t.Errorf("validate %v, the library %v", mineErrs, errs)
		return false
	}
	return true
}

// custom defines a kind with this schema and returns it.
func custom(t testing.TB, r *Registry, schema string) *Kind {
	t.Helper()
	define(t, r, fmt.Sprintf(`{"metadata":{"name":"gears.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gears","singular":"gear","kind":"Gear","listKind":"GearList"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},"schema":{"openAPIV3Schema":%s}}]}}`, schema))
	return kind(t, r, "example.com", "v1", "gears")
}

const gearSchema = `{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["size"],"x-kubernetes-validations":[{"rule":"self.size <= self.limit","message":"size is over the limit"},{"rule":"self.size >= oldSelf.size","messageExpression":"'not smaller' + ' than before'"}],
"properties":{"size":{"type":"integer","minimum":1},"limit":{"type":"integer","default":10},"replicas":{"type":"integer"},"color":{"type":"string","enum":["red","blue"]},"port":{"x-kubernetes-int-or-string":true},"note":{"type":"string","maxLength":3},
"parts":{"type":"array","maxItems":5,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"at":{"type":"string","format":"date-time"}}}},
"pod":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}},
"status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"},"phase":{"type":"string","enum":["Ready"]}}}}}`

func TestCustomKindsFollowTheirSchema(t *testing.T) {
	k := custom(t, NewRegistry(), gearSchema)
	const head = `"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"a"},`
	for _, c := range []struct{ name, obj, old, want string }{
		{"good", `{` + head + `"spec":{"size":3,"port":"http"}}`, ``, ``},
		{"required", `{` + head + `"spec":{}}`, ``, `spec.size: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`},
		{"no spec", `{` + head + `"x":1}`, ``, `spec: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`},
		{"type", `{` + head + `"spec":{"size":"3"}}`, ``, `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`},
		{"enum", `{` + head + `"spec":{"size":3,"color":"green"}}`, ``, `spec.color: Unsupported value: "green": supported values: "red", "blue", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`},
		{"minimum", `{` + head + `"spec":{"size":0}}`, ``, `spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1`},
		{"rule", `{` + head + `"spec":{"size":11}}`, ``, `spec: Invalid value: size is over the limit`},
		{"transition", `{` + head + `"spec":{"size":2}}`, `{` + head + `"spec":{"size":3,"limit":10}}`, `spec: Invalid value: not smaller than before`},
		{"ratcheting", `{` + head + `"spec":{"size":3,"note":"long"}}`, `{` + head + `"spec":{"size":3,"note":"long","limit":10}}`, ``},
		{"list map", `{` + head + `"spec":{"size":3,"parts":[{"name":"a"},{"name":"a"}]}}`, ``, `spec.parts[1]: Duplicate value: {"name":"a"}`},
		{"format", `{` + head + `"spec":{"size":3,"parts":[{"name":"a","at":"today"}]}}`, ``, `spec.parts[0].at: Invalid value: "today": spec.parts[0].at in body must be of type date-time: "today", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`},
		{"embedded", `{` + head + `"spec":{"size":3,"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"/"}}}}}`, ``, `spec.pod.metadata.labels: Invalid value: "/": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		{"scale", `{` + head + `"spec":{"size":3,"replicas":-1}}`, ``, `.spec.replicas: Invalid value: -1: should be a non-negative integer`},
	} {
		obj := object(t, c.obj)
		if _, err := k.Conform(obj); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var old map[string]any
		if c.old != "" {
			old = object(t, c.old)
			k.PrepareUpdate(obj, old)
		} else {
			k.PrepareCreate(obj)
		}
		errs := []string{}
		for _, err := range k.Validate(obj, old) {
			errs = append(errs, err.Error())
		}
		if got := strings.Join(errs, ", "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestConformPrunesCustomKinds(t *testing.T) {
	k := custom(t, NewRegistry(), gearSchema)
	obj := object(t, `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"a","odd":1},"spec":{"size":3,"foo":{"x":1},"color":null,"parts":[{"name":"a"},{"name":"b","bar":1}],"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","odd":1},"spec":{"any":null}}}}`)
	strict, err := k.Conform(obj)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "unknown", fmt.Sprint(strict), `[unknown field "metadata.odd" unknown field "spec.foo" unknown field "spec.parts[1].bar" unknown field "spec.pod.metadata.odd"]`)
	same(t, "pruned", string(fragment(obj)), `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"a"},"spec":{"parts":[{"name":"a"},{"name":"b"}],"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"any":null}},"size":3}}`)
	if _, err := k.Conform(object(t, `{"metadata":{"name":"a"},"spec":{"pod":{"apiVersion":"v1","kind":"Pod","metadata":"x"}}}`)); err == nil {
		t.Error("metadata of an embedded resource may be a string")
	}
}

func TestStatusOfCustomKindsIsValidatedAlone(t *testing.T) {
	k := custom(t, NewRegistry(), gearSchema)
	old := object(t, `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"a"},"spec":{"size":0,"limit":10}}`)
	obj := deepCopy(old).(map[string]any)
	obj["status"] = map[string]any{"phase": "Ready"}
	if errs := k.ValidateStatus(obj, old); len(errs) > 0 {
		t.Error(errs)
	}
	obj["status"] = map[string]any{"phase": "Lost"}
	same(t, "status", k.ValidateStatus(obj, old)[0].Error(), `status.phase: Unsupported value: "Lost": supported values: "Ready"`)
}

func TestCompiledSchemasOutliveStatusChanges(t *testing.T) {
	r := NewRegistry()
	obj := define(t, r, definitionJSON("widgets", "example.com", "Widget"))
	k := kind(t, r, "example.com", "v1", "widgets")
	before, err := k.schema()
	if err != nil || before == nil {
		t.Fatal(err)
	}
	obj["status"].(map[string]any)["observedGeneration"] = int64(2)
	set(t, r, obj)
	again := kind(t, r, "example.com", "v1", "widgets")
	if after, _ := again.schema(); after != before || again == k {
		t.Error("the same schema was compiled again")
	}
	data, _, _ := Encode(obj)
	set(t, r, object(t, strings.Replace(string(data), `"default":"New"`, `"default":"Old"`, 1)))
	if after, _ := kind(t, r, "example.com", "v1", "widgets").schema(); after == before {
		t.Error("a changed schema was not compiled")
	}
}

const benchSchema = `{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["title","revision"],"properties":{
"title":{"type":"string","minLength":1,"maxLength":200},"owner":{"type":"string"},"phase":{"type":"string","enum":["Pending","Running","Failed"]},
"image":{"type":"string"},"replicas":{"type":"integer","format":"int32","minimum":0},"revision":{"type":"integer","format":"int64"},
"sentAt":{"type":"integer","format":"int64"},"enabled":{"type":"boolean"},"weight":{"type":"number"},"tier":{"type":"string","default":"standard"},
"args":{"type":"array","items":{"type":"string"}},
"env":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"value":{"type":"string"}}}},
"selector":{"type":"object","additionalProperties":{"type":"string"}},"resources":{"type":"object","properties":{"cpu":{"type":"string"},"memory":{"type":"string"}}},
"notes":{"type":"string"},"payload":{"type":"string"}}}}}`

// benchObject is an ordinary custom object of 2 KiB.
const benchObject = `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"w","namespace":"n","labels":{"app":"bench","pct":"p7"}},"spec":{"title":"a widget","owner":"team-a@example.test","phase":"Running",
"image":"registry.example.test/widgets/server:v1.2.3","replicas":3,"enabled":true,"weight":0.75,"args":["--listen=:8080","--log-level=info","--cache=64Mi"],
"env":[{"name":"MODE","value":"production"},{"name":"REGION","value":"north"},{"name":"SHARD","value":"7"}],
"selector":{"app":"widget","component":"server"},"resources":{"cpu":"250m","memory":"64Mi"},"notes":"made by the load generator","revision":7,"sentAt":1700000000000,"payload":"ABCDEFGHIJ"}}`

// BenchmarkCustomCreate is all that a create of a custom object costs here.
func BenchmarkCustomCreate(b *testing.B) {
	k := custom(b, NewRegistry(), benchSchema)
	obj := object(b, benchObject)
	b.ReportAllocs()
	for b.Loop() {
		if strict, err := k.Conform(obj); err != nil || strict != nil {
			b.Fatal(err, strict)
		}
		k.PrepareCreate(obj)
		if errs := k.Validate(obj, nil); errs != nil {
			b.Fatal(errs)
		}
	}
}

// BenchmarkLibraryCreate is the same by the library alone.
func BenchmarkLibraryCreate(b *testing.B) {
	k := custom(b, NewRegistry(), benchSchema)
	s, _ := k.schema()
	obj := object(b, benchObject)
	b.ReportAllocs()
	for b.Loop() {
		pruning.PruneWithOptions(obj, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.structural)
		defaulting.Default(obj, s.structural)
		crvalidation.ValidateCustomResource(nil, obj, s.validator)
		listtype.ValidateListSetsAndMaps(nil, s.structural, obj)
	}
}

func BenchmarkCompileSchema(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compileSchema([]byte(benchSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRules is a create of an object whose schema has rules.
func BenchmarkRules(b *testing.B) {
	k := custom(b, NewRegistry(), gearSchema)
	obj := object(b, `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"a"},"spec":{"size":3,"parts":[{"name":"a","at":"2026-11-20T10:00:00Z"}]}}`)
	k.PrepareCreate(obj)
	b.ReportAllocs()
	for b.Loop() {
		if errs := k.Validate(obj, nil); errs != nil {
			b.Fatal(errs)
		}
	}
}

// BenchmarkCompileRules is the first use of a schema with rules.
func BenchmarkCompileRules(b *testing.B) {
	for b.Loop() {
		if _, err := compileSchema([]byte(gearSchema)); err != nil {
			b.Fatal(err)
		}
	}
}
