package session

import (
	"context"
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/scan/expr"
)

// logicRecord is a statement or query of a logic test.
type logicRecord struct {
	query  bool
	fails  bool // a statement that must fail
	sql    string
	types  string // I, R or T a column
	order  string // nosort, rowsort, valuesort
	result []string
	line   int
}

// logicRecords reads a file in the classic format of SQL logic tests: the
// records that apply to MySQL.
func logicRecords(t *testing.T, path string) (out []logicRecord) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	run := true
	for i := 0; i < len(lines); i++ {
		head, _, _ := strings.Cut(lines[i], "#")
		f := strings.Fields(head)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "onlyif", "skipif":
			run = run && (f[1] == "mysql") == (f[0] == "onlyif")
			continue
		case "halt":
			if run {
				return out
			}
			run = true
			continue
		case "hash-threshold":
			run = true
			continue
		}
		r := logicRecord{query: f[0] == "query", line: i + 1}
		var sql []string
		for i++; i < len(lines) && lines[i] != "" && lines[i] != "----"; i++ {
			sql = append(sql, lines[i])
		}
		r.sql = strings.Join(sql, "\n")
		if r.query {
			r.types, r.order = f[1], "nosort"
			if len(f) > 2 {
				r.order = f[2]
			}
			if i < len(lines) && lines[i] == "----" {
				for i++; i < len(lines) && lines[i] != ""; i++ {
					r.result = append(r.result, lines[i])
				}
			}
		} else {
			r.fails = f[1] == "error"
		}
		if run {
			out = append(out, r)
		}
		run = true
	}
	return out
}

// check compares a query's answer with the record; "" is equal.
func (r logicRecord) check(ctx context.Context, s *Session) string {
	res, err := s.Execute(ctx, r.sql, nil)
	if err != nil {
		return err.Error()
	}
	defer res.Close()
	var rows [][]string
	for {
		b, err := res.Rows.Next(ctx)
		if err != nil {
			return err.Error()
		}
		if b == nil {
			break
		}
		for i := range b.Rows() {
			var row []string
			for c, v := range b.Cols {
				at := b.Row(i)
				if v.IsNull(at) {
					row = append(row, "NULL")
					continue
				}
				x := string(expr.AppendText(nil, res.Columns[c].Type, v, at, s.Zone()))
				real := slices.Contains([]expr.Class{expr.Decimal, expr.Double, expr.Float}, res.Columns[c].Type.Class)
				if c < len(r.types) && (r.types[c] == 'R' || r.types[c] == 'I' && real) {
					if f, err := strconv.ParseFloat(x, 64); err == nil {
						x = fmt.Sprintf("%.3f", f)
					}
				}
				row = append(row, x)
			}
			rows = append(rows, row)
		}
	}
	if r.order == "rowsort" {
		slices.SortFunc(rows, slices.Compare)
	}
	flat := slices.Concat(rows...)
	if r.order == "valuesort" {
		slices.Sort(flat)
	}
	if len(r.result) == 1 && strings.Contains(r.result[0], " values hashing to ") {
		h := md5.New()
		for _, x := range flat {
			fmt.Fprintln(h, x)
		}
		if got := fmt.Sprintf("%d values hashing to %x", len(flat), h.Sum(nil)); got != r.result[0] {
			return fmt.Sprintf("%s, want %s", got, r.result[0])
		}
		return ""
	}
	if !slices.Equal(flat, r.result) {
		return fmt.Sprintf("%v, want %v", flat, r.result)
	}
	return ""
}

// TestLogic runs logic tests over Paimon tables: SQLite's, whose answers were
// made anew for MySQL. Every tenth file, or all with THERMOCLINE_LOGICTEST=all.
// Only the joins of 62 and more tables have SQLite's answer; MySQL refuses them.
// Every other file of the tenth is run under a setting that must not change an
// answer (testkit.Settings); with THERMOCLINE_LAWS=all, all files under all of them.
func TestLogic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; run without -short")
	}
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "fixtures/logictest"), "*.test"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	all := os.Getenv("THERMOCLINE_LOGICTEST")
	queries := 0
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".test")
		if all == "" && i%10 != 3 || all != "" && all != "all" && !strings.Contains(name, all) {
			continue
		}
		settings := []*testkit.Setting{nil}
		for k, x := range testkit.Settings() {
			switch {
			case os.Getenv("THERMOCLINE_LAWS") == "all":
				settings = append(settings, &x)
			case all == "" && i/10%2 == 1 && k == i/20%len(testkit.Settings()):
				settings = []*testkit.Setting{&x}
			}
		}
		run := func(t *testing.T, set *testkit.Setting) {
			srv := warehouse(t)
			s := session(t, srv, OpenOptions{})
			script(t, s, "CREATE DATABASE logic;\nUSE logic;\nSET sql_mode = 'NO_ENGINE_SUBSTITUTION'")
			compact := false
			if set != nil {
				script(t, s, set.SQL())
				compact = set.Compacted
			}
			for _, r := range logicRecords(t, file) {
				if r.query {
					queries++
					if compact {
						compact = false
						compactAll(t, s, "logic")
					}
					if why := r.check(t.Context(), s); why != "" {
						t.Errorf("line %d: %s\n%s", r.line, r.sql, why)
					}
					continue
				}
				if _, err := rows(t.Context(), s, r.sql); (err != nil) != r.fails {
					t.Errorf("line %d: %s\n%v", r.line, r.sql, err)
				}
			}
		}
		for _, set := range settings {
			if set == nil {
				t.Run(name, func(t *testing.T) { run(t, nil) })
			} else {
				t.Run(fmt.Sprintf("%s/%+v", name, *set), func(t *testing.T) { run(t, set) })
			}
		}
	}
	t.Logf("%d queries", queries)
}

// compactAll compacts every table of a database, not its views.
func compactAll(t *testing.T, s *Session, database string) {
	tables, err := rows(t.Context(), s, "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = '"+database+"'")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		query(t, s, "CALL sys.compact(`table` => '"+database+"."+table+"', compact_strategy => 'full')")
	}
}
