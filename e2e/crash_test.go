package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashRounds is how often the server is killed.
const crashRounds = 30

// A row is what the clients know of one object.
type row struct {
	acked   string // the value that was acknowledged last; "" means none or deleted
	version string // the version that was acknowledged with it
	maybe   []string
}

// A ledger holds everything that clients were told, over all rounds.
type ledger struct {
	t  *testing.T
	mu sync.Mutex
	// versions tells what each version that was ever seen stood for.
	versions map[string]string
	rows     map[string]*row
	acks     int
}

// saw notes that a version stands for a state of an object; no version may ever
// stand for two.
func (l *ledger) saw(version, what string) {
	if have, ok := l.versions[version]; ok && have != what {
		l.t.Errorf("version %s was issued twice: for %s and for %s", version, have, what)
	}
	l.versions[version] = what
}

// TestNothingAcknowledgedIsLostWhenTheServerIsKilled kills a server again and again
// while clients write, and holds what it has after each start against what it
// acknowledged before. A watcher resumes across all of it.
func TestNothingAcknowledgedIsLostWhenTheServerIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server 30 times")
	}
	rnd := rand.New(rand.NewSource(seed(t)))
	p := &process{t: t, o: processOptions{DataDir: t.TempDir(), Listen: "127.0.0.1:0", SnapshotEvents: 500, MemoryWindow: 1 << 20}}
	p.start()
	l := &ledger{t: t, versions: map[string]string{}, rows: map[string]*row{}}
	base := "https://" + p.o.Listen
	client := clientOf(t, p.config())
	w := newFollower(t, client, base+configMaps)
	for round := range crashRounds {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for i := range 8 {
			worker := &crashWriter{l: l, client: client, base: base, id: i, rnd: rand.New(rand.NewSource(rnd.Int63()))}
			wg.Go(func() { worker.run(ctx, round) })
		}
		wg.Go(func() { w.follow(ctx) })
		l.awaitAcks(20 + rnd.Intn(400))
		p.kill()
		cancel()
		wg.Wait()
		p.start()
		l.check(client, base)
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	w.catchUp(ctx, client, base)
	verify(t, client, base)
	p.stop()
	t.Logf("%d writes acknowledged, %d versions seen, %d events", l.acks, len(l.versions), w.events)
}

// awaitAcks returns when so many more writes have been acknowledged.
func (l *ledger) awaitAcks(n int) {
	l.mu.Lock()
	want := l.acks + n
	l.mu.Unlock()
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(time.Millisecond); time.Now().Before(deadline); <-tick.C {
		l.mu.Lock()
		done := l.acks >= want
		l.mu.Unlock()
		if done {
			return
		}
	}
	l.t.Fatal("no writes are acknowledged")
}

// check holds the state of the server against the ledger.
func (l *ledger) check(client *http.Client, base string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	have := map[string]object{}
	for _, o := range list(l.t, client, base+configMaps) {
		have[o.Metadata.Name] = o
	}
	for name, r := range l.rows {
		o, ok := have[name]
		value := ""
		if ok {
			value = o.Data["v"]
		}
		switch {
		case value == r.acked && (!ok || o.Metadata.ResourceVersion == r.version):
		case contains(r.maybe, value):
		default:
			l.t.Errorf("%s: has %q at %s, acknowledged was %q at %s, open were %q", name, value, o.Metadata.ResourceVersion, r.acked, r.version, r.maybe)
		}
		r.acked, r.version, r.maybe = value, o.Metadata.ResourceVersion, nil
		if ok {
			l.saw(o.Metadata.ResourceVersion, name+"="+value)
		}
		delete(have, name)
	}
	for name := range have {
		if name != "kube-root-ca.crt" {
			l.t.Errorf("%s: nobody made it", name)
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func list(t *testing.T, client *http.Client, url string) []object {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var l struct{ Items []object }
	if err := json.NewDecoder(res.Body).Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l.Items
}

// A crashWriter creates, updates and deletes objects of its own.
type crashWriter struct {
	l      *ledger
	client *http.Client
	base   string
	id     int
	rnd    *rand.Rand
}

func (w *crashWriter) run(ctx context.Context, round int) {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("w%d-%d", w.id, w.rnd.Intn(10))
		w.write(ctx, name, fmt.Sprintf("%d.%d.%d", round, w.id, n))
	}
}

func (w *crashWriter) write(ctx context.Context, name, value string) {
	w.l.mu.Lock()
	r := w.l.rows[name]
	if r == nil {
		r = &row{}
		w.l.rows[name] = r
	}
	exists, version := r.acked != "", r.version
	if len(r.maybe) > 0 { // its state is not known before the next start
		w.l.mu.Unlock()
		return
	}
	method, path, body := "POST", configMaps, configMap(name, value, "")
	switch {
	case exists && w.rnd.Intn(5) == 0:
		method, path, body, value = "DELETE", configMaps+"/"+name, "", ""
	case exists:
		method, path, body = "PUT", configMaps+"/"+name, configMap(name, value, version)
	}
	r.maybe = []string{value}
	w.l.mu.Unlock()

	code, o := w.send(ctx, method, path, body)
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	switch {
	case code == 0 || code >= 500: // not known
	case code/100 == 2:
		w.l.acks++
		r.acked, r.version, r.maybe = value, o.Metadata.ResourceVersion, nil
		if value != "" {
			w.l.saw(o.Metadata.ResourceVersion, name+"="+value)
		}
	default:
		w.l.t.Errorf("%s %s: %d %v", method, path, code, o)
		r.maybe = nil
	}
}

func configMap(name, value, version string) string {
	if version != "" {
		version = `,"resourceVersion":"` + version + `"`
	}
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"` + version + `},"data":{"v":"` + value + `"}}`
}

func (w *crashWriter) send(ctx context.Context, method, path, body string) (code int, o object) {
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, o
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(req)
	if err != nil {
		return 0, o
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || json.Unmarshal(b, &o) != nil {
		return 0, o
	}
	return res.StatusCode, o
}

// A follower watches from the beginning and resumes where it was cut off.
type follower struct {
	t      *testing.T
	client *http.Client
	url    string
	last   uint64
	state  map[string]object
	events int
}

func newFollower(t *testing.T, client *http.Client, url string) *follower {
	return &follower{t: t, client: client, url: url, last: 5, state: map[string]object{}}
}

// follow watches until the connection or ctx ends.
func (f *follower) follow(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, "GET", f.url+query(f.url)+"watch=true&resourceVersion="+strconv.FormatUint(f.last, 10), nil)
	if err != nil {
		f.t.Error(err)
		return
	}
	res, err := f.client.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	for dec := json.NewDecoder(res.Body); ; {
		var e event
		if dec.Decode(&e) != nil {
			return
		}
		if !f.take(e) {
			return
		}
	}
}

func query(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}

// take checks that an event is the next one.
func (f *follower) take(e event) bool {
	v, err := strconv.ParseUint(e.Object.Metadata.ResourceVersion, 10, 64)
	if err != nil || v <= f.last {
		f.t.Errorf("event %+v behind version %d", e, f.last)
		return false
	}
	_, have := f.state[e.Object.Metadata.Name]
	if have == (e.Type == "ADDED") {
		f.t.Errorf("%s of %s at %d: the watcher knew of it: %v", e.Type, e.Object.Metadata.Name, v, have)
	}
	f.last, f.events = v, f.events+1
	if e.Type == "DELETED" {
		delete(f.state, e.Object.Metadata.Name)
	} else {
		f.state[e.Object.Metadata.Name] = e.Object
	}
	return true
}

// catchUp follows until the watcher's state is the server's.
func (f *follower) catchUp(ctx context.Context, client *http.Client, base string) {
	f.t.Helper()
	want := map[string]string{}
	for _, o := range list(f.t, client, base+configMaps) {
		want[o.Metadata.Name] = o.Metadata.ResourceVersion
	}
	f.url += "?timeoutSeconds=2" // the watch ends by itself
	f.follow(ctx)
	for name, o := range f.state {
		if want[name] != o.Metadata.ResourceVersion {
			f.t.Errorf("the watcher has %s at %s, the server at %s", name, o.Metadata.ResourceVersion, want[name])
		}
		delete(want, name)
	}
	for name, v := range want {
		f.t.Errorf("the watcher never saw %s at %s", name, v)
	}
}
