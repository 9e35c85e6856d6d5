package transform

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Apply turns decoded rows (with the hidden columns that Stamp filled) into rows
// of the lake table. The result may share memory with b and is valid until b
// changes. Errors are of kind errs.TableStopped.
func (s *Shape) Apply(b *vector.Batch) (*vector.Batch, error) {
	if s.Plain() {
		return b, nil
	}
	out, err := s.project(b)
	if err == nil {
		out, err = s.fitted(out)
	}
	if err != nil {
		return nil, errs.New(errs.User, errs.TableStopped, "transform %s: %w", s.Source.ID, err)
	}
	return out, nil
}

// Warned returns a message and the number of warnings of expressions since the
// last call: values that were cut or became NULL.
func (s *Shape) Warned() (string, int) {
	if s.ctx == nil || s.ctx.Warnings.Count() == 0 {
		return "", 0
	}
	n, text := s.ctx.Warnings.Count(), s.ctx.Warnings.List()[0].Message
	s.ctx.Warnings.Reset()
	return text, n
}

const dropped = -1

// project filters and projects.
func (s *Shape) project(b *vector.Batch) (*vector.Batch, error) {
	if len(s.chain) == 0 {
		out := *b
		out.Cols = b.Cols[:len(s.Source.Columns)]
		return &out, nil
	}
	// which is the rule that takes a row.
	which, err := s.pick(b)
	if err != nil {
		return nil, err
	}
	in := *b
	in.Kinds = decide(b, which)
	cols := make([]*vector.Vec, len(s.Output.Columns))
	compute := func(kinds bool) error {
		for k, x := range s.chain {
			if kinds && !anyKinds(x) {
				continue
			}
			view := in
			if view.Sel = rowsOf(which, k, len(s.chain)); view.Sel != nil && len(view.Sel) == 0 {
				continue
			}
			for i := range x.cols {
				if x.cols[i].kinds == kinds {
					if err := s.column(&view, x, i, &cols[i]); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	if err := compute(false); err != nil {
		return nil, err
	}
	s.moved(&in, which, cols)
	if err := compute(true); err != nil {
		return nil, err
	}
	out := s.finish(&in, which, cols)
	for _, k := range s.keys {
		if out.Len > 0 && out.Cols[k].HasNulls() {
			return nil, errs.Userf(errs.InvalidTable, "the key column %s is NULL in a row", s.Output.Columns[k].Name)
		}
	}
	return out, nil
}

func anyKinds(x *bound) bool {
	for i := range x.cols {
		if x.cols[i].kinds {
			return true
		}
	}
	return false
}

// pick returns the rule of each row, or nil when the first takes all.
func (s *Shape) pick(b *vector.Batch) ([]int8, error) {
	if s.chain[0].cond == nil {
		if b.Kinds == nil {
			return nil, nil
		}
		return make([]int8, b.Len), nil
	}
	which := make([]int8, b.Len)
	left := make([]uint16, b.Len)
	for i := range which {
		which[i], left[i] = dropped, uint16(i)
	}
	for k, x := range s.chain {
		view := *b
		view.Sel = left
		sel := left
		if x.cond != nil {
			var err error
			if sel, err = expr.Filter(s.ctx, x.cond, &view, nil); err != nil {
				return nil, x.fault("filter", x.Filter, err)
			}
		}
		for _, i := range sel {
			which[i] = int8(k)
		}
		n := 0
		for _, i := range left {
			if which[i] == dropped {
				left[n] = i
				n++
			}
		}
		left = left[:n]
		if len(left) == 0 {
			break
		}
	}
	return which, nil
}

// decide gives each row the kind with which it comes out, by what the filter
// says of the rows before and after an update.
func decide(b *vector.Batch, which []int8) []vector.RowKind {
	if b.Kinds == nil {
		return nil
	}
	kinds := append([]vector.RowKind(nil), b.Kinds...)
	for i := 0; i+1 < b.Len; i++ {
		if kinds[i] != vector.UpdateBefore || kinds[i+1] != vector.UpdateAfter {
			continue
		}
		switch before, after := which[i] != dropped, which[i+1] != dropped; {
		case before && !after:
			kinds[i] = vector.Delete
		case !before && after:
			kinds[i+1] = vector.Insert
		}
		i++
	}
	return kinds
}

// rowsOf returns the rows that rule k takes; nil is all.
func rowsOf(which []int8, k, rules int) []uint16 {
	if which == nil {
		return nil
	}
	sel := make([]uint16, 0, len(which))
	for i, w := range which {
		if int(w) == k {
			sel = append(sel, uint16(i))
		}
	}
	if len(sel) == len(which) && rules == 1 {
		return nil
	}
	return sel
}

// column computes one column of the rows of view.
func (s *Shape) column(view *vector.Batch, x *bound, i int, out **vector.Vec) error {
	var v *vector.Vec
	if c := &x.cols[i]; c.plain >= 0 {
		v = view.Cols[c.plain]
	} else {
		var err error
		if v, err = c.e.Eval(s.ctx, view); err == nil && c.store != nil {
			v, err = c.store(v, view)
		}
		if err != nil {
			return errs.Userf(errs.InvalidConfig, "line %d: column %s: %w", x.Line, s.Output.Columns[i].Name, err)
		}
	}
	if len(s.chain) == 1 {
		*out = v
		return nil
	}
	if *out == nil {
		*out = vector.NewFlat(v.Kind, view.Len)
	}
	(*out).SetRows(v, view.Sel)
	return nil
}

// moved makes an update that changes the lake's key a delete and an insert.
func (s *Shape) moved(in *vector.Batch, which []int8, cols []*vector.Vec) {
	if in.Kinds == nil {
		return
	}
	for i := 0; i+1 < in.Len; i++ {
		if in.Kinds[i] != vector.UpdateBefore || in.Kinds[i+1] != vector.UpdateAfter || which[i] == dropped || which[i+1] == dropped {
			continue
		}
		for _, k := range s.keys {
			v := cols[k]
			if v.IsNull(i) != v.IsNull(i+1) || !v.IsNull(i) && vector.Compare(v.Values(), v.At(i), v.Values(), v.At(i+1)) != 0 {
				in.Kinds[i], in.Kinds[i+1] = vector.Delete, vector.Insert
				break
			}
		}
		i++
	}
}

// finish gathers the rows that come out.
func (s *Shape) finish(in *vector.Batch, which []int8, cols []*vector.Vec) *vector.Batch {
	out := &vector.Batch{Len: in.Len, Seq: -1, Kinds: in.Kinds}
	var sel []uint16
	if which != nil {
		sel = make([]uint16, 0, in.Len)
		for i, w := range which {
			if w != dropped && (s.before || in.Kinds == nil || in.Kinds[i] != vector.UpdateBefore) {
				sel = append(sel, uint16(i))
			}
		}
		if len(sel) == in.Len {
			sel = nil
		}
	}
	if sel != nil {
		out.Len, out.Kinds = len(sel), nil
		if in.Kinds != nil {
			for _, i := range sel {
				out.Kinds = append(out.Kinds, in.Kinds[i])
			}
		}
	}
	if s.chain[0].SoftDelete && out.Kinds != nil {
		out.Kinds = append([]vector.RowKind(nil), out.Kinds...)
		for i, k := range out.Kinds {
			if k == vector.Delete {
				out.Kinds[i] = vector.Insert
			}
		}
	}
	for i, v := range cols {
		if v == nil { // no rule took a row
			v = s.Output.Columns[i].Type.NewVec(0)
		} else if sel != nil {
			v = v.Gather(sel)
		}
		out.Cols = append(out.Cols, v.Flatten())
	}
	return out
}
