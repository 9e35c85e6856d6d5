package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/internal/mariadb"
)

// beside runs one server and one Java Paimon over a table of a JDBC catalog, in
// a private MariaDB. Each writes partitions of its own, and both take the
// catalog's lock for every commit. Java prepares a commit in tens of milliseconds
// and gives up after commit.max-retries others in a row were faster, so that ours
// pause between statements, and it is allowed many.
func beside(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("java", flag.ContinueOnError)
	binary := fs.String("binary", "bin/thermocline", "the binary")
	duration := fs.Duration("duration", 5*time.Minute, "how long they write")
	java := fs.String("java", "", "a program that runs Java Paimon: FILE exec, dump, verify")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *java == "" {
		return errors.New("--java names no program that runs Java Paimon")
	}
	dir, err := os.MkdirTemp("", "endurance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := mariadb.Start(ctx, filepath.Join(dir, "mariadb"), "--max-connections=10000") // Java leaves some open at each commit
	if err != nil {
		return err
	}
	defer db.Kill()
	if _, err := db.Exec(ctx, "CREATE DATABASE paimon CHARACTER SET latin1; CREATE USER 'p'@'%' IDENTIFIED BY 'p'; GRANT ALL ON paimon.* TO 'p'@'%'"); err != nil {
		return err
	}
	lake, uri := filepath.Join(dir, "lake"), "jdbc:mysql://"+db.Addr()+"/paimon"
	s, err := start(*binary, "", nil, "--warehouse", filepath.Join(dir, "own"))
	if err != nil {
		return err
	}
	defer s.kill()
	if err := setup(ctx, s.addr,
		fmt.Sprintf("CREATE CATALOG j WITH ('type' = 'paimon', 'metastore' = 'jdbc', 'uri' = '%s', 'jdbc.user' = 'p', 'jdbc.password' = 'p', 'lock.enabled' = 'true', 'warehouse' = '%s')", uri, lake),
		"CREATE DATABASE j.e",
		"CREATE TABLE j.e.t (p INT NOT NULL, id BIGINT NOT NULL, v BIGINT, PRIMARY KEY (p, id) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '2', 'snapshot.num-retained.min' = '1000000', 'snapshot.num-retained.max' = '1000000', 'snapshot.time-retained' = '1000 h', 'commit.max-retries' = '1000')"); err != nil {
		return err
	}
	run, stop := context.WithTimeout(ctx, *duration)
	defer stop()
	const conns = 2 // of ours; partition `conns` is Java's
	parts := make([]map[int64]int64, conns+1)
	failures := make([]error, conns+1)
	writes, conflicts := make([]int, conns+1), make([]int, conns+1)
	var all sync.WaitGroup
	for i := range parts {
		parts[i] = map[int64]int64{}
		all.Add(1)
		go func() {
			defer all.Done()
			defer stop() // who fails ends the others
			r := rand.New(rand.NewPCG(uint64(i), 2))
			next := func(n int64) int64 { return r.Int64N(n/2 + 1) } // some keys are written again
			if i == conns {
				var w *javaWriter
				if w, failures[i] = startJava(ctx, *java, lake, uri); failures[i] != nil {
					return
				}
				for n := int64(0); run.Err() == nil && failures[i] == nil; n++ {
					k := next(n)
					if failures[i] = w.write(i, k, n); failures[i] == nil {
						parts[i][k] = n
						writes[i]++
					}
				}
				failures[i] = errors.Join(failures[i], w.close())
				return
			}
			c, err := open(s.addr)
			if err != nil {
				failures[i] = err
				return
			}
			defer c.Close()
			for n := int64(0); pause(run, 500*time.Millisecond); n++ {
				k := next(n)
				// The statement is not cut at the end: its outcome must be known.
				_, err := c.ExecContext(ctx, fmt.Sprintf("INSERT INTO j.e.t VALUES (%d, %d, %d)", i, k, n))
				switch {
				case err == nil:
					parts[i][k] = n
					writes[i]++
				case refused(err):
					conflicts[i]++
				default:
					failures[i] = err
					return
				}
			}
		}()
	}
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	c, err := open(s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	rows, ours := 0, 0
	for i := range parts {
		if err := compareIn(ctx, c, "j.e.t", i, parts[i]); err != nil {
			return err
		}
		rows += len(parts[i])
		if i < conns {
			ours += writes[i]
		}
	}
	n, err := chain(ctx, c, "j.e.`t$snapshots`")
	if err != nil {
		return err
	}
	c.SetMaxOpenConns(1) // of one session, in the catalog
	if _, err := c.ExecContext(ctx, "USE CATALOG j"); err != nil {
		return err
	}
	if err := javaAgrees(ctx, c, *java, filepath.Join(lake, "e.db", "t"), parts); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	fmt.Printf("one server and Java for %s on a JDBC catalog: %d and %d commits, %d rows, %d snapshots without a gap, %d statements refused; no row lost or doubled, in Java neither\n",
		*duration, ours, writes[conns], rows, n, conflicts[0]+conflicts[1])
	return nil
}

// javaWriter is a Java Paimon that runs one operation a line, and names each when
// it is done.
type javaWriter struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	done *bufio.Reader
}

func startJava(ctx context.Context, program, lake, uri string) (*javaWriter, error) {
	args := []string{"exec", "--trace", "--warehouse", lake}
	for _, o := range []string{"metastore=jdbc", "uri=" + uri, "jdbc.user=p", "jdbc.password=p", "lock.enabled=true"} {
		args = append(args, "--catalog-option", o)
	}
	w := &javaWriter{cmd: exec.CommandContext(ctx, program, args...)}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	w.done = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	return w, w.op(`{"op":"use","table":"e.t"}`)
}

func (w *javaWriter) write(p int, k, v int64) error {
	return w.op(fmt.Sprintf(`{"op":"write","rows":[[%d,%d,%d]]}`, p, k, v))
}

// op runs an operation and waits for its end.
func (w *javaWriter) op(line string) error {
	var op struct{ Op string }
	if err := json.Unmarshal([]byte(line), &op); err != nil {
		return err
	}
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		return err
	}
	for {
		answer, err := w.done.ReadString('\n')
		if err != nil {
			return fmt.Errorf("run %s in Java: its output ended: %w", line, err)
		}
		switch answer = strings.TrimSpace(answer); {
		case answer == op.Op:
			return nil
		case strings.Contains(answer, "Exception"):
			rest, _ := io.ReadAll(io.LimitReader(w.done, 4000))
			return fmt.Errorf("run %s in Java: %s\n%s", line, answer, rest)
		}
	}
}

func (w *javaWriter) close() error {
	w.in.Close()
	_, _ = io.Copy(io.Discard, w.done)
	return w.cmd.Wait()
}

// javaAgrees has Java Paimon compare the rows of e.t, whose folder is table, and
// verify its last snapshots: it reads every manifest at each, which for all of
// thousands takes longer than writing them.
func javaAgrees(ctx context.Context, db *sql.DB, java, table string, parts []map[int64]int64) error {
	if _, err := db.ExecContext(ctx, "CALL sys.expire_snapshots(`table` => 'e.t', retain_max => 100, retain_min => 100, older_than => '2100-01-01 00:00:00')"); err != nil {
		return err
	}
	if err := compareJava(ctx, java, table, parts); err != nil {
		return err
	}
	return verify(ctx, java, table)
}

// compareJava reads a table with Java Paimon and compares its rows.
func compareJava(ctx context.Context, program, table string, parts []map[int64]int64) error {
	out, err := exec.CommandContext(ctx, program, "dump", table, "--all").Output()
	if err != nil {
		return fmt.Errorf("read %s with Java: %w", table, err)
	}
	_, lines, _ := bytes.Cut(out, []byte("\n"))
	n, want := 0, 0
	for line := range bytes.Lines(lines) {
		var row [3]int64
		if err := json.Unmarshal(line, &row); err != nil {
			return fmt.Errorf("parse the row %s of Java: %w", line, err)
		}
		if p := row[0]; p < 0 || p >= int64(len(parts)) {
			return fmt.Errorf("WRONG: Java has a row %v", row)
		}
		if v, ok := parts[row[0]][row[1]]; !ok || v != row[2] {
			return fmt.Errorf("WRONG: Java's row %v, want %d (%v)", row, v, ok)
		}
		n++
	}
	for _, p := range parts {
		want += len(p)
	}
	if n != want {
		return fmt.Errorf("WRONG: Java reads %d rows, want %d", n, want)
	}
	return nil
}
