package session

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/plan"
)

// Temporary tables are in memory, or are files in a folder. The session that made them
// alone sees them, and they are gone with it. One hides a table of its name in the same database.

// temporary returns a temporary table beside the tables of a catalog.
func (s *Session) temporary(catalogName, database, table string) (catalog.Table, bool) {
	w := s.temps[catalogName]
	if w == nil {
		return nil, false
	}
	id := catalog.Identifier{Catalog: catalogName, Database: database}
	id.Table, id.Branch, id.System = catalog.ParseObject(table)
	t, err := w.Table(context.Background(), id)
	return t, err == nil
}

// temporaries is where the temporary tables beside those of n are made. Their rows
// are paid by the queries' memory.
func (s *Session) temporaries(ctx context.Context, n plan.Name) (catalog.Writable, error) {
	w := s.temps[n.Catalog]
	if w == nil {
		if s.temps == nil {
			s.temps = map[string]catalog.Writable{}
		}
		w = s.srv.cfg.Temporary(s.srv.cfg.Memory)
		s.temps[n.Catalog] = w
	}
	return w, w.CreateDatabase(ctx, n.ID.Database, true)
}

// dropTemporaries ends all temporary tables.
func (s *Session) dropTemporaries() {
	ctx := context.Background()
	for _, w := range s.temps {
		dbs, err := w.Databases(ctx)
		if err != nil {
			continue // there are none in memory that cannot be listed
		}
		for _, db := range dbs {
			_ = w.DropDatabase(ctx, db, true)
		}
	}
	s.temps = nil
}

// declare prepares the definition of a table of files, one with the option
// 'connector' = 'filesystem': it is the session's, as in Flink, and the account must
// be allowed to use the folder.
func (s *Session) declare(stmt syntax.Statement) error {
	x, ok := stmt.(*syntax.CreateTable)
	if !ok {
		return nil
	}
	option := func(k string) (string, int) {
		for _, o := range x.With {
			if o.Key == k {
				return o.Value, o.Pos()
			}
		}
		return "", -1
	}
	if c, pos := option("connector"); c != "filesystem" {
		return nil
	} else if s.srv.cfg.Files == nil {
		return errs.Unsupportedf(pos, "files here")
	}
	if dir, _ := option("path"); dir != "" {
		if err := s.mayUseFile(dir); err != nil {
			return err
		}
	}
	if !x.Temporary {
		x.Temporary = true
		s.warn("Note", errs.Userf(errs.WrongArguments, "Table '%s' is this session's and gone with it; its files stay", x.Name.Object()))
	}
	return nil
}

// isTemporary reports whether a definition is about temporary tables only, which
// ends no transaction.
func isTemporary(stmt syntax.Statement) bool {
	switch x := stmt.(type) {
	case *syntax.CreateTable:
		return x.Temporary
	case *syntax.DropTable:
		return x.Temporary
	}
	return false
}
