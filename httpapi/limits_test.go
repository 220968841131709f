package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/kronicle/kronicle/server"
)

func TestOnlyTheAdministratorIsLetIn(t *testing.T) {
	a := start(t)
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for path, code := range map[string]int{
		"/healthz": 200, "/livez": 200, "/readyz": 200, "/version": 200,
		"/api": 401, "/apis": 401, "/api/v1/namespaces": 401, configMaps: 401, "/metrics": 401,
		"/kronicle/log": 401, "/kronicle/verify": 401, "/nowhere": 401, "/": 401,
	} {
		res, err := stranger.Get(a.base + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != code {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, code)
		}
		if code == 401 && !bytes.Contains(b, []byte(`"reason":"Unauthorized"`)) {
			t.Errorf("%s: %s", path, b)
		}
	}
}

func TestALargeBodyIsRefused(t *testing.T) {
	a := start(t)
	body := configMap("big", strings.Repeat("x", 3<<20))
	ans := a.do("POST", configMaps, body)
	if ans.code != 413 || !strings.Contains(ans.body, "Request entity too large: limit is 3145728") {
		t.Errorf("%d %.200s", ans.code, ans.body)
	}
	// The same without an announced length.
	req, err := http.NewRequest("POST", a.base+configMaps, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := a.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("without a length: %d", res.StatusCode)
	}
	if ans := a.do("PATCH", configMaps+"/x", "["+strings.Repeat(`{"op":"test","path":"/a","value":1},`, 10000)+`{"op":"test","path":"/a","value":1}]`, "Content-Type: application/json-patch+json"); ans.code != 413 {
		t.Errorf("10,001 patch operations: %d %.200s", ans.code, ans.body)
	}
}

// TestReadsBeyondTheLimitAreToldToComeBack holds the only place for reads with a list
// that nobody takes off the wire.
func TestReadsBeyondTheLimitAreToldToComeBack(t *testing.T) {
	a := start(t, func(o *server.Options) { o.MaxReads = 1 })
	for i := range 24 {
		a.must("POST", configMaps, configMap(fmt.Sprintf("c%d", i), strings.Repeat("x", 900<<10)))
	}
	tr := oneConnectionEach(a)
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(16 << 10)
		}
		return c, err
	}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Get(a.base + configMaps)
	if err != nil {
		t.Fatal(err)
	}
	ans := a.do("GET", configMaps+"/c0", "")
	if ans.code != 429 || ans.header.Get("Retry-After") != "1" || ans.body != "Too many requests, please try again later.\n" {
		t.Errorf("%d %q %.100s", ans.code, ans.header.Get("Retry-After"), ans.body)
	}
	a.must("POST", configMaps, configMap("written", "meanwhile")) // writes have places of their own
	res.Body.Close()
	for a.do("GET", configMaps+"/c0", "").code == 429 {
		continue // until the server has noticed
	}
}

// oneConnectionEach is the transport of a client that speaks HTTP/1.1.
func oneConnectionEach(a *api) *http.Transport {
	tr := a.http.Transport.(*http.Transport).Clone()
	tr.ForceAttemptHTTP2, tr.TLSNextProto = false, map[string]func(string, *tls.Conn) http.RoundTripper{}
	tr.TLSClientConfig.NextProtos = []string{"http/1.1"}
	return tr
}

func TestLargeAnswersAreCompressedForThoseWhoAccept(t *testing.T) {
	a := start(t)
	for i := range 300 {
		a.must("POST", configMaps, configMap(fmt.Sprintf("c%03d", i), strings.Repeat("x", 600)))
	}
	plain := a.must("GET", configMaps, "")
	packed := a.must("GET", configMaps, "", "Accept-Encoding: gzip")
	if packed.header.Get("Content-Encoding") != "gzip" || plain.header.Get("Content-Encoding") != "" {
		t.Fatalf("%v", packed.header)
	}
	z, err := gzip.NewReader(strings.NewReader(packed.body))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil || string(b) != plain.body {
		t.Errorf("the compressed answer is another: %v", err)
	}
	if small := a.must("GET", configMaps+"/c000", "", "Accept-Encoding: gzip"); small.header.Get("Content-Encoding") != "" {
		t.Error("a small answer was compressed")
	}
	if !json.Valid(b) {
		t.Error("no JSON")
	}
}

func TestBothVersionsOfHTTPAreSpoken(t *testing.T) {
	a := start(t)
	a.must("POST", configMaps, configMap("a", "1"))
	if res := a.open(t.Context(), "GET", configMaps, ""); res.ProtoMajor != 2 {
		t.Errorf("%s", res.Proto)
	} else {
		res.Body.Close()
	}
	tr := oneConnectionEach(a)
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Get(a.base + configMaps)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.ProtoMajor != 1 || res.StatusCode != 200 {
		t.Errorf("%s %d", res.Proto, res.StatusCode)
	}
}

func TestGeneratedNamesAreNewEachTime(t *testing.T) {
	a := start(t)
	seen := map[string]bool{}
	base := strings.Repeat("b", 70)
	for range 50 {
		ans := a.must("POST", configMaps, `{"metadata":{"generateName":"`+base+`"}}`)
		obj := ans.object(t)
		name, _ := at(obj, "metadata", "name").(string)
		if len(name) != 63 || !strings.HasPrefix(name, base[:58]) || strings.Trim(name[58:], "bcdfghjklmnpqrstvwxz2456789") != "" || seen[name] {
			t.Fatalf("generated %q", name)
		}
		if at(obj, "metadata", "generateName") != base {
			t.Errorf("generateName is not kept: %s", ans.body)
		}
		seen[name] = true
	}
}

func TestDiscoveryKnowsWhatTheClientHas(t *testing.T) {
	a := start(t)
	const aggregated = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
	for _, path := range []string{"/api", "/apis"} {
		first := a.must("GET", path, "", aggregated)
		if first.header.Get("Content-Type") != "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" {
			t.Errorf("%s: %s", path, first.header.Get("Content-Type"))
		}
		etag := first.header.Get("Etag")
		if again := a.do("GET", path, "", aggregated, "If-None-Match: "+etag); again.code != 304 || again.body != "" {
			t.Errorf("%s: %d %s", path, again.code, again.body)
		}
	}
	before := a.must("GET", "/apis", "", aggregated).header.Get("Etag")
	a.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	after := a.must("GET", "/apis", "", aggregated)
	if after.header.Get("Etag") == before || !strings.Contains(after.body, `"resource":"things"`) {
		t.Error("a new definition is not discovered")
	}
	if ans := a.must("GET", "/apis", ""); at(ans.object(t), "kind") != "APIGroupList" {
		t.Errorf("%s", ans.body)
	}
}

func TestADefinitionTakesItsObjectsWithIt(t *testing.T) {
	a := start(t)
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	a.must("POST", crds, crd)
	for i := range 50 {
		a.must("POST", "/apis/example.com/v1/things", fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t%d"}}`, i))
	}
	watch := a.open(t.Context(), "GET", crds+"?watch=true&timeoutSeconds=30&fieldSelector=metadata.name%3Dthings.example.com&resourceVersion="+a.must("GET", crds, "").version(t), "")
	defer watch.Body.Close()
	ans := a.must("DELETE", crds+"/things.example.com", "")
	if !strings.Contains(ans.body, "customresourcecleanup.apiextensions.k8s.io") || !strings.Contains(ans.body, "deletionTimestamp") {
		t.Errorf("%s", ans.body)
	}
	for dec := json.NewDecoder(watch.Body); ; {
		var e struct{ Type string }
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "DELETED" {
			break
		}
	}
	if ans := a.do("GET", "/apis/example.com/v1/things", ""); ans.code != 404 {
		t.Errorf("a definition that is gone is served: %d", ans.code)
	}
	a.must("POST", crds, crd)
	if ans := a.must("GET", "/apis/example.com/v1/things", ""); at(ans.object(t), "items", 0) != nil {
		t.Errorf("objects came back: %s", ans.body)
	}
}
