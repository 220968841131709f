package eventlog

import (
	"strings"
	"testing"
)

var strangeNames = []string{
	"a.b.c", "*", ">", "a*b", "a b", "system:node:x", "%", "%2E", "-", "--", ".", "..", "日本語", "é", "\xff\xfe",
	"a\tb\nc", "_genesis", "$JS", strings.Repeat("x.", 126) + "y", strings.Repeat("ü", 126), "a/b", "\x7f", "~=+!@#&()",
}

func TestSubjectsOfStrangeNamesComeBackAsTheyWere(t *testing.T) {
	for _, n := range strangeNames {
		for _, k := range []Key{{"", "r", "", n}, {n, n, n, n}, {"g", "r", n, "x"}} {
			s := k.Subject()
			if strings.Count(s, ".") != 4 || strings.ContainsAny(s, "*> \t\n") {
				t.Errorf("%q: subject %q", n, s)
			}
			got, err := ParseSubject(s)
			if err != nil || got != k {
				t.Errorf("%q: subject %q gives %+v, %v", n, s, got, err)
			}
		}
	}
}

func TestOnlyCanonicalSubjectsAreAccepted(t *testing.T) {
	for _, s := range []string{
		"", "kron", "kron.", "kron.a.b.c", "kron.a.b.c.d.e", "kron.a.b.c.*", "kron.a.b.c.>", "kron.a.b.c.x y",
		"kron.a..c.d", "kron.a.b.c.%", "kron.a.b.c.%2", "kron.a.b.c.%2e", "kron.a.b.c.%41", "kron.a.b.c.%ZZ", "kron.a.b.c.\xff", "other.a.b.c.d",
	} {
		if k, err := ParseSubject(s); err == nil {
			t.Errorf("%q was accepted as %+v", s, k)
		}
	}
}

func FuzzSubject(f *testing.F) {
	for _, n := range strangeNames {
		f.Add(n, n, n, n)
	}
	f.Add("", "configmaps", "default", "x")
	f.Fuzz(func(t *testing.T, g, r, ns, n string) {
		k := Key{g, r, ns, n}
		s := k.Subject()
		if got, err := ParseSubject(s); err != nil || got != k {
			t.Errorf("%+v: subject %q gives %+v, %v", k, s, got, err)
		}
		if k, err := ParseSubject(n); err == nil && n != genesisSubject && n != barrierSubject && k.Subject() != n {
			t.Errorf("subject %q was accepted but is written %q", n, k.Subject())
		}
	})
}
