package files

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// csvRows reads comma-separated values (RFC 4180). An empty field is NULL.
type csvRows struct {
	in    *csv.Reader
	path  string
	null  string
	width int
	vals  []value
	texts []bool // columns of which an empty field is the empty text
}

func csvReader(src io.Reader, o Options) *csv.Reader {
	b := bufio.NewReaderSize(src, bufferBytes/2)
	if mark, err := b.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = b.Discard(3)
	}
	r := csv.NewReader(b)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	if o.Delimiter != 0 {
		r.Comma = o.Delimiter
	}
	return r
}

func newCSV(src io.Reader, path string, o Options, fields []catalog.Field) (*csvRows, error) {
	c := &csvRows{in: csvReader(src, o), path: path, null: o.Null, width: len(fields), vals: make([]value, len(fields))}
	c.texts = make([]bool, len(fields))
	for i, f := range fields {
		c.texts[i] = o.EmptyText && emptyIsValue(f.Type)
	}
	if o.NoHeader {
		return c, nil
	}
	head, err := c.in.Read()
	if err == io.EOF {
		return c, nil // an empty file has no rows
	}
	if err != nil {
		return nil, c.failed(err)
	}
	names := columnNames(head)
	if len(names) != c.width {
		return nil, fault(path, 1, "its header has %d columns, %d are expected", len(names), c.width)
	}
	for i, n := range names {
		if !strings.EqualFold(n, fields[i].Name) {
			return nil, fault(path, 1, "its column %d is named '%s', '%s' is expected", i+1, cut(n), fields[i].Name)
		}
	}
	return c, nil
}

// failed turns an error of the reader into one that names file and line.
func (c *csvRows) failed(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return fault(c.path, p.Line, "%v", p.Err)
	}
	return endOf(err, c.path)
}

func (c *csvRows) next() ([]value, int, error) {
	rec, err := c.in.Read()
	if err == io.EOF {
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, c.failed(err)
	}
	line, _ := c.in.FieldPos(0)
	if len(rec) != c.width {
		return nil, 0, fault(c.path, line, "%d fields, %d are expected", len(rec), c.width)
	}
	for i, s := range rec {
		c.vals[i] = value{text: s, there: s != "" && (c.null == "" || s != c.null) || s == "" && c.texts != nil && c.texts[i]}
	}
	return c.vals, line, nil
}

// emptyIsValue reports whether the empty text is a value of a type.
func emptyIsValue(t catalog.Type) bool {
	switch t.Kind {
	case catalog.Char, catalog.Varchar, catalog.Binary, catalog.Varbinary:
		return true
	}
	return false
}

// columnNames are the names of a header; empty ones get a number.
func columnNames(head []string) []string {
	out := make([]string, len(head))
	for i, h := range head {
		if out[i] = strings.TrimSpace(h); out[i] == "" {
			out[i] = "column" + strconv.Itoa(i)
		}
	}
	return out
}

// sampleCSV finds out the columns of a file.
func sampleCSV(src io.Reader, path string, o Options) ([]string, []kind, error) {
	c := &csvRows{in: csvReader(src, o), path: path, null: o.Null}
	first, err := c.in.Read()
	if err == io.EOF {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, c.failed(err)
	}
	c.width, c.vals = len(first), make([]value, len(first))
	kinds := make([]kind, len(first))
	var names []string
	add := func(vals []value) {
		for i, v := range vals {
			if v.there {
				kinds[i] = both(kinds[i], kindOf(v))
			}
		}
	}
	if o.NoHeader {
		for i, s := range first {
			names = append(names, "column"+strconv.Itoa(i))
			c.vals[i] = value{text: s, there: s != "" && (o.Null == "" || s != o.Null)}
		}
		add(c.vals)
	} else {
		names = columnNames(first)
	}
	for i, n := range names {
		for _, m := range names[:i] {
			if strings.EqualFold(m, n) {
				return nil, nil, errs.Userf(errs.DuplicateColumn, "read %s: two columns are named '%s'; write header => false, or give columns => '…'", path, cut(n))
			}
		}
	}
	for range sampleRows {
		vals, _, err := c.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		add(vals)
	}
	return names, kinds, nil
}
