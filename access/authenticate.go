package access

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// ClientCertificates authenticates by the client certificate of the TLS
// connection: the common name is the user's name, the organizations are the
// groups.
//
// A connection has one certificate for its whole life, so its chain is
// verified with the first request on it and the outcome kept in a value that
// ConnContext hangs on the connection's context. A map by certificate would do
// the same and would need somebody to empty it.
type ClientCertificates struct {
	roots *x509.CertPool
	now   func() time.Time
}

var _ Authenticator = (*ClientCertificates)(nil)

// NewClientCertificates returns the authenticator for certificates under
// roots. A nil now is time.Now.
func NewClientCertificates(roots *x509.CertPool, now func() time.Time) *ClientCertificates {
	if now == nil {
		now = time.Now
	}
	return &ClientCertificates{roots: roots, now: now}
}

// Authenticator returns the authenticator for certificates of this authority.
func (p *PKI) Authenticator() *ClientCertificates {
	return NewClientCertificates(p.roots, p.cfg.Now)
}

// identity is what a certificate says, once its chain has been verified.
type identity struct {
	user                *User // nil: not believed
	notBefore, notAfter time.Time
}

// connection holds the identity of one connection.
type connection struct {
	once sync.Once
	identity
}

type connectionKey struct{}

// ConnContext is for http.Server.ConnContext. Without it every request costs
// a verification and the answers are the same.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, new(connection))
}

// Authenticate implements Authenticator.
func (a *ClientCertificates) Authenticate(r *http.Request) (*User, bool) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false
	}
	var id identity
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		c.once.Do(func() { c.identity = a.verify(r.TLS.PeerCertificates) })
		id = c.identity
	} else {
		id = a.verify(r.TLS.PeerCertificates)
	}
	if id.user == nil {
		return nil, false
	}
	if now := a.now(); now.Before(id.notBefore) || now.After(id.notAfter) {
		return nil, false
	}
	return id.user, true
}

func (a *ClientCertificates) verify(certs []*x509.Certificate) identity {
	leaf := certs[0]
	if leaf.Subject.CommonName == "" {
		return identity{}
	}
	between := x509.NewCertPool()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots:         a.roots,
		Intermediates: between,
		CurrentTime:   a.now(),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return identity{}
	}
	id := identity{notBefore: leaf.NotBefore, notAfter: leaf.NotAfter}
	for _, c := range chains[0] {
		if c.NotAfter.Before(id.notAfter) {
			id.notAfter = c.NotAfter
		}
	}
	groups := slices.Clone(leaf.Subject.Organization)
	if !slices.Contains(groups, GroupAuthenticated) {
		groups = append(groups, GroupAuthenticated)
	}
	id.user = &User{Name: leaf.Subject.CommonName, Groups: groups}
	return id
}
