package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// asProgram makes this test binary behave as the program, so that the tests
// meet what a user meets: exit codes, signals, pipes.
const asProgram = "KRONICLE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// result is what a finished program leaves.
type result struct {
	code           int
	stdout, stderr string
}

func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func finished(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func kronicle(t *testing.T, args ...string) result {
	t.Helper()
	return finished(t, program(args...))
}

// output collects what a program writes, and lets a test wait for a text in it.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	writes chan struct{} // holds a token when there was a write
}

func newOutput() *output { return &output{writes: make(chan struct{}, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.writes <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(30 * time.Second)
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.writes:
		case <-late:
			t.Fatalf("%q did not come: %s", text, o)
		}
	}
}

// serving is a running `kronicle serve`.
type serving struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  []string
	stderr *output
}

// serveIn starts a server on a data directory and reads its three lines.
func serveIn(t *testing.T, dir string, args ...string) *serving {
	t.Helper()
	s := &serving{t: t, stderr: newOutput()}
	s.cmd = program(append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", dir}, args...)...)
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	in := bufio.NewReader(out)
	for range 3 {
		line, err := in.ReadString('\n')
		if err != nil {
			_ = s.cmd.Wait()
			t.Fatalf("after %q: %v, stderr: %s", s.lines, err, s.stderr)
		}
		s.lines = append(s.lines, strings.TrimSuffix(line, "\n"))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return s
}

// stop sends SIGTERM and returns the exit code.
func (s *serving) stop() int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	_ = s.cmd.Wait() // the exit code is asked for below
	return s.cmd.ProcessState.ExitCode()
}

func TestServePrintsThreeLinesAndEndsInOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a store")
	s := serveIn(t, dir)
	if !strings.HasPrefix(s.lines[0], "kronicle serves https://127.0.0.1:") {
		t.Errorf("first line %q", s.lines[0])
	}
	config := filepath.Join(dir, "admin.kubeconfig")
	if want := "export KUBECONFIG='" + config + "'"; s.lines[1] != want {
		t.Errorf("second line %q, want %q", s.lines[1], want)
	}
	var ms string
	if n := strings.Fields(s.lines[2]); len(n) == 4 {
		ms = n[2]
	}
	if want := "ready in " + ms + " ms"; s.lines[2] != want || ms == "" {
		t.Errorf("third line %q", s.lines[2])
	}
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if address := strings.TrimPrefix(s.lines[0], "kronicle serves "); !bytes.Contains(data, []byte(address)) {
		t.Errorf("the kubeconfig does not name %s", address)
	}
	if info, err := os.Stat(config); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the kubeconfig: %v %v", info.Mode(), err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM, stderr: %s", code, s.stderr)
	}
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshots", "snapshot-*"))
	if err != nil || len(snapshots) == 0 {
		t.Errorf("no snapshot was taken at the end: %v", err)
	}
}

func TestSecondServerOnADirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir)
	second := kronicle(t, "serve", "--listen", "127.0.0.1:0", "--data-dir", dir)
	if second.code != 1 || !strings.Contains(second.stderr, dir) || strings.Count(second.stderr, "\n") != 1 {
		t.Errorf("second server: %+v", second)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("the first server ended with %d: %s", code, s.stderr)
	}
}

func TestTakenPortIsOneClearLine(t *testing.T) {
	s := serveIn(t, t.TempDir())
	address := strings.TrimPrefix(s.lines[0], "kronicle serves https://")
	second := kronicle(t, "serve", "--listen", address, "--data-dir", t.TempDir())
	if second.code != 1 || !strings.Contains(second.stderr, address) || strings.Count(second.stderr, "\n") != 1 {
		t.Errorf("second server: %+v", second)
	}
	s.stop()
}

func TestLogAndVerifyWorkWithAndWithoutAServer(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir)
	check := func(t *testing.T, live bool) {
		all := kronicle(t, "log", "--data-dir", dir)
		if all.code != 0 || !strings.Contains(all.stdout, "genesis") || !strings.Contains(all.stdout, "kube-system") {
			t.Errorf("log: %+v", all)
		}
		one := kronicle(t, "log", "--data-dir", dir, "--object", "namespaces/default", "--output", "json")
		if one.code != 0 || strings.Count(one.stdout, "\n") != 1 || !strings.Contains(one.stdout, `"resource":"namespaces","name":"default"`) {
			t.Errorf("log of one object: %+v", one)
		}
		from := kronicle(t, "log", "--data-dir", dir, "--from", "4")
		if from.code != 0 || !strings.HasPrefix(from.stdout, "4 ") || strings.Count(from.stdout, "\n") != strings.Count(all.stdout, "\n")-3 {
			t.Errorf("log from 4: %+v", from)
		}
		v := kronicle(t, "verify", "--data-dir", dir)
		if v.code != 0 || !strings.Contains(v.stdout, "all agree") || strings.Contains(v.stdout, "running server") != live {
			t.Errorf("verify: %+v", v)
		}
	}
	t.Run("running", func(t *testing.T) { check(t, true) })
	if code := s.stop(); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.stderr)
	}
	t.Run("stopped", func(t *testing.T) { check(t, false) })
	t.Run("follow needs a server", func(t *testing.T) {
		if r := kronicle(t, "log", "--data-dir", dir, "--follow"); r.code != 1 || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%+v", r)
		}
	})
}

func TestLogFollowsUntilInterrupted(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir)
	defer s.stop()
	cmd := program("log", "--data-dir", dir, "--follow")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for range 5 { // genesis and four namespaces
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}

func TestClosedPipeIsAQuietEnd(t *testing.T) {
	dir := t.TempDir()
	if code := serveIn(t, dir).stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd := program("log", "--data-dir", dir)
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	err = cmd.Run()
	w.Close()
	if err != nil || errs.Len() > 0 {
		t.Errorf("%v, stderr %q", err, &errs)
	}
}

func TestEncryptedStoreNeedsItsKey(t *testing.T) {
	dir := t.TempDir()
	key := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, wrong := key("right", "0123456789abcdef0123456789abcdef\n"), key("wrong", "another-key-another-key-another\n")
	store := filepath.Join(dir, "store")
	if code := serveIn(t, store, "--encryption-key-file", right).stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for name, args := range map[string][]string{"no key": nil, "wrong key": {"--encryption-key-file", wrong}} {
		r := kronicle(t, append([]string{"log", "--data-dir", store}, args...)...)
		if r.code != 1 || !strings.Contains(r.stderr, "encrypt") || r.stdout != "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := kronicle(t, "verify", "--data-dir", store, "--encryption-key-file", right)
	if r.code != 0 || !strings.Contains(r.stdout, "1 snapshot") {
		t.Errorf("right key: %+v", r)
	}
	if r := kronicle(t, "serve", "--data-dir", store, "--encryption-key-file", key("short", "short")); r.code != 2 {
		t.Errorf("short key: %+v", r)
	}
}

func TestSecondSignalEndsTheProcessAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir)
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	// A request whose body never comes keeps an orderly end waiting.
	body, never := io.Pipe()
	defer never.Close()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if res, err := client.Post(config.Host+"/api/v1/namespaces", "application/json", body); err == nil {
			res.Body.Close()
		}
	}()
	if _, err := never.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.stderr.await(t, "a second signal ends the process at once")
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // the exit code is looked at below
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	<-answered
	if code := s.cmd.ProcessState.ExitCode(); code != exitError {
		t.Errorf("exit code %d", code)
	}
}

func TestVersionIsPrinted(t *testing.T) {
	if r := kronicle(t, "version"); r.code != 0 || !strings.HasPrefix(r.stdout, "kronicle ") {
		t.Errorf("%+v", r)
	}
	if r := kronicle(t, "version", "-o", "json"); r.code != 0 || !strings.Contains(r.stdout, `"goVersion"`) {
		t.Errorf("%+v", r)
	}
}

func TestVerifyNamesTheFirstDifference(t *testing.T) {
	dir := t.TempDir()
	if code := serveIn(t, dir).stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	all, err := filepath.Glob(filepath.Join(dir, "snapshots", "snapshot-*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	data, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0x40
	if err := os.WriteFile(all[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := kronicle(t, "verify", "--data-dir", dir)
	if r.code != 1 || !strings.Contains(r.stdout, "first difference at sequence 5") {
		t.Errorf("%+v", r)
	}
}

// inProcess runs the program without a process: enough for what ends before
// anything is opened.
func inProcess(variables map[string]string, args ...string) result {
	var out, errs bytes.Buffer
	code := run(context.Background(), args, environment{
		stdout: &out, stderr: &errs, began: time.Now(),
		lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
	})
	return result{code, out.String(), errs.String()}
}
