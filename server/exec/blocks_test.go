package exec_test

import (
	"fmt"
	"testing"

	"github.com/thermocline/thermocline/scan"
)

// TestJoinsBeyondABlock: conditions are evaluated on blocks of pairs; a row whose
// pairs span two blocks says nothing about the rows after it.
func TestJoinsBeyondABlock(t *testing.T) {
	e := newEngine("db")
	numbers(t, e, 300)
	for _, c := range []struct{ q, want string }{
		{"SELECT COUNT(*) FROM n a WHERE EXISTS (SELECT 1 FROM n b WHERE b.i <> a.i)", "300"},
		{"SELECT COUNT(*) FROM n a WHERE EXISTS (SELECT 1 FROM n b WHERE b.i > a.i)", "299"},
		{"SELECT COUNT(*) FROM n a WHERE NOT EXISTS (SELECT 1 FROM n b WHERE b.i > a.i)", "1"},
		{"SELECT COUNT(*) FROM n a WHERE EXISTS (SELECT 1 FROM n b WHERE b.i > a.i AND b.i % 1 = a.i % 1)", "299"},
		{"SELECT COUNT(*) FROM n a WHERE EXISTS (SELECT 1 FROM n b WHERE b.i <> a.i) OR a.k < 0", "300"},
		{"SELECT COUNT(*) FROM n a WHERE EXISTS (SELECT 1 FROM n b WHERE b.i > a.i) OR a.k < 0", "299"},
		{"SELECT SUM(EXISTS (SELECT 1 FROM n b WHERE b.i > a.i AND b.i % 1 = a.i % 1)) FROM n a", "299"},
		{"SELECT COUNT(*) FROM n a WHERE a.i < ANY (SELECT b.i FROM n b WHERE b.k >= a.k)", "299"},
		{"SELECT COUNT(*) FROM n a WHERE a.i >= ALL (SELECT b.i FROM n b WHERE b.i <> a.i) OR a.k < 0", "1"},
		{"SELECT COUNT(*) FROM n a WHERE a.i NOT IN (SELECT b.i FROM n b WHERE b.i <> a.i)", "300"},
		{"SELECT COUNT(*) FROM n a WHERE a.i IN (SELECT b.i FROM n b WHERE b.i + a.i > 0) OR a.k < 0", "299"},
		{"SELECT CONCAT(COUNT(*), ' ', COUNT(b.i)) FROM n a LEFT JOIN n b ON b.i > a.i", "44851 44850"},
		{"SELECT CONCAT(COUNT(*), ' ', COUNT(a.i)) FROM n a RIGHT JOIN n b ON b.i > a.i", "44851 44850"},
		{"SELECT CONCAT(COUNT(*), ' ', COUNT(a.i), ' ', COUNT(b.i)) FROM n a FULL JOIN n b ON b.i > a.i", "44852 44851 44851"},
		{"SELECT COUNT(*) FROM (SELECT (SELECT COUNT(*) FROM n b WHERE b.i < 60 AND (EXISTS (SELECT 1 FROM n x WHERE b.i <> a.i AND x.i < 60) OR b.k < 0)) c FROM n a WHERE a.i < 60) q WHERE c <> 59", "0"},
	} {
		for _, o := range []scan.Options{{}, {BatchRows: 1}, {BatchRows: 7}, {BatchRows: 100, Threads: 1}, {Threads: 5}} {
			e.opts = o
			got, err := e.run(c.q)
			if err != nil {
				t.Fatalf("%s: %v", c.q, err)
			}
			if len(got.rows) != 1 || got.rows[0][0] == nil || *got.rows[0][0] != c.want {
				text := fmt.Sprint(len(got.rows), " rows")
				if len(got.rows) == 1 && got.rows[0][0] != nil {
					text = *got.rows[0][0]
				}
				t.Errorf("%s with %+v: %s, want %s", c.q, o, text, c.want)
			}
		}
	}
}
