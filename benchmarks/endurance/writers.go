package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// verify has Java Paimon check a table.
func verify(ctx context.Context, java, table string) error {
	out, err := exec.CommandContext(ctx, java, "verify", table).CombinedOutput()
	if err != nil {
		return fmt.Errorf("verify %s with Java: %w\n%s", table, err, out)
	}
	fmt.Fprintf(os.Stderr, "%s: %s", filepath.Base(table), out)
	return nil
}

// writers runs two servers over one warehouse. Each writes a partition of its
// own, in several connections.
func writers(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("writers", flag.ContinueOnError)
	binary := fs.String("binary", "bin/thermocline", "the binary")
	duration := fs.Duration("duration", 5*time.Minute, "how long they write")
	gateway := fs.String("versitygw", "", "an S3 server's binary: the warehouse lies there; else on local disk")
	java := fs.String("java", "", "a Java Paimon verifier, called as FILE verify TABLE at the end (local disk)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "endurance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	lake := filepath.Join(dir, "lake")
	var env []string
	if *gateway != "" {
		stop, settings, err := objectStore(*gateway, dir)
		if err != nil {
			return err
		}
		defer stop()
		lake, env = "s3://lake/w", settings
	}
	var servers []*server
	for i := range 2 {
		s, err := start(*binary, "", env, "--warehouse", lake, "--data-dir", filepath.Join(dir, fmt.Sprint("data", i)))
		if err != nil {
			return err
		}
		defer s.kill()
		servers = append(servers, s)
	}
	if err := setup(ctx, servers[0].addr, "CREATE DATABASE e",
		"CREATE TABLE e.t (p INT NOT NULL, id BIGINT NOT NULL, v BIGINT, PRIMARY KEY (p, id) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '2', 'snapshot.num-retained.min' = '1000000', 'snapshot.num-retained.max' = '1000000', 'snapshot.time-retained' = '1000 h')"); err != nil {
		return err
	}
	run, stop := context.WithTimeout(ctx, *duration)
	defer stop()
	const conns = 2
	type part struct {
		rows      map[int64]int64
		conflicts int
		err       error
	}
	parts := make([]part, 2*conns)
	var all sync.WaitGroup
	for i := range parts {
		all.Add(1)
		go func() {
			defer all.Done()
			parts[i].rows = map[int64]int64{}
			db, err := open(servers[i/conns].addr)
			if err != nil {
				parts[i].err = err
				return
			}
			defer db.Close()
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for n := int64(0); run.Err() == nil; n++ {
				k := int64(i)*1_000_000_000 + r.Int64N(n/2+1) // some are written again
				// The statement is not cut at the end: its outcome must be known.
				_, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO e.t VALUES (%d, %d, %d)", i, k, n))
				switch {
				case err == nil:
					parts[i].rows[k] = n
				case refused(err):
					parts[i].conflicts++
				default:
					parts[i].err = err
					return
				}
			}
		}()
	}
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	rows, conflicts := 0, 0
	for i := range parts {
		if parts[i].err != nil {
			return parts[i].err
		}
		rows, conflicts = rows+len(parts[i].rows), conflicts+parts[i].conflicts
	}
	// Both servers see the same, which is what was written.
	for _, s := range servers {
		db, err := open(s.addr)
		if err != nil {
			return err
		}
		defer db.Close()
		for i := range parts {
			if err := compareIn(ctx, db, "e.t", i, parts[i].rows); err != nil {
				return err
			}
		}
	}
	db, err := open(servers[1].addr)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := chain(ctx, db, "e.`t$snapshots`")
	if err != nil {
		return err
	}
	if *java != "" && *gateway == "" {
		rows := make([]map[int64]int64, len(parts))
		for i := range parts {
			rows[i] = parts[i].rows
		}
		if err := javaAgrees(ctx, db, *java, filepath.Join(lake, "e.db", "t"), rows); err != nil {
			return err
		}
	}
	for _, s := range servers {
		if err := s.stop(); err != nil {
			return err
		}
	}
	fmt.Printf("two servers for %s: %d rows, %d snapshots without a gap, %d statements refused; no row lost or doubled\n", *duration, rows, n, conflicts)
	return nil
}

// chain returns how many snapshots there are; it is an error if one between the
// first and the last is not.
func chain(ctx context.Context, db *sql.DB, snapshots string) (n int64, err error) {
	var low, high int64
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*), MIN(snapshot_id), MAX(snapshot_id) FROM "+snapshots).Scan(&n, &low, &high); err != nil {
		return 0, err
	}
	if low != 1 || high != n {
		return 0, fmt.Errorf("the chain of snapshots has gaps: %d snapshots from %d to %d", n, low, high)
	}
	return n, nil
}

// compareIn compares the rows of a partition with what was written.
func compareIn(ctx context.Context, db *sql.DB, table string, p int, want map[int64]int64) error {
	rs, err := db.QueryContext(ctx, fmt.Sprintf("SELECT id, v FROM %s WHERE p = %d", table, p))
	if err != nil {
		return err
	}
	defer rs.Close()
	n := 0
	for rs.Next() {
		var k, v int64
		if err := rs.Scan(&k, &v); err != nil {
			return err
		}
		if x, ok := want[k]; !ok || x != v {
			return fmt.Errorf("WRONG: partition %d, row %d is %d, want %d (%v)", p, k, v, x, ok)
		}
		n++
	}
	if err := rs.Err(); err != nil {
		return err
	}
	if n != len(want) {
		return fmt.Errorf("WRONG: partition %d has %d rows, want %d", p, n, len(want))
	}
	return nil
}

// objectStore starts a versitygw with a bucket "lake" and returns the settings
// by which servers find it.
func objectStore(gateway, dir string) (stop func(), env []string, err error) {
	for _, d := range []string{"s3/lake", "meta"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, nil, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(gateway, "--port", addr, "--quiet", "posix", "--sidecar", filepath.Join(dir, "meta"), filepath.Join(dir, "s3"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=test", "ROOT_SECRET_KEY=testtest")
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	for range 500 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return stop, []string{"AWS_ENDPOINT_URL=http://" + addr, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true"}, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return nil, nil, errors.New("the S3 server does not answer")
}

// median returns the middle of the durations, and the 99th percentile.
func median(ds []time.Duration) (p50, p99 time.Duration) {
	if len(ds) == 0 {
		return 0, 0
	}
	slices.Sort(ds)
	return ds[len(ds)/2], ds[len(ds)*99/100]
}

// entries counts the files below a folder whose names have a prefix.
func entries(dir, prefix string) (n int) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), prefix) {
			n++
		}
		return nil
	})
	return n
}
