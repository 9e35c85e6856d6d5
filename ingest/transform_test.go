package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/ingest/pipeline"
)

// transforms are rules and the query on the source whose rows the lake must
// have: MariaDB is the oracle of the expressions.
var transforms = []struct{ table, rule, query string }{
	{"filtered", "projection: id, age, name\n    filter: age >= 18", "SELECT id, age, name FROM filtered WHERE age >= 18"},
	{"nulls", `projection: '\*, age + 1 AS next, UPPER(name) AS upper_name, CONCAT(name, ''-'', email) AS both_'
    filter: name LIKE 'a%' OR NOT (age > 18) OR age IS NULL`,
		"SELECT *, age + 1, UPPER(name), CONCAT(name, '-', email) FROM nulls WHERE name LIKE 'a%' OR NOT (age > 18) OR age IS NULL"},
	{"masked", `projection: \*, REGEXP_REPLACE(email, '^.*@', '***@') AS email`, "SELECT id, age, name, REGEXP_REPLACE(email, '^.*@', '***@'), amount, big FROM masked"},
	{"seed", `projection: >
      id, name,
      concat(left(email, 3), '****', right(email, 4)) as phone_masked, age
    filter: "name <> 'bob'"`, "SELECT id, name, concat(left(email, 3), '****', right(email, 4)), age FROM seed WHERE name <> 'bob'"},
	{"keyed", "projection: \\*, __table_name__ AS shard, COALESCE(name, 'none') AS who\n    primary-keys: shard, id, who\n    table-options: bucket=2",
		"SELECT *, 'keyed', COALESCE(name, 'none') FROM keyed"},
	{"computed", `projection: id, amount * 2 AS twice, big + 1 AS more, IF(age > 18, 'a', 'm') AS grp, CASE WHEN age IS NULL THEN 0 ELSE age END AS years, id % 3 AS part
    partition-keys: part`, "SELECT id, amount * 2, big + 1, IF(age > 18, 'a', 'm'), CASE WHEN age IS NULL THEN 0 ELSE age END, id % 3 FROM computed"},
	{"renamed", "projection: id AS key_, name || '!' AS loud", "SELECT id, CONCAT(name, '!') FROM renamed"},
}

const transformed = `(id INT PRIMARY KEY, age INT, name VARCHAR(10), email VARCHAR(40), amount DECIMAL(10,2) NOT NULL, big BIGINT UNSIGNED NOT NULL) COLLATE utf8mb4_bin`

func TestTransforms(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE obs")
	srv.db.SetMaxOpenConns(1)
	srv.exec("USE obs")
	var rules strings.Builder
	rules.WriteString("transform:\n")
	for _, x := range transforms {
		srv.exec("CREATE TABLE " + x.table + transformed)
		fmt.Fprintf(&rules, "  - source-table: obs.%s\n    %s\n", x.table, x.rule)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	pick := func(values ...string) string { return values[rng.IntN(len(values))] }
	change := func(table string) {
		id := rng.IntN(40)
		row := fmt.Sprintf("(%d, %s, %s, %s, %s, %s)", id, pick("NULL", "16", "17", "18", "30", "99"), pick("NULL", "'anna'", "'bob'", "'Carl'", "'a'"),
			pick("NULL", "'a@x.io'", "'some.long.name@example.com'", "''"), pick("0", "-12.30", "99999999.99"), pick("0", "18446744073709551614", "7"))
		switch rng.IntN(5) {
		case 0:
			srv.exec(fmt.Sprintf("DELETE FROM %s WHERE id = %d", table, id))
		case 1:
			srv.exec(fmt.Sprintf("UPDATE %s SET age = %s, name = %s WHERE id BETWEEN %d AND %d", table, pick("NULL", "16", "20"), pick("NULL", "'anna'", "'bob'"), id, id+5))
		case 2:
			srv.exec(fmt.Sprintf("UPDATE IGNORE %s SET id = id + 1 WHERE id = %d", table, id))
		default:
			srv.exec("REPLACE INTO " + table + " VALUES " + row)
		}
	}
	for _, x := range transforms {
		for range 60 {
			change(x.table)
		}
	}
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`obs.\.*`, rules.String()))
	check := func() {
		t.Helper()
		for _, x := range transforms {
			want := srv.query(x.query)
			eventually(t, func() string {
				if got := l.rows("obs." + x.table); !slices.Equal(got, want) {
					d := firstDiff(got, want)
					return fmt.Sprintf("%s: %s; %+v", x.table, d, r.table("obs."+x.table))
				}
				return ""
			})
		}
	}
	check()
	for range 3 {
		for _, x := range transforms {
			for range 40 {
				change(x.table)
			}
		}
		check()
	}
	end(t, r)
	// Changes while it is down, then other rules: refused, the old ones resume.
	for _, x := range transforms {
		for range 10 {
			change(x.table)
		}
	}
	r = start(t, l.options(), srv.yaml(`obs.\.*`, strings.Replace(rules.String(), "age >= 18", "age >= 17", 1)))
	if why := failure(t, r); !strings.Contains(why, "other transform rules made") {
		t.Error(why)
	}
	end(t, r)
	r = start(t, l.options(), srv.yaml(`obs.\.*`, rules.String()))
	check()
}

// query returns rows of the source as text, sorted.
func (s *server) query(q string) []string { return s.rows("(" + q + ") q") }

// TestTransformKinds has rules whose rows tell how they came: soft delete,
// metadata columns, fan-out, rules that pass rows on.
func TestTransformKinds(t *testing.T) {
	srv := newServer(t)
	srv.db.SetMaxOpenConns(1)
	srv.exec("CREATE DATABASE obs", "USE obs", "CREATE TABLE soft (id INT PRIMARY KEY, v INT)", "CREATE TABLE hot (id INT PRIMARY KEY, v INT)",
		"INSERT INTO soft VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO hot VALUES (1, 1), (2, 2), (3, 3)")
	l := newLake(t)
	y := srv.yaml(`obs.\.*`, `
transform:
  - source-table: obs.soft
    projection: \*, __data_event_type__ AS op, __schema_name__ AS db, op_ts, UUID() AS u, UNIX_TIMESTAMP(NOW()) * 1000 - op_ts AS late
    converter-after-transform: SOFT_DELETE
  - source-table: obs.hot
    projection: id, v, 'big' AS size
    filter: v >= 10
    match: first-row
  - source-table: obs.hot
    projection: id, v, 'small' AS size
    filter: v < 5
`)
	y = strings.Replace(y, "  heartbeat.interval", "  metadata.list: op_ts\n  heartbeat.interval", 1)
	r := start(t, l.options(), y)
	l.same("obs.hot", "1|1|small", "2|2|small", "3|3|small")
	srv.exec("UPDATE soft SET v = 20 WHERE id = 2", "DELETE FROM soft WHERE id = 3", "UPDATE soft SET id = 9 WHERE id = 1",
		"UPDATE hot SET v = 12 WHERE id = 1", "UPDATE hot SET v = 7 WHERE id = 2", "INSERT INTO hot VALUES (4, 6), (5, 100)", "UPDATE hot SET v = v - 5")
	l.same("obs.hot", "2|2|small", "3|-2|small", "4|1|small", "5|95|big")
	eventually(t, func() string {
		var ops []string
		for _, row := range l.rows("obs.soft") {
			f := strings.Split(row, "|")
			// UUIDs are of version 8; the clock is the commit's time, cut to a second.
			ops = append(ops, strings.Join(f[:4], "|"))
			if late := f[6]; len(f[5]) != 36 || f[5][14] != '8' || f[2] != "+I" && late != "0" && !strings.HasPrefix(late, "-") {
				return row
			}
		}
		if want := []string{"1|1|-D|obs", "2|20|+U|obs", "3|3|-D|obs", "9|1|+I|obs"}; !slices.Equal(ops, want) {
			return fmt.Sprint(ops)
		}
		return ""
	})
	// A row whose expression fails stops its table alone.
	end(t, r)
	srv.exec("CREATE TABLE over_ (id INT PRIMARY KEY, v BIGINT)", "CREATE TABLE fine (id INT PRIMARY KEY)")
	r = start(t, l.options(), strings.Replace(y, "transform:\n", "transform:\n  - source-table: obs.over_\n    projection: \\*, v * 2 AS w\n", 1))
	eventually(t, func() string {
		if p := r.table("obs.over_").Phase; p != "stream" {
			return "obs.over_ is in phase " + p
		}
		return ""
	})
	srv.exec("INSERT INTO over_ VALUES (1, 2)")
	l.same("obs.over_", "1|2|4")
	srv.exec("INSERT INTO over_ VALUES (2, 9223372036854775807)", "INSERT INTO fine VALUES (1)", "INSERT INTO hot VALUES (6, 3)")
	l.same("obs.fine", "1")
	l.same("obs.hot", "2|2|small", "3|-2|small", "4|1|small", "5|95|big", "6|3|small")
	eventually(t, func() string {
		if s := r.table("obs.over_"); s.Phase != "stopped" || !strings.Contains(s.Error, "out of range") {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
}

func TestTransformRefusals(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE obs; CREATE TABLE obs.users (id INT PRIMARY KEY, age INT, email VARCHAR(40)); CREATE TABLE obs.items (id INT PRIMARY KEY)")
	l := newLake(t)
	for _, c := range []struct{ rules, want string }{
		{`{source-table: 'obs\.users', projection: '*'}`, "write obs.users"},
		{`{source-table: 'obs.user', projection: '*'}`, "matches no captured table"},
		{`{source-table: 'obs.users', projection: 'id, UPPER(email)'}`, "needs a name: write UPPER(email) AS name"},
		{`{source-table: 'obs.users', projection: 'email'}`, "leaves out the key column id"},
		{`{source-table: 'obs.users', projection: '*, nam AS x'}`, "has no column nam"},
		{`{source-table: 'obs.users', filter: 'agee > 1'}`, "the nearest column is age"},
		{`{source-table: 'obs.users', projection: '*, age + AS x'}`, "projection"},
		{`{source-table: 'obs.users', projection: '*, RAND() AS x'}`, "another value each time"},
		{`{source-table: 'obs.users', projection: '*, 1 AS __table_name__'}`, "reserved"},
		{`{source-table: 'obs.users', primary-keys: 'id, x'}`, "gives no column x"},
		{`{source-table: 'obs.users', projection: '*, __data_event_type__ AS op', primary-keys: 'id, op'}`, "depends on the kind of change"},
		{`{source-table: 'obs.users', partition-keys: 'age'}`, "may be NULL"},
		{`{source-table: 'obs.users', projection: '*, UPPER(email) AS email', filter: 'email IS NULL'}`, "name the source's as users.email"},
		{`{source-table: 'obs.users', filter: 'age > 1'}, {source-table: 'obs.\.*', filter: 'id > 1'}`, "match: first-row"},
		{`{source-table: 'obs.\.*'}, {source-table: 'obs.items'}`, "an earlier rule takes all"},
		{`{source-table: 'obs.users', filter: 'age > 1', match: first-row}, {source-table: 'obs.\.*', projection: 'id'}`, "another shape"},
		{`{source-table: 'obs.users', projection: '*, SUM(age) AS x'}`, "group function"},
		{`{source-table: 'obs.users', projection: '*, (SELECT 1) AS x'}`, "subquery"},
		{`{source-table: 'obs.users', projection: '*, NULL AS x'}`, "has no type"},
		{`{source-table: 'obs.users', filters: 'a'}`, "the nearest known key is filter"},
	} {
		def, err := pipeline.Load([]byte(srv.yaml(`obs.\.*`, "transform: ["+c.rules+"]\n")), pipeline.LoadOptions{})
		if err == nil {
			_, err = MakePlan(context.Background(), l.options(), def)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.rules, err, c.want)
		}
	}
}

// TestShards merges tables of different shape; MariaDB's UNION is the oracle.
func TestShards(t *testing.T) {
	srv := newServer(t)
	srv.db.SetMaxOpenConns(1)
	srv.exec("CREATE DATABASE app", "USE app",
		"CREATE TABLE order_0 (id INT PRIMARY KEY, v INT, name VARCHAR(5) COLLATE utf8mb4_bin, price DECIMAL(6,2), day DATE)",
		"CREATE TABLE order_1 (name VARCHAR(9) COLLATE utf8mb4_bin, id BIGINT PRIMARY KEY, price DECIMAL(8,4), v SMALLINT, more INT UNSIGNED)",
		"CREATE TABLE order_2 (id INT PRIMARY KEY, v DECIMAL(4,1), day DATETIME(3), name INT)",
		"INSERT INTO order_0 VALUES (1, 10, 'a', 1.25, '2026-01-02'), (2, NULL, NULL, NULL, NULL)",
		"INSERT INTO order_1 VALUES ('bbbbbbbbb', 1, 2.0001, -3, 4294967295), (NULL, 9000000000, NULL, NULL, NULL)",
		"INSERT INTO order_2 VALUES (1, 0.5, '2026-01-02 03:04:05.678', 42)")
	l := newLake(t)
	y := srv.yaml(`app.order_[0-9]+`, "route:\n  - source-table: app.order_[0-9]+\n    sink-table: ods.orders\n    shard-key: true\n")
	r := start(t, l.options(), y)
	cols := func(shard string, list string) string {
		return "SELECT " + list + ", 'app." + shard + "' AS shard FROM app." + shard
	}
	check := func() {
		t.Helper()
		want := srv.query("SELECT CAST(id AS SIGNED), CAST(v AS DECIMAL(11,1)), name, CAST(price AS DECIMAL(8,4)), CAST(day AS DATETIME(3)), shard, more FROM (" +
			cols("order_0", "id, v, name, price, day, NULL AS more") + " UNION ALL " + cols("order_1", "id, v, name, price, NULL, more") + " UNION ALL " +
			cols("order_2", "id, v, CAST(name AS CHAR), NULL, day, NULL") + ") q")
		eventually(t, func() string {
			got := l.rows("ods.orders")
			for i, row := range got { // the lake's timestamps are numbers here
				f := strings.Split(row, "|")
				if f[4] != "NULL" {
					f[4] = microsText(f[4])
				}
				got[i] = strings.Join(f, "|")
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				return firstDiff(got, want) + fmt.Sprintf(" %+v", r.table("ods.orders"))
			}
			return ""
		})
	}
	check()
	srv.exec("UPDATE order_0 SET v = v + 1, id = id + 10", "BEGIN", "DELETE FROM order_1 WHERE id = 1", "INSERT INTO order_2 VALUES (7, -99.5, NULL, NULL)",
		"INSERT INTO order_0 VALUES (7, 8, 'x', 9, NULL)", "UPDATE order_2 SET name = 43 WHERE id = 1", "COMMIT")
	check()
	end(t, r)
	// Without the key the plan warns.
	def, err := pipeline.Load([]byte(strings.Replace(y, "    shard-key: true\n", "", 1)), pipeline.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := MakePlan(context.Background(), l.options(), def)
	if err != nil || !strings.Contains(strings.Join(plan.Warnings, "\n"), "write shard-key: true") {
		t.Errorf("%v %v", plan, err)
	}
}

func microsText(s string) string {
	var us int64
	fmt.Sscan(s, &us)
	return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000")
}
