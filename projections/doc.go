// Package projections is what the log adds up to: for each resource an ordered
// copy-on-write tree of its objects, the recent changes that watches read, and
// the applied sequence with everyone who waits for it. It knows the log's types
// and neither HTTP nor NATS.
//
//   - [Store] is the projection of one log. [Store.Run] follows the log and is
//     the only writer.
//   - [Object] is one version of one object: the bytes it is served as, and
//     offsets into them. Immutable.
//   - [View] is one resource at one sequence: a pointer to a tree. Immutable.
//   - [Change] is one mutation, shared by all who watch.
//   - [Watcher] is a position in the changes of a resource.
//
// # Where a read is served from
//
//	current state     the published root of the resource (Get, View)
//	state at N        within memory: the nearest kept root, later changes undone;
//	                  further back: the nearest snapshot at or before N and the log after it (At)
//	changes after N   within memory: the feed of the resource;
//	                  further back: pieces of the log, decoded once for all who read there (Watch)
//
// # Invariants
//
//  1. The state at sequence N is the fold of the records 1..N and depends on
//     nothing else: not on batch sizes, restarts or memory. (Run applies strictly
//     by sequence; a record that does not fit stops it and is never skipped.)
//  2. Objects, changes, published roots and feed views are never modified once
//     another goroutine can see them. (Everybody: readers are given shared memory.)
//  3. Whoever has seen Applied() >= N finds every change up to N in the views, the
//     feeds and the exact states. (publish: feeds, then roots, then the sequence.)
//  4. Changes are visible all or nothing for each batch, and OnApply has returned
//     before. Cut sees all resources at one and the same sequence. (publish, under cutMu.)
//  5. A watcher gets each change of its resource with a sequence above its start
//     exactly once and in order, wherever it comes from. (Watcher: it is a single
//     position, which the feed and the log are both asked to go on from.)
//  6. No reader makes the writer wait and no watcher delays another. Reading takes
//     no lock that Run holds, other than Cut's and those of the timeline and of
//     waiting itself. (Store, feed.)
//  7. A record is encoded once when it is applied, however many watch. (encoder.)
//  8. What was trimmed gives ExpiredError; data is never partial. (cold: every
//     sequence is accounted for. The caller of RaiseFloor: it comes before the trim,
//     and a snapshot at or below the floor, with all the log after it, is kept.)
//
// # Memory
//
// An object costs its JSON, its position, some 30 bytes of frame and 80 of
// offsets, and Go's rounding of sizes. Superseded versions and changes
// stay within MemoryWindow, over all resources, oldest out first. Decoded log
// and older states have limits of their own; each keeps at least the piece or
// state in use, whatever its size.
//
// # Caveats
//
//   - After a restart the feed is empty: a watcher that was behind reads the log.
//   - The slices that Next, JSON and Frame return are shared. Modifying one
//     corrupts the store.
//   - A string from an Object (name, label, uid) keeps all of its bytes in memory.
//     Clone it for keeping longer.
//   - A Watcher that is not in Next does not know that nothing has happened. If it
//     stays away for so long that its position is trimmed, it is expired, even if
//     its resource had no change.
//   - For the frame of an initial event use AppendFrame. Frame keeps what it builds
//     for as long as the garbage collector lets it.
package projections
