// Command skeleton measures the figures a newcomer feels: how fast the server
// is ready, how long a change takes from its commit on the source to the lake,
// how large the binary is and what it needs when idle. It runs the binary as
// its own process beside a private MariaDB and prints a table.
//
//	go run ./benchmarks/skeleton --binary bin/thermocline
package main

import (
	"bufio"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/internal/mariadb"
)

func main() {
	bin := flag.String("binary", "bin/thermocline", "the binary to measure")
	changes := flag.Int("changes", 200, "single-row changes to time")
	flag.Parse()
	if err := run(*bin, *changes); err != nil {
		fmt.Fprintln(os.Stderr, "skeleton:", err)
		os.Exit(1)
	}
}

// server is a running `serve`.
type server struct {
	cmd   *exec.Cmd
	mysql string
	ready time.Duration
}

func start(bin string, args ...string) (*server, error) {
	cmd := exec.Command(bin, append([]string{"serve", "--mysql-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("serve ended: %w", cmd.Wait())
	}
	s := &server{cmd: cmd, ready: time.Since(begin)}
	rest, _ := strings.CutPrefix(line, "ready: MySQL on ")
	s.mysql, _, _ = strings.Cut(rest, ",")
	return s, nil
}

func (s *server) stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	return s.cmd.Wait()
}

// rss returns the resident memory in MiB.
func (s *server) rss() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			return kb / 1024, nil
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}

func run(bin string, changes int) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "thermocline-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	st, err := os.Stat(bin)
	if err != nil {
		return err
	}

	// Cold start: an empty warehouse, no pipeline; the median of nine.
	var starts []time.Duration
	var idle float64
	for i := range 9 {
		s, err := start(bin, "--warehouse", filepath.Join(dir, fmt.Sprint("cold", i)))
		if err != nil {
			return err
		}
		starts = append(starts, s.ready)
		if i == 8 {
			time.Sleep(2 * time.Second)
			if idle, err = s.rss(); err != nil {
				return err
			}
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	slices.Sort(starts)

	m, err := mariadb.Start(ctx, filepath.Join(dir, "mariadb"))
	if err != nil {
		return err
	}
	defer m.Kill()
	src, err := sql.Open("mysql", m.DSN(""))
	if err != nil {
		return err
	}
	defer src.Close()
	for _, q := range []string{"CREATE DATABASE b", "CREATE TABLE b.t (id INT PRIMARY KEY, v VARCHAR(20), at DATETIME(6))", "INSERT INTO b.t VALUES (0, 'first', NOW(6))"} {
		if _, err := src.Exec(q); err != nil {
			return err
		}
	}
	lake := filepath.Join(dir, "lake")
	yaml := filepath.Join(dir, "p.yaml")
	text := fmt.Sprintf("source:\n  type: mysql\n  hostname: 127.0.0.1\n  port: %d\n  username: %s\n  password: %s\n  tables: b.t\n  server-time-zone: UTC\n"+
		"sink:\n  type: paimon\n  catalog.properties.metastore: filesystem\n  catalog.properties.warehouse: %s\npipeline:\n  name: bench\n", m.Port, mariadb.User, mariadb.Password, lake)
	if err := os.WriteFile(yaml, []byte(text), 0o644); err != nil {
		return err
	}
	s, err := start(bin, "--warehouse", lake, "--pipeline", yaml)
	if err != nil {
		return err
	}
	defer s.stop()
	db, err := sql.Open("mysql", "root:@tcp("+s.mysql+")/")
	if err != nil {
		return err
	}
	defer db.Close()
	see := func(id int) error {
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			var n int
			if db.QueryRow("SELECT COUNT(*) FROM b.t WHERE id = ?", id).Scan(&n) == nil && n == 1 {
				return nil
			}
		}
		return fmt.Errorf("row %d does not arrive", id)
	}
	if err := see(0); err != nil {
		return err
	}
	// Commit to visible: one row at a time, each waited for, at random moments of
	// the commit interval and beyond it, so that they do not march in step.
	var lag []time.Duration
	r := rand.New(rand.NewPCG(1, 2))
	for i := range changes {
		time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
		if _, err := src.Exec("INSERT INTO b.t VALUES (?, 'x', NOW(6))", i+1); err != nil {
			return err
		}
		at := time.Now()
		if err := see(i + 1); err != nil {
			return err
		}
		lag = append(lag, time.Since(at))
	}
	slices.Sort(lag)
	busy, err := s.rss()
	if err != nil {
		return err
	}
	// What a query costs once the table has these many commits.
	var asks []time.Duration
	for range 200 {
		at := time.Now()
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM b.t WHERE v = 'x'").Scan(&n); err != nil {
			return err
		}
		asks = append(asks, time.Since(at))
	}
	slices.Sort(asks)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	at := func(s []time.Duration, q float64) time.Duration { return s[min(len(s)-1, int(float64(len(s))*q))] }
	fmt.Printf("| figure | value |\n|---|---|\n")
	fmt.Printf("| binary size | %.1f MB |\n", float64(st.Size())/1e6)
	fmt.Printf("| cold start to ready, median of 9 | %s (worst %s) |\n", ms(starts[4]), ms(starts[8]))
	fmt.Printf("| idle memory (resident) | %.0f MiB |\n", idle)
	fmt.Printf("| commit to visible, %d single-row changes at random moments, commit interval 1 s | p50 %s, p99 %s, max %s |\n", changes, ms(at(lag, .5)), ms(at(lag, .99)), ms(lag[len(lag)-1]))
	fmt.Printf("| memory after them (resident) | %.0f MiB |\n", busy)
	fmt.Printf("| COUNT with a filter over that table, 200 times | p50 %s, p99 %s |\n", ms(at(asks, .5)), ms(at(asks, .99)))
	return nil
}
