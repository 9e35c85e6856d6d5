package exec_test

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
)

// The tables of TPC-H as their generator makes them, in Flink's types.
const tpchTables = `
CREATE TABLE region (r_regionkey INT, r_name STRING, r_comment STRING) WITH ('bucket'='-1');
CREATE TABLE nation (n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING) WITH ('bucket'='-1');
CREATE TABLE part (p_partkey BIGINT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, p_container STRING, p_retailprice DECIMAL(15,2), p_comment STRING) WITH ('bucket'='-1');
CREATE TABLE supplier (s_suppkey BIGINT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, s_acctbal DECIMAL(15,2), s_comment STRING) WITH ('bucket'='-1');
CREATE TABLE partsupp (ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty BIGINT, ps_supplycost DECIMAL(15,2), ps_comment STRING) WITH ('bucket'='-1');
CREATE TABLE customer (c_custkey BIGINT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, c_acctbal DECIMAL(15,2), c_mktsegment STRING, c_comment STRING) WITH ('bucket'='-1');
CREATE TABLE orders (o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DECIMAL(15,2), o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) WITH ('bucket'='-1');
CREATE TABLE lineitem (l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber BIGINT, l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING) WITH ('bucket'='-1')
`

// loadText writes a file of values separated by | into a table.
func (e *engine) loadText(t testing.TB, table, path string) {
	ctx := context.Background()
	tab, err := e.cat.Table(ctx, catalog.Identifier{Database: e.database, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	w, err := tab.(connector.Writable).NewWrite(ctx, connector.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := tab.Schema()
	b := &vector.Batch{Seq: -1}
	for _, f := range s.Fields {
		b.Cols = append(b.Cols, f.Type.NewVec(vector.BatchRows))
	}
	flush := func() {
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
		b.Reset()
	}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		for i, cell := range strings.Split(sc.Text(), "|") {
			switch v := b.Cols[i]; s.Fields[i].Type.Kind {
			case catalog.Int:
				n, _ := strconv.Atoi(cell)
				v.AppendI32(int32(n))
			case catalog.BigInt:
				n, _ := strconv.ParseInt(cell, 10, 64)
				v.AppendI64(n)
			case catalog.Decimal:
				n, _, _ := vector.ParseDecimal(cell, s.Fields[i].Type.Scale)
				v.AppendDecimal(n)
			case catalog.Date:
				d, err := time.Parse("2006-01-02", cell)
				if err != nil {
					t.Fatal(err)
				}
				v.AppendI32(int32(d.Unix() / 86400))
			default:
				v.AppendString(cell)
			}
		}
		if b.Len++; b.Len == vector.BatchRows {
			flush()
		}
	}
	flush()
	m, err := w.PrepareCommit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tab.(connector.Writable).NewCommit(ctx, "load")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, &connector.Committable{Messages: m}); err != nil {
		t.Fatal(err)
	}
}

// tpch loads the tables from the folder of text files (region.csv, …, values
// separated by |) that THERMOCLINE_TPCH names.
func tpch(t testing.TB) *engine {
	dir := testkit.Tool(t, "THERMOCLINE_TPCH")
	e := newEngine("tpch")
	e.must(t, tpchTables)
	names, err := e.cat.Tables(context.Background(), "tpch")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		e.loadText(t, n, filepath.Join(dir, n+".csv"))
	}
	return e
}

// TestTPCH compares the 22 queries at scale factor 0.01 with DuckDB's answers.
// Rows may be in another order where the query leaves ties.
func TestTPCH(t *testing.T) {
	e := tpch(t)
	writes := e.spilling(t)
	fixtures := testkit.Testdata("tpch")
	for n := 1; n <= 22; n++ {
		t.Run(fmt.Sprintf("q%02d", n), func(t *testing.T) {
			q, err := os.ReadFile(filepath.Join(fixtures, "queries", fmt.Sprintf("q%02d.sql", n)))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(fixtures, "answers", "sf0.01", fmt.Sprintf("q%02d.csv", n)))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.TrimRight(strings.TrimSpace(string(q)), ";")
			start := time.Now()
			e.opts = scan.Options{Threads: 2}
			got, err := e.run(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			t.Logf("%d rows in %v", len(got.rows), time.Since(start).Round(time.Millisecond))
			lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")[1:]
			var want [][]*string
			for _, l := range lines {
				var row []*string
				for _, c := range strings.Split(l, "|") {
					if c == `\N` {
						row = append(row, nil)
					} else {
						row = append(row, &c)
					}
				}
				want = append(want, row)
			}
			if why := closeRows(got.rows, want); why != "" {
				t.Errorf("%s\n%s", why, e.explain(t, text))
			}
			e.eager = true
			if got, err = e.run(text); err != nil {
				t.Fatalf("grouped below joins: %v\n%s", err, e.explain(t, text))
			}
			if why := closeRows(got.rows, want); why != "" {
				t.Errorf("grouped below joins: %s\n%s", why, e.explain(t, text))
			}
			e.eager = false
			// A few MB are enough, when spilling is on.
			e.opts = scan.Options{Threads: 2, Memory: 1 << 20}
			before := writes.Load()
			if got, err = e.run(text); err != nil {
				t.Fatalf("within 1 MiB: %v\n%s", err, e.explain(t, text))
			}
			if why := closeRows(got.rows, want); why != "" {
				t.Errorf("within 1 MiB: %s\n%s", why, e.explain(t, text))
			}
			e.clean(t, text)
			n := writes.Load() - before
			t.Logf("%d batches were spilled", n)
			e.opts.NoSpill = true
			if _, err := e.run(text); err != nil && !(errs.Is(err, errs.MemoryLimit) && strings.Contains(err.Error(), "1MiB")) {
				t.Errorf("without spilling: %v", err)
			} else if err != nil && n == 0 {
				t.Errorf("nothing was spilled, but without spilling: %v", err)
			}
			e.clean(t, text)
		})
	}
}

// closeRows compares rows in order, numbers within 1e-6 relative or 1e-4.
func closeRows(a, b [][]*string) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d rows, want %d", len(a), len(b))
	}
	for i := range a {
		for k := range a[i] {
			x, y := a[i][k], b[i][k]
			if x == nil || y == nil {
				if x != y {
					return fmt.Sprintf("row %d column %d: NULL on one side", i+1, k+1)
				}
				continue
			}
			if *x == *y {
				continue
			}
			fx, e1 := strconv.ParseFloat(*x, 64)
			fy, e2 := strconv.ParseFloat(*y, 64)
			if e1 != nil || e2 != nil || math.Abs(fx-fy) > math.Max(1e-4, 1e-6*math.Abs(fy)) {
				return fmt.Sprintf("row %d column %d: %s, want %s", i+1, k+1, *x, *y)
			}
		}
	}
	return ""
}
