package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/server"
)

func options(dir string) server.Options {
	o := server.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", dir
	return o
}

func begin(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := server.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func stop(t *testing.T, s *server.Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-s.Wait(); err != nil {
		t.Errorf("Wait gives %v after Stop", err)
	}
}

// client is an HTTP client with the administrator's certificate.
func client(t *testing.T, kubeconfig []byte) *http.Client {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func do(t *testing.T, c *http.Client, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

const newConfigMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`

func TestWhatWasAcknowledgedIsThereAfterStopAndAfterKill(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *server.Server){
		"stop": stop,
		"kill": func(_ *testing.T, s *server.Server) { s.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t.TempDir())
			s := begin(t, o)
			code, created := do(t, client(t, s.Kubeconfig()), "POST", s.URL()+"/api/v1/namespaces/default/configmaps", newConfigMap)
			if code != http.StatusCreated {
				t.Fatalf("%d %s", code, created)
			}
			end(t, s)
			snapshots, _ := filepath.Glob(filepath.Join(o.DataDir, "snapshots", "snapshot-*"))
			if (len(snapshots) > 0) != (name == "stop") {
				t.Errorf("snapshots: %v", snapshots)
			}
			s = begin(t, o)
			code, got := do(t, client(t, s.Kubeconfig()), "GET", s.URL()+"/api/v1/namespaces/default/configmaps/a", "")
			if code != http.StatusOK || got != created {
				t.Errorf("%d %s, want %s", code, got, created)
			}
			stop(t, s)
		})
	}
}

func TestDefinitionsOutliveARestart(t *testing.T) {
	const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"things.example.org"},"spec":{"group":"example.org","scope":"Namespaced",
		"names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	for _, end := range []string{"snapshot", "log alone"} {
		t.Run(end, func(t *testing.T) {
			o := options(t.TempDir())
			s := begin(t, o)
			c := client(t, s.Kubeconfig())
			if code, body := do(t, c, "POST", s.URL()+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition); code != http.StatusCreated {
				t.Fatalf("%d %s", code, body)
			}
			thing := `{"apiVersion":"example.org/v1","kind":"Thing","metadata":{"name":"one"}}`
			if code, body := do(t, c, "POST", s.URL()+"/apis/example.org/v1/namespaces/default/things", thing); code != http.StatusCreated {
				t.Fatalf("%d %s", code, body)
			}
			if end == "snapshot" {
				stop(t, s)
			} else {
				s.Kill()
			}
			s = begin(t, o)
			if code, body := do(t, client(t, s.Kubeconfig()), "GET", s.URL()+"/apis/example.org/v1/namespaces/default/things/one", ""); code != http.StatusOK {
				t.Errorf("%d %s", code, body)
			}
			stop(t, s)
		})
	}
}

func TestDirectoryIsHeldByOneServer(t *testing.T) {
	o := options(t.TempDir())
	s := begin(t, o)
	if _, err := server.Start(context.Background(), o); !errors.Is(err, eventlog.ErrLocked) {
		t.Errorf("second server: %v", err)
	}
	if _, err := server.Verify(context.Background(), o, nil); !errors.Is(err, eventlog.ErrLocked) {
		t.Errorf("verify beside the server: %v", err)
	}
	stop(t, s)
	begin(t, o).Kill()
}

func TestOnlyTheAdministratorIsLetIn(t *testing.T) {
	s := begin(t, options(t.TempDir()))
	defer stop(t, s)
	other := begin(t, options(t.TempDir()))
	defer stop(t, other)
	config, err := clientcmd.RESTConfigFromKubeConfig(s.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	strangers := map[string]*rest.Config{"nobody": rest.AnonymousClientConfig(config)}
	foreign, err := clientcmd.RESTConfigFromKubeConfig(other.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host, foreign.CAData = config.Host, config.CAData
	strangers["the administrator of another store"] = foreign
	for name, cfg := range strangers {
		c, err := rest.HTTPClientFor(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{
			"/healthz": 200, "/livez": 200, "/readyz": 200, "/version": 200,
			"/": 401, "/api": 401, "/apis": 401, "/api/v1/namespaces": 401, "/kronicle/log": 401, "/metrics": 401, "/nothing": 401,
		} {
			if code, body := do(t, c, "GET", s.URL()+path, ""); code != want {
				t.Errorf("%s: %s: %d, want %d: %s", name, path, code, want, body)
			}
		}
	}
}

func TestKubeconfigNamesTheAdvertisedAddress(t *testing.T) {
	for advertise, want := range map[string]string{"": "https://127.0.0.1:", "kronicle.example": "https://kronicle.example:", "k.example:443": "https://k.example:443"} {
		o := options(t.TempDir())
		o.Listen, o.AdvertiseAddress = "0.0.0.0:0", advertise
		s := begin(t, o)
		if !bytes.Contains(s.Kubeconfig(), []byte(want)) {
			t.Errorf("%q: the kubeconfig does not name %s", advertise, want)
		}
		file, err := os.ReadFile(s.KubeconfigPath())
		if err != nil || !bytes.Equal(file, s.Kubeconfig()) {
			t.Errorf("the file is not the kubeconfig: %v", err)
		}
		s.Kill()
	}
}

func TestWatchesEndCleanlyAtStop(t *testing.T) {
	s := begin(t, options(t.TempDir()))
	res, err := client(t, s.Kubeconfig()).Get(s.URL() + "/api/v1/namespaces?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, res.Body)
		ended <- err
	}()
	stop(t, s)
	if err := <-ended; err != nil {
		t.Errorf("the watch ended with %v", err)
	}
}

func TestStoppingTwiceIsStoppingOnce(t *testing.T) {
	s := begin(t, options(t.TempDir()))
	stop(t, s)
	s.Kill()
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestStartThatIsGivenUpLeavesNothingBehind(t *testing.T) {
	o := options(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := server.Start(ctx, o); err == nil {
		s.Kill()
		t.Skip("the start was faster than its context")
	}
	stop(t, begin(t, o))
}

func TestVerifyMakesNoStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := server.Verify(context.Background(), options(dir), nil); err == nil {
		t.Error("verified what is not there")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a directory was made")
	}
}
