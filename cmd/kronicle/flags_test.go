package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/kronicle/kronicle/server"
)

func TestNonsenseIsOneLineAndExitCode2(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "untouched")
	cases := []struct {
		args  string
		names string // what the line must name
	}{
		{"serve --history-max-age=banana", "--history-max-age"},
		{"serve --history-max-age=-5s", "--history-max-age"},
		{"serve --history-max-bytes=-5", "--history-max-bytes"},
		{"serve --history-max-bytes=12parsecs", "--history-max-bytes"},
		{"serve --history-max-events=-1", "--history-max-events"},
		{"serve --snapshot-events=0", "--snapshot-events"},
		{"serve --snapshot-interval=0s", "--snapshot-interval"},
		{"serve --memory-window=NaN", "--memory-window"},
		{"serve --memory-window=99999999TiB", "--memory-window"},
		{"serve --max-object-bytes=1GiB", "--max-object-bytes"},
		{"serve --max-object-bytes=1", "--max-object-bytes"},
		{"serve --max-store-bytes=-1", "--max-store-bytes"},
		{"serve --max-requests-inflight=0", "--max-requests-inflight"},
		{"serve --max-mutating-requests-inflight=none", "--max-mutating-requests-inflight"},
		{"serve --log-format=xml", "--log-format"},
		{"serve --log-level=loud", "--log-level"},
		{"serve --listen=6443", "--listen"},
		{"serve --listen=127.0.0.1:70000", "--listen"},
		{"serve --nats-url=ftp://host", "--nats-url"},
		{"serve --nats-url=nats://host --nats-replicas=2", "--nats-replicas"},
		{"serve --nats-url=nats://host --nats-stream=a.b", "--nats-stream"},
		{"serve --encryption-key-file=/does/not/exist", "--encryption-key-file"},
		{"serve --no-such-flag", "--no-such-flag"},
		{"serve more", "more"},
		{"bogus", "bogus"},
		{"log --from=-1", "--from"},
		{"log --object=a", "--object"},
		{"log --output=yaml", "--output"},
		{"verify more", "more"},
		{"version --output=yaml", "--output"},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			r := inProcess(map[string]string{"KRONICLE_DATA_DIR": dir}, strings.Fields(c.args)...)
			if r.code != exitUsage || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, c.names) {
				t.Errorf("%+v", r)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the data directory was made")
			}
		})
	}
}

func TestNonsenseInTheEnvironmentIsNamed(t *testing.T) {
	r := inProcess(map[string]string{"KRONICLE_MEMORY_WINDOW": "lots"}, "serve")
	if r.code != exitUsage || !strings.Contains(r.stderr, "KRONICLE_MEMORY_WINDOW") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEveryFlagHasItsVariableInTheHelp(t *testing.T) {
	for _, command := range []string{"serve", "log", "verify", "version"} {
		help := inProcess(nil, command, "--help")
		if help.code != 0 {
			t.Fatalf("%+v", help)
		}
		for _, line := range strings.Split(help.stdout, "\n") {
			_, flag, ok := strings.Cut(line, " --")
			if !ok || !strings.HasPrefix(line, "  ") || strings.HasPrefix(flag, "help") {
				continue
			}
			name := strings.FieldsFunc(flag, func(r rune) bool { return r == ' ' })[0]
			if !strings.Contains(line, "["+variable(name)+"]") || !strings.Contains(line, "(default") {
				t.Errorf("%s: %q lacks its variable or its default", command, line)
			}
		}
	}
}

func TestFlagsWinOverVariables(t *testing.T) {
	o := server.DefaultOptions()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	serveFlags(flags, &o)
	if err := flags.Parse([]string{"--history-max-age=1h"}); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{
		"KRONICLE_HISTORY_MAX_AGE": "2h", "KRONICLE_MEMORY_WINDOW": "1.5GiB",
		"KRONICLE_TLS_SAN": "a.example,b.example", "KRONICLE_LISTEN": "",
	}
	err := fromEnvironment(flags, environment{lookup: func(n string) (string, bool) { v, ok := variables[n]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	if o.HistoryMaxAge != time.Hour || o.MemoryWindow != 3<<29 || len(o.TLSSANs) != 2 || o.Listen != server.DefaultOptions().Listen {
		t.Errorf("%+v", o)
	}
}

func TestBytesAreReadAndShown(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1048576": 1 << 20, "64MiB": 64 << 20, "64 mib": 64 << 20, "10GB": 10_000_000_000,
		"1.5GiB": 3 << 29, "7B": 7, "9223372036854775807": 1<<63 - 1, "2Ki": 2048,
	} {
		var v bytesValue
		if err := v.Set(text); err != nil || int64(v) != want {
			t.Errorf("%q: %d %v, want %d", text, v, err, want)
		}
	}
	for value, want := range map[bytesValue]string{0: "0", 1023: "1023", 64 << 20: "64MiB", 10 << 30: "10GiB", 1500: "1500"} {
		if got := value.String(); got != want {
			t.Errorf("%d: %q, want %q", int64(value), got, want)
		}
	}
}

func TestAgeOfAProcessIsReadWhateverItsName(t *testing.T) {
	stat := "42 (a ) (b) c) S 1 1 1 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 5 0 12345 0 0 0"
	got, ok := age([]byte(stat), []byte("125.45 200.00\n"))
	if want := 2 * time.Second; !ok || got != want {
		t.Errorf("%v %v, want %v", got, ok, want)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1"} {
		if _, ok := age([]byte(bad), []byte("1 1")); ok {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestPathsAreQuotedForAShell(t *testing.T) {
	for in, want := range map[string]string{"/a/b.c": "/a/b.c", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''"} {
		if got := shellQuote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
