package plan

import (
	"github.com/thermocline/thermocline/scan/expr"
)

// Node is an operator of a plan. Nodes are immutable.
type Node interface {
	// Inputs are the operators below.
	Inputs() []Node
	// With returns a copy with other inputs, which give the same columns.
	With(in []Node) Node
	// Output are the ids of the columns that the node gives, in order.
	Output() []ColID
	// exprs are the expressions in the node, withExprs a copy with others in
	// the same order.
	exprs() []expr.Expr
	withExprs([]expr.Expr) Node
}

// Scan reads a table. Its conditions are evaluated on every row, and offered to
// the connector to leave rows out.
type Scan struct {
	Use   *TableUse
	Alias string
	Cols  []ScanCol
	Conds []expr.Expr
	// Limit is the number of rows that are enough, -1 for all. It is a hint:
	// more may come.
	Limit int64
}

// ScanCol is a column of the snapshot's schema under its id.
type ScanCol struct {
	ID  ColID
	Pos int // in the snapshot's schema
	// Load reads the column at its position in the scan's batches, where it is
	// number Pos of a batch of all columns of the schema.
	Load expr.Expr
}

// Values gives constant rows. Without columns and with one row it is what a
// SELECT without FROM reads.
type Values struct {
	Cols []ColID
	Rows [][]expr.Expr
}

// Filter keeps the rows for which all conditions are TRUE.
type Filter struct {
	In    Node
	Conds []expr.Expr
}

// Project computes columns.
type Project struct {
	In    Node
	Items []Item
}

// Item is a computed column.
type Item struct {
	ID   ColID
	Expr expr.Expr
}

// Aggregate groups rows by keys and computes aggregates of the groups. Without
// keys there is exactly one group. Its columns are the keys, then the
// aggregates.
type Aggregate struct {
	In   Node
	Keys []Item
	Aggs []Agg
}

// Agg is an aggregate column. Args are Call's arguments in terms of the input's
// columns.
type Agg struct {
	ID   ColID
	Call expr.Aggregate
	Args []expr.Expr
}

// JoinKind says which rows a join gives.
type JoinKind uint8

// The join kinds. Semi, Anti, Mark and Single give the left side's columns (Mark
// and Single one and all of the right's more).
const (
	Inner  JoinKind = iota
	Left            // with unmatched left rows
	Right           // with unmatched right rows
	Full            // with both
	Semi            // left rows that have a match
	Anti            // left rows that have none
	Mark            // left rows and whether they have a match
	Single          // as Left, an error when a left row has two matches
)

var joinNames = [...]string{"inner", "left", "right", "full", "semi", "anti", "mark", "single"}

func (k JoinKind) String() string { return joinNames[k] }

// Join combines rows of two inputs for which all of Keys and Conds hold.
type Join struct {
	Kind        JoinKind
	Left, Right Node
	// Keys are equalities of a left and a right expression; Conds all other
	// conditions.
	Keys  []EquiKey
	Conds []expr.Expr
	// MarkConds are the comparisons of an IN: among the right rows that Keys and
	// Conds leave, the mark is TRUE when one makes them TRUE, else NULL when one
	// makes them NULL, else FALSE. Only Mark has them.
	MarkConds []expr.Expr
	// Mark is the column of the mark.
	Mark ColID
	// NullAware means that the only key is the comparison of an IN, with NULL
	// deciding as in MarkConds. Mark and Anti may have it.
	NullAware bool
	// LeftFirst says that the left side is likely so much smaller than the right
	// that its keys should be known before the right is read. Semi and Anti may have
	// it.
	LeftFirst bool
}

// EquiKey is an equality; both sides have the same type. NullSafe makes NULL
// equal to NULL.
type EquiKey struct {
	L, R     expr.Expr
	NullSafe bool
}

// SortKey is a key of an ordering: NULL first ascending, last descending,
// unless Nulls says otherwise.
type SortKey struct {
	Expr  expr.Expr
	Desc  bool
	Nulls NullsOrder
}

// NullsOrder says where NULLs sort.
type NullsOrder uint8

// Where NULLs sort. By default they are lower than any value.
const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// Sort orders rows; equal ones keep their order.
type Sort struct {
	In   Node
	Keys []SortKey
}

// TopN gives the rows Offset to Offset+Count of the ordered input.
type TopN struct {
	In            Node
	Keys          []SortKey
	Count, Offset int64
}

// Limit gives the rows Offset to Offset+Count; Count -1 is all.
type Limit struct {
	In            Node
	Count, Offset int64
}

// Distinct gives each different row once.
type Distinct struct{ In Node }

// SetKind is UNION, INTERSECT or EXCEPT.
type SetKind uint8

// The set operations.
const (
	Union SetKind = iota
	Intersect
	Except
)

var setNames = [...]string{"union", "intersect", "except"}

func (k SetKind) String() string { return setNames[k] }

// SetOp combines the rows of inputs that have the same types of columns, in
// order. UNION takes any number of inputs, the others two.
type SetOp struct {
	Kind SetKind
	All  bool
	In   []Node
	Cols []ColID
}

// Expand gives each row once for each of Sets, with the keys that are in the set
// (NULL for those that are not) and the number of the set as further columns.
type Expand struct {
	In   Node
	Keys []Item
	Sets [][]bool
	Set  ColID
}

// Generate gives for each row of its input the rows of a table function, beside
// the row's columns: LATERAL for table functions. Outer gives a row with NULLs
// where the function has none for which all of Conds hold; without it there are
// no Conds.
type Generate struct {
	In    Node
	Func  expr.TableFunction
	Args  []expr.Expr // the function's, in terms of the input's columns
	Cols  []ColID
	Outer bool
	Conds []expr.Expr
}

// InOrder computes columns from its input as Project does, but row by row in the
// order of the rows, and within a row from left to right: its expressions assign
// user variables and read them. Nothing passes it: its input has exactly the rows
// for which they are computed. Over Values, which is FROM nothing, it is computed
// before the query runs.
type InOrder struct {
	In    Node
	Items []Item
}

// OrElse gives the rows of its input, or Rows when there are none.
type OrElse struct {
	In   Node
	Rows [][]expr.Expr
}

// Window computes window functions over the rows of its input, which it gives
// in the order of partitions and keys, with a column for each call.
type Window struct {
	In        Node
	Partition []expr.Expr
	Order     []SortKey
	Calls     []WindowCall
}

// WindowCall is a window function.
type WindowCall struct {
	ID ColID
	// Name is ROW_NUMBER, LAG, …, or "" for an aggregate.
	Name string
	Agg  expr.Aggregate
	// Args are Agg's arguments, or the value, and the default of LAG and LEAD
	// where there is one, of the same type.
	Args []expr.Expr
	// N is the offset of LAG and LEAD, the n of NTILE and NTH_VALUE.
	N     int64
	Frame Frame
	// IgnoreNulls leaves NULLs out of the rows that LAG, LEAD, FIRST_VALUE,
	// LAST_VALUE and NTH_VALUE count; FromLast makes NTH_VALUE count backwards.
	IgnoreNulls, FromLast bool
}

// Frame is the rows around a row that a window function sees.
type Frame struct {
	// Rows and Groups (of rows with equal order keys) are counted; without both
	// rows are counted by the value of the order key.
	Rows, Groups bool
	Start, End   Bound
	Exclude      Exclusion
}

// Exclusion says which rows of a frame do not count.
type Exclusion uint8

// The exclusions.
const (
	ExcludeNone  Exclusion = iota
	ExcludeRow             // the current row
	ExcludeGroup           // the current row and its peers
	ExcludeTies            // its peers
)

// BoundKind says where a frame begins or ends.
type BoundKind uint8

// The bounds.
const (
	Unbounded  BoundKind = iota // the first or last row of the partition
	CurrentRow                  // the row, with its peers unless Frame.Rows
	Preceding
	Following
)

// Bound is an end of a frame.
type Bound struct {
	Kind BoundKind
	N    int64 // rows or groups
	// Key and Limit, of the same type, are the order key and the value that the
	// key of a row in the frame does not pass, when rows are counted by value.
	Key, Limit expr.Expr
}

// Recursive gives the rows of Anchor, then those that Step gives while it reads
// (by WorkTable) what the step before it gave, until there are no more. Both
// give the columns of Cols by position.
type Recursive struct {
	Name         string
	Anchor, Step Node
	Cols         []ColID
	Work         int
	// Distinct drops rows that have been given before.
	Distinct bool
	// Stop is the number of rows after which it ends, -1 for none.
	Stop int64
	// Lengths are the most characters of text columns, -1 for others.
	Lengths []int
}

// WorkTable gives the rows of the previous step of a Recursive.
type WorkTable struct {
	Work int
	Cols []ColID
}

// CountRows gives the number of rows of a table as its metadata tells it, in
// one row of one column.
type CountRows struct {
	Use  *TableUse
	ID   ColID
	Rows int64
}

func (n *Scan) Inputs() []Node      { return nil }
func (n *Values) Inputs() []Node    { return nil }
func (n *Filter) Inputs() []Node    { return []Node{n.In} }
func (n *Project) Inputs() []Node   { return []Node{n.In} }
func (n *Aggregate) Inputs() []Node { return []Node{n.In} }
func (n *Join) Inputs() []Node      { return []Node{n.Left, n.Right} }
func (n *Sort) Inputs() []Node      { return []Node{n.In} }
func (n *TopN) Inputs() []Node      { return []Node{n.In} }
func (n *Limit) Inputs() []Node     { return []Node{n.In} }
func (n *Distinct) Inputs() []Node  { return []Node{n.In} }
func (n *SetOp) Inputs() []Node     { return n.In }
func (n *CountRows) Inputs() []Node { return nil }
func (n *Window) Inputs() []Node    { return []Node{n.In} }
func (n *Expand) Inputs() []Node    { return []Node{n.In} }
func (n *OrElse) Inputs() []Node    { return []Node{n.In} }
func (n *InOrder) Inputs() []Node   { return []Node{n.In} }
func (n *Generate) Inputs() []Node  { return []Node{n.In} }
func (n *Recursive) Inputs() []Node { return []Node{n.Anchor, n.Step} }
func (n *WorkTable) Inputs() []Node { return nil }

func (n *Scan) With([]Node) Node         { return n }
func (n *Values) With([]Node) Node       { return n }
func (n *Filter) With(in []Node) Node    { c := *n; c.In = in[0]; return &c }
func (n *Project) With(in []Node) Node   { c := *n; c.In = in[0]; return &c }
func (n *Aggregate) With(in []Node) Node { c := *n; c.In = in[0]; return &c }
func (n *Join) With(in []Node) Node      { c := *n; c.Left, c.Right = in[0], in[1]; return &c }
func (n *Sort) With(in []Node) Node      { c := *n; c.In = in[0]; return &c }
func (n *TopN) With(in []Node) Node      { c := *n; c.In = in[0]; return &c }
func (n *Limit) With(in []Node) Node     { c := *n; c.In = in[0]; return &c }
func (n *Distinct) With(in []Node) Node  { c := *n; c.In = in[0]; return &c }
func (n *SetOp) With(in []Node) Node     { c := *n; c.In = in; return &c }
func (n *CountRows) With([]Node) Node    { return n }
func (n *Window) With(in []Node) Node    { c := *n; c.In = in[0]; return &c }
func (n *Expand) With(in []Node) Node    { c := *n; c.In = in[0]; return &c }
func (n *OrElse) With(in []Node) Node    { c := *n; c.In = in[0]; return &c }
func (n *InOrder) With(in []Node) Node   { c := *n; c.In = in[0]; return &c }
func (n *Generate) With(in []Node) Node  { c := *n; c.In = in[0]; return &c }
func (n *Recursive) With(in []Node) Node { c := *n; c.Anchor, c.Step = in[0], in[1]; return &c }
func (n *WorkTable) With([]Node) Node    { return n }

func (n *Scan) Output() []ColID {
	out := make([]ColID, len(n.Cols))
	for i, c := range n.Cols {
		out[i] = c.ID
	}
	return out
}
func (n *Values) Output() []ColID { return n.Cols }
func (n *Filter) Output() []ColID { return n.In.Output() }
func (n *Project) Output() []ColID {
	out := make([]ColID, len(n.Items))
	for i, c := range n.Items {
		out[i] = c.ID
	}
	return out
}
func (n *Aggregate) Output() []ColID {
	out := make([]ColID, 0, len(n.Keys)+len(n.Aggs))
	for _, k := range n.Keys {
		out = append(out, k.ID)
	}
	for _, a := range n.Aggs {
		out = append(out, a.ID)
	}
	return out
}
func (n *Join) Output() []ColID {
	left := n.Left.Output()
	out := append(make([]ColID, 0, len(left)+1), left...)
	switch n.Kind {
	case Semi, Anti:
	case Mark:
		out = append(out, n.Mark)
	default:
		out = append(out, n.Right.Output()...)
	}
	return out
}
func (n *Sort) Output() []ColID      { return n.In.Output() }
func (n *TopN) Output() []ColID      { return n.In.Output() }
func (n *Limit) Output() []ColID     { return n.In.Output() }
func (n *Distinct) Output() []ColID  { return n.In.Output() }
func (n *SetOp) Output() []ColID     { return n.Cols }
func (n *CountRows) Output() []ColID { return []ColID{n.ID} }
func (n *Recursive) Output() []ColID { return n.Cols }
func (n *WorkTable) Output() []ColID { return n.Cols }
func (n *OrElse) Output() []ColID    { return n.In.Output() }
func (n *InOrder) Output() []ColID   { return (&Project{Items: n.Items}).Output() }
func (n *Generate) Output() []ColID {
	return append(append([]ColID(nil), n.In.Output()...), n.Cols...)
}
func (n *Expand) Output() []ColID {
	out := append([]ColID(nil), n.In.Output()...)
	for _, k := range n.Keys {
		out = append(out, k.ID)
	}
	return append(out, n.Set)
}
func (n *Window) Output() []ColID {
	out := append([]ColID(nil), n.In.Output()...)
	for _, c := range n.Calls {
		out = append(out, c.ID)
	}
	return out
}

func (n *Scan) exprs() []expr.Expr { return n.Conds }
func (n *Values) exprs() []expr.Expr {
	var out []expr.Expr
	for _, r := range n.Rows {
		out = append(out, r...)
	}
	return out
}
func (n *Filter) exprs() []expr.Expr  { return n.Conds }
func (n *Project) exprs() []expr.Expr { return itemExprs(n.Items) }
func (n *Aggregate) exprs() []expr.Expr {
	out := itemExprs(n.Keys)
	for _, a := range n.Aggs {
		out = append(out, a.Args...)
	}
	return out
}
func (n *Join) exprs() []expr.Expr {
	out := make([]expr.Expr, 0, 2*len(n.Keys)+len(n.Conds)+len(n.MarkConds))
	for _, k := range n.Keys {
		out = append(out, k.L, k.R)
	}
	out = append(out, n.Conds...)
	return append(out, n.MarkConds...)
}
func (n *Sort) exprs() []expr.Expr      { return sortExprs(n.Keys) }
func (n *TopN) exprs() []expr.Expr      { return sortExprs(n.Keys) }
func (n *Limit) exprs() []expr.Expr     { return nil }
func (n *Distinct) exprs() []expr.Expr  { return nil }
func (n *SetOp) exprs() []expr.Expr     { return nil }
func (n *CountRows) exprs() []expr.Expr { return nil }
func (n *Recursive) exprs() []expr.Expr { return nil }
func (n *WorkTable) exprs() []expr.Expr { return nil }
func (n *Expand) exprs() []expr.Expr    { return itemExprs(n.Keys) }
func (n *Generate) exprs() []expr.Expr {
	return append(append([]expr.Expr(nil), n.Args...), n.Conds...)
}
func (n *InOrder) exprs() []expr.Expr { return itemExprs(n.Items) }
func (n *OrElse) exprs() []expr.Expr {
	var out []expr.Expr
	for _, r := range n.Rows {
		out = append(out, r...)
	}
	return out
}
func (n *Window) exprs() []expr.Expr {
	out := append(append([]expr.Expr(nil), n.Partition...), sortExprs(n.Order)...)
	for _, c := range n.Calls {
		out = append(out, c.exprs()...)
	}
	return out
}

func (c *WindowCall) exprs() []expr.Expr {
	out := append([]expr.Expr(nil), c.Args...)
	for _, b := range []Bound{c.Frame.Start, c.Frame.End} {
		if b.Key != nil {
			out = append(out, b.Key, b.Limit)
		}
	}
	return out
}

func (c WindowCall) withExprs(es []expr.Expr) WindowCall {
	k := len(c.Args)
	c.Args, es = es[:k:k], es[k:]
	for _, b := range []*Bound{&c.Frame.Start, &c.Frame.End} {
		if b.Key != nil {
			b.Key, b.Limit, es = es[0], es[1], es[2:]
		}
	}
	return c
}

func itemExprs(items []Item) []expr.Expr {
	out := make([]expr.Expr, len(items))
	for i, x := range items {
		out[i] = x.Expr
	}
	return out
}

func sortExprs(keys []SortKey) []expr.Expr {
	out := make([]expr.Expr, len(keys))
	for i, k := range keys {
		out[i] = k.Expr
	}
	return out
}

func withItems(items []Item, es []expr.Expr) []Item {
	out := make([]Item, len(items))
	for i, x := range items {
		out[i] = Item{x.ID, es[i]}
	}
	return out
}

func withSort(keys []SortKey, es []expr.Expr) []SortKey {
	out := append([]SortKey(nil), keys...)
	for i := range out {
		out[i].Expr = es[i]
	}
	return out
}

func (n *Scan) withExprs(es []expr.Expr) Node { c := *n; c.Conds = es; return &c }
func (n *Values) withExprs(es []expr.Expr) Node {
	c := *n
	c.Rows = nil
	for _, r := range n.Rows {
		c.Rows = append(c.Rows, es[:len(r):len(r)])
		es = es[len(r):]
	}
	return &c
}
func (n *Filter) withExprs(es []expr.Expr) Node { c := *n; c.Conds = es; return &c }
func (n *Project) withExprs(es []expr.Expr) Node {
	c := *n
	c.Items = withItems(n.Items, es)
	return &c
}
func (n *Aggregate) withExprs(es []expr.Expr) Node {
	c := *n
	c.Keys = withItems(n.Keys, es)
	es = es[len(n.Keys):]
	c.Aggs = append([]Agg(nil), n.Aggs...)
	for i := range c.Aggs {
		k := len(c.Aggs[i].Args)
		c.Aggs[i].Args = es[:k:k]
		es = es[k:]
	}
	return &c
}
func (n *Join) withExprs(es []expr.Expr) Node {
	c := *n
	c.Keys = append([]EquiKey(nil), n.Keys...)
	for i := range c.Keys {
		c.Keys[i].L, c.Keys[i].R = es[2*i], es[2*i+1]
	}
	es = es[2*len(n.Keys):]
	k := len(n.Conds)
	c.Conds, c.MarkConds = es[:k:k], es[k:]
	return &c
}
func (n *Sort) withExprs(es []expr.Expr) Node { c := *n; c.Keys = withSort(n.Keys, es); return &c }
func (n *TopN) withExprs(es []expr.Expr) Node { c := *n; c.Keys = withSort(n.Keys, es); return &c }
func (n *Limit) withExprs([]expr.Expr) Node   { return n }
func (n *Distinct) withExprs([]expr.Expr) Node {
	return n
}
func (n *SetOp) withExprs([]expr.Expr) Node     { return n }
func (n *CountRows) withExprs([]expr.Expr) Node { return n }
func (n *Recursive) withExprs([]expr.Expr) Node { return n }
func (n *WorkTable) withExprs([]expr.Expr) Node { return n }
func (n *Expand) withExprs(es []expr.Expr) Node {
	c := *n
	c.Keys = withItems(n.Keys, es)
	return &c
}
func (n *Generate) withExprs(es []expr.Expr) Node {
	c := *n
	k := len(n.Args)
	c.Args, c.Conds = es[:k:k], es[k:]
	return &c
}
func (n *InOrder) withExprs(es []expr.Expr) Node {
	c := *n
	c.Items = withItems(n.Items, es)
	return &c
}
func (n *OrElse) withExprs(es []expr.Expr) Node {
	c := *n
	c.Rows = nil
	for _, r := range n.Rows {
		c.Rows = append(c.Rows, es[:len(r):len(r)])
		es = es[len(r):]
	}
	return &c
}
func (n *Window) withExprs(es []expr.Expr) Node {
	c := *n
	k := len(n.Partition)
	c.Partition, es = es[:k:k], es[k:]
	k = len(n.Order)
	c.Order, es = withSort(n.Order, es[:k]), es[k:]
	c.Calls = nil
	for _, x := range n.Calls {
		k := len(x.exprs())
		c.Calls = append(c.Calls, x.withExprs(es[:k]))
		es = es[k:]
	}
	return &c
}
