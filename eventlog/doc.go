// Package eventlog is the log that kronicle is built on: one JetStream stream, one message per
// mutation of an object. The sequence of a message is the resourceVersion of the object it
// wrote and of the whole store at that moment. The log is embedded, a NATS server inside the
// process with its files in a directory, or a stream of an external NATS that any number of
// servers share as equals.
//
// A [Log] appends a [Record] under a precondition, reads ranges of entries, follows the end,
// and trims the beginning. It knows nothing of HTTP, schemas or what the records add up to.
//
// # Files
//
//	key.go       names of objects and their subjects
//	record.go    the record and its encoding
//	config.go    what Open takes
//	log.go       opening, closing, failing
//	embedded.go  the server inside the process; state.go its witness file; scan.go the check of its files
//	stream.go    the stream, its settings, genesis and epoch
//	commit.go    the committer: queue and rounds; send.go single messages, atomic batches, resends
//	ack.go       answers of the server and what refused preconditions mean
//	recent.go    memory of recently written subjects
//	get.go, read.go, consumer.go, follow.go   reading
//	trim.go, barrier.go, blobs.go, stats.go   what their names say
//
// # Invariants
//
//  1. Sequence order is commit order, and sequences are contiguous: nothing ever deletes a single
//     message. Upheld by checkSettings (no limits that drop records), DenyDelete, and Trim, which
//     only drops a prefix. So a gap is proof of damage, and every reader checks for one.
//  2. An acknowledged append is on disk: the embedded server syncs before it acknowledges
//     (SyncAlways). On an external NATS that is the operator's duty.
//  3. A reader that has been given N has been given every retained record below N from where it
//     began. Upheld by reader and committedLocked.
//  4. An object has at most one append in flight per Log. Upheld by committer.busy.
//  5. An append is written at most once, however often its message is sent: every message but a
//     barrier's carries a precondition that its own success makes false. Upheld by message;
//     resolve tells a lost ack from a conflict by the append's id.
//  6. A record is handed to followers only after its ack, and to an embedded log's followers
//     before Append returns it as theirs to take.
//  7. The log's epoch never changes. The genesis record decides it; the stream's metadata keep
//     it when the record has been trimmed away. Upheld by prepareGenesis.
//  8. Nothing is repaired or created in place of a store that cannot be read: Open refuses.
//     Upheld by judgeFiles, createStream, checkShape.
//
// # Caveats
//
// The log cannot check a precondition against records that have been trimmed away: a caller of
// Append must know all records below First, or it may overwrite what it has not seen.
//
// The block check of scan.go knows the file format of the nats-server version this module pins;
// it runs only after an unclean stop, when nats-server reads all blocks too, and not on
// encrypted stores. A byte that flips in a store that was closed in order is found when the
// record is read.
//
// Ids of appends are sent as Nats-Msg-Id only to an external log. The embedded one has a single
// writer and resolves lost acks by the precondition; the server's duplicate window would cost it
// more than a hundred bytes for each append of the last two minutes.
package eventlog
