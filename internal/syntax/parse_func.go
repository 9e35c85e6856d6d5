package syntax

import "strings"

// keyword reads an operand that starts with a keyword: a literal, a special
// form, a call, or a name that happens to be an unreserved keyword.
func (p *parser) keyword() Expr {
	pos := p.at()
	paren := p.peek(1).word == "("
	switch p.tok.word {
	case "NULL":
		p.advance()
		return &NullLit{pos}
	case "TRUE", "FALSE":
		b := &BoolLit{pos, p.is("TRUE")}
		p.advance()
		return b
	case "DATE", "TIME", "TIMESTAMP":
		if p.peek(1).kind == tString {
			k := map[string]TemporalKind{"DATE": DateLiteral, "TIME": TimeLiteral, "TIMESTAMP": TimestampLiteral}[p.tok.word]
			p.advance()
			return &TemporalLit{pos, k, p.stringValue()}
		}
	case "CASE":
		return p.case_()
	case "CAST", "TRY_CAST":
		if paren {
			return p.cast()
		}
	case "CONVERT":
		return p.convert()
	case "EXISTS":
		p.advance()
		return &Exists{pos, p.parenQuery()}
	case "INTERVAL":
		return p.leadingInterval()
	case "DEFAULT":
		p.advance()
		d := &Default{At: pos}
		if p.accept("(") {
			d.Column = p.columnRef()
			p.expect(")")
		}
		return d
	case "ROW":
		if !paren {
			p.bad()
		}
		p.advance()
		p.advance()
		r := &Row{At: pos, Explicit: true}
		if !p.is(")") {
			r.Items = p.exprList()
		}
		p.expect(")")
		return r
	case "ARRAY":
		if p.peek(1).word == "[" {
			p.advance()
			p.advance()
			a := &Array{At: pos}
			if !p.is("]") {
				a.Items = p.exprList()
			}
			p.expect("]")
			return a
		}
	case "MATCH":
		return p.match()
	case "EXTRACT":
		if paren {
			p.advance()
			p.advance()
			e := &Extract{At: pos, Unit: p.unit()}
			p.expect("FROM")
			e.X = p.expr()
			p.expect(")")
			return e
		}
	case "TRIM":
		if paren {
			return p.trim()
		}
	case "JSON_VALUE":
		if paren {
			return p.jsonValue()
		}
	case "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP",
		"UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "CURRENT_USER":
		if paren {
			name := p.takeIdent()
			return p.call(ObjectName{pos, []Ident{name}})
		}
		name := p.takeIdent()
		return &FuncCall{At: pos, Name: ObjectName{pos, []Ident{name}}, NoParens: true}
	case "UNNEST":
	}
	if p.tok.reserved {
		if !paren || !reservedCalls[p.tok.word] {
			p.bad()
		}
		name := p.takeIdent()
		return p.call(ObjectName{pos, []Ident{name}})
	}
	return p.nameOrCall()
}

// reservedCalls are the reserved words that are functions.
var reservedCalls = map[string]bool{
	"IF": true, "LEFT": true, "RIGHT": true, "REPLACE": true, "INSERT": true, "REPEAT": true, "MOD": true,
	"CHAR": true, "DATABASE": true, "SCHEMA": true, "VALUES": true, "GROUPING": true,
	"ROW_NUMBER": true, "RANK": true, "DENSE_RANK": true, "PERCENT_RANK": true, "CUME_DIST": true,
	"NTILE": true, "LAG": true, "LEAD": true, "FIRST_VALUE": true, "LAST_VALUE": true, "NTH_VALUE": true,
	"LIBRARY": true, "SYSTEM": true, "KEYS": true,
}

func (p *parser) columnRef() *ColumnRef {
	c := &ColumnRef{At: p.at(), Parts: []Ident{p.ident()}}
	for len(c.Parts) < 4 && p.is(".") {
		p.advance()
		c.Parts = append(c.Parts, p.anyWord())
	}
	return c
}

// call reads the arguments and what may follow them.
func (p *parser) call(name ObjectName) Expr {
	p.enter()
	defer func() { p.depth-- }()
	f := &FuncCall{At: name.At, Name: name}
	p.expect("(")
	if len(name.Parts) == 1 && !name.Parts[0].Quoted {
		p.arguments(f, keywordOf(name.Parts[0].Name))
	} else {
		p.arguments(f, "")
	}
	p.expect(")")
	return p.callTail(f)
}

func keywordOf(name string) string {
	k, _ := lookupKeyword(name)
	return k.word
}

// arguments reads the inside of a call's parentheses. kw is the function's name
// when that is a keyword, for the forms with keywords between arguments.
func (p *parser) arguments(f *FuncCall, kw string) {
	switch kw {
	case "DATE_ADD", "DATE_SUB":
		f.Args = append(f.Args, p.expr())
		p.expect(",")
		if !p.is("INTERVAL") {
			p.bad()
		}
		f.Args = append(f.Args, p.intervalArg())
		return
	case "LAG", "LEAD", "NTILE", "NTH_VALUE":
		if p.o.Dialect == MySQL {
			p.countedArguments(f, kw)
			return
		}
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		if u := p.unitHere(); u != "" && p.peek(1).word == "," && !strings.Contains(u, "_") {
			f.Args = append(f.Args, &Unit{p.at(), u})
			p.advance()
			p.expect(",")
			f.Args = append(f.Args, p.exprList()...)
			return
		}
	case "GET_FORMAT":
		switch p.tok.word {
		case "DATE", "TIME", "DATETIME", "TIMESTAMP":
			f.Args = append(f.Args, &Unit{p.at(), p.tok.word})
			p.advance()
			p.expect(",")
			f.Args = append(f.Args, p.expr())
			return
		}
	case "POSITION":
		f.Args = append(f.Args, p.bitExpr())
		if p.accept("IN") {
			f.Args = append(f.Args, p.expr())
			return
		}
		f.Args[0] = p.infix(f.Args[0], precOr)
		for p.accept(",") {
			f.Args = append(f.Args, p.expr())
		}
		return
	case "SUBSTRING", "SUBSTR", "MID":
		f.Args = append(f.Args, p.expr())
		if p.accept("FROM") {
			f.Args = append(f.Args, p.expr())
			if p.accept("FOR") {
				f.Args = append(f.Args, p.expr())
			}
			return
		}
		for p.accept(",") {
			f.Args = append(f.Args, p.expr())
		}
		return
	case "CHAR":
		f.Args = p.exprList()
		if p.accept("USING") {
			f.Using = p.lowerName()
		}
		return
	case "WEIGHT_STRING":
		f.Args = append(f.Args, p.expr())
		if p.accept("AS") {
			f.As = p.dataType()
		}
		return
	}
	if p.is(")") {
		return
	}
	if p.is("*") && (p.peek(1).word == ")" || f.Is("count")) {
		f.Star = true
		p.advance()
		return
	}
	switch {
	case p.is("DISTINCT"), p.is("DISTINCTROW"):
		if p.o.Dialect == MySQL && neverDistinct(f) {
			p.bad()
		}
		p.advance()
		f.Distinct = true
	case p.is("ALL"):
		p.advance()
	}
	for {
		switch {
		case p.is("INTERVAL"):
			f.Args = append(f.Args, p.intervalArg())
		case p.startsQuery():
			q := p.query()
			f.Args = append(f.Args, &Subquery{At(q.Pos()), q})
		default:
			f.Args = append(f.Args, p.expr())
		}
		if !p.accept(",") {
			break
		}
	}
	if p.is("ORDER") && p.o.Dialect == MySQL && neverOrdered(f) {
		p.bad()
	}
	if p.accept2("ORDER", "BY") {
		f.OrderBy = p.orderItems()
	}
	if p.is("SEPARATOR") && !f.Is("group_concat") {
		p.bad()
	}
	if p.accept("SEPARATOR") {
		s := p.stringOrBytes()
		f.Separator = &s
	}
	if p.is("LIMIT") {
		f.Limit = p.limitN()
	}
	p.nullTreatment(f)
}

// stringOrBytes reads a string or hexadecimal literal as text.
func (p *parser) stringOrBytes() string {
	if p.tok.kind == tHex || p.tok.kind == tBits {
		s := p.tok.str
		p.advance()
		return s
	}
	return p.stringValue()
}

func (p *parser) orderItems() []*OrderItem {
	var list []*OrderItem
	for {
		o := &OrderItem{At: p.at(), Expr: p.expr()}
		if !p.accept("ASC") {
			o.Desc = p.accept("DESC")
		}
		switch {
		case p.accept2("NULLS", "FIRST"):
			o.Nulls = NullsFirst
		case p.accept2("NULLS", "LAST"):
			o.Nulls = NullsLast
		}
		list = append(list, o)
		if !p.accept(",") {
			return list
		}
	}
}

// unitHere returns the canonical name of the unit at the current token, or "".
func (p *parser) unitHere() string {
	if p.tok.kind != tWord {
		return ""
	}
	return unitNames[p.tok.word]
}

func (p *parser) unit() string {
	u := p.unitHere()
	if u == "" {
		if p.tok.kind == tWord && (p.o.Dialect == Trino || unitPlurals[p.tok.word]) {
			u = p.tok.word
			if unitPlurals[u] {
				u = u[:len(u)-1]
			}
		} else {
			p.bad()
		}
	}
	p.advance()
	return u
}

var unitPlurals = map[string]bool{
	"DAYS": true, "HOURS": true, "MINUTES": true, "SECONDS": true, "MONTHS": true, "YEARS": true,
}

// interval reads INTERVAL x unit; or, when it turns out to be the function
// INTERVAL(n, a, b), returns that as second result.
func (p *parser) interval() (*Interval, Expr) {
	pos := p.at()
	p.enter()
	defer func() { p.depth-- }()
	name := p.takeIdent()
	var value Expr
	if p.is("(") {
		open := p.at()
		e, q := p.parenOrQuery()
		if r, ok := e.(*Row); ok && r.At == open {
			return nil, p.callTail(&FuncCall{At: pos, Name: ObjectName{pos, []Ident{name}}, Args: r.Items})
		}
		if q != nil {
			e = &Subquery{open, q}
		}
		value = p.infix(p.postfix(e), precOr)
	} else {
		value = p.expr()
	}
	iv := &Interval{At: pos, Value: value, Unit: p.unit()}
	if p.is("TO") && p.o.Dialect == Trino {
		p.advance()
		iv.To = p.unit()
	}
	return iv, nil
}

// intervalArg reads an argument that starts with INTERVAL.
func (p *parser) intervalArg() Expr {
	iv, e := p.interval()
	if e != nil {
		return p.infix(p.postfix(e), precOr)
	}
	if p.is("+") || p.o.Dialect == Trino {
		return p.infix(p.intervalSum(iv), precOr)
	}
	return iv
}

// leadingInterval reads INTERVAL x unit + y.
func (p *parser) leadingInterval() Expr {
	iv, e := p.interval()
	if e != nil {
		return e
	}
	return p.intervalSum(iv)
}

func (p *parser) intervalSum(iv *Interval) Expr {
	if p.o.Dialect == Trino {
		return iv
	}
	pos := iv.At
	p.expect("+")
	sum := &Binary{At: pos, Op: OpAdd, L: iv, R: p.bitExpr()}
	if _, prec := p.infixOp(); prec == precCompare || prec == precPred {
		// In MySQL the comparison comes first: INTERVAL 1 DAY + (a = b).
		panic(bailout{syntaxError(p.text, int(p.tok.pos), "write parentheses around INTERVAL … + …: MySQL compares first")})
	}
	return sum
}

func (p *parser) case_() Expr {
	c := &Case{At: p.at()}
	p.enter()
	defer func() { p.depth-- }()
	p.expect("CASE")
	if !p.is("WHEN") {
		c.Operand = p.expr()
	}
	for p.is("WHEN") {
		w := &When{At: p.at()}
		p.advance()
		w.Cond = p.expr()
		p.expect("THEN")
		w.Result = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.bad()
	}
	if p.accept("ELSE") {
		c.Else = p.expr()
	}
	p.expect("END")
	return c
}

func (p *parser) cast() Expr {
	c := &Cast{At: p.at(), Try: p.is("TRY_CAST")}
	p.enter()
	defer func() { p.depth-- }()
	p.advance()
	p.expect("(")
	c.X = p.expr()
	if z, ok := c.X.(*AtTimeZone); ok && p.o.Dialect == MySQL {
		c.X, c.AtTimeZone = z.X, z.Zone
	}
	p.expect("AS")
	c.Type = p.dataType()
	c.Array = p.accept("ARRAY")
	p.expect(")")
	return c
}

func (p *parser) convert() Expr {
	pos := p.at()
	p.enter()
	defer func() { p.depth-- }()
	p.advance()
	p.expect("(")
	x := p.expr()
	if p.accept("USING") {
		cs := p.lowerName()
		p.expect(")")
		return &ConvertUsing{pos, x, cs}
	}
	p.expect(",")
	c := &Cast{At: pos, X: x, Type: p.dataType()}
	p.expect(")")
	return c
}

func (p *parser) trim() Expr {
	t := &Trim{At: p.at()}
	p.advance()
	p.expect("(")
	switch p.acceptAny("LEADING", "TRAILING", "BOTH") {
	case "LEADING":
		t.Side, t.Explicit = TrimLeading, true
	case "TRAILING":
		t.Side, t.Explicit = TrimTrailing, true
	case "BOTH":
		t.Explicit = true
	}
	if t.Explicit && p.accept("FROM") {
		t.X = p.expr()
	} else {
		t.X = p.expr()
		if p.accept("FROM") {
			t.Chars = t.X
			t.X = p.expr()
		} else if t.Explicit {
			p.bad()
		}
	}
	p.expect(")")
	return t
}

func (p *parser) match() Expr {
	m := &MatchAgainst{At: p.at()}
	p.expect("MATCH")
	parens := p.accept("(")
	for {
		m.Columns = append(m.Columns, p.columnRef())
		if !p.accept(",") {
			break
		}
	}
	if parens {
		p.expect(")")
	}
	p.expect("AGAINST")
	p.expect("(")
	// The mode starts with IN, so IN must not be read as a predicate.
	m.Query = p.bitExpr()
	switch {
	case p.accept3("IN", "BOOLEAN", "MODE"):
		m.Mode = "IN BOOLEAN MODE"
	case p.accept3("IN", "NATURAL", "LANGUAGE"):
		p.expect("MODE")
		m.Mode = "IN NATURAL LANGUAGE MODE"
		if p.accept3("WITH", "QUERY", "EXPANSION") {
			m.Mode += " WITH QUERY EXPANSION"
		}
	case p.accept3("WITH", "QUERY", "EXPANSION"):
		m.Mode = "WITH QUERY EXPANSION"
	}
	p.expect(")")
	return m
}

func (p *parser) jsonValue() Expr {
	j := &JSONValue{At: p.at()}
	p.advance()
	p.expect("(")
	j.Doc = p.expr()
	p.expect(",")
	j.Path = p.expr()
	if p.accept("RETURNING") {
		j.Returning = p.dataType()
	}
	j.OnEmpty, j.OnError = p.jsonOn()
	p.expect(")")
	return j
}

// jsonOn reads [… ON EMPTY] [… ON ERROR], in either order.
func (p *parser) jsonOn() (empty, onError *JSONOn) {
	for {
		o := &JSONOn{At: p.at()}
		switch {
		case p.is("NULL") && p.peek(1).word == "ON":
			p.advance()
		case p.is("ERROR") && p.peek(1).word == "ON":
			p.advance()
			o.Kind = JSONOnError
		case p.accept("DEFAULT"):
			o.Kind = JSONOnDefault
			o.Default = p.bitExpr()
		default:
			return
		}
		p.expect("ON")
		switch {
		case empty == nil && p.accept("EMPTY"):
			empty = o
		default:
			p.expect("ERROR")
			if onError != nil {
				p.bad()
			}
			onError = o
		}
	}
}
