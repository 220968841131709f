package eventlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// store writes a log of n objects and returns its directory, closed in order, and that of a
// copy taken while it was open: what a kill leaves.
func store(t *testing.T, n int, key []byte) (closed, killed string) {
	cfg := Config{Dir: t.TempDir(), EncryptionKey: key}
	l := open(t, cfg)
	fill(t, l, "a", n)
	killed = t.TempDir()
	copyDir(t, cfg.Dir, killed)
	closeLog(t, l)
	return cfg.Dir, killed
}

func blocks(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", DefaultStream, "msgs", "*.blk"))
	if err != nil || len(names) == 0 {
		t.Fatal("no blocks", err)
	}
	return names
}

func edit(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// flip changes a byte of the record of the object of that name.
func flip(t *testing.T, dir, name string) {
	edit(t, blocks(t, dir)[0], func(b []byte) []byte {
		i := bytes.LastIndex(b, []byte(`{"uid":"`+name+`"}`))
		if i < 0 {
			t.Fatalf("%s is not in the block", name)
		}
		b[i+3] ^= 0x40
		return b
	})
}

func wantDamage(t *testing.T, dir string, key []byte) *DamageError {
	t.Helper()
	l, err := Open(testContext(t), Config{Dir: dir, EncryptionKey: key})
	if err == nil {
		l.Close()
	}
	var d *DamageError
	if !errors.As(err, &d) || !errors.Is(err, ErrDamaged) {
		t.Fatalf("got %v, want a DamageError", err)
	}
	if d.Hint == "" || d.What == "" {
		t.Errorf("the error tells too little: %v", d)
	}
	return d
}

func TestKilledStoreOpensWithEverything(t *testing.T) {
	_, dir := store(t, 200, nil)
	l := open(t, Config{Dir: dir})
	if l.Last() != 201 {
		t.Errorf("last %d, want 201", l.Last())
	}
	readAll(t, l)
}

func TestMissingIndexIsNoDamage(t *testing.T) {
	for _, encrypted := range [][]byte{nil, []byte("secret")} {
		closed, killed := store(t, 200, encrypted)
		for _, dir := range []string{closed, killed} {
			if err := os.Remove(filepath.Join(filepath.Dir(blocks(t, dir)[0]), "index.db")); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			l := open(t, Config{Dir: dir, EncryptionKey: encrypted})
			if l.Last() != 201 || len(readAll(t, l)) != 201 {
				t.Errorf("last %d, want 201", l.Last())
			}
		}
	}
}

func TestFlippedByteAfterAKillIsRefusedAndNothingIsTouched(t *testing.T) {
	_, dir := store(t, 200, nil)
	flip(t, dir, "a7")
	before, err := os.ReadFile(blocks(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	d := wantDamage(t, dir, nil)
	if d.Seq == 0 {
		t.Errorf("no sequence in %v", d)
	}
	after, err := os.ReadFile(blocks(t, dir)[0])
	if err != nil || !bytes.Equal(before, after) {
		t.Error("the block was changed")
	}
}

func TestFlippedByteInAClosedStoreIsFoundByReading(t *testing.T) {
	dir, _ := store(t, 200, nil)
	flip(t, dir, "a7")
	l, err := Open(testContext(t), Config{Dir: dir})
	if err == nil {
		defer l.Close()
		err = l.Range(testContext(t), 1, l.Last(), func([]Entry) error { return nil })
		select {
		case <-l.Failed():
		default:
			t.Error("the log has not failed")
		}
	}
	var d *DamageError
	if !errors.As(err, &d) || d.Seq == 0 {
		t.Fatalf("got %v, want a DamageError with its sequence", err)
	}
}

func TestTornTailIsNoDamage(t *testing.T) {
	_, dir := store(t, 200, nil)
	edit(t, blocks(t, dir)[0], func(b []byte) []byte {
		rec := append([]byte{}, b[len(b)-150:]...)
		return append(b, rec[:100]...)
	})
	l := open(t, Config{Dir: dir})
	if l.Last() != 201 {
		t.Errorf("last %d, want 201", l.Last())
	}
}

func TestLostTailOfAClosedStoreIsRefused(t *testing.T) {
	dir, _ := store(t, 200, nil)
	edit(t, blocks(t, dir)[0], func(b []byte) []byte { return b[:len(b)-500] })
	wantDamage(t, dir, nil)
}

func TestMissingBlockOrStreamIsRefused(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("secret")} {
		closed, _ := store(t, 50, key)
		os.Remove(blocks(t, closed)[0])
		wantDamage(t, closed, key)
		closed, _ = store(t, 50, key)
		os.RemoveAll(filepath.Join(closed, "jetstream"))
		wantDamage(t, closed, key)
	}
}

func TestStoreThatBeginsTooLateIsRefused(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := open(t, cfg)
	fill(t, l, "a", 50)
	if err := l.purge(testContext(t), 20); err != nil { // not by Trim, which would note it
		t.Fatal(err)
	}
	closeLog(t, l)
	wantDamage(t, cfg.Dir, nil)
}

func TestTrimmedStoreOpensAfterAKill(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := open(t, cfg)
	fill(t, l, "a", 100)
	if err := l.Trim(testContext(t), 60); err != nil {
		t.Fatal(err)
	}
	fill(t, l, "b", 20)
	dir := t.TempDir()
	copyDir(t, cfg.Dir, dir)
	l = open(t, Config{Dir: dir})
	if l.First() > 60 || l.Last() != 121 {
		t.Errorf("first %d, last %d", l.First(), l.Last())
	}
	readAll(t, l)
}

func TestForeignStateOfTheDirectoryIsRefused(t *testing.T) {
	dir, _ := store(t, 5, nil)
	edit(t, filepath.Join(dir, stateFile), func(b []byte) []byte {
		var s state
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		s.Epoch = "another"
		b, _ = json.Marshal(s)
		return b
	})
	wantDamage(t, dir, nil)
	edit(t, filepath.Join(dir, stateFile), func([]byte) []byte { return []byte("{") })
	wantDamage(t, dir, nil)
}

func TestUndecodableRecordIsNamed(t *testing.T) {
	l := open(t, Config{Dir: t.TempDir()})
	if _, err := l.js.Publish(testContext(t), key("x").Subject(), []byte{0x92, 9, 1}); err != nil {
		t.Fatal(err)
	}
	l.last.Store(2)
	for _, err := range []error{
		l.Range(testContext(t), 1, 2, func([]Entry) error { return nil }),
		func() error { _, err := l.Get(testContext(t), 2); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "record 2") || !strings.Contains(err.Error(), "version 9") {
			t.Errorf("got %v", err)
		}
	}
}

// The scanner must agree with nats-server on what a good block is, whatever the sizes.
func TestScanAgreesWithTheServer(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := open(t, cfg)
	for i := range 30 {
		r := record(OpCreate, fmt.Sprint(i))
		r.Object = bytes.Repeat([]byte{byte(i)}, 1+i*40_000)
		mustAppend(t, l, key(fmt.Sprint(i)), 0, r)
	}
	dir := l.emb.streamDir(DefaultStream)
	last, err := scanBlocks(testContext(t), filepath.Join(dir, "msgs"), DefaultStream, 0)
	if err != nil || last != 31 {
		t.Fatalf("last %d, want 31: %v", last, err)
	}
	if n := len(blocks(t, cfg.Dir)); n < 2 {
		t.Fatalf("%d blocks, want several", n)
	}
	// A record of another block under the right name is not good.
	edit(t, blocks(t, cfg.Dir)[0], func(b []byte) []byte {
		binary.LittleEndian.PutUint64(b[4:], 5)
		return b
	})
	if _, err := scanBlocks(testContext(t), filepath.Join(dir, "msgs"), DefaultStream, 0); !errors.Is(err, ErrDamaged) {
		t.Fatalf("changed sequence: %v", err)
	}
}
