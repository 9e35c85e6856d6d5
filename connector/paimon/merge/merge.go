// Package merge makes one row of the rows that a primary-key table has of a key:
// it merges sorted runs by key and applies the table's merge engine. Reading,
// compaction and the flush of write buffers all use it, so that a table means the
// same to each.
//
// Invariants: in a run keys ascend strictly (with Config.Repeats: ascend), which
// is verified. Rows of one key merge from the oldest to the newest: by the
// sequence columns, then the sequence number, then deletions before additions. A
// row whose key no other run has is not merged but counts as it is, as Java's
// ReducerMergeFunctionWrapper has it. A batch of a run is used only until its
// run's next batch is asked for.
//
// Start reading at Merger. What the options of a table say is in rules.go and
// columns.go, how keys compare in keys.go and tree.go, how rows of a key become
// one in group.go, aggregate.go and collections.go, what changelog producers and
// deletion vectors learn of it in changes.go.
package merge

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Rows is a batch of rows of a run, or of merged rows.
type Rows struct {
	// Batch has the columns of Config.Columns, of any form (merged rows: the first
	// Config.Out of them). Kinds of nil are additions. Of a run, a selection is
	// honoured, and Seq is the position in the file of the first row.
	Batch *vector.Batch
	// Seqs are the sequence numbers, one a physical row of Batch; with
	// Config.Ranked there may be none.
	Seqs []int64
	// Level and File are those of the data file that the rows of a run are from.
	Level int32
	File  string
}

// Compact returns r without a selection.
func (r *Rows) Compact() *Rows {
	sel := r.Batch.Sel
	if sel == nil {
		return r
	}
	out := *r
	out.Batch = r.Batch.Compact()
	if r.Seqs == nil {
		return &out
	}
	out.Seqs = make([]int64, len(sel))
	for i, at := range sel {
		out.Seqs[i] = r.Seqs[at]
	}
	return &out
}

// Run is a sorted run: a stream of rows in the order of their keys. Next returns
// nil at the end. What it returns is valid until the next call.
type Run interface {
	Next(ctx context.Context) (*Rows, error)
}

// Config says what to merge, and to what.
type Config struct {
	Rules *Rules
	// Columns are the columns of the schema that the batches of runs have: those
	// wanted first, then the trimmed primary key and Rules.Extras if they are not
	// among them.
	Columns []int
	// Out is how many of them, from the first, the merged batches have.
	Out int
	// BatchRows is the most rows of a merged batch; 0 is vector.BatchRows.
	BatchRows int
	// KeepDeletes: deletions are rows, and merged batches have row kinds (nil if
	// all are additions). Otherwise what is deleted is left out.
	KeepDeletes bool
	// Sequences: merged rows have sequence numbers, those of the newest row of
	// the key.
	Sequences bool
	// Unordered lets the merged rows come in another order than that of their
	// keys, which saves copying them: a run's batch is handed on with a selection.
	Unordered bool
	// Ranked: each run's sequence numbers are all above those of the runs after
	// it, so that nobody needs to look at them. It does not go with Sequences.
	Ranked bool
	// Repeats: a run may have several rows of a key, as a sorted write buffer has.
	// They lie in one batch.
	Repeats bool
	// From and To restrict the merge to the keys from From on, before To: a value
	// for each column of the trimmed primary key; nil is no bound.
	From, To []*vector.Vec
	// Changes is what else is to be found out; nil is nothing. It does not go with
	// Unordered.
	Changes *Changes
	// Budget pays for what the merger holds; nil is unlimited.
	Budget *memory.Budget
}

// Merger merges sorted runs. It belongs to one goroutine.
//
// The runs' heads play a tournament by key (tree.go). A run that wins several
// times in a row is taken in stretches up to the second's head, found by
// galloping. Merged rows stay references to the runs' batches (stretches) until a
// run needs its next batch or the output is full; then they are copied column by
// column. If the output is one batch's rows alone, that batch is handed on with a
// selection, and with Config.Unordered always: then only rows that lose to others
// of their key cost anything. Memory is a batch a run and one of output.
type Merger struct {
	cfg   Config
	rows  int // most rows of a batch
	shape keyShape
	keys  []int   // positions of the key columns in batches
	from  *cursor // one row with the key Config.From, nil: no bound
	to    *cursor
	cur   []*cursor // one a run, then those of made rows
	runs  int
	tree  tree
	begun bool
	held  int64

	same    []ref     // the rows of the key at hand
	drained []*cursor // used up their batches
	group   *group    // nil: the newest row of a key wins

	out     output
	rowsOut Rows
	view    vector.Batch
	sel     []uint16

	changes *changes
}

// ref is a row of a cursor's batch.
type ref struct{ run, pos uint32 }

// cursor is a place in a run.
type cursor struct {
	id     int
	run    Run
	rows   *Rows
	len    int // rows in the batch
	first  int // those before are below Config.From
	n      int // the end of those that count
	pos    int
	within bool // From is behind
	beyond bool // To is in the batch
	cols   []*vector.Vec
	keys   []*vector.Vec
	norm   []uint64 // order-preserving prefixes of the keys
	skip   int      // columns of keys that norm holds
	seqs   []int64
	kinds  []vector.RowKind // nil: all are additions
	level  int32
	sel    []uint16      // the selection that rows were gathered by
	hidden []uint16      // rows that others hide, ascending (Unordered)
	flat   []*vector.Vec // cols in Flat form, as far as they were asked for
	last   lastKey       // of the batch before
	given  bool          // the batch was drained
	lookup bool          // its rows are only looked up
}

type lastKey struct {
	set  bool
	norm uint64
	keys []*vector.Vec
}

// New makes a Merger. The order of the runs decides only between rows of one key
// that have the same sequence number and kind: an earlier run's is newer.
func New(cfg Config, runs []Run) (*Merger, error) {
	s := cfg.Rules.schema
	m := &Merger{cfg: cfg, rows: cfg.BatchRows, runs: len(runs)}
	if m.rows <= 0 || m.rows > vector.MaxBatchRows {
		m.rows = vector.BatchRows
	}
	if cfg.Changes != nil {
		m.rows = min(m.rows, vector.MaxBatchRows/4) // a row may make two changes
	}
	at := func(c int) int { return slices.Index(cfg.Columns, c) }
	names := s.TrimmedPrimaryKeys()
	for _, k := range s.Columns(names) {
		m.keys = append(m.keys, at(k))
	}
	need := cfg.Rules.Extras()
	for _, c := range need {
		m.keys = append(m.keys, at(c))
	}
	if slices.Contains(m.keys, -1) || cfg.Out > len(cfg.Columns) || cfg.Changes != nil && cfg.Unordered || cfg.Ranked && cfg.Sequences {
		return nil, errs.Internalf("merge rows of %s: the columns %v lack those that merging needs", cfg.Rules.table, cfg.Columns)
	}
	m.keys = m.keys[:len(names)]
	m.shape = shapeOf(spec.TypesOf(s, names))
	m.from, m.to = m.bound(cfg.From), m.bound(cfg.To)
	for i, r := range runs {
		m.cur = append(m.cur, &cursor{id: i, run: r, skip: m.shape.skip})
	}
	if !cfg.Rules.Plain() {
		m.group = newGroup(m)
	}
	if cfg.Changes != nil {
		m.changes = &changes{m: m, Changes: *cfg.Changes}
		for _, c := range m.cur[len(runs)-cfg.Changes.Lookups : len(runs)] {
			c.lookup = true
		}
	}
	m.out.init(m)
	if m.changes != nil {
		m.changes.out.init(m)
	}
	// The output's values; string bytes are shared with the runs' batches.
	m.held = int64(m.rows) * 16 * int64(cfg.Out)
	if cfg.Rules.Combines() {
		m.held *= 2 // and the rows made of several
	}
	if err := cfg.Budget.Reserve(m.held); err != nil {
		return nil, err
	}
	return m, nil
}

// Close releases what the merger holds. It does not close the runs.
func (m *Merger) Close() {
	m.cfg.Budget.Release(m.held)
	m.held = 0
}

// Next returns merged rows, nil at the end. They are valid until the next call of
// Next. With Changes, rows may be none while Changes has some.
func (m *Merger) Next(ctx context.Context) (*Rows, error) {
	m.out.reset()
	if m.changes != nil {
		m.changes.out.reset()
	}
	if !m.begun {
		m.begun = true
		for _, c := range m.cur[:m.runs] {
			if err := m.load(ctx, c); err != nil {
				return nil, err
			}
		}
		m.tree.build(m)
	}
	for {
		for len(m.drained) > 0 {
			c := m.drained[0]
			if out, err := m.drain(c); err != nil || out != nil {
				return out, err
			}
			m.drained = append(m.drained[:0], m.drained[1:]...)
			if err := m.load(ctx, c); err != nil {
				return nil, err
			}
			m.tree.update(m, int32(c.id))
		}
		if m.out.len() >= m.rows || m.changes != nil && m.changes.out.len() >= m.rows {
			if err := m.flush(); err != nil {
				return nil, err
			}
			return m.result(), nil
		}
		if m.cfg.Unordered && m.group != nil {
			if out, err := m.group.full(m.rows); err != nil || out != nil {
				return out, err
			}
		}
		w := m.tree.first()
		if m.tree.over[w] { // no run has a row left
			if m.cfg.Unordered && m.group != nil {
				return m.group.full(1)
			}
			if err := m.flush(); err != nil {
				return nil, err
			}
			if m.out.len() == 0 && (m.changes == nil || m.changes.out.len() == 0) {
				return nil, nil
			}
			return m.result(), nil
		}
		if m.races() {
			m.race()
		} else if err := m.step(w); err != nil {
			return nil, err
		}
	}
}

// step takes the rows of the smallest key, w's head and others', or a stretch of
// w's rows whose keys no other run has.
func (m *Merger) step(w int32) error {
	c, t := m.cur[w], &m.tree
	if t.streak >= gallopAfter && !m.cfg.Repeats {
		end := m.below(c, t.second(m, w))
		if end > c.pos+1 {
			// All but the last, which tells where to go on.
			room := m.rows - m.out.len()
			end = min(end-1, c.pos+room)
			if err := m.lone(c, c.pos, end); err != nil {
				return err
			}
			c.pos = end
			t.set(m, w)
			return nil // w still is the first
		}
		t.streak = 0
	}
	m.same = m.same[:0]
	first := c.pos
	m.pass(c)
	t.replay(m, w)
	for {
		v := t.first()
		if t.over[v] || t.heads[v] != c.norm[first] {
			break
		}
		o := m.cur[v]
		if !m.shape.exact && compareRows(c, first, o, o.pos) != 0 {
			break
		}
		m.pass(o)
		t.replay(m, v)
	}
	if t.first() == w {
		t.streak++
	} else {
		t.streak = 0
	}
	if len(m.same) == 1 {
		return m.lone(c, first, first+1)
	}
	return m.merge()
}

// pass adds the head of c, and with Config.Repeats the rows of its key after it,
// to the rows of the key at hand, and moves c on.
func (m *Merger) pass(c *cursor) {
	m.same = append(m.same, ref{uint32(c.id), uint32(c.pos)})
	c.pos++
	if m.cfg.Repeats {
		for c.pos < c.n && compareRows(c, c.pos-1, c, c.pos) == 0 {
			m.same = append(m.same, ref{uint32(c.id), uint32(c.pos)})
			c.pos++
		}
	}
	if c.pos == c.n {
		m.drained = append(m.drained, c)
	}
}

// lone takes rows whose keys no other run has.
func (m *Merger) lone(c *cursor, from, to int) error {
	if m.changes != nil {
		return m.changes.lone(c, from, to)
	}
	if !m.cfg.Unordered {
		m.take(c, from, to)
	}
	return nil
}

// merge makes one row of the rows of a key.
func (m *Merger) merge() error {
	if m.changes != nil {
		return m.changes.merge()
	}
	w, ok, err := m.resolve()
	if err != nil {
		return err
	}
	if m.cfg.Unordered {
		for _, r := range m.same {
			if !ok || r != w {
				c := m.cur[r.run]
				c.hidden = append(c.hidden, uint16(r.pos))
			}
		}
		return nil
	}
	if ok {
		m.take(m.cur[w.run], int(w.pos), int(w.pos)+1)
	}
	return nil
}

// resolve returns where the row lies that the rows of the key at hand make; ok is
// false when there is none.
func (m *Merger) resolve() (w ref, ok bool, err error) {
	if m.group != nil {
		return m.group.merge(m.same)
	}
	w = m.same[0]
	for _, r := range m.same[1:] {
		if m.newer(r, w) {
			w = r
		}
	}
	return w, true, nil
}

// newer orders rows of one key by sequence number and kind, the runs' order
// deciding between the same.
func (m *Merger) newer(a, b ref) bool {
	if m.cfg.Ranked && a.run != b.run {
		return a.run < b.run
	}
	c, d := m.cur[a.run], m.cur[b.run]
	if m.cfg.Ranked && c.seqs == nil {
		return a.pos > b.pos
	}
	if x, y := c.seqs[a.pos], d.seqs[b.pos]; x != y {
		return x > y
	}
	if x, y := c.retracts(a.pos), d.retracts(b.pos); x != y {
		return y
	}
	if a.run != b.run {
		return a.run < b.run
	}
	return a.pos > b.pos
}

// retracts reports whether row i is a deletion.
func (c *cursor) retracts(i uint32) bool { return c.kinds != nil && retracts(c.kinds[i]) }

// kind returns the kind of row i.
func (c *cursor) kind(i uint32) vector.RowKind {
	if c.kinds == nil {
		return vector.Insert
	}
	return c.kinds[i]
}

// take adds rows to the pending ones, without deletions unless they are kept.
func (m *Merger) take(c *cursor, from, to int) {
	if c.kinds == nil || m.cfg.KeepDeletes {
		m.out.add(c, from, to)
		return
	}
	start := from
	for i := from; i < to; i++ {
		if retracts(c.kinds[i]) {
			m.out.add(c, start, i)
			start = i + 1
		}
	}
	m.out.add(c, start, to)
}

// flush copies the pending rows to the output.
func (m *Merger) flush() error {
	if err := m.group.compute(); err != nil {
		return err
	}
	m.out.flush(m)
	if m.changes != nil {
		m.changes.out.flush(m)
	}
	if m.group != nil && !m.cfg.Unordered {
		m.group.release()
	}
	return nil
}

// result returns what was merged.
func (m *Merger) result() *Rows {
	m.rowsOut = Rows{Batch: m.out.result(), Seqs: m.out.seqs}
	return &m.rowsOut
}

// load reads the next batch of a run with rows that count. At the end c.n is 0.
func (m *Merger) load(ctx context.Context, c *cursor) error {
	for {
		if err := m.fetch(ctx, c); err != nil || c.n == 0 {
			return err
		}
		if m.restrict(c); c.pos < c.n {
			return nil
		}
		if c.beyond {
			c.n = 0
			return nil
		}
	}
}

// bound makes a row of a key; nil for none.
func (m *Merger) bound(key []*vector.Vec) *cursor {
	if key == nil {
		return nil
	}
	return &cursor{keys: key, norm: m.shape.normalize(nil, key, 1), skip: m.shape.skip}
}

// restrict leaves out the rows of c's batch that lie outside of the bounds.
func (m *Merger) restrict(c *cursor) {
	if m.from != nil && !c.within {
		c.first = sort.Search(c.len, func(i int) bool { return m.compare(c, i, m.from, 0) >= 0 })
		c.pos, c.within = c.first, c.first < c.len
	}
	if m.to != nil && m.compare(c, c.len-1, m.to, 0) >= 0 {
		c.n = sort.Search(c.len, func(i int) bool { return m.compare(c, i, m.to, 0) >= 0 })
		c.beyond = true
	}
}

// compare is compareRows for any shape of keys.
func (m *Merger) compare(a *cursor, i int, b *cursor, j int) int {
	if m.shape.exact {
		return cmp.Compare(a.norm[i], b.norm[j])
	}
	return compareRows(a, i, b, j)
}

// fetch reads the next batch of a run and prepares its keys. At the end c.n is 0.
func (m *Merger) fetch(ctx context.Context, c *cursor) error {
	if c.len > 0 {
		c.remember(m.shape)
	}
	c.rows, c.len, c.first, c.n, c.pos, c.given, c.hidden, c.sel, c.flat = nil, 0, 0, 0, 0, false, c.hidden[:0], nil, c.flat[:0]
	m.out.forget(c)
	if m.changes != nil {
		m.changes.out.forget(c)
	}
	for {
		if c.beyond { // what follows lies beyond Config.To
			c.cols, c.keys, c.kinds, c.seqs = nil, nil, nil, nil
			return nil
		}
		r, err := c.run.Next(ctx)
		if err != nil {
			return err
		}
		if r == nil {
			c.cols, c.keys, c.kinds, c.seqs = nil, nil, nil, nil
			return nil
		}
		if r.Batch.Rows() == 0 {
			continue
		}
		c.rows, c.seqs, c.level, c.sel = r, r.Seqs, r.Level, r.Batch.Sel
		r = r.Compact()
		b := r.Batch
		c.seqs = r.Seqs
		c.len, c.n, c.cols, c.kinds = b.Len, b.Len, b.Cols, b.Kinds
		break
	}
	c.keys = c.keys[:0]
	for _, k := range m.keys {
		c.keys = append(c.keys, c.cols[k])
	}
	for _, k := range c.keys {
		if !m.shape.nullable && k.HasNulls() {
			return errs.Corruptf("table %s: %s has NULL keys", m.cfg.Rules.table, c.rows.File)
		}
	}
	c.norm = m.shape.normalize(c.norm[:0], c.keys, c.n)
	return m.checkOrder(c)
}

// remember keeps the last key of c's batch, which goes, to check the order.
func (c *cursor) remember(s keyShape) {
	c.last.set, c.last.norm, c.last.keys = true, c.norm[c.len-1], c.last.keys[:0]
	if s.exact {
		return
	}
	for _, k := range c.keys {
		v := vector.NewLike(k.Values(), 1)
		v.AppendFrom(k, c.len-1)
		c.last.keys = append(c.last.keys, v)
	}
}

// checkOrder verifies what merging relies on.
func (m *Merger) checkOrder(c *cursor) error {
	bad := func() error {
		return errs.Corruptf("table %s: the rows of %s are not in the order of their keys", m.cfg.Rules.table, c.rows.File)
	}
	repeats := 0
	if m.cfg.Repeats {
		repeats = 1
	}
	if c.last.set {
		l := &cursor{keys: c.last.keys, norm: []uint64{c.last.norm}, skip: c.skip}
		if c.last.norm >= c.norm[0] && (m.shape.exact || compareRows(l, 0, c, 0) >= 0) {
			return bad()
		}
	}
	norm := c.norm
	for i := 1; i < len(norm); i++ {
		if norm[i-1] < norm[i] {
			continue
		}
		d := 0
		if norm[i-1] > norm[i] {
			d = 1
		} else if !m.shape.exact {
			d = compareRows(c, i-1, c, i)
		}
		if d >= repeats && (d > 0 || repeats == 0) {
			return bad()
		}
	}
	return nil
}

// types returns the types of the merged columns.
func (m *Merger) types() []catalog.Type {
	var out []catalog.Type
	for _, c := range m.cfg.Columns[:m.cfg.Out] {
		out = append(out, m.cfg.Rules.schema.Fields[c].Type)
	}
	return out
}
