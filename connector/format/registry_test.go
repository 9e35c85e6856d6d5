package format

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

type stub struct{ Format }

func (stub) Name() string { return "both" }

type stubReader struct{ stub }

func (stubReader) Name() string { return "reads" }
func (stubReader) ReadOnly()    {}

func TestWritable(t *testing.T) {
	r := NewRegistry(stub{}, stubReader{})
	if f, err := r.Writable("BOTH"); err != nil || f.Name() != "both" {
		t.Error(f, err)
	}
	for _, name := range []string{"reads", "none"} {
		if _, err := r.Writable(name); errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), name) {
			t.Error(name, err)
		}
	}
	if f, err := r.ByFile("data-1.reads"); err != nil || f.Name() != "reads" {
		t.Error(f, err)
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]string{"b/data-1-0.orc": "orc", "data-1-0.zstd.Parquet": "parquet", "data-1.csv.gz": "csv", "a.b/data": "", "data-1.avro": "avro"} {
		if got := FormatOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
