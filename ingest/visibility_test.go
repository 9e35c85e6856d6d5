package ingest

import (
	"context"
	"fmt"
	"testing"
)

// TestVisibility: transactions that are in the binlog and that no reader sees yet,
// since the server waits for a semi-synchronous replica between the two. A copy
// that is made meanwhile has their rows in the end, in one read and in chunks.
func TestVisibility(t *testing.T) {
	srv := newServer(t, "--rpl-semi-sync-master-enabled=ON", "--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-master-timeout=3000", "--rpl-semi-sync-master-wait-no-slave=ON")
	srv.exec("CREATE DATABASE c")
	for _, chunks := range []bool{false, true} {
		t.Run(fmt.Sprintf("chunks=%v", chunks), func(t *testing.T) {
			s := *srv
			s.t = t
			if chunks {
				inChunks(t, 40)
			}
			s.exec("SET GLOBAL rpl_semi_sync_master_enabled=OFF", "CREATE OR REPLACE TABLE c.a (id INT PRIMARY KEY, v INT); INSERT INTO c.a SELECT seq, 0 FROM seq_1_to_300")
			l := newLake(t)
			before := s.binlog()
			s.exec("SET GLOBAL rpl_semi_sync_master_enabled=ON")
			stalled := make(chan error, 1)
			go func() {
				_, err := s.db.Exec("BEGIN; UPDATE c.a SET v = 1 WHERE id <= 200; DELETE FROM c.a WHERE id > 280; INSERT INTO c.a VALUES (1000, 1); COMMIT")
				stalled <- err
			}()
			eventually(t, func() string {
				if s.binlog() == before {
					return "the transaction is not in the binlog"
				}
				return ""
			})
			var seen int
			if err := s.db.QueryRow("SELECT COUNT(*) FROM c.a WHERE v = 1").Scan(&seen); err != nil {
				t.Fatal(err)
			}
			if seen != 0 {
				t.Skip("the transaction is seen already: the machine is too slow for the server's timeout")
			}
			r := start(t, l.options(), s.yaml("c.a", ""))
			if err := <-stalled; err != nil {
				t.Fatal(err)
			}
			s.exec("INSERT INTO c.a VALUES (1001, 2)")
			s.same(l, r, "c.a")
			end(t, r)
		})
	}
}

// binlog is where the server's binlog ends.
func (s *server) binlog() string {
	s.t.Helper()
	out, err := s.Exec(context.Background(), "SHOW MASTER STATUS")
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}
