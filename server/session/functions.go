package session

import (
	"strings"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

// functions answers what SQL functions ask of the session. The session's
// fields do not change while a statement runs, user variables aside.
type functions struct{ s *Session }

var _ expr.Session = functions{}

func (f functions) Database() string { return f.s.shownDatabase() }
func (f functions) User() string {
	return f.s.opts.User + "@" + hostOf(f.s.opts.Address)
}
func (f functions) CurrentUser() string  { return f.s.account.String() }
func (f functions) Version() string      { return f.s.srv.version() }
func (f functions) ConnectionID() uint64 { return uint64(f.s.id) }
func (f functions) LastInsertID() uint64 {
	f.s.userMu.Lock()
	defer f.s.userMu.Unlock()
	return f.s.lastInsertID
}
func (f functions) RowCount() int64   { return f.s.rowCount }
func (f functions) FoundRows() uint64 { return f.s.foundRows }

func (f functions) UserVariable(name string) expr.Value {
	f.s.userMu.Lock()
	defer f.s.userMu.Unlock()
	if v, ok := f.s.user[strings.ToLower(name)]; ok {
		return v
	}
	return expr.NullValue()
}

func (f functions) SetUserVariable(name string, v expr.Value) {
	v = kept(v, f.s)
	name = strings.ToLower(name)
	f.s.userMu.Lock()
	defer f.s.userMu.Unlock()
	if old, ok := f.s.user[name]; ok && v.Type.Class == expr.Null {
		v = nullOf(old) // a variable that becomes NULL keeps its type
	}
	f.s.user[name] = v
}

// HasUserVariable reports whether a variable was ever set.
func (f functions) HasUserVariable(name string) bool {
	f.s.userMu.Lock()
	defer f.s.userMu.Unlock()
	_, ok := f.s.user[strings.ToLower(name)]
	return ok
}

// SetLastInsertID is LAST_INSERT_ID(id).
func (f functions) SetLastInsertID(id uint64) {
	f.s.userMu.Lock()
	defer f.s.userMu.Unlock()
	f.s.lastInsertID = id
}

func (f functions) SystemVariable(scope, name string) (expr.Value, error) {
	return f.s.valueOf(scope, name)
}

// kept returns a value as a user variable keeps it: a copy, integers as BIGINT,
// and what is no number or text as text (MySQL's rule).
func kept(v expr.Value, s *Session) expr.Value {
	if v.IsNull() {
		return nullOf(v)
	}
	t := v.Type
	switch t.Class {
	case expr.Bool, expr.Int, expr.Year, expr.Bit:
		n := intOf(v)
		if t.Unsigned || t.Class == expr.Bit {
			return expr.UintValue(uint64(n))
		}
		return expr.IntValue(n)
	case expr.Decimal, expr.Double, expr.Bytes:
		w := vector.NewLike(v.Vec.Values(), 1)
		w.AppendFrom(v.Vec, 0)
		t.Coercibility = 2
		return expr.Value{Type: t, Vec: w.AsConst(1)}
	case expr.Float:
		return expr.DoubleValue(float64(v.Vec.Values().F32s[v.Vec.At(0)]))
	}
	collation := t.Collation
	if t.Class == expr.JSON {
		collation = "utf8mb4_bin"
	}
	w := expr.StringValue(string(expr.AppendText(nil, t, v.Vec, 0, s.zone)), collation)
	w.Type.Coercibility = 2
	return w
}

// nullOf returns a NULL of a value's type.
func nullOf(v expr.Value) expr.Value {
	if v.Type.Class == expr.Null {
		return expr.NullValue()
	}
	t := v.Type
	t.Nullable = true
	return expr.Value{Type: t, Vec: vector.NewNull(t.Physical(), 1)}
}

// intOf returns an integer class's value.
func intOf(v expr.Value) int64 {
	i, w := v.Vec.At(0), v.Vec.Values()
	switch w.Kind {
	case vector.I8:
		return int64(w.I8s[i])
	case vector.I32:
		return int64(w.I32s[i])
	}
	return w.I64s[i]
}

// textOf returns a value's text, and whether it is a number.
func textOf(v expr.Value, s *Session) (text string, numeric bool) {
	return string(expr.AppendText(nil, v.Type, v.Vec, 0, s.zone)), v.Type.IsNumber()
}

// version is VERSION() and @@version.
func (s *Server) version() string {
	x, _ := metadata.LookupVariable("version")
	v, _ := s.globals.get(x)
	return v
}
