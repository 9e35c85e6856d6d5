package paimon_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/avro"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/connector/format/orc"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/testkit"
)

var ctx = context.Background()

func newDriver() *paimon.Driver {
	return paimon.NewDriver(paimon.Config{Files: fileio.Local{}, Formats: format.NewRegistry(parquet.Format{}, orc.Format{}, avro.Format{})})
}

// expected is a file of rows that Java read.
type expected struct {
	path   string // below the expected folder, without .jsonl
	table  string // directory of the table
	ref    catalog.Ref
	branch string
	system string
}

// parseExpected reads the name of an expected file; ok is false for reads that
// no connector.Readable stands for (change logs).
func parseExpected(rel string) (e expected, ok bool) {
	e.path = strings.TrimSuffix(rel, ".jsonl")
	dir, name := filepath.Split(e.path)
	table, kind, _ := strings.Cut(name, ".")
	e.table = dir + table
	switch {
	case kind == "":
	case strings.HasPrefix(kind, "snapshot-"):
		id, err := strconv.ParseInt(kind[len("snapshot-"):], 10, 64)
		if err != nil {
			return e, false
		}
		e.ref = catalog.Ref{Kind: catalog.BySnapshot, ID: id}
	case strings.HasPrefix(kind, "tag-"):
		e.ref = catalog.Ref{Kind: catalog.ByTag, Name: kind[len("tag-"):]}
	case strings.HasPrefix(kind, "branch-"):
		e.branch = kind[len("branch-"):]
	case strings.HasPrefix(kind, "sys-"):
		e.system = kind[len("sys-"):]
	default:
		return e, false
	}
	return e, true
}

// load reads an expected file: its header and rows.
func load(t testing.TB, path string) (header struct {
	Columns []jsonl.Column
	Rows    int
	SHA256  string
}, rows []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		if rows == nil && header.Columns == nil {
			if err := json.Unmarshal(sc.Bytes(), &header); err != nil {
				t.Fatal(path, err)
			}
			continue
		}
		rows = append(rows, sc.Text())
	}
	if err := sc.Err(); err != nil {
		t.Fatal(path, err)
	}
	return header, rows
}

// scanOptions vary how a table is read, without changing its rows.
type scanOptions struct {
	batch     int
	noPruning bool
}

// rows reads a version of a table as canonical text, sorted.
func rows(tb connector.Readable, ref catalog.Ref, o scanOptions) (out []string, schema *catalog.Schema, err error) {
	snap, err := tb.Snapshot(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	schema = snap.Schema()
	req := connector.ScanRequest{BatchRows: o.batch, NoPruning: o.noPruning, Budget: memory.New("test", 256<<20)}
	var types []catalog.Type
	for i, f := range schema.Fields {
		req.Columns = append(req.Columns, i)
		types = append(types, f.Type)
	}
	plan, err := snap.Plan(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				r.Close()
				return nil, nil, err
			}
			if b == nil {
				break
			}
			if o.batch > 0 && b.Rows() > o.batch {
				return nil, nil, fmt.Errorf("a batch of %d rows", b.Rows())
			}
			for i := range b.Rows() {
				out = append(out, string(jsonl.AppendRow(nil, b, b.Row(i), types)))
			}
		}
		if err := r.Close(); err != nil {
			return nil, nil, err
		}
	}
	if n := req.Budget.Used(); n != 0 {
		return nil, nil, fmt.Errorf("%d bytes stay reserved", n)
	}
	slices.Sort(out)
	return out, schema, nil
}

// open opens what an expected file describes.
func (e expected) open(d *paimon.Driver, root string) (connector.Readable, error) {
	id := catalog.Identifier{Database: "default", Table: filepath.Base(e.table), Branch: e.branch, System: e.system}
	return d.Open(ctx, filepath.Join(root, e.table), id)
}

// compare reports how rows differ from the expected ones, "" when they do not.
func compare(root, tableDir string, e expected, got []string, want []string, sum string) string {
	if e.system != "" {
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], tableDir, "$TABLE")
		}
		if e.system == "audit_log" || e.system == "binlog" { // there Java's rows have a kind, +I always
			for i := range got {
				got[i] = "+I " + got[i]
			}
		}
		slices.Sort(got)
	}
	if sum != "" {
		h := sha256.New()
		for _, r := range got {
			h.Write([]byte(r + "\n"))
		}
		if hex.EncodeToString(h.Sum(nil)) == sum {
			return ""
		}
		return fmt.Sprintf("%d rows of another checksum", len(got))
	}
	switch e.system {
	case "branches": // times of directories, which copying does not keep
		got, want = cutTimes(got), cutTimes(want)
	case "files", "file_key_ranges":
		want = fillObjects(got, want)
	}
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%d rows, want %d; first difference in row %d:\n got %s\nwant %s", len(got), len(want), i, g, w)
		}
	}
	return ""
}

// outcome reads what an expected file describes: "equal", or "refused: …" by an
// error of class Unsupported. Anything else is an error.
func outcome(t testing.TB, d *paimon.Driver, root, expectedRoot string, e expected, o scanOptions) (string, error) {
	header, want := load(t, filepath.Join(expectedRoot, e.path+".jsonl"))
	tb, err := e.open(d, root)
	var got []string
	var schema *catalog.Schema
	if err == nil {
		got, schema, err = rows(tb, e.ref, o)
	}
	if text, ok := refusal(err); ok {
		return text, nil
	}
	if err != nil {
		return "", err
	}
	for i, c := range header.Columns {
		if i >= len(schema.Fields) || schema.Fields[i].Name != c.Name || schema.Fields[i].Type.String() != c.Type {
			return "", fmt.Errorf("column %d is %v, want %v", i, schema.Fields[min(i, len(schema.Fields)-1)], c)
		}
	}
	if len(schema.Fields) != len(header.Columns) {
		return "", fmt.Errorf("%d columns, want %d", len(schema.Fields), len(header.Columns))
	}
	if diff := compare(root, filepath.Join(root, e.table), e, got, want, header.SHA256); diff != "" {
		return "", fmt.Errorf("%s", diff)
	}
	return "equal", nil
}

// refusal describes an error of class Unsupported by what it refuses.
func refusal(err error) (string, bool) {
	if err == nil || errs.ClassOf(err) != errs.Unsupported {
		return "", false
	}
	what := err.Error()
	const phrase = "this version does not support "
	what = what[strings.LastIndex(what, phrase)+len(phrase):]
	what, _, _ = strings.Cut(what, " (")
	return "refused: " + what, true
}

// corpus walks a folder of expected files.
func corpus(t testing.TB, expectedRoot string) (list []expected, skipped int) {
	err := filepath.WalkDir(expectedRoot, func(path string, de fs.DirEntry, err error) error {
		if err != nil || de.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		rel, err := filepath.Rel(expectedRoot, path)
		if err != nil {
			return err
		}
		e, ok := parseExpected(rel)
		if !ok {
			skipped++
			return nil
		}
		list = append(list, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, skipped
}

// TestFixtures reads every table, snapshot, tag, branch and system table that
// Java wrote and read, and compares. What is not implemented must be refused by
// name; testdata/fixtures.golden says which reads are equal, so that one that
// stops being equal fails. THERMOCLINE_UPDATE=1 writes it anew.
func TestFixtures(t *testing.T) {
	var lines []string
	for _, set := range []string{"paimon-latest", "paimon-java"} {
		root, expectedRoot := testkit.Shared(t, "fixtures/"+set), testkit.Shared(t, "fixtures/expected/"+set)
		d := newDriver()
		list, skipped := corpus(t, expectedRoot)
		equal, refused := 0, 0
		for _, e := range list {
			got, err := outcome(t, d, root, expectedRoot, e, scanOptions{})
			if err != nil {
				t.Errorf("%s/%s: %v", set, e.path, err)
				got = "wrong"
			}
			if got == "equal" {
				equal++
			} else {
				refused++
			}
			lines = append(lines, set+"/"+e.path+": "+got)
		}
		t.Logf("%s: %d reads are equal, %d refused, %d of change logs left out", set, equal, refused, skipped)
	}
	golden(t, "testdata/fixtures.golden", lines)
}

func golden(t *testing.T, path string, lines []string) {
	t.Helper()
	text := []byte(strings.Join(lines, "\n") + "\n")
	if os.Getenv("THERMOCLINE_UPDATE") != "" {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(text, want) {
		return
	}
	old := strings.Split(strings.TrimSpace(string(want)), "\n")
	for i := range max(len(lines), len(old)) {
		if i >= len(lines) || i >= len(old) || lines[i] != old[i] {
			var g, w string
			if i < len(lines) {
				g = lines[i]
			}
			if i < len(old) {
				w = old[i]
			}
			t.Fatalf("%s differs in line %d (THERMOCLINE_UPDATE=1 writes it anew):\n got %s\nwant %s", path, i+1, g, w)
		}
	}
}

// fillObjects replaces rows with Java's object identities, which stand for bytes,
// by the row of got that they match.
func fillObjects(got, want []string) []string {
	identity := regexp.MustCompile(`\\\[B@[0-9a-f]+`)
	out := slices.Clone(want)
	for i, w := range out {
		if !strings.Contains(w, "[B@") {
			continue
		}
		re := regexp.MustCompile("^" + identity.ReplaceAllString(regexp.QuoteMeta(w), "[0-9a-f]*") + "$")
		for _, g := range got {
			if re.MatchString(g) {
				out[i] = g
			}
		}
	}
	slices.Sort(out)
	return out
}

func cutTimes(rows []string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r[:strings.LastIndex(r, ",")]
	}
	return out
}
