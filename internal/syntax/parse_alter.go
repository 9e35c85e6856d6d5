package syntax

import "strings"

// alter reads ALTER ….
func (p *parser) alter() Statement {
	pos := p.at()
	start := int(pos)
	p.advance()
	switch p.tok.word {
	case "TABLE", "IGNORE", "ONLINE", "MATERIALIZED":
		return p.alterTable(pos)
	case "DATABASE", "SCHEMA":
		return p.alterDatabase(pos)
	case "CATALOG":
		p.advance()
		c := &AlterCatalog{At: pos, Name: p.nameOrString()}
		switch {
		case p.accept("SET"):
			c.Set = p.options()
		case p.accept("RESET"):
			c.Reset = p.optionKeys()
		default:
			p.expect("COMMENT")
			p.accept("=")
			c.Comment, c.HasComment = p.stringValue(), true
		}
		return c
	case "USER":
		return p.alterUser(pos)
	case "VIEW", "ALGORITHM", "DEFINER", "SQL":
		v := &CreateView{At: pos, Alter: true}
		p.viewOptions(v)
		if p.is("VIEW") {
			if n := p.viewRename(pos); n != nil {
				return n
			}
			return p.createView(v)
		}
		if p.is("EVENT") {
			return p.skipCompound(start, "ALTER EVENT")
		}
		p.bad()
	case "PROCEDURE", "FUNCTION", "EVENT", "SERVER", "TABLESPACE", "INSTANCE", "LIBRARY":
		return p.skipCompound(start, "ALTER "+p.tok.word)
	case "UNDO":
		return p.skip("ALTER UNDO TABLESPACE")
	case "LOGFILE":
		return p.skip("ALTER LOGFILE GROUP")
	case "RESOURCE":
		return p.skip("ALTER RESOURCE GROUP")
	}
	p.bad()
	return nil
}

// viewRename reads Flink's ALTER VIEW v RENAME TO w and ALTER VIEW v SET …; nil
// when it is MySQL's ALTER VIEW.
func (p *parser) viewRename(pos At) Statement {
	n := 2
	for p.peek(n).word == "." {
		n += 2
	}
	if p.peek(n).word != "RENAME" {
		return nil
	}
	p.expect("VIEW")
	from := p.objectName()
	p.expect("RENAME")
	p.expect("TO")
	return &RenameTable{pos, []*RenamePair{{At: from.At, From: from, To: p.objectName()}}}
}

func (p *parser) alterDatabase(pos At) Statement {
	p.advance()
	d := &AlterDatabase{At: pos}
	if p.isName() && !p.is("CHARSET") && !p.is("ENCRYPTION") {
		d.Name = p.databaseName()
	}
	if p.is2("SET", "(") {
		p.advance()
		d.Options = p.options()
		return d
	}
	n := 0
	for {
		switch {
		case p.is("READ") || p.is("ENCRYPTION") || p.is2("DEFAULT", "ENCRYPTION"):
			p.databaseOther()
		case p.charsetOption(&d.Charset, &d.Collate):
		default:
			if n == 0 {
				p.bad()
			}
			return d
		}
		n++
	}
}

// optionKeys reads ('k', …).
func (p *parser) optionKeys() []string {
	p.expect("(")
	list := []string{p.optionKey()}
	for p.accept(",") {
		list = append(list, p.optionKey())
	}
	p.expect(")")
	return list
}

func (p *parser) alterTable(pos At) Statement {
	t := &AlterTable{At: pos}
	p.acceptAny("ONLINE", "IGNORE")
	t.Materialized = p.accept("MATERIALIZED")
	p.expect("TABLE")
	t.IfExists = p.ifExists()
	t.Name = p.objectName()
	if p.isEnd() {
		return t
	}
	for {
		t.Actions = append(t.Actions, p.alterAction()...)
		if !p.accept(",") {
			if p.is2("PARTITION", "BY") || p.is2("REMOVE", "PARTITIONING") {
				continue
			}
			return t
		}
	}
}

// alterAction reads one action; several only for table options.
func (p *parser) alterAction() []AlterAction {
	pos := p.at()
	start := int(pos)
	switch p.tok.word {
	case "ADD":
		p.advance()
		return []AlterAction{p.alterAdd(pos)}
	case "DROP":
		p.advance()
		return []AlterAction{p.alterDrop(pos)}
	case "MODIFY":
		p.advance()
		return []AlterAction{p.alterModify(pos)}
	case "CHANGE":
		p.advance()
		p.accept("COLUMN")
		c := &ChangeColumn{At: pos, IfExists: p.ifExists()}
		c.In, c.Old = p.columnPath()
		c.Column = p.columnDef()
		c.Place = p.columnPlace()
		return []AlterAction{c}
	case "RENAME":
		return []AlterAction{p.alterRename(pos)}
	case "ALTER":
		return []AlterAction{p.alterColumn(pos)}
	case "SET":
		p.advance()
		return []AlterAction{&SetOptions{pos, p.options()}}
	case "RESET":
		p.advance()
		return []AlterAction{&ResetOptions{pos, p.optionKeys()}}
	case "SUSPEND", "RESUME", "REFRESH":
		a := &AlterMaterialized{At: pos, What: p.tok.word}
		p.advance()
		if p.is2("PARTITION", "(") {
			a.Spec = p.partitionSpec()
		}
		if p.is2("WITH", "(") {
			p.advance()
			a.With = p.options()
		}
		return []AlterAction{a}
	case "AS":
		p.advance()
		return []AlterAction{&AlterMaterialized{At: pos, What: "AS", Query: p.query()}}
	case "ORDER":
		p.advance()
		p.expect("BY")
		p.orderItems()
		return p.otherAction("ORDER BY", start)
	case "CONVERT":
		if p.peek(1).word == "TO" {
			p.advance()
			p.advance()
			var cs, co string
			if !p.charsetOption(&cs, &co) {
				p.bad()
			}
			p.charsetOption(&cs, &co)
			return p.otherAction("CONVERT TO CHARACTER SET", start)
		}
	case "ENABLE", "DISABLE":
		w := p.tok.word
		p.advance()
		p.expect("KEYS")
		return p.otherAction(w+" KEYS", start)
	case "ALGORITHM", "LOCK":
		w := p.tok.word
		p.advance()
		p.accept("=")
		p.upperWord()
		return p.otherAction(w, start)
	case "FORCE", "DISCARD", "IMPORT", "WITH", "WITHOUT", "COALESCE", "REORGANIZE", "EXCHANGE", "ANALYZE", "CHECK",
		"OPTIMIZE", "REBUILD", "REPAIR", "REMOVE", "TRUNCATE", "SECONDARY_LOAD", "SECONDARY_UNLOAD":
		return p.alterOther(start, "")
	case "PARTITION":
		if p.peek(1).word == "BY" {
			p.advance()
			p.partitionBy(false)
			return p.otherAction("PARTITION BY", start)
		}
		if p.peek(1).word == "(" { // Flink: PARTITION (…) RENAME TO …
			p.partitionSpec()
			p.expect("RENAME")
			p.expect("TO")
			p.partitionSpec()
			return p.otherAction("RENAME PARTITION", start)
		}
	}
	o := &SetTableOptions{At: pos}
	if p.is("COMMENT") {
		c := &TableOption{At: pos, Name: "COMMENT", Text: true}
		p.advance()
		p.accept("=")
		c.Value = p.stringValue()
		o.Options = append(o.Options, c)
	}
	for {
		opt := p.tableOption()
		if opt == nil {
			break
		}
		o.Options = append(o.Options, opt)
	}
	if len(o.Options) == 0 {
		p.bad()
	}
	return []AlterAction{o}
}

func (p *parser) otherAction(name string, start int) []AlterAction {
	return []AlterAction{&AlterOther{At(start), name, p.textFrom(start)}}
}

// alterOther reads an action that is not looked into, up to a comma outside of
// parentheses. verb is the word before the current token, or "".
func (p *parser) alterOther(start int, verb string) []AlterAction {
	name := verb
	if name == "" {
		name = p.tok.word
		p.advance()
	}
	if p.tok.kind == tWord && p.tok.word != "" {
		name += " " + p.tok.word
	}
	partition := strings.HasSuffix(name, "PARTITION")
	for depth := 0; !p.isEnd(); p.pass() {
		// Partition actions take lists, and stand alone in their statement.
		if depth == 0 && !partition && (p.is(",") || p.is(")")) {
			break
		}
		switch p.tok.word {
		case "(":
			depth++
		case ")":
			depth--
		}
	}
	return p.otherAction(name, start)
}

// columnPath reads a column, or a member of a ROW: a, a.b.
func (p *parser) columnPath() (in []Ident, name Ident) {
	name = p.ident()
	for p.accept(".") {
		in, name = append(in, name), p.anyWord()
	}
	return in, name
}

// alteredColumn reads the definition of a column of ALTER TABLE.
func (p *parser) alteredColumn() *ColumnDef {
	c := &ColumnDef{At: p.at()}
	c.In, c.Name = p.columnPath()
	p.columnBody(c)
	return c
}

func (p *parser) columnPlace() ColumnPlace {
	switch {
	case p.accept("FIRST"):
		return ColumnPlace{First: true}
	case p.accept("AFTER"):
		_, after := p.columnPath()
		return ColumnPlace{After: after}
	}
	return ColumnPlace{}
}

func (p *parser) alterAdd(pos At) AlterAction {
	switch {
	case p.is("PARTITION") && p.peek(1).word != "(" || p.is2("PARTITION", "(") && p.peek(2).word == "PARTITION":
		// MySQL's ADD PARTITION (PARTITION p …) and ADD PARTITION PARTITIONS n.
		return p.alterOther(int(pos), "ADD")[0]
	case p.is("PARTITION"), p.accept3("IF", "NOT", "EXISTS") && p.is("PARTITION"):
		a := &AlterPartitions{At: pos, IfExists: p.prev.word == "EXISTS"}
		for p.is("PARTITION") {
			a.Specs = append(a.Specs, p.partitionSpec())
			if p.is2(",", "PARTITION") {
				p.advance()
			}
		}
		return a
	case p.startsConstraint():
		return &AddConstraint{pos, p.constraint()}
	case p.is("WATERMARK") && p.peek(1).word == "FOR":
		return &AddColumns{At: pos, Watermarks: []*Watermark{p.watermark()}}
	case p.is("DISTRIBUTION") || p.is("DISTRIBUTED"):
		return p.alterOther(int(pos), "ADD")[0]
	}
	a := &AddColumns{At: pos}
	a.IfNotExists = p.prev.word == "EXISTS"
	p.acceptAny("COLUMN", "COLUMNS")
	a.IfNotExists = p.ifNotExists() || a.IfNotExists
	if p.accept("(") {
		a.Parens = true
		p.alterElements(&a.Columns, &a.Places, &a.Constraints, &a.Watermarks)
		return a
	}
	a.Columns = []*ColumnDef{p.alteredColumn()}
	a.Places = []ColumnPlace{p.columnPlace()}
	return a
}

// alterElements reads the inside of ADD (…) and MODIFY (…).
func (p *parser) alterElements(cols *[]*ColumnDef, places *[]ColumnPlace, keys *[]*TableConstraint, marks *[]*Watermark) {
	for {
		switch {
		case p.is("WATERMARK") && p.peek(1).word == "FOR":
			*marks = append(*marks, p.watermark())
		case p.startsConstraint():
			*keys = append(*keys, p.constraint())
		default:
			c := &ColumnDef{At: p.at()}
			c.In, c.Name = p.columnPath()
			p.alteredBody(c)
			*cols = append(*cols, c)
			*places = append(*places, p.columnPlace())
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

func (p *parser) alterDrop(pos At) AlterAction {
	switch p.tok.word {
	case "PRIMARY":
		p.advance()
		p.expect("KEY")
		return &DropConstraint{At: pos, Kind: "PRIMARY KEY"}
	case "INDEX", "KEY":
		p.advance()
		d := &DropConstraint{At: pos, Kind: "INDEX", IfExists: p.ifExists()}
		if p.is("PRIMARY") {
			d.Name = p.anyWord()
		} else {
			d.Name = p.ident()
		}
		return d
	case "FOREIGN":
		p.advance()
		p.expect("KEY")
		return &DropConstraint{At: pos, Kind: "FOREIGN KEY", IfExists: p.ifExists(), Name: p.ident()}
	case "CHECK", "CONSTRAINT":
		w := p.tok.word
		p.advance()
		return &DropConstraint{At: pos, Kind: w, IfExists: p.ifExists(), Name: p.ident()}
	case "WATERMARK":
		if n := p.peek(1); n.kind == tEOF || n.word == ";" || n.word == "," {
			p.advance()
			return &DropConstraint{At: pos, Kind: "WATERMARK"}
		}
	case "PARTITION":
		if p.peek(1).word == "(" {
			return p.dropPartitions(pos, false)
		}
		return p.alterOther(int(pos), "DROP")[0]
	}
	p.acceptAny("COLUMN", "COLUMNS")
	d := &DropColumns{At: pos, IfExists: p.ifExists()}
	if d.IfExists && p.is2("PARTITION", "(") {
		return p.dropPartitions(pos, true)
	}
	list := p.accept("(")
	for {
		in, name := p.columnPath()
		d.In, d.Names = append(d.In, in), append(d.Names, name)
		if !list || !p.accept(",") {
			break
		}
	}
	if list {
		p.expect(")")
		return d
	}
	p.cascade()
	return d
}

func (p *parser) dropPartitions(pos At, ifExists bool) AlterAction {
	a := &AlterPartitions{At: pos, Drop: true, IfExists: ifExists}
	for p.is("PARTITION") {
		a.Specs = append(a.Specs, p.partitionSpec())
		if p.is2(",", "PARTITION") {
			p.advance()
		}
	}
	return a
}

func (p *parser) alterModify(pos At) AlterAction {
	m := &ModifyColumns{At: pos}
	if p.is("DISTRIBUTION") {
		return p.alterOther(int(pos), "MODIFY")[0]
	}
	p.acceptAny("COLUMN", "COLUMNS")
	m.IfExists = p.ifExists()
	switch {
	case p.accept("("):
		m.Parens = true
		p.alterElements(&m.Columns, &m.Places, &m.Constraints, &m.Watermarks)
		return m
	case p.is("WATERMARK") && p.peek(1).word == "FOR":
		m.Watermarks = []*Watermark{p.watermark()}
		return m
	case p.startsConstraint():
		m.Constraints = []*TableConstraint{p.constraint()}
		return m
	}
	c := &ColumnDef{At: p.at()}
	c.In, c.Name = p.columnPath()
	p.alteredBody(c)
	m.Columns = []*ColumnDef{c}
	m.Places = []ColumnPlace{p.columnPlace()}
	return m
}

// alteredBody reads what follows a column's name in ALTER; without a type it is
// Flink's MODIFY c COMMENT 'x'.
func (p *parser) alteredBody(c *ColumnDef) {
	if !p.is("COMMENT") {
		p.columnBody(c)
		return
	}
	for p.columnAttr(c) {
	}
}

func (p *parser) alterRename(pos At) AlterAction {
	p.expect("RENAME")
	switch {
	case p.accept("COLUMN"):
		r := &RenameColumn{At: pos}
		r.In, r.Old = p.columnPath()
		p.expect("TO")
		_, r.New = p.columnPath()
		return r
	case p.is("INDEX") || p.is("KEY"):
		start := int(pos)
		p.advance()
		p.ident()
		p.expect("TO")
		p.ident()
		return p.otherAction("RENAME INDEX", start)[0]
	case p.accept("TO"), p.accept("AS"), p.accept("="):
		return &RenameTo{pos, p.objectName()}
	}
	n := 1
	for p.peek(n).word == "." {
		n += 2
	}
	if isNameToken(&p.tok) && p.peek(n).word == "TO" {
		r := &RenameColumn{At: pos}
		r.In, r.Old = p.columnPath()
		p.expect("TO")
		_, r.New = p.columnPath()
		return r
	}
	return &RenameTo{pos, p.objectName()}
}

// alterColumn reads ALTER [COLUMN] c …, ALTER INDEX, ALTER CHECK.
func (p *parser) alterColumn(pos At) AlterAction {
	p.expect("ALTER")
	if p.is("INDEX") || p.is("CHECK") || p.is("CONSTRAINT") {
		return p.alterOther(int(pos), "ALTER")[0]
	}
	p.accept("COLUMN")
	a := &AlterColumnDefault{At: pos}
	a.In, a.Name = p.columnPath()
	if p.accept("DROP") {
		p.expect("DEFAULT")
		a.DropDefault = true
		return a
	}
	p.expect("SET")
	if w := p.acceptAny("VISIBLE", "INVISIBLE"); w != "" {
		a.Visibility = w
		return a
	}
	p.expect("DEFAULT")
	a.Default = p.defaultValue()
	return a
}

// resetOption reads RESET ….
func (p *parser) resetOption() Statement {
	r := &ResetOption{At: p.at()}
	switch n := p.peek(1); {
	case n.word == "REPLICA", n.word == "SLAVE", n.word == "MASTER", n.word == "PERSIST", n.word == "QUERY", n.word == "BINARY":
		return p.skip("RESET " + n.word)
	}
	p.advance()
	if p.isEnd() {
		return r
	}
	r.Key = strings.TrimSpace(p.optionKey())
	return r
}
