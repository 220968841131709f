package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// live is the state of the object that a write is about: fresh, or as the projections
// have it.
func (q *request) live(fresh bool) (*projections.Object, error) {
	if fresh {
		if _, err := q.s.store.Fresh(q.r.Context()); err != nil {
			return nil, err
		}
	}
	o, ok := q.s.store.Get(q.gr(), q.namespace, q.name)
	if !ok {
		return nil, q.notFound()
	}
	return o, nil
}

// onLive runs a write on the state of its object. Where other servers append to the
// log, it runs first on what the projections have: its precondition makes a write on
// an old state fail, so a success is one. Any other outcome (a refusal, a conflict, a
// change of nothing) may come from the state being old, and is found once more on the
// newest. do is given nil where there is no object, and must not change what it holds
// on to.
func (q *request) onLive(do func(live *projections.Object) ([]byte, error)) ([]byte, error) {
	for fresh := !q.s.cfg.SharedLog; ; fresh = true {
		live, err := q.live(fresh)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		q.wrote = false
		data, err := do(live)
		if fresh || err == nil && q.wrote {
			return data, err
		}
	}
}
