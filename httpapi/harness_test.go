package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kronicle/kronicle/server"
)

// An api is a real server on a loopback port over an embedded log, and a client
// with the administrator's certificate.
type api struct {
	t    testing.TB
	srv  *server.Server
	opts server.Options
	base string
	http *http.Client
}

// start runs a server in a directory of its own until the test ends, and then
// verifies what it leaves.
func start(t testing.TB, change ...func(*server.Options)) *api {
	t.Helper()
	o := server.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", t.TempDir()
	for _, c := range change {
		c(&o)
	}
	a := &api{t: t, opts: o}
	a.run()
	t.Cleanup(func() {
		if a.srv != nil {
			a.stop()
		}
	})
	return a
}

func (a *api) run() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	srv, err := server.Start(ctx, a.opts)
	if err != nil {
		a.t.Fatalf("start: %v", err)
	}
	a.srv = srv
	a.base = "https://" + srv.Addr()
	a.http = clientOf(a.t, srv.Kubeconfig())
}

func (a *api) stop() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := a.srv.Stop(ctx); err != nil {
		a.t.Errorf("stop: %v", err)
	}
	a.srv = nil
}

// clientOf makes an HTTP client from a kubeconfig with inline credentials.
func clientOf(t testing.TB, kubeconfig []byte) *http.Client {
	t.Helper()
	var k struct {
		Clusters []struct {
			Cluster struct {
				CA string `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Cert string `json:"client-certificate-data"`
				Key  string `json:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal(kubeconfig, &k); err != nil {
		t.Fatal(err)
	}
	plain := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	cert, err := tls.X509KeyPair(plain(k.Users[0].User.Cert), plain(k.Users[0].User.Key))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(plain(k.Clusters[0].Cluster.CA))
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}}, DisableCompression: true, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// An answer is what came back.
type answer struct {
	code   int
	header http.Header
	body   string
}

// do sends one request; headers are "Name: value".
func (a *api) do(method, path, body string, headers ...string) answer {
	a.t.Helper()
	res := a.open(context.Background(), method, path, body, headers...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

func (a *api) open(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	a.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, r)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "test/1.0")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := a.http.Do(req)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// must is do for a request that has to succeed.
func (a *api) must(method, path, body string, headers ...string) answer {
	a.t.Helper()
	ans := a.do(method, path, body, headers...)
	if ans.code/100 != 2 {
		a.t.Fatalf("%s %s: %d %s", method, path, ans.code, ans.body)
	}
	return ans
}

// object decodes the body.
func (ans answer) object(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.NewDecoder(bytes.NewReader([]byte(ans.body))).Decode(&m); err != nil {
		t.Fatalf("%q: %v", ans.body, err)
	}
	return m
}

// at follows keys into nested maps and lists; nil where there is nothing.
func at(v any, keys ...any) any {
	for _, k := range keys {
		switch k := k.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

func (ans answer) version(t testing.TB) string {
	t.Helper()
	s, _ := at(ans.object(t), "metadata", "resourceVersion").(string)
	if s == "" {
		t.Fatalf("no resourceVersion in %s", ans.body)
	}
	return s
}

func configMap(name, data string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"},"data":{"k":"` + data + `"}}`
}

const configMaps = "/api/v1/namespaces/default/configmaps"
