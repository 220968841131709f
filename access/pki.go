package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Lifetimes. A leaf certificate is renewed when less than a quarter of its
// life is left.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	renewBefore   = leafLife / 4
	backdate      = 5 * time.Minute // for clients whose clock is a little behind
)

// Errors of the authority. Each is wrapped with the file it is about.
var (
	// ErrAuthorityKey: there is an authority's certificate, and its key is
	// missing or does not fit.
	ErrAuthorityKey = errors.New("the certificate authority has no usable key")
	// ErrAuthorityExpired: the authority's certificate is out of its dates.
	ErrAuthorityExpired = errors.New("the certificate authority has expired")
)

// Config says where the certificates are.
type Config struct {
	// Dir keeps the server's own certificate.
	Dir string
	// AuthorityDir keeps the authority and the administrator's certificate;
	// several servers may share it. Empty: Dir.
	AuthorityDir string
	// Hosts are the names and addresses that the server's certificate is for.
	Hosts  []string
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // nil: time.Now
}

// PKI is a certificate authority with the certificates that a server needs.
// It is safe for concurrent use.
type PKI struct {
	cfg     Config
	ca      *x509.Certificate
	caPEM   []byte
	caKey   crypto.Signer
	roots   *x509.CertPool
	serving servingCertificate
}

// OpenPKI loads the authority and the server's certificate, and makes what is
// missing. Servers that share an AuthorityDir and start at the same moment end
// with the same authority.
func OpenPKI(cfg Config) (*PKI, error) {
	if cfg.AuthorityDir == "" {
		cfg.AuthorityDir = cfg.Dir
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	for _, dir := range []string{cfg.Dir, cfg.AuthorityDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open certificates: %w", err)
		}
	}
	p := &PKI{cfg: cfg}
	unlock, err := lockDir(cfg.AuthorityDir)
	if err != nil {
		return nil, fmt.Errorf("open certificates: %w", err)
	}
	err = p.loadAuthority()
	unlock()
	if err != nil {
		return nil, err
	}
	p.roots = x509.NewCertPool()
	p.roots.AddCert(p.ca)
	if _, err := p.serverCertificate(); err != nil {
		return nil, err
	}
	return p, nil
}

// AuthorityPEM returns the authority's certificate. Do not modify it.
func (p *PKI) AuthorityPEM() []byte { return p.caPEM }

// Roots returns the pool that holds the authority alone.
func (p *PKI) Roots() *x509.CertPool { return p.roots }

func (p *PKI) loadAuthority() error {
	certPath := filepath.Join(p.cfg.AuthorityDir, "ca.crt")
	keyPath := filepath.Join(p.cfg.AuthorityDir, "ca.key")
	cert, data, err := readCertificate(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		return p.createAuthority(certPath, keyPath)
	}
	if err != nil {
		return fmt.Errorf("load certificate authority: %w", err)
	}
	key, err := readKey(keyPath)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("load %s: %w: %s is missing; restore it, or remove both files to begin with a new authority (every client then needs a new kubeconfig)",
			certPath, ErrAuthorityKey, keyPath)
	}
	if err != nil {
		return fmt.Errorf("load certificate authority: %w", err)
	}
	if !sameKey(cert.PublicKey, key.Public()) {
		return fmt.Errorf("load %s: %w: %s belongs to another certificate", certPath, ErrAuthorityKey, keyPath)
	}
	now := p.cfg.Now()
	if now.After(cert.NotAfter) {
		return fmt.Errorf("load %s: %w on %s; remove it and its key to begin with a new one (every client then needs a new kubeconfig)",
			certPath, ErrAuthorityExpired, cert.NotAfter.UTC().Format(time.RFC3339))
	}
	if now.Add(leafLife).After(cert.NotAfter) {
		p.cfg.Logger.Warn("the certificate authority ends within a year", "file", certPath, "notAfter", cert.NotAfter)
	}
	p.ca, p.caPEM, p.caKey = cert, data, key
	return nil
}

// createAuthority writes the key first: a crash between the two files leaves a
// key without a certificate, and the next start makes the certificate for it.
func (p *PKI) createAuthority(certPath, keyPath string) error {
	key, err := readKey(keyPath)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = newKeyFile(keyPath)
	}
	if err != nil {
		return fmt.Errorf("create certificate authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return fmt.Errorf("create certificate authority: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("create certificate authority: %w", err)
	}
	id := sha1.Sum(public) // an identifier, not a protection
	now := p.cfg.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "kronicle-ca"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		SubjectKeyId:          id[:],
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("create certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("create certificate authority: %w", err)
	}
	data := encodeCertificate(der)
	if err := WriteFile(certPath, data, modePublic); err != nil {
		return fmt.Errorf("create certificate authority: %w", err)
	}
	p.ca, p.caPEM, p.caKey = cert, data, key
	return nil
}

// issue signs a leaf certificate for key. Only the subject, names and usages
// of template count.
func (p *PKI) issue(template *x509.Certificate, key crypto.PublicKey) (*x509.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	now := p.cfg.Now()
	template.SerialNumber = serial
	template.NotBefore = now.Add(-backdate)
	template.NotAfter = now.Add(leafLife)
	if template.NotAfter.After(p.ca.NotAfter) {
		template.NotAfter = p.ca.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, p.ca, key, p.caKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// ours reports whether the authority has signed cert.
func (p *PKI) ours(cert *x509.Certificate) bool { return cert.CheckSignatureFrom(p.ca) == nil }

// inDate reports whether a leaf certificate is good and far from its end. One
// that ends with the authority itself cannot be had any longer.
func (p *PKI) inDate(cert *x509.Certificate) bool {
	now := p.cfg.Now()
	if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
		return false
	}
	return now.Add(renewBefore).Before(cert.NotAfter) || cert.NotAfter.Equal(p.ca.NotAfter)
}

func newKeyFile(path string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	data, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	if err := WriteFile(path, data, modeSecret); err != nil {
		return nil, err
	}
	return key, nil
}

func newSerial() (*big.Int, error) {
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil
}

// lockDir holds the directory against other servers that make an authority in
// it at the same moment.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, modeSecret)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = f.Close() }, nil
}
