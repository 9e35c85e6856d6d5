package merge

import (
	"math"
	"math/bits"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// step is how a column's values merge when no row is a deletion, as far as whole
// columns are computed at once.
type step uint8

const (
	stepEach         step = iota // the aggregate function, value by value
	stepLast                     // the newest
	stepLastNonNull              // the newest that is not NULL
	stepFirst                    // the oldest
	stepFirstNonNull             // the oldest that is not NULL
	stepMax
	stepMin
	stepSum
)

// steps are the aggregate functions that have one.
var steps = map[string]step{
	"primary-key": stepLast, "last_value": stepLast, "last_non_null_value": stepLastNonNull,
	"first_value": stepFirst, "first_non_null_value": stepFirstNonNull, "first_not_null_value": stepFirstNonNull,
	"max": stepMax, "min": stepMin, "sum": stepSum,
}

// columnar makes rows of keys without deletions, column by column: it remembers
// the rows of each key and computes all when they are needed or a batch goes.
type columnar struct {
	gr    *group
	made  *maker
	refs  []ref // of all keys, those of one from the oldest to the newest
	ends  []int // in refs, of each key
	picks []ref
	last  []ref         // the newest row of each key
	runs  []uint32      // that the rows are of
	srcs  []*vector.Vec // a column of each of them
	nulls bool          // a source has NULLs
}

// none is the pick of NULL.
const none = math.MaxUint32

// able reports whether rows of one key can be merged by columns.
func (k *columnar) able(rows []groupRow) bool {
	if k == nil {
		return false
	}
	for _, w := range rows {
		if w.c.retracts(w.pos) {
			return false
		}
	}
	return true
}

// add remembers the rows of a key, from the oldest to the newest, and returns
// where the row made of them will be.
func (k *columnar) add(rows []groupRow) ref {
	k.made.renew(k.gr.m)
	for _, w := range rows {
		k.refs = append(k.refs, ref{uint32(w.c.id), w.pos})
	}
	k.ends = append(k.ends, len(k.refs))
	last := rows[len(rows)-1]
	c := k.made.cursor
	c.kinds = append(c.kinds, vector.Insert)
	if k.gr.m.cfg.Sequences {
		c.seqs = append(c.seqs, last.c.seqs[last.pos])
	}
	c.n++
	return ref{uint32(c.id), uint32(c.n - 1)}
}

// compute makes the rows that were remembered.
func (k *columnar) compute() error {
	if k == nil || len(k.ends) == 0 {
		return nil
	}
	k.last = k.last[:0]
	for _, e := range k.ends {
		k.last = append(k.last, k.refs[e-1])
	}
	gr := k.gr
	if k.srcs == nil {
		k.srcs = make([]*vector.Vec, len(gr.m.cur))
	}
	clear(k.srcs)
	k.runs = k.runs[:0]
	for _, r := range k.refs {
		if k.srcs[r.run] == nil {
			k.srcs[r.run] = gr.m.cur[r.run].cols[0] // until a column is looked up
			k.runs = append(k.runs, r.run)
		}
	}
	dst := 0
	for i := range gr.cols {
		c := &gr.cols[i]
		if err := k.check(c); err != nil {
			return err
		}
	}
	for _, p := range gr.out {
		c := &gr.cols[p]
		k.sources(c)
		if err := k.column(c, k.made.batch.Cols[dst]); err != nil {
			return err
		}
		dst++
	}
	k.refs, k.ends = k.refs[:0], k.ends[:0]
	return nil
}

// sources looks up a column in the batches of the remembered rows.
func (k *columnar) sources(c *groupColumn) {
	cur := k.gr.m.cur
	k.nulls = false
	for _, r := range k.runs {
		v := cur[r].flatten(c.at)
		k.srcs[r] = v
		k.nulls = k.nulls || v.Valid != nil
	}
}

// check refuses NULLs where partial-update finds none.
func (k *columnar) check(c *groupColumn) error {
	if !c.rule.notNull || k.gr.g.Engine != PartialUpdate {
		return nil
	}
	k.sources(c)
	if !k.nulls {
		return nil
	}
	for _, r := range k.refs {
		if k.srcs[r.run].IsNull(int(r.pos)) {
			return k.gr.nullError(c)
		}
	}
	return nil
}

// column computes one column of the made rows.
func (k *columnar) column(c *groupColumn, dst *vector.Vec) error {
	s := stepLastNonNull
	if c.rule.aggregate != nil {
		s = c.rule.aggregate.step
	}
	if s == stepLastNonNull && !k.nulls {
		s = stepLast
	}
	if s == stepFirstNonNull && !k.nulls {
		s = stepFirst
	}
	null := func(r ref) bool { return k.nulls && k.srcs[r.run].IsNull(int(r.pos)) }
	k.picks = k.picks[:0]
	from := 0
	switch s {
	case stepLast:
		if !k.nulls {
			k.pick(dst, k.last)
			return nil
		}
		for _, r := range k.last {
			if null(r) {
				r.run = none
			}
			k.picks = append(k.picks, r)
		}
	case stepLastNonNull:
		for _, e := range k.ends {
			p := ref{run: none}
			for j := e - 1; j >= from; j-- {
				if r := k.refs[j]; !null(r) {
					p = r
					break
				}
			}
			k.picks = append(k.picks, p)
			from = e
		}
	case stepFirst, stepFirstNonNull:
		for _, e := range k.ends {
			p := ref{run: none}
			for _, r := range k.refs[from:e] {
				if !null(r) {
					p = r
					break
				}
				if s == stepFirst {
					break
				}
			}
			k.picks = append(k.picks, p)
			from = e
		}
	case stepMax, stepMin:
		sign := 1
		if s == stepMin {
			sign = -1
		}
		for _, e := range k.ends {
			p := ref{run: none}
			for _, r := range k.refs[from:e] {
				if null(r) {
					continue
				}
				if p.run == none || sign*vector.Compare(k.srcs[p.run], int(p.pos), k.srcs[r.run], int(r.pos)) < 0 {
					p = r
				}
			}
			k.picks = append(k.picks, p)
			from = e
		}
	case stepSum:
		return k.sum(c, dst)
	default:
		return k.each(c, dst, 0)
	}
	k.pick(dst, k.picks)
	return nil
}

// each computes a column from the given key on by its aggregate function.
func (k *columnar) each(c *groupColumn, dst *vector.Vec, key int) error {
	for ; key < len(k.ends); key++ {
		if err := k.one(c, dst, key); err != nil {
			return err
		}
	}
	return nil
}

// one computes a column of a key by its aggregate function.
func (k *columnar) one(c *groupColumn, dst *vector.Vec, key int) error {
	from := 0
	if key > 0 {
		from = k.ends[key-1]
	}
	c.cell.reset()
	acc := value{}
	for _, r := range k.refs[from:k.ends[key]] {
		var err error
		if acc, err = c.rule.aggregate.agg(&c.cell, acc, value{k.srcs[r.run], int(r.pos)}); err != nil {
			return k.gr.failed(c, err)
		}
	}
	if acc.null() {
		dst.AppendNull()
	} else {
		dst.AppendFrom(acc.v, acc.i)
	}
	return nil
}

// sum adds up a column. What does not fit is left to the aggregate function,
// which knows the error.
func (k *columnar) sum(c *groupColumn, dst *vector.Vec) error {
	t := c.cell.typ
	switch {
	case integer(t) && dst.Kind == vector.I32:
		lo, hi := integerRange(t)
		return sumOf(k, c, dst, func(v *vector.Vec) []int32 { return v.I32s }, func(x, y int32) (int32, bool) {
			z := int64(x) + int64(y)
			return int32(z), z >= lo && z <= hi
		}, dst.AppendI32)
	case dst.Kind == vector.I64 && (integer(t) || t.Kind == catalog.Decimal):
		return sumOf(k, c, dst, func(v *vector.Vec) []int64 { return v.I64s }, func(x, y int64) (int64, bool) {
			z := x + y
			return z, (z < x) == (y < 0)
		}, dst.AppendI64)
	case dst.Kind == vector.F64:
		return sumOf(k, c, dst, func(v *vector.Vec) []float64 { return v.F64s }, func(x, y float64) (float64, bool) { return x + y, true }, dst.AppendF64)
	}
	return k.each(c, dst, 0)
}

func sumOf[T any](k *columnar, c *groupColumn, dst *vector.Vec, payload func(*vector.Vec) []T, add func(x, y T) (T, bool), push func(T)) error {
	values := make([][]T, len(k.srcs))
	for i, v := range k.srcs {
		if v != nil {
			values[i] = payload(v)
		}
	}
	from := 0
	for key, e := range k.ends {
		var acc T
		any, ok := false, true
		for _, r := range k.refs[from:e] {
			if k.nulls && k.srcs[r.run].IsNull(int(r.pos)) {
				continue
			}
			x := values[r.run][r.pos]
			if !any {
				acc, any = x, true
				continue
			}
			var fits bool
			acc, fits = add(acc, x)
			ok = ok && fits
		}
		from = e
		switch {
		case !ok:
			if err := k.one(c, dst, key); err != nil {
				return err
			}
		case any:
			push(acc)
		default:
			dst.AppendNull()
		}
	}
	return nil
}

// pick adds the picked values to a vector.
func (k *columnar) pick(dst *vector.Vec, picks []ref) {
	switch dst.Kind {
	case vector.I8:
		dst.I8s = pickOf(dst.I8s, picks, k.srcs, func(v *vector.Vec) []int8 { return v.I8s })
	case vector.I32:
		dst.I32s = pickOf(dst.I32s, picks, k.srcs, func(v *vector.Vec) []int32 { return v.I32s })
	case vector.I64:
		dst.I64s = pickOf(dst.I64s, picks, k.srcs, func(v *vector.Vec) []int64 { return v.I64s })
	case vector.I128:
		dst.I128s = pickOf(dst.I128s, picks, k.srcs, func(v *vector.Vec) []vector.Int128 { return v.I128s })
	case vector.F32:
		dst.F32s = pickOf(dst.F32s, picks, k.srcs, func(v *vector.Vec) []float32 { return v.F32s })
	case vector.F64:
		dst.F64s = pickOf(dst.F64s, picks, k.srcs, func(v *vector.Vec) []float64 { return v.F64s })
	case vector.Str:
		k.pickText(dst, picks)
	default:
		for _, r := range picks {
			if r.run == none {
				dst.AppendNull()
			} else {
				dst.AppendFrom(k.srcs[r.run], int(r.pos))
			}
		}
		return
	}
	// Validity: a bit a pick.
	nulls := false
	for _, r := range picks {
		nulls = nulls || r.run == none
	}
	at := dst.Len
	dst.Len += len(picks)
	if !nulls && dst.Valid == nil {
		return
	}
	if dst.Valid == nil {
		dst.Valid = vector.AllValid(at)
	}
	for len(dst.Valid) < (dst.Len+63)/64 {
		dst.Valid = append(dst.Valid, 0)
	}
	for i, r := range picks {
		w, bit := &dst.Valid[(at+i)>>6], bits.RotateLeft64(1, at+i)
		if r.run == none {
			*w &^= bit
		} else {
			*w |= bit
		}
	}
}

// pickText adds the picked texts, whose bytes stay where they are.
func (k *columnar) pickText(dst *vector.Vec, picks []ref) {
	bases := make([]uint32, len(k.srcs))
	for _, r := range picks {
		if r.run != none && bases[r.run] == 0 {
			bases[r.run] = uint32(dst.ShareBufs(k.srcs[r.run])) + 1
		}
	}
	for _, r := range picks {
		if r.run == none {
			dst.Views = append(dst.Views, vector.View{})
			continue
		}
		dst.Views = append(dst.Views, k.srcs[r.run].Views[r.pos].Moved(bases[r.run]-1))
	}
}

func pickOf[T any](dst []T, picks []ref, srcs []*vector.Vec, payload func(*vector.Vec) []T) []T {
	values := make([][]T, len(srcs))
	for i, v := range srcs {
		if v != nil {
			values[i] = payload(v)
		}
	}
	for _, r := range picks {
		if r.run == none {
			var zero T
			dst = append(dst, zero)
			continue
		}
		dst = append(dst, values[r.run][r.pos])
	}
	return dst
}
