package plan

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// relation is what FROM makes visible: columns for unqualified names and *, in
// order, and tables for qualified ones.
type relation struct {
	visible []named
	tables  []*tableRef
}

// named is a column under the name by which a query can call it.
type named struct {
	name string
	id   ColID
}

// tableRef is a table or derived table of FROM.
type tableRef struct {
	catalog, database string // "" for derived tables
	alias             string
	cols              []named
	// key are the columns that identify a row, nil when nothing is known.
	key []ColID
	// ast is the name that it was written as, nil for derived tables; target is
	// set for one whose rows the statement changes.
	ast    *syntax.TableName
	target *Target
}

func (t *tableRef) relation() relation {
	return relation{visible: t.cols, tables: []*tableRef{t}}
}

// lookup finds a name among columns: exactly spelled, else without case. It
// returns the matches of the better kind.
func lookup(cols []named, name string) []named {
	var exact, folded []named
	for _, c := range cols {
		if c.name == name {
			exact = append(exact, c)
		} else if strings.EqualFold(c.name, name) {
			folded = append(folded, c)
		}
	}
	if exact != nil {
		return exact
	}
	return folded
}

// named returns the tables that a qualifier of up to three parts names.
func (r *relation) named(q []syntax.Ident) []*tableRef {
	var out []*tableRef
	for _, t := range r.tables {
		if t.alias != q[len(q)-1].Name {
			continue
		}
		if len(q) > 1 && t.database != q[len(q)-2].Name {
			// `catalog.database`.table may stand in one part.
			if t.catalog == "" || t.catalog+"."+t.database != q[len(q)-2].Name {
				continue
			}
		}
		if len(q) > 2 && t.catalog != q[len(q)-3].Name {
			continue
		}
		out = append(out, t)
	}
	return out
}

// find returns the columns that a reference may mean.
func (r *relation) find(c *syntax.ColumnRef) []named {
	q := c.Qualifier()
	if len(q) == 0 {
		return lookup(r.visible, c.Column())
	}
	var out []named
	for _, t := range r.named(q) {
		out = append(out, lookup(t.cols, c.Column())...)
	}
	return out
}

// clause is the part of a query in which a name stands; MySQL's words.
type clause string

const (
	inFields clause = "field list"
	inWhere  clause = "where clause"
	inGroup  clause = "group statement"
	inHaving clause = "having clause"
	inOrder  clause = "order clause"
	inOn     clause = "on clause"
	// QUALIFY is no clause of MySQL's.
	inQualify clause = "qualify clause"
	inLimit   clause = "limit clause"
)

func refText(c *syntax.ColumnRef) string {
	parts := make([]string, len(c.Parts))
	for i, p := range c.Parts {
		parts[i] = p.Name
	}
	return strings.Join(parts, ".")
}

func unknownColumn(c *syntax.ColumnRef, in clause) error {
	return errs.UserAt(c.Pos(), errs.UnknownColumn, "Unknown column '%s' in '%s'", refText(c), in)
}

func ambiguous(c *syntax.ColumnRef, in clause) error {
	return errs.UserAt(c.Pos(), errs.AmbiguousColumn, "Column '%s' in %s is ambiguous", refText(c), in)
}

// scope binds the expressions of one clause of a block. It implements
// expr.Scope.
type scope struct {
	bl       *block
	clause   clause
	rel      *relation // the block's, or the operands' of a join
	inAgg    bool      // inside an aggregate's arguments
	inWindow bool      // inside a window function
	noAggs   bool      // aggregates may not stand here
	noSubs   string    // subqueries that need a join may not stand here: the reason
}

// Resolve implements expr.Scope.
func (s *scope) Resolve(e syntax.Expr) (expr.Expr, error) {
	switch e := e.(type) {
	case *syntax.ColumnRef:
		return s.column(e)
	case *syntax.Subscript, *syntax.Field:
		return s.reached(e)
	case *syntax.Placeholder:
		return s.bl.b.placeholder(e)
	case *syntax.Subquery:
		return s.scalar(e)
	case *syntax.Exists:
		return s.exists(e)
	case *syntax.In:
		if e.Query != nil {
			return s.in(e)
		}
	case *syntax.Quantified:
		return s.quantified(e)
	case *syntax.Binary:
		if e.Op.IsComparison() {
			return s.rowSubquery(e)
		}
	case *syntax.FuncCall:
		return s.call(e)
	case *syntax.Default:
		return s.columnDefault(e)
	}
	return nil, nil
}

// col returns the expression of a column.
func (b *binder) col(id ColID) expr.Expr {
	c := b.cols[id]
	name := "`" + c.Name + "`"
	if c.Table != "" {
		name = "`" + c.Table + "`." + name
		if c.Database != "" {
			name = "`" + c.Database + "`." + name
		}
	}
	return expr.Column(id, c.Type, name)
}

// column resolves a name: in the query's own FROM or select list as its clause
// demands, then outwards.
func (s *scope) column(c *syntax.ColumnRef) (expr.Expr, error) {
	bl := s.bl
	found := s.rel.find(c)
	switch {
	case len(found) > 1 && s.clause == inHaving && !s.inAgg:
		// The select list may tell which one is meant.
		if e, err := s.alias(c); e != nil || err != nil {
			return e, err
		}
		return nil, ambiguous(c, s.clause)
	case len(found) > 1:
		return nil, ambiguous(c, s.clause)
	case len(found) == 1 && s.clause == inHaving && !s.inAgg:
		id := found[0].id
		if _, ok := bl.keyIndex[bl.b.col(id).Key()]; ok {
			return bl.b.col(id), nil
		}
		if e, err := s.alias(c); e != nil || err != nil {
			return e, err
		}
		return bl.b.col(id), nil
	case len(found) == 1:
		return bl.b.col(found[0].id), nil
	}
	if !s.inAgg && (s.clause == inGroup || s.clause == inHaving || s.clause == inOrder || s.clause == inQualify) {
		if e, err := s.alias(c); e != nil || err != nil {
			return e, err
		}
	}
	for out := bl.outer; out != nil; out = out.bl.outer {
		found := out.rel.find(c)
		if len(found) > 1 {
			return nil, ambiguous(c, s.clause)
		}
		if len(found) == 1 {
			return bl.b.col(found[0].id), nil
		}
	}
	if x, err := s.memberOf(c); x != nil || err != nil {
		if err == nil {
			x, err = expr.Loaded(x)
		}
		return x, positioned(err, c.Pos())
	}
	return nil, unknownColumn(c, s.clause)
}

// alias resolves a name among the aliases of the select list, and in HAVING
// among its plain columns.
func (s *scope) alias(c *syntax.ColumnRef) (expr.Expr, error) {
	bl := s.bl
	if len(c.Qualifier()) > 0 {
		return nil, nil
	}
	i, err := bl.itemNamed(c, s.clause)
	if i < 0 || err != nil {
		return nil, err
	}
	it := bl.items[i]
	if s.clause == inGroup {
		// The select list is bound after GROUP BY.
		return bl.bind(it.ast, &scope{bl: bl, clause: inGroup, rel: s.rel, noAggs: true, inAgg: true})
	}
	return it.bound, nil
}

// itemNamed returns the select item with a name, -1 when there is none.
func (bl *block) itemNamed(c *syntax.ColumnRef, in clause) (int, error) {
	at := -1
	for _, fold := range []bool{false, true} {
		for i, it := range bl.items {
			same := it.name == c.Column()
			if fold {
				same = strings.EqualFold(it.name, c.Column())
			}
			if !same {
				continue
			}
			if at >= 0 && !bl.sameItem(at, i) {
				return -1, ambiguous(c, in)
			}
			if at < 0 {
				at = i
			}
		}
		if at >= 0 {
			break
		}
	}
	return at, nil
}

// sameItem reports whether two select items are the same expression.
func (bl *block) sameItem(i, j int) bool {
	a, b := bl.items[i], bl.items[j]
	if a.bound != nil && b.bound != nil {
		return a.bound.Key() == b.bound.Key()
	}
	return a.ast != nil && b.ast != nil && syntax.String(a.ast) == syntax.String(b.ast)
}

// placeholder gives the value of a parameter.
func (b *binder) placeholder(e *syntax.Placeholder) (expr.Expr, error) {
	if b.env.Preparing {
		if e.Index < len(b.env.Parameters) {
			return expr.ParameterExpr(b.env.Expr, &b.env.Parameters[e.Index]), nil
		}
		return expr.Literal(expr.NullValue()), nil
	}
	if e.Index >= len(b.env.Params) {
		return nil, errs.UserAt(e.Pos(), errs.WrongArguments, "Incorrect arguments to EXECUTE: a value for placeholder %d is missing", e.Index+1)
	}
	return expr.Literal(b.env.Params[e.Index]), nil
}
