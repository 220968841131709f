package kinds

import (
	"errors"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

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

// intern returns b as a string, one that exists already if it can.
func (d *decoder) intern(b []byte) string {
	if s, ok := d.keys[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(s) > maxKeyLen {
		return s
	}
	if len(d.keys) >= maxInterned { // start again, lest odd names crowd out the usual
		clear(d.keys)
	}
	d.keys[s] = s
	return s
}

// string reads a string behind its quote. The bytes are good until the next
// call.
func (d *decoder) string() ([]byte, bool) {
	in := d.in
	start := d.pos
	for i := start; i < len(in); i++ {
		if plain[in[i]] {
			continue
		}
		if in[i] == '"' {
			d.pos = i + 1
			return in[start:i], true
		}
		if in[i] < ' ' {
			return nil, false
		}
		return d.escaped(start, i)
	}
	return nil, false
}

// escaped reads on a string that starts at start and has its first escape, or
// byte beyond ASCII, at i.
func (d *decoder) escaped(start, i int) ([]byte, bool) {
	in := d.in
	out := append(d.text[:0], in[start:i]...)
	for i < len(in) {
		c := in[i]
		switch {
		case c == '"':
			d.pos, d.text = i+1, out
			return out, true
		case c < ' ':
			return nil, false
		case c == '\\':
			r, n := unescape(in[i:])
			if n == 0 {
				return nil, false
			}
			out = utf8.AppendRune(out, r)
			i += n
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default: // a bad sequence gives U+FFFD for its first byte
			r, n := utf8.DecodeRune(in[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return nil, false
}

// unescape reads the escape at the start of in; n is its length, 0 if bad.
// Halves of a surrogate pair that stand alone give U+FFFD.
func unescape(in []byte) (r rune, n int) {
	if len(in) < 2 {
		return 0, 0
	}
	switch in[1] {
	case '"', '\\', '/':
		return rune(in[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		u := hex4(in)
		switch {
		case u < 0:
			return 0, 0
		case u < 0xd800 || u > 0xdfff:
			return u, 6
		case u < 0xdc00:
			if low := hex4(in[6:]); low >= 0xdc00 && low <= 0xdfff {
				return (u-0xd800)<<10 | (low - 0xdc00) + 0x10000, 12
			}
		}
		return utf8.RuneError, 6
	}
	return 0, 0
}

// hex4 reads \uXXXX; -1 if there is none.
func hex4(in []byte) rune {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range in[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// number reads a number by JSON's grammar. Out of range is left to the slow
// path.
func (d *decoder) number() (any, bool) {
	start := d.pos
	if d.peek() == '-' {
		d.pos++
	}
	switch c := d.peek(); {
	case c == '0':
		d.pos++
	case '1' <= c && c <= '9':
		d.digits()
	default:
		return nil, false
	}
	whole := true
	if d.peek() == '.' {
		whole = false
		d.pos++
		if !d.digits() {
			return nil, false
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		whole = false
		d.pos++
		if c := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if !d.digits() {
			return nil, false
		}
	}
	s := d.in[start:d.pos]
	if whole {
		if i, ok := parseInt(s); ok {
			return i, true
		}
	}
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, false
	}
	return f, true
}

func (d *decoder) digits() bool {
	start := d.pos
	for d.pos < len(d.in) && '0' <= d.in[d.pos] && d.in[d.pos] <= '9' {
		d.pos++
	}
	return d.pos > start
}

// parseInt reads a whole number that fits an int64.
func parseInt(s []byte) (int64, bool) {
	if len(s) > 18 {
		i, err := strconv.ParseInt(string(s), 10, 64)
		return i, err == nil
	}
	negative := s[0] == '-'
	if negative {
		s = s[1:]
	}
	var i int64
	for _, c := range s {
		i = i*10 + int64(c-'0')
	}
	if negative {
		i = -i
	}
	return i, true
}

// skip steps over a value and returns its bytes. Only brackets, strings and
// literals are told apart: the value comes from a document that was decoded
// before it was stored.
func (d *decoder) skip() (any, bool) {
	d.space()
	start, depth := d.pos, 0
	for d.pos < len(d.in) {
		switch c := d.in[d.pos]; c {
		case '"':
			if !d.skipString() {
				return nil, false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return d.in[start:d.pos:d.pos], d.pos > start
			}
			if c != ',' {
				depth--
			}
		}
		d.pos++
	}
	return nil, false
}

func (d *decoder) skipString() bool {
	for i := d.pos + 1; i < len(d.in); i++ {
		switch d.in[i] {
		case '\\':
			i++
		case '"':
			d.pos = i + 1
			return true
		}
	}
	return false
}
