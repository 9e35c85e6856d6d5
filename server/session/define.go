package session

import (
	"context"
	"fmt"
	"strconv"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// define runs the statements that make, change and drop databases, tables and
// indexes and only need the catalog.
func (s *Session) define(ctx context.Context, stmt syntax.Statement, run *statement) (*Result, error) {
	if err := s.definable(stmt); err != nil {
		return nil, err
	}
	affected, handled, err := plan.Define(ctx, stmt, run.defining())
	if err != nil {
		return nil, err
	}
	if !handled {
		return nil, errs.Unsupportedf(stmt.Pos(), "%s", constructOf(stmt))
	}
	switch x := stmt.(type) {
	case *syntax.DropDatabase:
		if c, db := s.databaseOf(x.Name); c == s.dbCatalog && db == s.database {
			s.database = ""
			s.enterDatabase()
		}
	case *syntax.CreateIndex, *syntax.DropIndex:
		return s.altered(), nil
	}
	return &Result{Affected: affected}, nil
}

// definable checks what all definitions must satisfy. They commit.
func (s *Session) definable(stmt syntax.Statement) error {
	if err := s.writable(stmt.Pos()); err != nil {
		return err
	}
	if err := s.declare(stmt); err != nil {
		return err
	}
	if err := s.authorizeDefinition(stmt); err != nil {
		return err
	}
	if !isTemporary(stmt) {
		s.endTransaction()
	}
	return nil
}

// defining is what a definition is bound in.
func (run *statement) defining() *plan.Env {
	env := run.changing()
	env.FlinkTypes = run.s.text("lake_ddl_dialect") == "flink"
	return env
}

// altered is what MySQL answers to ALTER TABLE.
func (s *Session) altered() *Result {
	return &Result{Info: "Records: 0  Duplicates: 0  Warnings: " + strconv.Itoa(s.warnings.Count())}
}

// alterTable runs ALTER TABLE.
func (s *Session) alterTable(ctx context.Context, x *syntax.AlterTable, run *statement) (*Result, error) {
	if err := s.definable(x); err != nil {
		return nil, err
	}
	a, err := plan.BindAlter(ctx, x, run.defining())
	if err != nil {
		return nil, err
	}
	s.state("altering table")
	if len(a.Partitions) > 0 {
		if len(a.Changes) > 0 || a.RenameTo != nil {
			return nil, errs.Unsupportedf(x.Pos(), "DROP PARTITION beside other changes in one ALTER TABLE")
		}
		if err := exec.DropPartitions(ctx, a.Target, a.Partitions, a.IfExists, run.executor()); err != nil {
			return nil, err
		}
		return s.altered(), nil
	}
	if err := a.Apply(ctx); err != nil {
		return nil, err
	}
	return s.altered(), nil
}

// truncate runs TRUNCATE TABLE.
func (s *Session) truncate(ctx context.Context, x *syntax.TruncateTable, run *statement) (*Result, error) {
	if err := s.definable(x); err != nil {
		return nil, err
	}
	_, err := s.change(ctx, run, "truncating", func(env *plan.Env, _ admitting) (exec.Outcome, error) {
		t, err := plan.BindTruncate(ctx, x, env)
		if err != nil {
			return exec.Outcome{}, err
		}
		return exec.Outcome{}, exec.Truncate(ctx, t)
	})
	if err != nil {
		return nil, err
	}
	s.wrote = false // it is a definition, which ended the transaction
	return &Result{}, nil
}

// createTableAs runs CREATE TABLE … AS SELECT: the table, then its rows. When the
// rows fail there is no table.
func (s *Session) createTableAs(ctx context.Context, x *syntax.CreateTable, run *statement) (res *Result, err error) {
	if name, read := assignedAndRead(x.Query); read != nil {
		return nil, refuseRead(name, read)
	}
	if err := s.definable(x); err != nil {
		return nil, err
	}
	env := run.defining()
	c, err := plan.BindCreateAs(ctx, x, env)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return &Result{Info: "Records: 0  Duplicates: 0  Warnings: " + strconv.Itoa(s.warnings.Count())}, nil
	}
	s.state("creating table")
	ins, err := c.Insert(ctx, env)
	if err != nil {
		return nil, err
	}
	err = run.admit(ctx, ins.Sources...)
	var out exec.Outcome
	if err == nil {
		out, err = exec.Insert(ctx, ins, run.executor())
	}
	if err != nil {
		if errs.ClassOf(err) == errs.UnknownOutcome {
			return nil, fmt.Errorf("fill table %s, which may have its rows: %w", c.Name.ID, err)
		}
		if undo := c.Undo(context.WithoutCancel(ctx)); undo != nil {
			s.warn("Warning", fmt.Errorf("table %s stays, without rows: %w", c.Name.ID, undo))
		}
		return nil, err
	}
	return &Result{Affected: out.Affected, Info: fmt.Sprintf("Records: %d  Duplicates: 0  Warnings: %d", out.Affected, s.warnings.Count())}, nil
}

// tableRight is a right on a table that a definition needs.
type tableRight struct {
	name    syntax.ObjectName
	need    metadata.Privilege
	command string
}

// tableRights are the rights on tables that definitions need, as MySQL asks for
// them.
func tableRights(stmt syntax.Statement) []tableRight {
	rename := func(from, to syntax.ObjectName) []tableRight {
		return []tableRight{{from, metadata.Alter, "ALTER"}, {from, metadata.Drop, "DROP"}, {to, metadata.Create, "CREATE"}, {to, metadata.Insert, "INSERT"}}
	}
	switch x := stmt.(type) {
	case *syntax.CreateTable:
		if x.Temporary {
			out := []tableRight{{x.Name, metadata.CreateTemporaryTables, "CREATE TEMPORARY TABLES"}}
			if !x.Like.IsZero() {
				out = append(out, tableRight{x.Like, metadata.Select, "SELECT"})
			}
			return out
		}
		out := []tableRight{{x.Name, metadata.Create, "CREATE"}}
		if x.Query != nil {
			out = append(out, tableRight{x.Name, metadata.Insert, "INSERT"})
		}
		if x.OrReplace {
			out = append(out, tableRight{x.Name, metadata.Drop, "DROP"})
		}
		if !x.Like.IsZero() {
			out = append(out, tableRight{x.Like, metadata.Select, "SELECT"})
		}
		return out
	case *syntax.DropTable:
		var out []tableRight
		for _, n := range x.Names {
			out = append(out, tableRight{n, metadata.Drop, "DROP"})
		}
		return out
	case *syntax.TruncateTable:
		return []tableRight{{x.Name, metadata.Drop, "DROP"}}
	case *syntax.RenameTable:
		var out []tableRight
		for _, p := range x.Pairs {
			out = append(out, rename(p.From, p.To)...)
		}
		return out
	case *syntax.CreateIndex:
		return []tableRight{{x.Table, metadata.Index, "INDEX"}}
	case *syntax.DropIndex:
		return []tableRight{{x.Table, metadata.Index, "INDEX"}}
	case *syntax.AlterTable:
		out := []tableRight{{x.Name, metadata.Alter, "ALTER"}}
		for _, a := range x.Actions {
			switch a := a.(type) {
			case *syntax.RenameTo:
				out = append(out, rename(x.Name, a.Name)...)
			case *syntax.AlterPartitions:
				if a.Drop {
					out = append(out, tableRight{x.Name, metadata.Drop, "DROP"})
				}
			}
		}
		return out
	}
	return nil
}
