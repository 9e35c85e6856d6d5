package expr

import (
	"errors"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// Scope gives meaning to what an expression cannot know by itself.
type Scope interface {
	// Resolve is asked for every node before Bind looks at it, top-down. It
	// returns (nil, nil) for nodes that it leaves to Bind. It must handle column
	// references, subqueries (also of IN and quantified comparisons),
	// placeholders, DEFAULT and, where they may stand, aggregate and window
	// calls. It may handle more, such as a whole expression that GROUP BY has
	// computed. User and system variables that it leaves alone are read from
	// the Context's Session.
	Resolve(e syntax.Expr) (Expr, error)
}

// Bind turns a syntax tree into a typed expression. Errors carry the position
// of the node in the statement.
func Bind(ctx *Context, e syntax.Expr, scope Scope) (Expr, error) {
	b := &binder{ctx: ctx, scope: scope}
	return b.bind(e)
}

type binder struct {
	ctx   *Context
	scope Scope
	depth int
}

// maxDepth bounds the nesting of expressions, so that recursion stays small.
const maxDepth = 3000

func (b *binder) bind(e syntax.Expr) (Expr, error) {
	if b.depth++; b.depth > maxDepth {
		return nil, errs.UserAt(e.Pos(), errs.Syntax, "the expression is nested more than %d levels deep", maxDepth)
	}
	defer func() { b.depth-- }()
	if b.scope != nil {
		x, err := b.scope.Resolve(e)
		if err != nil {
			return nil, err
		}
		if x != nil {
			return x, nil
		}
	}
	x, err := b.node(e)
	if err != nil {
		return nil, at(err, e.Pos())
	}
	return x, nil
}

// at gives an error a position unless it has one.
func at(err error, pos int) error {
	var x *errs.Error
	if errors.As(err, &x) && x.Pos < 0 && (x.Class == errs.User || x.Class == errs.Unsupported) {
		y := *x
		y.Pos = pos
		return &y
	}
	return err
}

// placed is at, and the message of what is not supported tells the position.
func placed(err error, pos int) error {
	var x *errs.Error
	if errors.As(err, &x) && x.Pos < 0 && x.Class == errs.Unsupported {
		return errs.Unsupportedf(pos, "%s", strings.TrimPrefix(x.Msg, "this version does not support "))
	}
	return err
}

func (b *binder) all(es []syntax.Expr) ([]Expr, error) {
	out := make([]Expr, len(es))
	for i, e := range es {
		x, err := b.bind(e)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// call binds the arguments and calls a function.
func (b *binder) call(name string, args ...syntax.Expr) (Expr, error) {
	xs, err := b.all(args)
	if err != nil {
		return nil, err
	}
	return Call(b.ctx, name, xs...)
}

func (b *binder) negate(not bool, x Expr, err error) (Expr, error) {
	if err != nil || !not {
		return x, err
	}
	return Call(b.ctx, "NOT", x)
}

var binaryNames = map[syntax.BinaryOp]string{
	syntax.OpOr: "OR", syntax.OpXor: "XOR", syntax.OpAnd: "AND",
	syntax.OpEq: "=", syntax.OpNullSafeEq: "<=>", syntax.OpNe: "<>", syntax.OpLt: "<", syntax.OpLe: "<=", syntax.OpGt: ">", syntax.OpGe: ">=",
	syntax.OpBitOr: "|", syntax.OpBitAnd: "&", syntax.OpShiftLeft: "<<", syntax.OpShiftRight: ">>", syntax.OpBitXor: "^",
	syntax.OpAdd: "+", syntax.OpSub: "-", syntax.OpMul: "*", syntax.OpDiv: "/", syntax.OpIntDiv: "DIV", syntax.OpMod: "%",
	syntax.OpConcat: "CONCAT", syntax.OpJSONExtract: "->", syntax.OpJSONUnquote: "->>",
	syntax.OpIsNotDistinct: "<=>",
}

func (b *binder) node(e syntax.Expr) (Expr, error) {
	switch e := e.(type) {
	case *syntax.NullLit:
		return Literal(NullValue()), nil
	case *syntax.BoolLit:
		return boolLiteral(e.Value), nil
	case *syntax.NumberLit:
		return numberLiteral(e)
	case *syntax.StringLit:
		return stringLiteral(b.ctx, e)
	case *syntax.BytesLit:
		return bytesLiteral(b.ctx, e)
	case *syntax.TemporalLit:
		return temporalLiteral(b.ctx, e)
	case *syntax.Binary:
		return b.binary(e)
	case *syntax.Unary:
		return b.unary(e)
	case *syntax.Is:
		name := map[syntax.IsKind]string{syntax.IsNull: "IS NULL", syntax.IsTrue: "IS TRUE", syntax.IsFalse: "IS FALSE", syntax.IsUnknown: "IS NULL"}[e.Kind]
		if name == "" {
			return nil, errs.Unsupportedf(-1, "IS JSON")
		}
		x, err := b.call(name, e.X)
		return b.negate(e.Not, x, err)
	case *syntax.In:
		if e.Query != nil {
			return nil, errs.Unsupportedf(-1, "a subquery here")
		}
		x, err := b.in(e)
		return b.negate(e.Not, x, err)
	case *syntax.Between:
		if row(e.X) != nil || row(e.Low) != nil || row(e.High) != nil {
			return nil, errs.Userf(errs.OperandColumns, "Operand should contain 1 column(s)")
		}
		x, err := b.call("BETWEEN", e.X, e.Low, e.High)
		return b.negate(e.Not, x, err)
	case *syntax.Like:
		args := []syntax.Expr{e.X, e.Pattern}
		if e.Escape != nil {
			args = append(args, e.Escape)
		}
		x, err := b.call("LIKE", args...)
		return b.negate(e.Not, x, err)
	case *syntax.Regexp:
		x, err := b.call("REGEXP_LIKE", e.X, e.Pattern)
		return b.negate(e.Not, x, err)
	case *syntax.MemberOf:
		return b.call("MEMBER OF", e.X, e.Array)
	case *syntax.Case:
		return b.caseOf(e)
	case *syntax.Cast:
		return b.cast(e)
	case *syntax.ConvertUsing:
		x, err := b.bind(e.X)
		if err != nil {
			return nil, err
		}
		return convertUsing(b.ctx, x, e.Charset)
	case *syntax.Collate:
		x, err := b.bind(e.X)
		if err != nil {
			return nil, err
		}
		return collate(b.ctx, x, e.Collation)
	case *syntax.FuncCall:
		return b.function(e)
	case *syntax.Trim:
		return b.trim(e)
	case *syntax.Extract:
		x, err := b.bind(e.X)
		if err != nil {
			return nil, err
		}
		return Call(b.ctx, "EXTRACT", wordLiteral(e.Unit), x)
	case *syntax.JSONValue:
		return b.jsonValue(e)
	case *syntax.UserVar:
		x, err := Call(b.ctx, "@", wordLiteral(e.Name))
		return x, placed(err, e.Pos())
	case *syntax.SysVar:
		scope := ""
		switch e.Scope {
		case syntax.ScopeSession:
			scope = "session"
		case syntax.ScopeGlobal:
			scope = "global"
		}
		if b.ctx.Session == nil {
			return nil, errs.Userf(errs.UnknownVariable, "Unknown system variable '%s'", e.Name)
		}
		v, err := b.ctx.Session.SystemVariable(scope, e.Name)
		if err != nil {
			return nil, err
		}
		v.Type.toldVariable()
		l := Literal(v)
		l.text = "@@" + e.Name
		return l, nil
	case *syntax.AssignExpr:
		x, err := b.bind(e.Value)
		if err != nil {
			return nil, err
		}
		b.ctx.warn("Warning", errs.Deprecated, "Setting user variables within expressions is deprecated and will be removed in a future release. Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.")
		x, err = Call(b.ctx, ":=", wordLiteral(e.Var.Name), x)
		return x, placed(err, e.Pos())
	case *syntax.ColumnRef:
		return nil, errs.Userf(errs.UnknownColumn, "Unknown column '%s' in 'field list'", joinIdents(e.Parts))
	case *syntax.Placeholder:
		return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to EXECUTE: a value for placeholder %d is missing", e.Index+1)
	case *syntax.Row:
		return nil, errs.Userf(errs.OperandColumns, "Operand should contain 1 column(s)")
	case *syntax.Interval:
		return nil, errs.Userf(errs.Syntax, "INTERVAL may only stand in date arithmetic")
	case *syntax.Unit:
		return wordLiteral(e.Name), nil
	case *syntax.Subquery, *syntax.Exists, *syntax.Quantified:
		return nil, errs.Unsupportedf(-1, "a subquery here")
	case *syntax.Default:
		return nil, errs.Unsupportedf(-1, "DEFAULT here")
	case *syntax.MatchAgainst:
		return nil, errs.Unsupportedf(-1, "MATCH … AGAINST")
	case *syntax.Lambda:
		return nil, errs.Unsupportedf(-1, "lambda expressions")
	case *syntax.Array:
		return nil, errs.Unsupportedf(-1, "ARRAY[…]")
	case *syntax.Subscript:
		return nil, errs.Unsupportedf(-1, "subscripts")
	case *syntax.Field:
		return nil, errs.Unsupportedf(-1, "row fields")
	case *syntax.AtTimeZone:
		return nil, errs.Unsupportedf(-1, "AT TIME ZONE")
	case *syntax.Star:
		return nil, errs.Userf(errs.Syntax, "* may only stand in a select list")
	}
	return nil, errs.Unsupportedf(-1, "this expression")
}

func joinIdents(parts []syntax.Ident) string {
	var s []string
	for _, p := range parts {
		s = append(s, p.Name)
	}
	return strings.Join(s, ".")
}

func (b *binder) binary(e *syntax.Binary) (Expr, error) {
	if iv, ok := e.R.(*syntax.Interval); ok && (e.Op == syntax.OpAdd || e.Op == syntax.OpSub) {
		return b.dateAdd(e.L, iv, e.Op == syntax.OpSub)
	}
	if iv, ok := e.L.(*syntax.Interval); ok && e.Op == syntax.OpAdd {
		return b.dateAdd(e.R, iv, false)
	}
	if e.Op.IsComparison() && (row(e.L) != nil || row(e.R) != nil) {
		return b.rowCompare(e.Op, e.L, e.R)
	}
	if e.Op.IsLogic() {
		return b.logic(e)
	}
	switch e.Op {
	case syntax.OpIsDistinct:
		x, err := b.call("<=>", e.L, e.R)
		return b.negate(true, x, err)
	case syntax.OpSoundsLike:
		l, err := b.call("SOUNDEX", e.L)
		if err != nil {
			return nil, err
		}
		r, err := b.call("SOUNDEX", e.R)
		if err != nil {
			return nil, err
		}
		return Call(b.ctx, "=", l, r)
	}
	return b.call(binaryNames[e.Op], e.L, e.R)
}

// logic binds a chain a AND b AND c, which parsers nest to the left, without
// recursion along the chain.
func (b *binder) logic(e *syntax.Binary) (Expr, error) {
	var chain []syntax.Expr
	at := syntax.Expr(e)
	for {
		x, ok := at.(*syntax.Binary)
		if !ok || x.Op != e.Op {
			break
		}
		if at != syntax.Expr(e) && b.scope != nil {
			r, err := b.scope.Resolve(at)
			if err != nil {
				return nil, err
			}
			if r != nil {
				break
			}
		}
		if x.Symbol {
			what, use := "&&", "AND"
			if x.Op == syntax.OpOr {
				what, use = "|| as a synonym for OR", "OR"
			}
			b.ctx.warn("Warning", errs.Deprecated, "'%s' is deprecated and will be removed in a future release. Please use %s instead", what, use)
		}
		chain = append(chain, x.R)
		at = x.L
	}
	out, err := b.bind(at)
	if err != nil {
		return nil, err
	}
	args := []Expr{out}
	for i := len(chain) - 1; i >= 0; i-- {
		x, err := b.bind(chain[i])
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	return Call(b.ctx, binaryNames[e.Op], args...)
}

func (b *binder) unary(e *syntax.Unary) (Expr, error) {
	switch e.Op {
	case syntax.OpBang:
		b.ctx.warn("Warning", errs.Deprecated, "'!' is deprecated and will be removed in a future release. Please use NOT instead")
		return b.call("NOT", e.X)
	case syntax.OpNot:
		return b.call("NOT", e.X)
	case syntax.OpNeg:
		return b.call("NEG", e.X)
	case syntax.OpPlus:
		return b.bind(e.X)
	case syntax.OpBitNot:
		return b.call("~", e.X)
	}
	x, err := b.bind(e.X)
	if err != nil {
		return nil, err
	}
	b.ctx.warn("Warning", errs.Deprecated, "'BINARY expr' is deprecated and will be removed in a future release. Please use CAST instead")
	return Cast(b.ctx, x, TBytes(-1))
}

func (b *binder) dateAdd(x syntax.Expr, iv *syntax.Interval, sub bool) (Expr, error) {
	d, err := b.bind(x)
	if err != nil {
		return nil, err
	}
	n, err := b.bind(iv.Value)
	if err != nil {
		return nil, err
	}
	if iv.To != "" {
		return nil, errs.Unsupportedf(-1, "INTERVAL … TO …")
	}
	name := "DATE_ADD"
	if sub {
		name = "DATE_SUB"
	}
	return Call(b.ctx, name, d, n, wordLiteral(iv.Unit))
}

// row returns the members of (a, b), or nil.
func row(e syntax.Expr) []syntax.Expr {
	if r, ok := e.(*syntax.Row); ok {
		return r.Items
	}
	return nil
}

func (b *binder) rowCompare(op syntax.BinaryOp, l, r syntax.Expr) (Expr, error) {
	ls, rs := row(l), row(r)
	if len(ls) != len(rs) {
		return nil, errs.Userf(errs.OperandColumns, "Operand should contain %d column(s)", max(len(ls), 1))
	}
	name := binaryNames[op]
	switch op {
	case syntax.OpEq, syntax.OpNullSafeEq, syntax.OpIsNotDistinct:
	case syntax.OpNe:
		x, err := b.rowCompare(syntax.OpEq, l, r)
		return b.negate(true, x, err)
	case syntax.OpIsDistinct:
		x, err := b.rowCompare(syntax.OpNullSafeEq, l, r)
		return b.negate(true, x, err)
	case syntax.OpLt, syntax.OpLe, syntax.OpGt, syntax.OpGe:
		return b.rowOrder(op, ls, rs)
	default:
		return nil, errs.Userf(errs.OperandColumns, "Operand should contain 1 column(s)")
	}
	var parts []Expr
	for i := range ls {
		var x Expr
		var err error
		if row(ls[i]) != nil || row(rs[i]) != nil {
			x, err = b.rowCompare(op, ls[i], rs[i])
		} else {
			x, err = b.call(name, ls[i], rs[i])
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, x)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return Call(b.ctx, "AND", parts...)
}

// rowOrder compares rows lexicographically: (a, b) < (c, d) is
// a < c OR (a = c AND b < d), where an unequal first pair decides.
func (b *binder) rowOrder(op syntax.BinaryOp, ls, rs []syntax.Expr) (Expr, error) {
	strict := binaryNames[op]
	if op == syntax.OpLe {
		strict = "<"
	} else if op == syntax.OpGe {
		strict = ">"
	}
	last, err := b.call(binaryNames[op], ls[len(ls)-1], rs[len(rs)-1])
	if err != nil {
		return nil, err
	}
	for i := len(ls) - 2; i >= 0; i-- {
		first, err := b.call(strict, ls[i], rs[i])
		if err != nil {
			return nil, err
		}
		same, err := b.call("=", ls[i], rs[i])
		if err != nil {
			return nil, err
		}
		if last, err = Call(b.ctx, "AND", same, last); err != nil {
			return nil, err
		}
		if last, err = Call(b.ctx, "OR", first, last); err != nil {
			return nil, err
		}
	}
	return last, nil
}

func (b *binder) in(e *syntax.In) (Expr, error) {
	if row(e.X) != nil {
		var parts []Expr
		for _, r := range e.List {
			x, err := b.rowCompare(syntax.OpEq, e.X, r)
			if err != nil {
				return nil, err
			}
			parts = append(parts, x)
		}
		if len(parts) == 1 {
			return parts[0], nil
		}
		return Call(b.ctx, "OR", parts...)
	}
	for _, r := range e.List {
		if row(r) != nil {
			return nil, errs.Userf(errs.OperandColumns, "Operand should contain 1 column(s)")
		}
	}
	return b.call("IN", append([]syntax.Expr{e.X}, e.List...)...)
}

func (b *binder) caseOf(e *syntax.Case) (Expr, error) {
	var operand Expr
	var err error
	if e.Operand != nil {
		if operand, err = b.bind(e.Operand); err != nil {
			return nil, err
		}
	}
	var conds, results []Expr
	for _, w := range e.Whens {
		c, err := b.bind(w.Cond)
		if err != nil {
			return nil, err
		}
		r, err := b.bind(w.Result)
		if err != nil {
			return nil, err
		}
		conds, results = append(conds, c), append(results, r)
	}
	if e.Else != nil {
		x, err := b.bind(e.Else)
		if err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	if operand != nil {
		for i := range conds {
			operand = asParameter(operand, conds[i].Type())
			conds[i] = asParameter(conds[i], operand.Type())
		}
		if conds, err = caseConditions(b.ctx, operand, conds); err != nil {
			return nil, err
		}
	}
	var args []Expr
	for i, c := range conds {
		args = append(args, c, results[i])
	}
	if e.Else != nil {
		args = append(args, results[len(results)-1])
	}
	return Call(b.ctx, "CASE", args...)
}

func (b *binder) trim(e *syntax.Trim) (Expr, error) {
	x, err := b.bind(e.X)
	if err != nil {
		return nil, err
	}
	name := [...]string{"TRIM", "LTRIM", "RTRIM"}[e.Side]
	args := []Expr{x}
	if e.Chars != nil {
		c, err := b.bind(e.Chars)
		if err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	return Call(b.ctx, "TRIM "+name, args...)
}

func (b *binder) cast(e *syntax.Cast) (Expr, error) {
	switch {
	case e.Try:
		return nil, errs.Unsupportedf(-1, "TRY_CAST")
	case e.Array:
		return nil, errs.Unsupportedf(-1, "CAST … AS … ARRAY")
	case e.AtTimeZone != nil:
		return nil, errs.Unsupportedf(-1, "CAST(… AT TIME ZONE …)")
	}
	ctx := *b.ctx
	if b.depth > 1 {
		ctx.Item = ""
	}
	x, err := b.bind(e.X)
	if err != nil {
		return nil, err
	}
	t, err := CastType(b.ctx, e.Type)
	if err != nil {
		return nil, err
	}
	return Cast(&ctx, x, t)
}

func (b *binder) function(e *syntax.FuncCall) (Expr, error) {
	name := upper(e.Name.Object())
	switch {
	case len(e.Name.Parts) > 1:
		return nil, errs.Userf(errs.UnknownFunction, "FUNCTION %s does not exist", joinIdents(e.Name.Parts))
	case e.Over != nil:
		return nil, errs.Userf(errs.Syntax, "You cannot use the window function '%s' in this context.", strings.ToLower(name))
	case IsAggregate(name):
		return nil, errs.Userf(errs.InvalidGroupBy, "Invalid use of group function")
	case e.Star || e.Distinct || e.OrderBy != nil || e.Separator != nil || e.Limit != nil || e.WithinGroup != nil || e.Filter != nil || e.Nulls != 0 || e.FromLast:
		return nil, errs.Userf(errs.Syntax, "%s takes plain arguments only", name)
	}
	for _, a := range e.Args {
		if row(a) != nil {
			return nil, errs.Userf(errs.OperandColumns, "Operand should contain 1 column(s)")
		}
	}
	switch name {
	case "DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE":
		sub := name == "DATE_SUB" || name == "SUBDATE"
		if len(e.Args) != 2 {
			return nil, wrongCount(name)
		}
		if iv, ok := e.Args[1].(*syntax.Interval); ok {
			return b.dateAdd(e.Args[0], iv, sub)
		}
		if name == "DATE_ADD" || name == "DATE_SUB" {
			return nil, errs.Userf(errs.Syntax, "%s needs INTERVAL … as its second argument", name)
		}
		xs, err := b.all(e.Args)
		if err != nil {
			return nil, err
		}
		to := "DATE_ADD"
		if sub {
			to = "DATE_SUB"
		}
		return Call(b.ctx, to, xs[0], xs[1], wordLiteral("DAY"))
	case "CHAR":
		xs, err := b.all(e.Args)
		if err != nil {
			return nil, err
		}
		x, err := Call(b.ctx, "CHAR", xs...)
		if err != nil || e.Using == "" {
			return x, err
		}
		return convertUsing(b.ctx, x, e.Using)
	case "WEIGHT_STRING":
		if e.As != nil && len(e.Args) == 1 {
			return b.weightString(e)
		}
	}
	x, err := b.call(name, e.Args...)
	var u *errs.Error
	if errors.As(err, &u) && (u.Kind == errs.WrongArgCount || u.Kind == errs.UnknownFunction) && strings.Contains(u.Msg, name) {
		y := *u
		y.Msg = strings.Replace(u.Msg, name, e.Name.Object(), 1)
		err = &y
	}
	return x, err
}

// weightString is WEIGHT_STRING(x AS CHAR(n)), of x cut or padded with blanks to
// n characters, or AS BINARY(n), of bytes padded with zeros.
func (b *binder) weightString(e *syntax.FuncCall) (Expr, error) {
	x, err := b.bind(e.Args[0])
	if err != nil {
		return nil, err
	}
	to, err := CastType(b.ctx, e.As)
	if err != nil {
		return nil, err
	}
	switch t := x.Type(); {
	case !isString(t):
	case to.Class == Bytes:
		x, err = Cast(b.ctx, x, to)
	default:
		n := Literal(IntValue(int64(to.Length)))
		if x, err = Call(b.ctx, "LEFT", x, n); err == nil && t.Class == String && collationOf(t).pad {
			x, err = Call(b.ctx, "RPAD", x, n, padding(x.Type()))
		}
	}
	if err != nil {
		return nil, err
	}
	return Call(b.ctx, "WEIGHT_STRING", x)
}

// padding is a blank of the collation of a text.
func padding(t Type) Expr {
	v := StringValue(" ", t.Collation)
	v.Type.Coercibility = t.Coercibility
	return Literal(v)
}

func wrongCount(name string) error {
	return errs.Userf(errs.WrongArgCount, "Incorrect parameter count in the call to native function '%s'", name)
}
