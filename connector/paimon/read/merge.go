package read

import (
	"context"

	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// mergeReader merges the runs of a section.
type mergeReader struct {
	m    *merge.Merger
	runs []*runReader
}

// orderedRows is up to how many rows a section is read in the order of its keys.
// SQL asks for no order; in small tables one is pleasant, in large ones it costs
// a copy.
var orderedRows int64 = 1 << 16

func newMergeReader(sc *scan, s *section) (*mergeReader, error) {
	r := &mergeReader{}
	var runs []merge.Run
	for _, files := range s.runs {
		run := &runReader{sc: sc, files: files}
		r.runs = append(r.runs, run)
		runs = append(runs, run)
	}
	var err error
	r.m, err = merge.New(merge.Config{Rules: sc.rules, Columns: sc.mergeCols, Out: len(sc.req.Columns), BatchRows: sc.req.BatchRows,
		KeepDeletes: sc.st.keepDeletes, Unordered: s.rows > orderedRows && !sc.ordered, Budget: sc.req.Budget}, runs)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Next implements connector.BatchReader.
func (r *mergeReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.m == nil {
		return nil, nil
	}
	rows, err := r.m.Next(ctx)
	if err != nil || rows == nil {
		return nil, err
	}
	return rows.Batch, nil
}

// Close implements connector.BatchReader.
func (r *mergeReader) Close() error {
	if r.m != nil {
		r.m.Close()
		r.m = nil
	}
	var files []*fileReader
	for _, run := range r.runs {
		files = append(files, run.cur)
		run.cur, run.files = nil, nil
	}
	return closeAll(files)
}

// runReader reads the files of a run, one after the other.
type runReader struct {
	sc    *scan
	files []*spec.ManifestEntry // still to open
	cur   *fileReader
	batch vector.Batch
	kinds []vector.RowKind
	rows  merge.Rows
}

// Next implements merge.Run.
func (r *runReader) Next(ctx context.Context) (*merge.Rows, error) {
	for {
		if r.cur == nil {
			if len(r.files) == 0 {
				return nil, nil
			}
			e := r.files[0]
			r.files = r.files[1:]
			f, err := r.sc.openFile(ctx, e, fileOptions{
				merge: true, kinds: merge.HoldsDeletions(e) || r.sc.st.keepDeletes,
				filter: r.sc.filter, keysOnly: true,
			})
			if err != nil {
				return nil, err
			}
			r.cur = f
		}
		b, err := r.cur.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			err := r.cur.Close()
			r.cur = nil
			if err != nil {
				return nil, err
			}
			continue
		}
		n := len(r.cur.layout.cols)
		r.batch = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: b.Seq, Cols: b.Cols[:n:n]}
		if r.cur.opts.kinds {
			r.kinds = r.kinds[:0]
			other := vector.Insert
			for _, k := range b.Cols[n+1].I32s[:b.Len] {
				r.kinds = append(r.kinds, vector.RowKind(k))
				other |= vector.RowKind(k)
			}
			if other != vector.Insert {
				r.batch.Kinds = r.kinds
			}
		}
		r.rows = merge.Rows{Batch: &r.batch, Seqs: b.Cols[n].I64s, Level: r.cur.e.File.Level, File: r.cur.path}
		return &r.rows, nil
	}
}
