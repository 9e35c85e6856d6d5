package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// row is what a worker knows of a row of its own.
type row struct {
	v int64
	s string
}

// worker writes rows that nobody else writes, so that it knows what must be
// there. The keyed table and the append table have the same rows.
type worker struct {
	id    int
	r     *rand.Rand
	table string
	rows  map[int64]row // what is there
	next  map[int64]row // what is there if the statement at hand happened
	db    *sql.DB

	statements, unknown int
}

const span = 400 // keys a worker

// statement makes a statement and what it leads to.
func (w *worker) statement() string {
	w.next = maps.Clone(w.rows)
	low := int64(w.id)*1_000_000 + w.r.Int64N(span)
	high := low + w.r.Int64N(30)
	switch w.r.IntN(6) {
	case 0:
		for k := range w.next {
			if k >= low && k <= high {
				delete(w.next, k)
			}
		}
		return fmt.Sprintf("DELETE FROM %s WHERE id BETWEEN %d AND %d", w.table, low, high)
	case 1, 2:
		for k, x := range w.next {
			if k >= low && k <= high {
				w.next[k] = row{x.v + 1, x.s + "u"}
			}
		}
		return fmt.Sprintf("UPDATE %s SET v = v + 1, s = CONCAT(s, 'u') WHERE id BETWEEN %d AND %d", w.table, low, high)
	}
	var values []string
	for k := low; k <= high; k++ {
		if _, ok := w.next[k]; ok && strings.HasSuffix(w.table, "a") {
			continue // it has no key that would replace the row
		}
		x := row{w.r.Int64N(1 << 40), fmt.Sprint("s", w.r.IntN(1000))}
		w.next[k] = x
		values = append(values, fmt.Sprintf("(%d,%d,%d,'%s')", k, w.id, x.v, x.s))
	}
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("INSERT INTO %s (id, w, v, s) VALUES %s", w.table, strings.Join(values, ","))
}

// read reads the worker's rows.
func (w *worker) read(ctx context.Context) (map[int64]row, error) {
	rs, err := w.db.QueryContext(ctx, fmt.Sprintf("SELECT id, v, s FROM %s WHERE w = %d", w.table, w.id))
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	got := map[int64]row{}
	for rs.Next() {
		var k int64
		var x row
		if err := rs.Scan(&k, &x.v, &x.s); err != nil {
			return nil, err
		}
		if _, twice := got[k]; twice {
			return nil, fmt.Errorf("WRONG: row %d of %s is there twice", k, w.table)
		}
		got[k] = x
	}
	return got, rs.Err()
}

// settle finds out what is there after a statement without an answer.
func (w *worker) settle(ctx context.Context, answered bool) error {
	for tries := 0; ; tries++ {
		got, err := w.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && strings.HasPrefix(err.Error(), "WRONG"):
			return err
		case err != nil:
			if tries > 600 {
				return fmt.Errorf("read %s again: %w", w.table, err)
			}
			pause(ctx, 50*time.Millisecond) // the server is down
			continue
		case !answered && maps.Equal(got, w.next):
			w.rows = w.next
			return nil
		case maps.Equal(got, w.rows):
			return nil
		}
		return fmt.Errorf("WRONG: worker %d of %s: %d rows are neither the %d before the statement nor the %d after it: %s",
			w.id, w.table, len(got), len(w.rows), len(w.next), difference(got, w.rows, w.next))
	}
}

func difference(got, before, after map[int64]row) string {
	for k, x := range got {
		if before[k] != x && after[k] != x {
			return fmt.Sprintf("row %d is %v, before %v, after %v", k, x, before[k], after[k])
		}
	}
	for k := range before {
		if _, ok := got[k]; !ok {
			if _, ok := after[k]; ok {
				return fmt.Sprintf("row %d is lost: before %v, after %v", k, before[k], after[k])
			}
		}
	}
	return "half of the statement"
}

func (w *worker) run(ctx context.Context) error {
	for ctx.Err() == nil {
		text := w.statement()
		if text == "" {
			continue
		}
		_, err := w.db.ExecContext(ctx, text)
		if ctx.Err() != nil {
			return nil
		}
		w.statements++
		switch {
		case err == nil:
			w.rows = w.next
			if w.statements%20 == 0 {
				w.next = w.rows
				if err := w.settle(ctx, true); err != nil {
					return err
				}
			}
		case refused(err):
			if err := w.settle(ctx, true); err != nil {
				return fmt.Errorf("after the error %w", err)
			}
		default:
			w.unknown++
			if err := w.settle(ctx, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// maintenance calls procedures at random; they may fail, but never change rows.
func maintenance(ctx context.Context, db *sql.DB, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 99))
	for n := 0; ctx.Err() == nil; n++ {
		table := []string{"e.t", "e.a"}[r.IntN(2)]
		call := []string{
			fmt.Sprintf("CALL sys.compact(`table` => '%s')", table),
			fmt.Sprintf("CALL sys.expire_snapshots(`table` => '%s', retain_max => 5, retain_min => 1)", table),
			fmt.Sprintf("CALL sys.create_tag(`table` => '%s', tag => 'g%d')", table, n%5),
			fmt.Sprintf("CALL sys.delete_tag(`table` => '%s', tag => 'g%d')", table, r.IntN(5)),
			fmt.Sprintf("CALL sys.remove_orphan_files(`table` => '%s')", table),
		}[r.IntN(5)]
		_, _ = db.ExecContext(ctx, call)
		pause(ctx, time.Duration(r.IntN(400))*time.Millisecond)
	}
}

func kills(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("kills", flag.ContinueOnError)
	binary := fs.String("binary", "bin/thermocline", "the binary")
	n := fs.Int("kills", 100, "how often the server is killed")
	seed := fs.Uint64("seed", uint64(time.Now().UnixNano()), "of the random statements")
	java := fs.String("java", "", "a Java Paimon verifier, called as FILE verify TABLE at the end")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "endurance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	lake := filepath.Join(dir, "lake")
	s, err := start(*binary, "", nil, "--warehouse", lake)
	if err != nil {
		return err
	}
	defer func() { s.kill() }()
	retain := "'snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '20', 'snapshot.time-retained' = '5 s', 'thermocline.maintenance' = 'true'"
	columns := "id BIGINT NOT NULL, w INT, v BIGINT, s STRING"
	if err := setup(ctx, s.addr, "CREATE DATABASE e",
		"CREATE TABLE e.t ("+columns+", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', "+retain+")",
		"CREATE TABLE e.a ("+columns+") WITH ("+retain+")"); err != nil {
		return err
	}
	addr := s.addr
	run, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	failed := make(chan error, 8)
	var workers []*worker
	for i := range 4 {
		db, err := open(addr)
		if err != nil {
			return err
		}
		defer db.Close()
		w := &worker{id: i, r: rand.New(rand.NewPCG(*seed, uint64(i))), table: []string{"e.t", "e.t", "e.a", "e.t"}[i], rows: map[int64]row{}, db: db}
		workers = append(workers, w)
		all.Add(1)
		go func() {
			defer all.Done()
			if err := w.run(run); err != nil {
				failed <- err
			}
		}()
	}
	mdb, err := open(addr)
	if err != nil {
		return err
	}
	defer mdb.Close()
	all.Add(1)
	go func() {
		defer all.Done()
		maintenance(run, mdb, *seed)
	}()
	r := rand.New(rand.NewPCG(*seed, 7))
	begin := time.Now()
	var done atomic.Int64
	for k := range *n {
		select {
		case err := <-failed:
			return fmt.Errorf("seed %d, after %d kills: %w", *seed, k, err)
		case <-time.After(time.Duration(100+r.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		s.kill()
		next, err := start(*binary, addr, nil, "--warehouse", lake)
		if err != nil {
			return fmt.Errorf("seed %d, start after kill %d: %w", *seed, k+1, err)
		}
		s = next
		done.Add(1)
		if (k+1)%10 == 0 {
			fmt.Fprintf(os.Stderr, "%d kills of %d, %s\n", k+1, *n, time.Since(begin).Round(time.Second))
		}
	}
	pause(ctx, 2*time.Second)
	stop()
	all.Wait()
	select {
	case err := <-failed:
		return fmt.Errorf("seed %d: %w", *seed, err)
	default:
	}
	// What the last statements did is known after they were asked for; then
	// leftovers go, and nothing else does.
	pause(ctx, 3*time.Second) // what the server still did when it was asked to stop is over
	orphans := map[string]string{}
	statements, unknown := 0, 0
	for _, w := range workers {
		w.db.SetMaxIdleConns(0)
		if err := w.settle(ctx, false); err != nil {
			return fmt.Errorf("seed %d, at the end: %w", *seed, err)
		}
		statements, unknown = statements+w.statements, unknown+w.unknown
	}
	var now string
	if err := mdb.QueryRowContext(ctx, "SELECT NOW() - INTERVAL 1 SECOND").Scan(&now); err != nil {
		return err
	}
	for _, t := range []string{"e.t", "e.a"} {
		var deleted sql.NullString
		q := fmt.Sprintf("CALL sys.remove_orphan_files(`table` => '%s', older_than => '%s')", t, now)
		if err := mdb.QueryRowContext(ctx, q).Scan(&deleted); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		orphans[t] = deleted.String
	}
	for _, w := range workers {
		if err := w.settle(ctx, true); err != nil {
			return fmt.Errorf("seed %d, after cleaning: %w", *seed, err)
		}
	}
	if err := s.stop(); err != nil {
		return err
	}
	if *java != "" {
		for _, t := range []string{"t", "a"} {
			if err := verify(ctx, *java, filepath.Join(lake, "e.db", t)); err != nil {
				return fmt.Errorf("seed %d: %w", *seed, err)
			}
		}
	}
	fmt.Printf("%d kills in %s: %d statements, %d of them cut, every row as it must be; leftovers removed: %v\n", done.Load(), time.Since(begin).Round(time.Second), statements, unknown, orphans)
	return nil
}
