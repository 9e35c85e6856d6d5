package paimon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// script runs the scripts of the oracle's `exec` against a table of ours.
type script struct {
	*lake
	id     catalog.Identifier
	commit int64
}

// step is one line of a script.
type step struct {
	Op          string                       `json:"op"`
	Fields      json.RawMessage              `json:"fields"`
	PrimaryKeys []string                     `json:"primaryKeys"`
	Partitions  json.RawMessage              `json:"partitions"`
	Keys        []string                     `json:"partitionKeys"`
	Options     map[string]string            `json:"options"`
	Rows        []json.RawMessage            `json:"rows"`
	Overwrite   map[string]*string           `json:"overwrite"`
	Bucket      *int                         `json:"bucket"`
	FullCompact bool                         `json:"full-compact"`
	Full        bool                         `json:"full"`
	Changes     []map[string]json.RawMessage `json:"changes"`
	Name        string                       `json:"name"`
	Snapshot    int64                        `json:"snapshot"`
	Tag         string                       `json:"tag"`
	Max         int64                        `json:"max"`
	Min         int64                        `json:"min"`
	Retain      int64                        `json:"retain-ms"`
	Column      string                       `json:"column"`
	Values      []json.RawMessage            `json:"values"`
	Next        int64                        `json:"next"`
	In          *string                      `json:"in"`
}

func (h *script) table() (*paimon.Table, error) {
	t, err := h.catalog.Table(context.Background(), h.id)
	if err != nil {
		return nil, err
	}
	return t.(*paimon.Table), nil
}

// run runs one line.
func (h *script) run(line string) error {
	ctx := context.Background()
	var s step
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		return err
	}
	if s.Op == "create" {
		schema := &catalog.Schema{PrimaryKeys: s.PrimaryKeys, PartitionKeys: s.Keys, Options: s.Options}
		var fields []struct {
			Name        string       `json:"name"`
			Type        catalog.Type `json:"type"`
			Description string       `json:"description"`
		}
		if err := json.Unmarshal(s.Fields, &fields); err != nil {
			return err
		}
		for _, f := range fields {
			schema.Fields = append(schema.Fields, catalog.Field{Name: f.Name, Type: f.Type, Comment: f.Description})
		}
		schema.Options[paimonMaintenance] = "false"
		_, err := h.catalog.CreateTable(ctx, h.id, schema, false)
		return err
	}
	if strings.Contains(line, `"in":`) {
		h.id.Branch = ""
		if s.In != nil {
			h.id.Branch = *s.In
		}
	}
	t, err := h.table()
	if err != nil {
		return err
	}
	qualified := h.id.Database + "." + h.id.Table
	if h.id.Branch != "" {
		qualified += "$branch_" + h.id.Branch
	}
	procedure := func(name string, args map[string]string) error {
		args["table"] = qualified
		_, err := h.call(name, args)
		return err
	}
	switch s.Op {
	case "write":
		return h.write(t, &s)
	case "compact":
		strategy := "minor"
		if s.Full {
			strategy = "full"
		}
		return procedure("compact", map[string]string{"compact_strategy": strategy})
	case "compact-manifests":
		return procedure("compact_manifest", map[string]string{})
	case "tag":
		a := map[string]string{"tag": s.Name}
		if s.Snapshot > 0 {
			a["snapshot_id"] = strconv.FormatInt(s.Snapshot, 10)
		}
		return procedure("create_tag", a)
	case "delete-tag":
		return procedure("delete_tag", map[string]string{"tag": s.Name})
	case "rollback":
		if s.Tag != "" {
			return procedure("rollback_to", map[string]string{"tag": s.Tag})
		}
		return procedure("rollback_to", map[string]string{"snapshot_id": strconv.FormatInt(s.Snapshot, 10)})
	case "expire":
		a := map[string]string{}
		for k, n := range map[string]int64{"retain_max": s.Max, "retain_min": s.Min} {
			if n > 0 {
				a[k] = strconv.FormatInt(n, 10)
			}
		}
		if strings.Contains(line, "retain-ms") {
			a["older_than"] = time.Now().UTC().Add(-time.Duration(s.Retain) * time.Millisecond).Format("2006-01-02 15:04:05.000")
		}
		return procedure("expire_snapshots", a)
	case "branch":
		return procedure("create_branch", map[string]string{"branch": s.Name, "tag": s.Tag})
	case "use":
		return nil
	case "delete-where":
		return h.deleteWhere(t, &s)
	case "truncate":
		k := &connector.Committable{Overwrite: true}
		if len(s.Partitions) > 0 {
			return errs.Unsupportedf(-1, "partitions in a script's truncate")
		}
		return h.put(t, k)
	case "alter":
		return h.alter(&s)
	case "sleep", "analyze":
		return nil
	}
	return errs.Unsupportedf(-1, "the script's operation %s", s.Op)
}

func (h *script) put(t *paimon.Table, k *connector.Committable) error {
	c, err := t.NewCommit(context.Background(), "history")
	if err != nil {
		return err
	}
	h.commit++
	k.Identifier = h.commit
	_, err = c.Commit(context.Background(), k)
	return err
}

func (h *script) write(t *paimon.Table, s *step) error {
	ctx := context.Background()
	if s.Bucket != nil {
		return errs.Unsupportedf(-1, "a bucket in a script's write")
	}
	schema := t.Schema()
	b := &vector.Batch{Seq: -1}
	for _, f := range schema.Fields {
		b.Cols = append(b.Cols, f.Type.NewVec(len(s.Rows)))
	}
	for _, raw := range s.Rows {
		kind := vector.Insert
		if raw[0] == '{' {
			var o map[string]json.RawMessage
			if err := json.Unmarshal(raw, &o); err != nil {
				return err
			}
			for k, v := range o {
				kind, raw = map[string]vector.RowKind{"+I": vector.Insert, "-U": vector.UpdateBefore, "+U": vector.UpdateAfter, "-D": vector.Delete}[k], v
			}
		}
		var row []json.RawMessage
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		if len(row) != len(schema.Fields) {
			return fmt.Errorf("a row of %d values for %d columns", len(row), len(schema.Fields))
		}
		for i, f := range schema.Fields {
			if err := appendJSON(b.Cols[i], row[i], f.Type); err != nil {
				return fmt.Errorf("%s %s: %w", f.Name, row[i], err)
			}
		}
		b.Kinds = append(b.Kinds, kind)
		b.Len++
	}
	w, err := t.NewWrite(ctx, connector.WriteOptions{CommitUser: "history", NoCompaction: s.Options["write-only"] == "true", Overwrite: s.Overwrite != nil})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Write(ctx, b); err != nil {
		return err
	}
	m, err := w.PrepareCommit(ctx)
	if err != nil {
		return err
	}
	k := &connector.Committable{Messages: m}
	if s.Overwrite != nil {
		k.Overwrite, k.OverwriteIn = true, s.Overwrite
		k.OverwriteDynamic = len(s.Overwrite) == 0 && len(schema.PartitionKeys) > 0
	}
	if err := h.put(t, k); err != nil {
		return err
	}
	if s.FullCompact {
		_, err = h.call("compact", map[string]string{"table": h.id.Database + "." + h.id.Table, "compact_strategy": "full"})
	}
	return err
}

// deleteWhere deletes the rows of an append table in which a column has one of
// the values.
func (h *script) deleteWhere(t *paimon.Table, s *step) error {
	ctx := context.Background()
	snap, err := t.Snapshot(ctx, catalog.Ref{})
	if err != nil || snap.Version() == 0 {
		return err
	}
	change, err := t.NewRowChange(ctx, snap, connector.WriteOptions{CommitUser: "history"})
	if err != nil {
		return err
	}
	defer change.Close()
	rows := change.Rows()
	at := rows.Schema().Column(s.Column)
	typ := rows.Schema().Fields[at].Type
	want := typ.NewVec(len(s.Values))
	for _, v := range s.Values {
		if err := appendJSON(want, v, typ); err != nil {
			return err
		}
	}
	plan, err := rows.Plan(ctx, connector.ScanRequest{Columns: []int{at, len(rows.Schema().Fields) - 1}})
	if err != nil {
		return err
	}
	for _, sp := range plan.Splits {
		r, err := sp.Open(ctx)
		if err != nil {
			return err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				r.Close()
				return err
			}
			if b == nil {
				break
			}
			addresses := vector.New(vector.I64, 0)
			for i := range b.Rows() {
				k := b.Row(i)
				for j := range want.Len {
					if !b.Cols[0].IsNull(k) && vector.Compare(b.Cols[0], k, want, j) == 0 {
						addresses.AppendFrom(b.Cols[1], k)
						break
					}
				}
			}
			if addresses.Len > 0 {
				if err := change.Delete(ctx, addresses, nil); err != nil {
					r.Close()
					return err
				}
			}
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	m, err := change.PrepareCommit(ctx)
	if err != nil {
		return err
	}
	return h.put(t, &connector.Committable{Messages: m, ReadVersion: snap.Version()})
}

func (h *script) alter(s *step) error {
	var out []catalog.SchemaChange
	for _, c := range s.Changes {
		text := func(k string) (x string) {
			_ = json.Unmarshal(c[k], &x)
			return x
		}
		var path []string
		if json.Unmarshal(c["column"], &path) != nil {
			path = []string{text("column")}
		}
		x := catalog.SchemaChange{Path: path}
		switch what := text("do"); what {
		case "add", "move":
			x.Kind = catalog.AddColumn
			if what == "move" {
				x.Kind = catalog.SetColumnPosition
			}
			if c["first"] != nil || c["last"] != nil || c["after"] != nil || c["before"] != nil {
				x.Position = &catalog.ColumnPosition{First: c["first"] != nil, Last: c["last"] != nil, After: text("after"), Before: text("before")}
			}
			if what == "add" {
				if err := json.Unmarshal(c["type"], &x.Type); err != nil {
					return err
				}
			}
		case "rename":
			x.Kind, x.Name = catalog.RenameColumn, text("to")
		case "drop":
			x.Kind = catalog.DropColumn
		case "type":
			x.Kind, x.KeepNullability = catalog.SetColumnType, true
			if err := json.Unmarshal(c["type"], &x.Type); err != nil {
				return err
			}
		case "nullable":
			x.Kind, x.Nullable = catalog.SetColumnNullable, string(c["value"]) == "true"
		case "set":
			v := text("value")
			x = catalog.SchemaChange{Kind: catalog.SetOption, Name: text("key"), Value: &v}
		case "reset":
			x = catalog.SchemaChange{Kind: catalog.RemoveOption, Name: text("key")}
		case "describe":
			v := text("value")
			x.Kind, x.Value = catalog.SetColumnComment, &v
		default:
			return errs.Unsupportedf(-1, "the script's change %s", what)
		}
		out = append(out, x)
	}
	return h.catalog.AlterTable(context.Background(), h.id, out)
}

// writable makes a script one for tables whose files we write: Parquet ones.
func writable(line string) string {
	for _, f := range []string{"orc", "avro"} {
		line = strings.ReplaceAll(line, `"file.format":"`+f+`"`, `"file.format":"parquet"`)
		line = strings.ReplaceAll(line, `"key":"file.format","value":"`+f+`"`, `"key":"file.format","value":"parquet"`)
		line = strings.ReplaceAll(line, `"manifest.format":"`+f+`"`, `"manifest.format":"avro"`)
	}
	line = strings.ReplaceAll(line, `"manifest.format":"parquet"`, `"manifest.format":"avro"`)
	if i := strings.Index(line, `"file.format.per.level":"`); i >= 0 && strings.HasPrefix(line, `{"op":"create"`) {
		j := i + len(`"file.format.per.level":"`)
		line = line[:j] + "0:parquet" + line[j+strings.IndexByte(line[j:], '"'):]
	}
	return line
}

// byTag makes the rollbacks of a script ones to the state before the last write:
// snapshots are numbered as compactions come, which is not the script's business.
func byTag(lines []string) (out []string) {
	at, n := 2, 0 // behind the first write
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, `{"op":"rollback"`):
			name := fmt.Sprintf("r%d", n)
			n++
			out = slices.Insert(out, at, `{"op":"tag","name":"`+name+`"}`)
			l = `{"op":"rollback","tag":"` + name + `"}`
			at = len(out) + 1
		case strings.HasPrefix(l, `{"op":"write"`) && len(out) > 1:
			at = len(out)
		}
		out = append(out, l)
	}
	return out
}

// branched adds a branch to a script: some of its writes are made there too.
func branched(lines []string) []string {
	var writes []int
	from := 0
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, `{"op":"alter"`), strings.HasPrefix(l, `{"op":"rollback"`):
			writes = nil // other columns; a tag that goes
		case strings.HasPrefix(l, `{"op":"write"`) && (len(writes) > 0 || strings.Contains(l, `"rows":[[`) || strings.Contains(l, `{"+U"`)):
			// The first makes a snapshot, whose columns the branch has: one of
			// deletions that are ignored makes none.
			writes = append(writes, i)
		}
	}
	if len(writes) < 2 {
		return lines
	}
	from = writes[0]
	dynamic := strings.Contains(lines[0], `"bucket":"-1"`) && !strings.Contains(lines[0], `"primaryKeys":[]`)
	out := slices.Clone(lines[:from+1])
	out = append(out, `{"op":"tag","name":"b"}`, `{"op":"branch","name":"b","tag":"b"}`)
	for n, i := range writes {
		if i > from {
			out = append(out, lines[from+1:i+1]...)
			from = i
		}
		l := `{"in":"b",` + lines[i][1:]
		if n == 1 && !dynamic && !strings.Contains(l, `"overwrite"`) {
			l = strings.Replace(l, `"op":"write",`, `"op":"write","overwrite":{},`, 1)
		}
		out = append(out, l)
		if n%3 == 2 {
			out = append(out, `{"op":"compact","full":true}`)
		}
		out = append(out, `{"op":"use","in":null}`)
		if n == 4 {
			break
		}
	}
	return append(out, lines[from+1:]...)
}

// TestJavaHistories lets the oracle draw random tables and histories of writes,
// deletions, schema changes, compactions, tags, rollbacks and expiry, and runs
// them here. A third of them begins in Java and goes on here, a third the other
// way round. Java must read from every snapshot and tag what we read, find no
// fault in the table, and the newest rows and the tags must be those that Java
// itself came to where the merge engine has one right answer. pypaimon must read
// the newest rows and the tags too, unless it fails on the table that Java made of
// the same script.
//
// THERMOCLINE_HISTORIES is how many, from THERMOCLINE_RANDOM_SEED on,
// THERMOCLINE_RANDOM_STEPS how long, 0 for 30 to 100. THERMOCLINE_KEEP is a folder
// that keeps those that fail.
func TestJavaHistories(t *testing.T) {
	h := &histories{T: t, java: javaPaimon(t), refused: map[string]int{}, python: map[string]int{},
		steps: fromEnv(t, "THERMOCLINE_RANDOM_STEPS", 8)}
	n, first := fromEnv(t, "THERMOCLINE_HISTORIES", 30), fromEnv(t, "THERMOCLINE_RANDOM_SEED", 1)
	chunk := 30 // on disk at once
	if h.steps == 0 {
		chunk = 6
	}
	for from := first; from < first+n; from += chunk {
		h.root = os.Getenv("THERMOCLINE_KEEP")
		if h.root == "" {
			h.root = t.TempDir()
		}
		h.run(from, min(from+chunk, first+n))
	}
	t.Logf("%d histories of %d lines: %d states read equal by Java and us, %d of them compared with Java's own table; pypaimon: %v; refused: %v",
		h.tables, h.lines, h.states, h.same, h.python, h.refused)
	if h.tables == 0 {
		t.Error("nothing was compared")
	}
}

// histories are those of some seeds, each in a folder below root of the seed's
// name: java is what Java made of the script, ours what the two made of it.
type histories struct {
	*testing.T
	java            *oracle
	root            string
	steps           int
	bad             map[int]bool
	refused, python map[string]int

	tables, lines, states, same int
}

func (h *histories) fail(seed int, format string, args ...any) {
	h.Helper()
	h.bad[seed] = true
	h.Errorf("seed %d: "+format, append([]any{seed}, args...)...)
}

// dir is a path below the folder of a seed.
func (h *histories) dir(seed int, path string) string {
	return filepath.Join(h.root, strconv.Itoa(seed), path)
}

// seen is the path of a file with the rows that Java reads of a table.
func (h *histories) seen(seed int, table string) string {
	return filepath.Join(h.root, "seen", strconv.Itoa(seed), table)
}

// exec is the command that lets Java run a script over our table.
func (h *histories) exec(seed int, name string, lines []string) string {
	h.Helper()
	path := h.dir(seed, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		h.Fatal(err)
	}
	return fmt.Sprintf("exec\t--warehouse\t%s\t%s\n", h.dir(seed, "ours"), path)
}

// ask lets Java run the commands of the seeds that have some, and drops those
// whose commands fail.
func (h *histories) ask(seeds []int, command func(seed int) string) (done []int) {
	h.Helper()
	var batch strings.Builder
	for _, seed := range seeds {
		batch.WriteString(command(seed))
	}
	for _, f := range h.java.batch(h.T, batch.String()) {
		if strings.HasPrefix(f, "FAILED verify") {
			continue // it said why
		}
		found := false
		for _, seed := range seeds {
			if strings.Contains(f, h.dir(seed, "")+"/") {
				h.fail(seed, "%s", f)
				found = true
			}
		}
		if !found {
			h.Error(f)
		}
	}
	for _, seed := range seeds {
		if !h.bad[seed] {
			done = append(done, seed)
		}
	}
	return done
}

func (h *histories) run(from, to int) {
	h.bad = map[int]bool{}
	var seeds []int
	for seed := from; seed < to; seed++ {
		seeds = append(seeds, seed)
		os.RemoveAll(h.dir(seed, "")) // of a run before, where they are kept
		defer func() {
			if !h.bad[seed] {
				os.RemoveAll(h.dir(seed, ""))
			}
			os.RemoveAll(h.seen(seed, ""))
		}()
	}
	seeds = h.ask(seeds, func(seed int) string {
		c := fmt.Sprintf("random\t--seed\t%d\t--dir\t%s\t--quiet", seed, h.dir(seed, "java"))
		if h.steps > 0 {
			c += fmt.Sprintf("\t--steps\t%d", h.steps)
		}
		return c + "\n"
	})

	// Scripts, cut in two where Java has a part.
	scripts := map[int][2][]string{}
	seeds = h.ask(seeds, func(seed int) string {
		b, err := os.ReadFile(h.dir(seed, "java/script.jsonl"))
		if err != nil {
			h.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(writable(string(b))), "\n")
		lines = byTag(lines)
		// Java's expiry of a branch removes changelogs that the main branch has still.
		javaBegins := seed%3 == 1
		if seed%2 == 0 && !(javaBegins && strings.Contains(lines[0], `"changelog-producer"`) && strings.Contains(lines[0], `"snapshot.num-retained`)) {
			lines = branched(lines)
		}
		switch cut := len(lines) / 2; seed % 3 {
		case 1: // Java begins
			scripts[seed] = [2][]string{lines[:cut], lines[cut:]}
			return h.exec(seed, "begin.jsonl", lines[:cut])
		case 2: // Java ends
			scripts[seed] = [2][]string{lines[:cut], lines[cut:]}
		default:
			scripts[seed] = [2][]string{nil, lines}
		}
		return ""
	})
	var going []int
	for _, seed := range seeds {
		part := scripts[seed][1]
		if seed%3 == 2 {
			part = scripts[seed][0]
		}
		err := ours(h.T, h.dir(seed, "ours"), part)
		switch {
		case errs.ClassOf(err) == errs.Unsupported:
			h.refused[err.Error()]++
		case err != nil:
			h.fail(seed, "%v", err)
		default:
			going = append(going, seed)
		}
	}
	going = h.ask(going, func(seed int) string {
		if seed%3 != 2 {
			return ""
		}
		return h.exec(seed, "end.jsonl", append([]string{`{"op":"use","table":"default.t"}`}, scripts[seed][1]...))
	})

	// Java looks.
	const table = "ours/default.db/t"
	refs := map[int]map[string]catalog.Ref{} // by the name of the file that Java's rows are in
	going = h.ask(going, func(seed int) string {
		var c strings.Builder
		dir := h.dir(seed, table)
		refs[seed] = map[string]catalog.Ref{}
		for _, to := range []string{"ours/default.db", "java/warehouse/default.db"} {
			if err := os.MkdirAll(h.seen(seed, to), 0o755); err != nil {
				h.Fatal(err)
			}
		}
		look := func(file string, ref catalog.Ref, option string) {
			refs[seed][file] = ref
			fmt.Fprintf(&c, "dump\t%s%s\t> %s\n", dir, option, file)
		}
		look(h.seen(seed, table+".jsonl"), catalog.Ref{}, "")
		for _, e := range list(h.T, filepath.Join(dir, "snapshot"), "snapshot-") {
			id, err := strconv.ParseInt(e, 10, 64)
			if err != nil {
				h.Fatal(err)
			}
			look(h.dir(seed, "snapshot-"+e+".jsonl"), catalog.Ref{Kind: catalog.BySnapshot, ID: id}, "\t--snapshot\t"+e)
		}
		for _, e := range list(h.T, filepath.Join(dir, "tag"), "tag-") {
			look(h.seen(seed, table+".tag-"+e+".jsonl"), catalog.Ref{Kind: catalog.ByTag, Name: e}, "\t--tag\t"+e)
		}
		if _, err := os.Stat(filepath.Join(dir, "branch")); err == nil {
			look(h.dir(seed, "branch.jsonl"), catalog.Ref{}, "\t--branch\tb")
		}
		fmt.Fprintf(&c, "verify\t%s\t> %s\n", dir, h.dir(seed, "verified"))
		return c.String()
	})
	// A table in which Java finds faults is told of by what it says.
	for _, seed := range going {
		if b, err := os.ReadFile(h.dir(seed, "verified")); err != nil {
			h.fail(seed, "%v", err)
		} else if faulty(string(b), slices.Concat(scripts[seed][0], scripts[seed][1])) {
			h.fail(seed, "Java finds faults:\n%s", b)
		}
	}
	for _, seed := range going {
		h.tables++
		h.lines += len(scripts[seed][0]) + len(scripts[seed][1])
		for name, ref := range refs[seed] {
			h.states++
			e := testkit.Expected{Path: name, Table: "default.db/t", Ref: ref}
			if strings.HasSuffix(name, "/branch.jsonl") {
				e.Branch = "b"
			}
			read := func(want string) string {
				got, err := outcome(newDriver(), h.dir(seed, "ours"), e, testkit.LoadRows(h.T, want), scanOptions{})
				if err != nil {
					return err.Error()
				}
				return got
			}
			if got := read(name); got != "equal" {
				h.fail(seed, "%s: we read other rows than Java: %s", filepath.Base(name), got)
			}
			want := h.dir(seed, "java/expected/latest.jsonl")
			switch {
			case ref.Kind == catalog.BySnapshot || e.Branch != "":
				continue
			case ref.Kind == catalog.ByTag:
				want = h.dir(seed, "java/expected/tag-"+ref.Name+".jsonl")
			}
			if _, err := os.Stat(want); err != nil {
				continue
			}
			if err := os.Link(want, strings.Replace(name, "/ours/", "/java/warehouse/", 1)); err != nil {
				h.Fatal(err)
			}
			if !oneAnswer(scripts[seed]) {
				continue
			}
			h.same++
			if got := read(want); got != "equal" {
				h.fail(seed, "%v: Java's table has other rows than ours: %s", ref, got)
			}
		}
	}
	h.pypaimon(scripts)
}

// faulty reports whether a verifier's answer tells of faults. It compares bounds of
// old files in the newest type, so that those of a column that became a STRING are
// in another order, in Java's own tables too.
func faulty(answer string, script []string) bool {
	for l := range strings.Lines(answer) {
		l = strings.TrimSpace(l)
		column, bounds := "", false
		if _, rest, ok := strings.Cut(l, ".parquet column "); ok {
			column, rest, _ = strings.Cut(rest, ": ")
			bounds = strings.Contains(rest, " the recorded m")
		}
		text := slices.ContainsFunc(script, func(s string) bool {
			return strings.Contains(s, `"do":"type","column":"`+column+`","type":"STRING"`)
		})
		if strings.HasPrefix(l, "problem: ") && !(bounds && text) {
			return true
		}
	}
	return !strings.HasPrefix(answer, "OK: ") && !strings.Contains(answer, "BAD: ")
}

// pypaimon reads the tables that Java has read. It knows no deletion vectors of 64
// bits, which one of the two tables may have and the other not.
func (h *histories) pypaimon(scripts map[int][2][]string) {
	program := os.Getenv("THERMOCLINE_PYPAIMON")
	if program == "" {
		return
	}
	// Its exit status is 1 if it failed to read one.
	out, _ := exec.Command(program, testkit.Shared(h.T, "oracles/pypaimon/dump.py"), "--compare-tree", h.root, filepath.Join(h.root, "seen")).Output()
	said := map[string]string{}
	for l := range strings.Lines(string(out)) {
		verdict, rest, _ := strings.Cut(l, "\t")
		path, _, _ := strings.Cut(rest, "\t")
		said[path] = verdict
		if !strings.Contains(path, "/ours/") {
			continue // read before ours
		}
		h.python[verdict]++
		if verdict != "same" && said[strings.Replace(path, "/ours/", "/java/warehouse/", 1)] == "same" {
			name, _, _ := strings.Cut(path, "/")
			seed, err := strconv.Atoi(name)
			if err != nil {
				h.Fatal(err)
			}
			if strings.Contains(l, "was expecting a tuple") {
				continue // it merges no MAPs; Java's table was compacted when ours was not
			}
			if s := scripts[seed]; strings.Contains(append(slices.Clone(s[0]), s[1]...)[0], `"deletion-vectors.bitmap64"`) {
				continue
			}
			h.fail(seed, "pypaimon reads Java's table, and not ours: %s", l)
		}
	}
}

// oneAnswer reports whether the rows of a history do not depend on when the table
// was compacted. A removed record is remembered only until it reaches the last
// level, which an older one by the sequence field, or of a merge engine that
// retracts, can tell; first-row shows no rows before; and rollbacks are
// other ones than Java's. A compaction with lookups, which the sizes of files
// decide, merges even one row, and that makes another one of a sequence group
// without an ordering value and of an empty text under listagg.
func oneAnswer(s [2][]string) bool {
	lines := append(slices.Clone(s[0]), s[1]...)
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"op":"rollback"`) }) ||
		strings.Contains(lines[0], `"merge-engine":"first-row"`) {
		return false
	}
	lookups := strings.Contains(lines[0], `"changelog-producer":"lookup"`) || strings.Contains(lines[0], `"deletion-vectors.enabled":"true"`)
	if lookups && (strings.Contains(lines[0], ".sequence-group") || strings.Contains(lines[0], `"listagg"`)) {
		return false
	}
	if strings.Contains(lines[0], `"ignore-delete":"true"`) {
		return true
	}
	for _, e := range []string{`"merge-engine":"partial-update"`, `"merge-engine":"aggregation"`, `"sequence.field"`} {
		if strings.Contains(lines[0], e) {
			return false
		}
	}
	return true
}

// ours runs a script over a warehouse.
func ours(t *testing.T, root string, lines []string) error {
	files := fileio.Local{NoSync: true}
	h := &script{lake: newLakeAt(t, files, root, nil), id: catalog.Identifier{Database: "default", Table: "t"}, commit: math.MaxInt32}
	if err := h.catalog.CreateDatabase(context.Background(), "default", true); err != nil {
		return err
	}
	for i, line := range lines {
		if err := h.run(line); err != nil {
			if len(line) > 200 {
				line = line[:200] + "…"
			}
			if errs.ClassOf(err) == errs.Unsupported {
				return err
			}
			return fmt.Errorf("line %d, %s: %w", i+1, line, err)
		}
	}
	return nil
}

// list returns the names in a folder that begin with a prefix, without it.
func list(t *testing.T, dir, prefix string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if s, ok := strings.CutPrefix(e.Name(), prefix); ok {
			out = append(out, s)
		}
	}
	return out
}
