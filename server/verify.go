package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/snapshots"
)

// verify folds the log of a running server and compares.
func (s *Server) verify(ctx context.Context, progress func(seq, last uint64)) (snapshots.Report, error) {
	key, err := s.opts.EncryptionKey()
	if err != nil {
		return snapshots.Report{}, err
	}
	return snapshots.Verify(ctx, snapshots.VerifyConfig{
		Log: s.log, Store: s.snapshots, Key: key, Live: s.store, Progress: progress,
	})
}

// Verify folds the log of a store that no server in this process serves, and
// compares it with its snapshots. For an embedded store the error is
// eventlog.ErrLocked while a server has it open.
func Verify(ctx context.Context, o Options, progress func(seq, last uint64)) (snapshots.Report, error) {
	log, err := OpenLog(ctx, o)
	if err != nil {
		return snapshots.Report{}, err
	}
	defer log.Close()
	store, err := o.SnapshotStore(ctx, log)
	if err != nil {
		return snapshots.Report{}, err
	}
	key, err := o.EncryptionKey()
	if err != nil {
		return snapshots.Report{}, err
	}
	return snapshots.Verify(ctx, snapshots.VerifyConfig{Log: log, Store: store, Key: key, Progress: progress})
}

// OpenLog opens the log of an existing store without serving it. It makes no
// store where there is none in DataDir.
func OpenLog(ctx context.Context, o Options) (*eventlog.Log, error) {
	if err := o.validateNATS(); err != nil {
		return nil, err
	}
	if o.NATSURL == "" {
		if _, err := os.Stat(filepath.Join(o.DataDir, "jetstream")); err != nil {
			return nil, fmt.Errorf("no store in %s: %w", o.DataDir, err)
		}
	}
	cfg, err := o.EventLogConfig()
	if err != nil {
		return nil, err
	}
	return eventlog.Open(ctx, cfg)
}
