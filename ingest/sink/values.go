package sink

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Values is the catalog of a `type: values` sink: rows are printed when they
// are written, one a line, and nothing is kept.
type Values struct {
	catalog.Writable // not implemented beyond what a Set calls

	// Out gets the lines; nil drops them.
	Out io.Writer

	mu     sync.Mutex
	tables map[catalog.Identifier]*valuesTable
}

// Table implements catalog.Catalog: no table exists before it is created.
func (v *Values) Table(_ context.Context, id catalog.Identifier) (catalog.Table, error) {
	return nil, errs.Userf(errs.UnknownTable, "open table %s: a values sink keeps none", id)
}

// CreateDatabase implements catalog.Writable.
func (v *Values) CreateDatabase(context.Context, string, bool) error { return nil }

// CreateTable implements catalog.Writable.
func (v *Values) CreateTable(_ context.Context, id catalog.Identifier, s *catalog.Schema, _ bool) (catalog.Table, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tables == nil {
		v.tables = map[catalog.Identifier]*valuesTable{}
	}
	t := v.tables[id]
	if t == nil {
		t = &valuesTable{v: v, id: id, schema: s}
		v.tables[id] = t
	}
	return t, nil
}

type valuesTable struct {
	v      *Values
	id     catalog.Identifier
	schema *catalog.Schema
}

func (t *valuesTable) ID() catalog.Identifier  { return t.id }
func (t *valuesTable) Schema() *catalog.Schema { return t.schema }
func (t *valuesTable) UUID() string            { return "values" }

func (t *valuesTable) NewWrite(context.Context, connector.WriteOptions) (connector.TableWrite, error) {
	return valuesWrite{t}, nil
}

func (t *valuesTable) NewCommit(context.Context, string) (connector.TableCommit, error) {
	return valuesCommit{}, nil
}

type valuesWrite struct{ t *valuesTable }

// Write prints "database.table +I[1, text, NULL]", one row a line.
func (w valuesWrite) Write(_ context.Context, b *vector.Batch) error {
	if w.t.v.Out == nil {
		return nil
	}
	var sb strings.Builder
	for i := range b.Rows() {
		r := b.Row(i)
		fmt.Fprintf(&sb, "%s %s[", w.t.id, vector.RowKindString(b.Kind(r)))
		for c, f := range w.t.schema.Fields {
			if c > 0 {
				sb.WriteString(", ")
			}
			sb.WriteString(valueText(b.Cols[c], r, f.Type))
		}
		sb.WriteString("]\n")
	}
	w.t.v.mu.Lock()
	defer w.t.v.mu.Unlock()
	if _, err := io.WriteString(w.t.v.Out, sb.String()); err != nil {
		return errs.New(errs.Unavailable, errs.KindNone, "print rows of %s: %w", w.t.id, err)
	}
	return nil
}

func (w valuesWrite) PrepareCommit(context.Context) ([]connector.CommitMessage, error) {
	return nil, nil
}
func (w valuesWrite) Close() error { return nil }

type valuesCommit struct{}

func (valuesCommit) Commit(context.Context, *connector.Committable) (connector.CommitResult, error) {
	return connector.CommitResult{}, nil
}
func (valuesCommit) LatestOwn(context.Context) (*connector.SnapshotInfo, error) { return nil, nil }
func (valuesCommit) Abort(context.Context, []connector.CommitMessage) error     { return nil }

// valueText writes a lake value for people.
func valueText(v *vector.Vec, i int, t catalog.Type) string {
	if v.IsNull(i) {
		return "NULL"
	}
	switch t.Kind {
	case catalog.Boolean:
		return strconv.FormatBool(v.I8s[i] != 0)
	case catalog.Date:
		return time.Unix(int64(v.I32s[i])*86400, 0).UTC().Format("2006-01-02")
	case catalog.Timestamp, catalog.TimestampLTZ:
		layout := "2006-01-02 15:04:05"
		if t.Length > 0 {
			layout += "." + strings.Repeat("0", min(t.Length, 6))
		}
		s := time.UnixMicro(v.I64s[i]).UTC().Format(layout)
		if t.Kind == catalog.TimestampLTZ {
			s += " UTC"
		}
		return s
	case catalog.Decimal:
		return string(vector.AppendDecimalText(nil, v, i, t.Scale))
	case catalog.Binary, catalog.Varbinary:
		return "0x" + hex.EncodeToString(v.Bytes(i))
	}
	switch v.Kind {
	case vector.I32:
		return strconv.Itoa(int(v.I32s[i]))
	case vector.I64:
		return strconv.FormatInt(v.I64s[i], 10)
	case vector.F32:
		return strconv.FormatFloat(float64(v.F32s[i]), 'g', -1, 32)
	case vector.F64:
		return strconv.FormatFloat(v.F64s[i], 'g', -1, 64)
	case vector.Str:
		return v.String(i)
	}
	return "?"
}
