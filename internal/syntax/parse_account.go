package syntax

import "strings"

// account reads 'user'@'host', user, CURRENT_USER[()].
func (p *parser) account() *Account {
	a := &Account{At: p.at(), Host: "%"}
	if p.accept("CURRENT_USER") {
		a.Current = true
		if p.accept("(") {
			p.expect(")")
		}
		return a
	}
	switch {
	case p.tok.kind == tString, p.isName():
		a.User = p.tok.str
		p.advance()
	default:
		p.badName()
	}
	switch {
	case p.tok.kind == tUserVar:
		a.Host, a.HasHost = lower(p.tok.str), true
		p.advance()
	case p.accept("@"):
		if p.tok.kind != tString && p.tok.kind != tWord && p.tok.kind != tQuoted {
			p.bad()
		}
		a.Host, a.HasHost = lower(p.tok.str), true
		p.advance()
	}
	return a
}

func (p *parser) accounts() []*Account {
	list := []*Account{p.account()}
	for p.accept(",") {
		list = append(list, p.account())
	}
	return list
}

// userSpec reads an account with its IDENTIFIED clause.
func (p *parser) userSpec() *UserSpec {
	u := &UserSpec{At: p.at(), Account: p.account()}
	if p.is("IDENTIFIED") {
		u.Auth = p.auth()
	}
	for p.is("AND") && p.peek(1).word == "IDENTIFIED" {
		p.unsupported(int(p.tok.pos), "several authentication factors")
	}
	if p.is2("DISCARD", "OLD") {
		p.advance()
		p.advance()
		p.expect("PASSWORD")
		u.DiscardOld = true
	}
	return u
}

func (p *parser) auth() *Auth {
	a := &Auth{At: p.at()}
	p.expect("IDENTIFIED")
	if p.acceptAny("WITH", "VIA") != "" {
		if p.tok.kind == tString {
			a.Plugin = p.stringValue()
		} else {
			a.Plugin = p.ident().Name
		}
		a.Plugin = lower(a.Plugin)
	}
	switch {
	case p.accept("BY"):
		switch {
		case p.accept2("RANDOM", "PASSWORD"):
			a.Random = true
		case p.accept("PASSWORD"): // 5.7: BY PASSWORD 'hash'
			a.Hash, a.HasHash = p.stringValue(), true
		default:
			a.Password, a.HasPassword = p.stringValue(), true
		}
	case p.accept("AS"), a.Plugin != "" && p.accept("USING"):
		a.Hash, a.HasHash = p.stringOrBytes(), true
	}
	if p.accept("REPLACE") {
		a.Replace, a.HasReplace = p.stringValue(), true
	}
	if p.accept2("RETAIN", "CURRENT") {
		p.expect("PASSWORD")
		a.Retain = true
	}
	return a
}

func (p *parser) userSpecs() []*UserSpec {
	list := []*UserSpec{p.userSpec()}
	for p.accept(",") {
		list = append(list, p.userSpec())
	}
	return list
}

// userOptions reads REQUIRE, WITH limits, PASSWORD, ACCOUNT, COMMENT, ATTRIBUTE.
func (p *parser) userOptions() []*UserOption {
	var list []*UserOption
	add := func(pos At, name, value string, text bool) {
		list = append(list, &UserOption{pos, name, value, text})
	}
	for {
		pos := p.at()
		switch {
		case p.accept("REQUIRE"):
			for {
				switch w := p.acceptAny("NONE", "SSL", "X509", "CIPHER", "ISSUER", "SUBJECT"); w {
				case "":
					p.bad()
				case "CIPHER", "ISSUER", "SUBJECT":
					add(pos, "REQUIRE "+w, p.stringValue(), true)
				default:
					add(pos, "REQUIRE "+w, "", false)
				}
				p.accept("AND")
				if w := p.tok.word; w != "CIPHER" && w != "ISSUER" && w != "SUBJECT" && w != "SSL" && w != "X509" {
					break
				}
				pos = p.at()
			}
		case p.is("WITH") && strings.HasPrefix(p.peek(1).word, "MAX_"):
			p.advance()
			for strings.HasPrefix(p.tok.word, "MAX_") {
				name := p.tok.word
				p.advance()
				add(pos, name, p.tok.str, false)
				p.number()
			}
		case p.accept("PASSWORD"):
			name := "PASSWORD " + p.upperWord()
			switch p.prev.word {
			case "REUSE", "REQUIRE":
				name += " " + p.upperWord()
			}
			value := ""
			switch {
			case p.tok.kind == tInt:
				value = p.tok.str
				p.advance()
				if p.accept("DAY") {
					value += " DAY"
				}
			case p.accept("INTERVAL"):
				value = "INTERVAL " + p.tok.str
				p.number()
				p.expect("DAY")
				value += " DAY"
			default:
				value = p.acceptAny("DEFAULT", "NEVER", "OPTIONAL", "UNBOUNDED")
			}
			add(pos, name, value, false)
		case p.is("FAILED_LOGIN_ATTEMPTS"), p.is("PASSWORD_LOCK_TIME"):
			name := p.tok.word
			p.advance()
			value := p.tok.str
			if !p.accept("UNBOUNDED") {
				p.number()
			}
			add(pos, name, value, false)
		case p.accept("ACCOUNT"):
			w := p.acceptAny("LOCK", "UNLOCK")
			if w == "" {
				p.bad()
			}
			add(pos, "ACCOUNT "+w, "", false)
		case p.is("COMMENT"), p.is("ATTRIBUTE"):
			name := p.tok.word
			p.advance()
			add(pos, name, p.stringValue(), true)
		default:
			return list
		}
	}
}

func (p *parser) createUser(pos At, orReplace bool) Statement {
	p.advance()
	c := &CreateUser{At: pos, OrReplace: orReplace, IfNotExists: p.ifNotExists(), Users: p.userSpecs()}
	if p.accept2("DEFAULT", "ROLE") {
		c.DefaultRoles = p.accounts()
	}
	c.Options = p.userOptions()
	return c
}

func (p *parser) alterUser(pos At) Statement {
	p.advance()
	a := &AlterUser{At: pos, IfExists: p.ifExists()}
	if p.is2("USER", "(") {
		u := &UserSpec{At: p.at(), Account: &Account{At: p.at(), Current: true, Host: "%"}}
		p.advance()
		p.advance()
		p.expect(")")
		if p.is("IDENTIFIED") {
			u.Auth = p.auth()
		}
		a.Users = []*UserSpec{u}
	} else {
		a.Users = p.userSpecs()
	}
	if p.accept2("DEFAULT", "ROLE") {
		switch a.DefaultRole = p.acceptAny("NONE", "ALL"); a.DefaultRole {
		case "":
			a.DefaultRole = "LIST"
			a.DefaultRoles = p.accounts()
		}
		return a
	}
	a.Options = p.userOptions()
	return a
}

// privilegeWords are the words that continue a privilege's name.
var privilegeWords = map[string][]string{
	"ALL": {"PRIVILEGES"}, "GRANT": {"OPTION"}, "LOCK": {"TABLES"}, "SHOW": {"DATABASES", "VIEW"},
	"CREATE": {"TEMPORARY", "ROUTINE", "VIEW", "USER", "ROLE", "TABLESPACE"}, "ALTER": {"ROUTINE"},
	"DROP": {"ROLE"}, "REPLICATION": {"SLAVE", "CLIENT", "REPLICA"}, "TEMPORARY": {"TABLES"}, "BINLOG": {"MONITOR", "ADMIN", "REPLAY"},
	"DELETE": {"HISTORY"}, "CONNECTION": {"ADMIN"}, "READ_ONLY": {"ADMIN"}, "SLAVE": {"MONITOR"}, "REPLICA": {"MONITOR"},
}

// privilege reads a privilege's name, upper case, and its columns.
func (p *parser) privilege() *Privilege {
	v := &Privilege{At: p.at()}
	if p.tok.kind == tString || p.tok.kind == tQuoted {
		p.bad()
	}
	w := p.upperWord()
	v.Name = w
	for {
		next := ""
		for _, c := range privilegeWords[w] {
			if p.tok.kind == tWord && equalFoldASCII(p.tok.str, c) {
				next = c
			}
		}
		if next == "" {
			break
		}
		p.advance()
		if next != "PRIVILEGES" {
			v.Name += " " + next
		}
		w = next
	}
	if p.is("(") {
		v.Columns = p.identList()
	}
	return v
}

// privilegesHere reports whether privileges, rather than roles, are granted: an
// ON follows before TO or FROM.
func (p *parser) privilegesHere() bool {
	depth := 0
	for n := 0; ; n++ {
		t := p.peek(n)
		switch {
		case t.kind == tEOF, t.word == ";":
			return false
		case t.word == "(":
			depth++
		case t.word == ")":
			depth--
		case depth > 0:
		case t.word == "ON":
			return true
		case t.word == "TO", t.word == "FROM":
			return false
		}
	}
}

func (p *parser) privileges() []*Privilege {
	list := []*Privilege{p.privilege()}
	for p.accept(",") {
		list = append(list, p.privilege())
	}
	return list
}

// grantTarget reads *.*, db.*, db.t, t, *, cat.db.t, cat.db.*, cat.*.*.
func (p *parser) grantTarget() *GrantTarget {
	g := &GrantTarget{At: p.at()}
	switch w := p.tok.word; w {
	case "TABLE", "FUNCTION", "PROCEDURE", "CATALOG", "DATABASE", "SCHEMA":
		if n := p.peek(1); n.word != "." && n.word != "TO" && n.word != "FROM" {
			g.Type = w
			p.advance()
		}
	}
	var parts []Ident
	for {
		if p.is("*") {
			parts = append(parts, Ident{At: p.at()})
			p.advance()
		} else if len(parts) == 0 {
			parts = append(parts, p.ident())
		} else {
			parts = append(parts, p.anyWord())
		}
		if len(parts) == 3 || !p.accept(".") {
			break
		}
	}
	switch len(parts) {
	case 3:
		g.Catalog, g.Database, g.Object = parts[0], parts[1], parts[2]
	case 2:
		g.Database, g.Object = parts[0], parts[1]
	default:
		switch {
		case parts[0].Name == "":
			g.Current = true
		case g.Type == "CATALOG":
			g.Catalog = parts[0]
		case g.Type == "DATABASE" || g.Type == "SCHEMA":
			g.Database = parts[0]
		default:
			g.Object = parts[0]
		}
	}
	return g
}

func (p *parser) grant() Statement {
	g := &Grant{At: p.at()}
	p.advance()
	switch {
	case p.is2("PROXY", "ON"):
		p.advance()
		p.advance()
		g.Proxy = p.account()
	case p.privilegesHere():
		g.Privileges = p.privileges()
		p.expect("ON")
		g.On = p.grantTarget()
	default:
		g.Roles = p.accounts()
	}
	p.expect("TO")
	g.To = p.userSpecs()
	g.Options = p.userOptions()
	for p.is("WITH") {
		p.advance()
		n := 0
		for ; ; n++ {
			switch {
			case p.accept2("GRANT", "OPTION"):
				g.GrantOption = true
				continue
			case p.accept2("ADMIN", "OPTION"):
				g.AdminOption = true
				continue
			case strings.HasPrefix(p.tok.word, "MAX_"):
				o := &UserOption{At: p.at(), Name: p.tok.word}
				p.advance()
				o.Value = p.tok.str
				p.number()
				g.Options = append(g.Options, o)
				continue
			}
			break
		}
		if n == 0 {
			p.bad()
		}
	}
	if p.accept("AS") {
		g.AsUser = p.account()
		if p.is2("WITH", "ROLE") {
			p.unsupported(int(p.tok.pos), "GRANT … AS user WITH ROLE")
		}
	}
	return g
}

func (p *parser) revoke() Statement {
	r := &Revoke{At: p.at()}
	p.advance()
	r.IfExists = p.ifExists()
	switch {
	case p.is2("PROXY", "ON"):
		p.advance()
		p.advance()
		r.Proxy = p.account()
	case p.privilegesHere():
		r.Privileges = p.privileges()
		p.expect("ON")
		r.On = p.grantTarget()
	case p.is("ALL"):
		p.advance()
		p.accept("PRIVILEGES")
		p.expect(",")
		p.expect("GRANT")
		p.expect("OPTION")
		r.AllAndGrantOption = true
	default:
		r.Roles = p.accounts()
	}
	p.expect("FROM")
	r.From = p.accounts()
	if p.accept2("IGNORE", "UNKNOWN") {
		p.expect("USER")
		r.IgnoreUnknown = true
	}
	return r
}
