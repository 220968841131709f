package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kronicle/kronicle/server"
)

// smallDisk mounts a file system of the given size in bytes.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// TestAFullDiskFailsWritesAndLosesNothing fills a small file system. Writes are
// refused with a clear answer and reads go on; when there is space again and the
// server has been restarted, everything that was acknowledged is there.
func TestAFullDiskFailsWritesAndLosesNothing(t *testing.T) {
	disk := smallDisk(t, 48<<20)
	o := options(t)
	o.DataDir = disk + "/data"
	ballast := disk + "/ballast"
	if err := os.WriteFile(ballast, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, client, base := startIn(t, o)
	value := strings.Repeat("x", 256<<10)
	acked := map[string]string{}
	failed := 0
	for i := 0; i < 400 && failed < 3; i++ {
		name := fmt.Sprintf("d%d", i)
		code, obj, text := try(t, client, "POST", base+configMaps, configMap(name, value, ""))
		switch {
		case code == 201:
			acked[name] = obj.Metadata.ResourceVersion
		case code == 507 || code == 500 || code == 503 || code == 504:
			failed++
			if !strings.Contains(text, `"kind":"Status"`) || !strings.Contains(text, `"message"`) {
				t.Errorf("a full disk is answered with %d %s", code, text)
			}
		default:
			t.Fatalf("%s: %d %.200s", name, code, text)
		}
	}
	if failed == 0 {
		t.Fatalf("%d writes of 256 KiB went to a disk of 48 MiB", len(acked))
	}
	if n := len(list(t, client, base+configMaps)); n < len(acked) {
		t.Errorf("%d objects can be read of %d", n, len(acked))
	}
	if code, _, _ := try(t, client, "GET", base+"/readyz", ""); code != 500 {
		t.Errorf("/readyz is %d on a full disk", code)
	}
	endFull(t, srv)

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	srv, client, base = startIn(t, o)
	have := map[string]string{}
	for _, obj := range list(t, client, base+configMaps) {
		have[obj.Metadata.Name] = obj.Metadata.ResourceVersion
	}
	for name, v := range acked {
		if have[name] != v {
			t.Errorf("%s was acknowledged at %s and is at %q", name, v, have[name])
		}
	}
	send(t, client, "POST", base+configMaps, configMap("after", "1", ""))
	verify(t, client, base)
	stop(t, srv)
}

// endFull ends a server whose disk is full: it cannot leave a snapshot, and says so.
func endFull(t *testing.T, srv *server.Server) {
	t.Helper()
	if err := srv.Stop(t.Context()); err != nil {
		t.Logf("stop on a full disk: %v", err)
	}
}
