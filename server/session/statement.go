package session

import (
	"context"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/admission"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// statement is one statement while it runs.
type statement struct {
	s      *Session
	ctx    context.Context // cancelled by KILL, time limits and the end of the statement
	cancel context.CancelCauseFunc
	timer  *time.Timer
	text   string
	stmt   syntax.Statement
	params []expr.Value
	expr   *expr.Context
	system *metadata.System
	// ticket is what the statement was admitted with, nil before, and when it needs
	// none.
	ticket *admission.Ticket
	// continuous: reading a table that can be followed does not end.
	continuous bool
	// parameters are the placeholders of a statement that is prepared.
	parameters []expr.Parameter
	// shown: its rows go to a client, not INTO something.
	shown, into bool
	cut         cut // what it reads live, nil: nothing
}

// context returns what the statement's expressions depend on, made once.
func (run *statement) context() *expr.Context {
	if run.expr == nil {
		run.expr = run.s.newContext()
		run.expr.Done = run.ctx.Done()
	}
	return run.expr
}

// options are the settings that change how texts are read.
func (s *Session) options() syntax.Options {
	return syntax.Options{
		AnsiQuotes: s.mode.Has(expr.ANSIQuotes), PipesAsConcat: s.mode.Has(expr.PipesAsConcat),
		NoBackslashEscapes: s.mode.Has(expr.NoBackslashEscapes), HighNotPrecedence: s.mode.Has(expr.HighNotPrecedence),
		IgnoreSpace: s.mode.Has(expr.IgnoreSpace),
	}
}

// maxCached is the number of parsed texts that a session keeps for prepared
// statements, maxRecent of queries that it was given, of shortText bytes at most.
const (
	maxCached = 64
	maxRecent = 32
	shortText = 4 << 10
)

// parse reads a text of one statement. Texts that were prepared are kept, and short
// queries, which dashboards repeat. What was parsed is never changed.
func (s *Session) parse(text string, keep bool) (syntax.Parsed, error) {
	o := s.options()
	if o != s.cacheMode {
		clear(s.cache)
		clear(s.recent)
		s.cacheMode = o
	}
	if p, ok := s.cache[text]; ok {
		return p, nil
	}
	if p, ok := s.recent[text]; ok && !keep {
		return p, nil
	}
	p, err := syntax.ParseOne(text, o)
	if err != nil {
		return p, err
	}
	if _, query := p.Statement.(*syntax.Query); keep && len(text) <= 64<<10 {
		if len(s.cache) >= maxCached {
			clear(s.cache)
		}
		s.cache[text] = p
	} else if query && len(text) <= shortText {
		if len(s.recent) >= maxRecent {
			clear(s.recent)
		}
		s.recent[text] = p
	}
	return p, nil
}

func (s *Session) split(text string) []string {
	out := []string{}
	for _, p := range syntax.Split(text, s.options()) {
		if !p.Empty {
			out = append(out, text[p.Start:p.End])
		}
	}
	return out
}

// execute is the way of a statement.
func (s *Session) execute(ctx context.Context, text string, params []expr.Value) (res *Result, err error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	run := s.start(ctx, text, params)
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, s.panicked(p, text)
		}
		if err != nil {
			err = run.explain(err)
			s.failed(err)
			run.finish(err)
		}
	}()
	parsed, err := s.parse(text, false)
	if err != nil {
		s.newWarnings()
		return nil, err
	}
	if len(parsed.Placeholders) != len(params) {
		s.newWarnings()
		if len(params) == 0 {
			return nil, errs.UserAt(parsed.Placeholders[0], errs.Syntax, "You have an error in your SQL syntax: a placeholder stands outside a prepared statement, at position %d", parsed.Placeholders[0]+1)
		}
		return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to EXECUTE: %d values for %d placeholders", len(params), len(parsed.Placeholders))
	}
	run.stmt = parsed.Statement
	if !keepsWarnings(parsed.Statement) {
		s.newWarnings()
	}
	res, err = s.dispatch(run.ctx, parsed.Statement, run)
	if err != nil {
		return nil, err
	}
	if res == nil {
		res = &Result{}
	}
	res.Warnings = warningCount(s.warnings.Count())
	if keepsWarnings(parsed.Statement) {
		res.Warnings = 0
	}
	if res.Rows == nil {
		s.rowCount = int64(res.Affected)
		run.finish(nil)
		return res, nil
	}
	s.rowCount = -1
	st := &stream{s: s, run: run, rows: res.Rows, res: res}
	res.Rows, s.open = st, st
	return res, nil
}

// begin checks that a statement may start.
func (s *Session) begin() error {
	if s.open != nil {
		// The contract says that rows are closed first; a forgotten reader must
		// not leak a query.
		_ = s.open.Close()
	}
	s.mu.Lock()
	killed := s.killed
	s.mu.Unlock()
	if killed {
		return errs.New(errs.User, errs.Killed, "run statement: the connection was killed")
	}
	s.srv.mu.Lock()
	closing := s.srv.closing
	s.srv.mu.Unlock()
	if closing {
		return errs.New(errs.Resource, errs.ShuttingDown, "Server shutdown in progress")
	}
	s.follow()
	return nil
}

// start opens a statement: its context, its entry in the process list.
func (s *Session) start(ctx context.Context, text string, params []expr.Value) *statement {
	run := &statement{s: s, text: text, params: params}
	run.ctx, run.cancel = context.WithCancelCause(ctx)
	s.started = s.srv.now()
	s.srv.counters.questions.Add(1)
	s.enter("Query", "executing", text)
	s.mu.Lock()
	s.cancel = run.cancel
	s.mu.Unlock()
	return run
}

// conceal keeps a statement's text, which may hold passwords, out of the process
// list and the log.
func (run *statement) conceal() {
	words := strings.Fields(run.text)
	run.text = strings.Join(words[:min(2, len(words))], " ") + " …"
	run.s.mu.Lock()
	defer run.s.mu.Unlock()
	run.s.proc.info = run.text
}

// limit ends the statement after a time.
func (run *statement) limit(d time.Duration) {
	if d <= 0 || run.timer != nil {
		return
	}
	run.timer = time.AfterFunc(d, func() {
		run.s.srv.counters.timeouts.Add(1)
		run.cancel(errs.New(errs.User, errs.Timeout, "Query execution was interrupted, maximum statement execution time exceeded"))
	})
}

// finish closes a statement. It is called once.
func (run *statement) finish(err error) {
	s := run.s
	if run.timer != nil {
		run.timer.Stop()
	}
	s.mu.Lock()
	s.cancel = nil
	kept := s.pins[:0]
	for _, p := range s.pins {
		if p.transaction {
			kept = append(kept, p)
		}
	}
	s.pins = kept
	s.mu.Unlock()
	run.cancel(nil)
	run.dismiss()
	run.cut.release()
	if s.autocommitted() {
		s.releaseTransaction()
	}
	d := s.srv.now().Sub(s.started)
	if limit, on := s.slowLimit(); on && d >= limit {
		s.srv.counters.slow.Add(1)
		s.srv.log.Warn("slow query", "seconds", d.Seconds(), "session", s.id, "user", s.account.String(), "database", s.shownDatabase(),
			"rows", s.foundRows, "statement", shortened(run.text), "error", errorText(err))
	}
	s.enter("Sleep", "", "")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// shortened bounds a statement's text for the log.
func shortened(s string) string {
	const most = 4096
	if len(s) > most {
		return s[:most] + " …"
	}
	return s
}

// slowLimit is the duration from which statements are logged.
func (s *Session) slowLimit() (time.Duration, bool) {
	if d := s.srv.cfg.SlowQuery; d > 0 {
		return d, true
	}
	on, _ := metadata.LookupVariable("slow_query_log")
	if v, _ := s.srv.globals.get(on); v != "ON" {
		return 0, false
	}
	d, err := time.ParseDuration(s.text("long_query_time") + "s")
	return d, err == nil
}

// failed records an error for SHOW ERRORS.
func (s *Session) failed(err error) {
	s.srv.counters.errors.Add(1)
	s.rowCount = -1
	s.warnings.Add(expr.Warning{Level: "Error", Kind: errs.KindOf(err), Message: err.Error()})
}

// newWarnings starts the list of a statement.
func (s *Session) newWarnings() {
	s.previous, s.warnings = s.warnings, &expr.Warnings{}
}

// keepsWarnings reports whether a statement is about the list of the one
// before, and leaves it.
func keepsWarnings(stmt syntax.Statement) bool {
	x, ok := stmt.(*syntax.Show)
	return ok && (x.Kind == syntax.ShowWarnings || x.Kind == syntax.ShowErrors)
}

// warn adds a warning for an error.
func (s *Session) warn(level string, err error) {
	s.warnings.Add(expr.Warning{Level: level, Kind: errs.KindOf(err), Message: err.Error()})
}

// listing makes a Result of a listing.
func listing(l metadata.Listing) (*Result, error) {
	batches, types, err := metadata.Batches(l.Fields, l.Rows)
	if err != nil {
		return nil, err
	}
	return &Result{Columns: listed(l, types), Rows: &fixed{batches: batches}}, nil
}

func listed(l metadata.Listing, types []expr.Type) []Column {
	out := make([]Column, len(l.Fields))
	for i, f := range l.Fields {
		out[i] = Column{Name: f.Name, Type: types[i].OfField()} // MySQL asks its tables
		if l.Table != "" {
			out[i].Table, out[i].OrgTable, out[i].OrgName = l.Table, l.Table, f.Name
		}
	}
	return out
}

// fixed is a reader of batches that are there.
type fixed struct{ batches []*vector.Batch }

func (f *fixed) Next(ctx context.Context) (*vector.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(f.batches) == 0 {
		return nil, nil
	}
	b := f.batches[0]
	f.batches = f.batches[1:]
	return b, nil
}

func (f *fixed) Close() error {
	f.batches = nil
	return nil
}

// identifier completes a table's name: catalog, database, object.
func (s *Session) identifier(n syntax.ObjectName) (catalogName string, id catalog.Identifier, err error) {
	n = plan.Unquoted(n)
	table, branch, system := catalog.ParseObject(n.Object())
	id = catalog.Identifier{Table: table, Branch: branch, System: system}
	switch {
	case n.Catalog() != "":
		catalogName, id.Database = n.Catalog(), n.Database()
	case n.Database() != "":
		catalogName, id.Database = s.splitDatabase(n.Database())
	case s.database == "":
		return "", id, errs.UserAt(n.Pos(), errs.NoDatabase, "No database selected")
	default:
		catalogName, id.Database = s.dbCatalog, s.database
	}
	id.Catalog = catalogName
	return catalogName, id, nil
}
