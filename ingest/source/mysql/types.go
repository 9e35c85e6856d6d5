package mysql

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// native is what decoding a column needs to know beyond its lake type. It is
// kept in source.Column.Native.
type native struct {
	// Type is the lower case name: "int", "varchar", "uuid", …
	Type     string   `json:"type"`
	Unsigned bool     `json:"unsigned,omitempty"`
	Length   int      `json:"length,omitempty"`  // binary(n): bytes; bit(n): bits; decimal: precision; char, varchar: characters
	Scale    int      `json:"scale,omitempty"`   // decimal
	Fsp      int      `json:"fsp,omitempty"`     // time, datetime, timestamp
	Charset  string   `json:"charset,omitempty"` // character columns; enum and set labels are UTF-8 here already
	Labels   []string `json:"labels,omitempty"`  // enum, set
}

// columnInfo is a row of information_schema.COLUMNS.
type columnInfo struct {
	name, dataType, columnType, collation, charset, extra, comment string
	nullable                                                       bool
	length, precision, scale, fsp                                  int64
}

var displayWidth = regexp.MustCompile(`^(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)`)

// mapColumn maps a column to the lake (DESIGN D15). booleans makes TINYINT(1) a
// BOOLEAN.
func mapColumn(c columnInfo, booleans bool) (source.Column, native, error) {
	n := native{Type: c.dataType, Unsigned: strings.Contains(c.columnType, "unsigned") || strings.Contains(c.columnType, "zerofill")}
	out := source.Column{Name: c.name, Comment: c.comment}
	if strings.Contains(c.columnType, "COMPRESSED") || strings.Contains(c.extra, "COMPRESSED") {
		return out, n, errs.Unsupportedf(-1, "the compressed column %s", c.name)
	}
	declared := c.columnType
	if !strings.HasPrefix(declared, "tinyint(1)") {
		declared = displayWidth.ReplaceAllString(declared, "$1")
	}
	pick := func(signed, unsigned catalog.Type) {
		out.Type = signed
		if n.Unsigned {
			out.Type = unsigned
		} else if declared == n.Type && (n.Type == "smallint" || n.Type == "int" || n.Type == "bigint" || n.Type == "tinyint") {
			declared = "" // the lake's type says it all
		}
	}
	text := func(t catalog.Type) {
		out.Type, n.Charset = t, c.charset
		if c.collation != "" {
			declared += " collate " + c.collation
		}
	}
	sized := func(k catalog.TypeKind, whole catalog.Type) catalog.Type {
		if c.length < 1 { // CHAR(0), BINARY(0)
			return whole
		}
		return catalog.Type{Kind: k, Length: int(c.length)}
	}
	switch n.Type {
	case "tinyint":
		pick(catalog.TTinyInt, catalog.TSmallInt)
		if booleans && strings.HasPrefix(c.columnType, "tinyint(1)") && !n.Unsigned {
			out.Type, n.Type, declared = catalog.TBoolean, "boolean", ""
		}
	case "smallint":
		pick(catalog.TSmallInt, catalog.TInt)
	case "mediumint":
		pick(catalog.TInt, catalog.TInt)
	case "int", "integer":
		n.Type = "int"
		pick(catalog.TInt, catalog.TBigInt)
	case "bigint":
		pick(catalog.TBigInt, catalog.TDecimal(20, 0))
	case "decimal", "numeric":
		n.Type, n.Length, n.Scale = "decimal", int(c.precision), int(c.scale)
		out.Type = catalog.TString
		if c.precision <= 38 {
			out.Type = catalog.TDecimal(n.Length, n.Scale)
			if !n.Unsigned {
				declared = ""
			}
		}
	case "float":
		out.Type = catalog.TFloat
		if declared == "float" {
			declared = ""
		}
	case "double", "real":
		n.Type = "double"
		out.Type = catalog.TDouble
		if declared == "double" {
			declared = ""
		}
	case "bit":
		n.Length = int(c.precision)
		out.Type = catalog.Type{Kind: catalog.Binary, Length: (n.Length + 7) / 8}
	case "year":
		out.Type = catalog.TInt
	case "date":
		out.Type, declared = catalog.TDate, ""
	case "datetime":
		n.Fsp = int(c.fsp)
		out.Type, declared = catalog.TTimestamp(n.Fsp), ""
	case "timestamp":
		n.Fsp = int(c.fsp)
		out.Type, declared = catalog.TTimestampLTZ(n.Fsp), ""
	case "time":
		n.Fsp = int(c.fsp)
		out.Type = catalog.TBigInt // microseconds: TIME may be negative and above 24 h
	case "char":
		n.Length = int(c.length)
		text(sized(catalog.Char, catalog.TString))
	case "varchar":
		n.Length = int(c.length)
		text(sized(catalog.Varchar, catalog.TString))
	case "tinytext", "text", "mediumtext", "longtext":
		text(catalog.TString)
	case "json":
		out.Type = catalog.TString
	case "enum", "set":
		labels, err := parseLabels(c.columnType)
		if err != nil {
			return out, n, err
		}
		n.Labels = labels
		text(catalog.TString)
		n.Charset = ""
	case "binary":
		n.Length = int(c.length)
		out.Type = sized(catalog.Binary, catalog.TBytes)
		if c.length > 0 {
			declared = ""
		}
	case "varbinary":
		n.Length = int(c.length)
		out.Type = sized(catalog.Varbinary, catalog.TBytes)
		if c.length > 0 {
			declared = ""
		}
	case "tinyblob", "blob", "mediumblob", "longblob":
		out.Type = catalog.TBytes
	case "uuid", "inet4", "inet6":
		out.Type = catalog.TString
	default:
		return out, n, errs.Unsupportedf(-1, "the type %s of column %s", c.columnType, c.name)
	}
	if !c.nullable {
		out.Type = out.Type.Required()
	}
	out.Declared = declared
	b, err := json.Marshal(n)
	if err != nil {
		return out, n, errs.Internalf("describe column %s: %w", c.name, err)
	}
	out.Native = b
	return out, n, nil
}

// mayBeInvalid reports whether values of the type may have no counterpart in the
// lake and become NULL: zero dates and dates such as 2024-02-31.
func (n native) mayBeInvalid() bool {
	return n.Type == "date" || n.Type == "datetime" || n.Type == "timestamp"
}

// parseLabels reads the labels of "enum('a','b”c')". The server writes quotes
// doubled and backslash, NUL and line ends escaped.
func parseLabels(columnType string) ([]string, error) {
	bad := errs.Corruptf("read the labels of %q: the list is not closed", columnType)
	i := strings.IndexByte(columnType, '(')
	if i < 0 {
		return nil, bad
	}
	s := columnType[i+1:]
	var out []string
	for {
		if s == "" || s[0] != '\'' {
			return nil, bad
		}
		s = s[1:]
		var sb strings.Builder
		for {
			if s == "" {
				return nil, bad
			}
			if s[0] == '\'' {
				if len(s) > 1 && s[1] == '\'' {
					sb.WriteByte('\'')
					s = s[2:]
					continue
				}
				s = s[1:]
				break
			}
			if s[0] == '\\' && len(s) > 1 {
				c := s[1]
				switch c {
				case 'n':
					c = '\n'
				case 'r':
					c = '\r'
				case '0':
					c = 0
				}
				sb.WriteByte(c)
				s = s[2:]
				continue
			}
			sb.WriteByte(s[0])
			s = s[1:]
		}
		out = append(out, sb.String())
		switch {
		case strings.HasPrefix(s, ","):
			s = s[1:]
		case strings.HasPrefix(s, ")"):
			return out, nil
		default:
			return nil, bad
		}
	}
}

// selectExpr is the text of a column in the snapshot's SELECT, chosen so that
// the value goes through the same decoding as in the binlog: numbers of enums and
// sets, bytes in the column's own character set, floats in their shortest exact
// form (a plain FLOAT is shown with six digits, FLOAT(M,D) with D).
func (n native) selectExpr(name string) string {
	q := quote(name)
	switch n.Type {
	case "float", "double":
		return q + " * 1.0E0"
	case "enum", "set":
		return "CAST(" + q + " AS UNSIGNED)"
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		if !isUTF8(n.Charset) {
			return "CAST(" + q + " AS BINARY)"
		}
	}
	return q
}

func isUTF8(charset string) bool {
	switch charset {
	case "utf8mb4", "utf8mb3", "utf8", "ascii", "binary", "":
		return true
	}
	return false
}

// nativeOf reads a column's native description back.
func nativeOf(c *source.Column) (native, error) {
	var n native
	if err := json.Unmarshal(c.Native, &n); err != nil || n.Type == "" {
		return n, errs.Corruptf("read the kept definition of column %s: it is not one of this version", c.Name)
	}
	return n, nil
}

// String names the type for messages about a definition that does not fit.
func (n native) String() string {
	s := n.Type
	if n.Length > 0 {
		s += "(" + strconv.Itoa(n.Length)
		if n.Scale > 0 {
			s += fmt.Sprintf(",%d", n.Scale)
		}
		s += ")"
	}
	if n.Fsp > 0 {
		s += "(" + strconv.Itoa(n.Fsp) + ")"
	}
	if n.Unsigned {
		s += " unsigned"
	}
	return s
}
