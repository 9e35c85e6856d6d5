package write

import (
	"container/heap"
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/internal/vector"
)

// eachByKey gives f all rows of sorted runs by key, those of one key by their
// sequence numbers.
func eachByKey(ctx context.Context, runs []merge.Run, keys []int, types []catalog.Type, f func(*merge.Rows) error) error {
	h := &runHeap{keys: keys}
	for _, r := range runs {
		c := &runHead{run: r}
		if err := c.load(ctx); err != nil {
			return err
		}
		if c.rows != nil {
			h.heads = append(h.heads, c)
		}
	}
	heap.Init(h)
	b := &vector.Batch{Seq: -1}
	for _, t := range types {
		b.Cols = append(b.Cols, t.NewVec(fileRows))
	}
	out := &merge.Rows{Batch: b}
	give := func() error {
		if b.Len == 0 {
			return nil
		}
		if err := f(out); err != nil {
			return err
		}
		b.Reset()
		out.Seqs = nil
		return nil
	}
	for len(h.heads) > 0 {
		c := h.heads[0]
		at := c.rows.Batch.Row(c.at)
		for i, v := range b.Cols {
			v.AppendFrom(c.rows.Batch.Cols[i], at)
		}
		b.Kinds = append(b.Kinds, c.rows.Batch.Kind(at))
		out.Seqs = append(out.Seqs, c.rows.Seqs[at])
		if b.Len++; b.Len == fileRows {
			if err := give(); err != nil {
				return err
			}
		}
		if c.at++; c.at == c.rows.Batch.Rows() {
			if err := c.load(ctx); err != nil {
				return err
			}
			if c.rows == nil {
				heap.Pop(h)
				continue
			}
		}
		heap.Fix(h, 0)
	}
	return give()
}

// runHead is the next row of a run.
type runHead struct {
	run  merge.Run
	rows *merge.Rows // nil: there is none
	at   int
}

func (c *runHead) load(ctx context.Context) (err error) {
	for c.at = 0; ; {
		if c.rows, err = c.run.Next(ctx); err != nil || c.rows == nil || c.rows.Batch.Rows() > 0 {
			return err
		}
	}
}

// runHeap has the run with the smallest row first.
type runHeap struct {
	keys  []int
	heads []*runHead
}

func (h *runHeap) Len() int      { return len(h.heads) }
func (h *runHeap) Swap(i, j int) { h.heads[i], h.heads[j] = h.heads[j], h.heads[i] }
func (h *runHeap) Push(x any)    { h.heads = append(h.heads, x.(*runHead)) }

func (h *runHeap) Pop() any {
	x := h.heads[len(h.heads)-1]
	h.heads = h.heads[:len(h.heads)-1]
	return x
}

func (h *runHeap) Less(i, j int) bool {
	a, b := h.heads[i], h.heads[j]
	x, y := a.rows.Batch.Row(a.at), b.rows.Batch.Row(b.at)
	for _, k := range h.keys {
		if r := vector.Compare(a.rows.Batch.Cols[k], x, b.rows.Batch.Cols[k], y); r != 0 {
			return r < 0
		}
	}
	return a.rows.Seqs[x] < b.rows.Seqs[y]
}
