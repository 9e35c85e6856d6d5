package exec_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/scan"
)

// TestApproxCountDistinct: within five standard errors of COUNT(DISTINCT), exact
// for few values, and the same whatever the batches and threads.
func TestApproxCountDistinct(t *testing.T) {
	e := newEngine()
	numbers(t, e, 20000)
	want := ""
	for _, e.opts = range []scan.Options{{}, {BatchRows: 7, Threads: 1}, {BatchRows: 100, Threads: 5}} {
		a, err := e.run("select approx_count_distinct(i), approx_count_distinct(s), approx_count_distinct(k), approx_count_distinct(null), approx_count_distinct(case when i < 300 then i end), approx_count_distinct(i) filter (where i < 0) from n")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range a.rows[0] {
			got += *c + " "
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%+v: %s, before %s", e.opts, got, want)
		}
		for i, n := range []float64{20000, 20000, 100, 0, 300, 0} {
			x, err := strconv.ParseFloat(*a.rows[0][i], 64)
			if err != nil || math.Abs(x-n) > 0.08*n || n <= 256 && x != n {
				t.Errorf("estimate %d: %v, want about %v", i, x, n)
			}
		}
		a, err = e.run("select k, approx_count_distinct(i) from n group by k having approx_count_distinct(i) <> count(distinct i)")
		if err != nil || len(a.rows) > 0 {
			t.Error(fmt.Sprint(a.rows), err)
		}
	}
	e.answers(t, [][2]string{
		{`select approx_count_distinct(x) from (select 'a' x union all select 'A' union all select 'b') q`, `2`},
		{`select approx_count_distinct(distinct i) from n`, `error 1064`},
	})
}

// TestApproxPercentile: half a percent from the value at rank ⌈p·n⌉ of the sorted
// values, exact up to 256 of them and at the ends, and the same whatever the
// batches, threads and spilling.
func TestApproxPercentile(t *testing.T) {
	e := newEngine()
	numbers(t, e, 20000)
	want := ""
	for _, e.opts = range []scan.Options{{}, {BatchRows: 7, Threads: 1}, {BatchRows: 100, Threads: 5}, {BatchRows: 1000, Threads: 2, ForceSpill: true}} {
		got := ""
		for _, x := range []string{"i", "i * i - 1000000", "exp(i / 1000) * 1e-9", "case when i % 3 = 0 then 0 when i % 3 = 1 then -i else i * 1e20 end", "case when i < 200 then i * 1.37 end"} {
			for _, p := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.999, 1} {
				// The exact value by sorting.
				a, err := e.run(fmt.Sprintf("select approx_percentile(%[1]s, %[2]v), (select x from (select cast(%[1]s as double) x, row_number() over (order by cast(%[1]s as double)) r, (select count(%[1]s) from n) c from n where %[1]s is not null) q where r = greatest(ceil(%[2]v * c), 1)) from n", x, p))
				if err != nil {
					t.Fatal(err)
				}
				g, err1 := strconv.ParseFloat(*a.rows[0][0], 64)
				w, err2 := strconv.ParseFloat(*a.rows[0][1], 64)
				if err1 != nil || err2 != nil || math.Abs(g-w) > 0.005*math.Abs(w)*(1+1e-9) || (p == 0 || p == 1 || strings.Contains(x, "i < 200")) && g != w {
					t.Errorf("%s at %v: %v, exactly %v", x, p, g, w)
				}
				got += *a.rows[0][0] + " "
			}
			if e.opts.ForceSpill {
				continue
			}
			a, err := e.run("select k, approx_percentile(i, 0.5), approx_percentile(i, 0.9) filter (where i > 10) from n group by k order by k")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range a.rows {
				got += *r[1] + " "
			}
		}
		if e.opts.ForceSpill {
			continue
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%+v: %s, before %s", e.opts, got, want)
		}
	}
	e.answers(t, [][2]string{
		{`select approx_percentile(x, 0.5) from (select 1 x union all select 3 union all select 2 union all select null) q`, `2`},
		{`select approx_percentile(x, 0.5) from (select 1 x) q where x > 1`, `NULL`},
		{`select approx_percentile(i, i) from n`, `error 1210`},
		{`select approx_percentile(i, 1.5) from n`, `error 1210`},
		{`select approx_percentile(i, null) from n`, `error 1210`},
		{`select approx_percentile('2020-01-01', 0.5) from n`, `error 1235`},
	})
}
