package paimon_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// javaScript is a script for Java Paimon that does what we did, and what became
// of the tables here.
type javaScript struct {
	lines []string
	want  map[string]*catalog.Schema
}

func (j *javaScript) op(v map[string]any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	j.lines = append(j.lines, string(b))
}

func (j *javaScript) create(name string, s *catalog.Schema) {
	fields := []any{}
	for _, f := range s.Fields {
		x := map[string]any{"name": f.Name, "type": f.Type}
		if f.Comment != "" {
			x["description"] = f.Comment
		}
		fields = append(fields, x)
	}
	list := func(x []string) []string { return append([]string{}, x...) }
	j.op(map[string]any{"op": "create", "table": "default." + name, "fields": fields, "primaryKeys": list(s.PrimaryKeys),
		"partitionKeys": list(s.PartitionKeys), "options": s.Options})
}

// change returns a change as the oracle's alter takes it.
func change(c catalog.SchemaChange) map[string]any {
	x := map[string]any{}
	if len(c.Path) == 1 {
		x["column"] = c.Path[0]
	} else if len(c.Path) > 1 {
		x["column"] = c.Path
	}
	if p := c.Position; p != nil {
		switch {
		case p.First:
			x["first"] = true
		case p.Last:
			x["last"] = true
		case p.After != "":
			x["after"] = p.After
		default:
			x["before"] = p.Before
		}
	}
	value := func() any {
		if c.Value == nil {
			return nil
		}
		return *c.Value
	}
	switch c.Kind {
	case catalog.SetOption:
		x["do"], x["key"], x["value"] = "set", c.Name, *c.Value
	case catalog.RemoveOption:
		x["do"], x["key"] = "reset", c.Name
	case catalog.SetTableComment:
		x["do"], x["value"] = "comment", value()
	case catalog.AddColumn:
		x["do"], x["type"] = "add", c.Type
	case catalog.RenameColumn:
		x["do"], x["to"] = "rename", c.Name
	case catalog.DropColumn:
		x["do"] = "drop"
	case catalog.SetColumnType:
		x["do"], x["type"] = "type", c.Type
	case catalog.SetColumnNullable:
		x["do"], x["value"] = "nullable", c.Nullable
	case catalog.SetColumnComment:
		x["do"], x["value"] = "describe", value()
	case catalog.SetColumnDefault:
		x["do"], x["value"] = "default", value()
	case catalog.SetColumnPosition:
		x["do"] = "move"
	}
	return x
}

// alter applies changes here and asks the same of Java: success, or an error.
func (j *javaScript) alter(s *catalog.Schema, changes []catalog.SchemaChange, written bool) (*catalog.Schema, error) {
	next, err := paimon.ApplyChanges(s, changes, written)
	var list []any
	for _, c := range changes {
		list = append(list, change(c))
	}
	line := map[string]any{"op": "alter", "changes": list}
	if err != nil {
		line["fails"] = true
	}
	j.op(line)
	if err != nil || next == nil {
		return s, err
	}
	return next, nil
}

// run lets Java execute the script and compares the schemas of all tables.
func (j *javaScript) run(t *testing.T) {
	t.Helper()
	oracle := javaPaimon(t)
	root := t.TempDir()
	file := filepath.Join(root, "script.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(j.lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if failed := oracle.batch(t, "exec\t--warehouse\t"+root+"\t"+file+"\n"); len(failed) > 0 {
		t.Fatalf("Java disagrees: %s", failed)
	}
	names := make([]string, 0, len(j.want))
	for n := range j.want {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		files, _ := filepath.Glob(filepath.Join(root, "default.db", n, "schema", "schema-*"))
		newest := slices.MaxFunc(files, func(a, b string) int { return number(a) - number(b) })
		data, err := os.ReadFile(newest)
		if err != nil {
			t.Fatal(err)
		}
		java, err := spec.ParseSchema(data)
		if err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		if a, b := schemaText(t, java), schemaText(t, j.want[n]); a != b {
			t.Errorf("%s: Java has\n%s\nwe have\n%s", n, a, b)
		}
	}
}

func number(path string) (n int) {
	fmt.Sscanf(filepath.Base(path), "schema-%d", &n)
	return n
}

// schemaText returns what two schemas must have in common: not the number,
// since we write none for changes that change nothing, and not the time.
func schemaText(t *testing.T, s *catalog.Schema) string {
	t.Helper()
	c := *s
	c.ID, c.TimeMillis = 0, 0
	c.Options = map[string]string{}
	for k, v := range s.Options {
		if k != paimon.MaintenanceOption {
			c.Options[k] = v
		}
	}
	b, err := spec.MarshalSchema(&c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCastsAsJava changes columns of every type to every other type, as Java
// allows or refuses it, with casts that lose something allowed and not.
func TestCastsAsJava(t *testing.T) {
	row := catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "x", Type: catalog.TInt}}}
	elem := catalog.TString
	types := []catalog.Type{catalog.TBoolean, catalog.TTinyInt, catalog.TSmallInt, catalog.TInt, catalog.TBigInt, catalog.TFloat, catalog.TDouble,
		catalog.TDecimal(10, 2), catalog.TDecimal(38, 10), {Kind: catalog.Char, Length: 5}, {Kind: catalog.Varchar, Length: 9}, catalog.TString,
		{Kind: catalog.Binary, Length: 4}, {Kind: catalog.Varbinary, Length: 7}, catalog.TBytes, catalog.TDate, catalog.TTime(3),
		catalog.TTimestamp(3), catalog.TTimestamp(9), catalog.TTimestampLTZ(6), {Kind: catalog.Array, Elem: &catalog.TInt},
		{Kind: catalog.Map, Key: &elem, Elem: &catalog.TInt}, {Kind: catalog.Multiset, Elem: &catalog.TInt}, row, {Kind: catalog.Variant}}
	j := &javaScript{want: map[string]*catalog.Schema{}}
	for _, implicit := range []string{"false", "true"} {
		for i, from := range types {
			s := &catalog.Schema{Options: map[string]string{"bucket": "-1", "disable-explicit-type-casting": implicit,
				"alter-column-null-to-not-null.disabled": "false"}}
			for k := range types {
				s.Fields = append(s.Fields, catalog.Field{Name: fmt.Sprintf("c%d", k), Type: from})
			}
			for k := range types {
				s.Fields = append(s.Fields, catalog.Field{Name: fmt.Sprintf("n%d", k), Type: from.Required()})
			}
			made, err := paimon.FirstSchema(s)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("t%d_%s", i, implicit)
			j.create(name, s)
			for k, to := range types {
				if k == i || from.Kind == to.Kind && !from.IsPrimitive() {
					continue
				}
				for _, c := range []catalog.SchemaChange{
					{Kind: catalog.SetColumnType, Path: []string{fmt.Sprintf("c%d", k)}, Type: to, KeepNullability: true},
					{Kind: catalog.SetColumnType, Path: []string{fmt.Sprintf("n%d", k)}, Type: to.Required(), KeepNullability: true},
				} {
					if made, err = j.alter(made, []catalog.SchemaChange{c}, false); err != nil && errs.KindOf(err) != errs.ForbiddenChange {
						t.Errorf("%s to %s: %v", from, to, err)
					}
				}
			}
			j.want[name] = made
		}
	}
	j.run(t)
}

// TestAlterAsJava changes tables at random, here and by Java: the same changes
// are refused, and the same schemas come out.
func TestAlterAsJava(t *testing.T) {
	const tables, steps = 60, 16
	j := &javaScript{want: map[string]*catalog.Schema{}}
	accepted, refused := 0, 0
	for n := range tables {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		s := randomTable(r)
		made, err := paimon.FirstSchema(s)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("t%d", n)
		j.create(name, s)
		written := false
		for range steps {
			if !written && r.IntN(5) == 0 {
				j.op(map[string]any{"op": "truncate"})
				written = true
			}
			changes := []catalog.SchemaChange{randomChange(r, made)}
			if r.IntN(4) == 0 {
				changes = append(changes, randomChange(r, made))
			}
			if slices.ContainsFunc(changes, func(c catalog.SchemaChange) bool { return c.Kind == 0 }) {
				continue
			}
			if len(changes) == 2 && (changes[0].Kind == catalog.RenameColumn && changes[1].Kind == catalog.RenameColumn ||
				changes[0].Kind == catalog.SetColumnType && changes[1].Kind == catalog.AddColumn) {
				continue // Java looks at all renames at once, and adds members to what is no ROW without effect
			}
			if made, err = j.alter(made, changes, written); err != nil {
				refused++
				if c := errs.ClassOf(err); c != errs.User && c != errs.Unsupported {
					t.Errorf("%v", err)
				}
			} else {
				accepted++
			}
		}
		j.want[name] = made
	}
	if accepted < 100 || refused < 100 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
	j.run(t)
}

func randomTable(r *rand.Rand) *catalog.Schema {
	text := catalog.TString
	inner := catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "p", Type: catalog.TInt},
		{Name: "q", Type: catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "z", Type: catalog.TInt}}}}}}
	s := &catalog.Schema{Options: map[string]string{}, Fields: []catalog.Field{
		{Name: "k", Type: catalog.TInt.Required()}, {Name: "d", Type: catalog.TString.Required(), Comment: "part"},
		{Name: "a", Type: catalog.TInt}, {Name: "b", Type: catalog.TBigInt.Required(), Comment: "b's comment"},
		{Name: "s", Type: inner}, {Name: "l", Type: catalog.Type{Kind: catalog.Array, Elem: &inner}},
		{Name: "m", Type: catalog.Type{Kind: catalog.Map, Key: &text, Elem: &catalog.TInt}},
		{Name: "x", Type: catalog.Type{Kind: catalog.Array, Elem: &catalog.TInt}}, {Name: "g", Type: catalog.TBigInt}}}
	set := func(kv ...string) {
		for i := 0; i < len(kv); i += 2 {
			s.Options[kv[i]] = kv[i+1]
		}
	}
	if r.IntN(2) == 0 {
		s.PartitionKeys = []string{"d"}
	}
	if r.IntN(2) == 0 {
		set("add-column-before-partition", "true")
	}
	if r.IntN(2) == 0 {
		set("alter-column-null-to-not-null.disabled", "false")
	}
	switch r.IntN(6) {
	case 0:
		set("bucket", "-1")
	case 1:
		set("bucket", "3", "bucket-key", "k,a")
	case 2:
		s.PrimaryKeys = []string{"k", "d"}
		set("bucket", "2", "sequence.field", "g,a")
	case 3:
		s.PrimaryKeys = []string{"d", "k"}
		set("bucket", "2", "merge-engine", "partial-update", "fields.g.sequence-group", "a,b", "fields.a.aggregate-function", "sum", "fields.a.ignore-retract", "true")
	case 4:
		s.PrimaryKeys = []string{"k", "d"}
		set("bucket", "1", "merge-engine", "aggregation", "fields.a.aggregate-function", "max", "fields.default-aggregate-function", "last_value", "deletion-vectors.enabled", "true")
	case 5:
		s.PrimaryKeys = []string{"k", "d"}
		set("bucket", "2", "changelog-producer", "input", "ignore-delete", "true")
	}
	return s
}

// paths returns the paths of all columns, members and elements.
func paths(fields []catalog.Field, prefix []string) (out [][]string) {
	var walk func(t catalog.Type, p []string)
	walk = func(t catalog.Type, p []string) {
		switch t.Kind {
		case catalog.Row:
			out = append(out, paths(t.Fields, p)...)
		case catalog.Array:
			q := append(slices.Clone(p), "element")
			out = append(out, q)
			walk(*t.Elem, q)
		case catalog.Map:
			q := append(slices.Clone(p), "value")
			out = append(out, q)
			walk(*t.Elem, q)
		}
	}
	for _, f := range fields {
		p := append(slices.Clone(prefix), f.Name)
		out = append(out, p)
		walk(f.Type, p)
	}
	return out
}

func randomChange(r *rand.Rand, s *catalog.Schema) catalog.SchemaChange {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	str := func(v string) *string { return &v }
	all := paths(s.Fields, nil)
	path := all[r.IntN(len(all))]
	last := path[len(path)-1]
	within := last == "element" || last == "value" // no column of its own
	top := func() string { return s.Fields[r.IntN(len(s.Fields))].Name }
	fresh := pick("n1", "n2", "n3", "n4", "a", "k")
	types := []catalog.Type{catalog.TTinyInt, catalog.TBigInt, catalog.TDouble, catalog.TString, catalog.TDecimal(20, 3), catalog.TBoolean, catalog.TDate,
		{Kind: catalog.Row, Fields: []catalog.Field{{Name: "v", Type: catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "w", Type: catalog.TInt}}}},
			{Name: "u", Type: catalog.TInt}}}}
	position := func() *catalog.ColumnPosition {
		switch r.IntN(5) {
		case 0:
			return &catalog.ColumnPosition{First: true}
		case 1:
			return &catalog.ColumnPosition{Last: true}
		case 2:
			return &catalog.ColumnPosition{After: top()}
		case 3:
			return &catalog.ColumnPosition{Before: pick(top(), "missing")}
		}
		return nil
	}
	switch r.IntN(12) {
	case 0, 1:
		c := catalog.SchemaChange{Kind: catalog.AddColumn, Path: []string{fresh}, Type: types[r.IntN(len(types))], Position: position()}
		if r.IntN(3) == 0 { // into a ROW
			parent := pick("s", "l", "m", "missing")
			switch parent {
			case "l":
				c.Path, c.Position = []string{"l", "element", fresh}, nil
			case "m":
				return catalog.SchemaChange{} // Java accepts it and adds nothing
			default:
				c.Path, c.Position = []string{parent, fresh}, nil
			}
		}
		if r.IntN(8) == 0 {
			c.Type.NotNull = true
		}
		return c
	case 2:
		if within {
			return catalog.SchemaChange{}
		}
		return catalog.SchemaChange{Kind: catalog.DropColumn, Path: path}
	case 3:
		if within || len(path) > 1 && path[0] != "s" {
			return catalog.SchemaChange{}
		}
		if len(path) > 1 {
			// Java renames the outer column in the options too; without options
			// of that column it is the same.
			return catalog.SchemaChange{Kind: catalog.RenameColumn, Path: path, Name: pick("r1", "r2", last)}
		}
		return catalog.SchemaChange{Kind: catalog.RenameColumn, Path: path, Name: pick("r1", "r2", "r3", fresh)}
	case 4, 5:
		to := types[r.IntN(len(types)-1)]
		if cur, ok := typeAt(s.Fields, path); !ok || cur.Kind == to.Kind {
			return catalog.SchemaChange{}
		}
		return catalog.SchemaChange{Kind: catalog.SetColumnType, Path: path, Type: to, KeepNullability: true} // as the oracle does it
	case 6:
		return catalog.SchemaChange{Kind: catalog.SetColumnNullable, Path: path, Nullable: r.IntN(2) == 0}
	case 7:
		if within {
			return catalog.SchemaChange{}
		}
		return catalog.SchemaChange{Kind: catalog.SetColumnComment, Path: path, Value: str(pick("x", "it's"))}
	case 8:
		i := r.IntN(len(s.Fields))
		p := position()
		if p == nil || p.First && i == 0 || p.Last && i == len(s.Fields)-1 {
			return catalog.SchemaChange{}
		}
		return catalog.SchemaChange{Kind: catalog.SetColumnPosition, Path: []string{s.Fields[i].Name}, Position: p}
	case 9:
		c := s.Fields[r.IntN(len(s.Fields))]
		if !c.Type.IsPrimitive() {
			return catalog.SchemaChange{}
		}
		v := pick("17", "abc", "2024-02-30", "2024-02-29", "true", "'5'")
		if c.Type.Kind == catalog.Date && v != "2024-02-29" {
			v = "abc"
		}
		return catalog.SchemaChange{Kind: catalog.SetColumnDefault, Path: []string{c.Name}, Value: str(v)}
	case 10:
		kv := [][2]string{{"bucket", "4"}, {"bucket", "-1"}, {"bucket", "-2"}, {"bucket", "0"}, {"bucket-key", "k"}, {"merge-engine", "first-row"}, {"merge-engine", "aggregation"},
			{"type", "table"}, {"type", "format-table"}, {"primary-key", "k,d"}, {"partition", "d"}, {"deletion-vectors.enabled", "true"}, {"deletion-vectors.enabled", "false"},
			{"ignore-delete", "false"}, {"snapshot.num-retained.min", "0"}, {"snapshot.num-retained.max", "5"}, {"snapshot.num-retained.min", "2"},
			{"changelog-producer", "lookup"}, {"changelog-producer", "none"}, {"full-compaction.delta-commits", "3"}, {"sequence.field", "b"}, {"sequence.field", "missing"},
			{"row-tracking.enabled", "true"}, {"rowkind.field", "d"}, {"fields.a.aggregate-function", "nonsense"}, {"fields.b.aggregate-function", "sum"},
			{"file-index.bloom-filter.columns", "a"}, {"file-index.bloom-filter.columns", "missing"}, {"target-file-size", "64 mb"}, {"write-only", "true"}, {"my.option", "42"},
			{"record-level.time-field", "g"}, {"record-level.time-field", "d"}, {"streaming-read-overwrite", "true"}, {"scan.fallback-branch", ""}, {"dynamic-bucket.initial-buckets", "2"}}
		x := kv[r.IntN(len(kv))]
		return catalog.SchemaChange{Kind: catalog.SetOption, Name: x[0], Value: str(x[1])}
	default:
		if r.IntN(4) == 0 {
			return catalog.SchemaChange{Kind: catalog.SetTableComment, Value: str(pick("one", "two"))}
		}
		return catalog.SchemaChange{Kind: catalog.RemoveOption, Name: pick("bucket", "bucket-key", "sequence.field", "merge-engine", "type", "my.option", "ignore-delete",
			"changelog-producer", "fields.g.sequence-group", "primary-key", "deletion-vectors.enabled", "rowkind.field", "full-compaction.delta-commits", "row-tracking.enabled")}
	}
}

// typeAt returns the type that a path names.
func typeAt(fields []catalog.Field, path []string) (catalog.Type, bool) {
	for _, f := range fields {
		if f.Name != path[0] {
			continue
		}
		t, rest := f.Type, path[1:]
		for len(rest) > 0 && t.Kind != catalog.Row {
			if t.Elem == nil {
				return t, false
			}
			t, rest = *t.Elem, rest[1:]
		}
		if len(rest) == 0 {
			return t, true
		}
		return typeAt(t.Fields, rest)
	}
	return catalog.Type{}, false
}
