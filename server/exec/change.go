package exec

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// This file has what all statements that change rows share: how rows are told
// apart, the writer of a target, strict mode, and the commit.

// Outcome is what a statement did, in MySQL's terms.
type Outcome struct {
	// Matched rows are those that the statement is about, Changed those of them
	// that were given other values.
	Matched, Changed uint64
	// Affected is what the client is told; found is it for clients that count
	// matched rows.
	Affected, Found uint64
	// Duplicates are rows that met an existing key.
	Duplicates uint64
}

// change is one running statement that changes rows.
type change struct {
	env    Env
	budget *memory.Budget
	strict bool
	seen   int // warnings looked at
	rows   uint64
}

func newChange(env Env, ignore bool) *change {
	m := env.Expr.Mode
	return &change{env: env, budget: env.Budget.Child("query", queryLimit(env)), strict: !ignore && (m.Has(expr.StrictTransTables) || m.Has(expr.StrictAllTables))}
}

func (c *change) close() { c.budget.Close() }

// strictKinds are the warnings that strict mode makes errors of in statements
// that change rows.
var strictKinds = map[errs.Kind]bool{errs.TruncatedValue: true, errs.WrongValueForFunc: true, errs.ValueOutOfRange: true, errs.GroupConcatCut: true,
	errs.DatetimeOverflow: true, errs.DataTruncated: true, errs.InvalidLogarithm: true, errs.DivisionByZero: true, errs.NotNull: true, errs.NoDefault: true,
	errs.IncorrectDecimal: true, errs.DateOutOfRange: true, errs.InvalidJSONCast: true}

// checked returns the error that strict mode makes of a warning since the last
// call.
func (c *change) checked() error {
	if !c.strict || c.env.Expr.Warnings.Count() == c.seen {
		return nil
	}
	for i, w := range c.env.Expr.Warnings.List() {
		if i >= c.seen && w.Level == "Warning" && strictKinds[w.Kind] {
			return errs.New(errs.User, w.Kind, "%s", w.Message)
		}
	}
	c.seen = c.env.Expr.Warnings.Count()
	return nil
}

// progress counts rows for the process list.
func (c *change) progress(rows int) {
	c.rows += uint64(rows)
	if c.env.Progress != nil {
		c.env.Progress(c.rows)
	}
}

// each runs a query and hands its batches, without a selection, to f.
func (c *change) each(ctx context.Context, q *plan.Query, f func(x *query, b *vector.Batch) error) (err error) {
	r, err := Run(ctx, q, c.env)
	if err != nil {
		return err
	}
	defer func() {
		if e := r.Close(); err == nil {
			err = e
		}
	}()
	x := r.(*result).x
	for {
		b, err := r.Next(ctx)
		if err != nil {
			return err
		}
		if err := c.checked(); err != nil {
			return err
		}
		if b == nil {
			return nil
		}
		if err := guard(func() error { return f(x, dense(b, b.Sel)) }); err != nil {
			return err
		}
		if err := c.checked(); err != nil {
			return err
		}
		c.progress(b.Rows())
	}
}

// dense returns the rows of b at sel as a batch without a selection; nil is all.
func dense(b *vector.Batch, sel []uint16) *vector.Batch {
	if sel == nil {
		return &vector.Batch{Len: b.Len, Seq: -1, Cols: b.Cols[:len(b.Cols):len(b.Cols)]}
	}
	out := &vector.Batch{Len: len(sel), Seq: -1, Cols: make([]*vector.Vec, len(b.Cols))}
	for i, v := range b.Cols {
		if v != nil {
			out.Cols[i] = v.Gather(sel)
		}
	}
	return out
}

// rowKeys encodes rows by some of their columns, so that the encodings are equal
// exactly for equal stored values.
type rowKeys struct {
	cols []int
	buf  []byte
}

func (k *rowKeys) of(b *vector.Batch, row int) []byte {
	k.buf = k.buf[:0]
	for _, c := range k.cols {
		k.buf = vector.AppendKey(k.buf, b.Cols[c], row)
	}
	return k.buf
}

// keySet is a set of rows' keys that pays for its memory.
type keySet struct {
	acc  account
	held int64
	has  map[string]bool
}

func newKeySet(b *memory.Budget) *keySet {
	return &keySet{acc: account{pays: b}, has: map[string]bool{}}
}

// add reports whether the key is new.
func (s *keySet) add(key []byte) (bool, error) {
	if s.has[string(key)] {
		return false, nil
	}
	s.held += int64(len(key)) + 48
	if err := s.acc.hold(s.held); err != nil {
		return false, err
	}
	s.has[string(key)] = true
	return true, nil
}

// target is the writer of one table.
type target struct {
	*plan.Target
	w       connector.TableWrite
	ids     rowKeys // of batches of the query
	changed bool
	raw     []int // positions of the stored columns in batches of the query
	present int
	address int
	out     *vector.Batch // rows collected one by one
}

// open starts writing a table.
func (c *change) open(ctx context.Context, t *plan.Target) (*target, error) {
	x := &target{Target: t, address: -1}
	if t.Keyed() || t.Base == nil {
		w, err := t.Table.NewWrite(ctx, connector.WriteOptions{CommitUser: InsertUser, Budget: c.budget, KeepNulls: true, Once: true})
		x.w = w
		return x, err
	}
	if t.Change == nil {
		return nil, errs.Internalf("change table %s: the statement was only planned", t.ID)
	}
	x.w = t.Change
	return x, nil
}

// locate finds the target's columns among those of the query.
func (t *target) locate(q *plan.Query) error {
	at := func(id plan.ColID) int {
		for i, c := range q.Columns {
			if c.ID == id {
				return i
			}
		}
		return -1
	}
	t.raw = nil
	for _, id := range t.Raw {
		t.raw = append(t.raw, at(id))
	}
	t.present = at(t.Present)
	if t.Address >= 0 {
		t.address = at(t.Address)
		t.ids.cols = []int{t.address}
	} else {
		t.ids.cols = nil
		for _, k := range t.KeyColumns() {
			t.ids.cols = append(t.ids.cols, t.raw[k])
		}
	}
	for _, p := range append([]int{t.present}, t.ids.cols...) {
		if p < 0 {
			return errs.Internalf("change table %s: the plan does not give what tells its rows apart", t.ID)
		}
	}
	return nil
}

// there returns the rows of a query's batch that have a row of the target; nil
// is all. With several tables a row of the target counts once.
func (t *target) there(b *vector.Batch, once *keySet) ([]uint16, error) {
	p := b.Cols[t.present]
	if once == nil && !p.HasNulls() {
		return nil, nil
	}
	sel := make([]uint16, 0, b.Len)
	for i := range b.Len {
		if p.IsNull(i) {
			continue
		}
		if once != nil {
			fresh, err := once.add(t.ids.of(b, i))
			if err != nil {
				return nil, err
			}
			if !fresh {
				continue
			}
		}
		sel = append(sel, uint16(i))
	}
	return sel, nil
}

// stored returns the rows of a query's batch as the table has them.
func (t *target) stored(b *vector.Batch) *vector.Batch {
	out := &vector.Batch{Len: b.Len, Seq: -1, Cols: make([]*vector.Vec, len(t.raw))}
	for i, p := range t.raw {
		out.Cols[i] = b.Cols[p]
	}
	return out
}

// write writes the rows of b at sel (nil: all) as one kind.
func (t *target) write(ctx context.Context, b *vector.Batch, sel []uint16, kind vector.RowKind) error {
	if sel != nil && len(sel) == 0 || b.Len == 0 {
		return nil
	}
	out := *b
	out.Sel = sel
	out.Kinds = nil
	if kind != vector.Insert {
		out.Kinds = make([]vector.RowKind, b.Len)
		for i := range out.Kinds {
			out.Kinds[i] = kind
		}
	}
	t.changed = true
	return t.w.Write(ctx, &out)
}

// put collects one row of b to be written after those before it.
func (t *target) put(ctx context.Context, b *vector.Batch, row int, kind vector.RowKind) error {
	if t.out == nil {
		t.out = &vector.Batch{Seq: -1}
		for _, f := range t.Schema.Fields {
			t.out.Cols = append(t.out.Cols, f.Type.NewVec(0))
		}
	}
	for i, c := range t.out.Cols {
		c.AppendFrom(b.Cols[i], row)
	}
	t.out.Kinds = append(t.out.Kinds, kind)
	t.out.Len++
	if t.out.Len >= vector.BatchRows {
		return t.flush(ctx)
	}
	return nil
}

// flush writes the rows that put collected.
func (t *target) flush(ctx context.Context) error {
	if t.out == nil {
		return nil
	}
	b := t.out
	t.out, t.changed = nil, true
	return t.w.Write(ctx, b)
}

// changelogInput reports whether the table's changelog is what is written, so
// that old rows must be, too.
func (t *target) changelogInput() bool { return t.Keyed() && t.Option("changelog-producer") == "input" }

// finish commits what was written to the targets, each as one snapshot.
func (c *change) finish(ctx context.Context, targets []*target, k connector.Committable) error {
	if err := c.checked(); err != nil {
		return err
	}
	committed := ""
	messages := make([][]connector.CommitMessage, len(targets))
	for i, t := range targets {
		if err := t.flush(ctx); err != nil {
			return err
		}
		if !t.changed && !k.Overwrite {
			continue
		}
		m, err := t.w.PrepareCommit(ctx)
		if err != nil {
			return err
		}
		messages[i] = m
	}
	for i, t := range targets {
		if messages[i] == nil && !k.Overwrite {
			continue
		}
		one := k
		one.Identifier, one.Messages = batchIdentifier, messages[i]
		if t.Base != nil {
			if one.ReadVersion = t.Base.Version(); one.ReadVersion == 0 {
				one.ReadVersion = -1 // what was read is that there was nothing
			}
		}
		tc, err := t.Table.NewCommit(ctx, InsertUser)
		if err == nil {
			err = commit(ctx, tc, &one)
		}
		if err != nil {
			if committed != "" {
				return errs.New(errs.User, errs.KindOf(err), "change table %s: %w; table %s has been changed already", t.ID, err, committed)
			}
			return err
		}
		committed = t.ID.String()
	}
	return nil
}

// closeTargets releases the writers; the first error counts when there is none
// yet.
func closeTargets(targets []*target, err *error) {
	for _, t := range targets {
		if e := t.w.Close(); *err == nil {
			*err = e
		}
	}
}

// separate refuses one table under two names: its rows would be changed by two
// writers that do not know of each other.
func separate(targets []*plan.Target) error {
	for i, x := range targets {
		for _, y := range targets[:i] {
			if x.Table.UUID() == y.Table.UUID() && x.ID == y.ID && x.Catalog == y.Catalog {
				return errs.Unsupportedf(-1, "changing table %s under two names in one statement", x.ID)
			}
		}
	}
	return nil
}

// lookup reads the rows of a target's base whose keys are in want and hands each
// to f: the batch has the schema's columns, or only those of the key when not
// whole.
func (c *change) lookup(ctx context.Context, t *plan.Target, want *vector.Batch, has func(key []byte) bool, whole bool, f func(key []byte, b *vector.Batch, row int) error) error {
	keys := t.KeyColumns()
	cols := keys
	if whole {
		cols = make([]int, len(t.Schema.Fields))
		for i := range cols {
			cols[i] = i
		}
	}
	in := rowKeys{cols: keys}
	if !whole {
		in.cols = make([]int, len(keys))
		for i := range keys {
			in.cols[i] = i
		}
	}
	src, err := scan.Open(ctx, t.Base, scan.Request{Columns: cols, Filter: keyBounds(keys, want), Options: c.env.Options, Budget: c.budget})
	if err != nil {
		return err
	}
	for i := range src.Ranges() {
		if err := c.lookupRange(ctx, src.Reader(i), &in, has, f); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) lookupRange(ctx context.Context, r connector.BatchReader, in *rowKeys, has func([]byte) bool, f func([]byte, *vector.Batch, int) error) (err error) {
	defer func() {
		if e := r.Close(); err == nil {
			err = e
		}
	}()
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		for k := range b.Rows() {
			row := b.Row(k)
			if key := in.of(b, row); has(key) {
				if err := f(key, b, row); err != nil {
					return err
				}
			}
		}
	}
}

// fewKeys is the number of keys up to which a lookup asks for each value of a
// column, rather than for the range that they are in.
const fewKeys = 200

// keyBounds is a condition that all rows with the wanted keys satisfy. want has
// the key's columns.
func keyBounds(keys []int, want *vector.Batch) *connector.Predicate {
	var all []*connector.Predicate
	for i, pos := range keys {
		v := want.Cols[i]
		if v.Kind >= vector.List || v.Len == 0 || v.HasNulls() {
			continue
		}
		if v.Len <= fewKeys {
			op := connector.In
			if v.Len == 1 {
				op = connector.Eq
			}
			all = append(all, &connector.Predicate{Op: op, Column: pos, Value: v.Flatten()})
			continue
		}
		low, high := 0, 0
		for r := range v.Len {
			if vector.Compare(v, r, v, low) < 0 {
				low = r
			}
			if vector.Compare(v, r, v, high) > 0 {
				high = r
			}
		}
		one := func(r int) *vector.Vec {
			w := vector.NewLike(v.Values(), 1)
			w.AppendFrom(v, r)
			return w
		}
		all = append(all, &connector.Predicate{Op: connector.Ge, Column: pos, Value: one(low)}, &connector.Predicate{Op: connector.Le, Column: pos, Value: one(high)})
	}
	return connector.AndOf(all...)
}

// duplicate is error 1062 for a row of stored columns.
func duplicate(env Env, t *plan.Target, b *vector.Batch, cols []int, row int) error {
	var parts []string
	for k, i := range t.KeyColumns() {
		text := "NULL"
		if v, err := loaded(env, t, i, b.Cols[cols[k]]); err == nil && !v.IsNull(row) {
			text = string(expr.AppendText(nil, t.Types[i], v, row, env.Expr.Zone))
		}
		parts = append(parts, text)
	}
	return errs.Userf(errs.DuplicateKey, "Duplicate entry '%s' for key '%s.PRIMARY'", strings.Join(parts, "-"), t.ID.Table)
}

// loaded converts stored values of a column to SQL's form.
func loaded(env Env, t *plan.Target, field int, v *vector.Vec) (*vector.Vec, error) {
	f := t.Schema.Fields[field]
	load, err := expr.Stored(0, f, t.Schema.MySQLType(f), f.Name)
	if err != nil {
		return nil, err
	}
	return load.Eval(env.Expr, &vector.Batch{Len: v.Len, Seq: -1, Cols: []*vector.Vec{v}})
}

// sequenceFields are the positions of 'sequence.field', and whether they
// descend.
func sequenceFields(t *plan.Target) (cols []int, desc bool) {
	for _, n := range strings.Split(t.Schema.Options["sequence.field"], ",") {
		if i := t.Schema.Column(strings.TrimSpace(n)); i >= 0 {
			cols = append(cols, i)
		}
	}
	return cols, t.Option("sequence.field.sort-order") == "descending"
}
