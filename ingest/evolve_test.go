package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
)

// shape returns the columns of a lake table.
func (l *lake) shape(name string) string {
	db, table, _ := strings.Cut(name, ".")
	tb, err := l.catalog.Table(context.Background(), catalog.Identifier{Database: db, Table: table})
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, f := range tb.Schema().Fields {
		out = append(out, f.Name+" "+f.Type.String())
	}
	return strings.Join(out, ", ")
}

const (
	evolveBase = "id INT NOT NULL, a INT NOT NULL, b VARCHAR(10)"
	evolveRows = "1|10|one 2|20|two"
)

// outcome is what a change makes of a lake table; a shape that begins with "stop "
// is the reason why the table stops.
type outcome struct{ shape, rows string }

// schemaChanges are changes of a table (id, a NOT NULL, b) and what comes of them
// and of the row that is inserted after.
var schemaChanges = []struct {
	name, ddl, row          string
	lenient, evolve, ignore outcome
}{
	{"added", "ADD COLUMN c3 VARCHAR(10)", "9,90,'n','x'",
		outcome{evolveBase + ", c3 VARCHAR(10)", "1|10|one|NULL 2|20|two|NULL 9|90|n|x"}, outcome{evolveBase + ", c3 VARCHAR(10)", "1|10|one|NULL 2|20|two|NULL 9|90|n|x"},
		outcome{evolveBase, evolveRows + " 9|90|n"}},
	{"placed", "ADD COLUMN c0 INT AFTER id, ADD COLUMN z INT FIRST", "1,9,2,90,'n'",
		outcome{evolveBase + ", z INT, c0 INT", "1|10|one|NULL|NULL 2|20|two|NULL|NULL 9|90|n|1|2"},
		outcome{"z INT, id INT NOT NULL, c0 INT, a INT NOT NULL, b VARCHAR(10)", "1|9|2|90|n NULL|1|NULL|10|one NULL|2|NULL|20|two"},
		outcome{evolveBase, evolveRows + " 9|90|n"}},
	{"renamed", "RENAME COLUMN b TO b2", "9,90,'n'",
		outcome{evolveBase + ", b2 VARCHAR(10)", "1|10|one|NULL 2|20|two|NULL 9|90|NULL|n"}, outcome{"id INT NOT NULL, a INT NOT NULL, b2 VARCHAR(10)", evolveRows + " 9|90|n"},
		outcome{evolveBase, evolveRows + " 9|90|NULL"}},
	{"dropped", "DROP COLUMN b", "9,90",
		outcome{evolveBase, evolveRows + " 9|90|NULL"}, outcome{"id INT NOT NULL, a INT NOT NULL", "1|10 2|20 9|90"}, outcome{evolveBase, evolveRows + " 9|90|NULL"}},
	{"required", "DROP COLUMN a", "9,'n'",
		outcome{"id INT NOT NULL, a INT, b VARCHAR(10)", evolveRows + " 9|NULL|n"}, outcome{"id INT NOT NULL, b VARCHAR(10)", "1|one 2|two 9|n"},
		outcome{"id INT NOT NULL, a INT, b VARCHAR(10)", evolveRows + " 9|NULL|n"}},
	{"wider", "MODIFY a BIGINT", "9,5000000000,'n'",
		outcome{"id INT NOT NULL, a BIGINT, b VARCHAR(10)", evolveRows + " 9|5000000000|n"}, outcome{"id INT NOT NULL, a BIGINT, b VARCHAR(10)", evolveRows + " 9|5000000000|n"},
		outcome{"stop its rows do not fit any more", evolveRows}},
	{"texts", "MODIFY a VARCHAR(20)", "9,'abc','n'",
		outcome{"id INT NOT NULL, a VARCHAR(20), b VARCHAR(10)", evolveRows + " 9|abc|n"}, outcome{"id INT NOT NULL, a VARCHAR(20), b VARCHAR(10)", evolveRows + " 9|abc|n"},
		outcome{"stop its rows do not fit any more", evolveRows}},
	{"swapped", "RENAME COLUMN a TO b, RENAME COLUMN b TO a", "9,90,'n'",
		outcome{"stop its rows do not fit any more", evolveRows}, outcome{"id INT NOT NULL, b INT NOT NULL, a VARCHAR(10)", evolveRows + " 9|90|n"}, outcome{"id INT NOT NULL, a INT, b VARCHAR(10)", evolveRows + " 9|NULL|NULL"}},
	{"truncated", "TRUNCATE", "9,90,'n'",
		outcome{evolveBase, evolveRows + " 9|90|n"}, outcome{"stop it was truncated; write allow-destructive", evolveRows}, outcome{evolveBase, evolveRows + " 9|90|n"}},
	{"recreated", "DROP", "9,90,'n'",
		outcome{evolveBase, evolveRows + " 9|90|n"}, outcome{evolveBase, evolveRows + " 9|90|n"}, outcome{evolveBase, evolveRows + " 9|90|n"}},
	{"commented", "COMMENT 'hello', ADD INDEX (a)", "9,90,'n'",
		outcome{evolveBase, evolveRows + " 9|90|n"}, outcome{evolveBase, evolveRows + " 9|90|n"}, outcome{evolveBase, evolveRows + " 9|90|n"}},
	{"rekeyed", "DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)", "9,90,'n'",
		outcome{"stop it was altered in a way that cannot be followed", evolveRows}, outcome{"stop it was altered in a way that cannot be followed", evolveRows}, outcome{"stop it was altered in a way that cannot be followed", evolveRows}},
}

// TestSchemaChanges: what each behaviour makes of each change, as Flink CDC was
// observed to do it; where that loses values silently, the table stops instead.
func TestSchemaChanges(t *testing.T) {
	srv := newServer(t)
	for _, behavior := range []string{"lenient", "evolve", "try_evolve", "strict_evolve", "ignore"} {
		t.Run(behavior, func(t *testing.T) {
			srv := *srv
			srv.t = t
			db := "of_" + behavior
			srv.exec("CREATE DATABASE " + db)
			for _, c := range schemaChanges {
				table := db + "." + c.name
				srv.exec(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(10)); INSERT INTO %s VALUES (1,10,'one'),(2,20,'two')", table, table))
			}
			l := newLake(t)
			r := start(t, l.options(), srv.yaml(db+`.\.*`, "  schema.change.behavior: "+behavior+"\n"))
			l.same(db+".wider", "1|10|one", "2|20|two")
			for _, c := range schemaChanges {
				table := db + "." + c.name
				switch c.ddl {
				case "TRUNCATE":
					srv.exec("TRUNCATE TABLE " + table)
				case "DROP":
					srv.exec("DROP TABLE "+table, "CREATE TABLE "+table+" (id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(10))")
				default:
					srv.exec("ALTER TABLE " + table + " " + c.ddl)
				}
				srv.exec("INSERT INTO " + table + " VALUES (" + c.row + ")")
			}
			for _, c := range schemaChanges {
				want := c.evolve
				switch behavior {
				case "lenient":
					want = c.lenient
				case "ignore":
					want = c.ignore
				}
				if behavior == "strict_evolve" && c.name == "recreated" { // copied again
					want.rows = "9|90|n"
				}
				table := db + "." + c.name
				l.same(table, strings.Split(want.rows, " ")...)
				if reason, ok := strings.CutPrefix(want.shape, "stop "); ok {
					eventually(t, func() string {
						if x := r.table(table); x.Phase != "stopped" || !strings.Contains(x.Error, reason) || !strings.Contains(x.Error, "drop the lake table") {
							return fmt.Sprintf("%s: %+v, want %q", table, x, reason)
						}
						return ""
					})
				} else if got := l.shape(table); got != want.shape {
					t.Errorf("%s: %s, want %s", table, got, want.shape)
				}
			}
			// A restart goes on where it was.
			end(t, r)
			srv.exec("UPDATE " + db + ".commented SET a = 7 WHERE id = 9")
			r = start(t, l.options(), srv.yaml(db+`.\.*`, "  schema.change.behavior: "+behavior+"\n"))
			l.same(db+".commented", "1|10|one", "2|20|two", "9|7|n")
		})
	}
}

// TestExceptionBehavior: any change ends the pipeline, unless it is excluded.
func TestExceptionBehavior(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
	l := newLake(t)
	yaml := srv.yaml("c.a", "  schema.change.behavior: exception\n")
	yaml = strings.Replace(yaml, "pipeline:\n", "  exclude.schema.changes: [add.column]\npipeline:\n", 1)
	r := start(t, l.options(), yaml)
	l.same("c.a", "1|1")
	srv.exec("ALTER TABLE c.a ADD w INT", "INSERT INTO c.a VALUES (2,2,2)")
	l.same("c.a", "1|1", "2|2")
	srv.exec("ALTER TABLE c.a DROP v")
	if why := failure(t, r); !strings.Contains(why, "schema.change.behavior is EXCEPTION: drop.column v") {
		t.Error(why)
	}
}

// TestTruncateFollowed: with leave, the lake table is emptied where the source
// was, at that place of the log.
func TestTruncateFollowed(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1),(2,2)")
	l := newLake(t)
	yaml := strings.Replace(srv.yaml("c.a", ""), "pipeline:\n", "  allow-destructive: [truncate.table]\npipeline:\n", 1)
	r := start(t, l.options(), yaml)
	l.same("c.a", "1|1", "2|2")
	srv.exec("BEGIN; INSERT INTO c.a VALUES (3,3); COMMIT; TRUNCATE TABLE c.a; INSERT INTO c.a VALUES (2,5)")
	l.same("c.a", "2|5")
	end(t, r)
	srv.exec("INSERT INTO c.a VALUES (3,3); TRUNCATE TABLE c.a; INSERT INTO c.a VALUES (4,4)")
	start(t, l.options(), yaml)
	l.same("c.a", "4|4")
}

// TestMigrationTools: gh-ost's and pt-osc's way of altering, twice in a row: the
// rows of their shadow tables are not the table's, their columns are in the end.
func TestMigrationTools(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.t (id INT PRIMARY KEY, v INT); INSERT INTO c.t VALUES (1,1),(2,2)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`c.\.*`, "  schema.change.behavior: evolve\n"))
	l.same("c.t", "1|1", "2|2")
	srv.exec("CREATE TABLE c._t_ghc (id INT PRIMARY KEY, hint VARCHAR(64)); CREATE TABLE c._t_gho LIKE c.t; ALTER TABLE c._t_gho ADD w INT, RENAME COLUMN v TO val",
		"INSERT INTO c._t_gho SELECT id, v, NULL FROM c.t", "UPDATE c.t SET v = 9 WHERE id = 1; UPDATE c._t_gho SET val = 9 WHERE id = 1",
		"RENAME TABLE c.t TO c._t_del, c._t_gho TO c.t", "INSERT INTO c.t VALUES (3,3,3)")
	l.same("c.t", "1|9|NULL", "2|2|NULL", "3|3|3")
	srv.exec("DROP TABLE c._t_del; CREATE TABLE c._t_new (id INT NOT NULL, val INT, w INT, PRIMARY KEY (id)); ALTER TABLE c._t_new DROP val, ADD x VARCHAR(5)",
		"INSERT INTO c._t_new (id, w) SELECT id, w FROM c.t; RENAME TABLE c.t TO c._t_old, c._t_new TO c.t; DROP TABLE c._t_old", "UPDATE c.t SET x = 'x' WHERE id = 3")
	l.same("c.t", "1|NULL|NULL", "2|NULL|NULL", "3|3|x")
	if got := l.shape("c.t"); got != "id INT NOT NULL, w INT, x VARCHAR(5)" {
		t.Error(got)
	}
	if n := len(r.Status()[0].Tables); n != 1 {
		t.Errorf("%d tables", n)
	}
}

// TestMigrationBegunBefore: of a migration whose shadow table was made before the
// pipeline came, the columns are not known: the table stops where it takes the
// name, with what was there before, and is copied again when asked for.
func TestMigrationBegunBefore(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.t (id INT PRIMARY KEY, v INT); INSERT INTO c.t VALUES (1,1),(2,2)", "CREATE TABLE c._t_gho LIKE c.t; ALTER TABLE c._t_gho ADD w INT; INSERT INTO c._t_gho VALUES (1,1,NULL)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`c.\.*`, "  schema.change.behavior: evolve\n"))
	l.same("c.t", "1|1", "2|2")
	srv.exec("INSERT INTO c._t_gho VALUES (2,2,NULL); UPDATE c.t SET v = 9 WHERE id = 1; UPDATE c._t_gho SET v = 9 WHERE id = 1", "RENAME TABLE c.t TO c._t_del, c._t_gho TO c.t", "INSERT INTO c.t VALUES (3,3,3)")
	eventually(t, func() string {
		if x := r.table("c.t"); x.Phase != "stopped" || !strings.Contains(x.Error, "RENAME TABLE") {
			return fmt.Sprintf("%+v", r.Status())
		}
		return ""
	})
	l.same("c.t", "1|9", "2|2")
	if err := r.Resnapshot(context.Background(), "test", "c.t"); err != nil {
		t.Fatal(err)
	}
	if err := r.Unpause(context.Background(), "test"); err != nil {
		t.Fatal(err)
	}
	l.same("c.t", "1|9|NULL", "2|2|NULL", "3|3|3")
}

// TestSwappedByHand: a table that takes another's place is a migration only when its
// name is one that a migration tool gives. Of any other nobody knows that it has all
// of the rows.
func TestSwappedByHand(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.t (id INT PRIMARY KEY, v INT); INSERT INTO c.t VALUES (1,1),(2,2)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml("c.t", "  schema.change.behavior: evolve\n"))
	l.same("c.t", "1|1", "2|2")
	srv.exec("CREATE TABLE c.t_swap LIKE c.t; INSERT INTO c.t_swap SELECT * FROM c.t WHERE id > 1", "RENAME TABLE c.t TO c.t_was, c.t_swap TO c.t", "INSERT INTO c.t VALUES (3,3)")
	eventually(t, func() string {
		if x := r.table("c.t"); x.Phase != "stopped" || !strings.Contains(x.Error, "another table was renamed to it") {
			return fmt.Sprintf("%+v", r.Status())
		}
		return ""
	})
	l.same("c.t", "1|1", "2|2")
	if err := r.Resnapshot(context.Background(), "test", "c.t"); err != nil {
		t.Fatal(err)
	}
	if err := r.Unpause(context.Background(), "test"); err != nil {
		t.Fatal(err)
	}
	l.same("c.t", "2|2", "3|3")
}
