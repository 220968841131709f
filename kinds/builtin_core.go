package kinds

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/validation"
)

const podFields = "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork=false " +
	"status.phase status.podIP status.nominatedNodeName"

const involvedFields = "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid " +
	"involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath " +
	"reason reportingComponent source:source.component|reportingComponent type"

const regardingFields = "regarding.kind:involvedObject.kind regarding.namespace:involvedObject.namespace regarding.name:involvedObject.name " +
	"regarding.uid:involvedObject.uid regarding.apiVersion:involvedObject.apiVersion regarding.resourceVersion:involvedObject.resourceVersion " +
	"regarding.fieldPath:involvedObject.fieldPath reason reportingController:reportingComponent type"

// coreKinds is the core group, and the other form of its events.
func coreKinds() []entry {
	return append([]entry{
		{api: "v1", resource: "configmaps", typ: reflect.TypeFor[corev1.ConfigMap](), traits: putOverwrites, short: "cm",
			columns: []string{"Data|||=data", "Age"},
			rules:   rules{validate: validateConfigMap, cells: configMapCells}},
		{api: "v1", resource: "endpoints", typ: reflect.TypeFor[corev1.Endpoints](), traits: putCreates | putOverwrites, short: "ep",
			columns: []string{"Endpoints|||=subsets", "Age"},
			rules:   rules{cells: endpointsCells, validate: validateEndpoints}},
		{api: "v1", resource: "events", typ: reflect.TypeFor[corev1.Event](), traits: putCreates | putOverwrites, short: "ev",
			fields: involvedFields, columns: eventColumns(),
			rules: rules{cells: eventCells, nameless: true}},
		{api: "events.k8s.io/v1", resource: "events", typ: reflect.TypeFor[eventsv1.Event](), traits: putCreates | putOverwrites, short: "ev",
			fields: regardingFields, columns: eventColumns(), storage: "v1",
			rules: rules{cells: eventCells, nameless: true, convert: &conversion{reflect.TypeFor[corev1.Event](), eventToCore, eventFromCore}}},
		{api: "v1", resource: "limitranges", typ: reflect.TypeFor[corev1.LimitRange](), traits: putCreates | putOverwrites, short: "limits",
			columns: []string{"Created At|date||The time at which the object was created"},
			rules:   rules{cells: createdAtCells, defaults: limitRangeDefaults, validate: validateLimitRange}},
		{api: "v1", resource: "namespaces", typ: reflect.TypeFor[corev1.Namespace](), short: "ns",
			traits: clusterScope | putOverwrites | returnsDeleted | noCollectionDelete, fields: "status.phase",
			columns: []string{"Status|||The status of the namespace", "Age"},
			rules: rules{name: validation.ValidateNamespaceName, prepareCreate: prepareNamespace, prepareUpdate: prepareNamespaceUpdate,
				validate: validateNamespace, cells: namespaceCells}},
		{api: "v1", resource: "nodes", typ: reflect.TypeFor[corev1.Node](), traits: clusterScope | putOverwrites, short: "no",
			fields: "spec.unschedulable=false",
			columns: []string{"Status|||The status of the node", "Roles|||The roles of the node", "Age", "Version|||=status.nodeInfo.kubeletVersion",
				"Internal-IP||1|=status.addresses", "External-IP||1|=status.addresses", "OS-Image||1|=status.nodeInfo.osImage",
				"Kernel-Version||1|=status.nodeInfo.kernelVersion", "Container-Runtime||1|=status.nodeInfo.containerRuntimeVersion"},
			rules: rules{cells: nodeCells, defaults: nodeDefaults, keepStatus: true}},
		{api: "v1", resource: "persistentvolumeclaims", typ: reflect.TypeFor[corev1.PersistentVolumeClaim](),
			traits: putOverwrites | returnsDeleted, short: "pvc",
			columns: []string{"Status|||=status.phase", "Volume|||=spec.volumeName", "Capacity|||=status.capacity", "Access Modes|||=status.accessModes",
				"StorageClass|||StorageClass of the pvc", "VolumeAttributesClass|||VolumeAttributesClass of the pvc", "Age", "VolumeMode||1|=spec.volumeMode"},
			rules: rules{cells: claimCells, prepareCreate: prepareClaim, validate: validateClaim}},
		{api: "v1", resource: "persistentvolumes", typ: reflect.TypeFor[corev1.PersistentVolume](),
			traits: clusterScope | putOverwrites | returnsDeleted, short: "pv",
			columns: []string{"Capacity|||=spec.capacity", "Access Modes|||=spec.accessModes", "Reclaim Policy|||=spec.persistentVolumeReclaimPolicy",
				"Status|||=status.phase", "Claim|||=spec.claimRef", "StorageClass|||StorageClass of the pv", "VolumeAttributesClass|||VolumeAttributesClass of the pv",
				"Reason|||=status.reason", "Age", "VolumeMode||1|=spec.volumeMode"},
			rules: rules{cells: volumeCells, prepareCreate: prepareVolume}},
		{api: "v1", resource: "secrets", typ: reflect.TypeFor[corev1.Secret](), traits: putOverwrites, fields: "type",
			columns: []string{"Type|||=type", "Data|||=data", "Age"},
			rules:   rules{cells: secretCells, defaults: secretDefaults, validate: validateSecret}},
	}, corePodKinds()...)
}

func corePodKinds() []entry {
	return []entry{
		{api: "v1", resource: "pods", typ: reflect.TypeFor[corev1.Pod](), traits: putOverwrites | returnsDeleted | generation,
			short: "po", categories: "all", fields: podFields,
			columns: []string{"Ready|||The aggregate readiness state of this pod for accepting traffic.", "Status|||The aggregate status of the containers in this pod.",
				"Restarts|||The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.", "Age",
				"IP||1|=status.podIP", "Node||1|=spec.nodeName", "Nominated Node||1|=status.nominatedNodeName", "Readiness Gates||1|=spec.readinessGates"},
			rules: rules{cells: podCells, defaults: podDefaults, prepareCreate: preparePod, validate: validatePod}},
		{api: "v1", resource: "podtemplates", typ: reflect.TypeFor[corev1.PodTemplate](), traits: putOverwrites | returnsDeleted | generation,
			columns: []string{"Containers|||Names of each container in the template.", "Images|||Images referenced by each container in the template.", "Pod Labels|||The labels for the pod template."},
			rules:   rules{cells: podTemplateCells, validate: validateController}},
		{api: "v1", resource: "replicationcontrollers", typ: reflect.TypeFor[corev1.ReplicationController](),
			traits: putOverwrites | generation | scaled, short: "rc", categories: "all", fields: "status.replicas=0",
			columns: append([]string{"Desired|integer||=spec.replicas", "Current|integer||=status.replicas", "Ready|integer||=status.readyReplicas", "Age"}, templateColumns...),
			rules:   rules{cells: replicaCells, defaults: replicationControllerDefaults, validate: validateController}},
		{api: "v1", resource: "resourcequotas", typ: reflect.TypeFor[corev1.ResourceQuota](), traits: putOverwrites | returnsDeleted, short: "quota",
			columns: []string{"Request|||Request represents a minimum amount of cpu/memory that a container may consume.",
				"Limit|||Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.", "Age"},
			rules: rules{cells: quotaCells}},
		{api: "v1", resource: "serviceaccounts", typ: reflect.TypeFor[corev1.ServiceAccount](), traits: putOverwrites | returnsDeleted, short: "sa",
			columns: []string{"Secrets|||=secrets", "Age"},
			rules:   rules{cells: serviceAccountCells}},
		{api: "v1", resource: "services", typ: reflect.TypeFor[corev1.Service](), traits: putCreates | putOverwrites | returnsDeleted,
			short: "svc", categories: "all", fields: "spec.clusterIP spec.type",
			columns: []string{"Type|||=spec.type", "Cluster-IP|||=spec.clusterIP", "External-IP|||=spec.externalIPs", "Port(s)|||=spec.ports", "Age", "Selector||1|=spec.selector"},
			rules:   rules{name: validation.NameIsDNS1035Label, cells: serviceCells, defaults: serviceDefaults, prepareUpdate: prepareServiceUpdate, validate: validateService}},
	}
}

// templateColumns tell of the pods that a controller makes.
var templateColumns = []string{"Containers||1|Names of each container in the template.", "Images||1|Images referenced by each container in the template.", "Selector||1|=spec.selector"}

func eventColumns() []string {
	return []string{"Last Seen|||The time at which the most recent occurrence of this event was recorded.", "Type|||Type of this event (Normal, Warning), new types could be added in the future",
		"Reason|||This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
		"Object|||The object that this event is about.", "Subobject||1|The part of the object that this event is about.",
		"Source||1|The component reporting this event.", "Message|||A human-readable description of the status of this operation.",
		"First Seen||1|The time at which the event was first recorded.", "Count||1|The number of times this event has occurred.", "Name||1|Name of the event."}
}
