package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/catalog/filesystem"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/source/mysql"
	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/vector"
)

// lake is a warehouse in memory.
type lake struct {
	t       *testing.T
	catalog catalog.Writable
	files   fileio.FileIO
	dir     string
}

func newMemoryLake(t *testing.T) *lake {
	return &lake{t: t, catalog: memory.NewCatalog(nil), files: fileio.Local{NoSync: true}, dir: t.TempDir()}
}

// newLake is a Paimon warehouse.
func newLake(t *testing.T) *lake {
	t.Helper()
	l := &lake{t: t, files: fileio.Local{NoSync: true}, dir: t.TempDir()}
	l.reopen(l.files)
	return l
}

// reopen opens the Paimon warehouse through other files.
func (l *lake) reopen(files fileio.FileIO) catalog.Writable {
	l.t.Helper()
	c, err := filesystem.Open(filesystem.Config{Files: files, Warehouse: l.dir, Driver: paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{})})})
	if err != nil {
		l.t.Fatal(err)
	}
	if l.catalog == nil {
		l.catalog = c
	}
	return c
}

func (l *lake) options() Options {
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return Options{
		Sources: map[string]source.Factory{"mysql": mysql.New},
		OpenLake: func(context.Context, map[string]string) (*Lake, error) {
			return &Lake{Catalog: l.catalog, Files: l.files, Root: l.dir}, nil
		},
		Files: l.files, DataDir: l.dir + "/data", Log: log,
	}
}

// rows returns the rows of a lake table as text, sorted.
func (l *lake) rows(name string) []string {
	l.t.Helper()
	ctx := context.Background()
	db, table, _ := strings.Cut(name, ".")
	tb, err := l.catalog.Table(ctx, catalog.Identifier{Database: db, Table: table})
	if err != nil {
		return nil
	}
	sn, err := tb.(connector.Readable).Snapshot(ctx, catalog.Ref{})
	if err != nil {
		l.t.Fatal(err)
	}
	cols := make([]int, len(sn.Schema().Fields))
	for i := range cols {
		cols[i] = i
	}
	plan, err := sn.Plan(ctx, connector.ScanRequest{Columns: cols})
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, sp := range plan.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				l.t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Rows() {
				out = append(out, rowText(sn.Schema(), b, b.Row(i)))
			}
		}
		r.Close()
	}
	sort.Strings(out)
	return out
}

func rowText(s *catalog.Schema, b *vector.Batch, i int) string {
	parts := make([]string, len(s.Fields))
	for c, f := range s.Fields {
		v := b.Cols[c]
		switch {
		case v.IsNull(i):
			parts[c] = "NULL"
		case v.Kind == vector.Str:
			parts[c] = v.String(i)
		case v.Kind == vector.F32:
			parts[c] = fmt.Sprint(v.Values().F32s[v.At(i)])
		case v.Kind == vector.F64:
			parts[c] = fmt.Sprint(v.Values().F64s[v.At(i)])
		case v.Kind == vector.I64 && f.Type.Kind != catalog.Decimal:
			parts[c] = fmt.Sprint(v.Values().I64s[v.At(i)])
		case v.Kind == vector.I32:
			parts[c] = fmt.Sprint(v.Values().I32s[v.At(i)])
		default:
			parts[c] = string(vector.AppendDecimalText(nil, v, i, f.Type.Scale))
		}
	}
	return strings.Join(parts, "|")
}

// yaml is a pipeline file for the server.
func (s *server) yaml(tables, more string) string {
	return fmt.Sprintf(`
source:
  type: mysql
  hostname: 127.0.0.1
  port: %d
  username: %s
  password: %s
  tables: %s
  heartbeat.interval: 1s
sink:
  type: paimon
  catalog.properties.metastore: filesystem
pipeline:
  name: test
  commit.interval: 100 ms
%s`, s.Port, mariadb.User, mariadb.Password, tables, more)
}

// eventually waits until check returns "".
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		why := check()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(why)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// same waits until the lake table has exactly the rows.
func (l *lake) same(name string, want ...string) {
	l.t.Helper()
	sort.Strings(want)
	eventually(l.t, func() string {
		got := l.rows(name)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			return fmt.Sprintf("%s has %q, want %q", name, got, want)
		}
		return ""
	})
}

const quickstart = `CREATE DATABASE sales; CREATE TABLE sales.orders (order_id INT PRIMARY KEY, customer_id INT, region VARCHAR(10), amount DOUBLE, status VARCHAR(10), order_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO sales.orders (order_id, customer_id, region, amount, status, order_time) VALUES (1001,1,'US',20.5,'NEW','2026-01-01'), (1002,2,'EU',35.2,'NEW','2026-01-01'), (1003,3,'CN',66.6,'NEW','2026-01-01'), (1004,4,'UK',38.9,'NEW','2026-01-01'), (1005,5,'AU',25.3,'NEW','2026-01-01'), (1006,6,'JP',33.8,'NEW','2026-01-01')`

func TestQuickstart(t *testing.T) {
	srv := newServer(t)
	srv.exec(quickstart)
	l := newLake(t)
	r := NewRunner(l.options())
	yaml := srv.yaml("sales.orders", "route:\n  - source-table: sales.orders\n    sink-table: dwd.orders_paimon\n")
	if _, err := r.Execute(context.Background(), yaml); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if n := len(l.rows("dwd.orders_paimon")); n != 6 {
			return fmt.Sprintf("%d rows; %+v", n, r.Status())
		}
		return ""
	})
	srv.exec("SET time_zone='+00:00'; INSERT INTO sales.orders VALUES (3001,7,'US',1.5,'NEW','2026-01-02')",
		"SET time_zone='+00:00'; INSERT INTO sales.orders VALUES (6001,7,'US',18.5,'NEW','2026-01-02'), (6002,7,'US',27,'NEW','2026-01-02'), (6003,7,'US',1.5,'NEW','2026-01-02')",
		"UPDATE sales.orders SET amount = amount + 5, status='PAID', order_time = '2026-01-03' WHERE order_id IN (6001, 6002)", "DELETE FROM sales.orders WHERE order_id = 6003")
	eventually(t, func() string {
		got := l.rows("dwd.orders_paimon")
		if len(got) != 9 || !strings.HasPrefix(got[7], "6001|7|US|23.5|PAID|") || !strings.HasPrefix(got[8], "6002|7|US|32|PAID|") {
			return fmt.Sprintf("%q %+v", got, r.Status())
		}
		return ""
	})
	eventually(t, func() string {
		st := r.Status()[0]
		if st.State != Streaming || st.Error != "" || len(st.Tables) != 1 || st.Tables[0].Phase != "stream" || st.RowsCommitted != 6+1+3+2+1 {
			return fmt.Sprintf("%+v", st)
		}
		return ""
	})
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	// A new runner resumes what was kept; changes made meanwhile arrive.
	srv.exec("DELETE FROM sales.orders WHERE order_id = 1001")
	r = NewRunner(l.options())
	if err := r.Resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if n := len(l.rows("dwd.orders_paimon")); n != 8 {
			return fmt.Sprintf("%d rows; %+v", n, r.Status())
		}
		return ""
	})
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func sortStrings(s []string) { sort.Strings(s) }
