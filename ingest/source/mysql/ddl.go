package mysql

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	tidbmysql "github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // literals of the parsed statements
)

// effect says that a statement of the binlog ends the following of a captured
// table, or of all tables of a database (table ""), and why.
type effect struct {
	database, table string
	reason          string
}

// statementEffects reads a QUERY event. captured tells which tables matter
// (table "": whether any of the database does). Statements that change neither
// columns nor rows of a captured table have no effect; one that cannot be read
// has one when it names a captured table.
func statementEffects(text, schema string, statusVars []byte, captured func(database, table string) bool) []effect {
	if harmlessStatement(text) {
		return nil
	}
	if !utf8.ValidString(text) {
		return tolerant(text, schema, captured)
	}
	p := parsers.Get().(*parser.Parser)
	defer parsers.Put(p)
	p.SetSQLMode(tidbmysql.SQLMode(sqlMode(statusVars)))
	stmts, _, err := p.Parse(text, "", "")
	if err != nil {
		return tolerant(text, schema, captured)
	}
	var out []effect
	for _, s := range stmts {
		out = append(out, parsedEffects(s, text, schema, captured)...)
	}
	return out
}

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

func parsedEffects(s ast.StmtNode, text, schema string, captured func(database, table string) bool) []effect {
	var out []effect
	add := func(t *ast.TableName, format string, args ...any) {
		db := t.Schema.O
		if db == "" {
			db = schema
		}
		if captured(db, t.Name.O) {
			out = append(out, effect{db, t.Name.O, fmt.Sprintf(format, args...) + ": " + shorten(text)})
		}
	}
	switch x := s.(type) {
	case *ast.AlterTableStmt:
		for _, spec := range x.Specs {
			if what := alterEffect(spec); what != "" {
				add(x.Table, "%s", what)
				if spec.NewTable != nil {
					add(spec.NewTable, "%s", what)
				}
				break
			}
		}
	case *ast.RenameTableStmt:
		for _, tt := range x.TableToTables {
			add(tt.OldTable, "the table was renamed")
			add(tt.NewTable, "another table was renamed to it")
		}
	case *ast.TruncateTableStmt:
		add(x.Table, "the table was truncated")
	case *ast.DropTableStmt:
		if x.IsView || x.TemporaryKeyword != ast.TemporaryNone {
			return nil
		}
		for _, t := range x.Tables {
			add(t, "the table was dropped")
		}
	case *ast.DropDatabaseStmt:
		if captured(x.Name.O, "") {
			out = append(out, effect{database: x.Name.O, reason: "the database was dropped: " + shorten(text)})
		}
	case *ast.CreateTableStmt:
		if x.IfNotExists || x.TemporaryKeyword != ast.TemporaryNone {
			return nil
		}
		add(x.Table, "the table was created anew")
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.LoadDataStmt, *ast.CallStmt:
		v := &tableNames{}
		s.Accept(v)
		for _, t := range v.names {
			add(t, "the binlog has a statement instead of its rows (binlog_format of a session is not ROW)")
		}
	}
	return out
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

// alterEffect says what a clause of ALTER TABLE does to columns, keys or rows;
// "" for clauses that leave them alone.
func alterEffect(spec *ast.AlterTableSpec) string {
	switch spec.Tp {
	case ast.AlterTableOption:
		for _, o := range spec.Options {
			if (o.Tp == ast.TableOptionCharset || o.Tp == ast.TableOptionCollate) && o.UintValue == ast.TableOptionCharsetWithConvertTo {
				return "the character set of columns was changed"
			}
		}
		return ""
	case ast.AlterTableAddConstraint:
		if spec.Constraint != nil && spec.Constraint.Tp == ast.ConstraintPrimaryKey {
			return "the primary key was changed"
		}
		return ""
	case ast.AlterTableDropPrimaryKey:
		return "the primary key was changed"
	case ast.AlterTableAddColumns:
		return "columns were added"
	case ast.AlterTableDropColumn:
		return "a column was dropped"
	case ast.AlterTableModifyColumn, ast.AlterTableChangeColumn:
		return "a column was changed"
	case ast.AlterTableRenameColumn:
		return "a column was renamed"
	case ast.AlterTableRenameTable:
		return "the table was renamed"
	case ast.AlterTableDropPartition, ast.AlterTableTruncatePartition, ast.AlterTableExchangePartition, ast.AlterTableDropFirstPartition:
		return "rows vanished with a partition"
	case ast.AlterTableDropIndex, ast.AlterTableDropForeignKey, ast.AlterTableAlterColumn, ast.AlterTableLock, ast.AlterTableAlgorithm, ast.AlterTableRenameIndex,
		ast.AlterTableForce, ast.AlterTableAddPartitions, ast.AlterTablePartition, ast.AlterTableCoalescePartitions, ast.AlterTableEnableKeys, ast.AlterTableDisableKeys,
		ast.AlterTableRemovePartitioning, ast.AlterTableWithValidation, ast.AlterTableWithoutValidation, ast.AlterTableRebuildPartition, ast.AlterTableReorganizePartition,
		ast.AlterTableCheckPartitions, ast.AlterTableOptimizePartition, ast.AlterTableRepairPartition, ast.AlterTableAlterCheck, ast.AlterTableDropCheck,
		ast.AlterTableIndexInvisible, ast.AlterTableOrderByColumns, ast.AlterTableSecondaryLoad, ast.AlterTableSecondaryUnload:
		return ""
	}
	return "the table was altered in a way that this version does not know"
}

var words = regexp.MustCompile("`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\\p{L}\\p{N}_$]+|[^\\s]")

// tolerant handles statements that cannot be parsed: it looks for names of
// captured tables among the words.
func tolerant(text, schema string, captured func(database, table string) bool) []effect {
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
	var out []effect
	seen := map[effect]bool{}
	for i := range found {
		db := schema
		if name(i-1) == "." {
			db = name(i - 2)
		}
		t := name(i)
		e := effect{database: db, table: t}
		if t != "" && captured(db, t) && !seen[e] {
			seen[e] = true
			out = append(out, effect{db, t, "a statement that names it cannot be read: " + shorten(text)})
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
