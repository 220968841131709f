package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"
)

// blobsSuffix makes the bucket's name from the stream's.
const blobsSuffix = "-snapshots"

// Blobs is a bucket of named blobs beside an external log, shared by all its servers. A blob is
// visible once it has been written as a whole.
type Blobs struct{ store jetstream.ObjectStore }

// Blobs opens the bucket <stream>-snapshots, creating it with the log's number of replicas. An
// embedded log has none.
func (l *Log) Blobs(ctx context.Context) (*Blobs, error) {
	if l.emb != nil {
		return nil, errors.New("eventlog: an embedded log has no blobs")
	}
	name := l.cfg.Stream + blobsSuffix
	s, err := l.js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Storage: jetstream.FileStorage, Replicas: l.cfg.Replicas})
		if errors.Is(err, jetstream.ErrBucketExists) {
			s, err = l.js.ObjectStore(ctx, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: bucket %s: %w", ErrUnavailable, name, err)
	}
	return &Blobs{store: s}, nil
}

// Put writes a blob, replacing one of the same name when it is complete.
func (b *Blobs) Put(ctx context.Context, name string, r io.Reader) error {
	if _, err := b.store.Put(ctx, jetstream.ObjectMeta{Name: name}, r); err != nil {
		return fmt.Errorf("eventlog: put blob %s: %w", name, err)
	}
	return nil
}

// Get opens a blob, or fails with ErrNotFound. Reading fails at its end if the content does not
// match its digest.
func (b *Blobs) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.store.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("%w: blob %s", ErrNotFound, name)
	}
	if err != nil {
		return nil, fmt.Errorf("eventlog: get blob %s: %w", name, err)
	}
	return r, nil
}

// List returns the names of all blobs.
func (b *Blobs) List(ctx context.Context) ([]string, error) {
	infos, err := b.store.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("eventlog: list blobs: %w", err)
	}
	names := make([]string, 0, len(infos))
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names, nil
}

// Delete removes a blob; one that does not exist is no error.
func (b *Blobs) Delete(ctx context.Context, name string) error {
	if err := b.store.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("eventlog: delete blob %s: %w", name, err)
	}
	return nil
}
