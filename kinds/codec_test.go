package kinds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	sigsjson "sigs.k8s.io/json"
)

// reference writes v as encoding/json does, HTML left alone.
func reference(t testing.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// canonical is the slow way to what Encode promises.
func canonical(t testing.TB, obj map[string]any) []byte {
	t.Helper()
	names := []string{}
	for name := range obj {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	head := []string{}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if _, ok := obj[name]; ok {
			head = append(head, name)
		}
	}
	out := []byte{'{'}
	for i, name := range append(head, names...) {
		v := obj[name]
		if name == "metadata" {
			meta := map[string]any{}
			for k, x := range v.(map[string]any) {
				if k != "resourceVersion" {
					meta[k] = x
				}
			}
			v = meta
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, reference(t, name)...)
		out = append(out, ':')
		out = append(out, reference(t, v)...)
	}
	return append(out, '}')
}

func checkEncode(t *testing.T, obj map[string]any) {
	t.Helper()
	want := canonical(t, obj)
	got, at, err := Encode(obj)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("Encode\n got %s\nwant %s", got, want)
	}
	meta := obj["metadata"].(map[string]any)
	if at < 0 {
		for name := range meta {
			if name > "resourceVersion" {
				t.Fatalf("no place for the version before %q", name)
			}
		}
		return
	}
	spliced := slices.Concat(got[:at], []byte(`"resourceVersion":"7",`), got[at:])
	var back map[string]any
	if err := json.Unmarshal(spliced, &back); err != nil {
		t.Fatalf("spliced: %v: %s", err, spliced)
	}
	if back["metadata"].(map[string]any)["resourceVersion"] != "7" {
		t.Fatalf("the version is not in the metadata: %s", spliced)
	}
	meta = back["metadata"].(map[string]any)
	if !bytes.Contains(spliced, append([]byte(`"metadata":`), reference(t, meta)...)) {
		t.Fatalf("the metadata is not in order: %s", spliced)
	}
}

func TestEncodeIsCanonical(t *testing.T) {
	checkEncode(t, map[string]any{
		"kind": "Widget", "apiVersion": "g/v1", "aardvark": int64(1),
		"metadata": map[string]any{"uid": "u", "name": "a", "resourceVersion": "9", "labels": map[string]any{}},
		"spec": map[string]any{
			"text": "<&> \u2028 \u2029 \"q\" \\ \x00\x1f\b\f\n\r\t \x7f é 日本 \U0001F600", "bad": "a\xffb\xc3",
			"floats": []any{0.75, 1e21, 1e-7, -0.0, math.Copysign(0, -1), 123456789.5, 1e20, 1e-6, 5e-324, math.MaxFloat64, 100.0},
			"ints":   []any{int64(math.MaxInt64), int64(math.MinInt64), int64(0), 3, int32(4)},
			"none":   nil, "yes": true, "no": false, "empty": []any{}, "<key>": json.Number("12.50"),
			"strings": []string{"b", "a"}, "map": map[string]string{"b": "1", "a": "2"}, "nilmap": map[string]any(nil), "nillist": []any(nil),
		},
	})
}

func TestEncodeRefusesWhatIsNoObject(t *testing.T) {
	for _, obj := range []map[string]any{{}, {"metadata": nil}, {"metadata": "x"}, {"metadata": []any{}}} {
		if _, _, err := Encode(obj); err != ErrNoMetadata {
			t.Errorf("%v: %v", obj, err)
		}
	}
	for _, v := range []any{math.NaN(), math.Inf(1), json.Number("x"), make(chan int)} {
		if _, _, err := Encode(map[string]any{"metadata": map[string]any{}, "v": v}); err == nil {
			t.Errorf("%v was encoded", v)
		}
	}
}

func TestEncodeIsRepeatable(t *testing.T) {
	obj, _, err := DecodeJSON(widget())
	if err != nil {
		t.Fatal(err)
	}
	first, at, err := Encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := DecodeJSON(first)
	second, at2, _ := Encode(again)
	if !bytes.Equal(first, second) || at != at2 {
		t.Errorf("%s\n%s", first, second)
	}
	if !strings.HasPrefix(string(first), `{"apiVersion":"bench.kronicle.test/v1","kind":"Widget","metadata":{`) {
		t.Errorf("head: %s", first)
	}
}

// checkDecode compares DecodeJSON with sigs.k8s.io/json.
func checkDecode(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var want map[string]any
	wantStrict, wantErr := sigsjson.UnmarshalStrict(body, &want)
	if wantErr == nil && want == nil {
		wantErr = fmt.Errorf("null")
	}
	got, strict, err := DecodeJSON(body)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, want %v", body, err, wantErr)
	}
	if err != nil {
		return nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n got %#v\nwant %#v", body, got, want)
	}
	if fmt.Sprint(strict) != fmt.Sprint(wantStrict) {
		t.Fatalf("%q: strict %v, want %v", body, strict, wantStrict)
	}
	return got
}

var documents = []string{
	`{}`, ` { } `, `null`, `[]`, `"a"`, `1`, ``, ` `, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1}x`, `{"a":1} {"b":2}`,
	`{"a":1,"a":2}`, `{"a":{"b":1,"c":2},"a":{"b":3}}`, `{"spec":{"x":[{"y":1,"y":2}]}}`, `{"a":{"b":1,"b":1,"b":2},"c":[[{"d":1,"d":1}]]}`,
	`{"a":0,"b":-0,"c":-1,"d":01}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e5,"b":1E+5,"c":1e-5,"d":1.5e3}`, `{"a":1e}`, `{"a":+1}`,
	`{"a":9223372036854775807,"b":-9223372036854775808,"c":9223372036854775808,"d":1234567890123456789012345678901}`, `{"a":1e400}`, `{"a":1e-400}`, `{"a":-0.0}`,
	`{"a":true,"b":false,"c":null}`, `{"a":tru}`, `{"a":nul}`, `{"a":truex}`, `{"a":"\u00e9\u0041\ud83d\ude00"}`, `{"a":"\ud83d"}`, `{"a":"\ud83dx"}`, `{"a":"\ude00"}`,
	`{"a":"\ud83d\u0041"}`, `{"a":"\ud83d\ud83d\ude00"}`, `{"a":"\u12"}`, `{"a":"\x"}`, `{"a":"\`, `{"a":"\"\\\/\b\f\n\r\t"}`, "{\"a\":\"\t\"}", "{\"a\":\"\xff\xc3x\xe2\x82\"}",
	"{\"\xff\":1,\"\xfe\":2}", `{"a\u0062":1,"ab":2}`, `{"a":[1,[2,[3]],{}]}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[}`, "\ufeff{}", `{"a":"日本"}`, "{\"a\":\"\x7f\"}", "{\"a\":\"\u2028\"}",
	`{"a":1 , "b" : [ 1 , 2 ] , "c" : { } }`, "{\"a\":\n1}", "{\"a\":\v1}", `{"":{"":[]}}`, `{'a':1}`, `{a:1}`, `{"a":1}` + "\n\n", `{"a":"` + strings.Repeat("x", 5000) + `"}`,
	`{"a":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`, `{"a":` + strings.Repeat("[", 1100) + strings.Repeat("]", 1100) + `}`,
	`{"a":` + strings.Repeat(`{"a":`, 1100) + "1" + strings.Repeat("}", 1101), `{"a":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `}`,
}

func TestDecodeAgreesWithSigsJSON(t *testing.T) {
	for _, doc := range documents {
		checkDecode(t, []byte(doc))
	}
	checkDecode(t, widget())
}

func TestDecodeReportsDuplicatesByPath(t *testing.T) {
	_, strict, err := DecodeJSON([]byte(`{"metadata":{"name":"a"},"spec":{"a":1,"a":2,"l":[{"b":1,"b":2}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(strict); got != `[duplicate field "spec.a" duplicate field "spec.l[0].b"]` {
		t.Error(got)
	}
}

func TestDecodeAgreesOnRandomDamage(t *testing.T) {
	seed := testSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	base := widget()
	for range 3000 {
		doc := bytes.Clone(base)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(doc))
			switch rng.IntN(3) {
			case 0:
				doc[at] = byte(rng.IntN(256))
			case 1:
				doc = slices.Delete(doc, at, at+1)
			default:
				doc = slices.Insert(doc, at, `{}[]",:\ 0-e.tnfu`[rng.IntN(17)])
			}
		}
		if obj := checkDecode(t, doc); obj != nil {
			if _, ok := obj["metadata"].(map[string]any); ok {
				checkEncode(t, obj)
			}
		}
	}
}

func TestDecodeSharesNothingWithTheBody(t *testing.T) {
	body := []byte(`{"metadata":{"name":"abc"},"a\u0062":"x\u0061"}`)
	obj, _, _ := DecodeJSON(body)
	clear(body)
	if !reflect.DeepEqual(obj, map[string]any{"metadata": map[string]any{"name": "abc"}, "ab": "xa"}) {
		t.Errorf("%v", obj)
	}
}

func TestDecodeForgetsOddNames(t *testing.T) {
	d := &decoder{keys: map[string]string{}}
	for i := range 3 * maxInterned {
		d.intern(fmt.Appendf(nil, "name-%d", i))
	}
	if len(d.keys) > maxInterned {
		t.Errorf("%d names are kept", len(d.keys))
	}
}

func FuzzDecode(f *testing.F) {
	for _, doc := range documents {
		if len(doc) < 1000 {
			f.Add([]byte(doc))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkDecode(t, body) })
}

func FuzzEncode(f *testing.F) {
	for _, doc := range documents {
		if len(doc) < 1000 {
			f.Add([]byte(doc))
		}
	}
	f.Add(widget())
	f.Fuzz(func(t *testing.T, body []byte) {
		obj, _, err := DecodeJSON(body)
		if err != nil {
			return
		}
		if _, ok := obj["metadata"].(map[string]any); !ok {
			obj = map[string]any{"metadata": obj, "spec": obj}
		}
		checkEncode(t, obj)
	})
}

func TestDecodeYAML(t *testing.T) {
	obj, strict, err := DecodeYAML([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {k: \"1\"}\nx: 1.5\nz: 3\n"))
	if err != nil || strict != nil {
		t.Fatal(err, strict)
	}
	if obj["x"] != 1.5 || obj["z"] != int64(3) || text(child(obj, "data"), "k") != "1" {
		t.Errorf("%v", obj)
	}
	obj, strict, err = DecodeYAML([]byte("metadata: {name: a}\nspec:\n  a: 1\n  a: 2\n"))
	if err != nil || len(strict) != 1 || !strings.Contains(strict[0].Error(), `key "a" already set`) {
		t.Errorf("%v %v %v", obj, strict, err)
	}
	for _, bad := range []string{"a: [", "- a", "", "a: b: c"} {
		if _, _, err := DecodeYAML([]byte(bad)); err == nil {
			t.Errorf("%q was decoded", bad)
		}
	}
}

// widget is an object of the size that the load generator sends.
func widget() []byte {
	b := []byte(`{"apiVersion":"bench.kronicle.test/v1","kind":"Widget","metadata":{"name":"widget-000123","namespace":"bench-07","labels":{"app":"bench","pct":"p42"},"uid":"d9b7f7a2-4d1c-4ed5-9d4e-2d1f5f3f2c11"},` +
		`"spec":{"title":"a widget","owner":"team-a@example.test","phase":"Running","image":"registry.example.test/widgets/server:v1.2.3","replicas":3,"enabled":true,"weight":0.75,"tier":"gold",` +
		`"args":["--listen=:8080","--log-level=info","--cache=64Mi"],"env":[{"name":"MODE","value":"production"},{"name":"REGION","value":"north"},{"name":"SHARD","value":"7"}],` +
		`"selector":{"app":"widget","component":"server"},"resources":{"cpu":"250m","memory":"64Mi"},"notes":"made by the load generator","revision":17,"sentAt":1790000000000000000,"payload":"`)
	for i := 0; len(b) < 1277; i++ {
		b = append(b, 'A'+byte(i*7%26))
	}
	return append(b, `"}}`...)
}

func TestCodecAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("allocations differ with the race detector")
	}
	body := widget()
	obj, _, _ := DecodeJSON(body)
	if n := testing.AllocsPerRun(200, func() { _, _, _ = Encode(obj) }); n > 1 {
		t.Errorf("Encode allocates %v times", n)
	}
	if n := testing.AllocsPerRun(200, func() { _, _, _ = DecodeJSON(body) }); n > 85 {
		t.Errorf("DecodeJSON allocates %v times", n)
	}
}

func BenchmarkDecodeJSON(b *testing.B) {
	body := widget()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, _, err := DecodeJSON(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeSigs(b *testing.B) {
	body := widget()
	b.ReportAllocs()
	for b.Loop() {
		var obj map[string]any
		if _, err := sigsjson.UnmarshalStrict(body, &obj); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	obj, _, err := DecodeJSON(widget())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Encode(obj); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeStandard(b *testing.B) {
	obj, _, _ := DecodeJSON(widget())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(obj); err != nil {
			b.Fatal(err)
		}
	}
}
