package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/exec/spill"
)

// scatter writes rows to the partitions of a file. It collects rows of a partition
// until they make a good batch. It belongs to one goroutine; several may write to
// one file.
type scatter struct {
	op    *grower
	w     *spill.Writer
	level int
	order uint64
	parts [fanout]rowStore
	acct  account
	most  int64 // bytes of a batch
}

func newScatter(op *grower, w *spill.Writer, level int, order uint64) (*scatter, error) {
	s := &scatter{op: op, w: w, level: level, order: order, acct: op.account()}
	s.most = min(max(op.target()/(4*fanout), 4<<10), 128<<10)
	if err := s.acct.hold(fanout * s.most); err != nil {
		return nil, op.failed(err)
	}
	return s, nil
}

// add adds n rows of cols at sel, whose k-th has hashes[k]; without hashes all go
// to partition 0.
func (s *scatter) add(ctx context.Context, cols []*vector.Vec, sel []uint16, n int, hashes []uint64) error {
	if hashes == nil {
		return s.put(ctx, 0, cols, sel, n)
	}
	for p, rows := range scattered(hashes[:n], sel, s.level) {
		if len(rows) > 0 {
			if err := s.put(ctx, p, cols, rows, len(rows)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scatter) put(ctx context.Context, part int, cols []*vector.Vec, sel []uint16, n int) error {
	st := &s.parts[part]
	st.add(cols, sel, n)
	if st.n >= vector.BatchRows || st.bytes() >= s.most {
		return s.write(ctx, part)
	}
	return nil
}

func (s *scatter) write(ctx context.Context, part int) error {
	st := &s.parts[part]
	defer func() { *st = rowStore{} }()
	return writeRows(ctx, s.w, spill.Key{Part: part, Order: s.order}, st.cols, st.n)
}

// writeRows writes rows of Flat columns of any length.
func writeRows(ctx context.Context, w *spill.Writer, key spill.Key, cols []*vector.Vec, n int) error {
	if n <= vector.BatchRows {
		return w.Append(ctx, key, &vector.Batch{Len: n, Seq: -1, Cols: cols})
	}
	var idx []int32
	for at := 0; at < n; at += vector.BatchRows {
		idx = sequence(idx, at, min(at+vector.BatchRows, n))
		b := &vector.Batch{Len: len(idx), Seq: -1}
		for _, c := range cols {
			b.Cols = append(b.Cols, take(c, idx))
		}
		if err := w.Append(ctx, key, b); err != nil {
			return err
		}
	}
	return nil
}

// end writes what is left. A nil scatter has nothing.
func (s *scatter) end(ctx context.Context) error {
	if s == nil {
		return nil
	}
	defer s.acct.free()
	for p := range s.parts {
		if s.parts[p].n > 0 {
			if err := s.write(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}
