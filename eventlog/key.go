package eventlog

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Subjects of the log. Every subject begins with the prefix; the two records that belong to
// no object have subjects of their own, which no key can produce because they have two tokens.
const (
	subjectPrefix  = "kron."
	subjectAll     = "kron.>"
	genesisSubject = "kron._genesis"
	barrierSubject = "kron._barrier"
)

// emptyToken stands for an empty part of a key: the core group or cluster scope. A part that
// really is this text is escaped.
const emptyToken = "-"

// maxSubject is the longest subject the log accepts, in bytes: the whole PUB line must fit the
// server's default control line of 4,096 bytes with room for the reply subject and the sizes.
const maxSubject = 3500

const upperHex = "0123456789ABCDEF"

// Key names one object in the log. Group is "" for the core group and Namespace is "" for
// objects of cluster scope.
type Key struct {
	Group, Resource, Namespace, Name string
}

// String returns group/resource/namespace/name for messages; it is not meant to be parsed.
func (k Key) String() string {
	s := k.Resource
	if k.Group != "" {
		s += "." + k.Group
	}
	if k.Namespace != "" {
		s += "/" + k.Namespace
	}
	return s + "/" + k.Name
}

// Subject returns the subject of the object's records:
// kron.<group>.<resource>.<namespace>.<name> with each token escaped.
func (k Key) Subject() string {
	var b strings.Builder
	b.Grow(len(subjectPrefix) + len(k.Group) + len(k.Resource) + len(k.Namespace) + len(k.Name) + 12)
	b.WriteString(subjectPrefix)
	writeToken(&b, k.Group)
	b.WriteByte('.')
	writeToken(&b, k.Resource)
	b.WriteByte('.')
	writeToken(&b, k.Namespace)
	b.WriteByte('.')
	writeToken(&b, k.Name)
	return b.String()
}

// ParseSubject is the inverse of Key.Subject. It accepts exactly the subjects that Key.Subject
// produces. The subjects of the genesis and barrier records give the zero Key.
func ParseSubject(s string) (Key, error) {
	if s == genesisSubject || s == barrierSubject {
		return Key{}, nil
	}
	rest, ok := strings.CutPrefix(s, subjectPrefix)
	if !ok {
		return Key{}, fmt.Errorf("eventlog: subject %q does not begin with %q", s, subjectPrefix)
	}
	var parts [4]string
	for i := range parts {
		token := rest
		if i < len(parts)-1 {
			if token, rest, ok = strings.Cut(rest, "."); !ok {
				return Key{}, fmt.Errorf("eventlog: subject %q has %d tokens after %q, want 4", s, i+1, subjectPrefix)
			}
		}
		part, err := parseToken(token)
		if err != nil {
			return Key{}, fmt.Errorf("eventlog: subject %q: %w", s, err)
		}
		parts[i] = part
	}
	return Key{Group: parts[0], Resource: parts[1], Namespace: parts[2], Name: parts[3]}, nil
}

// plain reports whether a byte of a token stands for itself. Dots, wildcards, white space,
// control characters and the escape character do not; bytes of valid UTF-8 sequences do, which
// the callers check.
func plain(c byte) bool {
	switch c {
	case '.', '*', '>', '%':
		return false
	}
	return c > ' ' && c != 0x7f
}

func writeToken(b *strings.Builder, s string) {
	switch s {
	case "":
		b.WriteString(emptyToken)
		return
	case emptyToken:
		writeEscaped(b, emptyToken[0])
		return
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain(c) {
				b.WriteByte(c)
			} else {
				writeEscaped(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			writeEscaped(b, c)
			i++
			continue
		}
		b.WriteString(s[i : i+n])
		i += n
	}
}

func writeEscaped(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(upperHex[c>>4])
	b.WriteByte(upperHex[c&0xf])
}

func parseToken(t string) (string, error) {
	if t == "" {
		return "", fmt.Errorf("empty token")
	}
	if t == emptyToken {
		return "", nil
	}
	escaped, ascii := false, true
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c == '%':
			escaped = true
		case c >= utf8.RuneSelf:
			ascii = false
		case !plain(c):
			return "", fmt.Errorf("token %q holds an unescaped %q", t, c)
		}
	}
	if !escaped && (ascii || utf8.ValidString(t)) {
		return t, nil
	}
	s, err := unescape(t)
	if err != nil {
		return "", err
	}
	// Each key has one subject, so only what writeToken would have written is accepted.
	var b strings.Builder
	if writeToken(&b, s); b.String() != t {
		return "", fmt.Errorf("token %q is not in canonical form, want %q", t, b.String())
	}
	return s, nil
}

func unescape(t string) (string, error) {
	var b strings.Builder
	b.Grow(len(t))
	for i := 0; i < len(t); i++ {
		if t[i] != '%' {
			b.WriteByte(t[i])
			continue
		}
		if i+2 >= len(t) {
			return "", fmt.Errorf("token %q ends within an escape", t)
		}
		hi, lo := strings.IndexByte(upperHex, t[i+1]), strings.IndexByte(upperHex, t[i+2])
		if hi < 0 || lo < 0 {
			return "", fmt.Errorf("token %q has a bad escape %q", t, t[i:i+3])
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	return b.String(), nil
}
