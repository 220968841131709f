package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAStalledWatcherLosesNothingAndDelaysNobody lets one watcher read nothing while
// far more passes than sockets and the memory window hold. The other watcher has
// seen everything by then; the stalled one is parked, and receives all of it when it
// reads again.
func TestAStalledWatcherLosesNothingAndDelaysNobody(t *testing.T) {
	o := options(t)
	o.MemoryWindow = 256 << 10
	srv, client, base := startIn(t, o)
	defer stop(t, srv)
	const writers, each = 8, 400
	value := strings.Repeat("x", 6<<10)
	for w := range writers {
		send(t, client, "POST", base+configMaps, configMap(fmt.Sprintf("s%d", w), value, ""))
	}
	from := metric(t, client, base, "kronicle_applied_sequence")

	stalled := openWatch(t, client, base, from, 128<<10)
	defer stalled.Close()
	brisk := openWatch(t, client, base, from, 0)
	defer brisk.Close()
	seen := make(chan []string, 1)
	go func() { seen <- versions(brisk, writers*each) }()

	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("s%d", w)
				if code, _, text := try(t, client, "PUT", base+configMaps+"/"+name, configMap(name, value+strconv.Itoa(i), "")); code != 200 {
					t.Errorf("PUT: %d %s", code, text)
				}
			}
		})
	}
	wg.Wait()
	var fast []string
	select {
	case fast = <-seen:
	case <-time.After(60 * time.Second):
		t.Fatal("the brisk watcher does not get its events")
	}
	if window := metric(t, client, base, "kronicle_memory_window_bytes"); window > 2*256<<10 {
		t.Errorf("the memory window holds %.0f bytes for a watcher that stalls", window)
	}
	slow := versions(stalled, writers*each)
	if len(fast) != writers*each || len(slow) != len(fast) {
		t.Fatalf("%d events were told at once, %d late, of %d", len(fast), len(slow), writers*each)
	}
	for i := range fast {
		if fast[i] != slow[i] {
			t.Fatalf("event %d is %s for one and %s for the other", i, fast[i], slow[i])
		}
	}
}

// openWatch opens a watch on a connection of its own whose receive buffer has the
// given size.
func openWatch(t *testing.T, client *http.Client, base string, from float64, buffer int) *bodyCloser {
	t.Helper()
	tr := client.Transport.(*http.Transport).Clone()
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil && buffer > 0 {
			err = c.(*net.TCPConn).SetReadBuffer(buffer)
		}
		return c, err
	}
	res, err := (&http.Client{Transport: tr}).Get(base + configMaps + "?watch=true&resourceVersion=" + strconv.FormatFloat(from, 'f', 0, 64))
	if err != nil {
		t.Fatal(err)
	}
	return &bodyCloser{res, tr}
}

type bodyCloser struct {
	res *http.Response
	tr  *http.Transport
}

func (b *bodyCloser) Close() {
	b.res.Body.Close()
	b.tr.CloseIdleConnections()
}

// versions reads n events and gives their versions.
func versions(w *bodyCloser, n int) (vs []string) {
	sc := bufio.NewScanner(w.res.Body)
	sc.Buffer(make([]byte, 64<<10), 1<<20)
	for len(vs) < n && sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) != nil {
			return vs
		}
		vs = append(vs, e.Object.Metadata.ResourceVersion)
	}
	return vs
}
