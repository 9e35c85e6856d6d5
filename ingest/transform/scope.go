package transform

import (
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
)

// The metadata columns.
const (
	schemaName = "__schema_name__"
	tableName  = "__table_name__"
	eventType  = "__data_event_type__"
	namespace  = "__namespace_name__"
	opTS       = "op_ts"
)

var reserved = []string{schemaName, tableName, eventType, namespace}

// hidden are the columns that follow the source's in a batch: what an expression
// reads of a change beside its row.
type hidden uint8

const (
	hiddenTime hidden = iota // op_ts: milliseconds of the source's commit, 0 in the copy
	hiddenNow                // the clock: microseconds of the commit, or of the copy's start
	hiddenSeed               // the transaction and the row's number in it
	hiddenKinds
)

// scope gives meaning to names in the expressions of one rule on one table.
type scope struct {
	s     *Shape
	table *source.Table
	// aliases are the computed columns that the filter may name, lower case.
	aliases map[string]expr.Expr
	filter  bool
	uuids   int
}

// column returns the position of a source column: exactly spelled, or else the
// only one that differs by case.
func (c *scope) column(name string) (int, error) {
	if i := c.table.Column(name); i >= 0 {
		return i, nil
	}
	found := -1
	for i := range c.table.Columns {
		if strings.EqualFold(c.table.Columns[i].Name, name) {
			if found >= 0 {
				return -1, errs.Userf(errs.InvalidConfig, "column %s is ambiguous in %s", name, c.table.ID)
			}
			found = i
		}
	}
	if found < 0 {
		names := make([]string, len(c.table.Columns))
		for i, x := range c.table.Columns {
			names[i] = strings.ToLower(x.Name)
		}
		return -1, errs.Userf(errs.UnknownColumn, "%s has no column %s; %s", c.table.ID, name, strings.Replace(source.Nearest(name, names), "known key", "column", 1))
	}
	return found, nil
}

// stored reads a source column.
func (c *scope) stored(i int) (expr.Expr, error) {
	x := c.table.Columns[i]
	return expr.Stored(i, catalog.Field{ID: i, Name: x.Name, Type: x.Type}, x.Declared, x.Name)
}

// metadata returns a metadata column, nil for other names.
func (c *scope) metadata(name string) (expr.Expr, error) {
	text := func(s string) expr.Expr {
		v := expr.StringValue(s, "utf8mb4_0900_bin")
		v.Type.Nullable = false
		return expr.Literal(v)
	}
	switch strings.ToLower(name) {
	case schemaName:
		return text(c.table.ID.Database), nil
	case tableName:
		return text(c.table.ID.Name), nil
	case namespace:
		return nil, errs.Unsupportedf(-1, "%s: tables of this source have no namespace; __schema_name__ is the database", namespace)
	case eventType:
		return kindExpr{}, nil
	case opTS:
		for _, m := range c.s.rules.o.Metadata {
			if m == opTS {
				t := expr.TBigInt
				t.Nullable = false
				return expr.Column(c.s.need(hiddenTime), t, opTS), nil
			}
		}
	}
	return nil, nil
}

// Resolve implements expr.Scope.
func (c *scope) Resolve(e syntax.Expr) (expr.Expr, error) {
	switch e := e.(type) {
	case *syntax.ColumnRef:
		return c.reference(e)
	case *syntax.FuncCall:
		return c.function(e)
	case *syntax.Subscript:
		return c.subscript(e)
	case *syntax.UserVar, *syntax.SysVar, *syntax.AssignExpr:
		return nil, errs.Unsupportedf(-1, "variables in a transform")
	case *syntax.Placeholder:
		return nil, errs.Userf(errs.Syntax, "? has no value here")
	}
	return nil, nil
}

func (c *scope) reference(e *syntax.ColumnRef) (expr.Expr, error) {
	name := e.Column()
	switch n := len(e.Parts); {
	case n > 1 && !e.Parts[n-2].EqualFold(c.table.ID.Name), n > 2 && !e.Parts[n-3].EqualFold(c.table.ID.Database), n > 3:
		return nil, errs.Userf(errs.UnknownColumn, "a rule sees the columns of its own table only, as in %s", name)
	}
	if len(e.Parts) == 1 {
		i, missing := c.column(name)
		if c.filter {
			if x := c.aliases[strings.ToLower(name)]; x != nil {
				if missing == nil {
					return nil, errs.Userf(errs.InvalidConfig, "%s is a column of %s and a computed one of the projection; give the computed one another name, or name the source's as %s.%s",
						name, c.table.ID, c.table.ID.Name, c.table.Columns[i].Name)
				}
				return x, nil
			}
		}
		if missing != nil {
			m, err := c.metadata(name)
			if m != nil || err != nil {
				return m, err
			}
		}
	}
	i, err := c.column(name)
	if err != nil {
		return nil, err
	}
	return c.stored(i)
}

// item binds one expression of a projection.
func (x *rule) bind(c *scope, part, text string, e syntax.Expr) (expr.Expr, error) {
	b, err := expr.Bind(c.s.ctx, e, c)
	if err != nil {
		return nil, x.fault(part, text, err)
	}
	var refused error
	expr.Walk(b, func(n expr.Expr) bool {
		if n.Traits()&expr.Volatile != 0 && len(n.Children()) == 0 && refused == nil {
			refused = errs.Unsupportedf(-1, "line %d: transform %s: %s %q: %s gives another value each time that a row is read", x.Line, x.SourceTable, part, oneLine(text), n)
		}
		return true
	})
	if refused == nil && b.Traits()&expr.Volatile != 0 {
		refused = errs.Unsupportedf(-1, "line %d: transform %s: %s %q: it gives another value each time that a row is read", x.Line, x.SourceTable, part, oneLine(text))
	}
	return b, refused
}

func named(name string) syntax.ObjectName {
	return syntax.ObjectName{Parts: []syntax.Ident{{Name: name}}}
}

func callOf(name string, args ...syntax.Expr) syntax.Expr {
	return &syntax.FuncCall{Name: named(name), Args: args}
}

func textOf(s string) syntax.Expr { return &syntax.StringLit{Value: s} }

func arguments(e *syntax.FuncCall, least, most int) error {
	if n := len(e.Args); n < least || n > most {
		return errs.Userf(errs.WrongArgCount, "%s takes %s arguments, not %d", strings.ToUpper(e.Name.Object()), plural(least, most), n)
	}
	return nil
}

func plural(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
