package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/kronicle/kronicle/eventlog"
)

// A check is one line of a health answer. note is what a good one adds to its line
// in the verbose form.
type check struct {
	name string
	run  func(ctx context.Context) (note string, err error)
}

// checks are those of a path: /livez asks whether the process should go on, /readyz
// whether requests should be sent to it.
func (s *Server) checks(path string) []check {
	space := check{"space", func(context.Context) (string, error) {
		if s.full.Load() {
			return "", eventlog.ErrFull
		}
		return "", nil
	}}
	ping := check{"ping", func(context.Context) (string, error) { return "", nil }}
	log := check{"log", s.checkLog}
	if path != "/readyz" {
		return []check{ping, log}
	}
	return []check{ping, log, space, {"projection", s.checkProjection}, {"history-window", s.checkHistory},
		{"snapshot", s.checkSnapshot}, {"shutdown", s.checkShutdown}}
}

func (s *Server) checkLog(ctx context.Context) (string, error) {
	if err := s.log.Err(); err != nil {
		return "", err
	}
	info, err := s.log.Info(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("first %d, last %d, %d bytes", info.First, info.Last, info.Bytes), nil
}

func (s *Server) checkProjection(context.Context) (string, error) {
	if !s.ready.Load() {
		return "", errors.New("the log is being read")
	}
	return fmt.Sprintf("applied %d", s.store.Applied()), nil
}

func (s *Server) checkHistory(context.Context) (string, error) {
	return fmt.Sprintf("versions %d to %d", s.store.Floor(), s.store.Applied()), nil
}

func (s *Server) checkSnapshot(context.Context) (string, error) {
	if s.cfg.History == nil {
		return "none are taken", nil
	}
	st := s.cfg.History.Status()
	if st.Newest.Seq == 0 {
		return "none yet", nil
	}
	return fmt.Sprintf("newest at %d, taken %s, %d bytes", st.Newest.Seq, st.Newest.Created.UTC().Format(time.RFC3339), st.Newest.Bytes), nil
}

func (s *Server) checkShutdown(context.Context) (string, error) {
	if s.stopping.Load() {
		return "", errors.New("the server is shutting down")
	}
	return "", nil
}

// health answers /healthz, /livez, /readyz and their single checks
// (apiserver/pkg/server/healthz/healthz.go).
func (s *Server) health(c echo.Context) error {
	path, one, _ := strings.Cut(strings.TrimPrefix(c.Request().URL.Path, "/"), "/")
	setCommonHeaders(c.Response().Header(), c.Request())
	h := c.Response().Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	checks := s.checks("/" + path)
	ctx, cancel := context.WithTimeout(c.Request().Context(), 10*time.Second)
	defer cancel()
	if one != "" {
		i := slices.IndexFunc(checks, func(k check) bool { return k.name == one })
		if i < 0 {
			return notFound(c)
		}
		checks, path = checks[i:i+1], path+"/"+one
	}
	excluded := map[string]bool{}
	for _, e := range c.QueryParams()["exclude"] {
		excluded[e] = true
	}
	body, ok := report(ctx, checks, excluded)
	verbose := c.QueryParams().Has("verbose")
	switch {
	case !ok:
		return c.String(http.StatusInternalServerError, body+path+" check failed\n")
	case one != "" || !verbose:
		return c.String(http.StatusOK, "ok")
	}
	return c.String(http.StatusOK, body+path+" check passed\n")
}

// report runs the checks and gives a line for each.
func report(ctx context.Context, checks []check, excluded map[string]bool) (body string, ok bool) {
	var b strings.Builder
	ok = true
	for _, k := range checks {
		if excluded[k.name] {
			delete(excluded, k.name)
			fmt.Fprintf(&b, "[+]%s excluded: ok\n", k.name)
			continue
		}
		note, err := k.run(ctx)
		switch {
		case err != nil:
			ok = false
			fmt.Fprintf(&b, "[-]%s failed: reason withheld\n", k.name)
		case note != "":
			fmt.Fprintf(&b, "[+]%s ok: %s\n", k.name, note)
		default:
			fmt.Fprintf(&b, "[+]%s ok\n", k.name)
		}
	}
	if len(excluded) > 0 {
		var names []string
		for n := range excluded {
			names = append(names, fmt.Sprintf("%q", n))
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(names, ","))
	}
	return b.String(), ok
}

// version answers /version in the form that clients parse.
func (s *Server) version(c echo.Context) error {
	setCommonHeaders(c.Response().Header(), c.Request())
	b, err := json.MarshalIndent(apiversion.Info{
		Major: "1", Minor: "37", GitVersion: "v1.37.0+kronicle" + suffix(s.cfg.Version), GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}, "", "  ")
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "application/json", b)
}

func suffix(version string) string {
	if version == "" {
		return ""
	}
	return "." + version
}
