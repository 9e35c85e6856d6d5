package write

import (
	"context"
	"sort"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/fileindex"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// indexSpec is a file index that the table asks for.
type indexSpec struct {
	column int
	kind   string
	option func(name string) string
}

// readIndexes reads 'file-index.<kind>.columns' and refuses what cannot be built.
func readIndexes(s *catalog.Schema, o *spec.Options) (list []indexSpec, threshold int64, err error) {
	for key, v := range s.Options {
		rest, ok := strings.CutPrefix(key, "file-index.")
		kind, columns := strings.CutSuffix(rest, ".columns")
		if !ok || !columns || strings.Contains(kind, ".") {
			continue
		}
		for _, name := range strings.Split(v, ",") {
			name = strings.TrimSpace(name)
			if name == "" {
				continue
			}
			c := s.Column(name)
			if c < 0 && strings.Contains(name, "[") {
				return nil, 0, errs.Unsupportedf(-1, "writing file indexes of map keys (%s of %s)", name, key)
			}
			if c < 0 {
				return nil, 0, errs.Userf(errs.InvalidTable, "write a table: %q names the column %q, which does not exist", key, name)
			}
			x := indexSpec{column: c, kind: kind, option: func(option string) string {
				return s.Options["file-index."+kind+"."+name+"."+option]
			}}
			if _, err := fileindex.NewBuilder(kind, s.Fields[c].Type, x.option); err != nil {
				return nil, 0, err
			}
			list = append(list, x)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].column != list[j].column {
			return list[i].column < list[j].column
		}
		return list[i].kind < list[j].kind
	})
	return list, o.Size("file-index.in-manifest-threshold", 500), o.Err
}

// fileIndexes builds the indexes of one data file.
type fileIndexes struct {
	w        *Writer
	builders []fileindex.Builder
	held     int64
}

// newIndexes starts the indexes of a file; nil when the table has none.
func (w *Writer) newIndexes(sh *shape) (*fileIndexes, error) {
	if len(w.opts.indexes) == 0 || sh.changelog || sh.prefix != "" {
		return nil, nil
	}
	x := &fileIndexes{w: w}
	for _, s := range w.opts.indexes {
		b, err := fileindex.NewBuilder(s.kind, w.types[s.column], s.option)
		if err != nil {
			return nil, err
		}
		x.builders = append(x.builders, b)
	}
	return x, nil
}

// add adds rows; cols are the table's columns. It reports whether there is no
// memory for more, so that the file should end.
func (x *fileIndexes) add(cols []*vector.Vec, n int) (full bool) {
	if x == nil {
		return false
	}
	var bytes int64
	for i, s := range x.w.opts.indexes {
		x.builders[i].Add(cols[s.column], 0, n)
		bytes += x.builders[i].Bytes()
	}
	if bytes > x.held {
		if x.w.cfg.Budget.Reserve(bytes-x.held) != nil {
			return true
		}
		x.held = bytes
	}
	return false
}

// release gives the memory back.
func (x *fileIndexes) release() {
	if x != nil {
		x.w.cfg.Budget.Release(x.held)
		x.held = 0
	}
}

// finish puts the indexes into the file's metadata, or beside the file when they
// are large.
func (x *fileIndexes) finish(ctx context.Context, path string, m *spec.DataFileMeta) error {
	if x == nil {
		return nil
	}
	defer x.release()
	var list []fileindex.Entry
	for i, s := range x.w.opts.indexes {
		if body := x.builders[i].Finish(); body != nil {
			list = append(list, fileindex.Entry{Column: x.w.cfg.Schema.Fields[s.column].Name, Kind: s.kind, Body: body})
		}
	}
	if len(list) == 0 {
		return nil
	}
	b, err := fileindex.Append(nil, list)
	if err != nil {
		return err
	}
	if int64(len(b)) <= x.w.opts.indexThreshold {
		m.EmbeddedIndex = b
		return nil
	}
	name := m.FileName + ".index"
	f, err := x.w.cfg.Files.Create(ctx, path+".index")
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		f.Abort() //nolint:errcheck // the first error counts
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	m.ExtraFiles = append(m.ExtraFiles, name)
	return nil
}
