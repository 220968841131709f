package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kronicle/kronicle/server"
)

var seedFlag = flag.Int64("seed", 0, "seed of the random tests; 0 takes one from the clock")

func seed(t *testing.T) int64 {
	s := *seedFlag
	if s == 0 {
		s = time.Now().UnixNano()
	}
	t.Logf("run again with -seed %d", s)
	return s
}

// TestMain is also the server process: with KRONICLE_E2E_OPTIONS this binary serves
// until it is told to stop or killed.
func TestMain(m *testing.M) {
	if text := os.Getenv("KRONICLE_E2E_OPTIONS"); text != "" {
		if err := serve(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// processOptions are the options that a server process is given.
type processOptions struct {
	DataDir          string
	Listen           string
	HistoryMaxAge    time.Duration
	HistoryMaxEvents int64
	SnapshotEvents   int64
	MemoryWindow     int64
}

func serve(text string) error {
	var p processOptions
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	o := server.DefaultOptions()
	o.DataDir, o.Listen = p.DataDir, p.Listen
	if p.HistoryMaxAge > 0 {
		o.HistoryMaxAge = p.HistoryMaxAge
	}
	o.HistoryMaxEvents = p.HistoryMaxEvents
	if p.SnapshotEvents > 0 {
		o.SnapshotEvents = p.SnapshotEvents
	}
	if p.MemoryWindow > 0 {
		o.MemoryWindow = p.MemoryWindow
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	srv, err := server.Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Println(srv.Addr())
	select {
	case err := <-srv.Wait():
		return err
	case <-ctx.Done():
	}
	return srv.Stop(context.Background())
}

// A process is a server in a process of its own.
type process struct {
	t   *testing.T
	o   processOptions
	cmd *exec.Cmd
}

func (p *process) start() {
	p.t.Helper()
	text, err := json.Marshal(p.o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), "KRONICLE_E2E_OPTIONS="+string(text))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the server did not start: %v", err)
	}
	p.o.Listen = strings.TrimSpace(line) // the same address after a restart
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // it was killed: that is its error
}

func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the server ended badly: %v", err)
	}
}

func (p *process) config() *rest.Config {
	p.t.Helper()
	return configOf(p.t, filepath.Join(p.o.DataDir, "admin.kubeconfig"))
}

func configOf(t *testing.T, file string) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	c.QPS, c.Burst = -1, -1
	return c
}

// clientOf is a plain HTTP client with the credentials of a config, over HTTP/1.1 so
// that each stream has a connection of its own.
func clientOf(t *testing.T, c *rest.Config) *http.Client {
	t.Helper()
	tc, err := rest.TLSConfigFor(c)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{TLSClientConfig: tc, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// verify asks the server to check itself.
func verify(t *testing.T, client *http.Client, base string) {
	t.Helper()
	res, err := client.Get(base + "/kronicle/verify")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var last struct {
		Error  string
		Report *struct {
			Differs        bool
			FirstDiffering uint64
			Detail         string
			Records        uint64
		}
	}
	for dec := json.NewDecoder(res.Body); ; {
		if err := dec.Decode(&last); err != nil {
			break
		}
	}
	switch {
	case last.Report == nil:
		t.Errorf("verify: no report: %s", last.Error)
	case last.Report.Differs:
		t.Errorf("verify: differs at %d: %s", last.Report.FirstDiffering, last.Report.Detail)
	}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// An object is what the tests look at of one.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace, ResourceVersion, UID string
		Annotations                           map[string]string
	}
	Data   map[string]string
	Status any
	Code   int
}

type event struct {
	Type   string
	Object object
}
