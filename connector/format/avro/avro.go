// Package avro reads Paimon's data files in Avro: object container files of
// records org.apache.paimon.avro.generated.record
// (https://avro.apache.org/docs/1.11.1/specification/). It does not write any.
//
// Records are decoded straight into vector.Vec by a plan that is made once a
// file from the writer's schema and the wanted columns; the other fields are
// skipped. Paimon's use of logical types is followed: TIMESTAMP is stored as
// timestamp-millis or -micros, TIMESTAMP WITH LOCAL TIME ZONE as
// local-timestamp-millis or -micros (the inverse of Avro's names), maps of other
// keys than strings as arrays of key and value with the logical type "map".
//
// Invariants: no length in a file is trusted: each is checked against the bytes
// at hand, and what grows with the file is charged to the reader's budget before
// it is made. Avro has no statistics, so a filter prunes nothing. Blocks are the
// units of parallel reading.
//
// Start reading at Format, then container (blocks), plan (how a record becomes
// columns) and reader.
package avro

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
func (Format) Name() string { return "avro" }

// ReadOnly implements format.ReadOnly.
func (Format) ReadOnly() {}

// NewWriter refuses: data files are written in Parquet only.
func (f Format) NewWriter(_ context.Context, w fileio.Writer, opts format.WriteOptions) (format.Writer, error) {
	return format.Refuse(f, w, opts.Path)
}

// Describe implements format.Format. A row group is a block.
func (Format) Describe(ctx context.Context, f fileio.File, path string) (*format.Description, error) {
	c, err := openContainer(ctx, f, path, nil)
	if err != nil {
		return nil, corrupt(path, err)
	}
	defer c.release()
	d := &format.Description{Format: "avro", Rows: c.rows, Size: f.Size()}
	for _, fd := range c.root.fields {
		t, err := fd.node.logicalType(fd.name)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", path, err)
		}
		d.Columns = append(d.Columns, format.Column{Name: fd.name, Type: t})
	}
	codec := c.codec
	if codec == "null" {
		codec = "none"
	}
	for _, b := range c.blocks {
		d.RowGroups = append(d.RowGroups, format.RowGroup{Rows: b.rows, Bytes: b.size, Compression: codec})
	}
	return d, nil
}

// corrupt wraps err as corruption of the named file, unless it has a class of
// its own already.
func corrupt(path string, err error) error { return format.Corrupt("Avro", path, err) }
