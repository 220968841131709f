package projections

import "sync/atomic"

// counts are what Stats reports, kept where it happens.
type counts struct {
	frames     atomic.Uint64
	feedBytes  atomic.Int64
	watchers   atomic.Int64
	parked     atomic.Int64
	parkings   atomic.Uint64
	coldReads  atomic.Uint64
	coldHits   atomic.Uint64
	exactBuilt atomic.Uint64
	exactHits  atomic.Uint64
}

// Stats tells what a store holds and has done.
type Stats struct {
	Applied, Floor uint64
	Objects        map[GroupResource]int

	FeedBytes int64 // memory of recent changes and superseded versions
	ColdBytes int64 // memory of decoded log for those who read further back

	Watchers int64  // open
	Parked   int64  // of them, being served from the log
	Parkings uint64 // how often one fell out of memory

	ColdReads uint64 // pieces of the log that were read
	ColdHits  uint64 // pieces that were found already read

	ExactBuilt uint64 // older states that were rebuilt
	ExactHits  uint64 // older states that were found already built

	// Frames counts the encodings of records: one for each change that was
	// applied, however many watch it, and one for each that was read again from the log.
	Frames uint64
}

// Stats returns the figures of this moment; they are not consistent with each other.
func (s *Store) Stats() Stats {
	st := Stats{
		Applied: s.Applied(), Floor: s.Floor(), Objects: make(map[GroupResource]int),
		FeedBytes: s.counts.feedBytes.Load(), ColdBytes: s.cold.size(),
		Watchers: s.counts.watchers.Load(), Parked: s.counts.parked.Load(), Parkings: s.counts.parkings.Load(),
		ColdReads: s.counts.coldReads.Load(), ColdHits: s.counts.coldHits.Load(),
		ExactBuilt: s.counts.exactBuilt.Load(), ExactHits: s.counts.exactHits.Load(),
		Frames: s.counts.frames.Load(),
	}
	s.resources.each(func(res *resource) {
		if res.seen.Load() {
			st.Objects[res.gr] = res.root.Load().tree.Len()
		}
	})
	return st
}
