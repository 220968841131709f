package httpapi

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// metaOf is the metadata of an object, made if it has none.
func metaOf(obj map[string]any) map[string]any {
	m, ok := obj["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		obj["metadata"] = m
	}
	return m
}

func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// put sets a member, or removes it where there is no value.
func put(m map[string]any, key string, value any) {
	if value == nil {
		delete(m, key)
		return
	}
	m[key] = value
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// The base of a generated name is cut so that the whole stays a DNS label
// (apiserver/pkg/storage/names/generate.go).
const (
	maxGeneratedBase = 63 - generatedLength
	generatedLength  = 5
	generatedChars   = "bcdfghjklmnpqrstvwxz2456789"
)

func generateName(base string) string {
	if len(base) > maxGeneratedBase {
		base = base[:maxGeneratedBase]
	}
	b := make([]byte, generatedLength)
	for i := range b {
		b[i] = generatedChars[rand.IntN(len(generatedChars))]
	}
	return base + string(b)
}

// systemFields are the metadata members that only the server sets.
var systemFields = []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"}

// prepareMetaForCreate makes metadata what the server owns of it (wire contract F.1).
func (q *request) prepareMetaForCreate(meta map[string]any) error {
	if str(meta, "resourceVersion") != "" {
		return badRequest("resourceVersion should not be set on objects to be created")
	}
	delete(meta, "resourceVersion")
	if err := q.matchNamespace(meta); err != nil {
		return err
	}
	for _, f := range systemFields {
		delete(meta, f)
	}
	meta["uid"] = newUUID()
	meta["creationTimestamp"] = timestamp(q.s.now())
	if q.kind.Generation {
		meta["generation"] = int64(1)
	}
	q.dropDuplicateOwners(meta)
	return nil
}

// matchNamespace holds the namespace of an object against that of the request.
func (q *request) matchNamespace(meta map[string]any) error {
	switch ns := str(meta, "namespace"); {
	case !q.kind.Namespaced:
		if ns != "" {
			return badRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
		delete(meta, "namespace")
	case ns == "":
		meta["namespace"] = q.namespace
	case ns != q.namespace:
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// dropDuplicateOwners removes owner references that stand twice, with a warning
// (apiserver/pkg/endpoints/handlers/create.go dedupOwnerReferencesAndAddWarning).
func (q *request) dropDuplicateOwners(meta map[string]any) {
	refs, _ := meta["ownerReferences"].([]any)
	if len(refs) < 2 {
		return
	}
	var kept []any
	for _, r := range refs {
		seen := false
		for _, k := range kept {
			seen = seen || reflect.DeepEqual(k, r)
		}
		if !seen {
			kept = append(kept, r)
			continue
		}
		m, _ := r.(map[string]any)
		q.warn(".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " + str(m, "uid"))
	}
	meta["ownerReferences"] = kept
}

// typedMeta is the metadata in the form that the validation of the API machinery
// takes.
func typedMeta(meta map[string]any) (*metav1.ObjectMeta, error) {
	out := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(meta, out); err != nil {
		return nil, badRequest("metadata: %v", err)
	}
	return out, nil
}

// validated are the members of metadata that users write and rules exist for, but
// for the name and the namespace.
var validated = []string{"labels", "annotations", "ownerReferences", "finalizers"}

// validateMeta checks metadata by the rules that all kinds share; old is nil on
// create. What an update does not change is not checked again.
func (q *request) validateMeta(meta, old map[string]any) (field.ErrorList, error) {
	if old == nil {
		return q.validateNewMeta(meta)
	}
	changed := false
	for _, f := range validated {
		changed = changed || !reflect.DeepEqual(meta[f], old[f])
	}
	if !changed {
		return nil, nil
	}
	now, err := typedMeta(meta)
	if err != nil {
		return nil, err
	}
	before, err := typedMeta(old)
	if err != nil {
		return nil, err
	}
	now.ResourceVersion = before.ResourceVersion // whether it may be missing is for the kind to say
	path := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(now, before, path)
	return append(errs, q.validateCommon(now, path)...), nil
}

func (q *request) validateNewMeta(meta map[string]any) (field.ErrorList, error) {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	if name := str(meta, "name"); name == "" {
		errs = append(errs, field.Required(path.Child("name"), "name or generateName is required"))
	} else {
		for _, why := range q.kind.ValidateName(name) {
			errs = append(errs, field.Invalid(path.Child("name"), name, why))
		}
	}
	if ns := str(meta, "namespace"); ns != "" {
		for _, why := range apivalidation.ValidateNamespaceName(ns, false) {
			errs = append(errs, field.Invalid(path.Child("namespace"), ns, why))
		}
	}
	plain := true
	for _, f := range validated {
		plain = plain && meta[f] == nil
	}
	if plain {
		return errs, nil
	}
	m, err := typedMeta(meta)
	if err != nil {
		return nil, err
	}
	return append(errs, q.validateCommon(m, path)...), nil
}

func (q *request) validateCommon(m *metav1.ObjectMeta, path *field.Path) field.ErrorList {
	// The names and namespaces have been checked by the rules of the kind: these
	// stand-ins satisfy the rest of the function.
	c := *m
	c.Name, c.GenerateName, c.Namespace = "x", "", ""
	errs := apivalidation.ValidateObjectMetaAccessor(&c, false, func(string, bool) []string { return nil }, path)
	// Labels and annotations are looked at in the order of a map: the same object
	// should get the same answer each time.
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Error(), b.Error()))
	})
	for _, f := range m.Finalizers {
		if q.kind.Custom && !strings.Contains(f, "/") && f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			q.warn(`metadata.finalizers: "` + f + `": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`)
		}
	}
	return errs
}

// keepMeta gives an updated object what the server owns of its metadata.
func keepMeta(meta, old map[string]any) {
	for _, f := range systemFields {
		put(meta, f, old[f])
	}
	put(meta, "name", old["name"])
	put(meta, "namespace", old["namespace"])
	put(meta, "generateName", old["generateName"])
}

// specChanged tells whether anything outside metadata (and the status, if that is a
// subresource) differs.
func (q *request) specChanged(obj, old map[string]any) bool {
	same := func(a, b map[string]any) bool {
		for k, v := range a {
			if k == "metadata" || k == "apiVersion" || k == "kind" || k == "status" && q.kind.HasStatus {
				continue
			}
			if w, ok := b[k]; !ok || !reflect.DeepEqual(v, w) {
				return false
			}
		}
		return true
	}
	return !same(obj, old) || !same(old, obj)
}
