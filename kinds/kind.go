package kinds

import (
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kind is one served group, version and resource. It is immutable and shared:
// callers must not change it or what it points to.
type Kind struct {
	// Group is "" for the core group.
	Group, Version string
	// Resource is the plural name, as in URLs.
	Resource, Singular string
	Kind, ListKind     string
	// APIVersion is "v1" for the core group and "group/version" otherwise.
	APIVersion string
	ShortNames []string
	Categories []string
	// Verbs in the order in which discovery serves them.
	Verbs      []string
	Namespaced bool
	// Custom tells that a definition made this kind.
	Custom bool

	// CreateOnUpdate: PUT of an object that is missing creates it.
	CreateOnUpdate bool
	// UnconditionalUpdate: PUT without a resourceVersion overwrites.
	UnconditionalUpdate bool
	// ReturnsDeleted: DELETE answers with the object and not with a Status.
	ReturnsDeleted bool
	// HasStatus: the status subresource is served.
	HasStatus bool
	// Generation: metadata.generation is kept.
	Generation bool

	// StorageGroup and StorageVersion are of the apiVersion that is in the log.
	// The group differs from Group for a kind that is another form of a kind
	// elsewhere: see ToStorage.
	StorageGroup       string
	StorageVersion     string
	StorageVersionHash string
	Subresources       []Subresource
	// Columns of the Table form, Name first but for events.
	Columns []Column

	// Deprecated tells that a request for this version gets DeprecationWarning
	// as a warning.
	Deprecated         bool
	DeprecationWarning string
	// RemovedRelease is the release ("1.38") that no longer serves a built-in
	// version, or "".
	RemovedRelease string
	// Terminating: the definition is being deleted, nothing can be created.
	Terminating bool
	// Definition is the name of the definition of a custom kind.
	Definition string

	rules      rules
	selectable []selectable // beyond metadata.name and metadata.namespace
	definition *definition  // nil for a built-in kind

	plan     once[*plan]        // of a built-in kind's Go type
	stored   once[*plan]        // of the Go type it is stored as, if another
	paths    once[[]columnPath] // of the columns after the name
	settings once[[]setting]    // the defaults of a built-in kind
	checks   once[[]check]      // the rules of a built-in kind

	attached atomic.Value // see Attach
}

// Subresource is one subresource of a Kind as discovery shows it. Group,
// Version and Kind name what it answers with.
type Subresource struct {
	Name, Group, Version, Kind string
	Verbs                      []string
}

// Column is one column of the Table form of a Kind.
type Column struct {
	Name, Type, Format, Description string
	Priority                        int32
	// JSONPath, such as ".spec.phase", is where the cell is found; "" for the
	// columns of built-in kinds that are computed.
	JSONPath string
}

// ValidateName returns what is wrong with an object's name; nothing if it is
// a good one.
func (k *Kind) ValidateName(name string) []string { return k.rules.name(name, false) }

// ValidateGenerateName returns what is wrong with a prefix of names.
func (k *Kind) ValidateGenerateName(prefix string) []string { return k.rules.name(prefix, true) }

// PrepareCreate sets in obj what the server sets, and the kind's defaults. The
// object must have its name by now.
func (k *Kind) PrepareCreate(obj map[string]any) {
	if k.Custom {
		k.applyDefaults(obj)
		return
	}
	if k.HasStatus && !k.rules.keepStatus {
		k.resetStatus(obj)
	}
	k.applyBuiltin(obj)
	if k.rules.prepareCreate != nil {
		k.rules.prepareCreate(obj)
	}
}

// PrepareUpdate sets in obj what the server sets when old becomes obj by the
// main endpoint, and the kind's defaults. The status is not touched: whoever
// serves the status subresource takes it from old.
func (k *Kind) PrepareUpdate(obj, old map[string]any) {
	if k.Custom {
		k.applyDefaults(obj)
		return
	}
	k.applyBuiltin(obj)
	if k.rules.prepareUpdate != nil {
		k.rules.prepareUpdate(obj, old)
	}
}

// PrepareStatusUpdate sets in obj, which has the status of the request and all
// else of old, the kind's defaults.
func (k *Kind) PrepareStatusUpdate(obj, _ map[string]any) {
	if k.Custom {
		k.applyDefaults(obj)
		return
	}
	k.applyBuiltin(obj)
}

// Validate returns what is wrong with obj by the rules of its kind; old is nil
// on create. Rules that are the same for all kinds are not checked, nor are
// definitions: see Registry.PrepareDefinition.
func (k *Kind) Validate(obj, old map[string]any) field.ErrorList {
	if k.Custom {
		return k.validateCustom(obj, old, false)
	}
	checks := k.checks.get(func() []check { return parseChecks(checksOf(k.Group, k.Resource)) })
	errs := runChecks(checks, obj, old)
	if k.rules.validate != nil {
		errs = append(errs, k.rules.validate(obj, old)...)
	}
	return errs
}

// ValidateStatus returns what is wrong with obj after a write by the status
// endpoint.
func (k *Kind) ValidateStatus(obj, old map[string]any) field.ErrorList {
	if k.Custom {
		return k.validateCustom(obj, old, true)
	}
	return k.Validate(obj, old)
}

// Allows tells whether the kind has the verb ("get", "create", ...).
func (k *Kind) Allows(verb string) bool {
	for _, v := range k.Verbs {
		if v == verb {
			return true
		}
	}
	return false
}

// Subresource returns the subresource called name.
func (k *Kind) Subresource(name string) (Subresource, bool) {
	for _, s := range k.Subresources {
		if s.Name == name {
			return s, true
		}
	}
	return Subresource{}, false
}

// SchemaJSON returns the openAPIV3Schema of a custom kind as its definition
// has it, or nil. The bytes must not be changed.
func (k *Kind) SchemaJSON() []byte {
	if k.definition == nil {
		return nil
	}
	if l := k.definition.schemas[k.Version]; l != nil {
		return l.raw
	}
	return nil
}

// New returns a new value of the Go type of a built-in kind, nil for a custom kind.
func (k *Kind) New() any {
	if k.rules.typ == nil {
		return nil
	}
	return reflect.New(k.rules.typ).Interface()
}

// Attach returns what another package keeps with the kind for as long as the kind is
// served: what make returned the first time. One package attaches one thing; make may
// run more than once when several ask at the same moment.
func (k *Kind) Attach(make func() any) any {
	if have := k.attached.Load(); have != nil {
		return have
	}
	k.attached.CompareAndSwap(nil, make())
	return k.attached.Load()
}
