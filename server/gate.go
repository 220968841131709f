package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gate answers 503 until the server is ready, to everything but health and
// version.
func (s *Server) gate(next http.Handler) http.Handler {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  "the server is starting: the log is being read",
		Reason:   metav1.StatusReasonServiceUnavailable,
		Code:     http.StatusServiceUnavailable,
		Details:  &metav1.StatusDetails{RetryAfterSeconds: 1},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.serving.Load() || alwaysServed(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		if err == nil {
			_, _ = w.Write(body)
		}
	})
}

// alwaysServed tells which paths answer before the server is ready.
func alwaysServed(path string) bool {
	switch first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); first {
	case "healthz", "livez", "readyz", "version":
		return true
	}
	return false
}

// connectionErrors sends what net/http has to say about single connections
// (broken handshakes, mostly) to the debug level: anybody who can reach the
// port can cause it.
func connectionErrors(l *slog.Logger) *log.Logger {
	return log.New(debugWriter{l}, "", 0)
}

type debugWriter struct{ l *slog.Logger }

func (w debugWriter) Write(b []byte) (int, error) {
	w.l.Log(context.Background(), slog.LevelDebug, string(bytes.TrimSpace(b)))
	return len(b), nil
}
