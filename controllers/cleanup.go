package controllers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// API is the write path as Cleanup uses it.
type API interface {
	// Empty deletes the objects that the holder called name holds and tells how many
	// are left because finalizers hold them back.
	Empty(ctx context.Context, name string) (left int, err error)
	// Release lets the holder go.
	Release(ctx context.Context, name string) error
}

// Store is what Cleanup reads.
type Store interface {
	View(projections.GroupResource) projections.View
	Watch(projections.GroupResource, uint64) (*projections.Watcher, error)
}

// Cleanup empties and releases the terminating objects of one resource.
type Cleanup struct {
	Resource projections.GroupResource
	Store    Store
	API      API
	Logger   *slog.Logger
	// Retry is how long a holder that could not be emptied is left alone; 0: 1 s.
	Retry time.Duration
}

// Run works until ctx ends. It returns an error only if the projections can no
// longer be followed.
func (c *Cleanup) Run(ctx context.Context) error {
	view := c.Store.View(c.Resource)
	cursor, err := c.Store.Watch(c.Resource, view.Seq())
	if err != nil {
		return fmt.Errorf("follow %s: %w", c.Resource.Resource, err)
	}
	defer cursor.Close()
	todo := map[string]bool{}
	view.Ascend("", "", func(o *projections.Object) bool {
		if o.Deleting() {
			todo[o.Name()] = true
		}
		return true
	})
	for {
		for name := range todo {
			if c.finish(ctx, name) {
				delete(todo, name)
			}
		}
		if err := c.wait(ctx, cursor, todo); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// wait adds what begins to terminate to todo; where something is there already it
// waits no longer than Retry.
func (c *Cleanup) wait(ctx context.Context, cursor *projections.Watcher, todo map[string]bool) error {
	wait, cancel := ctx, context.CancelFunc(func() {})
	if len(todo) > 0 {
		retry := c.Retry
		if retry == 0 {
			retry = time.Second
		}
		wait, cancel = context.WithTimeout(ctx, retry)
	}
	defer cancel()
	changes, _, err := cursor.Next(wait)
	for _, ch := range changes {
		switch {
		case ch.Op == eventlog.OpDelete:
			delete(todo, ch.Object.Name())
		case ch.Object.Deleting():
			todo[ch.Object.Name()] = true
		}
	}
	if err != nil && wait.Err() == nil {
		return fmt.Errorf("follow %s: %w", c.Resource.Resource, err)
	}
	return nil
}

// finish tries to bring the deletion of one holder to its end. What stands in the
// way is tried again after Retry: it is told, and the holder shows it by still
// being there.
func (c *Cleanup) finish(ctx context.Context, name string) bool {
	left, err := c.API.Empty(ctx, name)
	if err == nil && left == 0 {
		err = c.API.Release(ctx, name)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		c.Logger.Warn("deletion goes on later", "resource", c.Resource.Resource, "name", name, "error", err)
	}
	return err == nil && left == 0
}
