package snapshots

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Store holds finished snapshots by name. All methods may be called concurrently.
//
// The contract, checked by one suite over every implementation:
// a name appears in List only when all of its bytes are durable; Put of an existing name replaces it as a whole;
// a failed Put leaves the name as it was; an open File stays readable after Delete; Delete of a missing name is no error.
type Store interface {
	// Put stores what write writes under name. When it returns nil the bytes are durable.
	Put(ctx context.Context, name string, write func(io.Writer) error) error
	// Open gives random access to a snapshot; ErrNotExist if there is none of that name.
	Open(ctx context.Context, name string) (File, error)
	// List gives the names of the snapshots, oldest first. Other names are left out.
	List(ctx context.Context) ([]string, error)
	// Delete removes a snapshot.
	Delete(ctx context.Context, name string) error
}

// File is an open snapshot in a Store.
type File interface {
	io.ReaderAt
	io.Closer
	// Size in bytes.
	Size() int64
}

// cached is a Store whose Open may answer from a local copy; forget drops that copy.
type cached interface{ forget(name string) error }

const (
	namePrefix = "snapshot-"
	nameSuffix = ".kron"
	nameDigits = 20
)

// Name is the name of the snapshot at seq. Names sort like their sequences.
func Name(seq uint64) string {
	return fmt.Sprintf("%s%0*d%s", namePrefix, nameDigits, seq, nameSuffix)
}

// ParseName is the inverse of Name; false for any other name.
func ParseName(name string) (seq uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, namePrefix)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, nameSuffix)
	if !ok || len(digits) != nameDigits {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil && Name(seq) == name
}
