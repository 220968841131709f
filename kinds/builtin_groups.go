package kinds

import (
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
)

// workloadKinds are those that make pods or are about them.
func workloadKinds() []entry {
	return []entry{
		{api: "apps/v1", resource: "controllerrevisions", typ: reflect.TypeFor[appsv1.ControllerRevision](), traits: putOverwrites,
			columns: []string{"Controller|||Controller of the object", "Revision|||=revision", "Age"},
			rules:   rules{cells: revisionCells}},
		{api: "apps/v1", resource: "daemonsets", typ: reflect.TypeFor[appsv1.DaemonSet](), traits: putOverwrites | generation, short: "ds", categories: "all",
			columns: append([]string{"Desired|integer||=status.desiredNumberScheduled", "Current|integer||=status.currentNumberScheduled", "Ready|integer||=status.numberReady",
				"Up-to-date|integer||=status.updatedNumberScheduled", "Available|integer||=status.numberAvailable",
				"Node Selector|||A selector which must match a node's labels for the pod to be scheduled on that node.", "Age"}, templateColumns...),
			rules: rules{cells: daemonSetCells, defaults: daemonSetDefaults, validate: validateController}},
		{api: "apps/v1", resource: "deployments", typ: reflect.TypeFor[appsv1.Deployment](), traits: putOverwrites | generation | scaled, short: "deploy", categories: "all",
			columns: append([]string{"Ready|||Number of the pod with ready state", "Up-to-date|||=status.updatedReplicas", "Available|||=status.availableReplicas", "Age"}, templateColumns...),
			rules:   rules{cells: deploymentCells, defaults: deploymentDefaults, validate: validateDeployment}},
		{api: "apps/v1", resource: "replicasets", typ: reflect.TypeFor[appsv1.ReplicaSet](), traits: putOverwrites | generation | scaled, short: "rs", categories: "all",
			fields:  "status.replicas=0",
			columns: append([]string{"Desired|integer||=spec.replicas", "Current|integer||=status.replicas", "Ready|integer||=status.readyReplicas", "Age"}, templateColumns...),
			rules:   rules{cells: replicaCells, validate: validateController}},
		{api: "apps/v1", resource: "statefulsets", typ: reflect.TypeFor[appsv1.StatefulSet](), traits: putOverwrites | generation | scaled, short: "sts", categories: "all",
			columns: append([]string{"Ready|||Number of the pod with ready state", "Age"}, templateColumns[:2]...),
			rules:   rules{cells: statefulSetCells, defaults: statefulSetDefaults, validate: validateStatefulSet}},
		{api: "autoscaling/v1", resource: "horizontalpodautoscalers", typ: reflect.TypeFor[autoscalingv1.HorizontalPodAutoscaler](), traits: putOverwrites,
			short: "hpa", categories: "all", columns: autoscalerColumns(), storage: "autoscaling/v2",
			rules: rules{cells: autoscalerCells, defaults: autoscalerV1Defaults, validate: validateAutoscaler,
				convert: &conversion{reflect.TypeFor[autoscalingv2.HorizontalPodAutoscaler](), autoscalerToV2, autoscalerFromV2}}},
		{api: "autoscaling/v2", resource: "horizontalpodautoscalers", typ: reflect.TypeFor[autoscalingv2.HorizontalPodAutoscaler](), traits: putOverwrites,
			short: "hpa", categories: "all", columns: autoscalerColumns(),
			rules: rules{cells: autoscalerCells, defaults: autoscalerDefaults, validate: validateAutoscaler}},
		{api: "batch/v1", resource: "cronjobs", typ: reflect.TypeFor[batchv1.CronJob](), traits: putOverwrites | generation, short: "cj", categories: "all",
			columns: []string{"Schedule|||=spec.schedule", "Timezone|||=spec.timeZone", "Suspend|boolean||=spec.suspend", "Active|integer||=status.active",
				"Last Schedule|||=status.lastScheduleTime", "Age", templateColumns[0], templateColumns[1], "Selector||1|=spec.jobTemplate.spec.selector"},
			rules: rules{cells: cronJobCells, validate: validateCronJob}},
		{api: "batch/v1", resource: "jobs", typ: reflect.TypeFor[batchv1.Job](), traits: putOverwrites | generation, categories: "all",
			fields: "status.successful:status.succeeded=0",
			columns: append([]string{"Status|||Status of the job.", "Completions|||=status.succeeded", "Duration|||Time required to complete the job.", "Age"},
				templateColumns...),
			rules: rules{cells: jobCells, defaults: jobDefaults, prepareCreate: prepareJob, validate: validateJob}},
		{api: "policy/v1", resource: "poddisruptionbudgets", typ: reflect.TypeFor[policyv1.PodDisruptionBudget](), traits: generation, short: "pdb",
			columns: []string{"Min Available|||The minimum number of pods that must be available.", "Max Unavailable|||The maximum number of pods that may be unavailable.",
				"Allowed Disruptions|integer||Calculated number of pods that may be disrupted at this time.", "Age"},
			rules: rules{cells: budgetCells, validate: validateBudget}},
	}
}

func autoscalerColumns() []string {
	return []string{"Reference|||=spec.scaleTargetRef", "Targets|||The metrics and their targets", "MinPods|||=spec.minReplicas", "MaxPods|||=spec.maxReplicas",
		"Replicas|||=status.currentReplicas", "Age"}
}

// accessKinds are about who may do what, and about what happens on a write.
func accessKinds() []entry {
	segment := func(name string, prefix bool) []string {
		if prefix {
			return path.IsValidPathSegmentPrefix(name)
		}
		return path.IsValidPathSegmentName(name)
	}
	bindingColumns := []string{"Role|||=roleRef", "Age", "Users||1|Users in the roleBinding", "Groups||1|Groups in the roleBinding", "ServiceAccounts||1|ServiceAccounts in the roleBinding"}
	createdAt := []string{"Created At|date||The time at which the object was created"}
	const rbac, admission, extensions = "rbac.authorization.k8s.io/v1", "admissionregistration.k8s.io/v1", "api-extensions"
	return []entry{
		{api: rbac, resource: "clusterrolebindings", typ: reflect.TypeFor[rbacv1.ClusterRoleBinding](), traits: clusterScope | putCreates | putOverwrites,
			columns: bindingColumns, rules: rules{name: segment, cells: bindingCells, defaults: bindingDefaults, validate: validateBinding}},
		{api: rbac, resource: "clusterroles", typ: reflect.TypeFor[rbacv1.ClusterRole](), traits: clusterScope | putCreates | putOverwrites,
			columns: createdAt, rules: rules{name: segment, cells: createdAtCells, validate: validateRole}},
		{api: rbac, resource: "rolebindings", typ: reflect.TypeFor[rbacv1.RoleBinding](), traits: putCreates | putOverwrites,
			columns: bindingColumns, rules: rules{name: segment, cells: bindingCells, defaults: bindingDefaults, validate: validateBinding}},
		{api: rbac, resource: "roles", typ: reflect.TypeFor[rbacv1.Role](), traits: putCreates | putOverwrites,
			columns: createdAt, rules: rules{name: segment, cells: createdAtCells, validate: validateRole}},
		{api: admission, resource: "mutatingadmissionpolicies", typ: reflect.TypeFor[admissionregistrationv1.MutatingAdmissionPolicy](), traits: clusterScope | generation,
			categories: extensions, columns: []string{"Mutations|integer||Mutations indicates the number of mutations rules defined in this configuration",
				"ParamKind|||ParamKind specifies the kind of resources used to parameterize this policy", "Age"},
			rules: rules{cells: policyCells("mutations")}},
		{api: admission, resource: "mutatingadmissionpolicybindings", typ: reflect.TypeFor[admissionregistrationv1.MutatingAdmissionPolicyBinding](),
			traits: clusterScope | generation, categories: extensions, columns: policyBindingColumns(), rules: rules{cells: policyBindingCells}},
		{api: admission, resource: "mutatingwebhookconfigurations", typ: reflect.TypeFor[admissionregistrationv1.MutatingWebhookConfiguration](),
			traits: clusterScope | generation, categories: extensions, columns: webhookColumns(), rules: rules{cells: webhookCells, validate: validateWebhooks}},
		{api: admission, resource: "validatingadmissionpolicies", typ: reflect.TypeFor[admissionregistrationv1.ValidatingAdmissionPolicy](), traits: clusterScope | generation,
			categories: extensions, columns: []string{"Validations|integer||Validations indicates the number of validation rules defined in this configuration",
				"ParamKind|||ParamKind specifies the kind of resources used to parameterize this policy", "Age"},
			rules: rules{cells: policyCells("validations")}},
		{api: admission, resource: "validatingadmissionpolicybindings", typ: reflect.TypeFor[admissionregistrationv1.ValidatingAdmissionPolicyBinding](),
			traits: clusterScope | generation, categories: extensions, columns: policyBindingColumns(), rules: rules{cells: policyBindingCells}},
		{api: admission, resource: "validatingwebhookconfigurations", typ: reflect.TypeFor[admissionregistrationv1.ValidatingWebhookConfiguration](),
			traits: clusterScope | generation, categories: extensions, columns: webhookColumns(), rules: rules{cells: webhookCells, validate: validateWebhooks}},
		{api: "certificates.k8s.io/v1", resource: "certificatesigningrequests", typ: reflect.TypeFor[certificatesv1.CertificateSigningRequest](),
			traits: clusterScope | putOverwrites, short: "csr", fields: "spec.signerName",
			columns: []string{"Age", "SignerName|||=spec.signerName", "Requestor|||=spec.username", "RequestedDuration|||=spec.expirationSeconds", "Condition|||=status.conditions"},
			rules:   rules{name: segment, cells: signingRequestCells}},
		{api: "certificates.k8s.io/v1", resource: "clustertrustbundles", typ: reflect.TypeFor[certificatesv1.ClusterTrustBundle](), traits: clusterScope,
			fields: "spec.signerName", columns: []string{"SignerName|||=spec.signerName"},
			rules: rules{name: trustBundleName, cells: trustBundleCells}},
		{api: "certificates.k8s.io/v1", resource: "podcertificaterequests", typ: reflect.TypeFor[certificatesv1.PodCertificateRequest](), traits: putOverwrites,
			fields: "spec.signerName spec.podName spec.nodeName"},
	}
}

func policyBindingColumns() []string {
	return []string{"PolicyName|||PolicyName indicates the policy definition which the policy binding binds to", "ParamRef|||ParamRef indicates the param resource which sets the configration param", "Age"}
}

func webhookColumns() []string {
	return []string{"Webhooks|integer||Webhooks indicates the number of webhooks registered in this configuration", "Age"}
}
