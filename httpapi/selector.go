package httpapi

import (
	"slices"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kronicle/kronicle/kinds"
	"github.com/kronicle/kronicle/projections"
)

// A filter is what a list, a watch or a deletecollection selects.
type filter struct {
	namespace string // "" is all
	name      string // "" is any; from the field selector or the path
	labels    []labelRule
	fields    fields.Selector
	kind      *kinds.Kind
	none      bool // two requirements exclude each other
}

// filter reads the selectors of the options.
func (q *request) filter(o *metainternalversion.ListOptions) (filter, error) {
	f := filter{namespace: q.namespace, kind: q.kind}
	if o.LabelSelector != nil && !o.LabelSelector.Empty() {
		f.labels = labelRules(o.LabelSelector)
	}
	sel := o.FieldSelector
	if q.name != "" { // a deprecated /watch/ path
		if sel == nil || sel.Empty() {
			sel = fields.OneTermEqualSelector("metadata.name", q.name)
		} else if v, ok := sel.RequiresExactMatch("metadata.name"); !ok || v != q.name {
			return f, badRequest("fieldSelector metadata.name doesn't match requested name")
		}
	}
	if sel == nil || sel.Empty() {
		return f, nil
	}
	for _, r := range sel.Requirements() {
		if !slices.Contains(q.kind.FieldLabels(), r.Field) {
			return f, badRequest("field label not supported: %s", r.Field)
		}
		if r.Operator == selection.NotEquals {
			f.fields = sel
			continue
		}
		f.take(r.Field, r.Value, sel)
	}
	return f, nil
}

// take makes use of an exact match, which a tree answers without a walk.
func (f *filter) take(label, value string, whole fields.Selector) {
	switch label {
	case "metadata.name":
		f.none = f.none || f.name != "" && f.name != value
		f.name = value
	case "metadata.namespace":
		f.none = f.none || f.namespace != "" && f.namespace != value
		f.namespace = value
	default:
		f.fields = whole
	}
}

// selective tells whether the filter leaves anything out of its namespace.
func (f *filter) selective() bool {
	return f.labels != nil || f.fields != nil || f.name != "" || f.none
}

// matches tells whether the filter selects o; nil is never selected.
func (f *filter) matches(o *projections.Object) bool {
	if o == nil || f.none || f.namespace != "" && o.Namespace() != f.namespace || f.name != "" && o.Name() != f.name {
		return false
	}
	for i := range f.labels {
		if !f.labels[i].matches(o) {
			return false
		}
	}
	return f.fields == nil || f.fields.Matches(fieldsOf{o, f.kind})
}

// labelsOf lets selectors read the labels of an object without a map.
type labelsOf struct{ o *projections.Object }

func (l labelsOf) Has(key string) bool { _, ok := l.o.Label(key); return ok }

func (l labelsOf) Get(key string) string { v, _ := l.o.Label(key); return v }

func (l labelsOf) Lookup(key string) (string, bool) { return l.o.Label(key) }

// fieldsOf lets selectors read the selectable fields of an object.
type fieldsOf struct {
	o    *projections.Object
	kind *kinds.Kind
}

func (f fieldsOf) Has(string) bool { return true }

func (f fieldsOf) Get(label string) string {
	switch label {
	case "metadata.name":
		return f.o.Name()
	case "metadata.namespace":
		return f.o.Namespace()
	}
	v, _ := f.kind.FieldJSON(f.o.JSON(), label)
	return v
}
