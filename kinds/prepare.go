package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsjson "sigs.k8s.io/json"
)

// definitionScheme converts between the served and the internal form of
// definitions.
var definitionScheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	return s
})

// PrepareDefinition makes obj, a definition on its way in by the main
// endpoint, what is stored: it sets defaults, validates, and sets the status:
// stored versions, accepted names, and the conditions NamesAccepted and
// Established, at once. old is nil on create. A status in obj is ignored. If
// there are errors obj is not changed. Of the metadata only the name is looked
// at, and the annotation that protected groups ask for: what metadata must be
// like is the same for all kinds and not decided here.
//
// Two conflicting definitions prepared at the same time may both be accepted:
// the second catalogue then has two kinds of one name, as two API servers may.
func (r *Registry) PrepareDefinition(obj, old map[string]any, now time.Time) field.ErrorList {
	crd, err := internalDefinition(obj, true)
	if err != nil {
		return undecodable(obj, err)
	}
	var errs field.ErrorList
	bareMeta(crd)
	crd.Status = apiextensions.CustomResourceDefinitionStatus{}
	if old == nil {
		addStored(crd)
		errs = validation.ValidateCustomResourceDefinition(context.Background(), crd)
	} else {
		before, err := internalDefinition(old, false)
		if err != nil {
			return undecodable(old, err)
		}
		bareMeta(before)
		crd.Status = *before.Status.DeepCopy()
		addStored(crd)
		errs = validation.ValidateCustomResourceDefinitionUpdate(context.Background(), crd, before)
	}
	if errs = slices.DeleteFunc(errs, aboutMeta); len(errs) > 0 {
		return errs
	}
	served := &apiextensionsv1.CustomResourceDefinition{}
	if err := definitionScheme().Convert(crd, served, nil); err != nil {
		return undecodable(obj, err)
	}
	r.setNames(served, now)
	if err := writeBack(obj, served); err != nil {
		return undecodable(obj, err)
	}
	return nil
}

// ValidateDefinitionStatus returns what is wrong with a definition that was
// written by the status endpoint.
func (r *Registry) ValidateDefinitionStatus(obj, old map[string]any) field.ErrorList {
	crd, err := internalDefinition(obj, false)
	if err != nil {
		return undecodable(obj, err)
	}
	before, err := internalDefinition(old, false)
	if err != nil {
		return undecodable(old, err)
	}
	bareMeta(crd)
	bareMeta(before)
	errs := validation.ValidateUpdateCustomResourceDefinitionStatus(context.Background(), crd, before)
	return slices.DeleteFunc(errs, aboutMeta)
}

// TerminateDefinition sets in a definition that is being deleted the finalizer
// that keeps it until its objects are gone, and the condition Terminating.
func TerminateDefinition(obj map[string]any, now time.Time) error {
	crd, err := servedDefinition(obj)
	if err != nil {
		return fmt.Errorf("terminate definition: %w", err)
	}
	setCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, now)
	if err := writeBack(obj, crd); err != nil {
		return fmt.Errorf("terminate definition: %w", err)
	}
	meta := ensure(obj, "metadata")
	finalizers, _ := meta["finalizers"].([]any)
	for _, f := range finalizers {
		if f == apiextensions.CustomResourceCleanupFinalizer {
			return nil
		}
	}
	meta["finalizers"] = append(finalizers[:len(finalizers):len(finalizers)], apiextensions.CustomResourceCleanupFinalizer)
	return nil
}

// bareMeta leaves of the metadata what the validation of definitions is about.
func bareMeta(crd *apiextensions.CustomResourceDefinition) {
	meta := metav1.ObjectMeta{Name: crd.Name, ResourceVersion: "1"}
	if approved, ok := crd.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]; ok {
		meta.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: approved}
	}
	crd.ObjectMeta = meta
}

// aboutMeta tells which errors are left to whoever validates all metadata.
func aboutMeta(err *field.Error) bool {
	return strings.HasPrefix(err.Field, "metadata.") && !strings.HasPrefix(err.Detail, "must be spec.names.plural") &&
		!strings.HasPrefix(err.Field, "metadata.annotations[")
}

func undecodable(obj map[string]any, err error) field.ErrorList {
	return field.ErrorList{field.TypeInvalid(field.NewPath("spec"), text(child(obj, "metadata"), "name"), err.Error())}
}

// servedDefinition decodes a definition into its Go type.
func servedDefinition(obj map[string]any) (*apiextensionsv1.CustomResourceDefinition, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.mapping(obj); err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, sigsjson.UnmarshalCaseSensitivePreserveInts(e.out, crd)
}

// internalDefinition decodes a definition, with defaults if asked, into the
// form in which it is validated.
func internalDefinition(obj map[string]any, defaults bool) (*apiextensions.CustomResourceDefinition, error) {
	v1, err := servedDefinition(obj)
	if err != nil {
		return nil, err
	}
	if defaults {
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(v1)
	}
	crd := &apiextensions.CustomResourceDefinition{}
	return crd, definitionScheme().Convert(v1, crd, nil)
}

// addStored records the storage version as one that objects may be stored in.
func addStored(crd *apiextensions.CustomResourceDefinition) {
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			if !apiextensions.IsStoredVersion(crd, v.Name) {
				crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
			}
			return
		}
	}
}

// writeBack puts the spec and the status of crd in obj.
func writeBack(obj map[string]any, crd *apiextensionsv1.CustomResourceDefinition) error {
	data, err := json.Marshal(map[string]any{"spec": crd.Spec, "status": crd.Status})
	if err != nil {
		return err
	}
	parts, _, err := DecodeJSON(data)
	if err != nil {
		return err
	}
	obj["spec"], obj["status"] = parts["spec"], parts["status"]
	return nil
}

// setNames decides which of its names a definition gets, and with that
// whether it is served.
func (r *Registry) setNames(crd *apiextensionsv1.CustomResourceDefinition, now time.Time) {
	if equality.Semantic.DeepEqual(crd.Spec.Names, crd.Status.AcceptedNames) {
		return
	}
	accepted, reason, err := r.decideNames(crd)
	crd.Status.AcceptedNames = accepted
	named := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue,
		Reason: "NoConflicts", Message: "no conflicts found",
	}
	established := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	}
	if err != nil {
		named.Status, named.Reason, named.Message = apiextensionsv1.ConditionFalse, reason, err.Error()
		established.Status, established.Reason, established.Message =
			apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted"
	}
	setCondition(crd, named, now)
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return // once established it stays so
		}
	}
	setCondition(crd, established, now)
}

// decideNames gives the definition every name that nobody else in its group
// has. err tells of one it did not get, reason in one word.
func (r *Registry) decideNames(crd *apiextensionsv1.CustomResourceDefinition) (accepted apiextensionsv1.CustomResourceDefinitionNames, reason string, err error) {
	resources, kinds := r.takenNames(crd.Spec.Group)
	wanted := crd.Spec.Names
	accepted = crd.Status.AcceptedNames
	settle := func(want string, have *string, taken map[string]bool, why string) {
		if want != *have && taken[want] {
			reason, err = why, fmt.Errorf("%q is already in use", want)
			return
		}
		*have = want
	}
	settle(wanted.Plural, &accepted.Plural, resources, "PluralConflict")
	settle(wanted.Singular, &accepted.Singular, resources, "SingularConflict")
	if !reflect.DeepEqual(wanted.ShortNames, accepted.ShortNames) {
		if e := freeNames(wanted.ShortNames, accepted.ShortNames, resources); e != nil {
			reason, err = "ShortNamesConflict", e
		} else {
			accepted.ShortNames = wanted.ShortNames
		}
	}
	settle(wanted.Kind, &accepted.Kind, kinds, "KindConflict")
	settle(wanted.ListKind, &accepted.ListKind, kinds, "ListKindConflict")
	accepted.Categories = wanted.Categories
	return accepted, reason, err
}

// freeNames returns an error naming those of wanted that are taken by others.
func freeNames(wanted, have []string, taken map[string]bool) error {
	own := map[string]bool{}
	for _, name := range have {
		own[name] = true
	}
	var errs []error
	for _, name := range wanted {
		if !own[name] && taken[name] {
			errs = append(errs, fmt.Errorf("%q is already in use", name))
		}
	}
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	text := errs[0].Error()
	for _, e := range errs[1:] {
		text += ", " + e.Error()
	}
	return errors.New("[" + text + "]")
}

// takenNames are the names in use in a group, of resources and of kinds.
func (r *Registry) takenNames(group string) (resources, kinds map[string]bool) {
	resources, kinds = map[string]bool{}, map[string]bool{}
	add := func(n names) {
		for _, s := range n.resources() {
			resources[s] = true
		}
		for _, s := range n.kinds() {
			kinds[s] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.builtins[group] {
		add(names{plural: k.Resource, singular: k.Singular, kind: k.Kind, listKind: k.ListKind, shortNames: k.ShortNames})
	}
	for _, d := range r.byGroup[group] {
		add(d.accepted)
	}
	return resources, kinds
}

// setCondition sets a condition; the time of its last transition is kept while
// its status is.
func setCondition(crd *apiextensionsv1.CustomResourceDefinition, c apiextensionsv1.CustomResourceDefinitionCondition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now)
	for i := range crd.Status.Conditions {
		have := &crd.Status.Conditions[i]
		if have.Type != c.Type {
			continue
		}
		if have.Status == c.Status && !have.LastTransitionTime.IsZero() {
			c.LastTransitionTime = have.LastTransitionTime
		}
		c.ObservedGeneration = have.ObservedGeneration
		*have = c
		return
	}
	crd.Status.Conditions = append(crd.Status.Conditions, c)
}
