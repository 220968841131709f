package kinds

// checksOf is the table of the rules that look at one value each. Those that
// look at more are the validate functions of the entries; what is not looked
// at is told by Unchecked.
func checksOf(group, resource string) []string {
	switch group {
	case "":
		return coreChecks(resource)
	case "apps", "batch", "autoscaling", "policy":
		return workloadChecks(resource)
	case "admissionregistration.k8s.io":
		return admissionChecks(resource)
	case "networking.k8s.io", "discovery.k8s.io":
		return networkChecks(resource)
	case "storage.k8s.io":
		return storageChecks(resource)
	}
	return otherChecks(resource)
}

func coreChecks(resource string) []string {
	switch resource {
	case "services":
		return []string{"spec.type in ClusterIP ExternalName LoadBalancer NodePort", "spec.sessionAffinity in ClientIP None", "spec.ports[].protocol in SCTP TCP UDP",
			"spec.ports[].port range 1 65535", "spec.ports[].targetPort port", "spec.ports[].nodePort range 0 65535", "spec.selector labels", "spec.externalTrafficPolicy in Cluster Local",
			"spec.internalTrafficPolicy in Cluster Local", "spec.ipFamilyPolicy in PreferDualStack RequireDualStack SingleStack", "spec.ipFamilies[] in IPv4 IPv6",
			"spec.sessionAffinityConfig.clientIP.timeoutSeconds range 1 86400"}
	case "persistentvolumeclaims":
		return []string{"spec.accessModes required", "spec.accessModes[] in ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod",
			"spec.volumeMode in Block Filesystem", "spec.selector selector", "spec.storageClassName immutable", "spec.volumeMode immutable", "spec.accessModes immutable", "spec.selector immutable"}
	case "persistentvolumes":
		return []string{"spec.accessModes required", "spec.accessModes[] in ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod", "spec.capacity required",
			"spec.persistentVolumeReclaimPolicy in Delete Recycle Retain", "spec.volumeMode in Block Filesystem", "spec.volumeMode immutable"}
	case "limitranges":
		return []string{"spec.limits[].type required"}
	case "resourcequotas":
		return []string{"spec.scopes immutable"}
	case "endpoints":
		return []string{"subsets[].ports[].port range 1 65535", "subsets[].ports[].protocol in SCTP TCP UDP", "subsets[].addresses[].ip required"}
	case "events":
		return []string{"involvedObject.name immutable", "involvedObject.uid immutable"}
	case "nodes":
		return []string{"spec.taints[].key required", "spec.taints[].effect in NoExecute NoSchedule PreferNoSchedule", "spec.podCIDR immutable"}
	case "replicationcontrollers":
		return []string{"spec.replicas min 0", "spec.minReadySeconds min 0", "spec.selector required", "spec.template required"}
	}
	return nil
}

func workloadChecks(resource string) []string {
	switch resource {
	case "deployments":
		return []string{"spec.replicas min 0", "spec.minReadySeconds min 0", "spec.revisionHistoryLimit min 0", "spec.progressDeadlineSeconds min 0",
			"spec.selector required", "spec.selector selector", "spec.selector immutable", "spec.strategy.type in Recreate RollingUpdate"}
	case "replicasets":
		return []string{"spec.replicas min 0", "spec.minReadySeconds min 0", "spec.selector required", "spec.selector selector", "spec.selector immutable"}
	case "daemonsets":
		return []string{"spec.minReadySeconds min 0", "spec.revisionHistoryLimit min 0", "spec.selector required", "spec.selector selector", "spec.selector immutable",
			"spec.updateStrategy.type in OnDelete RollingUpdate"}
	case "statefulsets":
		return []string{"spec.replicas min 0", "spec.minReadySeconds min 0", "spec.revisionHistoryLimit min 0", "spec.selector required", "spec.selector selector",
			"spec.podManagementPolicy in OrderedReady Parallel", "spec.updateStrategy.type in OnDelete RollingUpdate", "spec.updateStrategy.rollingUpdate.partition min 0",
			"spec.persistentVolumeClaimRetentionPolicy.whenDeleted in Delete Retain", "spec.persistentVolumeClaimRetentionPolicy.whenScaled in Delete Retain"}
	case "jobs":
		return jobChecks("spec.", []string{"spec.selector selector", "spec.selector immutable", "spec.completionMode immutable", "spec.podFailurePolicy immutable"})
	case "cronjobs":
		return jobChecks("spec.jobTemplate.spec.", []string{"spec.schedule required", "spec.concurrencyPolicy in Allow Forbid Replace", "spec.startingDeadlineSeconds min 0",
			"spec.successfulJobsHistoryLimit min 0", "spec.failedJobsHistoryLimit min 0"})
	case "horizontalpodautoscalers":
		return []string{"spec.minReplicas min 1", "spec.maxReplicas min 1", "spec.scaleTargetRef.kind required", "spec.scaleTargetRef.name required", "spec.targetCPUUtilizationPercentage min 1",
			"spec.metrics[].type in ContainerResource External Object Pods Resource"}
	case "poddisruptionbudgets":
		return []string{"spec.selector selector", "spec.unhealthyPodEvictionPolicy in AlwaysAllow IfHealthyBudget", "spec.minAvailable min 0", "spec.maxUnavailable min 0"}
	case "controllerrevisions":
		return []string{"data immutable", "revision min 0"}
	}
	return nil
}

func jobChecks(prefix string, own []string) []string {
	for _, c := range []string{"parallelism min 0", "completions min 0", "backoffLimit min 0", "activeDeadlineSeconds min 0", "ttlSecondsAfterFinished min 0",
		"completionMode in Indexed NonIndexed", "podReplacementPolicy in Failed TerminatingOrFailed"} {
		own = append(own, prefix+c)
	}
	return own
}

func admissionChecks(resource string) []string {
	switch resource {
	case "mutatingwebhookconfigurations", "validatingwebhookconfigurations":
		return []string{"webhooks[].name required", "webhooks[].sideEffects required", "webhooks[].sideEffects in None NoneOnDryRun", "webhooks[].admissionReviewVersions required",
			"webhooks[].failurePolicy in Fail Ignore", "webhooks[].matchPolicy in Equivalent Exact", "webhooks[].timeoutSeconds range 1 30", "webhooks[].reinvocationPolicy in IfNeeded Never",
			"webhooks[].namespaceSelector selector", "webhooks[].objectSelector selector", "webhooks[].rules[].apiGroups required", "webhooks[].rules[].apiVersions required",
			"webhooks[].rules[].resources required", "webhooks[].rules[].operations required", "webhooks[].rules[].operations[] in * CONNECT CREATE DELETE UPDATE",
			"webhooks[].rules[].scope in * Cluster Namespaced", "webhooks[].clientConfig.service.name required", "webhooks[].clientConfig.service.namespace required",
			"webhooks[].clientConfig.service.port range 1 65535"}
	case "validatingadmissionpolicies", "mutatingadmissionpolicies":
		return []string{"spec.matchConstraints required", "spec.matchConstraints.resourceRules required", "spec.failurePolicy in Fail Ignore", "spec.validations[].expression required"}
	}
	return []string{"spec.policyName required", "spec.policyName subdomain", "spec.validationActions[] in Audit Deny Warn"}
}

func networkChecks(resource string) []string {
	switch resource {
	case "ingresses":
		return []string{"spec.rules[].http.paths required", "spec.rules[].http.paths[].pathType required", "spec.rules[].http.paths[].pathType in Exact ImplementationSpecific Prefix",
			"spec.rules[].http.paths[].backend.service.name required", "spec.ingressClassName subdomain"}
	case "ingressclasses":
		return []string{"spec.controller required", "spec.controller immutable", "spec.parameters.kind required", "spec.parameters.name required", "spec.parameters.scope in Cluster Namespace"}
	case "networkpolicies":
		return []string{"spec.podSelector selector", "spec.policyTypes[] in Egress Ingress", "spec.ingress[].ports[].protocol in SCTP TCP UDP", "spec.egress[].ports[].protocol in SCTP TCP UDP",
			"spec.ingress[].ports[].port port", "spec.egress[].ports[].port port"}
	case "ipaddresses":
		return []string{"spec.parentRef required", "spec.parentRef immutable"}
	case "servicecidrs":
		return []string{"spec.cidrs required"}
	case "endpointslices":
		return []string{"addressType required", "addressType in FQDN IPv4 IPv6", "addressType immutable", "endpoints[].addresses required", "ports[].protocol in SCTP TCP UDP"}
	}
	return nil
}

func storageChecks(resource string) []string {
	switch resource {
	case "storageclasses":
		return []string{"provisioner required", "provisioner immutable", "parameters immutable", "reclaimPolicy in Delete Retain", "reclaimPolicy immutable",
			"volumeBindingMode in Immediate WaitForFirstConsumer", "volumeBindingMode immutable"}
	case "volumeattachments":
		return []string{"spec.attacher required", "spec.nodeName required", "spec immutable"}
	case "volumeattributesclasses":
		return []string{"driverName required", "driverName immutable", "parameters immutable"}
	case "csistoragecapacities":
		return []string{"storageClassName required", "storageClassName immutable", "nodeTopology selector", "nodeTopology immutable"}
	case "csidrivers":
		return []string{"spec.fsGroupPolicy in File None ReadWriteOnceWithFSType", "spec.volumeLifecycleModes[] in Ephemeral Persistent", "spec.attachRequired immutable"}
	case "csinodes":
		return []string{"spec.drivers[].name required", "spec.drivers[].nodeID required"}
	}
	return nil
}

func otherChecks(resource string) []string {
	switch resource {
	case "roles":
		return []string{"rules[].verbs required"}
	case "clusterroles":
		return []string{"rules[].verbs required", "aggregationRule.clusterRoleSelectors[] selector"}
	case "rolebindings":
		return []string{"roleRef.name required", "roleRef.kind in ClusterRole Role", "roleRef.apiGroup in rbac.authorization.k8s.io", "roleRef immutable", "subjects[].name required",
			"subjects[].kind in Group ServiceAccount User"}
	case "clusterrolebindings":
		return []string{"roleRef.name required", "roleRef.kind in ClusterRole", "roleRef.apiGroup in rbac.authorization.k8s.io", "roleRef immutable", "subjects[].name required",
			"subjects[].kind in Group ServiceAccount User"}
	case "certificatesigningrequests":
		return []string{"spec.request required", "spec.signerName required", "spec.usages required", "spec.expirationSeconds min 600", "spec immutable"}
	case "clustertrustbundles":
		return []string{"spec.trustBundle required", "spec.signerName immutable"}
	case "podcertificaterequests":
		return []string{"spec.signerName required", "spec.podName required", "spec.nodeName required", "spec immutable"}
	case "priorityclasses":
		return []string{"preemptionPolicy in Never PreemptLowerPriority", "preemptionPolicy immutable", "value immutable"}
	case "runtimeclasses":
		return []string{"handler required", "handler label", "handler immutable"}
	case "flowschemas":
		return []string{"spec.priorityLevelConfiguration.name required", "spec.matchingPrecedence range 1 10000", "spec.distinguisherMethod.type in ByNamespace ByUser"}
	case "prioritylevelconfigurations":
		return []string{"spec.type required", "spec.type in Exempt Limited", "spec.limited.nominalConcurrencyShares min 0", "spec.limited.limitResponse.type in Queue Reject"}
	case "apiservices":
		return []string{"spec.version required", "spec.groupPriorityMinimum range 0 20000", "spec.versionPriority range 1 1000", "spec.service.name required", "spec.service.namespace required",
			"spec.service.port range 1 65535"}
	case "resourceclaims":
		return []string{"spec immutable", "spec.devices.requests[].name required", "spec.devices.requests[].name label"}
	case "resourceclaimtemplates":
		return []string{"spec immutable", "spec.spec.devices.requests[].name required"}
	case "resourceslices":
		return []string{"spec.driver required", "spec.driver immutable", "spec.pool.name required", "spec.pool.name immutable", "spec.nodeName immutable", "spec.devices[].name required"}
	}
	return nil
}
