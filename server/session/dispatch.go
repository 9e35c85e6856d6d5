package session

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/metadata"
)

// dispatch runs one statement of any kind. A nil Result is an empty one.
func (s *Session) dispatch(ctx context.Context, stmt syntax.Statement, run *statement) (*Result, error) {
	switch x := stmt.(type) {
	case *syntax.Query:
		return s.selectQuery(ctx, x, run)
	case *syntax.Explain:
		return s.explainStatement(ctx, x, run)
	case *syntax.Insert:
		return s.insert(ctx, x, run)
	case *syntax.Update:
		return s.update(ctx, x, run)
	case *syntax.Delete:
		return s.delete(ctx, x, run)
	case *syntax.Merge:
		return s.merge(ctx, x, run)

	case *syntax.StatementSet:
		return s.statementSet(ctx, x, run)

	case *syntax.SetVars:
		s.srv.counters.sets.Add(1)
		return nil, s.setVars(ctx, x.Items, run)
	case *syntax.SetNames:
		s.srv.counters.sets.Add(1)
		return nil, s.setNames(x)
	case *syntax.SetCharset:
		return nil, s.setCharset(x)
	case *syntax.SetTransaction:
		return nil, s.setTransaction(x)
	case *syntax.SetList:
		return nil, s.setList(ctx, x, run)
	case *syntax.SetOption:
		return nil, s.setFlink(x)
	case *syntax.ResetOption:
		return nil, s.resetFlink(x)
	case *syntax.ShowSettings:
		return listing(s.flinkSettings())

	case *syntax.Use:
		return nil, s.useStatement(ctx, x)
	case *syntax.Show:
		s.srv.counters.shows.Add(1)
		l, err := s.show(ctx, x, run)
		if err != nil {
			return nil, err
		}
		return s.filtered(l, x, run)
	case *syntax.Describe:
		l, err := s.describe(ctx, x)
		if err != nil {
			return nil, err
		}
		return listing(l)

	case *syntax.Begin:
		return nil, s.beginTransaction(ctx, x)
	case *syntax.Commit:
		if x.Chain || x.Release {
			return nil, errs.Unsupportedf(x.Pos(), "COMMIT AND CHAIN and RELEASE")
		}
		s.endTransaction()
		return nil, nil
	case *syntax.Rollback:
		return nil, s.rollback(x)
	case *syntax.Savepoint:
		s.savepoint(x.Name.Name)
		return nil, nil
	case *syntax.ReleaseSavepoint:
		return nil, s.releaseSavepoint(x.Name.Name)

	case *syntax.Kill:
		v, err := s.evaluate(ctx, x.ID, run)
		if err != nil {
			return nil, err
		}
		id, numeric := textOf(v, s)
		n, ok := parseID(id)
		if v.IsNull() || !numeric || !ok {
			return nil, errs.UserAt(x.Pos(), errs.NoSuchThread, "Unknown thread id: %s", id)
		}
		return nil, s.kill(n, !x.Query)

	case *syntax.Prepare:
		return nil, s.prepareText(ctx, x)
	case *syntax.Execute:
		return s.executePrepared(ctx, x, run)
	case *syntax.ExecuteImmediate:
		return nil, errs.Unsupportedf(x.Pos(), "EXECUTE IMMEDIATE")
	case *syntax.Deallocate:
		return nil, s.deallocate(x)

	case *syntax.Do:
		for _, e := range x.Exprs {
			if _, err := s.evaluate(ctx, e, run); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case *syntax.Call:
		return s.call(ctx, x, run)
	case *syntax.ExecutePipeline:
		run.conceal()
		return s.executePipeline(ctx, x)
	case *syntax.PipelineControl:
		return s.controlPipeline(ctx, x)

	case *syntax.CreateUser, *syntax.AlterUser, *syntax.DropUser, *syntax.RenameUser, *syntax.CreateRole, *syntax.DropRole,
		*syntax.Grant, *syntax.Revoke, *syntax.SetPassword:
		run.conceal()
		return nil, s.changeAccounts(ctx, stmt)
	case *syntax.SetRole, *syntax.SetDefaultRole:
		return nil, errs.Unsupportedf(stmt.Pos(), "SET ROLE")

	case *syntax.LockTables:
		s.warn("Warning", errs.New(errs.User, errs.KindNone, "LOCK TABLES locks nothing here: statements read one snapshot, writers commit optimistically"))
		return nil, nil
	case *syntax.UnlockTables:
		return nil, nil
	case *syntax.Flush:
		return nil, s.flush(x)
	case *syntax.CreateView:
		return nil, s.createView(ctx, x, run)
	case *syntax.DropView:
		return nil, s.dropViews(ctx, x)
	case *syntax.CreateCatalog:
		run.conceal()
		return nil, s.createCatalog(ctx, x)
	case *syntax.DropCatalog:
		return nil, s.dropCatalog(ctx, x)
	case *syntax.AlterCatalog:
		return nil, s.alterCatalog(ctx, x)
	case *syntax.CreateTable:
		if x.Query != nil {
			return s.createTableAs(ctx, x, run)
		}
		return s.define(ctx, stmt, run)
	case *syntax.CreateDatabase, *syntax.DropDatabase, *syntax.AlterDatabase, *syntax.DropTable, *syntax.RenameTable, *syntax.CreateIndex, *syntax.DropIndex:
		return s.define(ctx, stmt, run)
	case *syntax.AlterTable:
		return s.alterTable(ctx, x, run)
	case *syntax.TruncateTable:
		return s.truncate(ctx, x, run)
	case *syntax.TableMaintenance:
		if x.Action == "ANALYZE" {
			return s.analyze(ctx, x, run)
		}
	case *syntax.Unsupported:
		return nil, errs.Unsupportedf(x.Pos(), "%s", x.What)
	}
	return nil, errs.Unsupportedf(stmt.Pos(), "%s", constructOf(stmt))
}

// constructOf names a statement that nobody serves.
func constructOf(stmt syntax.Statement) string {
	switch x := stmt.(type) {
	case *syntax.Update:
		return "UPDATE"
	case *syntax.Delete:
		return "DELETE"
	case *syntax.Merge:
		return "MERGE"
	case *syntax.LoadData:
		return "LOAD DATA"
	case *syntax.TruncateTable:
		return "TRUNCATE TABLE"
	case *syntax.RenameTable:
		return "RENAME TABLE"
	case *syntax.AlterTable:
		return "ALTER TABLE"
	case *syntax.AlterDatabase:
		return "ALTER DATABASE"
	case *syntax.CreateIndex:
		return "CREATE INDEX"
	case *syntax.DropIndex:
		return "DROP INDEX"
	case *syntax.StatementSet:
		return "STATEMENT SET"
	case *syntax.TableMaintenance:
		return x.Action + " TABLE"
	}
	return "this statement"
}

// flushable is what FLUSH may name; nothing of it is kept back here.
var flushable = []string{"TABLES", "TABLE", "PRIVILEGES", "STATUS", "LOGS", "BINARY LOGS", "ENGINE LOGS", "ERROR LOGS", "GENERAL LOGS", "SLOW LOGS",
	"RELAY LOGS", "HOSTS", "USER_RESOURCES", "OPTIMIZER_COSTS", "QUERY CACHE"}

// flush runs FLUSH: there is nothing to flush, caches are revalidated.
func (s *Session) flush(x *syntax.Flush) error {
	if !s.allowed(metadata.Reload, metadata.Object{}) {
		return errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the RELOAD privilege(s) for this operation")
	}
	for _, w := range x.What {
		if !slices.Contains(flushable, w) {
			return errs.Unsupportedf(x.Pos(), "FLUSH %s", w)
		}
	}
	if x.WithReadLock || x.ForExport {
		s.warn("Warning", errs.New(errs.User, errs.KindNone, "FLUSH TABLES locks nothing here: statements read one snapshot"))
	}
	return nil
}
