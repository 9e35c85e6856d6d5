package session

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// environment is what the statement is bound in.
func (run *statement) environment() *plan.Env {
	s := run.s
	return &plan.Env{
		Catalogs: catalogs{s, run}, Expr: run.context(), Params: run.params,
		Authorize: s.authorizeRead, AuthorizeAs: s.authorizeAs, Pinned: run.pinned(), Lossless: s.opts.Lossless,
		NoSharing: !s.settings().sharing, Files: s.fileTables(),
		Pin: func(u plan.TableUse) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pins = append(s.pins, pin{use: u, since: s.srv.now()})
		},
	}
}

// executor is what the statement's plan runs in.
func (run *statement) executor() exec.Env {
	m := &exec.Meter{}
	run.s.mu.Lock()
	run.s.proc.meter = m
	run.s.mu.Unlock()
	env := exec.Env{Meter: m, Expr: run.context(), Options: run.s.scanOptions(), Budget: run.s.srv.cfg.Memory, Spill: run.s.srv.cfg.Spill}
	if run.ticket != nil {
		env.Budget, env.Sure = run.ticket.Budget()
	}
	return env
}

// selectQuery runs a SELECT.
func (s *Session) selectQuery(ctx context.Context, q *syntax.Query, run *statement) (*Result, error) {
	run.continuous = s.continuous()
	if q.Into != nil {
		plain := *q
		plain.Into = nil
		run.into = true
		return s.selectInto(ctx, q.Into, run, func() (*Result, error) { return s.selectQuery(ctx, &plain, run) })
	}
	run.shown = !run.into
	s.srv.counters.selects.Add(1)
	limit := s.settings().maxExecution
	if sel, ok := q.Body.(*syntax.Select); ok {
		for _, h := range sel.Hints {
			if h.Name == "MAX_EXECUTION_TIME" {
				if n, err := strconv.ParseUint(strings.TrimSpace(h.Args), 10, 32); err == nil {
					limit = time.Duration(n) * time.Millisecond
				}
			}
		}
	}
	run.limit(limit)
	if n := s.selectLimit(); n >= 0 && q.Limit == nil {
		limited := *q
		limited.Limit = &syntax.Limit{At: q.At, Count: &syntax.NumberLit{At: q.At, Kind: syntax.Integer, Text: strconv.FormatInt(n, 10)}}
		q = &limited
	}
	if all, ok := countsAll(q); ok {
		return s.allFound(ctx, all, run)
	}
	return s.query(ctx, q, run)
}

// query binds and starts a query.
func (s *Session) query(ctx context.Context, q *syntax.Query, run *statement) (*Result, error) {
	env := run.environment()
	env.Continuous = run.continuous
	env.OwnDigits = run.shown && !s.opts.Lossless && !run.continuous
	p, err := plan.Bind(ctx, q, env)
	if err != nil {
		return nil, err
	}
	s.touch(len(p.Tables))
	if p.Stream != nil {
		s.state("following")
		return &Result{Columns: named(planned(p.Columns), q), Rows: exec.Follow(ctx, p, run.executor(), s.follows(*p.Streamed)), Continuous: true}, nil
	}
	if err := run.admit(ctx, p); err != nil {
		return nil, err
	}
	s.state("sending data")
	rows, err := exec.Run(ctx, p, run.executor())
	if err != nil {
		return nil, err
	}
	return &Result{Columns: named(planned(p.Columns), q), Rows: rows}, nil
}

// follows returns what notes the version that a continuous read is at: its files
// must stay, the ones of the version before need not.
func (s *Session) follows(use plan.TableUse) func(connector.Snapshot) {
	since := s.srv.now()
	return func(snap connector.Snapshot) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pins = slices.DeleteFunc(s.pins, func(p pin) bool { return !p.transaction && p.since.Equal(since) && p.use.Table == use.Table })
		since = s.srv.now()
		use.Snapshot = snap
		s.pins = append(s.pins, pin{use: use, since: since})
	}
}

// named gives columns of the information_schema the names that they are defined
// with, in whatever case the statement writes them: in MySQL they are columns
// of views. Aliases stay.
func named(cols []Column, q *syntax.Query) []Column {
	aliases := map[string]bool{}
	body := q.Body
	for {
		if set, ok := body.(*syntax.SetOp); ok {
			body = set.Left
			continue
		}
		break
	}
	if sel, ok := body.(*syntax.Select); ok {
		for _, it := range sel.Items {
			if it.HasAlias {
				aliases[it.Alias.Name] = true
			}
		}
	}
	for i := range cols {
		c := &cols[i]
		if c.Database == metadata.InformationSchema && c.OrgName != "" && equalFold(c.Name, c.OrgName) && !aliases[c.Name] {
			c.Name = c.OrgName
		}
	}
	return cols
}

// state changes what the process list shows of the statement.
func (s *Session) state(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.state = state
}

// planned are the columns of a plan as a Result has them.
func planned(cols []plan.Column) []Column {
	out := make([]Column, len(cols))
	for i, c := range cols {
		out[i] = Column{Name: c.Name, Type: c.Type, Database: c.Database, Table: c.Table, OrgTable: c.OrgTable, OrgName: c.OrgName, Key: c.Key, Stored: c.Stored, Texts: c.Texts}
	}
	return out
}

// explainStatement runs EXPLAIN.
func (s *Session) explainStatement(ctx context.Context, x *syntax.Explain, run *statement) (*Result, error) {
	switch {
	case x.Statement == nil:
		return nil, errs.Unsupportedf(x.Pos(), "EXPLAIN FOR CONNECTION")
	case x.Into != nil:
		return nil, errs.Unsupportedf(x.Pos(), "EXPLAIN INTO")
	}
	format := x.Format
	if format == "" {
		format = s.text("explain_format")
		if x.Analyze && format == "TRADITIONAL" {
			format = "TREE"
		}
	}
	if x.Analyze {
		return s.explainAnalyze(ctx, x, format, run)
	}
	var queries []*plan.Query
	switch q := x.Statement.(type) {
	case *syntax.Query:
		p, err := plan.Bind(ctx, q, run.environment())
		if err != nil {
			return nil, err
		}
		queries = append(queries, p)
	case *syntax.Insert:
		ins, err := plan.BindInsert(ctx, q, run.planning())
		if err != nil {
			return nil, err
		}
		queries = ins.Sources
	case *syntax.Update:
		u, err := plan.BindUpdate(ctx, q, run.planning())
		if err != nil {
			return nil, err
		}
		queries = append(queries, u.Query)
	case *syntax.Delete:
		d, err := plan.BindDelete(ctx, q, run.planning())
		if err != nil {
			return nil, err
		}
		queries = append(queries, d.Query)
	case *syntax.Merge:
		m, err := plan.BindMerge(ctx, q, run.planning())
		if err != nil {
			return nil, err
		}
		queries = append(queries, m.Query)
	default:
		return nil, errs.Unsupportedf(x.Statement.Pos(), "EXPLAIN of %s", constructOf(x.Statement))
	}
	switch format {
	case "TREE", "PLAN":
		var text strings.Builder
		for _, p := range queries {
			for _, line := range plan.Explain(p) {
				text.WriteString(line + "\n")
			}
		}
		return explained(text.String())
	case "JSON":
		text, err := plan.ExplainJSON(queries, nil)
		if err != nil {
			return nil, err
		}
		return explained(text)
	case "TRADITIONAL":
		return s.explainTraditional(ctx, queries)
	}
	return nil, errs.Unsupportedf(x.Pos(), "EXPLAIN FORMAT=%s", format)
}

// explained is the answer of EXPLAIN in one text.
func explained(text string) (*Result, error) {
	return listing(metadata.Listing{Fields: metadata.ParseFields("EXPLAIN|longtext~!"), Rows: []metadata.Row{{text}}, LikeColumn: -1})
}

// explainAnalyze runs a query and says what its operators did.
func (s *Session) explainAnalyze(ctx context.Context, x *syntax.Explain, format string, run *statement) (*Result, error) {
	q, ok := x.Statement.(*syntax.Query)
	switch {
	case !ok:
		return nil, errs.Unsupportedf(x.Statement.Pos(), "EXPLAIN ANALYZE of %s", constructOf(x.Statement))
	case format != "TREE" && format != "JSON":
		return nil, errs.Unsupportedf(x.Pos(), "EXPLAIN ANALYZE with FORMAT=%s (use TREE or JSON)", format)
	}
	p, err := plan.Bind(ctx, q, run.environment())
	if err != nil {
		return nil, err
	}
	if p.Stream != nil {
		return nil, errs.Unsupportedf(x.Pos(), "EXPLAIN ANALYZE of a continuous read")
	}
	s.touch(len(p.Tables))
	if err := run.admit(ctx, p); err != nil {
		return nil, err
	}
	s.state("sending data")
	profile, err := exec.Analyze(ctx, p, run.executor())
	if err != nil {
		return nil, err
	}
	if format == "JSON" {
		text, err := plan.ExplainJSON([]*plan.Query{p}, profile.Of)
		if err != nil {
			return nil, err
		}
		return explained(text)
	}
	return explained(strings.Join(plan.ExplainActual(p, profile.Of), "\n") + "\n")
}

// explainTraditional gives MySQL's tabular form: a line a table.
func (s *Session) explainTraditional(ctx context.Context, queries []*plan.Query) (*Result, error) {
	l := metadata.Listing{LikeColumn: -1, Fields: metadata.ParseFields("id|bigint unsigned!; select_type|varchar(19)~!; table|varchar(64)~; partitions|longtext~; " +
		"type|varchar(10)~; possible_keys|varchar(4096)~; key|varchar(64)~; key_len|varchar(4096)~; ref|varchar(1024)~; rows|bigint; filtered|decimal(5,2); Extra|varchar(255)~")}
	for _, p := range queries {
		for _, t := range p.Tables {
			var rows, extra any
			if at := connector.LivePosition(t.Snapshot); at != "" {
				extra = "Live at " + at
			}
			if n, _, err := t.Snapshot.RowCount(ctx); err == nil && n >= 0 {
				rows = n
			}
			l.Rows = append(l.Rows, metadata.Row{uint64(1), "SIMPLE", t.Table.ID().Object(), nil, "ALL", nil, nil, nil, nil, rows, 100.0, extra})
		}
	}
	if len(l.Rows) == 0 {
		l.Rows = append(l.Rows, metadata.Row{uint64(1), "SIMPLE", nil, nil, nil, nil, nil, nil, nil, nil, nil, "No tables used"})
	}
	return listing(l)
}
