package plan

import (
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// Access is what a statement does to a table.
type Access uint8

// The accesses; they add up.
const (
	ReadRows Access = 1 << iota
	InsertRows
	UpdateRows
	DeleteRows
)

// Target is a table that a statement changes: one of those that its query
// reads, or only the one that rows go into.
type Target struct {
	Catalog string
	ID      catalog.Identifier
	Table   connector.Writable
	Schema  *catalog.Schema
	Types   []expr.Type // of the schema's columns, as SQL sees them
	// Base is the snapshot that the change is computed from; nil when the
	// statement does not read the table.
	Base connector.Snapshot
	// Change, of a table without primary key, deletes rows by their addresses.
	// It is nil where nothing will be executed.
	Change connector.RowChange

	// In the query that reads the table: the columns in SQL's form and as they
	// are stored, by position in the schema, and the address of the row, -1 where
	// the primary key is enough.
	Cols, Raw []ColID
	Address   ColID
	// Present is a column that is NULL in rows that have none of the table.
	Present ColID
}

// Keyed reports whether rows are told apart by a primary key.
func (t *Target) Keyed() bool { return len(t.Schema.PrimaryKeys) > 0 }

// KeyColumns are the positions of the primary key's columns.
func (t *Target) KeyColumns() []int { return t.Schema.Columns(t.Schema.PrimaryKeys) }

// Option returns an option of the table, in lower case.
func (t *Target) Option(key string) string {
	return strings.ToLower(strings.TrimSpace(t.Schema.Options[key]))
}

// Close releases what the change holds. It may be called more than once.
func (t *Target) Close() error {
	if t == nil || t.Change == nil {
		return nil
	}
	return t.Change.Close()
}

// newTarget describes a table that is written.
func (b *binder) newTarget(n Name, t catalog.Table, pos int, verb string) (*Target, error) {
	w, ok := t.(connector.Writable)
	if !ok || n.ID.System != "" || n.Catalog == "" && n.Temporary == nil {
		if n.Catalog == "" || n.ID.System != "" {
			if verb == "INSERT" || verb == "REPLACE" {
				return nil, errs.UserAt(pos, errs.NotInsertable, "The target table %s of the %s is not insertable-into", n.ID.Object(), verb)
			}
			return nil, errs.UserAt(pos, errs.NotUpdatable, "The target table %s of the %s is not updatable", n.ID.Object(), verb)
		}
		return nil, errs.Unsupportedf(pos, "%s of table %s, which cannot be written", verb, n.ID)
	}
	x := &Target{Catalog: n.Catalog, ID: n.ID, Table: w, Schema: t.Schema(), Address: -1, Present: -1}
	for _, f := range x.Schema.Fields {
		typ, err := expr.FromColumn(f, x.Schema.MySQLType(f))
		if err != nil {
			return nil, err
		}
		x.Types = append(x.Types, typ)
	}
	return x, nil
}

// openTarget resolves and opens the table that a statement writes without
// reading it first.
func (b *binder) openTarget(name syntax.ObjectName, a Access, verb string) (*Target, error) {
	n, err := ResolveTable(b.env.Catalogs, name)
	if err != nil {
		return nil, err
	}
	t := n.Temporary
	if t == nil {
		if err := b.mayChange(n, a); err != nil {
			return nil, err
		}
		if t, err = b.targetTable(n, name.Pos(), verb); err != nil {
			return nil, err
		}
	}
	return b.newTarget(n, t, name.Pos(), verb)
}

// targetTable opens a table that is to be changed.
func (b *binder) targetTable(n Name, pos int, verb string) (catalog.Table, error) {
	t, err := n.In.Table(b.ctx, n.ID)
	if errs.Is(err, errs.UnknownTable) {
		v, look := b.view(n)
		if look != nil {
			return nil, look
		}
		if v != nil {
			return nil, errs.Unsupportedf(pos, "%s through a view; change the tables that %s reads", verb, n.ID)
		}
	}
	return t, positioned(err, pos)
}

// mayChange checks the right to change a table.
func (b *binder) mayChange(n Name, a Access) error {
	if b.env.AuthorizeChange == nil || n.Temporary != nil {
		return nil
	}
	return b.env.AuthorizeChange(b.ctx, n.Catalog, n.ID, a)
}

// base pins the newest snapshot of a target. A consistent-snapshot transaction
// does not matter: rows are changed as they are now.
func (b *binder) base(t *Target, pos int) error {
	if t.Base != nil {
		return nil
	}
	r, ok := t.Table.(connector.Readable)
	if !ok {
		return errs.Unsupportedf(pos, "reading table %s", t.ID)
	}
	// A version that the table's own options name is not what it holds now: rows
	// that came after it would be missed without a word.
	for _, o := range []string{"scan.snapshot-id", "scan.tag-name", "scan.version", "scan.timestamp", "scan.timestamp-millis", "scan.watermark",
		"scan.creation-time-millis", "scan.file-creation-time-millis", "incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"} {
		if t.Option(o) != "" {
			return errs.Unsupportedf(pos, "changing rows of table %s, whose option '%s' names what is read of it; ALTER TABLE … RESET ('%s') first", t.ID, o, o)
		}
	}
	switch m := strings.ToLower(strings.TrimSpace(t.Option("scan.mode"))); m {
	case "", "default", "full", "latest-full", "latest":
	default:
		return errs.Unsupportedf(pos, "changing rows of table %s, whose option 'scan.mode' = '%s' leaves out some; ALTER TABLE … RESET ('scan.mode') first", t.ID, m)
	}
	// A changed row would be written to the main branch, and hide all others of its
	// partition that only the fallback branch has.
	if v := t.Option("scan.fallback-branch"); v != "" {
		return errs.Unsupportedf(pos, "changing rows of table %s, which has the fallback branch '%s'; change those of %s$branch_%s, or INSERT", t.ID, v, t.ID, v)
	}
	s, err := r.Snapshot(b.ctx, catalog.Ref{})
	if err != nil {
		return positioned(err, pos)
	}
	if s.Schema().ID != t.Schema.ID {
		return errs.New(errs.Conflict, errs.KindNone, "change table %s: its definition has changed since the statement began", t.ID)
	}
	t.Base = s
	u := &TableUse{Catalog: t.Catalog, Table: t.Table, Snapshot: s}
	if b.env.Pin != nil {
		b.env.Pin(*u)
	}
	b.tables = append(b.tables, u)
	return nil
}

// targetScan is the scan of a table whose rows the statement changes. Beside the
// columns in SQL's form it gives them as they are stored, where that differs,
// and the addresses of rows without a key.
func (b *binder) targetScan(t *syntax.TableName, alias string, verb string) (*Scan, *tableRef, error) {
	if t.AsOf != nil || len(t.Options) > 0 {
		return nil, nil, errs.Unsupportedf(t.Pos(), "%s of a version of a table", verb)
	}
	n, err := ResolveTable(b.env.Catalogs, t.Name)
	if err != nil {
		return nil, nil, err
	}
	tab := n.Temporary
	if tab == nil {
		if err := b.mayChange(n, b.targets[t]); err != nil {
			return nil, nil, err
		}
		if tab, err = b.targetTable(n, t.Name.Pos(), verb); err != nil {
			return nil, nil, err
		}
	}
	x, err := b.newTarget(n, tab, t.Pos(), verb)
	if err != nil {
		return nil, nil, err
	}
	if err := b.base(x, t.Pos()); err != nil {
		return nil, nil, err
	}
	if !x.Keyed() && b.env.Change != nil {
		c, ok := tab.(connector.RowChanger)
		if !ok {
			return nil, nil, errs.Unsupportedf(t.Pos(), "%s of table %s, which has no primary key", verb, n.ID)
		}
		if x.Change, err = b.env.Change(b.ctx, c, x.Base); err != nil {
			return nil, nil, positioned(err, t.Pos())
		}
	}
	b.opened = append(b.opened, x)
	u := &TableUse{Catalog: n.Catalog, Table: tab, Snapshot: x.Base}
	if x.Change != nil {
		u.Snapshot = x.Change.Rows()
	}
	s, err := b.scan(&TableUse{Catalog: n.Catalog, Table: tab, Snapshot: x.Base}, n, alias)
	if err != nil {
		return nil, nil, err
	}
	s.Use = u
	ref := &tableRef{catalog: n.Catalog, database: n.ID.Database, alias: alias, target: x}
	for _, c := range s.Cols {
		ref.cols = append(ref.cols, named{b.cols[c.ID].Name, c.ID})
		x.Cols = append(x.Cols, c.ID)
	}
	for i, f := range x.Schema.Fields {
		id := x.Cols[i]
		if _, plain := plainColumn(s.Cols[i].Load); !plain {
			typ := storedType(f.Type)
			id = b.newCol(Column{Name: f.Name, Type: typ, Table: alias})
			s.Cols = append(s.Cols, ScanCol{ID: id, Pos: i, Load: expr.Column(i, typ, f.Name)})
		}
		x.Raw = append(x.Raw, id)
	}
	for _, k := range x.KeyColumns() {
		ref.key = append(ref.key, x.Cols[k])
		x.Present = x.Raw[k]
	}
	if x.Change != nil {
		at := slices.IndexFunc(u.Snapshot.Schema().Fields, func(f catalog.Field) bool { return f.Name == connector.AddressColumn })
		if at < 0 {
			return nil, nil, errs.Internalf("change table %s: its rows have no addresses", n.ID)
		}
		x.Address = b.newCol(Column{Name: connector.AddressColumn, Type: expr.TBigInt, Table: alias})
		x.Present = x.Address
		s.Cols = append(s.Cols, ScanCol{ID: x.Address, Pos: at, Load: expr.Column(at, expr.TBigInt, connector.AddressColumn)})
	} else if x.Present < 0 {
		x.Present = x.Cols[0] // nothing is executed
	}
	b.rawColumns(s)
	return s, ref, nil
}

// storedType is a type whose vectors are of the kind in which a column is
// stored, for columns that are only carried.
func storedType(t catalog.Type) expr.Type {
	out := expr.TBytes(-1)
	switch t.Physical() {
	case vector.I8:
		out = expr.TBool
	case vector.I32:
		out = expr.Type{Class: expr.Int, Width: 4}
	case vector.I64:
		out = expr.TBigInt
	case vector.I128:
		out = expr.TDecimal(38, 0)
	case vector.I256:
		out = expr.TDecimal(65, 0)
	case vector.F32:
		out = expr.Type{Class: expr.Float}
	case vector.F64:
		out = expr.TDouble
	case vector.Str:
	default:
		out = expr.Type{Class: expr.Nested}
	}
	out.Nullable = !t.NotNull
	return out
}

// refuseEngine names what rows of a primary-key table cannot be changed in the
// way that a statement asks for, by the table's merge engine.
func (t *Target) refuseEngine(pos int, verb string, a Access) error {
	if !t.Keyed() {
		return nil
	}
	engine := t.Option("merge-engine")
	why := func(format string, args ...any) error {
		return errs.Unsupportedf(pos, verb+" of table "+t.ID.String()+": "+format, args...)
	}
	if f := t.Schema.Options["rowkind.field"]; f != "" && a&(UpdateRows|DeleteRows) != 0 {
		return why("its column %s says what becomes of a row ('rowkind.field')", f)
	}
	if a&DeleteRows != 0 {
		if t.Option("ignore-delete") == "true" || t.Option(engine+".ignore-delete") == "true" {
			return why("it ignores deletions ('ignore-delete')")
		}
		switch engine {
		case "", "deduplicate":
		case "partial-update":
			if t.Option("partial-update.remove-record-on-delete") != "true" {
				return why("'merge-engine' = 'partial-update' deletes rows only with 'partial-update.remove-record-on-delete' = 'true'")
			}
		case "aggregation":
			if t.Option("aggregation.remove-record-on-delete") != "true" {
				return why("'merge-engine' = 'aggregation' deletes rows only with 'aggregation.remove-record-on-delete' = 'true'")
			}
		default:
			return why("'merge-engine' = '%s' keeps the rows that it has", engine)
		}
	}
	if a&UpdateRows != 0 {
		switch engine {
		case "", "deduplicate", "partial-update":
		default:
			return why("'merge-engine' = '%s' combines a new row with the old one; rows can be inserted only", engine)
		}
	}
	return nil
}
