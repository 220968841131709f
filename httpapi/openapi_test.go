package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// openAPIURL returns where the index has the document of a group and version.
func (a *api) openAPIURL(path string) string {
	a.t.Helper()
	u, _ := at(a.must("GET", "/openapi/v3", "").object(a.t), "paths", path, "serverRelativeURL").(string)
	if u == "" {
		a.t.Fatalf("the index has no %s", path)
	}
	return u
}

func TestOpenAPIDocumentsMayBeKeptUnderTheirHashOnly(t *testing.T) {
	a := start(t)
	right := a.openAPIURL("api/v1")
	plain, hash, _ := strings.Cut(right, "?hash=")

	doc := a.must("GET", right, "")
	tag := doc.header.Get("ETag")
	if tag != `"`+hash+`"` || doc.header.Get("Cache-Control") != "public, immutable" || doc.header.Get("Expires") == "" {
		t.Errorf("right hash %s: %v", hash, doc.header)
	}
	if at(doc.object(t), "openapi") != "3.0.0" {
		t.Errorf("document: %.100s", doc.body)
	}

	a.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if moved := a.do("GET", plain+"?hash=OLD", ""); moved.code != 301 || moved.header.Get("Location") != right || moved.header.Get("Expires") != "" {
		t.Errorf("wrong hash: %d %v", moved.code, moved.header)
	}

	bare := a.must("GET", plain, "")
	if bare.header.Get("ETag") != tag || bare.header.Get("Expires") != "" || strings.Contains(bare.header.Get("Cache-Control"), "immutable") {
		t.Errorf("no hash: %v", bare.header)
	}
	if same := a.do("GET", plain, "", "If-None-Match: "+tag); same.code != 304 || same.body != "" {
		t.Errorf("known document: %d %q", same.code, same.body)
	}
	index := a.must("GET", "/openapi/v3", "")
	if same := a.do("GET", "/openapi/v3", "", "If-None-Match: "+index.header.Get("ETag")); same.code != 304 {
		t.Errorf("known index: %d", same.code)
	}
}

func TestOpenAPIFormsAndPaths(t *testing.T) {
	a := start(t)
	const protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	const older = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	for accept, want := range map[string]string{
		"*/*": "application/json", "application/json": "application/json",
		protobuf: protobuf, older: protobuf, older + ", application/json;q=0.5": protobuf,
		"application/yaml, application/json;q=0.5": "application/json",
	} {
		ans := a.must("GET", "/openapi/v3/apis/coordination.k8s.io/v1", "", "Accept: "+accept)
		if got := ans.header.Get("Content-Type"); got != want || ans.body == "" {
			t.Errorf("%s: %s", accept, got)
		}
	}
	for path, code := range map[string]int{
		"/openapi/v3/": 404, "/openapi/v3/api": 404, "/openapi/v3/api/v2": 404, "/openapi/v3/apis//v1": 404,
		"/openapi/v3/apis/example.org/v1": 404, "/openapi/v3/apis/coordination.k8s.io/v1/leases": 404, "/openapi/v2": 404,
	} {
		if ans := a.do("GET", path, ""); ans.code != code {
			t.Errorf("%s: %d", path, ans.code)
		}
	}
	if ans := a.do("GET", "/openapi/v3/api/v1", "", "Accept: application/yaml"); ans.code != 406 {
		t.Errorf("YAML: %d", ans.code)
	}
	if res, err := (&http.Client{Transport: anonymous(a)}).Get(a.base + "/openapi/v3"); err != nil || res.StatusCode != 401 {
		t.Errorf("without a certificate: %v %v", res, err)
	}
}

// anonymous is the client's transport without its certificate.
func anonymous(a *api) *http.Transport {
	tr := a.http.Transport.(*http.Transport).Clone()
	tr.TLSClientConfig.Certificates = nil
	a.t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func TestOpenAPIShowsADefinitionOnceItIsAnsweredFor(t *testing.T) {
	a := start(t)
	core := a.openAPIURL("api/v1")
	a.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"teapots.example.org"},"spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"teapots","kind":"Teapot"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","description":"What is wanted."}}}}}]}}`)

	doc := a.must("GET", a.openAPIURL("apis/example.org/v1"), "").object(t)
	if got := at(doc, "components", "schemas", "org.example.v1.Teapot", "properties", "spec", "description"); got != "What is wanted." {
		t.Errorf("description: %v", got)
	}
	create := at(doc, "paths", "/apis/example.org/v1/namespaces/{namespace}/teapots", "post")
	if at(create, "x-kubernetes-group-version-kind", "kind") != "Teapot" || !names(create)["fieldValidation"] {
		t.Errorf("create: %v", create)
	}
	if a.openAPIURL("api/v1") != core {
		t.Error("the core group's document is another one")
	}
}

// names are the parameters that an operation names itself.
func names(op any) map[any]bool {
	out := map[any]bool{}
	list, _ := at(op, "parameters").([]any)
	for _, p := range list {
		out[at(p, "name")] = true
	}
	return out
}

// What the document says that a patch may be is what the server takes.
func TestOpenAPITellsTheTypesOfPatches(t *testing.T) {
	a := start(t)
	a.must("POST", configMaps, configMap("a", "b"))
	doc := a.must("GET", "/openapi/v3/api/v1", "").object(t)
	types, _ := at(doc, "paths", "/api/v1/namespaces/{namespace}/configmaps/{name}", "patch", "requestBody", "content").(map[string]any)
	for typ := range types {
		body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
		if strings.Contains(typ, "json-patch") {
			body = `[]`
		}
		a.must("PATCH", configMaps+"/a?fieldManager=me", body, "Content-Type: "+typ)
	}
	refused := a.do("PATCH", configMaps+"/a", `{}`, "Content-Type: application/x").body
	for typ := range types {
		if !strings.Contains(refused, typ) {
			t.Errorf("%s is not in %s", typ, refused)
		}
	}
	if want := strings.Count(refused, "application/"); len(types) != want {
		t.Errorf("%d types, want %d: %s", len(types), want, refused)
	}
}
