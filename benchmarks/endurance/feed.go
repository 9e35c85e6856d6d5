package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/thermocline/thermocline/internal/mariadb"
)

// feed changes few of many tables of a MariaDB that a pipeline of the server follows,
// prints what the lake and the server need, and compares all tables at the end.
func feed(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("feed", flag.ContinueOnError)
	binary := fs.String("binary", "bin/thermocline", "the binary")
	tables := fs.Int("tables", 1, "how many tables the pipeline follows")
	active := fs.Int("active", 1, "how many of them change")
	rows := fs.Int("rows", 1000, "rows of a table when the pipeline begins")
	rate := fs.Float64("rate", 1, "changes a second, each in its own transaction")
	duration := fs.Duration("duration", 12*time.Minute, "how long")
	every := fs.Duration("every", time.Minute, "how often to measure")
	limit := fs.String("memory-limit", "1GiB", "of the server")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "endurance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, err := mariadb.Start(ctx, filepath.Join(dir, "db"))
	if err != nil {
		return err
	}
	defer source.Kill()
	db, err := sql.Open("mysql", source.DSN("mysql")+"?interpolateParams=true")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE src"); err != nil {
		return err
	}
	for i := range *tables {
		for _, q := range []string{
			fmt.Sprintf("CREATE TABLE src.t%04d (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, s VARCHAR(100))", i),
			fmt.Sprintf("INSERT INTO src.t%04d SELECT seq, 0, MD5(seq) FROM mysql.seq_1_to_%d", i, *rows),
		} {
			if _, err := db.ExecContext(ctx, q); err != nil {
				return err
			}
		}
	}
	lake := filepath.Join(dir, "lake")
	s, err := start(*binary, "", nil, "--warehouse", lake, "--memory-limit", *limit)
	if err != nil {
		return err
	}
	defer s.kill()
	begin := time.Now()
	if err := setup(ctx, s.addr, fmt.Sprintf("EXECUTE PIPELINE WITHYAML (source:\n  type: mysql\n  hostname: 127.0.0.1\n  port: %d\n  username: %s\n  password: %s\n  tables: src.\\.*\nsink:\n  type: paimon\n"+
		"  catalog.properties.metastore: filesystem\n  catalog.properties.warehouse: %s\n  table.properties.bucket: 1\n  table.properties.snapshot.time-retained: 2 min\npipeline:\n  name: feed\n)", source.Port, mariadb.User, mariadb.Password, lake)); err != nil {
		return err
	}
	q, err := open(s.addr)
	if err != nil {
		return err
	}
	defer q.Close()
	if err := until(ctx, 20*time.Minute, func() (bool, error) {
		var n int
		err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'src'").Scan(&n)
		if err != nil || n < *tables {
			return false, err
		}
		return equal(ctx, db, q, *tables)
	}); err != nil {
		return fmt.Errorf("first copy: %w", err)
	}
	fmt.Printf("copied %d tables in %v: %.0f MiB, %d files\n", *tables, time.Since(begin).Round(time.Millisecond), s.rss(), entries(lake, ""))

	fmt.Printf("%8s %9s %9s %11s %14s %9s %9s\n", "time", "changes", "snapshots", "live files", "table's files", "lake", "MiB")
	begin = time.Now()
	rnd := rand.New(rand.NewPCG(1, 2))
	changes, next := 0, *rows
	tick := time.NewTicker(time.Duration(float64(time.Second) / *rate))
	defer tick.Stop()
	report := time.NewTicker(*every)
	defer report.Stop()
	end := time.After(*duration)
	table := filepath.Join(lake, "src.db", "t0000")
	measure := func() error {
		var live int
		if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM src.`t0000$files`").Scan(&live); err != nil {
			return err
		}
		fmt.Printf("%8s %9d %9d %11d %14d %9d %9.0f\n", time.Since(begin).Round(time.Second), changes, entries(filepath.Join(table, "snapshot"), "snapshot-"), live, entries(table, ""), entries(lake, ""), s.rss())
		return nil
	}
loop:
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			break loop
		case <-report.C:
			if err := measure(); err != nil {
				return err
			}
		case <-tick.C:
			t := fmt.Sprintf("src.t%04d", changes%*active)
			id := 1 + rnd.IntN(next)
			text := fmt.Sprintf("UPDATE %s SET v = v + 1, s = MD5(v) WHERE id = %d", t, id)
			switch rnd.IntN(10) {
			case 0, 1, 2, 3, 4, 5:
				next++
				text = fmt.Sprintf("INSERT INTO %s VALUES (%d, %d, MD5(%d))", t, next, changes, changes)
			case 6:
				text = fmt.Sprintf("DELETE FROM %s WHERE id = %d", t, id)
			}
			if _, err := db.ExecContext(ctx, text); err != nil {
				return err
			}
			changes++
		}
	}
	if err := until(ctx, time.Minute, func() (bool, error) { return equal(ctx, db, q, *tables) }); err != nil {
		return fmt.Errorf("the lake does not become equal to its source: %w", err)
	}
	if err := measure(); err != nil {
		return err
	}
	fmt.Println("all tables are equal to their source")
	return s.stop()
}

// until asks again and again until it is answered with true.
func until(ctx context.Context, most time.Duration, ask func() (bool, error)) error {
	ctx, stop := context.WithTimeoutCause(ctx, most, fmt.Errorf("not within %v", most))
	defer stop()
	for {
		ok, err := ask()
		if ok || err != nil {
			return err
		}
		if !pause(ctx, 200*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// equal compares the tables of a source and of the lake.
func equal(ctx context.Context, source, lake *sql.DB, tables int) (bool, error) {
	for i := range tables {
		var a, b [4]sql.NullString
		for db, to := range map[*sql.DB]*[4]sql.NullString{source: &a, lake: &b} {
			err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*), SUM(v), SUM(id), SUM(CRC32(CONCAT(id, ':', v, ':', s))) FROM src.t%04d", i)).Scan(&to[0], &to[1], &to[2], &to[3])
			if err != nil {
				return false, err
			}
		}
		if a != b {
			return false, nil
		}
	}
	return true, nil
}
