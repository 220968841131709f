package snapshots

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// resum puts the right checksum at the end of a preamble.
func resum(b []byte) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(b[:56]), xxhash.Sum64(b[:56]))
}

// memBlobs is a bucket in memory.
type memBlobs struct {
	mu   sync.Mutex
	m    map[string][]byte
	gets int
	fail error // of Put, after reading
}

func newBlobs() *memBlobs { return &memBlobs{m: map[string][]byte{}} }

func (b *memBlobs) Put(_ context.Context, name string, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return b.fail
	}
	b.m[name] = data
	return nil
}

func (b *memBlobs) Get(_ context.Context, name string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gets++
	data, ok := b.m[name]
	if !ok {
		return nil, errors.New("no such blob")
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (b *memBlobs) List(context.Context) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := []string{"something else"}
	for name := range b.m {
		names = append(names, name)
	}
	return names, nil
}

func (b *memBlobs) Delete(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.m[name]; !ok {
		return errors.New("no such blob")
	}
	delete(b.m, name)
	return nil
}

func eachStore(t *testing.T, fn func(t *testing.T, st Store)) {
	t.Run("folder", func(t *testing.T) { fn(t, newDir(t)) })
	t.Run("bucket", func(t *testing.T) {
		b, err := NewBucket(newBlobs(), "")
		if err != nil {
			t.Fatal(err)
		}
		fn(t, b)
	})
	t.Run("bucket with cache", func(t *testing.T) {
		b, err := NewBucket(newBlobs(), filepath.Join(t.TempDir(), "cache"))
		if err != nil {
			t.Fatal(err)
		}
		fn(t, b)
	})
}

func putText(st Store, name, text string) error {
	return st.Put(context.Background(), name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func readText(t *testing.T, f File) string {
	t.Helper()
	b := make([]byte, f.Size())
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return string(b)
}

func TestStoreContract(t *testing.T) {
	eachStore(t, func(t *testing.T, st Store) {
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(putText(st, Name(20), "twenty"))
		must(putText(st, Name(3), "three"))
		names, err := st.List(ctx)
		must(err)
		if want := []string{Name(3), Name(20)}; !reflect.DeepEqual(names, want) {
			t.Errorf("list %v, want %v", names, want)
		}
		f, err := st.Open(ctx, Name(20))
		must(err)
		if got := readText(t, f); got != "twenty" {
			t.Errorf("read %q", got)
		}

		broken := errors.New("no space left")
		err = st.Put(ctx, Name(20), func(w io.Writer) error {
			_, _ = io.WriteString(w, "half")
			return broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("failed put gives %v", err)
		}
		g, err := st.Open(ctx, Name(20))
		must(err)
		if got := readText(t, g); got != "twenty" {
			t.Errorf("after a failed put it reads %q", got)
		}
		must(g.Close())

		must(putText(st, Name(20), "other"))
		g, err = st.Open(ctx, Name(20))
		must(err)
		if got := readText(t, g); got != "other" {
			t.Errorf("after a second put it reads %q", got)
		}
		must(g.Close())

		must(st.Delete(ctx, Name(20)))
		must(st.Delete(ctx, Name(20)))
		if got := readText(t, f); got != "twenty" {
			t.Errorf("an open file reads %q after delete", got)
		}
		must(f.Close())
		if _, err := st.Open(ctx, Name(20)); !errors.Is(err, ErrNotExist) {
			t.Errorf("open of a deleted one gives %v", err)
		}
		if names, _ := st.List(ctx); !reflect.DeepEqual(names, []string{Name(3)}) {
			t.Errorf("list %v", names)
		}
	})
}

func TestFolderMakesDurableInOrder(t *testing.T) {
	d := newDir(t)
	var calls []string
	d.ops.syncFile = func(f *os.File) error {
		calls = append(calls, "sync file")
		if !strings.HasSuffix(f.Name(), tempSuffix) {
			t.Errorf("synced %s", f.Name())
		}
		return f.Sync()
	}
	d.ops.rename = func(from, to string) error {
		calls = append(calls, "rename")
		return os.Rename(from, to)
	}
	d.ops.syncDir = func(path string) error {
		calls = append(calls, "sync folder")
		return syncDir(path)
	}
	if err := putText(d, Name(1), "x"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"sync file", "rename", "sync folder"}; !slices.Equal(calls, want) {
		t.Errorf("calls %v, want %v", calls, want)
	}
}

func TestFailingFolderLeavesNothing(t *testing.T) {
	full := errors.New("no space left on device")
	for what, fail := range map[string]func(*Dir){
		"sync":   func(d *Dir) { d.ops.syncFile = func(*os.File) error { return full } },
		"rename": func(d *Dir) { d.ops.rename = func(string, string) error { return full } },
	} {
		t.Run(what, func(t *testing.T) {
			d := newDir(t)
			fail(d)
			if err := putText(d, Name(1), "x"); !errors.Is(err, full) {
				t.Errorf("put gives %v", err)
			}
			if left, _ := os.ReadDir(d.path); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func TestCrashBeforeRenameIsCleanedUp(t *testing.T) {
	d := newDir(t)
	if err := putText(d, Name(1), "x"); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(d.path, Name(2)+".123"+tempSuffix)
	other := filepath.Join(d.path, "notes.txt")
	for _, name := range []string{temp, other} {
		if err := os.WriteFile(name, []byte("half a snapshot"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := d.List(t.Context()); !slices.Equal(names, []string{Name(1)}) {
		t.Errorf("list %v", names)
	}
	if _, err := NewDir(d.path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("the temporary is still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file of somebody else is gone: %v", err)
	}
}

func TestBucketFetchesOnceAndReadsBackWhatItPut(t *testing.T) {
	blobs := newBlobs()
	b, err := NewBucket(blobs, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := putText(b, Name(1), "x"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f, err := b.Open(t.Context(), Name(1))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if blobs.gets != 1 {
		t.Errorf("%d fetches", blobs.gets)
	}
	blobs.fail = errors.New("quorum lost")
	if err := putText(b, Name(2), "x"); !errors.Is(err, blobs.fail) {
		t.Errorf("put gives %v", err)
	}
	// Another server deletes: the cached copy goes at the next list.
	delete(blobs.m, Name(1))
	if names, err := b.List(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	if left, _ := os.ReadDir(b.cache); len(left) > 0 {
		t.Errorf("cache still has %v", left)
	}
}
