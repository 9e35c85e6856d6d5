package read

import (
	"errors"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// group merges the rows of one key that lie in several runs, for all engines but
// the plain one. A key that one run alone has is never merged: its row counts as
// it is, or not at all if it is a deletion, as Java's ReducerMergeFunctionWrapper
// has it.
type group struct {
	sc   *scan
	g    *engine
	rows []groupRow
	cols []groupColumn // ascending by column of the schema
	seq  []int         // positions of the sequence columns in batches
	out  []int         // for each column of the scan its position in cols

	// merged holds the rows that were made of several until they are copied out.
	merged *runCursor

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
	r     *runCursor
	pos   int
	level int32
}

func newGroup(sc *scan) *group {
	gr := &group{sc: sc, g: sc.engine}
	at := map[int]int{}
	for i, c := range sc.mergeCols {
		if _, twice := at[c]; !twice {
			at[c] = i
		}
	}
	for _, c := range gr.g.sequence {
		gr.seq = append(gr.seq, at[c])
	}
	if !gr.g.combines() {
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
		gr.cols = append(gr.cols, groupColumn{schema: c, at: at[c], rule: &gr.g.columns[c], cell: cell{typ: sc.st.schema.Fields[c].Type}})
	}
	for i := range gr.cols {
		for _, c := range gr.cols[i].rule.group {
			gr.cols[i].group = append(gr.cols[i].group, pos[c])
		}
	}
	b := &vector.Batch{Seq: -1}
	for _, c := range sc.req.Columns {
		gr.out = append(gr.out, pos[c])
		b.Cols = append(b.Cols, sc.st.schema.Fields[c].Type.NewVec(0))
	}
	gr.merged = &runCursor{sc: sc, id: -1, batch: b}
	gr.row, gr.done = make([]value, len(gr.cols)), make([]bool, len(gr.cols))
	return gr
}

// release empties the merged rows after they were copied out.
func (gr *group) release() {
	if gr.merged != nil && gr.merged.batch.Len > 0 {
		gr.merged.batch.Reset()
		gr.merged.bases, gr.merged.kinds = gr.merged.bases[:0], gr.merged.kinds[:0]
	}
}

// merge merges the heads of the given runs, which have one key, and returns where
// the row lies; a nil run means that there is none.
func (gr *group) merge(heads []*runCursor) (*runCursor, int, error) {
	gr.rows = gr.rows[:0]
	for _, r := range heads {
		gr.rows = append(gr.rows, groupRow{r, r.pos, r.level})
	}
	slices.SortFunc(gr.rows, gr.compare)
	if gr.g.lookup {
		gr.dropTakenIn()
	}
	switch gr.g.kind {
	case deduplicate:
		for i := len(gr.rows) - 1; i >= 0; i-- {
			if w := gr.rows[i]; !gr.g.ignoreDeletes || !w.r.retracts(w.pos) {
				return w.r, w.pos, nil
			}
		}
		return nil, 0, nil
	case firstRow:
		for _, w := range gr.rows {
			if !w.r.retracts(w.pos) {
				continue
			}
			if !gr.g.ignoreDeletes {
				return nil, 0, errs.Userf(errs.WrongValue, "read table %s: it holds deletions, which its merge engine first-row does not take without 'ignore-delete'", gr.sc.st.src.Name)
			}
		}
		for _, w := range gr.rows {
			if !w.r.retracts(w.pos) {
				return w.r, w.pos, nil
			}
		}
		return nil, 0, nil
	}
	return gr.combine()
}

// compare orders rows of one key from the oldest to the newest: by the sequence
// columns, then the sequence numbers, then deletions before additions.
func (gr *group) compare(a, b groupRow) int {
	for _, c := range gr.seq {
		x, y := value{a.r.batch.Cols[c], a.pos}, value{b.r.batch.Cols[c], b.pos}
		d := compareOrder(x, y)
		if gr.g.descending && !x.null() && !y.null() {
			d = -d
		}
		if d != 0 {
			return d
		}
	}
	if before(a.r, b.r) {
		return 1
	}
	return -1
}

// dropTakenIn keeps of the rows above level 0 the one on the lowest level, which
// has taken in those below (Java's LookupMergeFunction).
func (gr *group) dropTakenIn() {
	best := -1
	for i, w := range gr.rows {
		if w.level > 0 && (best < 0 || w.level < gr.rows[best].level) {
			best = i
		}
	}
	kept := gr.rows[:0]
	for i, w := range gr.rows {
		if w.level <= 0 || i == best {
			kept = append(kept, w)
		}
	}
	gr.rows = kept
}

// combine makes one row of the rows of a key.
func (gr *group) combine() (*runCursor, int, error) {
	gr.currentDelete, gr.meetAdd, gr.filled = false, false, false
	for i := range gr.cols {
		gr.row[i] = value{}
		gr.cols[i].cell.reset()
	}
	for _, w := range gr.rows {
		var err error
		if gr.g.kind == aggregation {
			err = gr.addAggregation(w)
		} else {
			err = gr.addPartial(w)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	kind := vector.Insert
	if gr.currentDelete || gr.g.kind == partialUpdate && !gr.meetAdd {
		if !gr.sc.st.keepDeletes {
			return nil, 0, nil
		}
		kind = vector.Delete
	}
	gr.merged.kinds = append(gr.merged.kinds, int32(kind))
	m := gr.merged.batch
	for i, p := range gr.out {
		if x := gr.row[p]; x.null() {
			m.Cols[i].AppendNull()
		} else {
			m.Cols[i].AppendFrom(x.v, x.i)
		}
	}
	m.Len++
	return gr.merged, m.Len - 1, nil
}

// in returns a column's value in a row of the key.
func (c *groupColumn) in(w groupRow) value { return value{w.r.batch.Cols[c.at], w.pos} }

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
	return errs.Userf(errs.WrongValue, "read table %s: the column %q, which is NOT NULL, is NULL in a row to merge", gr.sc.st.src.Name, c.rule.name)
}

// apply sets a column to what its aggregate makes of an old and a new value.
func (gr *group) apply(i int, f func(*cell, value, value) (value, error), a, b value) (err error) {
	c := &gr.cols[i]
	gr.row[i], err = f(&c.cell, a, b)
	if err != nil {
		kind := errs.OutOfRange
		if errors.Is(err, errNoRetract) {
			kind = errs.WrongValue
		}
		return errs.Userf(kind, "read table %s: merge the column %q: %w", gr.sc.st.src.Name, c.rule.name, err)
	}
	return nil
}

// addAggregation is Java's AggregateMergeFunction.add.
func (gr *group) addAggregation(w groupRow) error {
	kind := w.r.kind(w.pos)
	if gr.currentDelete = gr.g.removeOnDelete && kind == vector.Delete; gr.currentDelete {
		return gr.initialise(w)
	}
	for i := range gr.cols {
		c := &gr.cols[i]
		f := c.rule.aggregate.agg
		if retracts(int32(kind)) {
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
	kind := w.r.kind(w.pos)
	if !retracts(int32(kind)) {
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
	case gr.g.ignoreDeletes:
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
	return errs.Userf(errs.WrongValue, "read table %s: it holds deletions, which its merge engine partial-update does not take; set 'ignore-delete', 'partial-update.remove-record-on-delete' or sequence groups", gr.sc.st.src.Name)
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
