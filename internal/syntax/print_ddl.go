package syntax

import (
	"strconv"
)

func (p *printer) comment(has bool, text string) {
	if has {
		p.w(" COMMENT ")
		p.str(text)
	}
}

func (p *printer) ifExists(on bool)    { p.opt(on, "IF EXISTS ") }
func (p *printer) ifNotExists(on bool) { p.opt(on, "IF NOT EXISTS ") }

func (p *printer) cascade(cascade, restrict bool) {
	p.opt(cascade, " CASCADE")
	p.opt(restrict, " RESTRICT")
}

func (p *printer) keys(list []string) {
	p.w("(")
	for i, k := range list {
		p.opt(i > 0, ", ")
		p.str(k)
	}
	p.w(")")
}

// charset writes a character set or collation, which may be "default".
func (p *printer) charset(word, value string) {
	switch value {
	case "":
	case "default":
		p.w(word, "DEFAULT")
	default:
		p.w(word, QuoteIdent(value))
	}
}

// ddl writes the statements that define things; false when s is another.
func (p *printer) ddl(s Statement) bool {
	switch s := s.(type) {
	case *CreateDatabase:
		p.w("CREATE DATABASE ")
		p.ifNotExists(s.IfNotExists)
		p.name(s.Name)
		p.charset(" CHARACTER SET ", s.Charset)
		p.charset(" COLLATE ", s.Collate)
		p.comment(s.HasComment, s.Comment)
		if s.Options != nil {
			p.w(" WITH ")
			p.options(s.Options)
		}
	case *AlterDatabase:
		p.w("ALTER DATABASE")
		if !s.Name.IsZero() {
			p.w(" ")
			p.name(s.Name)
		}
		p.charset(" CHARACTER SET ", s.Charset)
		p.charset(" COLLATE ", s.Collate)
		if s.Options != nil {
			p.w(" SET ")
			p.options(s.Options)
		} else if s.Charset == "" && s.Collate == "" {
			p.w(" ENCRYPTION = 'N'")
		}
	case *DropDatabase:
		p.w("DROP DATABASE ")
		p.ifExists(s.IfExists)
		p.name(s.Name)
		p.cascade(s.Cascade, s.Restrict)
	case *CreateTable:
		p.createTable(s)
	case *DropTable:
		p.w("DROP ")
		p.opt(s.Temporary, "TEMPORARY ")
		p.opt(s.Materialized, "MATERIALIZED ")
		p.w("TABLE ")
		p.ifExists(s.IfExists)
		p.names(s.Names)
		p.cascade(s.Cascade, s.Restrict)
	case *TruncateTable:
		p.w("TRUNCATE TABLE ")
		p.name(s.Name)
	case *RenameTable:
		p.w("RENAME TABLE ")
		for i, r := range s.Pairs {
			p.opt(i > 0, ", ")
			p.name(r.From)
			p.w(" TO ")
			p.name(r.To)
		}
	case *AlterTable:
		p.w("ALTER ")
		p.opt(s.Materialized, "MATERIALIZED ")
		p.w("TABLE ")
		p.ifExists(s.IfExists)
		p.name(s.Name)
		for i, a := range s.Actions {
			p.opt(i > 0, ",")
			p.w(" ")
			p.alterAction(a)
		}
	case *CreateView:
		p.createView(s)
	case *DropView:
		p.w("DROP ")
		p.opt(s.Temporary, "TEMPORARY ")
		p.opt(s.Materialized, "MATERIALIZED ")
		p.w("VIEW ")
		p.ifExists(s.IfExists)
		p.names(s.Names)
		p.cascade(s.Cascade, s.Restrict)
	case *CreateIndex:
		p.w("CREATE ", map[ConstraintKind]string{UniqueConstraint: "UNIQUE ", FulltextConstraint: "FULLTEXT ", SpatialConstraint: "SPATIAL "}[s.Index.Kind], "INDEX ")
		p.ifNotExists(s.Index.IfNotExists)
		p.ident(s.Index.Name)
		p.opt(s.Index.Using != "", " USING "+s.Index.Using)
		p.w(" ON ")
		p.name(s.Table)
		p.w(" ")
		p.keyParts(s.Index.Columns)
		p.indexOptions(s.Index)
		p.algorithmLock(s.Algorithm, s.Lock)
	case *DropIndex:
		p.w("DROP INDEX ")
		p.ifExists(s.IfExists)
		p.ident(s.Name)
		p.w(" ON ")
		p.name(s.Table)
		p.algorithmLock(s.Algorithm, s.Lock)
	case *CreateCatalog:
		p.w("CREATE CATALOG ")
		p.ifNotExists(s.IfNotExists)
		p.ident(s.Name)
		p.comment(s.HasComment, s.Comment)
		if s.Options != nil {
			p.w(" WITH ")
			p.options(s.Options)
		}
	case *AlterCatalog:
		p.w("ALTER CATALOG ")
		p.ident(s.Name)
		switch {
		case s.Set != nil:
			p.w(" SET ")
			p.options(s.Set)
		case s.Reset != nil:
			p.w(" RESET ")
			p.keys(s.Reset)
		default:
			p.comment(s.HasComment, s.Comment)
		}
	case *DropCatalog:
		p.w("DROP CATALOG ")
		p.ifExists(s.IfExists)
		p.ident(s.Name)
	default:
		return false
	}
	return true
}

func (p *printer) algorithmLock(algorithm, lock string) {
	p.opt(algorithm != "", " ALGORITHM = "+algorithm)
	p.opt(lock != "", " LOCK = "+lock)
}

func (p *printer) createTable(t *CreateTable) {
	p.w("CREATE ")
	p.opt(t.OrReplace, "OR REPLACE ")
	p.opt(t.Temporary, "TEMPORARY ")
	p.opt(t.External, "EXTERNAL ")
	p.opt(t.Materialized, "MATERIALIZED ")
	p.w("TABLE ")
	p.ifNotExists(t.IfNotExists)
	p.name(t.Name)
	n := 0
	sep := func() {
		if n == 0 {
			p.w(" (")
		} else {
			p.w(", ")
		}
		n++
	}
	for _, c := range t.Columns {
		sep()
		p.column(c)
	}
	for _, w := range t.Watermarks {
		sep()
		p.watermark(w)
	}
	for _, k := range t.Constraints {
		sep()
		if t.LakeInComment && k.NotEnforced {
			c := *k
			c.NotEnforced = false
			p.constraint(&c)
			p.w(" /*T! NOT ENFORCED */")
			continue
		}
		p.constraint(k)
	}
	p.opt(n > 0, ")")
	for _, o := range t.Options {
		p.w(" ")
		p.tableOption(o)
	}
	p.comment(t.HasComment, t.Comment)
	if t.PartitionBy != nil {
		p.w(" PARTITION ")
		p.partitionBy(t.PartitionBy, false)
	}
	var typed []*ColumnDef
	for _, c := range t.Columns {
		if c.LakeType != nil {
			typed = append(typed, c)
		}
	}
	lake := t.Distribution != nil || t.Partitioned || t.HasWith || typed != nil
	if lake && t.LakeInComment {
		p.w(" /*T!")
		p.hint = true
	}
	for i, c := range typed {
		p.w([]string{" TYPES (", ", "}[min(i, 1)])
		p.ident(c.Name)
		p.w(" ")
		p.dataType(c.LakeType)
		p.opt(i == len(typed)-1, ")")
	}
	if d := t.Distribution; d != nil {
		p.w(" DISTRIBUTED")
		if d.Columns != nil {
			p.w(" BY ")
			p.opt(d.Kind != "", d.Kind+" ")
			p.identList(d.Columns)
		}
		p.opt(d.Buckets > 0, " INTO "+strconv.Itoa(d.Buckets)+" BUCKETS")
	}
	if t.Partitioned {
		p.w(" PARTITIONED BY ")
		p.identList(t.PartitionedBy)
	}
	if t.HasWith {
		p.w(" WITH ")
		p.options(t.With)
	}
	if lake && t.LakeInComment {
		p.w(" */")
		p.hint = false
	}
	if t.Freshness != nil {
		p.w(" FRESHNESS = ")
		p.expr(t.Freshness, 0)
	}
	p.opt(t.RefreshMode != "", " REFRESH_MODE = "+t.RefreshMode)
	if !t.Like.IsZero() {
		p.w(" LIKE ")
		p.name(t.Like)
		for i, o := range t.LikeOptions {
			if i == 0 {
				p.w(" (")
			} else {
				p.w(" ")
			}
			p.w(o)
		}
		p.opt(t.LikeOptions != nil, ")")
	}
	p.opt(t.OnDuplicate != "", " "+t.OnDuplicate)
	if t.Query != nil {
		p.w(" AS ")
		p.query(t.Query)
	}
}

func (p *printer) watermark(w *Watermark) {
	p.w("WATERMARK FOR ")
	p.name(w.Column)
	p.w(" AS ")
	p.expr(w.Expr, 0)
}

func (p *printer) column(c *ColumnDef) {
	p.around(c.In)
	p.ident(c.Name)
	p.columnBody(c)
}

func (p *printer) columnBody(c *ColumnDef) {
	if c.Type != nil {
		p.w(" ")
		p.dataType(c.Type)
	}
	if c.Collate != "" {
		p.charset(" COLLATE ", c.Collate)
	}
	if c.Metadata {
		p.w(" METADATA")
		if c.MetadataFrom != "" {
			p.w(" FROM ")
			p.str(c.MetadataFrom)
		}
		p.opt(c.MetaVirtual, " VIRTUAL")
	}
	if c.Generated != nil {
		if c.Type == nil {
			p.w(" AS ")
			p.expr(c.Generated, 0)
		} else {
			p.w(" GENERATED ALWAYS AS (")
			p.expr(c.Generated, 0)
			p.w(")")
		}
		p.opt(c.Stored, " STORED")
		p.opt(c.Virtual, " VIRTUAL")
	}
	p.opt(c.NotNull, " NOT NULL")
	p.opt(c.Null, " NULL")
	if c.Default != nil {
		p.w(" DEFAULT ")
		p.defaultValue(c.Default)
	}
	if c.OnUpdate != nil {
		p.w(" ON UPDATE ")
		p.expr(c.OnUpdate, 0)
	}
	p.opt(c.AutoIncrement, " AUTO_INCREMENT")
	if c.PrimaryKey {
		if c.Key {
			p.w(" KEY")
		} else {
			p.w(" PRIMARY KEY")
		}
		p.opt(c.NotEnforced, " NOT ENFORCED")
	}
	p.opt(c.Unique, " UNIQUE")
	p.opt(c.Visible, " VISIBLE")
	p.opt(c.Invisible, " INVISIBLE")
	p.opt(c.ColumnFormat != "", " COLUMN_FORMAT "+c.ColumnFormat)
	p.opt(c.Storage != "", " STORAGE "+c.Storage)
	if c.EngineAttr != "" {
		p.w(" ENGINE_ATTRIBUTE ")
		p.str(c.EngineAttr)
	}
	if c.SecondaryAttr != "" {
		p.w(" SECONDARY_ENGINE_ATTRIBUTE ")
		p.str(c.SecondaryAttr)
	}
	p.opt(c.SRID != "", " SRID "+c.SRID)
	p.comment(c.HasComment, c.Comment)
	for _, k := range c.Checks {
		p.w(" ")
		p.constraint(k)
	}
	if c.References != nil {
		p.references(c.References)
	}
}

// defaultValue writes a default: literals and NOW() bare, anything else in
// parentheses.
func (p *printer) defaultValue(e Expr) {
	switch x := e.(type) {
	case *NullLit, *BoolLit, *NumberLit, *StringLit, *BytesLit, *TemporalLit:
		p.expr(e, 0)
		return
	case *Unary:
		if _, ok := x.X.(*NumberLit); ok && (x.Op == OpNeg || x.Op == OpPlus) {
			p.expr(e, 0)
			return
		}
	case *FuncCall:
		p.expr(e, 0)
		return
	}
	p.w("(")
	p.expr(e, 0)
	p.w(")")
}

func (p *printer) constraint(k *TableConstraint) {
	if k.Symbol.Name != "" {
		p.w("CONSTRAINT ")
		p.ident(k.Symbol)
		p.w(" ")
	}
	switch k.Kind {
	case PrimaryKeyConstraint:
		p.w("PRIMARY KEY")
	case UniqueConstraint:
		p.w("UNIQUE KEY")
	case IndexConstraint:
		p.w("KEY")
	case FulltextConstraint:
		p.w("FULLTEXT KEY")
	case SpatialConstraint:
		p.w("SPATIAL KEY")
	case ForeignKeyConstraint:
		p.w("FOREIGN KEY")
	case CheckConstraint:
		p.w("CHECK (")
		p.expr(k.Check, 0)
		p.w(")")
		p.enforced(k)
		return
	}
	p.opt(k.IfNotExists, " IF NOT EXISTS")
	if k.Name.Name != "" {
		p.w(" ")
		p.ident(k.Name)
	}
	p.opt(k.Using != "", " USING "+k.Using)
	p.w(" ")
	p.keyParts(k.Columns)
	if k.References != nil {
		p.references(k.References)
	}
	p.indexOptions(k)
	p.enforced(k)
}

func (p *printer) enforced(k *TableConstraint) {
	p.opt(k.NotEnforced, " NOT ENFORCED")
	p.opt(k.Enforced, " ENFORCED")
}

func (p *printer) indexOptions(k *TableConstraint) {
	for _, o := range k.Options {
		p.w(" ", o.Name)
		if o.Value != "" || o.Text {
			p.w(" ")
			p.optionValue(o)
		}
	}
}

func (p *printer) optionValue(o *TableOption) {
	if o.Text {
		p.str(o.Value)
	} else if isNumber(o.Value) {
		p.w(o.Value)
	} else if equalFoldASCII(o.Value, "DEFAULT") {
		p.w("DEFAULT")
	} else {
		p.w(QuoteIdent(o.Value))
	}
}

func isNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func (p *printer) tableOption(o *TableOption) {
	p.w(o.Name)
	switch o.Name {
	case "UNION":
		p.w(" = (")
		p.names(o.Names)
		p.w(")")
	case "START TRANSACTION":
	default:
		p.w(" = ")
		p.optionValue(o)
	}
}

func (p *printer) keyParts(list []*KeyPart) {
	p.w("(")
	for i, k := range list {
		p.opt(i > 0, ", ")
		if k.Expr != nil {
			p.w("(")
			p.expr(k.Expr, 0)
			p.w(")")
		} else {
			p.ident(k.Name)
			if k.Length > 0 {
				p.w("(", strconv.Itoa(k.Length), ")")
			}
		}
		p.opt(k.Asc, " ASC")
		p.opt(k.Desc, " DESC")
	}
	p.w(")")
}

func (p *printer) references(r *References) {
	p.w(" REFERENCES ")
	p.name(r.Table)
	if r.Columns != nil {
		p.w(" ")
		p.keyParts(r.Columns)
	}
	p.opt(r.Match != "", " MATCH "+r.Match)
	p.opt(r.OnDelete != "", " ON DELETE "+r.OnDelete)
	p.opt(r.OnUpdate != "", " ON UPDATE "+r.OnUpdate)
}

func (p *printer) createView(v *CreateView) {
	if v.Alter {
		p.w("ALTER ")
	} else {
		p.w("CREATE ")
	}
	p.opt(v.OrReplace, "OR REPLACE ")
	p.opt(v.Temporary, "TEMPORARY ")
	p.opt(v.Materialized, "MATERIALIZED ")
	p.opt(v.Algorithm != "", "ALGORITHM = "+v.Algorithm+" ")
	if v.Definer != nil {
		p.w("DEFINER = ")
		p.account(v.Definer)
		p.w(" ")
	}
	p.opt(v.Security != "", "SQL SECURITY "+v.Security+" ")
	p.w("VIEW ")
	p.ifNotExists(v.IfNotExists)
	p.name(v.Name)
	if v.Columns != nil {
		p.w(" ")
		p.identList(v.Columns)
	}
	p.comment(v.HasComment, v.Comment)
	p.w(" AS ")
	p.query(v.Query)
	p.opt(v.Check != "", " WITH "+v.Check+" CHECK OPTION")
}
