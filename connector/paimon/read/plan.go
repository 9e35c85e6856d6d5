package read

import (
	"context"
	"fmt"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// State is one version of a table: connector.Snapshot. It is immutable and safe
// for concurrent use.
type State struct {
	src    *Source
	snap   *spec.Snapshot // nil: the table is empty
	schema *catalog.Schema
	// newest is the schema where it is the table's as a file has it, nil otherwise.
	newest *catalog.Schema

	level       int32 // of primary-key tables only files of this level, 0: all
	keepDeletes bool  // deletions are rows, and batches have row kinds

	tracking bool                              // batches have two more columns: row ids and sequence numbers
	address  func(e *spec.ManifestEntry) int64 // batches have one more column: see Addressed; nil: not

	level0      level0
	createdFrom *int64   // only files made from then on, in milliseconds; nil: all
	held        *held    // rows in memory on top, nil: none
	changes     *changes // not a version but changes, up to snap; nil: the version

	fallback    *State // where partitions that are not here are read, nil: nowhere
	fallbackErr error
}

var _ connector.Spanning = (*State)(nil)

// NewState makes the state of a snapshot (nil: empty) as it reads under schema.
func NewState(src *Source, snap *spec.Snapshot, schema *catalog.Schema) *State {
	return &State{src: src, snap: snap, schema: schema}
}

// schemaOf returns a schema that files were written with.
func (st *State) schemaOf(ctx context.Context, id int64) (*catalog.Schema, error) {
	if st.newest != nil && st.newest.ID == id {
		return st.newest, nil
	}
	return st.src.Schema(ctx, id)
}

// knownSchemas are the schemas that need not be asked for, in a map of the caller's.
func (st *State) knownSchemas() map[int64]*catalog.Schema {
	if st.newest == nil {
		return nil
	}
	return map[int64]*catalog.Schema{st.newest.ID: st.newest}
}

// Version implements connector.Snapshot.
func (st *State) Version() int64 {
	if st.snap == nil {
		return 0
	}
	return st.snap.ID
}

// ReadOptimized returns the state as far as it is fully compacted: of
// primary-key tables only the files on the highest level.
func (st *State) ReadOptimized() *State {
	c := *st
	if len(st.schema.PrimaryKeys) > 0 {
		c.level = topLevel(st.schema)
	}
	if c.fallback != nil {
		c.fallback = c.fallback.ReadOptimized()
	}
	return &c
}

// topLevel is the level of files that compaction has taken everything into.
func topLevel(schema *catalog.Schema) int32 {
	o := spec.NewOptions(schema.Options)
	return int32(o.Int("num-levels", o.Int("num-sorted-run.compaction-trigger", 5)+1) - 1)
}

// level0 says whether files of level 0 are read, where that is not as the
// table's options have it for batch reads.
type level0 uint8

const (
	level0AsTable level0 = iota
	showLevel0
	hideLevel0
)

// KeepDeletes returns the state with the rows that deletions leave, whose
// batches have row kinds.
func (st *State) KeepDeletes() *State {
	c := *st
	c.keepDeletes = true
	if c.fallback != nil {
		c.fallback = c.fallback.KeepDeletes()
	}
	return &c
}

// RowTracking returns the state with two columns more in its batches, after those
// that are asked for: the ids of rows and their sequence numbers (paimon-format:
// row tracking). The table has no primary key.
func (st *State) RowTracking() *State {
	c := *st
	c.tracking = true
	if c.fallback != nil {
		c.fallback = c.fallback.RowTracking()
	}
	return &c
}

// Snapshot returns the snapshot, nil when the table is empty.
func (st *State) Snapshot() *spec.Snapshot { return st.snap }

// Schema implements connector.Snapshot.
func (st *State) Schema() *catalog.Schema { return st.schema }

// RowCount implements connector.Snapshot. It is exact for append tables and for
// primary-key tables in which no file can hide a row of another.
func (st *State) RowCount(ctx context.Context) (int64, bool, error) {
	if st.schema.Options[fallbackOption] != "" {
		return -1, false, nil
	}
	if st.snap == nil {
		return 0, true, nil
	}
	if st.changes != nil {
		return -1, false, nil
	}
	if st.src.refuseTable(st.schema) != nil {
		if st.snap.TotalRecordCount != nil {
			return *st.snap.TotalRecordCount, false, nil
		}
		return -1, false, nil
	}
	g, err := merge.NewRules(st.src.Name, st.schema)
	if err != nil {
		return 0, false, err
	}
	l, buckets, err := st.buckets(ctx, nil, g)
	if err != nil {
		return 0, false, err
	}
	dels, err := st.deletions(ctx)
	if err != nil {
		return 0, false, err
	}
	rows, exact := int64(0), true
	for _, b := range buckets {
		if evolves(st.schema) {
			list, err := st.src.families(l.entries(b.refs))
			if err != nil {
				return -1, false, nil // planning says why
			}
			for _, f := range list {
				rows += f.rows
			}
			exact = exact && len(dels) == 0
			continue
		}
		for _, r := range b.refs {
			x, i := l.sets[r.Set], int(r.Index)
			rows += x.Rows(i)
			if len(dels) == 0 {
				continue
			}
			if d, ok := dels[x.Name(i)]; ok {
				exact = exact && d.r.Cardinality.OK
				rows -= d.r.Cardinality.V
			}
		}
		exact = exact && (len(st.schema.PrimaryKeys) == 0 || g.AloneAt(len(b.refs), l.state(b.refs)) && !st.keepDeletes)
	}
	return rows, exact, nil
}

// manifestList reads one manifest list.
func (st *State) manifestList(ctx context.Context, name string) ([]spec.ManifestMeta, error) {
	path := st.src.paths(nil).Manifest(name)
	if l := st.src.Cache.manifestList(path); l != nil {
		return l, nil
	}
	b, err := st.src.Files.ReadFile(ctx, path)
	if err != nil {
		return nil, st.src.vanished(st.snap, path, err)
	}
	var l []spec.ManifestMeta
	if f := dataFormat(b); f != "" {
		err = st.src.eachRecord(ctx, path, f, func(r record) { l = append(l, manifestMeta(r)) })
	} else {
		l, err = spec.ReadManifestList(b)
	}
	if err != nil {
		return nil, st.src.vanished(st.snap, path, fmt.Errorf("%s: %w", path, err))
	}
	st.src.Cache.put(path, l, 4*int64(len(b))+256)
	return l, nil
}

// ManifestMetas returns the manifests of the state, base first.
func (st *State) ManifestMetas(ctx context.Context) ([]spec.ManifestMeta, error) {
	if st.snap == nil {
		return nil, nil
	}
	base, err := st.manifestList(ctx, st.snap.BaseManifestList)
	if err != nil {
		return nil, err
	}
	delta, err := st.manifestList(ctx, st.snap.DeltaManifestList)
	if err != nil {
		return nil, err
	}
	return append(append(make([]spec.ManifestMeta, 0, len(base)+len(delta)), base...), delta...), nil
}

// ChangelogManifests returns the manifests of the snapshot's changelog files.
func (st *State) ChangelogManifests(ctx context.Context) ([]spec.ManifestMeta, error) {
	if st.snap == nil || st.snap.ChangelogManifestList == "" {
		return nil, nil
	}
	return st.manifestList(ctx, st.snap.ChangelogManifestList)
}

// Indexes returns the entries of the snapshot's index manifest, which are shared.
func (st *State) Indexes(ctx context.Context) ([]spec.IndexEntry, error) {
	if st.snap == nil || st.snap.IndexManifest == "" {
		return nil, nil
	}
	path := st.src.paths(nil).Manifest(st.snap.IndexManifest)
	if l, ok := st.src.Cache.indexes(path); ok {
		return l, nil
	}
	b, err := st.src.Files.ReadFile(ctx, path)
	if err != nil {
		return nil, st.src.vanished(st.snap, path, err)
	}
	var l []spec.IndexEntry
	if f := dataFormat(b); f != "" {
		err = st.src.eachRecord(ctx, path, f, func(r record) { l = append(l, indexEntry(r)) })
	} else {
		l, err = spec.ReadIndexManifest(b)
	}
	if err != nil {
		return nil, st.src.vanished(st.snap, path, fmt.Errorf("%s: %w", path, err))
	}
	st.src.Cache.putIndexes(path, l)
	return l, nil
}

// Plan implements connector.Snapshot.
func (st *State) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	if st.changes != nil && st.snap != nil {
		return st.planChanges(ctx, req)
	}
	plan, err := st.plan(ctx, req, nil)
	if err != nil || st.schema.Options[fallbackOption] == "" {
		return plan, err
	}
	return st.planFallback(ctx, req, plan)
}

// plan plans without the partitions in not.
func (st *State) plan(ctx context.Context, req connector.ScanRequest, not map[string]bool) (*connector.Plan, error) {
	for _, c := range req.Columns {
		if c < 0 || c >= len(st.schema.Fields) {
			return nil, errs.Internalf("plan table %s: column %d of %d", st.src.Name, c, len(st.schema.Fields))
		}
		if err := st.src.refuseColumn(st.schema, st.schema.Fields[c]); err != nil {
			return nil, err
		}
	}
	if err := st.src.refuseTable(st.schema); err != nil {
		return nil, err
	}
	if st.snap == nil {
		return &connector.Plan{}, nil
	}
	filter := req.Filter
	if req.NoPruning {
		filter = nil
	}
	g, err := merge.NewRules(st.src.Name, st.schema)
	if err != nil {
		return nil, err
	}
	p := newPruner(st, g, filter)
	l, buckets, err := st.buckets(ctx, p.partitions(), g)
	if err != nil {
		return nil, err
	}
	plan := &connector.Plan{}
	sc := &scan{st: st, live: l, req: req, rules: g, filter: filter, paths: st.src.paths(st.schema)}
	if sc.deletions, err = st.deletions(ctx); err != nil {
		return nil, err
	}
	if len(sc.deletions) > 0 && !g.Vectors {
		return nil, errs.Unsupportedf(-1, "reading tables with deletion vectors but without 'deletion-vectors.enabled' (table %s)", st.src.Name)
	}
	if len(sc.deletions) > 0 && evolves(st.schema) {
		return nil, errs.Unsupportedf(-1, "reading tables with deletion vectors and 'data-evolution.enabled' = 'true' (table %s)", st.src.Name)
	}
	if err := sc.loadSchemas(ctx); err != nil {
		return nil, err
	}
	sections := make([]*section, 0, len(l.files))
	j := newJudge(p, sc)
	for _, b := range buckets {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if not[string(b.partition)] {
			continue
		}
		total := len(b.refs)
		files := b.refs
		if !evolves(st.schema) { // there, no file's statistics are those of its rows
			if files, err = p.bucket(j, b); err != nil {
				return nil, err
			}
		}
		plan.Files += len(files)
		plan.PrunedFiles += total - len(files)
		if len(files) == 0 {
			continue
		}
		if sections, err = sc.sections(sections, files); err != nil {
			return nil, err
		}
	}
	if plan.Splits, plan.Bytes, err = sc.splits(sections); err != nil {
		return nil, err
	}
	plan.Memory = planBytes(l, sections, len(plan.Splits))
	return plan, nil
}

// planBytes estimates the memory of a plan, without the entries in the cache.
func planBytes(l *liveFiles, sections []*section, splits int) int64 {
	n := 8*int64(len(l.files)) + 120*int64(len(sections)) + 100*int64(splits)
	for _, s := range sections {
		for _, r := range s.runs {
			n += 560 * int64(len(r))
		}
	}
	return n
}

// ValueStats returns a file's value statistics by the field ids of the state's
// schema, in the types of that schema: a column that the file lacks is all NULL,
// one without statistics, or whose type changed, is missing.
func (st *State) ValueStats(ctx context.Context, e *spec.ManifestEntry) (map[int]spec.ColumnStats, error) {
	from, err := st.schemaOf(ctx, e.File.SchemaID)
	if err != nil {
		return nil, err
	}
	stats := valueStats(from, e)
	out := map[int]spec.ColumnStats{}
	for _, f := range st.schema.Fields {
		at := fieldByID(from, f.ID)
		if at < 0 || e.File.WriteCols.OK && !slices.Contains(e.File.WriteCols.V, from.Fields[at].Name) {
			out[f.ID] = spec.ColumnStats{Nulls: spec.Some(e.File.RowCount)}
			continue
		}
		s, ok := stats[f.ID]
		if !ok {
			continue
		}
		cast, err := newCast(from.Fields[at].Type, f.Type)
		if err != nil {
			s.Min, s.Max = nil, nil
		} else if cast != nil && s.Min != nil && s.Max != nil && !nested(f.Type) {
			least, err := cast(s.Min)
			most, merr := cast(s.Max)
			if err != nil || merr != nil { // a bound of texts need not be a value
				least, most = nil, nil
			}
			s.Min, s.Max = least, most
		}
		out[f.ID] = s
	}
	return out, nil
}
