package syntax

// query reads a query expression: [WITH …] body [ORDER BY …] [LIMIT …] ….
func (p *parser) query() *Query {
	p.enter()
	defer func() { p.depth-- }()
	q := &Query{At: p.at()}
	saved := p.into
	p.into = nil
	if p.is("WITH") {
		q.With = p.with()
	}
	q.Body = p.setOps(p.operand(), 0)
	p.queryTail(q)
	if p.into != nil {
		q.Into = p.into
	}
	p.into = saved
	return collapse(q)
}

// collapse drops the shell of a query in parentheses.
func collapse(q *Query) *Query {
	if inner, ok := q.Body.(*Query); ok && unwrap(q) == QueryBody(inner) {
		return inner
	}
	return q
}

// queryFrom continues a query whose first operand, in parentheses, was read.
func (p *parser) queryFrom(first *Query) *Query {
	q := &Query{At: first.At}
	saved := p.into
	p.into = nil
	q.Body = p.setOps(unwrap(first), 0)
	p.queryTail(q)
	if p.into != nil {
		q.Into = p.into
	}
	p.into = saved
	return collapse(q)
}

// unwrap drops the parentheses of a query that has no clauses of its own.
func unwrap(q *Query) QueryBody {
	if q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Locks == nil && q.Into == nil {
		return q.Body
	}
	return q
}

// operand reads one operand of a set operation.
func (p *parser) operand() QueryBody {
	switch p.tok.word {
	case "SELECT":
		return p.selectCore()
	case "VALUES":
		return p.values()
	case "TABLE":
		t := &TableQuery{At: p.at()}
		p.advance()
		t.Name = p.objectName()
		return t
	case "(":
		return unwrap(p.parenQueryOrNested())
	}
	p.bad()
	return nil
}

// parenQueryOrNested reads (query), where query may itself start with
// parentheses.
func (p *parser) parenQueryOrNested() *Query {
	p.enter()
	defer func() { p.depth-- }()
	p.expect("(")
	q := p.query()
	p.expect(")")
	return q
}

// setOps reads UNION, EXCEPT and INTERSECT after left; INTERSECT, which binds
// tighter, alone when min is 1.
func (p *parser) setOps(left QueryBody, min int) QueryBody {
	for {
		var kind SetOpKind
		switch p.tok.word {
		case "UNION":
			kind = Union
		case "EXCEPT", "MINUS":
			kind = Except
		case "INTERSECT":
			kind = Intersect
		default:
			return left
		}
		if kind != Intersect && min > 0 {
			return left
		}
		s := &SetOp{At: At(left.Pos()), Kind: kind, Left: left}
		p.advance()
		if p.accept("ALL") {
			s.All = true
		} else {
			s.Distinct = p.acceptAny("DISTINCT", "DISTINCTROW") != ""
		}
		p.enter()
		s.Right = p.operand()
		if kind != Intersect {
			s.Right = p.setOps(s.Right, 1)
		}
		p.depth--
		left = s
	}
}

// queryTail reads ORDER BY, LIMIT, INTO and locks.
func (p *parser) queryTail(q *Query) {
	if p.accept2("ORDER", "BY") {
		q.OrderBy = p.orderItems()
	}
	q.Limit = p.limitClause()
	for {
		switch {
		case p.is("INTO") && q.Into == nil && p.into == nil:
			q.Into = p.intoClause()
		case p.is("FOR") && (p.peek(1).word == "UPDATE" || p.peek(1).word == "SHARE"):
			q.Locks = append(q.Locks, p.lock())
		case p.is2("LOCK", "IN"):
			pos := p.at()
			p.advance()
			p.advance()
			p.expect("SHARE")
			p.expect("MODE")
			q.Locks = append(q.Locks, &Lock{At: pos, Strength: LockShare})
		default:
			return
		}
	}
}

// limitClause reads LIMIT, OFFSET and FETCH in the orders of MySQL, Flink and
// Trino; nil when there is none.
func (p *parser) limitClause() *Limit {
	var l *Limit
	get := func() *Limit {
		if l == nil {
			l = &Limit{At: p.at()}
		}
		return l
	}
	if p.is("OFFSET") {
		get()
		p.advance()
		l.Offset = p.limitValue()
		p.acceptAny("ROW", "ROWS")
	}
	switch {
	case p.is("LIMIT"):
		if l != nil {
			p.advance()
			if !p.accept("ALL") {
				l.Count = p.limitValue()
			}
			return l
		}
		l = p.limitN()
	case p.is("FETCH"):
		get()
		p.advance()
		if p.acceptAny("FIRST", "NEXT") == "" {
			p.bad()
		}
		l.Count = &NumberLit{At: p.at(), Text: "1"}
		if !p.is("ROW") && !p.is("ROWS") {
			l.Count = p.limitValue()
		}
		if p.acceptAny("ROW", "ROWS") == "" {
			p.bad()
		}
		if p.accept2("WITH", "TIES") {
			l.WithTies = true
		} else {
			p.expect("ONLY")
		}
	}
	return l
}

// limitN reads LIMIT n | LIMIT o, n | LIMIT n OFFSET o | LIMIT ALL.
func (p *parser) limitN() *Limit {
	l := &Limit{At: p.at()}
	p.expect("LIMIT")
	if p.accept("ALL") {
		return l
	}
	l.Count = p.limitValue()
	switch {
	case p.accept(","):
		l.Offset = l.Count
		l.Count = p.limitValue()
	case p.accept("OFFSET"):
		l.Offset = p.limitValue()
		p.acceptAny("ROW", "ROWS")
	}
	return l
}

// limitValue reads what may stand in LIMIT: a number, a parameter or a variable.
func (p *parser) limitValue() Expr {
	switch p.tok.kind {
	case tInt, tParam, tUserVar, tWord, tQuoted, tHex, tBits:
		if p.tok.kind == tWord && !p.isName() {
			p.bad()
		}
		return p.primary()
	}
	p.bad()
	return nil
}

func (p *parser) lock() *Lock {
	l := &Lock{At: p.at()}
	p.expect("FOR")
	if p.accept("SHARE") {
		l.Strength = LockShare
	} else {
		p.expect("UPDATE")
	}
	if p.accept("OF") {
		l.Of = p.objectNames()
	}
	switch {
	case p.accept("NOWAIT"):
		l.Wait = LockNoWait
	case p.accept2("SKIP", "LOCKED"):
		l.Wait = LockSkipLocked
	}
	return l
}

func (p *parser) intoClause() *Into {
	n := &Into{At: p.at()}
	p.expect("INTO")
	switch {
	case p.accept("OUTFILE"):
		n.Outfile = p.stringValue()
		if p.accept("CHARSET") || p.accept2("CHARACTER", "SET") {
			n.Charset = p.lowerName()
		}
		n.Format = p.fileFormat()
	case p.accept("DUMPFILE"):
		n.Dumpfile = p.stringValue()
	default:
		for {
			if p.tok.kind == tUserVar {
				n.Vars = append(n.Vars, &UserVar{p.at(), p.tok.str})
				p.advance()
			} else {
				id := p.ident()
				n.Vars = append(n.Vars, &ColumnRef{id.At, []Ident{id}})
			}
			if !p.accept(",") {
				break
			}
		}
	}
	return n
}

// fileFormat reads FIELDS … LINES …; nil when there is none.
func (p *parser) fileFormat() *FileFormat {
	var f *FileFormat
	if p.is("FIELDS") || p.is("COLUMNS") {
		f = &FileFormat{At: p.at()}
		p.advance()
		n := 0
		for ; ; n++ {
			switch {
			case p.accept2("TERMINATED", "BY"):
				f.Terminated = p.formatString()
				continue
			case p.is2("OPTIONALLY", "ENCLOSED"):
				p.advance()
				f.OptionallyEnclosed = true
				p.expect("ENCLOSED")
				p.expect("BY")
				f.Enclosed = p.formatString()
				continue
			case p.accept2("ENCLOSED", "BY"):
				f.Enclosed = p.formatString()
				continue
			case p.accept2("ESCAPED", "BY"):
				f.Escaped = p.formatString()
				continue
			}
			break
		}
		if n == 0 {
			p.bad()
		}
	}
	if p.is("LINES") {
		if f == nil {
			f = &FileFormat{At: p.at()}
		}
		p.advance()
		n := 0
		for ; ; n++ {
			switch {
			case p.accept2("STARTING", "BY"):
				f.LinesStarting = p.formatString()
				continue
			case p.accept2("TERMINATED", "BY"):
				f.LinesTerminated = p.formatString()
				continue
			}
			break
		}
		if n == 0 {
			p.bad()
		}
	}
	return f
}

func (p *parser) formatString() *string {
	s := p.stringOrBytes()
	return &s
}

func (p *parser) with() *With {
	w := &With{At: p.at()}
	p.expect("WITH")
	w.Recursive = p.accept("RECURSIVE")
	for {
		c := &CTE{At: p.at(), Name: p.ident()}
		if p.is("(") {
			c.Columns = p.identList()
		}
		p.expect("AS")
		c.Query = p.parenQuery()
		w.CTEs = append(w.CTEs, c)
		if !p.accept(",") {
			return w
		}
	}
}

// values reads VALUES ROW(…), … and VALUES (…), ….
func (p *parser) values() *Values {
	v := &Values{At: p.at()}
	p.expect("VALUES")
	for {
		p.accept("ROW")
		if p.o.Dialect == Trino && !p.is("(") {
			v.Rows = append(v.Rows, []Expr{p.expr()})
		} else {
			v.Rows = append(v.Rows, p.valueRow())
		}
		if !p.accept(",") {
			return v
		}
	}
}

// valueRow reads (a, b, …), maybe empty; an element may be DEFAULT.
func (p *parser) valueRow() []Expr {
	p.expect("(")
	row := []Expr{}
	if !p.is(")") {
		row = p.exprList()
	}
	p.expect(")")
	return row
}
