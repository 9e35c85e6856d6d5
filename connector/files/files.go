// Package files reads plain files as tables: Parquet, ORC and Avro by the schema
// that they carry, CSV and JSON by columns that are given or found out from their
// first rows.
//
// Rules for CSV and JSON. The first file's first 10,000 rows decide a column's
// type: BIGINT for whole numbers (DECIMAL(38, 0) beyond 64 bits), DOUBLE for other
// numbers, BOOLEAN for true and false, DATE for 2026-01-31, TIMESTAMP(6) for dates
// with a time, STRING for all else, for numbers with leading zeros and for columns
// without values. Objects and arrays in JSON are STRING with their text, which JSON
// functions read. A later value that does not
// fit its column, a row with another number of fields and text that is not UTF-8
// are errors that name file and line; nothing is skipped or adjusted.
//
// A Table is what the files were when it was opened: the list of files is taken
// once. A Folder is a table that is written as well. Start reading at Store.Table and
// Store.Folder.
package files

import (
	"context"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
)

// Store opens files as tables. It is safe for concurrent use.
type Store struct {
	Files   fileio.FileIO
	Formats *format.Registry
}

// Options of a table, all but Format optional.
type Options struct {
	Format string // parquet, orc, avro, csv or json
	// Columns are the columns of CSV and JSON; nil finds them out.
	Columns []catalog.Field
	// Of CSV.
	NoHeader  bool
	Delimiter rune   // 0 is ','
	Null      string // a field that is NULL, beside the empty one
	// Text makes all columns that are found out STRING.
	Text bool
	// EmptyText says that an empty field of a STRING or BYTES column is the empty
	// value, and NULL only in others.
	EmptyText bool
	// Loose passes over members of JSON objects that are no columns.
	Loose bool
}

// ParseOptions reads the named arguments of a table function.
func ParseOptions(formatName string, args map[string]string) (Options, error) {
	o := Options{Format: formatName}
	for k, v := range args {
		text := formatName == "csv" || formatName == "json"
		flag := func() (bool, error) {
			switch strings.ToLower(v) {
			case "true", "1":
				return true, nil
			case "false", "0":
				return false, nil
			}
			return false, errs.Userf(errs.WrongArguments, "read the option %s: '%s' is neither true nor false", k, v)
		}
		var err error
		switch {
		case k == "columns" && text:
			o.Columns, err = parseColumns(v)
		case k == "all_varchar" && text:
			o.Text, err = flag()
		case k == "header" && formatName == "csv":
			o.NoHeader, err = flag()
			o.NoHeader = !o.NoHeader
		case (k == "delimiter" || k == "sep") && formatName == "csv":
			if v == "\\t" {
				v = "\t"
			}
			r := []rune(v)
			if len(r) != 1 || r[0] == '"' || r[0] == '\n' || r[0] == '\r' {
				return o, errs.Userf(errs.WrongArguments, "read the option %s: it is one character that is no quote and no line break", k)
			}
			o.Delimiter = r[0]
		case k == "nullstr" && formatName == "csv":
			o.Null = v
		default:
			return o, errs.Userf(errs.WrongArguments, "read_%s has no option '%s'", formatName, k)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// parseColumns reads "a INT, b DECIMAL(10, 2)".
func parseColumns(s string) ([]catalog.Field, error) {
	var out []catalog.Field
	depth, start := 0, 0
	add := func(part string) error {
		part = strings.TrimSpace(part)
		name, typ, ok := strings.Cut(part, " ")
		if strings.HasPrefix(part, "`") {
			name, typ, ok = strings.Cut(part[1:], "`")
		}
		if !ok || name == "" {
			return errs.Userf(errs.WrongArguments, "read the option columns: '%s' is no name with a type", part)
		}
		t, err := catalog.ParseType(typ)
		if err != nil {
			return err
		}
		for _, f := range out {
			if f.Name == name {
				return errs.Userf(errs.DuplicateColumn, "Duplicate column name '%s'", name)
			}
		}
		out = append(out, catalog.Field{ID: len(out), Name: name, Type: t.Nullable()})
		return nil
	}
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				if err := add(s[start:i]); err != nil {
					return nil, err
				}
				start = i + 1
			}
		}
	}
	return out, add(s[start:])
}

// file is one file of a table.
type file struct {
	path string
	size int64
}

// FileTable opens the files that a pattern names, with the options of a table
// function, as plan.FileTables says.
func (s *Store) FileTable(ctx context.Context, formatName, pattern string, options map[string]string) (connector.Readable, error) {
	o, err := ParseOptions(formatName, options)
	if err != nil {
		return nil, err
	}
	return s.Table(ctx, pattern, pattern, o)
}

// Create starts a file that must not exist yet.
func (s *Store) Create(ctx context.Context, name string) (fileio.Writer, error) {
	_, err := s.Files.Stat(ctx, name)
	switch {
	case err == nil:
		return nil, errs.Userf(errs.FileExists, "File '%s' already exists", name)
	case !errs.Is(err, errs.FileNotFound):
		return nil, err
	}
	return s.Files.Create(ctx, name)
}

// Table opens the files that a path names, which may have the wildcards *, ? and
// [a-z] in its elements and ** for any folders; a folder stands for the files in
// it. A path that names no file is an error.
func (s *Store) Table(ctx context.Context, name, pattern string, o Options) (connector.Readable, error) {
	list, err := s.expand(ctx, pattern)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errs.Userf(errs.FileNotFound, "read %s: there is no such file", pattern)
	}
	t := &Table{store: s, id: catalog.Identifier{Table: name}, files: list, options: o, schema: &catalog.Schema{Options: map[string]string{}}}
	switch o.Format {
	case "csv", "json":
		if err := checkTypes(o.Columns); err != nil {
			return nil, err
		}
		if t.schema.Fields = o.Columns; o.Columns == nil {
			err = t.sniff(ctx)
		}
	default:
		err = t.describe(ctx)
	}
	if err != nil {
		return nil, err
	}
	for i := range t.schema.Fields {
		t.schema.Fields[i].ID, t.schema.HighestFieldID = i, i
	}
	return t, nil
}

// describe takes the schema of the first file.
func (t *Table) describe(ctx context.Context) error {
	f, err := t.store.Formats.ByName(t.options.Format)
	if err != nil {
		return err
	}
	in, err := t.store.Files.Open(ctx, t.files[0].path)
	if err != nil {
		return err
	}
	d, err := f.Describe(ctx, in, t.files[0].path)
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	for _, c := range d.Columns {
		t.schema.Fields = append(t.schema.Fields, catalog.Field{Name: c.Name, Type: c.Type.Nullable()})
	}
	return nil
}

// expand returns the files that a pattern names, by name.
func (s *Store) expand(ctx context.Context, pattern string) ([]file, error) {
	i := strings.IndexAny(pattern, "*?[")
	if i < 0 {
		st, err := s.Files.Stat(ctx, pattern)
		switch {
		case err == nil && !st.Dir:
			return []file{{pattern, st.Size}}, nil
		case err != nil && !errs.Is(err, errs.FileNotFound):
			return nil, err
		}
		return s.below(ctx, strings.TrimRight(pattern, "/"), []string{"*"})
	}
	cut := strings.LastIndexByte(pattern[:i], '/')
	dir, rest := ".", pattern
	if cut >= 0 {
		dir, rest = pattern[:cut], pattern[cut+1:]
	}
	if dir == "" {
		dir = "/"
	}
	for _, e := range strings.Split(rest, "/") {
		if _, err := path.Match(e, ""); err != nil {
			return nil, errs.Userf(errs.WrongArguments, "read %s: '%s' is no pattern", pattern, e)
		}
	}
	out, err := s.below(ctx, dir, strings.Split(rest, "/"))
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out, err
}

// maxFiles bounds what a pattern may name.
const maxFiles = 1_000_000

// below returns the files below dir whose elements match.
func (s *Store) below(ctx context.Context, dir string, elements []string) ([]file, error) {
	list, err := s.Files.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	var out []file
	visit := func(more []file, err error) error {
		if out = append(out, more...); err == nil && len(out) > maxFiles {
			err = errs.New(errs.Resource, errs.KindNone, "read %s: there are more than %d files", dir, maxFiles)
		}
		return err
	}
	for _, x := range list {
		if hidden(x.Name) {
			continue
		}
		at := dir + "/" + x.Name
		switch dir {
		case "/":
			at = "/" + x.Name
		case ".":
			at = x.Name
		}
		if elements[0] == "**" {
			if x.Dir {
				if err := visit(s.below(ctx, at, elements)); err != nil {
					return nil, err
				}
				continue
			}
			if len(elements) == 1 {
				out = append(out, file{at, x.Size})
				continue
			}
			if ok, _ := path.Match(elements[1], x.Name); ok && len(elements) == 2 {
				out = append(out, file{at, x.Size})
			}
			continue
		}
		ok, _ := path.Match(elements[0], x.Name)
		switch {
		case !ok || x.Dir != (len(elements) > 1):
		case x.Dir:
			if err := visit(s.below(ctx, at, elements[1:])); err != nil {
				return nil, err
			}
		default:
			out = append(out, file{at, x.Size})
		}
	}
	return out, nil
}

// hidden says that a name is one of a file that is being written, or of a marker such
// as _SUCCESS.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// fault is the error of a row that does not fit.
func fault(file string, line int, text string, args ...any) error {
	return errs.Userf(errs.TruncatedValue, "read %s, line %d: %s", file, line, fmt.Sprintf(text, args...))
}
