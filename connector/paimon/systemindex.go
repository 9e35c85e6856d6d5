package paimon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/fileindex"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// fillTableIndexes lists the index files of a version.
func fillTableIndexes(ctx context.Context, t *Table, st *read.State, b *rowBuilder) error {
	entries, err := st.Indexes(ctx)
	if err != nil {
		return err
	}
	types := spec.TypesOf(st.Schema(), st.Schema().PartitionKeys)
	for i := range entries {
		e := &entries[i]
		partition, err := rowText(e.Partition, types, false)
		if err != nil {
			return fmt.Errorf("describe %s of table %s: %w", e.FileName, t.id, err)
		}
		b.str("{" + partition + "}")
		b.i32(e.Bucket)
		b.str(e.IndexType)
		b.str(e.FileName)
		b.i64(e.FileSize)
		b.i64(e.RowCount)
		optional(b, e.Ranges, func(ranges []spec.IndexRange) {
			v := b.col()
			if v == nil {
				return
			}
			row := v.Child[0]
			for _, r := range ranges {
				row.Child[0].AppendString(r.DataFile)
				row.Child[1].AppendI32(r.Offset)
				row.Child[2].AppendI32(r.Length)
				if r.Cardinality.OK {
					row.Child[3].AppendI64(r.Cardinality.V)
				} else {
					row.Child[3].AppendNull()
				}
				row.CloseStruct()
			}
			v.CloseList()
		})
		if g := e.Global; g != nil {
			b.i64(g.RowRangeStart)
			b.i64(g.RowRangeEnd)
			b.i32(g.FieldID)
			var names []string
			found := true
			for _, id := range append([]int32{g.FieldID}, g.ExtraFieldIDs.V...) {
				name := ""
				for _, f := range st.Schema().Fields {
					if f.ID == int(id) {
						name = f.Name
					}
				}
				found = found && name != ""
				names = append(names, name)
			}
			b.optStr(strings.Join(names, ","), found)
		} else {
			for range 4 {
				b.null()
			}
		}
		b.end()
	}
	return nil
}

// fileIndexRows lists the indexes of the live data files, as Paimon 2.1 does:
// those in manifest entries and those in files beside them.
func fileIndexRows(ctx context.Context, t *Table, st *read.State, _ *connector.ScanRequest) (rowSource, error) {
	paths := spec.NewPaths(t.dir, t.id.Branch, st.Schema())
	return eachFile(ctx, t, st, func(ctx context.Context, b *rowBuilder, e *spec.ManifestEntry) error {
		var x *fileindex.File
		storage, path, size := "EMBEDDED", "", int64(len(e.File.EmbeddedIndex))
		if e.File.EmbeddedIndex != nil {
			var err error
			if x, err = fileindex.Open(bytes.NewReader(e.File.EmbeddedIndex), size, e.File.RowCount); err != nil {
				return fmt.Errorf("the index in its manifest entry: %w", err)
			}
		} else {
			extra, err := paths.ExtraFiles(e)
			if err != nil {
				return err
			}
			for _, p := range extra {
				if !strings.HasSuffix(p, ".index") {
					continue
				}
				if path != "" {
					return errs.Corruptf("it has two index files, %s and %s", path, p)
				}
				path = read.LocalPath(p)
			}
			if path == "" {
				return nil
			}
			f, err := t.driver.cfg.Files.Open(ctx, path)
			if err != nil {
				return err
			}
			defer f.Close()
			storage, size = "FILE", f.Size()
			if x, err = fileindex.Open(f, size, e.File.RowCount); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		d, err := describeFile(t, st, e)
		if err != nil {
			return err
		}
		for _, i := range x.All() {
			b.str(d.partition)
			b.i32(e.Bucket)
			b.str(d.path)
			b.i64(e.File.FileSize)
			b.i64(e.File.RowCount)
			b.i64(e.File.SchemaID)
			b.str(i.Column)
			b.str(i.Kind)
			b.str(storage)
			b.optStr(path, path != "")
			b.i64(i.Bytes)
			b.i64(size)
			b.boolean(i.Empty)
			b.end()
		}
		return nil
	})
}

// fillAggregationFields lists the columns with their options "fields.<column>.…".
func fillAggregationFields(ctx context.Context, t *Table, _ *read.State, b *rowBuilder) error {
	s, err := t.Source().NewestSchema(ctx)
	if err != nil {
		return err
	}
	fields, options, err := schemaText(ctx, t, s)
	if err != nil {
		return err
	}
	keys, err := memberNames(options)
	if err != nil {
		return errs.Internalf("describe the options of %s: %w", t.id, err)
	}
	var described []struct {
		Description *string `json:"description"` // may be empty
	}
	if err := json.Unmarshal(fields, &described); err != nil || len(described) != len(s.Fields) {
		return errs.Internalf("describe the columns of %s: %w", t.id, err)
	}
	for i, f := range s.Fields {
		var names, values []string
		for _, k := range keys {
			if p := strings.Split(k, "."); len(p) > 2 && p[0] == "fields" && p[1] == f.Name {
				names, values = append(names, k), append(values, s.Options[k])
			}
		}
		b.str(f.Name)
		b.str(f.Type.String())
		b.str("[" + strings.Join(values, ", ") + "]")
		b.str("[" + strings.Join(names, ", ") + "]")
		if c := described[i].Description; c != nil {
			b.str(*c)
		} else {
			b.null()
		}
		b.end()
	}
	return nil
}

// fillStatistics shows the statistics of the table that a version has, if any.
func fillStatistics(ctx context.Context, t *Table, st *read.State, b *rowBuilder) error {
	snap := st.Snapshot()
	if snap == nil || snap.Statistics == "" {
		return nil
	}
	path := spec.NewPaths(t.dir, t.id.Branch, t.schema).StatisticsDir() + "/" + snap.Statistics
	data, err := t.driver.cfg.Files.ReadFile(ctx, path)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.id, err)
	}
	var s struct {
		SnapshotID        int64           `json:"snapshotId"`
		SchemaID          int64           `json:"schemaId"`
		MergedRecordCount *int64          `json:"mergedRecordCount"`
		MergedRecordSize  *int64          `json:"mergedRecordSize"`
		ColStats          json.RawMessage `json:"colStats"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return errs.Corruptf("table %s: %s: %w", t.id, path, err)
	}
	if len(s.ColStats) == 0 {
		s.ColStats = json.RawMessage("{}")
	}
	b.i64(s.SnapshotID)
	b.i64(s.SchemaID)
	b.opt(s.MergedRecordCount)
	b.opt(s.MergedRecordSize)
	b.str(indented(s.ColStats))
	b.end()
	return nil
}

// indented writes JSON as Java's Jackson indents it: members on lines of their
// own, with a space on both sides of the colon.
func indented(raw json.RawMessage) string {
	var in bytes.Buffer
	if json.Indent(&in, raw, "", "  ") != nil {
		return string(raw)
	}
	var out []byte
	quoted := false
	for i := 0; i < in.Len(); i++ {
		c := in.Bytes()[i]
		switch {
		case quoted && c == '\\':
			out = append(out, c)
			i++
			c = in.Bytes()[i]
		case c == '"':
			quoted = !quoted
		case c == ':' && !quoted:
			out = append(out, ' ')
		case c == '}' && !quoted && in.Bytes()[i-1] == '{':
			out = append(out, ' ')
		}
		out = append(out, c)
	}
	return string(out)
}
