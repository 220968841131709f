package snapshots

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kronicle/kronicle/projections"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func encode(t testing.TB, key []byte, h Header, cut projections.Cut) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(context.Background(), &b, key, h, cut); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decodeAll(b, key []byte) (projections.State, error) {
	r, err := newReader("test", fileOf(b), key)
	if err != nil {
		return projections.State{}, err
	}
	return r.state(context.Background())
}

func small() (Header, projections.Cut) {
	h := Header{Epoch: "epoch-1", Seq: 50, Floor: 7, Created: time.Unix(1_800_000_000, 123).UTC()}
	marks := []projections.Mark{{Seq: 1, Time: 5, Bytes: 100}, {Seq: 50, Time: 9, Bytes: 900}}
	return h, cutOf(50, map[projections.GroupResource][]projections.StoredObject{
		configMaps: storedObjects(5, 300), widgets: storedObjects(2, 300),
	}, marks)
}

func TestEverythingWrittenIsReadBack(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("secret")} {
		h := Header{Epoch: "epoch-1", Seq: 9000, Floor: 77, Created: time.Unix(1_800_000_000, 123).UTC()}
		stored := map[projections.GroupResource][]projections.StoredObject{
			configMaps: storedObjects(6000, 1000), widgets: storedObjects(3, 300), {Resource: "pods"}: nil,
		}
		stored[widgets][1].Owners = []string{"owner-1", "owner-2"}
		stored[widgets][1].Finalizers, stored[widgets][1].Deleting = 2, true
		stored[widgets][1].Data = []byte("not JSON, so what is given is kept")
		marks := []projections.Mark{{Seq: 1, Time: 5, Bytes: 100}, {Seq: 9000, Time: 9, Bytes: 900}}
		b := encode(t, key, h, cutOf(9000, stored, marks))

		r, err := newReader("test", fileOf(b), key)
		if err != nil {
			t.Fatal(err)
		}
		if r.header != h {
			t.Errorf("header %+v, want %+v", r.header, h)
		}
		if parts := len(r.section(configMaps).parts); parts < 3 {
			t.Errorf("%d parts for 6 MB", parts)
		}
		state, err := r.state(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state.Seq != 9000 || state.Floor != 77 || state.Epoch != "epoch-1" || !reflect.DeepEqual(state.Timeline, marks) {
			t.Errorf("state %+v", state)
		}
		for gr, want := range stored {
			if len(state.Resources[gr]) != len(want) {
				t.Fatalf("%s: %d objects, want %d", gr, len(state.Resources[gr]), len(want))
			}
			for i, o := range state.Resources[gr] {
				if got := o.Stored(); !reflect.DeepEqual(got, want[i]) {
					t.Fatalf("%s %d: got %+v, want %+v", gr, i, got, want[i])
				}
			}
		}
		if err := r.check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.sums(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestOneResourceIsReadAlone(t *testing.T) {
	h, cut := small()
	b := encode(t, nil, h, cut)
	r, err := newReader("test", fileOf(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	b[r.section(configMaps).parts[0].off]++ // the other section is damaged
	n := 0
	err = r.each(t.Context(), r.section(widgets), func(*projections.StoredObject) error { n++; return nil })
	if err != nil || n != 2 {
		t.Fatalf("%d objects, %v", n, err)
	}
	stop := errors.New("enough")
	if err := r.each(t.Context(), r.section(widgets), func(*projections.StoredObject) error { return stop }); err != stop {
		t.Errorf("the caller's error came back as %v", err)
	}
	err = r.each(t.Context(), r.section(configMaps), func(*projections.StoredObject) error { t.Error("object of a damaged part"); return nil })
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("damaged section gives %v", err)
	}
}

func TestEveryChangedByteIsDetected(t *testing.T) {
	h, cut := small()
	for _, key := range [][]byte{nil, []byte("secret")} {
		b := encode(t, key, h, cut)
		t.Logf("%d bytes", len(b))
		for i := range b {
			for _, flip := range []byte{0x01, 0xff} {
				b[i] ^= flip
				if _, err := decodeAll(b, key); !errors.Is(err, ErrDamaged) || errors.Is(err, ErrEncryption) {
					t.Fatalf("byte %d xor %#x: %v", i, flip, err)
				}
				b[i] ^= flip
			}
		}
		if _, err := decodeAll(b, key); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryTruncationAndExtensionIsDetected(t *testing.T) {
	h, cut := small()
	b := encode(t, nil, h, cut)
	for n := range b {
		if _, err := decodeAll(b[:n], nil); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	other := encode(t, nil, h, cut)
	for what, joined := range map[string][]byte{
		"a byte more":          append(bytes.Clone(b), 0),
		"another's end":        append(bytes.Clone(b[:len(b)-footerSize]), other[len(other)-footerSize:]...),
		"a byte in the middle": append(append(bytes.Clone(b[:len(b)/2]), 0), b[len(b)/2:]...),
		"twice":                append(bytes.Clone(b), other...),
	} {
		if _, err := decodeAll(joined, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWrongOrMissingKeyIsNotDamage(t *testing.T) {
	h, cut := small()
	sealed := encode(t, []byte("right"), h, cut)
	if bytes.Contains(sealed, []byte("epoch-1")) {
		t.Error("the epoch is readable in an encrypted file")
	}
	for _, key := range [][]byte{nil, {}, []byte("wrong"), []byte("right\n")} {
		_, err := decodeAll(sealed, key)
		if !errors.Is(err, ErrEncryption) || errors.Is(err, ErrDamaged) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if _, err := decodeAll(sealed, []byte("right")); err != nil {
		t.Error(err)
	}
	if _, err := decodeAll(encode(t, nil, h, cut), []byte("right")); err != nil {
		t.Errorf("an unencrypted snapshot with a key: %v", err)
	}
}

func TestSealedBlocksCannotBeMoved(t *testing.T) {
	s, _, err := newSealer([]byte("k"), [saltSize]byte{1}, [fileIDSize]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.seal(nil, []byte("text"), 1)
	if _, err := s.open(bytes.Clone(sealed), 2); err == nil {
		t.Error("block 1 opens as block 2")
	}
	other := *s
	other.fileID[0]++
	if _, err := other.open(bytes.Clone(sealed), 1); err == nil {
		t.Error("block opens in another file")
	}
	if plain, err := s.open(sealed, 1); err != nil || string(plain) != "text" {
		t.Errorf("%q, %v", plain, err)
	}
}

func TestNewerFormatIsRefusedByName(t *testing.T) {
	h, cut := small()
	b := encode(t, nil, h, cut)
	pre := preamble{}
	head := pre.encode()
	head[9] = 9
	copy(b, resum(head))
	if _, err := decodeAll(b, nil); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "version 9") {
		t.Error(err)
	}
}

func TestNamesSortLikeSequences(t *testing.T) {
	for _, seq := range []uint64{0, 1, 99, 1<<64 - 1} {
		if got, ok := ParseName(Name(seq)); !ok || got != seq {
			t.Errorf("%d: %d %v", seq, got, ok)
		}
	}
	for _, name := range []string{"", "snapshot-1.kron", Name(5) + ".1.tmp", "snapshot-0000000000000000000x.kron", "other"} {
		if _, ok := ParseName(name); ok {
			t.Errorf("%q is taken for a snapshot", name)
		}
	}
	if Name(9) >= Name(10) {
		t.Error("names do not sort")
	}
}

func TestMemoryWhileWritingIsOnePart(t *testing.T) {
	_, cut := small()
	cut = cutOf(20000, map[projections.GroupResource][]projections.StoredObject{configMaps: storedObjects(20000, 1000)}, nil)
	w := &largest{}
	if err := write(t.Context(), w, nil, Header{Epoch: "e", Seq: 20000}, cut); err != nil {
		t.Fatal(err)
	}
	if w.n > partSize+4096 {
		t.Errorf("a block of %d bytes was written at once", w.n)
	}
}

// largest notes the largest write.
type largest struct{ n int }

func (l *largest) Write(p []byte) (int, error) {
	l.n = max(l.n, len(p))
	return len(p), nil
}

func equalObjects(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("%s: %d objects %v, want %d %v", what, len(got), got, len(want), want)
	}
}
