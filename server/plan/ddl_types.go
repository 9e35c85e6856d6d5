package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// tableTypes translates the columns of one CREATE TABLE.
type tableTypes struct {
	flink     bool
	collation string // of text columns without one
	name      string // of the column at hand, for messages
	env       *Env
}

// column translates a column. declared is what MySQL knows of it beyond the
// lake's type, in MySQL's spelling.
func (t *tableTypes) column(c *syntax.ColumnDef) (f catalog.Field, declared string, err error) {
	switch {
	case c.Generated != nil:
		return f, "", errs.Unsupportedf(c.Pos(), "generated columns")
	case c.Metadata:
		return f, "", errs.Unsupportedf(c.Pos(), "metadata columns")
	case c.AutoIncrement:
		return f, "", errs.Unsupportedf(c.Pos(), "AUTO_INCREMENT")
	case len(c.Checks) > 0:
		return f, "", errs.Unsupportedf(c.Checks[0].Pos(), "CHECK constraints")
	case c.References != nil:
		return f, "", errs.Unsupportedf(c.References.Pos(), "foreign keys")
	case c.OnUpdate != nil:
		return f, "", errs.Unsupportedf(c.OnUpdate.Pos(), "ON UPDATE")
	case c.Invisible:
		return f, "", errs.Unsupportedf(c.Pos(), "invisible columns")
	case c.Type == nil:
		return f, "", errs.Unsupportedf(c.Pos(), "a column without a type")
	}
	if c.Unique {
		t.env.warn("Warning", noUnique)
	}
	f.Name, f.Comment = c.Name.Name, c.Comment
	t.name = f.Name
	switch {
	case c.LakeType != nil:
		f.Type, err = flinkType(c.LakeType)
	case t.flink:
		f.Type, err = flinkType(c.Type)
	default:
		f.Type, declared, err = t.mysqlType(c.Type, c.Collate)
	}
	if err != nil {
		return f, "", err
	}
	if c.NotNull || c.PrimaryKey || c.Type.NotNull {
		f.Type.NotNull = true
	}
	if c.Default != nil {
		f.Default, err = t.defaultOf(c)
	}
	return f, declared, err
}

// defaultOf returns the text of a constant default; nil for DEFAULT NULL.
func (t *tableTypes) defaultOf(c *syntax.ColumnDef) (*string, error) {
	b := newBinder(context.Background(), t.env)
	bl := &block{b: b}
	if f, ok := c.Default.(*syntax.FuncCall); ok {
		return nil, errs.Unsupportedf(f.Pos(), "DEFAULT %s", strings.ToUpper(f.Name.Object()))
	}
	x, err := bl.bind(c.Default, &scope{bl: bl, clause: inFields, rel: &bl.rel, noAggs: true, noSubs: "subqueries in DEFAULT"})
	if err != nil {
		return nil, err
	}
	if !expr.IsConst(x) {
		return nil, errs.Unsupportedf(c.Default.Pos(), "a DEFAULT that is not constant")
	}
	v, err := b.evaluate(x)
	if err != nil || v.IsNull() {
		if err == nil && c.NotNull {
			err = errs.UserAt(c.Default.Pos(), errs.InvalidDefault, "Invalid default value for '%s'", c.Name.Name)
		}
		return nil, err
	}
	s := string(expr.AppendText(nil, v.Type, v.Vec, 0, t.env.Expr.Zone))
	return &s, nil
}

// mysqlType translates a type of MySQL's (DESIGN D15).
func (t *tableTypes) mysqlType(d *syntax.DataType, collate string) (catalog.Type, string, error) {
	unsigned := d.Unsigned || d.Zerofill
	length := func(def int) int {
		if d.HasLength {
			return d.Length
		}
		return def
	}
	whole := func(signed, wide catalog.Type, name string) (catalog.Type, string, error) {
		if unsigned {
			return wide, name + " unsigned", nil
		}
		return signed, "", nil
	}
	fsp := length(0)
	if fsp > 6 {
		switch d.Name {
		case "DATETIME", "TIMESTAMP", "TIME":
			return catalog.Type{}, "", errs.UserAt(d.Pos(), errs.TooBigPrecision, "Too-big precision %d specified for '%s'. Maximum is 6.", fsp, t.name)
		}
	}
	switch d.Name {
	case "TINYINT", "INT1", "SMALLINT", "INT2", "MEDIUMINT", "INT3", "MIDDLEINT", "INT", "INTEGER", "INT4", "BIGINT", "INT8":
		if err := t.width(d, 255); err != nil {
			return catalog.Type{}, "", err
		}
	case "FLOAT", "FLOAT4", "DOUBLE", "DOUBLE PRECISION", "REAL", "FLOAT8":
		switch {
		case d.HasScale:
			err := t.width(d, 255)
			if err == nil {
				err = t.fraction(d, d.Length, d.Scale)
			}
			if err != nil {
				return catalog.Type{}, "", err
			}
		case d.HasLength && d.Length > 53:
			return catalog.Type{}, "", errs.UserAt(d.Pos(), errs.WrongFieldSpec, "Incorrect column specifier for column '%s'", t.name)
		}
	}
	switch d.Name {
	case "BOOL", "BOOLEAN":
		return catalog.TTinyInt, "tinyint(1)", nil
	case "TINYINT", "INT1":
		if !unsigned && d.HasLength && d.Length == 1 {
			return catalog.TTinyInt, "tinyint(1)", nil
		}
		return whole(catalog.TTinyInt, catalog.TSmallInt, "tinyint")
	case "SMALLINT", "INT2":
		return whole(catalog.TSmallInt, catalog.TInt, "smallint")
	case "MEDIUMINT", "INT3", "MIDDLEINT":
		if unsigned {
			return catalog.TInt, "mediumint unsigned", nil
		}
		return catalog.TInt, "mediumint", nil
	case "INT", "INTEGER", "INT4":
		return whole(catalog.TInt, catalog.TBigInt, "int")
	case "BIGINT", "INT8":
		return whole(catalog.TBigInt, catalog.TDecimal(20, 0), "bigint")
	case "SERIAL":
		return catalog.Type{}, "", errs.Unsupportedf(d.Pos(), "SERIAL")
	case "DECIMAL", "DEC", "NUMERIC", "FIXED":
		return t.mysqlDecimal(d, length(10), unsigned)
	case "FLOAT", "FLOAT4":
		if d.HasScale || d.HasLength && d.Length > 24 {
			if d.HasScale {
				return catalog.TFloat, fmt.Sprintf("float(%d,%d)", d.Length, d.Scale) + sign(unsigned), nil
			}
			return catalog.TDouble, declaredSign("double", unsigned), nil
		}
		return catalog.TFloat, declaredSign("float", unsigned), nil
	case "DOUBLE", "DOUBLE PRECISION", "REAL", "FLOAT8":
		if d.Name == "REAL" && t.env.Expr.Mode.Has(expr.RealAsFloat) {
			return catalog.TFloat, declaredSign("float", unsigned), nil
		}
		if d.HasScale {
			return catalog.TDouble, fmt.Sprintf("double(%d,%d)", d.Length, d.Scale) + sign(unsigned), nil
		}
		return catalog.TDouble, declaredSign("double", unsigned), nil
	case "BIT":
		n := length(1)
		if n < 1 || n > 64 {
			return catalog.Type{}, "", errs.UserAt(d.Pos(), errs.TooBigWidth, "Display width out of range for column '%s' (max = 64)", t.name)
		}
		return catalog.Type{Kind: catalog.Binary, Length: (n + 7) / 8}, fmt.Sprintf("bit(%d)", n), nil
	case "YEAR":
		return catalog.TInt, "year", nil
	case "DATE":
		return catalog.TDate, "", nil
	case "DATETIME":
		return catalog.TTimestamp(fsp), "", nil
	case "TIMESTAMP":
		return catalog.TTimestampLTZ(fsp), "", nil
	case "TIME":
		if fsp == 0 {
			return catalog.TBigInt, "time", nil
		}
		return catalog.TBigInt, fmt.Sprintf("time(%d)", fsp), nil
	case "JSON":
		return catalog.TString, "json", nil
	case "BINARY":
		if n := length(1); n > 0 {
			return catalog.Type{Kind: catalog.Binary, Length: n}, "", nil
		}
		return catalog.TBytes, "binary(0)", nil
	case "VARBINARY":
		if n := length(1); n > 0 {
			return catalog.Type{Kind: catalog.Varbinary, Length: n}, "", nil
		}
		return catalog.TBytes, "varbinary(0)", nil
	case "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB":
		return catalog.TBytes, strings.ToLower(d.Name), nil
	}
	return t.mysqlText(d, collate, length(1))
}

func sign(unsigned bool) string {
	if unsigned {
		return " unsigned"
	}
	return ""
}

func declaredSign(name string, unsigned bool) string {
	if unsigned {
		return name + " unsigned"
	}
	return ""
}

func (t *tableTypes) mysqlDecimal(d *syntax.DataType, p int, unsigned bool) (catalog.Type, string, error) {
	s := d.Scale
	if p == 0 {
		p = 10
	}
	switch {
	case p > 65:
		return catalog.Type{}, "", errs.UserAt(d.Pos(), errs.TooBigPrecision, "Too-big precision %d specified for '%s'. Maximum is 65.", p, t.name)
	}
	if err := t.fraction(d, p, s); err != nil {
		return catalog.Type{}, "", err
	}
	declared := fmt.Sprintf("decimal(%d,%d)", p, s) + sign(unsigned)
	if p > 38 {
		return catalog.TString, declared, nil
	}
	if !unsigned {
		declared = ""
	}
	return catalog.TDecimal(p, s), declared, nil
}

// fraction checks the fraction digits s of a type with p digits.
func (t *tableTypes) fraction(d *syntax.DataType, p, s int) error {
	switch {
	case s > 30:
		return errs.UserAt(d.Pos(), errs.TooBigScale, "Too big scale %d specified for column '%s'. Maximum is 30.", s, t.name)
	case s > p:
		return errs.UserAt(d.Pos(), errs.ScaleOverDigits, "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '%s').", t.name)
	}
	return nil
}

// width checks the width of a number as it is shown.
func (t *tableTypes) width(d *syntax.DataType, most int) error {
	if d.HasLength && d.Length > most {
		return errs.UserAt(d.Pos(), errs.TooBigWidth, "Display width out of range for column '%s' (max = %d)", t.name, most)
	}
	return nil
}

// mysqlText translates text types, with their collation.
func (t *tableTypes) mysqlText(d *syntax.DataType, collate string, n int) (catalog.Type, string, error) {
	if collate == "" {
		collate = d.Collate
	}
	if collate == "" && d.Charset != "" {
		c, ok := charsetCollations[d.Charset]
		if !ok {
			return catalog.Type{}, "", errs.UserAt(d.Pos(), errs.UnknownCharset, "Unknown character set: '%s'", d.Charset)
		}
		collate = c
	}
	if collate == "" {
		collate = t.collation
	}
	if collate == "binary" {
		return catalog.Type{}, "", errs.Unsupportedf(d.Pos(), "CHARACTER SET binary; write BINARY, VARBINARY or BLOB")
	}
	if d.Binary {
		cs, _, _ := strings.Cut(collate, "_")
		collate = cs + "_bin"
	}
	with := func(ct catalog.Type, name string) (catalog.Type, string, error) {
		return ct, name + " collate " + collate, nil
	}
	labels := func(name string) (catalog.Type, string, error) {
		var parts []string
		for _, v := range d.Values {
			parts = append(parts, "'"+strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), "'", "''")+"'")
		}
		return with(catalog.TString, name+"("+strings.Join(parts, ",")+")")
	}
	switch d.Name {
	case "CHAR", "CHARACTER", "NCHAR":
		if n < 1 {
			return with(catalog.TString, "char(0)")
		}
		return with(catalog.Type{Kind: catalog.Char, Length: n}, fmt.Sprintf("char(%d)", n))
	case "VARCHAR", "CHAR VARYING", "CHARACTER VARYING", "NVARCHAR", "VARCHARACTER":
		if !d.HasLength {
			return catalog.Type{}, "", errs.UserAt(d.Pos(), errs.Syntax, "VARCHAR needs a length: VARCHAR(n)")
		}
		if n < 1 {
			return with(catalog.TString, "varchar(0)")
		}
		return with(catalog.Type{Kind: catalog.Varchar, Length: n}, fmt.Sprintf("varchar(%d)", n))
	case "STRING":
		return with(catalog.TString, "longtext")
	case "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT":
		return with(catalog.TString, strings.ToLower(d.Name))
	case "LONG", "LONG VARCHAR":
		return with(catalog.TString, "mediumtext")
	case "ENUM":
		return labels("enum")
	case "SET":
		return labels("set")
	}
	return catalog.Type{}, "", errs.Unsupportedf(d.Pos(), "the column type %s", d.Name)
}

// flinkType translates a type of Flink's.
func flinkType(d *syntax.DataType) (catalog.Type, error) {
	t, err := flinkBase(d)
	if err != nil {
		return t, err
	}
	t.NotNull = d.NotNull
	return t, nil
}

func flinkBase(d *syntax.DataType) (catalog.Type, error) {
	length := func(def int) int {
		if d.HasLength {
			return d.Length
		}
		return def
	}
	if d.Unsigned || d.Zerofill || d.Charset != "" || d.Collate != "" {
		return catalog.Type{}, errs.UserAt(d.Pos(), errs.WrongFieldSpec, "UNSIGNED, CHARACTER SET and COLLATE are MySQL's; a table in Flink's spelling has none of them")
	}
	switch d.Name {
	case "BOOLEAN", "BOOL":
		return catalog.TBoolean, nil
	case "TINYINT":
		return catalog.TTinyInt, nil
	case "SMALLINT":
		return catalog.TSmallInt, nil
	case "INT", "INTEGER":
		return catalog.TInt, nil
	case "BIGINT":
		return catalog.TBigInt, nil
	case "FLOAT":
		return catalog.TFloat, nil
	case "DOUBLE", "DOUBLE PRECISION":
		return catalog.TDouble, nil
	case "DECIMAL", "DEC", "NUMERIC":
		p, s := length(10), d.Scale
		if p < 1 || p > 38 || s > p {
			return catalog.Type{}, errs.UserAt(d.Pos(), errs.TooBigPrecision, "DECIMAL(%d, %d): the precision must be between 1 and 38 and not less than the scale", p, s)
		}
		return catalog.TDecimal(p, s), nil
	case "CHAR", "CHARACTER":
		return catalog.Type{Kind: catalog.Char, Length: length(1)}, nil
	case "VARCHAR", "CHAR VARYING", "CHARACTER VARYING":
		return catalog.Type{Kind: catalog.Varchar, Length: length(1)}, nil
	case "STRING":
		return catalog.TString, nil
	case "BINARY":
		return catalog.Type{Kind: catalog.Binary, Length: length(1)}, nil
	case "VARBINARY":
		return catalog.Type{Kind: catalog.Varbinary, Length: length(1)}, nil
	case "BYTES":
		return catalog.TBytes, nil
	case "DATE":
		return catalog.TDate, nil
	case "TIME":
		return catalog.TTime(length(0)), nil
	case "TIMESTAMP", "TIMESTAMP_LTZ", "DATETIME":
		n := length(6)
		if n > 9 {
			return catalog.Type{}, errs.UserAt(d.Pos(), errs.TooBigPrecision, "Too-big precision %d specified. Maximum is 9.", n)
		}
		if d.Name == "DATETIME" {
			return catalog.Type{}, errs.UserAt(d.Pos(), errs.WrongFieldSpec, "DATETIME is MySQL's; in Flink's spelling it is TIMESTAMP")
		}
		switch {
		case d.Zone == syntax.WithTimeZone:
			return catalog.Type{}, errs.Unsupportedf(d.Pos(), "TIMESTAMP WITH TIME ZONE; write WITH LOCAL TIME ZONE")
		case d.Zone == syntax.WithLocalTimeZone, d.Name == "TIMESTAMP_LTZ":
			return catalog.TTimestampLTZ(n), nil
		}
		return catalog.TTimestamp(n), nil
	case "ARRAY", "MULTISET":
		e, err := flinkType(d.Elem)
		k := catalog.Array
		if d.Name == "MULTISET" {
			k = catalog.Multiset
		}
		return catalog.Type{Kind: k, Elem: &e}, err
	case "MAP":
		k, err := flinkType(d.Key)
		if err != nil {
			return catalog.Type{}, err
		}
		v, err := flinkType(d.Elem)
		return catalog.Type{Kind: catalog.Map, Key: &k, Elem: &v}, err
	case "ROW":
		t := catalog.Type{Kind: catalog.Row}
		for i, f := range d.Fields {
			ft, err := flinkType(f.Type)
			if err != nil {
				return t, err
			}
			t.Fields = append(t.Fields, catalog.Field{ID: i, Name: f.Name.Name, Type: ft, Comment: f.Comment})
		}
		return t, nil
	}
	return catalog.Type{}, errs.Unsupportedf(d.Pos(), "the column type %s", d.Name)
}
