package expr

import "math"

// Told is what a result's metadata tells of values beyond what they are
// represented and computed by. MySQL derives it by rules of its own, function by
// function (sql/item*.cc of mysql-server: max_length, maybe_null, data_type), and
// clients size buffers and choose types by it. A rule may promise fewer
// characters than a value has (REPLACE): so nothing may compute with it.
type Told struct {
	// Length is how many characters MySQL says that a value has at most, the sign
	// of a number included; bytes for binary strings. 0: as many as the rest of the
	// type says; empty: none.
	Length int
	// Form is the family of a text or binary string.
	Form Form
	// Null: MySQL says that the value may be NULL, though it never is.
	Null bool
	// Field: the value is of a column that MySQL keeps in a temporary table, as
	// those of set operations; such columns are described as those of tables are.
	Field bool
}

// empty is the Told.Length of texts without characters.
const empty = -1

// OfExpression returns t as the type of an expression over such a column: what MySQL
// keeps in a temporary table has lost the length it was told with.
func (t Type) OfExpression() Type {
	if t.Told.Field && t.Class == Int {
		t.Told.Length = 0
	}
	t.Told.Field = false
	return t
}

// OfField returns t as the type of a column of a temporary table.
func (t Type) OfField() Type {
	t.Told.Field = true
	return t
}

// Form is the family of a string type.
type Form uint8

// The forms.
const (
	Varying Form = iota // VARCHAR, VARBINARY, and most expressions: a TEXT when long
	Fixed               // CHAR, BINARY
	Large               // a TEXT or BLOB column, or what is passed on of one
	OneEnum             // an ENUM passed on with nothing but NULLs beside it: its labels are texts by now
	OneSet              // a SET, likewise
	Short               // a VARCHAR however long
	Long                // a LONGTEXT or LONGBLOB however short
	Digits              // a hexadecimal or bit literal: a number where one is wanted
)

// toldLength is how many characters MySQL says that values have at most when
// something is made of them.
func (t Type) toldLength() int {
	n := t.Told.Length
	switch {
	case n == empty:
		return 0
	case n > 0 && !(t.Told.Field && t.Class == Int):
		return n
	}
	switch t.Class {
	case Null:
		return 0
	case Bool:
		if t.Width == 1 {
			return 4
		}
		return 1
	case Int:
		signed := [...]int{1: 4, 2: 6, 3: 9, 4: 11, 8: 20}[t.Width]
		if t.Unsigned && t.Width < 8 {
			return signed - 1
		}
		return signed
	case Decimal:
		return toldDecimal(t.Precision, t.Scale, t.Unsigned)
	case Bit:
		return t.Length
	}
	return displayLength(t)
}

// ToldLength is how many characters a result column's values have at most, for all
// that MySQL tells; bytes of binary strings. column: it is one of a table.
func (t Type) ToldLength(column bool) int {
	switch {
	case t.Told.Length == empty:
		return 0
	case t.Told.Length > 0:
		return t.Told.Length
	case column && t.Class == Int && t.Length > 0: // INT(6) ZEROFILL
		return t.Length
	case column && t.Class == Bool && t.Width == 1: // TINYINT(1)
		return 1
	}
	return t.toldLength()
}

// toldText is the told length of a number's or another value's text; 0: as its
// displayLength.
func toldText(t Type) int {
	if (t.Class == Double || t.Class == Float) && t.Scale == NotFixed {
		return 0
	}
	if n := t.toldLength(); n != displayLength(t) {
		if n == 0 {
			return empty
		}
		return n
	}
	return 0
}

// textLength is the told length of the text made of a value.
func textLength(t Type) int {
	if (t.Class == Double || t.Class == Float) && t.Scale == NotFixed {
		return displayLength(t)
	}
	return t.toldLength()
}

// toldBytes is how many bytes MySQL says that a value's text has at most.
func (t Type) toldBytes() int { return min(textLength(t)*maxBytes(t), 1<<32-1) }

// maxBytes is the most bytes of a character of the type; numbers have one.
func maxBytes(t Type) int {
	switch t.Class {
	case JSON, Nested:
		return 4
	case String, Enum, Set:
		switch charsetOf(t.Collation) {
		case "latin1", "ascii", "binary":
			return 1
		case "ucs2":
			return 2
		case "utf8mb3":
			return 3
		}
		return 4
	}
	return 1
}

func toldFraction(scale int) int {
	if scale == 0 {
		return 0
	}
	return scale + 1
}

// toldDecimal is the display length of a decimal.
func toldDecimal(precision, scale int, unsigned bool) int {
	if scale > 0 {
		precision++
	}
	if !unsigned {
		precision++
	}
	return precision
}

// toldPrecision is how many digits MySQL says that a number has.
func toldPrecision(e Expr) int {
	t := e.Type()
	if l, ok := e.(*LiteralExpr); ok && l.hex {
		return int(float64(8*t.Length)*math.Log10(2)) + 1
	}
	n := t.toldLength()
	switch {
	case t.Class == Bool && t.Width == 8:
		return 1
	}
	switch t.Class {
	case Bool, Int, Decimal:
		if t.Class == Decimal && t.Scale > 0 {
			n--
		}
		if !t.Unsigned {
			n--
		}
		return min(max(n, 1), 65)
	case Year, Bit:
		return n
	case Null:
		return 0
	case Date, DateTime, Timestamp, Time:
		return decimalOf(t).Precision
	}
	return n
}

// labelsLength is the most characters of an ENUM's or a SET's value.
func labelsLength(t Type) int {
	longest, all := 0, 0
	for _, l := range t.Labels {
		n := len([]rune(l))
		longest = max(longest, n)
		all += n + 1
	}
	if t.Class == Enum {
		return longest
	}
	return max(all-1, 0)
}

// toldScale is how many fraction digits MySQL gives to a number's text.
func toldScale(t Type) int {
	switch t.Class {
	case Decimal, Double, Float, DateTime, Timestamp, Time:
		return t.Scale
	}
	return 0
}

// mostBytes is the most bytes that a value of one of es has.
func mostBytes(es []Expr) int {
	n := 0
	for _, e := range es {
		t := e.Type()
		n = max(n, min(displayLength(t)*maxBytes(t), 1<<32-1))
	}
	return n
}

// toldMerged is what is told of a value that is one of es, in their common type.
func toldMerged(t Type, es []Expr) (out Told) {
	whole, scale := 0, 0
	for _, e := range es {
		x := e.Type()
		out.Null = out.Null || x.Told.Null
		if x.Class == Null {
			continue
		}
		switch t.Class {
		case Int, Bool:
			out.Length = max(out.Length, x.toldLength())
		case String:
			out.Length = max(out.Length, textLength(x))
		case Bytes:
			out.Length = max(out.Length, min(x.toldLength()*maxBytes(x), 1<<32-1))
		case Decimal:
			s := toldScale(x)
			whole, scale = max(whole, toldPrecision(e)-s), max(scale, s)
		}
	}
	switch t.Class {
	case Decimal:
		out.Length = toldDecimal(min(whole+scale, 65), scale, t.Unsigned)
	case Double, Float:
		if out.Length = 23; t.Scale != NotFixed {
			out.Length = 0
			for _, e := range es {
				out.Length = max(out.Length, e.Type().toldLength())
			}
		}
	case String, Bytes:
		out.Form = mergedForm(es)
	}
	return out
}

// mergedForm is the form of a string that is one of es. Numbers and times do not
// make a CHAR a VARCHAR, nor do ENUM and SET.
func mergedForm(es []Expr) Form {
	fixed, varying, large, other := 0, 0, 0, 0
	var labelled []Class
	for _, e := range es {
		switch x := e.Type(); {
		case x.Class == JSON || x.Class == Nested || x.Told.Form == Varying && x.toldLength() >= 1<<30:
			return Varying // a LONGTEXT, by its length
		case x.Class == Enum || x.Class == Set:
			labelled = append(labelled, x.Class)
		case x.Class == Null:
		case !isString(x):
			other++
		case x.Told.Form == Fixed:
			fixed++
		case x.Told.Form == Large:
			large++
		default:
			varying++
		}
	}
	switch {
	case large > 0:
		return Large
	case varying > 0:
		return Varying
	case fixed > 0:
		return Fixed
	case len(labelled) == 1 && other == 0 && labelled[0] == Enum:
		return OneEnum
	case len(labelled) == 1 && other == 0:
		return OneSet
	}
	return Varying
}

// toldVariable tells of a system variable's value.
func (t *Type) toldVariable() {
	t.Told.Null = true
	switch t.Class {
	case Int:
		if t.Told.Length = 21; t.Length > 0 { // ON or OFF
			t.Told.Length = t.Length
		}
	case Double:
		t.Scale = 6
	case String:
		t.Told.Form = Short
	}
}
