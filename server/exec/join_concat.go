package exec

import (
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/vector"
)

// The build rows of a join come in one store for each range. They are put together
// once, when their number is known, by all workers: each copies whole ranges into
// their places.

// parallelRows is the number of build rows from which several workers make the table
// of them; tests make it small.
var parallelRows = smallRows

// buildWorkers returns how many workers look at n build rows.
func (x *query) buildWorkers(n int) int {
	if n < parallelRows {
		return 1
	}
	return min(x.env.Options.Workers(), 8)
}

// concat puts stores together, in order, by several workers, and leaves the stores
// empty. Columns go one after the other, so that beside the stores there is room
// needed for the largest column alone. Bytes of strings are shared.
func (x *query) concat(stores []*rowStore, workers int) (rowStore, error) {
	var out rowStore
	var some []*rowStore
	for _, s := range stores {
		if s.n > 0 {
			some = append(some, s)
			out.n += s.n
			out.strings += s.strings
		}
	}
	if len(some) == 0 {
		if len(stores) > 0 {
			out = *stores[0]
		}
		return out, nil
	}
	if len(some) == 1 {
		out, *some[0] = *some[0], rowStore{}
		return out, nil
	}
	out.cols = make([]*vector.Vec, len(some[0].cols))
	for i := range out.cols {
		parts := make([]*vector.Vec, len(some))
		for k, s := range some {
			parts[k] = s.cols[i]
		}
		var err error
		if out.cols[i], err = x.concatColumn(parts, out.n, workers); err != nil {
			return out, err
		}
		for _, s := range some {
			s.cols[i] = nil
		}
	}
	for _, s := range some {
		*s = rowStore{}
	}
	return out, nil
}

// concatColumn returns the rows, n in all, of Flat vectors of one kind.
func (x *query) concatColumn(parts []*vector.Vec, n, workers int) (*vector.Vec, error) {
	dst := &vector.Vec{}
	if !shareValues(dst, vector.NewFlat(parts[0].Kind, n), 0, n) { // nested
		dst = vector.NewLike(parts[0], n)
		for _, p := range parts {
			x.check()
			dst.AppendRange(p, 0, p.Len, dst.ShareBufs(p))
		}
		return dst, nil
	}
	start, base := make([]int, len(parts)+1), make([]int, len(parts))
	nulls := false
	for k, p := range parts {
		start[k+1] = start[k] + p.Len
		base[k] = dst.ShareBufs(p)
		nulls = nulls || p.Valid != nil
	}
	var next atomic.Int64
	err := together(workers, func(int) error {
		for {
			k := int(next.Add(1)) - 1
			if k >= len(parts) {
				return nil
			}
			x.check()
			// A vector of the place alone: appending fills it.
			to := &vector.Vec{}
			shareValues(to, dst, start[k], start[k])
			to.AppendRange(parts[k], 0, parts[k].Len, base[k])
		}
	})
	if err != nil || !nulls {
		return dst, err
	}
	dst.Valid = vector.AllValid(n)
	for k, p := range parts {
		if p.Valid == nil {
			continue
		}
		x.check()
		for i := range p.Len {
			if p.IsNull(i) {
				at := start[k] + i
				dst.Valid[at>>6] &^= 1 << (at & 63)
			}
		}
	}
	return dst, nil
}
