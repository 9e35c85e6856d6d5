package exec_test

import (
	"fmt"
	"math"
	"strconv"
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
