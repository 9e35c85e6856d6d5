package maintain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

func (x *table) target(dir string) maintain.Config {
	return maintain.Config{Files: x.mem, Root: dir, Schema: &catalog.Schema{Options: map[string]string{}}, Name: "db.copy"}
}

// state describes what a table's newest snapshot has: "no table", or the names of
// its data and index files; files that are not there are faults.
func (x *table) state(dir string) string {
	x.t.Helper()
	paths := spec.NewPaths(dir, "", x.schema)
	if list, err := x.mem.List(ctx, paths.SchemaDir()); err != nil || len(list) == 0 {
		return "no table"
	}
	store := commit.Store{Files: x.mem, Paths: paths}
	s, err := store.Latest(ctx)
	x.must(err)
	if s == nil {
		return "empty"
	}
	var out []string
	live, err := store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	x.must(err)
	rows := int64(0)
	for i := range live {
		p, err := paths.DataFile(&live[i])
		x.must(err)
		for _, p := range []string{p, p + ".index"} {
			if _, err := x.mem.Stat(ctx, p); err != nil {
				x.t.Fatalf("%s: %v", dir, err)
			}
		}
		if _, err := x.mem.Stat(ctx, paths.Schema(live[i].File.SchemaID)); err != nil {
			x.t.Fatalf("%s: %v", dir, err)
		}
		rows += live[i].File.RowCount
		out = append(out, fmt.Sprintf("%s@%d", live[i].File.FileName, live[i].File.Level))
	}
	idx, err := store.Index(ctx, s)
	x.must(err)
	for i := range idx {
		if _, err := x.mem.Stat(ctx, paths.Index(idx[i].FileName)); err != nil {
			x.t.Fatalf("%s: %v", dir, err)
		}
		out = append(out, idx[i].FileName)
	}
	if rows != *s.TotalRecordCount {
		x.t.Fatalf("%s: %d rows, the snapshot says %d", dir, rows, *s.TotalRecordCount)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestClone copies a table, to a new one and over an existing one, with a crash at
// every change of the store.
func TestClone(t *testing.T) {
	x := newTable(t, map[string]string{"bucket": "1"})
	for i := range 5 {
		x.write()
		if i == 1 {
			x.must(x.maintain().CreateTag(ctx, "early", 0, 0))
		}
		if i == 3 {
			x.compact(true)
		}
	}
	early := x.copied()
	_, _, err := early.maintain().RollbackToTag(ctx, "early")
	x.must(err)
	newest, tagged := x.state("/t"), early.state("/t")
	existing := x.copied()
	existing.must(existing.maintain().Clone(ctx, maintain.CloneSource{Tag: "early"}, existing.target("/c")))
	if got := existing.state("/c"); got != tagged {
		t.Fatalf("the tag's copy has %s, not %s", got, tagged)
	}
	for name, from := range map[string]*table{"new": x, "over": existing} {
		before := from.state("/c")
		for at := 1; ; at++ {
			y := from.copied()
			y.mem.CrashAt((at+1)/2, at%2 == 0)
			err := y.maintain().Clone(ctx, maintain.CloneSource{}, y.target("/c"))
			if !y.mem.Crashed() {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got := y.state("/c"); got != newest {
					t.Fatalf("%s: the copy has %s, not %s", name, got, newest)
				}
				break
			}
			y.mem.Restart()
			if got := y.state("/c"); got != before && got != newest {
				t.Fatalf("%s, crash %d: the copy has %s", name, at, got)
			}
			y.complete(name)
			y.must(y.maintain().Clone(ctx, maintain.CloneSource{}, y.target("/c")))
			if got := y.state("/c"); got != newest {
				t.Fatalf("%s, again after crash %d: the copy has %s, not %s", name, at, got, newest)
			}
		}
	}
	// Back and forth: files come back that the target once had.
	for _, tag := range []string{"", "early", "", "early", "early"} {
		want := newest
		if tag != "" {
			want = tagged
		}
		existing.must(existing.maintain().Clone(ctx, maintain.CloneSource{Tag: tag}, existing.target("/c")))
		if got := existing.state("/c"); got != want {
			t.Fatalf("tag %q: the copy has %s, not %s", tag, got, want)
		}
		existing.onlyOnce("/c")
	}
	tags, err := x.maintain().Tags(ctx)
	if err != nil || len(tags) != 1 {
		t.Errorf("tags %v (%v)", tags, err)
	}
	if err := x.maintain().Clone(ctx, maintain.CloneSource{}, x.target("/t/")); !errs.Is(err, errs.WrongArguments) {
		t.Errorf("to itself: %v", err)
	}
	other := newTable(t, map[string]string{"bucket": "2"})
	other.mem = x.mem
	b, err := spec.MarshalSchema(other.schema)
	x.must(err)
	x.must(x.mem.WriteFile(ctx, "/d/schema/schema-0", b))
	if err := x.maintain().Clone(ctx, maintain.CloneSource{}, x.target("/d")); !errs.Is(err, errs.InvalidTable) || !strings.Contains(err.Error(), "bucket") {
		t.Errorf("to another definition: %v", err)
	}
}

// onlyOnce checks that no file identity that is live has a deletion in the
// manifests: readers may take deletions before additions.
func (x *table) onlyOnce(dir string) {
	x.t.Helper()
	store := commit.Store{Files: x.mem, Paths: spec.NewPaths(dir, "", x.schema)}
	s, err := store.Latest(ctx)
	x.must(err)
	live, err := store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	x.must(err)
	ids := map[spec.FileID]bool{}
	for i := range live {
		ids[live[i].ID()] = true
	}
	metas, err := store.Manifests(ctx, s)
	x.must(err)
	for _, m := range metas {
		x.must(store.Manifest(ctx, m.FileName, func(e *spec.ManifestEntry) error {
			if e.Kind == spec.FileDelete && ids[e.ID()] {
				x.t.Fatalf("%s: the live file %s has a deletion", dir, e.File.FileName)
			}
			return nil
		}))
	}
}

// TestRestoredFilesOnce does the same for rollback_to_as_latest.
func TestRestoredFilesOnce(t *testing.T) {
	x := newTable(t, nil)
	for range 3 {
		x.write()
	}
	x.compact(true)
	for _, id := range []int64{3, 4, 2, 3, 1} {
		_, _, _, err := x.maintain().RestoreAsLatest(ctx, "", id)
		x.must(err)
		x.onlyOnce("/t")
		x.complete("restored")
	}
}

// TestDropAndRestore drops a table with a crash at every change: it is there
// wholly or not at all, and while its files survive it can be restored.
func TestDropAndRestore(t *testing.T) {
	x := newTable(t, nil)
	for range 3 {
		x.write()
	}
	want := x.state("/t")
	restored := 0
	for at := 1; ; at++ {
		y := x.copied()
		y.mem.CrashAt((at+1)/2, at%2 == 0)
		err := maintain.Drop(ctx, y.mem, "/t")
		if !y.mem.Crashed() {
			if err != nil || len(y.mem.Paths()) > 0 {
				t.Fatalf("%v; %q are left", err, y.mem.Paths())
			}
			break
		}
		y.mem.Restart()
		if got := y.state("/t"); got == want {
			continue
		} else if got != "no table" {
			t.Fatalf("crash %d: %s", at, got)
		}
		err = maintain.Restore(ctx, y.target("/t"))
		switch got := y.state("/t"); {
		case err == nil && got == want:
			restored++
		case err != nil && got == "no table" && (errs.Is(err, errs.FilesVanished) || errs.Is(err, errs.UnknownTable)):
		default:
			t.Fatalf("crash %d: restored %s (%v)", at, got, err)
		}
		if err := maintain.Drop(ctx, y.mem, "/t"); err != nil || len(y.mem.Paths()) > 0 {
			t.Fatalf("dropped again: %v; %q are left", err, y.mem.Paths())
		}
	}
	if restored == 0 {
		t.Error("it was never restored")
	}
}
