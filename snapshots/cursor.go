package snapshots

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/vmihailenco/msgpack/v5"
)

// cursor reads msgpack from a block. Its first error sticks, and everything after it reads as zero.
type cursor struct {
	data   []byte
	r      bytes.Reader
	dec    *msgpack.Decoder
	shared map[string]string // strings that repeat, such as namespaces and label keys
	err    error
}

const maxShared = 1 << 12 // strings kept for sharing by one cursor

func newCursor(data []byte) *cursor {
	c := &cursor{shared: map[string]string{}}
	c.dec = msgpack.NewDecoder(&c.r)
	c.reset(data)
	return c
}

// reset goes on with another block; shared strings stay.
func (c *cursor) reset(data []byte) {
	c.data, c.err = data, nil
	c.r.Reset(data)
	c.dec.Reset(&c.r)
}

func (c *cursor) fail(err error) {
	if c.err == nil && err != nil {
		c.err = err
	}
}

// finish tells whether all went well and nothing is left.
func (c *cursor) finish() error {
	if c.err == nil && c.r.Len() > 0 {
		c.err = errors.New("bytes left over")
	}
	return c.err
}

func (c *cursor) array(want int) {
	if n := c.length(); c.err == nil && n != want {
		c.fail(fmt.Errorf("%d fields instead of %d", n, want))
	}
}

func (c *cursor) length() int {
	if c.err != nil {
		return 0
	}
	n, err := c.dec.DecodeArrayLen()
	c.fail(err)
	if n < 0 || n > c.r.Len() { // each entry has at least one byte
		c.fail(io.ErrUnexpectedEOF)
		return 0
	}
	return n
}

func (c *cursor) uint() uint64 {
	if c.err != nil {
		return 0
	}
	v, err := c.dec.DecodeUint64()
	c.fail(err)
	return v
}

func (c *cursor) uint32() uint32 {
	v := c.uint()
	if v > math.MaxUint32 {
		c.fail(errors.New("number too large"))
	}
	return uint32(v)
}

func (c *cursor) int() int64 {
	if c.err != nil {
		return 0
	}
	v, err := c.dec.DecodeInt64()
	c.fail(err)
	return v
}

// bytes gives a slice of the block itself.
func (c *cursor) bytes() []byte {
	if c.err != nil {
		return nil
	}
	n, err := c.dec.DecodeBytesLen()
	c.fail(err)
	if n < 0 || n > c.r.Len() {
		c.fail(io.ErrUnexpectedEOF)
	}
	if c.err != nil {
		return nil
	}
	at := len(c.data) - c.r.Len()
	_, err = c.r.Seek(int64(n), io.SeekCurrent)
	c.fail(err)
	return c.data[at : at+n]
}

func (c *cursor) text() string { return string(c.bytes()) }

// common is text for strings that are likely to come again.
func (c *cursor) common() string {
	b := c.bytes()
	if s, ok := c.shared[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(c.shared) < maxShared {
		c.shared[s] = s
	}
	return s
}
