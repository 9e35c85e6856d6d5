package testkit

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
)

// Expected names a read of a Paimon table of which another implementation's rows
// are known. Files of rows are laid out as the tables are: <table>.jsonl,
// <table>.snapshot-3.jsonl, and so on.
type Expected struct {
	Path   string // of the rows, without .jsonl, below their root
	Table  string // the table's folder, below the tables' root
	Ref    catalog.Ref
	Branch string
	System string
}

// ParseExpected reads the name of a file of rows; ok is false for changelogs,
// which no single version stands for.
func ParseExpected(rel string) (e Expected, ok bool) {
	e.Path = strings.TrimSuffix(rel, ".jsonl")
	dir, name := filepath.Split(e.Path)
	table, kind, _ := strings.Cut(name, ".")
	e.Table = dir + table
	what, value, _ := strings.Cut(kind, "-")
	switch what {
	case "":
	case "snapshot":
		id, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return e, false
		}
		e.Ref = catalog.Ref{Kind: catalog.BySnapshot, ID: id}
	case "tag":
		e.Ref = catalog.Ref{Kind: catalog.ByTag, Name: value}
	case "branch":
		e.Branch = value
	case "sys":
		e.System = value
	default:
		return e, false
	}
	return e, true
}

// ExpectedReads lists the files of rows below root, sorted, and counts those of
// changelogs, which it leaves out.
func ExpectedReads(t testing.TB, root string) (list []Expected, changelogs int) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, de fs.DirEntry, err error) error {
		if err != nil || de.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if e, ok := ParseExpected(rel); ok {
			list = append(list, e)
		} else {
			changelogs++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, changelogs
}

// Rows are the rows of a read in canonical text (package jsonl), sorted.
type Rows struct {
	Columns []jsonl.Column
	SHA256  string // of many rows, instead of them
	Lines   []string
}

// LoadRows reads a file of rows: a header, then a row a line.
func LoadRows(t testing.TB, path string) Rows {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ReadRows(f)
	if err != nil {
		t.Fatal(path, err)
	}
	return r
}

// ReadRows is LoadRows of a stream; lines keep their order.
func ReadRows(from io.Reader) (r Rows, err error) {
	sc := bufio.NewScanner(from)
	sc.Buffer(nil, 64<<20)
	for first := true; sc.Scan(); first = false {
		if first {
			if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
				return r, err
			}
			continue
		}
		r.Lines = append(r.Lines, sc.Text())
	}
	return r, sc.Err()
}

// Diff reports how rows, in any order, differ from the expected ones want; "" when
// they do not. dir is the table's folder as rows show it.
func (e Expected) Diff(got, want Rows, dir string) string {
	lines := slices.Clone(got.Lines)
	if e.System != "" {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], dir, "$TABLE")
			if e.System == "audit_log" || e.System == "binlog" { // there Java's rows have a kind, +I always
				lines[i] = "+I " + lines[i]
			}
		}
	}
	slices.Sort(lines)
	for i, c := range want.Columns {
		if i >= len(got.Columns) {
			return fmt.Sprintf("%d columns, want %d", len(got.Columns), len(want.Columns))
		}
		if got.Columns[i] != c {
			return fmt.Sprintf("column %d is %v, want %v", i, got.Columns[i], c)
		}
	}
	if len(got.Columns) != len(want.Columns) {
		return fmt.Sprintf("%d columns, want %d", len(got.Columns), len(want.Columns))
	}
	if want.SHA256 != "" {
		h := sha256.New()
		for _, r := range lines {
			h.Write([]byte(r + "\n"))
		}
		if hex.EncodeToString(h.Sum(nil)) == want.SHA256 {
			return ""
		}
		return fmt.Sprintf("%d rows of another checksum", len(lines))
	}
	wanted := want.Lines
	switch e.System {
	case "branches": // times of folders, which copying does not keep
		lines, wanted = cutTimes(lines), cutTimes(wanted)
	case "files", "file_key_ranges":
		wanted = fillObjects(lines, wanted)
	}
	for i := range max(len(lines), len(wanted)) {
		var g, w string
		if i < len(lines) {
			g = lines[i]
		}
		if i < len(wanted) {
			w = wanted[i]
		}
		if g != w {
			return fmt.Sprintf("%d rows, want %d; first difference in row %d:\n got %s\nwant %s", len(lines), len(wanted), i, g, w)
		}
	}
	return ""
}

// Refusal says what an error of class Unsupported refuses.
func Refusal(err error) (what string, ok bool) {
	if err == nil || errs.ClassOf(err) != errs.Unsupported {
		return "", false
	}
	what = err.Error()
	const phrase = "this version does not support "
	what = what[strings.LastIndex(what, phrase)+len(phrase):]
	what, _, _ = strings.Cut(what, " (")
	return what, true
}

var identity = regexp.MustCompile(`\\\[B@[0-9a-f]+`)

// fillObjects replaces rows with Java's object identities, which stand for bytes,
// by the row of got that they match.
func fillObjects(got, want []string) []string {
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

// Golden compares lines with a file; THERMOCLINE_UPDATE=1 writes it anew.
func Golden(t testing.TB, path string, lines []string) {
	t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	if os.Getenv("THERMOCLINE_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text == string(b) {
		return
	}
	old := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for i := range max(len(lines), len(old)) {
		var g, w string
		if i < len(lines) {
			g = lines[i]
		}
		if i < len(old) {
			w = old[i]
		}
		if g != w {
			t.Fatalf("%s differs in line %d (THERMOCLINE_UPDATE=1 writes it anew):\n got %s\nwant %s", path, i+1, g, w)
		}
	}
}
