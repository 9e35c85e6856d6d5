package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

// Memory of large writes: one INSERT … SELECT of all rows of an append table into
// primary-key tables of three bucket modes, a second one that writes a fifth of the
// keys again, and a full compaction, each by the binary in a process of its own
// under a memory limit; the first again by the server. What is checked is the most
// that was resident, and the rows.
//
//	go run ./benchmarks/paimon --binary bin/thermocline [--rows N] [--limit SIZE] --memory
type memoryBench struct {
	binary, limit string
	rows          int64
	dir           string
	failed        bool
}

const memoryColumns = "id BIGINT NOT NULL, customer INT, status STRING, amount DECIMAL(12,2), price DOUBLE, `day` DATE, ts TIMESTAMP(6), comment STRING, flag BOOLEAN"

var memoryTables = []struct{ name, what, ddl string }{
	{"fixed", "fixed bucket", "(" + memoryColumns + ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='1')"},
	{"dynamic", "dynamic buckets", "(" + memoryColumns + ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='-1')"},
	{"crossing", "keys across partitions", "(" + memoryColumns + ", PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (status) WITH ('bucket'='-1')"},
}

func (m *memoryBench) run(child func(what string, args ...string) error) (err error) {
	if m.dir == "" {
		if m.dir, err = os.MkdirTemp("", "bench-memory-"); err != nil {
			return err
		}
		defer os.RemoveAll(m.dir)
	}
	if err := child("make", "append", filepath.Join(m.dir, "db.db", "src"), fmt.Sprint(m.rows)); err != nil {
		return err
	}
	fmt.Printf("%d rows of 9 columns, --memory-limit %s\n\n| | CPU s | wall s | most resident, MiB |\n|---|---|---|---|\n", m.rows, m.limit)
	for _, t := range memoryTables {
		if err := m.sql("", "CREATE TABLE db."+t.name+" "+t.ddl); err != nil {
			return err
		}
		if err := m.sql(t.what+", INSERT … SELECT", "INSERT INTO db."+t.name+" SELECT * FROM db.src"); err != nil {
			return err
		}
		if err := m.sql(t.what+", a fifth of the keys again", "INSERT INTO db."+t.name+" SELECT * FROM db.src WHERE id % 5 = 0"); err != nil {
			return err
		}
		if err := m.sql(t.what+", full compaction", "CALL sys.compact('db."+t.name+"')"); err != nil {
			return err
		}
		if err := m.check(t.name); err != nil {
			return err
		}
	}
	if err := m.serve(); err != nil {
		return err
	}
	if m.failed {
		return errors.New("the limit was passed")
	}
	return nil
}

func (m *memoryBench) command(args ...string) *exec.Cmd {
	return exec.Command(m.binary, append([]string{"sql", "--warehouse", m.dir, "--memory-limit", m.limit, "--format", "csv"}, args...)...)
}

// sql runs a statement in a process and reports what it took, if what is not "".
func (m *memoryBench) sql(what, statement string) error {
	var out bytes.Buffer
	c := m.command("-e", statement)
	shot, err := measure(&out, c.Path, c.Args[1:]...)
	if err != nil {
		return err
	}
	if what != "" {
		m.report(what, shot)
	}
	return nil
}

func (m *memoryBench) report(what string, s shot) {
	verdict := ""
	if limit, err := limitMiB(m.limit); err == nil && s.peakMiB > limit {
		m.failed, verdict = true, " (above the limit)"
	}
	fmt.Printf("| %s | %.1f | %.1f | %.0f%s |\n", what, s.cpu, s.wall, s.peakMiB, verdict)
}

func limitMiB(s string) (float64, error) {
	return strconv.ParseFloat(strings.TrimSuffix(s, "MiB"), 64)
}

// check compares a table with what it must hold.
func (m *memoryBench) check(table string) error {
	out, err := m.command("-e", "SELECT COUNT(*), SUM(id), COUNT(DISTINCT customer) FROM db."+table).Output()
	if err != nil {
		return err
	}
	want, err := m.command("-e", "SELECT COUNT(*), SUM(id), COUNT(DISTINCT customer) FROM db.src").Output()
	if err != nil {
		return err
	}
	if lines := strings.Fields(string(out)); !bytes.Equal(out, want) || len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], fmt.Sprintf("%d,%d,", m.rows, m.rows*(m.rows-1)/2)) {
		return fmt.Errorf("the table %s holds %q, not %q", table, out, want)
	}
	return nil
}

// serve lets the server do the first write.
func (m *memoryBench) serve() (err error) {
	c := exec.Command(m.binary, "serve", "--warehouse", m.dir, "--memory-limit", m.limit, "--mysql-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		return errors.Join(c.Process.Signal(syscall.SIGTERM), c.Wait())
	}
	defer func() { err = errors.Join(err, stop()) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	addr, _, _ := strings.Cut(strings.TrimPrefix(line, "ready: MySQL on "), ",")
	db, err := sql.Open("mysql", "root@tcp("+addr+")/db")
	if err != nil {
		return err
	}
	defer db.Close()
	begin := time.Now()
	for _, s := range []string{"CREATE TABLE served " + memoryTables[0].ddl, "INSERT INTO served SELECT * FROM src"} {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			return err
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	if err != nil {
		return err
	}
	shot := shot{wall: time.Since(begin).Seconds()}
	for l := range strings.Lines(string(status)) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "VmHWM:" {
			shot.peakMiB, _ = strconv.ParseFloat(f[1], 64)
			shot.peakMiB /= 1024
		}
	}
	if err := stop(); err != nil {
		return err
	}
	shot.cpu = c.ProcessState.UserTime().Seconds() + c.ProcessState.SystemTime().Seconds()
	m.report("fixed bucket, INSERT … SELECT by the server", shot)
	return m.check("served")
}
