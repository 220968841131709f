package kinds

import (
	"encoding/base64"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxData is the most a ConfigMap may hold, in bytes of values.
const maxData = 1 << 20

const immutableText = "field is immutable when `immutable` is set"

func validateConfigMap(obj, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	if old != nil && old["immutable"] == true {
		if obj["immutable"] != true {
			errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableText))
		}
		for _, name := range []string{"data", "binaryData"} {
			if a, b := child(obj, name), child(old, name); len(a)+len(b) > 0 && !reflect.DeepEqual(a, b) {
				errs = append(errs, field.Forbidden(field.NewPath(name), immutableText))
			}
		}
	}
	data, binary := child(obj, "data"), child(obj, "binaryData")
	total := 0
	for _, key := range keys(data) {
		errs = append(errs, dataKey("data", key)...)
		if _, twice := binary[key]; twice {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		total += len(text(data, key))
	}
	for _, key := range keys(binary) {
		errs = append(errs, dataKey("binaryData", key)...)
		total += decodedLen(text(binary, key))
	}
	if total > maxData {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", maxData))
	}
	return errs
}

func dataKey(name, key string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range utilvalidation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(field.NewPath(name).Key(key), key, message))
	}
	return errs
}

// keys returns the keys of m in order, so that errors come in order.
func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// decodedLen is how many bytes a base64 text stands for.
func decodedLen(s string) int {
	n := base64.StdEncoding.DecodedLen(len(s))
	return n - (len(s) - len(strings.TrimRight(s, "=")))
}

// prepareNamespace makes a new namespace active, whatever it said of itself.
func prepareNamespace(obj map[string]any) {
	labelNamespace(obj)
	spec := ensure(obj, "spec")
	finalizers, _ := spec["finalizers"].([]any)
	if !slices.Contains(finalizers, any(string(corev1.FinalizerKubernetes))) {
		spec["finalizers"] = append(finalizers, string(corev1.FinalizerKubernetes))
	}
	obj["status"] = map[string]any{"phase": string(corev1.NamespaceActive)}
}

// prepareNamespaceUpdate keeps the finalizers of the spec, which only the
// finalize subresource changes.
func prepareNamespaceUpdate(obj, old map[string]any) {
	labelNamespace(obj)
	spec := ensure(obj, "spec")
	if finalizers, ok := child(old, "spec")["finalizers"]; ok {
		spec["finalizers"] = finalizers
	} else {
		delete(spec, "finalizers")
	}
}

// labelNamespace sets the label by which a namespace is selected by name.
func labelNamespace(obj map[string]any) {
	meta := ensure(obj, "metadata")
	if name := text(meta, "name"); name != "" {
		ensure(meta, "labels")[corev1.LabelMetadataName] = name
	}
}

func validateNamespace(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	list, _ := child(obj, "spec")["finalizers"].([]any)
	for i, f := range list {
		name, _ := f.(string)
		path := field.NewPath("spec", "finalizers").Index(i)
		errs = append(errs, validation.ValidateFinalizerName(name, path)...)
		if len(strings.Split(name, "/")) == 1 && name != string(corev1.FinalizerKubernetes) && len(errs) == 0 {
			errs = append(errs, field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

func validateLease(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	spec, path := child(obj, "spec"), field.NewPath("spec")
	if n, ok := spec["leaseDurationSeconds"].(int64); ok && n <= 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), n, "must be greater than 0"))
	}
	if n, ok := spec["leaseTransitions"].(int64); ok && n < 0 {
		errs = append(errs, field.Invalid(path.Child("leaseTransitions"), n, "must be greater than or equal to 0"))
	}
	strategy, given := spec["strategy"].(string)
	if given {
		errs = append(errs, validateStrategy(strategy, path.Child("strategy"))...)
	}
	if text(spec, "preferredHolder") != "" && strategy == "" {
		errs = append(errs, field.Forbidden(path.Child("preferredHolder"), "may only be specified if `strategy` is defined"))
	}
	return errs
}

// validateStrategy repeats the last name of the path, as kube-apiserver does.
func validateStrategy(strategy string, path *field.Path) field.ErrorList {
	const oldest = "OldestEmulationVersion"
	path = path.Child("strategy")
	if !strings.Contains(strategy, "/") {
		if strategy != oldest {
			return field.ErrorList{field.NotSupported(path, strategy, []string{oldest})}
		}
		return nil
	}
	var errs field.ErrorList
	for _, message := range utilvalidation.IsQualifiedName(strategy) {
		errs = append(errs, field.Invalid(path, strategy, message))
	}
	return errs
}

func decodeBase64(s string) ([]byte, error) { return base64.StdEncoding.DecodeString(s) }
