package kinds

import (
	"math"
	"strconv"
	"unicode/utf8"
)

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
