package eventlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"
)

// The layout of a message block of nats-server 2.15's file store, unencrypted and uncompressed:
//
//	length(4) sequence(8) time(8) subject length(2) subject [header length(4) header] message hash(8)
//
// The top bit of the length says that there is a header; the top bits of the sequence mark
// erased records and tombstones. The hash is HighwayHash-64 keyed by the SHA-256 of
// "<stream>-<block index>".
const (
	blockHeader    = 22
	blockHash      = 8
	lengthHeader   = 1 << 31
	seqErased      = 1 << 63
	seqTombstone   = 1 << 62
	blockRecordMax = 32 << 20
	blockSuffix    = ".blk"
)

// scanBlocks reads all message blocks of a store that was not closed in order and returns the
// last sequence. nats-server repairs such a store when it starts: it cuts a block at the first
// bad record and drops what follows, acknowledged or not, without a word. So the files are
// checked before it sees them. A torn record at the very end is what a crash leaves of an
// append that was never acknowledged, and is no damage; nor are gaps below trim.
func scanBlocks(ctx context.Context, dir, stream string, trim uint64) (last uint64, err error) {
	indexes, err := blockIndexes(dir)
	if err != nil {
		return 0, err
	}
	for i, index := range indexes {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		s := &blockScan{name: filepath.Join(dir, strconv.Itoa(index)+blockSuffix), last: last, trim: trim, tail: i == len(indexes)-1}
		if err := s.run(fmt.Sprintf("%s-%d", stream, index)); err != nil {
			return 0, err
		}
		last = s.last
	}
	return last, nil
}

func blockIndexes(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("eventlog: check blocks: %w", err)
	}
	var indexes []int
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), blockSuffix); ok {
			if index, err := strconv.Atoi(n); err == nil {
				indexes = append(indexes, index)
			}
		}
	}
	slices.Sort(indexes)
	return indexes, nil
}

// blockScan checks one block.
type blockScan struct {
	name string
	last uint64 // last sequence so far, of this and earlier blocks
	trim uint64
	tail bool // the newest block, which may end in a torn record
	hash interface {
		Reset()
		Write([]byte) (int, error)
		Sum([]byte) []byte
	}
}

func (s *blockScan) run(key string) error {
	sum := sha256.Sum256([]byte(key))
	h, err := highwayhash.New64(sum[:])
	if err != nil {
		return fmt.Errorf("eventlog: check blocks: %w", err)
	}
	s.hash = h
	buf, err := os.ReadFile(s.name)
	if err != nil {
		return fmt.Errorf("eventlog: check blocks: %w", err)
	}
	for at := 0; at < len(buf); {
		n, seq, ok := s.record(buf[at:])
		if !ok {
			return s.bad(buf, at)
		}
		if seq&(seqTombstone|seqErased) == 0 && seq > s.last {
			if s.last != 0 && seq != s.last+1 && seq > s.trim {
				return &DamageError{Seq: s.last + 1, What: fmt.Sprintf("%s goes from record %d to %d", s.name, s.last, seq), Hint: hintStore}
			}
			s.last = seq
		}
		at += n
	}
	return nil
}

// record checks the record at the beginning of b and returns its length and sequence.
func (s *blockScan) record(b []byte) (n int, seq uint64, ok bool) {
	if len(b) < blockHeader+blockHash {
		return 0, 0, false
	}
	le := binary.LittleEndian
	length := le.Uint32(b)
	hasHeader := length&lengthHeader != 0
	n = int(length &^ lengthHeader)
	subject := int(le.Uint16(b[20:]))
	skip := 0
	if hasHeader {
		skip = 4
	}
	if n > blockRecordMax || n > len(b) || blockHeader+subject+skip+blockHash > n {
		return 0, 0, false
	}
	s.hash.Reset()
	s.hash.Write(b[4:20])
	s.hash.Write(b[blockHeader : blockHeader+subject])
	s.hash.Write(b[blockHeader+subject+skip : n-blockHash])
	var sum [blockHash]byte
	if !bytes.Equal(s.hash.Sum(sum[:0]), b[n-blockHash:n]) {
		return 0, 0, false
	}
	return n, le.Uint64(b[4:]), true
}

// bad judges a bad record at buf[at:]: torn if it is at the end of the newest block and no good
// record follows, else damage.
func (s *blockScan) bad(buf []byte, at int) error {
	damage := &DamageError{Seq: s.last + 1, What: fmt.Sprintf("%s has a bad record at byte %d", s.name, at), Hint: hintStore}
	if !s.tail {
		return damage
	}
	for i := at + 1; i+blockHeader+blockHash <= len(buf); i++ {
		seq := binary.LittleEndian.Uint64(buf[i+4:])
		if seq <= s.last || seq > s.last+1<<20 {
			continue
		}
		if _, _, ok := s.record(buf[i:]); ok {
			damage.What += fmt.Sprintf(", and record %d follows it", seq)
			return damage
		}
	}
	return nil
}
