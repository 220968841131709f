package kinds

import (
	"reflect"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
)

// DefinitionGroup and DefinitionResource name the kind whose objects define
// the custom kinds.
const (
	DefinitionGroup    = "apiextensions.k8s.io"
	DefinitionResource = "customresourcedefinitions"
)

// priority orders the groups in discovery as an aggregator does, the highest
// first. Groups of custom kinds have customPriority.
func priority(group string) int {
	switch group {
	case DefinitionGroup:
		return 16700
	case "coordination.k8s.io":
		return 16500
	}
	return customPriority
}

const customPriority = 1000

// builtinVerbs returns the verbs of a built-in kind in served order, without
// those it has not.
func builtinVerbs(but ...string) []string {
	verbs := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	return slices.DeleteFunc(verbs, func(v string) bool { return slices.Contains(but, v) })
}

// builtins is the catalogue: the built-in kinds as data.
func builtins() []*Kind {
	return []*Kind{{
		Version: "v1", Resource: "configmaps", Singular: "configmap", Kind: "ConfigMap",
		ShortNames: []string{"cm"}, Verbs: builtinVerbs(), Namespaced: true,
		UnconditionalUpdate: true,
		Columns:             configMapColumns(),
		rules: rules{
			name: validation.NameIsDNSSubdomain, typ: reflect.TypeFor[corev1.ConfigMap](),
			validate: validateConfigMap, cells: configMapCells,
		},
	}, {
		Version: "v1", Resource: "namespaces", Singular: "namespace", Kind: "Namespace",
		ShortNames: []string{"ns"}, Verbs: builtinVerbs("deletecollection"),
		UnconditionalUpdate: true, ReturnsDeleted: true, HasStatus: true,
		Columns:    namespaceColumns(),
		selectable: []selectable{{label: "status.phase", path: []string{"status", "phase"}}},
		rules: rules{
			name: validation.ValidateNamespaceName, typ: reflect.TypeFor[corev1.Namespace](),
			prepareCreate: prepareNamespace, prepareUpdate: prepareNamespaceUpdate,
			validate: validateNamespace, cells: namespaceCells,
		},
	}, {
		Group: "coordination.k8s.io", Version: "v1",
		Resource: "leases", Singular: "lease", Kind: "Lease",
		Verbs: builtinVerbs(), Namespaced: true,
		CreateOnUpdate: true,
		Columns:        leaseColumns(),
		rules: rules{
			name: validation.NameIsDNSSubdomain, typ: reflect.TypeFor[coordinationv1.Lease](),
			validate: validateLease, cells: leaseCells,
		},
	}, {
		Group: DefinitionGroup, Version: "v1",
		Resource: DefinitionResource, Singular: "customresourcedefinition", Kind: "CustomResourceDefinition",
		ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Verbs: builtinVerbs(),
		HasStatus: true, Generation: true,
		Columns: definitionColumns(),
		rules: rules{
			name: validation.NameIsDNSSubdomain, typ: reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](),
			cells: definitionCells,
		},
	}}
}

// complete fills in what follows from the rest of a built-in entry.
func complete(k *Kind) {
	k.APIVersion = apiVersion(k.Group, k.Version)
	k.ListKind = k.Kind + "List"
	k.StorageVersion = k.Version
	k.StorageVersionHash = storageVersionHash(k.Group, k.Version, k.Kind)
	if k.HasStatus {
		k.Subresources = []Subresource{statusSubresource(k.Group, k.Version, k.Kind)}
	}
}

// statusSubresource is the status subresource of a kind.
func statusSubresource(group, version, kind string) Subresource {
	return Subresource{Name: "status", Group: group, Version: version, Kind: kind, Verbs: []string{"get", "patch", "update"}}
}

// apiVersion joins a group and a version.
func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}
