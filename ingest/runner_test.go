package ingest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/source/generator"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a pipeline until the test's end.
func start(t *testing.T, o Options, yaml string) *Runner {
	t.Helper()
	r := NewRunner(o)
	if _, err := r.Execute(context.Background(), yaml); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func end(t *testing.T, r *Runner) {
	t.Helper()
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// failure waits until the pipeline has failed and returns why.
func failure(t *testing.T, r *Runner) string {
	t.Helper()
	why := ""
	eventually(t, func() string {
		s := r.Status()[0]
		if s.State != Failed {
			return fmt.Sprintf("the pipeline has not failed: %+v", s)
		}
		why = s.Error
		return ""
	})
	return why
}

func (r *Runner) table(name string) TableStatus {
	for _, t := range r.Status()[0].Tables {
		if t.Table == name {
			return t
		}
	}
	return TableStatus{}
}

func TestGenerator(t *testing.T) {
	l := newLake(t)
	o := l.options()
	o.Sources = map[string]source.Factory{"generator": generator.New}
	yaml := "source: {type: generator, rate: 200, limit: 300, start-delay: 10ms}\nsink: {type: paimon, catalog.properties.warehouse: x}\npipeline: {name: gen, commit.interval: 50ms}\nroute:\n  - {source-table: sales.orders, sink-table: dwd.orders_paimon}\n"
	r := start(t, o, yaml)
	eventually(t, func() string {
		if n := len(l.rows("dwd.orders_paimon")); n < 20 {
			return fmt.Sprintf("%d rows: %+v", n, r.Status())
		}
		return ""
	})
	end(t, r) // in its middle: it goes on where it was
	r = start(t, o, yaml)
	// 6 rows, the script adds 3; of 296 further transactions 60 update and 58 delete.
	want := 6 + 3
	for n := 5; n <= 300; n++ {
		switch {
		case n%5 == 4 && n-4 > 4:
			want--
		case n%5 != 3:
			want++
		}
	}
	eventually(t, func() string {
		if got := len(l.rows("dwd.orders_paimon")); got != want {
			return fmt.Sprintf("%d rows, want %d: %+v", got, want, r.Status())
		}
		return ""
	})
	if rows := l.rows("dwd.orders_paimon"); !strings.HasPrefix(rows[0], "10006|") && !strings.HasPrefix(rows[0], "1001|1|US|20.5|NEW|") {
		t.Errorf("%q", rows[:3])
	}
}

// TestTableStops: a changed table stops, the others go on; the stop survives a
// restart; without the lake table it is copied anew.
func TestTableStops(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); CREATE TABLE c.b (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1); INSERT INTO c.b VALUES (1,1)")
	l := newLake(t)
	yaml := srv.yaml(`c.\.*`, "")
	r := start(t, l.options(), yaml)
	srv.same(l, r, "c.a", "c.b")
	srv.onMariaDB("INET6, which no parser reads")
	srv.exec("INSERT INTO c.a VALUES (2,2)", "ALTER TABLE c.a ADD COLUMN w INET6", "INSERT INTO c.a VALUES (3,3,NULL)", "INSERT INTO c.b VALUES (2,2)")
	srv.same(l, r, "c.b")
	l.same("c.a", "1|1", "2|2")
	check := func(r *Runner) {
		t.Helper()
		eventually(t, func() string {
			if x := r.table("c.a"); x.Phase != "stopped" || !strings.Contains(x.Error, "cannot be read: ALTER TABLE c.a ADD COLUMN w INET6; CALL sys.resnapshot('test', 'c.a') copies it again") {
				return fmt.Sprintf("%+v", r.Status())
			}
			return ""
		})
	}
	check(r)
	eventually(t, func() string { // what the log has after the positions
		if a, b := r.table("c.a"), r.table("c.b"); a.LagBytes <= 0 || b.LagBytes != 0 {
			return fmt.Sprintf("%d and %d bytes behind", a.LagBytes, b.LagBytes)
		}
		return ""
	})
	end(t, r)
	srv.exec("INSERT INTO c.b VALUES (3,3)", "INSERT INTO c.a VALUES (4,4,'::4')")
	r = start(t, l.options(), yaml)
	srv.same(l, r, "c.b")
	check(r)
	l.same("c.a", "1|1", "2|2")
	end(t, r)
	if err := l.catalog.DropTable(context.Background(), catalog.Identifier{Database: "c", Table: "a"}); err != nil {
		t.Fatal(err)
	}
	r = start(t, l.options(), yaml)
	srv.same(l, r, "c.a", "c.b")
	srv.exec("UPDATE c.a SET w = '::9'")
	srv.same(l, r, "c.a")
	// The last table that stops ends the pipeline.
	srv.exec("ALTER TABLE c.b ADD w INET6", "ALTER TABLE c.a ADD x INET6")
	if why := failure(t, r); !strings.Contains(why, "2 table(s) stopped: c.a: a statement that names it cannot be read") || !strings.Contains(why, "c.b: a statement") {
		t.Error(why)
	}
}

// TestSchemaChangedWhileDown: what happened while the pipeline was down is read
// by the definition that was valid then.
func TestSchemaChangedWhileDown(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, e ENUM('x','y')); CREATE TABLE c.gone (id INT PRIMARY KEY); INSERT INTO c.a VALUES (1,'x'); INSERT INTO c.gone VALUES (1)")
	l := newLake(t)
	yaml := srv.yaml(`c.\.*`, "")
	r := start(t, l.options(), yaml)
	srv.same(l, r, "c.a", "c.gone")
	end(t, r)
	srv.exec("INSERT INTO c.a VALUES (2,'y')", "INSERT INTO c.gone VALUES (2)", "ALTER TABLE c.a MODIFY e ENUM('y','x')", "INSERT INTO c.a VALUES (3,'y')", "DROP TABLE c.gone")
	start(t, l.options(), yaml)
	l.same("c.a", "1|x", "2|y", "3|y")
	l.same("c.gone", "1", "2")
}

func TestRoutesToLake(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.o_1 (id INT PRIMARY KEY, v INT); CREATE TABLE c.o_2 (id INT PRIMARY KEY, v INT); INSERT INTO c.o_1 VALUES (1,1); INSERT INTO c.o_2 VALUES (2,2)",
		"CREATE TABLE c.p (id INT, day DATE NOT NULL, v INT, PRIMARY KEY (id)); INSERT INTO c.p VALUES (1,'2026-01-01',1),(2,'2026-01-02',2)")
	l := newLake(t)
	yaml := srv.yaml(`c.\.*`, "route:\n  - {source-table: 'c.o_[0-9]', sink-table: ods.merged}\n  - {source-table: c.o_1, sink-table: ods.copy}\n  - {source-table: c.p, sink-table: ods.p}\n")
	yaml = strings.Replace(yaml, "  catalog.properties.metastore: filesystem\n", "  catalog.properties.metastore: filesystem\n  partition.key: c.p:day\n  table.properties.bucket: 2\n", 1)
	r := start(t, l.options(), yaml)
	l.same("ods.merged", "1|1", "2|2")
	l.same("ods.copy", "1|1")
	l.same("ods.p", "1|20454|1", "2|20455|2")
	srv.exec("UPDATE c.o_1 SET v = 5", "INSERT INTO c.o_2 VALUES (3,3)", "UPDATE c.p SET day = '2026-01-03', v = 9 WHERE id = 1", "DELETE FROM c.o_2 WHERE id = 2")
	l.same("ods.merged", "1|5", "3|3")
	l.same("ods.copy", "1|5")
	l.same("ods.p", "1|20456|9", "2|20455|2")
	tb, err := l.catalog.Table(context.Background(), catalog.Identifier{Database: "ods", Table: "p"})
	if err != nil {
		t.Fatal(err)
	}
	s := tb.Schema()
	if fmt.Sprintf("%v %v %s", s.PrimaryKeys, s.PartitionKeys, s.Options["bucket"]) != "[id day] [day] 2" {
		t.Errorf("%v %v %v", s.PrimaryKeys, s.PartitionKeys, s.Options)
	}
	_ = r
}

// TestStartChecks: each way in which somebody else changed what the positions
// rely on is an error of its own.
func TestStartChecks(t *testing.T) {
	srv := newServer(t)
	identity, uuid := "mariadb server_id 1", ""
	if srv.mysql {
		if err := srv.db.QueryRow("SELECT @@server_uuid").Scan(&uuid); err != nil {
			t.Fatal(err)
		}
		identity = "mysql " + uuid
	}
	ctx := context.Background()
	id := catalog.Identifier{Database: "c", Table: "a"}
	for _, c := range []struct {
		name, want string
		damage     func(t *testing.T, l *lake)
	}{
		{"rolled back", "it was rolled back", func(t *testing.T, l *lake) {
			dir := filepath.Join(l.dir, "c.db", "a", "snapshot")
			entries, _ := os.ReadDir(dir)
			last := ""
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), "snapshot-") && (len(e.Name()) > len(last) || len(e.Name()) == len(last) && e.Name() > last) {
					last = e.Name()
				}
			}
			os.Remove(filepath.Join(dir, last))
			os.Remove(filepath.Join(dir, "LATEST"))
		}},
		{"created anew", "was created anew", func(t *testing.T, l *lake) {
			tb, _ := l.catalog.Table(ctx, id)
			s := *tb.Schema()
			s.TimeMillis = 0
			s.Options = map[string]string{"bucket": "3"}
			if err := l.catalog.DropTable(ctx, id); err != nil {
				t.Fatal(err)
			}
			foreign(t, l, id, &s)
		}},
		{"foreign rows", "has rows that this pipeline did not write", func(t *testing.T, l *lake) {
			tb, _ := l.catalog.Table(ctx, id)
			if err := l.catalog.DropTable(ctx, id); err != nil {
				t.Fatal(err)
			}
			os.RemoveAll(filepath.Join(l.dir, "_thermocline"))
			s := *tb.Schema()
			foreign(t, l, id, &s)
		}},
		{"restored state", "another process runs the pipeline, or the state was restored", func(t *testing.T, l *lake) {
			editState(t, l, `"epoch": 1`, `"epoch": 0`)
		}},
		{"other source", `but the source is now "` + identity + `", which cannot take over`, func(t *testing.T, l *lake) {
			if srv.mysql {
				editState(t, l, uuid, "aaaaaaaa-ecf8-11f1-bd0f-02fc00000001") // in its position too
				return
			}
			editState(t, l, `\"gtid\":\"0-1-`, `\"gtid\":\"7-1-`)
			editState(t, l, `"source": "mariadb server_id 1"`, `"source": "mariadb server_id 77"`)
		}},
		{"damaged state", "read pipeline state", func(t *testing.T, l *lake) { editState(t, l, `"epoch"`, `"epoch`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := *srv
			s.t = t
			s.exec("CREATE DATABASE IF NOT EXISTS c; CREATE OR REPLACE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
			l := newLake(t)
			yaml := s.yaml("c.a", "")
			r := start(t, l.options(), yaml)
			l.same("c.a", "1|1")
			s.exec("INSERT INTO c.a VALUES (2,2)")
			l.same("c.a", "1|1", "2|2")
			end(t, r)
			c.damage(t, l)
			r = start(t, l.options(), yaml)
			if why := failure(t, r); !strings.Contains(why, c.want) || strings.Contains(why, "\n") {
				t.Errorf("%q, want %q", why, c.want)
			}
		})
	}
}

// TestRolledBackWhileFollowed: a lake table that is rolled back under the pipeline
// stops at the next round instead of hiding the rows that are lost.
func TestRolledBackWhileFollowed(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); CREATE TABLE c.b (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`c.\.*`, ""))
	for i := 2; i < 5; i++ {
		srv.exec(fmt.Sprintf("INSERT INTO c.a VALUES (%d,%d)", i, i))
		srv.same(l, r, "c.a")
	}
	dir := filepath.Join(l.dir, "c.db", "a", "snapshot")
	eventually(t, func() string {
		if n := r.table("c.a").Rows; n < 4 {
			return fmt.Sprintf("%d rows are counted", n)
		}
		return ""
	})
	latest := r.table("c.a").Snapshot
	for _, name := range []string{fmt.Sprintf("snapshot-%d", latest), fmt.Sprintf("snapshot-%d", latest-1), "LATEST"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	srv.exec("INSERT INTO c.a VALUES (9,9)", "INSERT INTO c.b VALUES (9,9)")
	eventually(t, func() string {
		if x := r.table("c.a"); x.Phase != "stopped" || !strings.Contains(x.Error, "was rolled back, fast-forwarded or created anew while it was followed") {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	l.same("c.b", "9|9")
	l.same("c.a", "1|1", "2|2")
}

// TestOverwrittenWhileFollowed: rows that somebody else removes or replaces under a
// pipeline stop the table at the next round; what only adds, and what was done while
// the pipeline was paused, does not.
func TestOverwrittenWhileFollowed(t *testing.T) {
	ctx := context.Background()
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1),(2,2)")
	l := newLake(t)
	r := start(t, l.options(), srv.yaml(`c.\.*`, ""))
	srv.same(l, r, "c.a")
	somebody := func(overwrite bool, n int64) {
		t.Helper()
		tb, err := l.catalog.Table(ctx, catalog.Identifier{Database: "c", Table: "a"})
		if err != nil {
			t.Fatal(err)
		}
		k, err := tb.(connector.Writable).NewCommit(ctx, "somebody")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Commit(ctx, &connector.Committable{Identifier: n, EvenIfEmpty: true, Overwrite: overwrite}); err != nil {
			t.Fatal(err)
		}
	}
	somebody(false, 1)
	srv.exec("INSERT INTO c.a VALUES (3,3)")
	srv.same(l, r, "c.a")
	if err := r.Pause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	somebody(true, 2)
	if err := r.Unpause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	srv.exec("INSERT INTO c.a VALUES (4,4)")
	l.same("c.a", "4|4")
	somebody(true, 3)
	srv.exec("INSERT INTO c.a VALUES (5,5)", "CREATE TABLE c.b (id INT PRIMARY KEY)")
	eventually(t, func() string {
		if x := r.table("c.a"); x.Phase != "stopped" || !strings.Contains(x.Error, "removed or replaced by another writer") || !strings.Contains(x.Error, "user somebody") {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	l.same("c.a")
	eventually(t, func() string { // the last table that stopped ended the pipeline, or the new one is followed
		if err := r.Resnapshot(ctx, "test", "c.a"); err != nil {
			return err.Error()
		}
		return ""
	})
	srv.same(l, r, "c.a")
	srv.exec("INSERT INTO c.a VALUES (6,6)")
	srv.same(l, r, "c.a")
}

// foreign makes a table with one row by another user.
func foreign(t *testing.T, l *lake, id catalog.Identifier, s *catalog.Schema) {
	t.Helper()
	ctx := context.Background()
	tb, err := l.catalog.CreateTable(ctx, id, s, false)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tb.(connector.Writable).NewWrite(ctx, connector.WriteOptions{CommitUser: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	def := &source.Table{}
	for _, f := range s.Fields {
		def.Columns = append(def.Columns, source.Column{Name: f.Name, Type: f.Type})
	}
	b := def.NewBatch(1)
	for _, c := range b.Cols {
		c.AppendI32(7)
	}
	b.Len = 1
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	m, err := w.PrepareCommit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	k, err := tb.(connector.Writable).NewCommit(ctx, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit(ctx, &connector.Committable{Identifier: 1, Messages: m}); err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// editState changes the newest state file.
func editState(t *testing.T, l *lake, old, with string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(l.dir, "_thermocline", "cdc", "test", "state-*"))
	last := ""
	for _, f := range files {
		if len(f) > len(last) || len(f) == len(last) && f > last {
			last = f
		}
	}
	b, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s is not in %s", old, b)
	}
	if err := os.WriteFile(last, bytes.ReplaceAll(b, []byte(old), []byte(with)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestStateLost: without the pipeline's state the tables' own snapshots suffice,
// as long as the source's definitions are what they were.
func TestStateLost(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
	l := newLake(t)
	yaml := srv.yaml("c.a", "")
	r := start(t, l.options(), yaml)
	srv.same(l, r, "c.a")
	end(t, r)
	os.RemoveAll(filepath.Join(l.dir, "_thermocline"))
	srv.exec("INSERT INTO c.a VALUES (2,2)")
	r = start(t, l.options(), yaml)
	srv.same(l, r, "c.a")
	end(t, r)
	os.RemoveAll(filepath.Join(l.dir, "_thermocline"))
	srv.exec("ALTER TABLE c.a ADD COLUMN w INT")
	r = start(t, l.options(), yaml)
	if why := failure(t, r); !strings.Contains(why, "the pipeline's state in") || !strings.Contains(why, "is lost") {
		t.Error(why)
	}
}

// TestFenced: of two processes with one pipeline the older one ends.
func TestFenced(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
	l := newLake(t)
	yaml := srv.yaml("c.a", "")
	o := l.options()
	o.Files = nil
	old := start(t, o, yaml)
	srv.same(l, old, "c.a")
	now := start(t, o, yaml)
	eventually(t, func() string {
		if now.Status()[0].State != Streaming {
			return fmt.Sprintf("%+v", now.Status())
		}
		return ""
	})
	for i := range 5 {
		srv.exec(fmt.Sprintf("INSERT INTO c.a VALUES (%d, 1)", 10+i))
	}
	srv.same(l, now, "c.a")
	if why := failure(t, old); !strings.Contains(why, "another process runs the pipeline") && !strings.Contains(why, "epoch") {
		t.Error(why)
	}
	if s := now.Status()[0]; s.State != Streaming {
		t.Errorf("%+v", s)
	}
}

// TestUnknownOutcome: commits whose reply is lost are repeated, not redone.
func TestUnknownOutcome(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
	l := newLake(t)
	o := l.options()
	var calls atomic.Int64
	o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
		return &Lake{Catalog: doubtful{l.catalog, &calls}, Files: l.files, Root: l.dir}, nil
	}
	r := start(t, o, srv.yaml("c.a", ""))
	for i := range 6 {
		srv.exec(fmt.Sprintf("INSERT INTO c.a VALUES (%d, 1)", 10+i))
		srv.same(l, r, "c.a")
	}
	eventually(t, func() string {
		if s := r.Status()[0]; s.Reconnects > 0 || s.RowsCommitted != 7 {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
}

// doubtful is a catalog whose commits lose every second reply.
type doubtful struct {
	catalog.Writable
	calls *atomic.Int64
}

func (d doubtful) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ok bool) (catalog.Table, error) {
	t, err := d.Writable.CreateTable(ctx, id, s, ok)
	if err != nil {
		return nil, err
	}
	return doubtfulTable{t.(writableTable), d.calls}, nil
}

type doubtfulTable struct {
	writableTable
	calls *atomic.Int64
}

func (t doubtfulTable) NewCommit(ctx context.Context, user string) (connector.TableCommit, error) {
	k, err := t.writableTable.NewCommit(ctx, user)
	return doubtfulCommit{k, t.calls}, err
}

type doubtfulCommit struct {
	connector.TableCommit
	calls *atomic.Int64
}

func (k doubtfulCommit) Commit(ctx context.Context, c *connector.Committable) (connector.CommitResult, error) {
	n := k.calls.Add(1)
	if n%4 == 1 {
		return connector.CommitResult{}, errs.New(errs.UnknownOutcome, errs.KindNone, "the reply is lost, and nothing happened")
	}
	r, err := k.TableCommit.Commit(ctx, c)
	if err == nil && n%4 == 2 {
		return connector.CommitResult{}, errs.New(errs.UnknownOutcome, errs.KindNone, "the reply is lost")
	}
	return r, err
}

func TestStartupModes(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
	l := newLake(t)
	mode := func(m string) string {
		return strings.Replace(srv.yaml("c.a", ""), "  heartbeat.interval: 1s\n", "  heartbeat.interval: 1s\n  scan.startup.mode: "+m+"\n", 1)
	}
	def, err := pipeline.Load([]byte(mode("snapshot")), pipeline.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := RunFile(context.Background(), l.options(), def); err != nil {
		t.Fatal(err)
	}
	l.same("c.a", "1|1")
	l = newLake(t)
	r := start(t, l.options(), mode("latest-offset"))
	eventually(t, func() string {
		if s := r.Status()[0]; s.State != Streaming {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	srv.exec("INSERT INTO c.a VALUES (2,2)", "UPDATE c.a SET v = 5 WHERE id = 1")
	l.same("c.a", "1|5", "2|2")
}

// TestRefusals: what this version cannot do is said before anything is written.
func TestRefusals(t *testing.T) {
	srv := newServer(t)
	srv.onMariaDB("versioned tables, compressed columns")
	srv.exec("CREATE DATABASE c; CREATE TABLE c.nokey (id INT); CREATE TABLE c.geo (id INT PRIMARY KEY, p POINT); CREATE TABLE c.a (id INT PRIMARY KEY, v INT, w INT NOT NULL); CREATE TABLE c.b (id INT PRIMARY KEY, v BIGINT); CREATE TABLE c.k (k INT PRIMARY KEY, v BIGINT); " +
		"CREATE TABLE c.ver (id INT PRIMARY KEY) WITH SYSTEM VERSIONING; CREATE TABLE c.comp (id INT PRIMARY KEY, v TEXT COMPRESSED); CREATE TABLE c.child (id INT PRIMARY KEY, a INT, CONSTRAINT fk FOREIGN KEY (a) REFERENCES c.a (id) ON DELETE CASCADE)")
	l := newLake(t)
	for _, c := range []struct{ tables, more, want string }{
		{"c.geo", "", "the type point of column p"},
		{"c.ver", "", "system-versioned"},
		{"c.comp", "", "the compressed column v"},
		{"c.child", "", "its foreign key fk changes rows by ON DELETE CASCADE"},
		{"c.missing", "", "the pattern c.missing matches no table that the account sees; the nearest is"},
		{"c.(a|k)", "route:\n  - {source-table: 'c.(a|k)', sink-table: o.x}\n", "merging c.a and c.k into o.x: their keys (id; k) or partition columns differ"},
		{"c.a", "partition c.a:v", "the column may be NULL in c.a"},
		{"c.a", "partition c.a:zz", "has no column zz"},
		{"c.a", "partition c.a:id", "the partition columns are the whole key"},
		{"c.a", "partition c.q:id", "the pattern c.q matches no captured table"},
	} {
		yaml := srv.yaml(c.tables, c.more)
		if p, ok := strings.CutPrefix(c.more, "partition "); ok {
			yaml = strings.Replace(srv.yaml(c.tables, ""), "  catalog.properties.metastore: filesystem\n", "  partition.key: "+p+"\n", 1)
		}
		def, err := pipeline.Load([]byte(yaml), pipeline.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, planErr := MakePlan(context.Background(), l.options(), def)
		runErr := RunFile(context.Background(), l.options(), def)
		for _, err := range []error{planErr, runErr} {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", c.tables, err, c.want)
			}
		}
	}
	def, err := pipeline.Load([]byte(srv.yaml("c.b", "")), pipeline.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other := newLake(t)
	o := other.options()
	o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
		return &Lake{Catalog: unwritable{other.catalog}, Files: other.files, Root: other.dir}, nil
	}
	if err := RunFile(context.Background(), o, def); err == nil || !strings.Contains(err.Error(), "does not support writing it") {
		t.Error(err)
	}
	if _, err := other.catalog.Table(context.Background(), catalog.Identifier{Database: "c", Table: "b"}); errs.KindOf(err) != errs.UnknownTable {
		t.Errorf("a table that cannot be written stayed: %v", err)
	}
	if dbs, err := l.catalog.Databases(context.Background()); err != nil || len(dbs) > 0 {
		t.Errorf("databases %v were made (%v)", dbs, err)
	}
	for _, typ := range []string{"postgres", "papaya"} {
		def, err := pipeline.Load([]byte("source: {type: "+typ+", tables: a.b}\nsink: {type: values}\n"), pipeline.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := RunFile(context.Background(), l.options(), def); err == nil || !strings.Contains(err.Error(), "source type "+typ) {
			t.Error(err)
		}
	}
}

// unwritable is a catalog whose tables cannot be written.
type unwritable struct{ catalog.Writable }

func (u unwritable) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ok bool) (catalog.Table, error) {
	t, err := u.Writable.CreateTable(ctx, id, s, ok)
	if err != nil {
		return nil, err
	}
	return unwritableTable{t.(writableTable)}, nil
}

type unwritableTable struct{ writableTable }

func (unwritableTable) NewWrite(context.Context, connector.WriteOptions) (connector.TableWrite, error) {
	return nil, errs.Unsupportedf(-1, "writing it")
}

func TestPlan(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id BIGINT UNSIGNED PRIMARY KEY, flag BOOLEAN, at DATETIME(3) NOT NULL, name VARCHAR(20) CHARACTER SET latin1, amount DECIMAL(12,2), state ENUM('x','y'))")
	l := newLake(t)
	def, err := pipeline.Load([]byte(srv.yaml("c.a", "")), pipeline.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(context.Background(), l.options(), def)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := p.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`pipeline  test
source    mysql 127.0.0.1:%d (startup: initial)
sink      paimon
commits   every 100ms
tables    1

c.a  <-  c.a
  key      id
  buckets  1
  id      DECIMAL(20, 0) NOT NULL  bigint unsigned
  flag    TINYINT                  tinyint(1)
  at      TIMESTAMP(3)             
  name    VARCHAR(20)              varchar(20) collate latin1_swedish_ci
  amount  DECIMAL(12, 2)           
  state   STRING                   enum('x','y') collate %s

warnings
  c.a: nullable in the lake, since a zero date becomes NULL: at
  c.a: TINYINT(1) stays TINYINT (treat-tinyint1-as-boolean.enabled is false here by default): flag
`, srv.Port, map[bool]string{false: "utf8mb4_general_ci", true: "utf8mb4_0900_ai_ci"}[srv.mysql])
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	if dbs, _ := l.catalog.Databases(context.Background()); len(dbs) > 0 {
		t.Errorf("plan made %v", dbs)
	}
}

func TestValues(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v VARCHAR(10), d DATE, b BINARY(2), t TIMESTAMP(3) NULL, n DECIMAL(5,2)); SET time_zone='+00:00'; INSERT INTO c.a VALUES (1,'x','2026-02-03',X'01',  '2026-01-01 00:00:00.5', 1.5),(2,NULL,NULL,NULL,NULL,NULL)")
	var out bytes.Buffer
	o := newLake(t).options()
	o.Out = &out
	yaml := strings.Replace(srv.yaml("c.a", ""), "  heartbeat.interval: 1s\n", "  scan.startup.mode: snapshot\n", 1)
	yaml = strings.Replace(yaml, "  type: paimon\n  catalog.properties.metastore: filesystem\n", "  type: values\n", 1)
	def, err := pipeline.Load([]byte(yaml), pipeline.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := RunFile(context.Background(), o, def); err != nil {
		t.Fatal(err)
	}
	want := "c.a +I[1, x, 2026-02-03, 0x0100, 2026-01-01 00:00:00.500 UTC, 1.50]\nc.a +I[2, NULL, NULL, NULL, NULL, NULL]\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestLargeTransaction: a transaction larger than the memory that ingest has is
// written to files and committed at its end.
func TestLargeTransaction(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT, w VARCHAR(200)); CREATE TABLE c.b (id INT PRIMARY KEY, w VARCHAR(200)); INSERT INTO c.b VALUES (1,'x')")
	l := newLake(t)
	o := l.options()
	o.Budget = memory.New("ingest", 12<<20)
	r := start(t, o, srv.yaml(`c.\.*`, ""))
	srv.same(l, r, "c.a", "c.b")
	srv.exec("BEGIN; INSERT INTO c.a SELECT seq, seq, REPEAT('w', 150) FROM seq_1_to_120000; INSERT INTO c.b VALUES (2,'y'); COMMIT")
	eventually(t, func() string {
		if s := r.Status()[0]; s.RowsCommitted != 120002 {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	srv.same(l, r, "c.a", "c.b")
	end(t, r)
	if n := o.Budget.Used(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}

// TestRunnerControl: names, stopping, dropping, running again.
func TestRunnerControl(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a VALUES (1,1)")
	l := newLake(t)
	ctx := context.Background()
	yaml := srv.yaml("c.a", "")
	r := start(t, l.options(), yaml)
	srv.same(l, r, "c.a")
	for range 2 { // the same again changes nothing
		if name, err := r.Execute(ctx, yaml); name != "test" || err != nil {
			t.Error(name, err)
		}
	}
	if _, err := r.Execute(ctx, strings.Replace(yaml, "name: test", "x: y", 1)); err == nil {
		t.Error("a pipeline without a name was taken")
	}
	if err := r.Pause(ctx, "nobody"); errs.KindOf(err) != errs.UnknownPipeline {
		t.Error(err)
	}
	if err := r.Pause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	if s := r.Status()[0]; s.State != Paused || r.Writer(l.dir, "c.a") != "" {
		t.Errorf("%+v", s)
	}
	end(t, r)
	r = NewRunner(l.options())
	if err := r.Resume(ctx); err != nil || len(r.Status()) != 1 || r.Status()[0].State != Paused {
		t.Errorf("a paused pipeline was resumed: %+v %v", r.Status(), err)
	}
	srv.exec("INSERT INTO c.a VALUES (2,2)")
	if err := r.Unpause(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	srv.same(l, r, "c.a")
	if w := r.Writer(l.dir, "c.a"); w != "test" || r.Writer(l.dir, "c.b") != "" || r.Writer("elsewhere", "c.a") != "" {
		t.Errorf("the writer is %q", w)
	}
	if _, err := r.Execute(ctx, strings.Replace(yaml, "100 ms", "50 ms", 1)); err != nil {
		t.Fatal(err)
	}
	srv.same(l, r, "c.a")
	if _, err := r.Execute(ctx, yaml); err != nil { // another text: a restart
		t.Fatal(err)
	}
	srv.exec("INSERT INTO c.a VALUES (3,3)")
	srv.same(l, r, "c.a")
	if err := r.Drop(ctx, "test"); err != nil || len(r.Status()) != 0 {
		t.Error(err, r.Status())
	}
	end(t, r)
	if _, err := r.Execute(ctx, yaml); errs.KindOf(err) != errs.ShuttingDown {
		t.Error(err)
	}
}

// TestTypesInLake: every kind of type goes into a table and comes out again, the
// same from the copy and from the stream.
func TestTypesInLake(t *testing.T) {
	srv := newServer(t)
	srv.onMariaDB("UUID, INET6; the source's own tests have MySQL's types")
	srv.exec(`CREATE DATABASE z; CREATE TABLE z.t (id BIGINT UNSIGNED, k BINARY(4), n INT, t1 TINYINT UNSIGNED, t2 TINYINT(1), s1 SMALLINT UNSIGNED, m1 MEDIUMINT UNSIGNED, i1 INT UNSIGNED, b1 BIGINT, y YEAR,
		d1 DECIMAL(18,4), d2 DECIMAL(38,10), d3 DECIMAL(65,30), f1 FLOAT, f2 DOUBLE, x1 BIT(10), dt DATE, tm TIME(6), a0 DATETIME, a6 DATETIME(6) NOT NULL, p0 TIMESTAMP NULL, p6 TIMESTAMP(6) NULL,
		c CHAR(10), v VARCHAR(300), l VARCHAR(20) CHARACTER SET latin1, g VARCHAR(20) CHARACTER SET gbk, x LONGTEXT, j JSON, vb VARBINARY(300), bl LONGBLOB, e ENUM('a','b''c'), st SET('a','b'), u UUID, i6 INET6, z INT GENERATED ALWAYS AS (n + 1) VIRTUAL,
		PRIMARY KEY (k, id))`,
		`SET time_zone='+00:00', sql_mode=''; INSERT INTO z.t (id, k, n, t1, t2, s1, m1, i1, b1, y, d1, d2, d3, f1, f2, x1, dt, tm, a0, a6, p0, p6, c, v, l, g, x, j, vb, bl, e, st, u, i6) VALUES
		(18446744073709551615, X'0100', 0, 255, -1, 65535, 16777215, 4294967295, -9223372036854775808, 2155, -12345678901234.5678, -1234567890123456789012345678.0123456789, 0.000000000000000000000000000001, 0.1, 1e-300, b'1000000001',
			'0001-01-01', '-838:59:59', '9999-12-31 23:59:59', '1969-12-31 23:59:59.999999', '1970-01-01 00:00:01', '2038-01-19 03:14:07.999999', 'abc', '日本😀', 'öä€', '中文', REPEAT('x', 100000), '{"a": 1}', X'0000', X'00FF', 'b''c', 'a,b', '123e4567-e89b-12d3-a456-426655440000', '2001:db8::1'),
		(9223372036854775808, X'', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, -99999999999999999999999999999999999, -0e0, 1.5, b'0', '0000-00-00', '00:00:00', '0000-00-00', '0000-00-00', '0000-00-00', '0000-00-00', '', '', '', '', '', '[]', '', '', 'bogus', '', NULL, NULL),
		(0, X'FFFFFFFF', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
	l := newLake(t)
	r := start(t, l.options(), srv.yaml("z.t", ""))
	eventually(t, func() string {
		if n := len(l.rows("z.t")); n != 3 {
			return fmt.Sprintf("%d rows: %+v", n, r.Status())
		}
		return ""
	})
	copied := l.rows("z.t")
	srv.exec("UPDATE z.t SET n = 1")
	eventually(t, func() string {
		streamed := l.rows("z.t")
		for i := range copied {
			if i >= len(streamed) {
				return fmt.Sprintf("%d rows", len(streamed))
			}
			was, is := strings.Split(copied[i], "|"), strings.Split(streamed[i], "|")
			if is[2] != "1" {
				return fmt.Sprintf("row %d is not updated: %+v", i, r.Status())
			}
			is[2], is[len(is)-1] = was[2], was[len(was)-1]
			if strings.Join(was, "|") != strings.Join(is, "|") {
				t.Fatalf("the copy has %.500q, the stream %.500q", was, is)
			}
		}
		return ""
	})
	want := "18446744073709551615|\x01\x00\x00\x00|1|255|-1|65535|16777215|4294967295|-9223372036854775808|2155|-12345678901234.5678|-1234567890123456789012345678.0123456789|0.000000000000000000000000000001|"
	if got := l.rows("z.t"); !strings.HasPrefix(got[1], want) || !strings.HasSuffix(got[1], "|2") {
		t.Errorf("%.600q", got[1])
	}
	if n := r.Status()[0].Invalid; n != 10 {
		t.Errorf("%d zero dates were counted", n)
	}
}
