package fileio_test

import (
	"context"
	"errors"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/fileio/fileiotest"
	"github.com/thermocline/thermocline/internal/errs"
)

func TestContract(t *testing.T) {
	t.Run("local", func(t *testing.T) { fileiotest.Run(t, fileio.Local{}, t.TempDir()) })
	t.Run("memory", func(t *testing.T) { fileiotest.Run(t, fileio.NewMemory(), "/w") })
	t.Run("mux", func(t *testing.T) {
		fileiotest.Run(t, fileio.NewMux(fileio.Local{NoSync: true}), "file://"+t.TempDir())
	})
}

func TestMux(t *testing.T) {
	ctx := context.Background()
	m := fileio.NewMux(fileio.Local{})
	store, opened, fail := fileio.NewMemory(), 0, true
	m.Handle(func(context.Context) (fileio.FileIO, error) {
		if fail {
			return nil, errors.New("not now")
		}
		opened++
		return store, nil
	}, "s3", "s3a")
	if err := m.WriteFile(ctx, "s3://b/x", nil); err == nil || err.Error() != "not now" {
		t.Fatal(err)
	}
	fail = false
	for _, p := range []string{"s3://b/x", "s3a://b/y", "s3:/b/z"} {
		if err := m.WriteFile(ctx, p, []byte("1")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(store.Paths()); opened != 1 || n != 3 {
		t.Fatalf("opened %d times, %d files", opened, n)
	}
	if _, err := m.ReadFile(ctx, "hdfs://n/x"); errs.ClassOf(err) != errs.Unsupported {
		t.Fatal(err)
	}
	for p, want := range map[string]string{"/a": "", "a:b": "", "file:///x": "", "s3://b": "s3", "oss:/b/k": "oss", "c:/x": "", "/s3://x": "", "./s3:/x": ""} {
		if got := fileio.Scheme(p); got != want {
			t.Errorf("scheme of %s: %q", p, got)
		}
	}
}
