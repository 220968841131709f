package kinds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// nameColumn comes first in every table.
func nameColumn() Column {
	return Column{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
}

// createdColumn is a column that shows metadata.creationTimestamp.
func createdColumn(name, typ string) Column {
	return Column{Name: name, Type: typ, Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}
}

const (
	none    = "<none>"
	unknown = "<unknown>"
	unset   = "<unset>"
)

// or returns s, or other where s is empty.
func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// at walks obj along names; nil if it ends before.
func at(obj map[string]any, names ...string) any {
	for _, name := range names[:len(names)-1] {
		obj = child(obj, name)
	}
	return obj[names[len(names)-1]]
}

// textAt, intAt, objectAt and listAt are at for one type each, with its zero
// for what is not there or of another type.
func textAt(obj map[string]any, names ...string) string { s, _ := at(obj, names...).(string); return s }

func intAt(obj map[string]any, names ...string) int64 { n, _ := at(obj, names...).(int64); return n }

func objectAt(obj map[string]any, names ...string) map[string]any {
	m, _ := at(obj, names...).(map[string]any)
	return m
}

func listAt(obj map[string]any, names ...string) []any { l, _ := at(obj, names...).([]any); return l }

// objectsAt is the objects of a list.
func objectsAt(obj map[string]any, names ...string) []map[string]any {
	list := listAt(obj, names...)
	out := make([]map[string]any, 0, len(list))
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// countText renders an optional number.
func countText(v any) string {
	if v == nil {
		return unset
	}
	return scalarOr(v, unset)
}

func scalarOr(v any, other string) string {
	if v == nil {
		return other
	}
	return scalarText(v)
}

// created is the age of an object as people read it.
func created(obj map[string]any, now time.Time) string {
	return since(text(child(obj, "metadata"), "creationTimestamp"), now)
}

// since is how long ago a time was as people read it.
func since(s string, now time.Time) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t))
}

// labelsText renders a map of labels.
func labelsText(m map[string]any) string {
	if len(m) == 0 {
		return none
	}
	parts := make([]string, 0, len(m))
	for _, k := range keys(m) {
		parts = append(parts, k+"="+text(m, k))
	}
	return strings.Join(parts, ",")
}

// selectorText renders a label selector.
func selectorText(m map[string]any) string {
	if m == nil {
		return none
	}
	var parts []string
	for _, k := range keys(child(m, "matchLabels")) {
		parts = append(parts, k+"="+textAt(m, "matchLabels", k))
	}
	for _, e := range objectsAt(m, "matchExpressions") {
		values := texts(e["values"])
		slices.Sort(values)
		key, list := text(e, "key"), "("+strings.Join(values, ",")+")"
		switch text(e, "operator") {
		case "In":
			parts = append(parts, key+" in "+list)
		case "NotIn":
			parts = append(parts, key+" notin "+list)
		case "Exists":
			parts = append(parts, key)
		case "DoesNotExist":
			parts = append(parts, "!"+key)
		}
	}
	return or(strings.Join(parts, ","), none)
}

// templateCells are the cells of templateColumns: of a pod spec, and with a
// selector.
func containerCells(spec map[string]any) []any {
	var names, images []string
	for _, c := range objectsAt(spec, "containers") {
		names = append(names, text(c, "name"))
		images = append(images, text(c, "image"))
	}
	return []any{strings.Join(names, ","), strings.Join(images, ",")}
}

func templateCells(obj map[string]any) []any {
	return append(containerCells(objectAt(obj, "spec", "template", "spec")), selectorText(objectAt(obj, "spec", "selector")))
}

// more joins at most three parts of a list and tells how many are left.
func more(list []string, total int) string {
	const shown = 3
	if total > shown {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:min(shown, len(list))], ","), total-shown)
	}
	return strings.Join(list, ",")
}

// createdAtCells are of kinds that show when they were made, and not their age.
func createdAtCells(obj map[string]any, _ time.Time) []any {
	t, _ := time.Parse(time.RFC3339, textAt(obj, "metadata", "creationTimestamp"))
	return []any{t.UTC().Format(time.RFC3339)}
}

// portsText renders the ports of a service.
func portsText(ports []map[string]any) string {
	parts := make([]string, 0, len(ports))
	for _, p := range ports {
		s := strconv.FormatInt(intAt(p, "port"), 10)
		if n := intAt(p, "nodePort"); n > 0 {
			s += ":" + strconv.FormatInt(n, 10)
		}
		parts = append(parts, s+"/"+text(p, "protocol"))
	}
	return or(strings.Join(parts, ","), none)
}

// balancerText renders the addresses of a load balancer.
func balancerText(status map[string]any) string {
	var out []string
	for _, in := range objectsAt(status, "loadBalancer", "ingress") {
		if s := or(text(in, "ip"), text(in, "hostname")); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
