package httpapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kronicle/kronicle/projections"
)

// A labelRule is one requirement of a label selector, taken apart so that an object
// is asked once for the label: a selection looks at every object of a collection.
type labelRule struct {
	key    string
	op     selection.Operator
	values []string
	whole  labels.Requirement // for the operators that are rare
}

func labelRules(s labels.Selector) []labelRule {
	reqs, selectable := s.Requirements()
	if !selectable {
		return []labelRule{{op: selection.In}} // selects nothing: no value is allowed
	}
	rules := make([]labelRule, len(reqs))
	for i, r := range reqs {
		rules[i] = labelRule{key: r.Key(), op: r.Operator(), values: r.ValuesUnsorted(), whole: r}
	}
	return rules
}

// matches is labels.Requirement.Matches.
func (r *labelRule) matches(o *projections.Object) bool {
	switch r.op {
	case selection.In, selection.Equals, selection.DoubleEquals:
		v, ok := o.Label(r.key)
		return ok && slices.Contains(r.values, v)
	case selection.NotIn, selection.NotEquals:
		v, ok := o.Label(r.key)
		return !ok || !slices.Contains(r.values, v)
	case selection.Exists:
		_, ok := o.Label(r.key)
		return ok
	case selection.DoesNotExist:
		_, ok := o.Label(r.key)
		return !ok
	}
	return r.whole.Matches(labelsOf{o})
}
