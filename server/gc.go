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
//
// What the collector frees goes back to the system slowly and only in part. So
// when the server has nothing to do (after a start, after a burst of writes) it
// collects once and gives back all that is free.
const (
	gcSmallHeap  = 64 << 20  // up to here: the usual target
	gcLargeHeap  = 512 << 20 // from here on: the lowest target
	gcSmallGOGC  = 100
	gcLargeGOGC  = 25
	gcLookEvery  = time.Second
	gcLeastShift = 5        // smaller changes of the target are not worth a call
	gcIdleAlloc  = 1 << 20  // bytes allocated between two looks of an idle server
	gcWorthwhile = 16 << 20 // bytes to give back that are worth a collection
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

// tuneGC follows the heap until ctx ends. It does nothing where the operator
// has set GOGC or GOMEMLIMIT.
func tuneGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	var before heap
	target, returned := gcSmallGOGC, false
	tick := time.NewTicker(gcLookEvery)
	defer tick.Stop()
	for {
		now := readHeap()
		if want := gcTarget(now.live); want-target >= gcLeastShift || target-want >= gcLeastShift || want == gcLargeGOGC && want != target {
			debug.SetGCPercent(want)
			target = want
		}
		switch idle := now.allocated-before.allocated < gcIdleAlloc; {
		case !idle:
			returned = false
		case !returned && now.waste() > gcWorthwhile:
			debug.FreeOSMemory()
			returned = true
		}
		before = now
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// heap is the state of the process's heap, in bytes.
type heap struct {
	live      uint64 // reached by the last collection
	objects   uint64 // live and garbage
	free      uint64 // kept for later, not given back to the system
	allocated uint64 // since the process began
}

// waste is what a collection would free, at most, and what is free already.
func (h heap) waste() uint64 { return h.free + h.objects - min(h.objects, h.live) }

func readHeap() heap {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples)
	var v [4]uint64
	for i := range samples {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			v[i] = samples[i].Value.Uint64()
		}
	}
	return heap{live: v[0], objects: v[1], free: v[2], allocated: v[3]}
}
