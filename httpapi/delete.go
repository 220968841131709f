package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

// deleteWorkers is how many objects a deletecollection has under way at once, so
// that they share commits.
const deleteWorkers = 32

// remove answers DELETE of one object.
func (q *request) remove() error {
	o, err := q.deleteOptions()
	if err != nil {
		return err
	}
	gone, data, err := q.removeObject(o)
	if err != nil {
		return err
	}
	if !gone || q.kind.ReturnsDeleted {
		code := http.StatusOK
		if !gone && o.OrphanDependents != nil && !*o.OrphanDependents {
			code = http.StatusAccepted
		}
		return q.writeObject(code, data)
	}
	return q.writeDeleted(data)
}

// writeDeleted is the answer to the deletion of an object that is gone.
func (q *request) writeDeleted(data []byte) error {
	st := statusJSON(&metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: q.name, Group: q.kind.Group, Kind: q.kind.Resource, UID: uidOf(data)}})
	return q.writeBody(http.StatusOK, st)
}

// removeObject deletes the object, or marks it as deleted where finalizers hold it
// back. A delete that names no version is tried again when another write came
// first. data is the object's last state.
func (q *request) removeObject(o *metav1.DeleteOptions) (gone bool, data []byte, err error) {
	for {
		data, err = q.onLive(func(live *projections.Object) ([]byte, error) {
			if live == nil {
				return nil, q.notFound()
			}
			if err := q.checkPreconditions(o.Preconditions, live); err != nil {
				return nil, err
			}
			var data []byte
			gone, data, err = q.removeOnce(live, o)
			return data, err
		})
		if !isConflict(err) {
			return gone, data, err
		}
		if cerr := q.r.Context().Err(); cerr != nil {
			return false, nil, errors.Join(cerr, errMoved)
		}
	}
}

// checkPreconditions is wire contract F.7 and its rows of D.2.
func (q *request) checkPreconditions(p *metav1.Preconditions, live *projections.Object) error {
	if p == nil {
		return nil
	}
	refuse := func(why string) error {
		return apierrors.NewConflict(schemaResource(q.kind.Group, q.kind.Kind), q.name, errors.New(why))
	}
	if p.UID != nil && string(*p.UID) != live.UID() {
		return refuse(fmt.Sprintf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, live.UID()))
	}
	if have := versionString(live.RV()); p.ResourceVersion != nil && *p.ResourceVersion != have {
		return refuse(fmt.Sprintf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, have))
	}
	return nil
}

func (q *request) removeOnce(live *projections.Object, o *metav1.DeleteOptions) (gone bool, data []byte, err error) {
	if err := q.protected(); err != nil {
		return false, nil, err
	}
	w := writeOptions{dryRun: len(o.DryRun) > 0}
	if q.heldBack(live) {
		data, err := q.markDeleted(live, w)
		return false, data, err
	}
	bare, at := splitVersion(live.JSON())
	m := mutation{op: eventlog.OpDelete, name: q.name, expect: live.RV(), data: bare, rvAt: at, uid: live.UID()}
	data, err = q.commit(m, w)
	return true, data, err
}

// protectedNamespaces cannot be deleted.
var protectedNamespaces = []string{"default", "kube-system", "kube-public"}

func (q *request) isNamespace() bool { return q.kind.Group == "" && q.kind.Resource == "namespaces" }

func (q *request) protected() error {
	if q.isNamespace() && slices.Contains(protectedNamespaces, q.name) {
		return apierrors.NewForbidden(q.groupResource(), q.name, errors.New("this namespace may not be deleted"))
	}
	return nil
}

// heldBack tells whether the object has to be emptied or finalized before it goes:
// namespaces and definitions hold other objects.
func (q *request) heldBack(live *projections.Object) bool {
	return live.Finalizers() > 0 || q.isNamespace() || q.isDefinition()
}

// definitionFinalizer holds a definition until its objects are gone
// (apiextensions-apiserver/pkg/apis/apiextensions/v1 CustomResourceCleanupFinalizer).
const definitionFinalizer = "customresourcecleanup.apiextensions.k8s.io"

// markDeleted sets the deletion mark. An object that has it stays as it is.
func (q *request) markDeleted(live *projections.Object, o writeOptions) ([]byte, error) {
	if live.Deleting() {
		return live.JSON(), nil
	}
	obj, err := q.decodeLive(live)
	if err != nil {
		return nil, err
	}
	meta := metaOf(obj)
	meta["deletionTimestamp"] = timestamp(q.s.now())
	meta["deletionGracePeriodSeconds"] = int64(0)
	if g, ok := meta["generation"].(int64); ok && g > 0 {
		meta["generation"] = g + 1
	}
	switch {
	case q.isNamespace():
		delete(meta, "deletionGracePeriodSeconds")
		st, _ := obj["status"].(map[string]any)
		if st == nil {
			st = map[string]any{}
			obj["status"] = st
		}
		st["phase"] = "Terminating"
	case q.isDefinition():
		f, _ := meta["finalizers"].([]any)
		if !slices.Contains(f, any(definitionFinalizer)) {
			meta["finalizers"] = append(slices.Clone(f), definitionFinalizer)
		}
		if err := kinds.TerminateDefinition(obj, q.s.now()); err != nil {
			return nil, err
		}
	}
	m, err := q.encode(eventlog.OpUpdate, obj, live.RV())
	if err != nil {
		return nil, err
	}
	return q.commit(m, o)
}

// removeCollection answers DELETE of a collection: each object is deleted on its
// own, those that are gone already are passed over, and the answer is the list as
// it was before.
func (q *request) removeCollection() error {
	lo, err := q.listOptions(false)
	if err != nil {
		return err
	}
	o, err := q.deleteOptions()
	if err != nil {
		return err
	}
	p, err := q.page(&lo)
	if err != nil {
		return err
	}
	var all []*projections.Object
	if _, err := p.walk(func(o *projections.Object) error { all = append(all, o); return nil }); err != nil {
		return err
	}
	if err := unhurried(http.NewResponseController(q.w)); err != nil {
		return err
	}
	if err := q.removeAll(all, o); err != nil {
		return err
	}
	return q.writeList(p, "", `{"apiVersion":"`+q.kind.APIVersion+`","items":[`, nil)
}

// removeAll deletes objects side by side and stops at the first error.
func (q *request) removeAll(all []*projections.Object, o *metav1.DeleteOptions) error {
	ctx, cancel := context.WithCancelCause(q.r.Context())
	defer cancel(nil)
	todo := make(chan *projections.Object)
	var wg sync.WaitGroup
	for range min(deleteWorkers, len(all)) {
		wg.Go(func() {
			for obj := range todo {
				one := *q
				one.r = q.r.WithContext(ctx)
				one.namespace, one.name = obj.Namespace(), obj.Name()
				if _, _, err := one.removeObject(o); err != nil && !apierrors.IsNotFound(err) {
					cancel(err)
				}
			}
		})
	}
feed:
	for _, obj := range all {
		select {
		case todo <- obj:
		case <-ctx.Done():
			break feed
		}
	}
	close(todo)
	wg.Wait()
	return context.Cause(ctx)
}
