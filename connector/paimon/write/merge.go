package write

import (
	"context"
	"fmt"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Positions of the system columns in the batches of a run's files; the table's
// columns follow.
const (
	runSeq = iota
	runKind
	runHead
)

// run reads one sorted run: files whose key ranges ascend, each sorted, one row a
// key. It implements merge.Run.
type run struct {
	c     *compaction
	files []spec.DataFileMeta // still to open
	file  spec.DataFileMeta   // being read
	rd    format.Reader
	rows  merge.Rows
	batch vector.Batch
	seqs  []int64
	kinds []vector.RowKind
}

func (r *run) close() {
	if r.rd != nil {
		r.rd.Close() //nolint:errcheck // nothing was written through it
		r.rd = nil
	}
}

// Next implements merge.Run.
func (r *run) Next(ctx context.Context) (*merge.Rows, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.rd == nil {
			if len(r.files) == 0 {
				return nil, nil
			}
			var err error
			r.file = r.files[0]
			if r.rd, err = r.c.openFile(ctx, &r.file); err != nil {
				return nil, err
			}
			r.files = r.files[1:]
		}
		b, err := r.rd.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			r.close()
			continue
		}
		r.batch = vector.Batch{Len: b.Len, Sel: b.Sel, Seq: b.Seq, Cols: b.Cols[runHead:]}
		if r.batch.Kinds, err = r.kindsOf(b.Cols[runKind]); err != nil {
			return nil, err
		}
		seqs := b.Cols[runSeq].Flatten()
		if seqs.HasNulls() {
			return nil, errs.Corruptf("compact %s: the file %s has rows without sequence numbers", r.c.w.cfg.Paths.Root(), r.file.FileName)
		}
		r.rows = merge.Rows{Batch: &r.batch, Seqs: seqs.I64s, Level: r.file.Level, File: r.file.FileName}
		return &r.rows, nil
	}
}

// kindsOf returns row kinds, nil when all are additions.
func (r *run) kindsOf(v *vector.Vec) ([]vector.RowKind, error) {
	if v.HasNulls() {
		return nil, errs.Corruptf("compact %s: the file %s has rows without kinds", r.c.w.cfg.Paths.Root(), r.file.FileName)
	}
	r.kinds = r.kinds[:0]
	p, all := v.Values().I32s, vector.Insert
	for i := range v.Len {
		k := vector.RowKind(p[v.At(i)])
		r.kinds = append(r.kinds, k)
		all |= k
	}
	if all == vector.Insert {
		return nil, nil
	}
	return r.kinds, nil
}

// mergeRuns merges runs and writes what remains into out.
func (c *compaction) mergeRuns(ctx context.Context, runs []*run, drop bool, out *rolling) error {
	cfg := merge.Config{Rules: c.w.rules, KeepDeletes: !drop, Sequences: true, BatchRows: fileRows, Budget: c.budget, Out: len(c.w.cfg.Schema.Fields)}
	for i := range c.w.cfg.Schema.Fields {
		cfg.Columns = append(cfg.Columns, i)
	}
	inputs := make([]merge.Run, len(runs))
	for i, r := range runs {
		inputs[i] = r
	}
	m, err := merge.New(cfg, inputs)
	if err != nil {
		return err
	}
	defer m.Close()
	var kinds []int32
	for {
		rows, err := m.Next(ctx)
		if err != nil || rows == nil {
			return err
		}
		rows = rows.Compact()
		b := rows.Batch
		seq, kind := &vector.Vec{Kind: vector.I64, Len: b.Len, I64s: rows.Seqs}, &vector.Vec{Kind: vector.I32, Len: b.Len}
		kinds = kinds[:0]
		for i := range b.Len {
			kinds = append(kinds, int32(b.Kind(i)))
		}
		kind.I32s = kinds
		if err := out.write(ctx, c.w.layout.batch(b.Len, b.Cols, seq, kind), seq, kind, 0); err != nil {
			return err
		}
	}
}

// openFile opens a data file of the compaction's bucket with the columns of the
// current schema, found by field id.
func (c *compaction) openFile(ctx context.Context, f *spec.DataFileMeta) (format.Reader, error) {
	w := c.w
	e := spec.ManifestEntry{Partition: c.b.partition, Bucket: c.b.bucket, File: *f}
	path, err := w.cfg.Paths.DataFile(&e)
	if err != nil {
		return nil, err
	}
	fs, err := w.schema(ctx, f.SchemaID)
	if err != nil {
		return nil, err
	}
	cols := []format.Column{{Name: spec.SequenceColumn, Type: catalog.TBigInt, ID: spec.SequenceID},
		{Name: spec.KindColumn, Type: catalog.TTinyInt, ID: spec.KindID}}
	for _, want := range w.cfg.Schema.Fields {
		col := format.Column{Name: fmt.Sprintf("\x00%d", want.ID), Type: want.Type, ID: want.ID} // no file has it: all NULL
		for _, have := range fs.Fields {
			if have.ID != want.ID {
				continue
			}
			if !have.Type.Nullable().Equal(want.Type.Nullable()) {
				return nil, errs.Unsupportedf(-1, "compacting files from before the change of column %s from %s to %s", want.Name, have.Type, want.Type)
			}
			col.Name = have.Name
		}
		cols = append(cols, col)
	}
	fm, err := w.cfg.Formats.ByFile(f.FileName)
	if err != nil {
		return nil, err
	}
	file, err := w.cfg.Files.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return fm.NewReader(ctx, file, format.ReadOptions{Path: path, Columns: cols, Budget: c.budget})
}
