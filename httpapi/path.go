package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

// A route is what a path of the API names.
type route struct {
	group, version string
	namespace      string // "" for cluster scope and for all namespaces
	resource       string // "" for the group and version themselves
	name           string
	subresource    string
	watch          bool // one of the deprecated /watch/ paths
	extra          bool // segments that belong to nothing
}

// parseRoute reads a path below /api or /apis the way the Kubernetes request info
// does (apiserver/pkg/endpoints/request/requestinfo.go). Segments are split before
// they are unescaped, so an escaped slash is a part of a name (and then refused as
// one) and never a separator.
func parseRoute(u *url.URL) (r route, ok bool) {
	path := u.EscapedPath()
	var seg [10]string
	n := 0
	for rest := strings.TrimPrefix(path, "/"); ; {
		head, tail, more := strings.Cut(rest, "/")
		if head == "" && !more {
			break // one trailing slash is ignored
		}
		if head == "" || n == len(seg) {
			return r, false
		}
		if strings.IndexByte(head, '%') >= 0 {
			var err error
			if head, err = url.PathUnescape(head); err != nil {
				return r, false
			}
		}
		seg[n] = head
		n++
		if !more {
			break
		}
		rest = tail
	}
	parts := seg[:n]
	switch {
	case n >= 2 && parts[0] == "api":
		r.version, parts = parts[1], parts[2:]
	case n >= 2 && parts[0] == "apis":
		r.group = parts[1]
		if n > 2 {
			r.version, parts = parts[2], parts[3:]
		} else {
			parts = nil
		}
	default:
		return r, false
	}
	if len(parts) > 1 && parts[0] == "watch" {
		r.watch, parts = true, parts[1:]
	}
	// namespaces/NS/RESOURCE... is in a namespace; namespaces[/NAME[/SUB]] is the
	// resource itself. Its subresources are told apart by their names.
	if len(parts) > 2 && parts[0] == "namespaces" && !namespaceSubresource(parts[2]) {
		r.namespace, parts = parts[1], parts[2:]
	}
	fields := []*string{&r.resource, &r.name, &r.subresource}
	for i, p := range parts {
		if i == len(fields) {
			r.extra = true
			break
		}
		*fields[i] = p
	}
	return r, true
}

func namespaceSubresource(s string) bool { return s == "status" || s == "finalize" }

// A request is one request of a resource on its way to its answer.
type request struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	user   string
	groups []string
	kind   *kinds.Kind
	route
	verb   string
	query  url.Values // nil when the URL has none
	out    representation
	dryRun bool
	code   int  // of the answer
	wrote  bool // a record of this request is in the log
}

// gr is where the objects of the kind are in the log.
func (q *request) gr() projections.GroupResource {
	return projections.GroupResource{Group: q.kind.StorageGroup, Resource: q.kind.Resource}
}

// resource serves everything under /api/ and /apis/.
func (s *Server) resource(c echo.Context) error {
	w, r := c.Response().Writer, c.Request()
	setCommonHeaders(w.Header(), r)
	user, ok := s.cfg.Auth.Authenticate(r)
	if !ok {
		s.writeError(w, r, errUnauthorized)
		return nil
	}
	rt, ok := parseRoute(r.URL)
	if !ok || rt.extra {
		return notFound(c)
	}
	if rt.resource == "" {
		return s.discoverGroup(c, rt)
	}
	kind, ok := s.kinds.Current().Lookup(rt.group, rt.version, rt.resource)
	if !ok || kind.Namespaced && rt.namespace == "" && rt.name != "" || !kind.Namespaced && rt.namespace != "" {
		return notFound(c)
	}
	if _, ok := kind.Subresource(rt.subresource); !ok && rt.subresource != "" {
		return notFound(c)
	}
	q := &request{s: s, w: w, r: r, user: user.Name, groups: user.Groups, kind: kind, route: rt}
	if r.URL.RawQuery != "" {
		q.query = r.URL.Query()
	}
	q.serve()
	return nil
}

// verbOf names what a request does in the words of Kubernetes; "" is a method that
// no resource has.
func (q *request) verbOf() string {
	switch q.r.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case q.watch || isTrue(q.query, "watch"):
			return "watch"
		case q.name == "":
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if q.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}

// isTrue reads a boolean parameter as the API machinery does: present without a
// value is true (apimachinery/pkg/runtime/converter.go Convert_Slice_string_To_bool).
func isTrue(v url.Values, name string) bool {
	vs, ok := v[name]
	if !ok || len(vs) == 0 {
		return false
	}
	return vs[0] != "false" && vs[0] != "0"
}
