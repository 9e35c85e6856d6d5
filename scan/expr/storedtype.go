package expr

import (
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// StoredType is the type of the lake that holds an expression's values, and what
// MySQL knows of it beyond that (the table option mysql.type.<id>; DESIGN D15).
// Errors: errs.Unsupported for types that no column has.
func StoredType(t Type) (catalog.Type, string, error) {
	whole := func(signed, wide catalog.Type, name string) (catalog.Type, string, error) {
		if t.Unsigned {
			return wide, name + " unsigned", nil
		}
		return signed, "", nil
	}
	fraction := func(name string) string {
		if t.Scale == 0 {
			return name
		}
		return fmt.Sprintf("%s(%d)", name, t.Scale)
	}
	switch t.Class {
	case Bool:
		if t.Width == 1 {
			return catalog.TTinyInt, "tinyint(1)", nil
		}
		return catalog.TInt, "", nil
	case Int:
		switch t.Width {
		case 1:
			return whole(catalog.TTinyInt, catalog.TSmallInt, "tinyint")
		case 2:
			return whole(catalog.TSmallInt, catalog.TInt, "smallint")
		case 3:
			if t.Unsigned {
				return catalog.TInt, "mediumint unsigned", nil
			}
			return catalog.TInt, "mediumint", nil
		case 4:
			return whole(catalog.TInt, catalog.TBigInt, "int")
		}
		return whole(catalog.TBigInt, catalog.TDecimal(20, 0), "bigint")
	case Decimal:
		p, s := max(t.Precision, 1), t.Scale
		declared := fmt.Sprintf("decimal(%d,%d)", p, s) + unsignedSuffix(t.Unsigned)
		if p > 38 {
			return catalog.TString, declared, nil
		}
		if !t.Unsigned {
			declared = ""
		}
		return catalog.TDecimal(p, s), declared, nil
	case Float:
		return catalog.TFloat, "", nil
	case Double:
		return catalog.TDouble, "", nil
	case String:
		if t.Length < 0 || t.Length > 16383 {
			return catalog.TString, "longtext collate " + t.Collation, nil
		}
		if t.Length == 0 {
			return catalog.TString, "varchar(0) collate " + t.Collation, nil
		}
		return catalog.Type{Kind: catalog.Varchar, Length: t.Length}, fmt.Sprintf("varchar(%d) collate %s", t.Length, t.Collation), nil
	case Bytes, Null:
		if t.Class == Bytes && t.Length > 0 && t.Length <= 65535 {
			return catalog.Type{Kind: catalog.Varbinary, Length: t.Length}, "", nil
		}
		return catalog.TBytes, "longblob", nil
	case Date:
		return catalog.TDate, "", nil
	case DateTime:
		return catalog.TTimestamp(t.Scale), "", nil
	case Timestamp:
		return catalog.TTimestampLTZ(t.Scale), "", nil
	case Time:
		return catalog.TBigInt, fraction("time"), nil
	case Year:
		return catalog.TInt, "year", nil
	case JSON:
		return catalog.TString, "json", nil
	case Enum, Set:
		name := "enum"
		if t.Class == Set {
			name = "set"
		}
		var parts []string
		for _, v := range t.Labels {
			parts = append(parts, "'"+strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), "'", "''")+"'")
		}
		return catalog.TString, name + "(" + strings.Join(parts, ",") + ") collate " + t.Collation, nil
	case Bit:
		n := min(max(t.Length, 1), 64)
		return catalog.Type{Kind: catalog.Binary, Length: (n + 7) / 8}, fmt.Sprintf("bit(%d)", n), nil
	}
	return catalog.Type{}, "", errs.Unsupportedf(-1, "columns of its type")
}

func unsignedSuffix(unsigned bool) string {
	if unsigned {
		return " unsigned"
	}
	return ""
}
