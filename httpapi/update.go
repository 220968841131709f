package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

// update answers PUT of an object or of its status.
func (q *request) update() error {
	o, err := q.updateOptions()
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
	if err := q.matchName(obj); err != nil {
		return err
	}
	code := http.StatusOK
	data, err := q.onLive(func(live *projections.Object) ([]byte, error) {
		next := obj
		if q.s.cfg.SharedLog { // then onLive may come again
			next = runtime.DeepCopyJSON(obj)
		}
		switch {
		case live != nil:
			code = http.StatusOK
			return q.replace(next, live, o)
		case q.kind.CreateOnUpdate && q.subresource == "" && str(metaOf(obj), "resourceVersion") == "":
			code = http.StatusCreated
			return q.createObject(next, o)
		}
		return nil, q.notFound()
	})
	if isConflict(err) {
		err = q.conflict(modified)
	}
	if err != nil {
		return err
	}
	return q.writeObject(code, data)
}

// matchName holds the name and the namespace of a body against the path.
func (q *request) matchName(obj map[string]any) error {
	meta := metaOf(obj)
	switch name := str(meta, "name"); {
	case name == "":
		return badRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", q.name)
	case name != q.name:
		return badRequest("the name of the object (%s) does not match the name on the URL (%s)", name, q.name)
	}
	if ns := str(meta, "namespace"); ns != "" && ns != q.namespace {
		return badRequest("the namespace of the object (%s) does not match the namespace on the request (%s)", ns, q.namespace)
	}
	return nil
}

// replace makes obj the next state of live. The preconditions of a PUT are in its
// body: the resourceVersion and the uid.
func (q *request) replace(obj map[string]any, live *projections.Object, o writeOptions) ([]byte, error) {
	meta := metaOf(obj)
	if uid := str(meta, "uid"); uid != "" && uid != live.UID() {
		return nil, q.conflict(fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
			q.storageKey(), uid, live.UID()))
	}
	if err := q.checkVersion(meta, live); err != nil {
		return nil, err
	}
	return q.mutate(obj, live, o)
}

// storageKey names the object in texts the way Kubernetes names its place.
func (q *request) storageKey() string {
	key := "/registry/"
	if q.kind.Group != "" {
		key += q.kind.Group + "/"
	}
	key += q.kind.Resource + "/"
	if q.namespace != "" {
		key += q.namespace + "/"
	}
	return key + q.name
}

// checkVersion is the resourceVersion's part of wire contract F.4.
func (q *request) checkVersion(meta map[string]any, live *projections.Object) error {
	version := str(meta, "resourceVersion")
	if version == "" || version == "0" {
		if q.kind.UnconditionalUpdate {
			return nil
		}
		// Kubernetes names the resource here, not the kind (registry/store.go).
		return apierrors.NewInvalid(schemaKind(q.kind.Group, q.kind.Resource), q.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	n, err := parseVersion(version)
	if err != nil {
		return err
	}
	if n != live.RV() {
		return q.conflict(modified)
	}
	return nil
}

// mutate is the part that PUT and PATCH share: obj becomes the next state of live,
// with what the server owns kept, validated, encoded and appended.
func (q *request) mutate(obj map[string]any, live *projections.Object, o writeOptions) ([]byte, error) {
	if q.isDefinition() {
		q.s.definitions.Lock()
		defer q.s.definitions.Unlock()
	}
	old, err := q.decodeLive(live)
	if err != nil {
		return nil, err
	}
	old["apiVersion"] = obj["apiVersion"] // only the version asked for may differ
	if q.subresource == "status" {
		obj = statusOnto(obj, old)
	} else if q.kind.HasStatus {
		put(obj, "status", old["status"])
	}
	meta, oldMeta := metaOf(obj), metaOf(old)
	if err := q.refuseDeletionMark(meta, oldMeta); err != nil {
		return nil, err
	}
	keepMeta(meta, oldMeta)
	q.dropDuplicateOwners(meta)
	switch q.subresource {
	case "":
		q.kind.PrepareUpdate(obj, old)
	case "status":
		q.kind.PrepareStatusUpdate(obj, old)
	}
	if err := q.validateUpdate(obj, old); err != nil {
		return nil, err
	}
	if g, ok := oldMeta["generation"].(int64); ok && q.kind.Generation && q.subresource != "status" && q.specChanged(obj, old) {
		meta["generation"] = g + 1
	}
	q.track(old, obj, o)
	return q.commitUpdate(obj, live, o)
}

// decodeLive decodes a stored object. What is stored has been encoded by this
// server: an error is damage and says where.
func (q *request) decodeLive(live *projections.Object) (map[string]any, error) {
	old, _, err := kinds.DecodeJSON(live.JSON())
	if err != nil {
		return nil, fmt.Errorf("stored object %s/%s at %d: %w", live.Namespace(), live.Name(), live.RV(), err)
	}
	q.kind.FromStorage(old)
	return old, nil
}

// statusOnto is the live object with the status of the body (wire contract F.5).
func statusOnto(obj, old map[string]any) map[string]any {
	out := make(map[string]any, len(old))
	for k, v := range old {
		out[k] = v
	}
	meta := make(map[string]any, len(metaOf(old)))
	for k, v := range metaOf(old) {
		meta[k] = v
	}
	put(meta, "managedFields", metaOf(obj)["managedFields"])
	out["metadata"] = meta
	put(out, "status", obj["status"])
	return out
}

// refuseDeletionMark refuses an update that would mark a live object as deleted:
// only a delete does that.
func (q *request) refuseDeletionMark(meta, old map[string]any) error {
	if t := meta["deletionTimestamp"]; t != nil && old["deletionTimestamp"] == nil {
		return q.invalid(q.name, field.ErrorList{field.Invalid(field.NewPath("metadata", "deletionTimestamp"), t, "field is immutable")})
	}
	return nil
}

func (q *request) validateUpdate(obj, old map[string]any) error {
	errs, err := q.validateMeta(metaOf(obj), metaOf(old))
	if err != nil {
		return err
	}
	if q.subresource == "status" {
		errs = append(errs, q.kind.ValidateStatus(obj, old)...)
	} else {
		errs = append(errs, q.kind.Validate(obj, old)...)
	}
	switch {
	case q.isDefinition() && q.subresource == "":
		errs = append(errs, q.s.kinds.PrepareDefinition(obj, old, q.s.now())...)
	case q.isDefinition():
		errs = append(errs, q.s.kinds.ValidateDefinitionStatus(obj, old)...)
	}
	if len(errs) > 0 {
		return q.invalid(q.name, errs)
	}
	return nil
}

// commitUpdate writes the new state. One that equals the stored state is not
// written (apiserver/pkg/storage/etcd3/store.go GuaranteedUpdate), and one that
// takes the last finalizer off a deleted object is its deletion.
func (q *request) commitUpdate(obj map[string]any, live *projections.Object, o writeOptions) ([]byte, error) {
	m, err := q.encode(eventlog.OpUpdate, obj, live.RV())
	if err != nil {
		return nil, err
	}
	if m.unchanged(live) {
		return live.JSON(), nil
	}
	if live.Deleting() && q.finished(obj) {
		m.op = eventlog.OpDelete
		if _, err := q.commit(m, o); err != nil {
			return nil, err
		}
		rec := eventlog.Record{Object: m.data, RVAt: m.rvAt}
		return rec.Served(live.RV(), "", ""), nil // the submitted object; the update itself is never stored
	}
	return q.commit(m, o)
}

// finished tells whether nothing holds a deleted object back any more.
func (q *request) finished(obj map[string]any) bool {
	if f, _ := metaOf(obj)["finalizers"].([]any); len(f) > 0 {
		return false
	}
	if q.kind.Group == "" && q.kind.Resource == "namespaces" {
		spec, _ := obj["spec"].(map[string]any)
		f, _ := spec["finalizers"].([]any)
		return len(f) == 0
	}
	return true
}

// errMoved ends the attempts of a patch: the object changed every time.
var errMoved = errors.New("the object was changed by others at every attempt")

func versionString(n uint64) string { return strconv.FormatUint(n, 10) }
