package exec

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// phases gives the groups in the order in which they first appeared; in one range,
// when a state does not allow more.
func (d *partitioned) phases() ([]phase, error) {
	n := len(d.order)
	size := groupRange
	out := &dealt{d: d, start: make([][parts]int32, 0, n/groupRange+1)}
	for _, s := range d.at {
		for _, st := range s.states {
			st.Grow(s.table.size())
			concurrent, err := expr.Complete(st)
			if err != nil {
				return nil, err
			}
			if !concurrent {
				size = max(n, 1)
			}
		}
	}
	var at [parts]int32
	for i, p := range d.order {
		if i%groupRange == 0 {
			out.start = append(out.start, at)
		}
		at[p]++
	}
	// Strings of all partitions have their buffers in one list.
	for i := range d.g.keys {
		k := keyBufs{}
		for p, s := range d.at {
			k.base[p] = len(k.bufs)
			if i < len(s.table.keys.cols) {
				k.bufs = append(k.bufs, s.table.keys.cols[i].Bufs...)
			}
		}
		out.keys = append(out.keys, k)
	}
	return []phase{{ranges: max(1, (n+size-1)/size), rows: int64(n), open: func(_ context.Context, i int) (operator, error) {
		o := &dealing{dealt: out, at: i * size, end: min(n, (i+1)*size)}
		if f := d.g.top; f != nil {
			o.top = &filtering{f: f, at: i, top: &connector.Dynamic{}}
		}
		return o, nil
	}, done: func() {
		for _, s := range d.at {
			s.acct.free()
		}
		d.acct.free()
	}}}, nil
}

// dealt is what those who give the groups of partitions share.
type dealt struct {
	d     *partitioned
	start [][parts]int32 // the first group of each partition at groupRange, twice it …
	keys  []keyBufs
}

// keyBufs are the string buffers of a key in all partitions.
type keyBufs struct {
	bufs [][]byte
	base [parts]int
}

// dealing gives the groups at to end; at is a multiple of groupRange.
type dealing struct {
	*dealt
	at, end int
	cols    []*vector.Vec // of the groups at hand
	n, from int           // their number, those given
	top     *filtering    // which are needed, nil: all
}

// Next implements operator.
func (o *dealing) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for o.from == o.n {
		if o.at >= o.end {
			return nil, nil
		}
		o.d.g.x.check()
		if err := o.load(); err != nil {
			return nil, err
		}
	}
	to := min(o.n, o.from+o.d.g.x.batchRows())
	out := &vector.Batch{Len: to - o.from, Seq: -1}
	for _, c := range o.cols {
		w := &vector.Vec{}
		viewOf(w, c, o.from, to)
		out.Cols = append(out.Cols, w)
	}
	o.from = to
	return out, nil
}

// load puts the next groups of all partitions into columns.
func (o *dealing) load() error {
	order := o.d.order[o.at:min(o.end, o.at+groupRange)]
	h := hand{dealt: o.dealt, order: order, first: o.start[o.at/groupRange], idx: make([]int32, len(order))}
	for _, p := range order {
		h.count[p]++
	}
	at := [parts]int32{}
	for p := 1; p < parts; p++ {
		at[p] = at[p-1] + h.count[p-1]
	}
	for k, p := range order {
		h.idx[k] = at[p]
		at[p]++
	}
	o.at += len(order)
	o.n, o.from, o.cols = len(order), 0, o.cols[:0]
	known := -1
	var first *vector.Vec
	if o.top != nil {
		known = o.top.f.col
		var err error
		if first, err = h.column(known); err != nil {
			return err
		}
		b := vector.Batch{Len: o.n}
		o.top.narrowTop(&b, first)
		if b.Sel != nil {
			if o.n = len(b.Sel); o.n == 0 {
				return nil
			}
			h.sel = b.Sel
			first = first.Gather(b.Sel)
		}
	}
	for i := range len(o.keys) + len(o.d.g.calls) {
		v := first
		if i != known {
			var err error
			if v, err = h.column(i); err != nil {
				return err
			}
		}
		o.cols = append(o.cols, v)
	}
	return nil
}

// hand is a number of groups that are given together.
type hand struct {
	*dealt
	order []uint8      // their partitions
	first [parts]int32 // the first of each partition
	count [parts]int32 // how many are of each partition
	idx   []int32      // where each is when they are in the order of partitions
	sel   []uint16     // those that are needed, nil: all
}

// column returns a key, or an aggregate's results.
func (h *hand) column(i int) (*vector.Vec, error) {
	values := func(p int, from, to int32) (v *vector.Vec, at int, err error) {
		s := h.d.at[p]
		if i < len(h.keys) {
			return s.table.keys.cols[i], int(from), nil
		}
		v, err = s.states[i-len(h.keys)].Result(int(from), int(to))
		return v, 0, err
	}
	var all *vector.Vec
	if h.sel != nil && len(h.sel) <= len(h.order)/16 {
		at, k := h.first, 0
		for _, row := range h.sel {
			for ; k < int(row); k++ {
				at[h.order[k]]++
			}
			p := int(h.order[row])
			v, j, err := values(p, at[p], at[p]+1)
			if err != nil {
				return nil, err
			}
			if all == nil {
				all = vector.NewLike(v, len(h.sel))
			}
			all.AppendFrom(v, j)
		}
		return all, nil
	}
	for p, n := range h.count {
		if n == 0 {
			continue
		}
		v, at, err := values(p, h.first[p], h.first[p]+n)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = vector.NewLike(v, len(h.order))
			if i < len(h.keys) {
				all.Bufs = h.keys[i].bufs
			}
		}
		base := 0
		if i < len(h.keys) {
			base = h.keys[i].base[p]
		} else {
			base = all.ShareBufs(v)
		}
		all.AppendRange(v, at, at+int(n), base)
	}
	all = take(all, h.idx)
	if h.sel != nil {
		all = all.Gather(h.sel)
	}
	return all, nil
}

// Close implements operator.
func (o *dealing) Close() error {
	o.at, o.from, o.n, o.cols = o.end, 0, 0, nil
	return nil
}
