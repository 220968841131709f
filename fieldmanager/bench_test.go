package fieldmanager

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kronicle/kronicle/kinds"
)

const widgetSchema = `{"type":"object","required":["spec"],"properties":{"spec":{"type":"object",
"required":["title","revision"],"properties":{
"title":{"type":"string"},"owner":{"type":"string"},"phase":{"type":"string"},"image":{"type":"string"},
"replicas":{"type":"integer","format":"int32"},"revision":{"type":"integer","format":"int64"},
"sentAt":{"type":"integer","format":"int64"},"enabled":{"type":"boolean"},"weight":{"type":"number"},
"tier":{"type":"string","default":"standard"},"args":{"type":"array","items":{"type":"string"}},
"env":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"value":{"type":"string"}}}},
"selector":{"type":"object","additionalProperties":{"type":"string"}},
"resources":{"type":"object","properties":{"cpu":{"type":"string"},"memory":{"type":"string"}}},
"notes":{"type":"string"},"payload":{"type":"string"}}}}}`

func widget(t testing.TB) map[string]any {
	return parse(t, `{"apiVersion":"bench.kronicle.test/v1","kind":"Widget","metadata":{"name":"w-000001","namespace":"bench-01",
"uid":"8f14e45f-ceea-467f-a9d6-1c1e9f1b2a3c","creationTimestamp":"2026-11-20T10:00:00Z","generation":1,
"labels":{"app":"bench","pct":"p7"}},"spec":{"title":"a widget","owner":"team-a@example.test","phase":"Running",
"image":"registry.example.test/widgets/server:v1.2.3","replicas":3,"enabled":true,"weight":0.75,"tier":"gold",
"args":["--listen=:8080","--log-level=info","--cache=64Mi"],
"env":[{"name":"MODE","value":"production"},{"name":"REGION","value":"north"},{"name":"SHARD","value":"7"}],
"selector":{"app":"widget","component":"server"},"resources":{"cpu":"250m","memory":"64Mi"},"notes":"made by the load generator",
"revision":1,"sentAt":1700000000000,"payload":"`+strings.Repeat("Q", 400)+`"}}`)
}

func widgetManager(t testing.TB) *Manager {
	return New(Config{APIVersion: "bench.kronicle.test/v1", Kind: "Widget", Type: mustType(t, widgetSchema)})
}

func BenchmarkCreate(b *testing.B) {
	m, obj := widgetManager(b), widget(b)
	by := Actor{Manager: "loadgen", Now: at(1)}
	b.ReportAllocs()
	for b.Loop() {
		delete(child(obj, "metadata"), "managedFields")
		if err := m.Update(nil, obj, by); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreateGeneral(b *testing.B) {
	m, obj := widgetManager(b), widget(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.general(nil, obj, Actor{Manager: "loadgen", Now: at(1)}); err != nil {
			b.Fatal(err)
		}
	}
}

// updated is a stored widget and a next state of it.
func updated(b *testing.B, m *Manager) (live, obj map[string]any) {
	live = widget(b)
	if err := m.Update(nil, live, Actor{Manager: "loadgen", Now: at(1)}); err != nil {
		b.Fatal(err)
	}
	live = stored(b, live)
	obj = stored(b, live)
	child(obj, "spec")["revision"] = int64(2)
	child(obj, "metadata")["generation"] = int64(2)
	return live, obj
}

func BenchmarkUpdateOneLeaf(b *testing.B) {
	m := widgetManager(b)
	live, obj := updated(b, m)
	given := listed(obj)
	b.ReportAllocs()
	for b.Loop() {
		child(obj, "metadata")["managedFields"] = given
		if err := m.Update(live, obj, Actor{Manager: "loadgen", Now: at(2)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdateOneLeafByAnother(b *testing.B) {
	m := widgetManager(b)
	live, obj := updated(b, m)
	given := listed(obj)
	b.ReportAllocs()
	for b.Loop() {
		child(obj, "metadata")["managedFields"] = given
		if err := m.Update(live, obj, Actor{Manager: "other", Now: at(2)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdateOneLeafGeneral(b *testing.B) {
	m := widgetManager(b)
	live, obj := updated(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.general(live, obj, Actor{Manager: "loadgen", Now: at(2)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdateNothing(b *testing.B) {
	m := widgetManager(b)
	live, _ := updated(b, m)
	obj := stored(b, live)
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Update(live, obj, Actor{Manager: "loadgen", Now: at(2)}); err != nil {
			b.Fatal(err)
		}
	}
}

// appliedWidget is a widget as applied, and a configuration of it that changes
// one leaf.
func appliedWidget(b *testing.B, m *Manager) (live, config map[string]any) {
	config = widget(b)
	for _, name := range []string{"uid", "creationTimestamp", "generation"} {
		delete(child(config, "metadata"), name)
	}
	live, err := m.Apply(nil, config, Actor{Manager: "loadgen", Now: at(1)}, false)
	if err != nil {
		b.Fatal(err)
	}
	config = runtime.DeepCopyJSON(config)
	child(config, "spec")["revision"] = int64(2)
	return stored(b, live), config
}

func BenchmarkApplyOneLeaf(b *testing.B) {
	m := widgetManager(b)
	live, config := appliedWidget(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Apply(live, config, Actor{Manager: "loadgen", Now: at(2)}, false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyOneLeafGeneral(b *testing.B) {
	m := widgetManager(b)
	live, config := appliedWidget(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.generalApply(live, config, Actor{Manager: "loadgen", Now: at(2)}, false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeCreated(b *testing.B) {
	m, obj := widgetManager(b), widget(b)
	if err := m.Update(nil, obj, Actor{Manager: "loadgen", Now: at(1)}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := kinds.Encode(obj); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadBuiltins(b *testing.B) {
	for b.Loop() {
		if _, err := readBuiltins(); err != nil {
			b.Fatal(err)
		}
	}
}
