package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// clock is a time that a test moves by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func open(t *testing.T, cfg Config) *PKI {
	t.Helper()
	p, err := OpenPKI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func leafOf(t *testing.T, p *PKI) *x509.Certificate {
	t.Helper()
	c, err := p.TLSConfig().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}

func TestServerCertificateIsForTheAddressesAClientUses(t *testing.T) {
	clk := newClock()
	p := open(t, Config{Dir: t.TempDir(), Hosts: ServerHosts("192.0.2.7", "k.example.org"), Now: clk.Now})
	leaf := leafOf(t, p)
	for _, host := range []string{
		"localhost", "127.0.0.1", "::1", "192.0.2.7", "k.example.org",
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	} {
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: p.Roots(), CurrentTime: clk.Now()})
		if err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if life := leaf.NotAfter.Sub(clk.Now()); life != leafLife {
		t.Errorf("life of the certificate: %v, want %v", life, leafLife)
	}
}

func TestListeningEverywhereNamesTheMachinesAddresses(t *testing.T) {
	for _, host := range []string{"", "0.0.0.0", "::"} {
		hosts := ServerHosts(host)
		if slices.Contains(hosts, "0.0.0.0") || slices.Contains(hosts, "::") || slices.Contains(hosts, "") {
			t.Errorf("ServerHosts(%q) names no address a client can use: %v", host, hosts)
		}
	}
}

func TestKeysAreReadableByTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	p := open(t, Config{Dir: filepath.Join(dir, "pki")})
	config, err := p.AdminKubeconfig("https://127.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteKubeconfig(filepath.Join(dir, "admin.kubeconfig"), config); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pki/ca.key", "pki/server.key", "pki/admin.key", "admin.kubeconfig"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode().Perm())
		}
	}
}

func TestCertificatesOutliveARestart(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Hosts: []string{"localhost"}}
	first := open(t, cfg)
	admin, _, err := first.AdminCertificate()
	if err != nil {
		t.Fatal(err)
	}
	second := open(t, cfg)
	again, _, err := second.AdminCertificate()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.AuthorityPEM(), second.AuthorityPEM()) {
		t.Error("the authority changed")
	}
	if !leafOf(t, first).Equal(leafOf(t, second)) {
		t.Error("the server's certificate changed")
	}
	if !bytes.Equal(admin, again) {
		t.Error("the administrator's certificate changed")
	}
}

func TestServerCertificateIsRenewed(t *testing.T) {
	t.Run("while serving, before it ends", func(t *testing.T) {
		clk := newClock()
		p := open(t, Config{Dir: t.TempDir(), Hosts: []string{"localhost"}, Now: clk.Now})
		before := leafOf(t, p)
		clk.Advance(leafLife - renewBefore - time.Hour)
		if !leafOf(t, p).Equal(before) {
			t.Error("renewed too early")
		}
		clk.Advance(2 * time.Hour)
		after := leafOf(t, p)
		if after.Equal(before) || !after.NotAfter.After(before.NotAfter) {
			t.Error("not renewed near its end")
		}
	})
	t.Run("when the hosts change", func(t *testing.T) {
		dir := t.TempDir()
		before := leafOf(t, open(t, Config{Dir: dir, Hosts: []string{"a.example", "127.0.0.1"}}))
		if !leafOf(t, open(t, Config{Dir: dir, Hosts: []string{"127.0.0.1", "a.example"}})).Equal(before) {
			t.Error("renewed for another order of the same hosts")
		}
		if leafOf(t, open(t, Config{Dir: dir, Hosts: []string{"127.0.0.1", "b.example"}})).Equal(before) {
			t.Error("not renewed for other hosts")
		}
	})
	t.Run("when the authority is another", func(t *testing.T) {
		dir := t.TempDir()
		before := leafOf(t, open(t, Config{Dir: dir, Hosts: []string{"localhost"}}))
		for _, f := range []string{"ca.crt", "ca.key"} {
			if err := os.Remove(filepath.Join(dir, f)); err != nil {
				t.Fatal(err)
			}
		}
		p := open(t, Config{Dir: dir, Hosts: []string{"localhost"}})
		if leafOf(t, p).Equal(before) || leafOf(t, p).CheckSignatureFrom(p.ca) != nil {
			t.Error("the certificate is not from the new authority")
		}
	})
}

func TestRenewalThatCannotBeWrittenKeepsTheOldCertificate(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	p := open(t, Config{Dir: dir, Hosts: []string{"localhost"}, Now: clk.Now})
	before := leafOf(t, p)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	clk.Advance(leafLife - renewBefore + time.Hour)
	if !leafOf(t, p).Equal(before) {
		t.Error("another certificate without a place to keep it")
	}
	clk.Advance(renewBefore)
	if _, err := p.TLSConfig().GetCertificate(nil); err == nil {
		t.Error("an expired certificate is handed out")
	}
}

func TestDamagedAuthorityIsRefused(t *testing.T) {
	cases := map[string]struct {
		damage func(t *testing.T, dir string)
		want   error
	}{
		"key missing": {func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "ca.key"))) }, ErrAuthorityKey},
		"key of another": {func(t *testing.T, dir string) {
			other := t.TempDir()
			open(t, Config{Dir: other})
			must(t, os.Rename(filepath.Join(other, "ca.key"), filepath.Join(dir, "ca.key")))
		}, ErrAuthorityKey},
		"garbage": {func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("x"), 0o644))
		}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, Config{Dir: dir})
			c.damage(t, dir)
			_, err := OpenPKI(Config{Dir: dir})
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	t.Run("expired", func(t *testing.T) {
		dir, clk := t.TempDir(), newClock()
		open(t, Config{Dir: dir, Now: clk.Now})
		clk.Advance(authorityLife + time.Hour)
		if _, err := OpenPKI(Config{Dir: dir, Now: clk.Now}); !errors.Is(err, ErrAuthorityExpired) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCrashBetweenKeyAndCertificateIsMadeGood(t *testing.T) {
	dir := t.TempDir()
	open(t, Config{Dir: dir})
	key, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "ca.crt")))
	must(t, os.Remove(filepath.Join(dir, "server.crt")))
	open(t, Config{Dir: dir})
	after, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	must(t, err)
	if !bytes.Equal(key, after) {
		t.Error("the key was replaced")
	}
}

func TestServersStartingTogetherShareOneAuthority(t *testing.T) {
	shared := t.TempDir()
	const n = 8
	pems := make([][]byte, n)
	var wg sync.WaitGroup
	for i := range n {
		dir := t.TempDir()
		wg.Go(func() {
			p, err := OpenPKI(Config{Dir: dir, AuthorityDir: shared, Hosts: []string{"localhost"}})
			if err != nil {
				t.Error(err)
				return
			}
			if _, _, err := p.AdminCertificate(); err != nil {
				t.Error(err)
			}
			pems[i] = p.AuthorityPEM()
		})
	}
	wg.Wait()
	for i := range pems {
		if !bytes.Equal(pems[i], pems[0]) {
			t.Fatal("two authorities")
		}
	}
}

func TestKubeconfigCarriesAWorkingPair(t *testing.T) {
	p := open(t, Config{Dir: t.TempDir()})
	cert, key, err := p.AdminCertificate()
	must(t, err)
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
