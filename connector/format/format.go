// Package format is the seam between tables and data files: one file in, batches
// out, and batches in, one file with statistics out. Implementations
// (connector/format/parquet, …) are wired by cmd through a Registry; this
// package imports none.
//
// Invariants: a reader finds columns by the name they have in the file and
// delivers them in the physical kinds of the asked types; what it cannot decode
// exactly it refuses by name. Pruning by a filter only leaves out rows that do
// not satisfy it. Bytes that contradict the format give an error of class
// Corruption that names the file, never a panic.
//
// Start reading at Format.
package format

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Format reads and writes one kind of data file. Implementations are safe for
// concurrent use.
type Format interface {
	// Name is the format's name and file extension without the dot: "parquet".
	Name() string
	// NewReader starts reading a file. The reader owns file and closes it, also
	// when NewReader fails.
	NewReader(ctx context.Context, file fileio.File, opts ReadOptions) (Reader, error)
	// NewWriter starts a file. The writer owns w.
	NewWriter(ctx context.Context, w fileio.Writer, opts WriteOptions) (Writer, error)
	// Describe returns what the file's own metadata says. It does not close file.
	Describe(ctx context.Context, file fileio.File, path string) (*Description, error)
}

// Column is a column of a data file.
type Column struct {
	Name string       // as the file has it
	Type catalog.Type // NotNull counts when writing
	ID   int          // field id; formats that keep ids write it
}

// ReadOptions say what to read of a file.
type ReadOptions struct {
	// Path names the file in errors.
	Path string
	// Columns are what the batches will have, in this order. A column that the
	// file lacks is all NULL, or with Strict corruption. Empty: batches without
	// columns, only with Len.
	Columns []Column
	Strict  bool
	// Filter prunes parts of the file (row groups) by their statistics. Its
	// columns are positions in FilterColumns. nil: everything is read.
	Filter        *connector.Predicate
	FilterColumns []Column
	// Rows reports whether any of the rows from <= row < to of the file are
	// wanted, so that parts of the file without are left out; others may be read
	// all the same. nil: all are wanted.
	Rows func(from, to int64) bool
	// Part of Parts restricts the reader to a share of the file, so that several
	// read it in parallel: each row group belongs to exactly one part. Parts of 0
	// or 1 is the whole file.
	Part, Parts int
	// BatchRows is the most rows a batch has; 0 is vector.BatchRows.
	BatchRows int
	// Budget pays for what the reader holds; nil is unlimited.
	Budget *memory.Budget
	// Reads, when set, counts what is read.
	Reads *connector.Reads
	// Properties are the table's options, of which a format may have some of its
	// own that say how files were written ("orc.timestamp-ltz.legacy.type").
	Properties map[string]string
	// Metadata keeps what was parsed of a file that never changes under its path;
	// nil keeps nothing.
	Metadata Metadata
	// Pages keeps what was decompressed of such a file; nil keeps nothing.
	Pages Pages
}

// Metadata keeps parsed metadata of files, which must not be changed, by path. It
// is safe for concurrent use, and forgets when it likes.
type Metadata interface {
	// Load returns what is kept, nil when nothing is.
	Load(path string) any
	// Store keeps a value that takes the given bytes.
	Store(path string, value any, bytes int64)
}

// Pages keeps decompressed parts of files, which must not be changed, by path and
// offset. It is safe for concurrent use, and forgets when it likes.
type Pages interface {
	// Load returns what is kept of a part, nil when nothing is.
	Load(path string, at int64) any
	// Wants notes that a part of so many bytes is read, and reports whether Store
	// would keep it.
	Wants(path string, at, bytes int64) bool
	// Store keeps a part.
	Store(path string, at int64, part any, bytes int64)
}

// Reader streams the batches of one file in file order. Batch.Seq is the
// position in the file of the batch's first row. A batch is valid until the next
// call of Next or Close. A reader belongs to one goroutine.
type Reader interface {
	connector.BatchReader
	// Rows is the number of rows in the file, before pruning.
	Rows() int64
}

// Narrowing is a Reader that can leave out parts of the file by a condition that
// changes while it reads: see connector.Dynamic.
type Narrowing interface {
	Reader
	// Narrow gives the condition, on a column of the file; d's own is that of
	// another schema. Seq stays the position in the file when parts of it are read in
	// another order. It is called before the first Next.
	Narrow(column Column, d *connector.Dynamic)
}

// WriteOptions say how to write a file.
type WriteOptions struct {
	// Path names the file in errors.
	Path string
	// Columns are the file's columns in order.
	Columns []Column
	// Compression is "zstd" (and ""), "snappy", "gzip", "lz4" or "none".
	Compression string
	// Level is the codec's level; 0 is the format's default (zstd: 1).
	Level int
	// RowGroupBytes bounds what is buffered before a part of the file is
	// finished; 0 is the format's default.
	RowGroupBytes int64
	// Budget pays for what the writer holds; nil is unlimited.
	Budget *memory.Budget
}

// Writer writes one file. It belongs to one goroutine.
type Writer interface {
	// Write adds the rows of b that count (its selection), with columns in the
	// order of WriteOptions.Columns and of their physical kinds and of any form.
	// Row kinds are ignored. NULL in a NotNull column is an error.
	Write(b *vector.Batch) error
	// Rows is the number of rows written so far; Size estimates the bytes the
	// file would have if it were closed now.
	Rows() int64
	Size() int64
	// Close finishes the file, makes it visible and durable, and describes it.
	// After an error the file does not exist, except with class UnknownOutcome.
	Close() (*Stats, error)
	// Abort gives the file up. After Close it does nothing.
	Abort() error
}

// Stats describe a written file.
type Stats struct {
	Rows    int64
	Size    int64         // bytes
	Columns []ColumnStats // in the order of WriteOptions.Columns
}

// ColumnStats are the bounds of one column in one file.
type ColumnStats struct {
	// Min and Max are Flat vectors of one row in the column's physical kind, not
	// truncated; nil when unknown: no value that is not NULL, nested types,
	// timestamps beyond microseconds (which the file formats give no order), and
	// floats with a NaN.
	Min, Max *vector.Vec
	// Nulls is the number of NULL rows, -1 when unknown (nested types).
	Nulls int64
}

// Description is what a file's own metadata says.
type Description struct {
	Format    string     `json:"format"`
	Rows      int64      `json:"rows"`
	Size      int64      `json:"size"`
	Creator   string     `json:"creator,omitempty"`
	Columns   []Column   `json:"columns"`
	RowGroups []RowGroup `json:"rowGroups"`
}

// RowGroup is a part of a file that is stored together.
type RowGroup struct {
	Rows        int64  `json:"rows"`
	Bytes       int64  `json:"bytes"` // compressed
	Compression string `json:"compression"`
}
