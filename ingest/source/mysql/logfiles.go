package mysql

import (
	"context"
	"database/sql"

	"github.com/thermocline/thermocline/ingest/source"
)

// logFile is a file of the server's binlog.
type logFile struct {
	name string
	size uint64
}

// logFiles lists the files of the binlog, oldest first.
func (s *Source) logFiles(ctx context.Context, q queryer) (out []logFile, _ error) {
	const doing = "list the binlog"
	rows, err := q.QueryContext(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return nil, s.fault(doing, err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, s.fault(doing, err)
	}
	for rows.Next() {
		var f logFile
		dest := make([]any, len(cols))
		for i := range dest {
			dest[i] = new(sql.RawBytes)
		}
		dest[0], dest[1] = &f.name, &f.size
		if err := rows.Scan(dest...); err != nil {
			return nil, s.fault(doing, err)
		}
		out = append(out, f)
	}
	return out, s.fault(doing, rows.Err())
}

// logSize returns the size of a binlog file, false when there is none.
func (s *Source) logSize(ctx context.Context, q queryer, file string) (uint64, bool, error) {
	files, err := s.logFiles(ctx, q)
	for _, f := range files {
		if f.name == file {
			return f.size, true, nil
		}
	}
	return 0, false, err
}

var _ source.Measured = (*Source)(nil)

// Backlog implements source.Measured.
func (s *Source) Backlog(ctx context.Context) (func(source.Position) int64, error) {
	db, err := s.pool()
	if err != nil {
		return nil, err
	}
	files, err := s.logFiles(ctx, db)
	if err != nil {
		return nil, err
	}
	return func(x source.Position) int64 {
		p, ok := x.(position)
		if !ok || p.file == "" {
			return -1
		}
		found, n := false, int64(0)
		for _, f := range files {
			switch {
			case f.name == p.file:
				found = true
				n += max(int64(f.size)-int64(p.pos), 0)
			case found:
				n += int64(f.size)
			}
		}
		if !found && (len(files) == 0 || fileNumber(p.file) <= fileNumber(files[len(files)-1].name)) {
			return -1 // purged, or another server's
		}
		return n // 0 where the position is beyond what was listed
	}, nil
}
