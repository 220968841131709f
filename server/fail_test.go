package server

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestFailureOfAPartEndsTheServerWithIt(t *testing.T) {
	o := DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", t.TempDir()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	address := s.Addr()
	broken := errors.New("broken")
	s.run("a part", func(context.Context) error { return broken })
	if err := <-s.Wait(); !errors.Is(err, broken) {
		t.Errorf("Wait gives %v", err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the server still listens")
	}
	again, err := Start(t.Context(), o)
	if err != nil {
		t.Fatalf("the directory is not free: %v", err)
	}
	again.Kill()
}

func TestOnlyHealthAnswersBeforeTheServerIsReady(t *testing.T) {
	for path, want := range map[string]bool{
		"/healthz": true, "/livez": true, "/readyz": true, "/readyz/log": true, "/version": true,
		"/": false, "/api": false, "/api/v1/namespaces": false, "/healthzz": false, "/metrics": false, "/kronicle/log": false,
	} {
		if alwaysServed(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
