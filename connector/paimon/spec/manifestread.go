package spec

import "github.com/thermocline/thermocline/internal/errs"

// fieldName is a field of the Avro records that this package knows; 0 is any
// other.
type fieldName uint8

const (
	_ fieldName = iota
	fVersion
	fFileName
	fFileSize
	fNumAdded
	fNumDeleted
	fPartitionStats
	fSchemaID
	fMinBucket
	fMaxBucket
	fMinLevel
	fMaxLevel
	fMinRowID
	fMaxRowID
	fMinValues
	fMaxValues
	fNullCounts
	fKind
	fPartition
	fBucket
	fTotalBuckets
	fFile
	fRowCount
	fMinKey
	fMaxKey
	fKeyStats
	fValueStats
	fMinSequence
	fMaxSequence
	fLevel
	fExtraFiles
	fCreationTime
	fDeleteRowCount
	fEmbeddedIndex
	fFileSource
	fValueStatsCols
	fExternalPath
	fFirstRowID
	fWriteCols
	fWriteColsSeq
	fIndexType
	fRanges
	fRange0
	fRange1
	fRange2
	fCardinality
	fGlobalIndex
	fRowRangeStart
	fRowRangeEnd
	fIndexFieldID
	fExtraFieldIDs
	fIndexMeta
	fSourceMeta
)

var fieldNames = map[string]fieldName{
	"_VERSION": fVersion, "_FILE_NAME": fFileName, "_FILE_SIZE": fFileSize, "_NUM_ADDED_FILES": fNumAdded,
	"_NUM_DELETED_FILES": fNumDeleted, "_PARTITION_STATS": fPartitionStats, "_SCHEMA_ID": fSchemaID,
	"_MIN_BUCKET": fMinBucket, "_MAX_BUCKET": fMaxBucket, "_MIN_LEVEL": fMinLevel, "_MAX_LEVEL": fMaxLevel,
	"_MIN_ROW_ID": fMinRowID, "_MAX_ROW_ID": fMaxRowID, "_MIN_VALUES": fMinValues, "_MAX_VALUES": fMaxValues,
	"_NULL_COUNTS": fNullCounts, "_KIND": fKind, "_PARTITION": fPartition, "_BUCKET": fBucket,
	"_TOTAL_BUCKETS": fTotalBuckets, "_FILE": fFile, "_ROW_COUNT": fRowCount, "_MIN_KEY": fMinKey, "_MAX_KEY": fMaxKey,
	"_KEY_STATS": fKeyStats, "_VALUE_STATS": fValueStats, "_MIN_SEQUENCE_NUMBER": fMinSequence,
	"_MAX_SEQUENCE_NUMBER": fMaxSequence, "_LEVEL": fLevel, "_EXTRA_FILES": fExtraFiles, "_CREATION_TIME": fCreationTime,
	"_DELETE_ROW_COUNT": fDeleteRowCount, "_EMBEDDED_FILE_INDEX": fEmbeddedIndex, "_FILE_SOURCE": fFileSource,
	"_VALUE_STATS_COLS": fValueStatsCols, "_EXTERNAL_PATH": fExternalPath, "_FIRST_ROW_ID": fFirstRowID,
	"_WRITE_COLS": fWriteCols, "_WRITE_COLS_SEQUENCES": fWriteColsSeq, "_INDEX_TYPE": fIndexType,
	"_DELETIONS_VECTORS_RANGES": fRanges, "f0": fRange0, "f1": fRange1, "f2": fRange2, "_CARDINALITY": fCardinality,
	"_GLOBAL_INDEX": fGlobalIndex, "_ROW_RANGE_START": fRowRangeStart, "_ROW_RANGE_END": fRowRangeEnd,
	"_INDEX_FIELD_ID": fIndexFieldID, "_EXTRA_FIELD_IDS": fExtraFieldIDs, "_INDEX_META": fIndexMeta, "_SOURCE_META": fSourceMeta,
}

// The versions that records carry.
const (
	manifestVersion = 2
	indexVersion    = 1
)

func (d *dec) row(f *nodeField) BinaryRow { return BinaryRow(d.must(f)) }

func (d *dec) stats(f *nodeField) (s Stats) {
	ok := d.record(f, func(f *nodeField) {
		switch f.known {
		case fMinValues:
			s.Min = d.row(f)
		case fMaxValues:
			s.Max = d.row(f)
		case fNullCounts:
			counts := []Opt[int64]{}
			if d.array(f, func(el *nodeField) { counts = append(counts, d.optLong(el)) }) {
				s.NullCounts = counts
			}
		default:
			d.skip(f.node)
		}
	})
	if !ok && d.err == nil {
		d.fail("the field %s is null", f.name)
	}
	return s
}

// ReadManifestList reads a manifest list.
func ReadManifestList(b []byte) ([]ManifestMeta, error) {
	out := []ManifestMeta{}
	err := readContainer(b, func(root *node) error {
		return requireFields(root, "_VERSION", "_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_PARTITION_STATS", "_SCHEMA_ID")
	}, func(d *dec, f *nodeField) error {
		var m ManifestMeta
		if !d.record(f, func(f *nodeField) { d.metaField(f, &m) }) && d.err == nil {
			d.fail("a record is null")
		}
		if d.err == nil && (m.Version < 0 || m.Version > manifestVersion) {
			return errs.Unsupportedf(-1, "manifest lists of version %d", m.Version)
		}
		out = append(out, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (d *dec) metaField(f *nodeField, m *ManifestMeta) {
	switch f.known {
	case fVersion:
		m.Version = d.int(f)
	case fFileName:
		m.FileName = d.fileName(f)
	case fFileSize:
		m.FileSize = d.num(f)
	case fNumAdded:
		m.Added = d.num(f)
	case fNumDeleted:
		m.Deleted = d.num(f)
	case fPartitionStats:
		m.PartitionStats = d.stats(f)
	case fSchemaID:
		m.SchemaID = d.num(f)
	case fMinBucket:
		m.MinBucket = d.optInt(f)
	case fMaxBucket:
		m.MaxBucket = d.optInt(f)
	case fMinLevel:
		m.MinLevel = d.optInt(f)
	case fMaxLevel:
		m.MaxLevel = d.optInt(f)
	case fMinRowID:
		m.MinRowID = d.optLong(f)
	case fMaxRowID:
		m.MaxRowID = d.optLong(f)
	default:
		d.skip(f.node)
	}
}

// ReadManifest calls fn with each entry of a manifest, in order. fn may keep the
// entry's slices and must not change them; the entry itself is reused.
func ReadManifest(b []byte, fn func(*ManifestEntry) error) error {
	var e ManifestEntry
	return readContainer(b, func(root *node) error {
		if err := requireFields(root, "_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"); err != nil {
			return err
		}
		return requireFields(fieldNode(root, "_FILE"), "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_KEY", "_MAX_KEY", "_KEY_STATS",
			"_VALUE_STATS", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID", "_LEVEL")
	}, func(d *dec, f *nodeField) error {
		e = ManifestEntry{}
		version := int32(manifestVersion)
		if !d.record(f, func(f *nodeField) {
			switch f.known {
			case fVersion:
				version = d.int(f)
			case fKind:
				e.Kind = FileKind(d.int(f))
			case fPartition:
				e.Partition = d.row(f)
			case fBucket:
				e.Bucket = d.int(f)
			case fTotalBuckets:
				e.TotalBuckets = d.int(f)
			case fFile:
				if !d.record(f, func(f *nodeField) { d.fileField(f, &e.File) }) && d.err == nil {
					d.fail("the field _FILE is null")
				}
			default:
				d.skip(f.node)
			}
		}) && d.err == nil {
			d.fail("a record is null")
		}
		switch {
		case d.err != nil:
			return d.err
		case version < 0 || version > manifestVersion:
			return errs.Unsupportedf(-1, "manifests of version %d", version)
		case e.Kind != FileAdd && e.Kind != FileDelete:
			return errs.Corruptf("an entry has the unknown kind %d", e.Kind)
		case e.File.Level < 0 || e.File.RowCount < 0 || e.File.FileSize < 0 || e.Bucket < PostponeBucket || e.File.SchemaID < 0:
			return errs.Corruptf("the entry of the file %s has a negative level, row count, size, bucket or schema", e.File.FileName)
		}
		return fn(&e)
	})
}

func (d *dec) fileField(f *nodeField, m *DataFileMeta) {
	switch f.known {
	case fFileName:
		m.FileName = d.fileName(f)
	case fFileSize:
		m.FileSize = d.num(f)
	case fRowCount:
		m.RowCount = d.num(f)
	case fMinKey:
		m.MinKey = d.row(f)
	case fMaxKey:
		m.MaxKey = d.row(f)
	case fKeyStats:
		m.KeyStats = d.stats(f)
	case fValueStats:
		m.ValueStats = d.stats(f)
	case fMinSequence:
		m.MinSequence = d.num(f)
	case fMaxSequence:
		m.MaxSequence = d.num(f)
	case fSchemaID:
		m.SchemaID = d.num(f)
	case fLevel:
		m.Level = d.int(f)
	case fExtraFiles:
		d.array(f, func(el *nodeField) { m.ExtraFiles = append(m.ExtraFiles, d.fileName(el)) })
	case fCreationTime:
		m.CreationTime = d.optLong(f)
	case fDeleteRowCount:
		m.DeleteRowCount = d.optLong(f)
	case fEmbeddedIndex:
		m.EmbeddedIndex = d.optBytes(f)
	case fFileSource:
		m.FileSource = d.optInt(f)
	case fValueStatsCols:
		m.ValueStatsCols = d.strings(f)
	case fExternalPath:
		m.ExternalPath = d.optString(f)
	case fFirstRowID:
		m.FirstRowID = d.optLong(f)
	case fWriteCols:
		m.WriteCols = d.strings(f)
	case fWriteColsSeq:
		seqs := []int64{}
		if d.array(f, func(el *nodeField) { seqs = append(seqs, d.num(el)) }) {
			m.WriteColsSeq = Some(seqs)
		}
	default:
		d.skip(f.node)
	}
}

// ReadIndexManifest reads an index manifest.
func ReadIndexManifest(b []byte) ([]IndexEntry, error) {
	out := []IndexEntry{}
	err := readContainer(b, func(root *node) error {
		return requireFields(root, "_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_INDEX_TYPE", "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT")
	}, func(d *dec, f *nodeField) error {
		var e IndexEntry
		if !d.record(f, func(f *nodeField) { d.indexField(f, &e) }) && d.err == nil {
			d.fail("a record is null")
		}
		if d.err == nil && e.Kind != FileAdd && e.Kind != FileDelete {
			return errs.Corruptf("an index entry has the unknown kind %d", e.Kind)
		}
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (d *dec) indexField(f *nodeField, e *IndexEntry) {
	switch f.known {
	case fVersion:
		if v := d.int(f); d.err == nil && (v < 0 || v > indexVersion) {
			d.err = errs.Unsupportedf(-1, "index manifests of version %d", v)
		}
	case fKind:
		e.Kind = FileKind(d.int(f))
	case fPartition:
		e.Partition = d.row(f)
	case fBucket:
		e.Bucket = d.int(f)
	case fIndexType:
		e.IndexType = string(d.must(f))
	case fFileName:
		e.FileName = d.fileName(f)
	case fFileSize:
		e.FileSize = d.num(f)
	case fRowCount:
		e.RowCount = d.num(f)
	case fRanges:
		ranges := []IndexRange{}
		if d.array(f, func(el *nodeField) {
			var r IndexRange
			if d.record(el, func(f *nodeField) { d.rangeField(f, &r) }) {
				ranges = append(ranges, r)
			}
		}) {
			e.Ranges = Some(ranges)
		}
	case fExternalPath:
		e.ExternalPath = d.optString(f)
	case fGlobalIndex:
		var g GlobalIndex
		if d.record(f, func(f *nodeField) { d.globalField(f, &g) }) {
			e.Global = &g
		}
	default:
		d.skip(f.node)
	}
}

func (d *dec) rangeField(f *nodeField, r *IndexRange) {
	switch f.known {
	case fRange0:
		r.DataFile = string(d.must(f))
	case fRange1:
		r.Offset = d.int(f)
	case fRange2:
		r.Length = d.int(f)
	case fCardinality:
		r.Cardinality = d.optLong(f)
	default:
		d.skip(f.node)
	}
}

func (d *dec) globalField(f *nodeField, g *GlobalIndex) {
	switch f.known {
	case fRowRangeStart:
		g.RowRangeStart = d.num(f)
	case fRowRangeEnd:
		g.RowRangeEnd = d.num(f)
	case fIndexFieldID:
		g.FieldID = d.int(f)
	case fExtraFieldIDs:
		ids := []int32{}
		if d.array(f, func(el *nodeField) { ids = append(ids, d.int(el)) }) {
			g.ExtraFieldIDs = Some(ids)
		}
	case fIndexMeta:
		g.Meta = d.optBytes(f)
	case fSourceMeta:
		g.SourceMeta = d.optBytes(f)
	default:
		d.skip(f.node)
	}
}
