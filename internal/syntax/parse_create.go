package syntax

import "strings"

// create reads CREATE ….
func (p *parser) create() Statement {
	pos := p.at()
	start := int(pos)
	p.advance()
	orReplace := p.accept2("OR", "REPLACE")
	switch p.tok.word {
	case "DATABASE", "SCHEMA":
		return p.createDatabase(pos)
	case "CATALOG":
		p.advance()
		c := &CreateCatalog{At: pos, IfNotExists: p.ifNotExists(), Name: p.nameOrString()}
		if p.accept("COMMENT") {
			c.Comment, c.HasComment = p.stringValue(), true
		}
		if p.accept("WITH") {
			c.Options = p.options()
		}
		return c
	case "USER":
		return p.createUser(pos, orReplace)
	case "ROLE":
		p.advance()
		r := &CreateRole{At: pos, IfNotExists: p.ifNotExists(), Roles: p.accounts()}
		if p.accept("WITH") { // MariaDB's WITH ADMIN
			p.expect("ADMIN")
			p.account()
		}
		return r
	case "UNIQUE", "FULLTEXT", "SPATIAL", "INDEX":
		if p.is2("SPATIAL", "REFERENCE") {
			return p.skip("CREATE SPATIAL REFERENCE SYSTEM")
		}
		return p.createIndex(pos)
	case "TABLE":
		t := &CreateTable{At: pos, OrReplace: orReplace}
		return p.createTable(t)
	case "TEMPORARY", "EXTERNAL", "MATERIALIZED":
		t := &CreateTable{At: pos, OrReplace: orReplace}
		for {
			switch {
			case p.accept("TEMPORARY"):
				t.Temporary = true
				continue
			case p.accept("EXTERNAL"):
				t.External = true
				continue
			case p.accept("MATERIALIZED"):
				t.Materialized = true
				continue
			}
			break
		}
		switch p.tok.word {
		case "TABLE":
			return p.createTable(t)
		case "VIEW":
			v := &CreateView{At: pos, OrReplace: orReplace, Temporary: t.Temporary, Materialized: t.Materialized}
			return p.createView(v)
		case "FUNCTION", "SYSTEM":
			return p.skip("CREATE FUNCTION")
		case "SEQUENCE":
			return p.skip("CREATE SEQUENCE")
		}
		p.bad()
	case "VIEW", "ALGORITHM", "DEFINER", "SQL":
		v := &CreateView{At: pos, OrReplace: orReplace}
		p.viewOptions(v)
		if p.is("VIEW") {
			return p.createView(v)
		}
		return p.createRoutine(start)
	}
	return p.createRoutine(start)
}

// createRoutine names what CREATE makes when that is none of ours.
func (p *parser) createRoutine(start int) Statement {
	what := ""
	switch p.tok.word {
	case "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "SERVER", "TABLESPACE", "LIBRARY":
		what = p.tok.word
	case "AGGREGATE":
		what = "FUNCTION"
	case "UNDO", "LOGFILE", "RESOURCE", "JSON":
		what = map[string]string{"UNDO": "UNDO TABLESPACE", "LOGFILE": "LOGFILE GROUP", "RESOURCE": "RESOURCE GROUP", "JSON": "JSON DUALITY VIEW"}[p.tok.word]
	default:
		if p.tok.kind == tWord {
			switch w := strings.ToUpper(p.tok.str); w {
			case "SEQUENCE", "PACKAGE", "MODEL", "CONNECTION":
				what = w
			case "BRANCH", "TAG":
				what = w
			}
		}
	}
	if what == "" {
		p.bad()
	}
	return p.skipCompound(start, "CREATE "+what)
}

// nameOrString reads a name, which Flink's users may also write as a string.
func (p *parser) nameOrString() Ident {
	if p.tok.kind == tString && p.tok.str != "" {
		id := Ident{At: p.at(), Name: p.tok.str, Quoted: true}
		p.advance()
		return id
	}
	return p.ident()
}

func (p *parser) createDatabase(pos At) Statement {
	p.advance()
	d := &CreateDatabase{At: pos, IfNotExists: p.ifNotExists(), Name: p.databaseName()}
	for {
		switch {
		case p.is2("COMMENT", "="), p.is("COMMENT"):
			p.advance()
			p.accept("=")
			d.Comment, d.HasComment = p.stringValue(), true
		case p.is2("WITH", "("):
			p.advance()
			d.Options = p.options()
		case p.is("READ") || p.is("ENCRYPTION") || p.is2("DEFAULT", "ENCRYPTION"):
			p.databaseOther()
		default:
			if !p.charsetOption(&d.Charset, &d.Collate) {
				return d
			}
		}
	}
}

// databaseOther reads ENCRYPTION and READ ONLY, which change nothing here.
func (p *parser) databaseOther() {
	p.accept("DEFAULT")
	if p.accept2("READ", "ONLY") {
		p.accept("=")
		p.advance()
		return
	}
	p.expect("ENCRYPTION")
	p.accept("=")
	p.stringValue()
}

// databaseName reads a name of one or two parts.
func (p *parser) databaseName() ObjectName {
	n := p.objectName()
	if len(n.Parts) > 2 {
		p.fail(n.Pos())
	}
	return n
}

// charsetOption reads [DEFAULT] CHARACTER SET = x and [DEFAULT] COLLATE = x.
func (p *parser) charsetOption(charset, collate *string) bool {
	n := 0
	if p.is("DEFAULT") {
		n = 1
	}
	switch p.peek(n).word {
	case "CHARSET", "COLLATE":
	case "CHARACTER", "CHAR":
		if p.peek(n+1).word != "SET" {
			return false
		}
	default:
		return false
	}
	p.accept("DEFAULT")
	dst := charset
	switch p.tok.word {
	case "COLLATE":
		dst = collate
	case "CHARACTER", "CHAR":
		p.advance()
	}
	p.advance()
	p.accept("=")
	if p.accept("DEFAULT") {
		*dst = "default"
	} else {
		*dst = p.lowerName()
	}
	return true
}

// viewOptions reads ALGORITHM, DEFINER and SQL SECURITY.
func (p *parser) viewOptions(v *CreateView) {
	for {
		switch {
		case p.is2("ALGORITHM", "="):
			p.advance()
			p.advance()
			v.Algorithm = p.upperWord()
		case p.is2("DEFINER", "="):
			p.advance()
			p.advance()
			v.Definer = p.account()
		case p.is2("SQL", "SECURITY"):
			p.advance()
			p.advance()
			v.Security = p.acceptAny("DEFINER", "INVOKER")
			if v.Security == "" {
				p.bad()
			}
		default:
			return
		}
	}
}

// createView reads VIEW … after its options.
func (p *parser) createView(v *CreateView) Statement {
	p.expect("VIEW")
	v.IfNotExists = p.ifNotExists()
	v.Name = p.objectName()
	if p.is("(") {
		p.advance()
		for {
			v.Columns = append(v.Columns, p.ident())
			if p.accept("COMMENT") {
				p.stringValue()
			}
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	}
	if p.accept("COMMENT") {
		p.accept("=")
		v.Comment, v.HasComment = p.stringValue(), true
	}
	p.expect("AS")
	start := int(p.tok.pos)
	v.Query = p.query()
	v.QueryText = p.textFrom(start)
	if p.accept("WITH") {
		v.Check = "CASCADED"
		if p.accept("LOCAL") {
			v.Check = "LOCAL"
		} else {
			p.accept("CASCADED")
		}
		p.expect("CHECK")
		p.expect("OPTION")
	}
	return v
}

func (p *parser) createIndex(pos At) Statement {
	c := &CreateIndex{At: pos, Index: &TableConstraint{At: p.at(), Kind: IndexConstraint}}
	switch p.acceptAny("UNIQUE", "FULLTEXT", "SPATIAL") {
	case "UNIQUE":
		c.Index.Kind = UniqueConstraint
	case "FULLTEXT":
		c.Index.Kind = FulltextConstraint
	case "SPATIAL":
		c.Index.Kind = SpatialConstraint
	}
	p.expect("INDEX")
	c.Index.IfNotExists = p.ifNotExists()
	c.Index.Name = p.ident()
	p.indexUsing(c.Index)
	p.expect("ON")
	c.Table = p.objectName()
	c.Index.Columns = p.keyParts()
	p.indexOptions(c.Index)
	p.algorithmLock(&c.Algorithm, &c.Lock)
	return c
}

// algorithmLock reads ALGORITHM = x and LOCK = x.
func (p *parser) algorithmLock(algorithm, lock *string) {
	for {
		dst := algorithm
		switch {
		case p.is("ALGORITHM"):
		case p.is("LOCK"):
			dst = lock
		default:
			return
		}
		p.advance()
		p.accept("=")
		*dst = p.upperWord()
	}
}

// createTable reads TABLE … after CREATE and its modifiers.
func (p *parser) createTable(t *CreateTable) Statement {
	p.expect("TABLE")
	t.IfNotExists = p.ifNotExists()
	t.Name = p.objectName()
	p.takeHints()
	if p.accept("LIKE") {
		t.Like = p.objectName()
		return t
	}
	if p.is2("(", "LIKE") && p.peek(2).kind != tString {
		p.advance()
		p.advance()
		t.Like = p.objectName()
		p.expect(")")
		return t
	}
	p.lakeSeen = false
	if p.is("(") && !p.startsQueryAfterParens() {
		p.tableElements(t)
	}
	for p.tableClause(t) {
		p.accept(",")
	}
	t.LakeInComment = p.lakeSeen
	switch {
	case p.accept("IGNORE"):
		t.OnDuplicate = "IGNORE"
	case p.accept("REPLACE"):
		t.OnDuplicate = "REPLACE"
	}
	as := p.accept("AS")
	if as || p.startsQuery() || p.is("(") {
		start := int(p.tok.pos)
		t.Query = p.query()
		t.QueryText = p.textFrom(start)
		return t
	}
	if t.OnDuplicate != "" {
		p.bad()
	}
	for _, c := range t.Columns {
		if c.Type == nil && c.Generated == nil {
			p.fail(int(c.At) + len(c.Name.Name))
		}
	}
	return t
}

// flink marks a Flink clause; the ones in /*T! … */ are the lake's part of
// MySQL's spelling.
func (p *parser) flink() {
	if p.tok.lake {
		p.lakeSeen = true
	}
}

// tableClause reads one clause after the columns; false when there is none.
func (p *parser) tableClause(t *CreateTable) bool {
	switch {
	case p.is2("PARTITIONED", "BY"):
		p.flink()
		p.advance()
		p.advance()
		t.Partitioned = true
		t.PartitionedBy = p.identList()
	case p.is("DISTRIBUTED"):
		p.flink()
		t.Distribution = p.distribution()
	case p.is2("WITH", "("):
		p.flink()
		p.advance()
		t.HasWith = true
		t.With = append(t.With, p.options()...)
	case p.tok.lake && p.is2("TYPES", "("):
		p.flink()
		p.advance()
		p.lakeTypes(t)
	case p.is2("PARTITION", "BY"):
		p.advance()
		t.PartitionBy = p.partitionBy(false)
	case p.is("COMMENT"):
		p.advance()
		p.accept("=")
		t.Comment, t.HasComment = p.stringValue(), true
	case p.is2("FRESHNESS", "="):
		p.advance()
		p.advance()
		iv, e := p.interval()
		if e != nil {
			p.bad()
		}
		t.Freshness = iv
	case p.is2("REFRESH_MODE", "="):
		p.advance()
		p.advance()
		t.RefreshMode = p.upperWord()
	case p.is("LIKE"):
		p.advance()
		t.Like = p.objectName()
		if p.is("(") {
			p.advance()
			for !p.is(")") {
				w := p.acceptAny("INCLUDING", "EXCLUDING", "OVERWRITING")
				if w == "" {
					p.bad()
				}
				t.LikeOptions = append(t.LikeOptions, w+" "+p.upperWord())
			}
			p.expect(")")
		}
	default:
		o := p.tableOption()
		if o == nil {
			return false
		}
		t.Options = append(t.Options, o)
	}
	return true
}

// lakeTypes reads (a T, …): types of columns in Flink's spelling.
func (p *parser) lakeTypes(t *CreateTable) {
	p.expect("(")
	for {
		name := p.ident()
		var col *ColumnDef
		for _, c := range t.Columns {
			if c.Name.Name == name.Name {
				col = c
			}
		}
		if col == nil {
			p.fail(int(name.At))
			return
		}
		col.LakeType = p.dataType()
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

func (p *parser) distribution() *Distribution {
	d := &Distribution{At: p.at()}
	p.expect("DISTRIBUTED")
	if p.accept("BY") {
		d.Kind = p.acceptAny("HASH", "RANGE")
		d.Columns = p.identList()
	}
	if p.accept("INTO") {
		d.Buckets = p.number()
		p.expect("BUCKETS")
	}
	return d
}

// simpleOptions are MySQL's table options of the form NAME [=] value.
var simpleOptions = map[string]bool{
	"AUTO_INCREMENT": true, "AUTOEXTEND_SIZE": true, "AVG_ROW_LENGTH": true, "CHECKSUM": true, "COMPRESSION": true,
	"CONNECTION": true, "DELAY_KEY_WRITE": true, "ENCRYPTION": true, "ENGINE": true, "ENGINE_ATTRIBUTE": true,
	"INSERT_METHOD": true, "KEY_BLOCK_SIZE": true, "MAX_ROWS": true, "MIN_ROWS": true, "PACK_KEYS": true,
	"PASSWORD": true, "ROW_FORMAT": true, "SECONDARY_ENGINE": true, "SECONDARY_ENGINE_ATTRIBUTE": true, "TABLE_CHECKSUM": true,
	"STATS_AUTO_RECALC": true, "STATS_PERSISTENT": true, "STATS_SAMPLE_PAGES": true, "TABLESPACE": true,
	"STORAGE": true, "NODEGROUP": true, "PAGE_CHECKSUM": true, "TRANSACTIONAL": true,
}

// tableOption reads one of MySQL's table options; nil when none starts here.
func (p *parser) tableOption() *TableOption {
	o := &TableOption{At: p.at()}
	var charset, collate string
	if p.charsetOption(&charset, &collate) {
		if charset != "" {
			o.Name, o.Value = "CHARSET", charset
		} else {
			o.Name, o.Value = "COLLATE", collate
		}
		return o
	}
	switch {
	case p.is2("DATA", "DIRECTORY"), p.is2("INDEX", "DIRECTORY"):
		o.Name = p.tok.word + " DIRECTORY"
		p.advance()
		p.advance()
		p.accept("=")
		o.Value, o.Text = p.stringValue(), true
		return o
	case p.is2("START", "TRANSACTION"):
		p.advance()
		p.advance()
		o.Name = "START TRANSACTION"
		return o
	case p.is("UNION"):
		if n := p.peek(1); n.word != "=" && !(n.word == "(" && (isNameToken(p.peek(2)) || p.peek(2).word == ")")) {
			return nil
		}
		p.advance()
		p.accept("=")
		p.expect("(")
		o.Name = "UNION"
		if !p.is(")") {
			o.Names = p.objectNames()
		}
		p.expect(")")
		return o
	}
	if p.tok.kind != tWord {
		return nil
	}
	name := strings.ToUpper(p.tok.str)
	if !simpleOptions[name] {
		return nil
	}
	p.advance()
	p.accept("=")
	o.Name = name
	p.optionText(o)
	if o.Name == "TABLESPACE" && p.accept("STORAGE") {
		p.upperWord()
	}
	return o
}

// optionText reads an option's value.
func (p *parser) optionText(o *TableOption) {
	switch p.tok.kind {
	case tString:
		o.Value, o.Text = p.stringValue(), true
	case tInt, tDecimal, tFloat, tQuoted, tWord:
		if p.tok.kind == tWord && p.tok.reserved && p.tok.word != "DEFAULT" && !(o.Name == "SECONDARY_ENGINE" && p.is("NULL")) {
			p.bad()
		}
		o.Value = p.tok.str
		p.advance()
	default:
		p.bad()
	}
}

// tableElements reads (columns, keys, …).
func (p *parser) tableElements(t *CreateTable) {
	p.expect("(")
	for {
		switch {
		case p.is("WATERMARK") && p.peek(1).word == "FOR":
			t.Watermarks = append(t.Watermarks, p.watermark())
		case p.startsConstraint():
			t.Constraints = append(t.Constraints, p.constraint())
		case p.isName() && (p.peek(1).word == "," || p.peek(1).word == ")"):
			// A name alone, of CREATE TABLE t (a, b) AS SELECT ….
			t.Columns = append(t.Columns, &ColumnDef{At: p.at(), Name: p.ident()})
		default:
			t.Columns = append(t.Columns, p.columnDef())
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

func (p *parser) watermark() *Watermark {
	w := &Watermark{At: p.at()}
	p.advance()
	p.expect("FOR")
	w.Column = p.objectName()
	p.expect("AS")
	w.Expr = p.expr()
	return w
}

func (p *parser) drop() Statement {
	pos := p.at()
	p.advance()
	temporary := p.accept("TEMPORARY")
	switch p.tok.word {
	case "TABLE", "TABLES":
		return p.dropTable(&DropTable{At: pos, Temporary: temporary})
	case "MATERIALIZED":
		p.advance()
		if p.is("VIEW") {
			return p.dropView(&DropView{At: pos, Materialized: true})
		}
		return p.dropTable(&DropTable{At: pos, Materialized: true})
	case "VIEW":
		return p.dropView(&DropView{At: pos, Temporary: temporary})
	case "DATABASE", "SCHEMA":
		p.advance()
		d := &DropDatabase{At: pos, IfExists: p.ifExists(), Name: p.databaseName()}
		d.Cascade, d.Restrict = p.cascade()
		return d
	case "CATALOG":
		p.advance()
		return &DropCatalog{At: pos, IfExists: p.ifExists(), Name: p.nameOrString()}
	case "INDEX":
		p.advance()
		d := &DropIndex{At: pos, IfExists: p.ifExists()}
		if p.is("PRIMARY") {
			d.Name = p.anyWord()
		} else {
			d.Name = p.ident()
		}
		p.expect("ON")
		d.Table = p.objectName()
		p.algorithmLock(&d.Algorithm, &d.Lock)
		return d
	case "USER":
		p.advance()
		return &DropUser{At: pos, IfExists: p.ifExists(), Users: p.accounts()}
	case "ROLE":
		p.advance()
		return &DropRole{At: pos, IfExists: p.ifExists(), Roles: p.accounts()}
	case "PREPARE":
		p.advance()
		return &Deallocate{pos, p.ident()}
	case "PIPELINE":
		c := &PipelineControl{At: pos, Action: "DROP"}
		p.advance()
		c.IfExists = p.ifExists()
		c.Name = p.nameOrString()
		return c
	case "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "SERVER", "TABLESPACE", "LIBRARY":
		return p.skip("DROP " + p.tok.word)
	case "UNDO":
		return p.skip("DROP UNDO TABLESPACE")
	case "LOGFILE":
		return p.skip("DROP LOGFILE GROUP")
	case "RESOURCE":
		return p.skip("DROP RESOURCE GROUP")
	case "SPATIAL":
		return p.skip("DROP SPATIAL REFERENCE SYSTEM")
	}
	if p.tok.kind == tWord {
		switch w := strings.ToUpper(p.tok.str); w {
		case "SEQUENCE", "PACKAGE", "MODEL", "CONNECTION", "BRANCH", "TAG", "SYSTEM":
			return p.skip("DROP " + w)
		}
	}
	p.bad()
	return nil
}

func (p *parser) cascade() (cascade, restrict bool) {
	switch p.acceptAny("CASCADE", "RESTRICT") {
	case "CASCADE":
		cascade = true
	case "RESTRICT":
		restrict = true
	}
	return
}

func (p *parser) dropTable(d *DropTable) Statement {
	if p.acceptAny("TABLE", "TABLES") == "" {
		p.bad()
	}
	d.IfExists = p.ifExists()
	d.Names = p.objectNames()
	d.Cascade, d.Restrict = p.cascade()
	return d
}

func (p *parser) dropView(d *DropView) Statement {
	p.expect("VIEW")
	d.IfExists = p.ifExists()
	d.Names = p.objectNames()
	d.Cascade, d.Restrict = p.cascade()
	return d
}
