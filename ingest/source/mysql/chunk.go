package mysql

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ source.Chunked = (*Source)(nil)

// keyColumn is a column of a table's key, as chunks are cut by it. The server
// itself compares and orders keys, so any type and collation will do: a bound
// only has to travel to the client and back without loss.
type keyColumn struct {
	name    string // quoted
	native  native
	literal func(text string) string
	read    string // the expression that gives the bound's text
}

// keyColumns returns how the key columns of a table are read and written.
func keyColumns(t *source.Table) ([]keyColumn, error) {
	out := make([]keyColumn, len(t.PrimaryKey))
	for i, name := range t.PrimaryKey {
		c := t.Column(name)
		if c < 0 {
			return nil, errs.Internalf("cut %s into chunks: it has no key column %s", t.ID, name)
		}
		n, err := nativeOf(&t.Columns[c])
		if err != nil {
			return nil, err
		}
		q := quote(name)
		k := keyColumn{name: q, native: n, read: q, literal: literal}
		switch n.Type {
		case "tinyint", "smallint", "mediumint", "int", "bigint", "boolean", "decimal", "year":
			k.literal = func(s string) string { return s }
		case "float", "double":
			// In their shortest exact form, compared as doubles.
			k.read, k.literal = q+" * 1.0E0", double
			if n.Type == "float" {
				k.name = "(" + q + " * 1.0E0)"
			}
		case "enum", "set", "bit":
			// They sort by number, and compare with numbers.
			k.read, k.literal = "CAST("+q+" AS UNSIGNED)", func(s string) string { return s }
		case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
			// The bytes as they are stored, given back as text of the column's
			// character set: its own collation compares them.
			set := n.Charset
			if set == "" {
				set = "utf8mb4"
			}
			k.read, k.literal = "HEX(CAST("+q+" AS BINARY))", func(s string) string { return "_" + set + " X'" + s + "'" }
		case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
			k.read, k.literal = "HEX("+q+")", func(s string) string { return "X'" + s + "'" }
		}
		out[i] = k
	}
	return out, nil
}

// double writes a number so that the server takes it as a double.
func double(s string) string {
	if strings.ContainsAny(s, "eE") {
		return s
	}
	return s + "E0"
}

// above is the condition that a row's key is above a bound, written out by
// columns, since servers use an index for that and not for row comparisons:
//
//	(a > 1 OR a = 1 AND b > 2)
func above(keys []keyColumn, bound source.Key) string {
	return compareKey(keys, bound, " > ", " > ")
}

// upTo is the condition that a row's key is not above a bound.
func upTo(keys []keyColumn, bound source.Key) string {
	return compareKey(keys, bound, " < ", " <= ")
}

func compareKey(keys []keyColumn, bound source.Key, before, last string) string {
	var or []string
	for i := range keys {
		op := before
		if i == len(keys)-1 {
			op = last
		}
		var and []string
		for j := range i {
			and = append(and, keys[j].name+" = "+keys[j].literal(bound[j]))
		}
		or = append(or, strings.Join(append(and, keys[i].name+op+keys[i].literal(bound[i])), " AND "))
	}
	if len(or) == 1 {
		return or[0]
	}
	// The first column alone bounds the range of the index.
	wide := " <= "
	if before == " > " {
		wide = " >= "
	}
	return keys[0].name + wide + keys[0].literal(bound[0]) + " AND (" + strings.Join(or, " OR ") + ")"
}

// Bound implements source.Chunked.
func (s *Source) Bound(ctx context.Context, t *source.Table, after source.Key, rows int) (source.Key, error) {
	doing := "cut " + t.ID.String() + " into chunks"
	keys, err := keyColumns(t)
	if err != nil {
		return nil, err
	}
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	var read, order []string
	for _, k := range keys {
		read, order = append(read, k.read), append(order, k.name)
	}
	q := "SELECT " + strings.Join(read, ", ") + " FROM " + quoteID(t.ID)
	if after != nil {
		if len(after) != len(keys) {
			return nil, errs.Corruptf("%s: the kept bound has %d values for %d key columns", doing, len(after), len(keys))
		}
		q += " WHERE " + above(keys, after)
	}
	q += " ORDER BY " + strings.Join(order, ", ") + " LIMIT 1 OFFSET " + strconv.Itoa(rows-1)
	out, dest := make(source.Key, len(keys)), make([]any, len(keys))
	for i := range out {
		dest[i] = &out[i]
	}
	err = db.QueryRowContext(ctx, q).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, altered(s.fault(doing, err))
	}
	return out, nil
}

// altered turns "no such table" and "no such column" into ErrAltered.
func altered(err error) error {
	if errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.UnknownColumn) {
		return source.ErrAltered
	}
	return err
}

// ReadChunk implements source.Chunked: one SELECT in a transaction of its own,
// whose metadata lock makes sure that the definition is still t's.
func (s *Source) ReadChunk(ctx context.Context, t *source.Table, c source.Chunk) (_ source.Rows, err error) {
	doing := "copy " + t.ID.String()
	keys, err := keyColumns(t)
	if err != nil {
		return nil, err
	}
	var where []string
	for _, b := range []struct {
		bound source.Key
		cond  func([]keyColumn, source.Key) string
	}{{c.After, above}, {c.UpTo, upTo}} {
		if b.bound == nil {
			continue
		}
		if len(b.bound) != len(keys) {
			return nil, errs.Corruptf("%s: the kept bound has %d values for %d key columns", doing, len(b.bound), len(keys))
		}
		where = append(where, b.cond(keys, b.bound))
	}
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, s.fault(doing, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, discard(conn))
		}
	}()
	for _, stmt := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION READ ONLY"} {
		if _, err := conn.ExecContext(ctx, stmt); err != nil {
			return nil, s.fault(doing, err)
		}
	}
	r, err := s.readRows(ctx, conn, t, strings.Join(where, " AND "), s.transcoders())
	if err != nil {
		return nil, altered(err)
	}
	r.conn = conn
	return r, nil
}

// transcoders returns the conversions that chunks share.
func (s *Source) transcoders() *transcoders {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		s.shared = newTranscoders()
	}
	return s.shared
}

// readRows locks a table's definition in the connection's transaction, verifies
// that it is t, and reads the rows that where chooses ("": all).
func (s *Source) readRows(ctx context.Context, conn *sql.Conn, t *source.Table, where string, tr *transcoders) (*textRows, error) {
	doing := "copy " + t.ID.String()
	var x int
	if err := conn.QueryRowContext(ctx, "SELECT 1 FROM "+quoteID(t.ID)+" LIMIT 0").Scan(&x); err != nil && err != sql.ErrNoRows {
		return nil, s.fault(doing, err)
	}
	now, err := s.describeOne(ctx, conn, t.ID)
	if err != nil {
		return nil, err
	}
	if !sameShape(now, t) {
		return nil, errAltered
	}
	if err := s.loadCharsets(ctx, conn, t, tr); err != nil {
		return nil, err
	}
	cols, err := newColumns(t, tr)
	if err != nil {
		return nil, err
	}
	exprs := make([]string, len(cols))
	for j := range cols {
		exprs[j] = cols[j].native.selectExpr(cols[j].name)
	}
	q := "SELECT " + strings.Join(exprs, ", ") + " FROM " + quoteID(t.ID)
	if where != "" {
		q += " WHERE " + where
	}
	ctx, cancel := context.WithCancel(ctx)
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		cancel()
		return nil, s.fault(doing, err)
	}
	r := &textRows{s: s, id: t.ID, rows: rows, cancel: cancel, cols: cols, raw: make([]sql.RawBytes, len(cols)), dest: make([]any, len(cols))}
	for j := range r.raw {
		r.dest[j] = &r.raw[j]
	}
	return r, nil
}

// sameShape reports whether rows of two definitions are decoded alike. Ingest
// may have made a column of the kept one NOT NULL, for the lake's key.
func sameShape(a, b *source.Table) bool {
	if len(a.Columns) != len(b.Columns) || strings.Join(a.PrimaryKey, "\x00") != strings.Join(b.PrimaryKey, "\x00") {
		return false
	}
	for i := range a.Columns {
		x, y := &a.Columns[i], &b.Columns[i]
		if x.Name != y.Name || !x.Type.Nullable().Equal(y.Type.Nullable()) || x.Required != y.Required || x.Declared != y.Declared {
			return false
		}
		m, err1 := nativeOf(x)
		n, err2 := nativeOf(y)
		if err1 != nil || err2 != nil || !reflect.DeepEqual(m, n) {
			return false
		}
	}
	return true
}

// done ends a chunk's transaction and gives its connection back, unless
// rows were left unread.
func (r *textRows) done() error {
	conn := r.conn
	r.conn = nil
	if conn == nil {
		return nil
	}
	if !r.ended {
		return discard(conn)
	}
	if _, err := conn.ExecContext(context.Background(), "COMMIT"); err != nil {
		return discard(conn)
	}
	return conn.Close()
}
