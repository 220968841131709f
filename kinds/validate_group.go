package kinds

import (
	"math"
	"net/netip"
	"strings"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateAutoscaler(obj, _ map[string]any) field.ErrorList {
	spec := child(obj, "spec")
	if low, high := intAt(spec, "minReplicas"), intAt(spec, "maxReplicas"); high > 0 && high < low {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "maxReplicas"), high, "must be greater than or equal to `minReplicas`")}
	}
	return nil
}

func validateBudget(obj, _ map[string]any) field.ErrorList {
	spec := child(obj, "spec")
	if spec["minAvailable"] != nil && spec["maxUnavailable"] != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), spec, "minAvailable and maxUnavailable cannot be both set")}
	}
	return nil
}

func validateDeployment(obj, old map[string]any) field.ErrorList {
	errs := validateController(obj, old)
	strategy, path := objectAt(obj, "spec", "strategy"), field.NewPath("spec", "strategy", "rollingUpdate")
	update := child(strategy, "rollingUpdate")
	if text(strategy, "type") == "Recreate" && update != nil {
		return append(errs, field.Forbidden(path, "may not be specified when strategy `type` is 'Recreate'"))
	}
	zero := func(v any) bool { return v == int64(0) || v == "0%" }
	if zero(update["maxUnavailable"]) && zero(update["maxSurge"]) {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), update["maxUnavailable"], "may not be 0 when `maxSurge` is 0"))
	}
	return errs
}

// validateRole checks the rules of a role; those of a namespace cannot be
// about URLs.
func validateRole(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	for i, r := range objectsAt(obj, "rules") {
		path := field.NewPath("rules").Index(i)
		urls, groups, resources := listAt(r, "nonResourceURLs"), listAt(r, "apiGroups"), listAt(r, "resources")
		switch {
		case len(urls) > 0 && text(obj, "kind") == "Role":
			errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs"))
		case len(urls) > 0 && len(groups)+len(resources)+len(listAt(r, "resourceNames")) > 0:
			errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), urls, "rules cannot apply to both regular resources and non-resource URLs"))
		case len(urls) > 0:
		default:
			if len(groups) == 0 {
				errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
			}
			if len(resources) == 0 {
				errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
			}
		}
	}
	return errs
}

func validateBinding(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	for i, s := range objectsAt(obj, "subjects") {
		path := field.NewPath("subjects").Index(i)
		group := text(s, "apiGroup")
		switch text(s, "kind") {
		case "ServiceAccount":
			if group != "" {
				errs = append(errs, field.NotSupported(path.Child("apiGroup"), group, []string{""}))
			}
			if text(s, "namespace") == "" {
				errs = append(errs, field.Required(path.Child("namespace"), ""))
			}
		case "User", "Group":
			if group != "rbac.authorization.k8s.io" {
				errs = append(errs, field.NotSupported(path.Child("apiGroup"), group, []string{"rbac.authorization.k8s.io"}))
			}
		}
	}
	return errs
}

func validateIngress(obj, _ map[string]any) field.ErrorList {
	spec, path := child(obj, "spec"), field.NewPath("spec")
	var errs field.ErrorList
	if len(listAt(spec, "rules")) == 0 && spec["defaultBackend"] == nil {
		errs = append(errs, field.Invalid(path, spec, "either `defaultBackend` or `rules` must be specified"))
	}
	for i, r := range objectsAt(spec, "rules") {
		at := path.Child("rules").Index(i)
		if host := text(r, "host"); host != "" {
			check := utilvalidation.IsDNS1123Subdomain
			if strings.Contains(host, "*") {
				check = utilvalidation.IsWildcardDNS1123Subdomain
			}
			for _, m := range check(host) {
				errs = append(errs, field.Invalid(at.Child("host"), host, m))
			}
		}
		for j, p := range objectsAt(r, "http", "paths") {
			at := at.Child("http", "paths").Index(j)
			typ, s := text(p, "pathType"), text(p, "path")
			if (typ == "Exact" || typ == "Prefix") && !strings.HasPrefix(s, "/") {
				errs = append(errs, field.Invalid(at.Child("path"), s, "must be an absolute path"))
			}
			backend := child(p, "backend")
			if service, other := backend["service"] != nil, backend["resource"] != nil; !service && !other {
				errs = append(errs, field.Required(at.Child("backend"), "either `service` or `resource` must be specified"))
			}
		}
	}
	return errs
}

func validateNetworkPolicy(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, way := range [...][2]string{{"ingress", "from"}, {"egress", "to"}} {
		direction, peers := way[0], way[1]
		for i, rule := range objectsAt(obj, "spec", direction) {
			for j, peer := range objectsAt(rule, peers) {
				path := field.NewPath("spec", direction).Index(i).Child(peers).Index(j)
				if len(peer) == 0 {
					errs = append(errs, field.Required(path, "must specify a peer"))
				}
				if block := child(peer, "ipBlock"); block != nil {
					if _, err := netip.ParsePrefix(text(block, "cidr")); err != nil {
						errs = append(errs, field.Invalid(path.Child("ipBlock", "cidr"), text(block, "cidr"), "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"))
					}
				}
			}
		}
	}
	return errs
}

func validatePriorityClass(obj, old map[string]any) field.ErrorList {
	const most = 1_000_000_000
	name, n := textAt(obj, "metadata", "name"), intAt(obj, "value")
	system := name == "system-cluster-critical" && n == most*2 || name == "system-node-critical" && n == most*2+1000
	switch {
	case system || old != nil:
	case strings.HasPrefix(name, "system-"):
		return field.ErrorList{field.Forbidden(field.NewPath("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only")}
	case n > most && n <= math.MaxInt32:
		return field.ErrorList{field.Forbidden(field.NewPath("value"), "maximum allowed value of a user defined priority is 1000000000")}
	}
	return nil
}

func validateWebhooks(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, w := range objectsAt(obj, "webhooks") {
		path := field.NewPath("webhooks").Index(i)
		name := text(w, "name")
		errs = append(errs, utilvalidation.IsFullyQualifiedName(path.Child("name"), name)...)
		if names[name] {
			errs = append(errs, field.Duplicate(path.Child("name"), name))
		}
		names[name] = true
		config := child(w, "clientConfig")
		if (config["url"] != nil) == (config["service"] != nil) {
			errs = append(errs, field.Required(path.Child("clientConfig"), "exactly one of url or service is required"))
		}
	}
	return errs
}

// validateLimitRange: what is least is not more than what is most.
func validateLimitRange(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	for i, item := range objectsAt(obj, "spec", "limits") {
		path, most := field.NewPath("spec", "limits").Index(i), child(item, "max")
		least := child(item, "min")
		for _, name := range keys(least) {
			low, err := apiresource.ParseQuantity(scalarText(least[name]))
			high, err2 := apiresource.ParseQuantity(scalarText(most[name]))
			if err == nil && err2 == nil && low.Cmp(high) > 0 {
				errs = append(errs, field.Invalid(path.Child("min").Key(name), least[name], "min value "+low.String()+" is greater than max value "+high.String()))
			}
		}
	}
	return errs
}

// validAddress returns what is wrong with an IP address.
func validAddress(s string, path *field.Path) field.ErrorList {
	if _, err := netip.ParseAddr(s); err != nil {
		return field.ErrorList{field.Invalid(path, s, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")}
	}
	return nil
}

// validateEndpoints checks the addresses of Endpoints and of EndpointSlices.
func validateEndpoints(obj, _ map[string]any) field.ErrorList {
	var errs field.ErrorList
	for i, s := range objectsAt(obj, "subsets") {
		for _, list := range [...]string{"addresses", "notReadyAddresses"} {
			for j, a := range objectsAt(s, list) {
				if ip := text(a, "ip"); ip != "" {
					errs = append(errs, validAddress(ip, field.NewPath("subsets").Index(i).Child(list).Index(j).Child("ip"))...)
				}
			}
		}
	}
	if typ := text(obj, "addressType"); typ == "IPv4" || typ == "IPv6" {
		for i, e := range objectsAt(obj, "endpoints") {
			for j, ip := range texts(e["addresses"]) {
				errs = append(errs, validAddress(ip, field.NewPath("endpoints").Index(i).Child("addresses").Index(j))...)
			}
		}
	}
	return errs
}
