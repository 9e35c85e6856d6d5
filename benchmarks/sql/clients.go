package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/benchmarks/wireclient"
	"github.com/thermocline/thermocline/internal/memory"
)

// This file runs all queries over the MySQL port of a server with a memory limit:
// alone, then by many clients at a time. None may fail, every answer must be that
// of the query alone, and the process may not become larger than its limit.

// mixed is what became of the clients' queries.
type mixed struct {
	mu       sync.Mutex
	done     int
	failures []string
	waits    []time.Duration // how long queries took
	light    []time.Duration // how long small statements took meanwhile
}

func (m *mixed) fail(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = append(m.failures, fmt.Sprintf(format, args...))
}

// clientsRun is the whole of it.
func (b *bench) clientsRun(qs []query) error {
	limit, err := memory.ParseSize(b.limit)
	if err != nil || limit <= 0 || b.binary == "" {
		return errors.Join(errors.New("--clients needs --memory-limit and --binary"), err)
	}
	for _, suite := range []string{"tpch", "hits"} {
		if slices.ContainsFunc(qs, func(q query) bool { return q.suite == suite }) {
			if err := b.prepare(suite); err != nil {
				return err
			}
		}
	}
	srv, err := wireclient.Start(b.binary, b.warehouse(), filepath.Join(b.temp, "server"), []string{fmt.Sprint("GOMAXPROCS=", b.threads)}, "--memory-limit", b.limit)
	if err != nil {
		return err
	}
	defer srv.Stop()

	// Alone, in an order without ties, to know the answers.
	c, err := wireclient.Dial(srv.Address, "", 0)
	if err != nil {
		return err
	}
	defer c.Close()
	// A machine that is busy with other work makes the queue slow, not wrong.
	if _, _, err := c.Query("SET GLOBAL lake_queue_timeout = 0"); err != nil {
		return err
	}
	answers := make([][][]*string, len(qs))
	m := &mixed{}
	start := time.Now()
	for i, q := range qs {
		if _, _, err := c.Query("USE " + b.database(q.suite)); err != nil {
			return err
		}
		rows, err := c.Rows(q.ours)
		if err == nil && len(rows) > 0 {
			if text := total(q.ours, len(rows[0])); text != q.ours {
				qs[i].ours = text
				rows, err = c.Rows(text)
			}
		}
		if err != nil {
			m.fail("%s, alone: %v", q.name, err)
		}
		answers[i] = rows
	}
	_, most := srv.Resident()
	fmt.Printf("%d queries alone: %.1f s wall, %.1f s CPU, at most %s resident, %d failed\n", len(qs), time.Since(start).Seconds(), srv.CPU().Seconds(), memory.FormatSize(most), len(m.failures))

	if len(m.failures) == 0 {
		cpu, start := srv.CPU(), time.Now()
		b.mix(srv, qs, answers, m)
		_, most = srv.Resident()
		fmt.Printf("%d clients, %d queries: %.1f s wall, %.1f s CPU, at most %s resident, %d failed\n", b.clients, m.done, time.Since(start).Seconds(), (srv.CPU() - cpu).Seconds(),
			memory.FormatSize(most), len(m.failures))
		fmt.Printf("a query took %s; a small statement beside them %s\n", spread(m.waits), spread(m.light))
	}
	if text, err := metricsOf(srv.HTTP); err == nil {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "thermocline_quer") {
				fmt.Print(line)
			}
		}
	}
	for _, f := range m.failures {
		fmt.Println(f)
	}
	switch {
	case len(m.failures) > 0:
		return fmt.Errorf("%d queries failed", len(m.failures))
	case most > limit:
		return fmt.Errorf("%s were resident, the limit is %s", memory.FormatSize(most), b.limit)
	}
	return nil
}

// mix runs the clients, and one that asks small things.
func (b *bench) mix(srv *wireclient.Server, qs []query, answers [][][]*string, m *mixed) {
	var all, small sync.WaitGroup
	over := make(chan struct{})
	small.Go(func() { b.small(srv, qs, over, m) })
	for n := range b.clients {
		all.Go(func() {
			c, err := wireclient.Dial(srv.Address, "", 10*time.Second)
			if err != nil {
				m.fail("client %d: %v", n, err)
				return
			}
			defer c.Close()
			order := rand.New(rand.NewPCG(uint64(n), 1)).Perm(len(qs))
			for k := range b.each {
				// Every query comes up, and clients ask for different ones at a time.
				i := order[k%len(order)]
				if k == 0 {
					i = n % len(qs)
				}
				q := qs[i]
				at := time.Now()
				_, _, err := c.Query("USE " + b.database(q.suite))
				var rows [][]*string
				if err == nil {
					rows, err = c.Rows(q.ours)
				}
				if err != nil {
					m.fail("%s, client %d: %v", q.name, n, err)
					var refused *wireclient.ServerError
					if !errors.As(err, &refused) {
						return
					}
					continue
				}
				if why := differ(rows, slices.Clone(answers[i])); why != "" {
					m.fail("%s, client %d: not the rows of the query alone: %s", q.name, n, strings.ReplaceAll(why, "DuckDB", "alone"))
				}
				m.mu.Lock()
				m.done++
				m.waits = append(m.waits, time.Since(at))
				m.mu.Unlock()
			}
		})
	}
	all.Wait()
	close(over)
	small.Wait()
}

// small asks what never should wait behind heavy queries.
func (b *bench) small(srv *wireclient.Server, qs []query, over chan struct{}, m *mixed) {
	c, err := wireclient.Dial(srv.Address, "", 10*time.Second)
	if err != nil {
		m.fail("client of small statements: %v", err)
		return
	}
	defer c.Close()
	texts := []string{"SELECT 1", "SHOW PROCESSLIST", "SELECT COUNT(*) FROM information_schema.columns"}
	for _, q := range qs {
		if q.suite == "tpch" {
			texts = append(texts, "SELECT n_name, r_name FROM "+b.database("tpch")+".nation JOIN "+b.database("tpch")+".region ON n_regionkey = r_regionkey ORDER BY 1")
			break
		}
	}
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		case <-time.After(100 * time.Millisecond):
		}
		at := time.Now()
		if _, _, err := c.Query(texts[i%len(texts)]); err != nil {
			m.fail("%s: %v", texts[i%len(texts)], err)
			return
		}
		m.light = append(m.light, time.Since(at))
	}
}

// spread describes durations.
func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "–"
	}
	slices.Sort(d)
	return fmt.Sprintf("p50 %s, p99 %s, at most %s (%d)", d[len(d)/2].Round(10*time.Microsecond), d[len(d)*99/100].Round(10*time.Microsecond), d[len(d)-1].Round(10*time.Microsecond), len(d))
}

func metricsOf(address string) (string, error) {
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}
