package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// printer prints a result.
type printer func(ctx context.Context, r *session.Result, zone *time.Location, out *bufio.Writer) error

var printers = map[string]printer{"table": printTable, "csv": printCSV, "tsv": printTSV, "json": printJSON, "jsonl": printJSONL}

// eachRow calls f for every row. Those of a continuous result are written out at
// once.
func eachRow(ctx context.Context, r *session.Result, out *bufio.Writer, f func(b *vector.Batch, row int) error) error {
	for {
		if r.Continuous {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		b, err := r.Rows.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		for i := range b.Rows() {
			if err := f(b, b.Row(i)); err != nil {
				return err
			}
		}
	}
}

// tableRows is how many rows are looked at to find the columns' widths; the
// others are printed with these.
const tableRows = 1000

func printTable(ctx context.Context, r *session.Result, zone *time.Location, out *bufio.Writer) error {
	cols := r.Columns
	width := make([]int, len(cols))
	right := make([]bool, len(cols))
	for i, c := range cols {
		width[i] = utf8.RuneCountInString(c.Name)
		right[i] = number(c.Type)
	}
	line := func(cells []string) {
		for i, c := range cells {
			pad := strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(c)))
			if right[i] {
				c = pad + c
			} else {
				c += pad
			}
			fmt.Fprintf(out, "| %s ", c)
		}
		out.WriteString("|\n")
	}
	rule := func() {
		for _, w := range width {
			out.WriteString("+" + strings.Repeat("-", w+2))
		}
		out.WriteString("+\n")
	}
	var first [][]string
	shown, look := false, tableRows
	if r.Continuous {
		look = 0 // the first row is shown when it comes
	}
	header := func() {
		shown = true
		rule()
		names := make([]string, len(cols))
		for i, c := range cols {
			names[i] = c.Name
		}
		line(names)
		rule()
		for _, row := range first {
			line(row)
		}
		first = nil
	}
	n := 0
	err := eachRow(ctx, r, out, func(b *vector.Batch, row int) error {
		cells := make([]string, len(cols))
		for i, c := range cols {
			cells[i] = "NULL"
			if !b.Cols[i].IsNull(row) {
				cells[i] = strings.ReplaceAll(string(expr.AppendText(nil, c.Type, b.Cols[i], row, zone)), "\n", "\\n")
			}
		}
		n++
		if n <= look {
			first = append(first, cells)
			for i, c := range cells {
				width[i] = max(width[i], utf8.RuneCountInString(c))
			}
			return nil
		}
		if !shown {
			header()
		}
		line(cells)
		return nil
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(out, "Empty set")
		return nil
	}
	if !shown {
		header()
	}
	rule()
	fmt.Fprintf(out, "%d row%s\n", n, map[bool]string{true: "s"}[n != 1])
	return nil
}

func number(t expr.Type) bool {
	switch t.Class {
	case expr.Bool, expr.Int, expr.Decimal, expr.Float, expr.Double, expr.Year:
		return true
	}
	return false
}

// printCSV prints RFC 4180 with a header. NULL is an empty field, an empty
// string is quoted.
func printCSV(ctx context.Context, r *session.Result, zone *time.Location, out *bufio.Writer) error {
	w := csv.NewWriter(out)
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
	}
	if err := w.Write(names); err != nil {
		return err
	}
	w.Flush()
	var text []byte
	return eachRow(ctx, r, out, func(b *vector.Batch, row int) error {
		for i, c := range r.Columns {
			if i > 0 {
				out.WriteByte(',')
			}
			if b.Cols[i].IsNull(row) {
				continue
			}
			text = expr.AppendText(text[:0], c.Type, b.Cols[i], row, zone)
			s := string(text)
			if s == "" || strings.ContainsAny(s, "\",\r\n") || s[0] == ' ' {
				s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
			}
			out.WriteString(s)
		}
		_, err := out.WriteString("\n")
		return err
	})
}

// tsv escapes what MySQL's batch output escapes.
var tsv = strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\x00", "\\0")

func printTSV(ctx context.Context, r *session.Result, zone *time.Location, out *bufio.Writer) error {
	for i, c := range r.Columns {
		if i > 0 {
			out.WriteByte('\t')
		}
		tsv.WriteString(out, c.Name)
	}
	out.WriteByte('\n')
	var text []byte
	return eachRow(ctx, r, out, func(b *vector.Batch, row int) error {
		for i, c := range r.Columns {
			if i > 0 {
				out.WriteByte('\t')
			}
			if b.Cols[i].IsNull(row) {
				out.WriteString("NULL")
				continue
			}
			text = expr.AppendText(text[:0], c.Type, b.Cols[i], row, zone)
			tsv.WriteString(out, string(text))
		}
		return out.WriteByte('\n')
	})
}

// printJSON prints an array of objects.
func printJSON(ctx context.Context, r *session.Result, zone *time.Location, out *bufio.Writer) error {
	sep := "[\n"
	var buf []byte
	err := eachRow(ctx, r, out, func(b *vector.Batch, row int) error {
		buf = append(buf[:0], sep...)
		sep = ",\n"
		for i, c := range r.Columns {
			buf = append(buf, map[bool]string{true: " {", false: ", "}[i == 0]...)
			buf = jsonl.AppendString(buf, []byte(c.Name))
			buf = append(buf, ": "...)
			v := b.Cols[i]
			switch {
			case v.IsNull(row):
				buf = append(buf, "null"...)
			case c.Type.Class == expr.JSON || c.Type.Class == expr.Nested:
				buf = expr.AppendText(buf, c.Type, v, row, zone)
			case (c.Type.Class == expr.Float || c.Type.Class == expr.Double) && !finite(v, row):
				buf = append(buf, "null"...)
			case number(c.Type):
				buf = expr.AppendText(buf, c.Type, v, row, zone)
			case c.Type.Class == expr.Bytes:
				buf = fmt.Appendf(buf, `"%x"`, v.Bytes(row))
			default:
				buf = jsonl.AppendString(buf, expr.AppendText(nil, c.Type, v, row, zone))
			}
		}
		buf = append(buf, '}')
		_, err := out.Write(buf)
		return err
	})
	if err != nil {
		return err
	}
	if sep == "[\n" {
		out.WriteString("[")
	}
	_, err = out.WriteString("\n]\n")
	return err
}

func finite(v *vector.Vec, row int) bool {
	f := float(v, row)
	return !math.IsNaN(f) && !math.IsInf(f, 0)
}

func float(v *vector.Vec, row int) float64 {
	row = v.At(row)
	if v = v.Values(); v.Kind == vector.F32 {
		return float64(v.F32s[row])
	}
	return v.F64s[row]
}

// printJSONL prints the canonical text of package jsonl, in which answers of
// different readers are compared.
func printJSONL(ctx context.Context, r *session.Result, _ *time.Location, out *bufio.Writer) error {
	names := make([]string, len(r.Columns))
	types := make([]catalog.Type, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
		if c.Stored != nil {
			types[i] = *c.Stored
			continue
		}
		var err error
		if types[i], err = lakeType(c.Type); err != nil {
			return fmt.Errorf("print column %s: %w", c.Name, err)
		}
	}
	out.Write(jsonl.Header("", names, types))
	out.WriteByte('\n')
	var buf []byte
	return eachRow(ctx, r, out, func(b *vector.Batch, row int) error {
		buf = append(buf[:0], '[')
		for i, c := range r.Columns {
			if i > 0 {
				buf = append(buf, ',')
			}
			v := b.Cols[i]
			switch {
			case v.IsNull(row), v.Kind == types[i].Physical():
				buf = jsonl.AppendValue(buf, v, row, types[i])
			case types[i].Kind == catalog.Int:
				buf = expr.AppendText(buf, c.Type, v, row, time.UTC)
			default:
				buf = jsonl.AppendString(buf, expr.AppendText(nil, c.Type, v, row, time.UTC))
			}
		}
		buf = append(buf, "]\n"...)
		_, err := out.Write(buf)
		return err
	})
}

// lakeType is the lake's type for an expression's.
func lakeType(t expr.Type) (catalog.Type, error) {
	var c catalog.Type
	switch t.Class {
	case expr.Bool:
		c = catalog.TBoolean
		if t.Width != 1 {
			c = catalog.TInt
		}
	case expr.Int:
		width := t.Width
		if t.Unsigned {
			width = map[int]int{1: 2, 2: 4, 3: 4, 4: 8, 8: 16}[width]
		}
		c = map[int]catalog.Type{1: catalog.TTinyInt, 2: catalog.TSmallInt, 3: catalog.TInt, 4: catalog.TInt, 8: catalog.TBigInt, 16: catalog.TDecimal(20, 0)}[width]
	case expr.Decimal:
		c = catalog.TDecimal(t.Precision, t.Scale)
	case expr.Float:
		c = catalog.TFloat
	case expr.Double:
		c = catalog.TDouble
	case expr.Bytes:
		c = catalog.TBytes
	case expr.Date:
		c = catalog.TDate
	case expr.DateTime:
		c = catalog.TTimestamp(t.Scale)
	case expr.Timestamp:
		c = catalog.TTimestampLTZ(t.Scale)
	case expr.Time:
		c = catalog.TTime(t.Scale)
	case expr.Year:
		c = catalog.TInt
	case expr.Bit:
		c = catalog.TDecimal(20, 0)
	case expr.Nested:
		return c, errs.Unsupportedf(-1, "nested columns in --format jsonl")
	default:
		c = catalog.TString
		if t.Class == expr.String && t.Length > 0 && t.Length < 1<<24 {
			c = catalog.Type{Kind: catalog.Varchar, Length: t.Length}
		}
	}
	c.NotNull = !t.Nullable
	return c, nil
}
