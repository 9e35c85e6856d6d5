package syntax

import "strings"

// show reads SHOW ….
func (p *parser) show() Statement {
	s := &Show{At: p.at()}
	p.advance()
	for {
		switch {
		case p.is("FULL") && !s.Full:
			s.Full = true
		case p.is("EXTENDED") && !s.Extended:
			s.Extended = true
		default:
			return p.showWhat(s)
		}
		p.advance()
	}
}

func (p *parser) showWhat(s *Show) Statement {
	if scope := p.scopeHere(); scope == ScopeSession || scope == ScopeGlobal {
		s.Scope = scope
		p.advance()
		if !p.is("VARIABLES") && !p.is("STATUS") {
			p.bad()
		}
	}
	w := p.tok.word
	switch w {
	case "DATABASES", "SCHEMAS":
		p.advance()
		s.Kind = ShowDatabases
		p.showFrom(s)
		p.showFilter(s)
	case "TABLES", "VIEWS":
		p.advance()
		s.Kind = ShowTables
		if w == "VIEWS" {
			s.Kind = ShowViews
		}
		p.showFrom(s)
		p.showFilter(s)
	case "MATERIALIZED":
		p.advance()
		p.expect("TABLES")
		s.Kind = ShowMaterialized
		p.showFrom(s)
		p.showFilter(s)
	case "COLUMNS", "FIELDS":
		p.advance()
		s.Kind = ShowColumns
		p.showTable(s)
		p.showFilter(s)
	case "INDEX", "INDEXES", "KEYS":
		p.advance()
		s.Kind = ShowIndex
		p.showTable(s)
		p.showFilter(s)
	case "TABLE", "OPEN":
		p.advance()
		if w == "TABLE" {
			p.expect("STATUS")
			s.Kind = ShowTableStatus
		} else {
			p.expect("TABLES")
			s.Kind = ShowOpenTables
		}
		p.showFrom(s)
		p.showFilter(s)
	case "TRIGGERS", "EVENTS":
		p.advance()
		s.Kind = ShowKind(w)
		p.showFrom(s)
		p.showFilter(s)
	case "CREATE":
		p.showCreate(s)
	case "VARIABLES", "STATUS", "COLLATION":
		p.advance()
		s.Kind = ShowKind(w)
		p.showFilter(s)
	case "CHARACTER", "CHARSET":
		p.advance()
		if w == "CHARACTER" {
			p.expect("SET")
		}
		s.Kind = ShowCharset
		p.showFilter(s)
	case "WARNINGS", "ERRORS":
		p.advance()
		s.Kind = ShowKind(w)
		if p.is("LIMIT") {
			s.Limit = p.limitN()
		}
	case "COUNT":
		p.advance()
		p.expect("(")
		p.expect("*")
		p.expect(")")
		s.Count = true
		s.Kind = ShowKind(p.acceptAny("WARNINGS", "ERRORS"))
		if s.Kind == "" {
			p.bad()
		}
	case "PROCESSLIST", "PRIVILEGES", "ENGINES", "PROFILES", "REPLICAS", "JOBS", "AUTHORS", "CONTRIBUTORS", "JARS":
		p.advance()
		s.Kind = ShowKind(w)
	case "PLUGINS", "CATALOGS", "PIPELINES", "MODULES":
		p.advance()
		s.Kind = ShowKind(w)
		p.showFilter(s)
	case "FUNCTIONS", "PROCEDURES":
		p.advance()
		s.Kind = ShowKind(w)
		p.showFrom(s)
		p.showFilter(s)
	case "USER":
		p.advance()
		if p.accept("FUNCTIONS") {
			s.Kind = ShowFunctions
			s.What = "USER"
			p.showFrom(s)
			p.showFilter(s)
		} else {
			p.bad()
		}
	case "STORAGE":
		p.advance()
		p.expect("ENGINES")
		s.Kind = ShowEngines
	case "ENGINE":
		p.advance()
		s.Kind = ShowEngine
		s.Type = p.nameOrString().Name
		if s.What = p.acceptAny("STATUS", "LOGS", "MUTEX"); s.What == "" {
			p.bad()
		}
	case "GRANTS":
		p.advance()
		s.Kind = ShowGrants
		if p.accept("FOR") {
			s.User = p.account()
			if p.accept("USING") {
				s.Roles = p.accounts()
			}
		}
	case "PROCEDURE", "FUNCTION":
		p.advance()
		if p.accept("CODE") {
			s.Kind = ShowKind(w + " CODE")
			s.Table = p.objectName()
			break
		}
		p.expect("STATUS")
		s.Kind = ShowKind(w + " STATUS")
		p.showFilter(s)
	case "PROFILE":
		p.advance()
		s.Kind = ShowProfile
		p.showProfile(s)
	case "BINARY", "MASTER":
		p.advance()
		switch {
		case p.accept("LOGS"):
			s.Kind = ShowBinaryLogs
		case w == "BINARY" && p.accept2("LOG", "STATUS"), w == "MASTER" && p.accept("STATUS"):
			s.Kind = ShowBinaryLogStatus
		default:
			p.bad()
		}
	case "BINLOG", "RELAYLOG":
		p.advance()
		p.expect("EVENTS")
		s.Kind = ShowKind(w + " EVENTS")
		if p.accept("IN") {
			s.Type = p.stringValue()
		}
		if p.accept("FROM") {
			p.number()
		}
		if p.is("LIMIT") {
			s.Limit = p.limitN()
		}
		p.channel()
	case "REPLICA", "SLAVE":
		p.advance()
		if p.accept("HOSTS") {
			s.Kind = ShowReplicas
			break
		}
		p.expect("STATUS")
		s.Kind = ShowReplicaStatus
		p.channel()
	case "ALL":
		p.advance()
		if p.acceptAny("SLAVES", "REPLICAS") == "" {
			p.bad()
		}
		p.expect("STATUS")
		s.Kind = ShowReplicaStatus
	case "CURRENT":
		p.advance()
		switch {
		case p.accept("CATALOG"):
			s.Kind = ShowCurrentCatalog
		case p.accept("DATABASE"):
			s.Kind = ShowCurrentDatabase
		default:
			p.bad()
		}
	case "PARTITIONS":
		p.advance()
		s.Kind = ShowPartitions
		p.acceptAny("FROM", "IN")
		s.Table = p.objectName()
		if p.is2("PARTITION", "(") {
			s.Spec = p.partitionSpec()
		}
	case "PARSE_TREE":
		return p.skip("SHOW PARSE_TREE")
	default:
		p.bad()
	}
	return s
}

func (p *parser) channel() {
	if p.is2("FOR", "CHANNEL") {
		p.advance()
		p.advance()
		p.stringValue()
	}
}

// showFrom reads [FROM | IN db].
func (p *parser) showFrom(s *Show) {
	if p.accept("FROM") || p.accept("IN") {
		s.Database = p.databaseName()
	}
}

// showTable reads FROM t [FROM db].
func (p *parser) showTable(s *Show) {
	if p.acceptAny("FROM", "IN") == "" {
		p.bad()
	}
	s.Table = p.objectName()
	p.showFrom(s)
}

// showFilter reads [[NOT] LIKE 'x' | WHERE e].
func (p *parser) showFilter(s *Show) {
	switch {
	case p.is("LIKE") || p.is2("NOT", "LIKE") || p.is("ILIKE"):
		s.Not = p.accept("NOT")
		p.advance()
		if p.tok.kind != tString {
			p.bad()
		}
		s.Like = p.stringLit("")
	case p.accept("WHERE"):
		s.Where = p.expr()
	}
}

func (p *parser) showCreate(s *Show) {
	p.expect("CREATE")
	w := p.tok.word
	switch w {
	case "TABLE", "VIEW":
		p.advance()
		s.Kind = ShowKind("CREATE " + w)
		s.Table = p.objectName()
	case "MATERIALIZED":
		p.advance()
		p.expect("TABLE")
		s.Kind, s.What = ShowCreateTable, "MATERIALIZED"
		s.Table = p.objectName()
	case "DATABASE", "SCHEMA":
		p.advance()
		s.Kind = ShowCreateDatabase
		s.IfNotExists = p.ifNotExists()
		s.Database = p.databaseName()
	case "CATALOG":
		p.advance()
		s.Kind = ShowCreateCatalog
		s.Table = p.objectName()
	case "USER":
		p.advance()
		s.Kind = ShowCreateUser
		if p.isEnd() {
			s.User = &Account{At: At(p.prev.pos), Current: true, Host: "%"}
		} else {
			s.User = p.account()
		}
	default:
		if p.tok.kind != tWord {
			p.bad()
		}
		switch w := strings.ToUpper(p.tok.str); w {
		case "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "SEQUENCE", "PACKAGE", "SERVER", "LIBRARY", "MODEL":
			p.advance()
			s.Kind, s.Type = ShowCreateOther, w
			s.Table = p.objectName()
		default:
			p.bad()
		}
	}
}

func (p *parser) showProfile(s *Show) {
	var types []string
	for {
		w := p.acceptAny("ALL", "CPU", "IPC", "MEMORY", "SOURCE", "SWAPS", "BLOCK", "CONTEXT", "PAGE")
		switch w {
		case "":
			if len(types) > 0 {
				p.bad()
			}
		case "BLOCK":
			p.expect("IO")
			w += " IO"
		case "CONTEXT":
			p.expect("SWITCHES")
			w += " SWITCHES"
		case "PAGE":
			p.expect("FAULTS")
			w += " FAULTS"
		}
		if w != "" {
			types = append(types, w)
		}
		if w == "" || !p.accept(",") {
			break
		}
	}
	s.What = strings.Join(types, ", ")
	if p.accept2("FOR", "QUERY") {
		s.Type = p.tok.str
		p.number()
	}
	if p.is("LIMIT") {
		s.Limit = p.limitN()
	}
}
