package kinds

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"
)

// TypeError tells that an object cannot be one of its kind: a value is of
// another type than the field's. It is the client's fault (400).
type TypeError struct {
	Kind, Version string
	Err           error
}

// Error is the text kube-apiserver answers with.
func (e *TypeError) Error() string {
	return fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", e.Kind, e.Version, e.Kind, e.Err)
}

func (e *TypeError) Unwrap() error { return e.Err }

// Conform makes obj what a server with the Go type of the kind would have made
// of it: fields that the type does not have are dropped, and reported in
// strict by their paths; nulls and empty values are dropped where the type
// omits them, and empty ones put where it does not; times are in UTC. A value
// of a wrong type is a *TypeError. Of a custom kind the metadata has a type and
// the rest is pruned by its schema. obj is changed in place, also when there is an error.
func (k *Kind) Conform(obj map[string]any) (strict []error, err error) {
	if k.rules.typ == nil {
		return k.conformCustom(obj)
	}
	f := fitter{}
	if _, ok := f.fit(k.goPlan(), obj); ok {
		return f.strict(), nil
	}
	value, err := roundTrip(k.rules.typ, obj)
	if err != nil {
		return nil, &TypeError{Kind: k.Kind, Version: k.Version, Err: err}
	}
	if typed, ok := value.(map[string]any); ok {
		clear(obj)
		for name, v := range typed {
			obj[name] = v
		}
	}
	return f.strict(), nil
}

// goPlan is the plan of a built-in kind's Go type, made at first use.
func (k *Kind) goPlan() *plan {
	return k.plan.get(func() *plan { return makePlan(k.rules.typ, map[reflect.Type]*plan{}) })
}

// CheckTypes is Conform for callers who forgive unknown fields.
func (k *Kind) CheckTypes(obj map[string]any) error {
	_, err := k.Conform(obj)
	return err
}

// CheckMeta does for the metadata of an object of any kind what Conform does
// for all of it.
func CheckMeta(obj map[string]any) error {
	kind, version := text(obj, "kind"), text(obj, "apiVersion")
	version = version[strings.LastIndexByte(version, '/')+1:]
	_, err := conformMeta(obj, kind, version)
	return err
}

var metaType = reflect.TypeFor[metav1.ObjectMeta]()

func conformMeta(obj map[string]any, kind, version string) ([]error, error) {
	meta, ok := obj["metadata"]
	if !ok {
		return nil, nil
	}
	f := fitter{path: []string{"metadata"}}
	if meta != nil {
		if _, ok = f.fit(metaPlan(), meta); ok {
			return f.strict(), nil
		}
	}
	value, err := roundTrip(metaType, meta)
	if err != nil {
		return nil, &TypeError{Kind: kind, Version: version, Err: err}
	}
	obj["metadata"] = value
	return f.strict(), nil
}

// roundTrip decodes a value into a Go type and back, for the values that are
// not worth code of their own and for the texts of errors.
func roundTrip(t reflect.Type, v any) (any, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.value(v); err != nil {
		return nil, err
	}
	into := reflect.New(t)
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(e.out, into.Interface()); err != nil {
		return nil, err
	}
	data, err := json.Marshal(into.Interface())
	if err != nil {
		return nil, err
	}
	var out any
	err = sigsjson.UnmarshalCaseSensitivePreserveInts(data, &out)
	return out, err
}

// metaPlan is the plan of the metadata, made at first use.
var metaPlan = sync.OnceValue(func() *plan { return makePlan(metaType, map[reflect.Type]*plan{}) })

// fitter walks one object along a plan.
type fitter struct {
	path    []string
	unknown []string
}

// strict returns the unknown fields as errors, in order.
func (f *fitter) strict() []error {
	if len(f.unknown) == 0 {
		return nil
	}
	slices.Sort(f.unknown)
	errs := make([]error, 0, min(len(f.unknown), maxStrict))
	for _, path := range f.unknown[:cap(errs)] {
		errs = append(errs, fmt.Errorf("unknown field %q", path))
	}
	return errs
}

const maxStrict = 100 // as many as sigs.k8s.io/json reports

// note remembers an unknown field.
func (f *fitter) note(name string) {
	if len(f.unknown) > 10*maxStrict {
		return
	}
	path := ""
	for _, p := range f.path {
		if path != "" && p[0] != '[' {
			path += "."
		}
		path += p
	}
	if path != "" {
		path += "."
	}
	f.unknown = append(f.unknown, path+name)
}
