package plan

import (
	"cmp"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// windowCall is a window function of a block, bound in terms of FROM's columns
// and aggregates.
type windowCall struct {
	partition []expr.Expr
	order     []SortKey
	call      WindowCall
	pos       int
}

// windowFunctions are the functions that are nothing but window functions, with
// the least and greatest number of their arguments.
var windowFunctions = map[string][2]int{
	"ROW_NUMBER": {0, 0}, "RANK": {0, 0}, "DENSE_RANK": {0, 0}, "PERCENT_RANK": {0, 0}, "CUME_DIST": {0, 0}, "NTILE": {1, 1},
	"LAG": {1, 3}, "LEAD": {1, 3}, "FIRST_VALUE": {1, 1}, "LAST_VALUE": {1, 1}, "NTH_VALUE": {2, 2},
}

// valueFunctions give the value of another row; they can leave out NULLs.
var valueFunctions = map[string]bool{"LAG": true, "LEAD": true, "FIRST_VALUE": true, "LAST_VALUE": true, "NTH_VALUE": true}

// window binds a call with OVER and returns its column.
func (s *scope) window(f *syntax.FuncCall) (expr.Expr, error) {
	bl := s.bl
	name := strings.ToUpper(f.Name.Object())
	if s.inAgg || s.inWindow || s.noAggs || s.clause != inFields && s.clause != inOrder && s.clause != inQualify {
		return nil, errs.UserAt(f.Pos(), errs.WindowMisplaced, "You cannot use the window function '%s' in this context.'", strings.ToLower(name))
	}
	arity, pure := windowFunctions[name]
	switch {
	case !pure && !expr.IsAggregate(name):
		return nil, errs.UserAt(f.Pos(), errs.Syntax, "%s is no window function", name)
	case pure && (len(f.Args) < arity[0] || len(f.Args) > arity[1] || f.Star || f.Distinct):
		return nil, errs.UserAt(f.Pos(), errs.Syntax, "%s has another number of arguments", name)
	case f.Distinct:
		return nil, errs.NotInMySQL("<window function>(DISTINCT ..)")
	case f.Nulls != syntax.NullsUnspecified && !valueFunctions[name]:
		return nil, errs.UserAt(f.Pos(), errs.Syntax, "%s takes no IGNORE or RESPECT NULLS", name)
	case f.FromLast && name != "NTH_VALUE":
		return nil, errs.UserAt(f.Pos(), errs.Syntax, "%s takes no FROM LAST", name)
	case f.Filter != nil && pure:
		return nil, errs.UserAt(f.Pos(), errs.Syntax, "FILTER (WHERE …) belongs to an aggregate, which %s is not", name)
	case name == "GROUP_CONCAT", name == "ANY_VALUE":
		return nil, errs.Unsupportedf(f.Pos(), "%s as a window function", name)
	}
	spec, err := bl.windowSpec(f.Over, 0)
	if err != nil {
		return nil, err
	}
	in := &scope{bl: bl, clause: s.clause, rel: s.rel, inWindow: true}
	w := &windowCall{pos: f.Pos()}
	for _, e := range spec.PartitionBy {
		x, err := bl.windowKey(e, in)
		if err != nil {
			return nil, err
		}
		w.partition = append(w.partition, x)
	}
	for _, o := range spec.OrderBy {
		x, err := bl.windowKey(o.Expr, in)
		if err != nil {
			return nil, err
		}
		w.order = append(w.order, sortKey(x, o))
	}
	t, err := bl.windowFunction(f, name, pure, w, in)
	if err != nil {
		return nil, err
	}
	if w.call.Frame, err = bl.frame(spec, w, in); err != nil {
		return nil, cmp.Or(bl.windowKeys(), err)
	}
	w.call.ID = bl.b.newCol(Column{Name: strings.ToLower(name), Type: t})
	bl.windows = append(bl.windows, w)
	return expr.Materialized(bl.b.env.Expr, bl.b.col(w.call.ID)), nil
}

// afterWindows takes the pending subqueries that read window functions, as
// RANK() OVER (…) IN (SELECT …) does, out of the list of those that can be joined
// before.
func (bl *block) afterWindows() (late []*apply) {
	made := colSet{}
	for _, w := range bl.windows {
		made[w.call.ID] = true
	}
	var before []*apply
	for _, a := range bl.post {
		reads := free(a.plan)
		for _, m := range a.marks {
			reads.addOf(m)
		}
		if made.any(reads) {
			late = append(late, a)
		} else {
			before = append(before, a)
		}
	}
	bl.post = before
	return late
}

// windowKey binds a key of PARTITION BY or ORDER BY, where numbers are no
// positions.
func (bl *block) windowKey(e syntax.Expr, in *scope) (expr.Expr, error) {
	if err := windowPosition(e); err != nil {
		return nil, err
	}
	return bl.bind(e, in)
}

// checkWindowKeys refuses positions as keys of the windows of a query, which are
// looked at before any frame.
func checkWindowKeys(q *syntax.Select, order []*syntax.OrderItem) error {
	var found error
	check := func(s *syntax.WindowSpec) {
		for _, e := range s.PartitionBy {
			found = cmp.Or(found, windowPosition(e))
		}
		for _, o := range s.OrderBy {
			found = cmp.Or(found, windowPosition(o.Expr))
		}
	}
	visit := func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Query, *syntax.Select, *syntax.SetOp:
			return false
		case *syntax.FuncCall:
			if n.Over != nil {
				check(n.Over)
			}
		}
		return found == nil
	}
	for _, w := range q.Windows {
		check(w.Spec)
	}
	for _, it := range q.Items {
		syntax.Walk(it, visit)
	}
	for _, o := range order {
		syntax.Walk(o, visit)
	}
	return found
}

func windowPosition(e syntax.Expr) error {
	if n, ok := e.(*syntax.NumberLit); ok && n.Kind == syntax.Integer {
		return errs.UserAt(e.Pos(), errs.WindowPosition, "Window '<unnamed window>': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.")
	}
	return nil
}

// windowFunction binds the function's arguments and returns its type.
func (bl *block) windowFunction(f *syntax.FuncCall, name string, pure bool, w *windowCall, in *scope) (t expr.Type, err error) {
	b := bl.b
	var args []expr.Expr
	for _, a := range f.Args {
		x, err := bl.bind(a, in)
		if err != nil {
			return t, err
		}
		args = append(args, x)
	}
	if !pure {
		spec := expr.AggregateSpec{Name: name, Args: args}
		if f.Filter != nil {
			if spec.Filter, err = bl.bind(f.Filter, in); err != nil {
				return t, err
			}
		}
		if w.call.Agg, err = expr.NewAggregate(b.env.Expr, spec); err != nil {
			return t, positioned(err, f.Pos())
		}
		w.call.Args = w.call.Agg.Args()
		return w.call.Agg.Type(), nil
	}
	w.call.Name, w.call.IgnoreNulls, w.call.FromLast = name, f.Nulls == syntax.IgnoreNulls, f.FromLast
	// number reads the constant argument n.
	number := func(i int, least int64, kind errs.Kind) error {
		n, ok := integerOf(args[i])
		if !ok {
			if b.env.Preparing {
				w.call.N = max(least, 1)
				return nil
			}
			return errs.UserAt(f.Args[i].Pos(), errs.Syntax, "%s takes a whole number here", name)
		}
		if n < least {
			return errs.UserAt(f.Args[i].Pos(), kind, "Incorrect arguments to %s", strings.ToLower(name))
		}
		w.call.N = n
		return nil
	}
	switch name {
	case "PERCENT_RANK", "CUME_DIST":
		return expr.TDouble.NotNull(), nil
	case "NTILE":
		return expr.TUint64.NotNull(), number(0, 1, errs.WrongArguments)
	case "ROW_NUMBER", "RANK", "DENSE_RANK":
		return expr.TUint64.NotNull(), nil
	}
	t = args[0].Type()
	w.call.Args, w.call.N = args[:1], 1
	switch name {
	case "NTH_VALUE":
		err = number(1, 1, errs.WrongArguments)
	case "LAG", "LEAD":
		if len(args) > 1 {
			err = number(1, 0, errs.Syntax)
		}
		if len(args) > 2 && err == nil {
			w.call.Args, t, err = expr.Unify(b.env.Expr, args[0], args[2])
		}
	}
	t.Nullable = true
	return t, err
}

// windowSpec resolves the window that a specification names or extends.
func (bl *block) windowSpec(s *syntax.WindowSpec, depth int) (*syntax.WindowSpec, error) {
	if depth > len(bl.named) {
		return nil, errs.UserAt(s.Pos(), errs.WindowCycle, "There is a circularity in the window dependency graph.")
	}
	if s.Ref.Name == "" {
		return s, nil
	}
	def := bl.named[strings.ToLower(s.Ref.Name)]
	if def == nil {
		return nil, errs.UserAt(s.Pos(), errs.WindowUnknown, "Window name '%s' is not defined.", s.Ref.Name)
	}
	base, err := bl.windowSpec(def, depth+1)
	if err != nil || !s.Parens {
		return base, err
	}
	switch {
	case len(s.PartitionBy) > 0:
		return nil, errs.UserAt(s.Pos(), errs.WindowPartition, "A window which depends on another cannot define partitioning.")
	case base.Frame != nil:
		return nil, errs.UserAt(s.Pos(), errs.WindowFramed, "Window '%s' has a frame definition, so cannot be referenced by another window.", s.Ref.Name)
	case len(base.OrderBy) > 0 && len(s.OrderBy) > 0:
		return nil, errs.UserAt(s.Pos(), errs.WindowOrdered, "Window '<unnamed window>' cannot inherit '%s' since both contain an ORDER BY clause.", s.Ref.Name)
	}
	out := *s
	out.Ref, out.PartitionBy = syntax.Ident{}, base.PartitionBy
	if len(out.OrderBy) == 0 {
		out.OrderBy = base.OrderBy
	}
	return &out, nil
}

// nameWindows takes the WINDOW clause.
func (bl *block) nameWindows(list []*syntax.NamedWindow) error {
	bl.named = map[string]*syntax.WindowSpec{}
	for _, w := range list {
		k := strings.ToLower(w.Name.Name)
		if bl.named[k] != nil {
			return errs.UserAt(w.Pos(), errs.WindowDuplicate, "Window '%s' is defined twice.", w.Name.Name)
		}
		bl.named[k] = w.Spec
	}
	for _, w := range list {
		if _, err := bl.windowSpec(w.Spec, 0); err != nil {
			return err
		}
	}
	return nil
}

var exclusions = map[string]Exclusion{"CURRENT ROW": ExcludeRow, "GROUP": ExcludeGroup, "TIES": ExcludeTies}

// frame binds the frame of a window.
func (bl *block) frame(s *syntax.WindowSpec, w *windowCall, in *scope) (Frame, error) {
	f := s.Frame
	if f == nil {
		if len(w.order) == 0 {
			return Frame{}, nil
		}
		return Frame{End: Bound{Kind: CurrentRow}}, nil
	}
	switch {
	case f.Unit == syntax.FrameGroups && len(w.order) == 0:
		return Frame{}, errs.UserAt(f.Pos(), errs.Syntax, "a GROUPS frame needs ORDER BY in its window")
	case f.Start.Kind == syntax.UnboundedFollowing:
		return Frame{}, errs.UserAt(f.Pos(), errs.FrameStart, "Window '<unnamed window>': frame start cannot be UNBOUNDED FOLLOWING.")
	case f.End.Kind == syntax.UnboundedPreceding && f.Between:
		return Frame{}, errs.UserAt(f.Pos(), errs.FrameEnd, "Window '<unnamed window>': frame end cannot be UNBOUNDED PRECEDING.")
	case f.Start.Kind > f.End.Kind:
		return Frame{}, errs.UserAt(f.Pos(), errs.FrameBounds, "Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type")
	}
	out := Frame{Rows: f.Unit == syntax.FrameRows, Groups: f.Unit == syntax.FrameGroups, Exclude: exclusions[f.Exclude]}
	for i, fb := range []syntax.FrameBound{f.Start, f.End} {
		bound := &out.Start
		if i == 1 {
			bound = &out.End
		}
		switch fb.Kind {
		case syntax.UnboundedPreceding, syntax.UnboundedFollowing:
			continue
		case syntax.CurrentRow:
			bound.Kind = CurrentRow
			continue
		case syntax.Preceding:
			bound.Kind = Preceding
		case syntax.Following:
			bound.Kind = Following
		}
		if out.Rows || out.Groups {
			if _, ok := fb.Expr.(*syntax.Interval); ok {
				return out, errs.UserAt(f.Pos(), errs.FrameBounds, "Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type")
			}
			x, err := bl.bind(fb.Expr, in)
			if err != nil {
				return out, err
			}
			n, ok := integerOf(x)
			if (!ok || n < 0) && !bl.b.env.Preparing {
				return out, errs.UserAt(f.Pos(), errs.FrameBounds, "Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type")
			}
			bound.N = n
			continue
		}
		if err := bl.rangeBound(bound, fb.Expr, w, in, f.Pos()); err != nil {
			return out, err
		}
	}
	return out, nil
}

// rangeBound binds n PRECEDING or FOLLOWING by value: the value that a key in
// the frame does not pass.
func (bl *block) rangeBound(out *Bound, e syntax.Expr, w *windowCall, in *scope, pos int) error {
	if len(w.order) != 1 {
		return errs.UserAt(pos, errs.RangeKey, "Window '<unnamed window>' with RANGE N PRECEDING/FOLLOWING frame requires exactly one deterministic ORDER BY expression, of numeric or temporal type")
	}
	ctx := bl.b.env.Expr
	key := w.order[0].Expr
	sub := (out.Kind == Preceding) != w.order[0].Desc
	iv, interval := e.(*syntax.Interval)
	switch {
	case !key.Type().IsNumber() && !key.Type().IsTemporal():
		return errs.UserAt(pos, errs.RangeKey, "Window '<unnamed window>' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type")
	case interval && !key.Type().IsTemporal():
		return errs.UserAt(pos, errs.RangeNumber, "Window '<unnamed window>' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.")
	case !interval && key.Type().IsTemporal():
		return errs.UserAt(pos, errs.RangeInterval, "Window '<unnamed window>' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.")
	}
	var limit expr.Expr
	var err error
	if interval {
		n, err2 := bl.bind(iv.Value, in)
		if err2 != nil {
			return err2
		}
		name := "DATE_ADD"
		if sub {
			name = "DATE_SUB"
		}
		limit, err = expr.Call(ctx, name, key, n, expr.Literal(expr.StringValue(iv.Unit, "")))
	} else {
		n, err2 := bl.bind(e, in)
		if err2 != nil {
			return err2
		}
		op := "+"
		if sub {
			op = "-"
		}
		limit, err = expr.Call(ctx, op, key, n)
	}
	if err != nil {
		return positioned(err, pos)
	}
	both, _, err := expr.Unify(ctx, key, limit)
	if err != nil {
		return positioned(err, pos)
	}
	out.Key, out.Limit = both[0], both[1]
	return nil
}

// rewrite applies f to the expressions of a window function.
func (w *windowCall) rewrite(f func(expr.Expr) (expr.Expr, error)) error {
	all := append(append([]expr.Expr(nil), w.partition...), sortExprs(w.order)...)
	all = append(all, w.call.exprs()...)
	for i, e := range all {
		x, err := f(e)
		if err != nil {
			return positioned(err, w.pos)
		}
		all[i] = x
	}
	n, m := len(w.partition), len(w.order)
	w.partition, w.order, w.call = all[:n:n], withSort(w.order, all[n:n+m]), w.call.withExprs(all[n+m:])
	return nil
}

// over puts the block's window functions above its rows, those of one window
// together.
func (bl *block) over() {
	var nodes []*Window
	at := map[string]*Window{}
	for _, w := range bl.windows {
		var key strings.Builder
		for _, e := range w.partition {
			key.WriteString(e.Key() + "\x00")
		}
		for _, k := range w.order {
			key.WriteString("\x01" + k.Expr.Key())
			if k.Desc {
				key.WriteString(" desc")
			}
		}
		n := at[key.String()]
		if n == nil {
			n = &Window{Partition: w.partition, Order: w.order}
			at[key.String()] = n
			nodes = append(nodes, n)
		}
		n.Calls = append(n.Calls, w.call)
	}
	for _, n := range nodes {
		n.In = bl.node
		bl.node = n
	}
}
