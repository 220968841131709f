package kinds

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podChecks are the rules about single values of a pod spec.
func podChecks() []check {
	container := []string{"name required", "name label", "imagePullPolicy in Always IfNotPresent Never", "terminationMessagePolicy in FallbackToLogsOnError File",
		"ports[].containerPort range 1 65535", "ports[].hostPort range 0 65535", "ports[].protocol in SCTP TCP UDP", "env[].name required", "volumeMounts[].name required",
		"volumeMounts[].mountPath required", "livenessProbe.successThreshold range 1 1"}
	lines := []string{"containers required", "restartPolicy in Always Never OnFailure", "dnsPolicy in ClusterFirst ClusterFirstWithHostNet Default None", "nodeSelector labels",
		"terminationGracePeriodSeconds min 0", "activeDeadlineSeconds range 1 2147483647", "serviceAccountName subdomain", "nodeName subdomain", "hostname label", "subdomain label", "volumes[].name required", "volumes[].name label",
		"tolerations[].operator in Equal Exists Gt Lt", "tolerations[].effect in NoExecute NoSchedule PreferNoSchedule", "preemptionPolicy in Never PreemptLowerPriority",
		"topologySpreadConstraints[].whenUnsatisfiable in DoNotSchedule ScheduleAnyway", "topologySpreadConstraints[].topologyKey required", "topologySpreadConstraints[].maxSkew min 1", "imagePullSecrets[].name required",
		"containers[].image required", "initContainers[].image required"}
	for _, list := range []string{"containers[].", "initContainers[].", "ephemeralContainers[]."} {
		for _, c := range container {
			lines = append(lines, list+c)
		}
		for _, probe := range []string{"livenessProbe.", "readinessProbe.", "startupProbe."} {
			for _, n := range []string{"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"} {
				lines = append(lines, list+probe+n+" min 0")
			}
			lines = append(lines, list+probe+"httpGet.port port", list+probe+"tcpSocket.port port")
		}
	}
	return parseChecks(lines)
}

var podRules = sync.OnceValue(podChecks)

// validatePodSpec returns what is wrong with a pod spec at a path.
func validatePodSpec(spec map[string]any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, err := range runChecks(podRules(), spec, nil) {
		err.Field = path.String() + "." + err.Field
		errs = append(errs, err)
	}
	volumes := map[string]bool{}
	for i, v := range objectsAt(spec, "volumes") {
		name := text(v, "name")
		if at := path.Child("volumes").Index(i); volumes[name] {
			errs = append(errs, field.Duplicate(at.Child("name"), name))
		} else if len(v) > 2 {
			errs = append(errs, field.Forbidden(at, "may not specify more than 1 volume type"))
		}
		volumes[name] = true
	}
	names := map[string]bool{}
	for _, list := range [...]string{"containers", "initContainers", "ephemeralContainers"} {
		for i, c := range objectsAt(spec, list) {
			at := path.Child(list).Index(i)
			if name := text(c, "name"); names[name] {
				errs = append(errs, field.Duplicate(at.Child("name"), name))
			} else {
				names[name] = true
			}
			errs = append(errs, validateContainer(c, volumes, at)...)
		}
	}
	return errs
}

func validateContainer(c map[string]any, volumes map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	ports := map[string]bool{}
	for i, p := range objectsAt(c, "ports") {
		name := text(p, "name")
		at := path.Child("ports").Index(i).Child("name")
		if name == "" {
			continue
		}
		for _, m := range utilvalidation.IsValidPortName(name) {
			errs = append(errs, field.Invalid(at, name, m))
		}
		if ports[name] {
			errs = append(errs, field.Duplicate(at, name))
		}
		ports[name] = true
	}
	mounts := map[string]bool{}
	for i, m := range objectsAt(c, "volumeMounts") {
		at := path.Child("volumeMounts").Index(i)
		if name := text(m, "name"); name != "" && !volumes[name] {
			errs = append(errs, field.NotFound(at.Child("name"), name))
		}
		if dir := text(m, "mountPath"); mounts[dir] {
			errs = append(errs, field.Invalid(at.Child("mountPath"), dir, "must be unique"))
		} else {
			mounts[dir] = true
		}
	}
	for i, e := range objectsAt(c, "env") {
		for _, m := range utilvalidation.IsRelaxedEnvVarName(text(e, "name")) {
			errs = append(errs, field.Invalid(path.Child("env").Index(i).Child("name"), text(e, "name"), m))
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := child(c, name); p != nil && p["httpGet"] == nil && p["tcpSocket"] == nil && p["exec"] == nil && p["grpc"] == nil {
			errs = append(errs, field.Required(path.Child(name), "must specify a handler type"))
		}
	}
	return append(errs, validateResources(child(c, "resources"), path.Child("resources"))...)
}

// validateResources: quantities are not negative, and no request is over its
// limit.
func validateResources(r map[string]any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	limits := child(r, "limits")
	for _, list := range [...]string{"limits", "requests"} {
		m := child(r, list)
		for _, name := range keys(m) {
			q, err := apiresource.ParseQuantity(scalarText(m[name]))
			if err != nil {
				continue // Conform has refused it
			}
			at := path.Child(list).Key(name)
			if q.Sign() < 0 {
				errs = append(errs, field.Invalid(at, q.String(), "must be greater than or equal to 0"))
			}
			if limit, err := apiresource.ParseQuantity(scalarText(limits[name])); list == "requests" && err == nil && q.Cmp(limit) > 0 {
				errs = append(errs, field.Invalid(path.Child("requests"), q.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
			}
		}
	}
	return errs
}

const podImmutable = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

func validatePod(obj, old map[string]any) field.ErrorList {
	spec, path := child(obj, "spec"), field.NewPath("spec")
	if old == nil {
		return validatePodSpec(spec, path)
	}
	before := child(old, "spec")
	if reflect.DeepEqual(spec, before) {
		return nil
	}
	errs := validatePodSpec(spec, path)
	for _, list := range [...]string{"containers", "initContainers"} {
		if len(listAt(spec, list)) != len(listAt(before, list)) {
			return append(errs, field.Forbidden(path.Child(list), "pod updates may not add or remove containers"))
		}
	}
	if !reflect.DeepEqual(fixedPodSpec(spec), fixedPodSpec(before)) {
		errs = append(errs, field.Forbidden(path, podImmutable))
	}
	after := listAt(spec, "tolerations")
	for _, t := range listAt(before, "tolerations") {
		if !slices.ContainsFunc(after, func(v any) bool { return reflect.DeepEqual(v, t) }) {
			errs = append(errs, field.Forbidden(path.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds"))
			break
		}
	}
	return errs
}

// fixedPodSpec is the part of a pod spec that an update must not change.
func fixedPodSpec(spec map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range spec {
		switch name {
		case "activeDeadlineSeconds", "tolerations", "ephemeralContainers", "schedulingGates":
			continue
		case "containers", "initContainers":
			var list []any
			for _, c := range objectsAt(spec, name) {
				one := map[string]any{}
				for k, x := range c {
					if k != "image" {
						one[k] = x
					}
				}
				list = append(list, one)
			}
			out[name] = list
		default:
			out[name] = v
		}
	}
	return out
}
