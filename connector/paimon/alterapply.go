package paimon

import (
	"maps"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// alteration is a schema that is being changed. The rules are Java Paimon's
// SchemaManager.generateTableSchema, where that is right: renames touch options
// for columns of the table only, and one rename after the other.
type alteration struct {
	old     *catalog.Schema // as it was: options that are fixed are compared with it
	next    *catalog.Schema
	written bool // the table has a snapshot
}

func copySchema(s *catalog.Schema) *catalog.Schema {
	out := *s
	out.Fields = slices.Clone(s.Fields)
	for i := range out.Fields {
		out.Fields[i].Type = cloneType(out.Fields[i].Type)
	}
	out.PartitionKeys, out.PrimaryKeys = slices.Clone(s.PartitionKeys), slices.Clone(s.PrimaryKeys)
	if out.Options = maps.Clone(s.Options); out.Options == nil {
		out.Options = map[string]string{}
	}
	return &out
}

func forbidden(format string, args ...any) error {
	return errs.New(errs.Unsupported, errs.ForbiddenChange, format, args...)
}

func (a *alteration) apply(c *catalog.SchemaChange) error {
	switch c.Kind {
	case catalog.SetOption:
		if c.Value == nil {
			return errs.Internalf("set the option %q: it has no value", c.Name)
		}
		return a.setOption(c.Name, *c.Value)
	case catalog.RemoveOption:
		return a.removeOption(c.Name)
	case catalog.SetTableComment:
		a.next.Comment = textValue(c.Value)
		return nil
	}
	if len(c.Path) == 0 {
		return errs.Internalf("change a column: it has no name")
	}
	switch c.Kind {
	case catalog.AddColumn:
		return a.addColumn(c)
	case catalog.RenameColumn:
		return a.renameColumn(c)
	case catalog.DropColumn:
		return a.dropColumn(c)
	case catalog.SetColumnType:
		return a.setType(c)
	case catalog.SetColumnNullable:
		return a.setNullable(c)
	case catalog.SetColumnComment:
		return a.atField(c.Path, func(siblings *[]catalog.Field, i int) error {
			(*siblings)[i].Comment = textValue(c.Value)
			return nil
		})
	case catalog.SetColumnDefault:
		return a.atField(c.Path, func(siblings *[]catalog.Field, i int) error {
			f := &(*siblings)[i]
			if err := checkDefault(f.Name, f.Type, c.Value); err != nil {
				return err
			}
			f.Default = c.Value
			return nil
		})
	case catalog.SetColumnPosition:
		return a.move(c)
	}
	return errs.Internalf("change a table: unknown kind %d", c.Kind)
}

func textValue(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// dotted returns a path as messages show it.
func dotted(path []string) string { return strings.Join(path, ".") }

func indexOf(fields []catalog.Field, name string) int {
	return slices.IndexFunc(fields, func(f catalog.Field) bool { return f.Name == name })
}

func unknownColumn(path []string) error {
	return errs.Userf(errs.UnknownColumn, "Unknown column '%s'", dotted(path))
}

// walk follows path from fields and calls at with the fields among which its
// last step is, or inside with the type that the last step names as "element"
// or "value". inside nil refuses that.
func walk(fields *[]catalog.Field, path []string, depth int, at func(siblings *[]catalog.Field) error, inside func(t *catalog.Type) error) error {
	if depth == len(path)-1 {
		return at(fields)
	}
	i := indexOf(*fields, path[depth])
	if i < 0 {
		return unknownColumn(path[:depth+1])
	}
	return walkType(&(*fields)[i].Type, path, depth+1, at, inside)
}

func walkType(t *catalog.Type, path []string, depth int, at func(siblings *[]catalog.Field) error, inside func(t *catalog.Type) error) error {
	var child *catalog.Type
	switch {
	case t.Kind == catalog.Row:
		return walk(&t.Fields, path, depth, at, inside)
	case t.Kind == catalog.Array && path[depth] == "element", t.Kind == catalog.Map && path[depth] == "value":
		child = t.Elem
	case t.Kind == catalog.Map && path[depth] == "key":
		return forbidden("the key type of the MAP '%s' cannot change", dotted(path[:depth]))
	case t.Kind == catalog.Multiset:
		return forbidden("the elements of the MULTISET '%s' cannot change", dotted(path[:depth]))
	default:
		return unknownColumn(path[:depth+1])
	}
	if depth < len(path)-1 {
		return walkType(child, path, depth+1, at, inside)
	}
	if inside == nil {
		return forbidden("'%s' is no column: only its type and nullability can change", dotted(path))
	}
	return inside(child)
}

// atField calls f with the fields among which the column of path is, and its
// position.
func (a *alteration) atField(path []string, f func(siblings *[]catalog.Field, i int) error) error {
	return walk(&a.next.Fields, path, 0, func(siblings *[]catalog.Field) error {
		i := indexOf(*siblings, path[len(path)-1])
		if i < 0 {
			return unknownColumn(path)
		}
		return f(siblings, i)
	}, nil)
}

// atType calls f with the type that path names.
func (a *alteration) atType(path []string, f func(t *catalog.Type) error) error {
	return walk(&a.next.Fields, path, 0, func(siblings *[]catalog.Field) error {
		i := indexOf(*siblings, path[len(path)-1])
		if i < 0 {
			return unknownColumn(path)
		}
		return f(&(*siblings)[i].Type)
	}, f)
}

// notKey refuses a change of a key column of the table.
func (a *alteration) notKey(path []string, what string, primary bool) error {
	if len(path) > 1 {
		return nil
	}
	switch {
	case slices.Contains(a.next.PartitionKeys, path[0]):
		return forbidden("cannot %s the partition column '%s'", what, path[0])
	case primary && slices.Contains(a.next.PrimaryKeys, path[0]):
		return forbidden("cannot %s '%s', a column of the primary key", what, path[0])
	}
	for _, k := range []string{"pk-vector.index.columns", "pk-btree.index.columns", "pk-bitmap.index.columns", "pk-full-text.index.columns"} {
		if slices.Contains(names(a.next.Options[k]), path[0]) {
			return forbidden("cannot %s '%s', a column of '%s'", what, path[0], k)
		}
	}
	return nil
}

func (a *alteration) addColumn(c *catalog.SchemaChange) error {
	name := c.Path[len(c.Path)-1]
	if name == "" {
		return errs.Userf(errs.InvalidTable, "a column needs a name")
	}
	if c.Type.NotNull {
		return forbidden("cannot add the column '%s' as NOT NULL: rows that are there have no value for it", dotted(c.Path))
	}
	for _, d := range []string{"__BLOB", "__VECTOR"} {
		if strings.HasPrefix(strings.TrimSpace(textValue(c.Value)), d) {
			return errs.Unsupportedf(-1, "columns whose comment starts with %s, a directive (column %q)", d, dotted(c.Path))
		}
	}
	f := catalog.Field{ID: a.next.HighestFieldID + 1, Name: name, Type: cloneType(c.Type), Comment: textValue(c.Value)}
	if f.Type.Physical() == 0 {
		return errs.Userf(errs.InvalidTable, "column %q has no type", dotted(c.Path))
	}
	highest := spec.AssignMemberIDs(&f.Type, f.ID)
	err := walk(&a.next.Fields, c.Path, 0, func(siblings *[]catalog.Field) error {
		if indexOf(*siblings, name) >= 0 {
			return errs.Userf(errs.DuplicateColumn, "Duplicate column name '%s'", dotted(c.Path))
		}
		at, err := a.insertAt(*siblings, c)
		if err == nil {
			*siblings = slices.Insert(*siblings, at, f)
		}
		return err
	}, nil)
	if err != nil {
		return err
	}
	a.next.HighestFieldID = highest
	if c.MySQLType != "" && len(c.Path) == 1 {
		a.next.Options[catalog.MySQLTypeOption(f.ID)] = c.MySQLType
	}
	return nil
}

// insertAt returns where a new column goes among its siblings.
func (a *alteration) insertAt(siblings []catalog.Field, c *catalog.SchemaChange) (int, error) {
	p := c.Position
	switch {
	case p == nil:
		if len(c.Path) == 1 && strings.EqualFold(a.old.Options["add-column-before-partition"], "true") {
			for i, f := range siblings {
				if slices.Contains(a.next.PartitionKeys, f.Name) {
					return i, nil
				}
			}
		}
		return len(siblings), nil
	case p.First:
		return 0, nil
	case p.Last:
		return len(siblings), nil
	}
	ref := p.After + p.Before
	i := indexOf(siblings, ref)
	if i < 0 {
		return 0, unknownColumn(append(slices.Clone(c.Path[:len(c.Path)-1]), ref))
	}
	if p.After != "" {
		i++
	}
	return i, nil
}

func (a *alteration) move(c *catalog.SchemaChange) error {
	p := c.Position
	if p == nil {
		return errs.Internalf("move the column %q: no position", dotted(c.Path))
	}
	if len(c.Path) > 1 {
		return errs.Unsupportedf(-1, "moving a member of a ROW (%s)", dotted(c.Path))
	}
	from := indexOf(a.next.Fields, c.Path[0])
	if from < 0 {
		return unknownColumn(c.Path)
	}
	f := a.next.Fields[from]
	rest := slices.Delete(slices.Clone(a.next.Fields), from, from+1)
	to := 0
	switch {
	case p.First:
	case p.Last:
		to = len(rest)
	case p.After+p.Before == f.Name:
		return errs.Userf(errs.InvalidTable, "cannot move the column '%s' next to itself", f.Name)
	default:
		if to = indexOf(rest, p.After+p.Before); to < 0 {
			return unknownColumn([]string{p.After + p.Before})
		}
		if p.After != "" {
			to++
		}
	}
	a.next.Fields = slices.Insert(rest, to, f)
	return nil
}

func (a *alteration) renameColumn(c *catalog.SchemaChange) error {
	if err := a.notKey(c.Path, "rename", false); err != nil {
		return err
	}
	if c.Name == "" {
		return errs.Userf(errs.InvalidTable, "a column needs a name")
	}
	err := a.atField(c.Path, func(siblings *[]catalog.Field, i int) error {
		if len(c.Path) == 1 && (*siblings)[i].Type.Kind == catalog.Blob {
			return forbidden("cannot rename '%s', a BLOB column", c.Path[0])
		}
		if indexOf(*siblings, c.Name) >= 0 {
			return errs.Userf(errs.DuplicateColumn, "Duplicate column name '%s'", c.Name)
		}
		(*siblings)[i].Name = c.Name
		return nil
	})
	if err != nil || len(c.Path) > 1 {
		return err
	}
	if i := slices.Index(a.next.PrimaryKeys, c.Path[0]); i >= 0 {
		a.next.PrimaryKeys[i] = c.Name
	}
	renameInOptions(a.next.Options, c.Path[0], c.Name)
	return nil
}

func (a *alteration) dropColumn(c *catalog.SchemaChange) error {
	if err := a.notKey(c.Path, "drop", true); err != nil {
		return err
	}
	return a.atField(c.Path, func(siblings *[]catalog.Field, i int) error {
		if len(*siblings) == 1 {
			return forbidden("cannot drop '%s': it is the only column", dotted(c.Path))
		}
		f := (*siblings)[i]
		if len(c.Path) == 1 {
			delete(a.next.Options, catalog.MySQLTypeOption(f.ID))
			dropFromOptions(a.next.Options, f)
		}
		*siblings = slices.Delete(*siblings, i, i+1)
		return nil
	})
}

func (a *alteration) setNullable(c *catalog.SchemaChange) error {
	if c.Nullable && len(c.Path) == 1 && slices.Contains(a.next.PrimaryKeys, c.Path[0]) {
		return forbidden("cannot make '%s' nullable, a column of the primary key", c.Path[0])
	}
	return a.atType(c.Path, func(t *catalog.Type) error {
		if err := a.nullability(c.Path, t, c.Nullable); err != nil {
			return err
		}
		t.NotNull = !c.Nullable
		return nil
	})
}

// nullability refuses to make a column NOT NULL, unless the table's options
// allow it: rows that are there may hold NULL.
func (a *alteration) nullability(path []string, t *catalog.Type, nullable bool) error {
	if nullable || t.NotNull || strings.EqualFold(a.old.Options["alter-column-null-to-not-null.disabled"], "false") {
		return nil
	}
	return forbidden("cannot make '%s' NOT NULL: rows that are there may hold NULL; the table option 'alter-column-null-to-not-null.disabled' = 'false' allows it", dotted(path))
}

func (a *alteration) setType(c *catalog.SchemaChange) error {
	to := cloneType(c.Type)
	if to.Physical() == 0 {
		return errs.Userf(errs.InvalidTable, "column %q has no type", dotted(c.Path))
	}
	var field *catalog.Field // the column itself, not something within it
	if len(c.Path) == 1 {
		i := indexOf(a.next.Fields, c.Path[0])
		if i < 0 {
			return unknownColumn(c.Path)
		}
		field = &a.next.Fields[i]
		same := sameType(field.Type, to) && (c.KeepNullability || field.Type.NotNull == to.NotNull)
		if !same {
			if err := a.notKey(c.Path, "change the type of", true); err != nil {
				return err
			}
		}
	}
	if err := a.atType(c.Path, func(t *catalog.Type) error { return a.retype(c.Path, t, to, c.KeepNullability) }); err != nil {
		return err
	}
	if field != nil {
		delete(a.next.Options, catalog.MySQLTypeOption(field.ID))
		if c.MySQLType != "" {
			a.next.Options[catalog.MySQLTypeOption(field.ID)] = c.MySQLType
		}
	}
	return nil
}

// retype changes the type t, which path names, to another. Members of ROWs are
// matched by name: those that stay keep their order and ids, others are added
// and dropped.
func (a *alteration) retype(path []string, t *catalog.Type, to catalog.Type, keep bool) error {
	if keep {
		to.NotNull = t.NotNull
	} else if err := a.nullability(path, t, !to.NotNull); err != nil {
		return err
	}
	cannot := func() error {
		return forbidden("the type of '%s' cannot change from %s to %s", dotted(path), t.Nullable(), to.Nullable())
	}
	step := func(name string) []string { return append(slices.Clone(path), name) }
	switch {
	case sameType(*t, to):
		t.NotNull = to.NotNull
		return nil
	case t.Kind == catalog.Blob || to.Kind == catalog.Blob:
		return cannot()
	case t.Kind == to.Kind && t.Kind == catalog.Array:
		t.NotNull = to.NotNull
		return a.retype(step("element"), t.Elem, *to.Elem, keep)
	case t.Kind == to.Kind && t.Kind == catalog.Map:
		if !sameType(*t.Key, *to.Key) || t.Key.NotNull != to.Key.NotNull {
			return forbidden("the key type of the MAP '%s' cannot change", dotted(path))
		}
		t.NotNull = to.NotNull
		return a.retype(step("value"), t.Elem, *to.Elem, keep)
	case t.Kind == to.Kind && t.Kind == catalog.Row:
		return a.retypeRow(path, t, to, keep)
	}
	explicit := !strings.EqualFold(a.old.Options["disable-explicit-type-casting"], "true")
	if !castable(*t, to, explicit) {
		return cannot()
	}
	*t = to
	return nil
}

func (a *alteration) retypeRow(path []string, t *catalog.Type, to catalog.Type, keep bool) error {
	if len(to.Fields) == 0 {
		return errs.Userf(errs.InvalidTable, "the ROW '%s' needs a member", dotted(path))
	}
	last := -1
	fields := make([]catalog.Field, 0, len(to.Fields))
	for _, f := range to.Fields {
		if indexOf(fields, f.Name) >= 0 {
			return errs.Userf(errs.DuplicateColumn, "Duplicate column name '%s'", dotted(append(slices.Clone(path), f.Name)))
		}
		at := append(slices.Clone(path), f.Name)
		i := indexOf(t.Fields, f.Name)
		if i < 0 {
			if f.Type.NotNull {
				return forbidden("cannot add '%s' as NOT NULL: rows that are there have no value for it", dotted(at))
			}
			f.ID, f.Type = a.next.HighestFieldID+1, cloneType(f.Type)
			a.next.HighestFieldID = spec.AssignMemberIDs(&f.Type, f.ID)
			fields = append(fields, f)
			continue
		}
		if i < last {
			return forbidden("the members of the ROW '%s' cannot change their order", dotted(path))
		}
		last = i
		g := t.Fields[i]
		g.Comment = f.Comment
		if err := a.retype(at, &g.Type, f.Type, keep); err != nil {
			return err
		}
		fields = append(fields, g)
	}
	t.Fields, t.NotNull = fields, to.NotNull
	return nil
}
