package paimon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// snapshotRows lists the snapshots. Those that the filter leaves out by their ids
// are not read, and none is when only ids are asked for.
func snapshotRows(ctx context.Context, t *Table, _ *read.State, req *connector.ScanRequest) (rowSource, error) {
	src := t.Source()
	files, err := src.SnapshotFiles(ctx)
	if err != nil {
		return nil, err
	}
	if req.Filter != nil && !req.NoPruning {
		id := vector.New(vector.I64, 1)
		files = slices.DeleteFunc(files, func(f read.SnapshotFile) bool {
			id.Reset()
			id.AppendI64(f.ID)
			return !req.Filter.MayMatch(func(c int) connector.Bounds {
				if c == 0 {
					return connector.Bounds{Min: id, Max: id, Nulls: 0, Rows: 1}
				}
				return connector.Bounds{Nulls: -1, Rows: -1}
			})
		})
	}
	onlyIDs := !slices.ContainsFunc(req.Columns, func(c int) bool { return c != 0 })
	return func(ctx context.Context, b *rowBuilder) (bool, error) {
		part := files[:min(len(files), vector.BatchRows)]
		files = files[len(part):]
		if onlyIDs {
			for _, f := range part {
				b.i64(f.ID)
				b.end()
			}
			return len(files) > 0, nil
		}
		snaps, err := src.ReadSnapshots(ctx, part)
		if err != nil {
			return false, err
		}
		for _, s := range snaps {
			if s != nil {
				snapshotRow(b, s)
			}
		}
		return len(files) > 0, nil
	}, nil
}

func snapshotRow(b *rowBuilder, s *spec.Snapshot) {
	b.i64(s.ID)
	b.i64(s.SchemaID)
	b.str(s.CommitUser)
	b.i64(s.CommitIdentifier)
	b.str(string(s.CommitKind))
	b.instant(s.TimeMillis)
	b.str(s.BaseManifestList)
	b.str(s.DeltaManifestList)
	b.optStr(s.ChangelogManifestList, s.ChangelogManifestList != "")
	b.opt(s.TotalRecordCount)
	b.opt(s.DeltaRecordCount)
	b.opt(s.ChangelogRecordCount)
	b.opt(s.Watermark)
	b.opt(s.NextRowID)
	b.optStr(s.Operation, s.Operation != "")
	b.end()
}

func fillSchemas(ctx context.Context, t *Table, _ *read.State, b *rowBuilder) error {
	src := t.Source()
	ids, err := src.SchemaIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := src.Schema(ctx, id)
		if err != nil {
			return err
		}
		b.i64(s.ID)
		fields, options, err := schemaText(ctx, t, s)
		if err != nil {
			return err
		}
		for _, v := range []any{fields, orEmpty(s.PartitionKeys), orEmpty(s.PrimaryKeys), options} {
			text, err := compactJSON(v)
			if err != nil {
				return errs.Internalf("describe schema %d of %s: %w", id, t.id, err)
			}
			b.str(text)
		}
		b.optStr(s.Comment, s.Comment != "")
		b.instant(s.TimeMillis)
		b.end()
	}
	return nil
}

func fillOptions(_ context.Context, t *Table, st *read.State, b *rowBuilder) error {
	o := st.Schema().Options
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		b.str(k)
		b.str(o[k])
		b.end()
	}
	return nil
}

// fileText is what the tables of files have in common.
type fileText struct {
	partition, path, format string
	minKey, maxKey          string
	keyed                   bool
}

func describeFile(t *Table, st *read.State, e *spec.ManifestEntry) (f fileText, err error) {
	s := st.Schema()
	p, err := rowText(e.Partition, spec.TypesOf(s, s.PartitionKeys), false)
	if err != nil {
		return f, err
	}
	f.partition = "{" + p + "}"
	path, err := spec.NewPaths(t.dir, t.id.Branch, s).DataFile(e)
	if err != nil {
		return f, err
	}
	f.path, f.format = read.LocalPath(path), format.FormatOf(e.File.FileName)
	if len(s.PrimaryKeys) > 0 {
		types := spec.TypesOf(s, s.TrimmedPrimaryKeys())
		lo, err := rowText(e.File.MinKey, types, true)
		if err != nil {
			return f, err
		}
		hi, err := rowText(e.File.MaxKey, types, true)
		if err != nil {
			return f, err
		}
		f.keyed, f.minKey, f.maxKey = true, "["+lo+"]", "["+hi+"]"
	}
	return f, nil
}

// writeFile adds the columns that files and file_key_ranges share.
func writeFile(b *rowBuilder, f fileText, e *spec.ManifestEntry) {
	b.str(f.partition)
	b.i32(e.Bucket)
	b.str(f.path)
	b.str(f.format)
	b.i64(e.File.SchemaID)
	b.i32(e.File.Level)
	b.i64(e.File.RowCount)
	b.i64(e.File.FileSize)
	b.optStr(f.minKey, f.keyed)
	b.optStr(f.maxKey, f.keyed)
}

func optional[T any](b *rowBuilder, o spec.Opt[T], add func(T)) {
	if !o.OK {
		b.null()
		return
	}
	add(o.V)
}

// eachFile makes rows of the live files, some at a time.
func eachFile(ctx context.Context, t *Table, st *read.State, row func(ctx context.Context, b *rowBuilder, e *spec.ManifestEntry) error) (rowSource, error) {
	live, err := st.LiveFiles(ctx)
	if err != nil {
		return nil, err
	}
	next := 0
	return func(ctx context.Context, b *rowBuilder) (bool, error) {
		var e spec.ManifestEntry
		for end := min(next+1024, live.Len()); next < end; next++ {
			live.Entry(next, &e)
			if err := row(ctx, b, &e); err != nil {
				return false, fmt.Errorf("describe %s of table %s: %w", e.File.FileName, t.id, err)
			}
		}
		return next < live.Len(), nil
	}, nil
}

func fileRows(ctx context.Context, t *Table, st *read.State, _ *connector.ScanRequest) (rowSource, error) {
	// Java keeps these in a map ordered by name.
	fields := append([]catalog.Field(nil), st.Schema().Fields...)
	sort.Slice(fields, func(i, j int) bool { return fields[i].Name < fields[j].Name })
	return eachFile(ctx, t, st, func(ctx context.Context, b *rowBuilder, e *spec.ManifestEntry) error {
		f, err := describeFile(t, st, e)
		if err != nil {
			return err
		}
		writeFile(b, f, e)
		if !b.skips(3) {
			stats, err := st.ValueStats(ctx, e)
			if err != nil {
				return err
			}
			var nulls, mins, maxs []string
			for _, fd := range fields {
				s := stats[fd.ID]
				n := "null"
				if s.Nulls.OK {
					n = strconv.FormatInt(s.Nulls.V, 10)
				}
				nulls = append(nulls, fd.Name+"="+n)
				mins = append(mins, fd.Name+"="+valueText(fd.Type, s.Min, true))
				maxs = append(maxs, fd.Name+"="+valueText(fd.Type, s.Max, true))
			}
			b.str("{" + strings.Join(nulls, ", ") + "}")
			b.str("{" + strings.Join(mins, ", ") + "}")
			b.str("{" + strings.Join(maxs, ", ") + "}")
		}
		b.i64(e.File.MinSequence)
		b.i64(e.File.MaxSequence)
		optional(b, e.File.CreationTime, b.wall)
		optional(b, e.File.DeleteRowCount, b.i64)
		optional(b, e.File.FileSource, func(s int32) {
			b.str(map[int32]string{spec.SourceAppend: "APPEND", spec.SourceCompact: "COMPACT"}[s])
		})
		optional(b, e.File.FirstRowID, b.i64)
		optional(b, e.File.WriteCols, func(cols []string) {
			v := b.col()
			if v == nil {
				return
			}
			for _, c := range cols {
				v.Child[0].AppendString(c)
			}
			v.CloseList()
		})
		b.end()
		return nil
	})
}

func keyRangeRows(ctx context.Context, t *Table, st *read.State, _ *connector.ScanRequest) (rowSource, error) {
	return eachFile(ctx, t, st, func(_ context.Context, b *rowBuilder, e *spec.ManifestEntry) error {
		f, err := describeFile(t, st, e)
		if err != nil {
			return err
		}
		writeFile(b, f, e)
		optional(b, e.File.FirstRowID, b.i64)
		b.end()
		return nil
	})
}

func fillManifests(ctx context.Context, t *Table, st *read.State, b *rowBuilder) error {
	metas, err := st.ManifestMetas(ctx)
	if err != nil {
		return err
	}
	changes, err := st.ChangelogManifests(ctx)
	if err != nil {
		return err
	}
	metas = append(metas, changes...)
	types := spec.TypesOf(st.Schema(), st.Schema().PartitionKeys)
	for _, m := range metas {
		b.str(m.FileName)
		b.i64(m.FileSize)
		b.i64(m.Added)
		b.i64(m.Deleted)
		b.i64(m.SchemaID)
		for _, row := range []spec.BinaryRow{m.PartitionStats.Min, m.PartitionStats.Max} {
			text, err := rowText(row, types, false)
			if err != nil {
				return fmt.Errorf("describe %s of table %s: %w", m.FileName, t.id, err)
			}
			b.str("{" + text + "}")
		}
		optional(b, m.MinRowID, b.i64)
		optional(b, m.MaxRowID, b.i64)
		b.end()
	}
	return nil
}

// fileGroup sums up the files of a partition or bucket.
type fileGroup struct {
	partition          spec.BinaryRow
	bucket             int32
	rows, bytes, files int64
	last               spec.Opt[int64]
	totalBuckets       int32
}

// groups sums the files up by partition, and by bucket when asked, leaving out
// those without files. The last update counts files that are deleted by now, as
// long as a manifest tells of them.
func groups(ctx context.Context, st *read.State, byBucket bool) ([]*fileGroup, error) {
	type key struct {
		partition string
		bucket    int32
	}
	index := map[key]*fileGroup{}
	var all []*fileGroup
	err := st.EachEntry(ctx, func(e *spec.ManifestEntry) {
		k := key{partition: string(e.Partition)}
		if byBucket {
			k.bucket = e.Bucket
		}
		if e.Bucket == spec.PostponeBucket && !byBucket {
			return
		}
		g := index[k]
		if g == nil {
			g = &fileGroup{partition: e.Partition, bucket: e.Bucket}
			index[k] = g
			all = append(all, g)
		}
		sign := int64(1)
		if e.Kind == spec.FileDelete {
			sign = -1
		}
		g.rows += sign * e.File.RowCount
		g.bytes += sign * e.File.FileSize
		g.files += sign
		g.totalBuckets = e.TotalBuckets
		if c := e.File.CreationTime; c.OK && (!g.last.OK || c.V > g.last.V) {
			g.last = c
		}
	})
	out := all[:0:0]
	for _, g := range all {
		if g.files > 0 {
			out = append(out, g)
		}
	}
	return out, err
}

// deletedRows counts the rows that deletion vectors hide, by partition; absent
// where a vector does not say.
func deletedRows(ctx context.Context, st *read.State) (map[string]spec.Opt[int64], error) {
	indexes, err := st.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]spec.Opt[int64]{}
	for _, x := range indexes {
		if x.IndexType != spec.IndexDeletionVectors {
			continue
		}
		key := string(x.Partition)
		sum, seen := out[key]
		if !seen {
			sum = spec.Some(int64(0))
		}
		for _, r := range x.Ranges.V {
			if !r.Cardinality.OK {
				sum.OK = false
			}
			sum.V += r.Cardinality.V
		}
		out[key] = sum
	}
	return out, nil
}

// fillPartitions describes the partitions, those too that only the fallback
// branch has.
func fillPartitions(ctx context.Context, t *Table, st *read.State, b *rowBuilder) error {
	seen := map[string]bool{}
	if err := partitionRows(ctx, t, st, seen, b); err != nil {
		return err
	}
	fallback, err := st.Fallback()
	if err != nil || fallback == nil {
		return err
	}
	return partitionRows(ctx, t, fallback, seen, b)
}

// partitionRows adds a row for each partition of a state that was not seen.
func partitionRows(ctx context.Context, t *Table, st *read.State, seen map[string]bool, b *rowBuilder) error {
	list, err := groups(ctx, st, false)
	if err != nil {
		return err
	}
	s := st.Schema()
	types := spec.TypesOf(s, s.PartitionKeys)
	deleted, err := deletedRows(ctx, st)
	if err != nil {
		return err
	}
	none := spec.NewOptions(s.Options).String("partition.default-name", spec.DefaultPartitionName)
	for _, g := range list {
		if seen[string(g.partition)] {
			continue
		}
		seen[string(g.partition)] = true
		vals, err := g.partition.Decode(types)
		if err != nil {
			return fmt.Errorf("describe the partitions of table %s: %w", t.id, err)
		}
		parts := make([]string, len(vals))
		for i, v := range vals {
			text := none
			if !v.IsNull(0) {
				text = valueText(types[i], v, false)
			}
			parts[i] = s.PartitionKeys[i] + "=" + text
		}
		b.str(strings.Join(parts, "/"))
		b.i64(g.rows)
		b.i64(g.bytes)
		b.i64(g.files)
		optional(b, g.last, b.wall)
		for range 4 { // only a REST catalog knows
			b.null()
		}
		b.i32(g.totalBuckets)
		b.boolean(false)
		d, ok := deleted[string(g.partition)]
		if !ok {
			d = spec.Some(int64(0))
		}
		optional(b, d, b.i64)
		b.end()
	}
	return nil
}

var (
	_ connector.Partitioned = (*Table)(nil)
	_ connector.Located     = (*Table)(nil)
)

// Location implements connector.Located.
func (t *Table) Location() string { return read.LocalPath(t.dir) }

// Partitions implements connector.Partitioned, as Java's catalogs list them:
// with those that only the fallback branch has.
func (t *Table) Partitions(ctx context.Context) ([]connector.PartitionInfo, error) {
	if len(t.schema.PartitionKeys) == 0 {
		return nil, nil
	}
	st, err := t.State(ctx, catalog.Ref{})
	if err == nil && st.Changes() {
		st, err = t.Source().Newest(ctx)
	}
	if err != nil {
		return nil, err
	}
	fallback, err := st.Fallback()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []connector.PartitionInfo
	for _, st := range []*read.State{st, fallback} {
		if st == nil {
			continue
		}
		list, err := groups(ctx, st, false)
		if err != nil {
			return nil, err
		}
		p := spec.NewPartitioner(st.Schema())
		for _, g := range list {
			if seen[string(g.partition)] {
				continue
			}
			seen[string(g.partition)] = true
			texts, err := p.Texts(g.partition)
			if err != nil {
				return nil, fmt.Errorf("list the partitions of table %s: %w", t.id, err)
			}
			parts := make([]string, len(p.Keys))
			for i, k := range p.Keys {
				text := p.DefaultName()
				if v := texts[k]; v != nil {
					text = *v
				}
				parts[i] = k + "=" + text
			}
			info := connector.PartitionInfo{Name: strings.Join(parts, "/"), Rows: g.rows, Bytes: g.bytes, Files: g.files}
			if g.last.OK {
				info.Created = read.Instant(g.last.V, t.driver.cfg.Location)
			}
			out = append(out, info)
		}
	}
	return out, nil
}

func fillBuckets(ctx context.Context, t *Table, st *read.State, b *rowBuilder) error {
	list, err := groups(ctx, st, true)
	if err != nil {
		return err
	}
	types := spec.TypesOf(st.Schema(), st.Schema().PartitionKeys)
	for _, g := range list {
		text, err := rowText(g.partition, types, false)
		if err != nil {
			return fmt.Errorf("describe the buckets of table %s: %w", t.id, err)
		}
		b.str("{" + text + "}")
		b.i32(g.bucket)
		b.i64(g.rows)
		b.i64(g.bytes)
		b.i64(g.files)
		optional(b, g.last, b.wall)
		b.end()
	}
	return nil
}

func fillTags(ctx context.Context, t *Table, _ *read.State, b *rowBuilder) error {
	src := t.Source()
	names, err := src.Tags(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		s, err := src.Tag(ctx, name)
		if errs.Is(err, errs.UnknownSnapshot) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		b.str(name)
		b.i64(s.ID)
		b.i64(s.SchemaID)
		b.instant(s.TimeMillis)
		b.opt(s.TotalRecordCount)
		if millis, ok := tagCreateTime(s.TagCreateTime); ok {
			b.wall(millis)
		} else {
			b.null()
		}
		text, ok := isoDuration(s.TagTimeRetained)
		b.optStr(text, ok)
		b.end()
	}
	return nil
}

func fillBranches(ctx context.Context, t *Table, _ *read.State, b *rowBuilder) error {
	dir := spec.NewPaths(t.dir, "", t.schema).BranchDir()
	list, err := t.driver.cfg.Files.List(ctx, dir)
	if err != nil {
		return fmt.Errorf("list the branches of table %s: %w", t.id, err)
	}
	for _, in := range list {
		if name, ok := strings.CutPrefix(in.Name, "branch-"); ok && in.Dir {
			b.str(name)
			b.instant(in.ModTime.UnixMilli())
			b.end()
		}
	}
	return nil
}

func fillConsumers(ctx context.Context, t *Table, _ *read.State, b *rowBuilder) error {
	dir := spec.NewPaths(t.dir, t.id.Branch, t.schema).ConsumerDir()
	list, err := t.driver.cfg.Files.List(ctx, dir)
	if err != nil {
		return fmt.Errorf("list the consumers of table %s: %w", t.id, err)
	}
	for _, in := range list {
		name, ok := strings.CutPrefix(in.Name, "consumer-")
		if !ok || in.Dir {
			continue
		}
		data, err := t.driver.cfg.Files.ReadFile(ctx, dir+"/"+in.Name)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		var c struct {
			NextSnapshot int64 `json:"nextSnapshot"`
		}
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			return errs.Corruptf("read consumer %s of table %s: %w", name, t.id, err)
		}
		b.str(name)
		b.i64(c.NextSnapshot)
		b.end()
	}
	return nil
}
