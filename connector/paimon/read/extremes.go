package read

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/internal/vector"
)

var _ connector.Extremal = (*State)(nil)

// tellable reports whether statistics of files of a format have the exact bounds of
// columns of a type: texts are truncated, floats may be NaN, and other formats round
// times.
func tellable(t catalog.Type, file string) bool {
	switch t.Kind {
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt, catalog.Date, catalog.Decimal:
		return true
	case catalog.Timestamp, catalog.TimestampLTZ:
		return t.Physical() == vector.I64 && t.Length <= 6 && strings.HasSuffix(file, ".parquet")
	}
	return false
}

// Extremes implements connector.Extremal. They are known where every row of every
// file counts: no file hides or deletes a row of another, and none has a deletion
// vector.
func (st *State) Extremes(ctx context.Context, columns []int) ([]connector.Extremes, error) {
	if st.schema.Options[fallbackOption] != "" || st.changes != nil || st.held != nil || st.keepDeletes || st.tracking || st.address != nil || st.snap == nil || evolves(st.schema) || st.src.refuseTable(st.schema) != nil {
		return nil, nil
	}
	for _, c := range columns {
		if c >= len(st.schema.Fields) || !tellable(st.schema.Fields[c].Type, ".parquet") || st.src.refuseColumn(st.schema, st.schema.Fields[c]) != nil {
			return nil, nil
		}
	}
	if dels, err := st.deletions(ctx); err != nil || len(dels) > 0 {
		return nil, err
	}
	g, err := merge.NewRules(st.src.Name, st.schema)
	if err != nil {
		return nil, err
	}
	l, buckets, err := st.buckets(ctx, nil, g)
	if err != nil {
		return nil, err
	}
	if len(l.files) > mostExtremes {
		return nil, nil
	}
	sc := &scan{st: st, live: l, req: connector.ScanRequest{Columns: columns}, rules: g, paths: st.src.paths(st.schema)}
	if err := sc.loadSchemas(ctx); err != nil {
		return nil, nil // planning says why
	}
	out := make([]connector.Extremes, len(columns))
	for i, c := range columns {
		v := st.schema.Fields[c].Type.NewVec(2)
		v.AppendNull()
		v.AppendNull()
		out[i].Values = v
	}
	j := newJudge(newPruner(st, g, nil), sc)
	for _, b := range buckets {
		if len(st.schema.PrimaryKeys) > 0 && !g.AloneAt(len(b.refs), l.state(b.refs)) {
			return nil, nil
		}
		for _, r := range b.refs {
			if err := j.file(r); err != nil {
				return nil, err
			}
			for i, c := range columns {
				if !j.exact(c) {
					return nil, nil
				}
				x := j.bounds(c)
				if x.Min != nil && x.Max != nil {
					out[i].Values = widened(out[i].Values, x)
				} else if x.Nulls < 0 || x.Nulls != x.Rows {
					return nil, nil
				}
			}
		}
	}
	return out, nil
}

// mostExtremes is the most files whose statistics are worth decoding: a scan has all
// workers do it.
const mostExtremes = 1 << 16

// exact reports whether bounds of a column are those of its values in the file at
// hand, when there are any.
func (j *judge) exact(c int) bool {
	v := j.column(c)
	if v.partition >= 0 || v.absent {
		return true
	}
	return v.same && tellable(v.from, j.x.Name(j.at))
}

// widened returns extremes that hold bounds as well.
func widened(e *vector.Vec, b connector.Bounds) *vector.Vec {
	lo, hi, at, to := b.Min, b.Max, b.Row, b.Row
	if !e.IsNull(0) {
		if vector.Compare(e, 0, lo, at) <= 0 {
			lo, at = e, 0
		}
		if vector.Compare(e, 1, hi, to) >= 0 {
			hi, to = e, 1
		}
	}
	out := vector.NewLike(e, 2)
	out.AppendFrom(lo, at)
	out.AppendFrom(hi, to)
	return out
}
