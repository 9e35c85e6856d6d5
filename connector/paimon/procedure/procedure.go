// Package procedure makes the procedures of a Paimon catalog (CALL sys.…) out of
// package maintain: it reads arguments and writes results.
//
// Names, the order of arguments and the columns of results are those of
// Paimon's Flink procedures; the argument names that its Spark procedures use
// where they differ are accepted too.
//
// Start reading at All.
package procedure

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Env is what the procedures of a catalog work on.
type Env struct {
	// Catalog is the catalog that they belong to. Its tables are *paimon.Table.
	Catalog catalog.Writable
	// Driver opens tables by directory.
	Driver *paimon.Driver
	// Dir returns the directory of a table, whether it exists or not.
	Dir func(ctx context.Context, id catalog.Identifier) (string, error)
	// Warehouse is the catalog's own root, Open the catalog of another warehouse
	// (clone). nil: there are no others.
	Warehouse string
	// Register makes a table known that is complete in its directory; nil: the
	// directory is enough.
	Register func(ctx context.Context, id catalog.Identifier) error
	// Repair makes the tables known whose directories exist: one, those of a
	// database, or all, as id has parts. nil: the directories are the catalog.
	Repair func(ctx context.Context, id catalog.Identifier) error
	Open   func(ctx context.Context, warehouse string) (*Env, error)
	// Location is the zone of times in arguments; nil is the local one.
	Location *time.Location
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

// All returns the procedures, sorted by name.
func All(env *Env) []connector.Procedure {
	if env.Location == nil {
		env.Location = time.Local
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	var out []connector.Procedure
	for _, group := range [][]definition{tagProcedures, branchProcedures, rollbackProcedures, expiryProcedures, consumerProcedures,
		cleaningProcedures, partitionProcedures, manifestProcedures, compactProcedures, cloneProcedures,
		refusedProcedures()} {
		for _, d := range group {
			out = append(out, d.bind(env))
		}
	}
	slices.SortFunc(out, func(a, b connector.Procedure) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// definition is a procedure before it has a catalog.
type definition struct {
	name    string
	params  []connector.Parameter
	columns []catalog.Field
	run     func(ctx context.Context, c *call) error
}

func (d definition) bind(env *Env) connector.Procedure {
	columns := d.columns
	if columns == nil {
		columns = []catalog.Field{{Name: "result", Type: catalog.TString}}
	}
	return connector.Procedure{Name: d.name, Params: d.params, Columns: columns, Call: func(ctx context.Context, args map[string]string) (*vector.Batch, error) {
		c := &call{env: env, name: d.name, args: args}
		if err := d.run(ctx, c); err != nil {
			return nil, fmt.Errorf("CALL sys.%s: %w", d.name, err)
		}
		return c.batch(columns)
	}}
}

// optional makes parameters that may be left out.
func optional(t catalog.Type, names ...string) []connector.Parameter {
	out := make([]connector.Parameter, len(names))
	for i, n := range names {
		out[i] = connector.Parameter{Name: n, Type: t}
	}
	return out
}

func params(lists ...[]connector.Parameter) []connector.Parameter { return slices.Concat(lists...) }

func required(t catalog.Type, names ...string) []connector.Parameter {
	out := optional(t, names...)
	for i := range out {
		out[i].Required = true
	}
	return out
}

func fields(pairs ...any) []catalog.Field {
	var out []catalog.Field
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, catalog.Field{Name: pairs[i].(string), Type: pairs[i+1].(catalog.Type)})
	}
	return out
}

// call is one CALL: its arguments, and the rows of its result.
type call struct {
	env  *Env
	name string
	args map[string]string
	rows [][]any // string, int64, or nil
}

func (c *call) row(values ...any) { c.rows = append(c.rows, values) }

func (c *call) success() error {
	c.row("Success")
	return nil
}

func (c *call) batch(columns []catalog.Field) (*vector.Batch, error) {
	b := &vector.Batch{Len: len(c.rows)}
	for i, f := range columns {
		v := f.Type.NewVec(len(c.rows))
		for _, r := range c.rows {
			switch x := r[i].(type) {
			case nil:
				v.AppendNull()
			case string:
				v.AppendString(x)
			case int64:
				v.AppendI64(x)
			default:
				return nil, errs.Internalf("CALL sys.%s: a result is a %T", c.name, x)
			}
		}
		b.Cols = append(b.Cols, v)
	}
	return b, nil
}

// text returns the first given of the names, "" when there is none.
func (c *call) text(names ...string) string {
	for _, n := range names {
		if v, ok := c.args[n]; ok {
			return v
		}
	}
	return ""
}

func (c *call) has(name string) bool { _, ok := c.args[name]; return ok }

// need returns the first given of the names, one of which there must be.
func (c *call) need(names ...string) (string, error) {
	if v := c.text(names...); v != "" {
		return v, nil
	}
	return "", errs.Userf(errs.WrongArguments, "the argument %s is missing", names[0])
}

func (c *call) number(def int64, names ...string) (int64, error) {
	v := c.text(names...)
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		return 0, errs.Userf(errs.WrongArguments, "the argument %s is %q, which is not a whole number", names[0], v)
	}
	return n, nil
}

func (c *call) flag(name string, def bool) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(c.args[name])) {
	case "":
		return def, nil
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, errs.Userf(errs.WrongArguments, "the argument %s is %q, which is not true or false", name, c.args[name])
}

// duration reads Paimon's spelling of a time span: "365 d", "1 h".
func (c *call) duration(name string) (time.Duration, error) {
	v := c.args[name]
	if v == "" {
		return 0, nil
	}
	o := spec.NewOptions(map[string]string{name: v})
	d := o.Duration(name, 0)
	if o.Err != nil {
		return 0, errs.Userf(errs.WrongArguments, "the argument %s is %q, which is not a duration such as 365 d or 1 h", name, v)
	}
	return d, nil
}

var timeLayouts = []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02"}

// time reads a date and time in the server's zone; zero when it is not given.
func (c *call) time(name string) (time.Time, error) {
	v := strings.TrimSpace(c.args[name])
	if v == "" {
		return time.Time{}, nil
	}
	for _, l := range timeLayouts {
		if t, err := time.ParseInLocation(l, v, c.env.Location); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errs.Userf(errs.WrongArguments, "the argument %s is %q, which is not a time such as 2026-06-20 00:00:00", name, v)
}

// identifier reads "db.table", backquoted or not.
func identifier(name string) (catalog.Identifier, error) {
	clean := strings.ReplaceAll(strings.TrimSpace(name), "`", "")
	db, object, ok := strings.Cut(clean, ".")
	if !ok || db == "" || object == "" {
		return catalog.Identifier{}, errs.Userf(errs.WrongArguments, "%q does not name a table: write database.table", name)
	}
	id := catalog.Identifier{Database: db}
	id.Table, id.Branch, id.System = catalog.ParseObject(object)
	if id.Branch == "main" {
		id.Branch = ""
	}
	return id, nil
}

// table opens the table of the argument named table.
func (c *call) table(ctx context.Context) (*maintain.Table, error) {
	t, err := c.paimonTable(ctx, c.args["table"])
	if err != nil {
		return nil, err
	}
	return t.Maintain(), nil
}

func (c *call) paimonTable(ctx context.Context, name string) (*paimon.Table, error) {
	id, err := identifier(name)
	if err != nil {
		return nil, err
	}
	return c.env.table(ctx, id)
}

func (env *Env) table(ctx context.Context, id catalog.Identifier) (*paimon.Table, error) {
	t, err := env.Catalog.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	p, ok := t.(*paimon.Table)
	if !ok {
		return nil, errs.Userf(errs.WrongArguments, "%s is not a table that procedures work on", id)
	}
	return p, nil
}

// list splits a list at commas.
func list(v string) (out []string) {
	for _, x := range strings.Split(v, ",") {
		if x = strings.TrimSpace(x); x != "" {
			out = append(out, x)
		}
	}
	return out
}
