package kinds

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// check is one rule about the values at a path, written "path rule arguments"
// in the table. "[]" after a name walks the items of a list. But for required
// and immutable a value that is not there is a good one, and so is all below
// an object that is not there. The rules are:
//
//	required             not missing, empty or ""
//	in A B               one of these
//	min N, range N M     a number from N, or from N to M
//	immutable            what it was before
//	label, subdomain     a DNS label, or subdomain
//	port                 a number or the name of a port
//	labels               a map of labels
//	selector             a label selector
type check struct {
	path []string
	rule string
	args []string
}

func parseChecks(lines []string) []check {
	out := make([]check, 0, len(lines))
	for _, line := range lines {
		parts := strings.Fields(line)
		out = append(out, check{strings.Split(parts[0], "."), parts[1], parts[2:]})
	}
	return out
}

// step is one step of the way to a value; a field.Path is made of it only for
// an error.
type step struct {
	parent *step
	name   string
	index  int
}

func (s *step) fieldPath() *field.Path {
	var p *field.Path
	if s.parent != nil {
		p = s.parent.fieldPath()
	}
	switch {
	case s.name == "":
		return p.Index(s.index)
	case p == nil:
		return field.NewPath(s.name)
	}
	return p.Child(s.name)
}

// runChecks returns what is wrong with obj by the checks; old is nil on create.
func runChecks(checks []check, obj, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	for i := range checks {
		c := &checks[i]
		if c.rule == "immutable" && old == nil {
			continue
		}
		errs = c.walk(errs, obj, old, c.path, nil)
	}
	return errs
}

func (c *check) walk(errs field.ErrorList, obj, old map[string]any, path []string, parent *step) field.ErrorList {
	name := path[0]
	if list, ok := strings.CutSuffix(name, "[]"); ok {
		here := step{parent: parent, name: list}
		items, _ := obj[list].([]any)
		for i, v := range items {
			at := step{parent: &here, index: i}
			if len(path) == 1 {
				errs = c.value(errs, v, nil, &at)
			} else if m, ok := v.(map[string]any); ok {
				errs = c.walk(errs, m, nil, path[1:], &at)
			}
		}
		return errs
	}
	here := step{parent: parent, name: name}
	if len(path) == 1 {
		return c.value(errs, obj[name], old[name], &here)
	}
	if m, ok := obj[name].(map[string]any); ok || c.rule == "immutable" {
		return c.walk(errs, m, child(old, name), path[1:], &here)
	}
	return errs
}

func (c *check) value(errs field.ErrorList, v, old any, at *step) field.ErrorList {
	switch c.rule {
	case "required":
		if v == nil || empty(v) && v != false && v != int64(0) {
			return append(errs, field.Required(at.fieldPath(), ""))
		}
		return errs
	case "immutable":
		if !reflect.DeepEqual(v, old) {
			return append(errs, field.Invalid(at.fieldPath(), v, "field is immutable"))
		}
		return errs
	}
	switch v := v.(type) {
	case string:
		return c.text(errs, v, at)
	case int64:
		return c.number(errs, v, at)
	case map[string]any:
		return c.object(errs, v, at)
	}
	return errs
}

func (c *check) text(errs field.ErrorList, s string, at *step) field.ErrorList {
	var messages []string
	switch c.rule {
	case "in":
		if !slices.Contains(c.args, s) {
			return append(errs, field.NotSupported(at.fieldPath(), s, c.args))
		}
	case "label":
		messages = utilvalidation.IsDNS1123Label(s)
	case "subdomain":
		messages = utilvalidation.IsDNS1123Subdomain(s)
	case "port":
		messages = utilvalidation.IsValidPortName(s)
	}
	for _, m := range messages {
		errs = append(errs, field.Invalid(at.fieldPath(), s, m))
	}
	return errs
}

func (c *check) number(errs field.ErrorList, n int64, at *step) field.ErrorList {
	switch c.rule {
	case "min":
		if low, _ := strconv.ParseInt(c.args[0], 10, 64); n < low {
			text := "must be greater than or equal to " + c.args[0]
			return append(errs, field.Invalid(at.fieldPath(), n, text))
		}
	case "range":
		low, _ := strconv.ParseInt(c.args[0], 10, 64)
		high, _ := strconv.ParseInt(c.args[1], 10, 64)
		if n < low || n > high {
			return append(errs, field.Invalid(at.fieldPath(), n, "must be between "+c.args[0]+" and "+c.args[1]+", inclusive"))
		}
	case "port":
		for _, m := range utilvalidation.IsValidPortNum(int(n)) {
			errs = append(errs, field.Invalid(at.fieldPath(), n, m))
		}
	}
	return errs
}

func (c *check) object(errs field.ErrorList, m map[string]any, at *step) field.ErrorList {
	switch c.rule {
	case "labels":
		return validLabels(errs, m, at.fieldPath())
	case "selector":
		return append(errs, validSelector(m, at.fieldPath())...)
	}
	return errs
}

func validLabels(errs field.ErrorList, m map[string]any, path *field.Path) field.ErrorList {
	for _, name := range keys(m) {
		for _, message := range utilvalidation.IsQualifiedName(name) {
			errs = append(errs, field.Invalid(path, name, message))
		}
		for _, message := range utilvalidation.IsValidLabelValue(text(m, name)) {
			errs = append(errs, field.Invalid(path.Key(name), text(m, name), message))
		}
	}
	return errs
}

func validSelector(m map[string]any, path *field.Path) field.ErrorList {
	s, err := labelSelector(m)
	if err != nil {
		return field.ErrorList{field.Invalid(path, m, err.Error())}
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

func labelSelector(m map[string]any) (*metav1.LabelSelector, error) {
	var s metav1.LabelSelector
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s)
	return &s, err
}
