package eventlog

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"
)

// recordFormat is the version of the record encoding. A record of any other version is an
// error: it is never skipped.
const recordFormat = 1

// recordFields is the number of elements of an encoded record.
const recordFields = 10

// actorFields is the number of elements of an encoded actor.
const actorFields = 9

// Op is what a record did.
type Op uint8

// The operations.
const (
	OpCreate  Op = 1
	OpUpdate  Op = 2
	OpDelete  Op = 3
	OpGenesis Op = 4 // the first record of a log, with its epoch
	OpBarrier Op = 5 // carries nothing; see Log.Barrier
)

// String returns the operation's name in lower case.
func (o Op) String() string {
	switch o {
	case OpCreate:
		return "create"
	case OpUpdate:
		return "update"
	case OpDelete:
		return "delete"
	case OpGenesis:
		return "genesis"
	case OpBarrier:
		return "barrier"
	}
	return "op(" + strconv.Itoa(int(o)) + ")"
}

// Actor tells who made a change and how.
type Actor struct {
	User         string
	Groups       []string
	Impersonator string
	UserAgent    string
	Source       string // network address
	Verb         string
	Subresource  string
	FieldManager string
	RequestID    string // as the client or server named the request; not necessarily unique
}

// Record is one mutation of one object, and its audit entry. It is immutable once appended.
type Record struct {
	Op Op
	// Object is the object's JSON as served, but without metadata.resourceVersion. For a delete
	// it is the last state.
	Object []byte
	// RVAt is the byte offset in Object at which `"resourceVersion":"N",` is spliced in to give
	// the served bytes.
	RVAt int
	UID  string
	// Prev is the sequence of the object's previous record, 0 if there is none or if it was a
	// delete. Append sets it.
	Prev  uint64
	Time  int64 // Unix nanoseconds, UTC; Append sets it if it is 0
	Actor Actor
	Epoch string // genesis only
}

const (
	rvHead = `"resourceVersion":"`
	rvTail = `",`
)

// Served returns the object's JSON with its resourceVersion spliced in, preceded by head and
// followed by tail, in one allocation.
func (r *Record) Served(seq uint64, head, tail string) []byte {
	var digits [20]byte
	num := strconv.AppendUint(digits[:0], seq, 10)
	b := make([]byte, 0, len(head)+len(r.Object)+len(rvHead)+len(num)+len(rvTail)+len(tail))
	b = append(b, head...)
	b = append(b, r.Object[:r.RVAt]...)
	b = append(b, rvHead...)
	b = append(b, num...)
	b = append(b, rvTail...)
	b = append(b, r.Object[r.RVAt:]...)
	return append(b, tail...)
}

// Entry is a record at its place in the log.
type Entry struct {
	Seq    uint64
	Key    Key // zero for genesis and barrier records
	Record *Record
	Size   int // bytes the record takes in the stream, including an allowance for its header
}

// entryOverhead is what a message takes in the stream beyond its subject and data: record frame
// and headers. Headers differ by a few dozen bytes between single and batched messages; a
// constant keeps the size of an entry the same however it is read.
const entryOverhead = 128

// sliceWriter collects the encoder's output; msgpack uses WriteByte when there is one.
type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error)       { w.b = append(w.b, p...); return len(p), nil }
func (w *sliceWriter) WriteByte(c byte) error            { w.b = append(w.b, c); return nil }
func (w *sliceWriter) WriteString(s string) (int, error) { w.b = append(w.b, s...); return len(s), nil }

// Encode returns the record as one msgpack array that begins with the format version and ends
// with the object.
func Encode(r *Record) ([]byte, error) {
	return appendRecord(make([]byte, 0, encodedSize(r)), r)
}

// encodedSize is an upper bound for the usual record, so that encoding allocates once.
func encodedSize(r *Record) int {
	n := 96 + len(r.Object) + len(r.UID) + len(r.Epoch)
	a := &r.Actor
	for _, g := range a.Groups {
		n += len(g) + 3
	}
	return n + len(a.User) + len(a.Impersonator) + len(a.UserAgent) + len(a.Source) + len(a.Verb) +
		len(a.Subresource) + len(a.FieldManager) + len(a.RequestID)
}

// appendRecord appends the encoded record to b.
func appendRecord(b []byte, r *Record) ([]byte, error) {
	if r.Op < OpCreate || r.Op > OpBarrier {
		return nil, fmt.Errorf("eventlog: encode: unknown operation %d", r.Op)
	}
	if r.RVAt < 0 || r.RVAt > len(r.Object) {
		return nil, fmt.Errorf("eventlog: encode: RVAt %d outside an object of %d bytes", r.RVAt, len(r.Object))
	}
	w := &sliceWriter{b: b}
	e := msgpack.GetEncoder()
	defer msgpack.PutEncoder(e)
	e.Reset(w)
	fields := func() error {
		return firstError(
			e.EncodeArrayLen(recordFields),
			e.EncodeUint(recordFormat),
			e.EncodeUint(uint64(r.Op)),
			e.EncodeString(r.UID),
			e.EncodeUint(r.Prev),
			e.EncodeInt(r.Time),
			e.EncodeUint(uint64(r.RVAt)),
			encodeActor(e, &r.Actor),
			e.EncodeString(r.Epoch),
			e.EncodeNil(), // reserved
			e.EncodeBytesLen(len(r.Object)),
		)
	}
	if err := fields(); err != nil {
		return nil, fmt.Errorf("eventlog: encode: %w", err)
	}
	return append(w.b, r.Object...), nil
}

func encodeActor(e *msgpack.Encoder, a *Actor) error {
	if err := firstError(e.EncodeArrayLen(actorFields), e.EncodeString(a.User), e.EncodeArrayLen(len(a.Groups))); err != nil {
		return err
	}
	for _, g := range a.Groups {
		if err := e.EncodeString(g); err != nil {
			return err
		}
	}
	return firstError(
		e.EncodeString(a.Impersonator),
		e.EncodeString(a.UserAgent),
		e.EncodeString(a.Source),
		e.EncodeString(a.Verb),
		e.EncodeString(a.Subresource),
		e.EncodeString(a.FieldManager),
		e.EncodeString(a.RequestID),
	)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Decode reads an encoded record. The record's Object shares memory with data. A record of an
// unknown format version is an error that names the version.
func Decode(data []byte) (*Record, error) {
	in := bytes.NewReader(data)
	d := msgpack.GetDecoder()
	defer msgpack.PutDecoder(d)
	d.Reset(in)
	n, err := d.DecodeArrayLen()
	if err != nil {
		return nil, fmt.Errorf("eventlog: decode record: %w", err)
	}
	if n < 1 {
		return nil, fmt.Errorf("eventlog: decode record: no format version")
	}
	format, err := d.DecodeUint64()
	if err != nil {
		return nil, fmt.Errorf("eventlog: decode record: format version: %w", err)
	}
	if format != recordFormat {
		return nil, fmt.Errorf("eventlog: decode record: format version %d is not known to this program (it knows %d)", format, recordFormat)
	}
	if n != recordFields {
		return nil, fmt.Errorf("eventlog: decode record: %d fields, want %d", n, recordFields)
	}
	r := &Record{}
	if err := decodeFields(d, in, r, data); err != nil {
		return nil, fmt.Errorf("eventlog: decode record: %w", err)
	}
	return r, nil
}

// decodeFields reads what follows the format version. The object is the last field, so that its
// bytes can be shared instead of copied.
func decodeFields(d *msgpack.Decoder, in *bytes.Reader, r *Record, data []byte) error {
	op, err := d.DecodeUint64()
	if err != nil {
		return fmt.Errorf("operation: %w", err)
	}
	if op < uint64(OpCreate) || op > uint64(OpBarrier) {
		return fmt.Errorf("unknown operation %d", op)
	}
	r.Op = Op(op)
	if r.UID, err = d.DecodeString(); err != nil {
		return fmt.Errorf("uid: %w", err)
	}
	if r.Prev, err = d.DecodeUint64(); err != nil {
		return fmt.Errorf("previous sequence: %w", err)
	}
	if r.Time, err = d.DecodeInt64(); err != nil {
		return fmt.Errorf("time: %w", err)
	}
	at, err := d.DecodeUint64()
	if err != nil {
		return fmt.Errorf("resourceVersion offset: %w", err)
	}
	if err := decodeActor(d, &r.Actor); err != nil {
		return err
	}
	if r.Epoch, err = d.DecodeString(); err != nil {
		return fmt.Errorf("epoch: %w", err)
	}
	if err := d.DecodeNil(); err != nil {
		return fmt.Errorf("reserved field: %w", err)
	}
	size, err := d.DecodeBytesLen()
	if err != nil {
		return fmt.Errorf("object: %w", err)
	}
	if size < 0 {
		size = 0
	}
	if in.Len() != size {
		return fmt.Errorf("object has %d bytes, %d follow", size, in.Len())
	}
	if at > uint64(size) {
		return fmt.Errorf("resourceVersion offset %d outside an object of %d bytes", at, size)
	}
	r.RVAt = int(at)
	if size > 0 {
		r.Object = data[len(data)-size : len(data) : len(data)]
	}
	return nil
}

func decodeActor(d *msgpack.Decoder, a *Actor) error {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return fmt.Errorf("actor: %w", err)
	}
	if n != actorFields {
		return fmt.Errorf("actor has %d fields, want %d", n, actorFields)
	}
	if a.User, err = d.DecodeString(); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	groups, err := d.DecodeArrayLen()
	if err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	for range groups {
		g, err := d.DecodeString()
		if err != nil {
			return fmt.Errorf("groups: %w", err)
		}
		a.Groups = append(a.Groups, g)
	}
	for _, p := range []*string{&a.Impersonator, &a.UserAgent, &a.Source, &a.Verb, &a.Subresource, &a.FieldManager, &a.RequestID} {
		if *p, err = d.DecodeString(); err != nil {
			return fmt.Errorf("actor: %w", err)
		}
	}
	return nil
}
