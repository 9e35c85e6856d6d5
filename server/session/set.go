package session

import (
	"context"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

// assignment is a checked assignment of SET, to be applied when all are sound.
type assignment func()

// setVars runs SET with variables. Nothing is set when one assignment fails.
func (s *Session) setVars(ctx context.Context, items []*syntax.SetItem, run *statement) error {
	var apply []assignment
	for _, it := range items {
		a, err := s.checkItem(ctx, it, run)
		if err != nil {
			return err
		}
		apply = append(apply, a)
	}
	for _, a := range apply {
		a()
	}
	return nil
}

func (s *Session) checkItem(ctx context.Context, it *syntax.SetItem, run *statement) (assignment, error) {
	var v expr.Value
	if it.Value != nil {
		var err error
		if v, err = s.evaluate(ctx, it.Value, run); err != nil {
			return nil, err
		}
	}
	switch x := it.Var.(type) {
	case *syntax.UserVar:
		return func() { functions{s}.SetUserVariable(x.Name, v) }, nil
	case *syntax.SysVar:
		return s.checkVariable(x, it.Value == nil, v)
	}
	return nil, errs.Unsupportedf(it.Pos(), "this assignment in SET")
}

// checkVariable checks SET [scope] name = v, or = DEFAULT.
func (s *Session) checkVariable(x *syntax.SysVar, toDefault bool, v expr.Value) (assignment, error) {
	d, err := metadata.LookupVariable(x.Name)
	if err != nil {
		return nil, err
	}
	global := false
	switch x.Scope {
	case syntax.ScopeGlobal:
		global = true
	case syntax.ScopePersist, syntax.ScopePersistOnly:
		return nil, errs.Unsupportedf(x.Pos(), "SET PERSIST; use the configuration file")
	}
	switch {
	case d.ReadOnly:
		return nil, errs.Userf(errs.ReadOnlyVariable, "Variable '%s' is a read only variable", d.Name)
	case global && d.Scope == metadata.SessionScope:
		return nil, errs.Userf(errs.SessionVariable, "Variable '%s' is a SESSION variable and can't be used with SET GLOBAL", d.Name)
	case !global && d.Scope == metadata.GlobalScope:
		return nil, errs.Userf(errs.GlobalVariable, "Variable '%s' is a GLOBAL variable and should be set with SET GLOBAL", d.Name)
	case !global && d.SessionReadOnly:
		return nil, errs.Userf(errs.ReadOnlyVariable, "SESSION variable '%s' is read-only. Use SET GLOBAL to assign the value", d.Name)
	case global && !s.allowed(metadata.Super, metadata.Object{}):
		return nil, errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN privilege(s) for this operation")
	}
	vars := s.vars
	if global {
		vars = s.srv.globals
	}
	text, null, numeric := d.Default, d.Null, false
	switch {
	case toDefault && !global && d.Scope == metadata.BothScopes:
		text, null = s.srv.globals.get(d)
	case toDefault:
	case v.IsNull():
		if d.Name != "character_set_results" {
			return nil, errs.Userf(errs.WrongValueForVar, "Variable '%s' can't be set to the value of 'NULL'", d.Name)
		}
		null = true
	default:
		text, numeric = textOf(v, s)
		null = false
		if c := v.Type.Class; d.Type == metadata.IntVariable && (c == expr.Decimal || c == expr.Double || c == expr.Float) {
			return nil, errs.Userf(errs.WrongTypeForVar, "Incorrect argument type to variable '%s'", d.Name)
		}
	}
	if null {
		return func() { vars.setNull(d.Name); s.changed(d.Name, global) }, nil
	}
	if !toDefault {
		if text, err = s.checkValue(d, text, numeric, vars); err != nil {
			return nil, err
		}
		if global && d.Scope == metadata.GlobalScope && d.Effect != metadata.Honoured && text != d.Default {
			return nil, errs.Unsupportedf(x.Pos(), "setting the global variable %s, which has no effect here", d.Name)
		}
	}
	return func() { s.assign(vars, d.Name, text); s.changed(d.Name, global) }, nil
}

// checkValue brings a value into the variable's form.
func (s *Session) checkValue(d *metadata.Variable, text string, numeric bool, vars *variables) (string, error) {
	bad := func() (string, error) {
		return "", errs.Userf(errs.WrongValueForVar, "Variable '%s' can't be set to the value of '%s'", d.Name, text)
	}
	switch {
	case strings.HasPrefix(d.Name, "character_set_"):
		c, ok := metadata.LookupCharset(text)
		if numeric || !ok && d.Name != "character_set_filesystem" {
			return "", errs.Userf(errs.UnknownCharset, "Unknown character set: '%s'", text)
		}
		if d.Name == "character_set_client" && !clientCharset(c.Name) {
			return bad()
		}
		return c.Name, nil
	case strings.HasPrefix(d.Name, "collation_"):
		c, ok := metadata.LookupCollation(text)
		if numeric || !ok {
			return "", errs.Userf(errs.UnknownCollation, "Unknown collation: '%s'", text)
		}
		return c.Name, nil
	}
	switch d.Name {
	case "sql_mode":
		if numeric {
			return "", errs.Unsupportedf(-1, "a number for sql_mode; name the modes")
		}
		m, err := expr.ParseSQLMode(text)
		if err != nil {
			return "", err
		}
		return m.String(), nil
	case "time_zone":
		if _, err := zoneOf(text); err != nil {
			return "", err
		}
		if strings.EqualFold(text, "SYSTEM") {
			return "SYSTEM", nil
		}
		return text, nil
	case "optimizer_switch", "optimizer_trace", "optimizer_trace_features":
		cur, _ := vars.get(d)
		return d.ParseSwitches(cur, text)
	case "transaction_isolation", "transaction_read_only":
		if s.inTransaction && vars == s.vars && s.explicit {
			return "", errs.Userf(errs.InTransaction, "Transaction characteristics can't be changed while a transaction is in progress")
		}
	case "timestamp":
		f, err := strconv.ParseFloat(text, 64)
		if !numeric || err != nil {
			return "", errs.Userf(errs.WrongTypeForVar, "Incorrect argument type to variable '%s'", d.Name)
		}
		if f < 0 || f > 253402300799 {
			return bad()
		}
		return strconv.FormatFloat(f, 'f', 6, 64), nil
	}
	value, warning, err := d.Parse(text, numeric)
	if err != nil {
		return "", err
	}
	if warning != "" {
		s.warnings.Add(expr.Warning{Level: "Warning", Kind: errs.TruncatedValue, Message: warning})
	}
	return value, nil
}

// clientCharset reports whether statements may come in a character set: MySQL
// refuses those in which ASCII is not ASCII.
func clientCharset(name string) bool {
	switch name {
	case "ucs2", "utf16", "utf16le", "utf32":
		return false
	}
	return true
}

// assign stores a value, and those that go with it.
func (s *Session) assign(vars *variables, name, text string) {
	vars.set(name, text)
	switch name {
	case "character_set_connection":
		vars.set("collation_connection", metadata.DefaultCollationOf(text))
	case "collation_connection":
		c, _ := metadata.LookupCollation(text)
		vars.set("character_set_connection", c.Charset)
	case "character_set_server":
		vars.set("collation_server", metadata.DefaultCollationOf(text))
	case "collation_server":
		c, _ := metadata.LookupCollation(text)
		vars.set("character_set_server", c.Charset)
	case "last_insert_id", "identity":
		if vars == s.vars {
			s.lastInsertID, _ = strconv.ParseUint(text, 10, 64)
		}
	}
}

// changed follows a variable that something is computed from.
func (s *Session) changed(name string, global bool) {
	if global {
		return
	}
	switch name {
	case "sql_mode":
		s.mode, _ = expr.ParseSQLMode(s.text(name))
	case "time_zone":
		if z, err := zoneOf(s.text(name)); err == nil {
			s.zone = z
		}
	case "autocommit":
		if s.on(name) && s.inTransaction {
			s.endTransaction()
		}
	}
}

// setNames runs SET NAMES.
func (s *Session) setNames(n *syntax.SetNames) error {
	charset, collation := n.Charset, n.Collate
	if n.Default {
		charset, collation = "utf8mb4", ""
	}
	c, ok := metadata.LookupCharset(charset)
	if !ok {
		return errs.UserAt(n.Pos(), errs.UnknownCharset, "Unknown character set: '%s'", charset)
	}
	if !clientCharset(c.Name) {
		return errs.UserAt(n.Pos(), errs.WrongValueForVar, "Variable 'character_set_client' can't be set to the value of '%s'", charset)
	}
	coll := c.DefaultCollation
	if collation != "" {
		x, ok := metadata.LookupCollation(collation)
		if !ok {
			return errs.UserAt(n.Pos(), errs.UnknownCollation, "Unknown collation: '%s'", collation)
		}
		if x.Charset != c.Name {
			return errs.UserAt(n.Pos(), errs.CollationCharset, "COLLATION '%s' is not valid for CHARACTER SET '%s'", x.Name, charset)
		}
		coll = x.Name
	}
	s.vars.set("character_set_client", c.Name)
	s.vars.set("character_set_results", c.Name)
	s.vars.set("character_set_connection", c.Name)
	s.vars.set("collation_connection", coll)
	return nil
}

// setCharset runs SET CHARACTER SET: the connection takes the database's.
func (s *Session) setCharset(n *syntax.SetCharset) error {
	charset := n.Charset
	if n.Default {
		charset = "utf8mb4"
	}
	c, ok := metadata.LookupCharset(charset)
	if !ok {
		return errs.UserAt(n.Pos(), errs.UnknownCharset, "Unknown character set: '%s'", charset)
	}
	s.vars.set("character_set_client", c.Name)
	s.vars.set("character_set_results", c.Name)
	db := metadata.DatabaseCollation(s.database)
	cs, _, _ := strings.Cut(db, "_")
	s.vars.set("character_set_connection", cs)
	s.vars.set("collation_connection", db)
	return nil
}

// setTransaction runs SET [SESSION | GLOBAL] TRANSACTION.
func (s *Session) setTransaction(n *syntax.SetTransaction) error {
	if n.Scope == syntax.ScopeNone {
		// For the next transaction only. The isolation level changes nothing: a
		// statement reads one snapshot of a table at any level.
		if s.inTransaction && s.explicit {
			return errs.UserAt(n.Pos(), errs.InTransaction, "Transaction characteristics can't be changed while a transaction is in progress")
		}
		if n.Access != "" {
			ro := n.Access == "READ ONLY"
			s.nextReadOnly = &ro
		}
		return nil
	}
	global := n.Scope == syntax.ScopeGlobal
	if global && !s.allowed(metadata.Super, metadata.Object{}) {
		return errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN privilege(s) for this operation")
	}
	vars := s.vars
	if global {
		vars = s.srv.globals
	}
	if n.Isolation != "" {
		vars.set("transaction_isolation", n.Isolation)
	}
	if n.Access != "" {
		v := "OFF"
		if n.Access == "READ ONLY" {
			v = "ON"
		}
		vars.set("transaction_read_only", v)
	}
	return nil
}

// setList runs SET with kinds mixed, in order.
func (s *Session) setList(ctx context.Context, n *syntax.SetList, run *statement) error {
	for _, it := range n.Items {
		var err error
		switch it := it.(type) {
		case *syntax.SetVars:
			err = s.setVars(ctx, it.Items, run)
		case *syntax.SetNames:
			err = s.setNames(it)
		case *syntax.SetCharset:
			err = s.setCharset(it)
		default:
			err = errs.Unsupportedf(it.Pos(), "this item of SET")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
