package kinds

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rules is what is special about one kind. Every function may be nil but name.
type rules struct {
	name          validation.ValidateNameFunc
	prepareCreate func(obj map[string]any)
	prepareUpdate func(obj, old map[string]any)
	validate      func(obj, old map[string]any) field.ErrorList
	// defaults sets those that settingsOf cannot tell.
	defaults func(obj map[string]any)
	// keepStatus: a new object may bring its status.
	keepStatus bool
	// typ is the Go type of a built-in kind; nil for custom kinds, of which
	// only the metadata has a type.
	typ reflect.Type
	// cells gives the cells after the name; nil: by the columns' JSON paths.
	cells func(obj map[string]any, now time.Time) []any
	// nameless: the name is not the first cell but where cells has it, last.
	nameless bool
	// convert is set for kinds that are stored in another form.
	convert *conversion
	// scale says where a Scale is found; nil without that subresource.
	scale *scalePaths
}

// customRules are those of every custom kind.
func customRules() rules { return rules{name: validation.NameIsDNSSubdomain} }

// child returns the object at key in obj, or nil.
func child(obj map[string]any, key string) map[string]any {
	m, _ := obj[key].(map[string]any)
	return m
}

// ensure returns the object at key in obj, made if it is not there.
func ensure(obj map[string]any, key string) map[string]any {
	m, ok := obj[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		obj[key] = m
	}
	return m
}

// text returns the string at key in obj, or "".
func text(obj map[string]any, key string) string {
	s, _ := obj[key].(string)
	return s
}
