package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// modified is the text of a Conflict; controllers print it, some match on it
// (apiserver/pkg/registry/generic/registry/store.go OptimisticLockErrorMsg).
const modified = "the object has been modified; please apply your changes to the latest version and try again"

var (
	errUnauthorized = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnauthorized, Reason: metav1.StatusReasonUnauthorized, Message: "Unauthorized"}}
	errBusy = errors.New("Too many requests, please try again later.")
)

// An outcome relates what a part of the server reports to what a client is told.
type outcome struct {
	is     error
	status func(q *request, err error) *apierrors.StatusError
}

// outcomes is the one table from errors of the log and the projections to Status
// (wire contract D.2). The first row that matches counts.
var outcomes = []outcome{
	{context.DeadlineExceeded, func(*request, error) *apierrors.StatusError {
		return timeout("request did not complete within requested timeout - context deadline exceeded")
	}},
	{context.Canceled, func(*request, error) *apierrors.StatusError {
		return timeout("request did not complete within requested timeout - context canceled")
	}},
	{eventlog.ErrUnknown, func(_ *request, err error) *apierrors.StatusError {
		return timeout("the outcome of the write is not known, it may still happen: " + err.Error())
	}},
	{eventlog.ErrTooLarge, func(_ *request, err error) *apierrors.StatusError {
		return tooLarge(err.Error())
	}},
	{eventlog.ErrFull, func(_ *request, err error) *apierrors.StatusError {
		return status(http.StatusInsufficientStorage, "InsufficientStorage", "the store is full, nothing was written: "+err.Error())
	}},
	{eventlog.ErrOverloaded, func(_ *request, err error) *apierrors.StatusError {
		return apierrors.NewTooManyRequests(err.Error(), 1)
	}},
	{eventlog.ErrUnavailable, func(q *request, _ error) *apierrors.StatusError {
		return apierrors.NewServerTimeout(q.groupResource(), q.verb, 2)
	}},
	{eventlog.ErrClosed, func(*request, error) *apierrors.StatusError {
		return apierrors.NewServiceUnavailable("the server is shutting down")
	}},
}

// statusOf turns any error into the Status that a client is told; q may be nil.
func statusOf(q *request, err error) *metav1.Status {
	var se *apierrors.StatusError
	if errors.As(err, &se) {
		return &se.ErrStatus
	}
	var (
		expired *projections.ExpiredError
		future  *projections.FutureError
		large   *http.MaxBytesError
	)
	switch {
	case errors.As(err, &expired):
		return &apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.").ErrStatus
	case errors.As(err, &future):
		return &tooLargeVersion(future.Seq, future.Current).ErrStatus
	case errors.As(err, &large):
		return &tooLarge("limit is " + strconv.FormatInt(large.Limit, 10)).ErrStatus
	}
	if q == nil {
		q = &request{}
	}
	for _, o := range outcomes {
		if errors.Is(err, o.is) {
			return &o.status(q, err).ErrStatus
		}
	}
	return &apierrors.NewInternalError(err).ErrStatus
}

func status(code int, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}}
}

func timeout(message string) *apierrors.StatusError { return apierrors.NewTimeoutError(message, 0) }

func tooLarge(why string) *apierrors.StatusError {
	return apierrors.NewRequestEntityTooLargeError(why)
}

// tooLargeVersion is the answer to a resourceVersion that has not been written yet.
// Reflectors look for its cause (apiserver/pkg/storage/errors.go
// NewTooLargeResourceVersionError).
func tooLargeVersion(asked, current uint64) *apierrors.StatusError {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

func invalidOptions(kind string, errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

func (q *request) groupResource() schema.GroupResource {
	if q.kind == nil {
		return schema.GroupResource{}
	}
	return schema.GroupResource{Group: q.kind.Group, Resource: q.kind.Resource}
}

func (q *request) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: q.kind.Group, Kind: q.kind.Kind}
}

func (q *request) notFound() error { return apierrors.NewNotFound(q.groupResource(), q.name) }

func (q *request) conflict(why string) error {
	return apierrors.NewConflict(q.groupResource(), q.name, errors.New(why))
}

func (q *request) invalid(name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(q.groupKind(), name, errs)
}

// notSupported answers a verb that the resource does not have.
func (q *request) notSupported() error {
	return apierrors.NewMethodNotSupported(q.groupResource(), q.verb)
}

// statusJSON is the wire form of a Status: kind and apiVersion are always there.
func statusJSON(st *metav1.Status) []byte {
	out := *st
	out.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if out.Status == "" {
		out.Status = metav1.StatusFailure
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&out); err != nil { // a Status has nothing that cannot be encoded
		return []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":500}`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// writeError answers with the Status of err.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	s.writeStatus(w, r, statusOf(nil, err))
}

func (s *Server) writeStatus(w http.ResponseWriter, r *http.Request, st *metav1.Status) {
	code := int(st.Code)
	if code == 0 {
		code = http.StatusInternalServerError
		if st.Status == metav1.StatusSuccess {
			code = http.StatusOK
		}
	}
	h := w.Header()
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		h.Set("Retry-After", strconv.Itoa(int(st.Details.RetryAfterSeconds)))
	}
	if code == http.StatusForbidden || code == http.StatusUnauthorized {
		h.Set("X-Content-Type-Options", "nosniff")
	}
	body, contentType := statusJSON(st), "application/json"
	if strings.Contains(r.Header.Get("Accept"), "yaml") {
		if y, err := yaml.JSONToYAML(body); err == nil {
			body, contentType = y, "application/yaml"
		}
	} else if code == http.StatusNotAcceptable || prettyAsked(r) {
		body = indent(body)
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that has gone cannot be told
}
