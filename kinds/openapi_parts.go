package kinds

import (
	"reflect"
	"slices"
	"strings"
)

// notOffered are parameters of the options' types that mean nothing here: there are
// no shards and no unreadable objects.
var notOffered = []string{"shardSelector", "ignoreStoreReadErrorWithClusterBreakingPotential"}

// inlined are the parameters written out where they are used: kubectl looks for
// them and does not follow references.
var inlined = []string{"dryRun", "fieldValidation", "fieldManager"}

// pathParameters are those of every operation at a path.
func (b *openAPI) pathParameters(path string) []part {
	var out []part
	if strings.Contains(path, "{name}") {
		out = append(out, b.shared("name", "path", "name of the object", part{"type": "string"}))
	}
	if strings.Contains(path, "{namespace}") {
		out = append(out, b.shared("namespace", "path", "object name and auth scope, such as for teams and projects", part{"type": "string"}))
	}
	return append(out, b.shared("pretty", "query", "If 'true', then the output is pretty printed.", part{"type": "string"}))
}

// queryParameters are those of a verb.
func (b *openAPI) queryParameters(verb string) []part {
	out := []part{}
	t := wordsOf(verb).options
	if t == nil {
		return out
	}
	b.eachField(t, func(f reflect.StructField, name string, _ bool, doc string) {
		typ := f.Type
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		switch {
		case typ.Kind() == reflect.Struct || slices.Contains(notOffered, name) || name == "kind" || name == "apiVersion":
		case verb == "deletecollection" && (name == "watch" || name == "allowWatchBookmarks"):
		case slices.Contains(inlined, name):
			out = append(out, parameter(name, "query", doc, scalarPart(typ)))
		default:
			out = append(out, b.shared(name, "query", doc, scalarPart(typ)))
		}
	})
	if verb == "deletecollection" {
		out = append(out, b.queryParameters("delete")...)
	}
	return out
}

// shared refers to a parameter that it adds to the components.
func (b *openAPI) shared(name, in, doc string, schema part) part {
	if _, ok := b.parameters[name]; !ok {
		b.parameters[name] = parameter(name, in, doc, schema)
	}
	return part{"$ref": "#/components/parameters/" + name}
}

func parameter(name, in, doc string, schema part) part {
	schema["uniqueItems"] = true // as Kubernetes has it
	p := part{"name": name, "in": in, "description": doc, "schema": schema}
	if in == "path" {
		p["required"] = true
	}
	return p
}

// requestBody is what a verb takes; nil for nothing.
func (b *openAPI) requestBody(k *Kind, model, verb string) part {
	switch verb {
	case "create", "update":
		return part{"content": content(schemaRef(model)), "required": true}
	case "patch":
		types := []string{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}
		if !k.Custom {
			types = append(types, "application/strategic-merge-patch+json")
		}
		patches := part{}
		for _, t := range types {
			patches[t] = part{"schema": part{}} // a list for the first
		}
		return part{"content": patches, "required": true}
	case "delete", "deletecollection":
		return part{"content": content(b.identified(deleteOptionsType))}
	}
	return nil
}

// responses are what a verb answers with.
func (b *openAPI) responses(k *Kind, model string, o operation) part {
	answer := schemaRef(model)
	switch {
	case o.verb == "list":
		answer = schemaRef(listName(k))
	case o.verb == "deletecollection" || o.verb == "delete" && !k.ReturnsDeleted:
		answer = b.identified(statusType)
	}
	ok := part{"description": "OK", "content": content(answer)}
	if o.verb == "list" {
		ok["content"].(part)["application/json;stream=watch"] = part{"schema": part{"type": "object"}}
	}
	out := part{"200": ok, "401": part{"description": "Unauthorized"}}
	switch {
	case o.verb == "create":
		delete(out, "200")
		out["201"] = part{"description": "Created", "content": content(answer)}
	case o.sub == "" && (o.verb == "patch" || o.verb == "update" && k.CreateOnUpdate):
		out["201"] = part{"description": "Created", "content": content(answer)}
	}
	return out
}

// identified is typeRef for a type whose JSON is an object with a kind.
func (b *openAPI) identified(t reflect.Type) part {
	ref := b.typeRef(t)
	s := b.schemas[typeName(t)].(part)
	if s[gvkExtension] == nil {
		identify(s, "", "v1", t.Name())
	}
	return ref
}

// content is a body in the representations that are served.
func content(schema part) part {
	return part{"application/json": part{"schema": schema}, "application/yaml": part{"schema": schema}}
}
