package merge

import (
	"sort"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// columnRules makes a rule for each column, without aggregates.
func (g *Rules) columnRules(schema *catalog.Schema) {
	g.columns = make([]rule, len(schema.Fields))
	for i, f := range schema.Fields {
		g.columns[i] = rule{name: f.Name, notNull: f.Type.NotNull}
	}
}

// isKey reports whether a column is part of the primary key.
func isKey(schema *catalog.Schema, name string) bool {
	for _, k := range schema.PrimaryKeys {
		if k == name {
			return true
		}
	}
	return false
}

// functionOf returns the aggregate function that the options give a column, "".
func functionOf(o *spec.Options, column string) string {
	if f := o.String("fields."+column+".aggregate-function", ""); f != "" {
		return f
	}
	return o.String("fields.default-aggregate-function", "")
}

// aggregation reads the options of the merge engine aggregation.
func (g *Rules) aggregation(table string, schema *catalog.Schema, o *spec.Options) error {
	g.columnRules(schema)
	g.removeOnDelete = o.Bool("aggregation.remove-record-on-delete", false)
	sequence := map[string]bool{}
	for _, n := range strings.Split(o.String("sequence.field", ""), ",") {
		sequence[strings.TrimSpace(n)] = true
	}
	for i, f := range schema.Fields {
		name := functionOf(o, f.Name)
		switch {
		case sequence[f.Name]:
			name = "last_value"
		case isKey(schema, f.Name):
			name = "primary-key"
		case name == "":
			name = "last_non_null_value"
		}
		g.columns[i].aggregate, g.columns[i].err = newAggregate(table, schema, o, f, name)
	}
	return nil
}

// partialUpdate reads the options of the merge engine partial-update: sequence
// groups and the aggregates in them.
func (g *Rules) partialUpdate(table string, schema *catalog.Schema, o *spec.Options) error {
	g.columnRules(schema)
	g.removeOnDelete = o.Bool("partial-update.remove-record-on-delete", false)
	bad := func(format string, args ...any) error {
		return errs.Userf(errs.InvalidConfig, "table "+table+": "+format, args...)
	}
	const prefix, suffix = "fields.", ".sequence-group"
	column := func(option, name string) (int, error) {
		c := schema.Column(name)
		if c < 0 || isKey(schema, name) {
			return 0, bad("the option %q names %q, which is no column outside the primary key", option, name)
		}
		return c, nil
	}
	for k, v := range schema.Options {
		if !strings.HasPrefix(k, prefix) || !strings.HasSuffix(k, suffix) || len(k) <= len(prefix)+len(suffix) {
			continue
		}
		var ordering []int
		for _, n := range strings.Split(k[len(prefix):len(k)-len(suffix)], ",") {
			c, err := column(k, n)
			if err != nil {
				return err
			}
			if t := schema.Fields[c].Type; nested(t) {
				return errs.Unsupportedf(-1, "merging with sequence groups ordered by %s (table %s)", t.Nullable(), table)
			}
			ordering = append(ordering, c)
		}
		set := func(c int, orders bool) error {
			if g.columns[c].group != nil {
				return bad("the column %q is in several sequence groups", schema.Fields[c].Name)
			}
			g.columns[c].group, g.columns[c].orders = ordering, orders
			return nil
		}
		for _, n := range strings.Split(v, ",") {
			c, err := column(k, n)
			if err == nil {
				err = set(c, false)
			}
			if err != nil {
				return err
			}
		}
		for _, c := range ordering {
			if err := set(c, true); err != nil {
				return err
			}
			g.ordering = append(g.ordering, c)
		}
	}
	sort.Ints(g.ordering)
	if g.removeOnDelete && len(g.ordering) > 0 {
		return bad("'partial-update.remove-record-on-delete' contradicts sequence groups")
	}
	if text := o.String("partial-update.remove-record-on-sequence-group", ""); text != "" {
		g.removeOnGroup = map[int]bool{}
		for _, n := range strings.Split(text, ",") {
			c := schema.Column(n)
			if c < 0 || !g.columns[c].orders {
				return bad("'partial-update.remove-record-on-sequence-group' names %q, which orders no sequence group", n)
			}
			g.removeOnGroup[c] = true
		}
	}
	for i, f := range schema.Fields {
		r := &g.columns[i]
		name := functionOf(o, f.Name)
		switch {
		case r.orders:
			continue
		case isKey(schema, f.Name):
			name = "primary-key"
		case name == "":
			continue
		case name != "last_non_null_value" && r.group == nil:
			return bad("the column %q has the aggregate function %s but is in no sequence group", f.Name, name)
		}
		r.aggregate, r.err = newAggregate(table, schema, o, f, name)
	}
	return nil
}
