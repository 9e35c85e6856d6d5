package metadata

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
)

// DatabaseCollation is the default collation of a database.
func DatabaseCollation(database string) string {
	if database == InformationSchema {
		return "utf8mb3_general_ci"
	}
	return CreateCollation
}

// eachDatabase calls f for the visible databases that matter.
func eachDatabase(ctx context.Context, src Source, want wanted, column string, f func(db string) error) error {
	dbs, err := src.Databases(ctx)
	if err != nil {
		return err
	}
	for _, db := range dbs {
		if want.allows(column, db) {
			if err := f(db); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachName calls f for the visible tables that matter, by name.
func eachName(ctx context.Context, src Source, want wanted, f func(db, table string) error) error {
	return eachDatabase(ctx, src, want, "TABLE_SCHEMA", func(db string) error {
		// Exactly named tables need no listing.
		names, exact := want.only["TABLE_NAME"]
		if !exact || len(names) > 16 {
			var err error
			if names, err = src.Tables(ctx, db); err != nil {
				if errs.Is(err, errs.UnknownDatabase) {
					return nil
				}
				return err
			}
		}
		for _, n := range names {
			if !want.allows("TABLE_NAME", n) {
				continue
			}
			if err := f(db, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachTable calls f for the visible tables that matter. Tables that are gone or
// broken are left out, the latter with a warning.
func eachTable(ctx context.Context, src Source, want wanted, f func(db string, t catalog.Table) error) error {
	return eachName(ctx, src, want, func(db, name string) error {
		t, err := src.Table(ctx, db, name)
		if err == nil {
			return f(db, t)
		}
		if ctx.Err() != nil {
			return err
		}
		if !errs.Is(err, errs.UnknownTable) && !errs.Is(err, errs.TableDenied) {
			src.Warn(err)
		}
		return nil
	})
}

func schemataRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return eachDatabase(ctx, src, want, "SCHEMA_NAME", func(db string) error {
		c := DatabaseCollation(db)
		cs, _, _ := strings.Cut(c, "_")
		return add(Row{"def", db, cs, c, nil, "NO"})
	})
}

func schemataExtensionRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return eachDatabase(ctx, src, want, "SCHEMA_NAME", func(db string) error { return add(Row{"def", db, ""}) })
}

// TableStatus is what TABLES and SHOW TABLE STATUS tell of a table.
type TableStatus struct {
	Type, Engine, RowFormat string
	Rows                    any
	Created                 any
	Collation               any
	Options, Comment        string
	View                    bool // the rest is NULL
}

// engineOf is the storage engine's name of a table.
func engineOf(t catalog.Table) string {
	if e, ok := t.(interface{ Engine() string }); ok {
		return e.Engine()
	}
	return "Paimon"
}

// TableCollation is the collation that SHOW CREATE TABLE names for the table,
// so that most columns need none of their own.
func TableCollation(s *catalog.Schema) string {
	for _, f := range s.Fields {
		if m := s.MySQLType(f); m != "" && ParseColumnType(m, CreateCollation).Collation != "" {
			return CreateCollation
		}
	}
	for _, f := range s.Fields {
		if TypeOf(f, "").Collation != "" {
			return StoredCollation
		}
	}
	return CreateCollation
}

// describe tells of a table what needs no I/O.
func describe(t catalog.Table) TableStatus {
	if v, ok := t.(*View); ok {
		return v.status()
	}
	if _, ok := t.(*Table); ok {
		st := TableStatus{Type: "SYSTEM VIEW", Created: nil}
		if t.ID().Database != InformationSchema {
			st.Type, st.Engine, st.RowFormat = "BASE TABLE", "PERFORMANCE_SCHEMA", "Dynamic"
			st.Collation = CreateCollation
		}
		return st
	}
	s := t.Schema()
	st := TableStatus{Type: "BASE TABLE", Engine: engineOf(t), RowFormat: "Dynamic", Collation: TableCollation(s), Comment: s.Comment}
	if s.TimeMillis > 0 {
		st.Created = time.UnixMilli(s.TimeMillis).Truncate(time.Second)
	}
	if len(s.PartitionKeys) > 0 {
		st.Options = "partitioned"
	}
	return st
}

// StatusOf describes a table. counted says whether the number of rows is wanted,
// which may need I/O.
func StatusOf(ctx context.Context, t catalog.Table, counted bool) (TableStatus, error) {
	st := describe(t)
	if _, virtual := t.(*Table); counted && !virtual {
		if r, ok := t.(connector.Readable); ok {
			snap, err := r.Snapshot(ctx, catalog.Ref{})
			if err != nil {
				return st, err
			}
			n, _, err := snap.RowCount(ctx)
			if err != nil {
				return st, err
			}
			if n >= 0 {
				st.Rows = n
			}
		}
	}
	return st, nil
}

// orNil turns "" into NULL.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func tablesRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	counted := want.columns["TABLE_ROWS"]
	namesOnly := !slices.ContainsFunc([]string{"ENGINE", "VERSION", "ROW_FORMAT", "TABLE_ROWS", "CREATE_TIME", "TABLE_COLLATION",
		"CREATE_OPTIONS", "TABLE_COMMENT"}, func(c string) bool { return want.columns[c] })
	_, exact := want.only["TABLE_NAME"]
	views := map[string][]string{}
	return eachName(ctx, src, want, func(db, name string) error {
		var st TableStatus
		_, virtual := VirtualDatabase(db)
		if namesOnly && !exact {
			st.Type = "BASE TABLE"
			if _, listed := views[db]; !listed {
				var err error
				if views[db], err = src.Views(ctx, db); err != nil {
					return err
				}
			}
			if slices.Contains(views[db], name) {
				st = TableStatus{Type: "VIEW", View: true}
			}
			if db == InformationSchema {
				st.Type = "SYSTEM VIEW"
			}
		} else {
			t, err := src.Table(ctx, db, name)
			if err == nil {
				name = t.ID().Object()
				st, err = StatusOf(ctx, t, counted)
			}
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				if errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.UnknownDatabase) || errs.Is(err, errs.TableDenied) {
					return nil
				}
				src.Warn(err)
				st = TableStatus{Type: "BASE TABLE", Comment: err.Error()}
			}
		}
		version := any(int64(10))
		if virtual && db == InformationSchema || st.Engine == "" {
			version = nil
			if virtual {
				version = int64(10)
			}
		}
		created, options := st.Created, any(st.Options)
		if created == nil {
			created = time.Unix(0, 0)
		}
		zero := any(uint64(0))
		if !virtual {
			zero = nil
		}
		if st.View {
			options = nil
		}
		return add(Row{"def", db, name, st.Type, orNil(st.Engine), version, orNil(st.RowFormat), st.Rows, zero, zero, zero, zero, zero,
			nil, created, nil, nil, st.Collation, nil, options, st.Comment})
	})
}

// ColumnInfo is a column as SHOW and information_schema tell it.
type ColumnInfo struct {
	Name, Comment string
	Type          ColumnType
	Nullable      bool
	Default       any
	Key           string // "PRI", "MUL", ""
	Extra         string
	Virtual       bool
}

// ColumnsOf describes the columns of a table.
func ColumnsOf(t catalog.Table) []ColumnInfo {
	s := t.Schema()
	var virtual []Field
	if v, ok := t.(*Table); ok {
		virtual = v.fields
	}
	out := make([]ColumnInfo, len(s.Fields))
	for i, f := range s.Fields {
		c := ColumnInfo{Name: f.Name, Comment: f.Comment, Nullable: !f.Type.NotNull, Type: TypeOf(f, s.MySQLType(f))}
		if f.Default != nil {
			c.Default = *f.Default
		}
		if slices.Contains(s.PrimaryKeys, f.Name) {
			c.Key, c.Nullable = "PRI", false
		}
		if virtual != nil {
			c.Key, c.Virtual = virtual[i].Key, true
		}
		out[i] = c
	}
	return out
}

// columnPrivileges lists the account's rights on a table's columns.
func columnPrivileges(src Source, db, table string) string {
	var out []string
	for _, p := range []struct {
		p    Privilege
		name string
	}{{Select, "select"}, {Insert, "insert"}, {Update, "update"}, {References, "references"}} {
		if src.Allowed(p.p, db, table) {
			out = append(out, p.name)
		}
	}
	return strings.Join(out, ",")
}

func optional(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}

func optionalU(n int64) any {
	if n < 0 {
		return nil
	}
	return uint64(n)
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

func columnsRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return eachTable(ctx, src, want, func(db string, t catalog.Table) error {
		name := t.ID().Object()
		rights := ""
		if want.columns["PRIVILEGES"] {
			rights = columnPrivileges(src, db, name)
		}
		for i, c := range ColumnsOf(t) {
			if !want.allows("COLUMN_NAME", c.Name) {
				continue
			}
			err := add(Row{"def", db, name, c.Name, int64(i + 1), c.Default, yesNo(c.Nullable), c.Type.Data, optional(c.Type.CharLength),
				optional(c.Type.OctetLength), optionalU(c.Type.Precision), optionalU(c.Type.Scale), optional(c.Type.FractionDigits),
				orNil(c.Type.Charset), orNil(c.Type.Collation), c.Type.Full, c.Key, c.Extra, rights, c.Comment, "", nil})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func statisticsRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return eachTable(ctx, src, want, func(db string, t catalog.Table) error {
		if _, virtual := t.(*Table); virtual {
			return nil
		}
		for i, k := range t.Schema().PrimaryKeys {
			if err := add(Row{"def", db, t.ID().Object(), int64(0), db, "PRIMARY", int64(i + 1), k, "A", nil, nil, nil, "", "BTREE", "", "", "YES", nil}); err != nil {
				return err
			}
		}
		return nil
	})
}

func keyColumnUsageRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return eachTable(ctx, src, want, func(db string, t catalog.Table) error {
		if _, virtual := t.(*Table); virtual {
			return nil
		}
		for i, k := range t.Schema().PrimaryKeys {
			if err := add(Row{"def", db, "PRIMARY", "def", db, t.ID().Object(), k, int64(i + 1), nil, nil, nil, nil}); err != nil {
				return err
			}
		}
		return nil
	})
}

func tableConstraintsRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return eachTable(ctx, src, want, func(db string, t catalog.Table) error {
		if _, virtual := t.(*Table); virtual || len(t.Schema().PrimaryKeys) == 0 {
			return nil
		}
		return add(Row{"def", db, "PRIMARY", db, t.ID().Object(), "PRIMARY KEY", "YES"})
	})
}

// partitionsRows gives a row a table, as MySQL does for tables that it has not
// partitioned: a lake table's partitions are not MySQL's, t$partitions has them.
func partitionsRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	counted := want.columns["TABLE_ROWS"]
	return eachTable(ctx, src, want, func(db string, t catalog.Table) error {
		if _, virtual := t.(*Table); virtual {
			return nil
		}
		st, err := StatusOf(ctx, t, counted)
		if err != nil {
			return err
		}
		created := st.Created
		if created == nil {
			created = time.Unix(0, 0)
		}
		return add(Row{"def", db, t.ID().Object(), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, st.Rows, nil, nil, nil, nil, nil,
			created, nil, nil, nil, "", "", nil})
	})
}
