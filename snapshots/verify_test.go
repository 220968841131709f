package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

func verify(t *testing.T, w *world, live bool) Report {
	t.Helper()
	cfg := VerifyConfig{Log: w.log, Store: w.store}
	if live {
		cfg.Live = w.proj
	}
	r, err := Verify(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerifyOfASoundStore(t *testing.T) {
	w, seqs := threeSnapshots(t)
	w.log.remove("cm-1", w.clock.Now())
	w.sync()
	last := uint64(0)
	r, err := Verify(t.Context(), VerifyConfig{Log: w.log, Store: w.store, Live: w.proj, Progress: func(seq, end uint64) {
		if seq < last || end != w.log.Last() {
			t.Errorf("progress %d of %d after %d", seq, end, last)
		}
		last = seq
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := Report{From: 1, To: w.log.Last(), Records: w.log.Last(), Snapshots: 3, Live: true, Objects: 5}
	if fmt.Sprint(r) != fmt.Sprint(want) || last != w.log.Last() {
		t.Errorf("%+v, want %+v, progress %d", r, want, last)
	}
	if err := w.log.Trim(t.Context(), seqs[0]+1); err != nil {
		t.Fatal(err)
	}
	r = verify(t, w, true)
	if r.Differs || r.Base != Name(seqs[0]) || r.From != seqs[0]+1 || r.Snapshots != 2 || !r.Live {
		t.Errorf("from a snapshot: %+v", r)
	}
}

func TestVerifyNamesTheFirstDifferingSequence(t *testing.T) {
	tamper := func(l *memLog, seq uint64, change func(*eventlog.Record)) {
		rec := *l.entries[seq-1].Record
		change(&rec)
		l.entries[seq-1].Record = &rec
	}
	for name, c := range map[string]struct {
		change func(w *world)
		seq    uint64
		detail string
	}{
		"log has other bytes": {func(w *world) {
			tamper(w.log, 4, func(r *eventlog.Record) {
				r.Object = []byte(strings.Replace(string(r.Object), "round 0", "round X", 1))
			})
		}, 4, "other bytes"},
		"log lacks a record": {func(w *world) {
			w.log.entries = slices.Delete(w.log.entries, 7, 8)
		}, 8, "missing"},
		"log names another predecessor": {func(w *world) {
			tamper(w.log, 9, func(r *eventlog.Record) { r.Prev = 2 })
		}, 9, "follows 2"},
		"log creates twice": {func(w *world) {
			tamper(w.log, 10, func(r *eventlog.Record) { r.Op = eventlog.OpCreate })
		}, 10, "exists"},
		"log deletes another": {func(w *world) {
			tamper(w.log, 5, func(r *eventlog.Record) { r.Op = eventlog.OpDelete })
		}, 5, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := threeSnapshots(t)
			c.change(w)
			r := verify(t, w, false)
			if !r.Differs || r.FirstDiffering != c.seq || !strings.Contains(r.Detail, c.detail) {
				t.Errorf("%+v, want %d and %q", r, c.seq, c.detail)
			}
		})
	}
}

func TestVerifyFindsAnAlteredSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		change func(objects []projections.StoredObject) []projections.StoredObject
		seq    func(objects []projections.StoredObject) uint64
		detail string
	}{
		"bytes": {func(o []projections.StoredObject) []projections.StoredObject {
			o[2].Data = []byte(strings.Replace(string(o[2].Data), "round", "ROUND", 1))
			return o
		}, func(o []projections.StoredObject) uint64 { return o[2].RV }, "other bytes"},
		"lacking": {func(o []projections.StoredObject) []projections.StoredObject {
			return slices.Delete(slices.Clone(o), 1, 2)
		}, func(o []projections.StoredObject) uint64 { return o[1].RV }, "lacks"},
		"surplus": {func(o []projections.StoredObject) []projections.StoredObject {
			more := o[4]
			more.Name, more.RV = "zzz", 3
			return append(slices.Clone(o), more)
		}, func([]projections.StoredObject) uint64 { return 3 }, "does not have"},
		"version": {func(o []projections.StoredObject) []projections.StoredObject {
			o = slices.Clone(o)
			o[0].RV -= 5
			return o
		}, func(o []projections.StoredObject) uint64 { return o[0].RV }, "has version"},
	} {
		t.Run(name, func(t *testing.T) {
			w, seqs := threeSnapshots(t)
			var objects []projections.StoredObject
			state, err := w.load()
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range state.Resources[configMaps] {
				objects = append(objects, o.Stored())
			}
			want := c.seq(objects)
			cut := cutOf(seqs[2], map[projections.GroupResource][]projections.StoredObject{configMaps: c.change(slices.Clone(objects))}, nil)
			err = w.store.Put(t.Context(), Name(seqs[2]), func(out io.Writer) error {
				return write(context.Background(), out, nil, Header{Epoch: "epoch-1", Seq: seqs[2]}, cut)
			})
			if err != nil {
				t.Fatal(err)
			}
			r := verify(t, w, true)
			if !r.Differs || r.FirstDiffering != want || !strings.Contains(r.Detail, c.detail) || !strings.Contains(r.Detail, Name(seqs[2])) {
				t.Errorf("%+v, want %d and %q", r, want, c.detail)
			}
		})
	}
}

func TestVerifyFindsADifferenceInWhatIsServed(t *testing.T) {
	w, _ := threeSnapshots(t)
	key := eventlog.Key{Resource: configMaps.Resource, Namespace: "default", Name: "cm-9"}
	rec := *w.log.entries[16].Record
	rec.Object = []byte(strings.Replace(string(rec.Object), "after", "AFTER", 1))
	w.log.entries[16].Record = &rec
	r := verify(t, w, true)
	if !r.Differs || r.FirstDiffering != 17 || r.Object != key.String() || !strings.Contains(r.Detail, "served") {
		t.Errorf("%+v", r)
	}
}

func TestVerifyReportsADamagedSnapshot(t *testing.T) {
	w, seqs := threeSnapshots(t)
	spoil(t, w.store, seqs[1])
	r := verify(t, w, true)
	if !r.Differs || r.FirstDiffering != seqs[1] || !strings.Contains(r.Detail, Name(seqs[1])) || r.Snapshots != 2 || !r.Live {
		t.Errorf("%+v", r)
	}
	if err := w.log.Trim(t.Context(), seqs[2]+2); err != nil {
		t.Fatal(err)
	}
	if r = verify(t, w, false); !r.Differs || r.FirstDiffering != seqs[2]+2 {
		t.Errorf("a log that no snapshot reaches: %+v", r)
	}
}

func TestVerifyNeedsTheKey(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.EncryptionKey = []byte("right") })
	w.put("cm", "x")
	w.take()
	if _, err := Verify(t.Context(), VerifyConfig{Log: w.log, Store: w.store}); !errors.Is(err, ErrEncryption) {
		t.Error(err)
	}
	if r, err := Verify(t.Context(), VerifyConfig{Log: w.log, Store: w.store, Key: []byte("right")}); err != nil || r.Differs || r.Snapshots != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// trimmedWhileRead is a log that is trimmed once while it is read.
type trimmedWhileRead struct {
	*memLog
	to uint64
}

func (l *trimmedWhileRead) Range(ctx context.Context, from, to uint64, fn func([]eventlog.Entry) error) error {
	if l.to > 0 {
		err := l.Trim(ctx, l.to)
		l.to = 0
		if err != nil {
			return err
		}
	}
	return l.memLog.Range(ctx, from, to, fn)
}

func TestVerifyStartsAgainWhenTheLogIsTrimmedMeanwhile(t *testing.T) {
	w, seqs := threeSnapshots(t)
	r, err := Verify(t.Context(), VerifyConfig{Log: &trimmedWhileRead{w.log, seqs[1] + 1}, Store: w.store, Live: w.proj})
	if err != nil || r.Differs || r.Base != Name(seqs[1]) {
		t.Errorf("%+v, %v", r, err)
	}
}
