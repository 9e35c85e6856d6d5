package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// Tables implements source.Source.
func (s *Source) Tables(ctx context.Context) ([]source.ID, error) {
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
		WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND LOWER(TABLE_SCHEMA) NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
		ORDER BY TABLE_SCHEMA, TABLE_NAME`)
	if err != nil {
		return nil, s.fault("list the tables", err)
	}
	defer rows.Close()
	var out []source.ID
	for rows.Next() {
		var id source.ID
		if err := rows.Scan(&id.Database, &id.Name); err != nil {
			return nil, s.fault("list the tables", err)
		}
		out = append(out, id)
	}
	return out, s.fault("list the tables", rows.Err())
}

// Describe implements source.Source.
func (s *Source) Describe(ctx context.Context, ids []source.ID) ([]*source.Table, error) {
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	return s.describe(ctx, db, ids)
}

func (s *Source) describe(ctx context.Context, q queryer, ids []source.ID) ([]*source.Table, error) {
	sv, err := s.check(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*source.Table, len(ids))
	for i, id := range ids {
		t, err := s.describeOne(ctx, q, id)
		if err != nil {
			return nil, err
		}
		if !sv.cascades {
			if err := s.cascades(ctx, q, t); err != nil {
				return nil, err
			}
		}
		out[i] = t
	}
	return out, nil
}

func (s *Source) describeOne(ctx context.Context, q queryer, id source.ID) (*source.Table, error) {
	doing := "describe " + id.String()
	where := " WHERE TABLE_SCHEMA = " + literal(id.Database) + " AND TABLE_NAME = " + literal(id.Name)
	t := &source.Table{ID: id, Rows: -1, Bytes: -1}
	var kind string
	var comment, collation sql.NullString
	var rowsEst, bytesEst sql.NullInt64
	var engine sql.NullString
	err := q.QueryRowContext(ctx, "SELECT TABLE_TYPE, ENGINE, TABLE_COMMENT, TABLE_ROWS, DATA_LENGTH, TABLE_COLLATION FROM information_schema.TABLES"+where).
		Scan(&kind, &engine, &comment, &rowsEst, &bytesEst, &collation)
	if err == sql.ErrNoRows {
		return nil, errs.Userf(errs.UnknownTable, "%s of %s: there is no such table, or the account may not see it", doing, s.Address())
	}
	if err != nil {
		return nil, s.fault(doing, err)
	}
	if rowsEst.Valid {
		t.Rows = rowsEst.Int64
	}
	if bytesEst.Valid {
		t.Bytes = bytesEst.Int64
	}
	if s.opt.comments {
		t.Comment = comment.String
	}
	if kind == "SYSTEM VERSIONED" {
		t.Unsupported = "it is a system-versioned table"
	}
	cols, err := s.columns(ctx, q, doing, where)
	if err != nil {
		return nil, err
	}
	if t.PrimaryKey, err = s.primaryKey(ctx, q, doing, where); err != nil {
		return nil, err
	}
	unique := ""
	if len(t.PrimaryKey) == 0 {
		if unique, t.PrimaryKey, err = s.uniqueKey(ctx, q, doing, where); err != nil {
			return nil, err
		}
		if unique != "" {
			t.Warnings = append(t.Warnings, "it has no primary key; its unique index "+unique+" serves as one")
		}
	}
	key := map[string]bool{}
	for _, k := range t.PrimaryKey {
		key[k] = true
	}
	if t.Native, err = tableNativeOf(collation.String, unique); err != nil {
		return nil, err
	}
	zero, tiny := []string(nil), []string(nil)
	for _, c := range cols {
		if !s.opt.comments {
			c.comment = ""
		}
		col, err := defineColumn(c, key[c.name], s.opt.booleans)
		if err != nil {
			if t.Unsupported == "" {
				t.Unsupported = err.Error()
			}
			continue
		}
		if col.Required && !col.Type.NotNull {
			zero = append(zero, col.Name)
		}
		if strings.HasPrefix(c.columnType, "tinyint(1)") && !s.opt.booleans {
			tiny = append(tiny, col.Name)
		}
		t.Columns = append(t.Columns, col)
	}
	t.Number()
	if len(zero) > 0 {
		t.Warnings = append(t.Warnings, "nullable in the lake, since a zero date becomes NULL: "+strings.Join(zero, ", "))
	}
	if len(tiny) > 0 {
		t.Warnings = append(t.Warnings, "TINYINT(1) stays TINYINT (treat-tinyint1-as-boolean.enabled is false here by default): "+strings.Join(tiny, ", "))
	}
	if engine.String != "" && !transactional[strings.ToLower(engine.String)] {
		if len(t.PrimaryKey) == 0 && t.Unsupported == "" {
			t.Unsupported = "it has no primary key, and its engine " + engine.String + " no consistent read: rows could come twice"
		}
		t.Warnings = append(t.Warnings, "engine "+engine.String+" has no consistent read: changes during the copy are applied again from the binlog")
	}
	return t, nil
}

// defineColumn maps a column and checks that its rows can be decoded.
func defineColumn(c columnInfo, key, booleans bool) (source.Column, error) {
	col, n, err := mapColumn(c, booleans)
	if err != nil {
		return col, err
	}
	if n.Charset != "" && !isUTF8(n.Charset) && charsets[n.Charset] == nil && !singleByte[n.Charset] {
		return col, errs.Unsupportedf(-1, "the character set %s of column %s", n.Charset, col.Name)
	}
	col.Required = col.Type.NotNull
	if n.mayBeInvalid() && col.Type.NotNull && !key {
		// NOT NULL temporal columns of MySQL hold zero dates all the same;
		// those become NULL in the lake.
		col.Type = col.Type.Nullable()
	}
	return col, nil
}

// cascades looks for foreign keys by which the server changes rows of the table
// without writing them to the binlog: rows would differ silently.
func (s *Source) cascades(ctx context.Context, q queryer, t *source.Table) error {
	doing := "describe " + t.ID.String()
	rows, err := q.QueryContext(ctx, "SELECT CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = "+
		literal(t.ID.Database)+" AND TABLE_NAME = "+literal(t.ID.Name)+" ORDER BY CONSTRAINT_NAME")
	if err != nil {
		return s.fault(doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, onDelete, onUpdate string
		if err := rows.Scan(&name, &onDelete, &onUpdate); err != nil {
			return s.fault(doing, err)
		}
		rule := ""
		switch {
		case acts(onDelete):
			rule = "ON DELETE " + onDelete
		case acts(onUpdate):
			rule = "ON UPDATE " + onUpdate
		default:
			continue
		}
		what := "its foreign key " + name + " changes rows by " + rule + ", which this server does not write to the binlog"
		if s.opt.ignoreCascades {
			t.Warnings = append(t.Warnings, what+": such rows will differ in the lake")
		} else if t.Unsupported == "" {
			t.Unsupported = what + " (foreign-key-cascades: ignore in the source block follows it all the same)"
		}
	}
	return s.fault(doing, rows.Err())
}

func acts(rule string) bool {
	return rule == "CASCADE" || rule == "SET NULL" || rule == "SET DEFAULT"
}

var transactional = map[string]bool{"innodb": true, "rocksdb": true, "tokudb": true, "ndbcluster": true}

func (s *Source) columns(ctx context.Context, q queryer, doing, where string) ([]columnInfo, error) {
	rows, err := q.QueryContext(ctx, `SELECT COLUMN_NAME, LOWER(DATA_TYPE), COLUMN_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, COLUMN_COMMENT,
		CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION FROM information_schema.COLUMNS`+where+" ORDER BY ORDINAL_POSITION")
	if err != nil {
		return nil, s.fault(doing, err)
	}
	defer rows.Close()
	var out []columnInfo
	for rows.Next() {
		var c columnInfo
		var nullable string
		var charset, collation, extra, comment sql.NullString
		var length, precision, scale, fsp sql.NullString
		if err := rows.Scan(&c.name, &c.dataType, &c.columnType, &nullable, &charset, &collation, &extra, &comment, &length, &precision, &scale, &fsp); err != nil {
			return nil, s.fault(doing, err)
		}
		c.nullable = nullable == "YES"
		c.charset, c.collation, c.extra, c.comment = charset.String, collation.String, extra.String, comment.String
		for _, x := range []struct {
			from sql.NullString
			to   *int64
		}{{length, &c.length}, {precision, &c.precision}, {scale, &c.scale}, {fsp, &c.fsp}} {
			if x.from.Valid {
				if _, err := fmt.Sscan(x.from.String, x.to); err != nil {
					return nil, errs.Corruptf("%s of %s: information_schema says %q for column %s", doing, s.Address(), x.from.String, c.name)
				}
			}
		}
		out = append(out, c)
	}
	return out, s.fault(doing, rows.Err())
}

// uniqueKey returns the first unique index whose columns are whole and NOT NULL,
// which tells rows apart as a primary key does.
func (s *Source) uniqueKey(ctx context.Context, q queryer, doing, where string) (string, []string, error) {
	rows, err := q.QueryContext(ctx, "SELECT INDEX_NAME, COLUMN_NAME, NULLABLE, SUB_PART FROM information_schema.STATISTICS"+where+" AND NON_UNIQUE = 0 ORDER BY INDEX_NAME, SEQ_IN_INDEX")
	if err != nil {
		return "", nil, s.fault(doing, err)
	}
	defer rows.Close()
	columns, bad := map[string][]string{}, map[string]bool{}
	var names []string
	for rows.Next() {
		var name string
		var column, nullable, part sql.NullString
		if err := rows.Scan(&name, &column, &nullable, &part); err != nil {
			return "", nil, s.fault(doing, err)
		}
		if columns[name] == nil {
			names = append(names, name)
		}
		columns[name] = append(columns[name], column.String)
		bad[name] = bad[name] || !column.Valid || strings.EqualFold(nullable.String, "YES") || part.Valid
	}
	for _, n := range names {
		if !bad[n] {
			return n, columns[n], s.fault(doing, rows.Err())
		}
	}
	return "", nil, s.fault(doing, rows.Err())
}

func (s *Source) primaryKey(ctx context.Context, q queryer, doing, where string) ([]string, error) {
	rows, err := q.QueryContext(ctx, "SELECT COLUMN_NAME FROM information_schema.STATISTICS"+where+" AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX")
	if err != nil {
		return nil, s.fault(doing, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var c string
		if err := rows.Scan(&c); err != nil {
			return nil, s.fault(doing, err)
		}
		out = append(out, c)
	}
	return out, s.fault(doing, rows.Err())
}
