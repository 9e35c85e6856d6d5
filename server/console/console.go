// Package console serves HTTP: health, metrics and a page that says where one
// is. It translates; it computes nothing.
//
// Start reading at Handler.
package console

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config is what the pages show.
type Config struct {
	Version string
	// MySQL is the address of the MySQL port, for people.
	MySQL string
	// Metrics are the metrics of the process.
	Metrics *prometheus.Registry
	// Profiles serves profiles of the process below /debug/pprof/.
	Profiles bool
	// Health returns nil when the server can do its work, or why it cannot.
	Health func(ctx context.Context) error
}

// Handler returns the pages: /healthz (200 or 503, JSON), /metrics (Prometheus'
// text format), with Profiles /debug/pprof/ (Go's profiles, as "go tool pprof" asks
// for them; not the command line, which may hold secrets), and /.
func Handler(cfg Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]string{"status": "ok", "version": cfg.Version}
		if err := cfg.Health(r.Context()); err != nil {
			answer["status"], answer["error"] = "failing", err.Error()
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		json.NewEncoder(w).Encode(answer)
	})
	if cfg.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Thermocline</title><h1>Thermocline %s</h1>
<p>SQL over the MySQL protocol at <code>%s</code>.</p>
<p><a href="/healthz">health</a> · <a href="/metrics">metrics</a></p>
`, html.EscapeString(cfg.Version), html.EscapeString(cfg.MySQL))
	})
	return mux
}
