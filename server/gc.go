package server

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The heap of a server is mostly the encoded objects: large, long-lived, and
// without pointers inside, so that marking them costs next to nothing. With
// Go's usual target the garbage on top of them may grow to their own size, and
// a store of 200 MB takes 400 MB. The target is therefore lowered as the live
// heap grows: the collector runs more often, on a heap that is cheap to mark.
const (
	gcSmallHeap  = 64 << 20  // up to here: the usual target
	gcLargeHeap  = 512 << 20 // from here on: the lowest target
	gcSmallGOGC  = 100
	gcLargeGOGC  = 25
	gcLookEvery  = 2 * time.Second
	gcLeastShift = 5 // smaller changes of the target are not worth a call
)

// gcTarget is the GOGC for a live heap of so many bytes: it falls along a
// straight line over the logarithm of the size.
func gcTarget(live uint64) int {
	switch {
	case live <= gcSmallHeap:
		return gcSmallGOGC
	case live >= gcLargeHeap:
		return gcLargeGOGC
	}
	way := math.Log2(float64(live)/gcSmallHeap) / math.Log2(float64(gcLargeHeap)/gcSmallHeap)
	return gcSmallGOGC - int(way*(gcSmallGOGC-gcLargeGOGC))
}

// tuneGC follows the live heap until ctx ends. It does nothing where the
// operator has set GOGC or GOMEMLIMIT.
func tuneGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	current := gcSmallGOGC
	tick := time.NewTicker(gcLookEvery)
	defer tick.Stop()
	for {
		metrics.Read(sample)
		if sample[0].Value.Kind() == metrics.KindUint64 {
			want := gcTarget(sample[0].Value.Uint64())
			if d := want - current; d >= gcLeastShift || d <= -gcLeastShift || d != 0 && want == gcLargeGOGC {
				debug.SetGCPercent(want)
				current = want
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
