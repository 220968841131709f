package snapshots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kronicle/kronicle/projections"
)

// threeSnapshots is a world with snapshots at three sequences and a log after them.
func threeSnapshots(t *testing.T) (w *world, seqs []uint64) {
	w = newWorld(t, nil)
	for round := range 3 {
		for i := range 5 {
			w.put(fmt.Sprintf("cm-%d", i), fmt.Sprintf("round %d", round))
		}
		seqs = append(seqs, w.take().Seq)
	}
	w.put("cm-9", "after")
	w.sync()
	return w, seqs
}

// spoil changes a byte in the middle of a snapshot's file.
func spoil(t testing.TB, st Store, seq uint64) {
	t.Helper()
	name := filepath.Join(st.(*Dir).path, Name(seq))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x10
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadGivesTheNewestState(t *testing.T) {
	w, seqs := threeSnapshots(t)
	state, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	if state.Seq != seqs[2] || state.Epoch != "epoch-1" {
		t.Errorf("state at %d of %s", state.Seq, state.Epoch)
	}
	equalObjects(t, "loaded", objectsOf(state.Resources[configMaps]), w.log.model(state.Seq))
}

func TestEmptyStoreIsTheEmptyState(t *testing.T) {
	state, err := Load(t.Context(), newDir(t), nil, "e", 1, 7)
	if err != nil || state.Seq != 0 || state.Floor != 0 || state.Epoch != "e" || len(state.Resources) > 0 {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestDamagedNewestIsPassedOverWithAWarning(t *testing.T) {
	w, seqs := threeSnapshots(t)
	spoil(t, w.store, seqs[2])
	var warnings bytes.Buffer
	state, err := Load(t.Context(), w.store, nil, "epoch-1", 1, w.log.Last(), WithLogger(slog.New(slog.NewTextHandler(&warnings, nil))))
	if err != nil {
		t.Fatal(err)
	}
	if state.Seq != seqs[1] {
		t.Errorf("state at %d, want %d", state.Seq, seqs[1])
	}
	for _, want := range []string{"WARN", Name(seqs[2]), "checksum"} {
		if !strings.Contains(warnings.String(), want) {
			t.Errorf("warning %q does not tell %q", warnings.String(), want)
		}
	}
	spoil(t, w.store, seqs[0])
	spoil(t, w.store, seqs[1])
	if state, err = w.load(); err != nil || state.Seq != 0 {
		t.Errorf("with all damaged and a whole log: state at %d, %v", state.Seq, err)
	}
}

func TestDamagedLocalCopyIsFetchedAgain(t *testing.T) {
	w, seqs := threeSnapshots(t)
	blobs := newBlobs()
	b, err := NewBucket(blobs, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(w.store.(*Dir).path, Name(seqs[2])))
	if err != nil {
		t.Fatal(err)
	}
	blobs.m[Name(seqs[2])] = whole
	torn := bytes.Clone(whole)
	torn[len(torn)/2] ^= 1
	if err := os.WriteFile(filepath.Join(b.cache, Name(seqs[2])), torn, 0o600); err != nil {
		t.Fatal(err)
	}
	state, err := Load(t.Context(), b, nil, "epoch-1", 1, w.log.Last(), WithLogger(quiet()))
	if err != nil || state.Seq != seqs[2] {
		t.Errorf("state at %d, %v", state.Seq, err)
	}
}

func TestLoadRefusesWhenTheLogDoesNotReachBack(t *testing.T) {
	w, seqs := threeSnapshots(t)
	load := func(first uint64) error {
		state, err := Load(t.Context(), w.store, nil, "epoch-1", first, w.log.Last(), WithLogger(quiet()))
		if err == nil && state.Seq+1 < first {
			t.Errorf("state at %d for a log from %d", state.Seq, first)
		}
		return err
	}
	if err := load(seqs[2] + 1); err != nil {
		t.Error(err)
	}
	err := load(seqs[2] + 2)
	if !errors.Is(err, ErrUnrecoverable) || !strings.Contains(err.Error(), "restore") {
		t.Errorf("gap after the newest: %v", err)
	}
	spoil(t, w.store, seqs[2])
	if err := load(seqs[1] + 1); err != nil {
		t.Error(err)
	}
	err = load(seqs[1] + 2)
	if !errors.Is(err, ErrUnrecoverable) || !strings.Contains(err.Error(), Name(seqs[2])) {
		t.Errorf("newest damaged and log trimmed behind it: %v", err)
	}
	if _, err := Load(t.Context(), newDir(t), nil, "epoch-1", 2, 9); !errors.Is(err, ErrUnrecoverable) {
		t.Errorf("no snapshot: %v", err)
	}
}

func TestLoadRefusesALogThatEndsBeforeTheSnapshot(t *testing.T) {
	w, seqs := threeSnapshots(t)
	_, err := Load(t.Context(), w.store, nil, "epoch-1", 1, seqs[2]-1, WithLogger(quiet()))
	if !errors.Is(err, ErrLogReset) {
		t.Fatal(err)
	}
	for _, seq := range []uint64{seqs[2], seqs[2] - 1} {
		if !strings.Contains(err.Error(), fmt.Sprint(seq)) {
			t.Errorf("%q does not name %d", err, seq)
		}
	}
}

func TestSnapshotOfAnotherEpochIsNotLoaded(t *testing.T) {
	w, _ := threeSnapshots(t)
	state, err := Load(t.Context(), w.store, nil, "epoch-2", 1, 3, WithLogger(quiet()))
	if err != nil || state.Seq != 0 || state.Epoch != "epoch-2" {
		t.Errorf("%+v, %v", state, err)
	}
	if _, err = Load(t.Context(), w.store, nil, "epoch-2", 2, 30, WithLogger(quiet())); !errors.Is(err, ErrUnrecoverable) {
		t.Error(err)
	}
}

func TestLoadRefusesAWrongKey(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.EncryptionKey = []byte("right") })
	w.put("cm", "x")
	w.take()
	for _, key := range [][]byte{nil, []byte("wrong")} {
		if _, err := Load(t.Context(), w.store, key, "epoch-1", 1, w.log.Last()); !errors.Is(err, ErrEncryption) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if state, err := Load(t.Context(), w.store, []byte("right"), "epoch-1", 1, w.log.Last()); err != nil || state.Seq != 2 {
		t.Errorf("%d, %v", state.Seq, err)
	}
}

func TestFloorAtStartIsWhatCanBeRebuilt(t *testing.T) {
	w, seqs := threeSnapshots(t)
	for _, c := range []struct{ first, floor uint64 }{{1, 0}, {2, seqs[0]}, {seqs[0] + 1, seqs[0]}, {seqs[0] + 2, seqs[1]}, {seqs[2] + 1, seqs[2]}} {
		state, err := Load(t.Context(), w.store, nil, "epoch-1", c.first, w.log.Last(), WithLogger(quiet()))
		if err != nil || state.Floor != c.floor {
			t.Errorf("log from %d: floor %d, want %d (%v)", c.first, state.Floor, c.floor, err)
		}
	}
	w.proj.RaiseFloor(seqs[1] + 1)
	w.put("more", "x")
	w.take()
	if state, err := w.load(); err != nil || state.Floor != seqs[1]+1 {
		t.Errorf("persisted floor: %d, want %d (%v)", state.Floor, seqs[1]+1, err)
	}
}

func BenchmarkWrite100k(b *testing.B) {
	cut := bigCut()
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		c := &counter{}
		if err := write(context.Background(), c, nil, Header{Epoch: "epoch-1", Seq: 100_000}, cut); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(c.n), "bytes")
	}
}

func BenchmarkLoad100k(b *testing.B) {
	d := newDir(b)
	cut := bigCut()
	err := d.Put(context.Background(), Name(100_000), func(w io.Writer) error {
		return write(context.Background(), w, nil, Header{Epoch: "epoch-1", Seq: 100_000}, cut)
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(context.Background(), d, nil, "epoch-1", 1, 100_000); err != nil {
			b.Fatal(err)
		}
	}
}

func bigCut() projections.Cut {
	return cutOf(100_000, map[projections.GroupResource][]projections.StoredObject{configMaps: storedObjects(100_000, 2048)}, nil)
}

// counter counts the bytes written.
type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}
