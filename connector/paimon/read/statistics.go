package read

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

var _ connector.Described = (*State)(nil)

// Statistics implements connector.Described: what the snapshot's statistics file
// says, with the bounds that the manifests have of few files: those are newer.
func (st *State) Statistics(ctx context.Context) (*connector.Statistics, error) {
	if st.snap == nil || st.changes != nil {
		return nil, nil
	}
	stored, err := st.stored(ctx)
	if err != nil {
		return nil, err
	}
	bounds, err := st.bounds(ctx)
	if err != nil || bounds == nil {
		return stored, err
	}
	if stored == nil {
		return bounds, nil
	}
	out := *stored
	out.Columns = map[int]connector.ColumnStatistics{}
	for id, c := range stored.Columns {
		out.Columns[id] = c
	}
	for id, b := range bounds.Columns {
		c, ok := out.Columns[id]
		if !ok {
			c = b
		}
		c.Min, c.Max = b.Min, b.Max
		out.Columns[id] = c
	}
	return &out, nil
}

// stored reads the statistics file. Statistics that are gone count as none.
func (st *State) stored(ctx context.Context) (*connector.Statistics, error) {
	if st.snap.Statistics == "" {
		return nil, nil
	}
	path := st.src.paths(nil).StatisticsDir() + "/" + st.snap.Statistics
	if s, ok := st.src.Cache.get(path).(*connector.Statistics); ok {
		return s, nil
	}
	s, err := parse(ctx, st.src, path, func(b []byte) (*connector.Statistics, error) {
		return spec.ParseStatistics(b, func(id int64) (*catalog.Schema, error) {
			if id == st.schema.ID {
				return st.schema, nil
			}
			return st.schemaOf(ctx, id)
		})
	})
	if errs.Is(err, errs.FileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	st.src.Cache.put(path, s, 256+int64(len(s.Columns))*512)
	return s, nil
}

// mostBounded is the number of files whose bounds are put together.
const mostBounded = 256

// bounds returns the smallest and largest values of columns in all live files,
// nil when there are too many. A row that another hides counts, too.
func (st *State) bounds(ctx context.Context) (*connector.Statistics, error) {
	metas, err := st.ManifestMetas(ctx)
	if err != nil {
		return nil, err
	}
	entries := int64(0)
	for _, m := range metas {
		entries += m.Added + m.Deleted
	}
	if entries > 4*mostBounded {
		return nil, nil
	}
	// The names of manifest lists are used once; the schema says how files are read.
	key := st.src.paths(nil).Manifest(st.snap.BaseManifestList) + "+" + st.snap.DeltaManifestList
	if s, ok := st.src.Cache.get(key).(*connector.Statistics); ok && s.SchemaID == st.schema.ID {
		return s, nil
	}
	files, err := st.LiveFiles(ctx)
	if err != nil || files.Len() > mostBounded {
		return nil, err
	}
	out := &connector.Statistics{Version: st.snap.ID, SchemaID: st.schema.ID, Rows: -1, Bytes: -1, Columns: map[int]connector.ColumnStatistics{}}
	without := map[int]bool{} // a file does not say
	var e spec.ManifestEntry
	for i := range files.Len() {
		files.Entry(i, &e)
		stats, err := st.ValueStats(ctx, &e)
		if err != nil {
			return nil, err
		}
		for _, f := range st.schema.Fields {
			if !f.Type.IsPrimitive() || f.Type.Physical() == vector.Str || without[f.ID] {
				continue
			}
			s, ok := stats[f.ID]
			empty := ok && s.Nulls.OK && s.Nulls.V == e.File.RowCount
			if !empty && (!ok || bound(s.Min) == nil || bound(s.Max) == nil) {
				without[f.ID] = true
				delete(out.Columns, f.ID)
				continue
			}
			c, seen := out.Columns[f.ID]
			if !seen {
				c = connector.ColumnStatistics{Distinct: -1, AvgLen: -1, MaxLen: -1}
			}
			if s.Nulls.OK && c.Nulls >= 0 {
				c.Nulls += s.Nulls.V
			} else {
				c.Nulls = -1
			}
			if !empty {
				if c.Min == nil || vector.Compare(s.Min, 0, c.Min, 0) < 0 {
					c.Min = s.Min
				}
				if c.Max == nil || vector.Compare(s.Max, 0, c.Max, 0) > 0 {
					c.Max = s.Max
				}
			}
			out.Columns[f.ID] = c
		}
	}
	st.src.Cache.put(key, out, 256+int64(len(out.Columns))*512)
	return out, nil
}

// bound returns v unless it is unknown.
func bound(v *vector.Vec) *vector.Vec {
	if v == nil || v.Len == 0 || v.IsNull(0) {
		return nil
	}
	return v
}
