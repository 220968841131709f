package snapshots

import (
	"errors"
	"fmt"
)

// Errors of a single snapshot, when it is opened or read.
var (
	// ErrDamaged: a snapshot's bytes are not the ones that were written. Such a snapshot is passed over for an older one.
	ErrDamaged = errors.New("snapshot is damaged")
	// ErrEncryption: a snapshot is encrypted and the key is missing or another one. It is never passed over: the data is whole.
	ErrEncryption = errors.New("snapshot cannot be decrypted")
	// ErrFormat: a snapshot was written by a newer program. It is never passed over: the data is whole.
	ErrFormat = errors.New("snapshot has an unknown format version")
	// ErrNotExist: the store holds no snapshot of that name (also when it was removed by retention meanwhile).
	ErrNotExist = errors.New("snapshot does not exist")
)

// Errors of Load, at start.
var (
	// ErrUnrecoverable: the log begins after the last state that any valid snapshot holds.
	ErrUnrecoverable = errors.New("state cannot be recovered")
	// ErrLogReset: a snapshot is newer than the end of the log.
	ErrLogReset = errors.New("log ends before the newest snapshot")
)

// DamageError tells which snapshot is damaged and where.
type DamageError struct {
	Name string // of the snapshot in its store
	What string // what does not fit
}

// Error names the snapshot and the fault.
func (e *DamageError) Error() string {
	return fmt.Sprintf("snapshot %s is damaged: %s", e.Name, e.What)
}

// Is makes errors.Is(err, ErrDamaged) hold.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

func damaged(name, format string, args ...any) error {
	return &DamageError{Name: name, What: fmt.Sprintf(format, args...)}
}
