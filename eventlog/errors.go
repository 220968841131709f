package eventlog

import (
	"errors"
	"fmt"
)

// Errors of Open.
var (
	// ErrLocked: another process has the data directory open.
	ErrLocked = errors.New("eventlog: the data directory is in use by another process")
	// ErrEncryption: the store is encrypted and the key is missing or wrong, or a key was given
	// for a store that is not encrypted.
	ErrEncryption = errors.New("eventlog: encryption key does not fit the store")
	// ErrSettings: the stream exists with settings that would lose data or cannot be used. The
	// text names the setting.
	ErrSettings = errors.New("eventlog: the stream's settings cannot be used")
)

// Errors of Append and Barrier.
var (
	// ErrConflict: the precondition does not hold; see ConflictError.
	ErrConflict = errors.New("eventlog: precondition failed")
	// ErrTooLarge: the record or its subject is larger than the log takes. Nothing was written.
	ErrTooLarge = errors.New("eventlog: record too large")
	// ErrFull: the disk, or the size limit of the stream, leaves no room. Nothing was written.
	ErrFull = errors.New("eventlog: no space left in the log")
	// ErrUnknown: the append was sent and its outcome is not known: it may or may not have
	// happened, or may happen still.
	ErrUnknown = errors.New("eventlog: outcome of the append is unknown")
	// ErrUnavailable: the log could not be reached. Nothing was written.
	ErrUnavailable = errors.New("eventlog: log unavailable")
	// ErrOverloaded: too much waits to be written. Nothing was written; try again later.
	ErrOverloaded = errors.New("eventlog: log overloaded")
	// ErrFailed: the store failed to write and the log is closed for writing until a restart;
	// see Log.Failed.
	ErrFailed = errors.New("eventlog: log failed")
)

// Errors of reads.
var (
	// ErrTrimmed: the record has been trimmed away; see TrimmedError.
	ErrTrimmed = errors.New("eventlog: record trimmed")
	// ErrNotYet: the sequence has not been written yet.
	ErrNotYet = errors.New("eventlog: sequence not written yet")
	// ErrNotFound: no such blob.
	ErrNotFound = errors.New("eventlog: not found")
)

// Errors of any operation.
var (
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("eventlog: log closed")
	// ErrDamaged: the store lacks records it must have, or holds some it must not; see DamageError.
	ErrDamaged = errors.New("eventlog: store damaged")
)

// ConflictError says that an append's precondition does not hold. Nothing was written.
type ConflictError struct {
	Key Key
	// Expected is what the caller expected: 0 for "does not exist", else the sequence of the
	// object's last record.
	Expected uint64
	// Last is the sequence of the object's last record, 0 if it has none that is retained or if
	// it is not known.
	Last uint64
}

func (e *ConflictError) Error() string {
	if e.Expected == 0 {
		return fmt.Sprintf("eventlog: append %s: the object exists (last record %d)", e.Key, e.Last)
	}
	return fmt.Sprintf("eventlog: append %s: last record is %d, not %d", e.Key, e.Last, e.Expected)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// TrimmedError says that records from Want on are asked for, but the log begins at First.
type TrimmedError struct{ Want, First uint64 }

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("eventlog: record %d has been trimmed, the log begins at %d", e.Want, e.First)
}

// Is makes errors.Is(err, ErrTrimmed) true.
func (e *TrimmedError) Is(target error) bool { return target == ErrTrimmed }

// DamageError says that the store is damaged: what is wrong, at which sequence (0 if it is not
// known), and what the operator can do.
type DamageError struct {
	Seq  uint64
	What string
	Hint string
}

func (e *DamageError) Error() string {
	s := "eventlog: store damaged"
	if e.Seq != 0 {
		s += fmt.Sprintf(" at sequence %d", e.Seq)
	}
	s += ": " + e.What
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Is makes errors.Is(err, ErrDamaged) true.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// What to do, for DamageError.Hint.
const (
	hintStore = "stop, copy the data directory aside before anything else opens it, then restore the log from a backup or start from the newest snapshot in an empty log"
	hintShare = "stop the writers, take a backup of the stream, then restore it from an earlier backup or from a healthy replica"
)

// SettingsError says which setting of an existing stream cannot be used and why.
type SettingsError struct {
	Stream, Setting, Why string
}

func (e *SettingsError) Error() string {
	return fmt.Sprintf("eventlog: stream %s: setting %s: %s", e.Stream, e.Setting, e.Why)
}

// Is makes errors.Is(err, ErrSettings) true.
func (e *SettingsError) Is(target error) bool { return target == ErrSettings }
