package exec_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestShiftedSums: sums of a column with different constants added, which are
// computed from one sum, are what each of them is alone.
func TestShiftedSums(t *testing.T) {
	e := newEngine("ss")
	e.must(t, `create table t (g int, s smallint, i int, u int unsigned, b bigint);
insert into t values (1,1,10,4294967295,1),(1,-32768,-2147483648,0,2),(1,NULL,2147483647,5,3),(2,NULL,NULL,NULL,NULL),(3,32767,7,7,9223372036854775807),(NULL,4,4,4,4)`)
	sums := []string{"sum(s)", "sum(s + 1)", "sum(2 + s)", "sum(s - 3)", "sum(s + 2147483647)", "sum(i)", "sum(i + 1)", "sum(i - 2000000000)", "sum(u + 1)", "sum(u + 2)",
		"sum(distinct s + 1)", "sum(5 - s)", "avg(s + 1)", "count(s + 1)", "sum(s + NULL)", "sum(s + 1.5)", "sum(b - 1)", "sum(b - 2)"}
	if x := e.explain(t, "select sum(s + 1), sum(s + 2) from t"); strings.Contains(x, "sum((") || !strings.Contains(x, "count(") {
		t.Errorf("the sums are not computed from one:\n%s", x)
	}
	for _, rest := range []string{" from t", " from t group by g order by g", " from t where g > 5", " from t group by g having sum(s + 1) > -40000 order by g"} {
		all, err := e.run("select " + strings.Join(sums, ", ") + rest)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range sums {
			one, err := e.run("select " + s + rest)
			if err != nil {
				t.Fatal(err)
			}
			if len(one.rows) != len(all.rows) {
				t.Fatalf("%s%s: %d rows, together %d", s, rest, len(one.rows), len(all.rows))
			}
			for r := range one.rows {
				if a, b := cellText(one.rows[r][0]), cellText(all.rows[r][i]); a != b {
					t.Errorf("%s%s: row %d is %s, together %s", s, rest, r, a, b)
				}
			}
			if a, b := one.cols[0].Type, all.cols[i].Type; fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s%s: type %v, together %v", s, rest, a, b)
			}
		}
	}
}

func cellText(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}
