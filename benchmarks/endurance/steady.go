package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// steady commits at a fixed rate for long and prints, once a minute, what the
// table and the server need.
func steady(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("steady", flag.ContinueOnError)
	binary := fs.String("binary", "bin/thermocline", "the binary")
	duration := fs.Duration("duration", time.Hour, "how long")
	rate := fs.Int("rate", 50, "commits a second, of ten rows each")
	every := fs.Duration("every", time.Minute, "how often to measure")
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
	defer s.kill()
	if err := setup(ctx, s.addr, "CREATE DATABASE e",
		"CREATE TABLE e.t (id BIGINT NOT NULL, v BIGINT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'snapshot.time-retained' = '2 min', 'thermocline.maintenance' = 'true')"); err != nil {
		return err
	}
	db, err := open(s.addr)
	if err != nil {
		return err
	}
	defer db.Close()
	run, stop := context.WithTimeout(ctx, *duration)
	defer stop()
	ticks := make(chan int64, *rate)
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	var failure error
	commits, behind := int64(0), int64(0)
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range ticks {
				text := "INSERT INTO e.t VALUES "
				for i := range int64(10) {
					if i > 0 {
						text += ","
					}
					text += fmt.Sprintf("(%d,%d,'row %d')", (n*10+i)*7919%1_000_000, n, n)
				}
				begin := time.Now()
				_, err := db.ExecContext(ctx, text)
				mu.Lock()
				took = append(took, time.Since(begin))
				commits++
				if err != nil && failure == nil {
					failure = err
					stop()
				}
				mu.Unlock()
			}
		}()
	}
	table := filepath.Join(lake, "e.db", "t")
	fmt.Printf("%8s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "time", "commits", "behind", "p50 ms", "p99 ms", "snapshots", "manifests", "data", "all files", "MiB", "count ms")
	begin := time.Now()
	measure := func() error {
		mu.Lock()
		p50, p99 := median(took)
		took = took[:0]
		c, b := commits, behind
		mu.Unlock()
		q := time.Now()
		var rows int64
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM e.t WHERE v >= 0").Scan(&rows); err != nil {
			return err
		}
		count := time.Since(q)
		fmt.Printf("%8s %9d %9d %9.1f %9.1f %9d %9d %9d %9d %9.0f %9.0f\n", time.Since(begin).Round(time.Second), c, b, float64(p50.Microseconds())/1000, float64(p99.Microseconds())/1000,
			entries(filepath.Join(table, "snapshot"), "snapshot-"), entries(filepath.Join(table, "manifest"), "manifest-"), entries(table, "data-"), entries(table, ""), s.rss(), float64(count.Milliseconds()))
		return nil
	}
	tick := time.NewTicker(time.Second / time.Duration(*rate))
	defer tick.Stop()
	report := time.NewTicker(*every)
	defer report.Stop()
	n := int64(0)
loop:
	for {
		select {
		case <-run.Done():
			break loop
		case <-tick.C:
			n++
			select {
			case ticks <- n:
			default: // the server does not keep up
				mu.Lock()
				behind++
				mu.Unlock()
			}
		case <-report.C:
			if err := measure(); err != nil {
				stop()
				failure = err
			}
		}
	}
	close(ticks)
	all.Wait()
	if failure != nil {
		return failure
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := measure(); err != nil {
		return err
	}
	return s.stop()
}
