package write

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// A reader of a data file holds pages of every column. Where that is too much for
// the runs of a compaction, the smallest are copied to a temporary file first, one
// at a time, of which a block each is held (Java's MergeSorter with
// 'sort-spill-threshold').

// inputs returns what is merged: the runs themselves, up to c.direct, the others
// spilled. Runs that are only looked up, the last, stay. done releases all of it.
func (c *compaction) inputs(ctx context.Context, runs []*run, changes *merge.Changes) (out []merge.Run, done func(), err error) {
	merged := len(runs)
	if changes != nil {
		merged -= changes.Lookups
	}
	c.fanIn = max(c.fanIn, merged)
	for _, r := range runs {
		out = append(out, r)
	}
	done = func() {}
	if merged <= c.direct || merged < 2 || c.w.cfg.Spill == nil {
		return out, done, nil
	}
	f, err := c.w.cfg.Spill.Create(ctx)
	if err != nil {
		return nil, nil, err
	}
	held := int64(0)
	done = func() {
		c.budget.Release(held)
		f.Close() //nolint:errcheck // nothing of it is needed
	}
	order := make([]int, merged)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizeOf(runs[a].files) - sizeOf(runs[b].files) })
	for _, i := range order[:merged-c.direct] {
		r, need, err := c.spillRun(ctx, f, runs[i])
		if err == nil {
			err = c.budget.Reserve(need)
		}
		if err != nil {
			done()
			return nil, nil, err
		}
		held += need
		out[i] = r
	}
	return out, done, nil
}

func sizeOf(files []spec.DataFileMeta) (n int) {
	for _, f := range files {
		n += int(f.FileSize)
	}
	return n
}

// spillRun copies a run to a temporary file. need is what reading it takes.
func (c *compaction) spillRun(ctx context.Context, f *fileio.TempFile, r *run) (_ merge.Run, need int64, err error) {
	defer r.close()
	out := &spillReader{file: f, codec: c.w.opts.spillCodec}
	if len(r.files) > 0 {
		out.level, out.name = r.files[0].Level, r.files[0].FileName
	}
	var w blockWriter
	for {
		rows, err := r.Next(ctx)
		if err != nil {
			return nil, 0, err
		}
		if rows == nil {
			return out, need, nil
		}
		rows = rows.Compact()
		b := *rows.Batch
		b.Cols = append(slices.Clone(b.Cols), &vector.Vec{Kind: vector.I64, Len: b.Len, I64s: rows.Seqs})
		size := int64(0)
		for _, v := range b.Cols {
			size += v.Bytesize()
		}
		per := int(min(max(spillBlockBytes*int64(b.Len)/max(size, 1), 64), int64(b.Len)))
		for at := 0; at < b.Len; at += per {
			part := b
			if per < b.Len {
				part.Sel = make([]uint16, min(per, b.Len-at))
				for i := range part.Sel {
					part.Sel[i] = uint16(at + i)
				}
			}
			block, err := w.write(f, out.codec, &part)
			if err != nil {
				return nil, 0, err
			}
			out.blocks = append(out.blocks, block)
			need = max(need, 2*int64(block.size))
		}
	}
}
