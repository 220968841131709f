package snapshots

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/kronicle/kronicle/projections"
)

const (
	objectFields = 9
	markFields   = 3

	objectDeleting = 1 << 0
	objectAdded    = 1 << 1
)

func encodeObject(e *msgpack.Encoder, o *projections.StoredObject) error {
	flags := uint64(0)
	if o.Deleting {
		flags |= objectDeleting
	}
	if o.Added {
		flags |= objectAdded
	}
	err := firstError(
		e.EncodeArrayLen(objectFields), e.EncodeString(o.Namespace), e.EncodeString(o.Name), e.EncodeString(o.UID),
		e.EncodeUint(o.RV), e.EncodeUint(flags), e.EncodeUint(uint64(o.Finalizers)), e.EncodeArrayLen(2*len(o.Labels)),
	)
	if err != nil {
		return err
	}
	for _, l := range o.Labels {
		if err := firstError(e.EncodeString(l.Key), e.EncodeString(l.Value)); err != nil {
			return err
		}
	}
	if err := e.EncodeArrayLen(len(o.Owners)); err != nil {
		return err
	}
	for _, owner := range o.Owners {
		if err := e.EncodeString(owner); err != nil {
			return err
		}
	}
	return e.EncodeBytes(o.Data)
}

// decodeObject reads into o; Data is a slice of the block.
func decodeObject(c *cursor, o *projections.StoredObject) {
	c.array(objectFields)
	*o = projections.StoredObject{Namespace: c.common(), Name: c.text(), UID: c.text(), RV: c.uint()}
	flags := c.uint()
	o.Deleting, o.Added = flags&objectDeleting != 0, flags&objectAdded != 0
	o.Finalizers = int(c.uint32())
	if n := c.length(); n > 0 {
		o.Labels = make([]projections.Label, 0, n/2)
		for i := 0; i < n/2 && c.err == nil; i++ {
			o.Labels = append(o.Labels, projections.Label{Key: c.common(), Value: c.common()})
		}
	}
	if n := c.length(); n > 0 {
		o.Owners = make([]string, 0, n)
		for i := 0; i < n && c.err == nil; i++ {
			o.Owners = append(o.Owners, c.common())
		}
	}
	o.Data = c.bytes()
}

// decodeObjects gives each object of a part, checking what is known of it: count, order, and no version after seq.
func decodeObjects(c *cursor, p part, seq uint64, fn func(*projections.StoredObject) error) error {
	var o projections.StoredObject
	last := ""
	for i := range p.count {
		decodeObject(c, &o)
		if c.err != nil {
			return fmt.Errorf("object %d of part %d: %w", i, p.number, c.err)
		}
		at := position(o.Namespace, o.Name)
		if i == 0 && at != p.first || i > 0 && at <= last {
			return fmt.Errorf("object %d of part %d is out of order", i, p.number)
		}
		if o.RV == 0 || o.RV > seq {
			return fmt.Errorf("object %d of part %d has version %d, after the snapshot's %d", i, p.number, o.RV, seq)
		}
		last = at
		if err := fn(&o); err != nil {
			return &callbackError{err}
		}
	}
	if err := c.finish(); err != nil {
		return fmt.Errorf("part %d: %w", p.number, err)
	}
	return nil
}

// callbackError is an error of the caller's function, not of the snapshot.
type callbackError struct{ error }

func (e *callbackError) Unwrap() error { return e.error }

func encodeMark(e *msgpack.Encoder, m projections.Mark) error {
	return firstError(e.EncodeArrayLen(markFields), e.EncodeUint(m.Seq), e.EncodeInt(m.Time), e.EncodeUint(m.Bytes))
}

func decodeMarks(c *cursor, p part, marks []projections.Mark) ([]projections.Mark, error) {
	for range p.count {
		c.array(markFields)
		marks = append(marks, projections.Mark{Seq: c.uint(), Time: c.int(), Bytes: c.uint()})
		if c.err != nil {
			return nil, fmt.Errorf("timeline part %d: %w", p.number, c.err)
		}
	}
	if err := c.finish(); err != nil {
		return nil, fmt.Errorf("timeline part %d: %w", p.number, err)
	}
	return marks, nil
}
