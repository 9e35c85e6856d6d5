package session

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/exec"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// counters are what SHOW STATUS shows.
type counters struct {
	connections, questions, slow, timeouts, killed          atomic.Int64
	selects, inserts, updates, deletes, sets, shows, errors atomic.Int64
	peak                                                    atomic.Int64
}

// pin is a snapshot that a running statement or a transaction reads, so that
// expiry must not remove its files (DESIGN D19).
type pin struct {
	use         plan.TableUse
	since       time.Time
	transaction bool
}

// Pin describes a pinned snapshot to whoever expires snapshots.
type Pin struct {
	Session  uint32
	Table    string // UUID of the table
	Snapshot int64
	Since    time.Time
}

// Pins returns the snapshots that sessions hold now.
func (s *Server) Pins() []Pin {
	var out []Pin
	for _, x := range s.openSessions() {
		x.mu.Lock()
		for _, p := range x.pins {
			out = append(out, Pin{Session: x.id, Table: p.use.Table.UUID(), Snapshot: connector.Oldest(p.use.Snapshot), Since: p.since})
		}
		x.mu.Unlock()
	}
	return out
}

// CancelPins ends the statements and transactions of a session that hold pins,
// with the reason.
func (s *Server) CancelPins(session uint32, reason error) {
	s.mu.Lock()
	x := s.sessions[session]
	s.mu.Unlock()
	if x != nil {
		x.cancelStatement(reason)
	}
}

// openSessions returns the open sessions by id.
func (s *Server) openSessions() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Session, 0, len(s.sessions))
	for _, x := range s.sessions {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *Session) int { return int(int64(a.id) - int64(b.id)) })
	return out
}

// enter marks what the process list shows.
func (s *Session) enter(command, state, info string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc = process{command: command, since: s.srv.now(), state: state, info: info, db: s.shownDatabase()}
}

// processes returns the sessions that one may see: its account's own, or all
// with PROCESS.
func (s *Session) processes() []metadata.ProcessInfo {
	all := s.allowed(metadata.Process, metadata.Object{})
	now := s.srv.now()
	var out []metadata.ProcessInfo
	for _, x := range s.srv.openSessions() {
		x.mu.Lock()
		p := x.proc
		p.state += progress(p.meter, now.Sub(p.since))
		who, user, address, attrs := x.account.Identity, x.opts.User, x.opts.Address, x.opts.Attributes
		x.mu.Unlock()
		if !all && who != s.account.Identity {
			continue
		}
		out = append(out, metadata.ProcessInfo{ID: x.id, User: user, Host: address, Database: p.db, Command: p.command, State: p.state,
			Info: p.info, Since: p.since, Seconds: max(0, int64(now.Sub(p.since)/time.Second)), Attrs: attrs})
	}
	if all {
		out = append(out, s.srv.background()...)
	}
	return out
}

// progress describes what a statement has read, for the process list.
func progress(m *exec.Meter, since time.Duration) string {
	if m == nil {
		return ""
	}
	rows, of, bytes := m.Read()
	if of == 0 {
		return ""
	}
	text := fmt.Sprintf(": %d of %d rows, %s", rows, max(rows, of), memory.FormatSize(bytes))
	if since >= time.Second {
		text += fmt.Sprintf(", %.0f rows/s", float64(rows)/since.Seconds())
	}
	return text
}

// BackgroundTask is something that the process does by itself.
type BackgroundTask struct {
	ID    uint32
	Name  string
	State string
	Info  string // "" while it waits
	Since time.Time
}

// background lists background tasks as the process list shows daemons.
func (s *Server) background() []metadata.ProcessInfo {
	if s.cfg.Background == nil {
		return nil
	}
	var out []metadata.ProcessInfo
	for _, t := range s.cfg.Background() {
		p := metadata.ProcessInfo{ID: t.ID, User: t.Name, Host: "localhost", Command: "Daemon", State: t.State, Info: t.Info, Since: t.Since}
		if t.Since.IsZero() {
			p.Since = s.started
		}
		p.Seconds = max(0, int64(s.now().Sub(p.Since)/time.Second))
		out = append(out, p)
	}
	return out
}

// Running returns how many statements run now.
func (s *Server) Running() int {
	n := 0
	for _, x := range s.openSessions() {
		x.mu.Lock()
		if x.proc.command == "Query" || x.proc.command == "Execute" {
			n++
		}
		x.mu.Unlock()
	}
	return n
}

// kill runs KILL.
func (s *Session) kill(id int64, connection bool) error {
	s.srv.mu.Lock()
	x := s.srv.sessions[uint32(id)]
	s.srv.mu.Unlock()
	if x == nil || id <= 0 || id > 1<<32-1 {
		return errs.Userf(errs.NoSuchThread, "Unknown thread id: %d", id)
	}
	x.mu.Lock()
	who := x.account.Identity
	x.mu.Unlock()
	if who != s.account.Identity && !s.allowed(metadata.Super, metadata.Object{}) {
		return errs.Userf(errs.PrivilegeNeeded, "You are not owner of thread %d", id)
	}
	s.srv.counters.killed.Add(1)
	x.Kill(connection)
	return nil
}

// status returns the status counters. There is one set of them: the server's.
func (s *Session) statusCounters(metadata.VariableScope) []metadata.NameValue {
	c := &s.srv.counters
	s.srv.mu.Lock()
	connected := len(s.srv.sessions)
	s.srv.mu.Unlock()
	running := 0
	for _, x := range s.srv.openSessions() {
		x.mu.Lock()
		if x.proc.command != "Sleep" {
			running++
		}
		x.mu.Unlock()
	}
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	up := n(int64(s.srv.now().Sub(s.srv.started) / time.Second))
	out := []metadata.NameValue{
		{Name: "Aborted_clients", Value: "0"}, {Name: "Aborted_connects", Value: "0"},
		{Name: "Bytes_received", Value: "0"}, {Name: "Bytes_sent", Value: "0"},
		{Name: "Com_delete", Value: n(c.deletes.Load())}, {Name: "Com_insert", Value: n(c.inserts.Load())}, {Name: "Com_select", Value: n(c.selects.Load())}, {Name: "Com_update", Value: n(c.updates.Load())},
		{Name: "Com_set_option", Value: n(c.sets.Load())}, {Name: "Com_show_status", Value: n(c.shows.Load())},
		{Name: "Compression", Value: "OFF"},
		{Name: "Connections", Value: n(c.connections.Load())},
		{Name: "Created_tmp_disk_tables", Value: "0"}, {Name: "Created_tmp_files", Value: "0"}, {Name: "Created_tmp_tables", Value: "0"},
		{Name: "Innodb_page_size", Value: "16384"},
		{Name: "Key_blocks_unused", Value: "0"}, {Name: "Key_blocks_used", Value: "0"},
		{Name: "Max_execution_time_exceeded", Value: n(c.timeouts.Load())},
		{Name: "Max_used_connections", Value: n(c.peak.Load())},
		{Name: "Memory_used", Value: n(s.srv.cfg.Memory.Used())},
		{Name: "Open_files", Value: "0"}, {Name: "Open_tables", Value: "0"}, {Name: "Opened_tables", Value: "0"},
		{Name: "Prepared_stmt_count", Value: "0"},
		{Name: "Queries", Value: n(c.questions.Load())}, {Name: "Questions", Value: n(c.questions.Load())},
		{Name: "Slow_queries", Value: n(c.slow.Load())},
		{Name: "Ssl_cipher", Value: s.opts.TLSCipher}, {Name: "Ssl_cipher_list", Value: ""}, {Name: "Ssl_version", Value: s.opts.TLSVersion},
		{Name: "Threads_cached", Value: "0"}, {Name: "Threads_connected", Value: n(int64(connected))},
		{Name: "Threads_created", Value: n(c.connections.Load())}, {Name: "Threads_running", Value: n(int64(running))},
		{Name: "Uptime", Value: up}, {Name: "Uptime_since_flush_status", Value: up},
	}
	return out
}

// showWarnings lists the warnings of the statement before.
func (s *Session) showWarnings(errorsOnly bool) metadata.Listing {
	l := metadata.Listing{Fields: metadata.ParseFields("Level|varchar(7)~!; Code|int unsigned!; Message|varchar(512)~!"), LikeColumn: -1}
	for _, w := range s.warnings.List() {
		if errorsOnly && w.Level != "Error" {
			continue
		}
		l.Rows = append(l.Rows, metadata.Row{w.Level, int64(s.srv.codeOf(w)), w.Message})
	}
	return l
}

// codeOf is the number of a warning.
func (s *Server) codeOf(w expr.Warning) int {
	if s.cfg.ErrorCode != nil {
		if n := s.cfg.ErrorCode(w.Kind); n != 0 {
			return n
		}
	}
	return 1105
}

func (s *Session) previousErrors() int {
	n := 0
	for _, w := range s.previous.List() {
		if w.Level == "Error" {
			n++
		}
	}
	return n
}

// Counters are what the server has done since it started, for metrics.
type Counters struct {
	Sessions, Statements, SlowStatements, Errors, Timeouts int64 // Sessions: open now
}

// Counters returns the counters.
func (s *Server) Counters() Counters {
	s.mu.Lock()
	open := int64(len(s.sessions))
	s.mu.Unlock()
	return Counters{Sessions: open, Statements: s.counters.questions.Load(), SlowStatements: s.counters.slow.Load(),
		Errors: s.counters.errors.Load(), Timeouts: s.counters.timeouts.Load()}
}
