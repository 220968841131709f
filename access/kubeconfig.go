package access

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Credentials are what a kubeconfig carries. All are in the PEM form.
type Credentials struct {
	Authority   []byte
	Certificate []byte
	Key         []byte
}

// Kubeconfig returns a kubeconfig with everything inline: cluster, user and
// context are named kronicle, and the context is the current one. It holds a
// private key: write it with WriteKubeconfig.
func Kubeconfig(server string, c Credentials) []byte {
	b64 := base64.StdEncoding.EncodeToString
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Config\ncurrent-context: kronicle\n")
	fmt.Fprintf(&b, "clusters:\n- name: kronicle\n  cluster:\n    server: %q\n    certificate-authority-data: %s\n", server, b64(c.Authority))
	fmt.Fprintf(&b, "users:\n- name: %s\n  user:\n    client-certificate-data: %s\n    client-key-data: %s\n", AdminName, b64(c.Certificate), b64(c.Key))
	fmt.Fprintf(&b, "contexts:\n- name: kronicle\n  context:\n    cluster: kronicle\n    user: %s\n", AdminName)
	return []byte(b.String())
}

// AdminKubeconfig returns the administrator's kubeconfig for a server's URL.
func (p *PKI) AdminKubeconfig(server string) ([]byte, error) {
	cert, key, err := p.AdminCertificate()
	if err != nil {
		return nil, err
	}
	return Kubeconfig(server, Credentials{Authority: p.caPEM, Certificate: cert, Key: key}), nil
}

// WriteKubeconfig writes a kubeconfig with mode 0600, whole or not at all.
func WriteKubeconfig(path string, data []byte) error {
	return WriteFile(path, data, modeSecret)
}
