package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec/spill"
)

// givenRows are the rows that a recursive UNION DISTINCT has given, of which it gives
// none again. The newest are in a hash table. When that may not grow any more, they go
// to disk, in partitions by their hashes; from then on the new rows of a step are
// looked up on disk together, at its end or when they are too many: the partitions that
// they belong to are read past the hash table.
type givenRows struct {
	op    *grower
	types []expr.Type
	table *groupTable
	acct  account
	ids   []uint32

	files  []*spill.File
	asked  int    // rows of the table that have been looked up on disk
	onDisk []bool // of those, which are there
}

// give takes rows of columns, all of them or those at sel; it keeps none.
type give func(cols []*vector.Vec, sel []uint16, n int) error

func newGivenRows(op *grower, types []expr.Type) *givenRows {
	return &givenRows{op: op, types: types, table: op.x.groupTable(types), acct: op.account()}
}

// add notes rows and gives those that were not there, at once or with end.
func (s *givenRows) add(ctx context.Context, b *vector.Batch, out give) error {
	n, before := b.Rows(), s.table.size()
	if cap(s.ids) < n {
		s.ids = make([]uint32, n)
	}
	if err := s.table.find(b.Cols, b.Sel, n, s.ids[:n]); err != nil {
		return err
	}
	if len(s.files) == 0 {
		fresh := []uint16{}
		for k, g := range s.ids[:n] {
			if int(g) == before {
				fresh = append(fresh, uint16(b.Row(k)))
				before++
			}
		}
		if err := out(b.Cols, fresh, len(fresh)); err != nil {
			return err
		}
	}
	size := s.table.bytes()
	full, err := s.op.hold(&s.acct, size)
	if err != nil || !full {
		return err
	}
	if s.op.little(size) && s.acct.hold(size) == nil || s.op.forced() && s.table.size() < 32 {
		return nil // writing so little helps nobody
	}
	if err := s.end(ctx, out); err != nil {
		return err
	}
	return s.flush(ctx)
}

// end looks up the rows that have not been yet, and gives those that are new, in the
// order in which they came.
func (s *givenRows) end(ctx context.Context, out give) error {
	from, to := s.asked, s.table.size()
	if len(s.files) == 0 || from == to {
		return nil
	}
	var parts [fanout]bool
	for _, h := range s.table.hashes[from:to] {
		parts[partOf(h, 0)] = true
	}
	old := make([]bool, to-from)
	var hashes []uint64
	for _, f := range s.files {
		for part, wanted := range parts {
			if !wanted {
				continue
			}
			for in := f.Reader(part); ; {
				b, _, err := in.Next(ctx)
				if err != nil {
					return err
				}
				if b == nil {
					break
				}
				hashes = hashRows(s.types, b.Cols, nil, b.Len, hashes)
				for i, h := range hashes {
					if g := s.table.peek(b.Cols, i, h); g >= from {
						old[g-from] = true
					}
				}
			}
		}
	}
	s.asked, s.onDisk = to, append(s.onDisk, old...)
	return s.each(from, func(g int) bool { return !old[g-from] }, func(cols []*vector.Vec, n int) error { return out(cols, nil, n) })
}

// each calls do with the rows of the table that are wanted, from one on.
func (s *givenRows) each(from int, wanted func(int) bool, do func(cols []*vector.Vec, n int) error) error {
	idx := make([]int32, 0, vector.BatchRows)
	for g := from; g < s.table.size(); g++ {
		if wanted(g) {
			idx = append(idx, int32(g))
		}
		if len(idx) == 0 || len(idx) < vector.BatchRows && g < s.table.size()-1 {
			continue
		}
		cols := make([]*vector.Vec, len(s.types))
		for i := range cols {
			cols[i] = take(s.table.keys.cols[i], idx)
		}
		if err := do(cols, len(idx)); err != nil {
			return err
		}
		idx = idx[:0]
	}
	return nil
}

// flush writes what is in the table, all of which has been given.
func (s *givenRows) flush(ctx context.Context) error {
	w, err := s.op.create(ctx)
	if err != nil {
		return err
	}
	to, err := newScatter(s.op, w, 0, 0)
	if err != nil {
		return err
	}
	var hashes []uint64
	err = s.each(0, func(g int) bool { return len(s.files) == 0 || !s.onDisk[g] }, func(cols []*vector.Vec, n int) error {
		hashes = hashRows(s.types, cols, nil, n, hashes)
		return to.add(ctx, cols, nil, n, hashes)
	})
	if err != nil {
		return err
	}
	if err := to.end(ctx); err != nil {
		return err
	}
	f, err := w.Finish()
	if err != nil {
		return err
	}
	s.op.spilled.Add(f.Size())
	s.files = append(s.files, f)
	s.table, s.asked, s.onDisk = s.op.x.groupTable(s.types), 0, nil
	s.acct.free()
	return nil
}

// free forgets all rows.
func (s *givenRows) free() {
	for _, f := range s.files {
		_ = f.Close()
	}
	s.files, s.table = nil, nil
	s.acct.free()
}
