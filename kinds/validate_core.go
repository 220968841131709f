package kinds

import (
	"encoding/json"
	"reflect"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxSecret is the most a Secret may hold, in bytes of values.
const maxSecret = 1 << 20

func validateSecret(obj, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	data, path := child(obj, "data"), field.NewPath("data")
	if old != nil {
		if text(obj, "type") != text(old, "type") {
			errs = append(errs, field.Invalid(field.NewPath("type"), text(obj, "type"), "field is immutable"))
		}
		if old["immutable"] == true {
			if obj["immutable"] != true {
				errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableText))
			}
			if before := child(old, "data"); len(data)+len(before) > 0 && !reflect.DeepEqual(data, before) {
				errs = append(errs, field.Forbidden(path, immutableText))
			}
		}
	}
	total := 0
	for _, key := range keys(data) {
		errs = append(errs, dataKey("data", key)...)
		total += decodedLen(text(data, key))
	}
	if total > maxSecret {
		errs = append(errs, field.TooLong(path, "", maxSecret))
	}
	return append(errs, validateSecretType(obj, data, path)...)
}

// validateSecretType checks that a secret holds what its type promises.
func validateSecretType(obj, data map[string]any, path *field.Path) field.ErrorList {
	need := func(names ...string) field.ErrorList {
		var errs field.ErrorList
		for _, name := range names {
			if _, ok := data[name]; !ok {
				errs = append(errs, field.Required(path.Key(name), ""))
			}
		}
		return errs
	}
	document := func(name string) field.ErrorList {
		if errs := need(name); errs != nil {
			return errs
		}
		content, _ := decodeBase64(text(data, name))
		if !json.Valid(content) {
			return field.ErrorList{field.Invalid(path.Key(name), "<secret contents redacted>", "invalid character in the document")}
		}
		return nil
	}
	switch text(obj, "type") {
	case "kubernetes.io/service-account-token":
		const annotation = "kubernetes.io/service-account.name"
		if textAt(obj, "metadata", "annotations", annotation) == "" {
			return field.ErrorList{field.Required(field.NewPath("metadata", "annotations").Key(annotation), "")}
		}
	case "kubernetes.io/dockercfg":
		return document(".dockercfg")
	case "kubernetes.io/dockerconfigjson":
		return document(".dockerconfigjson")
	case "kubernetes.io/basic-auth":
		_, user := data["username"]
		_, password := data["password"]
		if !user && !password {
			return need("username", "password")
		}
	case "kubernetes.io/ssh-auth":
		return need("ssh-privatekey")
	case "kubernetes.io/tls":
		return need("tls.crt", "tls.key")
	}
	return nil
}

// validateClaim: a claim says how much it claims.
func validateClaim(obj, _ map[string]any) field.ErrorList {
	if at(obj, "spec", "resources", "requests", "storage") == nil {
		return field.ErrorList{field.Required(field.NewPath("spec", "resources").Key("storage"), "")}
	}
	return nil
}

// serviceAddresses checks the form of the addresses of a service.
func serviceAddresses(spec map[string]any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if ip := text(spec, "clusterIP"); ip != "" && ip != "None" {
		errs = append(errs, validAddress(ip, path.Child("clusterIP"))...)
	}
	for i, ip := range texts(spec["externalIPs"]) {
		errs = append(errs, validAddress(ip, path.Child("externalIPs").Index(i))...)
	}
	if name := text(spec, "externalName"); name != "" {
		for _, m := range utilvalidation.IsDNS1123Subdomain(strings.TrimSuffix(name, ".")) {
			errs = append(errs, field.Invalid(path.Child("externalName"), name, m))
		}
	}
	return errs
}

func validateService(obj, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	spec, path := child(obj, "spec"), field.NewPath("spec")
	ports, typ := objectsAt(spec, "ports"), text(spec, "type")
	if len(ports) == 0 && typ != "ExternalName" && text(spec, "clusterIP") != "None" {
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	names, numbers := map[string]bool{}, map[string]bool{}
	for i, p := range ports {
		at := path.Child("ports").Index(i)
		name := text(p, "name")
		switch {
		case name == "" && len(ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), ""))
		case name != "" && names[name]:
			errs = append(errs, field.Duplicate(at.Child("name"), name))
		case name != "":
			for _, m := range utilvalidation.IsDNS1123Label(name) {
				errs = append(errs, field.Invalid(at.Child("name"), name, m))
			}
		}
		names[name] = true
		key := text(p, "protocol") + "/" + scalarText(p["port"])
		if numbers[key] {
			errs = append(errs, field.Duplicate(at, key))
		}
		numbers[key] = true
	}
	if typ == "ExternalName" {
		if text(spec, "externalName") == "" {
			errs = append(errs, field.Required(path.Child("externalName"), ""))
		}
		if ip := text(spec, "clusterIP"); ip != "" {
			errs = append(errs, field.Forbidden(path.Child("clusterIP"), "may not be set when `type` is 'ExternalName'"))
		}
	}
	errs = append(errs, serviceAddresses(spec, path)...)
	if old == nil {
		return errs
	}
	before, now := objectAt(old, "spec"), text(spec, "clusterIP")
	if ip := text(before, "clusterIP"); ip != "" && now != ip && typ != "ExternalName" && text(before, "type") != "ExternalName" {
		errs = append(errs, field.Invalid(path.Child("clusterIP"), now, "field is immutable"))
	}
	return errs
}
