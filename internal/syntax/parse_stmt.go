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
		p.advance()
	}
	return &Unsupported{At(p.stmtStart), what, p.textFrom(p.stmtStart)}
}

// skipCompound is skip for a statement that may hold others, from its first
// token at start.
func (p *parser) skipCompound(start int, what string) Statement {
	s := splitter{lexer: newLexer(p.text, p.o)}
	s.pos = start
	piece := s.piece()
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

// executePipeline reads EXECUTE PIPELINE WITHYAML (…). The text between the
// parentheses is YAML, not SQL.
func (p *parser) executePipeline(pos At) Statement {
	e := &ExecutePipeline{At: pos}
	p.advance()
	after := int(p.tok.end) // of WITHYAML
	start, end, next, ok := pipelineText(p.text, after)
	if !ok {
		p.fail(after)
	}
	if start < 0 {
		p.advance()
		p.expect("(")
		e.YAMLPos = p.at()
		e.YAML = p.stringLit("").Value
		p.expect(")")
		return e
	}
	e.YAML, e.YAMLPos = p.text[start:end], At(start)
	p.reset(next)
	p.prev.end = int32(next)
	return e
}

func (p *parser) pipelineControl() Statement {
	c := &PipelineControl{At: p.at(), Action: p.tok.word}
	p.advance()
	p.expect("PIPELINE")
	c.IfExists = p.ifExists()
	if p.tok.kind == tString {
		c.Name = Ident{At: p.at(), Name: p.tok.str, Quoted: true}
		p.advance()
	} else {
		c.Name = p.ident()
	}
	return c
}

func (p *parser) ifExists() bool { return p.accept2("IF", "EXISTS") }

func (p *parser) ifNotExists() bool { return p.accept3("IF", "NOT", "EXISTS") }

func (p *parser) lockTables() Statement {
	l := &LockTables{At: p.at()}
	p.advance()
	if p.accept3("INSTANCE", "FOR", "BACKUP") {
		l.Instance = true
		return l
	}
	if p.acceptAny("TABLES", "TABLE") == "" {
		p.bad()
	}
	for {
		t := &LockTable{At: p.at(), Name: p.objectName()}
		p.accept("AS")
		if p.isName() {
			t.Alias = p.ident()
		}
		switch {
		case p.accept2("READ", "LOCAL"):
			t.Mode = "READ LOCAL"
		case p.accept("READ"):
			t.Mode = "READ"
		case p.accept2("LOW_PRIORITY", "WRITE"):
			t.Mode = "LOW_PRIORITY WRITE"
		default:
			p.expect("WRITE")
			t.Mode = "WRITE"
		}
		l.Items = append(l.Items, t)
		if !p.accept(",") {
			return l
		}
	}
}

// maintenance reads ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
func (p *parser) maintenance() Statement {
	m := &TableMaintenance{At: p.at(), Action: p.tok.word}
	if m.Action == "ANALYZE" {
		switch p.peek(1).word {
		case "TABLE", "TABLES", "LOCAL", "NO_WRITE_TO_BINLOG":
		default:
			return p.explain() // MariaDB's ANALYZE SELECT …
		}
	}
	p.advance()
	m.Local = p.acceptAny("LOCAL", "NO_WRITE_TO_BINLOG") != ""
	if p.acceptAny("TABLE", "TABLES") == "" {
		p.bad()
	}
	m.Names = p.objectNames()
	if m.Action == "ANALYZE" {
		if p.is2("PARTITION", "(") {
			m.Spec = p.partitionSpec()
		}
		switch {
		case p.is2("UPDATE", "HISTOGRAM"), p.is2("DROP", "HISTOGRAM"):
			m.Histogram = p.tok.word
			p.advance()
			p.advance()
			p.expect("ON")
			m.Columns = append(m.Columns, p.ident())
			for p.accept(",") {
				m.Columns = append(m.Columns, p.ident())
			}
			if p.accept("WITH") {
				m.Options = append(m.Options, "WITH "+p.tok.str+" BUCKETS")
				p.number()
				p.expect("BUCKETS")
			} else if p.accept("USING") {
				p.expect("DATA")
				p.stringValue()
				m.Options = append(m.Options, "USING DATA")
			}
			if w := p.acceptAny("MANUAL", "AUTO"); w != "" {
				p.expect("UPDATE")
				m.Options = append(m.Options, w+" UPDATE")
			}
		case p.accept2("COMPUTE", "STATISTICS"):
			m.Options = append(m.Options, "COMPUTE STATISTICS")
			if p.accept("FOR") {
				if p.accept("ALL") {
					p.expect("COLUMNS")
					m.Options = append(m.Options, "FOR ALL COLUMNS")
				} else {
					p.expect("COLUMNS")
					m.Columns = append(m.Columns, p.ident())
					for p.accept(",") {
						m.Columns = append(m.Columns, p.ident())
					}
				}
			}
		}
	}
	for {
		switch {
		case p.accept2("FOR", "UPGRADE"):
			m.Options = append(m.Options, "FOR UPGRADE")
		default:
			w := p.acceptAny("QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED", "USE_FRM")
			if w == "" {
				return m
			}
			m.Options = append(m.Options, w)
		}
	}
}

func (p *parser) flush() Statement {
	f := &Flush{At: p.at()}
	p.advance()
	f.Local = p.acceptAny("LOCAL", "NO_WRITE_TO_BINLOG") != ""
	if w := p.acceptAny("TABLES", "TABLE"); w != "" {
		f.What = []string{"TABLES"}
		if p.isName() && !p.is("FOR") {
			f.Tables = p.objectNames()
		}
		switch {
		case p.accept3("WITH", "READ", "LOCK"):
			f.WithReadLock = true
		case p.accept2("FOR", "EXPORT"):
			f.ForExport = true
		}
		return f
	}
	for {
		w := p.upperWordHere()
		switch w {
		case "BINARY", "ENGINE", "ERROR", "GENERAL", "SLOW", "RELAY", "QUERY":
			p.advance()
			w += " " + p.upperWordHere()
		}
		if !flushable[w] {
			p.bad()
		}
		p.advance()
		f.What = append(f.What, w)
		if p.is2("FOR", "CHANNEL") {
			p.advance()
			p.advance()
			p.stringValue()
		}
		if !p.accept(",") {
			return f
		}
	}
}

// flushable is what FLUSH takes besides tables, MariaDB's words included.
var flushable = map[string]bool{
	"BINARY LOGS": true, "ENGINE LOGS": true, "ERROR LOGS": true, "GENERAL LOGS": true, "SLOW LOGS": true, "RELAY LOGS": true,
	"HOSTS": true, "LOGS": true, "PRIVILEGES": true, "STATUS": true, "OPTIMIZER_COSTS": true, "USER_RESOURCES": true,
	"QUERY CACHE": true, "SSL": true,
}

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

// explain reads EXPLAIN and DESCRIBE: of a table, or of a statement.
func (p *parser) explain() Statement {
	e := &Explain{At: p.at()}
	p.enter()
	defer func() { p.depth-- }()
	word := p.tok.word
	p.advance()
	if word == "ANALYZE" {
		e.Analyze = true
	}
	for {
		switch {
		case p.is("ANALYZE"):
			e.Analyze = true
			p.advance()
			p.acceptAny("VERBOSE")
			continue
		case p.is("EXTENDED") && p.peek(1).kind == tWord:
			if p.describesNext(1) {
				return p.describe(e.At)
			}
			e.Extended = true
			p.advance()
			continue
		case p.is("PARTITIONS") && p.peek(1).kind == tWord && p.peek(1).word != "":
			e.Partitions = true
			p.advance()
			continue
		case p.is("FORMAT") && p.peek(1).word == "=":
			p.advance()
			p.advance()
			if p.tok.kind == tString {
				e.Format = strings.ToUpper(p.stringValue())
			} else {
				e.Format = p.upperWord()
			}
			continue
		case p.is("INTO") && p.peek(1).kind == tUserVar:
			p.advance()
			e.Into = &UserVar{p.at(), p.tok.str}
			p.advance()
			continue
		case p.is("PLAN") && p.peek(1).word == "FOR":
			p.advance()
			p.advance()
			continue
		case p.is("ESTIMATED_COST"), p.is("CHANGELOG_MODE"), p.is("JSON_EXECUTION_PLAN"), p.is("PLAN_ADVICE"):
			if n := p.peek(1); n.word != "," && n.kind != tWord {
				break
			}
			e.Details = append(e.Details, p.tok.word)
			p.advance()
			p.accept(",")
			continue
		case p.is("(") && p.o.Dialect == Trino && p.peek(1).kind == tWord && (p.peek(1).word == "TYPE" || p.peek(1).word == "FORMAT"):
			p.advance()
			for {
				if p.accept("TYPE") {
					e.Details = append(e.Details, "TYPE "+p.upperWord())
				} else {
					p.expect("FORMAT")
					e.Format = p.upperWord()
				}
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
			continue
		}
		break
	}
	if p.is2("FOR", "CONNECTION") {
		p.advance()
		p.advance()
		e.Connection = p.expr()
		return e
	}
	if p.is("FOR") && (p.peek(1).word == "SCHEMA" || p.peek(1).word == "DATABASE") {
		p.advance()
		p.advance()
		e.Schema = p.objectName()
	}
	switch p.tok.word {
	case "SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "VALUES", "(", "MERGE", "EXECUTE", "CREATE":
		e.Statement = p.statement()
		return e
	case "TABLE":
		if isNameToken(p.peek(1)) {
			e.Statement = p.statement()
			return e
		}
	}
	if e.Analyze || e.Format != "" || e.Into != nil || len(e.Details) > 0 {
		p.bad()
	}
	return p.describe(e.At)
}

// describesNext reports whether the token after the n-th one cannot start a
// statement, so that a table's name stands there.
func (p *parser) describesNext(n int) bool {
	switch p.peek(n).word {
	case "SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "VALUES", "TABLE", "(":
		return false
	}
	return isNameToken(p.peek(n))
}

// describe reads DESCRIBE's rest: [CATALOG | DATABASE] name [column | 'pattern'].
func (p *parser) describe(pos At) Statement {
	d := &Describe{At: pos}
	d.Extended = p.is("EXTENDED") && p.describesNext(1) && p.accept("EXTENDED")
	switch {
	case p.is("CATALOG") && isNameToken(p.peek(1)), p.is("DATABASE"), p.is("SCHEMA"),
		(p.is("FUNCTION") || p.is("PROCEDURE") || p.is("VIEW") || p.is("JOB")) && (isNameToken(p.peek(1)) || p.peek(1).kind == tString):
		d.Kind = p.tok.word
		p.advance()
		if p.accept("EXTENDED") {
			d.Extended = true
		}
		if p.tok.kind == tString {
			d.Name = ObjectName{p.at(), []Ident{{At: p.at(), Name: p.stringValue(), Quoted: true}}}
			return d
		}
	}
	d.Name = p.objectName()
	switch {
	case p.tok.kind == tString:
		d.Pattern, d.HasPattern = p.stringValue(), true
	case p.isName():
		d.Column = p.ident().Name
	}
	return d
}
