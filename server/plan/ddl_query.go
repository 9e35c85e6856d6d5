package plan

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// QueryColumn is the column that holds what a query's column gives: of a table
// made AS SELECT, and of a view as clients see it. declared is what MySQL knows
// of it beyond the lake's type (catalog.MySQLTypeOption).
func QueryColumn(c Column, env *Env) (f catalog.Field, declared string, err error) {
	d, err := declarationOf(c)
	if err != nil {
		return f, "", err
	}
	types := tableTypes{env: env, collation: c.Type.Collation}
	f.Name = c.Name
	f.Type, declared, err = types.mysqlType(d, d.Collate)
	f.Type.NotNull = !c.Type.Nullable
	return f, declared, err
}

// declarationOf is the type of a column as one would declare it. Texts keep
// their expression's collation (DESIGN D17); of a length that MySQL's row has no
// room for they become TEXT and LONGTEXT, as in MySQL.
func declarationOf(c Column) (*syntax.DataType, error) {
	t := c.Type
	d := &syntax.DataType{Unsigned: t.Unsigned}
	length := func(name string, n int) {
		d.Name, d.HasLength, d.Length = name, true, n
	}
	switch t.Class {
	case expr.Null:
		length("BINARY", 0)
	case expr.Bool:
		if d.Name = "INT"; t.Width == 1 {
			length("TINYINT", 1)
		}
	case expr.Int:
		d.Name = map[int]string{1: "TINYINT", 2: "SMALLINT", 3: "MEDIUMINT", 4: "INT"}[t.Width]
		if d.Name == "" {
			d.Name = "BIGINT"
		}
	case expr.Decimal:
		length("DECIMAL", min(t.Precision, 65))
		d.HasScale, d.Scale = true, t.Scale
	case expr.Float:
		d.Name = "FLOAT"
	case expr.Double:
		d.Name = "DOUBLE"
	case expr.Date:
		d.Name = "DATE"
	case expr.Year:
		d.Name = "YEAR"
	case expr.DateTime:
		length("DATETIME", t.Scale)
	case expr.Timestamp:
		length("TIMESTAMP", t.Scale)
	case expr.Time:
		length("TIME", t.Scale)
	case expr.JSON:
		d.Name = "JSON"
	case expr.Bit:
		length("BIT", t.Length)
	case expr.Enum, expr.Set:
		if d.Name = "ENUM"; t.Class == expr.Set {
			d.Name = "SET"
		}
		d.Values, d.Collate = t.Labels, t.Collation
	case expr.String:
		d.Collate = t.Collation
		switch {
		case t.Length <= 16383:
			length("VARCHAR", t.Length)
		case t.Length <= 65535:
			d.Name = "TEXT"
		default:
			d.Name = "LONGTEXT"
		}
		if d.Collate == "binary" { // a number as text
			d.Collate = ""
			return d, nil
		}
	case expr.Bytes:
		switch {
		case t.Length <= 65535:
			length("VARBINARY", t.Length)
		default:
			d.Name = "LONGBLOB"
		}
	default:
		return nil, errs.Unsupportedf(-1, "a column like '%s', whose type MySQL's spelling cannot say", c.Name)
	}
	return d, nil
}
