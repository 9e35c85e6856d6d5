package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ source.Starting = (*Source)(nil)

// firstEvent is the offset of a binlog file's first event.
const firstEvent = 4

// StartAt implements source.Starting. Tables are read by the definitions that they
// have now, until the log says otherwise: where they had others at the place, the
// first row or statement that does not fit stops them.
func (s *Source) StartAt(ctx context.Context, mode string) (source.Position, time.Time, error) {
	sv, err := s.check(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	db, err := s.pool()
	if err != nil {
		return nil, time.Time{}, err
	}
	var p position
	switch mode {
	case "earliest-offset":
		p, err = s.earliest(ctx, db, sv)
	case "timestamp":
		if s.opt.startTime.IsZero() {
			return nil, time.Time{}, errs.Userf(errs.InvalidConfig, "read the source block: scan.startup.mode: timestamp needs scan.startup.timestamp-millis")
		}
		p, err = s.earliest(ctx, db, sv)
	case "specific-offset":
		p, err = s.specific(ctx, db, sv)
	default:
		err = errs.Unsupportedf(-1, "scan.startup.mode: %s", mode)
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	at := time.Time{}
	if mode == "timestamp" {
		at = s.opt.startTime
	}
	return p, at, nil
}

// earliest is where the binlog that is left begins.
func (s *Source) earliest(ctx context.Context, db *sql.DB, sv *server) (position, error) {
	const doing = "find the beginning of the binlog"
	p := position{flavor: filePos, pos: firstEvent}
	rows, err := db.QueryContext(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return p, s.fault(doing, err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return p, s.fault(doing, err)
	}
	if rows.Next() {
		dest := make([]any, len(cols))
		for i := range dest {
			dest[i] = new(sql.RawBytes)
		}
		dest[0] = &p.file
		if err := rows.Scan(dest...); err != nil {
			return p, s.fault(doing, err)
		}
	}
	if err := rows.Err(); err != nil {
		return p, s.fault(doing, err)
	}
	rows.Close()
	switch {
	case sv.mariadb:
		p.flavor = mariadbGTID
		p.maria, err = s.mariaPositionAt(ctx, db, p.file, p.pos)
	case sv.gtid:
		p.flavor = mysqlGTID
		var purged string
		if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_purged").Scan(&purged); err != nil {
			return p, s.fault(doing, err)
		}
		p.mysql, err = parseMySQLSet(purged)
	}
	return p, err
}

// specific is the place that the options name: a GTID set, or a file and the
// offset where a transaction ends.
func (s *Source) specific(ctx context.Context, db *sql.DB, sv *server) (position, error) {
	o := s.opt
	p := position{flavor: filePos, file: o.startFile, pos: o.startPos}
	var err error
	switch {
	case o.startGTID == "" && o.startFile == "":
		return p, errs.Userf(errs.InvalidConfig, "read the source block: scan.startup.mode: specific-offset needs scan.startup.specific-offset.gtid-set, or .file and .pos")
	case o.startGTID != "" && sv.mariadb:
		p = position{flavor: mariadbGTID}
		p.maria, err = parseMariaSet(o.startGTID)
	case o.startGTID != "" && sv.gtid:
		p = position{flavor: mysqlGTID}
		p.mysql, err = parseMySQLSet(o.startGTID)
	case o.startGTID != "":
		return p, errs.Userf(errs.InvalidConfig, "start at %s: the server has no GTIDs; write scan.startup.specific-offset.file and .pos", o.startGTID)
	case sv.mariadb:
		p.flavor, p.pos = mariadbGTID, max(p.pos, firstEvent)
		p.maria, err = s.mariaPositionAt(ctx, db, p.file, p.pos)
	case sv.gtid:
		p.flavor, p.pos = mysqlGTID, max(p.pos, firstEvent)
		p.mysql, err = s.mysqlPositionAt(ctx, db, p.file, p.pos)
	default:
		p.pos = max(p.pos, firstEvent)
	}
	if err != nil && errs.ClassOf(err) == errs.Corruption {
		return p, errs.Userf(errs.InvalidConfig, "read the source block: scan.startup.specific-offset.gtid-set: %v", err)
	}
	return p, err
}

// nextGTID is what SHOW BINLOG EVENTS says of the event that begins a transaction.
var nextGTID = regexp.MustCompile(`GTID_NEXT\s*=\s*'([^']+)'`)

// mysqlPositionAt returns the GTIDs before a place in a file of the binlog, which
// must be one where a transaction ends. The file's head has those of the files
// before it.
func (s *Source) mysqlPositionAt(ctx context.Context, db *sql.DB, file string, pos uint64) (*gomysql.MysqlGTIDSet, error) {
	doing := fmt.Sprintf("find the GTIDs before offset %d of %s", pos, file)
	rows, err := db.QueryContext(ctx, "SHOW BINLOG EVENTS IN '"+strings.ReplaceAll(file, "'", "''")+"'")
	if err != nil {
		return nil, s.fault(doing, err)
	}
	defer rows.Close()
	var sets []string
	exact, ended := false, false // at a place between transactions; at the file's end
	for rows.Next() {
		var name, kind, info string
		var at, end, server uint64
		if err := rows.Scan(&name, &at, &kind, &server, &end, &info); err != nil {
			return nil, s.fault(doing, err)
		}
		if kind == "Format_desc" || kind == "Previous_gtids" { // the head of the file
			exact = pos <= end
			if kind == "Previous_gtids" {
				sets = append(sets, info)
			}
			continue
		}
		next := nextGTID.FindStringSubmatch(info)
		if at >= pos {
			ended = false
			exact = exact || at == pos && (next != nil || kind == "Rotate" || kind == "Stop")
			break
		}
		if next != nil && next[1] != "ANONYMOUS" {
			sets = append(sets, next[1])
		}
		exact, ended = false, end == pos
	}
	if err := rows.Err(); err != nil {
		return nil, s.fault(doing, err)
	}
	if !exact && !ended {
		return nil, errs.Userf(errs.InvalidConfig, "start at %s: no transaction ends at offset %d", file, pos)
	}
	return parseMySQLSet(strings.Join(slices.DeleteFunc(sets, func(x string) bool { return x == "" }), ","))
}
