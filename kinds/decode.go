package kinds

import (
	"errors"
	"sync"

	sigsjson "sigs.k8s.io/json"
)

// DecodeJSON decodes an object: map[string]any, []any, string, bool, nil,
// int64 for whole numbers that fit and float64 for the rest. strict are the
// faults that are forgiven unless asked otherwise: fields given twice, with
// their paths.
//
// A clean document, which is nearly every one, is read by the decoder below.
// Whatever that one does not like (bad syntax, duplicate fields, extreme
// nesting) is left to sigs.k8s.io/json from the start, so that errors, their
// texts and the rule which of two duplicates wins are its own.
func DecodeJSON(body []byte) (obj map[string]any, strict []error, err error) {
	d := decoders.Get().(*decoder)
	obj, ok := d.object(body)
	d.release()
	if ok {
		return obj, nil, nil
	}
	obj = nil
	strict, err = sigsjson.UnmarshalStrict(body, &obj)
	if err == nil && obj == nil {
		err = errors.New("the body is null and not an object")
	}
	return obj, strict, err
}

// decodeFrame decodes a document of which the caller needs only a part: the
// values of fields called raw, wherever they are, are returned as undecoded
// []byte, sub-slices of body. It accepts clean documents only.
func decodeFrame(body []byte, raw string) (map[string]any, bool) {
	d := decoders.Get().(*decoder)
	d.raw = raw
	obj, ok := d.object(body)
	d.raw = ""
	d.release()
	return obj, ok
}

const (
	maxDepth    = 1000 // deeper documents take the slow path, which allows 10,000
	maxInterned = 2048 // different field names a decoder remembers
	maxKeyLen   = 64   // longer field names are not remembered
	maxStack    = 1 << 10
)

var decoders = sync.Pool{New: func() any { return &decoder{keys: map[string]string{}} }}

// decoder reads one document at a time. The stacks hold the members of the
// objects and arrays that are open, so that maps and slices are made once, of
// the right size.
type decoder struct {
	in     []byte
	pos    int
	depth  int
	raw    string
	names  []string
	values []any
	text   []byte            // of strings with escapes
	keys   map[string]string // field names seen, so that they are not made again
}

func (d *decoder) release() {
	d.in = nil
	clear(d.names) // what a broken document left behind
	clear(d.values)
	d.names, d.values = d.names[:0], d.values[:0]
	if cap(d.values) > maxStack {
		d.names, d.values = nil, nil
	}
	if cap(d.text) > maxStack {
		d.text = nil
	}
	decoders.Put(d)
}

func (d *decoder) object(body []byte) (map[string]any, bool) {
	d.in, d.pos, d.depth = body, 0, 0
	d.space()
	if d.peek() != '{' {
		return nil, false
	}
	d.pos++
	m, ok := d.members()
	if !ok {
		return nil, false
	}
	d.space()
	return m, d.pos == len(d.in)
}

func (d *decoder) peek() byte {
	if d.pos < len(d.in) {
		return d.in[d.pos]
	}
	return 0
}

func (d *decoder) space() {
	for d.pos < len(d.in) {
		switch d.in[d.pos] {
		case ' ', '\n', '\t', '\r':
			d.pos++
		default:
			return
		}
	}
}

// next skips space and takes the byte c if it comes next.
func (d *decoder) next(c byte) bool {
	d.space()
	if d.peek() != c {
		return false
	}
	d.pos++
	return true
}

func (d *decoder) value() (any, bool) {
	d.space()
	switch c := d.peek(); c {
	case '"':
		d.pos++
		b, ok := d.string()
		if !ok {
			return nil, false
		}
		return string(b), true
	case '{':
		d.pos++
		m, ok := d.members()
		if !ok {
			return nil, false
		}
		return m, true
	case '[':
		d.pos++
		return d.elements()
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	default:
		return d.number()
	}
}

func (d *decoder) literal(s string) bool {
	if len(d.in)-d.pos < len(s) || string(d.in[d.pos:d.pos+len(s)]) != s {
		return false
	}
	d.pos += len(s)
	return true
}

// members reads an object behind its brace. ok is false for a field that
// comes twice too.
func (d *decoder) members() (map[string]any, bool) {
	if d.depth++; d.depth > maxDepth {
		return nil, false
	}
	base := len(d.names)
	vbase := len(d.values)
	if !d.next('}') {
		for {
			if !d.next('"') {
				return nil, false
			}
			b, ok := d.string()
			if !ok {
				return nil, false
			}
			name := d.intern(b)
			if !d.next(':') {
				return nil, false
			}
			var v any
			if d.raw != "" && name == d.raw {
				v, ok = d.skip()
			} else {
				v, ok = d.value()
			}
			if !ok {
				return nil, false
			}
			d.names = append(d.names, name)
			d.values = append(d.values, v)
			if d.next(',') {
				continue
			}
			if d.next('}') {
				break
			}
			return nil, false
		}
	}
	names, values := d.names[base:], d.values[vbase:]
	m := make(map[string]any, len(names))
	for i, name := range names {
		m[name] = values[i]
	}
	clear(names)
	clear(values)
	d.names, d.values = d.names[:base], d.values[:vbase]
	d.depth--
	return m, len(m) == len(names)
}

// elements reads an array behind its bracket.
func (d *decoder) elements() (any, bool) {
	if d.depth++; d.depth > maxDepth {
		return nil, false
	}
	base := len(d.values)
	if !d.next(']') {
		for {
			v, ok := d.value()
			if !ok {
				return nil, false
			}
			d.values = append(d.values, v)
			if d.next(',') {
				continue
			}
			if d.next(']') {
				break
			}
			return nil, false
		}
	}
	list := make([]any, len(d.values)-base)
	copy(list, d.values[base:])
	clear(d.values[base:])
	d.values = d.values[:base]
	d.depth--
	return list, true
}
