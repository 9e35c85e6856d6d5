package syntax

// Binding strengths of MySQL's operators, loosest first.
const (
	precOr      = 10
	precXor     = 20
	precAnd     = 30
	precNot     = 40
	precCompare = 50 // = <=> < … IS
	precPred    = 55 // IN LIKE REGEXP BETWEEN MEMBER OF
	precBitOr   = 60
	precBitAnd  = 70
	precShift   = 80
	precAdd     = 90
	precMul     = 100
	precBitXor  = 110
	precConcat  = 120 // || with PIPES_AS_CONCAT
	precUnary   = 130 // - + ~ ! BINARY
	precCollate = 140
)

// expr reads an expression.
func (p *parser) expr() Expr {
	p.enter()
	e := p.binary(precOr)
	p.depth--
	return e
}

// bitExpr reads an expression without comparisons and logic.
func (p *parser) bitExpr() Expr {
	p.enter()
	e := p.binary(precBitOr)
	p.depth--
	return e
}

func (p *parser) exprList() []Expr {
	list := []Expr{p.expr()}
	for p.accept(",") {
		list = append(list, p.expr())
	}
	return list
}

// binary reads an expression whose operators bind at least as tightly as min.
func (p *parser) binary(min int) Expr {
	if p.is("NOT") && (min <= precNot || p.o.HighNotPrecedence) {
		pos := p.at()
		if p.o.HighNotPrecedence {
			return p.infix(p.unary(), min)
		}
		p.advance()
		p.enter()
		x := p.binary(precNot)
		p.depth--
		return p.infixUpTo(&Unary{pos, OpNot, x}, min, precAnd)
	}
	return p.infix(p.unary(), min)
}

// infix extends left by the infix operators that bind at least as tightly as
// min. As in MySQL's grammar, the result of a comparison or predicate is no
// operand of what binds tighter: a IN (1) + 2 is a syntax error.
func (p *parser) infix(left Expr, min int) Expr { return p.infixUpTo(left, min, precConcat) }

// infixUpTo is infix where left is no operand of what binds tighter than limit.
func (p *parser) infixUpTo(left Expr, min, limit int) Expr {
	for {
		op, prec := p.infixOp()
		if prec == 0 || prec < min || prec > limit {
			return left
		}
		pos := At(left.Pos())
		limit = prec
		switch prec {
		case precCompare:
			if p.is("IS") {
				left = p.isTest(left)
				if is, ok := left.(*Is); ok && is.Kind != IsNull {
					limit = precNot
				}
				continue
			}
			p.advance()
			left = p.comparison(pos, op, left)
		case precPred:
			left = p.predicate(left)
			limit = precCompare
		case precAdd:
			p.advance()
			left = &Binary{At: pos, Op: op, L: left, R: p.addend()}
		case precConcat:
			p.advance()
			r := p.binary(precConcat + 1)
			if p.o.Dialect == Trino {
				left = &Binary{At: pos, Op: OpConcat, L: left, R: r}
			} else {
				left = &FuncCall{At: pos, Name: ObjectName{pos, []Ident{{At: pos, Name: "concat"}}}, Args: []Expr{left, r}}
			}
		default:
			symbol := p.is("||") || p.is("&&")
			p.advance()
			left = &Binary{At: pos, Op: op, L: left, R: p.binary(prec + 1), Symbol: symbol}
		}
	}
}

// infixOp classifies the current token; strength 0 is no infix operator.
func (p *parser) infixOp() (BinaryOp, int) {
	t := &p.tok
	if t.kind != tOp && t.kind != tWord || t.word == "" {
		return 0, 0
	}
	switch t.word {
	case "OR":
		return OpOr, precOr
	case "||":
		if p.o.PipesAsConcat || p.o.Dialect == Trino {
			return OpConcat, precConcat
		}
		return OpOr, precOr
	case "XOR":
		return OpXor, precXor
	case "AND", "&&":
		return OpAnd, precAnd
	case "=":
		return OpEq, precCompare
	case "<=>":
		return OpNullSafeEq, precCompare
	case "<>", "!=":
		return OpNe, precCompare
	case "<":
		return OpLt, precCompare
	case "<=":
		return OpLe, precCompare
	case ">":
		return OpGt, precCompare
	case ">=":
		return OpGe, precCompare
	case "IS":
		return 0, precCompare
	case "IN", "LIKE", "REGEXP", "RLIKE", "BETWEEN":
		return 0, precPred
	case "NOT":
		switch p.peek(1).word {
		case "IN", "LIKE", "REGEXP", "RLIKE", "BETWEEN":
			return 0, precPred
		}
	case "MEMBER":
		if n := p.peek(1); n.word == "OF" || n.word == "(" {
			return 0, precPred
		}
	case "SOUNDS":
		if p.peek(1).word == "LIKE" {
			return OpSoundsLike, precPred
		}
	case "|":
		return OpBitOr, precBitOr
	case "&":
		return OpBitAnd, precBitAnd
	case "<<":
		return OpShiftLeft, precShift
	case ">>":
		return OpShiftRight, precShift
	case "+":
		return OpAdd, precAdd
	case "-":
		return OpSub, precAdd
	case "*":
		return OpMul, precMul
	case "/":
		return OpDiv, precMul
	case "DIV":
		return OpIntDiv, precMul
	case "%", "MOD":
		return OpMod, precMul
	case "^":
		return OpBitXor, precBitXor
	}
	return 0, 0
}

// addend reads the right side of + and -, which may be an interval.
func (p *parser) addend() Expr {
	if p.is("INTERVAL") {
		iv, e := p.interval()
		if iv == nil {
			return p.infix(p.postfix(e), precAdd+1)
		}
		return iv
	}
	return p.binary(precAdd + 1)
}

// isTest reads IS [NOT] ….
func (p *parser) isTest(left Expr) Expr {
	pos := At(left.Pos())
	p.expect("IS")
	not := p.accept("NOT")
	switch {
	case p.accept("NULL"):
		return &Is{pos, left, not, IsNull}
	case p.accept("TRUE"):
		return &Is{pos, left, not, IsTrue}
	case p.accept("FALSE"):
		return &Is{pos, left, not, IsFalse}
	case p.accept("UNKNOWN"):
		return &Is{pos, left, not, IsUnknown}
	case p.accept2("DISTINCT", "FROM"):
		op := OpIsDistinct
		if not {
			op = OpIsNotDistinct
		}
		return &Binary{At: pos, Op: op, L: left, R: p.binary(precPred)}
	case p.is("JSON") && p.o.Dialect == Trino:
		p.advance()
		return &Is{pos, left, not, IsJSON}
	}
	p.bad()
	return nil
}

// comparison reads what follows a comparison operator.
func (p *parser) comparison(pos At, op BinaryOp, left Expr) Expr {
	if (p.is("ANY") || p.is("ALL") || p.is("SOME")) && p.peek(1).word == "(" {
		q := Any
		if p.is("ALL") {
			q = All
		}
		if op == OpNullSafeEq {
			p.bad()
		}
		p.advance()
		return &Quantified{pos, op, left, q, p.parenQuery()}
	}
	return &Binary{At: pos, Op: op, L: left, R: p.binary(precPred)}
}

// predicate reads [NOT] IN, LIKE, REGEXP, BETWEEN, MEMBER OF, SOUNDS LIKE.
func (p *parser) predicate(left Expr) Expr {
	pos := At(left.Pos())
	not := p.accept("NOT")
	switch {
	case p.accept("IN"):
		in := &In{At: pos, X: left, Not: not}
		open := p.at()
		if !p.is("(") {
			p.bad()
		}
		e, q := p.parenOrQuery()
		if r, ok := e.(*Row); ok && r.At == open {
			in.List = r.Items
		} else if in.Query = q; q == nil {
			in.List = []Expr{e}
		}
		return in
	case p.accept("LIKE"):
		l := &Like{At: pos, X: left, Not: not, Pattern: p.bitExpr()}
		if p.accept("ESCAPE") {
			l.Escape = p.bitExpr()
		}
		return l
	case p.accept("REGEXP"), p.accept("RLIKE"):
		return &Regexp{pos, left, not, p.bitExpr()}
	case p.accept("BETWEEN"):
		b := &Between{At: pos, X: left, Not: not}
		p.acceptAny("ASYMMETRIC")
		b.Low = p.bitExpr()
		p.expect("AND")
		p.enter()
		b.High = p.binary(precPred)
		p.depth--
		return b
	case !not && p.accept("MEMBER"):
		p.accept("OF")
		p.expect("(")
		m := &MemberOf{pos, left, p.expr()}
		p.expect(")")
		return m
	case !not && p.accept2("SOUNDS", "LIKE"):
		return &Binary{At: pos, Op: OpSoundsLike, L: left, R: p.bitExpr()}
	}
	p.bad()
	return nil
}

// unary reads a prefix operator's operation, or a primary expression.
func (p *parser) unary() Expr {
	var op UnaryOp
	switch p.tok.word {
	case "-":
		op = OpNeg
	case "+":
		op = OpPlus
	case "~":
		op = OpBitNot
	case "!":
		op = OpBang
	case "NOT":
		if !p.o.HighNotPrecedence {
			return p.postfix(p.primary())
		}
		op = OpNot
	case "BINARY":
		op = OpBinary
	case "!!":
		// MySQL's lexer takes the two for one, so that !!1 is 0 there.
		panic(bailout{syntaxError(p.text, int(p.tok.pos), "write ! !x to negate twice: MySQL reads !! as one !")})
	default:
		return p.postfix(p.primary())
	}
	pos := p.at()
	p.advance()
	p.enter()
	x := p.unary()
	p.depth--
	return &Unary{pos, op, x}
}

// postfix extends e by COLLATE, subscripts, fields, -> and ->>.
func (p *parser) postfix(e Expr) Expr {
	for {
		pos := At(e.Pos())
		switch p.tok.word {
		case "COLLATE":
			p.advance()
			e = &Collate{pos, e, p.lowerName()}
		case "[":
			p.advance()
			e = &Subscript{pos, e, p.expr()}
			p.expect("]")
		case ".":
			switch e.(type) {
			case *FuncCall, *Subscript, *Field, *Subquery, *Row, *Cast, *Case:
				p.advance()
				e = &Field{pos, e, p.anyWord()}
			default:
				return e
			}
		case "->", "->>":
			op := OpJSONExtract
			if p.is("->>") {
				op = OpJSONUnquote
			}
			if _, ok := e.(*ColumnRef); !ok || p.peek(1).kind != tString {
				p.advance()
				p.bad()
			}
			p.advance()
			e = &Binary{At: pos, Op: op, L: e, R: p.stringLit("")}
		case "AT":
			if p.peek(1).word != "TIME" || p.peek(2).word != "ZONE" {
				return e
			}
			p.accept3("AT", "TIME", "ZONE")
			e = &AtTimeZone{pos, e, p.primary()}
		default:
			return e
		}
	}
}

// startsQuery reports whether a query without parentheses starts here.
func (p *parser) startsQuery() bool {
	switch p.tok.word {
	case "SELECT", "WITH":
		return true
	case "TABLE":
		return p.peek(1).kind == tQuoted || p.peek(1).kind == tWord
	case "VALUES":
		n := p.peek(1)
		if n.word == "ROW" {
			return true
		}
		// VALUES (1, 2), … of Trino and Flink, not VALUES(col).
		return n.word == "(" && p.o.Dialect == Trino
	}
	return false
}

// parenQuery reads (query).
func (p *parser) parenQuery() *Query {
	p.expect("(")
	p.enter()
	q := p.query()
	p.depth--
	p.expect(")")
	return q
}

// parenOrQuery reads what starts with a parenthesis: a subquery, which is
// returned as a query so that the caller may see that it goes on (UNION …); or
// an expression or row.
func (p *parser) parenOrQuery() (Expr, *Query) {
	p.enter()
	defer func() { p.depth-- }()
	pos := p.at()
	p.expect("(")
	if p.startsQuery() {
		q := p.query()
		p.expect(")")
		return nil, q
	}
	var first Expr
	if p.is("(") {
		e, q := p.parenOrQuery()
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
			e = &Subquery{At(q.Pos()), q}
		}
		first = p.infix(p.postfix(e), precOr)
	} else {
		if p.o.Dialect == Trino && p.is(")") && p.peek(1).word == "->" {
			p.advance()
			return p.lambda(pos, nil), nil
		}
		first = p.expr()
	}
	if !p.is(",") {
		p.expect(")")
		if c, ok := first.(*ColumnRef); ok && p.o.Dialect == Trino && p.is("->") && len(c.Parts) == 1 {
			return p.lambda(pos, c.Parts), nil
		}
		return first, nil
	}
	items := []Expr{first}
	for p.accept(",") {
		items = append(items, p.expr())
	}
	p.expect(")")
	if p.o.Dialect == Trino && p.is("->") {
		var params []Ident
		for _, it := range items {
			c, ok := it.(*ColumnRef)
			if !ok || len(c.Parts) != 1 {
				p.bad()
			}
			params = append(params, c.Parts[0])
		}
		return p.lambda(pos, params), nil
	}
	return &Row{At: pos, Items: items}, nil
}

func (p *parser) lambda(pos At, params []Ident) Expr {
	p.expect("->")
	return &Lambda{pos, params, p.expr()}
}

// continuesQuery reports whether the current token goes on with a query whose
// first operand was read.
func (p *parser) continuesQuery() bool {
	switch p.tok.word {
	case "UNION", "EXCEPT", "INTERSECT", "MINUS", "ORDER", "LIMIT", "FETCH":
		return true
	case "OFFSET":
		return p.peek(1).kind == tInt || p.peek(1).kind == tParam
	case "FOR":
		return true
	}
	return false
}

// primary reads an operand without postfix operators.
func (p *parser) primary() Expr {
	pos := p.at()
	t := &p.tok
	switch t.kind {
	case tInt, tDecimal, tFloat:
		n := &NumberLit{pos, Integer + NumberKind(t.kind-tInt), t.str}
		p.advance()
		return n
	case tString:
		return p.stringLit("")
	case tNString:
		s := p.stringLit("utf8mb3")
		s.National = true
		return s
	case tHex, tBits:
		b := &BytesLit{At: pos, Value: t.str, Bits: t.kind == tBits}
		p.advance()
		return b
	case tParam:
		e := &Placeholder{pos, len(p.placeholders)}
		p.placeholders = append(p.placeholders, int(t.pos))
		p.advance()
		return e
	case tUserVar:
		v := &UserVar{pos, t.str}
		p.advance()
		if p.accept(":=") {
			return &AssignExpr{pos, v, p.expr()}
		}
		return v
	case tQuoted:
		return p.nameOrCall()
	case tWord:
		if t.word == "" {
			if t.str[0] == '_' {
				if e := p.introducer(); e != nil {
					return e
				}
			}
			return p.nameOrCall()
		}
		return p.keyword()
	case tOp:
		switch t.word {
		case "(":
			e, q := p.parenOrQuery()
			if q != nil {
				return &Subquery{pos, q}
			}
			return e
		case "@@":
			return p.sysVar()
		case "{":
			return p.braces()
		case "@":
			p.advance() // what is wrong is the character after it
		}
	}
	p.bad()
	return nil
}

// stringLit reads a string literal and those that follow it directly.
func (p *parser) stringLit(charset string) *StringLit {
	s := &StringLit{At: p.at(), Value: p.tok.str, Charset: charset}
	p.advance()
	if p.tok.kind == tString {
		s.First = len(s.Value)
		// Joined in one pass, so that a thousand pieces are not quadratic.
		buf := []byte(s.Value)
		for p.tok.kind == tString {
			buf = append(buf, p.tok.str...)
			p.advance()
		}
		if s.First == len(buf) {
			s.First = 0
		}
		s.Value = string(buf)
	}
	return s
}

// introducer reads _charset'x' and its kind; nil when it is just a name.
func (p *parser) introducer() Expr {
	cs := lower(p.tok.str[1:])
	if !charsets[cs] {
		return nil
	}
	pos := p.at()
	switch n := p.peek(1); n.kind {
	case tString:
		p.advance()
		s := p.stringLit(cs)
		s.At = pos
		return s
	case tHex, tBits:
		p.advance()
		b := &BytesLit{At: pos, Value: p.tok.str, Bits: p.tok.kind == tBits, Charset: cs}
		p.advance()
		return b
	}
	return nil
}

// sysVar reads @@[scope.]name.
func (p *parser) sysVar() Expr {
	v := &SysVar{At: p.at()}
	p.expect("@@")
	name := lower(p.anyWord().Name)
	if p.is(".") {
		if s, ok := varScopes[name]; ok {
			v.Scope = s
			p.advance()
			name = lower(p.anyWord().Name)
		}
	}
	if p.accept(".") { // component.variable
		name += "." + lower(p.anyWord().Name)
	}
	v.Name = name
	return v
}

var varScopes = map[string]VarScope{
	"session": ScopeSession, "local": ScopeSession, "global": ScopeGlobal,
	"persist": ScopePersist, "persist_only": ScopePersistOnly,
}

// braces reads ODBC's {d '…'}, {fn f(x)} and {name expr}, which MySQL ignores.
func (p *parser) braces() Expr {
	p.expect("{")
	kind := lower(p.anyWord().Name)
	pos := p.at()
	if p.tok.kind == tString {
		k, ok := map[string]TemporalKind{"d": DateLiteral, "t": TimeLiteral, "ts": TimestampLiteral}[kind]
		if ok && p.peek(1).word == "}" {
			e := &TemporalLit{pos, k, p.stringValue()}
			p.expect("}")
			return e
		}
	}
	e := p.expr()
	p.expect("}")
	return e
}

// nameOrCall reads a column name or a call.
func (p *parser) nameOrCall() Expr {
	pos := p.at()
	if p.tok.kind == tQuoted && p.tok.str == "" {
		p.bad()
	}
	first := p.takeIdent()
	if p.is("(") {
		return p.call(ObjectName{pos, []Ident{first}})
	}
	if p.is("->") && p.o.Dialect == Trino {
		return p.lambda(pos, []Ident{first})
	}
	parts := []Ident{first}
	for p.is(".") {
		p.advance()
		if p.tok.kind != tWord && p.tok.kind != tQuoted {
			p.bad()
		}
		parts = append(parts, p.takeIdent())
		if p.is("(") && len(parts) <= 3 {
			return p.call(ObjectName{pos, parts})
		}
	}
	if len(parts) > 16 && p.o.Dialect == MySQL {
		p.bad()
	}
	return &ColumnRef{pos, parts}
}

func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
