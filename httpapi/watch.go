package httpapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

const (
	// minWatch is the least time a watch without timeoutSeconds goes on; it ends at
	// random before twice that, so that watches do not all come back at once
	// (apiserver/pkg/endpoints/handlers/get.go).
	minWatch = 30 * time.Minute
	// bookmarkEvery is how often an idle watch that allows bookmarks gets one.
	bookmarkEvery = time.Minute
	// bookmarkBefore is how long before its end a watch gets a last bookmark.
	bookmarkBefore = 2 * time.Second
	// futureWait is how long a watch from a version that was never issued stays
	// silent. Within one store no client holds such a version for longer than
	// servers take to catch up; one that does has it from a store that was reset,
	// and must list again instead of waiting for ever.
	futureWait = 10 * time.Second
)

// A watchStream is one watch on its way to a client.
type watchStream struct {
	q         *request
	f         filter
	bookmarks bool
	rc        *http.ResponseController
	end       time.Time
	sent      uint64 // everything selected up to here has been sent
	columns   bool   // a Table has shown its columns
	pending   bool   // written and not flushed
}

// watchCollection answers GET with watch=true.
func (q *request) watchCollection() error {
	o, err := q.listOptions(true)
	if err != nil {
		return err
	}
	if q.out.yaml {
		return q.notAcceptable("only the following media types are accepted: application/json")
	}
	w := &watchStream{q: q, bookmarks: o.AllowWatchBookmarks, rc: http.NewResponseController(q.w)}
	if w.f, err = q.filter(&o); err != nil {
		return err
	}
	n, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return err
	}
	w.end = time.Now().Add(watchTime(&o))
	ctx, cancel := context.WithDeadline(q.r.Context(), w.end)
	defer cancel()
	defer context.AfterFunc(q.s.watches, cancel)()
	if err := w.open(); err != nil {
		return q.cut(err)
	}
	err = w.run(ctx, n, &o)
	var se *apierrors.StatusError
	switch {
	case errors.As(err, &se):
		err = w.fail(se)
	case ctx.Err() != nil:
		err = nil // its time is over, the server stops, or the client has gone
	}
	return q.cut(err)
}

func watchTime(o *metainternalversion.ListOptions) time.Duration {
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		return time.Duration(*o.TimeoutSeconds) * time.Second
	}
	return time.Duration(float64(minWatch) * (1 + rand.Float64()))
}

// open sends the headers, before any event. A write that blocks until the end of
// the watch gives up then.
func (w *watchStream) open() error {
	q := w.q
	q.code = http.StatusOK
	q.w.Header()["Content-Type"] = jsonType
	q.w.WriteHeader(http.StatusOK)
	if err := w.rc.SetWriteDeadline(w.end.Add(5 * time.Second)); err != nil {
		return err
	}
	return w.rc.Flush()
}

// run sends the initial state if that is asked for and then what follows. An error
// that is a Status is told to the client in the stream.
func (w *watchStream) run(ctx context.Context, n uint64, o *metainternalversion.ListOptions) error {
	s := w.q.s
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if n == 0 || initial {
		if err := w.fresh(ctx, o.ResourceVersion); err != nil {
			return err
		}
	}
	view := s.store.View(w.q.gr())
	if n == 0 || initial {
		w.sent = view.Seq()
	} else {
		w.sent = n
	}
	cursor, err := s.store.Watch(w.q.gr(), w.sent)
	if err != nil {
		return w.expired(err)
	}
	defer cursor.Close()
	s.metrics.watchers.Inc()
	defer s.metrics.watchers.Dec()
	if initial {
		if err := w.sendState(view); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.follow(ctx, cursor, n)
}

// fresh waits for the state that the initial events start from.
func (w *watchStream) fresh(ctx context.Context, version string) error {
	if version == "" {
		_, err := w.q.s.store.Fresh(ctx)
		return err
	}
	n, err := parseVersion(version)
	if err != nil {
		return err
	}
	return w.q.s.waitFor(ctx, n)
}

// expired is what a watch from before the retained history is told: the number in
// brackets is the smallest version that a watch can start from.
func (w *watchStream) expired(err error) error {
	var e *projections.ExpiredError
	if errors.As(err, &e) {
		return apierrors.NewResourceExpired("too old resource version: " +
			strconv.FormatUint(w.sent, 10) + " (" + strconv.FormatUint(w.q.s.store.Floor(), 10) + ")")
	}
	return err
}

// sendState sends the objects of a view as ADDED and, where bookmarks are allowed,
// the mark that ends them (KEP-3157).
func (w *watchStream) sendState(view projections.View) error {
	p := page{view: view, filter: w.f}
	if _, err := p.walk(func(o *projections.Object) error { return w.event(projections.Added, o) }); err != nil {
		return err
	}
	if !w.bookmarks {
		return nil
	}
	return w.bookmark(`,"annotations":{"k8s.io/initial-events-end":"true"}`)
}

// follow sends changes until the watch ends.
func (w *watchStream) follow(ctx context.Context, cursor *projections.Watcher, from uint64) error {
	for {
		wait, cancel := context.WithTimeout(ctx, w.idle(from))
		err := w.pump(wait, cursor)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, context.DeadlineExceeded):
			return w.expired(err)
		case from > w.q.s.store.Applied():
			return apierrors.NewResourceExpired("too old resource version: " + strconv.FormatUint(from, 10) +
				" was never issued by this store, whose newest is " + strconv.FormatUint(w.q.s.store.Applied(), 10))
		}
		if w.bookmarks {
			if err := w.bookmark(""); err != nil {
				return err
			}
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
}

// idle is how long to wait for changes until something else is due.
func (w *watchStream) idle(from uint64) time.Duration {
	if from > w.q.s.store.Applied() {
		return futureWait
	}
	if left := time.Until(w.end) - bookmarkBefore; left > 0 && left < bookmarkEvery {
		return left
	}
	return bookmarkEvery
}

// pump sends changes until ctx ends.
func (w *watchStream) pump(ctx context.Context, cursor *projections.Watcher) error {
	for {
		changes, upto, err := cursor.Next(ctx)
		for _, c := range changes {
			if err := w.change(ctx, c); err != nil {
				return err
			}
		}
		w.sent = max(w.sent, upto)
		if ferr := w.flush(); ferr != nil {
			return ferr
		}
		if err != nil {
			return err
		}
	}
}

// change sends what a change means to the selection (apiserver/pkg/storage/cacher/
// cache_watcher.go convertToWatchEvent).
func (w *watchStream) change(ctx context.Context, c *projections.Change) error {
	if w.f.namespace != "" && c.Object.Namespace() != w.f.namespace || w.f.name != "" && c.Object.Name() != w.f.name {
		return nil
	}
	now := w.f.matches(c.Object)
	if c.Op == eventlog.OpDelete {
		if now {
			return w.event(projections.Deleted, c.Object)
		}
		return nil
	}
	if w.f.labels == nil && w.f.fields == nil {
		switch {
		case !now:
			return nil
		case c.Op == eventlog.OpCreate:
			return w.event(projections.Added, c.Object)
		}
		return w.event(projections.Modified, c.Object)
	}
	before := false
	if c.Op == eventlog.OpUpdate {
		prev, err := c.Previous(ctx)
		if err != nil {
			return err
		}
		before = w.f.matches(prev)
	}
	switch {
	case now && before:
		return w.event(projections.Modified, c.Object)
	case now:
		return w.event(projections.Added, c.Object)
	case before:
		gone, err := c.Departed(ctx)
		if err != nil {
			return err
		}
		return w.event(projections.Deleted, gone)
	}
	return nil
}

// event sends one object. The frame's bytes are shared by all watchers, unless this
// one wants another form.
func (w *watchStream) event(t projections.EventType, o *projections.Object) error {
	if w.q.out.as != asObject {
		return w.raw(t.String(), o.JSON())
	}
	if w.q.kind.Converts() || !w.q.current(o.JSON()) {
		return w.raw(t.String(), o.JSON())
	}
	w.q.s.metrics.events.Add(1)
	return w.write(o.Frame(t))
}

// raw frames an object for this watcher alone.
func (w *watchStream) raw(t string, data []byte) error {
	data, err := w.q.served(data)
	if err != nil {
		return err
	}
	form, err := w.form(data)
	if err != nil {
		return err
	}
	b := make([]byte, 0, len(form)+len(t)+32)
	b = append(append(append(b, `{"type":"`...), t...), `","object":`...)
	b = append(append(b, form...), "}\n"...)
	w.q.s.metrics.events.Add(1)
	return w.write(b)
}

// form puts an object into the representation of the stream.
func (w *watchStream) form(data []byte) ([]byte, error) {
	switch w.q.out.as {
	case asTable:
		b, err := w.q.tableRow(data, !w.columns)
		w.columns = true
		return b, err
	case asPartial, asPartialList:
		return partial(data, w.q.out.version), nil
	}
	return data, nil
}

func (w *watchStream) bookmark(annotations string) error {
	k := w.q.kind
	b := []byte(`{"kind":"` + k.Kind + `","apiVersion":"` + k.APIVersion + `","metadata":{"resourceVersion":"` +
		strconv.FormatUint(w.sent, 10) + `"` + annotations + `}}`)
	form := b
	switch w.q.out.as {
	case asTable:
		var err error
		if form, err = w.q.tableBookmark(b, !w.columns); err != nil {
			return err
		}
		w.columns = true
	case asPartial, asPartialList:
		form = partial(b, w.q.out.version)
	}
	return w.write(append(append([]byte(`{"type":"BOOKMARK","object":`), form...), "}\n"...))
}

// fail ends the stream with an ERROR event.
func (w *watchStream) fail(err *apierrors.StatusError) error {
	b := append([]byte(`{"type":"ERROR","object":`), statusJSON(&err.ErrStatus)...)
	if err := w.write(append(b, "}\n"...)); err != nil {
		return err
	}
	return w.flush()
}

func (w *watchStream) write(b []byte) error {
	w.pending = true
	_, err := w.q.w.Write(b)
	return err
}

func (w *watchStream) flush() error {
	if !w.pending {
		return nil
	}
	w.pending = false
	return w.rc.Flush()
}
