package expr

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Context is what evaluation depends on besides the batch: the session's
// settings when the statement started, and where warnings go. Fields are set
// before use and not changed while a statement runs. One Context may be shared
// by the goroutines of a statement.
type Context struct {
	// Now is the start of the statement: NOW() and its like. Zero means the
	// Unix epoch.
	Now time.Time
	// Zone is the session's time zone; nil is UTC.
	Zone *time.Location
	// Mode is sql_mode.
	Mode SQLMode
	// Collation is collation_connection, of literals and of what functions
	// make from numbers; "" is utf8mb4_0900_ai_ci.
	Collation string
	// DivPrecision is div_precision_increment; NewContext sets 4.
	DivPrecision int
	// GroupConcatMaxLen is group_concat_max_len in bytes; NewContext sets 1024.
	GroupConcatMaxLen int
	// MaxAllowedPacket bounds the results of string functions; NewContext sets
	// 64 MiB.
	MaxAllowedPacket int
	// DefaultWeekFormat is default_week_format.
	DefaultWeekFormat int
	// RegexpTimeLimit and RegexpStackLimit are regexp_time_limit, in steps of the
	// engine, and regexp_stack_limit, in bytes; 0 for no limit. NewContext sets
	// MySQL's 32 and 8,000,000.
	RegexpTimeLimit, RegexpStackLimit int
	// LCTimeNames is lc_time_names; only en_US is known.
	LCTimeNames string
	// Warnings takes warnings; nil drops them.
	Warnings *Warnings
	// Session answers what functions ask of the session; nil makes them NULL.
	Session Session
	// Done is closed when the statement shall end: functions that wait (SLEEP) or
	// take long return then, with an error. nil never ends.
	Done <-chan struct{}

	// Item is the name of the item of the select list that is bound, "" for
	// others: warnings about a CAST that is the whole item name it.
	Item string

	// Assigning are the variables that the statement reads and writes row by row;
	// nil: none. InOrder says that what is bound is computed so.
	Assigning *Assigning
	InOrder   bool

	state *sync.Map // per statement state of volatile functions and of constants, by expression
	rows  *rowNumbers
}

// Ended returns an error when the statement shall end.
func (c *Context) Ended() error {
	if c == nil || c.Done == nil {
		return nil
	}
	select {
	case <-c.Done:
		return errs.Userf(errs.Killed, "Query execution was interrupted")
	default:
		return nil
	}
}

// endRows is the number of rows between two looks at whether the statement shall
// end: some functions take a millisecond a row.
const endRows = 32

// NewContext returns a Context with MySQL's defaults.
func NewContext() *Context {
	return &Context{RegexpTimeLimit: 32, RegexpStackLimit: 8_000_000, DivPrecision: 4, GroupConcatMaxLen: 1024, MaxAllowedPacket: 64 << 20, Mode: DefaultSQLMode,
		Collation: DefaultCollation, Warnings: &Warnings{}, state: &sync.Map{}}
}

// DefaultCollation is the collation of literals (DESIGN D17).
const DefaultCollation = "utf8mb4_0900_ai_ci"

// Session is what functions ask of a session. Implementations are safe for
// concurrent use during a statement.
type Session interface {
	// Database is the current database, "" for none.
	Database() string
	// User is USER(): name@host of the client; CurrentUser the account.
	User() string
	CurrentUser() string
	// Version is VERSION().
	Version() string
	// ConnectionID is CONNECTION_ID().
	ConnectionID() uint64
	// LastInsertID, RowCount and FoundRows are the functions of these names.
	LastInsertID() uint64
	RowCount() int64
	FoundRows() uint64
	// UserVariable returns @name; NULL when it was never set.
	UserVariable(name string) Value
	// SetUserVariable is @name := value.
	SetUserVariable(name string, v Value)
	// SystemVariable returns @@name; scope is "", "session" or "global".
	// Errors: errs.UnknownVariable.
	SystemVariable(scope, name string) (Value, error)
}

// Warning is one line of SHOW WARNINGS. Front ends turn the kind into a code.
type Warning struct {
	Level   string // "Note", "Warning", "Error"
	Kind    errs.Kind
	Message string
}

// Warnings collects the warnings of a statement. It is safe for concurrent use.
type Warnings struct {
	mu    sync.Mutex
	list  []Warning
	count int
}

// maxWarnings is max_error_count's default.
const maxWarnings = 1024

// Add records a warning; beyond 1024 they are only counted.
func (w *Warnings) Add(x Warning) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if len(w.list) < maxWarnings {
		w.list = append(w.list, x)
	}
}

// Count returns the number of warnings.
func (w *Warnings) Count() int {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// List returns the warnings, at most 1024.
func (w *Warnings) List() []Warning {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Warning(nil), w.list...)
}

// Reset forgets all warnings.
func (w *Warnings) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list, w.count = nil, 0
}

// full reports whether further warnings are only counted.
func (w *Warnings) full() bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list) >= maxWarnings
}

// addCount counts n warnings that are not kept.
func (w *Warnings) addCount(n int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count += n
}

// rowNumbers are the numbers that messages give the rows of the batch that is
// evaluated.
type rowNumbers struct {
	sel    []uint16
	before int
}

// Numbered returns a copy of c for the expressions of a select list, whose warnings
// tell the row that they are about. One goroutine may use it, and calls NextRows for
// every batch.
func (c *Context) Numbered() *Context {
	d := *c
	d.rows = &rowNumbers{}
	return &d
}

// NextRows says that b is evaluated next, and that before rows came before it.
func (c *Context) NextRows(b *vector.Batch, before int) {
	c.rows.sel, c.rows.before = b.Sel, before
}

// row is the number of row i of the batch. Before rows are sent, as in conditions
// and in aggregates, it is 1.
func (c *Context) row(i int) int {
	switch {
	case c.rows == nil:
		return 1
	case c.rows.sel == nil:
		return c.rows.before + i + 1
	}
	at, _ := slices.BinarySearch(c.rows.sel, uint16(i))
	return c.rows.before + at + 1
}

func (c *Context) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

func (c *Context) collation() string {
	if c.Collation == "" {
		return DefaultCollation
	}
	return c.Collation
}

func (c *Context) warn(level string, kind errs.Kind, format string, args ...any) {
	if c.Warnings.full() {
		c.Warnings.addCount(1)
		return
	}
	c.Warnings.Add(Warning{Level: level, Kind: kind, Message: fmt.Sprintf(format, args...)})
}

// quiet returns a copy of c with warnings of its own.
func (c *Context) quiet() *Context {
	d := *c
	d.Warnings = &Warnings{}
	return &d
}
