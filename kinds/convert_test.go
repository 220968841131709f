package kinds

import (
	"reflect"
	"testing"
)

func TestStoredEventsSurviveTheirOtherForm(t *testing.T) {
	dir := goldenDir(t)
	r := NewRegistry()
	other := kind(t, r, "events.k8s.io", "v1", "events")
	obj, _, err := DecodeJSON(goldenFile(t, dir, kind(t, r, "", "v1", "events"), "json"))
	if err != nil {
		t.Fatal(err)
	}
	want := deepCopy(obj)
	other.FromStorage(obj)
	if text(obj, "note") == "" || obj["message"] != nil || text(obj, "apiVersion") != "events.k8s.io/v1" {
		t.Errorf("%s", fragment(obj))
	}
	other.ToStorage(obj)
	if !reflect.DeepEqual(any(obj), want) {
		t.Errorf("got %s\nwant %s", fragment(obj), fragment(want))
	}
}

const fullAutoscaler = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a","uid":"u"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"minReplicas":1,"maxReplicas":9,
"behavior":{"scaleUp":{"stabilizationWindowSeconds":5,"selectPolicy":"Max","policies":[{"type":"Pods","value":4,"periodSeconds":15}]}},
"metrics":[{"type":"Pods","pods":{"metric":{"name":"p","selector":{"matchLabels":{"a":"b"}}},"target":{"type":"AverageValue","averageValue":"10"}}},
{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"o"},"target":{"type":"Value","value":"2k"}}},
{"type":"External","external":{"metric":{"name":"e"},"target":{"type":"AverageValue","averageValue":"3"}}},
{"type":"ContainerResource","containerResource":{"name":"memory","container":"c","target":{"type":"Utilization","averageUtilization":60}}},
{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1Gi"}}},
{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}]},
"status":{"currentReplicas":3,"desiredReplicas":4,"conditions":[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-11-20T10:00:00Z"}],
"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":50,"averageValue":"100m"}}},{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"o"},"current":{"value":"1k"}}}]}}`

func TestStoredAutoscalersSurviveTheirOtherForm(t *testing.T) {
	r := NewRegistry()
	v1, v2 := kind(t, r, "autoscaling", "v1", "horizontalpodautoscalers"), kind(t, r, "autoscaling", "v2", "horizontalpodautoscalers")
	if !v1.Converts() || v2.Converts() || v1.StorageVersion != "v2" {
		t.Fatal(v1.StorageVersion)
	}
	obj := object(t, fullAutoscaler)
	if strict, err := v2.Conform(obj); err != nil || strict != nil {
		t.Fatal(strict, err)
	}
	want := deepCopy(obj)
	v1.FromStorage(obj)
	if intAt(obj, "spec", "targetCPUUtilizationPercentage") != 70 || intAt(obj, "status", "currentCPUUtilizationPercentage") != 50 || objectAt(obj, "spec")["metrics"] != nil {
		t.Errorf("%s", fragment(obj))
	}
	if strict, err := v1.Conform(obj); err != nil || strict != nil {
		t.Error(strict, err)
	}
	v1.ToStorage(obj)
	if !reflect.DeepEqual(any(obj), want) {
		t.Errorf("got %s\nwant %s", fragment(obj), fragment(want))
	}
}

func TestServedJSONKeepsTheVersion(t *testing.T) {
	r := NewRegistry()
	stored := []byte(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"a","resourceVersion":"7","uid":"u"},"involvedObject":{"name":"p"},"message":"m"}`)
	got, err := kind(t, r, "events.k8s.io", "v1", "events").ServedJSON(stored)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "served", string(got), `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"a","resourceVersion":"7","uid":"u"},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null,"deprecatedSource":{},"eventTime":null,"note":"m","regarding":{"name":"p"}}`)
	if got, _ := kind(t, r, "", "v1", "events").ServedJSON(stored); &got[0] != &stored[0] {
		t.Error("what is stored as it is served was made anew")
	}
}
