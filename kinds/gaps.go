package kinds

// Unchecked returns what the API reference asks of a built-in kind and this
// package does not check or set, in words for the status page. It is empty for
// a kind that has all its rules, and for kinds that are not built in. What
// admission plugins of other servers add (service account tokens, default
// tolerations, priorities, default storage classes) is not the kinds' business
// and not in it.
func Unchecked(group, resource string) []string {
	pod := []string{"sources of volumes", "fields of probe and lifecycle handlers", "security contexts", "affinity terms", "references in env and envFrom", "pod-level resources"}
	switch group + "/" + resource {
	case "/configmaps", "/namespaces", "coordination.k8s.io/leases", "apiextensions.k8s.io/customresourcedefinitions":
		return nil
	case "/pods":
		return append(pod, "additions of ephemeral containers", "changes of resources of running containers")
	case "/podtemplates", "/replicationcontrollers", "apps/replicasets":
		return pod
	case "apps/deployments", "apps/daemonsets":
		return append(pod, "form of maxSurge and maxUnavailable")
	case "apps/statefulsets":
		return append(pod, "claim templates")
	case "batch/jobs":
		return append(pod, "rules of podFailurePolicy and successPolicy", "transitions of the status")
	case "batch/cronjobs":
		return append(pod, "ranges within the schedule", "names of time zones")
	case "/services":
		return []string{"cluster IPs, IP families and node ports are not given out here", "load balancer source ranges", "traffic distribution"}
	case "/endpoints", "discovery.k8s.io/endpointslices":
		return []string{"special addresses", "numbers of addresses and ports"}
	case "/events", "events.k8s.io/events":
		return []string{"lengths of the texts of events with an eventTime", "immutability of such events"}
	case "/secrets":
		return []string{"that certificate and key belong together"}
	case "/persistentvolumes", "/persistentvolumeclaims":
		return []string{"volume sources", "that storage only grows", "data sources", "node affinity"}
	case "/resourcequotas", "/limitranges":
		return []string{"names of resources", "defaults and ratios of limits"}
	case "/serviceaccounts":
		return []string{"references to secrets"}
	case "/nodes":
		return []string{"pod CIDRs", "conditions and addresses of the status"}
	case "autoscaling/horizontalpodautoscalers":
		return []string{"targets of metrics", "scaling policies"}
	case "policy/poddisruptionbudgets":
		return []string{"form of percentages"}
	case "rbac.authorization.k8s.io/roles", "rbac.authorization.k8s.io/clusterroles":
		return []string{"escalation (it needs the rights of the writer)"}
	case "rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/clusterrolebindings":
		return []string{"escalation (it needs the rights of the writer)"}
	case "networking.k8s.io/ingresses":
		return []string{"dots and escapes in paths", "TLS hosts", "default backends"}
	case "networking.k8s.io/networkpolicies":
		return []string{"exceptions of IP blocks", "port ranges"}
	case "networking.k8s.io/ipaddresses", "networking.k8s.io/servicecidrs":
		return []string{"form of addresses in the spec"}
	}
	return otherUnchecked(group)
}

func otherUnchecked(group string) []string {
	switch group {
	case "admissionregistration.k8s.io":
		return []string{"that expressions compile", "URLs and CA bundles", "match conditions"}
	case "certificates.k8s.io":
		return []string{"form of requests and certificates", "names of signers", "approval by its own subresource"}
	case "flowcontrol.apiserver.k8s.io":
		return []string{"rules and subjects", "relations of queues and hand size"}
	case "resource.k8s.io":
		return []string{"expressions", "device attributes", "allocations"}
	case "storage.k8s.io", "scheduling.k8s.io", "node.k8s.io", "apiregistration.k8s.io":
		return []string{"rules beyond required, enumerated and immutable fields"}
	}
	return nil
}
