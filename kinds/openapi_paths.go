package kinds

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An operation is one verb at one path.
type operation struct {
	verb   string
	sub    string // the subresource
	prefix string // of the kind in the id: "Namespaced" or ""
	suffix string // of the id
}

// verbWords are what follows from a verb.
type verbWords struct {
	method, action string       // of HTTP, and for x-kubernetes-action
	id, text       string       // what the id and the description begin with
	options        reflect.Type // what the query decodes into; nil: nothing
}

func wordsOf(verb string) verbWords {
	list, del := reflect.TypeFor[metav1.ListOptions](), reflect.TypeFor[metav1.DeleteOptions]()
	switch verb {
	case "list":
		return verbWords{"get", "list", "list", "list or watch", list}
	case "create":
		return verbWords{"post", "post", "create", "create", reflect.TypeFor[metav1.CreateOptions]()}
	case "update":
		return verbWords{"put", "put", "replace", "replace", reflect.TypeFor[metav1.UpdateOptions]()}
	case "patch":
		return verbWords{"patch", "patch", "patch", "partially update", reflect.TypeFor[metav1.PatchOptions]()}
	case "delete":
		return verbWords{"delete", "delete", "delete", "delete", del}
	case "deletecollection":
		return verbWords{"delete", "deletecollection", "deleteCollection", "delete a collection of", list}
	}
	return verbWords{"get", "get", "read", "read", nil}
}

// describe says in words what an operation does.
func (o operation) describe(k *Kind) string {
	text := wordsOf(o.verb).text + " "
	if o.sub != "" {
		text += o.sub + " of "
	}
	if o.verb == "list" || o.verb == "deletecollection" {
		return text + "objects of kind " + k.Kind
	}
	return text + "the " + k.Kind
}

// kindPaths adds the paths of a kind.
func (b *openAPI) kindPaths(k *Kind, model string) {
	root := "/" + openAPIPath(k.Group, k.Version) + "/"
	scope := ""
	if k.Namespaced {
		b.path(k, model, root+k.Resource, operation{verb: "list", suffix: "ForAllNamespaces"})
		root += "namespaces/{namespace}/"
		scope = "Namespaced"
	}
	collection := root + k.Resource
	for _, verb := range []string{"list", "create", "deletecollection"} {
		b.path(k, model, collection, operation{verb: verb, prefix: scope})
	}
	named := collection + "/{name}"
	for _, verb := range []string{"get", "update", "patch", "delete"} {
		b.path(k, model, named, operation{verb: verb, prefix: scope})
	}
	for _, s := range k.Subresources {
		for _, verb := range s.Verbs {
			suffix := strings.ToUpper(s.Name[:1]) + s.Name[1:]
			b.path(k, model, named+"/"+s.Name, operation{verb: verb, sub: s.Name, prefix: scope, suffix: suffix})
		}
	}
}

// path adds an operation, if the kind has it, to a path.
func (b *openAPI) path(k *Kind, model, path string, o operation) {
	if o.sub == "" && !k.Allows(o.verb) {
		return
	}
	item, ok := b.paths[path].(part)
	if !ok {
		item = part{"parameters": b.pathParameters(path)}
		b.paths[path] = item
	}
	words := wordsOf(o.verb)
	op := part{
		"operationId":         o.id(k),
		"tags":                []string{tag(k)},
		"description":         o.describe(k),
		"parameters":          b.queryParameters(o.verb),
		"responses":           b.responses(k, model, o),
		"x-kubernetes-action": words.action,
		gvkExtension:          gvk(k.Group, k.Version, k.Kind),
	}
	if body := b.requestBody(k, model, o.verb); body != nil {
		op["requestBody"] = body
	}
	if k.Deprecated {
		op["deprecated"] = true
	}
	item[words.method] = op
}

// id names an operation, such as listCoreV1NamespacedConfigMap.
func (o operation) id(k *Kind) string {
	return wordsOf(o.verb).id + camel(strings.TrimSuffix(groupName(k), ".k8s.io")) + camel(k.Version) + o.prefix + k.Kind + o.suffix
}

func tag(k *Kind) string {
	return strings.ReplaceAll(strings.TrimSuffix(groupName(k), ".k8s.io"), ".", "_") + "_" + k.Version
}

// groupName is the group of a kind, by the name that documents have for the core.
func groupName(k *Kind) string {
	if k.Group == "" {
		return "core"
	}
	return k.Group
}

// camel joins words at dots and dashes.
func camel(s string) string {
	var out strings.Builder
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '-' }) {
		out.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return out.String()
}
