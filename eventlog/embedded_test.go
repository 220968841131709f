package eventlog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestSecondOpenerOfADirectoryIsRefused(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := open(t, cfg)
	if _, err := Open(testContext(t), cfg); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), cfg.Dir) {
		t.Fatalf("got %v, want ErrLocked naming the directory", err)
	}
	mustAppend(t, l, key("x"), 0, record(OpCreate, "1"))
	closeLog(t, l)
	open(t, cfg)
}

func TestEncryptionKeyMustFit(t *testing.T) {
	secret := []byte("a secret of the operator")
	enc, _ := store(t, 20, secret)
	plain, _ := store(t, 20, nil)
	for _, c := range []struct {
		name, dir string
		key       []byte
		forget    bool // without our own witness file
	}{
		{"wrong key", enc, []byte("wrong"), false},
		{"no key", enc, nil, false},
		{"key for a plain store", plain, secret, false},
		{"wrong key, no witness", enc, []byte("wrong"), true},
		{"no key, no witness", enc, nil, true},
		{"key for a plain store, no witness", plain, secret, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			copyDir(t, c.dir, dir)
			if c.forget {
				os.Remove(filepath.Join(dir, stateFile))
			}
			_, err := Open(testContext(t), Config{Dir: dir, EncryptionKey: c.key})
			if !errors.Is(err, ErrEncryption) {
				t.Fatalf("got %v, want ErrEncryption", err)
			}
		})
	}
	l := open(t, Config{Dir: enc, EncryptionKey: secret})
	if len(readAll(t, l)) != 21 {
		t.Error("records are missing")
	}
}

func TestEncryptedStoreHoldsNoPlainText(t *testing.T) {
	dir, _ := store(t, 20, []byte("secret"))
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("alice")) || bytes.Contains(b, []byte("system:masters")) {
			t.Errorf("%s holds plain text", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskRefusesAppendsAndReadsGoOn(t *testing.T) {
	var full atomic.Bool
	cfg := Config{Dir: t.TempDir(), Faults: Faults{Free: func() uint64 {
		if full.Load() {
			return diskReserve - 1
		}
		return 1 << 40
	}}}
	l := open(t, cfg)
	fill(t, l, "a", 20)
	full.Store(true)
	if _, err := l.Append(testContext(t), key("x"), 0, record(OpCreate, "1")); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), cfg.Dir) {
		t.Fatalf("got %v, want ErrFull naming the directory", err)
	}
	readAll(t, l)
	if l.Err() != nil {
		t.Errorf("a full disk is no failure: %v", l.Err())
	}
	full.Store(false)
	mustAppend(t, l, key("x"), 0, record(OpCreate, "1"))
}

func TestSizeLimitRefusesAppendsUntilTrimmed(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), MaxBytes: 100_000}
	l := open(t, cfg)
	rec := func() *Record { return record(OpCreate, strings.Repeat("x", 2000)) }
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = l.Append(testContext(t), key(strings.Repeat("k", i+1)), 0, rec())
	}
	if !errors.Is(err, ErrFull) || errors.Is(err, ErrUnknown) || l.Err() != nil {
		t.Fatalf("got %v (log: %v), want ErrFull", err, l.Err())
	}
	readAll(t, l)
	if err := l.Trim(testContext(t), l.Last()-3); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, key("fits"), 0, rec())
	closeLog(t, l)
	cfg.MaxBytes = 0
	l = open(t, cfg)
	for i := range 30 {
		mustAppend(t, l, key(strings.Repeat("m", i+1)), 0, rec())
	}
}

func TestStoreErrorFailsTheLogAndReadsGoOn(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	cfg.Faults.Ack = func(n uint64, ack []byte) []byte {
		if n == 3 {
			return []byte(`{"error":{"code":503,"err_code":10077,"description":"write msgs/1.blk: input/output error"},"seq":0}`)
		}
		return ack
	}
	l := open(t, cfg)
	s := mustAppend(t, l, key("x"), 0, record(OpCreate, "1"))
	s = mustAppend(t, l, key("x"), s, record(OpUpdate, "2"))
	_, err := l.Append(testContext(t), key("x"), s, record(OpUpdate, "3"))
	if !errors.Is(err, ErrFailed) || !errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v, want ErrFailed and ErrUnknown", err)
	}
	select {
	case <-l.Failed():
	default:
		t.Fatal("not marked as failed")
	}
	if !strings.Contains(l.Err().Error(), "input/output") {
		t.Errorf("the reason is not told: %v", l.Err())
	}
	if _, err := l.Append(testContext(t), key("y"), 0, record(OpCreate, "1")); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
	if err := l.Range(testContext(t), 1, 3, func([]Entry) error { return nil }); err != nil {
		t.Errorf("a failed log does not read: %v", err)
	}
}
