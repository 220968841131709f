package kinds

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateController checks the pod template of an object, and that its
// selector selects the pods that the template makes.
func validateController(obj, old map[string]any) field.ErrorList {
	group, _ := splitAPI(text(obj, "apiVersion"))
	template := templateOf(text(obj, "kind"), obj)
	path := field.NewPath("spec", "template")
	if text(obj, "kind") == "PodTemplate" {
		path = field.NewPath("template")
	}
	errs := validateTemplate(template, path)
	if text(obj, "kind") == "PodTemplate" {
		return errs
	}
	set := labels.Set{}
	for name, v := range objectAt(template, "metadata", "labels") {
		set[name], _ = v.(string)
	}
	if m := objectAt(obj, "spec", "selector"); m != nil {
		if selector := selectorOf(group, m); selector != nil && !selector.Empty() && !selector.Matches(set) {
			errs = append(errs, field.Invalid(path.Child("metadata", "labels"), objectAt(template, "metadata", "labels"), "`selector` does not match template `labels`"))
		}
	}
	if policy := textAt(template, "spec", "restartPolicy"); policy != "Always" && policy != "" {
		errs = append(errs, field.NotSupported(path.Child("spec", "restartPolicy"), policy, []string{"Always"}))
	}
	return errs
}

// selectorOf reads a selector: of labels alone in the core group.
func selectorOf(group string, m map[string]any) labels.Selector {
	if group == "" {
		set := labels.Set{}
		for name := range m {
			set[name] = text(m, name)
		}
		return set.AsSelectorPreValidated()
	}
	s, err := labelSelector(m)
	if err != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil
	}
	return selector
}

func validateTemplate(template map[string]any, path *field.Path) field.ErrorList {
	errs := validLabels(nil, objectAt(template, "metadata", "labels"), path.Child("metadata", "labels"))
	return append(errs, validatePodSpec(child(template, "spec"), path.Child("spec"))...)
}

func validateStatefulSet(obj, old map[string]any) field.ErrorList {
	errs := validateController(obj, old)
	if old == nil {
		return errs
	}
	mutable := []string{"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}
	spec, before := child(obj, "spec"), child(old, "spec")
	for _, m := range []map[string]any{spec, before} {
		for name := range m {
			if !slices.Contains(mutable, name) && !reflect.DeepEqual(spec[name], before[name]) {
				return append(errs, field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
			}
		}
	}
	return errs
}

func validateJob(obj, old map[string]any) field.ErrorList {
	spec, path := child(obj, "spec"), field.NewPath("spec")
	errs := validateJobTemplate(spec, path)
	if old == nil {
		return errs
	}
	before := child(old, "spec")
	// The template of a job that is suspended and has not started may change.
	if at(old, "spec", "suspend") == true && textAt(old, "status", "startTime") == "" {
		return errs
	}
	if !reflect.DeepEqual(spec["template"], before["template"]) {
		errs = append(errs, field.Invalid(path.Child("template"), spec["template"], "field is immutable"))
	}
	if text(spec, "completionMode") != "Indexed" && !reflect.DeepEqual(spec["completions"], before["completions"]) {
		errs = append(errs, field.Invalid(path.Child("completions"), spec["completions"], "field is immutable"))
	}
	return errs
}

// validateJobTemplate checks what jobs and the templates of cron jobs share.
func validateJobTemplate(spec map[string]any, path *field.Path) field.ErrorList {
	template := path.Child("template")
	errs := validateTemplate(child(spec, "template"), template)
	if policy := textAt(spec, "template", "spec", "restartPolicy"); policy != "OnFailure" && policy != "Never" {
		at := template.Child("spec", "restartPolicy")
		errs = slices.DeleteFunc(errs, func(err *field.Error) bool { return err.Field == at.String() })
		errs = append(errs, field.Required(at, "valid values: \"OnFailure\", \"Never\""))
	}
	if text(spec, "completionMode") == "Indexed" && spec["completions"] == nil {
		errs = append(errs, field.Required(path.Child("completions"), "when completion mode is Indexed"))
	}
	return errs
}

// validateCronJob: the name leaves room for the suffix of its jobs' names.
func validateCronJob(obj, old map[string]any) field.ErrorList {
	const maxName = 63 - 11
	errs := validateJobTemplate(objectAt(obj, "spec", "jobTemplate", "spec"), field.NewPath("spec", "jobTemplate", "spec"))
	if name := textAt(obj, "metadata", "name"); old == nil && len(name) > maxName {
		errs = append(errs, field.Invalid(field.NewPath("metadata").Child("name"), name, "must be no more than 52 characters"))
	}
	path := field.NewPath("spec")
	if s := textAt(obj, "spec", "schedule"); s != "" && !cronSchedule(s) {
		errs = append(errs, field.Invalid(path.Child("schedule"), s, "expected a schedule of five fields, or one such as @hourly"))
	}
	if strings.Contains(textAt(obj, "spec", "schedule"), "TZ") {
		errs = append(errs, field.Invalid(path.Child("schedule"), textAt(obj, "spec", "schedule"), "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
	return errs
}

// cronSchedule tells whether s looks like a schedule.
func cronSchedule(s string) bool {
	if strings.HasPrefix(s, "@") {
		name, rest, _ := strings.Cut(s, " ")
		return name == "@every" && rest != "" || slices.Contains([]string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}, s)
	}
	fields := strings.Fields(s)
	if len(fields) > 0 && (strings.HasPrefix(fields[0], "TZ=") || strings.HasPrefix(fields[0], "CRON_TZ=")) {
		fields = fields[1:]
	}
	if len(fields) != 5 {
		return false
	}
	for _, f := range fields {
		if strings.Trim(strings.ToLower(f), "0123456789*/,-?abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return true
}
