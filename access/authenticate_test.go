package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// issueTo makes a client certificate with the given usage.
func issueTo(t *testing.T, p *PKI, usage x509.ExtKeyUsage, subject pkix.Name) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cert, err := p.issue(&x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{usage}}, key.Public())
	must(t, err)
	return *pair(cert, key)
}

// whoami starts a server that answers who the caller is, and returns its URL.
func whoami(t *testing.T, p *PKI) string {
	t.Helper()
	auth := p.Authenticator()
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			u, ok := auth.Authenticate(r)
			if !ok {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprintf(w, "%s %v %s", u.Name, u.Groups, r.Proto)
		}),
		ConnContext: ConnContext,
		TLSConfig:   p.TLSConfig(),
		ErrorLog:    log.New(io.Discard, "", 0),
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go srv.ServeTLS(l, "", "")
	t.Cleanup(func() { srv.Close() })
	return "https://" + l.Addr().String()
}

func clientWith(t *testing.T, p *PKI, h2 bool, certs ...tls.Certificate) *http.Client {
	t.Helper()
	cfg := &tls.Config{RootCAs: p.Roots(), Time: p.cfg.Now}
	if len(certs) > 0 {
		// Handed over whatever authorities the server names.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certs[0], nil }
	}
	tr := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: h2}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func ask(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	res, err := c.Get(url)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(body)
}

func TestOnlyOurClientCertificatesAreBelieved(t *testing.T) {
	clk := newClock()
	cfg := Config{Dir: t.TempDir(), Hosts: []string{"127.0.0.1"}, Now: clk.Now}
	p := open(t, cfg)
	other := open(t, Config{Dir: t.TempDir(), Now: clk.Now})
	past := newClock()
	past.Advance(-2 * leafLife)
	cfg.Now = past.Now
	old := &PKI{cfg: cfg, ca: p.ca, caKey: p.caKey}
	jane := pkix.Name{CommonName: "jane", Organization: []string{"dev"}}
	url := whoami(t, p)
	cases := map[string]struct {
		certs []tls.Certificate
		want  int
	}{
		"ours":                {[]tls.Certificate{issueTo(t, p, x509.ExtKeyUsageClientAuth, jane)}, 200},
		"none":                {nil, 401},
		"another authority":   {[]tls.Certificate{issueTo(t, other, x509.ExtKeyUsageClientAuth, jane)}, 401},
		"for servers":         {[]tls.Certificate{issueTo(t, p, x509.ExtKeyUsageServerAuth, jane)}, 401},
		"expired":             {[]tls.Certificate{issueTo(t, old, x509.ExtKeyUsageClientAuth, jane)}, 401},
		"without a user name": {[]tls.Certificate{issueTo(t, p, x509.ExtKeyUsageClientAuth, pkix.Name{Organization: []string{GroupMasters}})}, 401},
	}
	for name, c := range cases {
		for _, h2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, http2 %v", name, h2), func(t *testing.T) {
				status, body := ask(t, clientWith(t, p, h2, c.certs...), url)
				if status != c.want {
					t.Errorf("status %d, want %d", status, c.want)
				}
				proto := "HTTP/1.1"
				if h2 {
					proto = "HTTP/2.0"
				}
				if want := "jane [dev system:authenticated] " + proto; status == 200 && body != want {
					t.Errorf("got %q, want %q", body, want)
				}
			})
		}
	}
}

func TestCertificateThatEndsOnAnOpenConnectionIsNoLongerBelieved(t *testing.T) {
	clk := newClock()
	p := open(t, Config{Dir: t.TempDir(), Hosts: []string{"127.0.0.1"}, Now: clk.Now})
	url := whoami(t, p)
	c := clientWith(t, p, true, issueTo(t, p, x509.ExtKeyUsageClientAuth, pkix.Name{CommonName: "jane"}))
	if status, _ := ask(t, c, url); status != 200 {
		t.Fatalf("status %d", status)
	}
	clk.Advance(leafLife + time.Second)
	if status, _ := ask(t, c, url); status != 401 {
		t.Errorf("status %d after the end of the certificate", status)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	p := open(t, Config{Dir: t.TempDir(), Hosts: []string{"127.0.0.1"}})
	url := whoami(t, p)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{RootCAs: p.Roots(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err == nil {
		conn.Close()
		t.Error("TLS 1.1 was accepted")
	}
}

func TestAConnectionIsVerifiedOnce(t *testing.T) {
	p := open(t, Config{Dir: t.TempDir()})
	auth := p.Authenticator()
	cert := issueTo(t, p, x509.ExtKeyUsageClientAuth, pkix.Name{CommonName: "jane"})
	r := httptest.NewRequest("GET", "/", nil)
	r = r.WithContext(ConnContext(r.Context(), nil))
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert.Leaf}}
	first, ok := auth.Authenticate(r)
	if !ok {
		t.Fatal("not believed")
	}
	again, _ := auth.Authenticate(r)
	if first != again {
		t.Error("verified again")
	}
	if n := testing.AllocsPerRun(100, func() { auth.Authenticate(r) }); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func TestClientGoReadsTheKubeconfig(t *testing.T) {
	p := open(t, Config{Dir: t.TempDir(), Hosts: []string{"127.0.0.1"}})
	url := whoami(t, p)
	data, err := p.AdminKubeconfig(url)
	must(t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(data)
	must(t, err)
	pairOfAdmin, err := tls.X509KeyPair(cfg.CertData, cfg.KeyData)
	must(t, err)
	pairOfAdmin.Leaf, err = x509.ParseCertificate(pairOfAdmin.Certificate[0])
	must(t, err)
	status, body := ask(t, clientWith(t, p, true, pairOfAdmin), cfg.Host)
	if want := "kronicle-admin [system:masters system:authenticated] HTTP/2.0"; status != 200 || body != want {
		t.Errorf("%d %q, want %q", status, body, want)
	}
}
