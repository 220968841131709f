package kinds

import (
	"strings"
)

// Annotations in which autoscaling/v1 holds what it has no fields for.
const (
	statusesAnnotation   = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
)

// metricFields are the fields of metrics, by the source they are of: in
// autoscaling/v1, which is flat, and in v2. In a status "target" of the names
// is "current" but for an object's.
var metricFields = [...]struct {
	source string
	fields [][2]string
}{
	{"resource", [][2]string{{"name", "name"}, {"targetAverageUtilization", "target.averageUtilization"}, {"targetAverageValue", "target.averageValue"}}},
	{"containerResource", [][2]string{{"name", "name"}, {"container", "container"}, {"targetAverageUtilization", "target.averageUtilization"}, {"targetAverageValue", "target.averageValue"}}},
	{"pods", [][2]string{{"metricName", "metric.name"}, {"selector", "metric.selector"}, {"targetAverageValue", "target.averageValue"}}},
	{"object", [][2]string{{"target", "describedObject"}, {"metricName", "metric.name"}, {"selector", "metric.selector"}, {"targetValue", "target.value"}, {"averageValue", "target.averageValue"}}},
	{"external", [][2]string{{"metricName", "metric.name"}, {"metricSelector", "metric.selector"}, {"targetValue", "target.value"}, {"targetAverageValue", "target.averageValue"}}},
}

// convertMetric turns a metric, or with status the state of one, into the form
// of v1, or from it.
func convertMetric(m map[string]any, status, toV1 bool) map[string]any {
	out := map[string]any{"type": m["type"]}
	for _, s := range metricFields {
		from, ok := m[s.source].(map[string]any)
		if !ok {
			continue
		}
		to := map[string]any{}
		for _, f := range s.fields {
			v1, v2 := f[0], f[1]
			if status {
				v2 = strings.Replace(v2, "target", "current", 1)
				if v1 != "target" {
					v1 = strings.Replace(v1, "target", "current", 1)
				}
			}
			if toV1 {
				move(from, v2, to, v1)
			} else {
				move(from, v1, to, v2)
			}
		}
		if target := child(to, "target"); !toV1 && !status && target != nil {
			switch {
			case target["averageUtilization"] != nil:
				target["type"] = "Utilization"
			case target["averageValue"] != nil:
				target["type"] = "AverageValue"
			default:
				target["type"] = "Value"
			}
		}
		out[s.source] = to
	}
	return out
}

// move copies the value at a path of one object to a path of another.
func move(from map[string]any, path string, to map[string]any, dest string) {
	v := at(from, strings.Split(path, ".")...)
	if v == nil {
		return
	}
	names := strings.Split(dest, ".")
	for _, name := range names[:len(names)-1] {
		to = ensure(to, name)
	}
	to[names[len(names)-1]] = v
}

func convertMetrics(list []map[string]any, status, toV1 bool) []any {
	out := make([]any, 0, len(list))
	for _, m := range list {
		out = append(out, convertMetric(m, status, toV1))
	}
	return out
}

// cpuTarget is the utilization a metric aims at, if it is the one that v1 has
// a field for.
func cpuTarget(m map[string]any) any {
	if text(m, "type") != "Resource" || textAt(m, "resource", "name") != "cpu" {
		return nil
	}
	return at(m, "resource", "target", "averageUtilization")
}

// autoscalerFromV2 makes an autoscaling/v1 object of a v2 one.
func autoscalerFromV2(obj map[string]any) {
	spec, status := ensure(obj, "spec"), ensure(obj, "status")
	var others []map[string]any
	for _, m := range objectsAt(spec, "metrics") {
		if n := cpuTarget(m); n != nil && spec["targetCPUUtilizationPercentage"] == nil {
			spec["targetCPUUtilizationPercentage"] = n
		} else {
			others = append(others, m)
		}
	}
	for _, m := range objectsAt(status, "currentMetrics") {
		if n := at(m, "resource", "current", "averageUtilization"); n != nil && textAt(m, "resource", "name") == "cpu" {
			status["currentCPUUtilizationPercentage"] = n
		}
	}
	annotate(obj, metricsAnnotation, convertMetrics(others, false, true))
	if current := objectsAt(status, "currentMetrics"); !plainCPU(current) {
		annotate(obj, statusesAnnotation, convertMetrics(current, true, true))
	}
	annotate(obj, conditionsAnnotation, listAt(status, "conditions"))
	if b := child(spec, "behavior"); len(b) > 0 {
		annotate(obj, behaviorAnnotation, []any{b})
	}
	delete(spec, "metrics")
	delete(spec, "behavior")
	delete(status, "currentMetrics")
	delete(status, "conditions")
}

// plainCPU tells whether the state of the metrics is what v1's one field says.
func plainCPU(list []map[string]any) bool {
	return len(list) == 1 && text(list[0], "type") == "Resource" && textAt(list[0], "resource", "name") == "cpu" &&
		len(objectAt(list[0], "resource", "current")) == 1 && at(list[0], "resource", "current", "averageUtilization") != nil
}

// annotate writes a list into an annotation; of the behavior its one item.
func annotate(obj map[string]any, name string, list []any) {
	if len(list) == 0 {
		return
	}
	var v any = list
	if name == behaviorAnnotation {
		v = list[0]
	}
	e := encoders.Get().(*encoder)
	defer e.release()
	if e.value(v) == nil {
		ensure(ensure(obj, "metadata"), "annotations")[name] = string(e.out)
	}
}

// autoscalerToV2 makes a v2 object of an autoscaling/v1 one.
func autoscalerToV2(obj map[string]any) {
	spec, status := ensure(obj, "spec"), ensure(obj, "status")
	metrics := convertMetrics(unannotate(obj, metricsAnnotation), false, false)
	if n := spec["targetCPUUtilizationPercentage"]; n != nil {
		metrics = append(metrics, map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu",
			"target": map[string]any{"type": "Utilization", "averageUtilization": n}}})
	}
	if len(metrics) > 0 {
		spec["metrics"] = metrics
	}
	current := unannotate(obj, statusesAnnotation)
	switch n := status["currentCPUUtilizationPercentage"]; {
	case len(current) > 0:
		status["currentMetrics"] = convertMetrics(current, true, false)
	case n != nil:
		status["currentMetrics"] = []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu",
			"current": map[string]any{"averageUtilization": n}}}}
	}
	if conditions := unannotate(obj, conditionsAnnotation); len(conditions) > 0 {
		list := make([]any, len(conditions))
		for i, c := range conditions {
			list[i] = c
		}
		status["conditions"] = list
	}
	if b := unannotate(obj, behaviorAnnotation); len(b) > 0 {
		spec["behavior"] = b[0]
	}
	delete(spec, "targetCPUUtilizationPercentage")
	delete(status, "currentCPUUtilizationPercentage")
}

// unannotate takes the objects out of an annotation; none if they cannot be
// read, and then the annotation stays.
func unannotate(obj map[string]any, name string) []map[string]any {
	annotations := objectAt(obj, "metadata", "annotations")
	s := text(annotations, name)
	if s == "" {
		return nil
	}
	if name == behaviorAnnotation {
		s = "[" + s + "]"
	}
	wrapped, _, err := DecodeJSON([]byte(`{"list":` + s + `}`))
	if err != nil {
		return nil
	}
	delete(annotations, name)
	if len(annotations) == 0 {
		delete(child(obj, "metadata"), "annotations")
	}
	return objectsAt(wrapped, "list")
}
