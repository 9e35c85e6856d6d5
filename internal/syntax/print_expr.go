package syntax

import (
	"fmt"
	"strings"
)

// strength is how tightly the outermost operator of e binds; operands bind
// tightest.
func strength(e Expr) int {
	switch e := e.(type) {
	case *AssignExpr, *Lambda:
		return 1
	case *Binary:
		return binaryStrength[e.Op]
	case *Is:
		if e.Kind != IsNull {
			return precNot // what compares cannot follow it
		}
		return precCompare
	case *Quantified:
		return precCompare
	case *In, *Like, *Between, *Regexp, *MemberOf:
		return precPred
	case *Unary:
		if e.Op == OpNot {
			return precNot
		}
		return precUnary
	case *Collate, *AtTimeZone, *Subscript, *Field:
		return precCollate
	}
	return 200
}

var binaryStrength = func() (s [OpJSONUnquote + 1]int) {
	for o := range s {
		switch o := BinaryOp(o); {
		case o == OpSoundsLike:
			s[o] = precPred
		case o.IsComparison():
			s[o] = precCompare
		case o >= OpJSONExtract:
			s[o] = precCollate
		default:
			s[o] = map[BinaryOp]int{OpOr: precOr, OpXor: precXor, OpAnd: precAnd, OpBitOr: precBitOr, OpBitAnd: precBitAnd,
				OpShiftLeft: precShift, OpShiftRight: precShift, OpAdd: precAdd, OpSub: precAdd, OpMul: precMul, OpDiv: precMul,
				OpIntDiv: precMul, OpMod: precMul, OpBitXor: precBitXor, OpConcat: precConcat}[o]
		}
	}
	return
}()

var binaryText = [...]string{
	OpOr: "OR", OpXor: "XOR", OpAnd: "AND", OpEq: "=", OpNullSafeEq: "<=>", OpNe: "<>", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=",
	OpIsDistinct: "IS DISTINCT FROM", OpIsNotDistinct: "IS NOT DISTINCT FROM", OpSoundsLike: "SOUNDS LIKE",
	OpBitOr: "|", OpBitAnd: "&", OpShiftLeft: "<<", OpShiftRight: ">>", OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/",
	OpIntDiv: "DIV", OpMod: "%", OpBitXor: "^", OpConcat: "||", OpJSONExtract: "->", OpJSONUnquote: "->>",
}

// String returns the operator as SQL text.
func (o BinaryOp) String() string { return binaryText[o] }

func (p *printer) exprs(list []Expr) {
	for i, e := range list {
		p.opt(i > 0, ", ")
		p.expr(e, 0)
	}
}

func (p *printer) exprParens(list []Expr) {
	p.w("(")
	p.exprs(list)
	p.w(")")
}

// expr writes e, in parentheses when it binds less tightly than min.
func (p *printer) expr(e Expr, min int) {
	if strength(e) < min {
		p.w("(")
		p.bare(e)
		p.w(")")
		return
	}
	p.bare(e)
}

func not(n bool) string {
	if n {
		return "NOT "
	}
	return ""
}

func (p *printer) bare(e Expr) {
	switch e := e.(type) {
	case *Binary:
		p.binary(e)
	case *Unary:
		p.unary(e)
	case *Is:
		p.expr(e.X, precCompare)
		p.w(" IS ", not(e.Not), []string{"NULL", "TRUE", "FALSE", "UNKNOWN", "JSON"}[e.Kind])
	case *In:
		p.expr(e.X, precBitOr)
		p.w(" ", not(e.Not), "IN (")
		if e.Query != nil {
			p.query(e.Query)
		} else {
			p.exprs(e.List)
		}
		p.w(")")
	case *Between:
		p.expr(e.X, precBitOr)
		p.w(" ", not(e.Not), "BETWEEN ")
		p.expr(e.Low, precBitOr)
		p.w(" AND ")
		p.expr(e.High, precPred)
	case *Like:
		p.expr(e.X, precBitOr)
		p.w(" ", not(e.Not), "LIKE ")
		p.expr(e.Pattern, precBitOr)
		if e.Escape != nil {
			p.w(" ESCAPE ")
			p.expr(e.Escape, precBitOr)
		}
	case *Regexp:
		p.expr(e.X, precBitOr)
		p.w(" ", not(e.Not), "REGEXP ")
		p.expr(e.Pattern, precBitOr)
	case *MemberOf:
		p.expr(e.X, precBitOr)
		p.w(" MEMBER OF (")
		p.expr(e.Array, 0)
		p.w(")")
	case *Quantified:
		p.expr(e.X, precCompare)
		p.w(" ", e.Op.String(), map[Quantifier]string{Any: " ANY (", All: " ALL ("}[e.Quant])
		p.query(e.Query)
		p.w(")")
	case *AssignExpr:
		p.bare(e.Var)
		p.w(" := ")
		p.expr(e.Value, 0)
	case *Collate:
		p.expr(e.X, precCollate)
		p.w(" COLLATE ", QuoteIdent(e.Collation))
	case *Subscript:
		p.expr(e.X, precCollate)
		p.w("[")
		p.expr(e.Index, 0)
		p.w("]")
	case *Field:
		p.expr(e.X, precCollate)
		p.w(".")
		p.ident(e.Name)
	case *AtTimeZone:
		p.expr(e.X, precCollate)
		p.w(" AT TIME ZONE ")
		p.expr(e.Zone, 200)
	case *Lambda:
		if len(e.Params) == 1 {
			p.ident(e.Params[0])
		} else {
			p.identList(e.Params)
		}
		p.w(" -> ")
		p.expr(e.Body, 0)
	default:
		p.operandExpr(e)
	}
}

func (p *printer) binary(e *Binary) {
	s := binaryStrength[e.Op]
	right := s + 1
	switch {
	case s == precCompare:
		right = precPred
	case s == precPred:
		p.expr(e.L, precBitOr)
		p.w(" ", e.Op.String(), " ")
		p.expr(e.R, precBitOr)
		return
	case e.Op >= OpJSONExtract:
		right = precBitOr
	}
	p.expr(e.L, s)
	p.w(" ", e.Op.String(), " ")
	p.expr(e.R, right)
}

func (p *printer) unary(e *Unary) {
	switch e.Op {
	case OpNot:
		p.w("NOT ")
		p.expr(e.X, precNot)
		return
	case OpBinary:
		p.w("BINARY ")
	case OpBang:
		p.w("!")
	case OpBitNot:
		p.w("~")
	case OpPlus:
		p.w("+")
	case OpNeg:
		p.w("-")
		// Two dashes may start a comment.
		if u, ok := e.X.(*Unary); ok && u.Op == OpNeg {
			p.w(" ")
		}
	}
	if u, ok := e.X.(*Unary); ok && e.Op == OpBang && u.Op == OpBang {
		p.w(" ")
	}
	p.expr(e.X, precUnary)
}

// operandExpr writes what never needs parentheses.
func (p *printer) operandExpr(e Expr) {
	switch e := e.(type) {
	case *NullLit:
		p.w("NULL")
	case *BoolLit:
		p.w(map[bool]string{true: "TRUE", false: "FALSE"}[e.Value])
	case *NumberLit:
		p.w(e.Text)
	case *StringLit:
		switch {
		case e.National:
			p.w("N")
		case e.Charset != "":
			p.w("_", e.Charset)
		}
		if e.First > 0 && !e.National && e.First < len(e.Value) {
			p.str(e.Value[:e.First])
			p.w(" ")
			p.str(e.Value[e.First:])
		} else {
			p.str(e.Value)
		}
	case *BytesLit:
		if e.Charset != "" {
			p.w("_", e.Charset, " ")
		}
		if e.Bits {
			p.w("b'")
			for i := 0; i < len(e.Value); i++ {
				p.w(fmt.Sprintf("%08b", e.Value[i]))
			}
			p.w("'")
		} else {
			p.w("x'", strings.ToUpper(fmt.Sprintf("%x", e.Value)), "'")
		}
	case *TemporalLit:
		p.w([]string{"DATE ", "TIME ", "TIMESTAMP "}[e.Kind])
		p.str(e.Text)
	case *Interval:
		p.w("INTERVAL ")
		p.expr(e.Value, 0)
		p.w(" ", e.Unit)
		p.opt(e.To != "", " TO "+e.To)
	case *Unit:
		p.w(e.Name)
	case *Placeholder:
		p.w("?")
	case *ColumnRef:
		for i, part := range e.Parts {
			p.opt(i > 0, ".")
			p.ident(part)
		}
	case *Star:
		for _, q := range e.Qualifier {
			p.ident(q)
			p.w(".")
		}
		p.w("*")
		if e.Aliases != nil {
			p.w(" AS ")
			p.identList(e.Aliases)
		}
	case *UserVar:
		p.w("@")
		if plainVar(e.Name) {
			p.w(e.Name)
		} else {
			p.w("`", strings.ReplaceAll(e.Name, "`", "``"), "`")
		}
	case *SysVar:
		p.w("@@", []string{"", "session.", "global.", "persist.", "persist_only."}[e.Scope])
		for i, part := range strings.Split(e.Name, ".") {
			p.opt(i > 0, ".")
			if plainVar(part) {
				p.w(part)
			} else {
				p.w("`", strings.ReplaceAll(part, "`", "``"), "`")
			}
		}
	case *Default:
		p.w("DEFAULT")
		if e.Column != nil {
			p.w("(")
			p.bare(e.Column)
			p.w(")")
		}
	case *Exists:
		p.w("EXISTS (")
		p.query(e.Query)
		p.w(")")
	case *Subquery:
		p.w("(")
		p.query(e.Query)
		p.w(")")
	case *Row:
		p.opt(e.Explicit, "ROW")
		p.exprParens(e.Items)
	case *Array:
		p.w("ARRAY[")
		p.exprs(e.Items)
		p.w("]")
	case *Case:
		p.w("CASE")
		p.clause(" ", e.Operand)
		for _, w := range e.Whens {
			p.clause(" WHEN ", w.Cond)
			p.clause(" THEN ", w.Result)
		}
		p.clause(" ELSE ", e.Else)
		p.w(" END")
	case *FuncCall:
		p.call(e)
	default:
		p.specialCall(e)
	}
}

func plainVar(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isIdentByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// specialCall writes the functions that are nodes of their own.
func (p *printer) specialCall(e Expr) {
	switch e := e.(type) {
	case *Cast:
		p.opt(e.Try, "TRY_")
		p.w("CAST(")
		p.expr(e.X, 0)
		p.clause(" AT TIME ZONE ", e.AtTimeZone)
		p.w(" AS ")
		p.castType(e.Type)
		p.opt(e.Array, " ARRAY")
		p.w(")")
	case *ConvertUsing:
		p.w("CONVERT(")
		p.expr(e.X, 0)
		p.w(" USING ", e.Charset, ")")
	case *Trim:
		p.w("TRIM(")
		if e.Explicit {
			p.w([]string{"BOTH ", "LEADING ", "TRAILING "}[e.Side])
		}
		if e.Chars != nil {
			p.expr(e.Chars, 0)
			p.w(" ")
		}
		p.opt(e.Chars != nil || e.Explicit, "FROM ")
		p.expr(e.X, 0)
		p.w(")")
	case *Extract:
		p.w("EXTRACT(", e.Unit, " FROM ")
		p.expr(e.X, 0)
		p.w(")")
	case *MatchAgainst:
		p.w("MATCH ")
		p.exprParens(e.Columns)
		p.w(" AGAINST (")
		p.expr(e.Query, precBitOr)
		p.opt(e.Mode != "", " "+e.Mode)
		p.w(")")
	case *JSONValue:
		p.w("JSON_VALUE(")
		p.expr(e.Doc, 0)
		p.w(", ")
		p.expr(e.Path, 0)
		if e.Returning != nil {
			p.w(" RETURNING ")
			p.castType(e.Returning)
		}
		p.jsonOn(e.OnEmpty, " ON EMPTY")
		p.jsonOn(e.OnError, " ON ERROR")
		p.w(")")
	}
}

// functionName writes a call's name. Keywords that are functions stay bare,
// unless they were quoted and so named something else.
func (p *printer) functionName(n ObjectName) {
	if len(n.Parts) != 1 {
		p.name(n)
		return
	}
	k, ok := lookupKeyword(n.Parts[0].Name)
	switch {
	case ok && n.Parts[0].Quoted:
		p.w("`", n.Parts[0].Name, "`")
	case ok && (!k.reserved || reservedCalls[k.word] || bareCalls[k.word]):
		p.w(n.Parts[0].Name)
	default:
		p.ident(n.Parts[0])
	}
}

// bareCalls are the reserved words that are functions with or without
// parentheses, and INTERVAL(…).
var bareCalls = map[string]bool{
	"CURRENT_DATE": true, "CURRENT_TIME": true, "CURRENT_TIMESTAMP": true, "LOCALTIME": true, "LOCALTIMESTAMP": true,
	"UTC_DATE": true, "UTC_TIME": true, "UTC_TIMESTAMP": true, "CURRENT_USER": true, "INTERVAL": true,
}

func (p *printer) call(f *FuncCall) {
	p.functionName(f.Name)
	if f.NoParens {
		return
	}
	p.w("(")
	switch {
	case f.Star:
		p.w("*")
	case f.Is("position") && len(f.Args) == 2 && !f.Name.Parts[0].Quoted:
		p.expr(f.Args[0], precBitOr)
		p.w(" IN ")
		p.expr(f.Args[1], 0)
	default:
		p.opt(f.Distinct, "DISTINCT ")
		p.exprs(f.Args)
	}
	p.orderBy(f.OrderBy)
	if f.Separator != nil {
		p.w(" SEPARATOR ")
		p.str(*f.Separator)
	}
	p.limitClause(f.Limit)
	p.opt(f.Using != "", " USING "+f.Using)
	if f.As != nil {
		p.w(" AS ")
		p.dataType(f.As)
	}
	p.w(")")
	if f.WithinGroup != nil {
		p.w(" WITHIN GROUP (ORDER BY ")
		for i, o := range f.WithinGroup {
			p.opt(i > 0, ", ")
			p.orderItem(o)
		}
		p.w(")")
	}
	if f.Filter != nil {
		p.w(" FILTER (WHERE ")
		p.expr(f.Filter, 0)
		p.w(")")
	}
	p.opt(f.FromLast, " FROM LAST")
	p.opt(f.Nulls == RespectNulls, " RESPECT NULLS")
	p.opt(f.Nulls == IgnoreNulls, " IGNORE NULLS")
	if f.Over != nil {
		p.w(" OVER ")
		p.window(f.Over)
	}
}

func (p *printer) window(w *WindowSpec) {
	if !w.Parens {
		p.ident(w.Ref)
		return
	}
	p.w("(")
	sep := ""
	if w.Ref.Name != "" {
		p.ident(w.Ref)
		sep = " "
	}
	if w.PartitionBy != nil {
		p.w(sep, "PARTITION BY ")
		p.exprs(w.PartitionBy)
		sep = " "
	}
	for i, o := range w.OrderBy {
		if i == 0 {
			p.w(sep, "ORDER BY ")
			sep = " "
		} else {
			p.w(", ")
		}
		p.orderItem(o)
	}
	if f := w.Frame; f != nil {
		p.w(sep, []string{"ROWS ", "RANGE ", "GROUPS "}[f.Unit])
		p.opt(f.Between, "BETWEEN ")
		p.bound(f.Start)
		if f.Between {
			p.w(" AND ")
			p.bound(f.End)
		}
		p.opt(f.Exclude != "", " EXCLUDE "+f.Exclude)
	}
	p.w(")")
}

func (p *printer) bound(b FrameBound) {
	if b.Expr != nil {
		p.expr(b.Expr, precBitOr)
	}
	p.w([]string{"UNBOUNDED PRECEDING", " PRECEDING", "CURRENT ROW", " FOLLOWING", "UNBOUNDED FOLLOWING"}[b.Kind])
}

func (p *printer) dataType(t *DataType) {
	switch {
	case t.Key != nil:
		p.w("MAP<")
		p.memberType(t.Key)
		p.w(", ")
		p.memberType(t.Elem)
		p.w(">")
		return
	case t.Elem != nil:
		p.w(t.Name, "<")
		p.memberType(t.Elem)
		p.w(">")
		return
	case t.Fields != nil:
		p.w("ROW<")
		for i, f := range t.Fields {
			p.opt(i > 0, ", ")
			p.ident(f.Name)
			p.w(" ")
			p.memberType(f.Type)
			if f.Comment != "" {
				p.w(" ")
				p.str(f.Comment)
			}
		}
		p.w(">")
		return
	}
	p.opt(t.National, "NATIONAL ")
	p.w(t.Name)
	if t.Values != nil {
		p.w("(")
		for i, v := range t.Values {
			p.opt(i > 0, ", ")
			p.str(v)
		}
		p.w(")")
	}
	if t.HasLength {
		p.w(fmt.Sprintf("(%d", t.Length))
		if t.HasScale {
			p.w(fmt.Sprintf(", %d", t.Scale))
		}
		p.w(")")
	}
	p.opt(t.Signed, " SIGNED")
	p.opt(t.Unsigned, " UNSIGNED")
	p.opt(t.Zerofill, " ZEROFILL")
	p.opt(t.Charset != "", " CHARACTER SET "+t.Charset)
	p.opt(t.Binary, " BINARY")
	p.w([]string{"", " WITHOUT TIME ZONE", " WITH TIME ZONE", " WITH LOCAL TIME ZONE"}[t.Zone])
}

// castType writes a type where only those of CAST may stand.
func (p *printer) castType(t *DataType) {
	if t.Name == "INTEGER" && t.Signed != t.Unsigned && !t.HasLength && !t.Zerofill {
		p.w(map[bool]string{true: "SIGNED", false: "UNSIGNED"}[t.Signed])
		return
	}
	p.dataType(t)
}

func (p *printer) memberType(t *DataType) {
	p.dataType(t)
	p.opt(t.NotNull, " NOT NULL")
}
