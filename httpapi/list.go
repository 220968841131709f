package httpapi

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kronicle/kronicle/projections"
)

// listMeta is the metadata of a list.
type listMeta struct {
	version   string
	next      string // the continue token; "" at the end
	remaining int    // items behind this page; 0: not told
}

func (m listMeta) append(b []byte) []byte {
	b = append(b, '{')
	if m.next != "" {
		b = append(append(append(b, `"continue":"`...), m.next...), `",`...)
	}
	if m.remaining > 0 {
		b = strconv.AppendInt(append(b, `"remainingItemCount":`...), int64(m.remaining), 10)
		b = append(b, ',')
	}
	return append(append(append(b, `"resourceVersion":"`...), m.version...), `"}`...)
}

// A page is the part of a view that one answer gives.
type page struct {
	view   projections.View
	after  string // position behind which it starts
	limit  int    // 0: no limit
	filter filter
}

// list answers GET of a collection.
func (q *request) list() error {
	o, err := q.listOptions(false)
	if err != nil {
		return err
	}
	p, err := q.page(&o)
	if err != nil {
		return err
	}
	switch q.out.as {
	case asPartial:
		return q.notAcceptable("you requested PartialObjectMetadata, but the requested object is a list (" + q.kind.ListKind + ")")
	case asTable:
		return q.listTable(p)
	case asPartialList:
		return q.writeList(p, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/`+q.out.version+`","metadata":`, "", func(data []byte) []byte {
			return partial(data, q.out.version)
		})
	}
	head := `{"apiVersion":"` + q.kind.APIVersion + `","items":[`
	return q.writeList(p, "", head, nil)
}

// page finds the state that a list is of: one row of the table in wire contract E.3.
func (q *request) page(o *metainternalversion.ListOptions) (page, error) {
	p := page{limit: int(o.Limit)}
	var err error
	if p.filter, err = q.filter(o); err != nil {
		return p, err
	}
	if o.Continue != "" {
		return q.nextPage(p, o)
	}
	n, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return p, err
	}
	exact := o.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		o.ResourceVersionMatch == "" && n > 0 && p.limit > 0
	if err := q.await(o.ResourceVersion); err != nil {
		return p, err
	}
	switch {
	case exact && n > 0:
		p.view, err = q.s.store.At(q.r.Context(), q.gr(), n)
		return p, err
	case o.ResourceVersion == "0":
		p.limit = 0 // apiserver/pkg/storage/cacher/cacher.go computeListLimit
	}
	p.view = q.s.store.View(q.gr())
	return p, nil
}

// nextPage goes on with the state that a continue token names.
func (q *request) nextPage(p page, o *metainternalversion.ListOptions) (page, error) {
	version, after, err := decodeToken(o.Continue)
	if err != nil {
		return p, err
	}
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return p, badRequest("specifying resource version is not allowed when using continue")
	}
	p.after = after
	if version == latest {
		if err := q.await(""); err != nil {
			return p, err
		}
		p.view = q.s.store.View(q.gr())
		return p, nil
	}
	if err := q.s.waitFor(q.r.Context(), uint64(version)); err != nil {
		return p, err
	}
	p.view, err = q.s.store.At(q.r.Context(), q.gr(), uint64(version))
	return p, expiredToken(err, after)
}

// walk gives the objects of a page in order and the metadata of its list. visit
// returns an error to stop early.
func (p *page) walk(visit func(*projections.Object) error) (listMeta, error) {
	m := listMeta{version: strconv.FormatUint(p.view.Seq(), 10)}
	if p.filter.none {
		return m, nil
	}
	if p.filter.name != "" && p.filter.namespace != "" {
		if o, ok := p.view.Get(p.filter.namespace, p.filter.name); ok && p.filter.matches(o) && position(o) > p.after {
			return m, visit(o)
		}
		return m, nil
	}
	var (
		n    int
		last *projections.Object
		more bool
		err  error
	)
	all := !p.filter.selective()
	p.ascend(func(o *projections.Object) bool {
		if !all && !p.filter.matches(o) {
			return true
		}
		if p.limit > 0 && n == p.limit {
			more = true
			return false
		}
		n, last = n+1, o
		err = visit(o)
		return err == nil
	})
	if more {
		m.next = encodeToken(int64(p.view.Seq()), position(last))
		if all {
			m.remaining = p.view.Count(p.filter.namespace, position(last))
		}
	}
	return m, err
}

// lookAhead is how many objects a walk with label rules fetches together.
const lookAhead = 32

// ascend walks over the objects of the page's namespace behind its start.
func (p *page) ascend(fn func(*projections.Object) bool) {
	if len(p.filter.labels) == 0 {
		p.view.Ascend(p.filter.namespace, p.after, fn)
		return
	}
	var ahead [lookAhead]*projections.Object
	n, on := 0, true
	drain := func() bool {
		projections.Fetch(ahead[:n])
		for _, o := range ahead[:n] {
			if on = fn(o); !on {
				break
			}
		}
		n = 0
		return on
	}
	p.view.Ascend(p.filter.namespace, p.after, func(o *projections.Object) bool {
		ahead[n] = o
		n++
		return n < lookAhead || drain()
	})
	if on {
		drain()
	}
}

func position(o *projections.Object) string { return o.Namespace() + "/" + o.Name() }

// writeList streams a page. In a list of the kind itself the metadata comes behind
// the items (the keys are sorted); in other forms metaHead opens the list and the
// metadata comes first, so the page is walked twice.
func (q *request) writeList(p page, metaHead, head string, transform func([]byte) []byte) error {
	out := newListWriter(q)
	defer out.release()
	if metaHead != "" {
		m, err := p.walk(func(*projections.Object) error { return nil })
		if err != nil {
			return err
		}
		out.buf = append(m.append(append(out.buf, metaHead...)), `,"items":[`...)
	} else {
		out.buf = append(out.buf, head...)
	}
	first := true
	m, err := p.walk(func(o *projections.Object) error {
		if !first {
			out.buf = append(out.buf, ',')
		}
		first = false
		if transform != nil {
			return out.append("", transform(o.JSON()))
		}
		head, rest, err := q.reversion(o.JSON())
		if err != nil {
			return err
		}
		return out.append(head, rest)
	})
	if err != nil && !out.started {
		return err
	}
	if err != nil {
		return q.cut(err)
	}
	if metaHead != "" {
		out.buf = append(out.buf, `]}`...)
	} else {
		out.buf = append(append(append(out.buf, `],"kind":"`...), q.kind.ListKind...), `","metadata":`...)
		out.buf = append(m.append(out.buf), '}')
	}
	return out.finish()
}

// listChunk is how many bytes of a list are gathered before they are written. Large
// writes pass through net/http and fill TLS records without further copies.
const listChunk = 256 << 10

var listBuffers = sync.Pool{New: func() any { b := make([]byte, 0, listChunk); return &b }}

// A listWriter gathers an answer and begins to send it when it grows over a chunk;
// one that stays below is sent whole, with its length. YAML and indented answers
// are gathered whole, since they are another encoding.
type listWriter struct {
	q       *request
	pooled  *[]byte
	buf     []byte
	whole   bool
	zip     compressor
	started bool
	rc      *http.ResponseController
}

func newListWriter(q *request) *listWriter {
	b := listBuffers.Get().(*[]byte)
	return &listWriter{q: q, pooled: b, buf: (*b)[:0], whole: q.out.yaml || q.out.pretty || q.r.Method == http.MethodHead}
}

func (l *listWriter) release() {
	if cap(l.buf) == listChunk {
		*l.pooled = l.buf[:0]
	}
	listBuffers.Put(l.pooled)
}

func (l *listWriter) append(head string, data []byte) error {
	if !l.whole && len(l.buf)+len(head)+len(data)+1024 > listChunk {
		if err := l.send(); err != nil {
			return err
		}
		if len(data) > listChunk {
			if err := l.write(append([]byte(head), data...)); err != nil {
				return err
			}
			return nil
		}
	}
	l.buf = append(append(l.buf, head...), data...)
	return nil
}

// send writes what has been gathered.
func (l *listWriter) send() error {
	if len(l.buf) == 0 {
		return nil
	}
	err := l.write(l.buf)
	l.buf = l.buf[:0]
	return err
}

func (l *listWriter) write(b []byte) error {
	if !l.started {
		l.started = true
		l.rc = http.NewResponseController(l.q.w)
		l.q.code = http.StatusOK
		l.q.w.Header()["Content-Type"] = jsonType
		if acceptsGzip(l.q.r) {
			l.zip = l.q.s.compressed(l.q.w, http.StatusOK)
		} else {
			l.q.w.WriteHeader(http.StatusOK)
		}
	}
	if err := l.rc.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return err
	}
	var err error
	if l.zip.Writer != nil {
		_, err = l.zip.Write(b)
	} else {
		_, err = l.q.w.Write(b)
	}
	return err
}

func (l *listWriter) finish() error {
	if !l.started {
		return l.q.writeBody(http.StatusOK, l.buf)
	}
	err := l.send()
	if l.zip.Writer != nil {
		return l.q.cut(err, l.zip.Close())
	}
	return l.q.cut(err)
}
