package eventlog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// benchRecord is about the size of a small object.
func benchRecord(op Op) *Record { return record(op, strings.Repeat("x", 1000)) }

func benchmarkAppend(b *testing.B, writers int) {
	l := open(b, Config{Dir: b.TempDir()})
	ctx := context.Background()
	var n atomic.Int64
	b.ReportAllocs()
	cpu := cpuTime()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			k, seq := key(fmt.Sprint("w", w)), uint64(0)
			for n.Add(1) <= int64(b.N) {
				var err error
				if seq, err = l.Append(ctx, k, seq, benchRecord(OpUpdate)); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-us/op")
	s := l.Stats()
	b.ReportMetric(float64(s.LatencySum.Microseconds())/float64(s.LatencyCount), "latency-us")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkAppend1(b *testing.B)   { benchmarkAppend(b, 1) }
func BenchmarkAppend16(b *testing.B)  { benchmarkAppend(b, 16) }
func BenchmarkAppend128(b *testing.B) { benchmarkAppend(b, 128) }

// BenchmarkFollow reads a log of 20,000 records from its beginning; one operation is a record.
func BenchmarkFollow(b *testing.B) {
	const size = 20_000
	l := open(b, Config{Dir: b.TempDir()})
	fill(b, l, "a", size)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		ctx, cancel := context.WithCancel(context.Background())
		l.Follow(ctx, 1, func(es []Entry) error {
			if n += len(es); n >= b.N || es[len(es)-1].Seq == l.Last() {
				cancel()
			}
			return nil
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	r := benchRecord(OpUpdate)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := Encode(benchRecord(OpUpdate))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
