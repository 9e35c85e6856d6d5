package plan

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// binder holds what is common to all blocks of a statement.
type binder struct {
	ctx      context.Context
	env      *Env
	cols     []Column
	uses     map[string]*TableUse
	tables   []*TableUse
	subplans []*Subplan
	refs     int // tables bound so far, so that CTEs cannot multiply without bound
	depth    int
	works    int // recursive common table expressions so far

	views  []string  // being bound, outermost first
	also   *alsoRead // what a SELECT gives beside its items
	frozen *Name     // the view in whose definition names are written out; see FreezeView

	raws  map[ColID]ColID // of nested columns: the column as it is stored
	shown map[ColID]ColID // the other way

	targets map[*syntax.TableName]Access // tables of FROM that the statement changes
	verb    string                       // of the statement, for messages about them
	ignore  bool                         // UPDATE IGNORE, INSERT IGNORE
	opened  []*Target

	stream   connector.Stream // of the table that is read continuously, nil for none
	streamed *TableUse
	streamAt int // where the statement names it
	op       ColID
	ends     *Limit // the statement's own
	isQuery  bool   // the statement is a query and nothing else
	inOrder  rowOrder

	pieces bool // the statement has several plans that may read one Shared
	shares bool // a Shared was made
}

// maxRefs bounds the table references of a statement after CTEs are expanded.
const maxRefs = 4096

// maxBlocks bounds the nesting of queries.
const maxBlocks = 64

func (b *binder) newCol(c Column) ColID {
	c.ID = len(b.cols)
	b.cols = append(b.cols, c)
	return c.ID
}

// copyCol makes a new column like another.
func (b *binder) copyCol(id ColID) ColID { return b.newCol(b.cols[id]) }

// cte is a common table expression in scope, with what was in scope where it
// was written.
type cte struct {
	def   *syntax.CTE
	outer *cte // those before it
	block *scope

	shared    *sharedQuery // its query, once it is bound and shared
	recursive bool
	// work, inside of a recursive one's own query, are its columns in the
	// previous step.
	work   []Column
	workID int
}

func (c *cte) find(name string) *cte {
	for ; c != nil; c = c.outer {
		if strings.EqualFold(c.def.Name.Name, name) {
			return c
		}
	}
	return nil
}

// block is one SELECT while it is being bound.
type block struct {
	b     *binder
	outer *scope // of the expression that this query is a subquery of
	ctes  *cte
	// windowKeys checks the keys of all windows of the query.
	windowKeys func() error
	node       Node
	rel        relation
	equal      []equality // that hold for every row, for functional dependence

	items    []*item
	keys     []Item
	keyIndex map[string]ColID // by Key of the expression
	aggs     []Agg
	aggIndex map[string]ColID
	sorted   bool // MySQL groups by sorting: see needsSortedGroups
	groupBy  bool
	sets     [][]int // with grouping sets: positions of keys
	flags    []ColID // with grouping sets: whether a key is rolled up in a row
	named    map[string]*syntax.WindowSpec
	windows  []*windowCall
	pre      []*apply // subqueries that the aggregation's input needs
	post     []*apply // subqueries that what stands above it needs
	averages []average
	met      map[string]bool // variables that the select list assigns or reads row by row
}

// item is one column of a select list.
type item struct {
	name  string
	ast   syntax.Expr
	bound expr.Expr // in terms of FROM's columns and aggregates
	key   int       // 1 + the grouping key that is this item, 0 for none
	pos   int
	id    ColID
}

// result is a bound query.
type result struct {
	node Node
	cols []Column
	// unique are positions of columns that identify a row, nil when unknown.
	unique []int
	// exact are further columns of node, by position in cols: the exact values of
	// those that are shown with fewer digits (expr.Rounded).
	exact map[int]ColID
	// kept: as a derived table MySQL keeps the rows in a temporary table.
	kept bool
	// texts are further columns of node, by position in cols: expr.OwnDigits.
	texts map[int]ColID
}

// value is column i as an expression that computes with its exact value.
func (b *binder) value(r *result, i int) expr.Expr {
	if id, ok := r.exact[i]; ok {
		return expr.Rounded(b.env.Expr, b.col(id), nil, b.cols[r.cols[i].ID].Type)
	}
	return b.col(r.cols[i].ID)
}

func (r *result) ids() []ColID {
	out := make([]ColID, len(r.cols))
	for i, c := range r.cols {
		out[i] = c.ID
	}
	return out
}

// query binds a query expression.
func (b *binder) query(q *syntax.Query, outer *scope, ctes *cte) (*result, error) {
	if b.depth++; b.depth > maxBlocks {
		return nil, errs.UserAt(q.Pos(), errs.Syntax, "queries are nested more than %d levels deep", maxBlocks)
	}
	defer func() { b.depth-- }()
	if q.Into != nil {
		return nil, errs.UserAt(q.Into.Pos(), errs.Syntax, "INTO belongs to the outermost SELECT of a statement")
	}
	ctes, err := with(q.With, outer, ctes)
	if err != nil {
		return nil, err
	}
	// Locking clauses have no effect: nothing that is read can change.
	return b.body(q.Body, q.OrderBy, q.Limit, outer, ctes)
}

// with adds the common table expressions of a WITH, which may be nil.
func with(w *syntax.With, outer *scope, ctes *cte) (*cte, error) {
	if w == nil {
		return ctes, nil
	}
	seen := map[string]bool{}
	for _, c := range w.CTEs {
		if k := strings.ToLower(c.Name.Name); seen[k] {
			return nil, errs.UserAt(c.Pos(), errs.DuplicateAlias, "Not unique table/alias: '%s'", c.Name.Name)
		} else {
			seen[k] = true
		}
		ctes = &cte{def: c, outer: ctes, block: outer, recursive: w.Recursive && mentions(c.Query, c.Name.Name) > 0}
	}
	return ctes, nil
}

// mentions counts the places where a query reads a table of that name.
func mentions(q syntax.Node, name string) (n int) {
	syntax.Walk(q, func(x syntax.Node) bool {
		if t, ok := x.(*syntax.TableName); ok && len(t.Name.Parts) == 1 && strings.EqualFold(t.Name.Object(), name) {
			n++
		}
		return true
	})
	return n
}

func (b *binder) body(body syntax.QueryBody, order []*syntax.OrderItem, lim *syntax.Limit, outer *scope, ctes *cte) (*result, error) {
	var r *result
	var err error
	switch x := body.(type) {
	case *syntax.Select:
		r, err = b.selectBlock(x, order, outer, ctes)
		if err != nil {
			return nil, err
		}
		return b.limited(r, lim)
	case *syntax.SetOp:
		r, err = b.setOp(x, outer, ctes)
	case *syntax.Values:
		r, err = b.valuesQuery(x, outer, ctes)
	case *syntax.TableQuery:
		star := &syntax.Select{At: x.At, Items: []*syntax.SelectItem{{At: x.At, Expr: &syntax.Star{At: x.At}}},
			From: &syntax.TableName{At: x.At, Name: x.Name}}
		r, err = b.selectBlock(star, order, outer, ctes)
		if err != nil {
			return nil, err
		}
		return b.limited(r, lim)
	case *syntax.Query:
		r, err = b.query(x, outer, ctes)
	default:
		err = errs.Unsupportedf(body.Pos(), "this query")
	}
	if err != nil {
		return nil, err
	}
	if r, err = b.ordered(r, order, outer, ctes); err != nil {
		return nil, err
	}
	return b.limited(r, lim)
}

// ordered sorts a bound query by columns of its result.
func (b *binder) ordered(r *result, order []*syntax.OrderItem, outer *scope, ctes *cte) (*result, error) {
	if len(order) == 0 {
		return r, nil
	}
	t := &tableRef{}
	for _, c := range r.cols {
		t.cols = append(t.cols, named{c.Name, c.ID})
	}
	bl := &block{b: b, outer: outer, ctes: ctes, node: r.node, rel: t.relation()}
	s := &scope{bl: bl, clause: inOrder, rel: &bl.rel, noAggs: true, noSubs: "subqueries in ORDER BY of a set operation"}
	var keys []SortKey
	for _, o := range order {
		e, err := b.position(o.Expr, r.cols, inOrder)
		if err != nil {
			return nil, err
		}
		if e == nil {
			if e, err = bl.bind(o.Expr, s); err != nil {
				return nil, err
			}
		}
		keys = append(keys, sortKey(e, o))
	}
	return &result{node: &Sort{In: r.node, Keys: keys}, cols: r.cols, unique: r.unique}, nil
}

func sortKey(e expr.Expr, o *syntax.OrderItem) SortKey {
	return SortKey{Expr: e, Desc: o.Desc, Nulls: NullsOrder(o.Nulls)}
}

// position resolves ORDER BY 2: nil when e is no position.
func (b *binder) position(e syntax.Expr, cols []Column, in clause) (expr.Expr, error) {
	n, ok := e.(*syntax.NumberLit)
	if !ok || n.Kind != syntax.Integer {
		return nil, nil
	}
	v, ok := n.Uint64()
	if !ok || v < 1 || v > uint64(len(cols)) {
		return nil, errs.UserAt(e.Pos(), errs.UnknownColumn, "Unknown column '%s' in '%s'", n.Text, in)
	}
	return b.col(cols[v-1].ID), nil
}

// limited applies LIMIT and OFFSET.
func (b *binder) limited(r *result, lim *syntax.Limit) (*result, error) {
	if lim == nil {
		return r, nil
	}
	if lim.WithTies {
		return nil, errs.Unsupportedf(lim.Pos(), "FETCH … WITH TIES")
	}
	count, offset := int64(-1), int64(0)
	var err error
	if lim.Count != nil {
		if count, err = b.limitValue(lim.Count); err != nil {
			return nil, err
		}
	}
	if lim.Offset != nil {
		if offset, err = b.limitValue(lim.Offset); err != nil {
			return nil, err
		}
	}
	if count < 0 && offset == 0 {
		return r, nil
	}
	if n, ok := r.node.(*InOrder); ok {
		// Rows that are not wanted are not computed.
		c := *n
		c.In = &Limit{In: n.In, Count: count, Offset: offset}
		return &result{node: &c, cols: r.cols, unique: r.unique, kept: true, texts: r.texts}, nil
	}
	return &result{node: &Limit{In: r.node, Count: count, Offset: offset}, cols: r.cols, unique: r.unique, kept: true, texts: r.texts}, nil
}

// limitValue reads a number of rows; too large ones mean all.
func (b *binder) limitValue(e syntax.Expr) (int64, error) {
	const most = 1<<62 - 1
	switch e := e.(type) {
	case *syntax.NumberLit:
		if e.Kind == syntax.Integer {
			if v, ok := e.Uint64(); ok && v < most {
				return int64(v), nil
			}
			return most, nil
		}
	case *syntax.Placeholder:
		if b.env.Preparing {
			if e.Index < len(b.env.Parameters) {
				b.env.Parameters[e.Index].Type = expr.TUint64
			}
			return most, nil
		}
		x, err := b.placeholder(e)
		if err != nil {
			return 0, err
		}
		if n, ok := integerOf(x); ok && n >= 0 {
			return min(n, most), nil
		}
		return 0, errs.UserAt(e.Pos(), errs.WrongArguments, "Incorrect arguments to LIMIT: placeholder %d is not a whole number", e.Index+1)
	}
	return 0, errs.UserAt(e.Pos(), errs.Syntax, "LIMIT takes whole numbers and placeholders only")
}

// integerOf returns the value of an integer literal.
func integerOf(e expr.Expr) (int64, bool) {
	l, ok := e.(*expr.LiteralExpr)
	if !ok || l.Val.IsNull() {
		return 0, false
	}
	v := l.Val.Vec
	switch {
	case len(v.I64s) > 0 && (l.Val.Type.Class == expr.Int):
		if l.Val.Type.Unsigned && v.I64s[0] < 0 {
			return 1<<62 - 1, true
		}
		return v.I64s[0], true
	case len(v.I32s) > 0 && l.Val.Type.Class == expr.Int:
		return int64(v.I32s[0]), true
	}
	return 0, false
}

// bind types an expression of a block.
func (bl *block) bind(e syntax.Expr, s *scope) (expr.Expr, error) {
	return expr.Bind(bl.b.env.Expr, e, s)
}

// condition binds a condition and cuts it at its ANDs.
func (bl *block) condition(e syntax.Expr, s *scope) ([]expr.Expr, error) {
	x, err := bl.bind(e, s)
	if err != nil {
		return nil, err
	}
	return bl.b.conjuncts(x)
}

func (b *binder) conjuncts(x expr.Expr) ([]expr.Expr, error) {
	if expr.Operator(x) == "AND" {
		var out []expr.Expr
		for _, c := range x.Children() {
			more, err := b.conjuncts(c)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	c, err := expr.Condition(b.env.Expr, x)
	if err != nil {
		return nil, err
	}
	return []expr.Expr{c}, nil
}
