package exec

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// branch is one WHEN of a MERGE while it runs.
type branch struct {
	plan.When
	and    expr.Expr
	sets   *assignments
	values []expr.Expr
	as     []*assigner
	rules  *mergeRules
}

// merging is a MERGE while it runs.
type merging struct {
	c        *change
	m        *plan.Merge
	t        *target
	source   int // position of the source's mark
	branches []*branch
	keys     rowKeys // of rows as stored
	touched  *keySet // rows of the target that were changed
	inserted *keySet // keys of new rows
	deleted  map[string]bool
	doubtful *vector.Batch // keys of new rows that may be in the table
	out      Outcome
}

// Merge runs MERGE INTO. Rows become visible together.
func Merge(ctx context.Context, m *plan.Merge, env Env) (out Outcome, err error) {
	c := newChange(env, false)
	defer c.close()
	w, err := c.open(ctx, m.Target)
	if err != nil {
		return out, err
	}
	targets := []*target{w}
	defer func() { closeTargets(targets, &err) }()
	if err := w.locate(m.Query); err != nil {
		return out, err
	}
	x := &merging{c: c, m: m, t: w, source: -1, keys: rowKeys{cols: m.KeyColumns()}, touched: newKeySet(c.budget), inserted: newKeySet(c.budget), deleted: map[string]bool{}}
	for i, col := range m.Query.Columns {
		if col.ID == m.Source {
			x.source = i
		}
	}
	err = c.each(ctx, m.Query, func(q *query, b *vector.Batch) error {
		if x.branches == nil {
			if err := x.bind(q); err != nil {
				return err
			}
		}
		return x.batch(ctx, b)
	})
	if err != nil {
		return out, err
	}
	if err := x.absent(ctx); err != nil {
		return out, err
	}
	if err := c.finish(ctx, targets, connector.Committable{}); err != nil {
		return out, err
	}
	return x.out, nil
}

func (x *merging) bind(q *query) error {
	var l layout
	for _, col := range x.m.Query.Columns {
		l = append(l, col.ID)
	}
	comp := compiler{x: q}
	for _, w := range x.m.Whens {
		b := &branch{When: w}
		var err error
		if w.And != nil {
			if b.and, err = comp.bind(w.And, l); err != nil {
				return err
			}
		}
		switch w.Action {
		case syntax.MergeUpdate:
			if b.sets, err = x.c.bindSets(q, x.m.Target, x.m.Query.Columns, w.Sets, true); err != nil {
				return err
			}
			if b.rules, err = rulesOf(x.m.Target, w.Sets); err != nil {
				return err
			}
		case syntax.MergeInsert:
			if b.values, err = comp.bindAll(w.Values, l); err != nil {
				return err
			}
			for i, v := range b.values {
				as, err := newAssigner(x.c.env.Expr, x.m.Schema.Fields[i], x.m.Types[i], v.Type(), x.c.strict)
				if err != nil {
					return err
				}
				b.as = append(b.as, as)
			}
		}
		x.branches = append(x.branches, b)
	}
	return nil
}

// batch decides for each row which branch it takes, and runs the branches.
func (x *merging) batch(ctx context.Context, b *vector.Batch) error {
	var both, source, alone []uint16
	for i := range b.Len {
		switch t, s := !b.Cols[x.t.present].IsNull(i), !b.Cols[x.source].IsNull(i); {
		case t && s:
			both = append(both, uint16(i))
		case s:
			source = append(source, uint16(i))
		case t:
			alone = append(alone, uint16(i))
		}
	}
	for _, w := range x.branches {
		rows := &source
		switch {
		case w.Matched:
			rows = &both
		case w.BySource:
			rows = &alone
		}
		take := *rows
		if len(take) == 0 {
			continue
		}
		*rows = nil
		if w.and != nil {
			one := *b
			one.Sel = take
			hit, err := expr.Filter(x.c.env.Expr, w.and, &one, nil)
			if err != nil {
				return err
			}
			*rows = without(take, hit)
			take = hit
		}
		if len(take) == 0 || w.Action == syntax.MergeDoNothing {
			continue
		}
		if err := x.run(ctx, w, dense(b, take)); err != nil {
			return err
		}
	}
	return nil
}

// without returns the positions of a, ascending, that are not in b.
func without(a, b []uint16) []uint16 {
	out := make([]uint16, 0, len(a)-len(b))
	k := 0
	for _, i := range a {
		if k < len(b) && b[k] == i {
			k++
			continue
		}
		out = append(out, i)
	}
	return out
}

// run does what a branch says with all rows of b.
func (x *merging) run(ctx context.Context, w *branch, b *vector.Batch) error {
	t := x.t
	if w.Action == syntax.MergeInsert {
		return x.insert(ctx, w, b)
	}
	// A row of the target that two rows of the source change has no one outcome.
	for i := range b.Len {
		fresh, err := x.touched.add(t.ids.of(b, i))
		if err != nil {
			return err
		}
		if !fresh {
			return errs.Userf(errs.MergeMatchedTwo, "merge into table %s: a row of it matches more than one row of the source; make the source's rows unique by the columns of ON", t.ID)
		}
	}
	n := uint64(b.Len)
	x.out.Matched += n
	old := t.stored(b)
	if w.Action == syntax.MergeDelete {
		x.out.Changed += n
		x.out.Affected += n
		x.out.Found += n
		if !t.Keyed() {
			return t.remove(ctx, b, nil)
		}
		// A new row of the same key that came first stays.
		var sel []uint16
		for i := range b.Len {
			key := string(x.keys.of(old, i))
			x.deleted[key] = true // its memory is that of touched
			if !x.inserted.has[key] {
				sel = append(sel, uint16(i))
			}
		}
		return t.write(ctx, old, append([]uint16{}, sel...), vector.Delete)
	}
	now, changed, err := w.sets.run(b, old, int(x.out.Matched))
	if err != nil {
		return err
	}
	for _, i := range changed {
		if !t.Keyed() {
			break
		}
		was := string(x.keys.of(old, int(i)))
		if is := x.keys.of(now, int(i)); was != string(is) {
			return errs.Unsupportedf(-1, "MERGE that changes the primary key of a row; DELETE and INSERT it")
		}
		if x.inserted.has[was] {
			return duplicate(x.c.env, t.Target, old, x.keys.cols, int(i))
		}
	}
	u := &updating{target: t, rules: w.rules}
	x.out.Changed += uint64(len(changed))
	x.out.Affected += uint64(len(changed))
	x.out.Found += n
	if len(changed) == 0 {
		return nil
	}
	return u.replace(ctx, b, old, now, changed)
}

func (x *merging) insert(ctx context.Context, w *branch, b *vector.Batch) error {
	t := x.t
	now := &vector.Batch{Len: b.Len, Seq: -1}
	for i, v := range w.values {
		vec, err := v.Eval(x.c.env.Expr, b)
		if err != nil {
			return err
		}
		out, err := w.as[i].convert(vec, nil, b.Len, int(x.out.Affected)+1)
		if err != nil {
			return err
		}
		now.Cols = append(now.Cols, out)
	}
	if t.Keyed() {
		for i := range b.Len {
			key := x.keys.of(now, i)
			fresh, err := x.inserted.add(key)
			if err != nil {
				return err
			}
			if !fresh || x.touched.has[string(key)] && !x.deleted[string(key)] {
				return duplicate(x.c.env, t.Target, now, x.keys.cols, i)
			}
			if !w.Absent {
				x.doubt(now, i)
			}
		}
	}
	x.out.Affected += uint64(b.Len)
	x.out.Found += uint64(b.Len)
	return t.write(ctx, now, nil, vector.Insert)
}

// doubt notes a new key that the condition of ON does not rule out in the table.
func (x *merging) doubt(now *vector.Batch, i int) {
	if x.doubtful == nil {
		x.doubtful = &vector.Batch{Seq: -1}
		for _, f := range x.keys.cols {
			x.doubtful.Cols = append(x.doubtful.Cols, x.m.Schema.Fields[f].Type.NewVec(0))
		}
	}
	for p, f := range x.keys.cols {
		x.doubtful.Cols[p].AppendFrom(now.Cols[f], i)
	}
	x.doubtful.Len++
}

// absent makes sure that new keys take the place of no row but of those that the
// statement deletes: such a row was not matched, so that nobody meant it.
func (x *merging) absent(ctx context.Context) error {
	if x.doubtful == nil {
		return nil
	}
	return x.c.lookup(ctx, x.m.Target, x.doubtful, func(key []byte) bool {
		return x.inserted.has[string(key)] && !x.deleted[string(key)]
	}, false, func(_ []byte, b *vector.Batch, row int) error {
		cols := make([]int, len(b.Cols))
		for i := range cols {
			cols[i] = i
		}
		return duplicate(x.c.env, x.m.Target, b, cols, row)
	})
}
