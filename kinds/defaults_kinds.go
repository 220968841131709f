package kinds

import (
	"encoding/base64"
	"maps"
	"math"
)

// applyBuiltin sets the defaults of a built-in kind in obj.
func (k *Kind) applyBuiltin(obj map[string]any) {
	apply(k.settings.get(func() []setting { return settingsOf(k.Group, k.Resource) }), obj)
	if template := templateOf(k.Kind, obj); template != nil {
		podSpecDefaults(ensure(template, "spec"))
	}
	if k.rules.defaults != nil {
		k.rules.defaults(obj)
	}
}

// resetStatus takes from a new object the status it came with: what it is
// instead is the zero value of its type.
func (k *Kind) resetStatus(obj map[string]any) {
	f := k.goPlan().fields["status"]
	if f == nil {
		return
	}
	zero, _ := f.plan.zero(f.pointer).(map[string]any)
	if f.omit && len(zero) == 0 {
		delete(obj, "status")
		return
	}
	obj["status"] = zero
}

func deploymentDefaults(obj map[string]any) {
	strategy := objectAt(obj, "spec", "strategy")
	if text(strategy, "type") == "RollingUpdate" {
		update := ensure(strategy, "rollingUpdate")
		fill(update, "maxUnavailable", "25%")
		fill(update, "maxSurge", "25%")
	}
}

func daemonSetDefaults(obj map[string]any) {
	strategy := objectAt(obj, "spec", "updateStrategy")
	if text(strategy, "type") == "RollingUpdate" {
		update := ensure(strategy, "rollingUpdate")
		fill(update, "maxUnavailable", int64(1))
		fill(update, "maxSurge", int64(0))
	}
}

func statefulSetDefaults(obj map[string]any) {
	strategy := ensure(child(obj, "spec"), "updateStrategy")
	if text(strategy, "type") == "" {
		strategy["type"] = "RollingUpdate"
		ensure(strategy, "rollingUpdate")
	}
	if update := child(strategy, "rollingUpdate"); update != nil && text(strategy, "type") == "RollingUpdate" {
		fill(update, "partition", int64(0))
	}
}

func replicationControllerDefaults(obj map[string]any) {
	labels := objectAt(obj, "spec", "template", "metadata", "labels")
	if len(labels) == 0 {
		return
	}
	spec, meta := child(obj, "spec"), ensure(obj, "metadata")
	if len(child(spec, "selector")) == 0 {
		spec["selector"] = maps.Clone(labels)
	}
	if len(child(meta, "labels")) == 0 {
		meta["labels"] = maps.Clone(labels)
	}
}

func jobDefaults(obj map[string]any) {
	spec, meta := child(obj, "spec"), ensure(obj, "metadata")
	if spec["completions"] == nil && spec["parallelism"] == nil {
		spec["completions"] = int64(1)
	}
	fill(spec, "parallelism", int64(1))
	if spec["backoffLimitPerIndex"] != nil {
		fill(spec, "backoffLimit", int64(math.MaxInt32))
	}
	fill(spec, "backoffLimit", int64(6))
	policy := "TerminatingOrFailed"
	if spec["podFailurePolicy"] != nil {
		policy = "Failed"
	}
	fill(spec, "podReplacementPolicy", policy)
	labelJob(spec, meta)
}

// labelJob gives a job without labels those of its pods.
func labelJob(spec, meta map[string]any) {
	if labels := objectAt(spec, "template", "metadata", "labels"); len(labels) > 0 && len(child(meta, "labels")) == 0 {
		meta["labels"] = maps.Clone(labels)
	}
}

// prepareJob gives a new job the selector and the labels by which it finds its
// pods, unless it brings its own.
func prepareJob(obj map[string]any) {
	spec, meta := child(obj, "spec"), child(obj, "metadata")
	if spec["manualSelector"] == true {
		return
	}
	labels := ensure(ensure(ensure(spec, "template"), "metadata"), "labels")
	uid := text(meta, "uid")
	for _, name := range [...]string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
		labels[name] = uid
	}
	for _, name := range [...]string{"job-name", "batch.kubernetes.io/job-name"} {
		labels[name] = text(meta, "name")
	}
	ensure(ensure(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] = uid
	labelJob(spec, meta)
}

func serviceDefaults(obj map[string]any) {
	spec := child(obj, "spec")
	switch text(spec, "sessionAffinity") {
	case "None":
		delete(spec, "sessionAffinityConfig")
	case "ClientIP":
		fill(ensure(ensure(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds", int64(10800))
	}
	for _, p := range objectsAt(spec, "ports") {
		if t := p["targetPort"]; t == nil || t == "" || t == int64(0) {
			p["targetPort"] = p["port"]
		}
	}
	typ := text(spec, "type")
	outside := typ == "NodePort" || typ == "LoadBalancer"
	if outside || typ == "ClusterIP" && len(listAt(spec, "externalIPs")) > 0 {
		fill(spec, "externalTrafficPolicy", "Cluster")
	}
	if outside || typ == "ClusterIP" {
		fill(spec, "internalTrafficPolicy", "Cluster")
	}
	if typ == "LoadBalancer" {
		fill(spec, "allocateLoadBalancerNodePorts", true)
		for _, in := range objectsAt(obj, "status", "loadBalancer", "ingress") {
			if text(in, "ip") != "" {
				fill(in, "ipMode", "VIP")
			}
		}
	}
}

// secretDefaults folds stringData into data, where it is served from.
func secretDefaults(obj map[string]any) {
	plain := child(obj, "stringData")
	delete(obj, "stringData")
	if len(plain) == 0 {
		return
	}
	data := ensure(obj, "data")
	for key := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text(plain, key)))
	}
}

func prepareVolume(obj map[string]any) {
	status := map[string]any{"phase": "Pending"}
	if t := textAt(obj, "metadata", "creationTimestamp"); t != "" {
		status["lastPhaseTransitionTime"] = t
	}
	obj["status"] = status
}

func prepareClaim(obj map[string]any) { obj["status"] = map[string]any{"phase": "Pending"} }

func nodeDefaults(obj map[string]any) {
	status := child(obj, "status")
	if capacity := child(status, "capacity"); len(capacity) > 0 && status["allocatable"] == nil {
		status["allocatable"] = maps.Clone(capacity)
	}
}

// limitRangeDefaults: a container's limit is at most the maximum, its request
// by default its limit or else the minimum.
func limitRangeDefaults(obj map[string]any) {
	for _, item := range objectsAt(obj, "spec", "limits") {
		if text(item, "type") != "Container" {
			continue
		}
		limit, request := maps.Clone(child(item, "default")), maps.Clone(child(item, "defaultRequest"))
		if limit == nil {
			limit = map[string]any{}
		}
		if request == nil {
			request = map[string]any{}
		}
		for name, v := range child(item, "max") {
			fill(limit, name, v)
		}
		for name, v := range limit {
			fill(request, name, v)
		}
		for name, v := range child(item, "min") {
			fill(request, name, v)
		}
		if len(limit) > 0 {
			item["default"] = limit
		}
		if len(request) > 0 {
			item["defaultRequest"] = request
		}
	}
}

// bindingDefaults sets the group of the subjects by their kind.
func bindingDefaults(obj map[string]any) {
	for _, s := range objectsAt(obj, "subjects") {
		if kind := text(s, "kind"); kind == "User" || kind == "Group" {
			fill(s, "apiGroup", "rbac.authorization.k8s.io")
		}
	}
}

func networkPolicyDefaults(obj map[string]any) {
	spec := child(obj, "spec")
	if spec == nil || len(listAt(spec, "policyTypes")) > 0 {
		return
	}
	types := []any{"Ingress"}
	if len(listAt(spec, "egress")) > 0 {
		types = append(types, "Egress")
	}
	spec["policyTypes"] = types
}

// autoscalerDefaults are those of autoscaling/v2.
func autoscalerDefaults(obj map[string]any) {
	spec := child(obj, "spec")
	if len(listAt(spec, "metrics")) == 0 {
		spec["metrics"] = []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu",
			"target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}}
	}
	behavior := child(spec, "behavior")
	if behavior == nil {
		return
	}
	up, down := child(behavior, "scaleUp"), child(behavior, "scaleDown")
	if up == nil {
		up = ensure(behavior, "scaleUp")
	}
	if down == nil {
		down = ensure(behavior, "scaleDown")
	}
	policy := func(typ string, value int64) any {
		return map[string]any{"type": typ, "value": value, "periodSeconds": int64(15)}
	}
	fill(up, "stabilizationWindowSeconds", int64(0))
	fill(up, "selectPolicy", "Max")
	fill(down, "selectPolicy", "Max")
	if len(listAt(up, "policies")) == 0 {
		up["policies"] = []any{policy("Pods", 4), policy("Percent", 100)}
	}
	if len(listAt(down, "policies")) == 0 {
		down["policies"] = []any{policy("Percent", 100)}
	}
}

// autoscalerV1Defaults are those of autoscaling/v1.
func autoscalerV1Defaults(obj map[string]any) {
	if textAt(obj, "metadata", "annotations", metricsAnnotation) == "" {
		fill(child(obj, "spec"), "targetCPUUtilizationPercentage", int64(80))
	}
}

// metricsAnnotation holds in autoscaling/v1 the metrics that it has no field for.
const metricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics"

// requestDefaults sets the count of requests for exactly so many devices.
func requestDefaults(devices map[string]any) {
	for _, r := range objectsAt(devices, "requests") {
		for _, e := range append(objectsAt(r, "firstAvailable"), child(r, "exactly")) {
			if text(e, "allocationMode") == "ExactCount" {
				fill(e, "count", int64(1))
			}
		}
	}
}

// prepareServiceUpdate keeps the addresses and ports a service was given, where
// the update says nothing of them.
func prepareServiceUpdate(obj, old map[string]any) {
	spec, before := child(obj, "spec"), child(old, "spec")
	if text(spec, "type") != "ExternalName" && text(before, "type") != "ExternalName" && text(spec, "clusterIP") == "" {
		for _, name := range [...]string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
			if v, ok := before[name]; ok {
				fill(spec, name, v)
			}
		}
	}
	outside := func(m map[string]any) bool { t := text(m, "type"); return t == "NodePort" || t == "LoadBalancer" }
	if !outside(spec) || !outside(before) {
		return
	}
	for _, p := range objectsAt(spec, "ports") {
		for _, q := range objectsAt(before, "ports") {
			if p["nodePort"] == nil && q["nodePort"] != nil && p["port"] == q["port"] && p["protocol"] == q["protocol"] {
				p["nodePort"] = q["nodePort"]
			}
		}
	}
	if n, ok := before["healthCheckNodePort"]; ok && text(spec, "externalTrafficPolicy") == "Local" {
		fill(spec, "healthCheckNodePort", n)
	}
}
