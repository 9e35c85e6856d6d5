package read

import (
	"cmp"
	"context"
	"slices"

	"github.com/thermocline/thermocline/connector"
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
	ordered, ranked := byAge(s.runs)
	cfg := merge.Config{Rules: sc.rules, Columns: sc.mergeCols, Out: len(sc.req.Columns), BatchRows: sc.req.BatchRows,
		KeepDeletes: sc.st.keepDeletes, Unordered: s.rows > orderedRows && !sc.ordered, Ranked: ranked, Budget: sc.req.Budget}
	filter := sc.restrict(&cfg, s)
	for _, files := range ordered {
		run := &runReader{sc: sc, files: files, ranked: ranked, filter: filter}
		r.runs = append(r.runs, run)
		runs = append(runs, run)
	}
	var err error
	r.m, err = merge.New(cfg, runs)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// byAge sorts runs from the newest to the oldest by the sequence numbers that the
// manifests give for their files. ranked is false, and the runs are as they were,
// when those of two runs overlap: then the rows' own decide.
func byAge(runs [][]*spec.ManifestEntry) (out [][]*spec.ManifestEntry, ranked bool) {
	type span struct {
		files    []*spec.ManifestEntry
		min, max int64
	}
	list := make([]span, len(runs))
	for i, files := range runs {
		s := span{files, files[0].File.MinSequence, files[0].File.MaxSequence}
		for _, f := range files {
			if f.File.MinSequence > f.File.MaxSequence {
				return runs, false
			}
			s.min, s.max = min(s.min, f.File.MinSequence), max(s.max, f.File.MaxSequence)
		}
		list[i] = s
	}
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Compare(b.max, a.max) })
	for i, s := range list {
		if i > 0 && list[i-1].min <= s.max {
			return runs, false
		}
		out = append(out, s.files)
	}
	return out, true
}

// Narrow implements connector.Narrowing.
func (r *mergeReader) Narrow(d *connector.Dynamic) {
	for _, run := range r.runs {
		run.dynamic = inOrder(d)
	}
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
	sc      *scan
	files   []*spec.ManifestEntry // still to open
	ranked  bool                  // sequence numbers are not needed
	filter  *connector.Predicate
	dynamic *connector.Dynamic // nil: there is none
	cur     *fileReader
	batch   vector.Batch
	kinds   []vector.RowKind
	rows    merge.Rows
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
			if r.sc.beyond(e, r.dynamic, true) {
				r.sc.lateFile()
				continue
			}
			f, err := r.sc.openFile(ctx, e, fileOptions{
				merge: true, seqs: !r.ranked, kinds: merge.HoldsDeletions(e) || r.sc.st.keepDeletes,
				filter: r.filter, keysOnly: true, dynamic: r.dynamic,
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
		system := b.Cols[n:]
		r.rows = merge.Rows{Batch: &r.batch, Level: r.cur.e.File.Level, File: r.cur.path}
		if !r.ranked {
			r.rows.Seqs, system = system[0].I64s, system[1:]
		}
		if r.cur.opts.kinds {
			r.kinds = r.kinds[:0]
			other := vector.Insert
			for _, k := range system[0].I32s[:b.Len] {
				r.kinds = append(r.kinds, vector.RowKind(k))
				other |= vector.RowKind(k)
			}
			if other != vector.Insert {
				r.batch.Kinds = r.kinds
			}
		}
		return &r.rows, nil
	}
}
