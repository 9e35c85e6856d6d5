package session

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// This file runs the statements that change rows. Each of them is one snapshot
// of each table that it changes, and committed when it returns, also inside of
// a transaction. When somebody else has changed the same rows meanwhile, the
// statement is bound and run again on what is there now.

// changeTries bounds how often a statement is run again after a conflict, and
// changePause is the first wait in between.
const (
	changeTries = 16
	changePause = 5 * time.Millisecond
)

// accesses are what a statement may do to a table, and the rights that it needs.
var accesses = []struct {
	access  plan.Access
	need    metadata.Privilege
	command string
}{
	{plan.InsertRows, metadata.Insert, "INSERT"}, {plan.UpdateRows, metadata.Update, "UPDATE"},
	{plan.DeleteRows, metadata.Delete, "DELETE"}, {plan.ReadRows, metadata.Select, "SELECT"},
}

// authorizeChange checks the rights that changing a table needs.
func (s *Session) authorizeChange(_ context.Context, catalogName string, id catalog.Identifier, a plan.Access) error {
	if _, virtual := metadata.VirtualDatabase(id.Database); virtual {
		return errs.Userf(errs.DatabaseDenied, "Access denied for user '%s'@'%s' to database '%s'", s.account.User, s.account.Host, id.Database)
	}
	for _, x := range accesses {
		if a&x.access == 0 {
			continue
		}
		if err := s.authorize(x.need, catalogName, id, x.command); err != nil {
			return err
		}
	}
	return nil
}

// changing is what a statement that changes rows is bound in, and run.
func (run *statement) changing() *plan.Env {
	env := run.environment()
	env.AuthorizeChange = func(ctx context.Context, catalogName string, id catalog.Identifier, a plan.Access) error {
		if err := run.s.authorizeChange(ctx, catalogName, id, a); err != nil {
			return err
		}
		return run.s.unfed(catalogName, id)
	}
	if run.s.srv.cfg.Temporary != nil {
		env.Temporaries = run.s.temporaries
	}
	env.StrictInsert = run.s.text("lake_insert") == "strict"
	env.Change = func(ctx context.Context, t connector.RowChanger, base connector.Snapshot) (connector.RowChange, error) {
		return t.NewRowChange(ctx, base, connector.WriteOptions{CommitUser: exec.InsertUser, Budget: run.s.srv.cfg.Memory, KeepNulls: true})
	}
	return env
}

// planning is what a statement that changes rows is bound in to be looked at.
func (run *statement) planning() *plan.Env {
	env := run.changing()
	env.Change, env.AuthorizeChange = nil, run.s.authorizeChange
	return env
}

// admitting waits until the queries of a statement may run, and returns what they
// run in.
type admitting func(queries ...*plan.Query) (exec.Env, error)

// change runs attempts of a statement until one has no conflict.
func (s *Session) change(ctx context.Context, run *statement, verb string, attempt func(env *plan.Env, admit admitting) (exec.Outcome, error)) (exec.Outcome, error) {
	pause := changePause
	given := s.userVariables()
	for n := 1; ; n++ {
		s.state(verb)
		out, err := attempt(run.changing(), func(queries ...*plan.Query) (x exec.Env, err error) {
			if err = run.admit(ctx, queries...); err != nil {
				return x, err
			}
			s.state(verb)
			x = run.executor()
			x.Progress = func(rows uint64) { s.state(fmt.Sprintf("%s: %d rows", verb, rows)) }
			return x, nil
		})
		if errs.ClassOf(err) != errs.Conflict || n >= changeTries || errs.Is(err, errs.Fenced) {
			if err == nil {
				s.touch(1)
				s.wrote = s.wrote || s.inTransaction
			}
			return out, err
		}
		s.state("waiting to run again after a conflict")
		s.warnings.Reset()
		run.expr = nil
		s.restoreVariables(given) // the attempt may have counted in them
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, time.Second)
	}
}

// affected is a statement's outcome as its client counts.
func (s *Session) affected(o exec.Outcome) uint64 {
	if s.opts.FoundRows {
		return o.Found
	}
	return o.Affected
}

// insert runs INSERT, REPLACE and INSERT OVERWRITE.
func (s *Session) insert(ctx context.Context, x *syntax.Insert, run *statement) (*Result, error) {
	s.srv.counters.inserts.Add(1)
	if err := s.changes(x, x.Pos()); err != nil {
		return nil, err
	}
	out, err := s.change(ctx, run, "update", func(env *plan.Env, admit admitting) (exec.Outcome, error) {
		ins, err := plan.BindInsert(ctx, x, env)
		if err != nil {
			return exec.Outcome{}, err
		}
		ex, err := admit(ins.Sources...)
		if err != nil {
			return exec.Outcome{}, err
		}
		return exec.Insert(ctx, ins, ex)
	})
	if err != nil {
		return nil, err
	}
	res := &Result{Affected: s.affected(out)}
	if x.Query != nil || len(x.Rows) > 1 {
		res.Info = "Records: " + strconv.FormatUint(out.Matched, 10) + "  Duplicates: " + strconv.FormatUint(out.Duplicates, 10) +
			"  Warnings: " + strconv.Itoa(s.warnings.Count())
	}
	return res, nil
}

// statementSet runs Flink's EXECUTE STATEMENT SET: its INSERTs one after the
// other, each committed as it ends.
func (s *Session) statementSet(ctx context.Context, x *syntax.StatementSet, run *statement) (*Result, error) {
	sum := &Result{}
	for i, ins := range x.Inserts {
		r, err := s.insert(ctx, ins, run)
		if err != nil {
			if i > 0 {
				return nil, errs.New(errs.ClassOf(err), errs.KindOf(err), "%w; the %d statements before it are committed", err, i)
			}
			return nil, err
		}
		sum.Affected += r.Affected
	}
	return sum, nil
}

// update runs UPDATE.
func (s *Session) update(ctx context.Context, x *syntax.Update, run *statement) (*Result, error) {
	s.srv.counters.updates.Add(1)
	if err := s.changes(x, x.Pos()); err != nil {
		return nil, err
	}
	out, err := s.change(ctx, run, "updating", func(env *plan.Env, admit admitting) (out exec.Outcome, err error) {
		u, err := plan.BindUpdate(ctx, x, env)
		if err != nil {
			return out, err
		}
		defer closing(u, &err)
		ex, err := admit(u.Query)
		if err != nil {
			return out, err
		}
		return exec.Update(ctx, u, ex)
	})
	if err != nil {
		return nil, err
	}
	return &Result{Affected: s.affected(out), Info: fmt.Sprintf("Rows matched: %d  Changed: %d  Warnings: %d", out.Matched, out.Changed, s.warnings.Count())}, nil
}

// delete runs DELETE.
func (s *Session) delete(ctx context.Context, x *syntax.Delete, run *statement) (*Result, error) {
	s.srv.counters.deletes.Add(1)
	if err := s.changes(x, x.Pos()); err != nil {
		return nil, err
	}
	out, err := s.change(ctx, run, "updating", func(env *plan.Env, admit admitting) (out exec.Outcome, err error) {
		d, err := plan.BindDelete(ctx, x, env)
		if err != nil {
			return out, err
		}
		defer closing(d, &err)
		ex, err := admit(d.Query)
		if err != nil {
			return out, err
		}
		return exec.Delete(ctx, d, ex)
	})
	if err != nil {
		return nil, err
	}
	return &Result{Affected: s.affected(out)}, nil
}

// merge runs MERGE INTO.
func (s *Session) merge(ctx context.Context, x *syntax.Merge, run *statement) (*Result, error) {
	s.srv.counters.updates.Add(1)
	if err := s.changes(x, x.Pos()); err != nil {
		return nil, err
	}
	out, err := s.change(ctx, run, "updating", func(env *plan.Env, admit admitting) (out exec.Outcome, err error) {
		m, err := plan.BindMerge(ctx, x, env)
		if err != nil {
			return out, err
		}
		defer closing(m, &err)
		ex, err := admit(m.Query)
		if err != nil {
			return out, err
		}
		return exec.Merge(ctx, m, ex)
	})
	if err != nil {
		return nil, err
	}
	return &Result{Affected: s.affected(out)}, nil
}

// changes checks what all statements that change rows must satisfy.
func (s *Session) changes(x syntax.Node, pos int) error {
	if err := s.writable(pos); err != nil {
		return err
	}
	switch x := x.(type) {
	case *syntax.Update:
		if _, one := x.Tables.(*syntax.TableName); one {
			return nil // read row by row
		}
	case *syntax.Insert:
		if x.Query != nil {
			return nil
		}
	}
	if name, read := assignedAndRead(x); read != nil {
		return refuseRead(name, read)
	}
	return nil
}

// userVariables are the session's user variables as they are, and
// restoreVariables makes them so again.
func (s *Session) userVariables() map[string]expr.Value {
	s.userMu.Lock()
	defer s.userMu.Unlock()
	return maps.Clone(s.user)
}

func (s *Session) restoreVariables(to map[string]expr.Value) {
	s.userMu.Lock()
	defer s.userMu.Unlock()
	s.user = maps.Clone(to)
}

// closing closes what a bound statement holds; its error counts when there is
// none yet.
func closing(c interface{ Close() error }, err *error) {
	if e := c.Close(); *err == nil {
		*err = e
	}
}
