package metadata

import (
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
)

// DefaultCollation is the collation of columns that have none recorded, and of
// databases (DESIGN D17); CreateCollation is the one of new MySQL-spelled
// columns.
const (
	StoredCollation = "utf8mb4_0900_bin"
	CreateCollation = "utf8mb4_0900_ai_ci"
)

// ColumnType is a column's type as information_schema and SHOW tell it.
type ColumnType struct {
	// Data is DATA_TYPE ("varchar"), Full is COLUMN_TYPE ("varchar(10)").
	Data, Full string
	// The lengths and precisions are -1 where they do not apply.
	CharLength, OctetLength, Precision, Scale, FractionDigits int64
	// Charset and Collation are "" for types that are not text.
	Charset, Collation string
}

// TypeOf describes the type of a stored column: what MySQL knew of it, as
// the table's option tells (DESIGN D15), else what its Paimon type shows as.
func TypeOf(f catalog.Field, mysqlType string) ColumnType {
	text := mysqlType
	if text == "" {
		text = paimonType(f.Type)
	}
	return ParseColumnType(text, StoredCollation)
}

// paimonType returns MySQL's spelling of a Paimon type.
func paimonType(t catalog.Type) string {
	n := func(name string, n int) string { return name + "(" + strconv.Itoa(n) + ")" }
	fraction := func(name string) string {
		if t.Length == 0 {
			return name
		}
		return n(name, min(t.Length, 6))
	}
	switch t.Kind {
	case catalog.Boolean:
		return "tinyint(1)"
	case catalog.TinyInt:
		return "tinyint"
	case catalog.SmallInt:
		return "smallint"
	case catalog.Int:
		return "int"
	case catalog.BigInt:
		return "bigint"
	case catalog.Float:
		return "float"
	case catalog.Double:
		return "double"
	case catalog.Decimal:
		return "decimal(" + strconv.Itoa(t.Length) + "," + strconv.Itoa(t.Scale) + ")"
	case catalog.Char:
		return n("char", t.Length)
	case catalog.Varchar:
		if t.Length == catalog.MaxLength {
			return "longtext"
		}
		return n("varchar", t.Length)
	case catalog.Binary:
		return n("binary", t.Length)
	case catalog.Varbinary:
		if t.Length == catalog.MaxLength {
			return "longblob"
		}
		return n("varbinary", t.Length)
	case catalog.Date:
		return "date"
	case catalog.Time:
		return fraction("time")
	case catalog.Timestamp:
		return fraction("datetime")
	case catalog.TimestampLTZ:
		return fraction("timestamp")
	case catalog.Blob:
		return "longblob"
	}
	return "json"
}

// Inexpressible returns the names of columns whose Paimon types MySQL's spelling
// cannot say, so that a table made from SHOW CREATE TABLE would have others.
func Inexpressible(s *catalog.Schema) (names []string) {
	for _, f := range s.Fields {
		if s.MySQLType(f) != "" {
			continue
		}
		switch f.Type.Kind {
		case catalog.Boolean, catalog.Time, catalog.Array, catalog.Map, catalog.Multiset, catalog.Row, catalog.Variant, catalog.Vector, catalog.Blob:
			names = append(names, f.Name)
		case catalog.Timestamp, catalog.TimestampLTZ:
			if f.Type.Length > 6 {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// ParseColumnType reads a type in MySQL's spelling, such as "bigint unsigned",
// "varchar(10) character set utf8mb4 collate utf8mb4_bin" or "enum('a','b')".
// collation is that of text without a COLLATE.
func ParseColumnType(text, collation string) ColumnType {
	text, charset, own := cutCollation(strings.TrimSpace(text))
	switch {
	case own != "":
		collation = own
	case charset != "":
		collation = DefaultCollationOf(charset)
	}
	c := ColumnType{Full: text, CharLength: -1, OctetLength: -1, Precision: -1, Scale: -1, FractionDigits: -1}
	c.Data = text
	if i := strings.IndexAny(text, " ("); i >= 0 {
		c.Data = text[:i]
	}
	c.Data = strings.ToLower(c.Data)
	if c.Data == "enum" || c.Data == "set" {
		c.Full = c.Data + text[len(c.Data):]
	} else {
		c.Full = strings.ToLower(text)
	}
	args := typeArguments(text)
	arg := func(i int, def int64) int64 {
		if i < len(args) {
			if n, err := strconv.ParseInt(strings.TrimSpace(args[i]), 10, 64); err == nil {
				return n
			}
		}
		return def
	}
	unsigned := strings.Contains(c.Full, "unsigned")
	chars := func(n, octets int64) {
		c.CharLength, c.OctetLength, c.Collation = n, octets, collation
		c.Charset, _, _ = strings.Cut(collation, "_")
	}
	width := int64(4)
	if cs, _, _ := strings.Cut(collation, "_"); cs != "" {
		width = int64(CharsetWidth(cs))
	}
	switch c.Data {
	case "tinyint":
		c.Precision, c.Scale = 3, 0
	case "smallint":
		c.Precision, c.Scale = 5, 0
	case "mediumint":
		c.Precision, c.Scale = 7, 0
	case "int", "integer":
		c.Data, c.Precision, c.Scale = "int", 10, 0
	case "bigint":
		c.Precision, c.Scale = 19, 0
		if unsigned {
			c.Precision = 20
		}
	case "decimal", "numeric":
		c.Data, c.Precision, c.Scale = "decimal", arg(0, 10), arg(1, 0)
	case "float", "double":
		c.Precision = 12
		if c.Data == "double" {
			c.Precision = 22
		}
		if len(args) > 0 {
			c.Precision = arg(0, c.Precision)
		}
		if len(args) > 1 {
			c.Scale = arg(1, 0)
		}
	case "bit":
		c.Precision = arg(0, 1)
	case "datetime", "timestamp", "time":
		c.FractionDigits = arg(0, 0)
	case "char", "varchar":
		n := arg(0, 1)
		chars(n, n*width)
	case "binary", "varbinary":
		c.CharLength, c.OctetLength = arg(0, 1), arg(0, 1)
	case "tinytext":
		chars(255, 255)
	case "text":
		chars(65535, 65535)
	case "mediumtext":
		chars(1<<24-1, 1<<24-1)
	case "longtext":
		chars(1<<32-1, 1<<32-1)
	case "tinyblob":
		c.CharLength, c.OctetLength = 255, 255
	case "blob":
		c.CharLength, c.OctetLength = 65535, 65535
	case "mediumblob":
		c.CharLength, c.OctetLength = 1<<24-1, 1<<24-1
	case "longblob":
		c.CharLength, c.OctetLength = 1<<32-1, 1<<32-1
	case "vector":
		c.CharLength, c.OctetLength = 4*arg(0, 2048), 4*arg(0, 2048)
	case "enum":
		longest := int64(0)
		for _, a := range args {
			longest = max(longest, runeLen(unquote(a)))
		}
		chars(longest, longest*width)
	case "set":
		total := int64(max(len(args)-1, 0))
		for _, a := range args {
			total += runeLen(unquote(a))
		}
		chars(total, total*width)
	}
	return c
}

func runeLen(s string) int64 { return int64(len([]rune(s))) }

// cutCollation takes CHARACTER SET and COLLATE off a type.
func cutCollation(text string) (rest, charset, collation string) {
	end := strings.LastIndexByte(text, ')') + 1
	head, tail := text[:end], text[end:]
	words := strings.Fields(tail)
	var kept []string
	for i := 0; i < len(words); i++ {
		switch w := strings.ToLower(words[i]); {
		case w == "collate" && i+1 < len(words):
			i++
			collation = strings.ToLower(words[i])
		case w == "charset" && i+1 < len(words):
			i++
			charset = strings.ToLower(words[i])
		case w == "character" && i+2 < len(words) && strings.EqualFold(words[i+1], "set"):
			i += 2
			charset = strings.ToLower(words[i])
		default:
			kept = append(kept, words[i])
		}
	}
	rest = strings.Join(kept, " ")
	if head != "" && rest != "" {
		rest = " " + rest
	}
	return head + rest, charset, collation
}

// typeArguments returns the arguments in a type's parentheses, quotes kept.
func typeArguments(text string) []string {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return nil
	}
	var out []string
	var at int
	quoted := false
	body := text[open+1 : end]
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '\'':
			quoted = !quoted
		case ',':
			if !quoted {
				out = append(out, body[at:i])
				at = i + 1
			}
		}
	}
	return append(out, body[at:])
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && s[0] == '\'' {
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	return s
}
