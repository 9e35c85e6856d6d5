package spec

import (
	"encoding/binary"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// The writer's schemas, as Java 1.3 (manifests) and 1.4 (lists, indexes) write
// them: the set of fields that all readers from 1.0 on accept.
const (
	statsFields = `"fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},` +
		`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]`
	recordHead = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[{"name":"_VERSION","type":"int"},`

	manifestListSchema = recordHead + `{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},` +
		`{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS",` + statsFields + `}},` +
		`{"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_BUCKET","type":["null","int"],"default":null},` +
		`{"name":"_MAX_BUCKET","type":["null","int"],"default":null},{"name":"_MIN_LEVEL","type":["null","int"],"default":null},` +
		`{"name":"_MAX_LEVEL","type":["null","int"],"default":null},{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},` +
		`{"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]}`

	manifestSchema = recordHead + `{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},` +
		`{"name":"_TOTAL_BUCKETS","type":"int"},{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[` +
		`{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},` +
		`{"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},` +
		`{"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS",` + statsFields + `}},` +
		`{"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS",` + statsFields + `}},` +
		`{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},{"name":"_SCHEMA_ID","type":"long"},` +
		`{"name":"_LEVEL","type":"int"},{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},` +
		`{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},` +
		`{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},` +
		`{"name":"_FILE_SOURCE","type":["null","int"],"default":null},` +
		`{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},` +
		`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},` +
		`{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]}`

	indexManifestSchema = recordHead + `{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},` +
		`{"name":"_INDEX_TYPE","type":"string"},{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},` +
		`{"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",{"type":"record","name":"record__DELETIONS_VECTORS_RANGES",` +
		`"fields":[{"name":"f0","type":"string"},{"name":"f1","type":"int"},{"name":"f2","type":"int"},` +
		`{"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},` +
		`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},` +
		`{"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"record__GLOBAL_INDEX","fields":[{"name":"_ROW_RANGE_START","type":"long"},` +
		`{"name":"_ROW_RANGE_END","type":"long"},{"name":"_INDEX_FIELD_ID","type":"int"},` +
		`{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},` +
		`{"name":"_INDEX_META","type":["null","bytes"],"default":null},{"name":"_SOURCE_META","type":["null","bytes"],"default":null}]}],"default":null}]}`
)

func appendLong(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func appendOptLong(b []byte, v Opt[int64]) []byte {
	if !v.OK {
		return append(b, 0)
	}
	return appendLong(append(b, 2), v.V)
}

func appendOptInt(b []byte, v Opt[int32]) []byte {
	return appendOptLong(b, Opt[int64]{int64(v.V), v.OK})
}

func appendOptBytes(b []byte, v []byte) []byte {
	if v == nil {
		return append(b, 0)
	}
	return appendBytes(append(b, 2), v)
}

func appendOptString(b []byte, v Opt[string]) []byte {
	if !v.OK {
		return append(b, 0)
	}
	return appendString(append(b, 2), v.V)
}

func appendStrings(b []byte, list []string) []byte {
	if len(list) > 0 {
		b = appendLong(b, int64(len(list)))
		for _, s := range list {
			b = appendString(b, s)
		}
	}
	return append(b, 0)
}

func appendOptStrings(b []byte, v Opt[[]string]) []byte {
	if !v.OK {
		return append(b, 0)
	}
	return appendStrings(append(b, 2), v.V)
}

func appendStats(b []byte, s Stats) []byte {
	b = appendBytes(appendBytes(b, s.Min), s.Max)
	if s.NullCounts == nil {
		return append(b, 0)
	}
	b = append(b, 2)
	if len(s.NullCounts) > 0 {
		b = appendLong(b, int64(len(s.NullCounts)))
		for _, c := range s.NullCounts {
			b = appendOptLong(b, c)
		}
	}
	return append(b, 0)
}

// WriteManifestList encodes a manifest list. compression is the table option
// manifest.compression; "" is zstd.
func WriteManifestList(list []ManifestMeta, compression string) ([]byte, error) {
	w, err := newContainerWriter(manifestListSchema, compression)
	if err != nil {
		return nil, err
	}
	for i := range list {
		m := &list[i]
		b := appendLong(w.block, manifestVersion)
		b = appendString(b, m.FileName)
		b = appendLong(b, m.FileSize)
		b = appendLong(b, m.Added)
		b = appendLong(b, m.Deleted)
		b = appendStats(b, m.PartitionStats)
		b = appendLong(b, m.SchemaID)
		b = appendOptInt(b, m.MinBucket)
		b = appendOptInt(b, m.MaxBucket)
		b = appendOptInt(b, m.MinLevel)
		b = appendOptInt(b, m.MaxLevel)
		b = appendOptLong(b, m.MinRowID)
		w.block = appendOptLong(b, m.MaxRowID)
		w.end()
	}
	return w.finish(), nil
}

// WriteIndexManifest encodes an index manifest.
func WriteIndexManifest(list []IndexEntry, compression string) ([]byte, error) {
	w, err := newContainerWriter(indexManifestSchema, compression)
	if err != nil {
		return nil, err
	}
	for i := range list {
		e := &list[i]
		b := appendLong(w.block, indexVersion)
		b = appendLong(b, int64(e.Kind))
		b = appendBytes(b, e.Partition)
		b = appendLong(b, int64(e.Bucket))
		b = appendString(b, e.IndexType)
		b = appendString(b, e.FileName)
		b = appendLong(b, e.FileSize)
		b = appendLong(b, e.RowCount)
		if !e.Ranges.OK {
			b = append(b, 0)
		} else {
			b = append(b, 2)
			if len(e.Ranges.V) > 0 {
				b = appendLong(b, int64(len(e.Ranges.V)))
				for _, r := range e.Ranges.V {
					b = appendString(append(b, 2), r.DataFile)
					b = appendLong(appendLong(b, int64(r.Offset)), int64(r.Length))
					b = appendOptLong(b, r.Cardinality)
				}
			}
			b = append(b, 0)
		}
		b = appendOptString(b, e.ExternalPath)
		if g := e.Global; g == nil {
			b = append(b, 0)
		} else {
			b = appendLong(appendLong(append(b, 2), g.RowRangeStart), g.RowRangeEnd)
			b = appendLong(b, int64(g.FieldID))
			if !g.ExtraFieldIDs.OK {
				b = append(b, 0)
			} else {
				b = append(b, 2)
				if len(g.ExtraFieldIDs.V) > 0 {
					b = appendLong(b, int64(len(g.ExtraFieldIDs.V)))
					for _, id := range g.ExtraFieldIDs.V {
						b = appendLong(b, int64(id))
					}
				}
				b = append(b, 0)
			}
			b = appendOptBytes(appendOptBytes(b, g.Meta), g.SourceMeta)
		}
		w.block = b
		w.end()
	}
	return w.finish(), nil
}

// ManifestWriter builds one manifest file and its description.
type ManifestWriter struct {
	w     *containerWriter
	meta  ManifestMeta
	types []catalog.Type
	stats []partitionBounds
	n     int
}

// partitionBounds follow one partition column over the entries.
type partitionBounds struct {
	min, max *vector.Vec
	nulls    int64
}

// NewManifestWriter starts a manifest of a table with the given partition types.
func NewManifestWriter(partitionTypes []catalog.Type, compression string) (*ManifestWriter, error) {
	w, err := newContainerWriter(manifestSchema, compression)
	if err != nil {
		return nil, err
	}
	return &ManifestWriter{w: w, types: partitionTypes, stats: make([]partitionBounds, len(partitionTypes)),
		meta: ManifestMeta{Version: manifestVersion}}, nil
}

// Len returns the number of entries, Size the estimated bytes of the file.
func (w *ManifestWriter) Len() int  { return w.n }
func (w *ManifestWriter) Size() int { return w.w.size() }

// Add appends an entry.
func (w *ManifestWriter) Add(e *ManifestEntry) error {
	if e.File.WriteColsSeq.OK {
		return errs.Unsupportedf(-1, "writing manifests of tables with data evolution (file %s)", e.File.FileName)
	}
	part, err := e.Partition.Decode(w.types)
	if err != nil {
		return err
	}
	for i, v := range part {
		s := &w.stats[i]
		switch {
		case v.IsNull(0):
			s.nulls++
		default:
			if s.min == nil || vector.Compare(v, 0, s.min, 0) < 0 {
				s.min = v
			}
			if s.max == nil || vector.Compare(v, 0, s.max, 0) > 0 {
				s.max = v
			}
		}
	}
	m, f := &w.meta, &e.File
	if e.Kind == FileAdd {
		m.Added++
	} else {
		m.Deleted++
	}
	m.SchemaID = max(m.SchemaID, f.SchemaID)
	widen(&m.MinBucket, &m.MaxBucket, e.Bucket, w.n)
	widen(&m.MinLevel, &m.MaxLevel, f.Level, w.n)
	switch {
	case !f.FirstRowID.OK:
		m.MinRowID, m.MaxRowID = Opt[int64]{}, Opt[int64]{}
	case w.n == 0 || m.MinRowID.OK:
		widen(&m.MinRowID, &m.MaxRowID, f.FirstRowID.V, w.n)
		m.MaxRowID.V = max(m.MaxRowID.V, f.FirstRowID.V+f.RowCount-1)
	}
	w.n++

	b := appendLong(w.w.block, manifestVersion)
	b = appendLong(b, int64(e.Kind))
	b = appendBytes(b, e.Partition)
	b = appendLong(b, int64(e.Bucket))
	b = appendLong(b, int64(e.TotalBuckets))
	b = appendString(b, f.FileName)
	b = appendLong(b, f.FileSize)
	b = appendLong(b, f.RowCount)
	b = appendBytes(b, f.MinKey)
	b = appendBytes(b, f.MaxKey)
	b = appendStats(b, f.KeyStats)
	b = appendStats(b, f.ValueStats)
	b = appendLong(b, f.MinSequence)
	b = appendLong(b, f.MaxSequence)
	b = appendLong(b, f.SchemaID)
	b = appendLong(b, int64(f.Level))
	b = appendStrings(b, f.ExtraFiles)
	b = appendOptLong(b, f.CreationTime)
	b = appendOptLong(b, f.DeleteRowCount)
	b = appendOptBytes(b, f.EmbeddedIndex)
	b = appendOptInt(b, f.FileSource)
	b = appendOptStrings(b, f.ValueStatsCols)
	b = appendOptString(b, f.ExternalPath)
	b = appendOptLong(b, f.FirstRowID)
	w.w.block = appendOptStrings(b, f.WriteCols)
	w.w.end()
	return nil
}

func widen[T int32 | int64](lo, hi *Opt[T], v T, n int) {
	if n == 0 || lo.OK && v < lo.V {
		*lo = Some(v)
	}
	if n == 0 || hi.OK && v > hi.V {
		*hi = Some(v)
	}
}

// Finish returns the file and its description, named name.
func (w *ManifestWriter) Finish(name string) ([]byte, ManifestMeta) {
	b := w.w.finish()
	cols := make([]ColumnStats, len(w.stats))
	for i, s := range w.stats {
		cols[i] = ColumnStats{Min: s.min, Max: s.max, Nulls: Some(s.nulls)}
	}
	w.meta.FileName, w.meta.FileSize = name, int64(len(b))
	w.meta.PartitionStats = EncodeStats(w.types, cols)
	return b, w.meta
}
