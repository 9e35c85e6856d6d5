package mysql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	tidbmysql "github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/types"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// tableNative is what the definition of a table has beyond its columns: what new
// text columns get that say nothing. It is kept in source.Table.Native.
type tableNative struct {
	Charset   string `json:"charset,omitempty"`
	Collation string `json:"collation,omitempty"`
	// Unique is the index that serves as the key of a table without a primary one.
	Unique string `json:"unique,omitempty"`
}

func charsetOf(collation string) string {
	set, _, _ := strings.Cut(collation, "_")
	return set
}

func tableNativeOf(collation, unique string) (json.RawMessage, error) {
	if collation == "" && unique == "" {
		return nil, nil
	}
	b, err := json.Marshal(tableNative{Charset: charsetOf(collation), Collation: collation, Unique: unique})
	if err != nil {
		return nil, errs.Internalf("describe a table: %w", err)
	}
	return b, nil
}

// definer computes definitions from statements.
type definer struct {
	booleans, comments bool
	mariadb            bool
	// collations are the server's default collations by character set.
	collations map[string]string
}

// columnOf computes a column from its definition in a statement, as
// information_schema would describe it.
func (d *definer) columnOf(c *ast.ColumnDef, table tableNative) (columnInfo, error) {
	tp := c.Tp
	out := columnInfo{name: c.Name.Name.O, nullable: true}
	unsigned := tidbmysql.HasUnsignedFlag(tp.GetFlag()) || tidbmysql.HasZerofillFlag(tp.GetFlag())
	flen, dec := tp.GetFlen(), tp.GetDecimal()
	collate := tp.GetCollate()
	for _, o := range c.Options {
		switch o.Tp {
		case ast.ColumnOptionNotNull, ast.ColumnOptionPrimaryKey:
			out.nullable = false
		case ast.ColumnOptionNull:
			out.nullable = true
		case ast.ColumnOptionCollate:
			collate = o.StrValue
		case ast.ColumnOptionComment:
			if s, ok := textOf(o.Expr); ok && d.comments {
				out.comment = s
			}
		}
	}
	number := func(name string) {
		out.dataType, out.columnType = name, name
		if unsigned {
			out.columnType += " unsigned"
		}
		if tidbmysql.HasZerofillFlag(tp.GetFlag()) {
			out.columnType += " zerofill"
		}
	}
	texts := func(name string, n int) {
		out.dataType, out.columnType = name, name
		if n >= 0 {
			out.columnType, out.length = fmt.Sprintf("%s(%d)", name, n), int64(n)
		}
		set := strings.ToLower(tp.GetCharset())
		out.collation = strings.ToLower(collate)
		switch {
		case out.collation != "" && set == "":
			set = charsetOf(out.collation)
		case set == "":
			set, out.collation = table.Charset, table.Collation
		}
		if set == "utf8" {
			set = "utf8mb3"
		}
		if out.collation == "" {
			out.collation = d.collations[set]
		}
		out.charset = set
	}
	fraction := func(name string) {
		out.dataType, out.columnType = name, name
		if dec > 0 {
			out.columnType, out.fsp = fmt.Sprintf("%s(%d)", name, dec), int64(dec)
		}
	}
	binary := tp.GetCharset() == "binary"
	switch tp.GetType() {
	case tidbmysql.TypeTiny:
		number("tinyint")
		if flen == 1 && !unsigned {
			out.columnType = "tinyint(1)"
		}
	case tidbmysql.TypeShort:
		number("smallint")
	case tidbmysql.TypeInt24:
		number("mediumint")
	case tidbmysql.TypeLong:
		number("int")
	case tidbmysql.TypeLonglong:
		number("bigint")
	case tidbmysql.TypeNewDecimal:
		p, s := flen, dec
		if p < 0 {
			p = 10
		}
		s = max(s, 0)
		number("decimal")
		out.precision, out.scale = int64(p), int64(s)
		out.columnType = strings.Replace(out.columnType, "decimal", fmt.Sprintf("decimal(%d,%d)", p, s), 1)
	case tidbmysql.TypeFloat, tidbmysql.TypeDouble:
		name := "float"
		if tp.GetType() == tidbmysql.TypeDouble {
			name = "double"
		}
		number(name)
		if flen >= 0 && dec >= 0 {
			out.columnType = strings.Replace(out.columnType, name, fmt.Sprintf("%s(%d,%d)", name, flen, dec), 1)
		}
	case tidbmysql.TypeBit:
		n := max(flen, 1)
		out.dataType, out.columnType, out.precision = "bit", fmt.Sprintf("bit(%d)", n), int64(n)
	case tidbmysql.TypeYear:
		out.dataType, out.columnType = "year", "year"
	case tidbmysql.TypeDate, tidbmysql.TypeNewDate:
		out.dataType, out.columnType = "date", "date"
	case tidbmysql.TypeDatetime:
		fraction("datetime")
	case tidbmysql.TypeTimestamp:
		fraction("timestamp")
	case tidbmysql.TypeDuration:
		fraction("time")
	case tidbmysql.TypeString, tidbmysql.TypeVarchar, tidbmysql.TypeVarString:
		name, n := "char", flen
		if tp.GetType() != tidbmysql.TypeString {
			name = "varchar"
		}
		if n < 0 {
			n = 1
		}
		if binary {
			name = strings.Replace(name, "char", "binary", 1)
			out.dataType, out.columnType, out.length = name, fmt.Sprintf("%s(%d)", name, n), int64(n)
			break
		}
		texts(name, n)
	case tidbmysql.TypeTinyBlob, tidbmysql.TypeBlob, tidbmysql.TypeMediumBlob, tidbmysql.TypeLongBlob:
		size := map[byte]string{tidbmysql.TypeTinyBlob: "tiny", tidbmysql.TypeBlob: "", tidbmysql.TypeMediumBlob: "medium", tidbmysql.TypeLongBlob: "long"}[tp.GetType()]
		if tp.GetType() == tidbmysql.TypeBlob && flen > 0 && flen != 65535 {
			return out, errs.Unsupportedf(-1, "the type of column %s with a length", out.name)
		}
		if binary {
			out.dataType, out.columnType = size+"blob", size+"blob"
			break
		}
		texts(size+"text", -1)
	case tidbmysql.TypeEnum, tidbmysql.TypeSet:
		name := "enum"
		if tp.GetType() == tidbmysql.TypeSet {
			name = "set"
		}
		texts(name, -1)
		var labels []string
		for _, e := range tp.GetElems() {
			labels = append(labels, "'"+strings.ReplaceAll(strings.ReplaceAll(strings.TrimRight(e, " "), `\`, `\\`), "'", "''")+"'")
		}
		out.columnType = name + "(" + strings.Join(labels, ",") + ")"
	case tidbmysql.TypeJSON:
		if d.mariadb {
			out.dataType, out.columnType, out.charset, out.collation = "longtext", "longtext", "utf8mb4", "utf8mb4_bin"
		} else {
			out.dataType, out.columnType = "json", "json"
		}
	default:
		return out, errs.Unsupportedf(-1, "the type %s of column %s", types.TypeStr(tp.GetType()), out.name)
	}
	return out, nil
}

func textOf(e ast.ExprNode) (string, bool) {
	v, ok := e.(ast.ValueExpr)
	if !ok {
		return "", false
	}
	s, ok := v.GetValue().(string)
	return s, ok
}

// column computes a column of a table.
func (d *definer) column(c *ast.ColumnDef, t *source.Table) (source.Column, error) {
	var tn tableNative
	if len(t.Native) > 0 {
		if err := json.Unmarshal(t.Native, &tn); err != nil {
			return source.Column{}, errs.Corruptf("read the kept definition of %s: %w", t.ID, err)
		}
	}
	info, err := d.columnOf(c, tn)
	if err != nil {
		return source.Column{}, err
	}
	return defineColumn(info, slices.Contains(t.PrimaryKey, info.name), d.booleans)
}

// alter applies the clauses of an ALTER TABLE to a definition. Clauses name the
// columns as they were before the statement, as MySQL does; a column that the
// statement adds goes by its new name.
func (d *definer) alter(old *source.Table, specs []*ast.AlterTableSpec) (*source.Table, error) {
	t := old.Clone()
	t.Number()
	find := func(name string) int {
		for i := range old.Columns {
			if strings.EqualFold(old.Columns[i].Name, name) {
				return slices.IndexFunc(t.Columns, func(c source.Column) bool { return c.ID == old.Columns[i].ID && c.ID != 0 })
			}
		}
		return -1
	}
	if slices.ContainsFunc(old.Columns, func(c source.Column) bool { return c.ID == 0 }) {
		return nil, errs.Internalf("alter %s: columns without ids", t.ID)
	}
	byNew := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c source.Column) bool { return strings.EqualFold(c.Name, name) })
	}
	missing := func(name string) error {
		return errs.Corruptf("the statement names the column %s, which %s does not have where it stands in the log", name, t.ID)
	}
	// place moves the i-th column to where a clause wants it.
	place := func(i int, p *ast.ColumnPosition) error {
		if p == nil || p.Tp == ast.ColumnPositionNone {
			return nil
		}
		c := t.Columns[i]
		t.Columns = slices.Delete(t.Columns, i, i+1)
		at := 0
		if p.Tp == ast.ColumnPositionAfter {
			if at = byNew(p.RelativeColumn.Name.O); at < 0 {
				at = find(p.RelativeColumn.Name.O)
			}
			if at < 0 {
				return missing(p.RelativeColumn.Name.O)
			}
			at++
		}
		t.Columns = slices.Insert(t.Columns, at, c)
		return nil
	}
	rename := func(i int, name string) {
		for k, n := range t.PrimaryKey {
			if n == t.Columns[i].Name {
				t.PrimaryKey[k] = name
			}
		}
		t.Columns[i].Name = name
	}
	for _, spec := range specs {
		switch spec.Tp {
		case ast.AlterTableAddColumns:
			for _, def := range spec.NewColumns {
				if byNew(def.Name.Name.O) >= 0 {
					if spec.IfNotExists {
						continue
					}
					return nil, errs.Corruptf("the statement adds the column %s, which %s has already where it stands in the log", def.Name.Name.O, t.ID)
				}
				if key(def) {
					return nil, errs.Unsupportedf(-1, "a new primary key")
				}
				c, err := d.column(def, t)
				if err != nil {
					return nil, err
				}
				c.ID, c.Filled = t.NextColumn, filled(def)
				t.NextColumn++
				t.Columns = append(t.Columns, c)
				if err := place(len(t.Columns)-1, spec.Position); err != nil {
					return nil, err
				}
			}
			for _, k := range spec.NewConstraints {
				if k.Tp == ast.ConstraintPrimaryKey {
					return nil, errs.Unsupportedf(-1, "a new primary key")
				}
			}
		case ast.AlterTableDropColumn:
			i := find(spec.OldColumnName.Name.O)
			if i < 0 {
				if spec.IfExists {
					continue
				}
				return nil, missing(spec.OldColumnName.Name.O)
			}
			if slices.Contains(t.PrimaryKey, t.Columns[i].Name) {
				return nil, errs.Unsupportedf(-1, "a new primary key")
			}
			t.Columns = slices.Delete(t.Columns, i, i+1)
		case ast.AlterTableModifyColumn, ast.AlterTableChangeColumn:
			def := spec.NewColumns[0]
			name := def.Name.Name.O
			if spec.Tp == ast.AlterTableChangeColumn {
				name = spec.OldColumnName.Name.O
			}
			i := find(name)
			if i < 0 {
				if spec.IfExists {
					continue
				}
				return nil, missing(name)
			}
			if key(def) {
				return nil, errs.Unsupportedf(-1, "a new primary key")
			}
			rename(i, def.Name.Name.O)
			c, err := d.column(def, t)
			if err != nil {
				return nil, err
			}
			if slices.Contains(t.PrimaryKey, c.Name) {
				c.Type, c.Required = c.Type.Required(), true
			}
			c.ID = t.Columns[i].ID
			t.Columns[i] = c
			if err := place(i, spec.Position); err != nil {
				return nil, err
			}
		case ast.AlterTableRenameColumn:
			i := find(spec.OldColumnName.Name.O)
			if i < 0 {
				return nil, missing(spec.OldColumnName.Name.O)
			}
			rename(i, spec.NewColumnName.Name.O)
		case ast.AlterTableOption:
			if err := d.tableOptions(t, spec.Options); err != nil {
				return nil, err
			}
		case ast.AlterTableAddConstraint:
			if spec.Constraint != nil && spec.Constraint.Tp == ast.ConstraintPrimaryKey {
				return nil, errs.Unsupportedf(-1, "a new primary key")
			}
		case ast.AlterTableDropIndex:
			if d.unique(t, spec.Name) {
				return nil, errs.Unsupportedf(-1, "a new primary key")
			}
		case ast.AlterTableDropPrimaryKey:
			return nil, errs.Unsupportedf(-1, "a new primary key")
		}
	}
	return t, nil
}

// unique reports whether an index serves as the table's key.
func (d *definer) unique(t *source.Table, index string) bool {
	var tn tableNative
	return len(t.Native) > 0 && json.Unmarshal(t.Native, &tn) == nil && tn.Unique != "" && strings.EqualFold(tn.Unique, index)
}

// filled reports whether the rows that are there get another value than NULL in a
// column that is added.
func filled(c *ast.ColumnDef) bool {
	timestamp := c.Tp.GetType() == tidbmysql.TypeTimestamp // may be NOT NULL where nothing is said
	for _, o := range c.Options {
		switch o.Tp {
		case ast.ColumnOptionNotNull, ast.ColumnOptionAutoIncrement, ast.ColumnOptionGenerated:
			return true
		case ast.ColumnOptionNull:
			timestamp = false
		case ast.ColumnOptionDefaultValue:
			v, ok := o.Expr.(ast.ValueExpr)
			if !ok || v.GetValue() != nil {
				return true
			}
		}
	}
	return timestamp
}

func key(c *ast.ColumnDef) bool {
	return slices.ContainsFunc(c.Options, func(o *ast.ColumnOption) bool { return o.Tp == ast.ColumnOptionPrimaryKey })
}

// tableOptions applies COMMENT and character sets.
func (d *definer) tableOptions(t *source.Table, options []*ast.TableOption) error {
	var tn tableNative
	if len(t.Native) > 0 {
		if err := json.Unmarshal(t.Native, &tn); err != nil {
			return errs.Corruptf("read the kept definition of %s: %w", t.ID, err)
		}
	}
	set, collation, convert := "", "", false
	for _, o := range options {
		switch o.Tp {
		case ast.TableOptionComment:
			if d.comments {
				t.Comment = o.StrValue
			}
		case ast.TableOptionCharset:
			set = strings.ToLower(o.StrValue)
			convert = convert || o.UintValue == ast.TableOptionCharsetWithConvertTo
		case ast.TableOptionCollate:
			collation = strings.ToLower(o.StrValue)
			convert = convert || o.UintValue == ast.TableOptionCharsetWithConvertTo
		}
	}
	if set == "" && collation == "" {
		if convert {
			return errs.Unsupportedf(-1, "CONVERT TO CHARACTER SET DEFAULT")
		}
		return nil
	}
	if set == "" {
		set = charsetOf(collation)
	}
	if set == "utf8" {
		set = "utf8mb3"
	}
	if collation == "" {
		collation = d.collations[set]
	}
	if convert {
		if set == "binary" || set == "" {
			return errs.Unsupportedf(-1, "CONVERT TO CHARACTER SET %s", set)
		}
		for i := range t.Columns {
			if err := convertColumn(&t.Columns[i], set, collation); err != nil {
				return err
			}
		}
	}
	var err error
	tn.Charset, tn.Collation = set, collation
	if t.Native, err = json.Marshal(tn); err != nil {
		return errs.Internalf("describe %s: %w", t.ID, err)
	}
	return nil
}

// convertColumn gives a text column another character set. Texts whose bytes may
// grow beyond their type get the next larger one, as the server does.
func convertColumn(c *source.Column, set, collation string) error {
	n, err := nativeOf(c)
	if err != nil {
		return err
	}
	text, _, isText := strings.Cut(c.Declared, " collate ")
	if !isText {
		return nil
	}
	if n.Charset != "" {
		if max(maxCharBytes[set], 1) > max(maxCharBytes[n.Charset], 1) {
			next := map[string]string{"tinytext": "text", "text": "mediumtext", "mediumtext": "longtext"}
			if x := next[n.Type]; x != "" {
				n.Type, text = x, x
			}
		}
		n.Charset = set
	}
	c.Declared = text + " collate " + collation
	if c.Native, err = json.Marshal(n); err != nil {
		return errs.Internalf("describe column %s: %w", c.Name, err)
	}
	return nil
}

// create computes the definition that a CREATE TABLE makes. table is what its
// database gives tables that say nothing of their character set.
func (d *definer) create(id source.ID, s *ast.CreateTableStmt, table json.RawMessage) (*source.Table, error) {
	t := &source.Table{ID: id, Rows: -1, Bytes: -1, Native: table}
	if err := d.tableOptions(t, s.Options); err != nil {
		return nil, err
	}
	for _, c := range s.Cols {
		if key(c) {
			t.PrimaryKey = []string{c.Name.Name.O}
		}
	}
	for _, k := range s.Constraints {
		if k.Tp != ast.ConstraintPrimaryKey {
			continue
		}
		t.PrimaryKey = nil
		for _, x := range k.Keys {
			i := slices.IndexFunc(s.Cols, func(c *ast.ColumnDef) bool {
				return x.Column != nil && strings.EqualFold(c.Name.Name.O, x.Column.Name.O)
			})
			if i < 0 {
				return nil, errs.Unsupportedf(-1, "a primary key of expressions")
			}
			t.PrimaryKey = append(t.PrimaryKey, s.Cols[i].Name.Name.O)
		}
	}
	for _, def := range s.Cols {
		c, err := d.column(def, t)
		if err != nil {
			return nil, err
		}
		if slices.Contains(t.PrimaryKey, c.Name) {
			c.Type, c.Required = c.Type.Required(), true
		}
		t.Columns = append(t.Columns, c)
	}
	t.Number()
	return t, nil
}
