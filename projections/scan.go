package projections

import (
	"bytes"
	"errors"
)

// span is a piece of an object's JSON.
type span struct{ off, len int }

// metadata is what the projections know of an object beyond its bytes. The
// spans index the JSON that was scanned; nothing is decoded or copied.
type metadata struct {
	uid        span // without its quotes
	labels     span // the object including its braces
	owners     span // the array including its brackets
	version    span // with its quotes
	finalizers int
	deleting   bool
	escaped    bool // uid, labels or owners hold a backslash: spans cannot be used as they are
}

var errMalformed = errors.New("malformed object JSON")

// scanMetadata walks the top level of an object up to its metadata and through
// that, and no further. It is a scanner of its own because a general JSON
// library either decodes (which costs more than the object) or copies.
func scanMetadata(json []byte) (metadata, error) {
	var m metadata
	s := scanner{b: json}
	found := false
	ok := s.members(func(key []byte) bool {
		if string(key) != "metadata" {
			return s.value()
		}
		found = true
		s.stop = s.metadata(&m)
		return s.stop
	})
	if !ok {
		return metadata{}, errMalformed
	}
	if !found {
		return metadata{}, errors.New("object JSON has no metadata")
	}
	return m, nil
}

// scanner reads JSON that is known to have been valid once; it checks no more
// than it needs to never run out of bounds.
type scanner struct {
	b    []byte
	i    int
	stop bool // end members() early, successfully
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

func (s *scanner) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// str takes a string and gives its content, still escaped.
func (s *scanner) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start := s.i
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			return nil, false
		}
		s.i += n + 1
		slashes := 0
		for k := s.i - 2; k >= start && s.b[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return s.b[start : s.i-1], true
		}
	}
}

// members takes an object and calls fn for each key; fn must take the value.
func (s *scanner) members(fn func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		key, ok := s.str()
		if !ok || !s.take(':') || !fn(key) {
			return false
		}
		if s.stop || s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// elements takes an array and calls fn for each element; fn must take it.
func (s *scanner) elements(fn func() bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		if !fn() {
			return false
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// value takes one value of any type.
func (s *scanner) value() bool {
	s.space()
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '"':
		_, ok := s.str()
		return ok
	case '{', '[':
		return s.nested()
	}
	start := s.i
	for s.i < len(s.b) && !endsScalar(s.b[s.i]) {
		s.i++
	}
	return s.i > start
}

func endsScalar(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// nested takes an object or array by counting its brackets.
func (s *scanner) nested() bool {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if _, ok := s.str(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.i++
		if depth == 0 {
			return true
		}
	}
	return false
}

// raw takes one value and gives where it is.
func (s *scanner) raw() (span, bool) {
	s.space()
	start := s.i
	ok := s.value()
	return span{start, s.i - start}, ok
}

func (s *scanner) metadata(m *metadata) bool {
	in := scanner{b: s.b, i: s.i}
	ok := in.members(func(key []byte) bool {
		var ok bool
		switch string(key) {
		case "labels":
			m.labels, ok = in.raw()
			m.escaped = m.escaped || in.has(m.labels, '\\')
		case "ownerReferences":
			m.owners, ok = in.raw()
			m.escaped = m.escaped || in.has(m.owners, '\\')
		case "uid":
			m.uid, ok = in.raw()
			m.escaped = m.escaped || in.has(m.uid, '\\')
			m.uid.off, m.uid.len = m.uid.off+1, max(m.uid.len-2, 0)
		case "resourceVersion":
			m.version, ok = in.raw()
		case "finalizers":
			ok = in.nullOr(func() bool {
				return in.elements(func() bool { m.finalizers++; return in.value() })
			})
		case "deletionTimestamp":
			var at span
			at, ok = in.raw()
			m.deleting = ok && in.b[at.off] == '"'
		default:
			ok = in.value()
		}
		return ok
	})
	s.i = in.i
	return ok
}

func (s *scanner) nullOr(fn func() bool) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == 'n' {
		return s.value()
	}
	return fn()
}

func (s *scanner) has(at span, c byte) bool {
	return bytes.IndexByte(s.b[at.off:at.off+at.len], c) >= 0
}

// eachString calls fn for each member of a flat object of strings without escapes.
func eachString(object []byte, fn func(key, value []byte) bool) {
	s := scanner{b: object}
	s.members(func(key []byte) bool {
		value, ok := s.str()
		return ok && fn(key, value)
	})
}

// eachOwner calls fn with the uid of each owner reference.
func eachOwner(array []byte, fn func(uid []byte)) {
	s := scanner{b: array}
	s.elements(func() bool {
		return s.members(func(key []byte) bool {
			if string(key) != "uid" {
				return s.value()
			}
			uid, ok := s.str()
			if ok {
				fn(uid)
			}
			return ok
		})
	})
}
