package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	tables "github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

func TestTimeTravel(t *testing.T) {
	e := newEngine()
	e.must(t, "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(10))")
	before := time.Now().Add(-time.Hour)
	e.must(t, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
	e.must(t, "INSERT INTO t VALUES (3, 'c')")
	time.Sleep(2 * time.Millisecond)
	mid := time.Now()
	time.Sleep(2 * time.Millisecond)
	e.must(t, "INSERT INTO t VALUES (1, 'A')")
	tab, err := e.cat.Table(context.Background(), catalog.Identifier{Database: "db", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.(*tables.Table).Tag("first", 1); err != nil {
		t.Fatal(err)
	}
	stamp := mid.UTC().Format("2006-01-02 15:04:05.000")
	for _, c := range [][2]string{
		{"t", "1A2b3c"},
		{"t FOR VERSION AS OF 1", "1a2b"},
		{"t FOR VERSION AS OF 2", "1a2b3c"},
		{"t FOR VERSION AS OF 'first'", "1a2b"},
		{"t FOR VERSION AS OF '2'", "1a2b3c"},
		{"t FOR VERSION AS OF 1 + 1", "1a2b3c"},
		{"t AS OF 1", "1a2b"},
		{"t AS OF 'first'", "1a2b"},
		{"t AS OF '" + stamp + "'", "1a2b3c"},
		{"t FOR TIMESTAMP AS OF '" + stamp + "'", "1a2b3c"},
		{"t FOR SYSTEM_TIME AS OF TIMESTAMP '" + stamp + "'", "1a2b3c"},
		{"t FOR TIMESTAMP AS OF TIMESTAMP '" + stamp + "'", "1a2b3c"},
		{"t FOR TIMESTAMP AS OF '9999-01-01 00:00:00'", "1A2b3c"},
		{"t /*+ OPTIONS('scan.snapshot-id'='1') */", "1a2b"},
		{"t /*+ OPTIONS('scan.tag-name'='first') */", "1a2b"},
		{"t /*+ OPTIONS('scan.version'='first') */", "1a2b"},
		{"t /*+ OPTIONS('scan.version'='2') */", "1a2b3c"},
		{fmt.Sprintf("t /*+ OPTIONS('scan.timestamp-millis'='%d') */", mid.UnixMilli()), "1a2b3c"},
		{"t /*+ OPTIONS('scan.timestamp'='" + stamp + "') */", "1a2b3c"},
		{"db.t FOR VERSION AS OF 1", "1a2b"},
		{"lake.db.t FOR VERSION AS OF 1", "1a2b"},
		{"`lake.db`.t FOR VERSION AS OF 1", "1a2b"},
	} {
		a, err := e.run("SELECT x.id, x.v FROM " + strings.Replace(c[0], ";", "", 1) + " x ORDER BY id")
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		got := ""
		for _, r := range a.rows {
			got += *r[0] + *r[1]
		}
		if got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	// Two versions in one statement.
	a, err := e.run("SELECT n.id, o.v, n.v FROM t n JOIN t FOR VERSION AS OF 1 o ON n.id = o.id WHERE n.v <> o.v COLLATE utf8mb4_0900_bin")
	if err != nil || text(a.rows) != "1|a|A\n" {
		t.Errorf("joined versions: %q %v", text(a.rows), err)
	}
	for q, want := range map[string]errs.Kind{
		"SELECT * FROM t FOR VERSION AS OF 9":                                                      errs.UnknownSnapshot,
		"SELECT * FROM t FOR VERSION AS OF 'no'":                                                   errs.UnknownSnapshot,
		"SELECT * FROM t FOR TIMESTAMP AS OF '2001'":                                               errs.WrongValue,
		"SELECT * FROM t FOR TIMESTAMP AS OF 5":                                                    errs.WrongArguments,
		"SELECT * FROM t FOR VERSION AS OF id":                                                     errs.UnknownColumn,
		"SELECT * FROM t FOR VERSION AS OF RAND()":                                                 errs.WrongArguments,
		"SELECT * FROM t FOR TIMESTAMP AS OF '" + before.UTC().Format("2006-01-02 15:04:05") + "'": errs.UnknownSnapshot,
		"SELECT * FROM t /*+ OPTIONS('scan.snapshot-id'='1') */ FOR VERSION AS OF 1":               errs.WrongArguments,
		"SELECT * FROM t /*+ OPTIONS('incremental-between'='1,2') */":                              errs.NotSupported,
		"SELECT * FROM t /*+ OPTIONS('scan.snapshot-id'='x') */":                                   errs.WrongArguments,
		"SELECT * FROM t /*+ OPTIONS('no-such'='1') */":                                            errs.NotSupported,
		"WITH c AS (SELECT 1) SELECT * FROM c FOR VERSION AS OF 1":                                 errs.WrongArguments,
		"SELECT * FROM t$nothing":                                                                  errs.UnknownTable,
		"SELECT * FROM t$branch_b":                                                                 errs.UnknownTable,
		"SELECT * FROM other.db.t":                                                                 errs.UnknownCatalog,
		"SELECT * FROM nodb.t":                                                                     errs.UnknownDatabase,
		"INSERT INTO t$snapshots VALUES (1)":                                                       errs.NotInsertable,
	} {
		if _, err := e.run(q); !errs.Is(err, want) {
			t.Errorf("%s: %v (%s), want %s", q, err, errs.KindOf(err), want)
		}
	}
	a, err = e.run("SELECT snapshot_id, total_record_count FROM `t$snapshots` ORDER BY 1")
	if err != nil || text(a.rows) != "1|2\n2|3\n3|3\n" {
		t.Errorf("snapshots: %q %v", text(a.rows), err)
	}
}

// A table's snapshot is resolved once a statement, and told.
func TestPins(t *testing.T) {
	e := newEngine()
	e.must(t, "CREATE TABLE t (id INT);\nINSERT INTO t VALUES (1)")
	var pinned []string
	asked := 0
	p, err := syntax.ParseOne("SELECT * FROM t a, t b WHERE a.id IN (SELECT id FROM t) AND a.id IN (SELECT id FROM t FOR VERSION AS OF 1)", syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Bind(context.Background(), p.Statement.(*syntax.Query), &plan.Env{Catalogs: e, Expr: expr.NewContext(),
		Pin: func(u plan.TableUse) {
			pinned = append(pinned, fmt.Sprintf("%s.%s %d", u.Catalog, u.Table.ID(), u.Snapshot.Version()))
		},
		Authorize: func(_ context.Context, c string, id catalog.Identifier) error { asked++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(pinned, ","); got != "lake.db.t 1,lake.db.t 1" || len(q.Tables) != 2 || asked == 0 {
		t.Errorf("pinned %s, %d tables, %d questions", got, len(q.Tables), asked)
	}
}
