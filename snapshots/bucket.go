package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Blobs is the object storage under a Bucket; eventlog's Blobs is one. Put must be all or nothing and replace an existing name;
// Get must fail, also in the middle of reading, when the bytes are not the ones that were put.
type Blobs interface {
	Put(ctx context.Context, name string, r io.Reader) error
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	List(ctx context.Context) ([]string, error)
	Delete(ctx context.Context, name string) error
}

// Bucket is a Store that several servers share. With a cache folder every snapshot is fetched once and kept there;
// without one each Open fetches it into a temporary file that goes away at Close.
//
// Put never fills the cache: the first Open after it reads back what the bucket holds, so that a verified snapshot is
// one that every server can fetch.
type Bucket struct {
	blobs Blobs
	cache string
}

var (
	_ Store  = (*Bucket)(nil)
	_ cached = (*Bucket)(nil)
)

var errUploadEnded = errors.New("upload ended early")

// NewBucket opens the store over blobs. The cache folder is created if need be; "" is no cache.
func NewBucket(blobs Blobs, cacheDir string) (*Bucket, error) {
	if cacheDir != "" {
		if err := os.MkdirAll(cacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("create snapshot cache: %w", err)
		}
		if err := removeTemporaries(cacheDir); err != nil {
			return nil, err
		}
	}
	return &Bucket{blobs: blobs, cache: cacheDir}, nil
}

// Put streams to the bucket.
func (b *Bucket) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(w)
		written <- err
		w.CloseWithError(err) // nil closes with io.EOF
	}()
	err := b.blobs.Put(ctx, name, r)
	r.CloseWithError(errUploadEnded)
	writeErr := <-written
	// A writer that failed is the cause of a failed upload; one that was cut off is its consequence.
	if err == nil || !errors.Is(writeErr, errUploadEnded) {
		err = errors.Join(err, writeErr)
	}
	if err != nil {
		return fmt.Errorf("upload snapshot %s: %w", name, err)
	}
	return b.forget(name)
}

// Open gives the cached copy, or fetches the snapshot.
func (b *Bucket) Open(ctx context.Context, name string) (File, error) {
	if b.cache != "" {
		if f, err := openFile(b.cache, name); err == nil {
			return f, nil
		}
	}
	f, err := b.fetch(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("fetch snapshot %s: %w", name, err)
	}
	return f, nil
}

func (b *Bucket) fetch(ctx context.Context, name string) (File, error) {
	// Asking for the list first tells "not there" from a failing bucket, whatever errors the bucket has for it.
	names, err := b.blobs.List(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, ErrNotExist
	}
	f, err := os.CreateTemp(b.cache, name+".*"+tempSuffix)
	if err != nil {
		return nil, err
	}
	if err := b.download(ctx, name, f); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	// An open file outlives its name. The cache needs no sync: what a power loss tears is found damaged and fetched again.
	if b.cache == "" {
		err = os.Remove(f.Name())
	} else {
		err = os.Rename(f.Name(), filepath.Join(b.cache, name))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return sized(f)
}

func (b *Bucket) download(ctx context.Context, name string, f *os.File) error {
	r, err := b.blobs.Get(ctx, name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, r.Close())
}

// List asks the bucket and drops cached copies of snapshots that it no longer holds.
func (b *Bucket) List(ctx context.Context) ([]string, error) {
	all, err := b.blobs.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	names := make([]string, 0, len(all))
	for _, name := range all {
		if _, ok := ParseName(name); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, b.dropStale(names)
}

func (b *Bucket) dropStale(names []string) error {
	if b.cache == "" {
		return nil
	}
	entries, err := os.ReadDir(b.cache)
	if err != nil {
		return fmt.Errorf("list cached snapshots: %w", err)
	}
	for _, e := range entries {
		if _, ok := ParseName(e.Name()); !ok {
			continue
		}
		if _, held := slices.BinarySearch(names, e.Name()); !held {
			if err := b.forget(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete removes a snapshot from the bucket and the cache.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	names, err := b.blobs.List(ctx)
	if err == nil && slices.Contains(names, name) {
		err = b.blobs.Delete(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("delete snapshot %s: %w", name, err)
	}
	return b.forget(name)
}

func (b *Bucket) forget(name string) error {
	if b.cache == "" {
		return nil
	}
	if err := ignoreNotExist(os.Remove(filepath.Join(b.cache, name))); err != nil {
		return fmt.Errorf("drop cached snapshot %s: %w", name, err)
	}
	return nil
}
