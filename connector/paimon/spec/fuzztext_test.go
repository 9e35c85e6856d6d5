package spec_test

import (
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// FuzzPartitionSpecs reads partitions as procedures and paths name them: what is
// read names columns that exist, and paths come back from their escaped form.
func FuzzPartitionSpecs(f *testing.F) {
	for _, s := range []string{"a=1,b=2;a=3", "a=", "=1", "a=1,a=2", ";;", "a=1=2", "dt=2026-06-20/hr=1", "a='x,y'", "%2F", "%zz", "a=%"} {
		f.Add(s)
	}
	p := spec.NewPartitioner(&catalog.Schema{Fields: []catalog.Field{{ID: 0, Name: "a", Type: catalog.TInt}, {ID: 1, Name: "b", Type: catalog.TString}, {ID: 2, Name: "dt", Type: catalog.TDate}},
		PartitionKeys: []string{"a", "b", "dt"}, Options: map[string]string{}})
	f.Fuzz(func(t *testing.T, s string) {
		list, err := p.ParsePartitionSpecs(s)
		if err == nil {
			for _, one := range list {
				for k := range one {
					if k != "a" && k != "b" && k != "dt" {
						t.Errorf("%q names the column %q", s, k)
					}
				}
				if _, err := p.Matcher(one); err != nil {
					continue // a text that is no value
				}
			}
		}
		if got := spec.UnescapePath(spec.EscapePath(s)); got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// FuzzOptions reads the options of tables as numbers, sizes and spans.
func FuzzOptions(f *testing.F) {
	for _, s := range []string{"1 h", "365 d", "128 mb", "1b", "-1", "9223372036854775807 days", "1e3", "", " 5 ", "TRUE", "10 kibibytes", "PT1H"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, read := range []func(o *spec.Options){func(o *spec.Options) { o.Int("k", 0) }, func(o *spec.Options) { o.Bool("k", false) },
			func(o *spec.Options) {
				if n := o.Size("k", 0); o.Err == nil && n < 0 {
					t.Errorf("the size %q is %d", s, n)
				}
			}, func(o *spec.Options) {
				if d := o.Duration("k", 0); o.Err == nil && d < 0 {
					t.Errorf("the span %q is %d", s, d)
				}
			}} {
			read(spec.NewOptions(map[string]string{"k": s}))
		}
	})
}
