// Command wire measures the MySQL port of a server process from a client process
// that only counts packets: how long the smallest statements take, how long a look
// at one row of a large table, and how fast a client that takes all rows gets them.
//
//	go run ./benchmarks/wire --binary bin/thermocline      # or: make bench-wire
//	go run ./benchmarks/wire --rows 1000000 --keys 1000000 # short
//
// The tables are made once by the server itself and kept. Processor time is of the
// server alone, user and system; on a busy machine it is the only figure that
// means anything.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/benchmarks/wireclient"
	"github.com/thermocline/thermocline/internal/memory"
)

func main() {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	var b bench
	flag.StringVar(&b.data, "data", filepath.Join(cache, "thermocline-bench-wire"), "folder of the tables, kept")
	flag.StringVar(&b.binary, "binary", "bin/thermocline", "the `FILE` to measure")
	flag.Int64Var(&b.rows, "rows", 1_000_000, "rows of the result that is drained")
	flag.Int64Var(&b.keys, "keys", 10_000_000, "rows of the table with a primary key")
	flag.IntVar(&b.rounds, "rounds", 7, "how often the result is drained; medians are reported")
	flag.IntVar(&b.statements, "statements", 20_000, "how often SELECT 1 is run")
	flag.IntVar(&b.threads, "threads", 2, "threads of the server")
	flag.StringVar(&b.limit, "memory-limit", "1GiB", "memory of the server")
	flag.StringVar(&b.profile, "profile", "", "folder for profiles of the server's processor time, one a measurement")
	flag.StringVar(&b.only, "only", "", "measure only what has one of these in its name, separated by commas (drain, select1, point, limit, dashboard)")
	flag.Parse()
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "wire:", err)
		os.Exit(1)
	}
}

type bench struct {
	data, binary, limit, profile, only string
	rows, keys                         int64
	rounds, statements, threads        int

	srv   *wireclient.Server
	c     *wireclient.Conn
	texts int // that were made so far
}

// tables are the five columns of the rows that are drained, and the same with a
// primary key.
const columns = "(i INT, b BIGINT NOT NULL, d DECIMAL(18,2), s VARCHAR(64), t DATETIME%s)"

func (b *bench) run() error {
	args := []string{"--memory-limit", b.limit}
	if b.profile != "" {
		args = append(args, "--pprof")
		if err := os.MkdirAll(b.profile, 0o755); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bench-wire-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.srv, err = wireclient.Start(b.binary, filepath.Join(b.data, "lake"), dir, []string{fmt.Sprint("GOMAXPROCS=", b.threads)}, args...)
	if err != nil {
		return err
	}
	defer b.srv.Stop()
	if b.c, err = wireclient.Dial(b.srv.Address, "", 0); err != nil {
		return err
	}
	defer b.c.Close()
	if err := b.prepare(); err != nil {
		return err
	}
	fmt.Printf("| | wall | server's CPU | resident |\n|---|---|---|---|\n")
	for _, m := range []struct {
		name string
		run  func() error
	}{
		{"select1", b.select1}, {"point", b.point}, {"limit", b.limited}, {"dashboard", b.dashboard}, {"drain", b.drain},
	} {
		if b.only != "" && !slices.ContainsFunc(strings.Split(b.only, ","), func(o string) bool { return strings.Contains(m.name, o) }) {
			continue
		}
		if err := m.run(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

func (b *bench) table() string { return fmt.Sprintf("bench.rows_%d", b.rows) }
func (b *bench) keyed() string { return fmt.Sprintf("bench.keys_%d", b.keys) }

func (b *bench) exec(text string) error {
	_, _, err := b.c.Query(text)
	if err != nil {
		return fmt.Errorf("%.200s: %w", text, err)
	}
	return nil
}

// prepare makes the tables that are missing.
func (b *bench) prepare() error {
	if err := b.exec("CREATE DATABASE IF NOT EXISTS bench"); err != nil {
		return err
	}
	for _, t := range []struct {
		name, key string
		rows      int64
	}{{b.table(), "", b.rows}, {b.keyed(), ", PRIMARY KEY (b)", b.keys}} {
		err := b.fill(t.name, fmt.Sprintf(columns, t.key), "n % 1000003, n * 1000003, (n * 37 - 5000000) / 100, CASE WHEN n % 97 = 96 THEN NULL ELSE CONCAT('name-', n % 5003) END, "+
			"TIMESTAMP '2023-11-14 22:13:20' + INTERVAL n SECOND", t.rows)
		if err != nil {
			return err
		}
	}
	return nil
}

// fill makes a table unless it is there with that many rows. values are its columns'
// as expressions of n, the number of the row.
func (b *bench) fill(table, columns, values string, rows int64) error {
	found, err := b.c.Rows("SELECT COUNT(*) FROM " + table)
	if err == nil && len(found) == 1 && *found[0][0] == fmt.Sprint(rows) {
		return nil
	}
	var refused *wireclient.ServerError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	fmt.Fprintln(os.Stderr, "making", table)
	number, from := "", ""
	for at, p := int64(1), 0; at < rows; at, p = at*10, p+1 {
		if p > 0 {
			number, from = number+" + ", from+", "
		}
		number += fmt.Sprintf("d%d.n * %d", p, at)
		from += fmt.Sprintf("d AS d%d", p)
	}
	for _, text := range []string{
		"DROP TABLE IF EXISTS " + table,
		"CREATE TABLE " + table + " " + columns,
		"INSERT INTO " + table + " WITH d (n) AS (VALUES ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7), ROW(8), ROW(9)), " +
			"x AS (SELECT " + number + " AS n FROM " + from + ") SELECT " + values + " FROM x WHERE n < " + fmt.Sprint(rows),
	} {
		if err := b.exec(text); err != nil {
			return err
		}
	}
	return nil
}

// line prints one figure.
func (b *bench) line(name, wall, cpu string) {
	now, most := b.srv.Resident()
	fmt.Printf("| %s | %s | %s | %s, at most %s |\n", name, wall, cpu, memory.FormatSize(now), memory.FormatSize(most))
}

// each runs f n times and reports latencies and processor time each.
func (b *bench) each(name string, n int, f func(i int) error) error {
	for i := range min(n, 100) { // warm
		if err := f(i); err != nil {
			return err
		}
	}
	took := make([]time.Duration, n)
	stop := b.profiling(name)
	cpu := b.srv.CPU()
	for i := range n {
		at := time.Now()
		if err := f(i); err != nil {
			return err
		}
		took[i] = time.Since(at)
	}
	cpu = b.srv.CPU() - cpu
	if err := stop(); err != nil {
		return err
	}
	slices.Sort(took)
	us := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Nanoseconds())/1e3) }
	b.line(name, fmt.Sprintf("p50 %s µs, p99 %s, at most %s", us(took[n/2]), us(took[n*99/100]), us(took[n-1])), fmt.Sprintf("%s µs", us(cpu/time.Duration(n))))
	return nil
}

func (b *bench) select1() error {
	err := b.each("SELECT 1", b.statements, func(int) error { return b.exec("SELECT 1") })
	if err != nil {
		return err
	}
	s, err := b.c.Prepare("SELECT 1")
	if err != nil {
		return err
	}
	if err := b.each("SELECT 1, prepared", b.statements, func(int) error { _, _, err := s.Query(); return err }); err != nil {
		return err
	}
	return b.each("SELECT COUNT(*) of a table", b.statements/10, func(int) error { return b.exec("SELECT COUNT(*) FROM " + b.table()) })
}

func (b *bench) point() error {
	r := rand.New(rand.NewPCG(1, 1))
	key := func() int64 { return r.Int64N(b.keys) * 1000003 }
	one := func(rows int64, err error) error {
		if err == nil && rows != 1 {
			err = fmt.Errorf("%d rows, want one", rows)
		}
		return err
	}
	n := max(b.statements/40, 20)
	err := b.each(fmt.Sprintf("a row of %d by its key", b.keys), n, func(int) error {
		rows, _, err := b.c.Query(fmt.Sprintf("SELECT * FROM %s WHERE b = %d", b.keyed(), key()))
		return one(rows, err)
	})
	if err != nil {
		return err
	}
	s, err := b.c.Prepare("SELECT * FROM " + b.keyed() + " WHERE b = ?")
	if err != nil {
		return err
	}
	return b.each("the same, prepared", n, func(int) error {
		rows, _, err := s.Query(key())
		return one(rows, err)
	})
}

func (b *bench) limited() error {
	for _, t := range []string{b.keyed(), b.table()} {
		text := "SELECT * FROM " + t + " LIMIT 10"
		if err := b.each("LIMIT 10 of "+t, max(b.statements/40, 20), func(int) error { return b.exec(text) }); err != nil {
			return err
		}
		rows, err := b.c.Rows("EXPLAIN ANALYZE " + text)
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Fprintln(os.Stderr, *r[0])
		}
	}
	return nil
}

func (b *bench) drain() error {
	text := "SELECT * FROM " + b.table()
	s, err := b.c.Prepare(text)
	if err != nil {
		return err
	}
	for _, way := range []struct {
		name string
		run  func() (int64, int64, error)
	}{
		{"text", func() (int64, int64, error) { return b.c.Query(text) }},
		{"binary", func() (int64, int64, error) { return s.Query() }},
	} {
		var walls, cpus []float64
		name := fmt.Sprintf("drain %d rows, %s", b.rows, way.name)
		bytes := int64(0)
		var stop func() error
		for i := range b.rounds + 1 {
			if i == 1 {
				stop = b.profiling(name)
			}
			cpu, at := b.srv.CPU(), time.Now()
			rows, n, err := way.run()
			if err == nil && rows != b.rows {
				err = fmt.Errorf("%d rows, want %d", rows, b.rows)
			}
			if err != nil {
				return err
			}
			if i > 0 { // the first is to warm
				walls = append(walls, time.Since(at).Seconds())
				cpus = append(cpus, (b.srv.CPU() - cpu).Seconds())
			}
			bytes = n
		}
		if err := stop(); err != nil {
			return err
		}
		slices.Sort(walls)
		sum := 0.0 // the kernel's clock is too coarse for a median
		for _, c := range cpus {
			sum += c
		}
		rate := float64(b.rows) / walls[len(walls)/2] / 1e6
		b.line(name, fmt.Sprintf("%.2f M rows/s, %.0f MB/s (best %.2f M)", rate, rate*float64(bytes)/float64(b.rows), float64(b.rows)/walls[0]/1e6),
			fmt.Sprintf("%.0f ns a row", sum/float64(len(cpus))/float64(b.rows)*1e9))
	}
	return nil
}
