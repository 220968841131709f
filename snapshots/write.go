package snapshots

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/kronicle/kronicle/projections"
)

// writer writes one snapshot, front to back, holding one part in memory.
type writer struct {
	ctx    context.Context
	out    io.Writer
	off    uint64
	seal   *sealer // nil: not encrypted
	zstd   *zstd.Encoder
	plain  bytes.Buffer
	enc    *msgpack.Encoder
	packed []byte
	sealed []byte
	number uint32
}

// write writes cut as a snapshot to out. A key seals it.
func write(ctx context.Context, out io.Writer, key []byte, h Header, cut projections.Cut) error {
	// Parts are small and independent: a window beyond them would only cost memory.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false))
	if err != nil {
		return fmt.Errorf("compressor: %w", err)
	}
	defer z.Close()
	w := &writer{ctx: ctx, out: out, zstd: z}
	w.enc = msgpack.NewEncoder(&w.plain)
	pre, err := w.begin(key)
	if err != nil {
		return err
	}
	foot := footer{fileID: pre.fileID}
	if err := w.raw(pre.encode()); err != nil {
		return err
	}
	if err := encodeHeader(w.enc, h); err != nil {
		return err
	}
	if foot.header, err = w.block(headerNumber); err != nil {
		return err
	}
	x, err := w.contents(cut)
	if err != nil {
		return err
	}
	if err := encodeIndex(w.enc, x); err != nil {
		return err
	}
	if foot.index, err = w.block(indexNumber); err != nil {
		return err
	}
	return w.raw(foot.encode())
}

func (w *writer) begin(key []byte) (*preamble, error) {
	pre := &preamble{}
	if _, err := rand.Read(pre.fileID[:]); err != nil {
		return nil, fmt.Errorf("random file id: %w", err)
	}
	if len(key) == 0 {
		return pre, nil
	}
	if _, err := rand.Read(pre.salt[:]); err != nil {
		return nil, fmt.Errorf("random salt: %w", err)
	}
	pre.flags |= flagSealed
	var err error
	w.seal, pre.check, err = newSealer(key, pre.salt, pre.fileID)
	return pre, err
}

func (w *writer) contents(cut projections.Cut) (*index, error) {
	x := &index{}
	var err error
	if x.timeline, err = w.timeline(cut.Timeline); err != nil {
		return nil, err
	}
	resources := make([]projections.GroupResource, 0, len(cut.Views))
	for gr, view := range cut.Views {
		if view.Len() > 0 {
			resources = append(resources, gr)
		}
	}
	slices.SortFunc(resources, func(a, b projections.GroupResource) int {
		return strings.Compare(a.Group+"/"+a.Resource, b.Group+"/"+b.Resource)
	})
	for _, gr := range resources {
		s, err := w.section(gr, cut.Views[gr])
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", gr.Resource, err)
		}
		x.sections = append(x.sections, s)
	}
	return x, nil
}

func (w *writer) timeline(marks []projections.Mark) ([]part, error) {
	var parts []part
	p := part{}
	for _, m := range marks {
		if err := encodeMark(w.enc, m); err != nil {
			return nil, err
		}
		p.count++
		if w.plain.Len() >= partSize {
			if err := w.part(&parts, &p); err != nil {
				return nil, err
			}
		}
	}
	return parts, w.part(&parts, &p)
}

func (w *writer) section(gr projections.GroupResource, view projections.View) (section, error) {
	s := section{gr: gr}
	p := part{}
	var err error
	view.Ascend("", "", func(o *projections.Object) bool {
		stored := o.Stored()
		if p.count == 0 {
			p.first = position(stored.Namespace, stored.Name)
		}
		if err = encodeObject(w.enc, &stored); err != nil {
			return false
		}
		p.count++
		s.count++
		if w.plain.Len() >= partSize {
			err = w.part(&s.parts, &p)
		}
		return err == nil
	})
	if err == nil {
		err = w.part(&s.parts, &p)
	}
	return s, err
}

// part ends the part that is being filled, if anything is in it.
func (w *writer) part(parts *[]part, p *part) (err error) {
	if p.count == 0 {
		return nil
	}
	if w.number++; w.number == indexNumber {
		return errors.New("too many parts")
	}
	p.number = w.number
	if p.blockRef, err = w.block(w.number); err != nil {
		return err
	}
	*parts = append(*parts, *p)
	*p = part{}
	return nil
}

// block compresses, seals and writes what has been encoded since the block before.
func (w *writer) block(number uint32) (blockRef, error) {
	if err := w.ctx.Err(); err != nil {
		return blockRef{}, err
	}
	if w.plain.Len() > maxRaw {
		return blockRef{}, fmt.Errorf("block of %d bytes is too large", w.plain.Len())
	}
	w.packed = w.zstd.EncodeAll(w.plain.Bytes(), w.packed[:0])
	stored := w.packed
	if w.seal != nil {
		w.sealed = w.seal.seal(w.sealed[:0], w.packed, number)
		stored = w.sealed
	}
	ref := blockRef{off: w.off, size: uint32(len(stored)), raw: uint32(w.plain.Len()), sum: xxhash.Sum64(stored)}
	w.plain.Reset()
	return ref, w.raw(stored)
}

func (w *writer) raw(b []byte) error {
	n, err := w.out.Write(b)
	w.off += uint64(n)
	return err
}
