package mysql

import (
	"encoding/binary"
	"regexp"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // literals of the parsed statements

	"github.com/thermocline/thermocline/ingest/source"
)

// parsers are reused: one holds large tables.
var parsers = sync.Pool{New: func() any { return parser.New() }}

// sqlMode finds the session's sql_mode in a QUERY event's status variables: the
// second one, after four bytes of flags.
func sqlMode(vars []byte) uint64 {
	for len(vars) > 0 {
		switch vars[0] {
		case 0:
			if len(vars) < 5 {
				return 0
			}
			vars = vars[5:]
		case 1:
			if len(vars) < 9 {
				return 0
			}
			return binary.LittleEndian.Uint64(vars[1:9]) & 0xFFFFFFFF
		default:
			return 0
		}
	}
	return 0
}

// harmlessStatement recognizes, without parsing, what never touches a table's
// columns or rows; such statements often have syntax that no parser knows.
func harmlessStatement(text string) bool {
	w, rest := firstWord(skipComments(text))
	switch w {
	case "", "#", "GRANT", "REVOKE", "FLUSH", "ANALYZE", "OPTIMIZE", "REPAIR", "SET", "KILL", "RESET", "PURGE", "USE", "INSTALL", "UNINSTALL", "CHANGE", "BINLOG":
		return w != "SET" || !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(rest)), "STATEMENT")
	case "CREATE", "ALTER", "DROP", "RENAME":
	default:
		return false
	}
	for range 8 { // CREATE OR REPLACE DEFINER=x@y SQL SECURITY INVOKER VIEW …
		w, rest = firstWord(skipComments(rest))
		switch w {
		case "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SERVER", "SEQUENCE", "PACKAGE", "TABLESPACE", "LOGFILE", "INSTANCE", "RESOURCE":
			return true
		case "TABLE", "DATABASE", "SCHEMA", "INDEX", "":
			return false
		case "TEMPORARY":
			return true
		}
	}
	return false
}

// skipComments drops plain comments at the start. Executable ones (/*! … */) are
// code and stay.
func skipComments(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		switch {
		case strings.HasPrefix(s, "/*") && !strings.HasPrefix(s, "/*!") && !strings.HasPrefix(s, "/*M!"):
			i := strings.Index(s, "*/")
			if i < 0 {
				return ""
			}
			s = s[i+2:]
		case strings.HasPrefix(s, "-- "), strings.HasPrefix(s, "#"):
			i := strings.IndexByte(s, '\n')
			if i < 0 {
				return ""
			}
			s = s[i+1:]
		default:
			return s
		}
	}
}

// tableNames collects every table that a statement names.
type tableNames struct{ names []*ast.TableName }

func (v *tableNames) Enter(n ast.Node) (ast.Node, bool) {
	if t, ok := n.(*ast.TableName); ok {
		v.names = append(v.names, t)
	}
	return n, false
}

func (v *tableNames) Leave(n ast.Node) (ast.Node, bool) { return n, true }

var words = regexp.MustCompile("`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\\p{L}\\p{N}_$]+|[^\\s]")

// namesIn returns what may be names of tables among the words of a statement that
// cannot be parsed.
func namesIn(text, schema string) []source.ID {
	found := words.FindAllString(strings.ToValidUTF8(text, "?"), 4096)
	name := func(i int) string {
		if i < 0 || i >= len(found) {
			return ""
		}
		w := found[i]
		if q := w[0]; (q == '`' || q == '"') && len(w) > 1 {
			return strings.ReplaceAll(w[1:len(w)-1], string([]byte{q, q}), string(q))
		}
		return w
	}
	var out []source.ID
	for i := range found {
		db := schema
		if name(i-1) == "." {
			db = name(i - 2)
		}
		if t := name(i); t != "" {
			out = append(out, source.ID{Database: db, Name: t})
		}
	}
	return out
}

// shorten puts a statement on one line of at most 120 characters.
func shorten(s string) string {
	s = oneLine(s)
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:117], "") + "..."
	}
	return s
}
