package projections

import (
	"context"
	"sync"
)

// flights lets all who want the same thing at the same time share one making
// of it. The making is cancelled when nobody is left who wants it, and not
// because the first who asked has gone.
type flights[K comparable, V any] struct {
	mu  sync.Mutex
	now map[K]*flight[V]
}

type flight[V any] struct {
	wanted int
	cancel context.CancelFunc
	done   chan struct{}
	value  V
	err    error
}

// do returns what fn makes for key, joining a making under way.
func (f *flights[K, V]) do(ctx context.Context, key K, fn func(context.Context) (V, error)) (V, error) {
	f.mu.Lock()
	if f.now == nil {
		f.now = make(map[K]*flight[V])
	}
	fl := f.now[key]
	if fl == nil {
		run, cancel := context.WithCancel(context.WithoutCancel(ctx))
		fl = &flight[V]{cancel: cancel, done: make(chan struct{})}
		f.now[key] = fl
		go f.run(run, key, fl, fn)
	}
	fl.wanted++
	f.mu.Unlock()

	select {
	case <-fl.done:
		return fl.value, fl.err
	case <-ctx.Done():
		f.leave(key, fl)
		var zero V
		return zero, ctx.Err()
	}
}

func (f *flights[K, V]) run(ctx context.Context, key K, fl *flight[V], fn func(context.Context) (V, error)) {
	defer fl.cancel()
	fl.value, fl.err = fn(ctx)
	f.forget(key, fl)
	close(fl.done)
}

func (f *flights[K, V]) forget(key K, fl *flight[V]) {
	f.mu.Lock()
	if f.now[key] == fl {
		delete(f.now, key)
	}
	f.mu.Unlock()
}

// leave gives up waiting. The last one to leave cancels the making, and takes
// it away so that whoever comes now begins anew.
func (f *flights[K, V]) leave(key K, fl *flight[V]) {
	f.mu.Lock()
	fl.wanted--
	if fl.wanted == 0 {
		fl.cancel()
		if f.now[key] == fl {
			delete(f.now, key)
		}
	}
	f.mu.Unlock()
}
