package session

import (
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // named time zones work without files of the system

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

// variables are the system variables of a session, or the global ones. Values
// are texts as SHOW VARIABLES prints them; a variable that is not in the map
// has its default. They are safe for concurrent use.
type variables struct {
	mu      sync.RWMutex
	values  map[string]string
	nulls   map[string]bool
	version atomic.Uint64 // counts changes
}

func newVariables() *variables {
	return &variables{values: map[string]string{}, nulls: map[string]bool{}}
}

// copyOf takes what a new session starts with.
func (v *variables) copyOf(from *variables) {
	from.mu.RLock()
	values, nulls := maps.Clone(from.values), maps.Clone(from.nulls)
	from.mu.RUnlock()
	v.mu.Lock()
	v.values, v.nulls = values, nulls
	v.version.Add(1)
	v.mu.Unlock()
}

func (v *variables) get(x *metadata.Variable) (value string, null bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if s, ok := v.values[x.Name]; ok {
		return s, false
	}
	if n, ok := v.nulls[x.Name]; ok {
		return "", n
	}
	return x.Default, x.Null
}

// number returns a variable that is known to be a number that fits.
func (v *variables) number(name string) int {
	x, err := metadata.LookupVariable(name)
	if err != nil {
		return 0
	}
	text, _ := v.get(x)
	n, _ := strconv.Atoi(text)
	return n
}

func (v *variables) set(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[name] = value
	delete(v.nulls, name)
	v.version.Add(1)
}

func (v *variables) setNull(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.values, name)
	v.nulls[name] = true
	v.version.Add(1)
}

// text returns a session variable that Variables is known to have.
func (s *Session) text(name string) string {
	x, err := metadata.LookupVariable(name)
	if err != nil {
		return ""
	}
	v, _ := s.vars.get(x)
	return v
}

func (s *Session) number(name string) uint64 {
	n, _ := strconv.ParseUint(s.text(name), 10, 64)
	return n
}

func (s *Session) on(name string) bool { return s.text(name) == "ON" }

// globalVariables fills in what the configuration and the machine say.
func globalVariables(cfg Config) *variables {
	g := newVariables()
	host, _ := os.Hostname()
	g.set("hostname", host)
	g.set("version_comment", "Thermocline "+cfg.Version)
	zone, _ := time.Now().Zone()
	g.set("system_time_zone", zone)
	for k, v := range cfg.Globals {
		g.set(strings.ToLower(k), v)
	}
	return g
}

// read returns the value of @@scope.name and whether it is NULL. scope is "",
// "session" or "global".
func (s *Session) read(scope string, x *metadata.Variable) (value string, null bool, err error) {
	global := scope == "global"
	switch {
	case global && x.Scope == metadata.SessionScope:
		return "", false, errs.Userf(errs.SessionVariable, "Variable '%s' is a SESSION variable", x.Name)
	case scope == "session" && x.Scope == metadata.GlobalScope:
		return "", false, errs.Userf(errs.GlobalVariable, "Variable '%s' is a GLOBAL variable", x.Name)
	}
	if global || x.Scope == metadata.GlobalScope {
		v, null := s.srv.globals.get(x)
		return v, null, nil
	}
	switch x.Name {
	case "timestamp":
		return strconv.FormatFloat(float64(s.statementTime().UnixMicro())/1e6, 'f', 6, 64), false, nil
	case "last_insert_id", "identity":
		return strconv.FormatUint(s.lastInsertID, 10), false, nil
	case "warning_count":
		return strconv.Itoa(s.previous.Count()), false, nil
	case "error_count":
		return strconv.Itoa(s.previousErrors()), false, nil
	case "pseudo_thread_id":
		return strconv.FormatUint(uint64(s.id), 10), false, nil
	case "collation_database":
		return metadata.DatabaseCollation(s.database), false, nil
	case "character_set_database":
		c, _, _ := strings.Cut(metadata.DatabaseCollation(s.database), "_")
		return c, false, nil
	}
	v, null := s.vars.get(x)
	return v, null, nil
}

// valueOf returns @@scope.name as a typed value.
func (s *Session) valueOf(scope, name string) (expr.Value, error) {
	x, err := metadata.LookupVariable(name)
	if err != nil {
		return expr.Value{}, err
	}
	text, null, err := s.read(scope, x)
	if err != nil {
		return expr.Value{}, err
	}
	if null {
		v := x.Value("")
		return nullOf(v), nil
	}
	return x.Value(text), nil
}

// listVariables returns all variables of a scope, as SHOW VARIABLES does.
func (s *Session) listVariables(scope metadata.VariableScope) []metadata.NameValue {
	var out []metadata.NameValue
	for _, x := range metadata.Variables() {
		if scope == metadata.GlobalScope && x.Scope == metadata.SessionScope {
			continue
		}
		where := ""
		if scope == metadata.GlobalScope {
			where = "global"
		}
		v, _, err := s.read(where, x)
		if err == nil {
			out = append(out, metadata.NameValue{Name: x.Name, Value: v})
		}
	}
	return out
}

// zoneOf reads a value of time_zone.
func zoneOf(name string) (*time.Location, error) {
	bad := errs.Userf(errs.UnknownTimeZone, "Unknown or incorrect time zone: '%s'", name)
	if strings.EqualFold(name, "SYSTEM") {
		return time.Local, nil
	}
	if name != "" && (name[0] == '+' || name[0] == '-') {
		h, m, ok := strings.Cut(name[1:], ":")
		hours, err1 := strconv.Atoi(h)
		minutes, err2 := strconv.Atoi(m)
		if !ok || err1 != nil || err2 != nil || len(h) < 1 || len(h) > 2 || len(m) != 2 || minutes > 59 || hours < 0 || minutes < 0 {
			return nil, bad
		}
		seconds := hours*3600 + minutes*60
		if name[0] == '-' {
			seconds = -seconds
		}
		// MySQL's bounds: -13:59 to +14:00.
		if seconds > 14*3600 || seconds < -(13*3600+59*60) {
			return nil, bad
		}
		return time.FixedZone(name, seconds), nil
	}
	if name == "" || strings.EqualFold(name, "Local") {
		return nil, bad
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, bad
	}
	return z, nil
}

// Zone is the session's time zone, in which TIMESTAMP values are shown.
func (s *Session) Zone() *time.Location { return s.zone }

// scanOptions are the switches of scans and operators.
func (s *Session) scanOptions() scan.Options { return s.settings().scan }

// selectLimit is sql_select_limit, -1 for none.
func (s *Session) selectLimit() int64 { return s.settings().selectLimit }

// newContext returns what expressions of a statement depend on.
func (s *Session) newContext() *expr.Context {
	c := expr.NewContext()
	c.Now = s.statementTime()
	c.Zone = s.zone
	c.Mode = s.mode
	x := s.settings()
	c.Collation, c.DivPrecision, c.GroupConcatMaxLen, c.MaxAllowedPacket = x.collation, x.divPrecision, x.concat, x.packet
	c.DefaultWeekFormat, c.LCTimeNames = x.week, x.monthNames
	c.RegexpTimeLimit, c.RegexpStackLimit = s.srv.globals.number("regexp_time_limit"), s.srv.globals.number("regexp_stack_limit")
	c.Warnings = s.warnings
	c.Session = functions{s}
	return c
}

// statementTime is NOW() of the current statement.
func (s *Session) statementTime() time.Time {
	if t := s.settings().now; !t.IsZero() {
		return t
	}
	if s.started.IsZero() {
		return s.srv.now()
	}
	return s.started
}
