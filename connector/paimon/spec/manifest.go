package spec

import (
	"encoding/binary"

	"github.com/thermocline/thermocline/internal/errs"
)

// ManifestMeta describes one manifest file in a manifest list.
type ManifestMeta struct {
	Version        int32      `json:"version"`
	FileName       string     `json:"fileName"`
	FileSize       int64      `json:"fileSize"`
	Added          int64      `json:"numAddedFiles"`
	Deleted        int64      `json:"numDeletedFiles"`
	PartitionStats Stats      `json:"partitionStats"` // over the partition columns
	SchemaID       int64      `json:"schemaId"`       // the largest of the entries
	MinBucket      Opt[int32] `json:"minBucket"`      // since 1.1
	MaxBucket      Opt[int32] `json:"maxBucket"`
	MinLevel       Opt[int32] `json:"minLevel"`
	MaxLevel       Opt[int32] `json:"maxLevel"`
	MinRowID       Opt[int64] `json:"minRowId"` // since 1.4
	MaxRowID       Opt[int64] `json:"maxRowId"`
}

// FileKind says whether a manifest entry adds or deletes a file.
type FileKind int32

// The file kinds.
const (
	FileAdd    FileKind = 0
	FileDelete FileKind = 1
)

// FileSource says what wrote a data file.
const (
	SourceAppend  int32 = 0 // ingestion
	SourceCompact int32 = 1
)

// ManifestEntry adds a data file to the table, or deletes one.
type ManifestEntry struct {
	Kind         FileKind     `json:"kind"`
	Partition    BinaryRow    `json:"partition"` // over the partition columns
	Bucket       int32        `json:"bucket"`
	TotalBuckets int32        `json:"totalBuckets"` // -1: dynamic or none, -2: postponed
	File         DataFileMeta `json:"file"`
}

// DataFileMeta describes a data file.
type DataFileMeta struct {
	FileName       string        `json:"fileName"`
	FileSize       int64         `json:"fileSize"`
	RowCount       int64         `json:"rowCount"` // deletions included
	MinKey         BinaryRow     `json:"minKey"`   // over the trimmed primary key
	MaxKey         BinaryRow     `json:"maxKey"`
	KeyStats       Stats         `json:"keyStats"`
	ValueStats     Stats         `json:"valueStats"` // over ValueStatsCols
	MinSequence    int64         `json:"minSequenceNumber"`
	MaxSequence    int64         `json:"maxSequenceNumber"`
	SchemaID       int64         `json:"schemaId"`
	Level          int32         `json:"level"`
	ExtraFiles     []string      `json:"extraFiles"`
	CreationTime   Opt[int64]    `json:"creationTime"`   // millis of the writer's local wall clock, as if it were UTC
	DeleteRowCount Opt[int64]    `json:"deleteRowCount"` // absent: unknown
	EmbeddedIndex  []byte        `json:"embeddedIndex"`  // nil: absent
	FileSource     Opt[int32]    `json:"fileSource"`
	ValueStatsCols Opt[[]string] `json:"valueStatsCols"` // absent: all columns of the file's schema
	ExternalPath   Opt[string]   `json:"externalPath"`
	FirstRowID     Opt[int64]    `json:"firstRowId"`
	WriteCols      Opt[[]string] `json:"writeCols"`
	WriteColsSeq   Opt[[]int64]  `json:"writeColsSequences"`
}

// FileID identifies a data file among the entries of a table: an entry that
// deletes repeats the identity of the one that added (Java's
// FileEntry.Identifier). It is comparable.
type FileID struct {
	partition, extra, index, external, name string
	bucket, level                           int32
}

// ID returns the entry's identity.
func (e *ManifestEntry) ID() FileID {
	id := FileID{partition: string(e.Partition), bucket: e.Bucket, level: e.File.Level, name: e.File.FileName,
		index: string(e.File.EmbeddedIndex), external: e.File.ExternalPath.V}
	if len(e.File.ExtraFiles) > 0 {
		var b []byte
		for _, x := range e.File.ExtraFiles {
			b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
		}
		id.extra = string(b)
	}
	return id
}

// FileName returns the name of the file with this identity.
func (id FileID) FileName() string { return id.name }

// IndexRange is the place of one data file's deletion vector in an index file.
type IndexRange struct {
	DataFile    string     `json:"dataFile"`
	Offset      int32      `json:"offset"`
	Length      int32      `json:"length"`
	Cardinality Opt[int64] `json:"cardinality"`
}

// GlobalIndex describes a table-level index.
type GlobalIndex struct {
	RowRangeStart int64        `json:"rowRangeStart"`
	RowRangeEnd   int64        `json:"rowRangeEnd"`
	FieldID       int32        `json:"indexFieldId"`
	ExtraFieldIDs Opt[[]int32] `json:"extraFieldIds"`
	Meta          []byte       `json:"indexMeta"`
	SourceMeta    []byte       `json:"sourceMeta"`
}

// Index types.
const (
	IndexHash            = "HASH"
	IndexDeletionVectors = "DELETION_VECTORS"
)

// IndexEntry is one index file of a table's state. An index manifest holds all
// of them and only additions.
type IndexEntry struct {
	Kind         FileKind          `json:"kind"`
	Partition    BinaryRow         `json:"partition"`
	Bucket       int32             `json:"bucket"`
	IndexType    string            `json:"indexType"`
	FileName     string            `json:"fileName"`
	FileSize     int64             `json:"fileSize"`
	RowCount     int64             `json:"rowCount"`
	Ranges       Opt[[]IndexRange] `json:"deletionVectorRanges"`
	ExternalPath Opt[string]       `json:"externalPath"`
	Global       *GlobalIndex      `json:"globalIndex"`
}

// MergeEntries folds entries into the live files. The order of the entries does
// not matter: a file is live when it was added once more than it was deleted.
type MergeEntries struct {
	pos  map[FileID]int // index in list
	list []merged
}

type merged struct {
	entry ManifestEntry
	net   int // additions minus deletions
}

// Add folds one more entry, keeping its slices.
func (m *MergeEntries) Add(e ManifestEntry) error {
	if m.pos == nil {
		m.pos = map[FileID]int{}
	}
	id := e.ID()
	at, ok := m.pos[id]
	if !ok {
		at = len(m.list)
		m.pos[id] = at
		m.list = append(m.list, merged{})
	}
	x := &m.list[at]
	switch e.Kind {
	case FileAdd:
		if x.net >= 1 {
			return errs.Corruptf("merge manifests: the file %s is added twice", e.File.FileName)
		}
		x.net++
		x.entry = e
	case FileDelete:
		if x.net <= -1 {
			return errs.Corruptf("merge manifests: the file %s is deleted twice", e.File.FileName)
		}
		x.net--
		if x.net == 0 {
			x.entry = ManifestEntry{}
		}
	default:
		return errs.Corruptf("merge manifests: the file %s has the unknown entry kind %d", e.File.FileName, e.Kind)
	}
	return nil
}

// Has reports whether a file is live.
func (m *MergeEntries) Has(id FileID) bool {
	at, ok := m.pos[id]
	return ok && m.list[at].net > 0
}

// Live returns the live files' entries, in the order in which they first came.
// A file that was only deleted is an error: a whole state has none.
func (m *MergeEntries) Live() ([]ManifestEntry, error) {
	var out []ManifestEntry
	for i := range m.list {
		switch x := &m.list[i]; {
		case x.net > 0:
			out = append(out, x.entry)
		case x.net < 0:
			for id, at := range m.pos {
				if at == i {
					return nil, errs.Corruptf("merge manifests: the file %s is deleted but was never added", id.name)
				}
			}
		}
	}
	return out, nil
}
