package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

var children = map[string]func([]string) (outcome, error){"scan": scan, "write": writePK, "make": makeTable}

const errNoVectors = "this version writes no deletion vectors"

// Rows whose id is deleteAt modulo deleteEvery are deleted by vectors.
const (
	deleteEvery = 20
	deleteAt    = 7
)

var ctx = context.Background()

func now() float64 { return float64(time.Now().UnixNano()) / 1e9 }

func driver() *paimon.Driver {
	return paimon.NewDriver(paimon.Config{Files: fileio.Local{}, Formats: format.NewRegistry(parquet.Format{})})
}

// schema is that of the oracle's benchmark tables.
func schema(options map[string]string, keys ...string) *catalog.Schema {
	return &catalog.Schema{
		Fields: []catalog.Field{
			{Name: "id", Type: catalog.TBigInt.Required()}, {Name: "customer", Type: catalog.TInt}, {Name: "status", Type: catalog.TString},
			{Name: "amount", Type: catalog.TDecimal(12, 2)}, {Name: "price", Type: catalog.TDouble}, {Name: "day", Type: catalog.TDate},
			{Name: "ts", Type: catalog.TTimestamp(6)}, {Name: "comment", Type: catalog.TString}, {Name: "flag", Type: catalog.TBoolean},
		},
		PrimaryKeys: keys, Options: options,
	}
}

var statuses = []string{"open", "paid", "shipped", "returned", "closed"}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// appendRow adds the row of an id, the same as the oracle's.
func appendRow(b *vector.Batch, id int64, text []byte) []byte {
	h := mix(uint64(id) + 1)
	c := b.Cols
	c[0].AppendI64(id)
	c[1].AppendI32(int32(h & 0x7fffffff % 100_000))
	c[2].AppendString(statuses[(h>>33)%5])
	if int64(h)%10 == 0 {
		c[3].AppendNull()
	} else {
		c[3].AppendI64(int64((h >> 20) % 10_000_000))
	}
	c[4].AppendF64(float64(h>>40) / 100)
	c[5].AppendI32(19_000 + int32((h>>25)%700))
	c[6].AppendI64(1_700_000_000_000_000 + int64(h>>24))
	text = strconv.AppendUint(append(text[:0], "comment "...), h>>30, 36)
	c[7].AppendBytes(text)
	c[8].AppendBool(h&4 == 0)
	b.Len++
	return text
}

// fill writes the rows first, first+step, … below rows.
func fill(w connector.TableWrite, s *catalog.Schema, first, step, rows int64) error {
	b := &vector.Batch{Seq: -1}
	for _, f := range s.Fields {
		b.Cols = append(b.Cols, f.Type.NewVec(vector.BatchRows))
	}
	var text []byte
	for id := first; id < rows; id += step {
		if text = appendRow(b, id, text); b.Len == vector.BatchRows {
			if err := w.Write(ctx, b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return w.Write(ctx, b)
}

func commit(tb connector.Writable, id int64, messages []connector.CommitMessage, read int64) error {
	c, err := tb.NewCommit(ctx, "bench")
	if err != nil {
		return err
	}
	_, err = c.Commit(ctx, &connector.Committable{Identifier: id, Messages: messages, ReadVersion: read})
	return err
}

// table is a table that is written and read.
type table interface {
	connector.Readable
	connector.Writable
}

func create(dir string, s *catalog.Schema) (table, error) {
	t, err := driver().Create(ctx, dir, catalog.Identifier{Database: "default", Table: "t"}, s)
	if err != nil {
		return nil, err
	}
	return t.(table), nil
}

// makeTable makes one of the tables that are scanned: KIND DIR ROWS.
func makeTable(args []string) (o outcome, err error) {
	rows, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return o, err
	}
	options, runs, keys := map[string]string{"bucket": "-1"}, int64(1), []string(nil)
	if args[0] == "pk" {
		// Buffers large enough that each of the five commits makes one run.
		options = map[string]string{"bucket": "1", "write-only": "true", "write-buffer-size": "2 gb", "target-file-size": "1 gb"}
		runs, keys = 5, []string{"id"}
	}
	if args[0] == "dv" {
		options["deletion-vectors.enabled"] = "true"
	}
	tb, err := create(args[1], schema(options, keys...))
	if err != nil {
		return o, err
	}
	for r := range runs {
		w, err := tb.NewWrite(ctx, connector.WriteOptions{CommitUser: "bench", NoCompaction: true})
		if args[0] == "dv" && errs.ClassOf(err) == errs.Unsupported {
			err = errors.New(errNoVectors)
		}
		if err != nil {
			return o, err
		}
		if err := fill(w, tb.Schema(), r, runs, rows); err != nil {
			return o, err
		}
		m, err := w.PrepareCommit(ctx)
		if err == nil {
			err = errors.Join(w.Close(), commit(tb, r+1, m, 0))
		}
		if err != nil {
			return o, err
		}
	}
	if args[0] == "dv" {
		return o, deleteRows(tb)
	}
	return o, nil
}

// deleteRows marks a share of the rows as deleted.
func deleteRows(tb table) error {
	rc, ok := tb.(connector.RowChanger)
	if !ok {
		return errors.New(errNoVectors)
	}
	snap, err := tb.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		return err
	}
	change, err := rc.NewRowChange(ctx, snap, connector.WriteOptions{CommitUser: "bench"})
	if err != nil {
		return err
	}
	rows := change.Rows()
	err = each(rows, []int{0, len(rows.Schema().Fields) - 1}, func(b *vector.Batch) error {
		var sel []uint16
		ids := b.Cols[0].Flatten()
		for i := range b.Rows() {
			if at := b.Row(i); ids.I64s[at]%deleteEvery == deleteAt {
				sel = append(sel, uint16(at))
			}
		}
		if len(sel) == 0 {
			return nil
		}
		return change.Delete(ctx, b.Cols[1], sel)
	})
	if err != nil {
		return err
	}
	m, err := change.PrepareCommit(ctx)
	if err != nil {
		return err
	}
	return errors.Join(change.Close(), commit(tb, 2, m, snap.Version()))
}

// each scans columns of a snapshot.
func each(snap connector.Snapshot, columns []int, f func(*vector.Batch) error) error {
	plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: columns})
	if err != nil {
		return err
	}
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			return err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				return err
			}
			if b == nil {
				break
			}
			if err := f(b); err != nil {
				return err
			}
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}

// scan reads all of a table: DIR. It looks at every value.
func scan(args []string) (o outcome, err error) {
	tb, err := driver().Open(ctx, args[0], catalog.Identifier{Database: "default", Table: "t"})
	if err != nil {
		return o, err
	}
	snap, err := tb.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		return o, err
	}
	var all []int
	for i := range snap.Schema().Fields {
		all = append(all, i)
	}
	rest := uint64(0)
	err = each(snap, all, func(b *vector.Batch) error {
		o.Rows += int64(b.Rows())
		o.IDs += int64(sum(b.Cols[0], b))
		for _, v := range b.Cols[1:] {
			rest += sum(v, b)
		}
		return nil
	})
	if rest == 42 {
		fmt.Fprintln(os.Stderr) // the sums are used
	}
	return o, err
}

// sum adds up the values of a column's rows that count.
func sum(v *vector.Vec, b *vector.Batch) uint64 {
	switch p := v.Values(); p.Kind {
	case vector.I8:
		return sumOf(p.I8s, v, b, func(x int8) uint64 { return uint64(x) })
	case vector.I32:
		return sumOf(p.I32s, v, b, func(x int32) uint64 { return uint64(x) })
	case vector.I64:
		return sumOf(p.I64s, v, b, func(x int64) uint64 { return uint64(x) })
	case vector.F64:
		return sumOf(p.F64s, v, b, math.Float64bits)
	default:
		return sumOf(p.Views, v, b, func(x vector.View) uint64 { return uint64(x.Len()) + uint64(x[4]) })
	}
}

func sumOf[T any](x []T, v *vector.Vec, b *vector.Batch, f func(T) uint64) (s uint64) {
	switch {
	case v.Form == vector.Const || len(x) == 0:
	case v.Form == vector.Dict && b.Sel == nil:
		for _, c := range v.Codes[:b.Len] {
			s += f(x[c])
		}
	case v.Form == vector.Dict:
		for _, i := range b.Sel {
			s += f(x[v.Codes[i]])
		}
	case b.Sel == nil:
		for _, y := range x[:b.Len] {
			s += f(y)
		}
	default:
		for _, i := range b.Sel {
			s += f(x[i])
		}
	}
	return s
}

// writePK writes a primary-key table in five commits and compacts it: DIR ROWS.
func writePK(args []string) (o outcome, err error) {
	rows, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return o, err
	}
	tb, err := create(args[0], schema(map[string]string{"bucket": "1"}, "id"))
	if err != nil {
		return o, err
	}
	w, err := tb.NewWrite(ctx, connector.WriteOptions{CommitUser: "bench"})
	if err != nil {
		return o, err
	}
	defer w.Close()
	for r := range int64(5) {
		if err := fill(w, tb.Schema(), r, 5, rows); err != nil {
			return o, err
		}
		m, err := w.PrepareCommit(ctx)
		if err == nil {
			err = commit(tb, r+1, m, 0)
		}
		if err != nil {
			return o, err
		}
	}
	files := fileio.Local{}
	m, err := write.Compact(ctx, write.Config{Files: files, Paths: spec.NewPaths(args[0], "", tb.Schema()), Schema: tb.Schema(),
		Formats: format.NewRegistry(parquet.Format{})}, write.CompactOptions{})
	if err != nil {
		return o, err
	}
	if len(m) != 1 {
		return o, fmt.Errorf("the compaction of five runs gave %d results", len(m))
	}
	if err := commit(tb, 6, m, 0); err != nil {
		return o, err
	}
	o.Rows = rows
	return o, nil
}

// pypaimonScan reads the table default.t of the warehouse in its argument.
const pypaimonScan = `
import sys
from pypaimon import CatalogFactory
t = CatalogFactory.create({"warehouse": sys.argv[1]}).get_table("default.t")
b = t.new_read_builder()
n = 0
for batch in b.new_read().to_arrow_batch_reader(b.new_scan().plan().splits()):
    n += batch.num_rows
print(n)
`
