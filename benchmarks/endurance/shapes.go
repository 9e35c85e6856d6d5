package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// shards is the lake table that several source tables feed.
const shards = "ods.shards"

// column is a column of a source table and the literals that it gets.
type column struct {
	name string
	lit  func(*rand.Rand) string
}

// shape is a table of the source database n, how it changes, and what of it must
// be in the lake.
type shape struct {
	name   string
	create string // what stands between the parentheses of CREATE TABLE
	fill   string // the rows that are there before the pipeline: the SELECT of an INSERT
	cols   []column
	keys   int // so many of cols are the key; 0: rows are only inserted

	transform string   // the rest of its transform rule, in YAML
	lakes     []string // the tables that it feeds; nil: n.<name>
	// What the lake must have: the select lists of source and lake, and the
	// source's WHERE. "" is all of cols.
	theirs, ours, where string
	floats              bool // some columns are numbers with fractions, compared by value
	often               int  // its weight among the tables
}

// Literals.

func below(n int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(r.IntN(n)) }
}

func orNull(f func(*rand.Rand) string) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		if r.IntN(6) == 0 {
			return "NULL"
		}
		return f(r)
	}
}

func oneOf(list ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return list[r.IntN(len(list))] }
}

func letters(n int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		b := make([]byte, r.IntN(n+1))
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz 0123456789"[r.IntN(37)]
		}
		return "'" + string(b) + "'"
	}
}

// caseKey gives texts that differ by case and accents only.
func caseKey(r *rand.Rand) string {
	k := fmt.Sprint(r.IntN(150))
	return "'" + []string{"abc", "ABC", "aBc", "äbc", "Äbc", "abc ", "ab c"}[r.IntN(7)] + k + "'"
}

func uuidKey(r *rand.Rand) string {
	x := r.IntN(400)
	return fmt.Sprintf("'%08x-%04x-4%03x-8%03x-%012x'", x*2654435761&0xffffffff, x, x, x, x*7919)
}

func bytesKey(r *rand.Rand) string {
	x := r.IntN(400)
	return fmt.Sprintf("X'%02x%04x00'", x%251, x*40503&0xffff)
}

func day(r *rand.Rand) string { return fmt.Sprintf("'2026-%02d-%02d'", 1+r.IntN(2), 1+r.IntN(3)) }

func moment(r *rand.Rand) string {
	return fmt.Sprintf("'%d-%02d-%02d %02d:%02d:%02d.%06d'", 1975+r.IntN(60), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1_000_000))
}

func hexBytes(n int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		b := make([]byte, r.IntN(n+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return fmt.Sprintf("X'%x'", b)
	}
}

// shapes are the tables of a run, all or only some. Rows of "plain" are enough to
// be copied in chunks.
func shapes(plain int, only string) []*shape {
	simple := []column{{"id", below(800)}, {"v", orNull(below(1_000_000))}, {"s", orNull(letters(30))}}
	const simpleCreate = "id INT PRIMARY KEY, v INT, s VARCHAR(40)"
	fill := "SELECT seq, seq, CONCAT('old', seq) FROM seq_1_to_300"
	keyed := func(name, options string) *shape {
		s := &shape{name: name, create: simpleCreate, fill: fill, cols: simple, keys: 1}
		if options != "" {
			s.transform = "table-options: " + options
		}
		return s
	}
	list := []*shape{
		{name: "plain", create: "id BIGINT PRIMARY KEY, a INT, b VARCHAR(40), c DOUBLE", keys: 1, floats: true, often: 3, theirs: "id, a, b, c * 1.0E0", ours: "id, a, b, c * 1.0E0",
			fill: fmt.Sprintf("SELECT seq, seq %% 1000, CONCAT('row ', seq), seq / 7 FROM seq_1_to_%d", plain),
			cols: []column{{"id", below(plain + 1000)}, {"a", orNull(below(1000))}, {"b", orNull(letters(30))}, {"c", oneOf("1.5", "-0.1", "1e300", "NULL", "0.30000000000000004")}}},
		{name: "comp", create: "a INT, b VARCHAR(12) COLLATE utf8mb4_bin, v INT, s VARCHAR(50), PRIMARY KEY (a, b)", keys: 2, transform: "table-options: bucket=4",
			fill: "SELECT seq % 20, seq, seq, 'x' FROM seq_1_to_300", cols: []column{{"a", below(20)}, {"b", below(60)}, {"v", orNull(below(1000))}, {"s", orNull(letters(20))}}},
		{name: "ci", create: "k VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT", keys: 1, transform: "table-options: bucket=3", cols: []column{{"k", caseKey}, {"v", orNull(below(1000))}}},
		{name: "uid", create: "id UUID PRIMARY KEY, v INT", keys: 1, cols: []column{{"id", uuidKey}, {"v", orNull(below(1000))}}},
		{name: "bin", create: "id VARBINARY(8) PRIMARY KEY, v INT, b BINARY(4)", keys: 1, transform: "table-options: bucket=2",
			cols: []column{{"id", bytesKey}, {"v", orNull(below(1000))}, {"b", oneOf("NULL", "X'00'", "X'ff000000'", "X'01020304'")}}},
		{name: "app", create: "chg BIGINT, v INT, s VARCHAR(100)", cols: []column{{"chg", nil}, {"v", orNull(below(1000))}, {"s", orNull(letters(60))}}, often: 2},
		{name: "app_day", create: "chg BIGINT, day DATE NOT NULL, v INT", transform: "partition-keys: day", cols: []column{{"chg", nil}, {"day", day}, {"v", orNull(below(1000))}}},
		{name: "moves", create: "id INT PRIMARY KEY, u INT UNIQUE, v INT", keys: 1, transform: "table-options: bucket=4", cols: []column{{"id", below(500)}, {"u", orNull(below(100_000))}, {"v", below(1000)}}, often: 2},
		{name: "part", create: "id INT PRIMARY KEY, day DATE NOT NULL, v INT", keys: 1, transform: "primary-keys: id, day\n    partition-keys: day\n    table-options: bucket=2", cols: []column{{"id", below(500)}, {"day", day}, {"v", below(1000)}}, often: 2},
		keyed("dyn", "bucket=-1"),
		{name: "dyn_part", create: "id INT PRIMARY KEY, region VARCHAR(5) NOT NULL, v INT", keys: 1, transform: "primary-keys: id, region\n    partition-keys: region\n    table-options: bucket=-1,dynamic-bucket.target-row-num=200",
			cols: []column{{"id", below(500)}, {"region", oneOf("'EU'", "'US'", "'CN'")}, {"v", below(1000)}}},
		keyed("dv", "bucket=2,deletion-vectors.enabled=true"),
		keyed("log_input", "bucket=1,changelog-producer=input"),
		keyed("log_lookup", "bucket=1,changelog-producer=lookup"),
		keyed("log_full", "bucket=1,changelog-producer=full-compaction"),
		keyed("bank", ""),
		{name: "num", keys: 1, floats: true, create: "id BIGINT UNSIGNED PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, b1 TINYINT(1), m MEDIUMINT, b BIGINT, bu BIGINT UNSIGNED, d DECIMAL(10,3), big DECIMAL(60,10), f FLOAT, e DOUBLE, bits BIT(11), y YEAR",
			theirs: "id, t, tu, b1, m, b, bu, d, big, f * 1.0E0, e * 1.0E0, bits + 0, y", ours: "id, t, tu, b1, m, b, bu, d, big, f * 1.0E0, e * 1.0E0, bits + 0, y",
			cols: []column{{"id", oneOf("0", "1", "2", "9223372036854775807", "9223372036854775808", "18446744073709551615", "77", "78")}, {"t", oneOf("-128", "127", "NULL", "0")}, {"tu", oneOf("255", "0", "NULL")}, {"b1", oneOf("0", "1", "-5", "NULL")},
				{"m", oneOf("-8388608", "8388607", "NULL")}, {"b", oneOf("-9223372036854775808", "9223372036854775807", "NULL")}, {"bu", oneOf("18446744073709551615", "0", "NULL")}, {"d", oneOf("-9999999.999", "0.001", "NULL", "5")},
				{"big", oneOf("12345678901234567890123456789012345678901234567890.0123456789", "-0.0000000001", "NULL")}, {"f", oneOf("1.1", "-3.4e38", "1e-38", "NULL", "16777217")}, {"e", oneOf("1.7976931348623157e308", "5e-324", "-0.1", "NULL")},
				{"bits", oneOf("b'11111111111'", "b'1'", "NULL")}, {"y", oneOf("1901", "2155", "0", "NULL")}}},
		{name: "tim", keys: 1, create: "id INT PRIMARY KEY, d DATE, t TIME(6), t0 TIME, dt DATETIME(6), dt0 DATETIME, ts TIMESTAMP(6) NULL, ts0 TIMESTAMP NULL",
			cols: []column{{"id", below(100)}, {"d", orNull(oneOf("'1000-01-01'", "'9999-12-31'", "'2024-02-29'", "'1970-01-01'"))}, {"t", orNull(oneOf("'-838:59:59'", "'838:59:59'", "'00:00:00.000001'", "'-00:00:00.5'"))},
				{"t0", orNull(oneOf("'12:34:56'", "'-12:00:00'"))}, {"dt", orNull(moment)}, {"dt0", orNull(moment)}, {"ts", orNull(moment)}, {"ts0", orNull(moment)}}},
		{name: "str", keys: 1, create: "id INT PRIMARY KEY, c CHAR(10), l VARCHAR(20) CHARACTER SET latin1, t TEXT, mb MEDIUMBLOB, e ENUM('x','y','ü'), st SET('a','b','c'), j JSON, ip INET6",
			cols: []column{{"id", below(200)}, {"c", orNull(oneOf("'trail  '", "''", "'日本語'"))}, {"l", orNull(oneOf("'öäü€'", "''"))}, {"t", orNull(oneOf("'a😀b'", "'中文'", "REPEAT('long ', 300)"))}, {"mb", orNull(hexBytes(3000))},
				{"e", orNull(oneOf("'x'", "'y'", "'ü'"))}, {"st", orNull(oneOf("''", "'a'", "'a,c'", "'a,b,c'"))}, {"j", orNull(oneOf(`'{"a": [1, 2.5, null]}'`, "'[]'", `'"text"'`))}, {"ip", orNull(oneOf("'::1'", "'2001:db8::ff'", "'::ffff:192.0.2.1'"))}}},
		{name: "filtered", keys: 1, create: "id INT PRIMARY KEY, status VARCHAR(10), v INT, name VARCHAR(30)", transform: `projection: id, v + 1 AS v1, UPPER(name) AS up, CASE WHEN v > 500 THEN 'big' ELSE name END AS kind
    filter: status = 'ACTIVE' AND v % 3 <> 1`,
			theirs: "id, v + 1, UPPER(name), CASE WHEN v > 500 THEN 'big' ELSE name END", ours: "id, v1, up, kind", where: "status = 'ACTIVE' AND v % 3 <> 1",
			cols: []column{{"id", below(500)}, {"status", oneOf("'ACTIVE'", "'ACTIVE'", "'GONE'", "NULL")}, {"v", orNull(below(1000))}, {"name", orNull(letters(20))}}},
		{name: "uniq", keys: 1, create: "id INT NOT NULL, v INT, s VARCHAR(40), UNIQUE (id)", fill: fill, cols: simple},
		{name: "ddl_1", keys: 1, create: "id INT PRIMARY KEY, base INT", fill: "SELECT seq, seq FROM seq_1_to_200", cols: []column{{"id", below(600)}, {"base", orNull(below(1000))}}, theirs: "*", ours: "*"},
		{name: "ddl_2", keys: 1, create: "id INT PRIMARY KEY, base INT", fill: "SELECT seq, seq FROM seq_1_to_200", cols: []column{{"id", below(600)}, {"base", orNull(below(1000))}}, theirs: "*", ours: "*", transform: "table-options: bucket=2,deletion-vectors.enabled=true"},
		{name: "again", keys: 1, create: simpleCreate, fill: fill, cols: simple},
	}
	for i := 1; i <= 3; i++ {
		list = append(list, &shape{name: fmt.Sprint("sh_", i), create: "id INT PRIMARY KEY, v INT, s VARCHAR(40)", keys: 1, cols: simple, fill: fill, lakes: []string{shards}})
	}
	if only != "" {
		names := strings.Split(only, ",")
		list = slices.DeleteFunc(list, func(s *shape) bool { return !slices.Contains(names, s.name) })
	}
	for _, s := range list {
		s.often = max(s.often, 1)
		if s.name == "log_input" {
			s.lakes = []string{"n.log_input", "ods.log_copy"}
		}
		if s.lakes == nil {
			s.lakes = []string{"n." + s.name}
		}
	}
	return list
}

// names are the columns of a shape.
func (s *shape) names(from, to int) []string {
	var out []string
	for _, c := range s.cols[from:to] {
		out = append(out, c.name)
	}
	return out
}

// at is the condition for one key.
func (s *shape) at(key []string) string {
	parts := make([]string, s.keys)
	for i, c := range s.cols[:s.keys] {
		parts[i] = c.name + " = " + key[i]
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

func (s *shape) literals(r *rand.Rand, from, to int, change func() int64) []string {
	var out []string
	for _, c := range s.cols[from:to] {
		if c.lit == nil {
			out = append(out, fmt.Sprint(change()))
			continue
		}
		out = append(out, c.lit(r))
	}
	return out
}

// statement makes a random change of the table; change numbers the rows of append
// tables.
func (s *shape) statement(r *rand.Rand, change func() int64) string {
	table, all := "n."+s.name, len(s.cols)
	rows := func(n int) string {
		var values []string
		for range n {
			values = append(values, "("+strings.Join(s.literals(r, 0, all, change), ",")+")")
		}
		return fmt.Sprintf("INTO %s (%s) VALUES %s", table, strings.Join(s.names(0, all), ","), strings.Join(values, ","))
	}
	n := 1 + r.IntN(25)
	if s.keys == 0 {
		return "INSERT " + rows(n)
	}
	if s.name == "bank" { // the sum stays
		d := 1 + r.IntN(50)
		return fmt.Sprintf("UPDATE %s SET v = CASE id WHEN %d THEN v - %d ELSE v + %d END WHERE id IN (%[2]d, %[5]d)", table, 1+r.IntN(150), d, d, 151+r.IntN(150))
	}
	where := func() string {
		var at []string
		for range 1 + r.IntN(12) {
			at = append(at, s.at(s.literals(r, 0, s.keys, change)))
		}
		return strings.Join(at, " OR ")
	}
	set := func(from int, assign string) string {
		var sets []string
		for _, c := range s.cols[from:] {
			if r.IntN(2) == 0 || len(sets) == 0 {
				sets = append(sets, fmt.Sprintf(assign, c.name, c.lit(r)))
			}
		}
		return strings.Join(sets, ", ")
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		return "INSERT " + rows(n) + " ON DUPLICATE KEY UPDATE " + set(s.keys, "%[1]s = VALUES(%[1]s)%.0[2]s")
	case 3, 4:
		return "REPLACE " + rows(n)
	case 5:
		return "INSERT IGNORE " + rows(n)
	case 6, 7, 8:
		return fmt.Sprintf("UPDATE IGNORE %s SET %s WHERE %s", table, set(s.keys, "%s = %s"), where())
	case 9: // the key changes
		old, to := s.literals(r, 0, s.keys, change), s.literals(r, 0, s.keys, change)
		var sets []string
		for i, c := range s.cols[:s.keys] {
			sets = append(sets, c.name+" = "+to[i])
		}
		return fmt.Sprintf("UPDATE IGNORE %s SET %s WHERE %s", table, strings.Join(sets, ", "), s.at(old))
	case 10:
		if c := s.cols[0].name; s.name == "moves" || s.name == "part" || s.name == "comp" { // many keys change, and some come back
			return fmt.Sprintf("UPDATE IGNORE %s SET %s = %s + %d WHERE %s %% 7 = %d", table, c, c, r.IntN(20)-10, c, r.IntN(7))
		}
	}
	return fmt.Sprintf("DELETE FROM %s WHERE %s", table, where())
}
