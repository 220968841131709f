package kinds

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// addressName is the rule for names of IPAddresses: the address itself, in its
// canonical form.
func addressName(name string, prefix bool) []string {
	if prefix {
		return []string{"generateName is not supported: the name is the address"}
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
	}
	if addr.Zone() != "" || addr.Is4In6() || addr.String() != name {
		return []string{"must be in canonical form (\"" + addr.Unmap().WithZone("").String() + "\")"}
	}
	return nil
}

// trustBundleName is the rule for names of ClusterTrustBundles: one that
// belongs to a signer has the signer's name before a colon.
func trustBundleName(name string, prefix bool) []string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	return validation.NameIsDNSSubdomain(name, prefix)
}
