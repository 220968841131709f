package kinds

import (
	"slices"
	"strings"
	"time"
)

func bindingCells(obj map[string]any, now time.Time) []any {
	var users, groups, accounts []string
	for _, s := range objectsAt(obj, "subjects") {
		switch text(s, "kind") {
		case "User":
			users = append(users, text(s, "name"))
		case "Group":
			groups = append(groups, text(s, "name"))
		case "ServiceAccount":
			accounts = append(accounts, text(s, "namespace")+"/"+text(s, "name"))
		}
	}
	return []any{textAt(obj, "roleRef", "kind") + "/" + textAt(obj, "roleRef", "name"), created(obj, now),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}

// policyCells are of the admission policies, whose rules are at list.
func policyCells(list string) func(map[string]any, time.Time) []any {
	return func(obj map[string]any, now time.Time) []any {
		param := unset
		if kind := objectAt(obj, "spec", "paramKind"); kind != nil {
			param = text(kind, "apiVersion") + "/" + text(kind, "kind")
		}
		return []any{int64(len(listAt(obj, "spec", list))), param, created(obj, now)}
	}
}

func policyBindingCells(obj map[string]any, now time.Time) []any {
	param := unset
	if ref := objectAt(obj, "spec", "paramRef"); ref != nil {
		switch name, ns := text(ref, "name"), text(ref, "namespace"); {
		case name == "":
			param = selectorText(child(ref, "selector"))
		case ns != "":
			param = ns + "/" + name
		default:
			param = "*/" + name
		}
	}
	return []any{textAt(obj, "spec", "policyName"), param, created(obj, now)}
}

func webhookCells(obj map[string]any, now time.Time) []any {
	return []any{int64(len(listAt(obj, "webhooks"))), created(obj, now)}
}

func signingRequestCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	wanted := none
	if n, ok := spec["expirationSeconds"].(int64); ok {
		wanted = (time.Duration(n) * time.Second).String()
	}
	var states []string
	for _, c := range objectsAt(obj, "status", "conditions") {
		if typ := text(c, "type"); !slices.Contains(states, typ) {
			states = append(states, typ)
		}
	}
	state := "Pending"
	switch {
	case slices.Contains(states, "Denied"):
		state = "Denied"
	case slices.Contains(states, "Approved"):
		state = "Approved"
	}
	if slices.Contains(states, "Failed") {
		state += ",Failed"
	}
	if textAt(obj, "status", "certificate") != "" {
		state += ",Issued"
	}
	return []any{created(obj, now), or(text(spec, "signerName"), none), text(spec, "username"), wanted, state}
}

func trustBundleCells(obj map[string]any, _ time.Time) []any {
	return []any{or(textAt(obj, "spec", "signerName"), none)}
}

func ingressClassCells(obj map[string]any, now time.Time) []any {
	parameters := none
	if p := objectAt(obj, "spec", "parameters"); p != nil {
		parameters = text(p, "kind")
		if g := text(p, "apiGroup"); g != "" {
			parameters += "." + g
		}
		parameters += "/" + text(p, "name")
	}
	return []any{textAt(obj, "spec", "controller"), parameters, created(obj, now)}
}

func ingressCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	class := none
	if s, ok := spec["ingressClassName"].(string); ok {
		class = s
	}
	var hosts []string
	for _, r := range objectsAt(spec, "rules") {
		if h := text(r, "host"); h != "" {
			hosts = append(hosts, h)
		}
	}
	ports := "80"
	if len(listAt(spec, "tls")) > 0 {
		ports = "80, 443"
	}
	return []any{class, or(more(hosts, len(hosts)), "*"), balancerText(child(obj, "status")), ports, created(obj, now)}
}

func addressCells(obj map[string]any, now time.Time) []any {
	ref := objectAt(obj, "spec", "parentRef")
	parent := text(ref, "resource")
	if g := text(ref, "group"); g != "" {
		parent += "." + g
	}
	if ns := text(ref, "namespace"); ns != "" {
		parent += "/" + ns
	}
	return []any{parent + "/" + text(ref, "name"), created(obj, now)}
}

func networkPolicyCells(obj map[string]any, now time.Time) []any {
	return []any{selectorText(objectAt(obj, "spec", "podSelector")), created(obj, now)}
}

func cidrCells(obj map[string]any, now time.Time) []any {
	return []any{strings.Join(texts(at(obj, "spec", "cidrs")), ","), created(obj, now)}
}

func driverCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	flag := func(name string, otherwise bool) bool {
		if b, ok := spec[name].(bool); ok {
			return b
		}
		return otherwise
	}
	var audiences []string
	for _, r := range objectsAt(spec, "tokenRequests") {
		audiences = append(audiences, text(r, "audience"))
	}
	return []any{flag("attachRequired", true), flag("podInfoOnMount", false), flag("storageCapacity", false), or(strings.Join(audiences, ","), unset),
		flag("requiresRepublish", false), or(strings.Join(texts(spec["volumeLifecycleModes"]), ","), none), created(obj, now)}
}

func csiNodeCells(obj map[string]any, now time.Time) []any {
	return []any{int64(len(listAt(obj, "spec", "drivers"))), created(obj, now)}
}

func capacityCells(obj map[string]any, _ time.Time) []any {
	return []any{text(obj, "storageClassName"), or(scalarText(obj["capacity"]), unset)}
}

func storageClassCells(obj map[string]any, now time.Time) []any {
	expand := obj["allowVolumeExpansion"] == true
	return []any{text(obj, "provisioner"), or(text(obj, "reclaimPolicy"), "Delete"), or(text(obj, "volumeBindingMode"), "Immediate"), expand, created(obj, now)}
}

func attachmentCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	return []any{text(spec, "attacher"), textAt(spec, "source", "persistentVolumeName"), text(spec, "nodeName"), objectAt(obj, "status")["attached"] == true, created(obj, now)}
}

func attributesClassCells(obj map[string]any, now time.Time) []any {
	return []any{text(obj, "driverName"), created(obj, now)}
}

func apiServiceCells(obj map[string]any, now time.Time) []any {
	service := "Local"
	if s := objectAt(obj, "spec", "service"); s != nil {
		service = text(s, "namespace") + "/" + text(s, "name")
	}
	available := "Unknown"
	for _, c := range objectsAt(obj, "status", "conditions") {
		if text(c, "type") != "Available" {
			continue
		}
		if available = text(c, "status"); available != "True" {
			available += " (" + text(c, "reason") + ")"
		}
	}
	return []any{service, available, created(obj, now)}
}

func flowSchemaCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	missing := "?"
	for _, c := range objectsAt(obj, "status", "conditions") {
		if text(c, "type") == "Dangling" {
			missing = text(c, "status")
		}
	}
	return []any{textAt(spec, "priorityLevelConfiguration", "name"), intAt(spec, "matchingPrecedence"), or(textAt(spec, "distinguisherMethod", "type"), none), created(obj, now), missing}
}

func priorityLevelCells(obj map[string]any, now time.Time) []any {
	limited := objectAt(obj, "spec", "limited")
	queuing := objectAt(limited, "limitResponse", "queuing")
	number := func(m map[string]any, name string) any {
		if n, ok := m[name].(int64); ok {
			return n
		}
		return none
	}
	return []any{textAt(obj, "spec", "type"), number(limited, "nominalConcurrencyShares"), number(queuing, "queues"), number(queuing, "handSize"), number(queuing, "queueLengthLimit"), created(obj, now)}
}

func runtimeClassCells(obj map[string]any, now time.Time) []any {
	return []any{text(obj, "handler"), created(obj, now)}
}

func resourceClaimCells(obj map[string]any, now time.Time) []any {
	status := child(obj, "status")
	var states []string
	if textAt(obj, "metadata", "deletionTimestamp") != "" {
		states = append(states, "deleted")
	}
	if status["allocation"] == nil {
		if states == nil {
			states = append(states, "pending")
		}
	} else {
		states = append(states, "allocated")
		if len(listAt(status, "reservedFor")) > 0 {
			states = append(states, "reserved")
		}
	}
	return []any{strings.Join(states, ","), created(obj, now)}
}

func resourceSliceCells(obj map[string]any, now time.Time) []any {
	spec := child(obj, "spec")
	return []any{text(spec, "nodeName"), text(spec, "driver"), textAt(spec, "pool", "name"), created(obj, now)}
}

func priorityClassCells(obj map[string]any, now time.Time) []any {
	return []any{intAt(obj, "value"), obj["globalDefault"] == true, created(obj, now), or(text(obj, "preemptionPolicy"), "PreemptLowerPriority")}
}
