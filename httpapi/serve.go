package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// mutationTime is the most a writing request takes (apiserver/pkg/endpoints/
// handlers/rest.go requestTimeoutUpperBound).
const mutationTime = 34 * time.Second

// A limiter bounds the requests in flight.
type limiter struct {
	limit int64
	n     atomic.Int64
}

func (l *limiter) enter() bool {
	if l.n.Add(1) > l.limit {
		l.n.Add(-1)
		return false
	}
	return true
}

func (l *limiter) leave() { l.n.Add(-1) }

// serve answers a request of a resource.
func (q *request) serve() {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			q.s.slog.Error("request failed unexpectedly", "method", q.r.Method, "path", q.r.URL.Path,
				"requestID", q.r.Header.Get("Audit-Id"), "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			q.fail(apierrors.NewInternalError(fmt.Errorf("%v", p)))
		}
		q.s.metrics.observe(q, time.Since(start))
	}()
	q.verb = q.verbOf()
	if err := q.dispatch(); err != nil {
		q.fail(err)
	}
}

func (q *request) dispatch() error {
	var err error
	if q.out, err = negotiate(q.r); err != nil {
		return err
	}
	if q.verb == "" || !q.reachable() {
		return q.wrongMethod()
	}
	if q.kind.Deprecated {
		q.warn(q.kind.DeprecationWarning)
	}
	if q.verb == "watch" {
		return q.watchCollection()
	}
	limit := &q.s.writes
	if q.verb == "get" || q.verb == "list" {
		limit = &q.s.reads
	} else {
		ctx, cancel := context.WithTimeout(q.r.Context(), q.timeLimit())
		defer cancel()
		q.r = q.r.WithContext(ctx)
	}
	if !limit.enter() {
		q.tooMany()
		return nil
	}
	defer limit.leave()
	if q.subresource == "scale" {
		return scaleVerbs[q.verb](q)
	}
	return verbs[q.verb](q)
}

var scaleVerbs = map[string]func(*request) error{
	"get": (*request).getScale, "update": (*request).updateScale, "patch": (*request).patchScale,
}

var verbs = map[string]func(*request) error{
	"get": (*request).get, "list": (*request).list, "create": (*request).create, "update": (*request).update,
	"patch": (*request).patch, "delete": (*request).remove, "deletecollection": (*request).removeCollection,
}

// reachable tells whether the path has the verb at all.
func (q *request) reachable() bool {
	if q.subresource != "" {
		sub, ok := q.kind.Subresource(q.subresource)
		if !ok {
			return false
		}
		for _, v := range sub.Verbs {
			if v == q.verb {
				return true
			}
		}
		return false
	}
	collection := q.name == ""
	switch q.verb {
	case "create":
		// A name in the path of a create belongs to no resource; and an object
		// of a namespaced kind is created in a namespace.
		if !collection || q.kind.Namespaced && q.namespace == "" {
			return false
		}
	case "deletecollection":
		if q.kind.Namespaced && q.namespace == "" {
			return false
		}
	case "update", "patch":
		if collection {
			return false
		}
	}
	return q.kind.Allows(q.verb)
}

// timeLimit is how long a writing request may take: its timeout parameter, at most
// mutationTime. A deletecollection has no limit of its own.
func (q *request) timeLimit() time.Duration {
	limit := mutationTime
	if q.verb == "deletecollection" {
		limit = 24 * time.Hour
	}
	if t, err := time.ParseDuration(q.query.Get("timeout")); err == nil && t > 0 {
		return min(t, limit)
	}
	return limit
}

// tooMany refuses a request for the number of those in flight, in the plain form
// that clients know (apiserver/pkg/server/filters/maxinflight.go).
func (q *request) tooMany() {
	q.code = http.StatusTooManyRequests
	q.w.Header().Set("Retry-After", "1")
	http.Error(q.w, errBusy.Error(), http.StatusTooManyRequests)
}

// fail answers with the Status of err.
func (q *request) fail(err error) {
	st := statusOf(q, err)
	if q.code != 0 { // the answer has begun: what can be told has been told
		if !errors.Is(err, context.Canceled) {
			q.s.slog.Warn("answer cut short", "path", q.r.URL.Path, "error", err)
		}
		return
	}
	if st.Code >= 500 && st.Code != http.StatusGatewayTimeout {
		q.s.slog.Error("request failed", "method", q.r.Method, "path", q.r.URL.Path,
			"requestID", q.r.Header.Get("Audit-Id"), "error", err)
	}
	q.code = int(st.Code)
	q.s.writeStatus(q.w, q.r, st)
}
