package merge

import (
	"errors"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// group merges the rows of one key, for all rules but the plain ones.
type group struct {
	m    *Merger
	g    *Rules
	rows []groupRow
	cols []groupColumn // ascending by column of the schema
	seq  []int         // positions of the sequence columns in batches
	out  []int         // for each column of the output its position in cols

	// made are the rows that were made of several; fast makes those that can be
	// made column by column, nil when none can.
	made *maker
	fast *columnar

	// State of the row being made.
	row           []value
	currentDelete bool
	meetAdd       bool
	filled        bool
	done          []bool // ordering columns that were handled for a record
}

// groupColumn is a column that merging handles.
type groupColumn struct {
	schema int // column of the schema
	at     int // position in batches
	rule   *rule
	group  []int // ordering columns of its sequence group, as positions in cols
	cell   cell
}

// groupRow is a row of the key.
type groupRow struct {
	c   *cursor
	pos uint32
}

func newGroup(m *Merger) *group {
	gr := &group{m: m, g: m.cfg.Rules}
	fields := gr.g.schema.Fields
	at := map[int]int{}
	for i, c := range m.cfg.Columns {
		if _, twice := at[c]; !twice {
			at[c] = i
		}
	}
	for _, c := range gr.g.Sequence {
		gr.seq = append(gr.seq, at[c])
	}
	if !gr.g.Combines() {
		return gr
	}
	var cols []int
	for c := range at {
		cols = append(cols, c)
	}
	slices.Sort(cols)
	pos := map[int]int{}
	for i, c := range cols {
		pos[c] = i
		gr.cols = append(gr.cols, groupColumn{schema: c, at: at[c], rule: &gr.g.columns[c], cell: cell{typ: fields[c].Type}})
	}
	for i := range gr.cols {
		for _, c := range gr.cols[i].rule.group {
			gr.cols[i].group = append(gr.cols[i].group, pos[c])
		}
	}
	for _, c := range m.cfg.Columns[:m.cfg.Out] {
		gr.out = append(gr.out, pos[c])
	}
	gr.made = newMaker(m)
	if len(gr.g.ordering) == 0 && (m.cfg.Changes == nil || !m.cfg.Changes.Deduplicate) {
		gr.fast = &columnar{gr: gr, made: newMaker(m)}
	}
	gr.row, gr.done = make([]value, len(gr.cols)), make([]bool, len(gr.cols))
	return gr
}

// maker holds rows that were made of several until they are copied or given out.
type maker struct {
	cursor *cursor
	batch  vector.Batch
	given  bool
	rows   Rows
}

func newMaker(m *Merger) *maker {
	k := &maker{batch: vector.Batch{Seq: -1}}
	for _, t := range m.types() {
		k.batch.Cols = append(k.batch.Cols, t.NewVec(0))
	}
	k.cursor = &cursor{id: len(m.cur), cols: k.batch.Cols}
	m.cur = append(m.cur, k.cursor)
	return k
}

// release empties the rows.
func (k *maker) release(m *Merger) {
	k.given = false
	if c := k.cursor; c.n > 0 {
		k.batch.Reset()
		c.n, c.kinds, c.seqs = 0, c.kinds[:0], c.seqs[:0]
		m.out.forget(c)
		if m.changes != nil {
			m.changes.out.forget(c)
		}
	}
}

// renew empties the rows if they were given out, before another is made.
func (k *maker) renew(m *Merger) {
	if k.given {
		k.release(m)
	}
}

// take gives out the rows when they are at least n, nil otherwise.
func (k *maker) take(m *Merger, n int) *Rows {
	k.renew(m)
	if k.cursor.n < n {
		return nil
	}
	k.given = true
	k.batch.Len = k.cursor.n
	if m.cfg.KeepDeletes {
		k.batch.Kinds = k.cursor.kinds
	}
	k.rows = Rows{Batch: &k.batch, Seqs: k.cursor.seqs}
	return &k.rows
}

// compute makes the rows that are due.
func (gr *group) compute() error {
	if gr == nil {
		return nil
	}
	return gr.fast.compute()
}

// release empties the made rows after they were copied out.
func (gr *group) release() {
	if gr.made != nil {
		gr.made.release(gr.m)
	}
	if gr.fast != nil {
		gr.fast.made.release(gr.m)
	}
}

// full gives out made rows when they are at least n, nil otherwise.
func (gr *group) full(n int) (*Rows, error) {
	if gr.fast != nil && gr.fast.made.cursor.n >= n {
		if err := gr.compute(); err != nil {
			return nil, err
		}
		if out := gr.fast.made.take(gr.m, n); out != nil {
			return out, nil
		}
	}
	if gr.made == nil {
		return nil, nil
	}
	return gr.made.take(gr.m, n), nil
}

// merge makes a row of those of one key and returns where it lies; ok is false
// when there is none.
func (gr *group) merge(same []ref) (w ref, ok bool, err error) {
	gr.rows = gr.rows[:0]
	for _, r := range same {
		gr.rows = append(gr.rows, groupRow{gr.m.cur[r.run], r.pos})
	}
	if len(gr.rows) > 12 {
		slices.SortFunc(gr.rows, gr.compare)
	} else {
		for i := 1; i < len(gr.rows); i++ {
			for j := i; j > 0 && gr.compare(gr.rows[j-1], gr.rows[j]) > 0; j-- {
				gr.rows[j-1], gr.rows[j] = gr.rows[j], gr.rows[j-1]
			}
		}
	}
	if gr.g.Lookup {
		gr.dropTakenIn()
	}
	at := func(w groupRow) ref { return ref{uint32(w.c.id), w.pos} }
	switch gr.g.Engine {
	case Deduplicate:
		for i := len(gr.rows) - 1; i >= 0; i-- {
			if w := gr.rows[i]; !gr.g.IgnoreDeletes || !w.c.retracts(w.pos) {
				return at(w), true, nil
			}
		}
		return ref{}, false, nil
	case FirstRow:
		for _, w := range gr.rows {
			if !w.c.retracts(w.pos) {
				continue
			}
			if !gr.g.IgnoreDeletes {
				return ref{}, false, errs.Userf(errs.WrongValue, "table %s: it holds deletions, which its merge engine first-row does not take without 'ignore-delete'", gr.g.table)
			}
		}
		for _, w := range gr.rows {
			if !w.c.retracts(w.pos) {
				return at(w), true, nil
			}
		}
		return ref{}, false, nil
	}
	if gr.fast.able(gr.rows) {
		return gr.fast.add(gr.rows), true, nil
	}
	return gr.combine()
}

// compare orders rows of one key from the oldest to the newest: by the sequence
// columns, then the sequence numbers, then deletions before additions.
func (gr *group) compare(a, b groupRow) int {
	for _, c := range gr.seq {
		x, y := value{a.c.cols[c], int(a.pos)}, value{b.c.cols[c], int(b.pos)}
		d := compareOrder(x, y)
		if gr.g.Descending && !x.null() && !y.null() {
			d = -d
		}
		if d != 0 {
			return d
		}
	}
	if gr.m.newer(ref{uint32(a.c.id), a.pos}, ref{uint32(b.c.id), b.pos}) {
		return 1
	}
	return -1
}

// dropTakenIn keeps of the rows above level 0 the one on the lowest level, which
// has taken in those below (Java's LookupMergeFunction).
func (gr *group) dropTakenIn() {
	best := -1
	for i, w := range gr.rows {
		if w.c.level > 0 && (best < 0 || w.c.level < gr.rows[best].c.level) {
			best = i
		}
	}
	kept := gr.rows[:0]
	for i, w := range gr.rows {
		if w.c.level <= 0 || i == best {
			kept = append(kept, w)
		}
	}
	gr.rows = kept
}

// combine makes one row of the rows of a key.
func (gr *group) combine() (w ref, ok bool, err error) {
	gr.made.renew(gr.m)
	gr.currentDelete, gr.meetAdd, gr.filled = false, false, false
	for i := range gr.cols {
		gr.row[i] = value{}
		gr.cols[i].cell.reset()
	}
	for _, w := range gr.rows {
		if gr.g.Engine == Aggregation {
			err = gr.addAggregation(w)
		} else {
			err = gr.addPartial(w)
		}
		if err != nil {
			return ref{}, false, err
		}
	}
	kind := vector.Insert
	if gr.currentDelete || gr.g.Engine == PartialUpdate && !gr.meetAdd {
		if !gr.m.cfg.KeepDeletes {
			return ref{}, false, nil
		}
		kind = vector.Delete
	}
	last := gr.rows[len(gr.rows)-1]
	c := gr.made.cursor
	c.kinds = append(c.kinds, kind)
	if gr.m.cfg.Sequences {
		c.seqs = append(c.seqs, last.c.seqs[last.pos])
	}
	for i, p := range gr.out {
		if x := gr.row[p]; x.null() {
			c.cols[i].AppendNull()
		} else {
			c.cols[i].AppendFrom(x.v, x.i)
		}
	}
	c.n++
	return ref{uint32(c.id), uint32(c.n - 1)}, true, nil
}

// in returns a column's value in a row of the key.
func (c *groupColumn) in(w groupRow) value { return value{w.c.cols[c.at], int(w.pos)} }

// initialise makes the row that of w.
func (gr *group) initialise(w groupRow) error {
	for i := range gr.cols {
		c := &gr.cols[i]
		gr.row[i] = c.in(w)
		if c.rule.notNull && gr.row[i].null() {
			return gr.nullError(c)
		}
	}
	return nil
}

func (gr *group) nullError(c *groupColumn) error {
	return errs.Userf(errs.WrongValue, "table %s: the column %q, which is NOT NULL, is NULL in a row to merge", gr.g.table, c.rule.name)
}

// apply sets a column to what its aggregate makes of an old and a new value.
func (gr *group) apply(i int, f func(*cell, value, value) (value, error), a, b value) (err error) {
	c := &gr.cols[i]
	if gr.row[i], err = f(&c.cell, a, b); err != nil {
		return gr.failed(c, err)
	}
	return nil
}

// failed makes the error of an aggregate function.
func (gr *group) failed(c *groupColumn, err error) error {
	kind := errs.OutOfRange
	if errors.Is(err, errNoRetract) {
		kind = errs.WrongValue
	}
	return errs.Userf(kind, "table %s: merge the column %q: %w", gr.g.table, c.rule.name, err)
}

// addAggregation is Java's AggregateMergeFunction.add.
func (gr *group) addAggregation(w groupRow) error {
	kind := w.c.kind(w.pos)
	if gr.currentDelete = gr.g.removeOnDelete && kind == vector.Delete; gr.currentDelete {
		return gr.initialise(w)
	}
	for i := range gr.cols {
		c := &gr.cols[i]
		f := c.rule.aggregate.agg
		if retracts(kind) {
			f = c.rule.aggregate.retract
		}
		if err := gr.apply(i, f, gr.row[i], c.in(w)); err != nil {
			return err
		}
	}
	return nil
}

// addPartial is Java's PartialUpdateMergeFunction.add.
func (gr *group) addPartial(w groupRow) error {
	gr.currentDelete = false
	kind := w.c.kind(w.pos)
	if !retracts(kind) {
		var err error
		if len(gr.g.ordering) == 0 {
			err = gr.updateNonNull(w)
		} else {
			err = gr.updateGroups(w)
		}
		gr.meetAdd, gr.filled = true, true
		return err
	}
	if !gr.filled {
		if err := gr.initialise(w); err != nil {
			return err
		}
		gr.filled = true
	}
	switch {
	case gr.g.IgnoreDeletes:
		return nil
	case len(gr.g.ordering) > 0:
		return gr.retractGroups(w, kind)
	case gr.g.removeOnDelete:
		if kind == vector.Delete {
			gr.currentDelete = true
			return gr.initialise(w)
		}
		return nil
	}
	return errs.Userf(errs.WrongValue, "table %s: it holds deletions, which its merge engine partial-update does not take; set 'ignore-delete', 'partial-update.remove-record-on-delete' or sequence groups", gr.g.table)
}

func (gr *group) updateNonNull(w groupRow) error {
	for i := range gr.cols {
		c := &gr.cols[i]
		if x := c.in(w); !x.null() {
			gr.row[i] = x
		} else if c.rule.notNull {
			return gr.nullError(c)
		}
	}
	return nil
}

// newer reports whether the ordering columns of a sequence group are in w at
// least what they are in the row; empty whether all are NULL in w.
func (gr *group) newer(ordering []int, w groupRow) (newer, empty bool) {
	empty = true
	for _, o := range ordering {
		if !gr.cols[o].in(w).null() {
			empty = false
		}
	}
	if empty {
		for _, o := range ordering {
			gr.done[o] = true
		}
		return false, true
	}
	for _, o := range ordering {
		if d := compareOrder(gr.cols[o].in(w), gr.row[o]); d != 0 {
			return d > 0, false
		}
	}
	return true, false
}

// updateGroups is Java's updateWithSequenceGroup.
func (gr *group) updateGroups(w groupRow) error {
	clear(gr.done)
	for i := range gr.cols {
		c := &gr.cols[i]
		x := c.in(w)
		if c.group == nil {
			if c.rule.aggregate != nil {
				if err := gr.apply(i, c.rule.aggregate.agg, gr.row[i], x); err != nil {
					return err
				}
			} else if !x.null() {
				gr.row[i] = x
			}
			continue
		}
		if gr.done[i] {
			continue
		}
		newer, empty := gr.newer(c.group, w)
		switch {
		case empty:
		case newer && c.rule.orders:
			for _, o := range c.group {
				gr.row[o] = gr.cols[o].in(w)
				gr.done[o] = true
			}
		case newer && c.rule.aggregate == nil:
			gr.row[i] = x
		case newer:
			if err := gr.apply(i, c.rule.aggregate.agg, gr.row[i], x); err != nil {
				return err
			}
		case c.rule.aggregate != nil:
			if err := gr.apply(i, c.rule.aggregate.reversed, gr.row[i], x); err != nil {
				return err
			}
		}
	}
	return nil
}

// retractGroups is Java's retractWithSequenceGroup.
func (gr *group) retractGroups(w groupRow, kind vector.RowKind) error {
	clear(gr.done)
	for i := range gr.cols {
		c := &gr.cols[i]
		if c.group == nil || gr.done[i] {
			continue
		}
		newer, empty := gr.newer(c.group, w)
		switch {
		case empty:
		case newer && c.rule.orders:
			for _, o := range c.group {
				if gr.done[o] {
					continue
				}
				if kind == vector.Delete && gr.g.removeOnGroup[gr.cols[o].schema] {
					gr.currentDelete = true
					return gr.initialise(w)
				}
				gr.row[o] = gr.cols[o].in(w)
				gr.done[o] = true
			}
		case newer && c.rule.aggregate == nil:
			gr.row[i] = value{}
		case c.rule.aggregate != nil:
			if err := gr.apply(i, c.rule.aggregate.retract, gr.row[i], c.in(w)); err != nil {
				return err
			}
		}
	}
	return nil
}
