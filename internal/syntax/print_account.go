package syntax

func (p *printer) account(a *Account) {
	if a.Current {
		p.w("CURRENT_USER")
		return
	}
	p.str(a.User)
	if a.HasHost {
		p.w("@")
		p.str(a.Host)
	}
}

func (p *printer) accountList(list []*Account) {
	for i, a := range list {
		p.opt(i > 0, ", ")
		p.account(a)
	}
}

func (p *printer) users(list []*UserSpec) {
	for i, u := range list {
		p.opt(i > 0, ", ")
		p.account(u.Account)
		if u.Auth != nil {
			p.auth(u.Auth)
		}
		p.opt(u.DiscardOld, " DISCARD OLD PASSWORD")
	}
}

func (p *printer) auth(a *Auth) {
	p.w(" IDENTIFIED")
	if a.Plugin != "" {
		p.w(" WITH ")
		p.str(a.Plugin)
	}
	switch {
	case a.Random:
		p.w(" BY RANDOM PASSWORD")
	case a.HasPassword:
		p.w(" BY ")
		p.str(a.Password)
	case a.HasHash && a.Plugin == "":
		p.w(" BY PASSWORD ")
		p.str(a.Hash)
	case a.HasHash:
		p.w(" AS ")
		p.str(a.Hash)
	}
	if a.HasReplace {
		p.w(" REPLACE ")
		p.str(a.Replace)
	}
	p.opt(a.Retain, " RETAIN CURRENT PASSWORD")
}

func (p *printer) userOptions(list []*UserOption) {
	limits := false
	for i, o := range list {
		limit := len(o.Name) > 4 && o.Name[:4] == "MAX_"
		p.opt(limit && !limits, " WITH")
		limits = limit
		name := o.Name
		if len(name) > 8 && name[:8] == "REQUIRE " && i > 0 && len(list[i-1].Name) > 8 && list[i-1].Name[:8] == "REQUIRE " {
			name = "AND " + name[8:]
		}
		p.w(" ", name)
		if o.Text {
			p.w(" ")
			p.str(o.Value)
		} else {
			p.opt(o.Value != "", " "+o.Value)
		}
	}
}

func (p *printer) privileges(list []*Privilege) {
	for i, v := range list {
		p.opt(i > 0, ", ")
		p.w(v.Name)
		if v.Columns != nil {
			p.w(" ")
			p.identList(v.Columns)
		}
	}
}

func (p *printer) grantTarget(g *GrantTarget) {
	p.w(" ON ")
	p.opt(g.Type != "", g.Type+" ")
	part := func(i Ident) {
		if i.Name == "" {
			p.w("*")
		} else {
			p.ident(i)
		}
	}
	switch {
	case g.Current:
		p.w("*")
	case g.Type == "CATALOG":
		part(g.Catalog)
	case g.Type == "DATABASE" || g.Type == "SCHEMA":
		part(g.Database)
	case g.Catalog.Name != "":
		part(g.Catalog)
		p.w(".")
		part(g.Database)
		p.w(".")
		part(g.Object)
	case g.Database.Name != "" || g.Object.Name == "":
		part(g.Database)
		p.w(".")
		part(g.Object)
	default:
		part(g.Object)
	}
}

// accounts writes the statements about users, roles and grants; false when s is
// another.
func (p *printer) accounts(s Statement) bool {
	switch s := s.(type) {
	case *CreateUser:
		p.w("CREATE ")
		p.opt(s.OrReplace, "OR REPLACE ")
		p.w("USER ")
		p.ifNotExists(s.IfNotExists)
		p.users(s.Users)
		if s.DefaultRoles != nil {
			p.w(" DEFAULT ROLE ")
			p.accountList(s.DefaultRoles)
		}
		p.userOptions(s.Options)
	case *AlterUser:
		p.w("ALTER USER ")
		p.ifExists(s.IfExists)
		p.users(s.Users)
		switch s.DefaultRole {
		case "":
		case "LIST":
			p.w(" DEFAULT ROLE ")
			p.accountList(s.DefaultRoles)
		default:
			p.w(" DEFAULT ROLE ", s.DefaultRole)
		}
		p.userOptions(s.Options)
	case *DropUser:
		p.w("DROP USER ")
		p.ifExists(s.IfExists)
		p.accountList(s.Users)
	case *RenameUser:
		p.w("RENAME USER ")
		for i := range s.From {
			p.opt(i > 0, ", ")
			p.account(s.From[i])
			p.w(" TO ")
			p.account(s.To[i])
		}
	case *CreateRole:
		p.w("CREATE ROLE ")
		p.ifNotExists(s.IfNotExists)
		p.accountList(s.Roles)
	case *DropRole:
		p.w("DROP ROLE ")
		p.ifExists(s.IfExists)
		p.accountList(s.Roles)
	case *Grant:
		p.w("GRANT ")
		switch {
		case s.Proxy != nil:
			p.w("PROXY ON ")
			p.account(s.Proxy)
		case s.Roles != nil:
			p.accountList(s.Roles)
		default:
			p.privileges(s.Privileges)
			p.grantTarget(s.On)
		}
		p.w(" TO ")
		p.users(s.To)
		p.userOptions(s.Options)
		p.opt(s.GrantOption, " WITH GRANT OPTION")
		p.opt(s.AdminOption, " WITH ADMIN OPTION")
		if s.AsUser != nil {
			p.w(" AS ")
			p.account(s.AsUser)
		}
	case *Revoke:
		p.w("REVOKE ")
		p.ifExists(s.IfExists)
		switch {
		case s.Proxy != nil:
			p.w("PROXY ON ")
			p.account(s.Proxy)
		case s.AllAndGrantOption:
			p.w("ALL PRIVILEGES, GRANT OPTION")
		case s.Roles != nil:
			p.accountList(s.Roles)
		default:
			p.privileges(s.Privileges)
			p.grantTarget(s.On)
		}
		p.w(" FROM ")
		p.accountList(s.From)
		p.opt(s.IgnoreUnknown, " IGNORE UNKNOWN USER")
	case *SetPassword:
		p.w("SET PASSWORD")
		if s.User != nil {
			p.w(" FOR ")
			p.account(s.User)
		}
		if s.Random {
			p.w(" TO RANDOM")
		} else {
			p.w(" = ")
			p.str(s.Password)
		}
		if s.HasReplace {
			p.w(" REPLACE ")
			p.str(s.Replace)
		}
		p.opt(s.Retain, " RETAIN CURRENT PASSWORD")
	case *SetRole:
		p.w("SET ROLE ", s.Mode)
		p.opt(s.Mode != "" && s.Roles != nil, " ")
		p.accountList(s.Roles)
	case *SetDefaultRole:
		p.w("SET DEFAULT ROLE ", s.Mode)
		p.accountList(s.Roles)
		p.w(" TO ")
		p.accountList(s.Users)
	default:
		return false
	}
	return true
}
