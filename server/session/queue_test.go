package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/server/admission"
)

// product has more to do than a light query may.
const product = "SELECT COUNT(*) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g, orders h, orders i, orders j, orders k, orders l"

// Heavy queries wait for a slot, visible to others; they end with KILL, with their
// client, with the longest wait and with the statement's time; others do not wait.
func TestQueue(t *testing.T) {
	srv := server(t)
	a, b := session(t, srv, OpenOptions{Database: "shop"}), session(t, srv, OpenOptions{Database: "shop"})
	query(t, b, "SET GLOBAL lake_query_slots = 1")
	want(t, a, product, "531441")
	if n := srv.Queue().Stats(admission.Heavy).Running; n != 0 {
		t.Fatalf("%d slots are held by nobody", n)
	}
	hold, err := srv.Queue().Admit(t.Context(), admission.Heavy, "other")
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Release()
	queued := func(ctx context.Context, text string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := rows(ctx, a, text)
			done <- err
		}()
		for srv.Queue().Stats(admission.Heavy).Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		return done
	}

	done := queued(t.Context(), product)
	if got := query(t, b, "SHOW PROCESSLIST"); !strings.Contains(got, "|queued|") {
		t.Error(got)
	}
	for _, light := range []string{"SELECT 1", "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'shop'", "SELECT SUM(amount) FROM orders", "SELECT region FROM orders WHERE order_id = 1001",
		"INSERT INTO orders VALUES (1, 'US', 1, 'NEW')", "DELETE FROM orders WHERE order_id = 1"} {
		query(t, b, light)
	}
	query(t, b, "KILL QUERY "+uitoa(a.ID()))
	if err := <-done; !errs.Is(err, errs.Killed) {
		t.Errorf("killed in the queue: %v", err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errs.New(errs.User, errs.Killed, "the client has gone away")
	for _, text := range []string{product, "CREATE TABLE copied AS " + product, "INSERT INTO orders (order_id) " + product, "EXPLAIN ANALYZE " + product} {
		done = queued(ctx, text)
		cancel(gone)
		if err := <-done; !errors.Is(err, gone) {
			t.Errorf("%s: the client has gone: %v", text, err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
	}
	cancel(nil)
	wantKind(t, b, "SELECT * FROM copied", errs.UnknownTable)

	wantKind(t, a, strings.Replace(product, "SELECT", "SELECT /*+ MAX_EXECUTION_TIME(1) */", 1), errs.Timeout)
	query(t, b, "SET GLOBAL lake_queue_timeout = 1")
	wantKind(t, a, product, errs.QueueTimeout)
	if s := srv.Queue().Stats(admission.Heavy); s.Waiting != 0 || s.Timeouts != 1 {
		t.Errorf("%+v", s)
	}

	query(t, b, "SET GLOBAL lake_queue_timeout = DEFAULT")
	done = queued(t.Context(), product)
	hold.Release()
	if err := <-done; err != nil {
		t.Errorf("after the slot became free: %v", err)
	}
}

// Many clients with little memory: every query gives what it gives alone, and all
// memory comes back.
func TestManyClients(t *testing.T) {
	clients := 30
	if testing.Short() {
		clients = 12
	}
	limit := int64(24 << 20)
	srv := warehouseIn(t, t.TempDir(), "lake")
	cfg := srv.cfg
	cfg.Memory, cfg.Spill = memory.New("query", limit), fileio.NewScratch(t.TempDir(), 0)
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, srv, OpenOptions{})
	for _, text := range []string{
		"CREATE DATABASE IF NOT EXISTS shop", "USE shop", "SET cte_max_recursion_depth = 100000, SESSION lake_spill = ON",
		"CREATE TABLE big (id BIGINT, k INT, v DECIMAL(12,2), s VARCHAR(40), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='2')",
		"INSERT INTO big WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 40000) SELECT i, i * 7919 % 1009, i * 0.01, CONCAT('some text ', i * 31 % 20011) FROM n",
	} {
		query(t, s, text)
	}
	queries := []string{
		"SELECT k, COUNT(*), SUM(v), MIN(s) FROM big GROUP BY k ORDER BY k",
		"SELECT s, COUNT(*) FROM big GROUP BY s ORDER BY 2 DESC, 1 LIMIT 20",
		"SELECT a.k, COUNT(*), SUM(b.v) FROM big a JOIN big b ON a.id = b.id + 1 JOIN big c ON c.id = a.id GROUP BY a.k ORDER BY a.k",
		"SELECT COUNT(DISTINCT s), COUNT(DISTINCT id) FROM big",
		"SELECT SUM(r * id) FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY s, id) AS r FROM big) x",
		"SELECT id, s FROM big ORDER BY s DESC, id LIMIT 5 OFFSET 30000",
		"SELECT COUNT(*) FROM big a LEFT JOIN big b ON a.s = b.s AND a.k = b.k",
		"SELECT COUNT(*), MAX(length(g)) FROM (SELECT GROUP_CONCAT(s ORDER BY s) AS g FROM big GROUP BY k) x",
		"SELECT s FROM big WHERE id = 12345",
		"SELECT 1",
	}
	answers := make([][]string, len(queries))
	for i, text := range queries {
		if answers[i], err = rows(t.Context(), s, text); err != nil {
			t.Fatalf("%s, alone: %v", text, err)
		}
	}
	var wg sync.WaitGroup
	for c := range clients {
		x := session(t, srv, OpenOptions{Database: "shop"})
		wg.Go(func() {
			for i := range 3 {
				n := (c + 3*i) % len(queries)
				got, err := rows(t.Context(), x, queries[n])
				if err != nil {
					t.Errorf("%s, one of %d clients: %v", queries[n], clients, err)
				} else if !slices.Equal(got, answers[n]) {
					t.Errorf("%s: %d rows differ from those of the query alone", queries[n], len(got))
				}
			}
		})
	}
	wg.Wait()
	if used := cfg.Memory.Used(); used != 0 {
		t.Errorf("%d bytes are not given back", used)
	}
	if p := cfg.Memory.Peak(); p > limit {
		t.Errorf("%d bytes were in use, the limit is %d", p, limit)
	}
	t.Log(fmt.Sprintf("%+v", srv.Queue().Stats(admission.Heavy)), fmt.Sprintf("%+v", srv.Queue().Stats(admission.Light)))
}
