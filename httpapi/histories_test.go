package httpapi_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write what the server answers into the histories of testdata")

// TestHistories runs the files in testdata/histories, each against a server of its
// own. A file is a sequence of steps with blank lines between them:
//
//	METHOD PATH [Header: value | Header: value ...]
//	body
//	----
//	status and the headers that SHOW named
//	body
//
// Besides requests there are
//
//	SHOW Header ...      print these headers of the answers from here on;
//	                     managedFields is no header: without it they are left out
//	WATCH name PATH      open a watch; the answer is its status
//	EVENTS name n        the next n events of a watch
//	END name             what is left of a watch until the server ends it
//	CLOSE name           the client leaves a watch
//	RESTART              stop the server and start it again
//
// Versions are exact: the log of a new store is the same every time. Uids, times and
// generated names are replaced by stand-ins in the order of their appearance.
func TestHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			h := &history{a: start(t), watches: map[string]*stream{}, standIns: map[string]string{}}
			defer h.close()
			got := h.run(string(b))
			if *rewrite {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(b) {
				t.Error(firstDifference(string(b), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\nwant %s\ngot  %s", i+1, a, b)
		}
	}
	return "no difference"
}

type stream struct {
	cancel context.CancelFunc
	lines  chan string
}

type history struct {
	a        *api
	show     []string
	watches  map[string]*stream
	standIns map[string]string
}

func (h *history) close() {
	for _, w := range h.watches {
		w.cancel()
	}
}

// run gives the file with the answers that came.
func (h *history) run(text string) string {
	var out []string
	for _, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		lines := strings.Split(block, "\n")
		var head, ask []string
		for _, l := range lines {
			if len(ask) == 0 && (strings.HasPrefix(l, "#") || l == "") {
				head = append(head, l)
				continue
			}
			if l == "----" {
				break
			}
			ask = append(ask, l)
		}
		if len(ask) == 0 {
			out = append(out, block)
			continue
		}
		step := append(head, ask...)
		if answer := h.step(ask); answer != "" {
			step = append(step, "----", answer)
		}
		out = append(out, strings.Join(step, "\n"))
	}
	return strings.Join(out, "\n\n") + "\n"
}

func (h *history) step(ask []string) string {
	f := strings.Fields(ask[0])
	switch f[0] {
	case "SHOW":
		h.show = f[1:]
		return ""
	case "WATCH":
		return h.watch(f[1], f[2], ask[0])
	case "EVENTS":
		n, err := strconv.Atoi(f[2])
		if err != nil {
			h.a.t.Fatal(err)
		}
		return h.plain(strings.Join(h.events(f[1], n), "\n"))
	case "END":
		return h.plain(strings.Join(append(h.events(f[1], -1), "(end)"), "\n"))
	case "CLOSE":
		h.watches[f[1]].cancel()
		delete(h.watches, f[1])
		return ""
	case "RESTART":
		h.a.stop()
		h.a.run()
		return ""
	}
	return h.request(ask)
}

func (h *history) request(ask []string) string {
	method, rest, _ := strings.Cut(ask[0], " ")
	path, header, _ := strings.Cut(rest, " ")
	var headers []string
	if header != "" {
		headers = strings.Split(header, " | ")
	}
	ans := h.a.do(method, h.real(path), h.real(strings.Join(ask[1:], "\n")), headers...)
	lines := []string{strconv.Itoa(ans.code)}
	for _, name := range h.show {
		for _, v := range ans.header.Values(name) {
			lines = append(lines, name+": "+v)
		}
	}
	if body := strings.TrimRight(ans.body, "\n"); body != "" {
		lines = append(lines, body)
	}
	return h.plain(strings.Join(lines, "\n"))
}

func (h *history) watch(name, path, ask string) string {
	ctx, cancel := context.WithCancel(context.Background())
	var headers []string
	if _, header, ok := strings.Cut(ask, path+" "); ok {
		headers = strings.Split(header, " | ")
	}
	res := h.a.open(ctx, "GET", h.real(path), "", headers...)
	w := &stream{cancel: cancel, lines: make(chan string, 1000)}
	h.watches[name] = w
	go func() {
		defer close(w.lines)
		defer res.Body.Close()
		sc := bufio.NewScanner(res.Body)
		sc.Buffer(nil, 16<<20)
		for sc.Scan() {
			w.lines <- sc.Text()
		}
	}()
	return fmt.Sprintf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
}

// events takes n lines of a watch, or all until it ends where n is negative.
func (h *history) events(name string, n int) (lines []string) {
	w := h.watches[name]
	if w == nil {
		h.a.t.Fatalf("no watch %s", name)
	}
	for n < 0 || len(lines) < n {
		select {
		case l, ok := <-w.lines:
			if !ok {
				if n >= 0 {
					lines = append(lines, "(end)")
				}
				return lines
			}
			lines = append(lines, l)
		case <-time.After(20 * time.Second):
			return append(lines, "(nothing came)")
		}
	}
	return lines
}

var volatile = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// The ages in the rows of Tables.
var (
	cells = regexp.MustCompile(`"cells":\[[^\]]*\]`)
	age   = regexp.MustCompile(`"[0-9]+[smh]([0-9]+[sm])?"`)
)

var managersInYAML = regexp.MustCompile(`(?m)^  managedFields:\n(?:  - .*\n|    .*\n)*`)

// withoutManagers takes the managed fields out, which most histories are not about.
func withoutManagers(s string) string {
	s = managersInYAML.ReplaceAllString(s, "")
	const key = `"managedFields":[`
	for {
		i := strings.Index(s, key)
		if i < 0 {
			return s
		}
		depth, end := 1, i+len(key)
		for ; depth > 0 && end < len(s); end++ {
			switch s[end] {
			case '[':
				depth++
			case ']':
				depth--
			}
		}
		if end < len(s) && s[end] == ',' {
			end++
		} else if i > 0 && s[i-1] == ',' {
			i--
		}
		s = s[:i] + s[end:]
	}
}

// plain replaces what differs from run to run; real puts it back for a request.
func (h *history) plain(s string) string {
	if !slices.Contains(h.show, "managedFields") {
		s = withoutManagers(s)
	}
	s = cells.ReplaceAllStringFunc(s, func(row string) string { return age.ReplaceAllString(row, `"AGE"`) })
	return volatile.ReplaceAllStringFunc(s, func(v string) string {
		if strings.HasSuffix(v, "Z") {
			return "TIME"
		}
		for name, have := range h.standIns {
			if have == v {
				return name
			}
		}
		name := fmt.Sprintf("UID%d", len(h.standIns)+1)
		h.standIns[name] = v
		return name
	})
}

var standIn = regexp.MustCompile(`UID\d+`)

func (h *history) real(s string) string {
	return standIn.ReplaceAllStringFunc(s, func(name string) string {
		if v, ok := h.standIns[name]; ok {
			return v
		}
		return name
	})
}
