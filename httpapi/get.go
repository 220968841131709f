package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kronicle/kronicle/projections"
)

// freshWait is how long a read waits for a resourceVersion that has not been reached
// (apiserver/pkg/storage/cacher/watch_cache.go blockTimeout).
const freshWait = 3 * time.Second

// get answers GET of one object: the newest for no resourceVersion, any for 0, not
// older than N for N (wire contract E.7).
func (q *request) get() error {
	var o metav1.GetOptions
	if q.query != nil {
		if isTrue(q.query, "export") {
			return badRequest("the export parameter, deprecated since v1.14, is no longer supported")
		}
		if err := decodeParams(q.query, &o); err != nil {
			return err
		}
	}
	if err := q.await(o.ResourceVersion); err != nil {
		return err
	}
	obj, ok := q.s.store.Get(q.gr(), q.namespace, q.name)
	if !ok {
		return q.notFound()
	}
	return q.writeStored(http.StatusOK, obj)
}

// await waits until a read asked for at a resourceVersion can be answered from the
// current state: "" is everything written before the read, "0" is anything.
func (q *request) await(version string) error {
	if version == "" {
		_, err := q.s.store.Fresh(q.r.Context())
		return err
	}
	n, err := parseVersion(version)
	if err != nil || n == 0 {
		return err
	}
	return q.s.waitFor(q.r.Context(), n)
}

// waitFor waits up to freshWait for sequence n.
func (s *Server) waitFor(ctx context.Context, n uint64) error {
	if s.store.Applied() >= n {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, freshWait)
	defer cancel()
	err := s.store.Wait(wait, n)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return tooLargeVersion(n, s.store.Applied())
	}
	return err
}

// live is the newest state of the object that a write is about.
func (q *request) live() (*projections.Object, error) {
	if _, err := q.s.store.Fresh(q.r.Context()); err != nil {
		return nil, err
	}
	o, ok := q.s.store.Get(q.gr(), q.namespace, q.name)
	if !ok {
		return nil, q.notFound()
	}
	return o, nil
}
