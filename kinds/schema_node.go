package kinds

import (
	"math"
	"regexp"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// schemaNode is one schema as it is walked: all that pruning and defaults need, and
// of validation what is common. unsure stands for the rest.
type schemaNode struct {
	typ      nodeType
	nullable bool
	preserve bool
	embedded bool
	unsure   bool // there are checks that only the library does

	props       map[string]*schemaNode
	items       *schemaNode // nil: lists' items have no schema
	additional  *schemaNode // of other fields; nil with hasOther: no schema, nothing in them is known
	hasOther    bool
	required    []string
	defaults    []defaultValue // of props
	def         any            // of this value itself
	deepDefault bool           // there are defaults at or below this node

	format             string // of strings: one that strfmt knows
	pattern            *regexp.Regexp
	enum               []any
	min, max           float64 // -Inf and +Inf: none
	openMin, openMax   bool
	minCount, maxCount int // of characters, items or fields; maxCount -1: no limit
	counted            bool
	listKeys           []string // of a map list
	set                bool
}

type defaultValue struct {
	name     string
	value    any
	nullable bool
}

type nodeType uint8

const (
	typeAny nodeType = iota
	typeObject
	typeArray
	typeString
	typeInteger
	typeNumber
	typeBoolean
	typeIntOrString
	typeOther
)

// newNode makes the node of a schema; nil for nil.
func (s *schema) newNode(in *structuralschema.Structural) *schemaNode {
	if in == nil {
		return nil
	}
	n := &schemaNode{
		nullable: in.Nullable, preserve: in.XPreserveUnknownFields, embedded: in.XEmbeddedResource, def: in.Default.Object,
		min: math.Inf(-1), max: math.Inf(1), maxCount: -1, deepDefault: in.Default.Object != nil,
	}
	n.typ = typeOf(in)
	s.embedded = s.embedded || n.embedded
	n.listRules(s, in)
	if v := in.ValueValidation; v != nil {
		n.constrain(v, in)
	}
	n.items = s.newNode(in.Items)
	if in.AdditionalProperties != nil {
		n.hasOther, n.additional = true, s.newNode(in.AdditionalProperties.Structural)
		if n.additional == nil {
			n.unsure = n.unsure || !in.AdditionalProperties.Bool
		}
	}
	if len(in.Properties) > 0 {
		n.props = make(map[string]*schemaNode, len(in.Properties))
	}
	for name := range in.Properties {
		p := in.Properties[name]
		child := s.newNode(&p)
		n.props[name] = child
		n.deepDefault = n.deepDefault || child.deepDefault
		if child.def != nil {
			n.defaults = append(n.defaults, defaultValue{name, child.def, child.nullable})
		}
	}
	n.deepDefault = n.deepDefault || n.items != nil && n.items.deepDefault || n.additional != nil && n.additional.deepDefault
	return n
}

func typeOf(in *structuralschema.Structural) nodeType {
	if in.XIntOrString {
		return typeIntOrString
	}
	switch in.Type {
	case "":
		return typeAny
	case "object":
		return typeObject
	case "array":
		return typeArray
	case "string":
		return typeString
	case "integer":
		return typeInteger
	case "number":
		return typeNumber
	case "boolean":
		return typeBoolean
	}
	return typeOther
}

// listRules takes over what a list's items must be to each other.
func (n *schemaNode) listRules(s *schema, in *structuralschema.Structural) {
	if in.XListType == nil {
		return
	}
	switch *in.XListType {
	case "set":
		n.set, s.lists = true, true
	case "map":
		n.listKeys, s.lists = in.XListMapKeys, true
	}
}

// constrain takes over the validations of a value.
func (n *schemaNode) constrain(v *structuralschema.ValueValidation, in *structuralschema.Structural) {
	n.required = v.Required
	if v.Not != nil || len(v.AllOf) > 0 || len(v.OneOf) > 0 || v.UniqueItems || v.MultipleOf != nil ||
		len(v.AnyOf) > 0 && !(in.XIntOrString && eitherIntOrString(v.AnyOf)) {
		n.unsure = true
	}
	switch {
	case v.Format == "":
	case n.typ == typeInteger && v.Format == "int32":
		n.min, n.max = math.MinInt32, math.MaxInt32
	case n.typ == typeInteger && v.Format == "int64", n.typ == typeNumber && v.Format == "double":
	case n.typ == typeString && strfmt.Default.ContainsName(v.Format):
		n.format = v.Format
	default:
		n.unsure = true
	}
	if v.Pattern != "" {
		var err error
		if n.pattern, err = regexp.Compile(v.Pattern); err != nil {
			n.unsure = true
		}
	}
	for _, e := range v.Enum {
		n.enum = append(n.enum, e.Object)
	}
	if v.Minimum != nil {
		n.min, n.openMin = max(n.min, *v.Minimum), v.ExclusiveMinimum
	}
	if v.Maximum != nil {
		n.max, n.openMax = min(n.max, *v.Maximum), v.ExclusiveMaximum
	}
	switch n.typ {
	case typeString, typeIntOrString:
		n.count(v.MinLength, v.MaxLength)
	case typeArray:
		n.count(v.MinItems, v.MaxItems)
	case typeObject:
		n.count(v.MinProperties, v.MaxProperties)
	}
	if fraction(v.Minimum) || fraction(v.Maximum) { // the library cuts them for whole values, or refuses all
		n.unsure = true
	}
	n.strangers(v)
}

func fraction(f *float64) bool { return f != nil && *f != math.Trunc(*f) }

// strangers makes the node unsure if it has validations of other types than
// its own: they are rare and mostly of no effect.
func (n *schemaNode) strangers(v *structuralschema.ValueValidation) {
	number := v.Minimum != nil || v.Maximum != nil
	str := v.MinLength != nil || v.MaxLength != nil || v.Pattern != ""
	array := v.MinItems != nil || v.MaxItems != nil
	object := v.MinProperties != nil || v.MaxProperties != nil
	either := n.typ == typeIntOrString
	if number && n.typ != typeInteger && n.typ != typeNumber && !either || str && n.typ != typeString && !either || array && n.typ != typeArray || object && n.typ != typeObject {
		n.unsure = true
	}
}

func (n *schemaNode) count(low, high *int64) {
	if low != nil {
		n.counted, n.minCount = true, int(*low)
	}
	if high != nil {
		n.counted, n.maxCount = true, int(*high)
	}
}

// eitherIntOrString tells whether the alternatives are the two that go with
// int-or-string.
func eitherIntOrString(list []structuralschema.NestedValueValidation) bool {
	var types []string
	for i := range list {
		types = append(types, list[i].ForbiddenGenerics.Type)
	}
	slices.Sort(types)
	return slices.Equal(types, []string{"integer", "string"})
}
