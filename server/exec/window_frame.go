package exec

import (
	"sort"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/plan"
)

// Frames: which rows of its partition a function sees at a row. Positions are those
// of windowRows: rows in order from 0, of a partition in pages from its beginning.

// parts returns the stretches of rows [start, end) that make row i's frame, in
// order: one, or what EXCLUDE leaves of it.
func (w *windowing) parts(f *windowFunc, r *windowRows, i int) (out [3][2]int, n int) {
	start, end := w.frame(f, r, i)
	row := r.base + i
	add := func(from, to int) {
		if from, to = max(from, start), min(to, end); from < to {
			out[n] = [2]int{from, to}
			n++
		}
	}
	switch f.call.Frame.Exclude {
	case plan.ExcludeRow:
		add(start, row)
		add(row+1, end)
	case plan.ExcludeGroup:
		add(start, r.peer[i])
		add(r.peers[i], end)
	case plan.ExcludeTies:
		add(start, r.peer[i])
		add(row, row+1)
		add(r.peers[i], end)
	default:
		add(start, end)
	}
	return out, n
}

// frame returns the rows [start, end) of row i's frame, before EXCLUDE.
func (w *windowing) frame(f *windowFunc, r *windowRows, i int) (start, end int) {
	fr := &f.call.Frame
	first, last, row := r.first[i], r.last[i], r.base+i
	start, end = first, last
	switch b := fr.Start; {
	case b.Kind == plan.Unbounded:
	case b.Kind == plan.CurrentRow && fr.Rows:
		start = row
	case b.Kind == plan.CurrentRow:
		start = r.peer[i]
	case fr.Groups:
		start, _ = r.groupAt(i, b)
	case !fr.Rows:
		start = w.keyed(f, r, i, 0)
	case b.Kind == plan.Preceding:
		start = max(first, row-r.bound(b.N))
	default:
		start = min(last, row+r.bound(b.N))
	}
	switch b := fr.End; {
	case b.Kind == plan.Unbounded:
	case b.Kind == plan.CurrentRow && fr.Rows:
		end = row + 1
	case b.Kind == plan.CurrentRow:
		end = r.peers[i]
	case fr.Groups:
		_, end = r.groupAt(i, b)
	case !fr.Rows:
		end = w.keyed(f, r, i, 1)
	case b.Kind == plan.Preceding:
		end = max(first, row+1-r.bound(b.N))
	default:
		end = min(last, row+1+r.bound(b.N))
	}
	return start, end
}

// groupAt returns the rows of the group of peers that a bound of row i names. One
// before the partition has no rows at its beginning, one behind it none at its
// end.
func (r *windowRows) groupAt(i int, b plan.Bound) (start, end int) {
	if r.pages != nil {
		return r.pages.groupAt(r.base+i, b)
	}
	if r.group == nil {
		r.group = make([]int32, r.n)
		for k := range r.n {
			if k == r.peer[k] {
				r.starts = append(r.starts, int32(k))
			}
			r.group[k] = int32(len(r.starts) - 1)
		}
		r.starts = append(r.starts, int32(r.n))
	}
	n := r.bound(b.N)
	g := int(r.group[i]) + n
	if b.Kind == plan.Preceding {
		g -= 2 * n
	}
	switch {
	case g < int(r.group[r.first[i]]):
		return r.first[i], r.first[i]
	case g > int(r.group[r.last[i]-1]):
		return r.last[i], r.last[i]
	}
	return int(r.starts[g]), int(r.starts[g+1])
}

// keyed finds where a frame counted by value begins (side 0) or ends (side 1).
// A row whose key is NULL sees its peers; no other row sees NULL keys.
func (w *windowing) keyed(f *windowFunc, r *windowRows, i, side int) int {
	key, limit := r.vals[f.key[side]], r.vals[f.limit[side]]
	if key.IsNull(i) || limit.IsNull(i) {
		if side == 0 {
			return r.peer[i]
		}
		return r.peers[i]
	}
	if r.pages != nil {
		return r.pages.keyed(f, limit, i, side)
	}
	low, high := r.first[i], r.last[i]
	// NULLs come first ascending, last descending.
	for low < high && key.IsNull(low) {
		low = r.peers[low]
	}
	for low < high && key.IsNull(high-1) {
		high = r.peer[high-1]
	}
	return low + sort.Search(high-low, func(k int) bool { return f.reached(side, key, low+k, limit, i) })
}

// reached reports whether the key at a row has reached the limit: for side 0 whether
// the frame may begin there, for side 1 whether it ends before.
func (f *windowFunc) reached(side int, key *vector.Vec, row int, limit *vector.Vec, i int) bool {
	c := f.cmp[side](key, row, limit, i)
	if f.desc {
		c = -c
	}
	if side == 0 {
		return c >= 0
	}
	return c > 0
}

// bound is a number of rows, or of groups, that is no more than there are.
func (r *windowRows) bound(n int64) int {
	most := int64(r.n)
	if r.pages != nil {
		most = int64(r.pages.n)
	}
	return int(min(n, most))
}
