package mariadb_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/testkit"
)

func TestStartStopRestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s := testkit.MariaDB(t, "--gtid-domain-id=7")
	out, err := s.Exec(ctx, "CREATE DATABASE d; SELECT @@binlog_format, @@log_bin, @@gtid_domain_id")
	if err != nil || !strings.Contains(out, "ROW\t1\t7") {
		t.Fatalf("%q %v", out, err)
	}
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(ctx, "SELECT 1"); err == nil {
		t.Fatal("a stopped server answers")
	}
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Exec(ctx, "SHOW DATABASES LIKE 'd'"); err != nil || !strings.Contains(out, "d") {
		t.Fatalf("%q %v", out, err)
	}
}
