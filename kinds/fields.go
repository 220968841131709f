package kinds

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// FieldLabels returns the labels that a field selector may use.
func (k *Kind) FieldLabels() []string {
	labels := []string{"metadata.name"}
	if k.Namespaced {
		labels = append(labels, "metadata.namespace")
	}
	for _, s := range k.selectable {
		labels = append(labels, s.label)
	}
	return labels
}

// Field returns the value of a field label of an object as it is stored. ok is
// false for a label that is not selectable; a field that is not there has the
// label's zero value, mostly "".
func (k *Kind) Field(obj map[string]any, label string) (value string, ok bool) {
	switch label {
	case "metadata.name":
		return text(child(obj, "metadata"), "name"), true
	case "metadata.namespace":
		return text(child(obj, "metadata"), "namespace"), k.Namespaced
	}
	for _, s := range k.selectable {
		if s.label != label {
			continue
		}
		v := scalarText(at(obj, s.path...))
		if v == "" && s.or != nil {
			v = scalarText(at(obj, s.or...))
		}
		return or(v, s.zero), true
	}
	return "", false
}

// FieldJSON is Field for an object's JSON, of which no more is read than it
// takes to find the field.
func (k *Kind) FieldJSON(objJSON []byte, label string) (value string, ok bool) {
	switch label {
	case "metadata.name":
		return gjson.GetBytes(objJSON, label).String(), true
	case "metadata.namespace":
		return gjson.GetBytes(objJSON, label).String(), k.Namespaced
	}
	for _, s := range k.selectable {
		if s.label != label {
			continue
		}
		v := findText(objJSON, s.path)
		if v == "" && s.or != nil {
			v = findText(objJSON, s.or)
		}
		return or(v, s.zero), true
	}
	return "", false
}

// findText is scalarText of what is at a path.
func findText(data []byte, path []string) string {
	r := gjson.GetBytes(data, strings.Join(path, "."))
	switch r.Type {
	case gjson.String, gjson.True, gjson.False:
		return r.String()
	case gjson.Number:
		if n, err := strconv.ParseInt(r.Raw, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	}
	return ""
}

// scalarText renders what a selectable field may be.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}
