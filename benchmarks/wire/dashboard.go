package main

import (
	"fmt"
	"strings"
)

// The tables of a small dashboard: what was sold, and to whom.
const (
	salesRows     = 100_000
	customersRows = 1_000
)

// sales is a fact table of 16 columns, 14 days of a shop and nothing that needs a
// large machine.
const salesColumns = "(id BIGINT NOT NULL, customer INT NOT NULL, day DATE NOT NULL, at DATETIME NOT NULL, region VARCHAR(16) NOT NULL, status CHAR(1) NOT NULL, " +
	"quantity INT NOT NULL, price DECIMAL(12,2) NOT NULL, discount DECIMAL(4,2) NOT NULL, tax DECIMAL(4,2) NOT NULL, product INT NOT NULL, store INT NOT NULL, " +
	"coupon VARCHAR(16), note VARCHAR(64), weight DOUBLE, shipped DATE)"

// dashboards are small statements as the tiles of a dashboard ask them: all of them
// read one or two small tables.
var dashboards = []struct{ name, text string }{
	{"total", "SELECT COUNT(*), SUM(price), AVG(quantity) FROM bench.sales WHERE day >= '2026-01-03' AND day < '2026-01-10'"},
	{"groups", "SELECT region, COUNT(*) AS orders, SUM(price * (1 - discount)) AS revenue FROM bench.sales GROUP BY region ORDER BY revenue DESC"},
	{"days", "SELECT day, SUM(price) AS revenue, COUNT(DISTINCT customer) AS buyers FROM bench.sales WHERE status = 'A' GROUP BY day ORDER BY day"},
	{"q06", "SELECT SUM(price * discount) AS revenue FROM bench.sales WHERE day >= DATE '2026-01-02' AND day < DATE '2026-01-02' + INTERVAL 7 DAY AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24"},
	{"best", "SELECT c.name, SUM(s.price) AS revenue FROM bench.sales s JOIN bench.customers c ON c.id = s.customer WHERE s.region = 'north' AND c.segment = 'B' GROUP BY c.name ORDER BY revenue DESC LIMIT 10"},
	{"latest", "SELECT id, at, region, price FROM bench.sales WHERE store = 7 ORDER BY at DESC LIMIT 10"},
	{"extremes", "SELECT MIN(day), MAX(day), COUNT(*) FROM bench.sales"},
	{"first", "SELECT * FROM bench.sales LIMIT 10"},
	{"segments", "SELECT segment, COUNT(*) FROM bench.customers GROUP BY segment ORDER BY segment"},
	{"customer", "SELECT name, segment, city FROM bench.customers WHERE id = 517"},
}

// prepareDashboard makes the tables that are missing.
func (b *bench) prepareDashboard() error {
	for _, t := range []struct {
		name, columns, values string
		rows                  int64
	}{
		{"bench.sales", salesColumns, "n, n * 7919 % 1000, DATE '2026-01-01' + INTERVAL (n % 14) DAY, TIMESTAMP '2026-01-01 00:00:00' + INTERVAL n * 12 SECOND, " +
			"CASE n % 5 WHEN 0 THEN 'north' WHEN 1 THEN 'south' WHEN 2 THEN 'east' WHEN 3 THEN 'west' ELSE 'abroad' END, CASE n % 3 WHEN 0 THEN 'A' WHEN 1 THEN 'N' ELSE 'R' END, " +
			"n % 50 + 1, (n * 37 % 100000) / 100, (n % 11) / 100, (n % 9) / 100, n % 2003, n % 31, CASE WHEN n % 7 = 0 THEN CONCAT('c', n % 13) END, CONCAT('note ', n % 101), n / 3, DATE '2026-01-03' + INTERVAL (n % 17) DAY", salesRows},
		{"bench.customers", "(id INT NOT NULL, name VARCHAR(64) NOT NULL, segment CHAR(1) NOT NULL, city VARCHAR(32) NOT NULL, PRIMARY KEY (id))",
			"n, CONCAT('customer ', n), CASE n % 3 WHEN 0 THEN 'A' WHEN 1 THEN 'B' ELSE 'C' END, CONCAT('city ', n % 40)", customersRows},
	} {
		if err := b.fill(t.name, t.columns, t.values, t.rows); err != nil {
			return err
		}
	}
	return nil
}

// dashboard measures each statement alone, then all of them in turns from one
// connection.
func (b *bench) dashboard() error {
	if err := b.prepareDashboard(); err != nil {
		return err
	}
	n := max(b.statements/20, 20)
	for _, d := range dashboards {
		if err := b.each("dashboard, "+d.name, n, func(int) error { return b.exec(d.text) }); err != nil {
			return err
		}
	}
	if err := b.each("dashboard, all in turns", 2*n, func(i int) error { return b.exec(dashboards[i%len(dashboards)].text) }); err != nil {
		return err
	}
	// A text that was never seen: nothing that was kept of it can help.
	return b.each("dashboard, all in turns, each text once", 2*n, func(i int) error {
		d := dashboards[i%len(dashboards)]
		return b.exec(strings.Replace(d.text, "SELECT ", fmt.Sprintf("SELECT /* %d */ ", b.next()), 1))
	})
}

// next numbers texts.
func (b *bench) next() int { b.texts++; return b.texts }
