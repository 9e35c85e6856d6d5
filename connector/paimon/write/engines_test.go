package write_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// engineTable is a table of the engine tests.
type engineTable struct {
	name    string
	options map[string]string
	deletes bool // the engine takes deletions
	parts   bool
	cross   bool // the key lacks the partition column
}

// engineTables have every merge engine with every way of finding changes.
func engineTables() []engineTable {
	o := func(kv ...string) map[string]string {
		m := map[string]string{"bucket": "2", "num-sorted-run.compaction-trigger": "3", "thermocline.maintenance": "true"}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	partial := []string{"merge-engine", "partial-update", "fields.g.sequence-group", "v,s", "fields.v.aggregate-function", "sum"}
	agg := []string{"merge-engine", "aggregation", "fields.v.aggregate-function", "sum", "fields.g.aggregate-function", "max", "fields.s.aggregate-function", "last_non_null_value", "fields.n.aggregate-function", "last_value",
		"fields.g.ignore-retract", "true"}
	var out []engineTable
	add := func(name string, deletes bool, kv ...string) {
		out = append(out, engineTable{name: name, options: o(kv...), deletes: deletes})
	}
	add("dedup", true)
	add("dedup_index", true, "file-index.bloom-filter.columns", "v,s", "file-index.bloom-filter.v.items", "100", "file-index.bitmap.columns", "n", "file-index.in-manifest-threshold", "300 bytes")
	add("dedup_seq", true, "sequence.field", "g,n")
	add("dedup_seq_desc", true, "sequence.field", "g", "sequence.field.sort-order", "descending")
	add("dedup_ignore", true, "ignore-delete", "true")
	add("dedup_input", true, "changelog-producer", "input")
	add("dedup_lookup", true, "changelog-producer", "lookup")
	add("dedup_lookup_rowdedup", true, "changelog-producer", "lookup", "changelog-producer.row-deduplicate", "true")
	add("dedup_full", true, "changelog-producer", "full-compaction", "num-sorted-run.compaction-trigger", "100")
	add("dedup_dv", true, "deletion-vectors.enabled", "true")
	add("dedup_dv64", true, "deletion-vectors.enabled", "true", "deletion-vectors.bitmap64", "true")
	add("dedup_dv_lookup", true, "deletion-vectors.enabled", "true", "changelog-producer", "lookup")
	add("partial", true, partial...)
	add("partial_plain", false, "merge-engine", "partial-update")
	add("partial_remove", true, "merge-engine", "partial-update", "partial-update.remove-record-on-delete", "true")
	// A key with deletions only remembers them until its row reaches the last
	// level, so that the levels must be the same in Java and here.
	partial = append(partial, "num-levels", "2")
	add("partial_lookup", true, append(partial, "changelog-producer", "lookup")...)
	add("partial_dv", true, append(partial, "deletion-vectors.enabled", "true")...)
	add("agg", true, agg...)
	add("agg_lookup", true, append(agg, "changelog-producer", "lookup")...)
	add("agg_full", true, append(agg, "changelog-producer", "full-compaction", "num-sorted-run.compaction-trigger", "100")...)
	add("agg_dv", true, append(agg, "deletion-vectors.enabled", "true")...)
	add("first", false, "merge-engine", "first-row")
	add("first_lookup", false, "merge-engine", "first-row", "changelog-producer", "lookup")
	add("first_ignore", true, "merge-engine", "first-row", "ignore-delete", "true")
	add("kind", false, "rowkind.field", "s")
	return out
}

func (e engineTable) schema() *catalog.Schema {
	s := &catalog.Schema{Fields: []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}, {Name: "p", Type: catalog.TInt.Required()}, {Name: "g", Type: catalog.TInt},
		{Name: "v", Type: catalog.TBigInt}, {Name: "s", Type: catalog.TString}, {Name: "n", Type: catalog.TInt}},
		PrimaryKeys: []string{"p", "k"}, Options: e.options}
	if e.parts {
		s.PartitionKeys = []string{"p"}
		if e.cross {
			s.PrimaryKeys = []string{"k"}
		}
	}
	return s
}

// rows makes the rows of one commit.
func (e engineTable) rows(r *rand.Rand, keys int) []row {
	out := make([]row, 1+r.IntN(25))
	null := func(s string) string {
		if r.IntN(4) == 0 {
			return ""
		}
		return s
	}
	for i := range out {
		out[i] = row{vals: []string{fmt.Sprint(r.IntN(keys)), fmt.Sprint(r.IntN(2)), null(fmt.Sprint(r.IntN(8))), null(fmt.Sprint(r.IntN(100))),
			null(strings.Repeat("y", 1+r.IntN(4))), null(fmt.Sprint(r.IntN(5)))}}
		if e.deletes && r.IntN(4) == 0 {
			out[i].kind = vector.Delete
		}
		if e.options["rowkind.field"] != "" {
			out[i].vals[4] = []string{"+I", "+U", "-U", "-D"}[r.IntN(4)]
		}
	}
	return out
}

// javaType is a type as the oracle's scripts have it.
func javaSchema(s *catalog.Schema) string {
	type field struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	var fields []field
	for _, f := range s.Fields {
		fields = append(fields, field{f.Name, f.Type.String()})
	}
	parts := s.PartitionKeys
	if parts == nil {
		parts = []string{}
	}
	b, _ := json.Marshal(map[string]any{"op": "create", "table": "default.t", "fields": fields, "primaryKeys": s.PrimaryKeys, "partitionKeys": parts, "options": s.Options})
	return string(b)
}

// javaRows is a write as the oracle's scripts have it.
func (x *table) javaRows(rows []row) string {
	var b strings.Builder
	b.WriteString(`{"op":"write","rows":[`)
	batch := x.batch(rows...)
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		text := rowText(x.schema, batch, i)
		if r.kind != vector.Insert {
			text = fmt.Sprintf(`{%q:%s}`, vector.RowKindString(r.kind), text)
		}
		b.WriteString(text)
	}
	b.WriteString("]}")
	return b.String()
}

// lines returns the lines of a dump after its header, sorted.
func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := strings.Split(strings.TrimSpace(string(b)), "\n")[1:]
	slices.Sort(out)
	return out
}

// TestEnginesJava gives the same commits to Java and to us. Both tables must hold
// the same rows and the same changelog, and Java must find ours in order.
func TestEnginesJava(t *testing.T) {
	program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if program == "" {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon")
	}
	root := t.TempDir()
	var in strings.Builder
	only := os.Getenv("ENGINE")
	for n, e := range engineTables() {
		if only != "" && !strings.HasPrefix(e.name, only) {
			continue
		}
		s := e.schema()
		x := newTable(t, fileio.Local{NoSync: true}, filepath.Join(root, e.name, "default.db", "t"), s)
		r := rand.New(rand.NewPCG(11, uint64(n)))
		script := bytes.NewBufferString(javaSchema(s) + "\n")
		w, c := x.writer(func(c *write.Config) { c.Synchronous = true }), x.committer("cdc")
		for id := int64(1); id <= 12; id++ {
			rows := e.rows(r, 30)
			x.do(w, c, id, rows...)
			fmt.Fprintln(script, x.javaRows(rows))
			if id%4 == 0 && e.options["changelog-producer"] == "full-compaction" {
				x.compactAll(c, 100+id)
				fmt.Fprintln(script, `{"op":"compact","full":true}`)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		x.compactAll(c, 13)
		fmt.Fprintln(script, `{"op":"compact","full":true}`)
		path := filepath.Join(root, e.name, "script.jsonl")
		if err := os.WriteFile(path, script.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		java := filepath.Join(root, e.name, "java")
		want := filepath.Join(root, e.name, "want")
		ours := x.expect("ours", x.read(catalog.Ref{}))
		fmt.Fprintf(&in, "exec\t--warehouse\t%s\t%s\n", java, path)
		fmt.Fprintf(&in, "dump\t%s/default.db/t\t--all\t> %s\n", java, want)
		fmt.Fprintf(&in, "verify\t%s\t%s\n", x.dir, ours)
		fmt.Fprintf(&in, "dump\t%s\t--all\t> %s.got\n", x.dir, want)
		if e.options["changelog-producer"] != "" {
			fmt.Fprintf(&in, "dump\t%s/default.db/t\t--changelog\t--all\t> %s.log\n", java, want)
			fmt.Fprintf(&in, "dump\t%s\t--changelog\t--all\t> %s.got.log\n", x.dir, want)
		}
	}
	cmd := exec.Command(program, "batch")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	for _, l := range strings.Split(string(out), "\n") {
		if strings.HasPrefix(l, "problem") || strings.Contains(l, "xception") {
			t.Error(l)
		}
	}
	if err != nil {
		t.Errorf("Java: %v\n%s", err, out)
	}
	for _, e := range engineTables() {
		if only != "" && !strings.HasPrefix(e.name, only) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			want := filepath.Join(root, e.name, "want")
			same(t, "rows", lines(t, want+".got"), lines(t, want))
			if e.options["changelog-producer"] != "" {
				got, want := lines(t, want+".got.log"), lines(t, want+".log")
				if e.options["changelog-producer"] == "input" { // compactions take ids, too, at other times
					for _, l := range [][]string{got, want} {
						for i := range l {
							_, l[i], _ = strings.Cut(l[i], " ")
						}
						slices.Sort(l)
					}
				}
				same(t, "changelog", got, want)
			}
		})
	}
}

// compactAll compacts everything and commits it.
func (x *table) compactAll(c *commit.Committer, id int64) { x.compact(c, id, true) }

func (x *table) compact(c *commit.Committer, id int64, full bool) {
	x.t.Helper()
	budget := memory.New("test", 0)
	defer func() {
		if budget.Used() != 0 {
			x.t.Errorf("%d bytes are still reserved", budget.Used())
		}
	}()
	ms, err := write.Compact(ctx, write.Config{Files: x.files, Paths: x.paths, Schema: x.schema, Formats: formats, Budget: budget}, write.CompactOptions{Full: full})
	if err != nil {
		x.t.Fatal(err)
	}
	if _, err := c.Commit(ctx, &connector.Committable{Identifier: id, Messages: ms}); err != nil {
		x.t.Fatal(err)
	}
	for _, m := range ms {
		if m.(*commit.Message).CompactionDropped() {
			x.t.Fatal("the compaction was dropped")
		}
	}
}
