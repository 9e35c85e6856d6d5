package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// snapshot is one consistent read view, held by one connection.
type snapshot struct {
	s      *Source
	conn   *sql.Conn
	pos    position
	tables []*source.Table
	tr     *transcoders
	open   *textRows
}

// snapshotTries bounds the attempts to open a view while tables are altered.
const snapshotTries = 10

// Snapshot implements source.Source. The position matches the view as follows.
//
// MariaDB: START TRANSACTION WITH CONSISTENT SNAPSHOT fixes the status variables
// binlog_snapshot_file and _position to the place that is exactly the view.
//
// MySQL with GTIDs: gtid_executed is read before the view is opened. It holds
// only transactions whose rows are visible, so the view has them all; what else
// the view has, the stream delivers again as full row images, in order.
//
// MySQL without GTIDs, and for tables without a key, where nothing may come twice:
// a read lock on all tables is held while the view is
// opened and the position is read, for no commit lies between them then. A
// position alone would not do: the binlog shows transactions before their rows
// are visible.
func (s *Source) Snapshot(ctx context.Context, ids []source.ID) (source.Snapshot, error) {
	sv, err := s.check(ctx)
	if err != nil {
		return nil, err
	}
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		sn, err := s.openSnapshot(ctx, db, sv, ids)
		if err == nil {
			return sn, nil
		}
		if !errors.Is(err, errAltered) || try == snapshotTries {
			return nil, err
		}
	}
}

var errAltered = source.ErrAltered

func (s *Source) openSnapshot(ctx context.Context, db *sql.DB, sv *server, ids []source.ID) (_ *snapshot, err error) {
	const doing = "open a consistent read"
	before, err := s.describe(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, s.fault(doing, err)
	}
	sn := &snapshot{s: s, conn: conn, tr: newTranscoders()}
	defer func() {
		if err != nil {
			err = errors.Join(err, sn.Close())
		}
	}()
	if _, err := conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		return nil, s.fault(doing, err)
	}
	switch {
	case sv.mariadb:
		sn.pos, err = s.viewMariaDB(ctx, conn)
	case sv.gtid && !slices.ContainsFunc(before, func(t *source.Table) bool { return len(t.PrimaryKey) == 0 }):
		sn.pos, err = s.viewGTID(ctx, conn, sv)
	default:
		sn.pos, err = s.viewLocked(ctx, db, conn, sv)
	}
	if err != nil {
		return nil, err
	}
	// Metadata locks of the tables are taken one by one, when each is read, and
	// given back to here: a lock held for the whole copy would make an ALTER
	// wait, and everybody else behind it.
	if _, err := conn.ExecContext(ctx, "SAVEPOINT view"); err != nil {
		return nil, s.fault(doing, err)
	}
	if sn.tables, err = s.describe(ctx, conn, ids); err != nil {
		return nil, err
	}
	for i := range before {
		if !sameDefinition(before[i], sn.tables[i]) {
			return nil, errAltered
		}
		if err := s.loadCharsets(ctx, conn, sn.tables[i], sn.tr); err != nil {
			return nil, err
		}
	}
	return sn, nil
}

func sameDefinition(a, b *source.Table) bool {
	return reflect.DeepEqual(a.Columns, b.Columns) && reflect.DeepEqual(a.PrimaryKey, b.PrimaryKey)
}

const startView = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"

func (s *Source) viewMariaDB(ctx context.Context, conn *sql.Conn) (position, error) {
	const doing = "open a consistent read"
	p := position{flavor: mariadbGTID}
	if _, err := conn.ExecContext(ctx, startView); err != nil {
		return p, s.fault(doing, err)
	}
	rows, err := conn.QueryContext(ctx, "SHOW STATUS LIKE 'binlog_snapshot_%'")
	if err != nil {
		return p, s.fault(doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return p, s.fault(doing, err)
		}
		switch strings.ToLower(k) {
		case "binlog_snapshot_file":
			p.file = v
		case "binlog_snapshot_position":
			if _, err := fmt.Sscan(v, &p.pos); err != nil {
				return p, errs.Corruptf("%s of %s: binlog_snapshot_position is %q", doing, s.Address(), v)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return p, s.fault(doing, err)
	}
	rows.Close()
	if p.file == "" {
		return p, notReady("check %s: the server gives no binlog position for a consistent read; start it with --log-bin", s.Address())
	}
	p.maria, err = s.mariaPositionAt(ctx, conn, p.file, p.pos)
	return p, err
}

// viewGTID tries to open the view while nothing is committed, so that it equals
// the position exactly; on a busy server it holds a little more.
func (s *Source) viewGTID(ctx context.Context, conn *sql.Conn, sv *server) (position, error) {
	const doing = "open a consistent read"
	p, err := s.current(ctx, conn, sv)
	if err != nil {
		return p, err
	}
	for try := 1; ; try++ {
		if _, err := conn.ExecContext(ctx, startView); err != nil {
			return p, s.fault(doing, err)
		}
		after, err := s.current(ctx, conn, sv)
		if err != nil {
			return p, err
		}
		if try == snapshotTries || p.Covers(after) {
			return p, nil
		}
		p = after
	}
}

func (s *Source) viewLocked(ctx context.Context, db *sql.DB, conn *sql.Conn, sv *server) (position, error) {
	const doing = "open a consistent read"
	lock, err := db.Conn(ctx)
	if err != nil {
		return position{}, s.fault(doing, err)
	}
	defer discard(lock) // releases the lock, whatever happens
	if _, err := lock.ExecContext(ctx, "SET SESSION lock_wait_timeout = 30"); err != nil {
		return position{}, s.fault(doing, err)
	}
	if _, err := lock.ExecContext(ctx, "FLUSH TABLES WITH READ LOCK"); err != nil {
		var me *driver.MySQLError
		if errors.As(err, &me) && (me.Number == 1227 || me.Number == 1045 || me.Number == 1044) {
			return position{}, notReady("%s of %s: without GTIDs, and for tables without a primary key, the copy needs a short read lock; grant RELOAD to %s, or set gtid_mode = ON", doing, s.Address(), s.opt.user)
		}
		return position{}, s.fault(doing, err)
	}
	if _, err := conn.ExecContext(ctx, startView); err != nil {
		return position{}, s.fault(doing, err)
	}
	return s.current(ctx, lock, sv)
}

// discard closes a connection for good, with its transaction and locks.
func discard(conn *sql.Conn) error {
	err := conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

func (s *Source) loadCharsets(ctx context.Context, q queryer, t *source.Table, tr *transcoders) error {
	for i := range t.Columns {
		n, err := nativeOf(&t.Columns[i])
		if err != nil {
			return err
		}
		if n.Charset != "" {
			if err := tr.load(ctx, s, q, n.Charset); err != nil {
				return err
			}
		}
	}
	return nil
}

func (sn *snapshot) Position() source.Position { return sn.pos }
func (sn *snapshot) Tables() []*source.Table   { return sn.tables }

func (sn *snapshot) Close() error {
	if sn.open != nil {
		sn.open.Close()
	}
	if sn.conn == nil {
		return nil
	}
	conn := sn.conn
	sn.conn = nil
	return discard(conn)
}

// Read implements source.Snapshot: one SELECT over the whole table, whose rows
// are taken from the network as they are wanted.
//
// Touching the table first takes its metadata lock, so that the definition read
// then stays. It must be the one from before the view was opened: a table that
// was altered between has another one, or InnoDB refuses to read it in the view
// (error 1412).
func (sn *snapshot) Read(ctx context.Context, i int) (_ source.Rows, err error) {
	t := sn.tables[i]
	if t.Unsupported != "" {
		return nil, errs.Unsupportedf(-1, "the table %s: %s", t.ID, t.Unsupported)
	}
	doing := "copy " + t.ID.String()
	defer func() {
		if errs.Is(err, errs.UnknownTable) { // dropped since
			err = errAltered
		}
	}()
	if _, err := sn.conn.ExecContext(ctx, "ROLLBACK TO SAVEPOINT view"); err != nil {
		return nil, sn.s.fault(doing, err)
	}
	r, err := sn.s.readRows(ctx, sn.conn, t, "", sn.tr)
	if err != nil {
		return nil, err
	}
	sn.open = r
	return r, nil
}

// textRows are the rows of the snapshot's SELECT.
type textRows struct {
	s       *Source
	id      source.ID
	rows    *sql.Rows
	cancel  context.CancelFunc
	cols    []column
	raw     []sql.RawBytes
	dest    []any
	invalid int64
	conn    *sql.Conn // of a chunk: given back at the end
	ended   bool      // all rows were read
}

// AppendTo implements source.Rows.
func (r *textRows) AppendTo(b *vector.Batch, max int, bytes int64) error {
	doing := "copy " + r.id.String()
	for b.Len < max && bytes > 0 {
		if !r.rows.Next() {
			if err := r.rows.Err(); err != nil {
				return r.s.fault(doing, err)
			}
			r.ended = true
			return source.EOF
		}
		if err := r.rows.Scan(r.dest...); err != nil {
			return r.s.fault(doing, err)
		}
		for i := range r.cols {
			bytes -= int64(len(r.raw[i])) + 8
			invalid, err := r.cols[i].appendFromText(b.Cols[i], r.raw[i])
			if err != nil {
				return r.stopped(err)
			}
			if invalid {
				r.invalid++
			}
		}
		b.Len++
	}
	return nil
}

func (r *textRows) stopped(err error) error {
	return errs.New(errs.User, errs.TableStopped, "copy %s of %s: %w", r.id, r.s.Address(), err)
}

// Rewind implements source.Rows; a snapshot's rows are read once.
func (r *textRows) Rewind() {}

// Invalid implements source.Rows.
func (r *textRows) Invalid() int64 { return r.invalid }

// Close implements source.Rows. Rows that were not read are not waited for: the
// connection is given up.
func (r *textRows) Close() error {
	defer r.cancel()
	if !r.ended {
		r.cancel()
	}
	r.rows.Close()
	return r.done()
}
