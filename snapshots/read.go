package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/kronicle/kronicle/projections"
)

// reader is an open snapshot whose preamble, footer, header and index have been read and checked.
// It may be used concurrently; each user of its parts has a loader of its own.
type reader struct {
	name   string
	file   File
	seal   *sealer // nil: not encrypted
	header Header
	index  *index
}

// open opens a snapshot of the store.
func open(ctx context.Context, st Store, name string, key []byte) (*reader, error) {
	f, err := st.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := newReader(name, f, key)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// newReader checks everything but the parts. The file stays the caller's if it fails.
func newReader(name string, f File, key []byte) (*reader, error) {
	size := f.Size()
	if size < preambleSize+footerSize {
		return nil, damaged(name, "%d bytes are too few", size)
	}
	r := &reader{name: name, file: f}
	var ends [preambleSize + footerSize]byte
	if err := r.readAt(ends[:preambleSize], 0); err != nil {
		return nil, err
	}
	if err := r.readAt(ends[preambleSize:], size-footerSize); err != nil {
		return nil, err
	}
	pre, err := decodePreamble(name, ends[:preambleSize])
	if err != nil {
		return nil, err
	}
	foot, err := decodeFooter(name, ends[preambleSize:], uint64(size))
	if err != nil {
		return nil, err
	}
	if foot.fileID != pre.fileID {
		return nil, damaged(name, "begin and end belong to different snapshots")
	}
	if err := r.unlock(pre, key); err != nil {
		return nil, err
	}
	return r, r.readContents(foot)
}

func (r *reader) unlock(pre *preamble, key []byte) error {
	if pre.flags&flagSealed == 0 {
		return nil
	}
	if len(key) == 0 {
		return fmt.Errorf("snapshot %s: %w: it is encrypted and no key is given", r.name, ErrEncryption)
	}
	seal, check, err := newSealer(key, pre.salt, pre.fileID)
	if err != nil {
		return err
	}
	if check != pre.check {
		return fmt.Errorf("snapshot %s: %w: it is encrypted with another key", r.name, ErrEncryption)
	}
	r.seal = seal
	return nil
}

func (r *reader) readContents(foot *footer) error {
	l, err := newLoader(r)
	if err != nil {
		return err
	}
	defer l.close()
	data, err := l.block(foot.header, headerNumber)
	if err != nil {
		return r.fault("header", err)
	}
	if r.header, err = decodeHeader(data); err != nil {
		return r.fault("header", err)
	}
	if data, err = l.block(foot.index, indexNumber); err != nil {
		return r.fault("index", err)
	}
	if r.index, err = decodeIndex(data); err != nil {
		return r.fault("index", err)
	}
	if fault := r.index.check(foot.header.off+uint64(foot.header.size), foot.index.off); fault != "" {
		return damaged(r.name, "%s", fault)
	}
	if seq, ok := ParseName(r.name); ok && seq != r.header.Seq {
		return damaged(r.name, "it holds the state at %d", r.header.Seq)
	}
	return nil
}

// fault makes a DamageError of err, unless it is a failing read, which says nothing about the stored bytes.
func (r *reader) fault(where string, err error) error {
	if errors.Is(err, ErrDamaged) {
		return err
	}
	if _, failing := errors.AsType[*readError](err); failing {
		return err
	}
	return damaged(r.name, "%s: %v", where, err)
}

// readError is a read that the store could not do.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

func (r *reader) readAt(b []byte, off int64) error {
	n, err := r.file.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return damaged(r.name, "it is shorter than when it was opened")
	}
	if errors.Is(err, syscall.EIO) {
		return damaged(r.name, "the disk cannot read it: %v", err)
	}
	return &readError{fmt.Errorf("read snapshot %s: %w", r.name, err)}
}

func (r *reader) close() error { return r.file.Close() }

// section finds a resource; nil if the snapshot has no object of it.
func (r *reader) section(gr projections.GroupResource) *section {
	for i := range r.index.sections {
		if r.index.sections[i].gr == gr {
			return &r.index.sections[i]
		}
	}
	return nil
}

// timeline reads the marks.
func (r *reader) timeline() ([]projections.Mark, error) {
	l, err := newLoader(r)
	if err != nil {
		return nil, err
	}
	defer l.close()
	var marks []projections.Mark
	for _, p := range r.index.timeline {
		data, err := l.block(p.blockRef, p.number)
		if err == nil {
			l.cursor.reset(data)
			marks, err = decodeMarks(l.cursor, p, marks)
		}
		if err != nil {
			return nil, r.fault("timeline", err)
		}
	}
	return marks, nil
}

// each gives every object of a section in key order. Data is valid until fn returns.
func (r *reader) each(ctx context.Context, s *section, fn func(*projections.StoredObject) error) error {
	l, err := newLoader(r)
	if err != nil {
		return err
	}
	defer l.close()
	last := ""
	for i, p := range s.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 && p.first <= last {
			return damaged(r.name, "part %d of %s is out of order", p.number, s.gr.Resource)
		}
		err := l.objects(p, func(o *projections.StoredObject) error {
			last = position(o.Namespace, o.Name)
			return fn(o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sums reads the whole snapshot and compares the checksum of each part.
func (r *reader) sums(ctx context.Context) error {
	var buf []byte
	sum := func(parts []part) error {
		for _, p := range parts {
			if err := ctx.Err(); err != nil {
				return err
			}
			buf = sizedBuffer(buf, int(p.size))
			if err := r.readAt(buf, int64(p.off)); err != nil {
				return err
			}
			if xxhash.Sum64(buf) != p.sum {
				return damaged(r.name, "checksum of part %d does not fit", p.number)
			}
		}
		return nil
	}
	if err := sum(r.index.timeline); err != nil {
		return err
	}
	for _, s := range r.index.sections {
		if err := sum(s.parts); err != nil {
			return err
		}
	}
	return nil
}

// check reads the whole snapshot: every checksum, and that everything decodes. Nothing of it is kept.
func (r *reader) check(ctx context.Context) error {
	if _, err := r.timeline(); err != nil {
		return err
	}
	for i := range r.index.sections {
		if err := r.each(ctx, &r.index.sections[i], func(*projections.StoredObject) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// loader reads blocks for one goroutine, reusing its buffers.
type loader struct {
	r      *reader
	zstd   *zstd.Decoder
	stored []byte
	plain  []byte
	cursor *cursor
}

func newLoader(r *reader) (*loader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxRaw),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("decompressor: %w", err)
	}
	return &loader{r: r, zstd: z, cursor: newCursor(nil)}, nil
}

func (l *loader) close() { l.zstd.Close() }

// block gives a block's msgpack; it is valid until the next call.
func (l *loader) block(ref blockRef, number uint32) ([]byte, error) {
	if ref.raw > maxRaw {
		return nil, fmt.Errorf("%d bytes are too many", ref.raw)
	}
	if size := uint64(l.r.file.Size()); ref.off > size || uint64(ref.size) > size-ref.off {
		return nil, errors.New("it lies beyond the end of the file")
	}
	l.stored = sizedBuffer(l.stored, int(ref.size))
	if err := l.r.readAt(l.stored, int64(ref.off)); err != nil {
		return nil, err
	}
	if xxhash.Sum64(l.stored) != ref.sum {
		return nil, errors.New("checksum does not fit")
	}
	packed := l.stored
	if l.r.seal != nil {
		var err error
		if packed, err = l.r.seal.open(packed, number); err != nil {
			return nil, err
		}
	}
	l.plain = sizedBuffer(l.plain, int(ref.raw))
	plain, err := l.zstd.DecodeAll(packed, l.plain[:0:ref.raw])
	if err != nil {
		return nil, err
	}
	if len(plain) != int(ref.raw) {
		return nil, fmt.Errorf("%d bytes instead of %d", len(plain), ref.raw)
	}
	return plain, nil
}

// objects decodes the objects of one part.
func (l *loader) objects(p part, fn func(*projections.StoredObject) error) error {
	data, err := l.block(p.blockRef, p.number)
	if err != nil {
		return l.r.fault(fmt.Sprintf("part %d", p.number), err)
	}
	l.cursor.reset(data)
	err = decodeObjects(l.cursor, p, l.r.header.Seq, fn)
	if own, ok := errors.AsType[*callbackError](err); ok {
		return own.error
	}
	if err != nil {
		return l.r.fault("objects", err)
	}
	return nil
}

// sizedBuffer is b with length n, grown if need be.
func sizedBuffer(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
