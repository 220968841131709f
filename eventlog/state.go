package eventlog

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The files the embedded log keeps beside JetStream's.
const (
	lockFile  = "LOCK"
	stateFile = "log.json"
)

// state is what the embedded log knows about its store independently of JetStream: the witness
// against which a store is judged when it is opened. It is a file of its own, replaced as a
// whole.
type state struct {
	Format int    `json:"format"`
	Epoch  string `json:"epoch,omitempty"`
	// Clean: the log was closed in order and nothing has opened it since.
	Clean bool `json:"clean"`
	// Last is a sequence that was acknowledged. The store must reach it.
	Last uint64 `json:"last"`
	// Trim is the highest sequence below which the log was ever asked to drop records. The
	// store must not begin above it.
	Trim uint64 `json:"trim"`
	// Salt and Check recognise the encryption key: Check is HMAC-SHA256(key, Salt).
	Salt  string `json:"salt,omitempty"`
	Check string `json:"check,omitempty"`
}

func readState(dir string) (*state, error) {
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("eventlog: read state: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, &DamageError{What: fmt.Sprintf("%s cannot be read: %v", filepath.Join(dir, stateFile), err), Hint: hintStore}
	}
	if s.Format != recordFormat {
		return nil, fmt.Errorf("eventlog: %s has format %d, this program knows %d", filepath.Join(dir, stateFile), s.Format, recordFormat)
	}
	return s, nil
}

// write replaces the state file durably.
func (s *state) write(dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("eventlog: write state: %w", err)
	}
	name := filepath.Join(dir, stateFile)
	f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("eventlog: write state: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("eventlog: write state: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// setKey notes which key the store is encrypted with.
func (s *state) setKey(key []byte) {
	if len(key) == 0 {
		return
	}
	var salt [16]byte
	rand.Read(salt[:])
	s.Salt = hex.EncodeToString(salt[:])
	s.Check = keyCheck(key, s.Salt)
}

func keyCheck(key []byte, salt string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("kronicle store " + salt))
	return hex.EncodeToString(m.Sum(nil))
}

// checkKey compares the given key with the one the store was created with.
func (s *state) checkKey(key []byte) error {
	switch {
	case s.Check == "" && len(key) == 0:
		return nil
	case s.Check == "":
		return fmt.Errorf("%w: a key was given but the store is not encrypted", ErrEncryption)
	case len(key) == 0:
		return fmt.Errorf("%w: the store is encrypted and no key was given", ErrEncryption)
	case !hmac.Equal([]byte(s.Check), []byte(keyCheck(key, s.Salt))):
		return fmt.Errorf("%w: the store is encrypted with another key", ErrEncryption)
	}
	return nil
}

// lockDir takes the data directory for this process until the file is closed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("eventlog: lock %s: %w", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
		}
		return nil, fmt.Errorf("eventlog: lock %s: %w", dir, err)
	}
	return f, nil
}
