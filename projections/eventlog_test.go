package projections

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kronicle/kronicle/eventlog"
)

func TestOverTheEmbeddedLog(t *testing.T) {
	log, err := eventlog.Open(bg, eventlog.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	source := &fakeSource{}
	s := run(t, New(Config{Log: log, MemoryWindow: 10_000, ColdMemory: 1 << 20, Source: source}))
	lists := map[uint64]string{}
	prev := map[string]uint64{}
	write := func(i int) {
		name := fmt.Sprint(i % 10)
		op := eventlog.OpUpdate
		switch {
		case prev[name] == 0:
			op = eventlog.OpCreate
		case i%7 == 0:
			op = eventlog.OpDelete
		}
		key, rec := thing(op, "a", name, 0, "", "some content")
		seq, err := log.Append(bg, key, prev[name], rec)
		if err != nil {
			t.Fatal(err)
		}
		if prev[name] = seq; op == eventlog.OpDelete {
			prev[name] = 0
		}
		if _, err := s.Fresh(bg); err != nil {
			t.Fatal(err)
		}
		lists[seq] = listing(s.View(things))
	}
	for i := range 300 {
		write(i)
	}
	if s.Epoch() != log.Epoch() {
		t.Errorf("epoch %q, the log says %q", s.Epoch(), log.Epoch())
	}
	behind, _ := s.Watch(things, 0)
	source.add(stateOf(s.Store))
	middle := s.Applied()
	for i := range 100 {
		write(300 + i)
	}
	checkAll := func() {
		t.Helper()
		for seq, want := range lists {
			v, err := s.At(bg, things, seq)
			if seq < s.Floor() && errors.Is(err, ErrExpired) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if listing(v) != want {
				t.Fatalf("the state at %d differs", seq)
			}
		}
	}
	checkAll()
	n := 0
	for last := uint64(0); last < s.Applied(); {
		changes, upto, err := behind.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if before, err := c.Previous(bg); err != nil || (before == nil) != (c.Op == eventlog.OpCreate) {
				t.Fatalf("previous of %d (%s): %v, %v", c.Seq, c.Op, before, err)
			}
		}
		n, last = n+len(changes), upto
	}
	if n != 400 {
		t.Errorf("the watcher that was behind got %d changes, want 400", n)
	}
	s.RaiseFloor(middle)
	if err := log.Trim(bg, middle+1); err != nil {
		t.Fatal(err)
	}
	checkAll()
	w, err := s.Watch(things, middle)
	if err != nil {
		t.Fatal(err)
	}
	changes, _, err := w.Next(bg)
	if err != nil || changes[0].Seq != middle+1 {
		t.Fatalf("watch at the floor: %v, %v", changes, err)
	}
	if _, err := changes[0].Previous(bg); err != nil {
		t.Errorf("a previous state that was trimmed is not found in the snapshot: %v", err)
	}
}
