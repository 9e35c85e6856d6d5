package syntax

import (
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"ping", "SELECT 1"},
		{"point", "SELECT id, name, amount FROM shop.orders WHERE id = 17 AND status = 'PAID' ORDER BY id LIMIT 10"},
		{"tpch", `SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
			AVG(l_discount) AS avg_disc, COUNT(*) AS count_order FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
			GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`},
		{"insert1000", "INSERT INTO t VALUES " + strings.Repeat("(1, 'abc', 2.5, NULL), ", 999) + "(1, 'abc', 2.5, NULL)"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for range b.N {
				if _, err := ParseOne(c.text, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
