package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/snapshots"
)

// A LogLine is one record of the log as /kronicle/log gives it, one JSON document a
// line.
type LogLine struct {
	Seq          uint64          `json:"seq"`
	Time         time.Time       `json:"time"`
	Op           string          `json:"op"`
	Group        string          `json:"group,omitempty"`
	Resource     string          `json:"resource,omitempty"`
	Namespace    string          `json:"namespace,omitempty"`
	Name         string          `json:"name,omitempty"`
	UID          string          `json:"uid,omitempty"`
	Prev         uint64          `json:"prev,omitempty"`
	User         string          `json:"user,omitempty"`
	Groups       []string        `json:"groups,omitempty"`
	Impersonator string          `json:"impersonator,omitempty"`
	UserAgent    string          `json:"userAgent,omitempty"`
	Source       string          `json:"source,omitempty"`
	Verb         string          `json:"verb,omitempty"`
	Subresource  string          `json:"subresource,omitempty"`
	FieldManager string          `json:"fieldManager,omitempty"`
	RequestID    string          `json:"requestID,omitempty"`
	Epoch        string          `json:"epoch,omitempty"`
	Object       json.RawMessage `json:"object,omitempty"`
}

// NewLogLine is the line of an entry. The object's bytes are the entry's.
func NewLogLine(e *eventlog.Entry) LogLine {
	r, a := e.Record, &e.Record.Actor
	return LogLine{Seq: e.Seq, Time: time.Unix(0, r.Time).UTC(), Op: r.Op.String(),
		Group: e.Key.Group, Resource: e.Key.Resource, Namespace: e.Key.Namespace, Name: e.Key.Name,
		UID: r.UID, Prev: r.Prev, User: a.User, Groups: a.Groups, Impersonator: a.Impersonator, UserAgent: a.UserAgent,
		Source: a.Source, Verb: a.Verb, Subresource: a.Subresource, FieldManager: a.FieldManager, RequestID: a.RequestID,
		Epoch: r.Epoch, Object: r.Object}
}

// A LogFilter selects the records of one object: resource[.group]/namespace/name, or
// resource[.group]/name for cluster scope. The zero value selects all.
type LogFilter struct{ Resource, Namespace, Name string }

// ParseLogFilter reads a filter.
func ParseLogFilter(s string) (LogFilter, error) {
	if s == "" {
		return LogFilter{}, nil
	}
	p := strings.Split(s, "/")
	switch {
	case len(p) == 2 && p[0] != "" && p[1] != "":
		return LogFilter{Resource: p[0], Name: p[1]}, nil
	case len(p) == 3 && p[0] != "" && p[1] != "" && p[2] != "":
		return LogFilter{Resource: p[0], Namespace: p[1], Name: p[2]}, nil
	}
	return LogFilter{}, fmt.Errorf("object %q is not of the form resource[.group]/namespace/name or resource[.group]/name", s)
}

// Matches tells whether the filter selects a record of key.
func (f LogFilter) Matches(key eventlog.Key) bool {
	return f == LogFilter{} || f == LogFilter{Resource: resourceName(key.Group, key.Resource), Namespace: key.Namespace, Name: key.Name}
}

// serveLog answers GET /kronicle/log: the records from the sequence "from" on (the
// first retained by default), those of one object with "object", and with
// "follow=true" those that come, until the client goes.
func (s *Server) serveLog(c echo.Context) error {
	from := s.log.First()
	if v := c.QueryParam("from"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return badRequest("from: %q is not a sequence", v)
		}
		from = max(n, 1)
	}
	filter, err := ParseLogFilter(c.QueryParam("object"))
	if err != nil {
		return badRequest("%v", err)
	}
	if from < s.log.First() {
		return apierrors.NewResourceExpired(fmt.Sprintf("the log begins at %d", s.log.First()))
	}
	w := c.Response()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	w.Flush()
	enc, rc := json.NewEncoder(w), http.NewResponseController(w.Writer)
	send := func(entries []eventlog.Entry) error {
		if err := rc.SetWriteDeadline(time.Now().Add(stall)); err != nil {
			return err
		}
		for i := range entries {
			if entries[i].Record.Op == eventlog.OpBarrier || !filter.Matches(entries[i].Key) {
				continue
			}
			if err := enc.Encode(NewLogLine(&entries[i])); err != nil {
				return err
			}
		}
		return errors.Join(rc.Flush(), unhurried(rc))
	}
	if err := unhurried(rc); err != nil {
		return nil // the connection has gone
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(s.watches, cancel)()
	if follow, _ := strconv.ParseBool(c.QueryParam("follow")); follow {
		err = s.log.Follow(ctx, from, send)
	} else if last := s.log.Last(); from <= last {
		err = s.log.Range(ctx, from, last, send)
	}
	if err != nil && ctx.Err() == nil {
		s.slog.Error("reading the log for a client", "from", from, "error", err)
		return enc.Encode(map[string]string{"error": err.Error()})
	}
	return nil
}

// A VerifyLine is a line of the answer of /kronicle/verify: progress, and at the end
// the report or an error.
type VerifyLine struct {
	Seq    uint64            `json:"seq,omitempty"`
	Last   uint64            `json:"last,omitempty"`
	Report *snapshots.Report `json:"report,omitempty"`
	Error  string            `json:"error,omitempty"`
}

// serveVerify answers GET /kronicle/verify.
func (s *Server) serveVerify(c echo.Context) error {
	if s.cfg.Verify == nil {
		return status(http.StatusNotImplemented, "NotImplemented", "this server has no verifier")
	}
	w := c.Response()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	enc, rc := json.NewEncoder(w), http.NewResponseController(w.Writer)
	var gone error
	tell := func(l VerifyLine) {
		gone = errors.Join(gone, rc.SetWriteDeadline(time.Now().Add(stall)), enc.Encode(l), rc.Flush(), unhurried(rc))
	}
	gone = unhurried(rc)
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	report, err := s.cfg.Verify(ctx, func(seq, last uint64) {
		if tell(VerifyLine{Seq: seq, Last: last}); gone != nil {
			cancel()
		}
	})
	if err != nil {
		tell(VerifyLine{Error: err.Error()})
		return nil
	}
	tell(VerifyLine{Report: &report})
	return nil
}

// unhurried takes the time limit off an answer until something is written: between
// two pieces of it the server has work to do.
func unhurried(rc *http.ResponseController) error { return rc.SetWriteDeadline(time.Time{}) }

// takeSnapshot answers POST /kronicle/snapshot.
func (s *Server) takeSnapshot(c echo.Context) error {
	if s.cfg.History == nil {
		return status(http.StatusNotImplemented, "NotImplemented", "this server takes no snapshots")
	}
	if err := unhurried(http.NewResponseController(c.Response().Writer)); err != nil {
		return err
	}
	info, err := s.cfg.History.TakeNow(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, info)
}

// initialNamespaces exist from the start.
var initialNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// Bootstrap creates what a store must have: the initial namespaces. Several servers
// may do so at once.
func (s *Server) Bootstrap(ctx context.Context) error {
	kind, ok := s.kinds.Current().Lookup("", "v1", "namespaces")
	if !ok {
		return errors.New("bootstrap: namespaces are not served")
	}
	for _, name := range initialNamespaces {
		if _, ok := s.store.Get(namespaces, "", name); ok {
			continue
		}
		q := s.internal(ctx, kind, "create")
		obj := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
		if _, err := q.createObject(obj, writeOptions{untracked: true}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("bootstrap: namespace %s: %w", name, err)
		}
	}
	return nil
}

// internal is a request that the server makes of itself.
func (s *Server) internal(ctx context.Context, kind *kinds.Kind, verb string) *request {
	r := (&http.Request{Header: http.Header{"User-Agent": {"kronicle"}, "Audit-Id": {newUUID()}}}).WithContext(ctx)
	return &request{s: s, w: discard{http.Header{}}, r: r, user: "system:apiserver", groups: []string{"system:masters"}, kind: kind, verb: verb}
}

// discard takes the headers of an answer that nobody reads.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
