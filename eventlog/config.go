package eventlog

import (
	"context"
	"log/slog"
	"time"
)

// Defaults and limits.
const (
	// DefaultStream is the stream's name if Config.Stream is empty.
	DefaultStream = "KRONICLE"
	// DefaultMaxRecordBytes is the limit of one encoded record if Config.MaxRecordBytes is 0.
	DefaultMaxRecordBytes = 8 << 20

	// headerRoom is what a message may need beside the record: subject and headers. The
	// server's payload limit counts headers.
	headerRoom = 4 << 10
	// embeddedPayload is the payload limit of the embedded server, the most that nats-server
	// takes without a warning.
	embeddedPayload = 8 << 20
)

// Config says where the log is. The zero value plus Dir is an embedded log; with URL the log is
// a stream of an external NATS.
type Config struct {
	// Dir is the data directory of the embedded log: JetStream's files go to Dir/jetstream.
	// Ignored with URL.
	Dir string
	// URL is the external NATS, one or several comma-separated addresses; "" means embedded.
	URL string
	// Stream is the stream's name, DefaultStream if empty.
	Stream string
	// Replicas is the number of replicas the stream must have (external only), 1 if 0.
	Replicas int
	// MaxBytes guards the disk: a log of this many bytes refuses appends with ErrFull. 0 is no
	// limit. It applies when the stream is created, and on every start of an embedded log.
	MaxBytes int64
	// MaxRecordBytes limits one encoded record, DefaultMaxRecordBytes if 0. A server with a
	// smaller payload limit lowers it.
	MaxRecordBytes int
	// EncryptionKey turns on JetStream's encryption at rest (embedded only). A store keeps the
	// key it was created with.
	EncryptionKey []byte
	// Logger gets what an operator should see; nil discards it.
	Logger *slog.Logger
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Faults lets tests lose acks, delay, or fail appends. The zero value has none.
	Faults Faults
}

// Faults are hooks for tests. They are called from the append path and must be safe for
// concurrent use.
type Faults struct {
	// BeforePublish runs before a message is sent, attempt counts from 1. An error fails the
	// append as if the server had not been reached.
	BeforePublish func(key Key, attempt int) error
	// LoseAck tells for the n-th ack received whether to lose it. n counts from 1.
	LoseAck func(n uint64) bool
	// Ack may replace the n-th ack; it runs after LoseAck.
	Ack func(n uint64, ack []byte) []byte
	// DelayAck holds the n-th ack back.
	DelayAck func(n uint64) time.Duration
	// Free tells the free bytes of the data directory's disk instead of the operating system.
	Free func() uint64
	// AckWait is how long to wait for an ack before the message is resent, 0 for the default.
	AckWait time.Duration
	// CommitTimeout is how long an append is tried in all, 0 for the default.
	CommitTimeout time.Duration
}

// Info describes the log.
type Info struct {
	First, Last, Bytes, Messages uint64
	Deleted                      int // records missing between First and Last; anything but 0 is damage
	Replicas                     int
	Backend                      string // "embedded" or "external"
}

func (c Config) withDefaults() Config {
	if c.Stream == "" {
		c.Stream = DefaultStream
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.MaxRecordBytes <= 0 {
		c.MaxRecordBytes = DefaultMaxRecordBytes
	}
	if c.Logger == nil {
		c.Logger = slog.New(discard{})
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Faults.AckWait == 0 {
		c.Faults.AckWait = ackWait
	}
	if c.Faults.CommitTimeout == 0 {
		c.Faults.CommitTimeout = commitTimeout
	}
	return c
}

// discard is a slog handler that drops everything.
type discard struct{}

func (discard) Enabled(context.Context, slog.Level) bool  { return false }
func (discard) Handle(context.Context, slog.Record) error { return nil }
func (d discard) WithAttrs([]slog.Attr) slog.Handler      { return d }
func (d discard) WithGroup(string) slog.Handler           { return d }
