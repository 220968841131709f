package kinds

import (
	"reflect"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// networkKinds are those of networking and discovery.
func networkKinds() []entry {
	const api = "networking.k8s.io/v1"
	return []entry{
		{api: api, resource: "ingressclasses", typ: reflect.TypeFor[networkingv1.IngressClass](), traits: clusterScope | putOverwrites | generation,
			columns: []string{"Controller|||Controller that is responsible for handling this class", "Parameters|||A reference to a resource with additional parameters", "Age"},
			rules:   rules{cells: ingressClassCells}},
		{api: api, resource: "ingresses", typ: reflect.TypeFor[networkingv1.Ingress](), traits: putOverwrites | generation, short: "ing",
			columns: []string{"Class|||The name of the IngressClass resource that should be used for additional configuration", "Hosts|||Hosts that incoming requests are matched against before the ingress rule",
				"Address|||Address is a list containing ingress points for the load-balancer", "Ports|||Ports of TLS configurations that open", "Age"},
			rules: rules{cells: ingressCells, validate: validateIngress}},
		{api: api, resource: "ipaddresses", typ: reflect.TypeFor[networkingv1.IPAddress](), traits: clusterScope | putOverwrites, short: "ip",
			columns: []string{"ParentRef|||=spec.parentRef", "Age"}, rules: rules{name: addressName, cells: addressCells}},
		{api: api, resource: "networkpolicies", typ: reflect.TypeFor[networkingv1.NetworkPolicy](), traits: putOverwrites | generation, short: "netpol",
			columns: []string{"Pod-Selector|||=spec.podSelector", "Age"}, rules: rules{cells: networkPolicyCells, defaults: networkPolicyDefaults, validate: validateNetworkPolicy}},
		{api: api, resource: "servicecidrs", typ: reflect.TypeFor[networkingv1.ServiceCIDR](), traits: clusterScope | putOverwrites,
			columns: []string{"CIDRs|||=spec.cidrs", "Age"}, rules: rules{cells: cidrCells}},
		{api: "discovery.k8s.io/v1", resource: "endpointslices", typ: reflect.TypeFor[discoveryv1.EndpointSlice](), traits: putOverwrites | generation,
			columns: []string{"AddressType|||=addressType", "Ports|||=ports", "Endpoints|||=endpoints", "Age"}, rules: rules{cells: sliceCells, validate: validateEndpoints}},
	}
}

// storageKinds are those of storage.
func storageKinds() []entry {
	const api = "storage.k8s.io/v1"
	return []entry{
		{api: api, resource: "csidrivers", typ: reflect.TypeFor[storagev1.CSIDriver](), traits: clusterScope | returnsDeleted | generation,
			columns: []string{"AttachRequired|boolean||=spec.attachRequired", "PodInfoOnMount|boolean||=spec.podInfoOnMount", "StorageCapacity|boolean||=spec.storageCapacity",
				"TokenRequests|||=spec.tokenRequests", "RequiresRepublish|boolean||=spec.requiresRepublish", "Modes|||=spec.volumeLifecycleModes", "Age"},
			rules: rules{cells: driverCells}},
		{api: api, resource: "csinodes", typ: reflect.TypeFor[storagev1.CSINode](), traits: clusterScope | returnsDeleted | noStatus,
			columns: []string{"Drivers|integer||Drivers indicates the number of CSI drivers registered on the node", "Age"}, rules: rules{cells: csiNodeCells}},
		{api: api, resource: "csistoragecapacities", typ: reflect.TypeFor[storagev1.CSIStorageCapacity](), traits: returnsDeleted,
			columns: []string{"StorageClassName|||=storageClassName", "Capacity|||=capacity"}, rules: rules{cells: capacityCells}},
		{api: api, resource: "storageclasses", typ: reflect.TypeFor[storagev1.StorageClass](), traits: clusterScope | putOverwrites | returnsDeleted, short: "sc",
			columns: []string{"Provisioner|||=provisioner", "ReclaimPolicy|||=reclaimPolicy", "VolumeBindingMode|||=volumeBindingMode", "AllowVolumeExpansion|||=allowVolumeExpansion", "Age"},
			rules:   rules{cells: storageClassCells}},
		{api: api, resource: "volumeattachments", typ: reflect.TypeFor[storagev1.VolumeAttachment](), traits: clusterScope | returnsDeleted,
			columns: []string{"Attacher|||=spec.attacher", "PV|||=spec.source.persistentVolumeName", "Node|||=spec.nodeName", "Attached|boolean||=status.attached", "Age"},
			rules:   rules{cells: attachmentCells}},
		{api: api, resource: "volumeattributesclasses", typ: reflect.TypeFor[storagev1.VolumeAttributesClass](), traits: clusterScope | putOverwrites | returnsDeleted, short: "vac",
			columns: []string{"DriverName|||=driverName", "Age"}, rules: rules{cells: attributesClassCells}},
	}
}

// clusterKinds are those by which a cluster runs itself.
func clusterKinds() []entry {
	const flow, dra = "flowcontrol.apiserver.k8s.io/v1", "resource.k8s.io/v1"
	return []entry{
		{api: DefinitionGroup + "/v1", resource: DefinitionResource, typ: reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](),
			traits: clusterScope | generation, short: "crd crds", categories: "api-extensions",
			columns: []string{"Created At|date||=metadata.creationTimestamp"}, rules: rules{cells: createdAtCells, keepStatus: true}},
		{api: "apiregistration.k8s.io/v1", resource: "apiservices", typ: reflect.TypeFor[APIService](), traits: clusterScope, categories: "api-extensions",
			columns: []string{"Service|||The reference to the service that hosts this API endpoint.", "Available|||Whether this service is available.", "Age"},
			rules:   rules{cells: apiServiceCells}},
		{api: "coordination.k8s.io/v1", resource: "leases", typ: reflect.TypeFor[coordinationv1.Lease](), traits: putCreates,
			columns: []string{"Holder|||=spec.holderIdentity", "Age"}, rules: rules{validate: validateLease, cells: leaseCells}},
		{api: flow, resource: "flowschemas", typ: reflect.TypeFor[flowcontrolv1.FlowSchema](), traits: clusterScope | putOverwrites | generation,
			columns: []string{"PriorityLevel|||=spec.priorityLevelConfiguration.name", "MatchingPrecedence|integer||=spec.matchingPrecedence",
				"DistinguisherMethod|||=spec.distinguisherMethod", "Age", "MissingPL|||references a broken or non-existent PriorityLevelConfiguration"},
			rules: rules{cells: flowSchemaCells}},
		{api: flow, resource: "prioritylevelconfigurations", typ: reflect.TypeFor[flowcontrolv1.PriorityLevelConfiguration](), traits: clusterScope | putOverwrites | generation,
			columns: []string{"Type|||=spec.type", "NominalConcurrencyShares|integer||=spec.limited.nominalConcurrencyShares",
				"Queues|integer||=spec.limited.limitResponse.queuing.queues", "HandSize|integer||=spec.limited.limitResponse.queuing.handSize",
				"QueueLengthLimit|integer||=spec.limited.limitResponse.queuing.queueLengthLimit", "Age"},
			rules: rules{cells: priorityLevelCells}},
		{api: "node.k8s.io/v1", resource: "runtimeclasses", typ: reflect.TypeFor[nodev1.RuntimeClass](), traits: clusterScope,
			columns: []string{"Handler|||=handler", "Age"}, rules: rules{cells: runtimeClassCells}},
		{api: dra, resource: "deviceclasses", typ: reflect.TypeFor[resourcev1.DeviceClass](), traits: clusterScope | putOverwrites | returnsDeleted | generation},
		{api: dra, resource: "devicetaintrules", typ: reflect.TypeFor[resourcev1.DeviceTaintRule](), traits: clusterScope | putOverwrites | returnsDeleted | generation},
		{api: dra, resource: "resourceclaims", typ: reflect.TypeFor[resourcev1.ResourceClaim](), traits: putOverwrites | returnsDeleted,
			columns: []string{"State|||A summary of the current state (allocated, pending, reserved, etc.).", "Age"}, rules: rules{cells: resourceClaimCells, defaults: func(obj map[string]any) { requestDefaults(objectAt(obj, "spec", "devices")) }}},
		{api: dra, resource: "resourceclaimtemplates", typ: reflect.TypeFor[resourcev1.ResourceClaimTemplate](), traits: putOverwrites | returnsDeleted,
			rules: rules{defaults: func(obj map[string]any) { requestDefaults(objectAt(obj, "spec", "spec", "devices")) }}},
		{api: dra, resource: "resourceslices", typ: reflect.TypeFor[resourcev1.ResourceSlice](), traits: clusterScope | putOverwrites | returnsDeleted | generation,
			fields: "spec.nodeName spec.driver", columns: []string{"Node|||=spec.nodeName", "Driver|||=spec.driver", "Pool|||=spec.pool.name", "Age"},
			rules: rules{cells: resourceSliceCells}},
		{api: "scheduling.k8s.io/v1", resource: "priorityclasses", typ: reflect.TypeFor[schedulingv1.PriorityClass](), traits: clusterScope | putOverwrites | generation, short: "pc",
			columns: []string{"Value|integer||=value", "Global-Default|boolean||=globalDefault", "Age", "PreemptionPolicy|||=preemptionPolicy"}, rules: rules{cells: priorityClassCells, validate: validatePriorityClass}},
	}
}
