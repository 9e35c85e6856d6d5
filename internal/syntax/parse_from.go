package syntax

import "strings"

// tableRefs reads the comma-separated list of FROM as one tree.
func (p *parser) tableRefs() TableExpr { return p.tableRefsFrom(p.tableFactor()) }

// tableRefsFrom is tableRefs whose first factor was read.
func (p *parser) tableRefsFrom(first TableExpr) TableExpr {
	left := p.joined(first)
	for p.is(",") {
		pos := At(left.Pos())
		p.advance()
		left = &Join{At: pos, Kind: JoinComma, Left: left, Right: p.joined(p.tableFactor())}
	}
	return left
}

// openJoin is a join whose right operand is not complete.
type openJoin struct {
	join *Join
	left TableExpr
}

// joined reads table factors connected by joins. As in MySQL, a condition
// belongs to the nearest join to its left that has none; an inner join without
// one is the product with the leftmost table of what stands to its right, so
// that a JOIN b LEFT JOIN c ON x is (a JOIN b) LEFT JOIN c ON x.
func (p *parser) joined(right TableExpr) TableExpr {
	p.enter()
	defer func() { p.depth-- }()
	var open []openJoin
	for {
		if len(open) > 0 && (p.is("ON") || p.is("USING")) && !(p.is2("ON", "DUPLICATE") && p.peek(2).word == "KEY") {
			top := open[len(open)-1]
			open = open[:len(open)-1]
			top.join.Left, top.join.Right = top.left, right
			if p.accept("ON") {
				top.join.On = p.expr()
			} else {
				p.advance()
				top.join.Using = p.identList()
			}
			right = top.join
			continue
		}
		j := p.joinOp()
		if j == nil {
			break
		}
		j.At = At(right.Pos())
		if j.Natural {
			j.Left, j.Right = right, p.tableFactor()
			right = j
			continue
		}
		open = append(open, openJoin{j, right})
		right = p.tableFactor()
	}
	if len(open) == 0 {
		return right
	}
	left := open[0].left
	for i, o := range open {
		switch o.join.Kind {
		case JoinInner, JoinCross, JoinStraight:
		default:
			p.bad() // an outer join without a condition
		}
		operand := right
		if i+1 < len(open) {
			operand = open[i+1].left
		}
		left = addProduct(o.join, left, operand)
	}
	return left
}

// addProduct makes left JOIN right, without a condition, left-deep.
func addProduct(j *Join, left, right TableExpr) TableExpr {
	r, ok := right.(*Join)
	if !ok || r.paren {
		j.Left, j.Right = left, right
		return j
	}
	leaf := r
	for {
		leaf.At = At(left.Pos())
		next, ok := leaf.Left.(*Join)
		if !ok || next.paren {
			break
		}
		leaf = next
	}
	j.Left, j.Right = left, leaf.Left
	leaf.Left = j
	return right
}

// joinOp reads a join operator; nil when there is none.
func (p *parser) joinOp() *Join {
	j := &Join{At: p.at()}
	switch p.tok.word {
	case "JOIN":
		p.advance()
	case "INNER":
		p.advance()
		p.expect("JOIN")
	case "CROSS":
		p.advance()
		p.expect("JOIN")
		j.Kind = JoinCross
	case "STRAIGHT_JOIN":
		p.advance()
		j.Kind = JoinStraight
	case "LEFT", "RIGHT":
		if p.is("LEFT") {
			j.Kind = JoinLeft
		} else {
			j.Kind = JoinRight
		}
		p.advance()
		switch {
		case j.Kind == JoinLeft && p.accept("SEMI"):
			j.Kind = JoinLeftSemi
		case j.Kind == JoinLeft && p.accept("ANTI"):
			j.Kind = JoinLeftAnti
		default:
			p.accept("OUTER")
		}
		p.expect("JOIN")
	case "FULL":
		if !p.fullJoinHere() {
			return nil
		}
		p.advance()
		p.accept("OUTER")
		p.expect("JOIN")
		j.Kind = JoinFull
	case "NATURAL":
		p.advance()
		j.Natural = true
		switch {
		case p.accept("LEFT"):
			j.Kind = JoinLeft
			p.accept("OUTER")
		case p.accept("RIGHT"):
			j.Kind = JoinRight
			p.accept("OUTER")
		case p.accept("FULL"):
			j.Kind = JoinFull
			p.accept("OUTER")
		default:
			p.accept("INNER")
		}
		p.expect("JOIN")
	default:
		return nil
	}
	return j
}

func (p *parser) fullJoinHere() bool {
	return p.tok.kind == tWord && p.is("FULL") && (p.peek(1).word == "JOIN" || p.peek(1).word == "OUTER" && p.peek(2).word == "JOIN")
}

// tableFactor reads a table, subquery, table function or parenthesised joins.
func (p *parser) tableFactor() TableExpr {
	pos := p.at()
	switch p.tok.word {
	case "(":
		t, q := p.parenTable()
		if q != nil {
			return p.derivedTail(&Derived{At: pos, Query: q})
		}
		return t
	case "LATERAL":
		p.advance()
		if p.is("(") {
			q := p.parenQueryOrNested()
			return p.derivedTail(&Derived{At: pos, Lateral: true, Query: q})
		}
		t := p.tableFactor()
		switch t := t.(type) {
		case *TableFunc:
			t.Lateral = true
		case *Unnest, *JSONTable:
		default:
			p.fail(int(pos))
		}
		return t
	case "JSON_TABLE":
		return p.jsonTable()
	case "UNNEST":
		if p.peek(1).word == "(" {
			return p.unnest()
		}
	case "TABLE":
		if p.peek(1).word == "(" {
			p.advance()
			p.advance()
			f := p.tableFunc(p.objectName())
			f.At = pos
			p.expect(")")
			p.funcTail(f)
			return f
		}
	case "{":
		p.advance()
		if !strings.EqualFold(p.anyWord().Name, "oj") {
			p.bad()
		}
		t := p.joined(p.tableFactor())
		p.expect("}")
		if j, ok := t.(*Join); ok {
			j.paren = true
		}
		return t
	}
	name := p.objectName()
	if p.is("(") {
		f := p.tableFunc(name)
		p.funcTail(f)
		return f
	}
	t := &TableName{At: pos, Name: name}
	p.tableTail(t)
	return t
}

// parenTable reads (…) in FROM: a query, or table references.
func (p *parser) parenTable() (TableExpr, *Query) {
	p.enter()
	defer func() { p.depth-- }()
	p.expect("(")
	if p.startsQuery() || p.is("VALUES") {
		q := p.query()
		p.expect(")")
		return nil, q
	}
	if p.is("(") {
		pos := p.at()
		t, q := p.parenTable()
		if q != nil {
			if p.is(")") {
				p.advance()
				return nil, q
			}
			if p.continuesQuery() {
				q = p.queryFrom(q)
				p.expect(")")
				return nil, q
			}
			t = p.derivedTail(&Derived{At: pos, Query: q})
		}
		t = p.tableRefsFrom(t)
		p.expect(")")
		return markParen(t), nil
	}
	t := p.tableRefs()
	p.expect(")")
	return markParen(t), nil
}

func markParen(t TableExpr) TableExpr {
	if j, ok := t.(*Join); ok {
		j.paren = true
	}
	return t
}

// derivedTail reads the alias and column list of a subquery in FROM.
func (p *parser) derivedTail(d *Derived) TableExpr {
	d.Alias = p.tableAlias()
	if d.Alias.Name != "" && p.is("(") {
		d.Columns = p.identList()
	}
	return d
}

// tableAlias reads [AS] name; Name is "" when there is none.
func (p *parser) tableAlias() Ident {
	if p.accept("AS") {
		return p.ident()
	}
	if !p.isName() || p.endsTable() {
		return Ident{}
	}
	return p.takeIdent()
}

// endsTable reports whether an unreserved keyword here starts a clause rather
// than an alias.
func (p *parser) endsTable() bool {
	if p.tok.kind != tWord {
		return false
	}
	switch p.tok.word {
	case "QUALIFY":
		return true
	case "FULL":
		return p.fullJoinHere()
	case "TABLESAMPLE":
		return p.peek(1).word == "BERNOULLI" || p.peek(1).word == "SYSTEM"
	case "OFFSET":
		k := p.peek(1).kind
		return k == tInt || k == tParam
	case "MINUS":
		w := p.peek(1).word
		return w == "SELECT" || w == "ALL" || w == "("
	case "VERSION", "TIMESTAMP":
		return p.peek(1).word == "AS" && p.peek(2).word == "OF"
	case "RETURNING":
		return true
	}
	return false
}

// tableTail reads what may follow a table's name.
func (p *parser) tableTail(t *TableName) {
	p.tableOptions(t)
	if p.is2("PARTITION", "(") {
		p.advance()
		t.Partitions = p.identList()
	}
	p.timeTravel(t)
	p.tableOptions(t)
	t.Alias = p.tableAlias()
	if t.Alias.Name != "" && p.is("(") && p.o.Dialect == Trino {
		t.Columns = p.identList()
	}
	p.tableOptions(t)
	p.timeTravel(t)
	p.tableOptions(t)
	if p.is("TABLESAMPLE") {
		s := &Sample{At: p.at()}
		p.advance()
		s.Method = p.upperWord()
		p.expect("(")
		s.Percent = p.expr()
		p.acceptAny("PERCENT")
		p.expect(")")
		t.Sample = s
	}
	for {
		a := ""
		switch p.tok.word {
		case "USE", "FORCE", "IGNORE":
			if n := p.peek(1).word; n == "INDEX" || n == "KEY" {
				a = p.tok.word
			}
		}
		if a == "" {
			break
		}
		h := &IndexHint{At: p.at(), Action: a}
		p.advance()
		p.advance()
		if p.accept("FOR") {
			switch {
			case p.accept("JOIN"):
				h.For = "JOIN"
			case p.accept2("ORDER", "BY"):
				h.For = "ORDER BY"
			default:
				p.expect("GROUP")
				p.expect("BY")
				h.For = "GROUP BY"
			}
		}
		p.expect("(")
		for more := !p.is(")"); more; more = p.accept(",") {
			h.Names = append(h.Names, p.anyWord())
		}
		p.expect(")")
		t.IndexHints = append(t.IndexHints, h)
		if p.is(",") {
			switch p.peek(1).word {
			case "USE", "FORCE", "IGNORE":
				p.advance()
			}
		}
	}
	p.tableOptions(t)
}

// timeTravel reads the spellings of AS OF.
func (p *parser) timeTravel(t *TableName) {
	if t.AsOf != nil {
		return
	}
	a := &AsOf{At: p.at()}
	n := 0
	if p.is("FOR") {
		n = 1
	}
	k := p.peek(n)
	switch {
	case k.word == "AS" && n == 0:
		n--
	case k.kind != tWord:
		return
	case k.word == "VERSION":
		a.Kind = AsOfVersion
	case k.word == "TIMESTAMP":
		a.Kind = AsOfTimestamp
	case k.word == "SYSTEM_TIME":
		a.Kind = AsOfSystem
	default:
		return
	}
	if p.peek(n+1).word != "AS" || p.peek(n+2).word != "OF" {
		return
	}
	for i := 0; i < n+3; i++ {
		p.advance()
	}
	a.Expr = p.bitExpr()
	t.AsOf = a
}

// tableOptions takes /*+ OPTIONS('k'='v') */ before the current token.
func (p *parser) tableOptions(t *TableName) {
	if p.tok.hint == 0 {
		return
	}
	for _, h := range p.takeHints() {
		s := strings.TrimLeft(h.text, " \t\r\n")
		if len(s) < 7 || !strings.EqualFold(s[:7], "OPTIONS") {
			continue // an optimizer hint of somewhere else: ignored, as in MySQL
		}
		if t.Options != nil {
			p.fail(h.pos)
		}
		t.HintPos = At(h.pos)
		t.Options = p.parseOptionsHint(h)
	}
}

// parseOptionsHint reads OPTIONS('k'='v', …) with a parser of its own, on the
// same text so that positions hold.
func (p *parser) parseOptionsHint(h hintText) []*Option {
	sub := newParser(p.text[:h.pos+len(h.text)], h.pos, p.o)
	sub.depth = p.depth
	sub.start()
	if !sub.is("OPTIONS") && !strings.EqualFold(sub.tok.str, "OPTIONS") {
		sub.bad()
	}
	sub.advance()
	list := sub.options()
	if sub.tok.kind != tEOF {
		sub.bad()
	}
	return list
}

// options reads ('k' = 'v', …), maybe empty.
func (p *parser) options() []*Option {
	p.expect("(")
	list := []*Option{}
	for more := !p.is(")"); more; more = p.accept(",") {
		o := &Option{At: p.at()}
		o.Key = p.optionKey()
		p.expect("=")
		o.Value = p.optionValue()
		list = append(list, o)
	}
	p.expect(")")
	return list
}

// optionKey reads a string, or a dotted name.
func (p *parser) optionKey() string {
	if p.tok.kind == tString {
		return p.stringValue()
	}
	k := p.anyWord().Name
	for p.is(".") || p.is("-") {
		sep := p.tok.word
		p.advance()
		k += sep + p.anyWord().Name
	}
	return k
}

// optionValue reads a string; also a number or a word.
func (p *parser) optionValue() string {
	switch p.tok.kind {
	case tString:
		return p.stringValue()
	case tInt, tDecimal, tFloat, tWord:
		if p.tok.kind == tWord && p.tok.reserved && !p.is("TRUE") && !p.is("FALSE") {
			p.bad()
		}
		s := p.tok.str
		p.advance()
		return s
	}
	p.bad()
	return ""
}

func (p *parser) tableFunc(name ObjectName) *TableFunc {
	f := &TableFunc{At: name.At, Name: name}
	f.Args = p.args()
	return f
}

func (p *parser) funcTail(f *TableFunc) {
	f.Ordinality = p.accept2("WITH", "ORDINALITY")
	f.Alias = p.tableAlias()
	if f.Alias.Name != "" && p.is("(") {
		f.Columns = p.identList()
	}
}

// args reads (value, name => value, …), maybe empty.
func (p *parser) args() []*Arg {
	p.expect("(")
	list := []*Arg{}
	for more := !p.is(")"); more; more = p.accept(",") {
		a := &Arg{At: p.at()}
		if (p.tok.kind == tWord || p.tok.kind == tQuoted) && p.peek(1).word == "=>" {
			a.Name = p.takeIdent()
			p.advance()
		}
		switch {
		case p.is("TABLE") && p.peek(1).kind != tOp, p.startsQuery():
			q := p.query()
			a.Value = &Subquery{At(q.Pos()), q}
		default:
			a.Value = p.expr()
		}
		list = append(list, a)
	}
	p.expect(")")
	return list
}

func (p *parser) unnest() TableExpr {
	u := &Unnest{At: p.at()}
	p.advance()
	p.expect("(")
	u.Args = p.exprList()
	p.expect(")")
	u.Ordinality = p.accept2("WITH", "ORDINALITY")
	u.Alias = p.tableAlias()
	if u.Alias.Name != "" && p.is("(") {
		u.Columns = p.identList()
	}
	return u
}

func (p *parser) jsonTable() TableExpr {
	t := &JSONTable{At: p.at()}
	p.advance()
	p.expect("(")
	t.Doc = p.expr()
	p.expect(",")
	t.Path = p.expr()
	t.Columns = p.jsonColumns()
	p.expect(")")
	t.Alias = p.tableAlias()
	return t
}

func (p *parser) jsonColumns() []*JSONColumn {
	p.enter()
	defer func() { p.depth-- }()
	p.expect("COLUMNS")
	p.expect("(")
	var list []*JSONColumn
	for {
		c := &JSONColumn{At: p.at()}
		if p.is("NESTED") && (p.peek(1).word == "PATH" || p.peek(1).kind == tString) {
			p.advance()
			p.accept("PATH")
			c.Kind = JSONNested
			c.Path = p.primary()
			c.Columns = p.jsonColumns()
		} else {
			c.Name = p.ident()
			if p.accept2("FOR", "ORDINALITY") {
				c.Kind = JSONOrdinality
			} else {
				c.Type = p.dataType()
				c.Kind = JSONPath
				if p.accept("COLLATE") {
					c.Type.Collate = p.lowerName()
				}
				if p.accept("EXISTS") {
					c.Kind = JSONExists
				}
				p.expect("PATH")
				c.Path = p.primary()
				c.OnEmpty, c.OnError = p.jsonOn()
			}
		}
		list = append(list, c)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}
