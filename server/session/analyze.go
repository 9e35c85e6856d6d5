package session

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// analyze runs ANALYZE TABLE: statistics of rows and columns, stored as Paimon
// keeps them. Its answer is a line a table, and a table that is not there stops
// none of the others.
func (s *Session) analyze(ctx context.Context, x *syntax.TableMaintenance, run *statement) (*Result, error) {
	switch {
	case x.Histogram != "":
		return nil, errs.Unsupportedf(x.Pos(), "ANALYZE TABLE … %s HISTOGRAM, which Paimon's statistics have no place for", x.Histogram)
	case x.Spec != nil:
		return nil, errs.Unsupportedf(x.Spec.Pos(), "ANALYZE TABLE … PARTITION")
	}
	if err := s.writable(x.Pos()); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, name := range x.Names {
		n, err := plan.ResolveTable(run.environment().Catalogs, name)
		if err != nil {
			return nil, err
		}
		key := n.Catalog + "\x00" + n.ID.String()
		if seen[key] {
			return nil, errs.UserAt(name.Pos(), errs.DuplicateAlias, "Not unique table/alias: '%s'", name.Object())
		}
		seen[key] = true
	}
	s.endTransaction()
	l := metadata.Listing{LikeColumn: -1, Fields: metadata.ParseFields("Table|varchar(128)~; Op|varchar(10)~; Msg_type|varchar(10)~; Msg_text|varchar(131072)~")}
	for _, name := range x.Names {
		n, err := plan.ResolveTable(run.environment().Catalogs, name)
		if err != nil {
			return nil, err
		}
		full := n.ID.Database + "." + name.Object()
		s.state("analyzing")
		a, err := plan.BindAnalyze(ctx, x, name, run.planning())
		if err == nil {
			err = run.describe(ctx, a)
		}
		switch {
		case err == nil && a.Table == nil: // MySQL's words for engines without it
			l.Rows = append(l.Rows, metadata.Row{full, "analyze", "note", "The storage engine for the table doesn't support analyze"})
		case err == nil:
			l.Rows = append(l.Rows, metadata.Row{full, "analyze", "status", "OK"})
		case errs.Is(err, errs.UnknownTable):
			l.Rows = append(l.Rows, metadata.Row{full, "analyze", "Error", "Table '" + full + "' doesn't exist"}, metadata.Row{full, "analyze", "status", "Operation failed"})
		case errs.Is(err, errs.UnknownDatabase):
			l.Rows = append(l.Rows, metadata.Row{full, "analyze", "Error", "Unknown database '" + n.ID.Database + "'"}, metadata.Row{full, "analyze", "error", "Corrupt"})
		case errs.Is(err, errs.WrongObject):
			l.Rows = append(l.Rows, metadata.Row{full, "analyze", "Error", "'" + full + "' is not BASE TABLE"}, metadata.Row{full, "analyze", "status", "Operation failed"})
		default:
			return nil, err
		}
	}
	return listing(l)
}

// describe waits for its turn, as a query that reads the table would, and makes
// the statistics.
func (run *statement) describe(ctx context.Context, a *plan.Analysis) error {
	if a.Base == nil {
		return nil
	}
	if err := run.admitted(ctx, func() (bool, error) {
		rows, _, err := a.Base.RowCount(ctx)
		return rows >= 0 && rows <= lightRows, err
	}); err != nil {
		return err
	}
	run.s.state("analyzing")
	run.s.touch(1)
	return exec.Describe(ctx, a, run.executor())
}
