package kinds

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

func replicaCells(obj map[string]any, now time.Time) []any {
	cells := []any{intAt(obj, "spec", "replicas"), intAt(obj, "status", "replicas"), intAt(obj, "status", "readyReplicas"), created(obj, now)}
	if text(obj, "kind") == "ReplicationController" {
		return append(append(cells, containerCells(objectAt(obj, "spec", "template", "spec"))...), labelsText(objectAt(obj, "spec", "selector")))
	}
	return append(cells, templateCells(obj)...)
}

func deploymentCells(obj map[string]any, now time.Time) []any {
	status := child(obj, "status")
	ready := fmt.Sprintf("%d/%d", intAt(status, "readyReplicas"), intAt(obj, "spec", "replicas"))
	return append([]any{ready, strconv.FormatInt(intAt(status, "updatedReplicas"), 10), strconv.FormatInt(intAt(status, "availableReplicas"), 10), created(obj, now)},
		templateCells(obj)...)
}

func statefulSetCells(obj map[string]any, now time.Time) []any {
	ready := fmt.Sprintf("%d/%d", intAt(obj, "status", "readyReplicas"), intAt(obj, "spec", "replicas"))
	return append([]any{ready, created(obj, now)}, templateCells(obj)[:2]...)
}

func daemonSetCells(obj map[string]any, now time.Time) []any {
	s := child(obj, "status")
	return append([]any{intAt(s, "desiredNumberScheduled"), intAt(s, "currentNumberScheduled"), intAt(s, "numberReady"), intAt(s, "updatedNumberScheduled"),
		intAt(s, "numberAvailable"), labelsText(objectAt(obj, "spec", "template", "spec", "nodeSelector")), created(obj, now)}, templateCells(obj)...)
}

func jobCells(obj map[string]any, now time.Time) []any {
	spec, status := child(obj, "spec"), child(obj, "status")
	state := "Running"
	switch {
	case condition(status, "Complete"):
		state = "Complete"
	case condition(status, "Failed"):
		state = "Failed"
	case textAt(obj, "metadata", "deletionTimestamp") != "":
		state = "Terminating"
	case condition(status, "Suspended"):
		state = "Suspended"
	case condition(status, "FailureTarget"):
		state = "FailureTarget"
	case condition(status, "SuccessCriteriaMet"):
		state = "SuccessCriteriaMet"
	}
	done := fmt.Sprintf("%d/%s", intAt(status, "succeeded"), scalarOr(spec["completions"], "1"))
	if spec["completions"] == nil {
		if n := intAt(spec, "parallelism"); n > 1 {
			done += fmt.Sprintf(" of %d", n)
		}
	}
	took := ""
	if start, err := time.Parse(time.RFC3339, text(status, "startTime")); err == nil {
		took = duration.HumanDuration(now.Sub(start))
		if end, err := time.Parse(time.RFC3339, text(status, "completionTime")); err == nil {
			took = duration.HumanDuration(end.Sub(start))
		}
	}
	return append([]any{state, done, took, created(obj, now)}, templateCells(obj)...)
}

func cronJobCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	last := none
	if t := textAt(obj, "status", "lastScheduleTime"); t != "" {
		last = since(t, now)
	}
	suspend := "False"
	if spec["suspend"] == true {
		suspend = "True"
	}
	zone := none
	if s, ok := spec["timeZone"].(string); ok {
		zone = s
	}
	return append([]any{text(spec, "schedule"), zone, suspend, int64(len(listAt(obj, "status", "active"))), last, created(obj, now)},
		templateCells(objectAt(spec, "jobTemplate"))...)
}

func budgetCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	return []any{scalarOr(spec["minAvailable"], "N/A"), scalarOr(spec["maxUnavailable"], "N/A"), intAt(obj, "status", "disruptionsAllowed"), created(obj, now)}
}

func revisionCells(obj map[string]any, now time.Time) []any {
	controller := none
	for _, o := range objectsAt(obj, "metadata", "ownerReferences") {
		if o["controller"] == true {
			group, _ := splitAPI(text(o, "apiVersion"))
			controller = strings.ToLower(text(o, "kind"))
			if group != "" {
				controller += "." + group
			}
			controller += "/" + text(o, "name")
		}
	}
	return []any{controller, intAt(obj, "revision"), created(obj, now)}
}

func autoscalerCells(obj map[string]any, now time.Time) []any {
	spec, status := child(obj, "spec"), child(obj, "status")
	targets := "<none>"
	if n, ok := spec["targetCPUUtilizationPercentage"].(int64); ok {
		targets = "cpu: " + percent(status["currentCPUUtilizationPercentage"]) + "/" + strconv.FormatInt(n, 10) + "%"
	}
	if metrics := objectsAt(spec, "metrics"); len(metrics) > 0 {
		var list []string
		current := objectsAt(status, "currentMetrics")
		for i, m := range metrics {
			var now map[string]any
			if i < len(current) {
				now = current[i]
			}
			list = append(list, metricText(m, now))
		}
		const shown = 2
		targets = strings.Join(list[:min(shown, len(list))], ", ")
		if len(list) > shown {
			targets += fmt.Sprintf(" + %d more...", len(list)-shown)
		}
	}
	return []any{textAt(spec, "scaleTargetRef", "kind") + "/" + textAt(spec, "scaleTargetRef", "name"), targets,
		countText(spec["minReplicas"]), intAt(spec, "maxReplicas"), intAt(status, "currentReplicas"), created(obj, now)}
}

func percent(v any) string {
	if n, ok := v.(int64); ok {
		return strconv.FormatInt(n, 10) + "%"
	}
	return unknown
}

// metricText renders one metric of an autoscaler and its present value.
func metricText(metric, status map[string]any) string {
	field, prefix := map[string]string{"External": "external", "Pods": "pods", "Object": "object", "Resource": "resource", "ContainerResource": "containerResource"}[text(metric, "type")], ""
	if field == "" {
		return "<unknown type>"
	}
	source, target := child(metric, field), objectAt(metric, field, "target")
	now := objectAt(status, field, "current")
	switch field {
	case "resource":
		prefix = text(source, "name") + ": "
	case "containerResource":
		prefix = text(source, "name") + ": "
	}
	if n, ok := target["averageUtilization"].(int64); ok {
		return prefix + percent(now["averageUtilization"]) + "/" + strconv.FormatInt(n, 10) + "%"
	}
	if v := target["averageValue"]; v != nil {
		return prefix + or(scalarText(now["averageValue"]), unknown) + "/" + scalarText(v) + averageMark(field)
	}
	return prefix + or(scalarText(now["value"]), unknown) + "/" + scalarText(target["value"])
}

// averageMark tells averages of metrics that are no averages by themselves.
func averageMark(field string) string {
	if field == "external" || field == "object" {
		return " (avg)"
	}
	return ""
}
