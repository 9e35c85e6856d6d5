package exec_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestEager: aggregates of one side of a join that are grouped below it are what they
// are above it, for keys with no match, with several, and NULL. The numbers are counted
// by hand.
func TestEager(t *testing.T) {
	e := newEngine("ea")
	e.eager = true
	// 2000 rows: each k from 0 to 99 twenty times, x is k or NULL in every fifth of its
	// rows, y the row's number.
	e.must(t, `create table r (id bigint, k int, x int, d decimal(10,2), y bigint);
create table l (k int, g int);
insert into r with recursive s (i) as (select 0 union all select i + 1 from s where i < 99)
  select i, i % 100, if(i div 100 % 5 = 0, null, i % 100), i / 100, i from (select a.i * 20 + b.i as i from s a, s b where b.i < 20) n;
insert into r values (5000, null, 1, 1, 1);
insert into l values (1, 10), (1, 11), (2, 10), (99, 12), (100, 12), (null, 12), (100, 13)`)
	const pushed = "select l.k, l.g, count(r.x), sum(r.x), min(r.y), max(r.y), sum(r.d), count(r.id) from l %s join r on l.k = r.k group by l.k, l.g order by l.k, l.g"
	for _, c := range []struct{ join, want string }{
		{"left", "NULL 12 0 NULL NULL NULL NULL 0|1 10 16 16 1 1901 190.20 20|1 11 16 16 1 1901 190.20 20|2 10 16 32 2 1902 190.40 20|99 12 16 1584 99 1999 209.80 20|100 12 0 NULL NULL NULL NULL 0|100 13 0 NULL NULL NULL NULL 0"},
		{"", "1 10 16 16 1 1901 190.20 20|1 11 16 16 1 1901 190.20 20|2 10 16 32 2 1902 190.40 20|99 12 16 1584 99 1999 209.80 20"},
	} {
		q := fmt.Sprintf(pushed, c.join)
		e.eagerly(t, q, true)
		if got := e.joinedRows(t, q); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", q, got, c.want)
		}
	}
	// Of all rows together; the group of no rows; columns of another side; keys of none.
	for q, want := range map[string]string{
		"select count(r.x), sum(r.x), min(r.x), max(r.x) from l left join r on l.k = r.k":                           "64 1648 1 99",
		"select count(r.x), sum(r.x), min(r.x), max(r.x) from l left join r on l.k = r.k where l.g = 13":            "0 NULL NULL NULL",
		"select l.g, count(r.x) + 1 from l left join r on l.k = r.k group by l.g having count(r.x) > 20 order by 1": "10 33",
		"select l.k, count(r.id) from l left join r on l.k = r.k and r.id < 10 group by l.k order by 1":             "NULL 0|1 2|2 1|99 0|100 0",
	} {
		if got := e.joinedRows(t, q); got != want {
			t.Errorf("%s:\n got %s\nwant %s", q, got, want)
		}
	}
	// Counts of unmatched rows, of DISTINCT values and of expressions, averages, other
	// conditions, NULL-safe keys, aggregates and groups of the other side stay above.
	for q, want := range map[string]string{
		"select l.k, count(*) from l left join r on l.k = r.k group by l.k order by 1":                        "NULL 1|1 40|2 20|99 20|100 2",
		"select l.k, count(coalesce(r.x, 0)) from l left join r on l.k = r.k group by l.k order by 1":         "NULL 1|1 40|2 20|99 20|100 2",
		"select l.k, count(distinct r.x) from l left join r on l.k = r.k group by l.k order by 1":             "NULL 0|1 1|2 1|99 1|100 0",
		"select l.g, avg(r.x) from l left join r on l.k = r.k group by l.g order by 1":                        "10 1.5000|11 1.0000|12 99.0000|13 NULL",
		"select l.k, count(r.id) from l left join r on l.k = r.k and l.g < r.id group by l.k order by 1":      "NULL 0|1 38|2 19|99 20|100 0",
		"select l.k, count(r.id) from l left join r on l.k <=> r.k group by l.k order by 1":                   "NULL 1|1 40|2 20|99 20|100 0",
		"select l.k, count(r.id), sum(l.g) from l left join r on l.k = r.k group by l.k order by 1":           "NULL 0 12|1 40 420|2 20 200|99 20 240|100 0 25",
		"select r.k, count(r.id) from l left join r on l.k = r.k group by r.k order by 1":                     "NULL 0|1 40|2 20|99 20",
		"select l.k, count(r.id) from r left join l on l.k = r.k where r.k < 3 group by l.k order by 1":       "NULL 20|1 40|2 20",
		"select l.k, count(r.id) from l right join r on l.k = r.k where r.k is null group by l.k order by 1":  "NULL 1",
		"select l.k, count(r.id) from l join r on l.k = r.k where r.y + l.g > 1990 group by l.k order by l.k": "99 1",
	} {
		e.eagerly(t, q, false)
		if got := e.joinedRows(t, q); got != want {
			t.Errorf("%s:\n got %s\nwant %s", q, got, want)
		}
	}
}

// eagerly fails unless the plan of q groups below its join, or does not.
func (e *engine) eagerly(t *testing.T, q string, want bool) {
	t.Helper()
	x := e.explain(t, q)
	_, below, _ := strings.Cut(x, "join")
	if got := strings.Contains(below, "Aggregate"); got != want {
		t.Errorf("%s: grouped below the join: %t\n%s", q, got, x)
	}
}

// joinedRows gives the rows of q in one line.
func (e *engine) joinedRows(t *testing.T, q string) string {
	t.Helper()
	a, err := e.run(q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	var rows []string
	for _, r := range a.rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, cellText(c))
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return strings.Join(rows, "|")
}
