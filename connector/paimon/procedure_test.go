package paimon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
)

// call runs a procedure and returns its rows as "a|b" lines.
func (l *lake) call(name string, args map[string]string) ([]string, error) {
	l.t.Helper()
	for _, p := range l.catalog.Procedures() {
		if p.Name != name {
			continue
		}
		for a := range args {
			if !slices.ContainsFunc(p.Params, func(x connector.Parameter) bool { return x.Name == a }) {
				l.t.Fatalf("%s has no argument %s", name, a)
			}
		}
		b, err := p.Call(context.Background(), args)
		if err != nil {
			return nil, err
		}
		var types []catalog.Type
		for _, f := range p.Columns {
			types = append(types, f.Type)
		}
		var out []string
		for i := range b.Rows() {
			line := strings.Trim(string(jsonl.AppendRow(nil, b, b.Row(i), types)), "[]\n")
			out = append(out, strings.ReplaceAll(line, `"`, ""))
		}
		return out, nil
	}
	l.t.Fatalf("there is no procedure %s", name)
	return nil, nil
}

// TestProcedures calls procedures one after the other; Java Paimon reads the
// table after each, finds no fault, and the same rows.
func TestProcedures(t *testing.T) {
	root := t.TempDir()
	l := newLakeAt(t, fileio.Local{NoSync: true}, root, nil)
	tb := l.create("t", map[string]string{"bucket": "2", paimonMaintenance: "false", "tag.automatic-creation": "process-time", "tag.num-retained-max": "2"})
	for i := range 8 {
		l.put(tb, []string{"2024-01-01", "2024-01-02", "x"}[i%3], fmt.Sprint("v", i), i%4, i, i+1)
	}
	at8 := l.rows(tb, catalog.Ref{})
	at3 := l.rows(tb, catalog.Ref{Kind: catalog.BySnapshot, ID: 3})
	at5 := l.rows(tb, catalog.Ref{Kind: catalog.BySnapshot, ID: 5})
	without := func(rows []string, p string) []string {
		return slices.DeleteFunc(slices.Clone(rows), func(r string) bool { return strings.Contains(r, p) })
	}
	type args = map[string]string
	var script strings.Builder
	expected := map[string][]string{}
	for i, c := range []struct {
		name   string
		args   args
		result string
		rows   []string
	}{
		{"create_tag", args{"tag": "three", "snapshot_id": "3", "time_retained": "365 d"}, "Success", at8},
		{"create_tag", args{"tag": "now"}, "Success", at8},
		{"replace_tag", args{"tag": "now", "snapshot_id": "5"}, "Success", at8},
		{"rename_tag", args{"tag": "now", "target_tag": "five"}, "Rename [now] to [five] successfully.", at8},
		{"compact", args{"compact_strategy": "full"}, "Success", at8},
		{"compact_manifest", nil, "success", at8},
		{"reset_consumer", args{"consumer_id": "c", "next_snapshot_id": "2"}, "Success", at8},
		{"expire_snapshots", args{"retain_max": "2", "retain_min": "2"}, "1", at8},
		{"clear_consumers", nil, "Success", at8},
		{"expire_snapshots", args{"retain_max": "3", "retain_min": "3", "older_than": "2000-01-01 00:00:00"}, "*", at8},
		{"rollback_to_as_latest", args{"tag": "five"}, "*", at5},
		{"create_branch", args{"branch": "b", "tag": "three"}, "Success", at5},
		{"drop_partition", args{"partitions": "p=x;p=2024-01-02"}, "Success", without(without(at5, `"x"`), "2024-01-02")},
		{"rollback_to", args{"tag": "five"}, "*", at5},
		{"expire_partitions", args{"expiration_time": "1 d", "timestamp_formatter": "yyyy-MM-dd", "max_expires": "1"}, "p=2024-01-01", without(at5, "2024-01-01")},
		{"mark_partition_done", args{"partitions": "p=x"}, "Success", without(at5, "2024-01-01")},
		{"fast_forward", args{"branch": "b"}, "Success", at3},
		{"delete_branch", args{"branch": "b"}, "Success", at3},
		{"delete_tag", args{"tag": "three"}, "Success", at3},
		{"trigger_tag_automatic_creation", nil, "Success", at3},
		{"remove_orphan_files", args{"dry_run": "true"}, "0 0", at3},
		{"repair", nil, "Success", at3},
		{"clone", args{"database": "db", "table": "t", "target_database": "archive", "target_table": "copy", "target_warehouse": "file://" + root + "-cold/"}, "Success", at3},
		{"purge_files", nil, "Success", nil},
	} {
		if c.args == nil {
			c.args = args{}
		}
		if c.name != "clone" {
			c.args["table"] = "db.t"
		}
		got, err := l.call(c.name, c.args)
		if err != nil {
			t.Fatalf("%d: %s %v: %v", i, c.name, c.args, err)
		}
		if s := strings.Join(got, " "); s != c.result && c.result != "*" {
			t.Errorf("%d: %s %v gives %q, not %q", i, c.name, c.args, s, c.result)
		}
		if rows := l.rows(tb, catalog.Ref{}); !slices.Equal(rows, c.rows) {
			t.Fatalf("%d: after %s %v: %q\nwant %q", i, c.name, c.args, rows, c.rows)
		}
		dir, from := filepath.Join(root, fmt.Sprintf("step%d.db", i), "t"), filepath.Join(root, "db.db", "t")
		if c.name == "clone" {
			from = root + "-cold/archive.db/copy"
			defer os.RemoveAll(root + "-cold")
		}
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		expected[dir] = c.rows
		fmt.Fprintf(&script, "verify\t%s\t> %s.verified\ndump\t%s\t--all\t> %s.rows\n", dir, dir, dir, dir)
	}
	javaPaimon(t).must(t, script.String())
	for dir, want := range expected {
		if b, err := os.ReadFile(dir + ".verified"); err != nil || !strings.Contains(string(b), " 0 problems") {
			t.Errorf("Java finds faults: %v\n%s", err, b)
		}
		b, err := os.ReadFile(dir + ".rows")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")[1:]
		slices.Sort(lines)
		if len(want) == 0 {
			want = []string{}
		}
		if !slices.Equal(lines, want) {
			t.Errorf("Java reads of %s %q\nwant %q", filepath.Base(filepath.Dir(dir)), lines, want)
		}
	}
}

const paimonMaintenance = "thermocline.maintenance"

// TestProcedureErrors checks that mistakes are named.
func TestProcedureErrors(t *testing.T) {
	l := newLake(t, fileio.NewMemory(), nil)
	tb := l.create("t", map[string]string{"bucket": "1"})
	l.put(tb, "a", "v", 1)
	type args = map[string]string
	for i, c := range []struct {
		name string
		args args
		kind errs.Kind
	}{
		{"create_tag", args{"table": "db.nope", "tag": "x"}, errs.UnknownTable},
		{"create_tag", args{"table": "t", "tag": "x"}, errs.WrongArguments},
		{"create_tag", args{"table": "db.t", "tag": "x", "snapshot_id": "9"}, errs.UnknownSnapshot},
		{"create_tag", args{"table": "db.t", "tag": "a/b"}, errs.WrongArguments},
		{"create_tag", args{"table": "db.t", "tag": "x", "time_retained": "soon"}, errs.WrongArguments},
		{"replace_tag", args{"table": "db.t", "tag": "none"}, errs.UnknownSnapshot},
		{"create_branch", args{"table": "db.t", "branch": "1"}, errs.WrongArguments},
		{"create_branch", args{"table": "db.t", "branch": "main"}, errs.WrongArguments},
		{"delete_branch", args{"table": "db.t", "branch": "none"}, errs.UnknownTable},
		{"rollback_to", args{"table": "db.t"}, errs.WrongArguments},
		{"rollback_to", args{"table": "db.t", "snapshot_id": "7"}, errs.UnknownSnapshot},
		{"rollback_to_timestamp", args{"table": "db.t", "timestamp": "5"}, errs.UnknownSnapshot},
		{"drop_partition", args{"table": "db.t", "partitions": "q=1"}, errs.UnknownColumn},
		{"drop_partition", args{"table": "db.t", "partitions": "p"}, errs.WrongArguments},
		{"remove_orphan_files", args{"table": "db.t", "older_than": "2999-01-01"}, errs.WrongArguments},
		{"restore_table", args{"table": "db.t"}, errs.TableExists},
		{"restore_table", args{"table": "db.gone"}, errs.UnknownTable},
		{"compact", args{"table": "db.t", "order_strategy": "zorder"}, errs.NotSupported},
		{"migrate_table", args{}, errs.NotSupported},
		{"clone", args{"database": "db", "table": "t"}, errs.WrongArguments},
		{"clone", args{"catalog_conf": "x=y"}, errs.NotSupported},
	} {
		if _, err := l.call(c.name, c.args); !errs.Is(err, c.kind) {
			t.Errorf("%d: %s %v: %v (%s), want %s", i, c.name, c.args, err, errs.KindOf(err), c.kind)
		}
	}
	for _, p := range l.catalog.Procedures() {
		if p.Name != strings.ToLower(p.Name) || p.Call == nil || len(p.Columns) == 0 {
			t.Errorf("procedure %+v", p)
		}
		seen := map[string]bool{}
		for _, a := range p.Params {
			if seen[a.Name] {
				t.Errorf("%s has the argument %s twice", p.Name, a.Name)
			}
			seen[a.Name] = true
		}
	}
	if n := len(l.catalog.Procedures()); n < 40 {
		t.Errorf("%s procedures", strconv.Itoa(n))
	}
}
