package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// ErrNoMetadata is returned by Encode for an object whose metadata is missing
// or is no object.
var ErrNoMetadata = errors.New("encode: metadata is not an object")

// Encode returns the canonical JSON of obj: compact, apiVersion, kind and
// metadata first and then the other fields in order of their bytes, as are the
// fields of every object within; nothing escaped for HTML; floats as
// encoding/json writes them; bytes that are not UTF-8 as U+FFFD.
// metadata.resourceVersion is left out: rvAt is the offset at which
// `"resourceVersion":"N",` belongs. rvAt is -1 if no field of the metadata
// follows it, which cannot be once the object has its uid.
//
// obj is not changed. The result is the caller's, in one allocation.
func Encode(obj map[string]any) (data []byte, rvAt int, err error) {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		return nil, 0, ErrNoMetadata
	}
	e := encoders.Get().(*encoder)
	defer e.release()
	if rvAt, err = e.object(obj, meta); err != nil {
		return nil, 0, err
	}
	return slices.Clone(e.out), rvAt, nil
}

var encoders = sync.Pool{New: func() any { return &encoder{} }}

// encoder is a buffer and a stack of the members of the objects that are open.
type encoder struct {
	out     []byte
	members []member
	depth   int
}

type member struct {
	name  string
	value any
}

const maxKeptBuffer = 1 << 20

func (e *encoder) release() {
	clear(e.members) // what an error left behind
	if cap(e.out) > maxKeptBuffer {
		e.out = nil
	}
	if cap(e.members) > maxStack {
		e.members = nil
	}
	e.out, e.members, e.depth = e.out[:0], e.members[:0], 0
	encoders.Put(e)
}

// object writes the whole object, its head first.
func (e *encoder) object(obj, meta map[string]any) (rvAt int, err error) {
	e.out = append(e.out, '{')
	for _, name := range [...]string{"apiVersion", "kind"} {
		if v, ok := obj[name]; ok {
			if err := e.field(name, v); err != nil {
				return 0, err
			}
			e.out = append(e.out, ',')
		}
	}
	e.out = append(e.out, `"metadata":`...)
	if rvAt, err = e.metadata(meta); err != nil {
		return 0, err
	}
	defer e.pop(0)
	for _, m := range e.sorted(obj) {
		if m.name == "apiVersion" || m.name == "kind" || m.name == "metadata" {
			continue
		}
		e.out = append(e.out, ',')
		if err := e.field(m.name, m.value); err != nil {
			return 0, err
		}
	}
	e.out = append(e.out, '}')
	return rvAt, nil
}

func (e *encoder) metadata(meta map[string]any) (rvAt int, err error) {
	e.out = append(e.out, '{')
	base := len(e.members)
	rvAt = -1
	first := true
	for _, m := range e.sorted(meta) {
		if m.name == resourceVersion {
			continue
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		if rvAt < 0 && m.name > resourceVersion {
			rvAt = len(e.out)
		}
		if err := e.field(m.name, m.value); err != nil {
			return 0, err
		}
	}
	e.pop(base)
	e.out = append(e.out, '}')
	return rvAt, nil
}

const resourceVersion = "resourceVersion"

// sorted puts the members of m on the stack, in order.
func (e *encoder) sorted(m map[string]any) []member {
	base := len(e.members)
	for name, value := range m {
		e.members = append(e.members, member{name, value})
	}
	ms := e.members[base:]
	slices.SortFunc(ms, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return ms
}

// pop drops the members above base, and lets go of what they hold.
func (e *encoder) pop(base int) {
	clear(e.members[base:])
	e.members = e.members[:base]
}

func (e *encoder) field(name string, v any) error {
	e.string(name)
	e.out = append(e.out, ':')
	return e.value(v)
}

func (e *encoder) value(v any) error {
	switch v := v.(type) {
	case string:
		e.string(v)
	case map[string]any:
		return e.mapping(v)
	case []any:
		return e.list(v)
	case int64:
		e.out = strconv.AppendInt(e.out, v, 10)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case float64:
		return e.float(v)
	case nil:
		e.out = append(e.out, "null"...)
	default:
		return e.unusual(v)
	}
	return nil
}

// maxEncodeDepth is what sigs.k8s.io/json lets in.
const maxEncodeDepth = 10000

func (e *encoder) mapping(m map[string]any) error {
	if m == nil {
		e.out = append(e.out, "null"...)
		return nil
	}
	if e.depth++; e.depth > maxEncodeDepth {
		return errors.New("encode: nested too deeply")
	}
	e.out = append(e.out, '{')
	base := len(e.members)
	for i, f := range e.sorted(m) {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.field(f.name, f.value); err != nil {
			return err
		}
	}
	e.pop(base)
	e.depth--
	e.out = append(e.out, '}')
	return nil
}

func (e *encoder) list(list []any) error {
	if list == nil {
		e.out = append(e.out, "null"...)
		return nil
	}
	if e.depth++; e.depth > maxEncodeDepth {
		return errors.New("encode: nested too deeply")
	}
	e.out = append(e.out, '[')
	for i, v := range list {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(v); err != nil {
			return err
		}
	}
	e.depth--
	e.out = append(e.out, ']')
	return nil
}

// float writes f as encoding/json does, which is ES6's way.
func (e *encoder) float(f float64) error {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Errorf("encode: %v is no JSON number", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	e.out = strconv.AppendFloat(e.out, f, format, -1, 64)
	if n := len(e.out); format == 'e' && e.out[n-4] == 'e' && e.out[n-3] == '-' && e.out[n-2] == '0' {
		e.out[n-2] = e.out[n-1] // e-09 to e-9
		e.out = e.out[:n-1]
	}
	return nil
}

// unusual writes what decoders of JSON do not make but other code might.
func (e *encoder) unusual(v any) error {
	switch v := v.(type) {
	case int:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case int32:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return e.list(list)
	case map[string]string:
		m := make(map[string]any, len(v))
		for k, s := range v {
			m[k] = s
		}
		return e.mapping(m)
	default: // json.Number too, which has to be checked
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		e.out = append(e.out, data...)
	}
	return nil
}

func (e *encoder) string(s string) {
	e.out = append(e.out, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			e.out = append(e.out, s[start:i]...)
			e.escape(c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
			e.out = append(e.out, s[start:i]...)
			switch r {
			case '\u2028':
				e.out = append(e.out, `\u2028`...)
			case '\u2029':
				e.out = append(e.out, `\u2029`...)
			default:
				e.out = append(e.out, `\ufffd`...)
			}
			start = i + n
		}
		i += n
	}
	e.out = append(e.out, s[start:]...)
	e.out = append(e.out, '"')
}

func (e *encoder) escape(c byte) {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		e.out = append(e.out, '\\', c)
	case '\b':
		e.out = append(e.out, '\\', 'b')
	case '\f':
		e.out = append(e.out, '\\', 'f')
	case '\n':
		e.out = append(e.out, '\\', 'n')
	case '\r':
		e.out = append(e.out, '\\', 'r')
	case '\t':
		e.out = append(e.out, '\\', 't')
	default:
		e.out = append(e.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
}
