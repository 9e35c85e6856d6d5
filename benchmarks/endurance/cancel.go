package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// endless are statements that would take long, each in another operator.
var endless = []struct{ name, set, text string }{
	{"scan and filter", "", "SELECT COUNT(*) FROM c.t, c.d a, c.d b WHERE s LIKE CONCAT('%', a.n, 'zz', b.n, '%')"},
	{"scan, merging sorted runs", "", "SELECT SUM(CRC32(CONCAT(s, a.n, b.n))) FROM c.d a, c.d b, c.p"},
	{"aggregation", "", "SELECT COUNT(*) FROM (SELECT s, n, COUNT(*) FROM c.t, c.d GROUP BY s, n) x"},
	{"aggregation, spilled", "lake_spill = 'FORCE'", "SELECT COUNT(*) FROM (SELECT s, n, COUNT(*) FROM c.t, c.d GROUP BY s, n) x"},
	{"sort", "", "SELECT s FROM c.t, c.d ORDER BY REVERSE(s), n LIMIT 1 OFFSET 9000000"},
	{"sort, spilled", "lake_spill = 'FORCE'", "SELECT s FROM c.t, c.d ORDER BY REVERSE(s), n LIMIT 1 OFFSET 9000000"},
	{"building a hash table", "", "SELECT COUNT(*) FROM c.t a JOIN (SELECT CONCAT(s, n) AS s FROM c.t, c.d) b ON a.s = b.s"},
	{"probing without a match", "", "SELECT COUNT(*) FROM c.t a JOIN c.t b ON a.k = b.k AND a.i + b.i < 0"},
	{"cross join", "", "SELECT COUNT(*) FROM c.t a, c.t b WHERE a.i * b.i < 0"},
	{"window, moving frame", "", "SELECT SUM(x) FROM (SELECT SUM(i) OVER (ORDER BY i ROWS BETWEEN 5000 PRECEDING AND 5000 FOLLOWING) AS x FROM c.t) d"},
	{"window, spilled", "lake_spill = 'FORCE'", "SELECT SUM(x) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY s, n) AS x FROM c.t, c.d) d"},
	{"recursion", "cte_max_recursion_depth = 4294967295", "WITH RECURSIVE r AS (SELECT 1 AS x UNION SELECT x + 1 FROM r WHERE x < 4000000000) SELECT COUNT(*) FROM r"},
	{"regular expressions", "", "SELECT COUNT(*) FROM c.t WHERE REGEXP_LIKE(REPEAT(s, 300), '(r+o*w+)*[0-9]+zz$')"},
	{"JSON", "", "SELECT SUM(JSON_LENGTH(JSON_MERGE_PRESERVE(JSON_ARRAY(REPEAT(s, 300)), JSON_ARRAY(s, i, k)))) FROM c.t"},
	{"GROUP_CONCAT", "group_concat_max_len = 1073741824", "SELECT LENGTH(GROUP_CONCAT(s, n ORDER BY REVERSE(s))) FROM c.t, c.d"},
}

// cancelling measures how long statements go on after they were ended: by KILL
// QUERY, by max_execution_time, by a client that goes away.
func cancelling(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("cancel", flag.ContinueOnError)
	binary := fs.String("binary", "bin/thermocline", "the binary")
	rows := fs.Int("rows", 1000000, "rows of the table, a multiple of 1000")
	only := fs.String("only", "", "run only statements whose name has this")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "endurance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := start(*binary, "", nil, "--warehouse", filepath.Join(dir, "lake"), "--memory-limit", "4GiB")
	if err != nil {
		return err
	}
	defer s.kill()
	thousands := fmt.Sprintf("WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 999) SELECT a.n * 1000 + b.n AS i FROM r a, r b WHERE a.n < %d", *rows/1000)
	if err := setup(ctx, s.addr, "CREATE DATABASE c",
		"CREATE TABLE c.d (n INT) WITH ('bucket' = '-1')", "INSERT INTO c.d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
		"CREATE TABLE c.t (i BIGINT, k INT, s STRING) WITH ('bucket' = '-1')",
		"INSERT INTO c.t SELECT i, i % 100, CONCAT('row ', i * 7919 % 1000003, ' of many') FROM ("+thousands+") x",
		"CREATE TABLE c.p (i BIGINT NOT NULL, s STRING, PRIMARY KEY (i) NOT ENFORCED) WITH ('bucket' = '1', 'write-only' = 'true')",
		"INSERT INTO c.p SELECT i, s FROM c.t", "INSERT INTO c.p SELECT i, CONCAT(s, '!') FROM c.t WHERE i % 3 = 0"); err != nil {
		return err
	}
	fmt.Println("Time from the end of a statement to its answer (of a client that went away: until it is not in the process list), in ms, and the server's CPU time in it.")
	fmt.Println("| | KILL QUERY | CPU | max_execution_time | CPU | client gone | CPU |\n|---|---|---|---|---|---|---|")
	var all []time.Duration
	for _, q := range endless {
		if !strings.Contains(q.name, *only) {
			continue
		}
		line := "| " + q.name
		for _, way := range []string{"kill", "limit", "gone"} {
			var walls, cpus []time.Duration
			for _, delay := range []time.Duration{150 * time.Millisecond, 700 * time.Millisecond, 1900 * time.Millisecond} {
				wall, cpu, err := s.ended(ctx, q.set, q.text, way, delay)
				if errors.Is(err, errEnded) && len(walls) > 0 {
					continue // a quick machine: the shorter delays have to do
				}
				if err != nil {
					return fmt.Errorf("%s, %s after %v: %w", q.name, way, delay, err)
				}
				walls, cpus = append(walls, wall), append(cpus, cpu)
			}
			all = append(all, walls...)
			line += fmt.Sprintf(" | %.1f | %.0f", ms(slices.Max(walls)), ms(slices.Max(cpus)))
		}
		fmt.Println(line + " |")
	}
	slices.Sort(all)
	if len(all) > 0 {
		fmt.Printf("%d statements: median %.1f ms, most %.1f ms\n", len(all), ms(all[len(all)/2]), ms(all[len(all)-1]))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cpu is the CPU time of the server so far.
func (s *server) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	var user, sys int64
	fmt.Sscan(f[11], &user)
	fmt.Sscan(f[12], &sys)
	return time.Duration(user+sys) * time.Second / 100
}

// errEnded means that a statement had its answer before it was to be ended.
var errEnded = errors.New("it ended by itself")

// ended runs a statement, ends it after a delay, and returns how long it went on.
func (s *server) ended(ctx context.Context, set, text, way string, delay time.Duration) (wall, cpu time.Duration, err error) {
	db, err := open(s.addr)
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	var id int64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return 0, 0, err
	}
	if set != "" {
		if _, err := conn.ExecContext(ctx, "SET "+set); err != nil {
			return 0, 0, err
		}
	}
	if way == "limit" {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET max_execution_time = %d", delay.Milliseconds())); err != nil {
			return 0, 0, err
		}
	}
	other, err := open(s.addr)
	if err != nil {
		return 0, 0, err
	}
	defer other.Close()
	if err := other.PingContext(ctx); err != nil {
		return 0, 0, err
	}
	run, leave := context.WithCancel(ctx)
	defer leave()
	type outcome struct {
		err error
		at  time.Time
	}
	answer := make(chan outcome, 1)
	begin := time.Now()
	go func() {
		var x sql.NullString
		err := conn.QueryRowContext(run, text).Scan(&x)
		answer <- outcome{err, time.Now()}
	}()
	time.Sleep(time.Until(begin.Add(delay)))
	if way != "limit" && len(answer) > 0 {
		if got := <-answer; got.err != nil {
			return 0, 0, got.err
		}
		return 0, 0, errEnded
	}
	before, at := s.cpu(), time.Now()
	var number uint16
	switch way {
	case "kill":
		number = 1317
		if _, err := other.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", id)); err != nil {
			return 0, 0, err
		}
	case "limit":
		number, at = 3024, begin.Add(delay)
	default: // the driver closes the connection
		leave()
		for running := int64(1); running > 0; {
			row := other.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", id)
			if err := row.Scan(&running); err != nil {
				return 0, 0, err
			}
		}
		wall = time.Since(at)
		<-answer
		return wall, s.cpu() - before, nil
	}
	got := <-answer
	var e *mysql.MySQLError
	if !errors.As(got.err, &e) || e.Number != number {
		if got.err == nil {
			return 0, 0, errEnded
		}
		return 0, 0, fmt.Errorf("it ended with %v, want error %d", got.err, number)
	}
	return max(got.at.Sub(at), 0), s.cpu() - before, nil
}
