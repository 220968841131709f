package eventlog

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"
)

var errSoon = errors.New("eventlog: not implemented yet")

type Config struct {
	Dir            string
	URL            string
	Stream         string
	Replicas       int
	MaxBytes       int64
	MaxRecordBytes int
	EncryptionKey  []byte
	Logger         *slog.Logger
	Now            func() time.Time
	Faults         Faults
}
type Faults struct{}
type Log struct{}
type Info struct {
	First, Last, Bytes, Messages uint64
	Deleted, Replicas            int
	Backend                      string
}
type Stats struct{}
type Blobs struct{}

func Open(ctx context.Context, cfg Config) (*Log, error) { return nil, errSoon }
func (l *Log) Epoch() string                             { return "" }
func (l *Log) Append(ctx context.Context, key Key, expect uint64, rec *Record) (uint64, error) {
	return 0, errSoon
}
func (l *Log) Barrier(ctx context.Context) (uint64, error)        { return 0, errSoon }
func (l *Log) First() uint64                                      { return 0 }
func (l *Log) Last() uint64                                       { return 0 }
func (l *Log) Info(ctx context.Context) (Info, error)             { return Info{}, errSoon }
func (l *Log) Get(ctx context.Context, seq uint64) (Entry, error) { return Entry{}, errSoon }
func (l *Log) Range(ctx context.Context, from, to uint64, fn func([]Entry) error) error {
	return errSoon
}
func (l *Log) Follow(ctx context.Context, from uint64, fn func([]Entry) error) error { return errSoon }
func (l *Log) Trim(ctx context.Context, before uint64) error                         { return errSoon }
func (l *Log) Failed() <-chan struct{}                                               { return nil }
func (l *Log) Err() error                                                            { return nil }
func (l *Log) Blobs(ctx context.Context) (*Blobs, error)                             { return nil, errSoon }
func (l *Log) Stats() Stats                                                          { return Stats{} }
func (l *Log) Close() error                                                          { return nil }

func (b *Blobs) Put(ctx context.Context, name string, r io.Reader) error { return errSoon }
func (b *Blobs) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return nil, errSoon
}
func (b *Blobs) List(ctx context.Context) ([]string, error)     { return nil, errSoon }
func (b *Blobs) Delete(ctx context.Context, name string) error { return errSoon }
