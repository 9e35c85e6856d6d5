package mysql

import (
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
	base := col.OrgTable != "" || col.OrgName != ""
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
		d.code, d.length, d.flags = typeLongLong, 1, numeric
		if t.Width == 1 {
			d.code = typeTiny
		}
	case expr.Int:
		d.defineInt(t, base)
		d.flags = numeric
	case expr.Decimal:
		d.code, d.flags = typeNewDecimal, numeric
		d.decimals = byte(t.Scale)
		d.length = uint32(t.Precision)
		if t.Scale > 0 {
			d.length++
		}
		if !t.Unsigned {
			d.length++
		}
	case expr.Float:
		d.code, d.length, d.decimals, d.flags = typeFloat, 12, byte(t.Scale), numeric
		if t.Scale != notFixed && t.Precision > 0 {
			d.length = uint32(t.Precision)
		}
	case expr.Double:
		d.code, d.length, d.decimals, d.flags = typeDouble, 23, byte(t.Scale), numeric
		if base {
			d.length = 22
		}
		if t.Scale != notFixed && t.Precision > 0 {
			d.length = uint32(t.Precision)
		}
	case expr.Date:
		d.code, d.length, d.flags = typeDate, 10, flagBinary
	case expr.DateTime, expr.Timestamp:
		d.code, d.length, d.flags = typeDateTime, 19+fraction(t.Scale), flagBinary
		if t.Class == expr.Timestamp {
			d.code = typeTimestamp
		}
		d.decimals = byte(t.Scale)
	case expr.Time:
		d.code, d.length, d.flags, d.decimals = typeTime, 10+fraction(t.Scale), flagBinary, byte(t.Scale)
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
		d.defineString(uint64(t.Length), base)
		d.flags |= flagBinary
	case expr.String:
		d.defineString(4*uint64(t.Length), base)
		d.text(t, charset)
	case expr.Enum, expr.Set:
		d.defineLabels(t, base)
		d.text(t, charset)
	}
	if !t.Nullable {
		d.flags |= flagNotNull
	}
	if col.Key {
		d.flags |= flagPriKey | flagPartKey
	}
	return d
}

func (d *definition) defineInt(t *expr.Type, base bool) {
	var lengths [2]uint32 // signed, unsigned
	switch t.Width {
	case 1:
		d.code, lengths = typeTiny, [2]uint32{4, 3}
	case 2:
		d.code, lengths = typeShort, [2]uint32{6, 5}
	case 3:
		d.code, lengths = typeInt24, [2]uint32{9, 8}
	case 4:
		d.code, lengths = typeLong, [2]uint32{11, 10}
	default:
		d.code, lengths = typeLongLong, [2]uint32{20, 20}
		if !base {
			lengths = [2]uint32{21, 21}
		}
	}
	d.length = lengths[0]
	if t.Unsigned {
		d.length = lengths[1]
	}
	if t.Length > 0 {
		d.length = uint32(t.Length)
	}
}

// defineString sets type and length of a string of at most n bytes.
func (d *definition) defineString(n uint64, base bool) {
	d.length = uint32(min(n, maxLong))
	if !base {
		d.decimals = notFixed
	}
	switch {
	case n <= maxVarchar:
		d.code = typeVarString
	case base:
		d.code = typeBlob
		d.flags |= flagBlob
	case n <= maxMedium:
		d.code = typeMediumBlob
	default:
		d.code = typeLongBlob
	}
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
		d.flags |= flagEnum
	} else {
		d.length = uint32(4 * max(all-1, 0))
		d.flags |= flagSet
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
