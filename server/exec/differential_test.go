package exec_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/scan"
)

// The oracle of this file is a private MariaDB that holds the same small tables,
// full of NULLs and duplicates. Statements are generated within the common
// ground of MySQL and MariaDB.

const differentialTables = `
CREATE TABLE t1 (id INT NOT NULL PRIMARY KEY, a INT, b BIGINT, c VARCHAR(10) COLLATE utf8mb4_general_ci, d DECIMAL(8,2), e DATE, f DOUBLE);
CREATE TABLE t2 (id INT NOT NULL PRIMARY KEY, a INT, b INT NOT NULL, c VARCHAR(10) COLLATE utf8mb4_general_ci, d DECIMAL(10,3));
CREATE TABLE t3 (k INT, v INT, w VARCHAR(5) COLLATE utf8mb4_general_ci);
`

// rowsOf makes the INSERT statements of the tables: a few rows each, so that
// scans have several splits.
func rowsOf(r *rand.Rand) (out []string) {
	null := func(s string) string {
		if r.IntN(4) == 0 {
			return "NULL"
		}
		return s
	}
	num := func(n int) string { return null(strconv.Itoa(r.IntN(n) - 1)) }
	word := func() string {
		return null("'" + []string{"a", "A", "b", "B ", "abc", "aBd", "x", "", "é", "zz"}[r.IntN(10)] + "'")
	}
	add := func(table string, n int, row func(i int) []string) {
		for i := 0; i < n; {
			var rows []string
			for k := 0; k < 1+r.IntN(6) && i < n; k++ {
				rows = append(rows, "("+strings.Join(row(i), ", ")+")")
				i++
			}
			out = append(out, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
		}
	}
	add("t1", 40, func(i int) []string {
		return []string{strconv.Itoa(i), num(6), num(9), word(), null(fmt.Sprintf("%d.%02d", r.IntN(5)-2, r.IntN(4)*25)),
			null(fmt.Sprintf("'2024-0%d-1%d'", 1+r.IntN(3), r.IntN(3))), null(fmt.Sprintf("%d.5", r.IntN(4)-2))}
	})
	add("t2", 25, func(i int) []string {
		return []string{strconv.Itoa(i * 2), num(6), strconv.Itoa(r.IntN(5)), word(), null(fmt.Sprintf("%d.%03d", r.IntN(4)-1, r.IntN(2)*500))}
	})
	add("t3", 12, func(int) []string {
		return []string{num(5), num(5), null([]string{"'a'", "'B'", "'c'"}[r.IntN(3)])}
	})
	return out
}

// maria is a connection to the oracle.
type maria struct{ db *sql.DB }

func openMaria(t testing.TB) maria {
	s := testkit.MariaDB(t)
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)/?charset=utf8mb4&collation=utf8mb4_general_ci", mariadb.User, mariadb.Password, s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	m := maria{db}
	m.must(t, "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
	m.must(t, "SET SESSION sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'")
	return m
}

func (m maria) must(t testing.TB, q string) {
	t.Helper()
	if _, err := m.db.Exec(q); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
}

func (m maria) query(q string) (out [][]*string, err error) {
	rows, err := m.db.Query(q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		cells := make([]sql.NullString, len(cols))
		at := make([]any, len(cols))
		for i := range cells {
			at[i] = &cells[i]
		}
		if err := rows.Scan(at...); err != nil {
			return nil, err
		}
		row := make([]*string, len(cols))
		for i, c := range cells {
			if c.Valid {
				s := c.String
				row[i] = &s
			}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// generator makes random queries.
type generator struct {
	*rand.Rand
	depth   int
	ordered bool // the last query has an ORDER BY
}

// gcol is a column that may be used: its text and kind (n number, s text, d
// date, f double).
type gcol struct {
	name string
	kind byte
}

var gtables = map[string][]gcol{
	"t1": {{"id", 'n'}, {"a", 'n'}, {"b", 'n'}, {"c", 's'}, {"d", 'n'}, {"e", 'd'}, {"f", 'f'}},
	"t2": {{"id", 'n'}, {"a", 'n'}, {"b", 'n'}, {"c", 's'}, {"d", 'n'}},
	"t3": {{"k", 'n'}, {"v", 'n'}, {"w", 's'}},
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) table(alias string) (string, []gcol) {
	name := pick(g, "t1", "t2", "t3")
	var cols []gcol
	for _, c := range gtables[name] {
		cols = append(cols, gcol{alias + "." + c.name, c.kind})
	}
	return name + " " + alias, cols
}

func (g *generator) col(cols []gcol, kinds string) string {
	var fit []string
	for _, c := range cols {
		if strings.IndexByte(kinds, c.kind) >= 0 {
			fit = append(fit, c.name)
		}
	}
	if fit == nil {
		return "1"
	}
	return pick(g, fit...)
}

// number is a numeric expression.
func (g *generator) number(cols []gcol) string {
	switch g.IntN(8) {
	case 0:
		return strconv.Itoa(g.IntN(6) - 1)
	case 1:
		return "(" + g.col(cols, "n") + " + " + strconv.Itoa(g.IntN(3)) + ")"
	case 2:
		return "COALESCE(" + g.col(cols, "n") + ", " + strconv.Itoa(g.IntN(3)) + ")"
	case 3:
		return "(CASE WHEN " + g.cond(cols, 1) + " THEN " + g.col(cols, "n") + " ELSE 0 END)"
	}
	return g.col(cols, "n")
}

// cond is a condition.
func (g *generator) cond(cols []gcol, level int) string {
	switch n := g.IntN(16); {
	case n < 4:
		return g.number1(cols) + pick(g, " = ", " < ", " > ", " <> ", " <= ", " >= ", " <=> ") + g.number1(cols)
	case n < 5:
		return g.col(cols, "s") + pick(g, " = ", " < ", " >= ", " <> ") + pick(g, "'a'", "'B'", "'abc'", "''", "'É'")
	case n < 6:
		return g.col(cols, "nsdf") + pick(g, " IS NULL", " IS NOT NULL")
	case n < 7:
		return g.col(cols, "n") + pick(g, "", " NOT") + " IN (1, 2" + pick(g, "", ", NULL", ", 3") + ")"
	case n < 8:
		return g.col(cols, "n") + pick(g, "", " NOT") + " BETWEEN 0 AND " + strconv.Itoa(g.IntN(5))
	case n < 9:
		return g.col(cols, "s") + pick(g, "", " NOT") + " LIKE " + pick(g, "'a%'", "'%b%'", "'_'", "'%'")
	case n < 12 && level < 3:
		return "(" + g.cond(cols, level+1) + pick(g, " AND ", " OR ") + g.cond(cols, level+1) + ")"
	case n < 13 && level < 3:
		return "NOT (" + g.cond(cols, level+1) + ")"
	case g.depth < 2 && level < 3:
		return g.subCond(cols)
	}
	return g.col(cols, "n") + pick(g, " > ", " = ") + strconv.Itoa(g.IntN(4))
}

func (g *generator) number1(cols []gcol) string {
	if g.IntN(3) == 0 {
		return g.number(cols)
	}
	return g.col(cols, "n")
}

// subCond is a condition with a subquery, often correlated.
func (g *generator) subCond(cols []gcol) string {
	g.depth++
	defer func() { g.depth-- }()
	alias := "s" + strconv.Itoa(g.depth)
	from, sub := g.table(alias)
	where := ""
	if g.IntN(3) > 0 {
		where = " WHERE " + g.cond(sub, 2)
		if g.IntN(2) == 0 {
			op := pick(g, " = ", " = ", " = ", " < ", " <> ")
			where += " AND " + g.col(sub, "n") + op + g.col(cols, "n")
		}
	}
	switch g.IntN(6) {
	case 0, 1:
		return pick(g, "", "NOT ") + "EXISTS (SELECT 1 FROM " + from + where + ")"
	case 2, 3:
		return g.col(cols, "n") + pick(g, "", " NOT") + " IN (SELECT " + g.col(sub, "n") + " FROM " + from + where + ")"
	case 4:
		return g.col(cols, "n") + pick(g, " = ", " < ", " >= ") + "(SELECT " + pick(g, "MIN", "MAX", "COUNT", "SUM") + "(" + g.col(sub, "n") + ") FROM " + from + where + ")"
	}
	return g.col(cols, "n") + pick(g, " > ", " <= ", " = ", " <> ") + pick(g, "ANY", "ALL") + " (SELECT " + g.col(sub, "n") + " FROM " + from + where + ")"
}

// from makes a FROM clause.
func (g *generator) from() (string, []gcol) {
	text, cols := g.table("x0")
	for i := 1; i <= g.IntN(3); i++ {
		alias := "x" + strconv.Itoa(i)
		t, more := g.table(alias)
		if g.IntN(6) == 0 {
			var names []string
			var renamed []gcol
			for _, c := range more {
				_, n, _ := strings.Cut(c.name, ".")
				names = append(names, c.name)
				renamed = append(renamed, gcol{alias + "." + n, c.kind})
			}
			t = "(SELECT " + strings.Join(names, ", ") + " FROM " + t + " WHERE " + g.cond(more, 2) + ") " + alias
			more = renamed
		}
		on := g.col(cols, "n") + " = " + g.col(more, "n")
		both := append(append([]gcol{}, cols...), more...)
		if g.IntN(4) == 0 {
			on += " AND " + g.plain(both)
		}
		if g.IntN(6) == 0 {
			on = g.col(cols, "s") + " = " + g.col(more, "s")
			if strings.Contains(on, "1") && (strings.HasPrefix(on, "1") || strings.HasSuffix(on, " 1")) {
				on = g.col(cols, "n") + " = " + g.col(more, "n")
			}
		}
		if g.IntN(8) == 0 {
			on = g.col(cols, "n") + " < " + g.col(more, "n")
		}
		text += pick(g, " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ") + t + " ON " + on
		cols = both
	}
	return text, cols
}

// plain is a condition without subqueries.
func (g *generator) plain(cols []gcol) string {
	d := g.depth
	g.depth = 9
	defer func() { g.depth = d }()
	return g.cond(cols, 2)
}

// aggregateCall is an aggregate of exact numbers.
func (g *generator) aggregateCall(cols []gcol) string {
	switch g.IntN(7) {
	case 0:
		return "COUNT(*)"
	case 1:
		return "COUNT(DISTINCT " + g.col(cols, "ns") + ")"
	case 2:
		return "SUM(" + g.col(cols, "n") + ")"
	case 3:
		return "SUM(DISTINCT " + g.col(cols, "n") + ")"
	case 4:
		return "COUNT(" + g.number(cols) + ")"
	}
	return pick(g, "MIN", "MAX") + "(" + g.col(cols, "nd") + ")"
}

// query makes one statement.
func (g *generator) query() string {
	g.ordered = false
	if g.IntN(8) == 0 {
		var parts []string
		for range 2 + g.IntN(2) {
			from, cols := g.table("y")
			parts = append(parts, "SELECT "+g.col(cols, "n")+", "+g.col(cols, "n")+" FROM "+from+" WHERE "+g.plain(cols))
		}
		return strings.Join(parts, pick(g, " UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT "))
	}
	from, cols := g.from()
	where := ""
	if g.IntN(4) > 0 {
		where = " WHERE " + g.cond(cols, 0)
	}
	if g.IntN(3) == 0 {
		var keys []string
		for range g.IntN(3) {
			keys = append(keys, g.col(cols, "nd"))
		}
		var items []string
		items = append(items, keys...)
		for range 1 + g.IntN(3) {
			items = append(items, g.aggregateCall(cols))
		}
		q := "SELECT " + strings.Join(items, ", ") + " FROM " + from + where
		if keys != nil {
			q += " GROUP BY " + strings.Join(keys, ", ")
			if g.IntN(3) == 0 {
				q += " HAVING " + pick(g, "COUNT(*) > 1", "MAX("+g.col(cols, "n")+") > 1", "SUM("+g.col(cols, "n")+") IS NOT NULL")
			}
		}
		return q
	}
	var items []string
	for range 1 + g.IntN(4) {
		if g.IntN(3) == 0 {
			items = append(items, g.number(cols))
		} else {
			items = append(items, g.col(cols, "ndf"))
		}
	}
	if g.IntN(6) == 0 && g.depth < 2 {
		items = append(items, "("+g.cond(cols, 1)+")")
	}
	if g.IntN(8) == 0 {
		sub, more := g.table("q")
		var order []string
		for _, c := range more {
			order = append(order, c.name)
		}
		items = append(items, "(SELECT "+g.col(more, "n")+" FROM "+sub+" WHERE "+g.col(more, "n")+pick(g, " = ", " < ")+g.col(cols, "n")+
			" ORDER BY "+strings.Join(order, ", ")+" LIMIT 1)")
	}
	if g.IntN(6) == 0 {
		partition := pick(g, "", "PARTITION BY "+g.col(cols, "n"), "PARTITION BY "+g.col(cols, "s")+", "+g.col(cols, "n"))
		order := "ORDER BY " + g.col(cols, "n") + pick(g, "", " DESC")
		// Among peers the answer must not depend on their order.
		items = append(items, pick(g, "RANK()", "DENSE_RANK()", "SUM("+g.col(cols, "n")+")", "COUNT("+g.col(cols, "nsd")+")", "MIN("+g.col(cols, "nd")+")", "MAX("+g.col(cols, "n")+")")+
			" OVER ("+partition+" "+order+")")
		if g.IntN(2) == 0 {
			items = append(items, pick(g, "SUM", "MAX")+"("+g.col(cols, "n")+") OVER ("+partition+")")
		}
	}
	distinct := ""
	if g.IntN(5) == 0 {
		distinct = "DISTINCT "
	}
	q := "SELECT " + distinct + strings.Join(items, ", ") + " FROM " + from + where
	if g.IntN(3) == 0 {
		g.ordered = true
		var order []string
		for i := range items {
			order = append(order, strconv.Itoa(i+1)+pick(g, "", " DESC"))
		}
		q += " ORDER BY " + strings.Join(order, ", ") + pick(g, "", " LIMIT 5", " LIMIT 3 OFFSET 2")
	}
	return q
}

// settings are the configurations under which a statement must give the same
// rows in the same order.
var settings = []scan.Options{
	{Threads: 1}, {Threads: 2, BatchRows: 7}, {Threads: 5, BatchRows: 1}, {Threads: 5, BatchRows: 1024}, {Threads: 2, NoPruning: true},
}

// agree runs a statement in every setting and returns its rows.
func (e *engine) agree(t *testing.T, q string) (answer, error) {
	t.Helper()
	var first answer
	var firstErr error
	for i, o := range settings {
		e.opts = o
		a, err := e.run(q)
		if i == 0 {
			first, firstErr = a, err
			continue
		}
		if (err == nil) != (firstErr == nil) {
			t.Errorf("%s\n with %+v: error %v, without %v", q, o, err, firstErr)
		} else if text(a.rows) != text(first.rows) {
			t.Errorf("%s\n with %+v:\n%s without:\n%s", q, o, text(a.rows), text(first.rows))
		}
	}
	e.opts = scan.Options{}
	return first, firstErr
}

func TestDifferential(t *testing.T) {
	m := openMaria(t)
	e := newEngine()
	e.coll = "utf8mb4_general_ci"
	seed := uint64(1)
	if s := os.Getenv("SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
	m.must(t, "CREATE DATABASE db CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
	m.must(t, "USE db")
	for _, s := range append(strings.Split(strings.TrimSpace(strings.ReplaceAll(differentialTables, "\n", "")), ";"), rowsOf(g.Rand)...) {
		if s != "" {
			m.must(t, s)
			e.must(t, s)
		}
	}
	count := 500
	if testing.Short() {
		count = 100
	}
	refused := map[string]int{}
	for range count {
		q := g.query()
		want, err := m.query(q)
		if err != nil {
			t.Fatalf("the generator made a statement that MariaDB refuses: %s: %v", q, err)
		}
		got, err := e.agree(t, q)
		if refusedByName(err) {
			what, _, _ := strings.Cut(err.Error(), " (at")
			refused[what]++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		rows := got.rows
		if !g.ordered {
			rows, want = sorted(rows), sorted(want)
		}
		if text(rows) != text(want) {
			t.Errorf("%s\n got:\n%s MariaDB:\n%s plan:\n%s", q, text(rows), text(want), e.explain(t, q))
		}
	}
	t.Logf("%d statements, refused: %v", count, refused)
}
