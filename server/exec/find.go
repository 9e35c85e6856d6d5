package exec

import (
	"bytes"
	"encoding/binary"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// finder is what groupTable.find keeps from batch to batch.
type finder struct {
	cand []uint32 // of the rows of a batch: a group that may be theirs + 1
	made []uint16 // rows of the batch whose keys are those of the newest groups
	// For key columns with lasting dictionaries: the group + 1 of combined codes.
	dicts []*vector.Vec
	codes []uint32
}

func (f *finder) bytes() int64 { return int64(cap(f.cand)+cap(f.codes))*4 + int64(cap(f.made))*2 }

// find puts the group of each of n rows into out, and makes new groups.
//
// A batch is looked up in passes, so that the loads of different rows overlap:
// hashes; the first group with the same hash bits; keys, column by column. Only
// rows that this does not settle are taken one by one, in order.
func (t *groupTable) find(cols []*vector.Vec, sel []uint16, n int, out []uint32) error {
	if len(t.keys.cols) == 0 {
		t.keys.add(cols, nil, 0)
	}
	if t.byCodes(cols) {
		return t.findCodes(cols, sel, n, out)
	}
	t.hash = hashRows(t.types, cols, sel, n, t.hash)
	return t.lookup(cols, sel, t.hash[:n], out)
}

// findAll is find for all groups of another table.
func (t *groupTable) findAll(o *groupTable, out []uint32) error {
	cols := make([]*vector.Vec, len(o.keys.cols))
	if len(t.keys.cols) == 0 {
		t.keys.add(o.keys.cols, nil, 0)
	}
	for at := 0; at < len(out); at += vector.BatchRows {
		t.check()
		end := min(at+vector.BatchRows, len(out))
		for i, c := range o.keys.cols {
			cols[i] = window(c, at, end)
		}
		if err := t.lookup(cols, nil, o.hashes[at:end], out[at:end]); err != nil {
			return err
		}
	}
	return nil
}

// lookup is find for rows whose hashes are known.
func (t *groupTable) lookup(cols []*vector.Vec, sel []uint16, hashes []uint64, out []uint32) error {
	n := len(hashes)
	if cap(t.cand) < n {
		t.cand = make([]uint32, n)
	}
	cand := t.cand[:n]
	mask := uint64(len(t.slots) - 1)
	for k, h := range hashes {
		h = turned(h)
		at := h >> t.shift
		s := t.slots[at]
		for s != 0 && (s^h)>>32 != 0 {
			at = (at + 1) & mask
			s = t.slots[at]
		}
		cand[k] = uint32(s)
	}
	for c, v := range cols {
		t.verify(c, v, sel, cand)
	}
	for k, g := range cand {
		if g != 0 {
			out[k] = g - 1
			continue
		}
		row := k
		if sel != nil {
			row = int(sel[k])
		}
		if k > 0 && hashes[k] == hashes[k-1] && t.same(out[k-1], cols, row) {
			out[k] = out[k-1]
			continue
		}
		var err error
		if out[k], err = t.insert(cols, row, hashes[k]); err != nil {
			return err
		}
	}
	t.settle(cols)
	return nil
}

// settle stores the keys of the groups that a batch made.
func (t *groupTable) settle(cols []*vector.Vec) {
	if len(t.made) > 0 {
		t.keys.add(cols, t.made, len(t.made))
		t.made = t.made[:0]
	}
}

// byCodes reports whether all key columns have lasting dictionaries, so small
// that groups can be found by their codes.
func (t *groupTable) byCodes(cols []*vector.Vec) bool {
	domain := 1
	for _, v := range cols {
		if v.Form != vector.Dict || !v.Dict.Lasting {
			return false
		}
		if domain *= v.Dict.Len + 1; domain > mostCodes {
			return false
		}
	}
	return true
}

// mostCodes is the largest table of codes, in groups.
const mostCodes = 2 * vector.MaxBatchRows

// findCodes is find for key columns of Dict form: each combination of codes is
// looked up once. NULL is the code after the dictionary's last.
func (t *groupTable) findCodes(cols []*vector.Vec, sel []uint16, n int, out []uint32) error {
	domain, same := 1, len(t.dicts) == len(cols)
	for i, v := range cols {
		domain *= v.Dict.Len + 1
		same = same && t.dicts[i] == v.Dict
	}
	if !same {
		t.dicts = t.dicts[:0]
		for _, v := range cols {
			t.dicts = append(t.dicts, v.Dict)
		}
		if cap(t.codes) < domain {
			t.codes = make([]uint32, domain)
		}
		t.codes = t.codes[:domain]
		clear(t.codes)
	}
	if cap(t.cand) < n {
		t.cand = make([]uint32, n)
	}
	at := t.cand[:n]
	clear(at)
	for _, v := range cols {
		codes, size := v.Codes, uint32(v.Dict.Len+1)
		switch {
		case v.Valid != nil:
			for k := range at {
				row := k
				if sel != nil {
					row = int(sel[k])
				}
				c := size - 1
				if !v.IsNull(row) {
					c = codes[row]
				}
				at[k] = at[k]*size + c
			}
		case sel != nil:
			for k, row := range sel[:n] {
				at[k] = at[k]*size + codes[row]
			}
		default:
			codes = codes[:n]
			for k := range at {
				at[k] = at[k]*size + codes[k]
			}
		}
	}
	for k, c := range at {
		if g := t.codes[c]; g != 0 {
			out[k] = g - 1
			continue
		}
		row := uint16(k)
		if sel != nil {
			row = sel[k]
		}
		t.hash = hashRows(t.types, cols, []uint16{row}, 1, t.hash)
		g, err := t.insert(cols, int(row), t.hash[0])
		if err != nil {
			return err
		}
		out[k], t.codes[c] = g, g+1
	}
	t.settle(cols)
	return nil
}

// insert returns the group of one row, which is made when there is none.
func (t *groupTable) insert(cols []*vector.Vec, row int, h uint64) (uint32, error) {
	mask := uint64(len(t.slots) - 1)
	r := turned(h)
	for at := r >> t.shift; ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 {
			return t.make(row, h, at)
		}
		if (s^r)>>32 == 0 {
			if g := uint32(s) - 1; t.same(g, cols, row) {
				return g, nil
			}
		}
	}
}

// peek returns the group of one row, -1 when there is none.
func (t *groupTable) peek(cols []*vector.Vec, row int, h uint64) int {
	mask := uint64(len(t.slots) - 1)
	r := turned(h)
	for at := r >> t.shift; ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 {
			return -1
		}
		if (s^r)>>32 == 0 {
			if g := uint32(s) - 1; t.same(g, cols, row) {
				return int(g)
			}
		}
	}
}

// make adds a group with the key of a row, at a free slot.
func (t *groupTable) make(row int, h, at uint64) (uint32, error) {
	if t.size() >= maxGroups {
		return 0, errs.New(errs.Resource, errs.MemoryLimit, "group rows: there are more than %d groups", maxGroups)
	}
	g := uint32(t.size())
	t.slots[at] = turned(h)&^0xffffffff | uint64(g+1)
	t.hashes = append(t.hashes, h)
	t.made = append(t.made, uint16(row))
	if 2*t.size() > len(t.slots) {
		t.rehash()
	}
	return g, nil
}

// verify removes the candidates whose key differs from their row's in a column.
func (t *groupTable) verify(c int, v *vector.Vec, sel []uint16, cand []uint32) {
	kc := t.keys.cols[c]
	if v.Valid == nil && kc.Valid == nil && v.Form != vector.Const && t.plain[c] {
		var codes []uint32
		if v.Form == vector.Dict {
			codes = v.Codes
		}
		w := v.Values()
		switch kc.Kind {
		case vector.I32:
			verifyColumn(kc.I32s, w.I32s, codes, sel, cand)
			return
		case vector.I64:
			verifyColumn(kc.I64s, w.I64s, codes, sel, cand)
			return
		case vector.I8:
			verifyColumn(kc.I8s, w.I8s, codes, sel, cand)
			return
		}
	}
	eq := t.eq[c]
	for k, g := range cand {
		if g == 0 {
			continue
		}
		row := k
		if sel != nil {
			row = int(sel[k])
		}
		if !eq(kc, int(g-1), v, row) {
			cand[k] = 0
		}
	}
}

func verifyColumn[T comparable](keys, values []T, codes []uint32, sel []uint16, cand []uint32) {
	switch {
	case codes == nil && sel == nil:
		values = values[:len(cand)]
		for k, g := range cand {
			if g != 0 && keys[g-1] != values[k] {
				cand[k] = 0
			}
		}
	case codes == nil:
		for k, g := range cand {
			if g != 0 && keys[g-1] != values[sel[k]] {
				cand[k] = 0
			}
		}
	default:
		for k, g := range cand {
			row := k
			if sel != nil {
				row = int(sel[k])
			}
			if g != 0 && keys[g-1] != values[codes[row]] {
				cand[k] = 0
			}
		}
	}
}

// bytesEqual compares two strings of Flat vectors; most differ, or are short, in
// the first eight bytes of their views.
func bytesEqual(a *vector.Vec, i int, b *vector.Vec, j int) bool {
	x, y := &a.Views[i], &b.Views[j]
	if binary.LittleEndian.Uint64(x[:8]) != binary.LittleEndian.Uint64(y[:8]) {
		return false
	}
	if x.Len() <= 12 {
		return binary.LittleEndian.Uint64(x[8:]) == binary.LittleEndian.Uint64(y[8:])
	}
	return bytes.Equal(a.Bytes(i), b.Bytes(j))
}
