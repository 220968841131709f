package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A model is what the store must be: plain maps and a list of all that happened.
type model struct {
	state   map[string]object            // by name
	history []event                      // in the order of versions
	at      map[uint64]map[string]string // after each version: name to version
}

func (m *model) note(kind string, o object) {
	next := map[string]string{}
	if n := len(m.history); n > 0 {
		for k, v := range m.at[versionOf(m.history[n-1].Object)] {
			next[k] = v
		}
	}
	if kind == "DELETED" {
		delete(m.state, o.Metadata.Name)
		delete(next, o.Metadata.Name)
	} else {
		m.state[o.Metadata.Name] = o
		next[o.Metadata.Name] = o.Metadata.ResourceVersion
	}
	m.history = append(m.history, event{kind, o})
	m.at[versionOf(o)] = next
}

func versionOf(o object) uint64 {
	v, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// A shape is how a server is set up: the same operations on any of them must come to
// the same.
type shape struct {
	name     string
	window   int64
	snapshot int64
	restarts bool
}

// TestTheServerIsAMapWithAHistory runs the same random operations on servers of
// different shapes, with restarts, kills and snapshots in between, and holds every
// version, list and watch against plain maps and against the other shapes.
func TestTheServerIsAMapWithAHistory(t *testing.T) {
	s := seed(t)
	var told [][]string
	for _, sh := range []shape{
		{"everything in memory", 64 << 20, 100_000, false},
		{"nothing in memory, many restarts", 1, 50, true},
		{"a little of each", 32 << 10, 300, true},
	} {
		t.Run(sh.name, func(t *testing.T) { told = append(told, runModel(t, s, sh)) })
	}
	for i := 1; i < len(told); i++ {
		if !slices.Equal(told[0], told[i]) {
			t.Errorf("shape %d told another history than the first", i)
		}
	}
}

func runModel(t *testing.T, s int64, sh shape) (told []string) {
	rnd := rand.New(rand.NewSource(s))
	o := options(t)
	o.MemoryWindow, o.SnapshotEvents = sh.window, sh.snapshot
	srv, client, base := startIn(t, o)
	o.Listen = srv.Addr()
	m := &model{state: map[string]object{}, at: map[uint64]map[string]string{5: {}}}
	for step := range 1000 {
		operate(t, rnd, m, client, base, step)
		// The same numbers are drawn on every shape; only some act on them.
		switch dice := rnd.Intn(100); {
		case !sh.restarts:
		case dice == 0:
			stop(t, srv)
			srv, client, base = startIn(t, o)
		case dice == 1:
			srv.Kill()
			srv, client, base = startIn(t, o)
		case dice == 2:
			send(t, client, "POST", base+"/kronicle/snapshot", "")
		}
	}
	told = checkModel(t, rnd, m, client, base)
	verify(t, client, base)
	stop(t, srv)
	return told
}

// operate makes one random write and notes what it did.
func operate(t *testing.T, rnd *rand.Rand, m *model, client *http.Client, base string, step int) {
	t.Helper()
	name := fmt.Sprintf("m%02d", rnd.Intn(25))
	url := base + configMaps + "/" + name
	old, exists := m.state[name]
	value := fmt.Sprintf("%d-%s", step, strings.Repeat("v", rnd.Intn(300)))
	switch op := rnd.Intn(10); {
	case !exists:
		m.note("ADDED", send(t, client, "POST", base+configMaps, configMap(name, value, "")))
	case op < 2:
		gone := send(t, client, "DELETE", url, "")
		if gone.Kind != "Status" {
			t.Fatalf("%+v", gone)
		}
		last := m.history[len(m.history)-1]
		old.Metadata.ResourceVersion = strconv.FormatUint(versionOf(last.Object)+1, 10)
		m.note("DELETED", old)
	case op < 3: // the same again: nothing happens
		if o := send(t, client, "PUT", url, configMap(name, old.Data["v"], "")); o.Metadata.ResourceVersion != old.Metadata.ResourceVersion {
			t.Fatalf("an update that changes nothing moved %s to %s", old.Metadata.ResourceVersion, o.Metadata.ResourceVersion)
		}
	case op < 4: // an old version is refused
		if code, _, _ := try(t, client, "PUT", url, configMap(name, value, "1")); code != 409 {
			t.Fatalf("a stale update: %d", code)
		}
	default:
		m.note("MODIFIED", send(t, client, "PUT", url, configMap(name, value, old.Metadata.ResourceVersion)))
	}
}

// checkModel compares random versions and watches with the model and gives the whole
// history as a watch from the beginning tells it, without what differs by server.
func checkModel(t *testing.T, rnd *rand.Rand, m *model, client *http.Client, base string) (told []string) {
	t.Helper()
	last := versionOf(m.history[len(m.history)-1].Object)
	for range 60 {
		v := 5 + uint64(rnd.Int63n(int64(last-4)))
		_, _, text := try(t, client, "GET", fmt.Sprintf("%s%s?resourceVersion=%d&resourceVersionMatch=Exact", base, configMaps, v), "")
		var l struct {
			Metadata struct{ ResourceVersion string }
			Items    []object
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		have := map[string]string{}
		for _, o := range l.Items {
			have[o.Metadata.Name] = o.Metadata.ResourceVersion
		}
		if fmt.Sprint(have) != fmt.Sprint(m.at[v]) || l.Metadata.ResourceVersion != fmt.Sprint(v) {
			t.Errorf("at %d the server has %v, the model %v", v, have, m.at[v])
		}
	}
	for range 8 {
		from := 5 + uint64(rnd.Int63n(int64(last-5)))
		checkWatch(t, m, client, base, from, last)
	}
	for _, e := range checkWatch(t, m, client, base, 5, last) {
		told = append(told, fmt.Sprint(e.Type, e.Object.Metadata.Name, e.Object.Metadata.ResourceVersion, e.Object.Data))
	}
	return told
}

// checkWatch watches from a version to the last and compares with the model.
func checkWatch(t *testing.T, m *model, client *http.Client, base string, from, last uint64) []event {
	t.Helper()
	res, err := client.Get(fmt.Sprintf("%s%s?watch=true&resourceVersion=%d&timeoutSeconds=20", base, configMaps, from))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var want []event
	for _, e := range m.history {
		if versionOf(e.Object) > from {
			want = append(want, e)
		}
	}
	var got []event
	for dec := json.NewDecoder(res.Body); len(got) < len(want); {
		var e event
		if err := dec.Decode(&e); err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			break
		}
		got = append(got, e)
	}
	for i := range want {
		if i >= len(got) || got[i].Type != want[i].Type || got[i].Object.Metadata.ResourceVersion != want[i].Object.Metadata.ResourceVersion ||
			got[i].Object.Metadata.UID != want[i].Object.Metadata.UID || got[i].Object.Data["v"] != want[i].Object.Data["v"] {
			t.Errorf("watch from %d: event %d of %d is not %+v", from, i, len(want), want[i])
			break
		}
	}
	return got
}
