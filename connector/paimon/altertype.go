package paimon

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// sameType reports whether two types are the same but for their own
// nullability, and the ids and comments of members.
func sameType(a, b catalog.Type) bool {
	if a.Kind != b.Kind || a.Length != b.Length || a.Scale != b.Scale || len(a.Fields) != len(b.Fields) {
		return false
	}
	for _, p := range [][2]*catalog.Type{{a.Key, b.Key}, {a.Elem, b.Elem}} {
		if (p[0] == nil) != (p[1] == nil) || p[0] != nil && (p[0].NotNull != p[1].NotNull || !sameType(*p[0], *p[1])) {
			return false
		}
	}
	for i, f := range a.Fields {
		g := b.Fields[i]
		if f.Name != g.Name || f.Comment != g.Comment || f.Type.NotNull != g.Type.NotNull || !sameType(f.Type, g.Type) {
			return false
		}
	}
	return true
}

// families of types, as casts see them.
func isText(t catalog.Type) bool    { return t.Kind == catalog.Char || t.Kind == catalog.Varchar }
func isBytes(t catalog.Type) bool   { return t.Kind == catalog.Binary || t.Kind == catalog.Varbinary }
func isInteger(t catalog.Type) bool { return t.Kind >= catalog.TinyInt && t.Kind <= catalog.BigInt }
func isNumber(t catalog.Type) bool  { return t.Kind >= catalog.TinyInt && t.Kind <= catalog.Decimal }
func isInstant(t catalog.Type) bool {
	return t.Kind == catalog.Timestamp || t.Kind == catalog.TimestampLTZ
}

// castable reports whether Java Paimon casts values of one type to another, so
// that a column may change from it: where DataTypeCasts allows it and
// CastExecutors has a rule. Without explicit, only what loses nothing.
func castable(from, to catalog.Type, explicit bool) bool {
	if !explicit && !implicit(from, to) {
		return false
	}
	switch to.Kind {
	case catalog.Char, catalog.Varchar:
		if isInstant(from) || from.Kind == catalog.Date || from.Kind == catalog.Time {
			return to.Kind == catalog.Varchar && to.Length == catalog.MaxLength && !to.NotNull
		}
		return isText(from) || isBytes(from) || isNumber(from) || from.Kind == catalog.Boolean ||
			from.Kind == catalog.Array || from.Kind == catalog.Map || from.Kind == catalog.Row
	case catalog.Boolean:
		return isInteger(from) || isText(from)
	case catalog.Binary, catalog.Varbinary:
		return isBytes(from) || isText(from)
	case catalog.Int, catalog.BigInt:
		return isNumber(from) || isText(from) || from.Kind == catalog.Boolean || isInstant(from)
	case catalog.TinyInt, catalog.SmallInt, catalog.Float, catalog.Double, catalog.Decimal:
		return isNumber(from) || isText(from) || from.Kind == catalog.Boolean
	case catalog.Date, catalog.Time:
		return isInstant(from) || isText(from)
	case catalog.Timestamp, catalog.TimestampLTZ:
		return isInstant(from) || isText(from) || from.Kind == catalog.Date || from.Kind == catalog.Time ||
			from.Kind == catalog.Int || from.Kind == catalog.BigInt
	}
	return false
}

// implicit reports whether a cast loses nothing by Java Paimon's table of
// implicit casts, which looks at the kinds of types only.
func implicit(from, to catalog.Type) bool {
	if !from.NotNull && to.NotNull {
		return false
	}
	if from.Kind == to.Kind {
		return true
	}
	switch to.Kind {
	case catalog.Varchar:
		return isText(from)
	case catalog.Varbinary:
		return isBytes(from)
	case catalog.Decimal, catalog.Double:
		return isNumber(from)
	case catalog.SmallInt, catalog.Int, catalog.BigInt:
		return isInteger(from) && from.Kind < to.Kind
	case catalog.Float:
		return isInteger(from) || from.Kind == catalog.Decimal
	case catalog.Date, catalog.Time:
		return from.Kind == catalog.Timestamp
	case catalog.Timestamp, catalog.TimestampLTZ:
		return isInstant(from)
	}
	return false
}

// Texts that Java Paimon reads as dates and times.
var (
	dateText      = regexp.MustCompile(`^\d{1,4}-\d{1,2}-\d{1,2}$`)
	timeText      = regexp.MustCompile(`^\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{1,9})?)?$`)
	timestampText = regexp.MustCompile(`^\d{1,4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{1,9})?)?)?$`)
)

// checkDefault checks the default value of a column: a text that writers cast to
// the column's type. Single quotes around it are no part of it.
func checkDefault(name string, t catalog.Type, v *string) error {
	if v == nil {
		return nil
	}
	s := *v
	if len(s) >= 2 && strings.HasPrefix(s, "'") && strings.HasSuffix(s, "'") {
		s = s[1 : len(s)-1]
	}
	ok := false
	switch t.Kind {
	case catalog.Char, catalog.Varchar, catalog.Binary, catalog.Varbinary:
		ok = true
	case catalog.Boolean:
		switch strings.ToLower(s) {
		case "t", "true", "y", "yes", "1", "f", "false", "n", "no", "0":
			ok = true
		}
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt:
		_, err := strconv.ParseInt(s, 10, 8<<(t.Kind-catalog.TinyInt))
		ok = err == nil
	case catalog.Float, catalog.Double:
		_, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		ok = err == nil && !strings.ContainsAny(s, "_xX")
	case catalog.Decimal:
		_, ok = new(big.Rat).SetString(s)
		ok = ok && !strings.ContainsAny(s, "/_xX")
	case catalog.Date:
		ok = dateText.MatchString(s) && validDate(s)
	case catalog.Time:
		ok = timeText.MatchString(s)
	case catalog.Timestamp, catalog.TimestampLTZ:
		ok = timestampText.MatchString(s) && validDate(s[:strings.IndexAny(s+" ", " T")])
	case catalog.Array, catalog.Map, catalog.Row:
		return errs.Unsupportedf(-1, "default values of the type %s (column %q)", t.Nullable(), name)
	}
	if !ok {
		return errs.Userf(errs.InvalidDefault, "Invalid default value for '%s'", name)
	}
	return nil
}

// validDate reports whether year-month-day is a day.
func validDate(s string) bool {
	p := strings.Split(s, "-")
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(p[i])
	}
	d := time.Date(n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	return d.Year() == n[0] && int(d.Month()) == n[1] && d.Day() == n[2]
}
