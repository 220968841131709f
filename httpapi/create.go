package httpapi

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// maxNameAttempts is how many generated names are tried (apiserver/pkg/registry/
// generic/registry/store.go maxNameGenerationCreateAttempts).
const maxNameAttempts = 8

// create answers POST to a collection.
func (q *request) create() error {
	o, err := q.createOptions()
	if err != nil {
		return err
	}
	body, err := q.readBody()
	if err != nil {
		return err
	}
	obj, err := q.decodeObject(body, o.fieldValidation)
	if err != nil {
		return err
	}
	data, err := q.createObject(obj, o)
	if err != nil {
		return err
	}
	return q.writeObject(http.StatusCreated, data)
}

// createObject writes a new object and gives it as it is served.
func (q *request) createObject(obj map[string]any, o writeOptions) ([]byte, error) {
	meta := metaOf(obj)
	if err := q.prepareMetaForCreate(meta); err != nil {
		return nil, err
	}
	given := meta["managedFields"]
	generated := str(meta, "name") == "" && str(meta, "generateName") != ""
	for attempt := 1; ; attempt++ {
		if generated {
			meta["name"] = generateName(str(meta, "generateName"))
		}
		put(meta, "managedFields", given)
		data, err := q.createOnce(obj, o)
		if !generated || !apierrors.IsAlreadyExists(err) {
			return data, err
		}
		if attempt == maxNameAttempts {
			return nil, apierrors.NewGenerateNameConflict(q.groupResource(), str(meta, "name"), 1)
		}
	}
}

func (q *request) createOnce(obj map[string]any, o writeOptions) ([]byte, error) {
	meta := metaOf(obj)
	if err := q.admitCreate(str(meta, "name")); err != nil {
		return nil, err
	}
	if q.kind.HasStatus && q.kind.Custom {
		delete(obj, "status") // it is written through its own endpoint
	}
	q.kind.PrepareCreate(obj)
	errs, err := q.validateMeta(meta, nil)
	if err != nil {
		return nil, err
	}
	errs = append(errs, q.kind.Validate(obj, nil)...)
	if q.isDefinition() {
		q.s.definitions.Lock()
		defer q.s.definitions.Unlock()
		errs = append(errs, q.s.kinds.PrepareDefinition(obj, nil, q.s.now())...)
	}
	if len(errs) > 0 {
		return nil, q.invalid(str(meta, "name"), errs)
	}
	q.track(nil, obj, o)
	m, err := q.encode(eventlog.OpCreate, obj, 0)
	if err != nil {
		return nil, err
	}
	if live, ok := q.s.store.Get(q.gr(), q.namespace, m.name); ok {
		return nil, q.alreadyExists(live)
	}
	data, err := q.commit(m, o)
	if isConflict(err) {
		live, _ := q.s.store.Get(q.gr(), q.namespace, m.name)
		q.name = m.name
		return nil, q.alreadyExists(live)
	}
	return data, err
}

// alreadyExists is the answer where a name is taken; live may be nil.
func (q *request) alreadyExists(live *projections.Object) error {
	name := q.name
	if live != nil {
		name = live.Name()
	}
	err := apierrors.NewAlreadyExists(q.groupResource(), name)
	if live != nil && live.Deleting() {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

func (q *request) isDefinition() bool {
	return q.kind.Group == "apiextensions.k8s.io" && q.kind.Resource == "customresourcedefinitions"
}

var namespaces = projections.GroupResource{Resource: "namespaces"}

// admitCreate refuses objects in a namespace that is missing or on its way out, and
// objects whose definition is.
func (q *request) admitCreate(name string) error {
	if q.kind.Terminating {
		return apierrors.NewForbidden(q.groupResource(), name, errors.New("create not allowed while custom resource definition is terminating"))
	}
	if !q.kind.Namespaced {
		return nil
	}
	ns, ok := q.s.store.Get(namespaces, "", q.namespace)
	if !ok && q.s.cfg.SharedLog { // another server may have made it just now
		if _, err := q.s.store.Fresh(q.r.Context()); err != nil {
			return err
		}
		ns, ok = q.s.store.Get(namespaces, "", q.namespace)
	}
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, q.namespace)
	}
	if !ns.Deleting() {
		return nil
	}
	err := apierrors.NewForbidden(q.groupResource(), name,
		errors.New("unable to create new content in namespace "+q.namespace+" because it is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: "NamespaceTerminating", Message: "namespace " + q.namespace + " is being terminated", Field: "metadata.namespace"})
	return err
}
