package httpapi

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/munnerz/goautoneg"

	"github.com/kronicle/kronicle/kinds"
)

// openAPIIndex answers /openapi/v3: where the documents are.
func (s *Server) openAPIIndex(c echo.Context) error {
	doc, ok := s.kinds.Current().OpenAPIIndex()
	return writeDocument(c, doc, ok, "application/json")
}

// openAPI answers /openapi/v3/api/VERSION and /openapi/v3/apis/GROUP/VERSION. A
// URL with the right hash names content that never changes, which clients may keep;
// a wrong one is redirected to the right one (kube-openapi/pkg/handler3/handler.go).
func (s *Server) openAPI(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	group, version, ok := openAPIRoute(r.URL.Path)
	if !ok {
		return notFound(c)
	}
	catalog := s.kinds.Current()
	doc, ok := catalog.OpenAPIGroupVersion(group, version)
	if !ok {
		return notFound(c)
	}
	h.Set("Vary", "Accept")
	contentType := openAPIType(r)
	if contentType == "" {
		return c.NoContent(http.StatusNotAcceptable)
	}
	if hash := r.URL.Query().Get("hash"); hash != "" {
		if hash != doc.Hash() {
			return c.Redirect(http.StatusMovedPermanently, kinds.OpenAPIURL(group, version, doc))
		}
		h.Set("Cache-Control", "public, immutable")
		h.Set("Expires", s.now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	if contentType == openAPIProtobuf {
		data, err := catalog.OpenAPIProtobuf(group, version)
		if err != nil {
			return err
		}
		return writeTagged(c, data, doc.ETag, contentType)
	}
	return writeDocument(c, doc, true, contentType)
}

// openAPIRoute reads the group and version of a document from its path.
func openAPIRoute(path string) (group, version string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/openapi/v3/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "api":
		return "", parts[1], true
	case len(parts) == 3 && parts[0] == "apis" && parts[1] != "":
		return parts[1], parts[2], true
	}
	return "", "", false
}

// openAPIProtobuf is the type of documents in protobuf; some clients ask for it by
// an older name.
const openAPIProtobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"

// openAPIType is the type of document that the client likes best, or "".
func openAPIType(r *http.Request) string {
	accept := r.Header.Get("Accept")
	if accept == "" {
		return "application/json"
	}
	for _, c := range goautoneg.ParseAccept(accept) {
		switch c.Type + "/" + c.SubType {
		case "*/*", "application/*", "application/json":
			return "application/json"
		case openAPIProtobuf, "application/com.github.proto-openapi.spec.v3@v1.0+protobuf":
			return openAPIProtobuf
		}
	}
	return ""
}
