package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/munnerz/goautoneg"

	"github.com/kronicle/kronicle/kinds"
)

// aggregatedType is what clients look for in the Content-Type of an aggregated
// answer: its parameters alone decide how they read it (client-go/discovery/
// discovery_client.go).
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// wantsAggregated tells whether the first usable clause of Accept asks for the
// aggregated form.
func wantsAggregated(r *http.Request) bool {
	for _, c := range goautoneg.ParseAccept(r.Header.Get("Accept")) {
		if c.Type != "application" && c.Type != "*" || c.SubType != "json" && c.SubType != "*" {
			continue
		}
		p := c.Params
		switch {
		case p["as"] == "":
			return false
		case p["as"] == "APIGroupDiscoveryList" && p["g"] == "apidiscovery.k8s.io" && p["v"] == "v2":
			return true
		}
	}
	return false
}

// discovery answers /api and /apis.
func (s *Server) discovery(c echo.Context) error {
	core := strings.HasPrefix(c.Request().URL.Path, "/api") && !strings.HasPrefix(c.Request().URL.Path, "/apis")
	catalog := s.kinds.Current()
	if !wantsAggregated(c.Request()) {
		doc, ok := catalog.LegacyGroups()
		if core {
			doc, ok = catalog.LegacyCore()
		}
		return writeDocument(c, doc, ok, "application/json")
	}
	doc, ok := catalog.AggregatedGroups()
	if core {
		doc, ok = catalog.AggregatedCore()
	}
	h := c.Response().Header()
	h.Set("Vary", "Accept")
	h.Set("Cache-Control", "public")
	return writeDocument(c, doc, ok, aggregatedType)
}

// discoverGroup answers /apis/GROUP, /apis/GROUP/VERSION and /api/VERSION.
func (s *Server) discoverGroup(c echo.Context, rt route) error {
	if m := c.Request().Method; m != http.MethodGet && m != http.MethodHead {
		return notFound(c)
	}
	catalog := s.kinds.Current()
	if rt.version == "" {
		doc, ok := catalog.LegacyGroup(rt.group)
		return writeDocument(c, doc, ok, "application/json")
	}
	doc, ok := catalog.LegacyResources(rt.group, rt.version)
	return writeDocument(c, doc, ok, "application/json")
}

// writeDocument answers with a document, or with 304 where the client has it.
func writeDocument(c echo.Context, doc *kinds.Document, ok bool, contentType string) error {
	if !ok {
		return notFound(c)
	}
	return writeTagged(c, doc.JSON, doc.ETag, contentType)
}

// writeTagged answers with bytes that have an ETag.
func writeTagged(c echo.Context, body []byte, etag, contentType string) error {
	w, h := c.Response(), c.Response().Header()
	h.Set("ETag", etag)
	if c.Request().Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", contentType)
	if contentType == "application/json" && prettyAsked(c.Request()) {
		body = indent(body)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(body)
	return err
}

// index lists the paths of the server.
func (s *Server) index(c echo.Context) error {
	paths := []string{"/api", "/api/v1", "/apis"}
	seen := map[string]bool{}
	s.kinds.Current().Kinds(func(k *kinds.Kind) bool {
		for _, p := range []string{"/apis/" + k.Group, "/apis/" + k.Group + "/" + k.Version} {
			if k.Group != "" && !seen[p] {
				seen[p] = true
				paths = append(paths, p)
			}
		}
		return true
	})
	paths = append(paths, "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version", "/kronicle/log", "/kronicle/snapshot", "/kronicle/verify")
	return c.JSON(http.StatusOK, map[string][]string{"paths": paths})
}
