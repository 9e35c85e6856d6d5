package read

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/fileindex"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Files are left out, and rows of them, by the indexes that writers made of them
// (package fileindex). An index says of a column what the file's statistics say,
// only better, so it is asked under the same rules: all of a filter where no row
// of the file hides one of another, its keys' part elsewhere; in the types that
// the file was written with, and only where those read as the table's.

// indexed reports whether rows of the file at hand may satisfy the filter by the
// index in its manifest entry.
func (j *judge) indexed(r spec.Ref) (bool, error) {
	e := j.l.entry(r)
	filter, cols := j.sc.fileFilter(e, fileOptions{filter: j.p.filter})
	if filter == nil || !j.sc.indexes() {
		return true, nil
	}
	rows, err := j.sc.match(bytes.NewReader(e.File.EmbeddedIndex), int64(len(e.File.EmbeddedIndex)), e, filter, cols)
	if err != nil {
		return false, j.sc.st.src.vanished(j.sc.st.snap, "manifest", fmt.Errorf("the index of the file %s: %w", e.File.FileName, err))
	}
	return !rows.None(), nil
}

// indexes reports whether the table lets readers use file indexes.
func (sc *scan) indexes() bool {
	return spec.NewOptions(sc.st.schema.Options).Bool("file-index.read.enabled", true)
}

func (sc *scan) match(r io.ReaderAt, size int64, e *spec.ManifestEntry, filter *connector.Predicate, cols []format.Column) (fileindex.Rows, error) {
	f, err := fileindex.Open(r, size, e.File.RowCount)
	if err != nil {
		return fileindex.Rows{}, err
	}
	return f.Match(filter, sc.req.Budget, func(c int) (fileindex.Column, bool) {
		return fileindex.Column{Name: cols[c].Name, Type: cols[c].Type}, true
	})
}

// indexedRows returns the rows of a file that may satisfy a filter in the file's
// own columns, by the index in its manifest entry or beside it.
func (sc *scan) indexedRows(ctx context.Context, e *spec.ManifestEntry, filter *connector.Predicate, cols []format.Column) (fileindex.Rows, error) {
	if filter == nil || !sc.indexes() {
		return fileindex.Rows{}, nil
	}
	if b := e.File.EmbeddedIndex; b != nil {
		rows, err := sc.match(bytes.NewReader(b), int64(len(b)), e, filter, cols)
		if err != nil {
			err = sc.st.src.vanished(sc.st.snap, "manifest", fmt.Errorf("the index of the file %s: %w", e.File.FileName, err))
		}
		return rows, err
	}
	if len(e.File.ExtraFiles) == 0 || !sc.indexesOne(e.File.SchemaID, cols) {
		return fileindex.Rows{}, nil
	}
	extra, err := sc.paths.ExtraFiles(e)
	if err != nil {
		return fileindex.Rows{}, sc.st.src.vanished(sc.st.snap, e.File.FileName, err)
	}
	for _, path := range extra {
		if !strings.HasSuffix(path, ".index") {
			continue
		}
		path = LocalPath(path)
		rows, err := sc.matchFile(ctx, path, e, filter, cols)
		if err != nil {
			if c := errs.ClassOf(err); c == errs.Corruption || c == errs.Unsupported {
				err = fmt.Errorf("%s: %w", path, err)
			}
			return rows, sc.st.src.vanished(sc.st.snap, path, err)
		}
		return rows, nil
	}
	return fileindex.Rows{}, nil
}

func (sc *scan) matchFile(ctx context.Context, path string, e *spec.ManifestEntry, filter *connector.Predicate, cols []format.Column) (fileindex.Rows, error) {
	f, err := sc.st.src.Files.Open(ctx, path)
	if err != nil {
		return fileindex.Rows{}, err
	}
	defer f.Close()
	return sc.match(f, f.Size(), e, filter, cols)
}

// indexesOne reports whether one of the columns may have an index in the files
// of a schema, by its options; files of a schema that names no columns were
// indexed by options of their writer alone.
func (sc *scan) indexesOne(schema int64, cols []format.Column) bool {
	s := sc.schemas[schema]
	if s == nil {
		return true
	}
	named := false
	for k, list := range s.Options {
		if !strings.HasPrefix(k, "file-index.") || !strings.HasSuffix(k, ".columns") {
			continue
		}
		named = true
		for _, n := range strings.Split(list, ",") {
			n = strings.TrimSpace(n)
			for _, c := range cols {
				if c.Name == n {
					return true
				}
			}
		}
	}
	return !named
}
