package snapshots

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	tempSuffix = ".tmp"
	// syncEvery bounds the dirty bytes of a snapshot being written: one fsync of a whole large file at the end
	// would hold up the log's own fsyncs on the same file system.
	syncEvery = 8 << 20
)

// Dir is a Store in a folder. One process may write to a folder at a time.
type Dir struct {
	path string
	ops  dirOps
}

// dirOps are the calls that make a snapshot durable; tests watch their order and let them fail.
type dirOps struct {
	syncFile func(*os.File) error
	rename   func(from, to string) error
	syncDir  func(path string) error
}

var _ Store = (*Dir)(nil)

// NewDir opens the folder at path, creates it if need be (mode 0700), and removes what an interrupted Put has left.
func NewDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("create snapshot folder: %w", err)
	}
	d := &Dir{path: path, ops: dirOps{syncFile: (*os.File).Sync, rename: os.Rename, syncDir: syncDir}}
	if err := removeTemporaries(path); err != nil {
		return nil, err
	}
	return d, nil
}

func removeTemporaries(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read snapshot folder: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), namePrefix) && strings.HasSuffix(e.Name(), tempSuffix) {
			if err := os.Remove(filepath.Join(path, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove interrupted snapshot: %w", err)
			}
		}
	}
	return nil
}

// Put writes to a temporary name, syncs the file, renames it and syncs the folder, in that order.
func (d *Dir) Put(_ context.Context, name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(d.path, name+".*"+tempSuffix)
	if err != nil {
		return fmt.Errorf("create snapshot %s: %w", name, err)
	}
	temp := f.Name()
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write snapshot %s: %w", name, err), ignoreNotExist(os.Remove(temp)))
		}
	}()
	if err := d.fill(f, write); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := d.ops.rename(temp, filepath.Join(d.path, name)); err != nil {
		return err
	}
	return d.ops.syncDir(d.path)
}

func (d *Dir) fill(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(&syncingWriter{f: f, sync: d.ops.syncFile}, 256<<10)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return d.ops.syncFile(f)
}

// Open opens a snapshot of the folder.
func (d *Dir) Open(_ context.Context, name string) (File, error) {
	return openFile(d.path, name)
}

// List reads the folder.
func (d *Dir) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if _, ok := ParseName(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names, nil
}

// Delete removes a snapshot's file.
func (d *Dir) Delete(_ context.Context, name string) error {
	if err := ignoreNotExist(os.Remove(filepath.Join(d.path, name))); err != nil {
		return fmt.Errorf("delete snapshot %s: %w", name, err)
	}
	return nil
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncingWriter syncs its file each syncEvery bytes.
type syncingWriter struct {
	f     *os.File
	sync  func(*os.File) error
	dirty int
}

func (w *syncingWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.dirty += n
	if err == nil && w.dirty >= syncEvery {
		w.dirty = 0
		err = w.sync(w.f)
	}
	return n, err
}

// diskFile is a File of the file system.
type diskFile struct {
	*os.File
	size int64
}

func (f *diskFile) Size() int64 { return f.size }

func openFile(dir, name string) (*diskFile, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open snapshot %s: %w", name, ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open snapshot %s: %w", name, err)
	}
	return sized(f)
}

func sized(f *os.File) (*diskFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshot: %w", err), f.Close())
	}
	return &diskFile{File: f, size: info.Size()}, nil
}
