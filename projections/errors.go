package projections

import (
	"errors"
	"fmt"
)

// Errors of reads.
var (
	// ErrExpired is matched by every *ExpiredError: the sequence asked for is no longer retained.
	ErrExpired = errors.New("sequence is no longer retained")
	// ErrFuture is matched by every *FutureError: the sequence asked for has not been applied yet.
	ErrFuture = errors.New("sequence has not been applied yet")
	// ErrStopped is returned to those who wait for a sequence when Run has ended: it will not come.
	// It wraps what Run returned.
	ErrStopped = errors.New("projection has stopped")
	// ErrNoSnapshot is returned by SnapshotSource.Nearest when there is no snapshot at or below the sequence.
	ErrNoSnapshot = errors.New("no snapshot at or below the sequence")
)

// Errors of the projection itself.
var (
	// ErrCannotApply is matched by every *ApplyError: the log holds a record that contradicts the state.
	ErrCannotApply = errors.New("record cannot be applied")
)

// ExpiredError says that the state or the events at Seq can no longer be given.
type ExpiredError struct {
	Seq   uint64 // the sequence asked for
	Floor uint64 // the oldest sequence that can be read
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("too old resource version: %d (%d)", e.Seq, e.Floor)
}

// Is reports that the error is an ErrExpired.
func (e *ExpiredError) Is(target error) bool { return target == ErrExpired }

// FutureError says that Seq is above what has been applied.
type FutureError struct {
	Seq     uint64 // the sequence asked for
	Current uint64 // the sequence applied when it was asked
}

func (e *FutureError) Error() string {
	return fmt.Sprintf("too large resource version: %d, current: %d", e.Seq, e.Current)
}

// Is reports that the error is an ErrFuture.
func (e *FutureError) Is(target error) bool { return target == ErrFuture }

// ApplyError names the record that stopped the projection.
type ApplyError struct {
	Seq uint64 // its sequence
	Key string // group/resource/namespace/name of its object, "" for a record of the log itself
	Why string
}

func (e *ApplyError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("apply sequence %d: %s", e.Seq, e.Why)
	}
	return fmt.Sprintf("apply sequence %d of %s: %s", e.Seq, e.Key, e.Why)
}

// Is reports that the error is an ErrCannotApply.
func (e *ApplyError) Is(target error) bool { return target == ErrCannotApply }
