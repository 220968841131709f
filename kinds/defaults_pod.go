package kinds

import (
	"strings"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// templateOf returns the pod template of an object of a built-in kind, or nil.
func templateOf(kind string, obj map[string]any) map[string]any {
	switch kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController":
		return objectAt(obj, "spec", "template")
	case "CronJob":
		return objectAt(obj, "spec", "jobTemplate", "spec", "template")
	case "PodTemplate":
		return child(obj, "template")
	}
	return nil
}

var podSettings = [...]setting{{"dnsPolicy", "ClusterFirst"}, {"restartPolicy", "Always"}, {"securityContext", emptyObject{}},
	{"terminationGracePeriodSeconds", int64(30)}, {"schedulerName", "default-scheduler"}}

// podSpecDefaults sets the defaults of a pod spec, in a pod or in a template.
func podSpecDefaults(spec map[string]any) {
	apply(podSettings[:], spec)
	if name := or(text(spec, "serviceAccountName"), text(spec, "serviceAccount")); name != "" {
		spec["serviceAccountName"], spec["serviceAccount"] = name, name
	}
	for _, list := range [...]string{"containers", "initContainers", "ephemeralContainers"} {
		for _, c := range objectsAt(spec, list) {
			containerDefaults(c)
		}
	}
	for _, v := range objectsAt(spec, "volumes") {
		volumeDefaults(v)
	}
}

func containerDefaults(c map[string]any) {
	if text(c, "imagePullPolicy") == "" {
		c["imagePullPolicy"] = pullPolicy(text(c, "image"))
	}
	fill(c, "terminationMessagePath", "/dev/termination-log")
	fill(c, "terminationMessagePolicy", "File")
	for _, p := range objectsAt(c, "ports") {
		fill(p, "protocol", "TCP")
	}
	for _, e := range objectsAt(c, "env") {
		if ref := objectAt(e, "valueFrom", "fieldRef"); ref != nil {
			fill(ref, "apiVersion", "v1")
		}
		if ref := objectAt(e, "valueFrom", "resourceFieldRef"); ref != nil {
			fill(ref, "divisor", "0")
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := child(c, name); p != nil {
			probeDefaults(p)
		}
	}
	for _, name := range [...]string{"postStart", "preStop"} {
		httpDefaults(objectAt(c, "lifecycle", name, "httpGet"))
	}
}

func probeDefaults(p map[string]any) {
	fill(p, "timeoutSeconds", int64(1))
	fill(p, "periodSeconds", int64(10))
	fill(p, "successThreshold", int64(1))
	fill(p, "failureThreshold", int64(3))
	httpDefaults(child(p, "httpGet"))
	if g := child(p, "grpc"); g != nil && g["service"] == nil {
		g["service"] = ""
	}
}

func httpDefaults(get map[string]any) {
	if get != nil {
		fill(get, "path", "/")
		fill(get, "scheme", "HTTP")
	}
}

// pullPolicy is Always for an image without a tag or with the tag latest.
func pullPolicy(image string) string {
	if strings.Contains(image, "@") {
		return "IfNotPresent"
	}
	name := image[strings.LastIndexByte(image, '/')+1:]
	if _, tag, ok := strings.Cut(name, ":"); ok && tag != "latest" {
		return "IfNotPresent"
	}
	return "Always"
}

var volumeSettings = [...]setting{{"secret.defaultMode", int64(420)}, {"configMap.defaultMode", int64(420)}, {"downwardAPI.defaultMode", int64(420)}, {"projected.defaultMode", int64(420)},
	{"downwardAPI.items[].fieldRef.apiVersion", "v1"}, {"projected.sources[].downwardAPI.items[].fieldRef.apiVersion", "v1"}, {"projected.sources[].serviceAccountToken.expirationSeconds", int64(3600)},
	{"hostPath.type", ""}, {"iscsi.iscsiInterface", "default"}, {"rbd.pool", "rbd"}, {"rbd.user", "admin"}, {"rbd.keyring", "/etc/ceph/keyring"},
	{"ephemeral.volumeClaimTemplate.spec.volumeMode", "Filesystem"}, {"scaleIO.storageMode", "ThinProvisioned"}, {"scaleIO.fsType", "xfs"},
	{"azureDisk.cachingMode", "ReadWrite"}, {"azureDisk.fsType", "ext4"}, {"azureDisk.readOnly", false}, {"azureDisk.kind", "Shared"}}

func volumeDefaults(v map[string]any) {
	if len(v) == 1 && v["name"] != nil {
		v["emptyDir"] = map[string]any{}
	}
	apply(volumeSettings[:], v)
	if image := child(v, "image"); image != nil && text(image, "pullPolicy") == "" {
		image["pullPolicy"] = pullPolicy(text(image, "reference"))
	}
}

// podDefaults sets what only pods have, and not templates.
func podDefaults(obj map[string]any) {
	spec := ensure(obj, "spec")
	podSpecDefaults(spec)
	for _, list := range [...]string{"containers", "initContainers"} {
		for _, c := range objectsAt(spec, list) {
			limits := objectAt(c, "resources", "limits")
			if len(limits) > 0 {
				requests := ensure(child(c, "resources"), "requests")
				for name, v := range limits {
					fill(requests, name, v)
				}
			}
			if spec["hostNetwork"] == true {
				for _, p := range objectsAt(c, "ports") {
					fill(p, "hostPort", p["containerPort"])
				}
			}
		}
	}
	fill(spec, "enableServiceLinks", true)
}

// preparePod makes the status of a new pod.
func preparePod(obj map[string]any) {
	spec := child(obj, "spec")
	status := map[string]any{"phase": "Pending", "qosClass": qosClass(spec)}
	if len(listAt(spec, "schedulingGates")) > 0 {
		status["conditions"] = []any{map[string]any{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": nil, "lastTransitionTime": nil,
			"message": "Scheduling is blocked due to non-empty scheduling gates"}}
	}
	obj["status"] = status
}

// qosClass is Guaranteed if every container limits cpu and memory to what it
// requests, BestEffort if none says anything of them, else Burstable.
func qosClass(spec map[string]any) string {
	said, guaranteed := false, true
	containers := append(objectsAt(spec, "containers"), objectsAt(spec, "initContainers")...)
	if r := child(spec, "resources"); len(child(r, "requests"))+len(child(r, "limits")) > 0 {
		containers = []map[string]any{{"resources": r}} // those of the pod come before its containers'
	}
	for _, c := range containers {
		requests, limits := objectAt(c, "resources", "requests"), objectAt(c, "resources", "limits")
		for _, name := range [...]string{"cpu", "memory"} {
			request, limit := positive(requests[name]), positive(limits[name])
			said = said || request != nil || limit != nil
			guaranteed = guaranteed && limit != nil && (request == nil || request.Cmp(*limit) == 0)
		}
	}
	switch {
	case !said:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}

// positive parses a quantity; nil for what is none or not above zero.
func positive(v any) *apiresource.Quantity {
	if v == nil {
		return nil
	}
	q, err := apiresource.ParseQuantity(scalarText(v))
	if err != nil || q.Sign() <= 0 {
		return nil
	}
	return &q
}
