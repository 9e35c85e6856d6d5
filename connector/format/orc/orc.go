// Package orc reads Paimon's data files in ORC (version 1 of
// https://orc.apache.org/specification/ORCv1/). It does not write any.
//
// A file is stripes of rows; a stripe has, for each column, a few streams
// (which rows are present, values, lengths, a dictionary) in compressed chunks.
// Streams are decoded a batch at a time straight into vector.Vec.
//
// Paimon's Java reader is followed where a file alone does not say what it means:
// TIMESTAMP is the wall clock of the zone that the stripe names, in the Julian
// calendar before 1582-10-15 unless the file says otherwise; trailing blanks of
// CHAR are dropped. TIMESTAMP WITH LOCAL TIME ZONE is read only where the
// writer's zone was UTC: elsewhere the stored instant may be shifted by the zone
// or not (orc.timestamp-ltz.legacy.type), and no file says which.
//
// Invariants: no length in a file is trusted: each is checked against the bytes
// at hand, and what grows with the file is charged to the reader's budget before
// it is made. Statistics prune stripes for integers, dates and strings only,
// whose order all writers agree on: minima of floats may be NaN, and those of
// CHAR are padded.
//
// Start reading at Format, then file (the tail), stream (chunks), column (how
// streams become a vector) and reader.
package orc

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
)

// Format implements format.Format for reading. The zero value is ready to use.
type Format struct{}

var _ format.ReadOnly = Format{}

// Name implements format.Format.
func (Format) Name() string { return "orc" }

// ReadOnly implements format.ReadOnly.
func (Format) ReadOnly() {}

// NewWriter refuses: data files are written in Parquet only.
func (f Format) NewWriter(_ context.Context, w fileio.Writer, opts format.WriteOptions) (format.Writer, error) {
	return format.Refuse(f, w, opts.Path)
}

// Describe implements format.Format. A row group is a stripe.
func (Format) Describe(_ context.Context, f fileio.File, path string) (*format.Description, error) {
	of, err := openFile(f, path, nil, nil)
	if err != nil {
		return nil, corrupt(path, err)
	}
	defer of.release()
	d := &format.Description{Format: "orc", Rows: of.rows, Size: f.Size(), Creator: of.creator()}
	for i, k := range of.root.kids {
		t, err := k.logicalType()
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", path, err)
		}
		d.Columns = append(d.Columns, format.Column{Name: of.root.names[i], Type: t, ID: k.id})
	}
	for _, s := range of.stripes {
		d.RowGroups = append(d.RowGroups, format.RowGroup{Rows: s.rows, Bytes: s.index + s.data + s.footer, Compression: of.compression.String()})
	}
	return d, nil
}

// corrupt wraps err as corruption of the named file, unless it has a class of
// its own already.
func corrupt(path string, err error) error { return format.Corrupt("ORC", path, err) }
