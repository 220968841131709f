package projections

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kronicle/kronicle/eventlog"
)

// fill returns entries that create n objects of about size bytes of JSON.
func entriesOf(n, size int) []eventlog.Entry {
	entries := make([]eventlog.Entry, n)
	pad := strings.Repeat("x", max(0, size-260))
	for i := range entries {
		key, rec := thing(eventlog.OpCreate, fmt.Sprintf("ns-%d", i%50), fmt.Sprintf("object-%d", i), 0,
			fmt.Sprintf(`"app.kubernetes.io/name":"web","app.kubernetes.io/instance":"i-%d"`, i), pad)
		entries[i] = eventlog.Entry{Seq: uint64(i + 1), Key: key, Record: rec, Size: len(rec.Object)}
	}
	return entries
}

func filled(b testing.TB, n, size int) *Store {
	s := New(Config{Log: newFakeLog()})
	s.applier.next = 1
	if err := s.apply(entriesOf(n, size)); err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkApply(b *testing.B) {
	for _, batch := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := filled(b, 10_000, 2048)
			prev := make([]uint64, 10_000)
			for i := range prev {
				prev[i] = uint64(i + 1)
			}
			base := entriesOf(10_000, 2048)
			b.ReportAllocs()
			b.ResetTimer()
			seq := uint64(10_000)
			entries := make([]eventlog.Entry, 0, batch)
			for done := 0; done < b.N; {
				entries = entries[:0]
				for range min(batch, b.N-done) {
					i := int(seq*7919) % 10_000
					seq++
					rec := *base[i].Record
					rec.Op, rec.Prev = eventlog.OpUpdate, prev[i]
					prev[i] = seq
					entries = append(entries, eventlog.Entry{Seq: seq, Key: base[i].Key, Record: &rec})
				}
				if err := s.apply(entries); err != nil {
					b.Fatal(err)
				}
				done += len(entries)
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s := filled(b, 100_000, 300)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := s.Get(things, "ns-7", "object-57"); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkListOf10000(b *testing.B) {
	s := filled(b, 10_000, 2048)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		s.View(things).Ascend("", "", func(o *Object) bool { n += len(o.JSON()); return true })
		b.SetBytes(int64(n))
	}
}

func BenchmarkCount(b *testing.B) {
	v := filled(b, 100_000, 300).View(things)
	b.ReportAllocs()
	for b.Loop() {
		v.Count("ns-7", "ns-7/object-57")
	}
}

func BenchmarkFresh(b *testing.B) {
	s := New(Config{Log: newFakeLog()})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Fresh(bg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFanOut measures one change from its application to the last of 1,000 watchers.
func BenchmarkFanOutTo1000Watchers(b *testing.B) {
	s := filled(b, 1, 2048)
	ctx, cancel := context.WithCancel(bg)
	var got, all sync.WaitGroup
	for range 1000 {
		w, _ := s.Watch(things, 1)
		all.Go(func() {
			for {
				changes, _, err := w.Next(ctx)
				if err != nil {
					return
				}
				for range changes {
					got.Done()
				}
			}
		})
	}
	e := entriesOf(1, 2048)[0]
	b.ReportAllocs()
	seq := uint64(1)
	for b.Loop() {
		got.Add(1000)
		rec := *e.Record
		rec.Op, rec.Prev = eventlog.OpUpdate, seq
		seq++
		if err := s.apply([]eventlog.Entry{{Seq: seq, Key: e.Key, Record: &rec}}); err != nil {
			b.Fatal(err)
		}
		got.Wait()
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "events/s")
	cancel()
	all.Wait()
}

// BenchmarkMemoryOf100000Objects reports what an object of 2 KiB of JSON takes.
func BenchmarkMemoryOf100000Objects(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		entries := entriesOf(1, 2048)
		pattern := entries[0].Record.Object
		runtime.GC()
		runtime.ReadMemStats(&before)
		started := time.Now()
		s := New(Config{Log: newFakeLog(), MemoryWindow: -1})
		s.applier.next = 1
		for i := range n {
			e := entries[0]
			e.Seq, e.Key.Namespace, e.Key.Name = uint64(i+1), fmt.Sprintf("ns-%d", i%50), fmt.Sprintf("object-%d", i)
			if err := s.applyBatch([]eventlog.Entry{e}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(time.Since(started).Seconds(), "s/100000")
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/object")
		b.ReportMetric(float64(len(pattern)+len(`"resourceVersion":"100000",`)), "JSON-B/object")
		runtime.KeepAlive(s)
	}
}
