package exec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/scan"
)

// Functions of every kind over every kind of frame give the same rows whether their
// partitions are in memory or in pages on disk.
func TestWindowPages(t *testing.T) {
	e := newEngine()
	numbers(t, e, 700)
	e.spilling(t)
	// x has NULLs and repetitions, d is a date with NULLs, p makes a large and small
	// partitions, u is unique.
	const from = "(SELECT i AS u, s, CASE WHEN i % 11 = 3 THEN NULL ELSE i * 7 % 53 END AS x, IF(i % 17 = 5, NULL, DATE '2024-01-31' + INTERVAL (i % 90) DAY) AS d, " +
		"IF(i < 500, 0, i % 7) AS p, IF(i % 5 < 2, NULL, CONCAT('text of some length ', i)) AS y FROM n) AS q"
	bounds := []string{"UNBOUNDED PRECEDING", "70 PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "90 FOLLOWING", "UNBOUNDED FOLLOWING"}
	dates := strings.NewReplacer("70 P", "INTERVAL 1 MONTH P", "90 F", "INTERVAL 1 MONTH F", "2 P", "INTERVAL 2 DAY P", "1 F", "INTERVAL 1 DAY F")
	functions := []string{"SUM(x)", "COUNT(*)", "COUNT(y)", "MIN(y)", "AVG(u)", "FIRST_VALUE(y)", "LAST_VALUE(x)", "NTH_VALUE(u, 40)", "MAX(d)",
		"FIRST_VALUE(y) IGNORE NULLS", "LAST_VALUE(y) IGNORE NULLS", "NTH_VALUE(x, 33) FROM LAST IGNORE NULLS", "JSON_ARRAYAGG(u)", "SUM(x / 3) FILTER (WHERE u % 3 = 1)", "BIT_XOR(u)"}
	whole := []string{"ROW_NUMBER()", "RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()", "NTILE(7)", "LAG(y)", "LEAD(y, 3, s)", "LAG(y, 150, 'none')", "LEAD(u, 200)",
		"LAG(y, 2) IGNORE NULLS", "LEAD(y, 60) IGNORE NULLS", "LEAD(x, 0)", "LAG(CONCAT(y, x), 30)"}
	orders := []string{"", "ORDER BY x", "ORDER BY x DESC", "ORDER BY d", "ORDER BY d DESC, u", "ORDER BY x NULLS LAST", "ORDER BY x, u DESC", "ORDER BY d DESC"}
	r := rand.New(rand.NewPCG(5, 5))
	for n := range 48 {
		order := orders[n%len(orders)]
		one := strings.Count(order, ",") == 0 && order != ""
		partition := []string{"", "PARTITION BY p ", "PARTITION BY p % 2 "}[r.IntN(3)]
		window := partition + order
		var calls []string
		for _, f := range whole[r.IntN(len(whole)-3):][:3] {
			calls = append(calls, f+" OVER ("+window+")")
		}
		for range 3 {
			at := r.IntN(len(bounds))
			start, end := bounds[min(at, 5)], bounds[max(1, at+r.IntN(len(bounds)-at))]
			unit := []string{"ROWS", "RANGE", "GROUPS"}[r.IntN(3)]
			if unit == "RANGE" && !one || unit == "GROUPS" && order == "" {
				unit = "ROWS"
			}
			if unit == "RANGE" && strings.Contains(order, "d") && !strings.Contains(order, "x") {
				start, end = dates.Replace(start), dates.Replace(end)
			}
			exclude := []string{"", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[r.IntN(6)]
			calls = append(calls, fmt.Sprintf("%s OVER (%s %s BETWEEN %s AND %s%s)", functions[r.IntN(len(functions))], window, unit, start, end, exclude))
		}
		q := "SELECT u, " + strings.Join(calls, ", ") + " FROM " + from
		e.opts = scan.Options{Threads: 1}
		want, err := e.run(q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		for _, o := range []scan.Options{{Threads: 1, ForceSpill: true}, {Threads: 2, BatchRows: 50, ForceSpill: true}} {
			e.opts = o
			got, err := e.run(q)
			if err != nil {
				t.Errorf("%s, %+v: %v", q, o, err)
			} else if a, b := sortedText(got.rows), sortedText(want.rows); a != b {
				t.Errorf("%s, %+v: %s", q, o, firstDifference(a, b))
			}
			e.clean(t, q)
		}
	}
}

// Sums and counts of frames that move forward, which are differences of longer ones,
// equal those of doubles, which are added up frame by frame.
func TestWindowDifferences(t *testing.T) {
	e := newEngine()
	numbers(t, e, 400)
	e.spilling(t)
	const from = "(SELECT i, k, i % 3 AS p, IF(i % 7 = 2, NULL, i * 37 % 101 - 50) AS x, IF(i % 13 = 5, NULL, (i * 31 % 97) + 0.25) AS y, " +
		"IF(i % 19 = 4, NULL, DATE '0000-01-20' + INTERVAL (i * 5 % 60) DAY) AS d FROM n) AS q"
	n := 0
	for _, order := range []string{"ORDER BY x", "ORDER BY y DESC", "ORDER BY i", "ORDER BY d"} {
		for _, frame := range []string{"ROWS BETWEEN 3 PRECEDING AND 4 FOLLOWING", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
			"ROWS BETWEEN 9 FOLLOWING AND 20 FOLLOWING", "ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING", "GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING", "RANGE BETWEEN 5 PRECEDING AND 9 FOLLOWING",
			"ROWS BETWEEN 60 PRECEDING AND CURRENT ROW"} {
			if strings.HasSuffix(order, " d") {
				frame = strings.ReplaceAll(frame, "RANGE BETWEEN 5 PRECEDING AND 9 FOLLOWING", "RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND INTERVAL 3 DAY FOLLOWING")
			}
			w := "OVER (" + []string{"", "PARTITION BY p "}[n%2] + order + " " + frame + ")"
			q := "SELECT * FROM (" + strings.NewReplacer("@", w).Replace("SELECT i, SUM(x) @ a, SUM(x + 0e0) @ b, COUNT(y) @ c, SUM(IF(y IS NULL, 0e0, 1e0)) @ d, AVG(y) @ e, AVG(y + 0e0) @ f, "+
				"SUM(y) FILTER (WHERE k > 20) @ g, SUM(y + 0e0) FILTER (WHERE k > 20) @ h, COUNT(*) @ k FROM "+from) + ") AS r"
			n++
			for _, e.opts = range []scan.Options{{Threads: 1}, {Threads: 1, ForceSpill: true}} {
				all, err := e.run(q)
				if err != nil || len(all.rows) != 400 {
					t.Fatalf("%s: %d rows, %v", q, len(all.rows), err)
				}
				wrong, err := e.run(q + " WHERE NOT a <=> b OR c <> COALESCE(d, 0) OR ABS(e - f) > 1e-4 OR (e IS NULL) <> (f IS NULL) OR NOT g <=> h OR k < c")
				if err != nil || len(wrong.rows) > 0 {
					t.Errorf("%s: %s %v", q, text(wrong.rows), err)
				}
			}
		}
	}
}
