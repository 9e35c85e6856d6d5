package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/live"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// bank is a source whose state after each of its transactions is known: accounts
// in several tables, between which amounts move, and a clock that counts the
// transactions.
type bank struct {
	t      *testing.T
	srv    *server
	rnd    *rand.Rand
	tables []string
	now    []map[int]int // accounts by table
	logged int           // rows of the log

	mu      sync.Mutex
	history []map[string]string // what each table holds after transaction n
}

func newBank(t *testing.T, srv *server, seed uint64) *bank {
	b := &bank{t: t, srv: srv, rnd: rand.New(rand.NewPCG(seed, 3)), tables: []string{"a", "b", "c"}}
	srv.exec("CREATE DATABASE bank; CREATE TABLE bank.clock (id INT PRIMARY KEY, n INT NOT NULL); INSERT INTO bank.clock VALUES (1, 0); CREATE TABLE bank.log (n INT NOT NULL, note VARCHAR(200))")
	for i, name := range b.tables {
		srv.exec(fmt.Sprintf("CREATE TABLE bank.%s (id INT PRIMARY KEY, v INT NOT NULL)", name))
		b.now = append(b.now, map[int]int{})
		for k := range 10 {
			b.now[i][k] = 100
			srv.exec(fmt.Sprintf("INSERT INTO bank.%s VALUES (%d, 100)", name, k))
		}
	}
	b.note()
	return b
}

// note records what the tables hold after the next transaction.
func (b *bank) note() {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := map[string]string{"clock": fmt.Sprintf("1|%d", len(b.history)), "log": fmt.Sprint(b.logged)}
	for i, name := range b.tables {
		var rows []string
		for k, v := range b.now[i] {
			rows = append(rows, fmt.Sprintf("%d|%d", k, v))
		}
		sort.Strings(rows)
		h[name] = strings.Join(rows, " ")
	}
	b.history = append(b.history, h)
}

func (b *bank) at(n int) map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.history[n]
}

// transact makes one transaction over several tables: changes of values, inserts,
// deletes and changes of keys. logs is how many rows it adds to the log.
func (b *bank) transact(logs int) {
	n := len(b.history)
	stmts := []string{"BEGIN", fmt.Sprintf("UPDATE bank.clock SET n = %d", n)}
	do := func(format string, args ...any) { stmts = append(stmts, fmt.Sprintf(format, args...)) }
	for range 1 + b.rnd.IntN(4) {
		from, to := b.rnd.IntN(len(b.tables)), b.rnd.IntN(len(b.tables))
		k, j := b.rnd.IntN(20), b.rnd.IntN(20)
		v, ok := b.now[from][k]
		if !ok {
			continue
		}
		switch b.rnd.IntN(4) {
		case 0: // the whole account moves to another table
			if _, there := b.now[to][j]; there || from == to && k == j {
				continue
			}
			delete(b.now[from], k)
			b.now[to][j] = v
			do("DELETE FROM bank.%s WHERE id = %d", b.tables[from], k)
			do("INSERT INTO bank.%s (id, v) VALUES (%d, %d)", b.tables[to], j, v)
		case 1: // it gets another key
			if _, there := b.now[from][j]; there {
				continue
			}
			delete(b.now[from], k)
			b.now[from][j] = v
			do("UPDATE bank.%s SET id = %d WHERE id = %d", b.tables[from], j, k)
		default:
			if _, there := b.now[to][j]; !there || from == to && k == j {
				continue
			}
			b.now[from][k]--
			b.now[to][j]++
			do("UPDATE bank.%s SET v = v - 1 WHERE id = %d", b.tables[from], k)
			do("UPDATE bank.%s SET v = v + 1 WHERE id = %d", b.tables[to], j)
		}
	}
	if logs > 0 {
		do("INSERT INTO bank.log SELECT %d, REPEAT('x', 150) FROM seq_1_to_%d", n, logs)
		b.logged += logs
	}
	// A reader may see it before the statement returns.
	b.note()
	b.srv.exec(strings.Join(append(stmts, "COMMIT"), "; "))
}

// yaml is the bank's pipeline: tables of several kinds.
func (b *bank) yaml() string {
	return b.srv.yaml(`bank.\.*`, `transform:
  - source-table: bank.a
    projection: \*
    table-options: bucket=2
  - source-table: bank.b
    projection: \*
    table-options: bucket=-1
  - source-table: bank.c
    projection: \*
    table-options: bucket=1,deletion-vectors.enabled=true
`)
}

// read returns what a view says of a table, in the form of the history.
func (b *bank) read(l *lake, v *live.View, name string) string {
	b.t.Helper()
	ctx := context.Background()
	tb, err := l.catalog.Table(ctx, catalog.Identifier{Database: "bank", Table: name})
	if err != nil {
		b.t.Error(err)
		return ""
	}
	x := v.Tables["bank."+name]
	if x.UUID != tb.UUID() {
		b.t.Errorf("%s has the UUID %s, its view %s", name, tb.UUID(), x.UUID)
	}
	sn, err := tb.(connector.LiveReadable).Live(ctx, x.LiveRows)
	if err != nil {
		b.t.Error(err)
		return ""
	}
	cols := []int{0, 1}
	if name == "log" {
		cols = []int{0}
	}
	plan, err := sn.Plan(ctx, connector.ScanRequest{Columns: cols})
	if err != nil {
		b.t.Error(err)
		return ""
	}
	n := 0
	var rows []string
	for _, sp := range plan.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			b.t.Error(err)
			return ""
		}
		for {
			batch, err := r.Next(ctx)
			if err != nil {
				b.t.Error(err)
				return ""
			}
			if batch == nil {
				break
			}
			if n += batch.Rows(); name == "log" {
				continue
			}
			for i := range batch.Rows() {
				at := batch.Row(i)
				k, w := batch.Cols[0], batch.Cols[1]
				rows = append(rows, fmt.Sprintf("%d|%d", k.Values().I32s[k.At(at)], w.Values().I32s[w.At(at)]))
			}
		}
		if err := r.Close(); err != nil {
			b.t.Error(err)
		}
	}
	if name == "log" {
		return fmt.Sprint(n)
	}
	sort.Strings(rows)
	return strings.Join(rows, " ")
}

// watch compares views with the history until done, and verifies that they do not
// go back. It returns the last transaction it saw and how many views it compared.
func (b *bank) watch(l *lake, reg *live.Registry, done *atomic.Bool, linger time.Duration) (last, views int) {
	for !done.Load() && !b.t.Failed() {
		f := reg.Find(l.dir, "bank.clock")
		if f == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		v, err := f.Ask(context.Background())
		if err != nil {
			b.t.Error(err)
			return
		}
		if v == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		time.Sleep(linger) // a slow query
		if v.Tables["bank.clock"].Committed == "" {
			var n int
			if _, err := fmt.Sscanf(b.read(l, v, "clock"), "1|%d", &n); err != nil {
				b.t.Error(err)
				return
			}
			if n < last {
				b.t.Errorf("transaction %d after %d", n, last)
			}
			last = n
			want := b.at(n)
			for _, name := range append([]string{"log"}, b.tables...) {
				if v.Tables["bank."+name].Committed != "" {
					continue
				}
				if got := b.read(l, v, name); got != want[name] {
					b.t.Errorf("%s after transaction %d: %s, want %s (%+v)", name, n, got, want[name], v.Tables["bank."+name])
				}
			}
			views++
		}
		v.Release()
	}
	return last, views
}

// reluctant is a lake whose commits fail, before anything happens, when fail says.
type reluctant struct {
	catalog.Writable
	fail func() error
}

func (k reluctant) AlterTable(ctx context.Context, id catalog.Identifier, changes []catalog.SchemaChange) error {
	return k.Writable.(catalog.Altering).AlterTable(ctx, id, changes)
}

func (k reluctant) RenameTable(ctx context.Context, from, to catalog.Identifier) error {
	return k.Writable.(catalog.Altering).RenameTable(ctx, from, to)
}

func (k reluctant) Table(ctx context.Context, id catalog.Identifier) (catalog.Table, error) {
	t, err := k.Writable.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	return reluctantTable{t.(writableTable), k}, nil
}

func (k reluctant) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ok bool) (catalog.Table, error) {
	t, err := k.Writable.CreateTable(ctx, id, s, ok)
	if err != nil {
		return nil, err
	}
	return reluctantTable{t.(writableTable), k}, nil
}

type reluctantTable struct {
	writableTable
	k reluctant
}

func (t reluctantTable) NewCommit(ctx context.Context, user string) (connector.TableCommit, error) {
	c, err := t.writableTable.NewCommit(ctx, user)
	return reluctantCommit{c, t.k}, err
}

type reluctantCommit struct {
	connector.TableCommit
	k reluctant
}

func (c reluctantCommit) Commit(ctx context.Context, x *connector.Committable) (connector.CommitResult, error) {
	if err := c.k.fail(); err != nil {
		return connector.CommitResult{}, err
	}
	return c.TableCommit.Commit(ctx, x)
}

// TestLive: what is read live is the source after one of its transactions, in all
// tables together, and never goes back: over rounds, compactions, changed keys,
// large transactions, changes of definitions, broken connections, failed commits,
// and pauses.
func TestLive(t *testing.T) {
	srv := newServer(t)
	b := newBank(t, srv, 1)
	l := newLake(t)
	var reg live.Registry
	budget := memory.New("ingest", 24<<20)
	o := l.options()
	o.Live, o.Budget = &reg, budget
	var commits, until atomic.Int64
	var willing atomic.Bool
	o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
		return &Lake{Catalog: reluctant{l.catalog, func() error {
			now := time.Now().UnixMilli()
			if commits.Add(1)%41 == 0 {
				until.Store(now + 300) // of all tables
			}
			if now < until.Load() && !willing.Load() {
				return errs.New(errs.Unavailable, errs.KindNone, "the store does not answer")
			}
			return nil
		}}, Files: l.files, Root: l.dir}, nil
	}
	r := start(t, o, b.yaml())
	var done atomic.Bool
	var wg sync.WaitGroup
	lasts, views := make([]int, 4), make([]int, 4)
	for i := range lasts {
		wg.Go(func() { lasts[i], views[i] = b.watch(l, &reg, &done, time.Duration(i)*30*time.Millisecond) })
	}
	some := func() {
		for range 60 {
			b.transact(b.rnd.IntN(3))
			time.Sleep(time.Duration(b.rnd.IntN(8)) * time.Millisecond)
		}
	}
	ctx := context.Background()
	some()
	for i, x := range []func(){
		func() { b.transact(60_000) }, // more than can be held
		func() { srv.exec("ALTER TABLE bank.a ADD COLUMN extra INT") },
		func() {
			if err := r.Pause(ctx, "test"); err != nil {
				t.Error(err)
			}
			some()
			if err := r.Unpause(ctx, "test"); err != nil {
				t.Error(err)
			}
		},
		func() { srv.killStreams() },
		func() {
			srv.exec("ALTER TABLE bank.b ADD COLUMN extra INT", "ALTER TABLE bank.b ADD COLUMN more VARCHAR(10) FIRST")
		},
	} {
		if x(); t.Failed() {
			t.Fatalf("step %d", i)
		}
		some()
	}
	willing.Store(true)
	last := len(b.history) - 1
	eventually(t, func() string {
		v, err := reg.Find(l.dir, "bank.clock").Ask(ctx)
		if err != nil || v == nil {
			return fmt.Sprint("no view: ", err)
		}
		defer v.Release()
		for _, x := range v.Tables {
			if x.Committed != "" {
				return x.Committed
			}
		}
		if got, want := b.read(l, v, "clock"), fmt.Sprintf("1|%d", last); got != want {
			return got + " instead of " + want
		}
		return ""
	})
	done.Store(true)
	wg.Wait()
	end(t, r)
	t.Logf("%d transactions, %d commits; views compared: %v, up to %v", last, commits.Load(), views, lasts)
	if slices.Max(views) < 50 {
		t.Errorf("only %v views were compared", views)
	}
	if e := reg.Find(l.dir, "bank.clock").End(); e == nil || !e.Whole {
		t.Errorf("ended %+v", e)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
	srv.same(l, r, "bank.clock")
}

// killStreams breaks the connections of those who read the log.
func (s *server) killStreams() {
	s.t.Helper()
	rows, err := s.db.Query("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
	if err != nil {
		s.t.Error(err)
		return
	}
	var ids []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			s.t.Error(err)
		}
		ids = append(ids, id)
	}
	rows.Close()
	for _, id := range ids {
		s.db.Exec(fmt.Sprintf("KILL %d", id)) //nolint:errcheck // it may be gone
	}
}

// untilLive waits until what is read live satisfies check, and returns what check said
// last otherwise.
func untilLive(t *testing.T, l *lake, reg *live.Registry, check func(v *live.View) string) {
	t.Helper()
	eventually(t, func() string {
		f := reg.Find(l.dir, "bank.clock")
		if f == nil {
			return "no feed"
		}
		v, err := f.Ask(context.Background())
		if err != nil || v == nil {
			return fmt.Sprintf("no view: %v, %+v", err, f.End())
		}
		defer v.Release()
		return check(v)
	})
}

// TestLiveLost: where rows that were read live will never be committed, or not
// before the pipeline runs again, nothing older is read.
func TestLiveLost(t *testing.T) {
	srv := newServer(t)
	b := newBank(t, srv, 2)
	l := newLake(t)
	var reg live.Registry
	o := l.options()
	o.Live = &reg
	var broken atomic.Bool
	o.OpenLake = func(context.Context, map[string]string) (*Lake, error) {
		return &Lake{Catalog: reluctant{l.catalog, func() error {
			if broken.Load() {
				return errs.Corruptf("the store is broken for good")
			}
			return nil
		}}, Files: l.files, Root: l.dir}, nil
	}
	yaml := strings.Replace(b.yaml(), "commit.interval: 100 ms", "commit.interval: 1 s", 1)
	r := start(t, o, yaml)
	seen := func(v *live.View) string {
		for _, x := range v.Tables {
			if x.Committed != "" && !strings.Contains(x.Committed, "not followed") {
				return x.Committed
			}
		}
		if got, want := b.read(l, v, "clock"), fmt.Sprintf("1|%d", len(b.history)-1); got != want {
			return got + ", not " + want
		}
		return ""
	}
	untilLive(t, l, &reg, seen)
	// A row that was read live, and an UPDATE right after it that stops its table.
	for {
		b.transact(1)
		waits := false
		untilLive(t, l, &reg, func(v *live.View) string {
			waits = v.Tables["bank.log"].Rows != nil
			return seen(v)
		})
		if waits {
			break
		}
	}
	srv.exec("UPDATE bank.log SET n = -1")
	untilLive(t, l, &reg, func(v *live.View) string {
		x := v.Tables["bank.log"]
		if x.Committed == "" {
			return "it is followed"
		}
		if committed := len(l.rows("bank.log")); x.Lost != (committed < b.logged) {
			t.Errorf("lost: %v, with %d of %d rows committed", x.Lost, committed, b.logged)
		}
		return seen(v)
	})
	// Commits fail for good while rows are read live.
	for waits := false; !waits; {
		b.transact(0)
		untilLive(t, l, &reg, func(v *live.View) string {
			waits = v.Tables["bank.clock"].Rows != nil
			if waits {
				broken.Store(true)
			}
			return seen(v)
		})
	}
	last := len(b.history) - 1
	b.transact(0) // the rows may have been on their way when commits began to fail
	f := reg.Find(l.dir, "bank.clock")
	eventually(t, func() string {
		if f.End() == nil {
			return "it runs"
		}
		return ""
	})
	if !strings.Contains(f.End().Reason, "broken for good") {
		t.Fatalf("ended %+v", f.End())
	}
	whole := f.End().Whole
	broken.Store(false)
	if err := r.Unpause(context.Background(), "test"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		g := reg.Find(l.dir, "bank.clock")
		if g == f {
			return "the old feed"
		}
		v := g.Current()
		if v == nil {
			if g.End() == nil && !g.Owes() && !whole {
				t.Error("older rows are read")
			}
			return "no view"
		}
		defer v.Release()
		if v.Tables["bank.clock"].Committed == "" {
			var n int
			if _, err := fmt.Sscanf(b.read(l, v, "clock"), "1|%d", &n); err != nil || n < last {
				t.Errorf("transaction %d is read, after %d (%v)", n, last, err)
			}
			if n < len(b.history)-1 {
				return "not all is there"
			}
			return ""
		}
		return v.Tables["bank.clock"].Committed
	})
	end(t, r)
}
