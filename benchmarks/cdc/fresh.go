package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/thermocline/thermocline/internal/mariadb"
)

// The freshness of a server under a steady stream of changes: two clients ask it,
// one for what is committed and one live, for the newest order again and again. A
// transaction's freshness is the time from its COMMIT to the first answer that has
// it; the time between two questions is part of it.

// pollEvery is how long a client waits between an answer and the next question.
const pollEvery = 10 * time.Millisecond

// poller is one client.
type poller struct {
	mode string
	seen []time.Duration // freshness of each transaction
	asks []time.Duration // of each question
	at   int             // transactions seen
}

// sent are transactions: the last order of each and when it was committed.
type sent struct {
	mu    sync.Mutex
	order []int
	at    []time.Time
}

func fresh(ctx context.Context, dir string, m *mariadb.Server, db *sql.DB, next int) error {
	lake := filepath.Join(dir, "fresh")
	file := filepath.Join(dir, "fresh.yaml")
	text := fmt.Sprintf("source:\n  type: mysql\n  hostname: 127.0.0.1\n  port: %d\n  username: %s\n  password: %s\n  tables: anchor.orders\n"+
		"sink:\n  type: paimon\n  catalog.properties.metastore: filesystem\n  catalog.properties.warehouse: %s\n  table.properties.bucket: 2\npipeline:\n  name: bench\n", m.Port, mariadb.User, mariadb.Password, lake)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, *bin, "serve", "--mysql-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--warehouse", lake, "--pipeline", file, "--memory-limit", *limit)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		cmd.Wait()                          //nolint:errcheck // the same
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	var mysql, web string
	if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "ready: MySQL on %s HTTP on %s", &mysql, &web); err != nil {
		return err
	}
	b := &bench{db: db}
	if err := b.reach(ctx, lake, "stream"); err != nil {
		return err
	}
	asked, err := sql.Open("mysql", "root@tcp("+mysql+")/")
	if err != nil {
		return err
	}
	defer asked.Close()
	var log sent
	var done atomic.Bool
	var wg sync.WaitGroup
	modes := []string{"committed"}
	if *freshLive {
		modes = append(modes, "live")
	}
	pollers := make([]*poller, len(modes))
	failed := make([]error, len(modes))
	for i, mode := range modes {
		pollers[i] = &poller{mode: mode}
		wg.Go(func() { failed[i] = pollers[i].poll(ctx, asked, &log, next, &done) })
	}
	begin, cpu := time.Now(), processTime(cmd.Process.Pid)
	n, err := steady(ctx, db, &log, next)
	wall, cpu := time.Since(begin), processTime(cmd.Process.Pid)-cpu
	time.Sleep(3 * time.Second) // the last ones
	done.Store(true)
	wg.Wait()
	all := len(log.at)
	scans, scanned := whole(ctx, asked, modes, db, &log, next+n)
	if err := errors.Join(append(failed, err, scanned)...); err != nil {
		return err
	}
	fmt.Printf("\n%d changes in %.0f s, ten a transaction, into a table of %d rows; %.1f CPU s of the server with its clients' queries\n\n", n, wall.Seconds(), *rows, cpu.Seconds())
	fmt.Printf("| freshness | p50 | p90 | p99 | most | questions | of which one takes, p50 | p99 |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range pollers {
		p.report(all)
	}
	fmt.Printf("\n%s\n", scans)
	return nil
}

const scan = "SELECT status, COUNT(*), SUM(amount) FROM anchor.orders GROUP BY status"

// whole measures a query over the whole table, while changes go on.
func whole(ctx context.Context, asked *sql.DB, modes []string, db *sql.DB, log *sent, next int) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan error, 1)
	go func() {
		_, err := steady(ctx, db, log, next)
		changed <- err
	}()
	out := "the whole table (`" + scan + "`), best of ten:"
	for _, mode := range modes {
		conn, err := asked.Conn(ctx)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		if _, err := conn.ExecContext(ctx, "SET lake_freshness = '"+mode+"'"); err != nil {
			return "", err
		}
		best := time.Hour
		for range 10 {
			begin := time.Now()
			r, err := conn.QueryContext(ctx, scan)
			if err != nil {
				return "", err
			}
			for r.Next() {
			}
			if err := errors.Join(r.Err(), r.Close()); err != nil {
				return "", err
			}
			best = min(best, time.Since(begin))
			time.Sleep(300 * time.Millisecond)
		}
		out += fmt.Sprintf(" %s %v", mode, best.Round(time.Millisecond))
	}
	cancel()
	if err := <-changed; !errors.Is(err, context.Canceled) {
		return out, err
	}
	return out, nil
}

// steady changes the table for a while, at the wanted rate.
func steady(ctx context.Context, db *sql.DB, log *sent, next int) (n int, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	rnd := rand.New(rand.NewPCG(43, 1))
	begin := time.Now()
	for d := time.Duration(0); d < *freshFor; n += 10 {
		var sb strings.Builder
		next = transaction(&sb, rnd, next)
		if _, err := conn.ExecContext(ctx, sb.String()); err != nil {
			return n, err
		}
		log.mu.Lock()
		log.order, log.at = append(log.order, next), append(log.at, time.Now())
		log.mu.Unlock()
		d = time.Duration(float64(n+10) / *freshRate * float64(time.Second))
		time.Sleep(time.Until(begin.Add(d)))
	}
	return n, nil
}

func (p *poller) poll(ctx context.Context, db *sql.DB, log *sent, newest int, done *atomic.Bool) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET lake_freshness = '"+p.mode+"'"); err != nil {
		return err
	}
	for !done.Load() {
		asked := time.Now()
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, fmt.Sprintf("SELECT MAX(order_id) FROM anchor.orders WHERE order_id >= %d", newest)).Scan(&got); err != nil {
			return err
		}
		now := time.Now()
		p.asks = append(p.asks, now.Sub(asked))
		newest = max(newest, int(got.Int64))
		log.mu.Lock()
		for ; p.at < len(log.order) && log.order[p.at] <= newest; p.at++ {
			p.seen = append(p.seen, max(0, now.Sub(log.at[p.at])))
		}
		log.mu.Unlock()
		time.Sleep(pollEvery)
	}
	return nil
}

func (p *poller) report(all int) {
	slices.Sort(p.seen)
	slices.Sort(p.asks)
	at := func(list []time.Duration, q float64) time.Duration {
		if len(list) == 0 {
			return 0
		}
		return list[min(len(list)-1, int(q*float64(len(list))))].Round(time.Millisecond)
	}
	fmt.Printf("| %s | %v | %v | %v | %v | %d | %v | %v |\n", p.mode, at(p.seen, 0.5), at(p.seen, 0.9), at(p.seen, 0.99), at(p.seen, 1), len(p.asks), at(p.asks, 0.5), at(p.asks, 0.99))
	if len(p.seen) < all {
		fmt.Printf("\n%s: %d of %d transactions were never seen\n", p.mode, all-len(p.seen), all)
	}
}
