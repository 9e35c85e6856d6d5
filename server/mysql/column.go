package mysql

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// definition is a column as its definition packet tells it.
type definition struct {
	code     byte
	flags    uint16
	decimals byte
	length   uint32
	charset  uint16
}

const (
	// maxVarchar is the most bytes that MySQL shows as VARCHAR.
	maxVarchar = 65535
	// maxMedium is the most bytes of a MEDIUMBLOB.
	maxMedium = 16777215
	maxLong   = 4294967295
	notFixed  = 31 // decimals that are not fixed
)

// define returns the definition of a column as MySQL 8 sends it: columns of
// tables and expressions differ in flags, lengths and decimals. charset is the
// collation id of text in results, 0 for the column's own.
func define(col *session.Column, charset uint16) definition {
	t := &col.Type
	base := col.OrgTable != "" || col.OrgName != "" || t.Told.Field
	d := definition{charset: binaryCollation}
	numeric := uint16(flagBinary) // of an expression
	if base {
		numeric = 0
	}
	if t.Unsigned {
		numeric |= flagUnsigned
	}
	switch t.Class {
	case expr.Null:
		d.code, d.flags = typeNull, flagBinary
	case expr.Bool:
		d.code, d.length, d.flags = typeLongLong, uint32(t.ToldLength(base)), numeric
		if t.Width == 1 {
			d.code = typeTiny
		}
	case expr.Int:
		d.code, d.length, d.flags = integerCode(t.Width), uint32(t.ToldLength(base)), numeric
	case expr.Decimal:
		d.code, d.length, d.decimals, d.flags = typeNewDecimal, uint32(t.ToldLength(base)), byte(t.Scale), numeric
	case expr.Float:
		d.code, d.length, d.decimals, d.flags = typeFloat, uint32(t.ToldLength(base)), byte(t.Scale), numeric
	case expr.Double:
		d.code, d.length, d.decimals, d.flags = typeDouble, uint32(t.ToldLength(base)), byte(t.Scale), numeric
	case expr.Date:
		d.code, d.length, d.flags = typeDate, 10, flagBinary
	case expr.DateTime, expr.Timestamp:
		d.code, d.length, d.flags = typeDateTime, 19+fraction(t.Scale), flagBinary
		if t.Class == expr.Timestamp {
			d.code = typeTimestamp
		}
		d.decimals = byte(t.Scale)
	case expr.Time:
		d.code, d.length, d.flags, d.decimals = typeTime, uint32(t.ToldLength(base)), flagBinary, byte(t.Scale)
	case expr.Year:
		d.code, d.length, d.flags = typeYear, 4, flagUnsigned|flagZerofill
		if !base {
			d.flags = flagUnsigned | flagBinary
		}
	case expr.Bit:
		d.code, d.length, d.flags = typeBit, uint32(t.Length), flagUnsigned
	case expr.JSON, expr.Nested:
		d.code, d.length, d.flags = typeJSON, maxLong, flagBlob|flagBinary
		if !base {
			d.length, d.flags, d.decimals, d.charset = maxLong-3, flagBinary, notFixed, charset
			if charset == 0 {
				d.charset = defaultCollation
			}
		}
	case expr.Bytes:
		d.defineString(t, 1, base)
		d.flags |= flagBinary
	case expr.String:
		d.defineString(t, 4, base)
		d.text(t, charset)
	case expr.Enum, expr.Set:
		d.defineLabels(t, base)
		d.text(t, charset)
	}
	if !t.Nullable && !t.Told.Null {
		d.flags |= flagNotNull
	}
	if col.Key {
		d.flags |= flagPriKey | flagPartKey
	}
	return d
}

func integerCode(width int) byte {
	switch width {
	case 1:
		return typeTiny
	case 2:
		return typeShort
	case 3:
		return typeInt24
	case 4:
		return typeLong
	}
	return typeLongLong
}

// defineString sets type and length of a string of characters of so many bytes.
func (d *definition) defineString(t *expr.Type, bytes uint64, base bool) {
	n := bytes * uint64(t.ToldLength(base))
	if (t.Told.Form == expr.Large || t.Told.Form == expr.Long) && t.Length == math.MaxInt32 {
		n = maxLong // LONGTEXT, LONGBLOB
	}
	if !base {
		d.decimals = notFixed
	}
	switch form := t.Told.Form; {
	case form == expr.Fixed:
		d.code = typeString
	case form == expr.Digits:
		if d.code, d.decimals = typeVarString, 0; t.Unsigned {
			d.flags = flagUnsigned
		}
	case form == expr.Short:
		d.code = typeVarString
	case form == expr.Long && !base:
		d.code = typeLongBlob
	case form == expr.OneEnum && base:
		d.code, d.flags = typeString, flagEnum
	case form == expr.OneEnum:
		d.code = typeEnum
	case form == expr.OneSet && base:
		d.code, d.flags = typeString, flagSet
	case form == expr.OneSet:
		d.code = typeSet
	case form == expr.Large || form == expr.Long || base && n > maxVarchar:
		d.code = typeBlob
		if base {
			d.flags |= flagBlob
		}
	case n <= maxVarchar:
		d.code = typeVarString
	case n <= maxMedium:
		d.code = typeMediumBlob
	default:
		d.code = typeLongBlob
	}
	switch d.code {
	case typeBlob, typeMediumBlob, typeLongBlob:
		if !base || t.Told.Field { // MySQL takes the bytes for characters
			n *= bytes
		}
	}
	d.length = uint32(min(n, maxLong))
}

func (d *definition) defineLabels(t *expr.Type, base bool) {
	d.code = typeString
	longest, all := 0, 0
	for _, l := range t.Labels {
		n := utf8.RuneCountInString(l)
		longest = max(longest, n)
		all += n + 1
	}
	if t.Class == expr.Enum {
		d.length = uint32(4 * longest)
		if base {
			d.flags |= flagEnum
		}
	} else {
		d.length = uint32(4 * max(all-1, 0))
		if base {
			d.flags |= flagSet
		}
	}
	if !base {
		d.decimals = notFixed
	}
}

// text sets what character strings have: the collation, and BINARY when they
// compare by code.
func (d *definition) text(t *expr.Type, charset uint16) {
	d.charset = charset
	if charset == 0 {
		d.charset = collationID(t.Collation)
	}
	if strings.HasSuffix(t.Collation, "_bin") {
		d.flags |= flagBinary
	}
}

func fraction(scale int) uint32 {
	if scale == 0 {
		return 0
	}
	return uint32(scale) + 1
}

// putColumn writes a column definition packet. withDefault adds what
// COM_FIELD_LIST has at the end: no default value.
func (c *conn) putColumn(col *session.Column, d definition, withDefault bool) {
	c.begin()
	o := putStr(c.out, "def")
	for _, s := range [...]string{col.Database, col.Table, col.OrgTable, col.Name, col.OrgName} {
		o = c.text.putText(o, s)
	}
	o = append(o, 0x0c)
	o = put16(o, d.charset)
	o = put32(o, d.length)
	o = append(o, d.code)
	o = put16(o, d.flags)
	o = append(o, d.decimals, 0, 0)
	if withDefault {
		o = append(o, 0xfb)
	}
	c.out = o
	c.end()
}

// parameterColumn is how a placeholder is described: its type is known when it
// has a value.
var (
	parameterColumn     = session.Column{Name: "?"}
	parameterDefinition = definition{code: typeVarString, length: 65532, decimals: notFixed, charset: defaultCollation}
)
