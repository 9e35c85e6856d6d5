package files

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Folder is a table whose rows are the files in a folder, as tables of Flink's
// 'connector' = 'filesystem' are:
//
//	path/part-<uuid>-0.csv                   without partition columns
//	path/dt=2026-11-30/part-<uuid>-0.csv     the columns of PARTITIONED BY are in
//	                                         the names of folders, not in the files
//
// Files and folders whose names begin with . or _ are none of it. The files have no
// versions: a reader lists them when it begins, a write adds files, and OVERWRITE
// takes away those that were there once its own are complete. Whoever reads between
// sees both, as in Flink.
//
// It is safe for concurrent use.
type Folder struct {
	store   *Store
	id      catalog.Identifier
	root    string
	options Options
	codec   string // of Parquet
	schema  *catalog.Schema
	// parts are the positions of the partition columns, data those of all others.
	parts, data []int
	nullPart    string // the folder of NULL
}

var (
	_ connector.Readable = (*Folder)(nil)
	_ connector.Writable = (*Folder)(nil)
	_ connector.Located  = (*Folder)(nil)
)

// folderFormats are the formats that folders are read and written in.
var folderFormats = []string{"csv", "json", "parquet"}

// Folder makes a table of the schema's columns and options: path, format,
// partition.default-name, and those of the format.
func (s *Store) Folder(id catalog.Identifier, schema *catalog.Schema) (*Folder, error) {
	f := &Folder{store: s, id: id, schema: schema, nullPart: "__DEFAULT_PARTITION__"}
	refuse := func(text string, args ...any) error {
		return errs.Userf(errs.InvalidTable, "create table %s: "+text, append([]any{id}, args...)...)
	}
	if len(schema.PrimaryKeys) > 0 {
		return nil, refuse("files have no primary key")
	}
	f.options.Loose, f.options.NoHeader, f.options.EmptyText = true, true, true
	for k, v := range schema.Options {
		switch k {
		case "connector":
		case "path":
			f.root = strings.TrimRight(v, "/")
		case "format":
			f.options.Format = strings.ToLower(v)
		case "partition.default-name":
			f.nullPart = v
		case "csv.field-delimiter":
			if v == `\t` {
				v = "\t"
			}
			r := []rune(v)
			if len(r) != 1 || strings.ContainsRune("\"\n\r", r[0]) {
				return nil, refuse("'csv.field-delimiter' is one character that is no quote and no line break")
			}
			f.options.Delimiter = r[0]
		case "csv.null-literal":
			if strings.ContainsAny(v, "\"\r\n") || v == "" {
				return nil, refuse("'csv.null-literal' is a text without quotes and line breaks")
			}
			f.options.Null = v
		case "parquet.compression":
			f.codec = strings.ToLower(v)
		default:
			return nil, errs.Unsupportedf(-1, "the option '%s' of tables with 'connector' = 'filesystem'", k)
		}
	}
	switch {
	case f.root == "":
		return nil, refuse("'path' is missing")
	case strings.ContainsAny(f.root, "*?["):
		return nil, refuse("its path is a folder and has no wildcards")
	case f.options.Format == "":
		return nil, refuse("'format' is missing")
	case !slices.Contains(folderFormats, f.options.Format):
		return nil, errs.Unsupportedf(-1, "'format' = '%s' of tables with 'connector' = 'filesystem'", f.options.Format)
	}
	for k := range schema.Options {
		if p, _, ok := strings.Cut(k, "."); ok && slices.Contains(folderFormats, p) && p != f.options.Format {
			return nil, refuse("the option '%s' is not one of 'format' = '%s'", k, f.options.Format)
		}
	}
	for i, c := range schema.Fields {
		part := slices.Contains(schema.PartitionKeys, c.Name)
		if part {
			f.parts = append(f.parts, i)
		} else {
			f.data = append(f.data, i)
		}
		if (part || f.options.Format != "parquet") && storing(c.Type) == nil {
			return nil, errs.Unsupportedf(-1, "columns of type %s in text files and names of folders", c.Type)
		}
	}
	// The folders come in the order of PARTITIONED BY.
	slices.SortFunc(f.parts, func(a, b int) int {
		return slices.Index(schema.PartitionKeys, schema.Fields[a].Name) - slices.Index(schema.PartitionKeys, schema.Fields[b].Name)
	})
	if len(f.data) == 0 {
		return nil, refuse("all of its columns are partition columns")
	}
	return f, nil
}

// ID implements catalog.Table.
func (f *Folder) ID() catalog.Identifier { return f.id }

// Schema implements catalog.Table.
func (f *Folder) Schema() *catalog.Schema { return f.schema }

// UUID implements catalog.Table.
func (f *Folder) UUID() string { return "" }

// Location implements connector.Located.
func (f *Folder) Location() string { return f.root }

// piece is the files of one partition, the only one of a table without partition
// columns.
type piece struct {
	values []*vector.Vec // of the partition columns: one row each
	files  []file
}

// pieces lists the files.
func (f *Folder) pieces(ctx context.Context) ([]piece, error) {
	var out []piece
	n := 0
	var walk func(dir string, values []*vector.Vec) error
	walk = func(dir string, values []*vector.Vec) error {
		list, err := f.store.Files.List(ctx, dir)
		if err != nil {
			return err
		}
		p := piece{values: slices.Clone(values)}
		for _, x := range list {
			switch {
			case hidden(x.Name) && (len(values) == len(f.parts) || !strings.HasPrefix(x.Name, f.schema.PartitionKeys[len(values)]+"=")):
			case len(values) == len(f.parts) && x.Dir:
				return errs.Userf(errs.InvalidTable, "read table %s: %s/%s is a folder where files are expected", f.id, dir, x.Name)
			case len(values) == len(f.parts):
				p.files = append(p.files, file{dir + "/" + x.Name, x.Size})
			case !x.Dir:
				return errs.Userf(errs.InvalidTable, "read table %s: %s/%s lies outside of all partitions", f.id, dir, x.Name)
			default:
				v, err := f.partitionOf(len(values), dir, x.Name)
				if err != nil {
					return err
				}
				if err := walk(dir+"/"+x.Name, append(values, v)); err != nil {
					return err
				}
			}
		}
		if n += len(p.files); n > maxFiles {
			return errs.New(errs.Resource, errs.KindNone, "read table %s: there are more than %d files", f.id, maxFiles)
		}
		if len(p.files) > 0 {
			out = append(out, p)
		}
		return nil
	}
	return out, walk(f.root, nil)
}

// partitionOf reads the name of a partition's folder.
func (f *Folder) partitionOf(depth int, dir, name string) (*vector.Vec, error) {
	c := f.schema.Fields[f.parts[depth]]
	column, text, ok := strings.Cut(name, "=")
	if !ok || column != c.Name {
		return nil, errs.Userf(errs.InvalidTable, "read table %s: the folder %s/%s does not name a value of column %s", f.id, dir, name, c.Name)
	}
	v := vector.New(c.Type.Physical(), 1)
	if text == f.nullPart {
		v.AppendNull()
		return v, nil
	}
	text, err := url.PathUnescape(text)
	why := " "
	if err == nil {
		why = storing(c.Type)(v, value{text: text, there: true, quoted: true})
	}
	if why != "" {
		return nil, errs.Userf(errs.TruncatedValue, "read table %s: the folder %s/%s names no %s%s", f.id, dir, name, c.Type, strings.TrimSpace(why))
	}
	return v, nil
}

// Snapshot implements connector.Readable. A folder that is not there is an error.
func (f *Folder) Snapshot(ctx context.Context, ref catalog.Ref) (connector.Snapshot, error) {
	if ref.Kind != catalog.Latest {
		return nil, errs.Userf(errs.UnknownSnapshot, "read table %s: files have no versions", f.id)
	}
	pieces, err := f.pieces(ctx)
	if err != nil {
		return nil, err
	}
	if len(pieces) == 0 {
		// A mistyped path must not read as a table without rows.
		if _, err := f.store.Files.Stat(ctx, f.root); errs.Is(err, errs.FileNotFound) {
			return nil, errs.Userf(errs.FileNotFound, "read table %s: there is nothing at its 'path' %s; the first INSERT makes it", f.id, f.root)
		} else if err != nil {
			return nil, err
		}
	}
	return &folderSnapshot{f, pieces}, nil
}

type folderSnapshot struct {
	f      *Folder
	pieces []piece
}

// Version implements connector.Snapshot.
func (s *folderSnapshot) Version() int64 { return 1 }

// Schema implements connector.Snapshot.
func (s *folderSnapshot) Schema() *catalog.Schema { return s.f.schema }

// RowCount implements connector.Snapshot.
func (s *folderSnapshot) RowCount(context.Context) (int64, bool, error) { return -1, false, nil }

// Plan implements connector.Snapshot: partitions that cannot match are left out,
// the files of the others are read as those of a Table.
func (s *folderSnapshot) Plan(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	out := &connector.Plan{}
	inner := req
	inner.Columns = nil
	inner.Filter = nil
	if len(s.f.parts) == 0 {
		inner.Filter = req.Filter
	}
	for _, c := range req.Columns {
		if i := slices.Index(s.f.data, c); i >= 0 {
			inner.Columns = append(inner.Columns, i)
		}
	}
	schema := &catalog.Schema{Options: map[string]string{}}
	for _, i := range s.f.data {
		c := s.f.schema.Fields[i]
		c.Type = c.Type.Nullable()
		schema.Fields = append(schema.Fields, c)
	}
	for _, p := range s.pieces {
		bounds := func(column int) connector.Bounds {
			i := slices.Index(s.f.parts, column)
			if i < 0 {
				return connector.Bounds{Nulls: -1, Rows: -1}
			}
			b := connector.Bounds{Min: p.values[i], Max: p.values[i], Rows: 1}
			if p.values[i].IsNull(0) {
				b.Nulls = 1
			}
			return b
		}
		if !req.NoPruning && !req.Filter.MayMatch(bounds) {
			out.PrunedFiles += len(p.files)
			continue
		}
		t := &Table{store: s.f.store, id: s.f.id, files: p.files, options: s.f.options, schema: schema}
		got, err := snapshot{t}.Plan(ctx, inner)
		if err != nil {
			return nil, err
		}
		out.Files += got.Files
		out.Bytes += got.Bytes
		for _, x := range got.Splits {
			out.Splits = append(out.Splits, &folderSplit{Split: x, f: s.f, values: p.values, columns: req.Columns})
		}
	}
	return out, nil
}

// folderSplit puts the values of the partition beside the columns of its files, and
// checks what the definition says of NULLs.
type folderSplit struct {
	connector.Split
	f       *Folder
	values  []*vector.Vec
	columns []int
}

// Open implements connector.Split.
func (s *folderSplit) Open(ctx context.Context) (connector.BatchReader, error) {
	in, err := s.Split.Open(ctx)
	if err != nil {
		return nil, err
	}
	r := &folderReader{in: in, s: s, out: vector.Batch{Cols: make([]*vector.Vec, len(s.columns))}}
	for _, v := range s.values {
		mine := *v // its length is that of the reader's batch
		r.values = append(r.values, &mine)
	}
	return r, nil
}

type folderReader struct {
	in  connector.BatchReader
	s   *folderSplit
	out vector.Batch
	// values of the partition columns
	values []*vector.Vec
}

// Next implements connector.BatchReader.
func (r *folderReader) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.in.Next(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	r.out.Len, r.out.Sel, r.out.Seq, r.out.Kinds = b.Len, b.Sel, b.Seq, b.Kinds
	k := 0
	for i, c := range r.s.columns {
		col := r.s.f.schema.Fields[c]
		if p := slices.Index(r.s.f.parts, c); p >= 0 {
			r.out.Cols[i] = r.values[p].AsConst(b.Len)
		} else {
			r.out.Cols[i] = b.Cols[k]
			k++
		}
		if col.Type.NotNull && r.out.Cols[i].NullCount() > 0 {
			return nil, errs.Userf(errs.NotNull, "read table %s: a row has no value in column %s, which is NOT NULL", r.s.f.id, col.Name)
		}
	}
	return &r.out, nil
}

// Close implements connector.BatchReader.
func (r *folderReader) Close() error { return r.in.Close() }

// Declared keeps the definitions of folders beside the tables of another catalog:
// tables that are made with 'connector' = 'filesystem' are theirs. Dropping one
// leaves its files.
type Declared struct {
	catalog.Writable
	store  *Store
	tables map[catalog.Identifier]*Folder
}

// NewDeclared is for one session: it is not safe for concurrent use.
func NewDeclared(others catalog.Writable, s *Store) *Declared {
	return &Declared{Writable: others, store: s, tables: map[catalog.Identifier]*Folder{}}
}

func key(id catalog.Identifier) catalog.Identifier {
	return catalog.Identifier{Database: id.Database, Table: id.Table}
}

// Tables implements catalog.Catalog.
func (d *Declared) Tables(ctx context.Context, database string) ([]string, error) {
	out, err := d.Writable.Tables(ctx, database)
	for id := range d.tables {
		if id.Database == database {
			out = append(out, id.Table)
		}
	}
	slices.Sort(out)
	return out, err
}

// Table implements catalog.Catalog.
func (d *Declared) Table(ctx context.Context, id catalog.Identifier) (catalog.Table, error) {
	if f := d.tables[key(id)]; f != nil {
		if id.System != "" || id.Branch != "" {
			return nil, errs.Userf(errs.UnknownTable, "Table '%s' doesn't exist: files have no system tables and branches", id)
		}
		return f, nil
	}
	return d.Writable.Table(ctx, id)
}

// CreateTable implements catalog.Writable.
func (d *Declared) CreateTable(ctx context.Context, id catalog.Identifier, s *catalog.Schema, ifNotExists bool) (catalog.Table, error) {
	if f := d.tables[key(id)]; f != nil {
		if ifNotExists {
			return f, nil
		}
		return nil, errs.Userf(errs.TableExists, "Table '%s' already exists", id.Table)
	}
	if s.Options["connector"] != Connector {
		return d.Writable.CreateTable(ctx, id, s, ifNotExists)
	}
	if t, err := d.Writable.Table(ctx, id); err == nil {
		if ifNotExists {
			return t, nil
		}
		return nil, errs.Userf(errs.TableExists, "Table '%s' already exists", id.Table)
	}
	f, err := d.store.Folder(id, s)
	if err != nil {
		return nil, err
	}
	d.tables[key(id)] = f
	return f, nil
}

// Connector is the value of the option connector that makes a table a Folder.
const Connector = "filesystem"

// DropTable implements catalog.Writable.
func (d *Declared) DropTable(ctx context.Context, id catalog.Identifier) error {
	if d.tables[key(id)] != nil {
		delete(d.tables, key(id))
		return nil
	}
	return d.Writable.DropTable(ctx, id)
}
