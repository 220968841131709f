package kinds

import (
	"slices"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// certain tells whether v is valid for sure: lists and all that the library
// checks but its rules (CEL) and embedded metadata. False says nothing, the
// library has to be asked.
func (n *schemaNode) certain(v any) bool {
	if n == nil {
		return true
	}
	if n.unsure {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		return (n.typ == typeObject || n.typ == typeAny) && n.certainObject(v)
	case []any:
		return (n.typ == typeArray || n.typ == typeAny) && n.certainList(v)
	case string:
		return (n.typ == typeString || n.typ == typeAny || n.typ == typeIntOrString) && n.certainString(v)
	case int64:
		return (n.typ == typeInteger || n.typ == typeNumber || n.typ == typeAny || n.typ == typeIntOrString) &&
			n.includes(v) && n.listed(v)
	case float64:
		return (n.typ == typeNumber || n.typ == typeAny) && n.inRange(v) && n.listed(v)
	case bool:
		return (n.typ == typeBoolean || n.typ == typeAny) && n.listed(v)
	case nil:
		return n.nullable && len(n.enum) == 0
	}
	return false
}

// includes tells whether an integer lies within the bounds, which are floats: one that
// a float cannot hold exactly does for sure if its float lies between them.
func (n *schemaNode) includes(v int64) bool {
	const exact = 1 << 53
	f := float64(v)
	if v > -exact && v < exact {
		return n.inRange(f)
	}
	return f > n.min && f < n.max
}

func (n *schemaNode) inRange(f float64) bool {
	return f >= n.min && f <= n.max && !(n.openMin && f == n.min) && !(n.openMax && f == n.max)
}

// listed tells whether a scalar is one of those enumerated, if any are.
func (n *schemaNode) listed(v any) bool { return len(n.enum) == 0 || slices.Contains(n.scalars(), v) }

// scalars returns the enumerated values; comparing an object among them would
// panic, so then there are none.
func (n *schemaNode) scalars() []any {
	for _, e := range n.enum {
		if !isScalar(e) {
			return nil
		}
	}
	return n.enum
}

func (n *schemaNode) inCount(length int) bool {
	return !n.counted || length >= n.minCount && (n.maxCount < 0 || length <= n.maxCount)
}

func (n *schemaNode) certainString(s string) bool {
	if n.counted && !n.inCount(utf8.RuneCountInString(s)) || n.pattern != nil && !n.pattern.MatchString(s) {
		return false
	}
	if n.format != "" && !strfmt.Default.Validates(n.format, s) {
		return false
	}
	return n.listed(s)
}

func (n *schemaNode) certainObject(m map[string]any) bool {
	if !n.inCount(len(m)) || len(n.enum) > 0 {
		return false
	}
	for _, name := range n.required {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	for name, v := range m {
		if p, ok := n.props[name]; ok {
			if !p.certain(v) {
				return false
			}
		} else if !n.additional.certain(v) {
			return false
		}
	}
	return true
}

// maxCompared is how many items of a set or map list are compared in pairs.
const maxCompared = 64

func (n *schemaNode) certainList(list []any) bool {
	if !n.inCount(len(list)) || len(n.enum) > 0 {
		return false
	}
	for _, v := range list {
		if !n.items.certain(v) {
			return false
		}
	}
	if !n.set && n.listKeys == nil {
		return true
	}
	if len(list) > maxCompared {
		return false
	}
	for i, v := range list {
		for _, other := range list[:i] {
			if !n.different(v, other) {
				return false
			}
		}
		if i == 0 && !n.different(v, nil) { // a lone item has its keys too
			return false
		}
	}
	return true
}

// different tells whether two items of a set or map list are different for
// sure: of scalars, and of keys that are strings, the library thinks alike.
func (n *schemaNode) different(a, b any) bool {
	if n.set {
		s, ok := a.(string)
		return ok && (b == nil || isScalar(b) && b != any(s))
	}
	x, ok := a.(map[string]any)
	if !ok {
		return false
	}
	y, _ := b.(map[string]any)
	distinct := b == nil
	for _, key := range n.listKeys {
		s, ok := x[key].(string)
		if !ok {
			return false
		}
		if y != nil && y[key] != any(s) {
			distinct = true
		}
	}
	return distinct
}
