package ingest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// crash is a process that dies at the n-th step of writing: from then on every
// write to the lake and to the pipeline's state fails, and some steps happen
// although their reply is lost, as with kill -9.
type crash struct {
	left    atomic.Int64 // steps until death
	dead    atomic.Bool
	applied atomic.Bool // the fatal step happened all the same
}

var errDead = errs.New(errs.Unavailable, errs.KindNone, "the process is dead")

// step reports whether the operation may go on, and whether its result is lost.
func (c *crash) step() (do, lost bool) {
	if c.dead.Load() {
		return false, true
	}
	if c.left.Add(-1) < 0 && c.dead.CompareAndSwap(false, true) {
		return c.applied.Load(), true
	}
	return !c.dead.Load(), false
}

// crashCatalog wraps tables so that their writers and committers crash.
type crashCatalog struct {
	catalog.Writable
	c *crash
}

func (k crashCatalog) Table(ctx context.Context, id catalog.Identifier) (catalog.Table, error) {
	t, err := k.Writable.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	return crashTable{t.(writableTable), k.c}, nil
}

func (k crashCatalog) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ifNotExists bool) (catalog.Table, error) {
	do, lost := k.c.step()
	if !do {
		return nil, errDead
	}
	t, err := k.Writable.CreateTable(ctx, id, s, ifNotExists)
	if lost {
		return nil, errDead
	}
	if err != nil {
		return nil, err
	}
	return crashTable{t.(writableTable), k.c}, nil
}

func (k crashCatalog) AlterTable(ctx context.Context, id catalog.Identifier, changes []catalog.SchemaChange) error {
	do, lost := k.c.step()
	if !do {
		return errDead
	}
	err := k.Writable.(catalog.Altering).AlterTable(ctx, id, changes)
	if lost {
		return errDead
	}
	return err
}

func (k crashCatalog) RenameTable(ctx context.Context, from, to catalog.Identifier) error {
	return k.Writable.(catalog.Altering).RenameTable(ctx, from, to)
}

type writableTable interface {
	connector.Writable
	connector.Readable
}

type crashTable struct {
	writableTable
	c *crash
}

func (t crashTable) NewWrite(ctx context.Context, o connector.WriteOptions) (connector.TableWrite, error) {
	w, err := t.writableTable.NewWrite(ctx, o)
	if err != nil {
		return nil, err
	}
	return crashWrite{w, t.c}, nil
}

func (t crashTable) NewCommit(ctx context.Context, user string) (connector.TableCommit, error) {
	k, err := t.writableTable.NewCommit(ctx, user)
	if err != nil {
		return nil, err
	}
	return crashCommit{k, t.c}, nil
}

type crashWrite struct {
	connector.TableWrite
	c *crash
}

func (w crashWrite) PrepareCommit(ctx context.Context) ([]connector.CommitMessage, error) {
	do, lost := w.c.step()
	if !do || lost {
		return nil, errDead
	}
	return w.TableWrite.PrepareCommit(ctx)
}

type crashCommit struct {
	connector.TableCommit
	c *crash
}

func (k crashCommit) Commit(ctx context.Context, x *connector.Committable) (connector.CommitResult, error) {
	do, lost := k.c.step()
	if !do {
		return connector.CommitResult{}, errDead
	}
	r, err := k.TableCommit.Commit(ctx, x)
	if lost {
		return connector.CommitResult{}, errDead
	}
	return r, err
}

// crashFiles is a store whose changes are steps.
type crashFiles struct {
	fileio.FileIO
	c *crash
}

func (f crashFiles) change(op func() error) error {
	do, lost := f.c.step()
	if !do {
		return errDead
	}
	err := op()
	if lost {
		return errDead
	}
	return err
}

func (f crashFiles) CreateExclusive(ctx context.Context, p string, b []byte) error {
	return f.change(func() error { return f.FileIO.CreateExclusive(ctx, p, b) })
}

func (f crashFiles) WriteFile(ctx context.Context, p string, b []byte) error {
	return f.change(func() error { return f.FileIO.WriteFile(ctx, p, b) })
}

func (f crashFiles) Remove(ctx context.Context, p string) error {
	return f.change(func() error { return f.FileIO.Remove(ctx, p) })
}

func (f crashFiles) RemoveAll(ctx context.Context, p string) error {
	return f.change(func() error { return f.FileIO.RemoveAll(ctx, p) })
}

func (f crashFiles) ReadFile(ctx context.Context, p string) ([]byte, error) {
	if f.c.dead.Load() {
		return nil, errDead
	}
	return f.FileIO.ReadFile(ctx, p)
}

func (f crashFiles) List(ctx context.Context, p string) ([]fileio.Info, error) {
	if f.c.dead.Load() {
		return nil, errDead
	}
	return f.FileIO.List(ctx, p)
}

func (f crashFiles) Create(ctx context.Context, p string) (fileio.Writer, error) {
	if f.c.dead.Load() {
		return nil, errDead
	}
	w, err := f.FileIO.Create(ctx, p)
	if err != nil {
		return nil, err
	}
	return crashWriter{w, f}, nil
}

type crashWriter struct {
	fileio.Writer
	f crashFiles
}

func (w crashWriter) Close() error {
	err := w.f.change(w.Writer.Close)
	if err != nil {
		w.Writer.Abort()
	}
	return err
}

// TestCrashEverywhere kills the pipeline at each step of writing in turn, while
// the source changes, and starts it again; in the end the lake equals the source.
func TestCrashEverywhere(t *testing.T) {
	rounds := 32
	if testing.Short() {
		rounds = 8
	}
	t.Run("calls", func(t *testing.T) {
		l := newMemoryLake(t)
		crashes(t, l, rounds, 23, func(c *crash) *Lake {
			return &Lake{Catalog: crashCatalog{l.catalog, c}, Files: crashFiles{l.files, c}, Root: l.dir}
		})
	})
	t.Run("chunks", func(t *testing.T) {
		inChunks(t, 23)
		l := newLake(t)
		crashes(t, l, rounds/2, 61, func(c *crash) *Lake {
			return &Lake{Catalog: crashCatalog{l.catalog, c}, Files: crashFiles{l.files, c}, Root: l.dir}
		})
	})
	t.Run("schema", func(t *testing.T) {
		inChunks(t, 23)
		l := newLake(t)
		crashes(t, l, rounds/2, 61, func(c *crash) *Lake {
			return &Lake{Catalog: crashCatalog{l.catalog, c}, Files: crashFiles{l.files, c}, Root: l.dir}
		}, alterations)
	})
	t.Run("tables", func(t *testing.T) {
		l := newLake(t)
		crashes(t, l, rounds/2, 61, func(c *crash) *Lake {
			return &Lake{Catalog: crashCatalog{l.catalog, c}, Files: crashFiles{l.files, c}, Root: l.dir}
		}, comings)
	})
	t.Run("files", func(t *testing.T) {
		l := newLake(t)
		crashes(t, l, rounds, 97, func(c *crash) *Lake {
			files := crashFiles{l.files, c}
			return &Lake{Catalog: l.reopen(files), Files: files, Root: l.dir}
		})
	})
}

// alterations changes the columns of c.s at random, and its rows.
func alterations(srv *server) ([]string, string, func(*rand.Rand)) {
	srv.exec("CREATE TABLE c.s (id INT PRIMARY KEY, a0 INT); INSERT INTO c.s SELECT seq, seq FROM seq_1_to_200")
	columns, next := []string{"a0"}, 0
	return []string{"c.s"}, "evolve", func(rnd *rand.Rand) {
		i := rnd.IntN(len(columns))
		next++
		switch x := rnd.IntN(12); {
		case x == 0:
			columns = append(columns, fmt.Sprintf("a%d", next))
			srv.exec(fmt.Sprintf("ALTER TABLE c.s ADD COLUMN a%d INT", next))
		case x == 1 && len(columns) > 1:
			srv.exec("ALTER TABLE c.s DROP COLUMN " + columns[i])
			columns = append(columns[:i:i], columns[i+1:]...)
		case x == 2:
			srv.exec(fmt.Sprintf("ALTER TABLE c.s RENAME COLUMN %s TO a%d", columns[i], next))
			columns[i] = fmt.Sprintf("a%d", next)
		case x == 3 && len(columns) > 1:
			j := (i + 1) % len(columns)
			srv.exec(fmt.Sprintf("ALTER TABLE c.s RENAME COLUMN %[1]s TO %[2]s, RENAME COLUMN %[2]s TO %[1]s", columns[i], columns[j]))
			columns[i], columns[j] = columns[j], columns[i]
		case x == 4:
			srv.exec(fmt.Sprintf("ALTER TABLE c.s MODIFY %s BIGINT", columns[i]))
		case x < 8:
			srv.exec(fmt.Sprintf("INSERT INTO c.s (id, %s) VALUES (%d, %d)", columns[i], 1000+next, next))
		case x < 11:
			srv.exec(fmt.Sprintf("UPDATE c.s SET %s = %d WHERE id %% 5 = %d", columns[i], next, rnd.IntN(5)))
		default:
			srv.exec(fmt.Sprintf("DELETE FROM c.s WHERE id %% 41 = %d", rnd.IntN(41)))
		}
	}
}

// comings makes tables, drops them, swaps them, and fills new columns, at random.
func comings(srv *server) ([]string, string, func(*rand.Rand)) {
	names, columns, next := []string{"c.g0", "c.g1", "c.g2"}, map[string]int{}, 0
	for _, n := range names[:2] {
		srv.exec("CREATE TABLE " + n + " (id INT PRIMARY KEY, v INT); INSERT INTO " + n + " SELECT seq, seq FROM seq_1_to_50")
	}
	there := map[string]bool{names[0]: true, names[1]: true}
	return names[:2], "strict_evolve", func(rnd *rand.Rand) {
		n := names[rnd.IntN(len(names))]
		next++
		switch x := rnd.IntN(16); {
		case !there[n]:
			srv.exec("CREATE TABLE "+n+" (id INT PRIMARY KEY, v INT)", fmt.Sprintf("INSERT INTO %s VALUES (%d, 1)", n, next))
			there[n], columns[n] = true, 0
		case x == 0 && n == names[2]:
			srv.exec("DROP TABLE " + n)
			there[n] = false
		case x == 1 && !srv.mysql: // without it a table is gone for a moment, and its rows stay
			srv.exec("CREATE OR REPLACE TABLE " + n + " (id INT PRIMARY KEY, v INT)")
			columns[n] = 0
		case x == 2:
			columns[n]++
			srv.exec(fmt.Sprintf("ALTER TABLE %s ADD x%d INT DEFAULT %d", n, columns[n], next))
		case x == 3:
			srv.exec("CREATE TABLE c.z LIKE "+n, "INSERT INTO c.z SELECT * FROM "+n+" WHERE id % 3 > 0", "RENAME TABLE "+n+" TO c.y, c.z TO "+n, "DROP TABLE c.y")
		case x < 8:
			srv.exec(fmt.Sprintf("INSERT INTO %s (id, v) VALUES (%d, %d)", n, 1000+next, next))
		case x < 13:
			srv.exec(fmt.Sprintf("UPDATE %s SET v = v + 1 WHERE id %% 5 = %d", n, rnd.IntN(5)))
		default:
			srv.exec(fmt.Sprintf("DELETE FROM %s WHERE id %% 41 = %d", n, rnd.IntN(41)))
		}
	}
}

func crashes(t *testing.T, l *lake, rounds, steps int, open func(*crash) *Lake, more ...func(*server) ([]string, string, func(*rand.Rand))) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT, w VARCHAR(20)); CREATE TABLE c.b (k1 INT, k2 VARCHAR(10), v INT, PRIMARY KEY (k1, k2)); CREATE TABLE c.idle (id INT PRIMARY KEY)",
		"INSERT INTO c.a SELECT seq, seq, 'old' FROM seq_1_to_500; INSERT INTO c.b SELECT seq, 'x', seq FROM seq_1_to_100; INSERT INTO c.idle VALUES (1)")
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	next := 1000
	var extra []func(*rand.Rand)
	names, behavior := []string{"c.a", "c.b", "c.idle"}, ""
	for _, m := range more {
		tables, b, x := m(srv)
		extra = append(extra, x)
		names, behavior = append(names, tables...), "  schema.change.behavior: "+b+"\n"
	}
	change := func() {
		for _, x := range extra {
			x(rnd)
		}
		next++
		switch rnd.IntN(7) {
		case 0:
			srv.exec(fmt.Sprintf("INSERT INTO c.a VALUES (%d, 1, 'new')", next))
		case 1:
			srv.exec(fmt.Sprintf("UPDATE c.a SET v = v + 1 WHERE id %% 7 = %d", rnd.IntN(7)))
		case 2:
			srv.exec(fmt.Sprintf("DELETE FROM c.a WHERE id %% 31 = %d", rnd.IntN(31)))
		case 3:
			srv.exec(fmt.Sprintf("UPDATE IGNORE c.b SET k1 = k1 + 10000, v = v + 1 WHERE k1 %% 13 = %d", rnd.IntN(13)))
		case 4:
			srv.exec(fmt.Sprintf("BEGIN; INSERT INTO c.a VALUES (%d, 2, 'both'); INSERT INTO c.b VALUES (%d, 'both', 2); UPDATE c.a SET v = -v WHERE id < 50; COMMIT", next, next))
		case 5:
			srv.exec("BEGIN; DELETE FROM c.a WHERE id < 100; ROLLBACK")
		case 6:
			srv.exec(fmt.Sprintf("REPLACE INTO c.b VALUES (%d, 'x', %d)", rnd.IntN(120), next))
		}
	}
	died := 0
	for n := range rounds {
		c := &crash{}
		c.left.Store(int64(n * 7 % steps))
		c.applied.Store(n%2 == 0)
		o := l.options()
		o.OpenLake = func(context.Context, map[string]string) (*Lake, error) { return open(c), nil }
		r := NewRunner(o)
		if _, err := r.Execute(ctx, srv.yaml(`c.\.*`, behavior)); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 40 && !c.dead.Load(); i++ {
			change()
			if len(extra) > 0 && i == 10 && n%3 == 0 {
				soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
				if err := r.Repair(soon, "test", []string{"c.a", "c.b"}[n%2]); err != nil {
					t.Log(err)
				}
				cancel()
			}
			time.Sleep(time.Duration(rnd.IntN(15)) * time.Millisecond)
		}
		if c.dead.Swap(true) {
			died++
		}
		if err := r.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if died < rounds/3 {
		t.Errorf("only %d of %d runs died at their step", died, rounds)
	}
	r := NewRunner(l.options())
	if _, err := r.Execute(ctx, srv.yaml(`c.\.*`, behavior)); err != nil {
		t.Fatal(err)
	}
	defer r.Close(ctx)
	srv.same(l, r, names...)
	checkHistory(t, l, "c.a")
}

// checkHistory verifies that the positions of a pipeline's snapshots only grow.
func checkHistory(t *testing.T, l *lake, name string) {
	t.Helper()
	ctx := context.Background()
	db, table, _ := strings.Cut(name, ".")
	tb, err := l.catalog.Table(ctx, catalog.Identifier{Database: db, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	k, err := tb.(connector.Writable).NewCommit(ctx, "cdc-test")
	if err != nil {
		t.Fatal(err)
	}
	own, err := k.LatestOwn(ctx)
	if err != nil || own == nil {
		t.Fatal(own, err)
	}
	for _, p := range []string{"cdc.pipeline", "cdc.epoch", "cdc.seq", "cdc.source", "cdc.position", "cdc.phase", "cdc.schema"} {
		if own.Properties[p] == "" {
			t.Errorf("the snapshot has no property %s: %v", p, own.Properties)
		}
	}
}

// same waits until the lake tables equal the source's.
func (s *server) same(l *lake, r *Runner, names ...string) {
	s.t.Helper()
	for _, name := range names {
		eventually(s.t, func() string {
			want := s.rows(name)
			got := l.rows(name)
			if strings.Join(got, "\n") == strings.Join(want, "\n") {
				return ""
			}
			return fmt.Sprintf("%s: %s; %+v", name, firstDiff(got, want), r.Status())
		})
	}
}

func firstDiff(got, want []string) string {
	in := map[string]int{}
	for _, w := range want {
		in[w]++
	}
	for _, g := range got {
		in[g]--
	}
	var more, less []string
	for k, n := range in {
		if n < 0 && len(more) < 5 {
			more = append(more, k)
		}
		if n > 0 && len(less) < 5 {
			less = append(less, k)
		}
	}
	return fmt.Sprintf("%d rows, the source has %d; not in the source %q, not in the lake %q", len(got), len(want), more, less)
}

// rows reads a source table as text in the form of lake.rows.
func (s *server) rows(name string) []string {
	s.t.Helper()
	rs, err := s.db.Query("SELECT * FROM " + name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rs.Close()
	cols, err := rs.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for rs.Next() {
		vals := make([]*string, len(cols))
		dest := make([]any, len(cols))
		for i := range vals {
			dest[i] = &vals[i]
		}
		if err := rs.Scan(dest...); err != nil {
			s.t.Fatal(err)
		}
		parts := make([]string, len(cols))
		for i, v := range vals {
			parts[i] = "NULL"
			if v != nil {
				parts[i] = *v
			}
		}
		out = append(out, strings.Join(parts, "|"))
	}
	if err := rs.Err(); err != nil {
		s.t.Fatal(err)
	}
	sortStrings(out)
	return out
}

// proxy forwards TCP connections and can cut them.
type proxy struct {
	l      net.Listener
	target string
	mu     sync.Mutex
	conns  map[net.Conn]bool
	limit  int64 // bytes from the server before a connection is cut; 0 is none
	wg     sync.WaitGroup
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, target: target, conns: map[net.Conn]bool{}}
	p.wg.Add(1)
	go p.accept()
	t.Cleanup(func() { l.Close(); p.cut(0); p.wg.Wait() })
	return p
}

func (p *proxy) port() int { return p.l.Addr().(*net.TCPAddr).Port }

func (p *proxy) accept() {
	defer p.wg.Done()
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", p.target)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		p.conns[c], p.conns[s] = true, true
		limit := p.limit
		p.mu.Unlock()
		p.wg.Add(2)
		go func() { defer p.wg.Done(); io.Copy(s, c); s.Close(); c.Close() }()
		go func() {
			defer p.wg.Done()
			if limit > 0 {
				io.CopyN(c, s, limit)
			} else {
				io.Copy(c, s)
			}
			s.Close()
			c.Close()
		}()
	}
}

// cut ends all connections; later ones end after limit bytes.
func (p *proxy) cut(limit int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
	p.limit = limit
}

// TestConnectionCut cuts the connection again and again, at random bytes, during
// the copy and the following.
func TestConnectionCut(t *testing.T) {
	srv := newServer(t)
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT, w VARCHAR(200))", "INSERT INTO c.a SELECT seq, seq, REPEAT('x', 100) FROM seq_1_to_3000")
	p := newProxy(t, srv.Addr())
	l := newLake(t)
	r := NewRunner(l.options())
	defer r.Close(context.Background())
	via := *srv
	s2 := *srv.Server
	s2.Port = p.port()
	via.Server = &s2
	p.cut(50_000) // the copy is cut in its middle
	if _, err := r.Execute(context.Background(), via.yaml("c.a", "")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if n := len(l.rows("c.a")); n != 0 {
		t.Errorf("%d rows of an unfinished copy are visible", n)
	}
	p.cut(0)
	srv.same(l, r, "c.a")
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 12 {
		p.cut(int64(3000 + rnd.IntN(60000)))
		srv.exec(fmt.Sprintf("UPDATE c.a SET v = v + 1 WHERE id %% 3 = %d", i%3), fmt.Sprintf("DELETE FROM c.a WHERE id = %d", i+1))
		time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
	}
	p.cut(0)
	srv.same(l, r, "c.a")
	if r.Status()[0].Reconnects == 0 {
		t.Error("no reconnect was counted")
	}
}

// TestServerRestart restarts the server under a following pipeline.
func TestServerRestart(t *testing.T) {
	srv := newServer(t)
	srv.onMariaDB("one that the test may stop")
	srv.exec("CREATE DATABASE c; CREATE TABLE c.a (id INT PRIMARY KEY, v INT)", "INSERT INTO c.a SELECT seq, seq FROM seq_1_to_100")
	l := newLake(t)
	r := NewRunner(l.options())
	defer r.Close(context.Background())
	if _, err := r.Execute(context.Background(), srv.yaml("c.a", "")); err != nil {
		t.Fatal(err)
	}
	srv.same(l, r, "c.a")
	for i := range 2 {
		srv.exec("UPDATE c.a SET v = v + 1")
		if err := srv.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if err := srv.Restart(context.Background()); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() string {
			if _, err := srv.db.Exec(fmt.Sprintf("INSERT INTO c.a VALUES (%d, 1)", 1000+i)); err != nil {
				return err.Error()
			}
			return ""
		})
		srv.same(l, r, "c.a")
	}
}
