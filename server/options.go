package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kronicle/kronicle/eventlog"
)

// Options are the settings of a server. Begin with DefaultOptions.
type Options struct {
	Listen           string   // host:port of the HTTPS listener; port 0 picks one
	AdvertiseAddress string   // host or host:port that the kubeconfig names; "" = from Listen
	TLSSANs          []string // further names and addresses for the server's certificate

	DataDir string // log, snapshots, certificates, admin.kubeconfig
	PKIDir  string // certificate authority and administrator's certificate; "" = DataDir/pki

	NATSURL      string // external NATS; "" = embedded
	NATSStream   string
	NATSReplicas int // of a stream that is created

	HistoryMaxAge    time.Duration // 0: not bounded by age
	HistoryMaxBytes  int64         // 0: not bounded by size
	HistoryMaxEvents int64         // 0: not bounded by count
	SnapshotEvents   int64         // a snapshot at least every so many records
	SnapshotInterval time.Duration // and this often while there are new records
	MemoryWindow     int64         // bytes of recent changes kept in memory
	MaxObjectBytes   int64         // JSON of one object
	MaxStoreBytes    int64         // disk guard: writes fail beyond it; 0 = none

	MaxReads  int // requests in flight that only read, watches not counted
	MaxWrites int // mutating requests in flight

	EncryptionKeyFile string // "" = not encrypted

	// ShutdownTimeout bounds the wait for requests in flight in Stop.
	ShutdownTimeout time.Duration
	// TuneGC lets the server set the garbage collector's target by the size of
	// its heap. It is the whole process's, so it is off for servers in tests.
	TuneGC bool

	Version string           // what /version and the logs say
	Began   time.Time        // when the process started; zero = when Start was called
	Logger  *slog.Logger     // nil: discard
	Now     func() time.Time // nil: time.Now

	// Faults is for tests; see eventlog.Config.
	Faults eventlog.Faults
}

// DefaultOptions returns the options of `kronicle serve` without flags.
func DefaultOptions() Options {
	return Options{
		Listen:           "127.0.0.1:6443",
		DataDir:          "./kronicle-data",
		NATSStream:       "KRONICLE",
		NATSReplicas:     1,
		HistoryMaxAge:    24 * time.Hour,
		HistoryMaxBytes:  10 << 30,
		SnapshotEvents:   100_000,
		SnapshotInterval: 10 * time.Minute,
		MemoryWindow:     64 << 20,
		MaxObjectBytes:   3 << 20,
		MaxReads:         400,
		MaxWrites:        200,
		ShutdownTimeout:  15 * time.Second,
		Version:          "devel",
	}
}

// OptionError says which option cannot be used and why. Option is the name of
// its flag without the dashes.
type OptionError struct{ Option, Why string }

func (e *OptionError) Error() string { return "--" + e.Option + ": " + e.Why }

// largestObject is the largest --max-object-bytes: a record must fit a message
// of the log with room for the actor and the escapes.
const largestObject = 7 << 20

// Validate returns an *OptionError for the first option that makes no sense.
func (o *Options) Validate() error {
	_, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return &OptionError{"listen", fmt.Sprintf("%q is not host:port", o.Listen)}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return &OptionError{"listen", fmt.Sprintf("%q is not a port", port)}
	}
	if o.DataDir == "" {
		return &OptionError{"data-dir", "a directory is needed"}
	}
	if err := o.validateNATS(); err != nil {
		return err
	}
	for _, n := range []struct {
		option          string
		value, min, max int64
	}{
		{"history-max-age", int64(o.HistoryMaxAge), 0, 0},
		{"history-max-bytes", o.HistoryMaxBytes, 0, 0},
		{"history-max-events", o.HistoryMaxEvents, 0, 0},
		{"snapshot-events", o.SnapshotEvents, 1, 0},
		{"snapshot-interval", int64(o.SnapshotInterval), 1, 0},
		{"memory-window", o.MemoryWindow, 0, 0},
		{"max-object-bytes", o.MaxObjectBytes, 1 << 10, largestObject},
		{"max-store-bytes", o.MaxStoreBytes, 0, 0},
		{"max-requests-inflight", int64(o.MaxReads), 1, 0},
		{"max-mutating-requests-inflight", int64(o.MaxWrites), 1, 0},
	} {
		if n.value < n.min {
			return &OptionError{n.option, tooSmall(n.min)}
		}
		if n.max > 0 && n.value > n.max {
			return &OptionError{n.option, fmt.Sprintf("is %d, may be at most %d", n.value, n.max)}
		}
	}
	return nil
}

func tooSmall(min int64) string {
	switch min {
	case 0:
		return "may not be negative"
	case 1:
		return "must be greater than zero"
	}
	return fmt.Sprintf("must be at least %d", min)
}

func (o *Options) validateNATS() error {
	if o.NATSURL == "" {
		return nil
	}
	for _, one := range strings.Split(o.NATSURL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return &OptionError{"nats-url", fmt.Sprintf("%q is not a URL like nats://host:4222", one)}
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return &OptionError{"nats-url", fmt.Sprintf("scheme %q is none of nats, tls, ws, wss", u.Scheme)}
		}
	}
	if o.NATSStream == "" || strings.ContainsAny(o.NATSStream, " .*>/\\\t\r\n") {
		return &OptionError{"nats-stream", fmt.Sprintf("%q is not a stream name", o.NATSStream)}
	}
	switch o.NATSReplicas {
	case 1, 3, 5:
	default:
		return &OptionError{"nats-replicas", fmt.Sprintf("is %d, may be 1, 3 or 5", o.NATSReplicas)}
	}
	if o.EncryptionKeyFile != "" {
		return &OptionError{"encryption-key-file", "encrypts the embedded store; with --nats-url encryption is a setting of the NATS servers"}
	}
	return nil
}

// KubeconfigPath is where the administrator's kubeconfig is written.
func (o *Options) KubeconfigPath() string { return filepath.Join(o.DataDir, "admin.kubeconfig") }

func (o *Options) pkiDir() string { return filepath.Join(o.DataDir, "pki") }

func (o *Options) snapshotDir() string { return filepath.Join(o.DataDir, "snapshots") }

// minKey is the shortest acceptable content of an encryption key file.
const minKey = 16

// EncryptionKey reads the key file; nil without one. White space at the end of
// the file does not count.
func (o *Options) EncryptionKey() ([]byte, error) {
	if o.EncryptionKeyFile == "" {
		return nil, nil
	}
	data, err := os.ReadFile(o.EncryptionKeyFile)
	if err != nil {
		return nil, &OptionError{"encryption-key-file", err.Error()}
	}
	key := bytes.TrimRight(data, " \t\r\n")
	if len(key) < minKey {
		return nil, &OptionError{"encryption-key-file", fmt.Sprintf("%s holds %d bytes, at least %d are needed (for example from: openssl rand -base64 32)", o.EncryptionKeyFile, len(key), minKey)}
	}
	return key, nil
}

// EventLogConfig is the configuration of the log that these options mean, also
// for commands that open a store without serving it.
func (o *Options) EventLogConfig() (eventlog.Config, error) {
	key, err := o.EncryptionKey()
	if err != nil {
		return eventlog.Config{}, err
	}
	return eventlog.Config{
		Dir:           o.DataDir,
		URL:           o.NATSURL,
		Stream:        o.NATSStream,
		Replicas:      o.NATSReplicas,
		MaxBytes:      o.MaxStoreBytes,
		EncryptionKey: key,
		Logger:        o.Logger,
		Now:           o.Now,
		Faults:        o.Faults,
	}, nil
}
