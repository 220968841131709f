package kinds

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

func configMapCells(obj map[string]any, now time.Time) []any {
	return []any{int64(len(child(obj, "data")) + len(child(obj, "binaryData"))), created(obj, now)}
}

func secretCells(obj map[string]any, now time.Time) []any {
	return []any{text(obj, "type"), int64(len(child(obj, "data"))), created(obj, now)}
}

func namespaceCells(obj map[string]any, now time.Time) []any {
	return []any{text(child(obj, "status"), "phase"), created(obj, now)}
}

func serviceAccountCells(obj map[string]any, now time.Time) []any {
	return []any{int64(len(listAt(obj, "secrets"))), created(obj, now)}
}

func leaseCells(obj map[string]any, now time.Time) []any {
	return []any{text(child(obj, "spec"), "holderIdentity"), created(obj, now)}
}

func endpointsCells(obj map[string]any, now time.Time) []any {
	var list []string
	for _, s := range objectsAt(obj, "subsets") {
		ports := objectsAt(s, "ports")
		for _, a := range objectsAt(s, "addresses") {
			if len(ports) == 0 {
				list = append(list, text(a, "ip"))
			}
			for _, p := range ports {
				list = append(list, net.JoinHostPort(text(a, "ip"), strconv.FormatInt(intAt(p, "port"), 10)))
			}
		}
	}
	return []any{or(more(list, len(list)), none), created(obj, now)}
}

func sliceCells(obj map[string]any, now time.Time) []any {
	var ports, addresses []string
	for _, p := range objectsAt(obj, "ports") {
		ports = append(ports, scalarOr(p["port"], "*"))
	}
	for _, e := range objectsAt(obj, "endpoints") {
		addresses = append(addresses, texts(e["addresses"])...)
	}
	return []any{text(obj, "addressType"), or(more(ports, len(ports)), unset), or(more(addresses, len(addresses)), unset), created(obj, now)}
}

func serviceCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	typ := text(spec, "type")
	outside := texts(spec["externalIPs"])
	external := none
	switch typ {
	case "LoadBalancer":
		external = "<pending>"
		if s := balancerText(child(obj, "status")); s != "" {
			outside = append(strings.Split(s, ","), outside...)
		}
	case "ExternalName":
		external, outside = text(spec, "externalName"), nil
	}
	if len(outside) > 0 {
		external = strings.Join(outside, ",")
	}
	return []any{typ, or(text(spec, "clusterIP"), none), external, portsText(objectsAt(spec, "ports")), created(obj, now), labelsText(child(spec, "selector"))}
}

func nodeCells(obj map[string]any, now time.Time) []any {
	status := child(obj, "status")
	state := "Unknown"
	for _, c := range objectsAt(status, "conditions") {
		if text(c, "type") == "Ready" {
			if state = "NotReady"; text(c, "status") == "True" {
				state = "Ready"
			}
		}
	}
	if objectAt(obj, "spec")["unschedulable"] == true {
		state += ",SchedulingDisabled"
	}
	const prefix = "node-role.kubernetes.io/"
	var roles []string
	labels := objectAt(obj, "metadata", "labels")
	for _, k := range keys(labels) {
		role := strings.TrimPrefix(k, prefix)
		if k == "kubernetes.io/role" {
			role = text(labels, k)
		} else if role == k {
			continue
		}
		if role != "" && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	address := func(typ string) string {
		for _, a := range objectsAt(status, "addresses") {
			if text(a, "type") == typ {
				return text(a, "address")
			}
		}
		return none
	}
	info := child(status, "nodeInfo")
	return []any{state, or(strings.Join(roles, ","), none), created(obj, now), text(info, "kubeletVersion"), address("InternalIP"), address("ExternalIP"),
		or(text(info, "osImage"), unknown), or(text(info, "kernelVersion"), unknown), or(text(info, "containerRuntimeVersion"), unknown)}
}

// eventCells takes an event in either of its forms.
func eventCells(obj map[string]any, now time.Time) []any {
	about := child(obj, "involvedObject")
	if about == nil {
		about = child(obj, "regarding")
	}
	first := or(text(obj, "firstTimestamp"), text(obj, "deprecatedFirstTimestamp"))
	last := or(text(obj, "lastTimestamp"), text(obj, "deprecatedLastTimestamp"))
	first = or(first, text(obj, "eventTime"))
	last = or(textAt(obj, "series", "lastObservedTime"), or(last, first))
	count := max(intAt(obj, "count"), intAt(obj, "deprecatedCount"), intAt(obj, "series", "count"), 1)
	object := strings.ToLower(text(about, "kind"))
	if name := text(about, "name"); name != "" {
		object += "/" + name
	}
	source := child(obj, "source")
	if source == nil {
		source = child(obj, "deprecatedSource")
	}
	component, host := text(source, "component"), text(source, "host")
	if component == "" {
		component = or(text(obj, "reportingComponent"), text(obj, "reportingController"))
		host = text(obj, "reportingInstance")
	}
	if host != "" {
		component += ", " + host
	}
	return []any{since(last, now), text(obj, "type"), text(obj, "reason"), object, text(about, "fieldPath"), component,
		strings.TrimSpace(or(text(obj, "message"), text(obj, "note"))), since(first, now), count, textAt(obj, "metadata", "name")}
}

// accessModes renders the access modes of volumes and claims.
func accessModes(v any) string {
	short := []string{"ReadWriteOnce", "RWO", "ReadOnlyMany", "ROX", "ReadWriteMany", "RWX", "ReadWriteOncePod", "RWOP"}
	modes := texts(v)
	var out []string
	for i := 0; i < len(short); i += 2 {
		if slices.Contains(modes, short[i]) {
			out = append(out, short[i+1])
		}
	}
	return strings.Join(out, ",")
}

func claimCells(obj map[string]any, now time.Time) []any {
	spec, status := child(obj, "spec"), child(obj, "status")
	phase := text(status, "phase")
	if textAt(obj, "metadata", "deletionTimestamp") != "" {
		phase = "Terminating"
	}
	modes, capacity := "", ""
	if text(spec, "volumeName") != "" {
		modes, capacity = accessModes(status["accessModes"]), textAt(status, "capacity", "storage")
	}
	return []any{phase, text(spec, "volumeName"), capacity, modes, or(text(spec, "storageClassName"), textAt(obj, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class")),
		or(text(spec, "volumeAttributesClassName"), unset), created(obj, now), or(text(spec, "volumeMode"), unset)}
}

func volumeCells(obj map[string]any, now time.Time) []any {
	spec, status := child(obj, "spec"), child(obj, "status")
	claim := ""
	if ref := child(spec, "claimRef"); ref != nil {
		claim = text(ref, "namespace") + "/" + text(ref, "name")
	}
	phase := text(status, "phase")
	if textAt(obj, "metadata", "deletionTimestamp") != "" {
		phase = "Terminating"
	}
	return []any{textAt(spec, "capacity", "storage"), accessModes(spec["accessModes"]), text(spec, "persistentVolumeReclaimPolicy"), phase, claim,
		or(text(spec, "storageClassName"), textAt(obj, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class")),
		or(text(spec, "volumeAttributesClassName"), unset), text(status, "reason"), created(obj, now), or(text(spec, "volumeMode"), unset)}
}

func quotaCells(obj map[string]any, now time.Time) []any {
	var requests, limits []string
	hard, used := objectAt(obj, "status", "hard"), objectAt(obj, "status", "used")
	for _, name := range keys(hard) {
		cell := fmt.Sprintf("%s: %s/%s", name, scalarOr(used[name], "0"), scalarText(hard[name]))
		if strings.HasPrefix(name, "limits") {
			limits = append(limits, cell)
		} else {
			requests = append(requests, cell)
		}
	}
	return []any{strings.Join(requests, ", "), strings.Join(limits, ", "), created(obj, now)}
}
