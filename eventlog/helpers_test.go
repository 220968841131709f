package eventlog

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests, 0 for a new one")

func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

var streams atomic.Int64

// backend is one kind of log under test.
type backend struct {
	name     string
	url      string // external only
	replicas int
}

// config returns the configuration of a fresh log; an external stream is removed when the test
// ends.
func (b *backend) config(t testing.TB) Config {
	if b.url == "" {
		return Config{Dir: t.TempDir()}
	}
	t.Cleanup(func() { b.clear(t) })
	// A name of its own: nats-server removes the files of a deleted stream after it answers.
	return Config{URL: b.url, Replicas: b.replicas, Stream: fmt.Sprint("S", streams.Add(1))}
}

func (b *backend) js(t testing.TB) jetstream.JetStream {
	nc, err := nats.Connect(b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func (b *backend) clear(t testing.TB) {
	ctx := testContext(t)
	js := b.js(t)
	for name := range js.StreamNames(ctx).Name() {
		if err := js.DeleteStream(ctx, name); err != nil {
			t.Errorf("delete stream %s: %v", name, err)
		}
	}
}

// testContext is not bound to the test's own context, which has ended when cleanups run.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func open(t testing.TB, cfg Config) *Log {
	t.Helper()
	l, err := Open(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func closeLog(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func startServer(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog, o.JetStream = "127.0.0.1", true, true, true
	o.MaxPayload = 8 << 20
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("server did not start")
	}
	return srv
}

func startSingle(t testing.TB, dir string, port int) *server.Server {
	return startServer(t, &server.Options{Port: port, StoreDir: dir})
}

func stopServer(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

func freePorts(t testing.TB, n int) []int {
	var ports []int
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// startCluster starts three servers and waits until they have a leader.
func startCluster(t testing.TB) (string, []*server.Server) {
	t.Helper()
	ports := freePorts(t, 3)
	var routes []*url.URL
	for _, p := range ports {
		u, err := url.Parse(fmt.Sprintf("nats://127.0.0.1:%d", p))
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, u)
	}
	var servers []*server.Server
	urls := ""
	for i, p := range ports {
		srv := startServer(t, &server.Options{
			ServerName: fmt.Sprint("n", i), Port: -1, StoreDir: t.TempDir(), Routes: routes,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: p},
		})
		t.Cleanup(func() { stopServer(srv) })
		servers = append(servers, srv)
		urls += "," + srv.ClientURL()
	}
	eventually(t, "the cluster has no leader", func() bool {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 {
				return true
			}
		}
		return false
	})
	return urls[1:], servers
}

// eventually polls a fact that nothing announces.
func eventually(t testing.TB, failure string, fact func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !fact() {
		if time.Now().After(deadline) {
			t.Fatal(failure)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func key(name string) Key { return Key{Resource: "configmaps", Namespace: "default", Name: name} }

func record(op Op, content string) *Record {
	return &Record{
		Op: op, UID: "u-" + content, RVAt: 1,
		Object: []byte(`{"uid":"` + content + `"}`),
		Actor:  Actor{User: "alice", Groups: []string{"system:masters"}, Verb: op.String(), RequestID: "same for all"},
	}
}

func mustAppend(t testing.TB, l *Log, k Key, expect uint64, rec *Record) uint64 {
	t.Helper()
	seq, err := l.Append(testContext(t), k, expect, rec)
	if err != nil {
		t.Fatalf("append %s expecting %d: %v", k, expect, err)
	}
	return seq
}

// fill appends n creates of distinct objects at once.
func fill(t testing.TB, l *Log, prefix string, n int) {
	t.Helper()
	errs := make(chan error, n)
	for i := range n {
		go func() {
			_, err := l.Append(testContext(t), key(fmt.Sprint(prefix, i)), 0, record(OpCreate, fmt.Sprint(prefix, i)))
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

func readAll(t testing.TB, l *Log) []Entry {
	t.Helper()
	info, err := l.Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var all []Entry
	if err := l.Range(testContext(t), info.First, info.Last, collect(&all)); err != nil {
		t.Fatal(err)
	}
	wantContiguous(t, all, info.First, info.Last)
	return all
}

func collect(all *[]Entry) func([]Entry) error {
	return func(es []Entry) error {
		*all = append(*all, es...)
		return nil
	}
}

func wantContiguous(t testing.TB, es []Entry, from, to uint64) {
	t.Helper()
	if uint64(len(es)) != to-from+1 {
		t.Fatalf("%d entries, want %d to %d", len(es), from, to)
	}
	for i, e := range es {
		if e.Seq != from+uint64(i) {
			t.Fatalf("entry %d has sequence %d, want %d", i, e.Seq, from+uint64(i))
		}
	}
}

// recorder is a follower's sink that can be waited on.
type recorder struct {
	mu  sync.Mutex
	all []Entry
}

func (r *recorder) add(es []Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, es...)
	return nil
}

func (r *recorder) entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[:len(r.all):len(r.all)]
}

// follow follows l from a sequence until the test ends.
func follow(t testing.TB, l *Log, from uint64) *recorder {
	r := &recorder{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Follow(ctx, from, r.add)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

func (r *recorder) awaitSeq(t testing.TB, seq uint64) []Entry {
	t.Helper()
	eventually(t, fmt.Sprintf("follower does not reach %d", seq), func() bool {
		es := r.entries()
		return len(es) > 0 && es[len(es)-1].Seq >= seq
	})
	return r.entries()
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(to, lockFile))
}
