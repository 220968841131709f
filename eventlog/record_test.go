package eventlog

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func fullRecord() *Record {
	return &Record{
		Op: OpUpdate, Object: []byte(`{"metadata":{"uid":"1"}}`), RVAt: 13, UID: "1", Prev: 7, Time: -5,
		Actor: Actor{"u", []string{"g", "h"}, "i", "ua", "s", "v", "sub", "fm", "rid"},
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	for _, r := range []*Record{
		fullRecord(), {Op: OpBarrier}, {Op: OpGenesis, Epoch: "e"},
		{Op: OpDelete, Object: bytes.Repeat([]byte("x"), 1<<20), Prev: 1<<64 - 1, Time: 1<<63 - 1},
	} {
		b, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v, want %+v", got, r)
		}
	}
}

func TestUnknownFormatVersionIsNamed(t *testing.T) {
	b, err := msgpack.Marshal([]any{uint64(77), "whatever"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), "77") {
		t.Errorf("error %v does not name the version", err)
	}
}

func TestMutilatedRecordsAreErrors(t *testing.T) {
	b, err := Encode(fullRecord())
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := Decode(b[:n]); err == nil {
			t.Errorf("the first %d of %d bytes decode", n, len(b))
		}
	}
	if _, err := Decode(append(b, 0)); err == nil {
		t.Error("a byte too many decodes")
	}
}

func FuzzDecode(f *testing.F) {
	b, _ := Encode(fullRecord())
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := Decode(b); err == nil {
			r.Served(1, "", "")
		}
	})
}

func TestServedSplicesTheVersionInOneAllocation(t *testing.T) {
	r := fullRecord()
	got := string(r.Served(42, "<", ">"))
	if want := `<{"metadata":{"resourceVersion":"42","uid":"1"}}>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { r.Served(1<<40, "<", ">") }); n != 1 {
		t.Errorf("%v allocations", n)
	}
}
