// Package session holds one client's state and the way of a statement: text,
// parse, authorize, dispatch, plan, execute. Every front end (MySQL wire, the
// command line, Trino HTTP) goes through it and only translates its Result.
//
// Invariants: a Session is used by one goroutine at a time, except Kill and
// what the process list reads. A statement's rows must be closed before the
// next statement. No panic leaves Execute or Result.Rows: it becomes an
// internal error with an id that is logged. What a statement reads is resolved
// once (DESIGN D9) and authorized before it is planned (DESIGN D14).
//
// Start reading at Server, Session.Execute, then dispatch.
package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/metadata"
)

// Session is one client's state.
type Session struct {
	srv     *Server
	id      uint32
	opts    OpenOptions
	account metadata.Account
	since   time.Time

	catalog   string // current catalog (USE CATALOG)
	dbCatalog string // catalog of the current database
	renames   int32  // of the server's own catalog that the session knows of
	database  string // current database, "" for none
	vars      *variables
	flink     map[string]string // Flink's SET 'k' = 'v'
	mode      expr.SQLMode
	zone      *time.Location
	prepared  map[string]*prepared        // PREPARE
	temps     map[string]catalog.Writable // temporary tables, by the catalog that they are beside
	cache     map[string]syntax.Parsed
	recent    map[string]syntax.Parsed
	cacheMode syntax.Options
	settled   atomic.Pointer[settings]
	userMu    sync.Mutex
	user      map[string]expr.Value // user variables, lower case
	transaction

	// Of the statement that runs, and the ones before.
	started      time.Time
	warnings     *expr.Warnings
	previous     *expr.Warnings
	lastInsertID uint64
	rowCount     int64
	foundRows    uint64
	open         *stream // rows not closed yet

	mu     sync.Mutex // guards what other sessions see: process state, cancel
	proc   process
	cancel context.CancelCauseFunc
	killed bool
	pins   []pin
}

// process is what the process list shows of a session.
type process struct {
	command string
	since   time.Time
	state   string
	info    string
	db      string
	meter   *exec.Meter // what the statement has read, nil: nothing
}

// Status is the state a protocol reports after a statement.
type Status struct {
	Autocommit    bool
	InTransaction bool
	Database      string
	Catalog       string
	Warnings      uint16
	// NoBackslashEscapes and ANSIQuotes follow sql_mode; the first is a server
	// status flag, both matter to who scans statement text.
	NoBackslashEscapes bool
	ANSIQuotes         bool
}

// ID returns the connection id.
func (s *Session) ID() uint32 { return s.id }

// Status returns the state after the last statement.
func (s *Session) Status() Status { return s.status() }

// Execute runs one statement. params are the values of its placeholders in
// order; a type of class String is a string, and so on. Who gets the Result
// closes it before the next statement. An error does not end the session.
func (s *Session) Execute(ctx context.Context, text string, params []expr.Value) (*Result, error) {
	return s.execute(ctx, text, params)
}

// Prepare describes a statement without running it. The text stays with the
// caller, who passes it to Execute.
func (s *Session) Prepare(ctx context.Context, text string) (*Prepared, error) {
	return s.prepare(ctx, text)
}

// Split cuts a text of several statements into single ones, without
// terminators and empty statements at the end. A text that cannot be cut is
// returned whole, so that Execute reports the error.
func (s *Session) Split(text string) []string { return s.split(text) }

// Use makes a database the current one (COM_INIT_DB): "db" of the current
// catalog, or "catalog.db".
func (s *Session) Use(ctx context.Context, database string) error { return s.use(ctx, database) }

// Reset puts variables, prepared statements, transaction and user variables
// back to those of a new session and keeps account and database
// (COM_RESET_CONNECTION).
func (s *Session) Reset(ctx context.Context) error { return s.reset(ctx) }

// ChangeUser makes the session another account's, as after a new login.
func (s *Session) ChangeUser(ctx context.Context, o OpenOptions) error { return s.changeUser(ctx, o) }

// Close ends the session: it cancels a running statement and releases pins.
// It may be called more than once.
func (s *Session) Close() { s.close() }

// cancelStatement cancels the running statement, if any, with a cause.
func (s *Session) cancelStatement(cause error) {
	s.mu.Lock()
	c := s.cancel
	s.mu.Unlock()
	if c != nil {
		c(cause)
	}
}

// Kill cancels the running statement; with connection it ends the session too.
func (s *Session) Kill(connection bool) {
	s.cancelStatement(errs.New(errs.User, errs.Killed, "run statement: it was killed"))
	if !connection {
		return
	}
	s.mu.Lock()
	s.killed = true
	s.mu.Unlock()
	if s.opts.Kill != nil {
		s.opts.Kill()
	}
}
