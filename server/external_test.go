package server_test

import (
	"net/http"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/kronicle/kronicle/server"
)

// startNATS runs a NATS server with JetStream in this process.
func startNATS(t *testing.T) string {
	t.Helper()
	ns, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), MaxPayload: 8 << 20, SyncAlways: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	})
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	return ns.ClientURL()
}

func TestServersOnOneStreamReadEachOthersWritesAtOnce(t *testing.T) {
	url, authority := startNATS(t), t.TempDir()
	with := func() server.Options {
		o := options(t.TempDir())
		o.NATSURL, o.PKIDir = url, authority
		return o
	}
	a, b := begin(t, with()), begin(t, with())
	// One authority: the kubeconfig of one opens the other.
	c := client(t, a.Kubeconfig())
	code, created := do(t, c, "POST", a.URL()+"/api/v1/namespaces/default/configmaps", newConfigMap)
	if code != http.StatusCreated {
		t.Fatalf("%d %s", code, created)
	}
	if code, got := do(t, c, "GET", b.URL()+"/api/v1/namespaces/default/configmaps/a", ""); code != http.StatusOK || got != created {
		t.Errorf("%d %s, want %s", code, got, created)
	}
	if code, body := do(t, c, "POST", b.URL()+"/api/v1/namespaces/default/configmaps", newConfigMap); code != http.StatusConflict {
		t.Errorf("the same name through the other server: %d %s", code, body)
	}
	stop(t, a)
	stop(t, b)
	again := begin(t, with()) // from the snapshot in the bucket
	if code, got := do(t, client(t, again.Kubeconfig()), "GET", again.URL()+"/api/v1/namespaces/default/configmaps/a", ""); code != http.StatusOK || got != created {
		t.Errorf("%d %s, want %s", code, got, created)
	}
	stop(t, again)
}

func TestDataDirectoryIsHeldBesideAnExternalLogToo(t *testing.T) {
	o := options(t.TempDir())
	o.NATSURL = startNATS(t)
	s := begin(t, o)
	defer stop(t, s)
	if second, err := server.Start(t.Context(), o); err == nil {
		second.Kill()
		t.Error("a second server was let in")
	}
}

func TestConfigurationForComposeLosesNothing(t *testing.T) {
	o, err := natsserver.ProcessConfigFile("../scripts/nats/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || !o.JetStream || o.MaxPayload < 8_000_000 || len(o.Routes) != 3 {
		t.Errorf("sync always %v, JetStream %v, payload %d, %d routes", o.SyncAlways, o.JetStream, o.MaxPayload, len(o.Routes))
	}
}
