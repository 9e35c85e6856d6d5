package exec

import (
	"context"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// setting is one assignment, ready to run.
type setting struct {
	plan.Set
	value expr.Expr // over the query's columns and the outcomes before it
	as    *assigner
}

// assignments run the assignments of one target on batches of its rows.
type assignments struct {
	c    *change
	t    *plan.Target
	sets []setting
	// inOrder: they read and set user variables, one row after the other.
	inOrder bool
}

// bindSets readies assignments for batches whose columns are cols. Values of
// assignments are appended as columns, in order. With zero, and without strict mode, NULL
// becomes the zero of a NOT NULL column.
func (c *change) bindSets(x *query, t *plan.Target, cols []plan.Column, sets []plan.Set, zero bool) (*assignments, error) {
	a := &assignments{c: c, t: t}
	var l layout
	for _, col := range cols {
		l = append(l, col.ID)
	}
	for _, s := range sets {
		v, err := (compiler{x: x}).bind(s.Value, l)
		if err != nil {
			return nil, err
		}
		as, err := newAssigner(c.env.Expr, t.Schema.Fields[s.Field], t.Types[s.Field], v.Type(), c.strict)
		if err != nil {
			return nil, err
		}
		as.table = t.ID.Table
		as.zero = zero && !c.strict
		a.sets = append(a.sets, setting{Set: s, value: v, as: as})
		l = append(l, s.New)
	}
	return a, nil
}

// run computes the assignments for the rows of b, which has no selection. old
// are the rows as stored. It returns the rows as they will be stored, and the
// positions of those that differ from old. first is the number of the first row
// in the statement, from 1.
func (a *assignments) run(b, old *vector.Batch, first int) (now *vector.Batch, changed []uint16, err error) {
	if a.inOrder && b.Len > 1 {
		return a.runInOrder(b, old, first)
	}
	in := &vector.Batch{Len: b.Len, Seq: -1, Cols: append([]*vector.Vec(nil), b.Cols...)}
	now = &vector.Batch{Len: old.Len, Seq: -1, Cols: append([]*vector.Vec(nil), old.Cols...)}
	for _, s := range a.sets {
		v, err := s.value.Eval(a.c.env.Expr, in)
		if err != nil {
			return nil, nil, err
		}
		w, err := s.as.convert(v, nil, b.Len, first)
		if err != nil {
			return nil, nil, err
		}
		now.Cols[s.Field] = w
		sql, err := loaded(a.c.env, a.t, s.Field, w)
		if err != nil {
			return nil, nil, err
		}
		in.Cols = append(in.Cols, sql)
	}
	changed = make([]uint16, 0, b.Len)
	for i := range b.Len {
		for _, s := range a.sets {
			if differ(old.Cols[s.Field], now.Cols[s.Field], i) {
				changed = append(changed, uint16(i))
				break
			}
		}
	}
	return now, changed, nil
}

// runInOrder is run, one row after the other.
func (a *assignments) runInOrder(b, old *vector.Batch, first int) (now *vector.Batch, changed []uint16, err error) {
	now = &vector.Batch{Len: old.Len, Seq: -1, Cols: append([]*vector.Vec(nil), old.Cols...)}
	for _, s := range a.sets {
		now.Cols[s.Field] = a.t.Schema.Fields[s.Field].Type.NewVec(b.Len)
	}
	for i := range b.Len {
		sel := []uint16{uint16(i)}
		one, diff, err := a.run(dense(b, sel), dense(old, sel), first+i)
		if err != nil {
			return nil, nil, err
		}
		for k, s := range a.sets {
			if !slices.ContainsFunc(a.sets[:k], func(x setting) bool { return x.Field == s.Field }) {
				now.Cols[s.Field].AppendFrom(one.Cols[s.Field], 0)
			}
		}
		if len(diff) > 0 {
			changed = append(changed, uint16(i))
		}
	}
	return now, changed, nil
}

// differ reports whether row i has other values in v and w.
func differ(v, w *vector.Vec, i int) bool {
	if x, y := v.IsNull(i), w.IsNull(i); x || y {
		return x != y
	}
	if v.Kind >= vector.List {
		return true
	}
	return vector.Compare(v, i, w, i) != 0
}

// updating is a target of UPDATE while it runs.
type updating struct {
	*target
	sets  *assignments
	once  *keySet // with several tables
	moves bool    // the primary key is assigned to
	old   rowStore
	now   rowStore
	rules *mergeRules
}

// Update runs UPDATE. Rows become visible together.
func Update(ctx context.Context, u *plan.Update, env Env) (out Outcome, err error) {
	c := newChange(env, u.Ignore)
	defer c.close()
	var targets []*target
	var list []*plan.Target
	for _, t := range u.Targets {
		list = append(list, t.Target)
	}
	if err := separate(list); err != nil {
		return out, err
	}
	defer func() { closeTargets(targets, &err) }()
	us := make([]*updating, len(u.Targets))
	for i, t := range u.Targets {
		w, err := c.open(ctx, t.Target)
		if err != nil {
			return out, err
		}
		targets = append(targets, w)
		if err := w.locate(u.Query); err != nil {
			return out, err
		}
		x := &updating{target: w}
		if u.Several {
			x.once = newKeySet(c.budget)
		}
		for _, s := range t.Sets {
			for _, k := range t.KeyColumns() {
				x.moves = x.moves || s.Field == k
			}
		}
		if x.rules, err = rulesOf(t.Target, t.Sets); err != nil {
			return out, err
		}
		us[i] = x
	}
	acc := account{pays: c.budget}
	err = c.each(ctx, u.Query, func(x *query, b *vector.Batch) error {
		for i, t := range us {
			if t.sets == nil {
				var err error
				if t.sets, err = c.bindSets(x, t.Target, u.Query.Columns, u.Targets[i].Sets, true); err != nil {
					return err
				}
				t.sets.inOrder = u.InOrder
			}
			sel, err := t.there(b, t.once)
			if err != nil {
				return err
			}
			mine := b
			if sel != nil {
				mine = dense(b, sel)
			}
			if mine.Len == 0 {
				continue
			}
			old := t.stored(mine)
			now, changed, err := t.sets.run(mine, old, int(out.Matched)+1)
			if err != nil && !u.InOrder {
				if fault := c.firstUpdateFault(ctx, t, mine, int(out.Matched)+1); fault != nil {
					return fault
				}
			}
			if err != nil {
				return err
			}
			out.Matched += uint64(mine.Len)
			out.Changed += uint64(len(changed))
			if len(changed) == 0 {
				continue
			}
			if t.moves {
				t.old.add(old.Cols, changed, len(changed))
				t.now.add(now.Cols, changed, len(changed))
				if err := acc.hold(t.old.bytes() + t.now.bytes()); err != nil {
					return err
				}
				continue
			}
			if err := t.replace(ctx, mine, old, now, changed); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	for _, t := range us {
		if t.moves {
			skipped, err := c.move(ctx, t, u.Ignore)
			if err != nil {
				return out, err
			}
			out.Changed -= skipped
		}
	}
	if err := c.finish(ctx, targets, connector.Committable{}); err != nil {
		return out, err
	}
	out.Affected, out.Found = out.Changed, out.Matched
	return out, nil
}

// firstUpdateFault finds the first row of b that cannot be updated, or that would
// take another's key before.
func (c *change) firstUpdateFault(ctx context.Context, t *updating, b *vector.Batch, first int) error {
	for i := range b.Len {
		one := dense(b, []uint16{uint16(i)})
		old := t.stored(one)
		now, changed, fault := t.sets.run(one, old, first+i)
		if fault != nil {
			if t.moves {
				if _, err := c.move(ctx, t, false); err != nil {
					return err
				}
			}
			return fault
		}
		if t.moves {
			t.old.add(old.Cols, changed, len(changed))
			t.now.add(now.Cols, changed, len(changed))
		}
	}
	return nil
}

// replace writes the new rows at the positions changed.
func (t *updating) replace(ctx context.Context, b, old, now *vector.Batch, changed []uint16) error {
	if !t.Keyed() {
		t.changed = true
		if err := t.Change.Delete(ctx, b.Cols[t.address], changed); err != nil {
			return err
		}
		return t.write(ctx, now, changed, vector.Insert)
	}
	now, err := t.rules.apply(old, now, changed)
	if err != nil {
		return err
	}
	if t.changelogInput() {
		if err := t.write(ctx, old, changed, vector.UpdateBefore); err != nil {
			return err
		}
	}
	return t.write(ctx, now, changed, vector.UpdateAfter)
}

// move writes rows whose keys may have changed, in the statement's order: an old
// key goes, the new one must not be there at that moment. It returns how many
// rows IGNORE left as they were.
func (c *change) move(ctx context.Context, t *updating, ignore bool) (skipped uint64, err error) {
	if t.now.n == 0 {
		return 0, nil
	}
	keys := t.KeyColumns()
	k := rowKeys{cols: keys}
	old, now := &vector.Batch{Len: t.old.n, Cols: t.old.cols}, &vector.Batch{Len: t.now.n, Cols: t.now.cols}
	want := newKeySet(c.budget)
	wanted := &vector.Batch{}
	for _, f := range keys {
		wanted.Cols = append(wanted.Cols, t.Schema.Fields[f].Type.NewVec(0))
	}
	moves := make([]bool, now.Len)
	for i := range now.Len {
		was := string(k.of(old, i))
		is := k.of(now, i)
		if was == string(is) {
			continue
		}
		moves[i] = true
		fresh, err := want.add(is)
		if err != nil {
			return 0, err
		}
		if fresh {
			for p, f := range keys {
				wanted.Cols[p].AppendFrom(now.Cols[f], i)
			}
			wanted.Len++
		}
	}
	live := map[string]bool{} // of the keys that matter
	if wanted.Len > 0 {
		err := c.lookup(ctx, t.Target, wanted, func(key []byte) bool { return want.has[string(key)] }, false, func(key []byte, _ *vector.Batch, _ int) error {
			live[string(key)] = true
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	for i := range now.Len {
		if !moves[i] {
			if err := t.put(ctx, now, i, vector.UpdateAfter); err != nil {
				return 0, err
			}
			continue
		}
		is := string(k.of(now, i))
		if live[is] {
			err := duplicate(c.env, t.Target, now, keys, i)
			if !ignore {
				return 0, err
			}
			c.env.Expr.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.DuplicateKey, Message: err.Error()})
			skipped++
			continue
		}
		live[string(k.of(old, i))] = false
		live[is] = true
		if err := t.put(ctx, old, i, vector.Delete); err != nil {
			return 0, err
		}
		if err := t.put(ctx, now, i, vector.Insert); err != nil {
			return 0, err
		}
	}
	return skipped, nil
}

// mergeRules are what a table's merge engine demands of rows that take another's
// place.
type mergeRules struct {
	t        *plan.Target
	sequence []int // sequence fields that are assigned to
	desc     bool
	partial  []int // assigned columns of a partial-update table
	keep     []int // its columns that NULL leaves as they are
}

// rulesOf refuses assignments that the table's merge engine would lose, and says
// what must be seen to in others.
func rulesOf(t *plan.Target, sets []plan.Set) (*mergeRules, error) {
	r := &mergeRules{t: t}
	if !t.Keyed() {
		return r, nil
	}
	assigned := map[int]bool{}
	for _, s := range sets {
		assigned[s.Field] = true
	}
	cols, desc := sequenceFields(t)
	for _, i := range cols {
		if assigned[i] {
			r.sequence, r.desc = cols, desc
		}
	}
	if t.Option("merge-engine") != "partial-update" {
		return r, nil
	}
	for i, f := range t.Schema.Fields {
		combined := t.Schema.Options["fields."+f.Name+".aggregate-function"] != ""
		_, leads := t.Schema.Options["fields."+f.Name+".sequence-group"]
		switch {
		case assigned[i] && (combined || leads):
			return nil, errs.Unsupportedf(-1, "UPDATE of column %s of table %s, whose values are combined ('partial-update')", f.Name, t.ID)
		case assigned[i]:
			r.partial = append(r.partial, i)
		case combined:
			r.keep = append(r.keep, i)
		}
	}
	for k := range t.Schema.Options {
		if names, ok := strings.CutPrefix(k, "fields."); ok && strings.HasSuffix(names, ".sequence-group") && strings.Contains(names, ",") {
			return nil, errs.Unsupportedf(-1, "UPDATE of table %s with the option '%s'", t.ID, k)
		}
	}
	return r, nil
}

// apply checks new rows and returns them as they must be written.
func (r *mergeRules) apply(old, now *vector.Batch, changed []uint16) (*vector.Batch, error) {
	for _, i := range changed {
		for _, p := range r.partial {
			if now.Cols[p].IsNull(int(i)) && !old.Cols[p].IsNull(int(i)) {
				return nil, errs.Unsupportedf(-1, "UPDATE to NULL of column %s of table %s: 'merge-engine' = 'partial-update' keeps the old value where the new one is NULL", r.t.Schema.Fields[p].Name, r.t.ID)
			}
		}
		for _, p := range r.sequence {
			d := compareNulls(now.Cols[p], old.Cols[p], int(i))
			if r.desc {
				d = -d
			}
			if d < 0 {
				return nil, errs.Unsupportedf(-1, "UPDATE that lowers column %s of table %s: it is a 'sequence.field', so that the old row would win", r.t.Schema.Fields[p].Name, r.t.ID)
			}
			if d > 0 {
				break
			}
		}
	}
	if len(r.keep) == 0 {
		return now, nil
	}
	out := &vector.Batch{Len: now.Len, Seq: -1, Cols: append([]*vector.Vec(nil), now.Cols...)}
	for _, p := range r.keep {
		out.Cols[p] = vector.NewNull(out.Cols[p].Kind, out.Len)
	}
	return out, nil
}

// compareNulls compares row i of two vectors, NULL first.
func compareNulls(v, w *vector.Vec, i int) int {
	switch x, y := v.IsNull(i), w.IsNull(i); {
	case x && y:
		return 0
	case x:
		return -1
	case y:
		return 1
	}
	return vector.Compare(v, i, w, i)
}

// Delete runs DELETE. Rows vanish together.
func Delete(ctx context.Context, d *plan.Delete, env Env) (out Outcome, err error) {
	c := newChange(env, d.Ignore)
	defer c.close()
	if err := separate(d.Targets); err != nil {
		return out, err
	}
	var targets []*target
	defer func() { closeTargets(targets, &err) }()
	once := make([]*keySet, len(d.Targets))
	for i, t := range d.Targets {
		w, err := c.open(ctx, t)
		if err != nil {
			return out, err
		}
		targets = append(targets, w)
		if err := w.locate(d.Query); err != nil {
			return out, err
		}
		if d.Several {
			once[i] = newKeySet(c.budget)
		}
	}
	err = c.each(ctx, d.Query, func(_ *query, b *vector.Batch) error {
		for i, t := range targets {
			sel, err := t.there(b, once[i])
			if err != nil {
				return err
			}
			n := b.Len
			if sel != nil {
				n = len(sel)
			}
			if n == 0 {
				continue
			}
			out.Changed += uint64(n)
			if err := t.remove(ctx, b, sel); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	if err := c.finish(ctx, targets, connector.Committable{}); err != nil {
		return out, err
	}
	out.Matched, out.Affected, out.Found = out.Changed, out.Changed, out.Changed
	return out, nil
}

// remove deletes the target's rows of a query's batch at sel.
func (t *target) remove(ctx context.Context, b *vector.Batch, sel []uint16) error {
	if !t.Keyed() {
		t.changed = true
		if sel == nil {
			return t.Change.Delete(ctx, b.Cols[t.address], nil)
		}
		return t.Change.Delete(ctx, b.Cols[t.address], sel)
	}
	return t.write(ctx, t.stored(b), sel, vector.Delete)
}
