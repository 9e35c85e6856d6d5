package transform

import (
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// Common returns the column that holds the values of two: the type of a lake
// table's column that several source tables feed. loss says what it holds only
// nearly, "" when nothing is lost. NULL is allowed when either allows it.
// Errors: errs.Unsupported when no type holds both.
func Common(a, b source.Column) (c source.Column, loss string, err error) {
	c = a
	c.Native = nil
	if !a.Type.NotNull || !b.Type.NotNull {
		a.Type, b.Type, c.Type = a.Type.Nullable(), b.Type.Nullable(), c.Type.Nullable()
	}
	c.Required = a.Required && b.Required
	if a.Type.Equal(b.Type) && a.Declared == b.Declared {
		return c, "", nil
	}
	refuse := func() (source.Column, string, error) {
		return c, "", errs.Unsupportedf(-1, "one column for %s and %s", spelled(a.Type, a.Declared), spelled(b.Type, b.Declared))
	}
	set := func(t catalog.Type, declared string) (source.Column, string, error) {
		t.NotNull = c.Type.NotNull
		c.Type, c.Declared = t, declared
		for _, x := range []source.Column{a, b} { // what converts is decided in one place
			if _, ok := converter(x, t, declared); !ok {
				return refuse()
			}
		}
		return c, loss, nil
	}
	asText := func() (source.Column, string, error) { return set(catalog.TString, "") }
	x, y := classOf(a.Type, a.Declared), classOf(b.Type, b.Declared)
	if x > y {
		x, y, a, b = y, x, b, a
	}
	switch {
	case y == instant && x != instant: // as text or wall clock it would depend on a zone
		return refuse()
	case x == integer && y == integer:
		if integerDigits[a.Type.Kind] < integerDigits[b.Type.Kind] {
			a = b
		}
		return set(a.Type, "")
	case x == integer && y == decimal:
		digits := max(b.Type.Length-b.Type.Scale, integerDigits[a.Type.Kind])
		if digits+b.Type.Scale > 38 {
			return asText()
		}
		return set(catalog.TDecimal(digits+b.Type.Scale, b.Type.Scale), "")
	case x == decimal && y == decimal:
		scale := max(a.Type.Scale, b.Type.Scale)
		digits := max(a.Type.Length-a.Type.Scale, b.Type.Length-b.Type.Scale)
		if digits+scale > 38 {
			return refuse()
		}
		return set(catalog.TDecimal(digits+scale, scale), "")
	case x == integer && y == real32:
		if a.Type.Kind == catalog.TinyInt || a.Type.Kind == catalog.SmallInt {
			return set(catalog.TFloat, "")
		}
		fallthrough
	case x == integer && y == real64, x == real32 && y == real64:
		if a.Type.Kind == catalog.BigInt {
			loss = "integers beyond 2^53 are rounded in a DOUBLE"
		}
		return set(catalog.TDouble, "")
	case x == real32 && y == real32:
		return set(catalog.TFloat, "")
	case x == real64 && y == real64:
		return set(catalog.TDouble, "")
	case x == text && y == text:
		return set(commonText(a, b, &loss))
	case x == bytes && y == bytes:
		if n := max(a.Type.Length, b.Type.Length); n < catalog.MaxLength {
			return set(catalog.Type{Kind: catalog.Varbinary, Length: n}, "")
		}
		return set(catalog.TBytes, "longblob")
	case x == date && y == wall:
		return set(catalog.TTimestamp(b.Type.Length), "")
	case x == wall && y == wall:
		return set(catalog.TTimestamp(max(a.Type.Length, b.Type.Length)), "")
	case x == instant && y == instant:
		return set(catalog.TTimestampLTZ(max(a.Type.Length, b.Type.Length)), "")
	case x == other && y == other && strings.HasPrefix(a.Declared, "time") && strings.HasPrefix(b.Declared, "time"):
		declared := max(a.Declared, b.Declared) // time, time(1) … time(6)
		return set(a.Type, declared)
	}
	return asText()
}

// commonText is the type of two texts: the longer, with their collation.
func commonText(a, b source.Column, loss *string) (catalog.Type, string) {
	n := max(a.Type.Length, b.Type.Length)
	ca, cb := collationOf(a.Declared), collationOf(b.Declared)
	collate := ""
	if ca == cb && ca != "" {
		collate = " collate " + ca
	} else if ca != cb {
		*loss = "texts of different collations compare by their bytes"
	}
	t := catalog.Type{Kind: catalog.Varchar, Length: n}
	switch {
	case collate == "":
		return t, ""
	case n > 16383:
		return catalog.TString, "longtext" + collate
	}
	return t, fmt.Sprintf("varchar(%d)%s", n, collate)
}

func collationOf(declared string) string {
	_, c, _ := strings.Cut(declared, " collate ")
	return strings.TrimSpace(c)
}
