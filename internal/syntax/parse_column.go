package syntax

import "strings"

// columnDef reads a column's name, type and attributes.
func (p *parser) columnDef() *ColumnDef {
	c := &ColumnDef{At: p.at()}
	c.Name = p.ident()
	for p.accept(".") { // t.c, of old dumps
		c.Name = p.anyWord()
	}
	p.columnBody(c)
	return c
}

// columnBody reads what follows the column's name.
func (p *parser) columnBody(c *ColumnDef) {
	switch {
	case p.accept("AS"):
		c.Generated = p.expr() // Flink's computed column
	default:
		c.Type = p.dataType()
	}
	for p.columnAttr(c) {
	}
}

// columnAttr reads one attribute; false when there is none.
func (p *parser) columnAttr(c *ColumnDef) bool {
	switch p.tok.word {
	case "NOT":
		if p.peek(1).word != "NULL" {
			return false
		}
		p.advance()
		p.advance()
		c.NotNull = true
	case "NULL":
		p.advance()
		c.Null = true
	case "DEFAULT":
		p.advance()
		c.Default = p.defaultValue()
	case "ON":
		if p.peek(1).word != "UPDATE" {
			return false
		}
		p.advance()
		p.advance()
		c.OnUpdate = p.primary()
	case "AUTO_INCREMENT":
		p.advance()
		c.AutoIncrement = true
	case "SERIAL":
		p.advance()
		p.expect("DEFAULT")
		p.expect("VALUE")
		c.NotNull, c.AutoIncrement, c.Unique = true, true, true
	case "PRIMARY":
		p.advance()
		p.expect("KEY")
		c.PrimaryKey = true
		if p.is2("NOT", "ENFORCED") {
			p.advance()
			p.advance()
			c.NotEnforced = true
		}
	case "KEY":
		p.advance()
		c.PrimaryKey = true // KEY alone means PRIMARY KEY
		c.Key = true
	case "UNIQUE":
		p.advance()
		p.accept("KEY")
		c.Unique = true
	case "COMMENT":
		p.advance()
		c.Comment, c.HasComment = p.stringValue(), true
	case "COLLATE":
		p.advance()
		c.Collate = p.lowerName()
	case "CHARACTER", "CHARSET":
		before := p.tokens
		if c.Type != nil {
			p.typeCharset(c.Type)
		}
		return p.tokens > before
	case "COLUMN_FORMAT":
		p.advance()
		c.ColumnFormat = p.upperWord()
	case "STORAGE":
		p.advance()
		c.Storage = p.upperWord()
	case "ENGINE_ATTRIBUTE":
		p.advance()
		p.accept("=")
		c.EngineAttr = p.stringValue()
	case "SECONDARY_ENGINE_ATTRIBUTE":
		p.advance()
		p.accept("=")
		c.SecondaryAttr = p.stringValue()
	case "VISIBLE":
		p.advance()
		c.Visible = true
	case "INVISIBLE":
		p.advance()
		c.Invisible = true
	case "SRID":
		p.advance()
		c.SRID = p.tok.str
		p.number()
	case "GENERATED":
		p.advance()
		p.expect("ALWAYS")
		p.expect("AS")
		p.generated(c)
	case "AS":
		p.advance()
		p.generated(c)
	case "VIRTUAL", "STORED", "PERSISTENT":
		if c.Generated == nil && !c.Metadata {
			return false
		}
		switch {
		case c.Metadata && p.is("VIRTUAL"):
			c.MetaVirtual = true
		case p.is("VIRTUAL"):
			c.Virtual = true
		default:
			c.Stored = true
		}
		p.advance()
	case "METADATA":
		p.advance()
		c.Metadata = true
		if p.accept("FROM") {
			c.MetadataFrom = p.stringValue()
		}
	case "CONSTRAINT", "CHECK":
		if p.is("CONSTRAINT") {
			// Flink: CONSTRAINT name PRIMARY KEY NOT ENFORCED at the column.
			if n := p.peek(1).word; n == "PRIMARY" || p.peek(2).word == "PRIMARY" {
				p.advance()
				if !p.is("PRIMARY") {
					p.ident()
				}
				return p.columnAttr(c)
			}
		}
		c.Checks = append(c.Checks, p.checkConstraint())
	case "REFERENCES":
		c.References = p.references()
	default:
		return false
	}
	return true
}

func (p *parser) generated(c *ColumnDef) {
	p.expect("(")
	c.Generated = p.expr()
	p.expect(")")
}

// defaultValue reads a literal, a function or a parenthesised expression. A
// COLLATE after it is the column's.
func (p *parser) defaultValue() Expr {
	pos := p.at()
	switch {
	case p.accept("-"):
		return &Unary{pos, OpNeg, p.primary()}
	case p.accept("+"):
		return &Unary{pos, OpPlus, p.primary()}
	}
	return p.primary()
}

func (p *parser) checkConstraint() *TableConstraint {
	k := &TableConstraint{At: p.at(), Kind: CheckConstraint}
	if p.accept("CONSTRAINT") && p.isName() {
		k.Symbol = p.ident()
	}
	p.checkBody(k)
	return k
}

func (p *parser) checkBody(k *TableConstraint) {
	p.expect("CHECK")
	p.expect("(")
	k.Check = p.expr()
	p.expect(")")
	p.enforced(k)
}

// enforced reads [NOT] ENFORCED.
func (p *parser) enforced(k *TableConstraint) {
	switch {
	case p.is2("NOT", "ENFORCED"):
		p.flink()
		p.advance()
		p.advance()
		k.NotEnforced = true
	case p.accept("ENFORCED"):
		k.Enforced = true
	}
}

// startsConstraint reports whether a key, index or check starts here rather
// than a column.
func (p *parser) startsConstraint() bool {
	if p.tok.kind != tWord {
		return false
	}
	switch p.tok.word {
	case "CONSTRAINT", "PRIMARY", "UNIQUE", "INDEX", "KEY", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK":
		return true
	}
	return false
}

// constraint reads a key, index, foreign key or check.
func (p *parser) constraint() *TableConstraint {
	k := &TableConstraint{At: p.at()}
	if p.accept("CONSTRAINT") && p.isName() {
		k.Symbol = p.ident()
	}
	switch {
	case p.accept("PRIMARY"):
		p.expect("KEY")
		k.Kind = PrimaryKeyConstraint
		if p.isName() {
			k.Name = p.ident()
		}
	case p.accept("UNIQUE"):
		k.Kind = UniqueConstraint
		p.acceptAny("INDEX", "KEY")
		p.indexName(k)
	case p.accept("INDEX"), p.accept("KEY"):
		k.Kind = IndexConstraint
		p.indexName(k)
	case p.accept("FULLTEXT"):
		k.Kind = FulltextConstraint
		p.acceptAny("INDEX", "KEY")
		p.indexName(k)
	case p.accept("SPATIAL"):
		k.Kind = SpatialConstraint
		p.acceptAny("INDEX", "KEY")
		p.indexName(k)
	case p.accept("FOREIGN"):
		p.expect("KEY")
		k.Kind = ForeignKeyConstraint
		p.indexName(k)
		k.Columns = p.keyParts()
		k.References = p.references()
		return k
	case p.is("CHECK"):
		k.Kind = CheckConstraint
		p.checkBody(k)
		return k
	default:
		p.bad()
	}
	p.indexUsing(k)
	k.Columns = p.keyParts()
	p.indexOptions(k)
	return k
}

func (p *parser) indexName(k *TableConstraint) {
	k.IfNotExists = p.ifNotExists()
	if p.isName() {
		k.Name = p.ident()
	}
}

func (p *parser) indexUsing(k *TableConstraint) {
	for p.acceptAny("USING", "TYPE") != "" {
		k.Using = p.upperWord()
	}
}

// keyParts reads (a, b(10) DESC, (expr), …).
func (p *parser) keyParts() []*KeyPart {
	p.expect("(")
	var list []*KeyPart
	for {
		k := &KeyPart{At: p.at()}
		if p.accept("(") {
			k.Expr = p.expr()
			p.expect(")")
		} else {
			k.Name = p.ident()
			if p.accept("(") {
				k.Length = p.number()
				p.expect(")")
			}
		}
		switch {
		case p.accept("ASC"):
			k.Asc = true
		case p.accept("DESC"):
			k.Desc = true
		}
		list = append(list, k)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}

func (p *parser) indexOptions(k *TableConstraint) {
	for {
		switch {
		case p.is("USING"), p.is("TYPE"):
			p.indexUsing(k)
		case p.is("COMMENT"), p.is("KEY_BLOCK_SIZE"), p.is("ENGINE_ATTRIBUTE"), p.is("SECONDARY_ENGINE_ATTRIBUTE"):
			o := &TableOption{At: p.at(), Name: strings.ToUpper(p.tok.str)}
			p.advance()
			p.accept("=")
			p.optionText(o)
			k.Options = append(k.Options, o)
		case p.is2("WITH", "PARSER"):
			o := &TableOption{At: p.at(), Name: "WITH PARSER"}
			p.advance()
			p.advance()
			o.Value = p.ident().Name
			k.Options = append(k.Options, o)
		case p.is("VISIBLE"), p.is("INVISIBLE"):
			k.Options = append(k.Options, &TableOption{At: p.at(), Name: p.tok.word})
			p.advance()
		case p.is2("NOT", "ENFORCED"), p.is("ENFORCED"):
			p.enforced(k)
		default:
			return
		}
	}
}

func (p *parser) references() *References {
	r := &References{At: p.at()}
	p.expect("REFERENCES")
	r.Table = p.objectName()
	if p.is("(") {
		r.Columns = p.keyParts()
	}
	if p.accept("MATCH") {
		r.Match = p.acceptAny("FULL", "PARTIAL", "SIMPLE")
		if r.Match == "" {
			p.bad()
		}
	}
	for p.is2("ON", "DELETE") || p.is2("ON", "UPDATE") {
		p.advance()
		dst := &r.OnDelete
		if p.is("UPDATE") {
			dst = &r.OnUpdate
		}
		p.advance()
		switch {
		case p.accept2("SET", "NULL"):
			*dst = "SET NULL"
		case p.accept2("SET", "DEFAULT"):
			*dst = "SET DEFAULT"
		case p.accept2("NO", "ACTION"):
			*dst = "NO ACTION"
		default:
			*dst = p.acceptAny("RESTRICT", "CASCADE")
			if *dst == "" {
				p.bad()
			}
		}
	}
	return r
}

// partitionBy reads BY … of PARTITION BY and SUBPARTITION BY.
func (p *parser) partitionBy(sub bool) *PartitionBy {
	b := &PartitionBy{At: p.at()}
	p.expect("BY")
	b.Linear = p.accept("LINEAR")
	switch {
	case p.accept("KEY"):
		b.Kind = "KEY"
		if p.accept("ALGORITHM") {
			p.accept("=")
			b.Algorithm = p.number()
		}
		if p.is2("(", ")") {
			p.advance()
			p.advance()
		} else {
			b.Columns = p.identList()
		}
	case p.accept("HASH"):
		b.Kind = "HASH"
		p.expect("(")
		b.Expr = p.expr()
		p.expect(")")
	case !sub && !b.Linear && (p.is("RANGE") || p.is("LIST")):
		b.Kind = p.tok.word
		p.advance()
		if p.acceptAny("COLUMNS", "FIELDS") != "" {
			b.Kind += " COLUMNS"
			b.Columns = p.identList()
		} else {
			p.expect("(")
			b.Expr = p.expr()
			p.expect(")")
		}
	default:
		p.bad()
	}
	count := "PARTITIONS"
	if sub {
		count = "SUBPARTITIONS"
	}
	if p.accept(count) {
		b.Count = p.number()
	}
	if sub {
		return b
	}
	if p.accept("SUBPARTITION") {
		b.Sub = p.partitionBy(true)
	}
	if p.is("(") && p.peek(1).word == "PARTITION" {
		b.Partitions = p.partitionDefs("PARTITION")
	}
	return b
}

// partitionDefs reads (PARTITION p …, …) and (SUBPARTITION s …, …).
func (p *parser) partitionDefs(word string) []*PartitionDef {
	p.expect("(")
	var list []*PartitionDef
	for {
		d := &PartitionDef{At: p.at()}
		p.expect(word)
		d.Name = p.ident()
		if p.accept("VALUES") {
			if p.accept("IN") {
				d.In = p.partitionValues()
			} else {
				p.expect("LESS")
				p.expect("THAN")
				if p.accept("MAXVALUE") {
					d.MaxValue = true
				} else {
					d.LessThan = p.partitionValues()
				}
			}
		}
		for {
			o := p.partitionOption()
			if o == nil {
				break
			}
			d.Options = append(d.Options, o)
		}
		if word == "PARTITION" && p.is("(") {
			d.Subs = p.partitionDefs("SUBPARTITION")
		}
		list = append(list, d)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}

// partitionValues reads (a, MAXVALUE, …).
func (p *parser) partitionValues() []Expr {
	p.expect("(")
	var list []Expr
	for {
		if p.accept("MAXVALUE") {
			list = append(list, nil)
		} else {
			list = append(list, p.expr())
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}

func (p *parser) partitionOption() *TableOption {
	switch {
	case p.is("COMMENT"):
		o := &TableOption{At: p.at(), Name: "COMMENT"}
		p.advance()
		p.accept("=")
		o.Value, o.Text = p.stringValue(), true
		return o
	case p.is2("STORAGE", "ENGINE"):
		p.advance()
	}
	return p.tableOption()
}
