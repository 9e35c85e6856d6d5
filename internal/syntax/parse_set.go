package syntax

import "strings"

// set reads SET in all its forms.
func (p *parser) set() Statement {
	pos := p.at()
	if s := p.flinkSet(pos); s != nil {
		return s
	}
	p.advance()
	switch {
	case p.isEnd():
		return &ShowSettings{pos}
	case p.tok.kind == tString:
		o := &SetOption{At: pos, Key: p.stringValue()}
		p.expect("=")
		o.Value = p.optionValue()
		return o
	case p.is("PASSWORD") && (p.peek(1).word == "=" || p.peek(1).word == "FOR" || p.peek(1).word == "TO"):
		return p.setPassword(pos)
	case p.is("ROLE") && p.peek(1).word != "=":
		return p.setRole(pos)
	case p.is2("DEFAULT", "ROLE"):
		return p.setDefaultRole(pos)
	case p.is("TRANSACTION") && p.peek(1).word != "=":
		p.advance()
		return p.setTransaction(&SetTransaction{At: pos})
	case p.peek(1).word == "TRANSACTION" && p.scopeHere() != ScopeNone && p.peek(2).word != "=":
		t := &SetTransaction{At: pos, Scope: p.scopeHere()}
		p.advance()
		p.advance()
		return p.setTransaction(t)
	case p.is2("RESOURCE", "GROUP"):
		return p.skip("SET RESOURCE GROUP")
	case p.is("STATEMENT") && p.peek(1).kind == tWord && p.peek(1).word != "=":
		return p.skip("SET STATEMENT")
	}
	list := p.setList()
	if len(list) == 1 {
		if v, ok := list[0].(*SetVars); ok {
			v.At = pos
		}
		return list[0]
	}
	all := &SetVars{At: pos}
	for _, s := range list {
		v, ok := s.(*SetVars)
		if !ok {
			return &SetList{pos, list}
		}
		all.Items = append(all.Items, v.Items...)
	}
	return all
}

// setList reads assignments separated by commas. A scope keyword holds for the
// assignments after it, up to the next.
func (p *parser) setList() []Statement {
	var list []Statement
	scope := ScopeNone
	for {
		pos := p.at()
		switch {
		case p.is("NAMES") && p.peek(1).word != "=" && p.peek(1).word != ":=":
			p.advance()
			n := &SetNames{At: pos}
			if p.accept("DEFAULT") {
				n.Default = true
			} else {
				n.Charset = p.lowerName()
				if p.accept("COLLATE") {
					n.Collate = p.lowerName()
				}
			}
			list = append(list, n)
		case p.is2("CHARACTER", "SET"), p.is2("CHAR", "SET"), p.is("CHARSET") && p.peek(1).word != "=" && p.peek(1).word != ":=":
			p.acceptAny("CHARACTER", "CHAR")
			p.advance()
			c := &SetCharset{At: pos}
			if p.accept("DEFAULT") {
				c.Default = true
			} else {
				c.Charset = p.lowerName()
			}
			list = append(list, c)
		default:
			list = append(list, &SetVars{pos, []*SetItem{p.setItem(&scope)}})
		}
		if !p.accept(",") {
			return list
		}
	}
}

// scopeHere returns the scope keyword at the current token.
func (p *parser) scopeHere() VarScope {
	if p.tok.kind != tWord {
		return ScopeNone
	}
	switch p.tok.word {
	case "SESSION", "LOCAL":
		return ScopeSession
	case "GLOBAL":
		return ScopeGlobal
	case "PERSIST":
		return ScopePersist
	case "PERSIST_ONLY":
		return ScopePersistOnly
	}
	return ScopeNone
}

func (p *parser) setItem(scope *VarScope) *SetItem {
	it := &SetItem{At: p.at()}
	pos := p.at()
	switch {
	case p.tok.kind == tUserVar:
		it.Var = &UserVar{pos, p.tok.str}
		p.advance()
	case p.is("@@"):
		it.Var = p.sysVar()
	default:
		if s := p.scopeHere(); s != ScopeNone && p.peek(1).word != "=" && p.peek(1).word != ":=" && p.peek(1).word != "." {
			*scope = s
			p.advance()
		}
		v := &SysVar{At: pos, Scope: *scope, Name: lower(p.ident().Name)}
		if p.accept(".") {
			name := lower(p.anyWord().Name)
			if s, ok := varScopes[v.Name]; ok {
				v.Scope, v.Name = s, name
			} else {
				v.Name += "." + name
			}
		}
		it.Var = v
	}
	if !p.accept(":=") {
		p.expect("=")
	}
	it.Value = p.setValue()
	return it
}

// setValue reads an expression; bare words are strings (SET x = on, binary).
// DEFAULT gives nil.
func (p *parser) setValue() Expr {
	pos := p.at()
	if p.is("DEFAULT") && p.peek(1).word != "(" {
		p.advance()
		return nil
	}
	switch p.tok.word {
	case "ON", "ALL", "BINARY", "ROW", "SYSTEM":
		if n := p.peek(1); n.kind == tEOF || n.word == "," || n.word == ";" {
			s := &StringLit{At: pos, Value: p.tok.str}
			p.advance()
			return s
		}
	}
	e := p.expr()
	if c, ok := e.(*ColumnRef); ok {
		names := make([]string, len(c.Parts))
		for i, n := range c.Parts {
			names[i] = n.Name
		}
		return &StringLit{At: pos, Value: strings.Join(names, ".")}
	}
	return e
}

// flinkPrefixes are the first words of Flink's two-part configuration keys.
var flinkPrefixes = map[string]bool{
	"execution": true, "table": true, "sql-client": true, "pipeline": true, "parallelism": true, "state": true,
	"rest": true, "jobmanager": true, "taskmanager": true, "env": true, "security": true, "metrics": true,
	"classloader": true, "cluster": true, "yarn": true, "kubernetes": true, "job": true, "python": true, "s3": true,
	"fs": true, "akka": true, "heartbeat": true, "blob": true, "client": true, "deployment": true,
}

// flinkSet reads SET key = value with Flink's bare keys, which may hold dashes
// and whose value is any text: SET execution.runtime-mode = batch. It returns
// nil when the statement is MySQL's. The current token is SET.
func (p *parser) flinkSet(pos At) Statement {
	i := int(p.tok.end)
	for i < len(p.text) && isSpace(p.text[i]) {
		i++
	}
	start := i
	dots, dashes := 0, 0
	for i < len(p.text) {
		c := p.text[i]
		if c == '.' {
			dots++
		} else if c == '-' {
			dashes++
		} else if !isIdentByte(c) {
			break
		}
		i++
	}
	key := p.text[start:i]
	if dots == 0 || key[0] == '.' || key[0] == '-' {
		return nil
	}
	first := key[:strings.IndexByte(key, '.')]
	if strings.EqualFold(first, "global") || strings.EqualFold(first, "session") {
		return nil
	}
	if dashes == 0 && dots == 1 && !flinkPrefixes[lower(first)] {
		return nil
	}
	for i < len(p.text) && isSpace(p.text[i]) {
		i++
	}
	if i >= len(p.text) || p.text[i] != '=' {
		return nil
	}
	p.reset(i)
	p.expect("=")
	if p.tok.kind == tString {
		return &SetOption{At: pos, Key: key, Value: p.stringValue()}
	}
	from := int(p.tok.pos)
	if p.isEnd() {
		p.bad()
	}
	for !p.isEnd() {
		p.pass()
	}
	return &SetOption{At: pos, Key: key, Value: p.textFrom(from)}
}

func (p *parser) setTransaction(t *SetTransaction) Statement {
	for {
		switch {
		case p.accept2("ISOLATION", "LEVEL"):
			if t.Isolation != "" {
				p.bad()
			}
			t.Isolation = p.isolation()
		case p.accept2("READ", "ONLY"):
			t.Access = "READ ONLY"
		case p.accept2("READ", "WRITE"):
			t.Access = "READ WRITE"
		default:
			p.bad()
		}
		if !p.accept(",") {
			return t
		}
	}
}

// isolation reads a level, as the variable transaction_isolation spells it.
func (p *parser) isolation() string {
	switch {
	case p.accept2("READ", "UNCOMMITTED"):
		return "READ-UNCOMMITTED"
	case p.accept2("READ", "COMMITTED"):
		return "READ-COMMITTED"
	case p.accept2("REPEATABLE", "READ"):
		return "REPEATABLE-READ"
	case p.accept("SERIALIZABLE"):
		return "SERIALIZABLE"
	}
	p.bad()
	return ""
}

func (p *parser) setPassword(pos At) Statement {
	s := &SetPassword{At: pos}
	p.expect("PASSWORD")
	if p.accept("FOR") {
		s.User = p.account()
	}
	switch {
	case p.accept("TO"):
		p.expect("RANDOM")
		s.Random = true
	default:
		p.expect("=")
		if p.is2("PASSWORD", "(") { // of 5.7 and MariaDB
			p.advance()
			p.advance()
			s.Password = p.stringValue()
			p.expect(")")
		} else {
			s.Password = p.stringValue()
		}
	}
	if p.accept("REPLACE") {
		s.Replace, s.HasReplace = p.stringValue(), true
	}
	if p.accept2("RETAIN", "CURRENT") {
		p.expect("PASSWORD")
		s.Retain = true
	}
	return s
}

func (p *parser) setRole(pos At) Statement {
	s := &SetRole{At: pos}
	p.expect("ROLE")
	switch {
	case p.accept("NONE"):
		s.Mode = "NONE"
	case p.accept("DEFAULT"):
		s.Mode = "DEFAULT"
	case p.accept("ALL"):
		s.Mode = "ALL"
		if p.accept("EXCEPT") {
			s.Mode = "ALL EXCEPT"
			s.Roles = p.accounts()
		}
	default:
		s.Roles = p.accounts()
	}
	return s
}

func (p *parser) setDefaultRole(pos At) Statement {
	s := &SetDefaultRole{At: pos}
	p.expect("DEFAULT")
	p.expect("ROLE")
	switch {
	case p.accept("NONE"):
		s.Mode = "NONE"
	case p.accept("ALL"):
		s.Mode = "ALL"
	default:
		s.Roles = p.accounts()
	}
	if p.accept("TO") {
		s.Users = p.accounts()
	} else {
		p.expect("FOR")
		s.Users = p.accounts()
	}
	return s
}
