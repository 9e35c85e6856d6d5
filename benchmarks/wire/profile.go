package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// profiling begins a profile of the server while a measurement runs, and returns
// what waits for it. Without --profile it does nothing.
func (b *bench) profiling(name string) func() error {
	if b.profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		r, err := http.Get("http://" + b.srv.HTTP + "/debug/pprof/profile?seconds=5")
		if err != nil {
			done <- err
			return
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			done <- fmt.Errorf("profile: %s", r.Status)
			return
		}
		f, err := os.Create(filepath.Join(b.profile, strings.NewReplacer(" ", "-", ",", "").Replace(name)+".pprof"))
		if err == nil {
			if _, err = io.Copy(f, r.Body); err == nil {
				err = f.Close()
			}
		}
		done <- err
	}()
	return func() error { return <-done }
}
