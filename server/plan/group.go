package plan

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// group binds GROUP BY; ordered: an ORDER BY follows.
func (bl *block) group(g *syntax.GroupBy, ordered bool) error {
	if g.Auto || g.All && len(g.Items) == 0 {
		return errs.Unsupportedf(g.Pos(), "this form of GROUP BY")
	}
	bl.groupBy = true
	bl.sorted = !ordered && (g.WithRollup || bl.needsSortedGroups())
	return bl.groupingSets(g)
}

// needsSortedGroups reports whether MySQL sorts for the aggregates of the select
// list instead of making a temporary table, in which a YEAR becomes an integer.
// An ORDER BY needs the table in any case.
func (bl *block) needsSortedGroups() (sorted bool) {
	for _, it := range bl.items {
		if it.ast == nil {
			continue
		}
		syntax.Walk(it.ast, func(n syntax.Node) bool {
			if f, ok := n.(*syntax.FuncCall); ok && f.Over == nil {
				sorted = sorted || f.Is("GROUP_CONCAT") || f.Distinct && expr.IsAggregate(f.Name.Object())
			}
			return !sorted
		})
	}
	return sorted
}

// groupKey binds an expression of GROUP BY, which may be the position or the name
// of an item of the select list, and returns the position of its key.
func (bl *block) groupKey(ast syntax.Expr) (int, error) {
	b := bl.b
	s := &scope{bl: bl, clause: inGroup, rel: &bl.rel, noAggs: true}
	at := -1
	switch e := ast.(type) {
	case *syntax.NumberLit:
		if e.Kind == syntax.Integer {
			v, ok := e.Uint64()
			if !ok || v < 1 || v > uint64(len(bl.items)) {
				return 0, errs.UserAt(e.Pos(), errs.UnknownColumn, "Unknown column '%s' in '%s'", e.Text, inGroup)
			}
			at = int(v) - 1
		}
	case *syntax.ColumnRef:
		if len(bl.rel.find(e)) == 0 && len(e.Qualifier()) == 0 {
			i, err := bl.itemNamed(e, inGroup)
			if err != nil {
				return 0, err
			}
			at = i
		} else if len(e.Qualifier()) == 0 {
			bl.warnAmbiguous(e)
		}
	}
	var x expr.Expr
	var err error
	switch {
	case at >= 0 && bl.items[at].key > 0:
		return bl.items[at].key - 1, nil
	case at >= 0:
		it := bl.items[at]
		if x = it.bound; x == nil {
			x, err = bl.bind(it.ast, &scope{bl: bl, clause: inGroup, rel: &bl.rel, noAggs: true, inAgg: true})
		}
	default:
		x, err = bl.bind(ast, s)
	}
	if errs.Is(err, errs.InvalidGroupBy) {
		for i, it := range bl.items {
			if i == at || it.ast != nil && syntax.String(it.ast) == syntax.String(ast) {
				err = errs.UserAt(ast.Pos(), errs.WrongGroupField, "Can't group on '%s'", it.name)
			}
		}
	}
	if err != nil {
		return 0, err
	}
	id, ok := bl.keyIndex[x.Key()]
	if !ok {
		raw := x
		var c Column
		if id, plain := plainColumn(x); plain {
			c = b.cols[id]
		} else {
			if !bl.sorted {
				x = expr.Materialized(b.env.Expr, x)
			}
			c = Column{Name: "key", Type: x.Type()}
		}
		id = b.newCol(c)
		bl.keyIndex[raw.Key()], bl.keyIndex[x.Key()] = id, id
		bl.keys = append(bl.keys, Item{id, x})
	}
	n := 0
	for i, k := range bl.keys {
		if k.ID == id {
			n = i
		}
	}
	if at >= 0 && bl.items[at].bound == nil {
		bl.items[at].key = n + 1
	}
	return n, nil
}

// warnAmbiguous warns, as MySQL does, of a name of GROUP BY that is both a
// column's, which it means, and an alias of something else.
func (bl *block) warnAmbiguous(e *syntax.ColumnRef) {
	for _, it := range bl.items {
		if !strings.EqualFold(it.name, e.Column()) || it.ast == nil {
			continue
		}
		if c, ok := it.ast.(*syntax.ColumnRef); ok && strings.EqualFold(c.Column(), e.Column()) {
			continue
		}
		bl.b.env.Expr.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.AmbiguousColumn,
			Message: "Column '" + e.Column() + "' in group statement is ambiguous"})
		return
	}
}

// call handles aggregate and window calls.
func (s *scope) call(f *syntax.FuncCall) (expr.Expr, error) {
	name := f.Name.Object()
	if len(f.Name.Parts) != 1 {
		return nil, nil
	}
	if f.Over != nil {
		return s.window(f)
	}
	if _, ok := windowFunctions[strings.ToUpper(name)]; ok {
		return nil, errs.UserAt(f.Pos(), errs.Syntax, "%s needs OVER (…)", strings.ToUpper(name))
	}
	if f.Is("GROUPING") {
		return s.grouping(f)
	}
	if !expr.IsAggregate(name) {
		return nil, nil
	}
	if bl := s.bl; (s.inAgg || s.noAggs) && bl.outer == nil {
		return nil, errs.UserAt(f.Pos(), errs.InvalidGroupBy, "Invalid use of group function")
	}
	switch {
	case len(f.WithinGroup) > 0:
		return nil, errs.Unsupportedf(f.Pos(), "WITHIN GROUP")
	case f.Limit != nil:
		return nil, errs.Unsupportedf(f.Pos(), "LIMIT in %s", name)
	case f.Star && !f.Is("COUNT"):
		return nil, errs.UserAt(f.Pos(), errs.Syntax, "%s(*) is not valid", name)
	case !f.Star && len(f.Args) == 0:
		return nil, errs.UserAt(f.Pos(), errs.WrongArgCount, "Incorrect parameter count in the call to native function '%s'", name)
	}
	bl := s.bl
	in := &scope{bl: bl, clause: s.clause, rel: s.rel, inAgg: true}
	spec := expr.AggregateSpec{Name: name, Distinct: f.Distinct, Separator: f.Separator}
	for _, a := range f.Args {
		x, err := bl.bind(a, in)
		if err != nil {
			return nil, err
		}
		spec.Args = append(spec.Args, x)
	}
	for _, o := range f.OrderBy {
		x, err := bl.bind(o.Expr, in)
		if err != nil {
			return nil, err
		}
		if _, number := o.Expr.(*syntax.NumberLit); !number && expr.IsConst(x) {
			continue // a constant orders nothing; only a written number is a position
		}
		spec.Order = append(spec.Order, expr.OrderItem{Expr: x, Desc: o.Desc})
	}
	if f.Filter != nil {
		x, err := bl.bind(f.Filter, in)
		if err != nil {
			return nil, err
		}
		spec.Filter = x
	}
	used := append([]expr.Expr(nil), spec.Args...)
	for _, o := range spec.Order {
		used = append(used, o.Expr)
	}
	home, err := s.home(f, used)
	if err != nil {
		return nil, err
	}
	if home == bl && (s.inAgg || s.noAggs) {
		return nil, errs.UserAt(f.Pos(), errs.InvalidGroupBy, "Invalid use of group function")
	}
	return home.sum(f, spec)
}

// sum is aggregate; of the average that a subquery gives, SUM and AVG add all
// digits, and show as many as of the average as it is shown.
func (bl *block) sum(f *syntax.FuncCall, spec expr.AggregateSpec) (expr.Expr, error) {
	if !f.Is("SUM") && !f.Is("AVG") || len(spec.Args) != 1 || spec.Args[0].Type().Class != expr.Decimal {
		return bl.aggregate(spec, f.Pos())
	}
	exact := expr.Exact(spec.Args[0])
	if exact == spec.Args[0] {
		return bl.aggregate(spec, f.Pos())
	}
	shown, err := expr.NewAggregate(bl.b.env.Expr, spec)
	if err != nil {
		return nil, positioned(err, f.Pos())
	}
	spec.Args = []expr.Expr{exact}
	x, err := bl.aggregate(spec, f.Pos())
	if err != nil {
		return nil, err
	}
	return expr.Cast(bl.b.env.Expr, x, shown.Type())
}

// home is the block that computes an aggregate with these arguments. One whose
// arguments are all of outer queries' columns belongs to the innermost query that
// has some of them, if an aggregate may stand where the subquery stands in it;
// else to the first query outwards between the two where one may; else to its
// own. MySQL calls this the aggregation query.
func (s *scope) home(f *syntax.FuncCall, args []expr.Expr) (*block, error) {
	bl := s.bl
	used := colSet{}
	for _, a := range args {
		for _, id := range expr.ColumnsOf(a) {
			used[bl.b.shownAs(id)] = true
		}
	}
	if len(used) == 0 || bl.hasOne(used) {
		return bl, nil
	}
	home := bl
	for out := bl.outer; out != nil; out = out.bl.outer {
		allowed := !out.noAggs && !out.inAgg
		if out.bl.hasOne(used) {
			switch {
			case allowed:
				return out.bl, nil
			case out.inAgg:
				return nil, errs.UserAt(f.Pos(), errs.InvalidGroupBy, "Invalid use of group function")
			}
			return home, nil
		}
		if allowed && home == bl {
			home = out.bl
		}
	}
	return bl, nil
}

// hasOne reports whether one of the columns is of the block's FROM.
func (bl *block) hasOne(used colSet) bool {
	for _, t := range bl.rel.tables {
		for _, c := range t.cols {
			if used[c.id] {
				return true
			}
		}
	}
	for _, c := range bl.rel.visible {
		if used[c.id] {
			return true
		}
	}
	return false
}

// aggregate returns the column of an aggregate of the block.
func (bl *block) aggregate(spec expr.AggregateSpec, pos int) (expr.Expr, error) {
	b := bl.b
	call, err := expr.NewAggregate(b.env.Expr, spec)
	if err != nil {
		return nil, positioned(err, pos)
	}
	if t := call.Type(); spec.Average == expr.AverageRounded && strings.EqualFold(spec.Name, "AVG") && t.Class == expr.Decimal {
		return bl.average(spec, t, pos)
	}
	id, ok := bl.aggIndex[call.Key()]
	if !ok {
		id = b.newCol(Column{Name: call.String(), Type: call.Type()})
		bl.aggIndex[call.Key()] = id
		bl.aggs = append(bl.aggs, Agg{ID: id, Call: call, Args: call.Args()})
	}
	return b.col(id), nil
}

// average returns AVG of whole numbers or decimals, shown as t: with more digits
// for the operators that compute with them (expr.Rounded). What of it nothing
// reads is pruned.
func (bl *block) average(spec expr.AggregateSpec, t expr.Type, pos int) (expr.Expr, error) {
	spec.Average = expr.AverageExact
	exact, err := bl.aggregate(spec, pos)
	if err != nil {
		return nil, err
	}
	spec.Average = expr.AverageReal
	real, err := bl.aggregate(spec, pos)
	if err != nil {
		return nil, err
	}
	x, okX := plainColumn(exact)
	r, okR := plainColumn(real)
	if okX && okR {
		bl.averages = append(bl.averages, average{x, r, spec})
	}
	return expr.Rounded(bl.b.env.Expr, exact, real, t), nil
}

// average is an AVG among a block's aggregates: its exact value and its DOUBLE.
type average struct {
	exact, real ColID
	spec        expr.AggregateSpec
}

// showAverages makes the select list, the order and the window functions of a
// block compute with averages as they are shown: window functions see the rows of
// a grouping as a table has them. HAVING comes before and keeps the exact values.
func (bl *block) showAverages(order []*orderKey, qualify []expr.Expr) error {
	b := bl.b
	shown := map[ColID]expr.Expr{}
	for _, a := range bl.averages {
		a.spec.Average = expr.AveragePadded
		x, err := bl.aggregate(a.spec, -1)
		if err != nil {
			return err
		}
		shown[a.exact] = x
		if shown[a.real], err = expr.Cast(b.env.Expr, x, expr.TDouble); err != nil {
			return err
		}
	}
	show := func(e expr.Expr) expr.Expr {
		return expr.Transform(e, func(x expr.Expr) expr.Expr {
			if id, ok := plainColumn(x); ok && shown[id] != nil {
				return shown[id]
			}
			return x
		})
	}
	for _, it := range bl.items {
		it.bound = show(it.bound)
	}
	for i := range qualify {
		qualify[i] = show(qualify[i])
	}
	for _, k := range order {
		if k.Expr != nil {
			k.Expr = show(k.Expr)
		}
	}
	for _, a := range bl.post {
		a.rewrite(show)
	}
	for _, w := range bl.windows {
		if err := w.rewrite(func(e expr.Expr) (expr.Expr, error) { return show(e), nil }); err != nil {
			return err
		}
	}
	return nil
}

// regroup puts the aggregation above FROM and WHERE and rewrites everything
// that stands above it in terms of its columns.
func (bl *block) regroup(having, qualify []expr.Expr, order []*orderKey) error {
	fixed := colSet{} // of a total's row nothing is determined
	if bl.sets == nil {
		fixed = bl.determined()
	}
	r := &regrouping{bl: bl, fixed: fixed}
	for i, it := range bl.items {
		x, err := r.rewrite(it.bound, i+1, inFields)
		if err != nil {
			return positioned(err, it.pos)
		}
		it.bound = x
	}
	for i := range having {
		x, err := r.rewrite(having[i], i+1, inHaving)
		if err != nil {
			return err
		}
		having[i] = x
	}
	for i := range qualify {
		x, err := r.rewrite(qualify[i], i+1, inQualify)
		if err != nil {
			return err
		}
		qualify[i] = x
	}
	for i, k := range order {
		if k.item > 0 {
			continue
		}
		x, err := r.rewrite(k.Expr, i+1, inOrder)
		if err != nil {
			return positioned(err, k.pos)
		}
		k.Expr = x
	}
	for _, w := range bl.windows {
		if err := w.rewrite(func(e expr.Expr) (expr.Expr, error) { return r.rewrite(e, 1, inFields) }); err != nil {
			return err
		}
	}
	for _, a := range bl.post {
		var failed error
		a.rewrite(func(e expr.Expr) expr.Expr {
			x, err := r.rewrite(e, 1, inFields)
			if err != nil {
				failed = err
				return e
			}
			return x
		})
		if failed != nil {
			return positioned(failed, a.pos)
		}
	}
	if len(bl.windows) > 0 {
		if err := bl.showAverages(order, qualify); err != nil {
			return err
		}
	}
	if err := bl.flush(&bl.pre); err != nil {
		return err
	}
	if bl.sets != nil {
		return bl.expandSets(len(order) > 0)
	}
	bl.node = &Aggregate{In: bl.node, Keys: bl.keys, Aggs: bl.aggs}
	return nil
}

// regrouping rewrites expressions to stand above an aggregation.
type regrouping struct {
	bl    *block
	fixed colSet // columns of FROM that have one value in each group
}

func (r *regrouping) rewrite(e expr.Expr, n int, in clause) (expr.Expr, error) {
	bl := r.bl
	if _, ok := bl.keyIndex[e.Key()]; expr.IsConst(e) && (!ok || bl.sets == nil) {
		return e, nil // a constant key is rolled up, too
	}
	if id, ok := bl.keyIndex[e.Key()]; ok && e.Traits()&expr.Volatile == 0 {
		return bl.b.col(id), nil
	}
	if id, ok := plainColumn(e); ok {
		return r.column(id, n, in)
	}
	kids := e.Children()
	var out []expr.Expr
	for i, c := range kids {
		d, err := r.rewrite(c, n, in)
		if err != nil {
			return nil, err
		}
		if d != c && out == nil {
			out = append([]expr.Expr(nil), kids...)
		}
		if out != nil {
			out[i] = d
		}
	}
	if out == nil {
		return e, nil
	}
	return e.With(out), nil
}

// column rewrites a column of FROM.
func (r *regrouping) column(id ColID, n int, in clause) (expr.Expr, error) {
	bl := r.bl
	if !bl.fromFrom(id) {
		return bl.b.col(id), nil // an aggregate, a subquery's value, an outer column
	}
	if !r.fixed[bl.b.shownAs(id)] && bl.b.env.Expr.Mode.Has(expr.OnlyFullGroupBy) {
		c := bl.b.cols[id]
		name := bl.b.columnText(id)
		if c.Database != "" {
			name = c.Database + "." + name
		}
		if in == inHaving {
			return nil, errs.Userf(errs.UnknownColumn, "Unknown column '%s' in '%s'", bl.b.cols[id].Name, in)
		}
		what := "SELECT list"
		switch in {
		case inOrder:
			what = "ORDER BY"
		case inQualify:
			what = "QUALIFY"
		}
		if !bl.groupBy {
			return nil, errs.Userf(errs.MixOfGroup, "In aggregated query without GROUP BY, expression #%d of %s contains nonaggregated column '%s'; this is incompatible with sql_mode=only_full_group_by", n, what, name)
		}
		if in == inOrder {
			what = "ORDER BY clause"
		}
		return nil, errs.Userf(errs.NotInGroupBy, "Expression #%d of %s is not in GROUP BY clause and contains nonaggregated column '%s' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by", n, what, name)
	}
	x, err := bl.aggregate(expr.AggregateSpec{Name: "ANY_VALUE", Args: []expr.Expr{bl.b.col(id)}}, -1)
	if err != nil {
		return nil, err
	}
	// Protocols show it as the column that it is.
	if got, ok := plainColumn(x); ok {
		c := bl.b.cols[id]
		t := bl.b.cols[got].Type
		bl.b.cols[got] = c
		bl.b.cols[got].ID, bl.b.cols[got].Type = got, t
	}
	return x, nil
}

// fromFrom reports whether a column is one that FROM gives.
func (bl *block) fromFrom(id ColID) bool {
	id = bl.b.shownAs(id)
	for _, t := range bl.rel.tables {
		for _, c := range t.cols {
			if c.id == id {
				return true
			}
		}
	}
	for _, c := range bl.rel.visible {
		if c.id == id {
			return true
		}
	}
	return false
}

// determined returns the columns of FROM that the grouping keys determine: the
// keys, what equals them or constants, and all columns of tables whose key is
// determined.
func (bl *block) determined() colSet {
	set := colSet{}
	for _, k := range bl.keys {
		if id, ok := plainColumn(k.Expr); ok {
			set[id] = true
		}
	}
	for changed := true; changed; {
		changed = false
		add := func(id ColID) {
			if !set[id] {
				set[id], changed = true, true
			}
		}
		for _, e := range bl.equal {
			switch {
			case e.b < 0:
				add(e.a)
			case set[e.a]:
				add(e.b)
			case set[e.b] && !e.oneWay:
				add(e.a)
			}
		}
		for _, t := range bl.rel.tables {
			if len(t.key) == 0 {
				continue
			}
			all := true
			for _, id := range t.key {
				all = all && set[id]
			}
			if all {
				for _, c := range t.cols {
					add(c.id)
				}
			}
		}
	}
	return set
}

// emptyValue is what an aggregate gives for no rows at all.
func (b *binder) emptyValue(a expr.Aggregate) (expr.Value, error) {
	s := a.NewState(b.env.Expr)
	s.Grow(1)
	v, err := s.Result(0, 1)
	if err != nil {
		return expr.Value{}, err
	}
	w := vector.NewLike(v.Values(), 1)
	w.AppendFrom(v, 0)
	return expr.Value{Type: a.Type(), Vec: w.AsConst(1)}, nil
}
