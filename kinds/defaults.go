package kinds

import "strings"

// setting is a default: the value of a field that is not given. The path is
// made of JSON names; "[]" after one walks the items of a list, "!" makes an
// object that is missing. A path ends in nothing where an object or a list is
// missing otherwise.
type setting struct {
	path  string
	value any
}

// apply sets the defaults in obj.
func apply(settings []setting, obj map[string]any) {
	for i := range settings {
		setDefault(obj, settings[i].path, settings[i].value)
	}
}

func setDefault(obj map[string]any, path string, value any) {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		fill(obj, name, value)
		return
	}
	switch {
	case strings.HasSuffix(name, "[]"):
		list, _ := obj[name[:len(name)-2]].([]any)
		for _, v := range list {
			if m, ok := v.(map[string]any); ok {
				setDefault(m, rest, value)
			}
		}
	case strings.HasSuffix(name, "!"):
		setDefault(ensure(obj, name[:len(name)-1]), rest, value)
	default:
		if m, ok := obj[name].(map[string]any); ok {
			setDefault(m, rest, value)
		}
	}
}

// fill sets a field that is not given. Empty strings are not given: where they
// would mean something, Conform has dropped them if they do not.
func fill(m map[string]any, name string, value any) {
	if v, ok := m[name]; ok && v != nil && v != "" {
		return
	}
	switch v := value.(type) {
	case emptyObject:
		value = map[string]any{}
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		value = list
	}
	m[name] = value
}

// emptyObject is the default that is an empty object, made anew each time.
type emptyObject struct{}

// settingsOf is the table of the defaults that are the same whatever else the
// object says. The pods in an object have theirs from podSpecDefaults.
func settingsOf(group, resource string) []setting {
	switch group {
	case "":
		return coreSettings(resource)
	case "apps", "batch", "autoscaling":
		return workloadSettings(resource)
	case "admissionregistration.k8s.io":
		return admissionSettings(resource)
	}
	switch resource {
	case "rolebindings", "clusterrolebindings":
		return []setting{{"roleRef.apiGroup", "rbac.authorization.k8s.io"}}
	case "networkpolicies":
		return []setting{{"spec.ingress[].ports[].protocol", "TCP"}, {"spec.egress[].ports[].protocol", "TCP"}}
	case "ingressclasses":
		return []setting{{"spec.parameters.scope", "Cluster"}}
	case "endpointslices":
		return []setting{{"ports[].name", ""}, {"ports[].protocol", "TCP"}}
	case "storageclasses":
		return []setting{{"reclaimPolicy", "Delete"}, {"volumeBindingMode", "Immediate"}}
	case "csidrivers":
		return []setting{{"spec.attachRequired", true}, {"spec.podInfoOnMount", false}, {"spec.storageCapacity", false}, {"spec.fsGroupPolicy", "ReadWriteOnceWithFSType"},
			{"spec.volumeLifecycleModes", []string{"Persistent"}}, {"spec.requiresRepublish", false}, {"spec.seLinuxMount", false}}
	case "priorityclasses":
		return []setting{{"preemptionPolicy", "PreemptLowerPriority"}}
	case "flowschemas":
		return []setting{{"spec.matchingPrecedence", int64(1000)}}
	case "apiservices":
		return []setting{{"spec.service.port", int64(443)}}
	case "prioritylevelconfigurations":
		return []setting{{"spec.limited.nominalConcurrencyShares", int64(30)}, {"spec.limited.lendablePercent", int64(0)}, {"spec.limited.limitResponse.queuing.queues", int64(64)},
			{"spec.limited.limitResponse.queuing.handSize", int64(8)}, {"spec.limited.limitResponse.queuing.queueLengthLimit", int64(50)},
			{"spec.exempt.nominalConcurrencyShares", int64(0)}, {"spec.exempt.lendablePercent", int64(0)}}
	case "resourceclaims":
		return requestSettings("spec.devices.")
	case "resourceclaimtemplates":
		return requestSettings("spec.spec.devices.")
	}
	return nil
}

// requestSettings are those of the requests for devices.
func requestSettings(prefix string) []setting {
	return []setting{{prefix + "requests[].exactly.allocationMode", "ExactCount"}, {prefix + "requests[].exactly.tolerations[].operator", "Equal"},
		{prefix + "requests[].firstAvailable[].allocationMode", "ExactCount"}, {prefix + "requests[].firstAvailable[].tolerations[].operator", "Equal"}}
}

func coreSettings(resource string) []setting {
	switch resource {
	case "secrets":
		return []setting{{"type", "Opaque"}}
	case "endpoints":
		return []setting{{"subsets[].ports[].protocol", "TCP"}}
	case "persistentvolumes":
		return []setting{{"spec.persistentVolumeReclaimPolicy", "Retain"}, {"spec.volumeMode", "Filesystem"}, {"spec.hostPath.type", ""},
			{"spec.iscsi.iscsiInterface", "default"}, {"spec.rbd.pool", "rbd"}, {"spec.rbd.user", "admin"}, {"spec.rbd.keyring", "/etc/ceph/keyring"},
			{"spec.azureDisk.cachingMode", "ReadWrite"}, {"spec.azureDisk.fsType", "ext4"}, {"spec.azureDisk.readOnly", false}, {"spec.azureDisk.kind", "Shared"},
			{"spec.scaleIO.storageMode", "ThinProvisioned"}, {"spec.scaleIO.fsType", "xfs"}}
	case "persistentvolumeclaims":
		return []setting{{"spec.volumeMode", "Filesystem"}}
	case "services":
		return []setting{{"spec!.sessionAffinity", "None"}, {"spec.type", "ClusterIP"}, {"spec.ports[].protocol", "TCP"}}
	case "replicationcontrollers":
		return []setting{{"spec!.replicas", int64(1)}}
	}
	return nil
}

func workloadSettings(resource string) []setting {
	switch resource {
	case "deployments":
		return []setting{{"spec!.replicas", int64(1)}, {"spec.strategy!.type", "RollingUpdate"}, {"spec.revisionHistoryLimit", int64(10)}, {"spec.progressDeadlineSeconds", int64(600)}}
	case "daemonsets":
		return []setting{{"spec!.updateStrategy!.type", "RollingUpdate"}, {"spec.revisionHistoryLimit", int64(10)}}
	case "statefulsets":
		return []setting{{"spec!.podManagementPolicy", "OrderedReady"}, {"spec.replicas", int64(1)}, {"spec.revisionHistoryLimit", int64(10)},
			{"spec.persistentVolumeClaimRetentionPolicy!.whenDeleted", "Retain"}, {"spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Retain"},
			{"spec.volumeClaimTemplates[].apiVersion", "v1"}, {"spec.volumeClaimTemplates[].kind", "PersistentVolumeClaim"},
			{"spec.volumeClaimTemplates[].spec.volumeMode", "Filesystem"}, {"spec.volumeClaimTemplates[].status!.phase", "Pending"}}
	case "replicasets":
		return []setting{{"spec!.replicas", int64(1)}}
	case "jobs":
		return []setting{{"spec!.completionMode", "NonIndexed"}, {"spec.suspend", false}, {"spec.manualSelector", false},
			{"spec.podFailurePolicy.rules[].onPodConditions[].status", "True"}}
	case "cronjobs":
		return []setting{{"spec!.concurrencyPolicy", "Allow"}, {"spec.suspend", false}, {"spec.successfulJobsHistoryLimit", int64(3)}, {"spec.failedJobsHistoryLimit", int64(1)},
			{"spec.jobTemplate.spec.podFailurePolicy.rules[].onPodConditions[].status", "True"}}
	case "horizontalpodautoscalers":
		return []setting{{"spec!.minReplicas", int64(1)}}
	}
	return nil
}

func admissionSettings(resource string) []setting {
	match := func(prefix string) []setting {
		return []setting{{prefix + "matchPolicy", "Equivalent"}, {prefix + "namespaceSelector", emptyObject{}}, {prefix + "objectSelector", emptyObject{}},
			{prefix + "resourceRules[].scope", "*"}, {prefix + "excludeResourceRules[].scope", "*"}}
	}
	switch resource {
	case "mutatingwebhookconfigurations", "validatingwebhookconfigurations":
		out := []setting{{"webhooks[].failurePolicy", "Fail"}, {"webhooks[].matchPolicy", "Equivalent"}, {"webhooks[].namespaceSelector", emptyObject{}}, {"webhooks[].objectSelector", emptyObject{}},
			{"webhooks[].timeoutSeconds", int64(10)}, {"webhooks[].rules[].scope", "*"}, {"webhooks[].clientConfig.service.port", int64(443)}}
		if resource == "mutatingwebhookconfigurations" {
			out = append(out, setting{"webhooks[].reinvocationPolicy", "Never"})
		}
		return out
	case "validatingadmissionpolicies", "mutatingadmissionpolicies":
		return append(match("spec.matchConstraints."), setting{"spec!.failurePolicy", "Fail"})
	}
	return match("spec.matchResources.")
}
