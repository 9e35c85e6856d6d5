package syntax

import "strings"

// selectCore reads SELECT … up to the clauses of the query around it.
func (p *parser) selectCore() *Select {
	s := &Select{At: p.at()}
	p.expect("SELECT")
	s.Hints = p.hintsHere()
	p.selectOptions(s)
	s.Items = p.selectItems()
	if p.is("INTO") && p.into == nil {
		p.into = p.intoClause()
	}
	if p.accept("FROM") {
		if p.is("DUAL") {
			p.advance()
			s.Dual = true
		} else {
			s.From = p.tableRefs()
		}
	}
	if p.accept("WHERE") {
		s.Where = p.expr()
	}
	if p.is2("GROUP", "BY") {
		s.GroupBy = p.groupBy()
	}
	if p.accept("HAVING") {
		s.Having = p.expr()
	}
	if p.accept("WINDOW") {
		for {
			w := &NamedWindow{At: p.at(), Name: p.ident()}
			p.expect("AS")
			w.Spec = p.windowSpec()
			s.Windows = append(s.Windows, w)
			if !p.accept(",") {
				break
			}
		}
	}
	if p.accept("QUALIFY") {
		s.Qualify = p.expr()
	}
	return s
}

func (p *parser) selectOptions(s *Select) {
	for {
		switch p.tok.word {
		case "DISTINCT", "DISTINCTROW":
			if s.All {
				p.bad()
			}
			s.Distinct = true
		case "ALL":
			if s.Distinct {
				p.bad()
			}
			s.All = true
		case "STRAIGHT_JOIN":
			s.StraightJoin = true
		case "HIGH_PRIORITY":
			s.HighPriority = true
		case "SQL_SMALL_RESULT":
			s.SQLSmallResult = true
		case "SQL_BIG_RESULT":
			s.SQLBigResult = true
		case "SQL_BUFFER_RESULT":
			s.SQLBufferResult = true
		case "SQL_NO_CACHE":
			s.SQLNoCache = true
		case "SQL_CACHE":
		case "SQL_CALC_FOUND_ROWS":
			s.SQLCalcFoundRows = true
		default:
			return
		}
		p.advance()
	}
}

// hintsHere parses the optimizer hints before the current token.
func (p *parser) hintsHere() []*Hint {
	var list []*Hint
	for _, h := range p.takeHints() {
		list = append(list, parseHints(h)...)
	}
	return list
}

// parseHints cuts "NAME(args) NAME …". What does not have that form is left out,
// as MySQL ignores malformed hints.
func parseHints(h hintText) []*Hint {
	var list []*Hint
	s := h.text
	for i := 0; i < len(s); {
		if !isIdentByte(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && isIdentByte(s[i]) {
			i++
		}
		hint := &Hint{At: At(h.pos + start), Name: strings.ToUpper(s[start:i])}
		for i < len(s) && isSpace(s[i]) {
			i++
		}
		if i < len(s) && s[i] == '(' {
			end := closingParen(s, i)
			if end < 0 {
				return list
			}
			hint.Args = strings.TrimSpace(s[i+1 : end])
			i = end + 1
		}
		list = append(list, hint)
	}
	return list
}

// closingParen finds the parenthesis that closes the one at open, knowing
// strings and quoted names; -1 when there is none.
func closingParen(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch c := s[i]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		case '\'', '"', '`':
			j := strings.IndexByte(s[i+1:], c)
			if j < 0 {
				return -1
			}
			i += j + 1
		}
	}
	return -1
}

func (p *parser) selectItems() []*SelectItem {
	var list []*SelectItem
	for {
		list = append(list, p.selectItem())
		if !p.accept(",") {
			return list
		}
	}
}

func (p *parser) selectItem() *SelectItem {
	it := &SelectItem{At: p.at()}
	if st := p.star(); st != nil {
		it.Expr = st
		return it
	}
	it.Expr = p.expr()
	it.Text = p.textFrom(int(it.At))
	switch {
	case p.accept("AS"):
		it.HasAlias = true
		it.Alias = p.alias()
	case p.tok.kind == tString, p.isName() && !p.endsItem():
		it.HasAlias = true
		it.Alias = p.alias()
	}
	return it
}

// alias reads a name or string after AS.
func (p *parser) alias() Ident {
	if p.tok.kind == tString {
		id := Ident{At: p.at(), Name: p.tok.str, Quoted: true}
		p.advance()
		return id
	}
	if p.tok.kind == tQuoted {
		return p.takeIdent()
	}
	return p.ident()
}

// endsItem reports whether an unreserved keyword here starts a clause of
// another dialect rather than an alias.
func (p *parser) endsItem() bool {
	switch p.tok.word {
	case "QUALIFY":
		return p.tok.kind == tWord
	case "OFFSET":
		k := p.peek(1).kind
		return k == tInt || k == tParam
	case "MINUS":
		w := p.peek(1).word
		return w == "SELECT" || w == "ALL" || w == "("
	}
	return false
}

// star reads * and t.*; nil when something else stands here.
func (p *parser) star() *Star {
	pos := p.at()
	if p.accept("*") {
		return &Star{At: pos}
	}
	if p.tok.kind != tWord && p.tok.kind != tQuoted || p.tok.reserved {
		return nil
	}
	for n := 1; n <= 5; n += 2 {
		if p.peek(n).word != "." {
			return nil
		}
		t := p.peek(n + 1)
		if t.word == "*" && t.kind == tOp {
			st := &Star{At: pos}
			for i := 0; i < n; i += 2 {
				st.Qualifier = append(st.Qualifier, p.takeIdent())
				p.expect(".")
			}
			p.expect("*")
			if p.o.Dialect == Trino && p.accept("AS") {
				st.Aliases = p.identList()
			}
			return st
		}
		if t.kind != tWord && t.kind != tQuoted {
			return nil
		}
	}
	return nil
}

func (p *parser) groupBy() *GroupBy {
	g := &GroupBy{At: p.at()}
	p.expect("GROUP")
	p.expect("BY")
	switch {
	case p.is("ALL"):
		p.advance()
		g.All = true
	case p.is("DISTINCT"):
		p.advance()
		g.Distinct = true
	}
	if g.All && p.endsGroupBy() {
		return g
	}
	for {
		g.Items = append(g.Items, p.groupItem())
		if !p.accept(",") {
			break
		}
	}
	if p.accept2("WITH", "ROLLUP") {
		g.WithRollup = true
	}
	return g
}

func (p *parser) endsGroupBy() bool {
	switch p.tok.word {
	case "HAVING", "ORDER", "LIMIT", "WINDOW", "QUALIFY", ")", ";", "UNION", "EXCEPT", "INTERSECT":
		return true
	}
	return p.tok.kind == tEOF
}

func (p *parser) groupItem() *GroupItem {
	g := &GroupItem{At: p.at()}
	switch {
	case p.is("ROLLUP") && p.peek(1).word == "(":
		g.Kind = GroupRollup
	case p.is("CUBE") && p.peek(1).word == "(":
		g.Kind = GroupCube
	case p.is("GROUPING") && p.peek(1).word == "SETS":
		g.Kind = GroupSets
		p.advance()
	case p.is2("(", ")"): // GROUP BY () is GROUPING SETS (())
		p.advance()
		p.advance()
		g.Kind, g.Sets = GroupSets, [][]Expr{{}}
		return g
	default:
		g.Sets = [][]Expr{{p.expr()}}
		return g
	}
	p.advance()
	p.expect("(")
	for more := !p.is(")"); more; more = p.accept(",") {
		g.add(p)
	}
	p.expect(")")
	return g
}

// add reads one element of ROLLUP, CUBE or GROUPING SETS: (a, b), a, () or,
// in GROUPING SETS, a nested grouping element.
func (g *GroupItem) add(p *parser) {
	if g.Kind == GroupSets && (p.is("ROLLUP") || p.is("CUBE") || p.is("GROUPING") && p.peek(1).word == "SETS") {
		p.enter()
		g.Items = append(g.Items, p.groupItem())
		p.depth--
		return
	}
	if p.is2("(", ")") {
		p.advance()
		p.advance()
		g.Sets = append(g.Sets, []Expr{})
		return
	}
	e := p.expr()
	if r, ok := e.(*Row); ok && !r.Explicit {
		g.Sets = append(g.Sets, r.Items)
		return
	}
	g.Sets = append(g.Sets, []Expr{e})
}
