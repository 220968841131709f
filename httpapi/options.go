package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// decodeParams reads query parameters into options of the meta API.
func decodeParams(v url.Values, into runtime.Object) error {
	if len(v) == 0 {
		return nil
	}
	if err := internalscheme.ParameterCodec.DecodeParameters(v, metav1.SchemeGroupVersion, into); err != nil {
		return badRequest("%v", err)
	}
	return nil
}

// listOptions reads and validates the options of a list, a watch or a
// deletecollection: first what the API machinery refuses (wire contract E.1), then
// the selectors and the name of a deprecated /watch/ path (E.2).
func (q *request) listOptions(watch bool) (metainternalversion.ListOptions, error) {
	var o metainternalversion.ListOptions
	if err := decodeParams(q.query, &o); err != nil {
		return o, err
	}
	o.Watch = watch
	metainternalversion.SetListOptionsDefaults(&o, true)
	if errs := internalvalidation.ValidateListOptions(&o, true); len(errs) > 0 {
		return o, invalidOptions("ListOptions", errs)
	}
	if o.Limit < 0 {
		return o, badRequest("limit must not be negative: %d", o.Limit)
	}
	return o, nil
}

// parseVersion reads a resourceVersion; "" and "0" are 0.
func parseVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, badRequest("invalid resource version: %v", field.Invalid(field.NewPath("resourceVersion"), s, err.Error()))
	}
	return n, nil
}

// writeOptions are those that the writing verbs share.
type writeOptions struct {
	dryRun          bool
	fieldManager    string
	fieldValidation string
	force           bool // of an apply: take fields from other managers
	untracked       bool // the managed fields are as they should be
}

// createOptions, updateOptions and patchOptions read and validate the parameters of
// a write. ?dryRun without a value is a real write, as the Kubernetes documents say.
func (q *request) createOptions() (writeOptions, error) {
	var o metav1.CreateOptions
	if err := decodeParams(q.writeQuery(), &o); err != nil {
		return writeOptions{}, err
	}
	if errs := metav1validation.ValidateCreateOptions(&o); len(errs) > 0 {
		return writeOptions{}, invalidOptions("CreateOptions", errs)
	}
	return writeOptions{dryRun: len(o.DryRun) > 0, fieldManager: o.FieldManager, fieldValidation: o.FieldValidation}, nil
}

func (q *request) updateOptions() (writeOptions, error) {
	var o metav1.UpdateOptions
	if err := decodeParams(q.writeQuery(), &o); err != nil {
		return writeOptions{}, err
	}
	if errs := metav1validation.ValidateUpdateOptions(&o); len(errs) > 0 {
		return writeOptions{}, invalidOptions("UpdateOptions", errs)
	}
	return writeOptions{dryRun: len(o.DryRun) > 0, fieldManager: o.FieldManager, fieldValidation: o.FieldValidation}, nil
}

func (q *request) patchOptions(patchType string) (writeOptions, error) {
	return q.readPatchOptions(&metav1.PatchOptions{}, patchType)
}

func (q *request) readPatchOptions(o *metav1.PatchOptions, patchType string) (writeOptions, error) {
	if err := decodeParams(q.writeQuery(), o); err != nil {
		return writeOptions{}, err
	}
	if errs := metav1validation.ValidatePatchOptions(o, types.PatchType(patchType)); len(errs) > 0 {
		return writeOptions{}, invalidOptions("PatchOptions", errs)
	}
	return writeOptions{dryRun: len(o.DryRun) > 0, fieldManager: o.FieldManager, fieldValidation: o.FieldValidation}, nil
}

// writeQuery is the query without empty dryRun values.
func (q *request) writeQuery() url.Values { return withoutEmptyDryRun(q.query) }

func withoutEmptyDryRun(v url.Values) url.Values {
	d, ok := v["dryRun"]
	if !ok {
		return v
	}
	var kept []string
	for _, s := range d {
		if s != "" {
			kept = append(kept, s)
		}
	}
	out := url.Values{}
	for k, s := range v {
		out[k] = s
	}
	if out["dryRun"] = kept; kept == nil {
		delete(out, "dryRun")
	}
	return out
}

// managerOf is the field manager of a write: the parameter, else the user agent up
// to its first slash.
func managerOf(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(userAgent, "/")
	return name
}

// deleteOptions takes the options of a delete from the body if there is one, else
// from the query; never from both.
func (q *request) deleteOptions() (*metav1.DeleteOptions, error) {
	o := &metav1.DeleteOptions{}
	body, err := q.readBody()
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		if err := q.decodeDeleteOptions(body, o); err != nil {
			return nil, err
		}
	} else if err := decodeParams(q.writeQuery(), o); err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidateDeleteOptions(o); len(errs) > 0 {
		return nil, invalidOptions("DeleteOptions", errs)
	}
	if o.GracePeriodSeconds != nil && *o.GracePeriodSeconds < 0 {
		one := int64(1)
		o.GracePeriodSeconds = &one
	}
	return o, nil
}

func (q *request) decodeDeleteOptions(body []byte, o *metav1.DeleteOptions) error {
	obj, _, err := q.decode(body)
	if err != nil {
		return err
	}
	if k, _ := obj["kind"].(string); k != "" && k != "DeleteOptions" {
		return badRequest("decoded object cannot be converted to DeleteOptions")
	}
	if v, _ := obj["apiVersion"].(string); v != "" && v != "v1" && v != "meta.k8s.io/v1" && v != q.kind.APIVersion {
		return badRequest("no kind %q is registered for version %q", "DeleteOptions", v)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, o); err != nil {
		return badRequest("%v", fmt.Errorf("DeleteOptions: %w", err))
	}
	return nil
}
