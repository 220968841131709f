package snapshots

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/kronicle/kronicle/projections"
)

// The file, in order; numbers in the preamble and the footer are big-endian:
//
//	preamble  64 bytes, clear: magic, version, flags, file id, salt, key check, checksum
//	header    one block: epoch, sequence, floor, created
//	parts     blocks of about partSize before compression: timeline marks first, then the objects of each resource
//	index     one block: where each part lies, how many entries it has and its first key
//	footer    64 bytes, clear: where header and index lie, file id, checksum, magic
//
// A block is msgpack, compressed with zstd, then sealed if there is a key. Blocks lie without gaps between them, and each has
// an xxhash64 of its stored bytes in the index (header and index: in the footer), so every byte of a file is covered.
const (
	formatVersion = 1
	flagSealed    = 1 << 0
	preambleSize  = 64
	footerSize    = 64

	partSize = 2 << 20 // a part is closed when it has this many bytes; one object may carry it beyond
	maxRaw   = 1 << 30 // no block is larger before compression

	headerNumber = 0
	indexNumber  = 1<<32 - 1
)

var (
	preambleMagic = [8]byte{'K', 'R', 'O', 'N', 'S', 'N', 'A', 'P'}
	footerMagic   = [8]byte{'K', 'R', 'O', 'N', 'S', 'E', 'N', 'D'}
)

// Header is what a snapshot says of itself.
type Header struct {
	Epoch   string    // of the log it belongs to
	Seq     uint64    // the state is the one after this sequence
	Floor   uint64    // oldest readable state when it was taken
	Created time.Time // UTC
}

// blockRef tells where a block lies.
type blockRef struct {
	off  uint64
	size uint32 // stored
	raw  uint32 // before compression
	sum  uint64 // xxhash64 of the stored bytes
}

// part is a block of marks or of one resource's objects.
type part struct {
	blockRef
	number uint32 // nonce and place of the block; counts from 1 in file order
	count  uint32 // marks or objects
	first  string // position of the first object, see position
}

// section is all objects of one resource, in key order.
type section struct {
	gr    projections.GroupResource
	count uint64
	parts []part
}

// index is the table of contents.
type index struct {
	timeline []part
	sections []section
}

type preamble struct {
	flags  uint16
	fileID [fileIDSize]byte
	salt   [saltSize]byte
	check  [keyCheckSize]byte
}

func (p *preamble) encode() []byte {
	b := make([]byte, 0, preambleSize)
	b = append(b, preambleMagic[:]...)
	b = binary.BigEndian.AppendUint16(b, formatVersion)
	b = binary.BigEndian.AppendUint16(b, p.flags)
	b = append(b, p.fileID[:]...)
	b = append(b, p.salt[:]...)
	b = append(b, p.check[:]...)
	return binary.BigEndian.AppendUint64(b, xxhash.Sum64(b))
}

func decodePreamble(name string, b []byte) (*preamble, error) {
	if !bytes.Equal(b[:8], preambleMagic[:]) {
		return nil, damaged(name, "it does not begin like a snapshot")
	}
	if binary.BigEndian.Uint64(b[56:]) != xxhash.Sum64(b[:56]) {
		return nil, damaged(name, "checksum of the preamble does not fit")
	}
	if v := binary.BigEndian.Uint16(b[8:]); v != formatVersion {
		return nil, fmt.Errorf("snapshot %s: %w: it has version %d, this program reads %d", name, ErrFormat, v, formatVersion)
	}
	p := &preamble{flags: binary.BigEndian.Uint16(b[10:])}
	copy(p.fileID[:], b[12:])
	copy(p.salt[:], b[28:])
	copy(p.check[:], b[44:])
	return p, nil
}

type footer struct {
	header, index blockRef
	fileID        [fileIDSize]byte
}

func (f *footer) encode() []byte {
	b := make([]byte, 0, footerSize)
	b = binary.BigEndian.AppendUint32(b, f.header.size)
	b = binary.BigEndian.AppendUint32(b, f.header.raw)
	b = binary.BigEndian.AppendUint64(b, f.header.sum)
	b = binary.BigEndian.AppendUint32(b, f.index.size)
	b = binary.BigEndian.AppendUint32(b, f.index.raw)
	b = binary.BigEndian.AppendUint64(b, f.index.sum)
	b = append(b, f.fileID[:]...)
	b = binary.BigEndian.AppendUint64(b, xxhash.Sum64(b))
	return append(b, footerMagic[:]...)
}

// decodeFooter reads the footer of a file of the given size; the header follows the preamble, the index precedes the footer.
func decodeFooter(name string, b []byte, size uint64) (*footer, error) {
	if !bytes.Equal(b[56:], footerMagic[:]) {
		return nil, damaged(name, "it does not end like a snapshot (cut short?)")
	}
	if binary.BigEndian.Uint64(b[48:]) != xxhash.Sum64(b[:48]) {
		return nil, damaged(name, "checksum of the footer does not fit")
	}
	f := &footer{
		header: blockRef{
			off: preambleSize, size: binary.BigEndian.Uint32(b),
			raw: binary.BigEndian.Uint32(b[4:]), sum: binary.BigEndian.Uint64(b[8:]),
		},
		index: blockRef{
			size: binary.BigEndian.Uint32(b[16:]),
			raw:  binary.BigEndian.Uint32(b[20:]), sum: binary.BigEndian.Uint64(b[24:]),
		},
	}
	copy(f.fileID[:], b[32:])
	if uint64(f.header.size)+uint64(f.index.size)+preambleSize+footerSize > size {
		return nil, damaged(name, "header and index are larger than the file")
	}
	f.index.off = size - footerSize - uint64(f.index.size)
	return f, nil
}

const headerFields = 4

func encodeHeader(e *msgpack.Encoder, h Header) error {
	return firstError(
		e.EncodeArrayLen(headerFields), e.EncodeString(h.Epoch), e.EncodeUint(h.Seq), e.EncodeUint(h.Floor),
		e.EncodeInt(h.Created.UnixNano()),
	)
}

func decodeHeader(data []byte) (Header, error) {
	c := newCursor(data)
	c.array(headerFields)
	h := Header{Epoch: c.text(), Seq: c.uint(), Floor: c.uint(), Created: time.Unix(0, c.int()).UTC()}
	return h, c.finish()
}

const (
	indexFields   = 2
	sectionFields = 4
	partFields    = 6
)

func encodeIndex(e *msgpack.Encoder, x *index) error {
	if err := firstError(e.EncodeArrayLen(indexFields), encodeParts(e, x.timeline), e.EncodeArrayLen(len(x.sections))); err != nil {
		return err
	}
	for _, s := range x.sections {
		err := firstError(e.EncodeArrayLen(sectionFields), e.EncodeString(s.gr.Group), e.EncodeString(s.gr.Resource),
			e.EncodeUint(s.count), encodeParts(e, s.parts))
		if err != nil {
			return err
		}
	}
	return nil
}

func encodeParts(e *msgpack.Encoder, parts []part) error {
	if err := e.EncodeArrayLen(len(parts)); err != nil {
		return err
	}
	for _, p := range parts {
		err := firstError(e.EncodeArrayLen(partFields), e.EncodeUint(p.off), e.EncodeUint(uint64(p.size)),
			e.EncodeUint(uint64(p.raw)), e.EncodeUint(p.sum), e.EncodeUint(uint64(p.count)), e.EncodeString(p.first))
		if err != nil {
			return err
		}
	}
	return nil
}

func decodeIndex(data []byte) (*index, error) {
	c := newCursor(data)
	c.array(indexFields)
	number := uint32(0)
	x := &index{timeline: decodeParts(c, &number)}
	n := c.length()
	for i := 0; i < n && c.err == nil; i++ {
		c.array(sectionFields)
		s := section{gr: projections.GroupResource{Group: c.text(), Resource: c.text()}, count: c.uint()}
		s.parts = decodeParts(c, &number)
		x.sections = append(x.sections, s)
	}
	return x, c.finish()
}

func decodeParts(c *cursor, number *uint32) []part {
	n := c.length()
	var parts []part
	for i := 0; i < n && c.err == nil; i++ {
		c.array(partFields)
		*number++
		parts = append(parts, part{
			blockRef: blockRef{off: c.uint(), size: c.uint32(), raw: c.uint32(), sum: c.uint()},
			number:   *number, count: c.uint32(), first: c.text(),
		})
	}
	return parts
}

// check finds gaps, overlaps and wrong counts: parts must lie one after the other from begin to end.
func (x *index) check(begin, end uint64) string {
	at := begin
	follow := func(p part) string {
		if p.off != at {
			return fmt.Sprintf("part %d does not begin where the one before it ends", p.number)
		}
		at += uint64(p.size)
		return ""
	}
	for _, p := range x.timeline {
		if fault := follow(p); fault != "" {
			return fault
		}
	}
	for _, s := range x.sections {
		count := uint64(0)
		for _, p := range s.parts {
			if fault := follow(p); fault != "" {
				return fault
			}
			count += uint64(p.count)
		}
		if count != s.count {
			return fmt.Sprintf("section %s has %d objects in its parts and says %d", s.gr.Resource, count, s.count)
		}
	}
	if at != end {
		return "there are bytes between the last part and the index"
	}
	return ""
}

// objects is the number of objects in all sections.
func (x *index) objects() (n uint64) {
	for _, s := range x.sections {
		n += s.count
	}
	return n
}

// position orders objects: bytewise by namespace, "/", name.
func position(namespace, name string) string { return namespace + "/" + name }

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
