package kinds

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
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
	case "apiregistration.k8s.io":
		return 18000
	case "apps":
		return 17800
	case "events.k8s.io":
		return 17750
	case "autoscaling":
		return 17500
	case "batch":
		return 17400
	case "certificates.k8s.io":
		return 17300
	case "networking.k8s.io":
		return 17200
	case "policy":
		return 17100
	case "rbac.authorization.k8s.io":
		return 17000
	case "storage.k8s.io":
		return 16800
	case DefinitionGroup, "admissionregistration.k8s.io":
		return 16700
	case "scheduling.k8s.io":
		return 16600
	case "coordination.k8s.io":
		return 16500
	case "node.k8s.io":
		return 16300
	case "discovery.k8s.io":
		return 16200
	case "flowcontrol.apiserver.k8s.io":
		return 16100
	case "resource.k8s.io":
		return 15900
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

// traits are the yes-or-no facts of an entry.
type traits uint16

const (
	clusterScope   traits = 1 << iota
	putCreates            // PUT of a missing object creates it
	putOverwrites         // PUT without a resourceVersion overwrites
	returnsDeleted        // DELETE answers with the object
	generation            // metadata.generation is kept
	scaled                // has the scale subresource
	noCollectionDelete
	noStatus // the type's status belongs to a feature that is off
)

// entry is one line of the catalogue. What is not in it follows from the Go
// type: the kind is its name, the singular that in lower case, and it has a
// status subresource if the type has a status.
type entry struct {
	api, resource string
	typ           reflect.Type
	traits        traits
	// short and categories are separated by spaces.
	short, categories string
	// fields are selectable: "label", "label=zero", "label:path=zero", or
	// "label:path|path", the first that is not empty. The zero is the value of
	// a field that is not there.
	fields string
	// columns after the name: "Name|type|priority|description", of which only
	// the first is needed (a string, 0). A description "=spec.replicas" is that
	// of the type's field. Every entry without columns shows its age.
	columns []string
	rules   rules
	// storage is the API version objects are stored in, if not this one.
	storage string
}

// builtins is the catalogue: the built-in kinds as data.
func builtins() []*Kind {
	var out []*Kind
	for _, list := range [][]entry{coreKinds(), workloadKinds(), accessKinds(), networkKinds(), storageKinds(), clusterKinds()} {
		for i := range list {
			out = append(out, list[i].kind())
		}
	}
	return out
}

// kind makes the kind of an entry.
func (e *entry) kind() *Kind {
	group, version := splitAPI(e.api)
	has := func(t traits) bool { return e.traits&t != 0 }
	_, status := e.typ.FieldByName("Status")
	status = status && !has(noStatus)
	k := &Kind{
		Group: group, Version: version, APIVersion: e.api,
		Resource: e.resource, Kind: e.typ.Name(), Singular: strings.ToLower(e.typ.Name()), ListKind: e.typ.Name() + "List",
		ShortNames: strings.Fields(e.short), Categories: strings.Fields(e.categories), Verbs: builtinVerbs(),
		Namespaced: !has(clusterScope), HasStatus: status,
		CreateOnUpdate: has(putCreates), UnconditionalUpdate: has(putOverwrites),
		ReturnsDeleted: has(returnsDeleted), Generation: has(generation),
		StorageGroup: group, StorageVersion: version,
		selectable: parseSelectable(e.fields), rules: e.rules,
	}
	k.rules.typ = e.typ
	if k.rules.name == nil {
		k.rules.name = validation.NameIsDNSSubdomain
	}
	if has(noCollectionDelete) {
		k.Verbs = builtinVerbs("deletecollection")
	}
	if e.storage != "" {
		k.StorageGroup, k.StorageVersion = splitAPI(e.storage)
	}
	k.StorageVersionHash = storageVersionHash(k.StorageGroup, k.StorageVersion, k.Kind)
	if k.HasStatus {
		k.Subresources = []Subresource{statusSubresource(group, version, k.Kind)}
	}
	if has(scaled) {
		k.Subresources = append(k.Subresources, scaleSubresource())
		k.rules.scale = &builtinScale
	}
	k.Columns = e.tableColumns()
	k.deprecate()
	return k
}

// deprecate takes over what the Go type says of the life of its version.
func (k *Kind) deprecate() {
	v := reflect.New(k.rules.typ).Interface()
	old, ok := v.(interface{ APILifecycleDeprecated() (major, minor int) })
	if !ok {
		return
	}
	major, minor := old.APILifecycleDeprecated()
	if major == 0 {
		return
	}
	k.Deprecated = true
	k.DeprecationWarning = fmt.Sprintf("%s %s is deprecated in v%d.%d+", k.APIVersion, k.Kind, major, minor)
	if r, ok := v.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
		if major, minor := r.APILifecycleRemoved(); major != 0 {
			k.RemovedRelease = fmt.Sprintf("%d.%d", major, minor)
			k.DeprecationWarning += ", unavailable in v" + k.RemovedRelease + "+"
		}
	}
	if r, ok := v.(interface {
		APILifecycleReplacement() apischema.GroupVersionKind
	}); ok {
		if gvk := r.APILifecycleReplacement(); !gvk.Empty() {
			k.DeprecationWarning += "; use " + gvk.GroupVersion().String() + " " + gvk.Kind
		}
	}
}

func splitAPI(api string) (group, version string) {
	if i := strings.IndexByte(api, '/'); i >= 0 {
		return api[:i], api[i+1:]
	}
	return "", api
}

// statusSubresource is the status subresource of a kind.
func statusSubresource(group, version, kind string) Subresource {
	return Subresource{Name: "status", Group: group, Version: version, Kind: kind, Verbs: []string{"get", "patch", "update"}}
}

// scaleSubresource is the scale subresource, which is the same for all kinds.
func scaleSubresource() Subresource {
	return Subresource{Name: "scale", Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: []string{"get", "patch", "update"}}
}

// apiVersion joins a group and a version.
func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// parseSelectable reads the selectable fields of an entry.
func parseSelectable(s string) []selectable {
	var out []selectable
	for _, f := range strings.Fields(s) {
		var one selectable
		f, one.zero, _ = strings.Cut(f, "=")
		label, paths, ok := strings.Cut(f, ":")
		if !ok {
			paths = label
		}
		first, second, _ := strings.Cut(paths, "|")
		one.label, one.path = label, strings.Split(first, ".")
		if second != "" {
			one.or = strings.Split(second, ".")
		}
		out = append(out, one)
	}
	return out
}

// tableColumns makes the columns of an entry, the name first.
func (e *entry) tableColumns() []Column {
	columns := []Column{nameColumn()}
	list := e.columns
	if list == nil {
		list = []string{"Age"}
	}
	for _, line := range list {
		parts := append(strings.SplitN(line, "|", 4), "", "", "")
		c := Column{Name: parts[0], Type: parts[1], Description: parts[3]}
		if c.Type == "" {
			c.Type = "string"
		}
		if parts[2] == "1" {
			c.Priority = 1
		}
		switch {
		case c.Name == "Age" && c.Description == "":
			c.Description = createdColumn("", "").Description
		case strings.HasPrefix(c.Description, "="):
			c.Description = fieldDoc(e.typ, c.Description[1:])
		}
		columns = append(columns, c)
	}
	if e.rules.nameless {
		columns = columns[1:]
		columns[len(columns)-1].Format = "name"
	}
	return columns
}

// fieldDoc is the documentation of the field of a type at a path of JSON names.
func fieldDoc(t reflect.Type, path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		documented, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string })
		if !ok {
			return ""
		}
		return documented.SwaggerDoc()[name]
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if json, _, _ := strings.Cut(f.Tag.Get("json"), ","); json != name {
			continue
		}
		next := f.Type
		for next.Kind() == reflect.Pointer || next.Kind() == reflect.Slice {
			next = next.Elem()
		}
		return fieldDoc(next, rest)
	}
	return ""
}
