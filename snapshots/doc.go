// Package snapshots keeps durable pictures of the projections, and with them the length of the log.
//
// A snapshot holds every object at one sequence of the log, in one file: a section for each resource, split into parts that are
// compressed, optionally encrypted, and checksummed one by one (format.go). Start-up is the newest valid snapshot plus the log
// after it (Load). An older state is the nearest snapshot at or below it plus the log in between (Keeper.Nearest), reading one
// resource's section only. What a snapshot covers may be dropped from the log (Keeper.Run). Verify folds the log by other means
// and compares.
//
// Store is where the files are: a folder (Dir) or a bucket that several servers share (Bucket). Keeper is the policy: when a
// snapshot is taken, how far back history can be read (the floor), what is trimmed, and which snapshots are deleted.
//
// # Invariants
//
//	S1  A name in a Store stands for a whole, durable file. (Store: temporary name, sync, rename, sync of the folder)
//	S2  No byte of a file can change unnoticed. Load and Nearest give a whole snapshot or none. (reader)
//	S3  A wrong key is never taken for damage, and damage never for a wrong key. (reader: key check in the clear preamble)
//	S4  The log is trimmed only up to a snapshot that has been read back and found sound, and that lies at or below the floor;
//	    the floor is raised in the projections first. (Keeper.trim)
//	S5  The floor never lies above what the limits allow: everything younger than the age, within the bytes, within the events
//	    of whichever limit reaches least far stays readable. It lags by at most a tick, and by what lies between two marks of the
//	    timeline for the limit in bytes. (Keeper.raise)
//	S6  For every version at or above the floor there is a snapshot at or below it whose following log is retained, or the log
//	    is retained from its beginning. The newest two snapshots are never deleted. (Keeper.thin)
//	S7  The floor given at start is never below what snapshots and log can rebuild. (Load)
//	S8  Taking a snapshot holds up no writer: it begins with a copy of root pointers and holds one part in memory. (write)
//
// # Caveats
//
// The log is trimmed up to the newest snapshot at or below the floor. A store in which nothing changes for longer than the window
// therefore rests on that one snapshot: if its file is damaged later, start-up refuses (ErrUnrecoverable). Keep backups.
//
// The age of a record is the time in it. Where clocks of several servers disagree, or a clock is set back, the age limit is as
// inexact as the clocks are.
//
// The folder and the key protect what is stored, not against somebody who can replace files: an unencrypted snapshot is accepted
// also when a key is given, so that encryption can be switched on for existing data.
//
// Reading a snapshot back after writing it goes through the page cache of the operating system; it proves what was written,
// while fsync has to be trusted for what is on the disk.
//
// Files of another epoch in the same store are left alone. Remove them by hand if a log was started anew on purpose.
package snapshots
