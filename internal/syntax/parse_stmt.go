package syntax

import "strings"

// statement reads one statement, up to its semicolon.
func (p *parser) statement() Statement {
	pos := p.at()
	p.stmtStart = int(pos)
	switch p.tok.word {
	case "SELECT", "VALUES", "TABLE", "(":
		return p.query()
	case "WITH":
		return p.withStatement()
	case "INSERT", "REPLACE":
		return p.insert(nil)
	case "UPDATE":
		return p.update(nil)
	case "DELETE":
		return p.delete(nil)
	case "MERGE":
		return p.merge(nil)
	case "LOAD":
		return p.load()
	case "CREATE":
		return p.create()
	case "ALTER":
		return p.alter()
	case "DROP":
		return p.drop()
	case "TRUNCATE":
		p.advance()
		p.accept("TABLE")
		return &TruncateTable{pos, p.objectName()}
	case "RENAME":
		return p.rename()
	case "SET":
		return p.set()
	case "RESET":
		return p.resetOption()
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC", "EXPLAIN":
		return p.explain()
	case "USE":
		return p.use()
	case "BEGIN":
		return p.begin()
	case "START":
		return p.startTransaction()
	case "COMMIT":
		p.advance()
		p.accept("WORK")
		c := &Commit{At: pos}
		c.Chain, c.NoChain, c.Release, c.NoRelease = p.completion()
		return c
	case "ROLLBACK":
		return p.rollback()
	case "SAVEPOINT":
		p.advance()
		return &Savepoint{pos, p.ident()}
	case "RELEASE":
		p.advance()
		p.expect("SAVEPOINT")
		return &ReleaseSavepoint{pos, p.ident()}
	case "KILL":
		p.advance()
		k := &Kill{At: pos}
		switch p.tok.word {
		case "QUERY":
			k.Query = true
			p.advance()
		case "CONNECTION":
			p.advance()
		}
		k.ID = p.expr()
		return k
	case "PREPARE":
		return p.prepare()
	case "EXECUTE":
		return p.execute()
	case "DEALLOCATE":
		p.advance()
		p.expect("PREPARE")
		return &Deallocate{pos, p.ident()}
	case "CALL":
		p.advance()
		c := &Call{At: pos, Name: p.objectName()}
		if p.is("(") {
			c.Args = p.args()
		}
		return c
	case "GRANT":
		return p.grant()
	case "REVOKE":
		return p.revoke()
	case "LOCK":
		return p.lockTables()
	case "UNLOCK":
		p.advance()
		if p.accept("INSTANCE") {
			return &UnlockTables{pos, true}
		}
		if p.acceptAny("TABLES", "TABLE") == "" {
			p.bad()
		}
		return &UnlockTables{At: pos}
	case "ANALYZE", "CHECK", "CHECKSUM", "OPTIMIZE", "REPAIR":
		return p.maintenance()
	case "FLUSH":
		return p.flush()
	case "DO":
		p.advance()
		return &Do{pos, p.exprList()}
	case "PAUSE", "RESUME", "STOP":
		if p.peek(1).word == "PIPELINE" {
			return p.pipelineControl()
		}
	}
	if what := p.otherStatement(); what != "" {
		return p.skip(what)
	}
	p.bad()
	return nil
}

// otherStatement names a statement that is valid and not served.
func (p *parser) otherStatement() string {
	a, b, c := p.tok.word, "", ""
	if n := p.peek(1); n.kind == tWord {
		b = strings.ToUpper(n.str)
		if n := p.peek(2); n.kind == tWord {
			c = strings.ToUpper(n.str)
		}
	}
	switch a {
	case "XA", "HANDLER", "HELP", "BINLOG", "CLONE", "SIGNAL", "RESIGNAL", "RESTART", "SHUTDOWN", "GET":
		if a == "GET" {
			return "GET DIAGNOSTICS"
		}
		return a
	case "CHANGE", "PURGE", "INSTALL", "UNINSTALL", "CACHE", "IMPORT", "STOP":
		if b == "" {
			return ""
		}
		if b == "GROUP_REPLICATION" || b == "REPLICA" || b == "SLAVE" || c == "" {
			return a + " " + b
		}
		return a + " " + b
	}
	// Flink's and MariaDB's words are not all keywords here.
	if p.tok.kind != tWord {
		return ""
	}
	switch w := strings.ToUpper(p.tok.str); w {
	case "ADD", "REMOVE":
		if b == "JAR" {
			return w + " JAR"
		}
	case "UNLOAD":
		if b == "MODULE" {
			return "UNLOAD MODULE"
		}
	case "COMPILE":
		return "COMPILE PLAN"
	case "BACKUP":
		return "BACKUP"
	case "COMMENT":
		if b == "ON" {
			return "COMMENT ON"
		}
	}
	return ""
}

// skip moves over the rest of the statement and returns it as unsupported.
func (p *parser) skip(what string) Statement {
	for !p.isEnd() {
		p.pass()
	}
	return &Unsupported{At(p.stmtStart), what, p.textFrom(p.stmtStart)}
}

// skipCompound is skip for a statement that may hold others, from its first
// token at start.
func (p *parser) skipCompound(start int, what string) Statement {
	s := splitter{lexer: newLexer(p.text, p.o)}
	s.pos = start
	piece := s.piece()
	p.placeholders = s.params
	p.reset(piece.End)
	p.prev.end = int32(piece.End)
	return &Unsupported{At(start), what, p.text[start:piece.End]}
}

// withStatement reads WITH … SELECT | INSERT | UPDATE | DELETE | MERGE.
func (p *parser) withStatement() Statement {
	pos := p.at()
	w := p.with()
	switch p.tok.word {
	case "INSERT", "REPLACE":
		return p.insert(w)
	case "UPDATE":
		return p.update(w)
	case "DELETE":
		return p.delete(w)
	case "MERGE":
		return p.merge(w)
	}
	q := p.query()
	if q.With != nil {
		p.fail(q.With.Pos())
	}
	q.At, q.With = pos, w
	return q
}

func (p *parser) use() Statement {
	u := &Use{At: p.at()}
	p.advance()
	if p.is("CATALOG") && isNameToken(p.peek(1)) {
		p.advance()
		u.Catalog = true
		u.Name = p.objectName()
		if len(u.Name.Parts) > 1 {
			p.fail(u.Name.Pos())
		}
		return u
	}
	if p.tok.kind == tWord && strings.EqualFold(p.tok.str, "MODULES") && isNameToken(p.peek(1)) {
		return p.skip("USE MODULES")
	}
	u.Name = p.objectName()
	if len(u.Name.Parts) > 2 {
		p.fail(u.Name.Pos())
	}
	return u
}

func (p *parser) begin() Statement {
	b := &Begin{At: p.at()}
	p.advance()
	if p.accept2("STATEMENT", "SET") {
		p.expect(";")
		return p.statementSet(b.At)
	}
	if p.is("NOT") {
		return p.skipCompound(int(b.At), "BEGIN NOT ATOMIC")
	}
	p.accept("WORK")
	return b
}

// statementSet reads INSERT …; INSERT …; END.
func (p *parser) statementSet(pos At) Statement {
	s := &StatementSet{At: pos}
	for !p.accept("END") {
		ins, ok := p.insert(nil).(*Insert)
		if !ok {
			p.bad()
		}
		s.Inserts = append(s.Inserts, ins)
		p.expect(";")
		for p.accept(";") {
		}
	}
	return s
}

func (p *parser) startTransaction() Statement {
	b := &Begin{At: p.at()}
	switch n := p.peek(1).word; n {
	case "REPLICA", "SLAVE", "GROUP_REPLICATION":
		return p.skip("START " + n)
	}
	p.advance()
	p.expect("TRANSACTION")
	if p.isEnd() {
		return b
	}
	for {
		switch {
		case p.is2("WITH", "CONSISTENT"):
			p.advance()
			p.advance()
			p.expect("SNAPSHOT")
			b.ConsistentSnapshot = true
		case p.accept2("READ", "ONLY"):
			b.Access = "READ ONLY"
		case p.accept2("READ", "WRITE"):
			b.Access = "READ WRITE"
		case p.accept2("ISOLATION", "LEVEL"): // Trino
			p.isolation()
		default:
			p.bad()
		}
		if !p.accept(",") {
			return b
		}
	}
}

// completion reads [AND [NO] CHAIN] [[NO] RELEASE].
func (p *parser) completion() (chain, noChain, release, noRelease bool) {
	if p.accept("AND") {
		if p.accept("NO") {
			noChain = true
		} else {
			chain = true
		}
		p.expect("CHAIN")
	}
	if p.accept2("NO", "RELEASE") {
		noRelease = true
	} else {
		release = p.accept("RELEASE")
	}
	return
}

func (p *parser) rollback() Statement {
	r := &Rollback{At: p.at()}
	p.advance()
	p.accept("WORK")
	if p.accept("TO") {
		p.accept("SAVEPOINT")
		r.To = p.ident()
		return r
	}
	r.Chain, r.NoChain, r.Release, r.NoRelease = p.completion()
	return r
}

func (p *parser) prepare() Statement {
	s := &Prepare{At: p.at()}
	p.advance()
	s.Name = p.ident()
	p.expect("FROM")
	switch p.tok.kind {
	case tString:
		s.Text = p.stringLit("")
	case tUserVar:
		s.Var = &UserVar{p.at(), p.tok.str}
		p.advance()
	default:
		if p.o.Dialect != Trino {
			p.bad()
		}
		s.Statement = p.statement()
	}
	return s
}

func (p *parser) execute() Statement {
	pos := p.at()
	p.advance()
	switch {
	case p.is2("PIPELINE", "WITHYAML"):
		return p.executePipeline(pos)
	case p.is2("STATEMENT", "SET"):
		p.advance()
		p.advance()
		p.expect("BEGIN")
		return p.statementSet(pos)
	case p.is("INSERT"):
		return p.insert(nil) // Flink's EXECUTE INSERT …
	case p.is("SELECT") || p.is("WITH"):
		return p.query()
	case p.is("IMMEDIATE"):
		p.advance()
		e := &ExecuteImmediate{At: pos, Text: p.expr()}
		if p.accept("USING") {
			e.Using = p.exprList()
		}
		return e
	}
	e := &Execute{At: pos, Name: p.ident()}
	if p.accept("USING") {
		for {
			if p.tok.kind != tUserVar && p.o.Dialect != Trino {
				p.bad()
			}
			e.Using = append(e.Using, p.expr())
			if !p.accept(",") {
				break
			}
		}
	}
	return e
}

func (p *parser) ifExists() bool { return p.accept2("IF", "EXISTS") }

func (p *parser) ifNotExists() bool { return p.accept3("IF", "NOT", "EXISTS") }

func (p *parser) rename() Statement {
	pos := p.at()
	p.advance()
	if p.accept("USER") {
		r := &RenameUser{At: pos}
		for {
			r.From = append(r.From, p.account())
			p.expect("TO")
			r.To = append(r.To, p.account())
			if !p.accept(",") {
				return r
			}
		}
	}
	if p.acceptAny("TABLE", "TABLES") == "" {
		p.bad()
	}
	r := &RenameTable{At: pos}
	for {
		pair := &RenamePair{At: p.at(), From: p.objectName()}
		p.expect("TO")
		pair.To = p.objectName()
		r.Pairs = append(r.Pairs, pair)
		if !p.accept(",") {
			return r
		}
	}
}
