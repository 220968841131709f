package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kronicle/kronicle/server"
)

var configMapsGVR = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// A clock is shifted to let time pass at once.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func startIn(t *testing.T, o server.Options) (*server.Server, *http.Client, string) {
	t.Helper()
	srv, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(srv.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return srv, clientOf(t, config), "https://" + srv.Addr()
}

func stop(t *testing.T, srv *server.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := srv.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func options(t *testing.T) server.Options {
	o := server.DefaultOptions()
	o.DataDir, o.Listen = t.TempDir(), "127.0.0.1:0"
	return o
}

// send makes a request that has to succeed and gives the object in the answer.
func send(t *testing.T, client *http.Client, method, url, body string) object {
	t.Helper()
	code, o, text := try(t, client, method, url, body)
	if code/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, url, code, text)
	}
	return o
}

func try(t *testing.T, client *http.Client, method, url, body string) (code int, o object, text string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 0 && b[0] == '{' {
		if err := json.Unmarshal(b, &o); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	}
	return res.StatusCode, o, string(b)
}

// until polls a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("it never happened: %s", what)
		case <-tick.C:
		}
	}
}

// metric reads one value of /metrics.
func metric(t *testing.T, client *http.Client, base, name string) float64 {
	t.Helper()
	_, _, text := try(t, client, "GET", base+"/metrics", "")
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			v, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// TestClientsRecoverWhenHistoryIsTrimmedUnderThem keeps a window of two seconds under
// load: who comes from before it is told 410, informers recover by themselves and
// nothing current is ever lost, also over a downtime that is longer than the window.
func TestClientsRecoverWhenHistoryIsTrimmedUnderThem(t *testing.T) {
	c := &clock{}
	o := options(t)
	o.HistoryMaxAge, o.SnapshotEvents, o.MemoryWindow, o.Now = 2*time.Second, 200, 64<<10, c.now
	srv, client, base := startIn(t, o)
	o.Listen = srv.Addr()
	for i := range 20 {
		send(t, client, "POST", base+configMaps, configMap(fmt.Sprintf("c%d", i), "0", ""))
	}
	informer := informerOf(t, srv.Kubeconfig())

	churn := func(n int) {
		for i := range n {
			send(t, client, "PUT", base+configMaps+fmt.Sprintf("/c%d", i%19), configMap(fmt.Sprintf("c%d", i%19), strconv.Itoa(i), ""))
			if i%50 == 0 {
				c.ahead.Add(int64(300 * time.Millisecond))
			}
		}
	}
	churn(1500)
	until(t, "the floor passes the beginning", func() bool { return metric(t, client, base, "kronicle_floor_sequence") > 100 })

	code, st, text := try(t, client, "GET", base+configMaps+"?resourceVersion=10&resourceVersionMatch=Exact", "")
	if code != 410 || !strings.Contains(text, `"reason":"Expired"`) {
		t.Errorf("an exact list from before the window: %d %+v", code, st)
	}
	code, _, text = try(t, client, "GET", base+configMaps+"?watch=true&resourceVersion=10", "")
	if code != 200 || !strings.Contains(text, `"type":"ERROR"`) || !strings.Contains(text, `"code":410`) {
		t.Errorf("a watch from before the window: %d %s", code, text)
	}
	until(t, "old records are trimmed from the log", func() bool { return metric(t, client, base, "kronicle_log_first_sequence") > 100 })

	stop(t, srv)
	c.ahead.Add(int64(time.Hour))
	srv, client, base = startIn(t, o)
	if n := len(list(t, client, base+configMaps)); n < 20 {
		t.Errorf("%d objects after a downtime longer than the window", n)
	}
	if o := send(t, client, "GET", base+configMaps+"/c19", ""); o.Data["v"] != "0" {
		t.Errorf("the object that was never changed is %+v", o)
	}
	churn(300)
	agree(t, informer, client, base)
	verify(t, client, base)
	stop(t, srv)
}

// informerOf runs an informer on the config maps until the test ends.
func informerOf(t *testing.T, kubeconfig []byte) cache.SharedIndexInformer {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = -1, -1
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	f := dynamicinformer.NewDynamicSharedInformerFactory(d, 0)
	informer := f.ForResource(configMapsGVR).Informer()
	f.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer never synced")
	}
	return informer
}

// agree waits until an informer has what the server has.
func agree(t *testing.T, informer cache.SharedIndexInformer, client *http.Client, base string) {
	t.Helper()
	want := map[string]string{}
	for _, o := range list(t, client, base+"/api/v1/configmaps") {
		want[o.Metadata.Namespace+"/"+o.Metadata.Name] = o.Metadata.ResourceVersion
	}
	until(t, "the informer has what the server has", func() bool {
		have := informer.GetStore().List()
		if len(have) != len(want) {
			return false
		}
		for _, x := range have {
			u := x.(*unstructured.Unstructured)
			if want[u.GetNamespace()+"/"+u.GetName()] != u.GetResourceVersion() {
				return false
			}
		}
		return true
	})
}

// TestInformerSeesEveryChangeOnceAcrossRestarts counts what an informer is told
// while the server stops and starts.
func TestInformerSeesEveryChangeOnceAcrossRestarts(t *testing.T) {
	o := options(t)
	srv, client, base := startIn(t, o)
	o.Listen = srv.Addr()
	informer := informerOf(t, srv.Kubeconfig())
	var adds, updates, deletes atomic.Int64
	var bad atomic.Value
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { adds.Add(1) },
		UpdateFunc: func(old, now any) {
			if version(old) >= version(now) {
				bad.Store(fmt.Sprintf("update from %d to %d", version(old), version(now)))
			}
			updates.Add(1)
		},
		DeleteFunc: func(any) { deletes.Add(1) },
	}); err != nil {
		t.Fatal(err)
	}
	start := adds.Load()
	const rounds = 3
	for round := range rounds {
		name := fmt.Sprintf("r%d", round)
		send(t, client, "POST", base+configMaps, configMap(name, "0", ""))
		for i := range 20 {
			send(t, client, "PUT", base+configMaps+"/"+name, configMap(name, strconv.Itoa(i+1), ""))
		}
		agree(t, informer, client, base)
		stop(t, srv)
		srv, client, base = startIn(t, o)
	}
	for round := range rounds {
		send(t, client, "DELETE", base+configMaps+fmt.Sprintf("/r%d", round), "")
	}
	agree(t, informer, client, base)
	until(t, "every change was told", func() bool {
		return adds.Load()-start == rounds && updates.Load() == 20*rounds && deletes.Load() == rounds
	})
	if b := bad.Load(); b != nil {
		t.Error(b)
	}
	stop(t, srv)
}

func version(x any) uint64 {
	v, err := strconv.ParseUint(x.(metav1.Object).GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}
