// Package parquet reads and writes Parquet files as Paimon's Java writers do
// (field ids, INT96 for timestamps beyond microseconds, decimals in the smallest
// physical type), and reads what other writers make of the same types.
//
// The footer is parsed, and files are written, by arrow-go; pages are decoded
// here, straight into vector.Vec, because arrow-go's own column readers cost two
// to three times as much and cannot keep dictionary codes. The layout is that of
// https://github.com/apache/parquet-format (README.md, Encodings.md,
// Compression.md, LogicalTypes.md).
//
// Invariants: no length in a file is trusted: every slice is checked against the
// bytes at hand and every allocation is bounded by a page, charged to the
// reader's budget before it is made. A broken file gives an error of class
// Corruption that names it; a panic of the footer library is caught at the file
// boundary. Statistics prune only where they are known to be sound.
//
// Start reading at Format, then file (a parsed footer), reader and column.
package parquet

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
)

// Format implements format.Format. The zero value is ready to use.
type Format struct{}

var _ format.Format = Format{}

// Name implements format.Format.
func (Format) Name() string { return "parquet" }

// guard turns a panic of the decoder into a Corruption error that names the
// file.
func guard(path string, err *error) {
	if p := recover(); p != nil {
		*err = errs.Corruptf("read %s: broken Parquet file: %v at %s", path, p, panicSite())
	}
}

// panicSite returns the function and line of this package that panicked.
func panicSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/format/parquet.") || !more {
			return fmt.Sprintf("%s:%d", f.Function[strings.LastIndexByte(f.Function, '/')+1:], f.Line)
		}
	}
}

// corrupt wraps err as corruption of the named file, unless it has a class of
// its own already.
func corrupt(path string, err error) error { return format.Corrupt("Parquet", path, err) }

// Describe implements format.Format.
func (Format) Describe(ctx context.Context, f fileio.File, path string) (d *format.Description, err error) {
	defer guard(path, &err)
	pf, err := openFile(f, path, nil, nil)
	if err != nil {
		return nil, err
	}
	defer pf.release()
	d = &format.Description{Format: "parquet", Rows: pf.meta.rows, Size: f.Size(), Creator: pf.meta.createdBy}
	for _, n := range pf.fields {
		t, err := n.logicalType()
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", path, err)
		}
		d.Columns = append(d.Columns, format.Column{Name: n.name, Type: t, ID: max(n.id, 0)})
	}
	for _, g := range pf.meta.groups {
		rg := format.RowGroup{Rows: g.rows}
		for _, c := range g.chunks {
			rg.Bytes += c.compressed
			rg.Compression = codecName(c.codec)
		}
		d.RowGroups = append(d.RowGroups, rg)
	}
	return d, nil
}
