package console

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestPages(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "thermocline_test_total", Help: "x"})
	reg.MustRegister(c)
	c.Inc()
	var health error
	srv := httptest.NewServer(Handler(Config{Version: "<v1>", MySQL: "127.0.0.1:3307", Metrics: reg,
		Health: func(context.Context) error { return health }}))
	defer srv.Close()
	get := func(path string) (int, string) {
		r, err := srv.Client().Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(b)
	}
	if code, body := get("/healthz"); code != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("%d %s", code, body)
	}
	health = errors.New("the warehouse cannot be read")
	if code, body := get("/healthz"); code != 503 || !strings.Contains(body, "cannot be read") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, "thermocline_test_total 1") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get("/"); code != 200 || !strings.Contains(body, "&lt;v1&gt;") || !strings.Contains(body, "127.0.0.1:3307") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := get("/nothing"); code != 404 {
		t.Errorf("%d", code)
	}
}

func TestProfilesAreAskedFor(t *testing.T) {
	for _, on := range []bool{false, true} {
		h := Handler(Config{Metrics: prometheus.NewRegistry(), Profiles: on})
		for path, want := range map[string]bool{"/debug/pprof/": on, "/debug/pprof/heap": on, "/debug/pprof/goroutine?debug=1": on, "/debug/pprof/cmdline": false} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if (w.Code == 200) != want {
				t.Errorf("profiles %v: %s gives %d", on, path, w.Code)
			}
		}
	}
}
