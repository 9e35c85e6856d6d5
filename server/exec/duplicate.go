package exec

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// duplicates runs the forms of INSERT that treat a row by whether its key is
// there: REPLACE, IGNORE, ON DUPLICATE KEY UPDATE, and the strict one.
//
// Rows are collected up to a number. Then the keys that have not been met yet
// are looked up in the snapshot that the statement began with, and the rows are
// gone through in order. Where rows are updated, the assignments run on stretches
// of rows whose keys differ.
type duplicates struct {
	c    *change
	ins  *plan.Insert
	t    *target
	keys rowKeys

	pending rowStore // rows to be inserted, as stored, then the columns ins.From
	acc     account
	// at has the keys that are there now: the number of their row in rows, or
	// here when only that matters. A key that was looked up and is not there has
	// none.
	at    map[string]int
	rows  rowStore // current rows of keys that were met
	held  int64
	whole bool // old rows are needed, not only their keys

	x      *query
	sets   *assignments
	rules  *mergeRules
	cols   []plan.Column
	wave   []int // pending rows to update with, and the rows they update
	waveAt []int
	inWave map[string]bool
}

// here marks a key that is there, where its row does not matter; gone one that
// was looked up and is not.
const (
	here = -1
	gone = -2
)

// pendingRows is the number of rows for which keys are looked up at once.
const pendingRows = 1 << 16

func newDuplicates(c *change, ins *plan.Insert, t *target) *duplicates {
	d := &duplicates{c: c, ins: ins, t: t, keys: rowKeys{cols: ins.KeyColumns()}, at: map[string]int{}, inWave: map[string]bool{}, acc: account{pays: c.budget}}
	d.whole = ins.Existing == plan.ReplaceRow || ins.Existing == plan.UpdateRow
	return d
}

// add collects rows, as stored, with the columns ins.From behind the schema's.
func (d *duplicates) add(ctx context.Context, x *query, b *vector.Batch, out *Outcome) error {
	if d.x == nil && d.ins.Existing == plan.UpdateRow {
		if err := d.bind(x); err != nil {
			return err
		}
	}
	d.pending.add(b.Cols, nil, b.Len)
	if err := d.hold(); err != nil {
		return err
	}
	if d.pending.n >= pendingRows {
		return d.settle(ctx, out)
	}
	return nil
}

func (d *duplicates) hold() error { return d.acc.hold(d.held + d.pending.bytes() + d.rows.bytes()) }

// bind readies the assignments: their batches have the old row's columns, then
// the new row's, then those of ins.From.
func (d *duplicates) bind(x *query) error {
	d.x = x
	for _, ids := range [][]plan.ColID{d.ins.Cols, d.ins.News} {
		for i, id := range ids {
			d.cols = append(d.cols, plan.Column{ID: id, Type: d.ins.Types[i]})
		}
	}
	from := d.ins.Sources[0].Columns[len(d.ins.Types):]
	for i, id := range d.ins.From {
		d.cols = append(d.cols, plan.Column{ID: id, Type: from[i].Type})
	}
	var err error
	if d.sets, err = d.c.bindSets(x, d.ins.Target, d.cols, d.ins.Sets, d.ins.Many || d.ins.Ignore); err != nil {
		return err
	}
	d.rules, err = rulesOf(d.ins.Target, d.ins.Sets)
	return err
}

// settle writes what has been collected.
func (d *duplicates) settle(ctx context.Context, out *Outcome) error {
	if d.pending.n == 0 {
		return nil
	}
	rows := &vector.Batch{Len: d.pending.n, Seq: -1, Cols: d.pending.cols[:len(d.ins.Types)]}
	if err := d.find(ctx, rows); err != nil {
		return err
	}
	for i := range rows.Len {
		key := string(d.keys.of(rows, i))
		if at := d.at[key]; at == gone {
			if err := d.store(key, rows, i); err != nil {
				return err
			}
			if err := d.t.put(ctx, rows, i, vector.Insert); err != nil {
				return err
			}
			out.Affected++
			out.Found++
			continue
		}
		if err := d.met(ctx, key, rows, i, out); err != nil {
			return err
		}
	}
	if err := d.update(ctx, rows, out); err != nil {
		return err
	}
	d.pending = rowStore{}
	return d.hold()
}

// find looks up the keys that have not been met.
func (d *duplicates) find(ctx context.Context, rows *vector.Batch) error {
	cols := d.ins.KeyColumns()
	wanted := &vector.Batch{Seq: -1}
	for _, f := range cols {
		wanted.Cols = append(wanted.Cols, d.ins.Schema.Fields[f].Type.NewVec(0))
	}
	for i := range rows.Len {
		key := d.keys.of(rows, i)
		if _, known := d.at[string(key)]; known {
			continue
		}
		d.at[string(key)] = gone
		d.held += int64(len(key)) + 56
		for p, f := range cols {
			wanted.Cols[p].AppendFrom(rows.Cols[f], i)
		}
		wanted.Len++
	}
	if err := d.hold(); err != nil {
		return err
	}
	if wanted.Len == 0 {
		return nil
	}
	return d.c.lookup(ctx, d.ins.Target, wanted, func(key []byte) bool {
		_, ok := d.at[string(key)]
		return ok
	}, d.whole, func(key []byte, b *vector.Batch, row int) error {
		if d.at[string(key)] != gone {
			return nil // met before: it may have changed since
		}
		if !d.whole {
			d.at[string(key)] = here
			return nil
		}
		d.at[string(key)] = d.rows.n
		d.rows.add(b.Cols, []uint16{uint16(row)}, 1)
		return d.hold()
	})
}

// store makes row i of b the current row of a key.
func (d *duplicates) store(key string, b *vector.Batch, i int) error {
	if !d.whole {
		d.at[key] = here
		return nil
	}
	one := make([]*vector.Vec, len(b.Cols))
	for c, v := range b.Cols {
		one[c] = vector.NewLike(v.Values(), 1)
		one[c].AppendFrom(v, i)
	}
	d.at[key] = d.rows.n
	d.rows.add(one, nil, 1)
	return nil
}

// met treats a row whose key is there.
func (d *duplicates) met(ctx context.Context, key string, rows *vector.Batch, i int, out *Outcome) error {
	switch d.ins.Existing {
	case plan.Fail:
		return duplicate(d.c.env, d.ins.Target, rows, d.keys.cols, i)
	case plan.Skip:
		err := duplicate(d.c.env, d.ins.Target, rows, d.keys.cols, i)
		d.c.env.Expr.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.DuplicateKey, Message: err.Error()})
		out.Duplicates++
		return nil
	case plan.ReplaceRow:
		out.Affected++
		out.Found++
		old := d.at[key]
		same := true
		for c, v := range rows.Cols {
			same = same && equalAt(v, i, d.rows.cols[c], old)
		}
		if same {
			return nil
		}
		out.Affected++
		out.Found++
		out.Duplicates++
		if err := d.store(key, rows, i); err != nil {
			return err
		}
		if d.t.changelogInput() {
			if err := d.t.put(ctx, &vector.Batch{Len: d.rows.n, Cols: d.rows.cols}, old, vector.UpdateBefore); err != nil {
				return err
			}
		}
		return d.t.put(ctx, rows, i, vector.UpdateAfter)
	}
	if d.inWave[key] || len(d.wave) >= vector.BatchRows {
		if err := d.update(ctx, rows, out); err != nil {
			return err
		}
	}
	d.inWave[key] = true
	d.wave = append(d.wave, i)
	d.waveAt = append(d.waveAt, d.at[key])
	return nil
}

func equalAt(v *vector.Vec, i int, w *vector.Vec, j int) bool {
	if x, y := v.IsNull(i), w.IsNull(j); x || y {
		return x && y
	}
	return v.Kind < vector.List && vector.Compare(v, i, w, j) == 0
}

// update runs the assignments on the rows of the wave.
func (d *duplicates) update(ctx context.Context, rows *vector.Batch, out *Outcome) error {
	n := len(d.wave)
	if n == 0 {
		return nil
	}
	old := &vector.Batch{Len: n, Seq: -1}
	in := &vector.Batch{Len: n, Seq: -1}
	index := func(at []int) []int32 {
		idx := make([]int32, n)
		for k, i := range at {
			idx[k] = int32(i)
		}
		return idx
	}
	pick := func(cols []*vector.Vec, idx []int32) error {
		for f, c := range cols {
			v := take(c, idx)
			if len(in.Cols) < len(d.ins.Cols) {
				old.Cols = append(old.Cols, v)
			}
			sql, err := loaded(d.c.env, d.ins.Target, f, v)
			if err != nil {
				return err
			}
			in.Cols = append(in.Cols, sql)
		}
		return nil
	}
	if err := pick(d.rows.cols, index(d.waveAt)); err != nil {
		return err
	}
	added := index(d.wave)
	if err := pick(rows.Cols, added); err != nil {
		return err
	}
	for _, c := range d.pending.cols[len(rows.Cols):] {
		in.Cols = append(in.Cols, take(c, added))
	}
	now, changed, err := d.sets.run(in, old, int(out.Matched))
	if err != nil {
		return err
	}
	out.Found += uint64(n) // a row that stays as it was counts 1, one that changes 2
	for _, i := range changed {
		key := string(d.keys.of(old, int(i)))
		if string(d.keys.of(now, int(i))) != key {
			return errs.Unsupportedf(-1, "changing the primary key in ON DUPLICATE KEY UPDATE")
		}
		if err := d.store(key, now, int(i)); err != nil {
			return err
		}
	}
	out.Affected += 2 * uint64(len(changed))
	out.Found += uint64(len(changed))
	out.Duplicates += uint64(len(changed))
	write, err := d.rules.apply(old, now, changed)
	if err != nil {
		return err
	}
	for _, i := range changed {
		if d.t.changelogInput() {
			if err := d.t.put(ctx, old, int(i), vector.UpdateBefore); err != nil {
				return err
			}
		}
		if err := d.t.put(ctx, write, int(i), vector.UpdateAfter); err != nil {
			return err
		}
	}
	d.wave, d.waveAt = d.wave[:0], d.waveAt[:0]
	clear(d.inWave)
	return d.hold()
}
