package httpapi

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kronicle/kronicle/kinds"
)

// metrics holds what is counted. The names are those of the Kubernetes API server
// where it has one for the thing, else kronicle_.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	watchers prometheus.Gauge
	aborted  prometheus.Counter
	events   atomic.Uint64

	mu   sync.RWMutex
	seen map[series]sink
}

// A series is what tells requests apart in the metrics.
type series struct {
	kind        *kinds.Kind
	verb        string
	subresource string
	scope       string
	dryRun      bool
	code        int
}

// A sink is where requests of a series are counted: looking labels up once instead
// of with every request keeps the metrics out of its cost.
type sink struct {
	count   prometheus.Counter
	seconds prometheus.Observer
}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), seen: map[series]sink{}}
	labels := []string{"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_total",
		Help: "Requests by verb, resource and code."}, append(labels, "code"))
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_request_duration_seconds",
		Help: "Time to answer a request.", Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14)}, labels)
	m.watchers = prometheus.NewGauge(prometheus.GaugeOpts{Name: "apiserver_longrunning_requests", Help: "Watches under way."})
	m.aborted = prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_request_aborts_total", Help: "Answers that could not be written to their end."})
	m.registry.MustRegister(m.requests, m.seconds, m.watchers, m.aborted,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "apiserver_current_inflight_requests", Help: "Requests under way.",
			ConstLabels: prometheus.Labels{"request_kind": "readOnly"}}, func() float64 { return float64(s.reads.n.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "apiserver_current_inflight_requests", Help: "Requests under way.",
			ConstLabels: prometheus.Labels{"request_kind": "mutating"}}, func() float64 { return float64(s.writes.n.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "apiserver_watch_events_total", Help: "Events sent to watchers."},
			func() float64 { return float64(m.events.Load()) }),
		&storeMetrics{s})
	return m
}

// observe counts a request that was answered.
func (m *metrics) observe(q *request, took time.Duration) {
	k := series{kind: q.kind, verb: q.verb, subresource: q.subresource, scope: "cluster", dryRun: q.dryRun, code: q.code}
	switch {
	case q.name != "":
		k.scope = "resource"
	case q.namespace != "":
		k.scope = "namespace"
	}
	m.mu.RLock()
	to, ok := m.seen[k]
	m.mu.RUnlock()
	if !ok {
		to = m.sink(k)
	}
	to.count.Inc()
	if q.verb != "watch" {
		to.seconds.Observe(took.Seconds())
	}
}

var verbNames = map[string]string{"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH",
	"delete": "DELETE", "deletecollection": "DELETECOLLECTION"}

func (m *metrics) sink(k series) sink {
	dry := ""
	if k.dryRun {
		dry = "All"
	}
	labels := []string{verbNames[k.verb], dry, k.kind.Group, k.kind.Version, k.kind.Resource, k.subresource, k.scope, "apiserver"}
	to := sink{m.requests.WithLabelValues(append(labels, strconv.Itoa(k.code))...), m.seconds.WithLabelValues(labels...)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.seen) > 10_000 { // catalogues that were replaced leave their kinds behind
		m.seen = map[series]sink{}
	}
	m.seen[k] = to
	return to
}

// storeMetrics shows the log, the projections and the snapshots. It reads them when
// it is asked, so they count nothing twice.
type storeMetrics struct{ s *Server }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	firstDesc    = desc("kronicle_log_first_sequence", "The first retained sequence of the log.")
	lastDesc     = desc("kronicle_log_last_sequence", "The last sequence of the log.")
	bytesDesc    = desc("kronicle_log_bytes", "The size of the log.")
	appliedDesc  = desc("kronicle_applied_sequence", "The sequence up to which the projections have applied the log.")
	floorDesc    = desc("kronicle_floor_sequence", "The oldest version that can be read and watched from.")
	objectsDesc  = desc("apiserver_resource_objects", "Objects stored, by resource.", "group", "resource")
	feedDesc     = desc("kronicle_memory_window_bytes", "Recent changes held in memory.")
	watchDesc    = desc("kronicle_watchers", "Watches that follow the projections.")
	parkedDesc   = desc("kronicle_parked_watchers", "Watches that read the log because they are behind the memory window.")
	coldDesc     = desc("kronicle_cold_reads_total", "Segments of the log that were read for watches and exact reads.")
	appendsDesc  = desc("kronicle_log_appends_total", "Records appended.")
	batchesDesc  = desc("kronicle_log_batches_total", "Commits that took several records at once.")
	snapSeqDesc  = desc("kronicle_snapshot_sequence", "The sequence of the newest snapshot.")
	snapTimeDesc = desc("kronicle_snapshot_time_seconds", "When the newest snapshot was taken, in Unix seconds.")
	snapSizeDesc = desc("kronicle_snapshot_bytes", "The size of the newest snapshot.")
)

// Describe implements prometheus.Collector.
func (c *storeMetrics) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *storeMetrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	s := c.s
	gauge(firstDesc, float64(s.log.First()))
	gauge(lastDesc, float64(s.log.Last()))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if info, err := s.log.Info(ctx); err == nil { // a log that cannot be asked has no size to show
		gauge(bytesDesc, float64(info.Bytes))
	}
	st := s.store.Stats()
	gauge(appliedDesc, float64(st.Applied))
	gauge(floorDesc, float64(st.Floor))
	gauge(feedDesc, float64(st.FeedBytes))
	gauge(watchDesc, float64(st.Watchers))
	gauge(parkedDesc, float64(st.Parked))
	counter(coldDesc, float64(st.ColdReads))
	for gr, n := range st.Objects {
		gauge(objectsDesc, float64(n), gr.Group, gr.Resource)
	}
	ls := s.log.Stats()
	counter(appendsDesc, float64(ls.Appends))
	counter(batchesDesc, float64(ls.Batches))
	if s.cfg.History != nil {
		h := s.cfg.History.Status()
		gauge(snapSeqDesc, float64(h.Newest.Seq))
		gauge(snapSizeDesc, float64(h.Newest.Bytes))
		if !h.Newest.Created.IsZero() {
			gauge(snapTimeDesc, float64(h.Newest.Created.Unix()))
		}
	}
}

// serveMetrics answers /metrics.
func (s *Server) serveMetrics(c echo.Context) error {
	promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP(c.Response(), c.Request())
	return nil
}

func resourceName(group, resource string) string { return strings.TrimSuffix(resource+"."+group, ".") }
