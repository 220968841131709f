package access

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// servingCertificate is the server's certificate in use. Handshakes read it
// without a lock; mu is held while it is being renewed.
type servingCertificate struct {
	mu   sync.Mutex
	cert atomic.Pointer[tls.Certificate]
}

// TLSConfig returns the configuration of the listener: TLS 1.2 and up, HTTP/2
// and HTTP/1.1, the server's certificate (renewed as it nears its end, without
// a restart), and a client certificate asked for and not demanded: whether it
// is a good one is for ClientCertificates to say, so that its absence is an
// answer in HTTP and not a broken handshake.
func (p *PKI) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// Small records help browsers show the first bytes early. Here an answer
		// or an event should be one record, and one write to the socket.
		DynamicRecordSizingDisabled: true,
		ClientAuth:                  tls.RequestClientCert,
		ClientCAs:                   p.roots, // the names told to the client, which picks its certificate by them
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.serverCertificate()
		},
	}
}

// serverCertificate returns the certificate in use, and makes a new one when
// there is none, when it is not for the configured hosts, or when it nears its
// end.
func (p *PKI) serverCertificate() (*tls.Certificate, error) {
	s := &p.serving
	if c := s.cert.Load(); c != nil && p.inDate(c.Leaf) {
		return c, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.cert.Load()
	if old != nil && p.inDate(old.Leaf) {
		return old, nil
	}
	names, addrs := splitHosts(p.cfg.Hosts)
	c, err := p.leaf(filepath.Join(p.cfg.Dir, "server"), func(cert *x509.Certificate) bool {
		return sameSet(cert.DNSNames, names) && sameSet(addrStrings(cert.IPAddresses), addrStrings(addrs))
	}, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kronicle"},
		DNSNames:    names,
		IPAddresses: addrs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		err = fmt.Errorf("server certificate: %w", err)
		if old != nil && p.cfg.Now().Before(old.Leaf.NotAfter) {
			p.cfg.Logger.Error("the certificate cannot be renewed; the one before is still good", "notAfter", old.Leaf.NotAfter, "error", err)
			return old, nil
		}
		return nil, err
	}
	s.cert.Store(c)
	return c, nil
}

// AdminCertificate returns the administrator's certificate and key in the PEM
// form, made anew when it is missing or nears its end.
func (p *PKI) AdminCertificate() (certPEM, keyPEM []byte, err error) {
	unlock, err := lockDir(p.cfg.AuthorityDir)
	if err != nil {
		return nil, nil, fmt.Errorf("administrator certificate: %w", err)
	}
	defer unlock()
	base := filepath.Join(p.cfg.AuthorityDir, "admin")
	subject := pkix.Name{CommonName: AdminName, Organization: []string{GroupMasters}}
	c, err := p.leaf(base, func(cert *x509.Certificate) bool {
		return cert.Subject.CommonName == AdminName && slices.Contains(cert.Subject.Organization, GroupMasters)
	}, &x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return nil, nil, fmt.Errorf("administrator certificate: %w", err)
	}
	keyPEM, err = os.ReadFile(base + ".key")
	if err != nil {
		return nil, nil, fmt.Errorf("administrator certificate: %w", err)
	}
	return encodeCertificate(c.Certificate[0]), keyPEM, nil
}

// leaf loads base.crt and base.key when they are a current pair that fits, and
// makes them otherwise. The key is kept over renewals.
func (p *PKI) leaf(base string, fits func(*x509.Certificate) bool, template *x509.Certificate) (*tls.Certificate, error) {
	certPath, keyPath := base+".crt", base+".key"
	key, keyErr := readKey(keyPath)
	if keyErr == nil {
		cert, _, err := readCertificate(certPath)
		if err == nil && sameKey(cert.PublicKey, key.Public()) && p.ours(cert) && p.inDate(cert) && fits(cert) {
			return pair(cert, key), nil
		}
	} else {
		if !errors.Is(keyErr, os.ErrNotExist) {
			p.cfg.Logger.Warn("a private key cannot be read and is replaced", "file", keyPath, "error", keyErr)
		}
		var err error
		if key, err = newKeyFile(keyPath); err != nil {
			return nil, err
		}
	}
	cert, err := p.issue(template, key.Public())
	if err != nil {
		return nil, err
	}
	if err := WriteFile(certPath, encodeCertificate(cert.Raw), modePublic); err != nil {
		return nil, err
	}
	return pair(cert, key), nil
}

func pair(cert *x509.Certificate, key crypto.Signer) *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// ServerHosts returns what a server's certificate is for: the names of this
// machine, the names by which clients inside a cluster know the API server,
// the host part of the listening address, and extra. Where the server listens
// on every address, every address of the machine is in it.
func ServerHosts(listenHost string, extra ...string) []string {
	hosts := []string{
		"localhost", "127.0.0.1", "::1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	ip := net.ParseIP(listenHost)
	switch {
	case listenHost == "" || ip != nil && ip.IsUnspecified():
		addrs, _ := net.InterfaceAddrs() // the extra names are a convenience
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				hosts = append(hosts, n.IP.String())
			}
		}
	default:
		hosts = append(hosts, listenHost)
	}
	hosts = append(hosts, extra...)
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func splitHosts(hosts []string) (names []string, addrs []net.IP) {
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			addrs = append(addrs, ip)
		} else if h != "" {
			names = append(names, h)
		}
	}
	return names, addrs
}

func addrStrings(addrs []net.IP) []string {
	out := make([]string, len(addrs))
	for i, a := range addrs {
		out[i] = a.String()
	}
	return out
}

// sameSet reports whether a and b hold the same strings in any order.
func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
