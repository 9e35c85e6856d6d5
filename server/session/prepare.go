package session

import (
	"context"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// prepared is a statement of PREPARE … FROM.
type prepared struct {
	text   string
	parsed syntax.Parsed
}

// prepare describes a statement for COM_STMT_PREPARE.
func (s *Session) prepare(ctx context.Context, text string) (p *Prepared, err error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	run := s.start(ctx, text, nil)
	s.newWarnings()
	defer func() {
		if x := recover(); x != nil {
			p, err = nil, s.panicked(x, text)
		}
		if err != nil {
			err = run.explain(err)
			s.failed(err)
		}
		run.finish(err)
	}()
	parsed, err := s.parse(text, true)
	if err != nil {
		return nil, err
	}
	p = &Prepared{Params: len(parsed.Placeholders)}
	run.parameters = make([]expr.Parameter, p.Params)
	p.Columns, err = s.columnsOf(run.ctx, parsed.Statement, run)
	if err != nil {
		return nil, err
	}
	for _, x := range run.parameters {
		p.Parameters = append(p.Parameters, x.Type)
	}
	return p, nil
}

// columnsOf returns a statement's columns without running it; nil when it has
// none, or they are known when it runs only.
func (s *Session) columnsOf(ctx context.Context, stmt syntax.Statement, run *statement) ([]Column, error) {
	switch x := stmt.(type) {
	case *syntax.Query:
		env := run.environment()
		env.Preparing, env.Parameters, env.Pin, env.Continuous = true, run.parameters, nil, s.continuous()
		into := x.Into != nil
		if into {
			plain := *x
			plain.Into = nil
			x = &plain
		}
		x, _ = countsAll(x)
		q, err := plan.Bind(ctx, x, env)
		if err != nil {
			return nil, err
		}
		if into {
			return nil, nil
		}
		return named(planned(q.Columns), x), nil
	case *syntax.Insert:
		_, err := plan.BindInsert(ctx, x, run.preparing())
		return nil, err
	case *syntax.Update:
		_, err := plan.BindUpdate(ctx, x, run.preparing())
		return nil, err
	case *syntax.Delete:
		_, err := plan.BindDelete(ctx, x, run.preparing())
		return nil, err
	case *syntax.Merge:
		_, err := plan.BindMerge(ctx, x, run.preparing())
		return nil, err
	case *syntax.Show:
		l, err := s.show(ctx, x, run)
		if err != nil {
			return nil, err
		}
		return columnsOfListing(l)
	case *syntax.Describe:
		l, err := s.describe(ctx, x)
		if err != nil {
			return nil, err
		}
		return columnsOfListing(l)
	case *syntax.Unsupported:
		return nil, errs.Unsupportedf(x.Pos(), "%s", x.What)
	case *syntax.Prepare, *syntax.Execute, *syntax.Deallocate, *syntax.ExecuteImmediate:
		return nil, errs.Unsupportedf(stmt.Pos(), "PREPARE and EXECUTE inside a prepared statement")
	}
	return nil, nil
}

// preparing is what a statement that changes rows is bound in without running.
func (run *statement) preparing() *plan.Env {
	env := run.planning()
	env.Preparing, env.Parameters, env.Pin = true, run.parameters, nil
	return env
}

func columnsOfListing(l metadata.Listing) ([]Column, error) {
	_, types, err := metadata.Batches(l.Fields, nil)
	if err != nil {
		return nil, err
	}
	return listed(l, types), nil
}

// maxPrepared bounds the statements that PREPARE keeps.
const maxPrepared = 16382

// prepareText runs PREPARE s FROM ….
func (s *Session) prepareText(_ context.Context, x *syntax.Prepare) error {
	name := strings.ToLower(x.Name.Name)
	delete(s.prepared, name)
	var text string
	switch {
	case x.Text != nil:
		text = x.Text.Value
	case x.Var != nil:
		v := functions{s}.UserVariable(x.Var.Name)
		if v.IsNull() {
			return errs.UserAt(x.Pos(), errs.Syntax, "You have an error in your SQL syntax: @%s is NULL", x.Var.Name)
		}
		text, _ = textOf(v, s)
	default:
		return errs.Unsupportedf(x.Pos(), "PREPARE of a statement that is not a string")
	}
	if len(s.prepared) >= maxPrepared {
		return errs.New(errs.Resource, errs.KindNone, "Can't create more than max_prepared_stmt_count statements (current value: %d)", maxPrepared)
	}
	parsed, err := syntax.ParseOne(text, s.options())
	if err != nil {
		return err
	}
	switch parsed.Statement.(type) {
	case *syntax.Prepare, *syntax.Execute, *syntax.Deallocate, *syntax.ExecuteImmediate:
		return errs.Unsupportedf(-1, "PREPARE and EXECUTE inside a prepared statement")
	}
	s.prepared[name] = &prepared{text: text, parsed: parsed}
	return nil
}

// executePrepared runs EXECUTE s USING ….
func (s *Session) executePrepared(ctx context.Context, x *syntax.Execute, run *statement) (*Result, error) {
	p, ok := s.prepared[strings.ToLower(x.Name.Name)]
	if !ok {
		return nil, errs.UserAt(x.Pos(), errs.UnknownStatement, "Unknown prepared statement handler (%s) given to EXECUTE", x.Name.Name)
	}
	if len(x.Using) != len(p.parsed.Placeholders) {
		return nil, errs.UserAt(x.Pos(), errs.WrongArguments, "Incorrect arguments to EXECUTE")
	}
	params := make([]expr.Value, len(x.Using))
	for i, e := range x.Using {
		v, err := s.evaluate(ctx, e, run)
		if err != nil {
			return nil, err
		}
		if v.Type.Class == expr.String {
			v.Type.Coercibility = 4 // a parameter, whatever variable it came from
		}
		params[i] = v
	}
	run.params = params
	run.text = p.text
	return s.dispatch(ctx, p.parsed.Statement, run)
}

// deallocate runs DEALLOCATE PREPARE s.
func (s *Session) deallocate(x *syntax.Deallocate) error {
	name := strings.ToLower(x.Name.Name)
	if _, ok := s.prepared[name]; !ok {
		return errs.UserAt(x.Pos(), errs.UnknownStatement, "Unknown prepared statement handler (%s) given to DEALLOCATE PREPARE", x.Name.Name)
	}
	delete(s.prepared, name)
	return nil
}

// parseID reads a connection id.
func parseID(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }
