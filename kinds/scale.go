package kinds

import (
	"errors"
	"fmt"
	"math"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ErrNoScale is returned for kinds that have no scale subresource.
var ErrNoScale = errors.New("the kind has no scale subresource")

// scalePaths say where the parts of a Scale are in an object.
type scalePaths struct {
	spec, status, selector []string
}

// builtinScale is that of the controllers of pods.
var builtinScale = scalePaths{
	spec: []string{"spec", "replicas"}, status: []string{"status", "replicas"}, selector: []string{"spec", "selector"},
}

// customScale reads a version's scale subresource; nil if it has none.
func customScale(sub map[string]any) *scalePaths {
	scale, ok := sub["scale"].(map[string]any)
	if !ok {
		return nil
	}
	split := func(name string) []string {
		if p := strings.TrimPrefix(text(scale, name), "."); p != "" {
			return strings.Split(p, ".")
		}
		return nil
	}
	return &scalePaths{spec: split("specReplicasPath"), status: split("statusReplicasPath"), selector: split("labelSelectorPath")}
}

// ScaleOf returns the autoscaling/v1 Scale of an object: what its scale
// subresource answers with.
func (k *Kind) ScaleOf(obj map[string]any) (map[string]any, error) {
	p := k.rules.scale
	if p == nil || p.spec == nil {
		return nil, ErrNoScale
	}
	meta, from := map[string]any{}, child(obj, "metadata")
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		if v, ok := from[name]; ok {
			meta[name] = v
		}
	}
	spec, status := map[string]any{}, map[string]any{"replicas": int64(0)}
	if n, ok := at(obj, p.spec...).(int64); ok && n != 0 {
		spec["replicas"] = n
	}
	if len(p.status) > 0 {
		status["replicas"] = intAt(obj, p.status...)
	}
	selector, err := k.scaleSelector(obj)
	if err != nil {
		return nil, err
	}
	if selector != "" {
		status["selector"] = selector
	}
	return map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": meta, "spec": spec, "status": status}, nil
}

// scaleSelector renders the selector of an object: a label selector, a map of
// labels, or for custom kinds a text.
func (k *Kind) scaleSelector(obj map[string]any) (string, error) {
	p := k.rules.scale
	if len(p.selector) == 0 {
		return "", nil
	}
	switch v := at(obj, p.selector...).(type) {
	case string:
		return v, nil
	case map[string]any:
		if k.Custom {
			return "", nil
		}
		if k.Group == "" {
			return labelsText(v), nil
		}
		var s metav1.LabelSelector
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v, &s); err != nil {
			return "", fmt.Errorf("scale of a %s: selector: %w", k.Kind, err)
		}
		selector, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil {
			return "", fmt.Errorf("scale of a %s: selector: %w", k.Kind, err)
		}
		return selector.String(), nil
	}
	return "", nil
}

// SetScale sets in obj the number of replicas a written Scale asks for.
func (k *Kind) SetScale(obj map[string]any, replicas int64) error {
	p := k.rules.scale
	if p == nil || p.spec == nil {
		return ErrNoScale
	}
	for _, name := range p.spec[:len(p.spec)-1] {
		obj = ensure(obj, name)
	}
	obj[p.spec[len(p.spec)-1]] = replicas
	return nil
}

// validate checks the parts of a custom object that a Scale shows.
func (p *scalePaths) validate(obj map[string]any, errs field.ErrorList) field.ErrorList {
	if p == nil {
		return errs
	}
	for _, names := range [][]string{p.spec, p.status} {
		if len(names) == 0 {
			continue
		}
		path := field.NewPath("." + strings.Join(names, "."))
		switch n := at(obj, names...).(type) {
		case nil:
		case int64:
			if n < 0 {
				errs = append(errs, field.Invalid(path, n, "should be a non-negative integer"))
			} else if n > math.MaxInt32 {
				errs = append(errs, field.Invalid(path, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)))
			}
		default:
			errs = append(errs, field.Invalid(path, int64(0), fmt.Sprintf("%s accessor error: %v is of the type %T, expected int64", "."+strings.Join(names, "."), n, n)))
		}
	}
	return errs
}
