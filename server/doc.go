// Package server puts the parts together: log, snapshots, projections, kinds,
// access and the HTTP API become one running server.
//
// It is the whole of `kronicle serve` but for flags and signals, so tests and
// other programs start exactly what the command starts.
//
// # Invariants
//
//	S1  A client is answered only when the projections have applied everything
//	    that was in the log at the start; until then only health and version
//	    answer, and everything else is 503. (gate)
//	S2  The kinds know a definition before its record becomes visible: the
//	    registry is fed from the same applied batch, before the sequence moves.
//	    (definitions)
//	S3  A failure of the log, the projections or a background part ends the
//	    server with that error; it never goes on with part of itself. (fail)
//	S4  Two servers never share a data directory. (Start: the directory's lock)
//	S5  Parts are closed in the reverse order of their start, and nothing uses
//	    the log after it is closed. (shutDown)
//
// # Caveats
//
// TuneGC changes the garbage collector's target of the whole process.
package server
