package mysql

import (
	"context"
	"database/sql"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

var versionNumber = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)`)

// Check implements source.Source: it verifies that rows can be followed, and
// says for each fault what to do about it.
func (s *Source) Check(ctx context.Context) error {
	_, err := s.check(ctx)
	return err
}

// check returns what is known about the server, asking it the first time.
func (s *Source) check(ctx context.Context) (*server, error) {
	s.mu.Lock()
	known := s.server
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	v, err := s.variables(ctx, db)
	if err != nil {
		return nil, err
	}
	sv := &server{version: v["version"], mariadb: strings.Contains(strings.ToLower(v["version"]), "mariadb")}
	m := versionNumber.FindStringSubmatch(strings.TrimPrefix(sv.version, "5.5.5-"))
	if m == nil {
		return nil, notReady("check %s: it says that its version is %q, which is no MySQL or MariaDB version", s.Address(), sv.version)
	}
	for i, mul := range []int{10000, 100, 1} {
		n, _ := strconv.Atoi(m[i+1])
		sv.number += n * mul
	}
	if least := 50600; sv.number < least || sv.mariadb && sv.number < 100200 {
		return nil, notReady("check %s: version %s is too old; MySQL 5.6 or MariaDB 10.2 is the least", s.Address(), sv.version)
	}
	if v["log_bin"] != "1" && !strings.EqualFold(v["log_bin"], "ON") {
		return nil, notReady("check %s: the binlog is off; start the server with --log-bin and --binlog-format=ROW", s.Address())
	}
	if !strings.EqualFold(v["binlog_format"], "ROW") {
		return nil, notReady("check %s: binlog_format is %s; run SET GLOBAL binlog_format = 'ROW' (and set it in the server's configuration), then reconnect the writing clients",
			s.Address(), v["binlog_format"])
	}
	if img, ok := v["binlog_row_image"]; ok && !strings.EqualFold(img, "FULL") {
		return nil, notReady("check %s: binlog_row_image is %s; run SET GLOBAL binlog_row_image = 'FULL' (and set it in the server's configuration)", s.Address(), img)
	}
	if o := v["binlog_row_value_options"]; o != "" {
		return nil, notReady("check %s: binlog_row_value_options is %s; run SET GLOBAL binlog_row_value_options = ''", s.Address(), o)
	}
	sv.cascades = strings.EqualFold(v["innodb_native_foreign_keys"], "OFF")
	sv.fold = v["lower_case_table_names"] != "0"
	switch {
	case sv.mariadb:
		sv.gtid = true
		sv.uuid = "mariadb server_id " + v["server_id"]
	default:
		sv.gtid = strings.EqualFold(v["gtid_mode"], "ON")
		sv.uuid = "mysql " + v["server_uuid"]
	}
	if err := s.checkZone(ctx, db); err != nil {
		return nil, err
	}
	if err := s.checkGrants(ctx, db, sv); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.server = sv
	s.mu.Unlock()
	return sv, nil
}

// variables reads the global variables that matter; absent ones are left out.
func (s *Source) variables(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'binlog_expire_logs_seconds', 'expire_logs_days', 'log_bin', 'binlog_format', 'binlog_row_image',
		'binlog_row_value_options', 'gtid_mode', 'server_uuid', 'server_id', 'lower_case_table_names', 'innodb_native_foreign_keys')`)
	if err != nil {
		return nil, s.fault("read the variables", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return nil, s.fault("read the variables", err)
		}
		out[strings.ToLower(k)] = v
	}
	return out, s.fault("read the variables", rows.Err())
}

// checkZone compares server-time-zone with the server's offset. Values do not
// depend on it (TIMESTAMP is read in UTC), but a wrong one means that the file
// was written for another server.
func (s *Source) checkZone(ctx context.Context, db *sql.DB) error {
	if s.opt.serverZone == nil {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return s.fault("connect", err)
	}
	defer conn.Close()
	var seconds int
	if _, err = conn.ExecContext(ctx, "SET time_zone = @@global.time_zone"); err == nil {
		err = conn.QueryRowContext(ctx, "SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())").Scan(&seconds)
		if _, e := conn.ExecContext(ctx, "SET time_zone = '+00:00'"); err == nil {
			err = e
		}
	}
	if err != nil {
		return s.fault("read the time zone", err)
	}
	_, want := time.Now().In(s.opt.serverZone).Zone()
	if math.Abs(float64(want-seconds)) > 1800 {
		return errs.Userf(errs.InvalidConfig, "check %s: server-time-zone is %s (UTC%s), but the server's clock is at UTC%s; set server-time-zone to the server's zone or leave it out",
			s.Address(), s.opt.serverZone, offset(want), offset(seconds))
	}
	return nil
}

func offset(seconds int) string {
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	return sign + time.Unix(int64(seconds), 0).UTC().Format("15:04")
}

// checkGrants looks for the replication privileges. An account with roles is
// not judged: the server does when the binlog is asked for.
func (s *Source) checkGrants(ctx context.Context, db *sql.DB, sv *server) error {
	rows, err := db.QueryContext(ctx, "SHOW GRANTS")
	if err != nil {
		return s.fault("read the grants", err)
	}
	defer rows.Close()
	all := ""
	for rows.Next() {
		var g string
		if err := rows.Scan(&g); err != nil {
			return s.fault("read the grants", err)
		}
		g = strings.ToUpper(g)
		if !strings.Contains(g, " ON ") { // GRANT role TO account
			return nil
		}
		if strings.Contains(g, " ON *.* ") {
			all += g + "\n"
		}
	}
	if err := rows.Err(); err != nil {
		return s.fault("read the grants", err)
	}
	if strings.Contains(all, "ALL PRIVILEGES") {
		return nil
	}
	var missing []string
	if !strings.Contains(all, "REPLICATION SLAVE") && !strings.Contains(all, "REPLICATION REPLICA") {
		missing = append(missing, "REPLICATION SLAVE")
	}
	if !strings.Contains(all, "REPLICATION CLIENT") && !strings.Contains(all, "BINLOG MONITOR") && !strings.Contains(all, "SUPER") {
		missing = append(missing, "REPLICATION CLIENT")
	}
	if len(missing) > 0 {
		return notReady("check %s: the account %s lacks %s; run GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO it", s.Address(), s.opt.user, strings.Join(missing, " and "))
	}
	return nil
}

// Retention implements source.Retaining.
func (s *Source) Retention(ctx context.Context) (time.Duration, error) {
	db, err := s.pool()
	if err != nil {
		return 0, err
	}
	v, err := s.variables(ctx, db)
	if err != nil {
		return 0, err
	}
	if n, err := strconv.ParseInt(v["binlog_expire_logs_seconds"], 10, 64); err == nil && n > 0 {
		return time.Duration(n) * time.Second, nil
	}
	if n, err := strconv.ParseFloat(v["expire_logs_days"], 64); err == nil && n > 0 {
		return time.Duration(n * 24 * float64(time.Hour)), nil
	}
	return 0, nil
}

// Identity implements source.Source.
func (s *Source) Identity(ctx context.Context) (string, error) {
	sv, err := s.check(ctx)
	if err != nil {
		return "", err
	}
	return sv.uuid, nil
}

// Current implements source.Source.
func (s *Source) Current(ctx context.Context) (source.Position, error) {
	sv, err := s.check(ctx)
	if err != nil {
		return nil, err
	}
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	return s.current(ctx, db, sv)
}

// queryer is a pool, a connection or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// current reads the end of the binlog. On MySQL the GTID set is that of
// transactions whose rows are visible.
func (s *Source) current(ctx context.Context, q queryer, sv *server) (position, error) {
	p := position{flavor: filePos}
	var err error
	if p.file, p.pos, err = s.binlogEnd(ctx, q, sv); err != nil {
		return p, err
	}
	switch {
	case sv.mariadb:
		p.flavor = mariadbGTID
		p.maria, err = s.mariaPositionAt(ctx, q, p.file, p.pos)
	case sv.gtid:
		p.flavor = mysqlGTID
		p.mysql, err = s.executed(ctx, q)
	}
	return p, err
}

// binlogEnd returns the file and offset where the next event will be written.
func (s *Source) binlogEnd(ctx context.Context, q queryer, sv *server) (string, uint64, error) {
	stmt := "SHOW MASTER STATUS"
	if !sv.mariadb && sv.number >= 80200 {
		stmt = "SHOW BINARY LOG STATUS"
	}
	rows, err := q.QueryContext(ctx, stmt)
	if err != nil {
		return "", 0, s.fault("read the binlog position", err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return "", 0, s.fault("read the binlog position", err)
	}
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return "", 0, s.fault("read the binlog position", err)
		}
		return "", 0, notReady("check %s: the binlog is off; start the server with --log-bin and --binlog-format=ROW", s.Address())
	}
	var file string
	var pos uint64
	dest := make([]any, len(cols))
	for i := range dest {
		dest[i] = new(sql.RawBytes)
	}
	dest[0], dest[1] = &file, &pos
	if err := rows.Scan(dest...); err != nil {
		return "", 0, s.fault("read the binlog position", err)
	}
	return file, pos, nil
}

// mariaPositionAt maps a place in the log to the GTID position there.
func (s *Source) mariaPositionAt(ctx context.Context, q queryer, file string, pos uint64) (mariaSet, error) {
	var g sql.NullString
	err := q.QueryRowContext(ctx, "SELECT BINLOG_GTID_POS("+literal(file)+", "+strconv.FormatUint(pos, 10)+")").Scan(&g)
	if err != nil {
		return nil, s.fault("read the GTID position", err)
	}
	if !g.Valid {
		return nil, errs.New(errs.Unavailable, errs.KindNone, "read the GTID position of %s: %s:%d is no place in its binlog", s.Address(), file, pos)
	}
	return parseMariaSet(g.String)
}

// executed returns MySQL's @@gtid_executed.
func (s *Source) executed(ctx context.Context, q queryer) (*gomysql.MysqlGTIDSet, error) {
	var g string
	if err := q.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_executed").Scan(&g); err != nil {
		return nil, s.fault("read gtid_executed", err)
	}
	return parseMySQLSet(g)
}

var _ source.Adopting = (*Source)(nil)

// Adopt implements source.Adopting: a server that has every transaction of a position
// by its GTID leads on from there, whatever its files are.
func (s *Source) Adopt(ctx context.Context, x source.Position) (source.Position, error) {
	sv, err := s.check(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := x.(position)
	if !ok || p.flavor == filePos {
		return nil, errs.New(errs.User, errs.SourceGone, "resume at %s: the saved position is a place in the files of another server: it has no GTIDs", s.Address())
	}
	p.file, p.pos = "", 0
	if err := s.checkPosition(ctx, sv, p); err != nil {
		return nil, err
	}
	return p, nil
}

// checkPosition verifies that the log after p is still there and is the log
// that p came from.
func (s *Source) checkPosition(ctx context.Context, sv *server, p position) error {
	db, err := s.pool()
	if err != nil {
		return err
	}
	gone := func(format string, args ...any) error {
		return errs.New(errs.User, errs.SourceGone, "resume at %s: "+format+"; drop the lake tables and the pipeline's state to copy them again", append([]any{s.Address()}, args...)...)
	}
	want := filePos
	switch {
	case sv.mariadb:
		want = mariadbGTID
	case sv.gtid:
		want = mysqlGTID
	}
	if p.flavor != want {
		return gone("the saved position is of flavor %s, the server's is %s", p.flavor, want)
	}
	now, err := s.current(ctx, db, sv)
	if err != nil {
		return err
	}
	if !now.Covers(p) {
		return gone("the server is behind the saved position %s (it is at %s): it lost transactions, or is another server", p, now)
	}
	switch p.flavor {
	case mysqlGTID:
		var lost string
		if err := db.QueryRowContext(ctx, "SELECT GTID_SUBTRACT(@@GLOBAL.gtid_purged, "+literal(p.mysql.String())+")").Scan(&lost); err != nil {
			return s.fault("read gtid_purged", err)
		}
		if lost != "" {
			return gone("its binlog was purged: the transactions %s are gone", oneLine(lost))
		}
		return nil
	case mariadbGTID:
		// The same server knows which GTIDs lie before the saved place. A
		// replica that took over has other files; there the dump itself checks.
		if _, ok, err := s.logSize(ctx, db, p.file); err != nil || !ok || p.pos == 0 {
			return err
		}
		var at sql.NullString
		err := db.QueryRowContext(ctx, "SELECT BINLOG_GTID_POS("+literal(p.file)+", "+strconv.FormatUint(p.pos, 10)+")").Scan(&at)
		if err != nil || !at.Valid {
			return s.fault("read the GTID position", err)
		}
		found, err := parseMariaSet(at.String)
		if err != nil {
			return err
		}
		if found.String() != p.maria.String() {
			return gone("at %s:%d of its binlog the GTID position is %q, and was %q when it was saved: it is another server, or was restored", p.file, p.pos, found, p.maria)
		}
		return nil
	}
	size, ok, err := s.logSize(ctx, db, p.file)
	if err != nil {
		return err
	}
	if !ok || size < p.pos {
		return gone("the saved position %s:%d is not in its binlog (purged, or another server)", p.file, p.pos)
	}
	return nil
}
