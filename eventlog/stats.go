package eventlog

import (
	"sync/atomic"
	"time"
)

// latencyBounds are the upper bounds of the append latency histogram, in seconds.
var latencyBounds = [...]float64{0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Stats are counters since Open, for metrics.
type Stats struct {
	Appends   uint64 // records committed
	Conflicts uint64 // appends refused by their precondition
	Errors    uint64 // appends that failed otherwise
	Resends   uint64 // messages sent again: lost acks, refused batches, moved preconditions
	Commits   uint64 // rounds of the committer
	Batches   uint64 // atomic batches among them
	BatchSum  uint64 // records in all rounds
	BatchMax  uint64 // records in the largest round
	Queue     int    // appends waiting now
	InFlight  int    // messages sent and not acknowledged now

	LatencySum     time.Duration // of committed appends, from call to ack
	LatencyCount   uint64
	LatencyBounds  []float64 // upper bounds in seconds
	LatencyBuckets []uint64  // counts per bound, not cumulative; one more for +Inf
}

// counters is the mutable form of Stats. All but the fields of the committer, which are
// guarded by Log.mu, are atomics.
type counters struct {
	appends, conflicts, errs, resends    atomic.Uint64
	acks                                 uint64 // counted only for Faults, by the one goroutine that gets them
	commits, batches, batchSum, batchMax uint64
	latencySum                           atomic.Int64
	buckets                              [len(latencyBounds) + 1]atomic.Uint64
}

func (c *counters) observe(d time.Duration) {
	c.appends.Add(1)
	c.latencySum.Add(int64(d))
	s := d.Seconds()
	i := 0
	for i < len(latencyBounds) && s > latencyBounds[i] {
		i++
	}
	c.buckets[i].Add(1)
}

// round counts a round of the committer; Log.mu is held.
func (c *counters) round(n int, batch bool) {
	c.commits++
	c.batchSum += uint64(n)
	c.batchMax = max(c.batchMax, uint64(n))
	if batch {
		c.batches++
	}
}

// Stats returns the counters.
func (l *Log) Stats() Stats {
	c := &l.counters
	s := Stats{
		Appends:       c.appends.Load(),
		Conflicts:     c.conflicts.Load(),
		Errors:        c.errs.Load(),
		Resends:       c.resends.Load(),
		LatencySum:    time.Duration(c.latencySum.Load()),
		LatencyBounds: latencyBounds[:],
	}
	for i := range c.buckets {
		n := c.buckets[i].Load()
		s.LatencyBuckets = append(s.LatencyBuckets, n)
		s.LatencyCount += n
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Commits, s.Batches, s.BatchSum, s.BatchMax = c.commits, c.batches, c.batchSum, c.batchMax
	s.Queue, s.InFlight = len(l.queue), len(l.flights)
	return s
}
