package syntax

import "strings"

// executePipeline reads EXECUTE PIPELINE WITHYAML (…). The text between the
// parentheses is YAML, not SQL.
func (p *parser) executePipeline(pos At) Statement {
	e := &ExecutePipeline{At: pos}
	p.advance()
	after := int(p.tok.end) // of WITHYAML
	start, end, next, ok := pipelineText(p.text, after)
	if !ok {
		panic(bailout{syntaxError(p.text, after, "the pipeline is written ($$ … $$), ('…'), or bare with the closing parenthesis on a line of its own")})
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
	c.Name = p.nameOrString()
	return c
}

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
			d.Name = ObjectName{p.at(), []Ident{p.nameOrString()}}
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
