package fileindex

import (
	"math/bits"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
)

// Rows is a set of rows of a file, by position. The zero value is all rows. It
// is immutable.
type Rows struct {
	known bool     // else all rows
	bits  []uint64 // known: a bit a row, nil for none
	n     int64    // rows of the file
}

// All reports whether every row may satisfy the condition.
func (r Rows) All() bool { return !r.known }

// None reports whether no row satisfies the condition.
func (r Rows) None() bool {
	if !r.known {
		return false
	}
	for _, w := range r.bits {
		if w != 0 {
			return false
		}
	}
	return true
}

// Count returns the number of rows in the set; those of a set that is All are
// not counted (-1).
func (r Rows) Count() int64 {
	if !r.known {
		return -1
	}
	n := 0
	for _, w := range r.bits {
		n += bits.OnesCount64(w)
	}
	return int64(n)
}

// Any reports whether the set has one of the rows from <= row < to.
func (r Rows) Any(from, to int64) bool {
	if !r.known {
		return from < to
	}
	to = min(to, r.n, int64(len(r.bits))*64)
	for from < to {
		w := r.bits[from>>6] >> (from & 63)
		left := to - from
		if step := 64 - from&63; left > step {
			left = step
		}
		if left < 64 {
			w &= 1<<left - 1
		}
		if w != 0 {
			return true
		}
		from += left
	}
	return false
}

// Has reports whether the set has a row.
func (r Rows) Has(row int64) bool { return r.Any(row, row+1) }

func none(n int64) Rows { return Rows{known: true, n: n} }

func (r Rows) and(o Rows) Rows {
	switch {
	case !r.known:
		return o
	case !o.known:
		return r
	case r.bits == nil || o.bits == nil:
		return none(r.n)
	}
	out := Rows{known: true, n: r.n, bits: make([]uint64, len(r.bits))}
	for i := range out.bits {
		out.bits[i] = r.bits[i] & o.bits[i]
	}
	return out
}

func (r Rows) or(o Rows) Rows {
	switch {
	case !r.known || !o.known:
		return Rows{}
	case r.bits == nil:
		return o
	case o.bits == nil:
		return r
	}
	out := Rows{known: true, n: r.n, bits: make([]uint64, len(r.bits))}
	for i := range out.bits {
		out.bits[i] = r.bits[i] | o.bits[i]
	}
	return out
}

// not returns the other rows of the file; r is known.
func (r Rows) not() Rows {
	out := Rows{known: true, n: r.n, bits: make([]uint64, (r.n+63)/64)}
	for i := range out.bits {
		w := ^uint64(0)
		if r.bits != nil {
			w = ^r.bits[i]
		}
		out.bits[i] = w
	}
	if k := r.n & 63; k != 0 {
		out.bits[len(out.bits)-1] &= 1<<k - 1
	}
	return out
}

// rowsOf turns the bitmap at the front of b into a set of rows of a file of n.
func rowsOf(b []byte, n int64) (r Rows, rest []byte, err error) {
	m, rest, err := roaring.ReadPrefix32(b)
	if err != nil {
		return r, nil, errs.Corruptf("read a file index: %w", err)
	}
	if m.Max() >= n {
		return r, nil, errs.Corruptf("read a file index: it has row %d of a file of %d rows", m.Max(), n)
	}
	r = none(n)
	if m.Cardinality() > 0 {
		r.bits = make([]uint64, (n+63)/64)
		m.Mask(r.bits, 0, int(n))
	}
	return r, rest, nil
}

// rowOf is the set of one row.
func rowOf(row, n int64) (Rows, error) {
	if row < 0 || row >= n {
		return Rows{}, errs.Corruptf("read a file index: it has row %d of a file of %d rows", row, n)
	}
	r := none(n)
	r.bits = make([]uint64, (n+63)/64)
	r.bits[row>>6] |= 1 << (row & 63)
	return r, nil
}
