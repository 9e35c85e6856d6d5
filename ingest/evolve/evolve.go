// Package evolve decides what a change of a source table's definition does to the
// lake table that it feeds, under the schema.change.behavior of the pipeline
// (Flink CDC's five, and STRICT_EVOLVE).
//
// Columns are told apart by the ids of their definitions, so that a rename, a
// swap, and a column that is dropped and added anew are what they are, however
// the statement was written. Lake columns are found by name: rows are fitted to
// the lake table by name (package transform).
//
// Start reading at Decide.
package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/source"
)

// The behaviours.
const (
	Exception    = "EXCEPTION"
	Evolve       = "EVOLVE"
	TryEvolve    = "TRY_EVOLVE"
	Lenient      = "LENIENT"
	Ignore       = "IGNORE"
	StrictEvolve = "STRICT_EVOLVE"
)

// The kinds of change, as include.schema.changes and exclude.schema.changes name
// them.
const (
	AddColumn    = "add.column"
	AlterType    = "alter.column.type"
	RenameColumn = "rename.column"
	DropColumn   = "drop.column"
	Truncate     = "truncate.table"
	DropTable    = "drop.table"
	TableComment = "alter.table.comment"
)

// Policy is what a pipeline says of schema changes.
type Policy struct {
	Behavior string
	// Include and Exclude are lists of kinds and families of kinds; an empty
	// Include is all. Exclude wins.
	Include, Exclude []string
	// Destructive are the kinds that may take rows away: truncate.table. No other
	// list allows that.
	Destructive []string
}

// families are the names of several kinds.
var families = map[string][]string{
	"all":    {AddColumn, AlterType, RenameColumn, DropColumn, Truncate, DropTable, TableComment},
	"add":    {AddColumn},
	"alter":  {AlterType, TableComment},
	"drop":   {DropColumn, DropTable},
	"rename": {RenameColumn},
	"table":  {Truncate, DropTable, TableComment},
	"column": {AddColumn, AlterType, RenameColumn, DropColumn},
}

// Wants reports whether the lists let a kind of change through.
func (p *Policy) Wants(kind string) bool {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(x string) bool {
			x = strings.ToLower(x)
			return x == kind || slices.Contains(families[x], kind)
		})
	}
	return !in(p.Exclude) && (len(p.Include) == 0 || in(p.Include))
}

// Allows reports whether a kind of change may take rows away.
func (p *Policy) Allows(kind string) bool {
	return slices.ContainsFunc(p.Destructive, func(x string) bool { return strings.EqualFold(x, kind) })
}

// Decision is what to do.
type Decision struct {
	// Changes are for the lake table, in one ALTER.
	Changes []catalog.SchemaChange
	// Ignored are columns of the new definition that the lake table does not get.
	Ignored []string
	// Notes are for people: what was not done as the source did it.
	Notes []string
	// Fail is why the pipeline must end (EXCEPTION), Stop why the table must;
	// "" for neither.
	Fail, Stop string
}

func (d *Decision) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// change is one difference of two definitions.
type change struct {
	kind     string
	old, now *source.Column
	after    string // add: the column before it, "" is first
}

// differences compares definitions by the ids of their columns, by name where
// they have none.
func differences(old, now *source.Table) []change {
	var out []change
	find := func(t *source.Table, c *source.Column) *source.Column {
		for i := range t.Columns {
			x := &t.Columns[i]
			if c.ID != 0 && x.ID == c.ID || (c.ID == 0 || x.ID == 0) && x.Name == c.Name {
				return x
			}
		}
		return nil
	}
	for i := range old.Columns {
		if c := &old.Columns[i]; find(now, c) == nil {
			out = append(out, change{kind: DropColumn, old: c})
		}
	}
	for i := range now.Columns {
		c := &now.Columns[i]
		o := find(old, c)
		if o == nil {
			after := ""
			if i > 0 {
				after = now.Columns[i-1].Name
			}
			out = append(out, change{kind: AddColumn, now: c, after: after})
			continue
		}
		if o.Name != c.Name {
			out = append(out, change{kind: RenameColumn, old: o, now: c})
		}
		if !o.Type.Equal(c.Type) || o.Declared != c.Declared || o.Comment != c.Comment {
			out = append(out, change{kind: AlterType, old: o, now: c})
		}
	}
	if old.Comment != now.Comment {
		out = append(out, change{kind: TableComment})
	}
	return out
}

// Decide compares what the transform rules made of a source table before and
// after a change, and says what becomes of the lake table. ignored are the columns
// that it does not get since an earlier change.
func Decide(p *Policy, old, now *source.Table, lake *catalog.Schema, ignored []string) *Decision {
	d := &Decision{}
	list := differences(old, now)
	if !slices.Equal(renamedKeys(old, now), now.PrimaryKey) {
		d.Stop = "its primary key changed"
		return d
	}
	names := map[string]bool{} // of the lake, as they will be
	for _, f := range lake.Fields {
		names[f.Name] = true
	}
	// Columns that the lake did not get stay away, under whatever name they have.
	away := map[string]bool{}
	for _, n := range ignored {
		if o := old.Column(n); o >= 0 {
			for i := range now.Columns {
				if c := &now.Columns[i]; c.ID == old.Columns[o].ID && (c.ID != 0 || c.Name == n) {
					away[c.Name] = true
				}
			}
		}
	}
	var tail []catalog.SchemaChange
	swaps := renames(list, away)
	for _, x := range list {
		name := ""
		if x.now != nil {
			name = x.now.Name
		}
		switch {
		case x.now != nil && away[name], x.kind == DropColumn && slices.Contains(ignored, x.old.Name):
			continue
		case p.Behavior == Exception && p.Wants(x.kind):
			d.Fail = fmt.Sprintf("a schema change came and schema.change.behavior is EXCEPTION: %s %s", x.kind, columnNames(x))
			return d
		}
		do := p.Behavior
		if do == Exception || !p.Wants(x.kind) {
			do = Ignore
		}
		switch x.kind {
		case AddColumn:
			switch {
			case do == Ignore:
				away[name] = true
				d.note("the new column %s is left out", name)
				continue
			case names[name]:
				d.note("the new column %s goes into the lake's column of that name", name)
				continue
			}
			c := catalog.SchemaChange{Kind: catalog.AddColumn, Path: []string{name}, Type: x.now.Type.Nullable(), MySQLType: x.now.Declared}
			if x.now.Comment != "" {
				c.Value = &x.now.Comment
			}
			if x.now.Type.NotNull {
				d.note("the new column %s is nullable in the lake", name)
			}
			if do != Lenient {
				c.Position = &catalog.ColumnPosition{First: x.after == "", After: x.after}
				if x.after != "" && !names[x.after] {
					c.Position = nil
				}
			}
			names[name] = true
			d.Changes = append(d.Changes, c)
		case RenameColumn:
			switch do {
			case Ignore:
				away[name] = true
				d.nullable(lake, x.old.Name)
				d.note("the column %s is not filled any more: it is %s at the source", x.old.Name, name)
			case Lenient:
				d.nullable(lake, x.old.Name)
				if names[name] {
					d.note("the column %s, renamed from %s, goes into the lake's column of that name", name, x.old.Name)
					continue
				}
				names[name] = true
				d.Changes = append(d.Changes, catalog.SchemaChange{Kind: catalog.AddColumn, Path: []string{name}, Type: x.now.Type.Nullable(), MySQLType: x.now.Declared})
				d.note("the column %s was renamed to %s: the lake has both, older rows the value in %s", x.old.Name, name, x.old.Name)
			default:
				via := name
				if swaps[name] { // somebody else has the name until he gets his new one
					via = name + "__renamed"
					tail = append(tail, catalog.SchemaChange{Kind: catalog.RenameColumn, Path: []string{via}, Name: name})
				}
				delete(names, x.old.Name)
				names[name] = true
				d.Changes = append(d.Changes, catalog.SchemaChange{Kind: catalog.RenameColumn, Path: []string{x.old.Name}, Name: via})
			}
		case AlterType:
			if do == Ignore {
				d.note("the type of %s stays what it was", name)
				continue
			}
			f := lake.Column(x.old.Name)
			if f < 0 {
				continue
			}
			path := []string{x.old.Name} // before the renames
			if do == Lenient {
				path = []string{name}
				if f = lake.Column(name); f < 0 {
					continue // added with its new type
				}
			}
			field := lake.Fields[f]
			to := x.now.Type
			if to.NotNull && !field.Type.NotNull {
				to = to.Nullable() // older rows may have NULL
			}
			key := slices.Contains(lake.PrimaryKeys, field.Name)
			if key {
				to = to.Required()
			}
			var alter []catalog.SchemaChange
			if !field.Type.Nullable().Equal(to.Nullable()) || lake.MySQLType(field) != x.now.Declared {
				alter = append(alter, catalog.SchemaChange{Kind: catalog.SetColumnType, Path: path, Type: to, MySQLType: x.now.Declared, KeepNullability: true})
			}
			if field.Type.NotNull && !to.NotNull {
				alter = append(alter, catalog.SchemaChange{Kind: catalog.SetColumnNullable, Path: path, Nullable: true})
			}
			if field.Comment != x.now.Comment {
				c := catalog.SchemaChange{Kind: catalog.SetColumnComment, Path: path}
				if x.now.Comment != "" {
					c.Value = &x.now.Comment
				}
				alter = append(alter, c)
			}
			d.Changes = append(alter, d.Changes...)
		case DropColumn:
			switch do {
			case Evolve, TryEvolve, StrictEvolve:
				if names[x.old.Name] {
					delete(names, x.old.Name)
					d.Changes = append(d.Changes, catalog.SchemaChange{Kind: catalog.DropColumn, Path: []string{x.old.Name}})
				}
			default:
				d.nullable(lake, x.old.Name)
				d.note("the column %s stays in the lake; new rows have NULL there", x.old.Name)
			}
		case TableComment:
			if do != Ignore {
				c := catalog.SchemaChange{Kind: catalog.SetTableComment}
				if now.Comment != "" {
					c.Value = &now.Comment
				}
				d.Changes = append(d.Changes, c)
			}
		}
	}
	d.Changes = append(d.Changes, tail...)
	for i := range now.Columns {
		if away[now.Columns[i].Name] {
			d.Ignored = append(d.Ignored, now.Columns[i].Name)
		}
	}
	return d
}

// nullable lets a lake column that is not filled any more be NULL.
func (d *Decision) nullable(lake *catalog.Schema, name string) {
	if f := lake.Column(name); f >= 0 && lake.Fields[f].Type.NotNull {
		d.Changes = append(d.Changes, catalog.SchemaChange{Kind: catalog.SetColumnNullable, Path: []string{name}, Nullable: true})
	}
}

// renames are the new names that another column has until it gets its own.
func renames(list []change, away map[string]bool) map[string]bool {
	from := map[string]bool{}
	for _, x := range list {
		if x.kind == RenameColumn {
			from[x.old.Name] = true
		}
	}
	out := map[string]bool{}
	for _, x := range list {
		if x.kind == RenameColumn && from[x.now.Name] && !away[x.now.Name] {
			out[x.now.Name] = true
		}
	}
	return out
}

// renamedKeys is the old key under the new names.
func renamedKeys(old, now *source.Table) []string {
	out := slices.Clone(old.PrimaryKey)
	for k, name := range out {
		i := old.Column(name)
		if i < 0 || old.Columns[i].ID == 0 {
			continue
		}
		for j := range now.Columns {
			if now.Columns[j].ID == old.Columns[i].ID {
				out[k] = now.Columns[j].Name
			}
		}
	}
	return out
}

func columnNames(x change) string {
	switch {
	case x.old != nil && x.now != nil && x.old.Name != x.now.Name:
		return x.old.Name + " to " + x.now.Name
	case x.now != nil:
		return x.now.Name
	case x.old != nil:
		return x.old.Name
	}
	return ""
}
