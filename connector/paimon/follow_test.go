package paimon_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

// follow starts a stream that looks for snapshots every millisecond.
func follow(tb connector.Readable, options ...string) (connector.Stream, error) {
	o := map[string]string{"continuous.discovery-interval": "1 ms"}
	for i := 0; i < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	return tb.(connector.Followable).Follow(ctx, catalog.Ref{Kind: catalog.ByOptions, Options: o})
}

// roundRows reads a round as lines "+I [1]", sorted.
func roundRows(snap connector.Snapshot, noPruning bool) (out []string, err error) {
	schema := snap.Schema()
	req := connector.ScanRequest{BatchRows: 7, NoPruning: noPruning}
	var types []catalog.Type
	for i, f := range schema.Fields {
		req.Columns = append(req.Columns, i)
		types = append(types, f.Type)
	}
	plan, err := snap.Plan(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			return nil, err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				return nil, err
			}
			if b == nil {
				break
			}
			op := b.Cols[0]
			b.Cols = b.Cols[1:]
			for i := range b.Rows() {
				out = append(out, op.String(op.At(b.Row(i)))+" "+string(jsonl.AppendRow(nil, b, b.Row(i), types[1:])))
			}
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return out, nil
}

// round waits a little for the next round; "" when there is none.
func round(t *testing.T, s connector.Stream) string {
	t.Helper()
	c, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	snap, err := s.Next(c)
	if err != nil {
		if c.Err() != nil {
			return ""
		}
		return err.Error()
	}
	if snap == nil {
		return "end"
	}
	got, err := roundRows(snap, false)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d: %s", snap.Version(), strings.Join(got, " "))
}

// followed reads a stream up to a snapshot, as lines "7 +I [1]", sorted.
func followed(s connector.Stream, latest int64) (got []string, err error) {
	defer s.Close()
	for last := int64(0); last != latest; {
		c, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		snap, err := s.Next(c)
		late := c.Err() != nil
		cancel()
		if late {
			break // the last snapshots have no changes
		}
		if err != nil {
			return nil, err
		}
		last = snap.Version()
		lines, err := roundRows(snap, len(got)%2 == 0)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			got = append(got, fmt.Sprintf("%d %s", last, l))
		}
	}
	slices.Sort(got)
	return got, nil
}

// TestFollowFixtures follows every fixture from its first snapshot or changelog
// on: the rows of each snapshot are those that Java's streaming read gives.
func TestFollowFixtures(t *testing.T) {
	defer goleak.VerifyNone(t)
	d := newDriver()
	equal, refused := 0, 0
	for _, set := range []string{"paimon-latest", "paimon-java"} {
		root, expected := testkit.Shared(t, "fixtures/"+set), testkit.Shared(t, "fixtures/expected/"+set)
		err := filepath.WalkDir(expected, func(path string, de fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".changelog.jsonl") {
				return err
			}
			rel, err := filepath.Rel(expected, strings.TrimSuffix(path, ".changelog.jsonl"))
			if err != nil {
				return err
			}
			want := testkit.LoadRows(t, path).Lines
			dir := filepath.Join(root, rel)
			src := &read.Source{Name: "t", Files: fileio.Local{}, Dir: dir}
			ids, err := src.IDs(ctx)
			if err != nil || len(ids) == 0 {
				return err
			}
			tb, err := d.Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t"})
			var s connector.Stream
			if err == nil {
				s, err = follow(tb, "scan.mode", "from-snapshot", "scan.snapshot-id", "1")
			}
			if what, ok := testkit.Refusal(err); ok {
				t.Logf("%s: %s", rel, what)
				refused++
				return nil
			}
			if err != nil {
				t.Errorf("%s: %v", rel, err)
				return nil
			}
			got, err := followed(s, ids[len(ids)-1])
			if what, ok := testkit.Refusal(err); ok {
				t.Logf("%s: %s", rel, what)
				refused++
				return nil
			}
			if err != nil {
				t.Errorf("%s: %v", rel, err)
				return nil
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d changes, want %d\n got %s\nwant %s", rel, len(got), len(want), except(got, want), except(want, got))
				return nil
			}
			equal++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d tables are equal, %d refused", equal, refused)
	if equal < 9 {
		t.Error("too few")
	}
}

// TestFollow starts in every way, waits, and goes on.
func TestFollow(t *testing.T) {
	defer goleak.VerifyNone(t)
	_, _, tb := history(t)
	const first, changes = "3: +I [1] +I [2] +I [3]", "1: +I [1]|2: +I [2]|3: +I [3]"
	for _, c := range []struct{ options, want string }{
		{"", first},
		{"scan.mode=latest-full", first},
		{"scan.mode=latest", ""},
		{"scan.mode=compacted-full", first},
		{"scan.snapshot-id=1", changes},
		{"scan.snapshot-id=2", "2: +I [2]|3: +I [3]"},
		{"scan.mode=from-snapshot-full scan.snapshot-id=2", "2: +I [1] +I [2]|3: +I [3]"},
		{"scan.timestamp-millis=1700000001000", "2: +I [2]|3: +I [3]"},
		{"scan.timestamp-millis=1600000000000", changes},
		{"scan.timestamp=2023-11-14_22:13:22", "3: +I [3]"},
		{"scan.creation-time-millis=1700000001000", "2: +I [2]|3: +I [3]"},
		{"scan.creation-time-millis=1", first},
		{"scan.file-creation-time-millis=1", first},
		{"scan.tag-name=x", "follow table d.t: 'scan.tag-name', 'scan.watermark' and 'scan.version' name one version; start at a 'scan.snapshot-id' or a 'scan.timestamp'"},
		{"incremental-between=1,2", "follow table d.t: 'scan.mode' = 'incremental' has an end, it cannot be read continuously"},
		{"scan.mode=latest-delta", "follow table d.t: 'scan.mode' = 'latest-delta' has an end, it cannot be read continuously"},
		{"consumer-id=../x", "follow table d.t: 'consumer-id' is '../x', which is no name of a file"},
	} {
		var options []string
		for _, o := range strings.Fields(c.options) {
			k, v, _ := strings.Cut(o, "=")
			options = append(options, k, strings.ReplaceAll(v, "_", " "))
		}
		var got []string
		s, err := follow(tb, options...)
		if err != nil {
			got = append(got, err.Error())
		} else {
			for r := round(t, s); r != ""; r = round(t, s) {
				got = append(got, r)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.options, got, c.want)
		}
	}
	// What comes later.
	s, err := follow(tb, "scan.mode", "latest")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := round(t, s); got != "" {
		t.Error(got)
	}
	write(t, tb, oneColumn(tb, 4), 4, false)
	write(t, tb, oneColumn(tb, 5), 5, false)
	for _, want := range []string{"4: +I [4]", "5: +I [5]", ""} {
		if got := round(t, s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// A filter reaches the files of changes.
	snap := s.Empty()
	if f := snap.Schema().Fields; len(f) != 2 || f[0].Name != "op" {
		t.Errorf("columns %v", f)
	}
}

// TestFollowEmpty starts before there is a snapshot.
func TestFollowEmpty(t *testing.T) {
	for mode, want := range map[string]string{"latest": "1: +I [7]", "latest-full": "1: +I [7]"} {
		files := fileio.NewMemory()
		d := driverOver(files)
		tb, err := d.Create(ctx, "/t", catalog.Identifier{Database: "d", Table: "t"}, &catalog.Schema{
			Fields: []catalog.Field{{Name: "k", Type: catalog.TInt}}, PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1"}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := follow(tb, "scan.mode", mode)
		if err != nil {
			t.Fatal(err)
		}
		if got := round(t, s); got != "" {
			t.Error(mode, got)
		}
		write(t, tb, oneColumn(tb, 7), 1, false)
		if got := round(t, s); got != want {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
		s.Close()
	}
}

// TestConsumer stores progress when rows were delivered, goes on there, and keeps
// a second reader of the name away.
func TestConsumer(t *testing.T) {
	files, _, tb := history(t)
	position := func() string {
		t.Helper()
		data, err := files.ReadFile(ctx, "/t/consumer/consumer-c")
		if errs.Is(err, errs.FileNotFound) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(data)), "")
	}
	s, err := follow(tb, "scan.snapshot-id", "1", "consumer-id", "c")
	if err != nil {
		t.Fatal(err)
	}
	if got := round(t, s); got != "1: +I [1]" || position() != "" {
		t.Errorf("%q, position %q", got, position())
	}
	other, err := follow(tb, "consumer-id", "c")
	if err != nil {
		t.Fatal(err)
	}
	if got := round(t, other); !strings.Contains(got, "is being read by another statement") {
		t.Error(got)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if got := round(t, s); got != "2: +I [2]" || position() != `{"nextSnapshot":2}` {
		t.Errorf("%q, position %q", got, position())
	}
	if err := s.Close(); err != nil { // the rows of snapshot 2 were not delivered for sure
		t.Fatal(err)
	}
	// The position counts more than the mode.
	if s, err = follow(tb, "scan.mode", "latest-full", "consumer-id", "c"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2: +I [2]", "3: +I [3]", ""} {
		if got := round(t, s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if position() != `{"nextSnapshot":4}` {
		t.Error(position())
	}
	s.Close()
	if s, err = follow(tb, "consumer-id", "c", "consumer.ignore-progress", "true"); err != nil {
		t.Fatal(err)
	}
	if got := round(t, s); got != "3: +I [1] +I [2] +I [3]" {
		t.Error(got)
	}
	s.Close()
	// Rolled back behind it.
	if err := files.WriteFile(ctx, "/t/consumer/consumer-c", []byte(`{"nextSnapshot":9}`)); err != nil {
		t.Fatal(err)
	}
	if s, err = follow(tb, "consumer-id", "c"); err != nil {
		t.Fatal(err)
	}
	if got := round(t, s); !strings.Contains(got, "snapshot 9 comes next, but the newest is 3") {
		t.Error(got)
	}
	s.Close()
	// Expired under it.
	if s, err = follow(tb, "scan.snapshot-id", "1"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := round(t, s); got != "1: +I [1]" {
		t.Error(got)
	}
	for _, id := range []string{"1", "2"} {
		if err := files.Remove(ctx, "/t/snapshot/snapshot-"+id); err != nil {
			t.Fatal(err)
		}
	}
	if got := round(t, s); !strings.Contains(got, "snapshot 2, whose changes come next, has expired; the earliest is 3") {
		t.Error(got)
	}
}

// TestFollowOverwrites follows tables through overwrites, without a changelog
// producer and with the options of overwrites, as Java does.
func TestFollowOverwrites(t *testing.T) {
	java := javaPaimon(t)
	d := newDriver()
	out := t.TempDir()
	var in strings.Builder
	type job struct{ dir, file, option string }
	var jobs []job
	for _, name := range []string{"overwrite_dynamic_static", "overwrite_pk_truncate", "partition_multi_overwrite", "dv_append_bitmap32", "deduplicate_sequence_field", "postpone_compacted"} {
		dir := filepath.Join(testkit.Shared(t, "fixtures/paimon-latest"), name, "default.db/t")
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		tb, err := d.Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		j := job{dir, filepath.Join(out, name), "streaming-read-overwrite"}
		if len(tb.Schema().PrimaryKeys) == 0 {
			if _, err := follow(tb, j.option, "true"); !errs.Is(err, errs.WrongArguments) {
				t.Errorf("%s: %v", name, err)
			}
			j.option = "streaming-read-append-overwrite"
		}
		jobs = append(jobs, j)
		fmt.Fprintf(&in, "dump\t%s\t--changelog\t--all\t--option\t%s=true\t> %s\n", dir, j.option, j.file)
	}
	java.must(t, in.String())
	deletions := 0
	for _, j := range jobs {
		seen, err := os.ReadFile(j.file)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(string(seen), "\n"), "\n")[1:]
		slices.Sort(want)
		tb, err := d.Open(ctx, j.dir, catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := (&read.Source{Name: "t", Files: fileio.Local{}, Dir: j.dir}).IDs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s, err := follow(tb, "scan.mode", "from-snapshot", "scan.snapshot-id", "1", j.option, "true")
		if err != nil {
			t.Fatal(err)
		}
		got, err := followed(s, ids[len(ids)-1])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %d changes, want %d\n got %s\nwant %s", j.dir, err, len(got), len(want), except(got, want), except(want, got))
		}
		for _, l := range got {
			if strings.Contains(l, " -D ") {
				deletions++
			}
		}
	}
	if len(jobs) < 4 || deletions == 0 {
		t.Errorf("%d tables, %d deletions", len(jobs), deletions)
	}
}
