package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	tidbmysql "github.com/pingcap/tidb/pkg/parser/mysql"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// history follows the definitions of the captured tables through the statements
// of the log, so that each row is decoded by the definition that was valid where
// it stands. It also follows the shadow tables of online migrations (gh-ost,
// pt-osc, spirit), which take a captured table's name in the end: their rows are
// copies, and what counts is how their columns differ then.
type history struct {
	definer
	same   func(a, b string) bool // names, as the server compares them
	tables []*source.Table        // captured, as they are now
	absent []bool                 // there is no table of the name at present
	skip   func(i int) bool       // the statement lies before what is known of the table; nil: none does
	shadow map[source.ID]*shadow
	// charset asks what tables of a database get that say nothing.
	charset func(database string) (json.RawMessage, error)
	// unanswered is why the source did not answer that: the stream must be read again
	// from before the statement.
	unanswered error
}

// shadow is a table made to replace a captured one.
type shadow struct {
	of  int
	def *source.Table
}

// effect is what a statement does to a captured table, or that it makes one of
// another name.
type effect struct {
	table  int
	kind   source.EventKind // StopEvent, AlterEvent, TruncateEvent, DropEvent, RowsLostEvent, NewTableEvent
	loss   source.Loss      // RowsLostEvent
	id     source.ID        // NewTableEvent
	def    *source.Table    // AlterEvent
	reason string
}

// known reports whether a name is one of the captured tables', or of a shadow.
func (h *history) known(id source.ID) bool {
	for _, t := range h.tables {
		if h.same(id.Database, t.ID.Database) && h.same(id.Name, t.ID.Name) {
			return true
		}
	}
	_, s := h.shadowOf(id.Database, id.Name)
	return s != nil
}

// appeared says that there may be a table of a name that is not captured.
func (h *history) appeared(out []effect, id source.ID, loss source.Loss, text string) []effect {
	if h.known(id) {
		return out
	}
	return append(out, effect{table: -1, kind: source.NewTableEvent, loss: loss, id: id, reason: shorten(text)})
}

func (h *history) captured(database, table string) int {
	for i, t := range h.tables {
		if h.same(database, t.ID.Database) && h.same(table, t.ID.Name) && (h.skip == nil || !h.skip(i)) {
			return i
		}
	}
	return -1
}

func (h *history) shadowOf(database, table string) (source.ID, *shadow) {
	for id, s := range h.shadow {
		if h.same(database, id.Database) && h.same(table, id.Name) {
			return id, s
		}
	}
	return source.ID{}, nil
}

// parsers' own words for what MariaDB adds.
var (
	setStatement = regexp.MustCompile(`(?is)^SET\s+STATEMENT\s.*?\sFOR\s+`)
	orReplace    = regexp.MustCompile(`(?is)^CREATE\s+OR\s+REPLACE\s+TABLE\s`)
)

// apply reads a QUERY event and returns what it does to captured tables, and
// notes it. Statements that change neither columns nor rows of a captured table
// do nothing; one that cannot be read stops the tables that it names.
func (h *history) apply(text, schema string, statusVars []byte) []effect {
	plain := strings.TrimSpace(skipComments(text))
	if m := setStatement.FindString(plain); m != "" {
		plain = skipComments(plain[len(m):])
	}
	if harmlessStatement(plain) {
		return nil
	}
	replace := false
	if m := orReplace.FindString(plain); m != "" {
		plain, replace = "CREATE TABLE "+plain[len(m):], true
	}
	if !utf8.ValidString(plain) {
		return h.unreadable(text, schema)
	}
	p := parsers.Get().(*parser.Parser)
	defer parsers.Put(p)
	p.SetSQLMode(tidbmysql.SQLMode(sqlMode(statusVars)))
	stmts, _, err := p.Parse(plain, "", "")
	if err != nil {
		return h.unreadable(text, schema)
	}
	var out []effect
	for _, s := range stmts {
		out = append(out, h.statement(s, text, schema, replace)...)
	}
	return out
}

// unreadable stops the tables that a statement names.
func (h *history) unreadable(text, schema string) []effect {
	var out []effect
	for _, n := range namesIn(text, schema) {
		if i := h.captured(n.Database, n.Name); i >= 0 && !slices.ContainsFunc(out, func(e effect) bool { return e.table == i }) {
			out = append(out, effect{table: i, kind: source.StopEvent, reason: "a statement that names it cannot be read: " + shorten(text)})
		}
		if id, s := h.shadowOf(n.Database, n.Name); s != nil {
			delete(h.shadow, id) // what it is from here on is not known
		}
	}
	switch w, _ := firstWord(skipComments(text)); w {
	case "CREATE", "RENAME", "ALTER", "SET": // SET STATEMENT … FOR CREATE TABLE
		var seen []source.ID
		for _, n := range namesIn(text, schema) {
			if len(seen) < mostNames && !slices.Contains(seen, n) {
				seen = append(seen, n)
				out = h.appeared(out, n, source.LostReplaced, text)
			}
		}
	}
	return out
}

// mostNames is how many words of a statement that cannot be read are taken for
// names of new tables.
const mostNames = 64

func nameOf(t *ast.TableName, schema string) (string, string) {
	if t.Schema.O != "" {
		schema = t.Schema.O
	}
	return schema, t.Name.O
}

func (h *history) statement(s ast.StmtNode, text, schema string, replace bool) (out []effect) {
	stop := func(i int, format string, args ...any) {
		out = append(out, effect{table: i, kind: source.StopEvent, reason: fmt.Sprintf(format, args...) + ": " + shorten(text)})
	}
	drop := func(db, name string) {
		if i := h.captured(db, name); i >= 0 && !h.absent[i] {
			h.absent[i] = true
			out = append(out, effect{table: i, kind: source.DropEvent, reason: shorten(text)})
		}
		if id, s := h.shadowOf(db, name); s != nil {
			delete(h.shadow, id)
		}
	}
	switch x := s.(type) {
	case *ast.AlterTableStmt:
		return h.alterTable(x, text, schema)
	case *ast.RenameTableStmt:
		var pairs [][2]source.ID
		for _, tt := range x.TableToTables {
			fd, ft := nameOf(tt.OldTable, schema)
			td, tn := nameOf(tt.NewTable, schema)
			pairs = append(pairs, [2]source.ID{{Database: fd, Name: ft}, {Database: td, Name: tn}})
		}
		return h.rename(pairs, text)
	case *ast.TruncateTableStmt:
		if i := h.captured(nameOf(x.Table, schema)); i >= 0 {
			out = append(out, effect{table: i, kind: source.TruncateEvent, reason: shorten(text)})
		}
	case *ast.DropTableStmt:
		if x.IsView || x.TemporaryKeyword != ast.TemporaryNone {
			return nil
		}
		for _, t := range x.Tables {
			drop(nameOf(t, schema))
		}
	case *ast.DropDatabaseStmt:
		for i, t := range h.tables {
			if h.same(t.ID.Database, x.Name.O) && (h.skip == nil || !h.skip(i)) {
				drop(t.ID.Database, t.ID.Name)
			}
		}
		for id := range h.shadow {
			if h.same(id.Database, x.Name.O) {
				delete(h.shadow, id)
			}
		}
	case *ast.DropIndexStmt:
		if i := h.captured(nameOf(x.Table, schema)); i >= 0 && h.unique(h.tables[i], x.IndexName) {
			stop(i, "the unique index that serves as its key was dropped")
		}
	case *ast.CreateTableStmt:
		if x.TemporaryKeyword != ast.TemporaryNone {
			return nil
		}
		db, name := nameOf(x.Table, schema)
		if replace {
			drop(db, name)
		}
		return append(out, h.createTable(x, source.ID{Database: db, Name: name}, text, schema)...)
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.LoadDataStmt, *ast.CallStmt:
		v := &tableNames{}
		s.Accept(v)
		for _, t := range v.names {
			if i := h.captured(nameOf(t, schema)); i >= 0 {
				stop(i, "the binlog has a statement instead of its rows (binlog_format of a session is not ROW)")
			}
		}
	}
	return out
}

func (h *history) alterTable(x *ast.AlterTableStmt, text, schema string) (out []effect) {
	db, name := nameOf(x.Table, schema)
	i := h.captured(db, name)
	id, sh := h.shadowOf(db, name)
	renamed := source.ID{}
	for _, spec := range x.Specs {
		if spec.Tp == ast.AlterTableRenameTable && spec.NewTable != nil {
			renamed.Database, renamed.Name = nameOf(spec.NewTable, db)
		}
	}
	stop := func(why string) []effect {
		if sh != nil {
			delete(h.shadow, id)
		}
		if i < 0 {
			return nil
		}
		return []effect{{table: i, kind: source.StopEvent, reason: why + ": " + shorten(text)}}
	}
	if i >= 0 || sh != nil {
		lost := source.Loss(0)
		for _, spec := range x.Specs {
			lost = max(lost, rowsLost(spec))
		}
		if lost > 0 && sh != nil {
			return stop("rows of its shadow table were exchanged")
		}
		if lost > 0 {
			out = append(out, effect{table: i, kind: source.RowsLostEvent, loss: lost, reason: shorten(text)})
		}
		old := (*source.Table)(nil)
		if i >= 0 {
			old = h.tables[i]
		} else {
			old = sh.def
		}
		def, err := h.alter(old, x.Specs)
		if err != nil {
			return stop("it was altered in a way that cannot be followed (" + err.Error() + ")")
		}
		switch {
		case sh != nil:
			sh.def = def
		case !sameColumns(old, def):
			h.tables[i] = def
			out = append(out, effect{table: i, kind: source.AlterEvent, def: def, reason: shorten(text)})
		}
	}
	if renamed.Name != "" {
		out = append(out, h.rename([][2]source.ID{{{Database: db, Name: name}, renamed}}, text)...)
	}
	return out
}

// sameColumns reports whether nothing changed that anybody could see.
func sameColumns(a, b *source.Table) bool {
	return reflect.DeepEqual(a.Columns, b.Columns) && reflect.DeepEqual(a.PrimaryKey, b.PrimaryKey) && a.Comment == b.Comment && string(a.Native) == string(b.Native)
}

// rename applies the renamings of one statement, one after the other as the
// server does, and compares what the captured names stand for before and after.
func (h *history) rename(pairs [][2]source.ID, text string) (out []effect) {
	type object struct {
		captured int // the captured table that it was before, -1
		sh       *shadow
	}
	now := map[source.ID]*object{}
	look := func(id source.ID) (source.ID, *object) {
		for k, o := range now {
			if h.same(k.Database, id.Database) && h.same(k.Name, id.Name) {
				return k, o
			}
		}
		o := &object{captured: h.captured(id.Database, id.Name)}
		if o.captured >= 0 && h.absent[o.captured] {
			o.captured = -1
		}
		if k, s := h.shadowOf(id.Database, id.Name); s != nil {
			o.sh = s
			delete(h.shadow, k)
		}
		now[id] = o
		return id, o
	}
	for _, p := range pairs {
		from, o := look(p[0])
		to, _ := look(p[1])
		now[to], now[from] = o, nil
	}
	for id, o := range now {
		i := h.captured(id.Database, id.Name)
		if o != nil && o.sh != nil && i < 0 {
			h.shadow[id] = o.sh
		}
		if i < 0 {
			if o != nil {
				out = h.appeared(out, id, source.LostReplaced, text)
			}
			continue
		}
		switch {
		case o == nil:
			if !h.absent[i] {
				h.absent[i] = true
				out = append(out, effect{table: i, kind: source.DropEvent, reason: shorten(text)})
			}
		case o.captured == i:
		case o.sh != nil && o.sh.of == i:
			def := o.sh.def.Clone()
			def.ID = h.tables[i].ID
			changed := !sameColumns(h.tables[i], def)
			h.tables[i], h.absent[i] = def, false
			if changed {
				out = append(out, effect{table: i, kind: source.AlterEvent, def: def, reason: shorten(text)})
			}
		default:
			h.absent[i] = false
			out = append(out, effect{table: i, kind: source.RowsLostEvent, loss: source.LostReplaced, reason: shorten(text)})
		}
	}
	slices.SortFunc(out, func(a, b effect) int { return a.table - b.table })
	return out
}

// shadowName recognizes the names that migration tools give to the table that
// will take the place of the one named inside.
var shadowName = regexp.MustCompile(`^_(.+)_(?:gho|new)$`)

func (h *history) createTable(x *ast.CreateTableStmt, id source.ID, text, schema string) []effect {
	i := h.captured(id.Database, id.Name)
	if i >= 0 && !h.absent[i] && x.IfNotExists {
		return nil
	}
	// Without IF NOT EXISTS there was no such table before, whatever was thought:
	// the log is read from a place before the table was made.
	var lost []effect
	if i >= 0 {
		h.absent[i] = false
		lost = []effect{{table: i, kind: source.RowsLostEvent, loss: source.LostRecreated, reason: shorten(text)}}
	}
	stop := func(err error) []effect {
		if i < 0 {
			return h.appeared(nil, id, 0, text)
		}
		return []effect{{table: i, kind: source.StopEvent, reason: fmt.Sprintf("it was created anew in a way that cannot be followed (%v): %s", err, shorten(text))}}
	}
	var def *source.Table
	of := -1
	switch {
	case x.ReferTable != nil:
		db, name := nameOf(x.ReferTable, schema)
		if of = h.captured(db, name); of >= 0 {
			def = h.tables[of].Clone()
		} else if _, s := h.shadowOf(db, name); s != nil {
			of, def = s.of, s.def.Clone()
		}
		if def == nil {
			return stop(fmt.Errorf("the definition of %s.%s is not known", db, name))
		}
		def.ID = id
	default:
		if m := shadowName.FindStringSubmatch(id.Name); m != nil {
			of = h.captured(id.Database, m[1])
		}
		if i < 0 && of < 0 {
			return h.appeared(nil, id, 0, text)
		}
		native, err := h.charset(id.Database)
		switch errs.ClassOf(err) {
		case errs.Unavailable, errs.Resource: // says nothing of the table
			h.unanswered = err
			return nil
		}
		if err == nil {
			def, err = h.create(id, x, native)
		}
		if err != nil {
			return stop(err)
		}
		base := of
		if i >= 0 {
			base = i
		}
		def.Adopt(h.tables[base])
	}
	if i >= 0 {
		if sameColumns(h.tables[i], def) {
			return lost
		}
		h.tables[i] = def
		return append(lost, effect{table: i, kind: source.AlterEvent, def: def, reason: shorten(text)})
	}
	if !shadowName.MatchString(id.Name) {
		// CREATE TABLE x LIKE captured: what is put into it, and that it is all of
		// the rows, only a migration tool promises.
		return h.appeared(nil, id, 0, text)
	}
	h.shadow[id] = &shadow{of: of, def: def}
	return nil
}

// rowsLost says how a clause changes rows without row events, 0 for others.
func rowsLost(spec *ast.AlterTableSpec) source.Loss {
	switch spec.Tp {
	case ast.AlterTableDropPartition, ast.AlterTableTruncatePartition, ast.AlterTableDropFirstPartition:
		return source.LostPartition
	case ast.AlterTableExchangePartition, ast.AlterTableDiscardTablespace, ast.AlterTableImportTablespace, ast.AlterTableDiscardPartitionTablespace, ast.AlterTableImportPartitionTablespace:
		return source.LostExchanged
	}
	return 0
}

// newHistory starts following the definitions of a stream's tables.
func (s *Source) newHistory(ctx context.Context, q queryer, sv *server, st *stream) (*history, error) {
	h := &history{definer: definer{booleans: s.opt.booleans, comments: s.opt.comments, mariadb: sv.mariadb, collations: map[string]string{}},
		same: st.same, skip: st.before, tables: slices.Clone(st.tables), absent: make([]bool, len(st.tables)), shadow: map[source.ID]*shadow{}}
	rows, err := q.QueryContext(ctx, "SHOW COLLATION WHERE `Default` = 'Yes'")
	if err != nil {
		return nil, s.fault("read the collations", err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, s.fault("read the collations", err)
	}
	for rows.Next() {
		var name, set string
		dest := make([]any, len(cols))
		for i := range dest {
			dest[i] = new(sql.RawBytes)
		}
		dest[0], dest[1] = &name, &set
		if err := rows.Scan(dest...); err != nil {
			return nil, s.fault("read the collations", err)
		}
		h.collations[set] = name
	}
	if err := rows.Err(); err != nil {
		return nil, s.fault("read the collations", err)
	}
	h.charset = func(database string) (json.RawMessage, error) {
		ctx, cancel := context.WithTimeout(context.Background(), s.opt.connectTimeout)
		defer cancel()
		var collation sql.NullString
		err := q.QueryRowContext(ctx, "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = "+literal(database)).Scan(&collation)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, errs.Userf(errs.UnknownDatabase, "the database %s is gone", database)
		}
		if err != nil {
			return nil, s.fault("read the character set of "+database, err)
		}
		return tableNativeOf(collation.String, "")
	}
	return h, nil
}
