package syntax

import (
	"strings"
)

// String returns the canonical SQL text of a tree, in MySQL's dialect. It parses
// back, under the zero Options, to an equal tree; positions and source texts
// aside.
func String(n Node) string {
	if isNil(n) {
		return ""
	}
	p := &printer{}
	p.node(n)
	return p.b.String()
}

// QuoteIdent returns a name as SQL text, in backquotes where needed.
func QuoteIdent(name string) string {
	if !needsQuotes(name) {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// QuoteString returns a string literal that reads back to s whatever the
// sql_mode except NO_BACKSLASH_ESCAPES.
func QuoteString(s string) string {
	var b strings.Builder
	quoteString(&b, s)
	return b.String()
}

func quoteString(b *strings.Builder, s string) {
	b.WriteByte('\'')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'':
			b.WriteString("''")
		case '\\':
			// \% and \_ keep their backslash when read, so they are written as
			// they are.
			if i+1 < len(s) && (s[i+1] == '%' || s[i+1] == '_') {
				b.WriteByte('\\')
			} else {
				b.WriteString(`\\`)
			}
		case 0:
			b.WriteString(`\0`)
		case 26:
			b.WriteString(`\Z`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
}

func needsQuotes(name string) bool {
	if name == "" || isDigit(name[0]) {
		return true
	}
	for i := 0; i < len(name); i++ {
		if !isIdentByte(name[i]) {
			return true
		}
	}
	if k, ok := lookupKeyword(name); ok {
		return k.reserved || ambiguousNames[k.word]
	}
	return name[0] == '_' && charsets[lower(name[1:])]
}

// ambiguousNames are unreserved keywords that start a clause somewhere a name
// may stand; they are written with quotes.
var ambiguousNames = map[string]bool{
	"QUALIFY": true, "OFFSET": true, "TABLESAMPLE": true, "FULL": true, "RETURNING": true, "VERSION": true,
	"TIMESTAMP": true, "MINUS": true, "UNNEST": true, "ARRAY": true, "DATE": true, "TIME": true,
	"GLOBAL": true, "SESSION": true, "LOCAL": true, "PERSIST": true, "PERSIST_ONLY": true,
	"ROLLUP": true, "SOME": true, "ANY": true, "MEMBER": true, "ESCAPE": true, "AT": true,
}

type printer struct {
	b    strings.Builder
	hint bool // inside a comment: */ must not appear
}

func (p *printer) w(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// opt writes s when on.
func (p *printer) opt(on bool, s string) {
	if on {
		p.b.WriteString(s)
	}
}

func (p *printer) ident(i Ident) { p.w(QuoteIdent(i.Name)) }

func (p *printer) name(n ObjectName) {
	for i, part := range n.Parts {
		p.opt(i > 0, ".")
		p.ident(part)
	}
}

func (p *printer) names(list []ObjectName) {
	for i, n := range list {
		p.opt(i > 0, ", ")
		p.name(n)
	}
}

func (p *printer) identList(list []Ident) {
	p.w("(")
	for i, n := range list {
		p.opt(i > 0, ", ")
		p.ident(n)
	}
	p.w(")")
}

func (p *printer) str(s string) {
	if !p.hint {
		quoteString(&p.b, s)
		return
	}
	var b strings.Builder
	quoteString(&b, s)
	p.w(strings.ReplaceAll(b.String(), "*/", `*\/`))
}

func (p *printer) options(list []*Option) {
	p.w("(")
	for i, o := range list {
		p.opt(i > 0, ", ")
		p.str(o.Key)
		p.w(" = ")
		p.str(o.Value)
	}
	p.w(")")
}

// node writes any node.
func (p *printer) node(n Node) {
	switch n := n.(type) {
	case Expr:
		p.expr(n, 0)
	case *Query:
		p.query(n)
	case Statement:
		p.statement(n)
	case TableExpr:
		p.table(n)
	case QueryBody:
		p.body(n)
	case AlterAction:
		p.alterAction(n)
	case Ident:
		p.ident(n)
	case ObjectName:
		p.name(n)
	default:
		p.part(n)
	}
}

// part writes nodes that are parts of others.
func (p *printer) part(n Node) {
	switch n := n.(type) {
	case *SelectItem:
		p.item(n)
	case *OrderItem:
		p.orderItem(n)
	case *DataType:
		p.dataType(n)
	case *GroupBy:
		p.groupBy(n)
	case *Limit:
		p.limit(n)
	case *WindowSpec:
		p.window(n)
	case *ColumnDef:
		p.column(n)
	case *TableConstraint:
		p.constraint(n)
	case *Account:
		p.account(n)
	case *Assignment:
		p.assignments([]*Assignment{n})
	case *Arg:
		p.args([]*Arg{n})
	case *Hint:
		p.hintItem(n)
	case *With:
		p.with(n)
	}
}

func (p *printer) query(q *Query) {
	if q.With != nil {
		p.with(q.With)
		p.w(" ")
	}
	p.operand(q.Body, false)
	p.orderBy(q.OrderBy)
	p.limitClause(q.Limit)
	for _, l := range q.Locks {
		if l.Strength == LockShare {
			p.w(" FOR SHARE")
		} else {
			p.w(" FOR UPDATE")
		}
		if l.Of != nil {
			p.w(" OF ")
			p.names(l.Of)
		}
		p.w(map[LockWait]string{LockNoWait: " NOWAIT", LockSkipLocked: " SKIP LOCKED"}[l.Wait])
	}
	if q.Into != nil {
		p.w(" ")
		p.into(q.Into)
	}
}

func (p *printer) with(w *With) {
	p.w("WITH ")
	p.opt(w.Recursive, "RECURSIVE ")
	for i, c := range w.CTEs {
		p.opt(i > 0, ", ")
		p.ident(c.Name)
		if c.Columns != nil {
			p.w(" ")
			p.identList(c.Columns)
		}
		p.w(" AS (")
		p.query(c.Query)
		p.w(")")
	}
}

// operand writes a body, in parentheses when it has clauses of its own or, with
// paren, when it is a set operation.
func (p *printer) operand(b QueryBody, paren bool) {
	if q, ok := b.(*Query); ok {
		p.w("(")
		p.query(q)
		p.w(")")
		return
	}
	if _, ok := b.(*SetOp); ok && paren {
		p.w("(")
		p.body(b)
		p.w(")")
		return
	}
	p.body(b)
}

func (p *printer) body(b QueryBody) {
	switch b := b.(type) {
	case *Query:
		p.query(b)
	case *Select:
		p.selectCore(b)
	case *Values:
		p.w("VALUES ")
		for i, r := range b.Rows {
			p.opt(i > 0, ", ")
			p.w("ROW")
			p.exprParens(r)
		}
	case *TableQuery:
		p.w("TABLE ")
		p.name(b.Name)
	case *SetOp:
		l, ok := b.Left.(*SetOp)
		p.operand(b.Left, ok && b.Kind == Intersect && l.Kind != Intersect)
		p.w([]string{" UNION", " INTERSECT", " EXCEPT"}[b.Kind])
		p.opt(b.All, " ALL")
		p.opt(b.Distinct, " DISTINCT")
		p.w(" ")
		r, ok := b.Right.(*SetOp)
		p.operand(b.Right, ok && (b.Kind == Intersect || r.Kind != Intersect))
	}
}

func (p *printer) selectCore(s *Select) {
	p.w("SELECT")
	if s.Hints != nil {
		p.w(" /*+")
		for _, h := range s.Hints {
			p.w(" ")
			p.hintItem(h)
		}
		p.w(" */")
	}
	p.opt(s.All, " ALL")
	p.opt(s.Distinct, " DISTINCT")
	p.opt(s.HighPriority, " HIGH_PRIORITY")
	p.opt(s.StraightJoin, " STRAIGHT_JOIN")
	p.opt(s.SQLSmallResult, " SQL_SMALL_RESULT")
	p.opt(s.SQLBigResult, " SQL_BIG_RESULT")
	p.opt(s.SQLBufferResult, " SQL_BUFFER_RESULT")
	p.opt(s.SQLNoCache, " SQL_NO_CACHE")
	p.opt(s.SQLCalcFoundRows, " SQL_CALC_FOUND_ROWS")
	for i, it := range s.Items {
		p.opt(i > 0, ",")
		p.w(" ")
		p.item(it)
	}
	p.opt(s.Dual, " FROM DUAL")
	if s.From != nil {
		p.w(" FROM ")
		p.table(s.From)
	}
	p.clause(" WHERE ", s.Where)
	if s.GroupBy != nil {
		p.w(" ")
		p.groupBy(s.GroupBy)
	}
	p.clause(" HAVING ", s.Having)
	for i, w := range s.Windows {
		if i == 0 {
			p.w(" WINDOW ")
		} else {
			p.w(", ")
		}
		p.ident(w.Name)
		p.w(" AS ")
		p.window(w.Spec)
	}
	p.clause(" QUALIFY ", s.Qualify)
}

func (p *printer) clause(word string, e Expr) {
	if e != nil {
		p.w(word)
		p.expr(e, 0)
	}
}

func (p *printer) hintItem(h *Hint) {
	p.w(h.Name)
	if h.Args != "" {
		p.w("(", h.Args, ")")
	}
}

func (p *printer) item(it *SelectItem) {
	p.expr(it.Expr, 0)
	if it.HasAlias {
		p.w(" AS ")
		p.ident(it.Alias)
	}
}

func (p *printer) groupBy(g *GroupBy) {
	p.w("GROUP BY")
	p.opt(g.All, " ALL")
	p.opt(g.Distinct, " DISTINCT")
	for i, it := range g.Items {
		p.opt(i > 0, ",")
		p.w(" ")
		p.groupItem(it)
	}
	p.opt(g.WithRollup, " WITH ROLLUP")
}

func (p *printer) groupItem(g *GroupItem) {
	if g.Kind == GroupExpr {
		p.expr(g.Sets[0][0], 0)
		return
	}
	p.w([]string{"", "ROLLUP(", "CUBE(", "GROUPING SETS ("}[g.Kind])
	n := 0
	for _, s := range g.Sets {
		p.opt(n > 0, ", ")
		n++
		if len(s) == 1 {
			p.expr(s[0], 0)
		} else {
			p.exprParens(s)
		}
	}
	for _, it := range g.Items {
		p.opt(n > 0, ", ")
		n++
		p.groupItem(it)
	}
	p.w(")")
}

func (p *printer) orderBy(list []*OrderItem) {
	if list == nil {
		return
	}
	p.w(" ORDER BY ")
	for i, o := range list {
		p.opt(i > 0, ", ")
		p.orderItem(o)
	}
}

func (p *printer) orderItem(o *OrderItem) {
	p.expr(o.Expr, 0)
	p.opt(o.Desc, " DESC")
	p.opt(o.Nulls == NullsFirst, " NULLS FIRST")
	p.opt(o.Nulls == NullsLast, " NULLS LAST")
}

func (p *printer) limitClause(l *Limit) {
	if l != nil {
		p.w(" ")
		p.limit(l)
	}
}

func (p *printer) limit(l *Limit) {
	switch {
	case l.WithTies:
		if l.Offset != nil {
			p.w("OFFSET ")
			p.expr(l.Offset, 0)
			p.w(" ROWS ")
		}
		p.w("FETCH FIRST ")
		p.expr(l.Count, 0)
		p.w(" ROWS WITH TIES")
	case l.Count == nil && l.Offset == nil:
		p.w("LIMIT ALL")
	case l.Count == nil:
		p.w("OFFSET ")
		p.expr(l.Offset, 0)
		p.w(" ROWS")
	case l.Offset != nil && l.Offset.Pos() < l.Count.Pos():
		// In the order of the text, which numbers the placeholders.
		p.w("LIMIT ")
		p.expr(l.Offset, 0)
		p.w(", ")
		p.expr(l.Count, 0)
	default:
		p.w("LIMIT ")
		p.expr(l.Count, 0)
		p.clause(" OFFSET ", l.Offset)
	}
}

func (p *printer) into(n *Into) {
	p.w("INTO ")
	switch {
	case n.Vars != nil:
		p.exprs(n.Vars)
	case n.Dumpfile != "":
		p.w("DUMPFILE ")
		p.str(n.Dumpfile)
	default:
		p.w("OUTFILE ")
		p.str(n.Outfile)
		if n.Charset != "" {
			p.w(" CHARACTER SET ", n.Charset)
		}
		p.fileFormat(n.Format)
	}
}

func (p *printer) fileFormat(f *FileFormat) {
	if f == nil {
		return
	}
	text := func(word string, s *string) {
		if s != nil {
			p.w(word)
			p.str(*s)
		}
	}
	if f.Terminated != nil || f.Enclosed != nil || f.Escaped != nil {
		p.w(" FIELDS")
		text(" TERMINATED BY ", f.Terminated)
		p.opt(f.OptionallyEnclosed, " OPTIONALLY")
		text(" ENCLOSED BY ", f.Enclosed)
		text(" ESCAPED BY ", f.Escaped)
	}
	if f.LinesStarting != nil || f.LinesTerminated != nil {
		p.w(" LINES")
		text(" STARTING BY ", f.LinesStarting)
		text(" TERMINATED BY ", f.LinesTerminated)
	}
}
