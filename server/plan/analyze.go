package plan

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/statistics"
)

// Analysis is a table of ANALYZE TABLE.
type Analysis struct {
	Name  Name
	Table connector.Describing // nil: it keeps no statistics
	Base  connector.Snapshot   // nil: the table has no rows to look at
	// Columns are the positions of the columns to describe.
	Columns []int
}

// BindAnalyze binds one table of ANALYZE TABLE. Errors: errs.UnknownTable,
// UnknownDatabase, and WrongObject for what is no table.
func BindAnalyze(ctx context.Context, s *syntax.TableMaintenance, name syntax.ObjectName, env *Env) (*Analysis, error) {
	b := newBinder(ctx, env)
	n, err := ResolveTable(env.Catalogs, name)
	if err != nil {
		return nil, err
	}
	t := n.Temporary
	if t == nil {
		if err := b.mayChange(n, ReadRows|InsertRows); err != nil {
			return nil, err
		}
		if t, err = n.In.Table(ctx, n.ID); err != nil {
			if errs.Is(err, errs.UnknownTable) {
				v, look := b.view(n)
				if look != nil {
					return nil, look
				}
				if v != nil {
					return nil, errs.UserAt(name.Pos(), errs.WrongObject, "'%s.%s' is not BASE TABLE", n.ID.Database, n.ID.Table)
				}
			}
			return nil, positioned(err, name.Pos())
		}
	}
	d, ok := t.(connector.Describing)
	if !ok || n.ID.System != "" {
		return &Analysis{Name: n}, nil
	}
	out := &Analysis{Name: n, Table: d}
	u, err := b.use(n, t, catalog.Ref{}, name.Pos())
	if err != nil {
		return nil, err
	}
	if u.Snapshot.Version() == 0 {
		return out, nil
	}
	out.Base = u.Snapshot
	fields := u.Snapshot.Schema().Fields
	if len(s.Columns) == 0 {
		for i, f := range fields {
			if statistics.Described(f.Type) && !rowsOnly(s) {
				out.Columns = append(out.Columns, i)
			}
		}
		return out, nil
	}
	for _, c := range s.Columns {
		at := -1
		for i, f := range fields {
			if f.Name == c.Name || at < 0 && strings.EqualFold(f.Name, c.Name) {
				at = i
			}
		}
		if at < 0 {
			return nil, errs.UserAt(c.Pos(), errs.UnknownColumn, "Unknown column '%s' in '%s'", c.Name, n.ID.Table)
		}
		if !statistics.Described(fields[at].Type) {
			return nil, errs.Unsupportedf(c.Pos(), "statistics of column %s of type %s", c.Name, fields[at].Type)
		}
		out.Columns = append(out.Columns, at)
	}
	return out, nil
}

// rowsOnly reports whether ANALYZE TABLE … COMPUTE STATISTICS names no columns.
func rowsOnly(s *syntax.TableMaintenance) bool {
	compute, all := false, false
	for _, o := range s.Options {
		compute = compute || o == "COMPUTE STATISTICS"
		all = all || o == "FOR ALL COLUMNS"
	}
	return compute && !all
}
