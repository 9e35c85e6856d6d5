package write_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// written is a table for other readers, with the rows that they must find.
type written struct {
	dir, expected, snapshot string // snapshot "-" is the newest
}

// expect writes the rows as an expected file.
func (x *table) expect(name string, rows []string) string {
	x.t.Helper()
	path := filepath.Join(filepath.Dir(filepath.Dir(x.dir)), name+".jsonl")
	var names []string
	var types []catalog.Type
	for _, f := range x.schema.Fields {
		names, types = append(names, f.Name), append(types, f.Type)
	}
	head := jsonl.Header("t", names, types)
	head = append(bytes.TrimSuffix(head, []byte("}")), fmt.Sprintf(`,"rows":%d}`, len(rows))...)
	b := append(head, '\n')
	for _, r := range rows {
		b = append(append(b, r...), '\n')
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		x.t.Fatal(err)
	}
	return path
}

// tablesForOthers writes tables of many shapes below root. Without nanos, merged
// rows have none: pypaimon 2.1 loses them.
func tablesForOthers(t *testing.T, root string, nanos bool) []written {
	files := fileio.Local{NoSync: true}
	dir := func(name string) string { return filepath.Join(root, "default.db", name) }
	var out []written
	for n, s := range shapes(1) {
		for i := range s.Fields {
			if !nanos && s.Fields[i].Type.Kind == catalog.Timestamp {
				s.Fields[i].Type.Length = 6
			}
		}
		x := newTable(t, files, dir(fmt.Sprintf("law%d", n)), s)
		m := &model{x: x, rows: map[string]string{}}
		r := rand.New(rand.NewPCG(7, uint64(n)))
		w, c := x.writer(nil), x.committer("cdc-interop")
		var old []string
		var oldID int64
		for id := int64(1); id <= 20; id++ {
			rows := make([]row, 1+r.IntN(40))
			for i := range rows {
				rows[i] = randomRow(r, s, 200)
			}
			m.apply(rows)
			res := x.do(w, c, id, rows...)
			if id == 8 {
				old, oldID = m.sorted(), res.Snapshot
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("law%d", n)
		out = append(out, written{x.dir, x.expect(name, m.sorted()), "-"},
			written{x.dir, x.expect(name+"-old", old), strconv.FormatInt(oldID, 10)})
	}
	for _, keyed := range []bool{true, false} {
		s := typesSchema(keyed)
		x := newTable(t, files, dir(fmt.Sprintf("types_%v", keyed)), s)
		out = append(out, x.writeTypes("types_"+strconv.FormatBool(keyed), nanos || !keyed))
	}
	for n, p := range []catalog.Field{{Name: "p", Type: catalog.TDate}, {Name: "p", Type: catalog.TString}, {Name: "p", Type: catalog.TBoolean},
		{Name: "p", Type: catalog.TDecimal(20, 2)}, {Name: "p", Type: catalog.TBigInt}, {Name: "p", Type: catalog.TTimestamp(6)}} {
		s := &catalog.Schema{Fields: []catalog.Field{p, {Name: "v", Type: catalog.TString}}, PartitionKeys: []string{"p"}}
		x := newTable(t, files, dir(fmt.Sprintf("partition%d", n)), s)
		rows := []row{{vals: []string{"", "null partition"}}}
		vals := []string{"1", "19737", "0"}
		if p.Type.Physical() == vector.Str {
			vals = []string{"a/b=c%d", "ü ö", "x:y*?"}
		}
		if p.Type.Kind == catalog.Boolean {
			vals = []string{"0", "1"}
		}
		for _, v := range vals {
			rows = append(rows, row{vals: []string{v, "row of " + v}}, row{vals: []string{v, ""}})
		}
		w := x.writer(nil)
		x.do(w, x.committer("c"), 1, rows...)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b := x.batch(rows...)
		var want []string
		for i := range b.Rows() {
			want = append(want, rowText(s, b, i))
		}
		slices.Sort(want)
		out = append(out, written{x.dir, x.expect(fmt.Sprintf("partition%d", n), want), "-"})
	}
	return out
}

// typesSchema has a column of every primitive type.
func typesSchema(keyed bool) *catalog.Schema {
	s := &catalog.Schema{Options: map[string]string{}}
	add := func(name string, t catalog.Type) {
		s.Fields = append(s.Fields, catalog.Field{Name: name, Type: t})
	}
	add("id", catalog.TInt.Required())
	for i, t := range []catalog.Type{catalog.TBoolean, catalog.TTinyInt, catalog.TSmallInt, catalog.TInt, catalog.TBigInt, catalog.TFloat, catalog.TDouble,
		catalog.TDecimal(9, 2), catalog.TDecimal(18, 4), catalog.TDecimal(38, 10), {Kind: catalog.Char, Length: 8}, {Kind: catalog.Varchar, Length: 40}, catalog.TString,
		{Kind: catalog.Binary, Length: 4}, {Kind: catalog.Varbinary, Length: 40}, catalog.TBytes, catalog.TDate, catalog.TTime(3),
		catalog.TTimestamp(0), catalog.TTimestamp(3), catalog.TTimestamp(6), catalog.TTimestamp(9),
		catalog.TTimestampLTZ(0), catalog.TTimestampLTZ(3), catalog.TTimestampLTZ(6)} {
		add(fmt.Sprintf("c%02d", i), t)
	}
	if keyed {
		s.PrimaryKeys = []string{"id"}
		s.Options["bucket"] = "2"
	}
	return s
}

// writeTypes fills a table of typesSchema.
func (x *table) writeTypes(name string, nanos bool) written {
	x.t.Helper()
	var rows []row
	for i, base := range []int64{0, 1, -1, 7, 100, -100} {
		r := row{vals: make([]string, len(x.schema.Fields))}
		for c, f := range x.schema.Fields {
			v := base
			switch f.Type.Kind {
			case catalog.Boolean:
				v = int64(i & 1)
			case catalog.Char, catalog.Binary:
				r.vals[c] = fmt.Sprintf("%04d", i)
				continue
			case catalog.Varchar, catalog.Varbinary:
				r.vals[c] = strings.Repeat("ß漢😀", i%4) + fmt.Sprint("v", i)
				continue
			case catalog.Date:
				v = base * 100
			case catalog.Time:
				v = int64(i) * 3_661_001
			case catalog.Timestamp, catalog.TimestampLTZ:
				v = base * 1_234_567_000_000
				if f.Type.Length > 3 {
					v += 123_456
				} else if f.Type.Length == 3 {
					v += 123_000
				}
				if f.Type.Length > 6 {
					v *= 1000
					if nanos {
						v += 789
					}
				}
			case catalog.BigInt, catalog.Decimal:
				v = base * 9_876_543
			}
			r.vals[c] = strconv.FormatInt(v, 10)
		}
		rows = append(rows, r)
	}
	null := row{vals: make([]string, len(x.schema.Fields))}
	null.vals[0] = "9"
	rows[0].vals[0], rows[1].vals[0] = "10", "11"
	rows = append(rows, null)
	for i := range rows {
		rows[i].vals[0] = strconv.Itoa(i)
	}
	w, c := x.writer(nil), x.committer("c")
	x.do(w, c, 1, rows[:3]...)
	x.do(w, c, 2, rows[3:]...)
	if err := w.Close(); err != nil {
		x.t.Fatal(err)
	}
	b := x.batch(rows...)
	var want []string
	for i := range b.Rows() {
		want = append(want, rowText(x.schema, b, i))
	}
	slices.Sort(want)
	same(x.t, name, x.read(catalog.Ref{}), want)
	return written{x.dir, x.expect(name, want), "-"}
}

// TestPypaimonReads lets pypaimon read what we wrote.
func TestPypaimonReads(t *testing.T) {
	python := testkit.Tool(t, "THERMOCLINE_PYPAIMON")
	args := []string{"testdata/pypaimon_rows.py"}
	for _, w := range tablesForOthers(t, t.TempDir(), false) {
		args = append(args, w.dir, w.expected, w.snapshot)
	}
	cmd := exec.Command(python, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("pypaimon disagrees: %v\n%s", err, out)
	}
}

// TestJavaReads lets Java Paimon check what we wrote: metadata, statistics, key
// order, sequence numbers, buckets and rows. THERMOCLINE_PAIMON_JAVA names a
// program with the command "batch" that reads lines "verify<tab>TABLE<tab>EXPECTED".
func TestJavaReads(t *testing.T) {
	program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if program == "" {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon")
	}
	root := t.TempDir()
	var in strings.Builder
	n := 0
	for _, w := range tablesForOthers(t, root, true) {
		if w.snapshot == "-" {
			fmt.Fprintf(&in, "verify\t%s\t%s\n", w.dir, w.expected)
			n++
		} else {
			fmt.Fprintf(&in, "dump\t%s\t--snapshot\t%s\t--all\t> %s.java\n", w.dir, w.snapshot, w.expected)
		}
	}
	cmd := exec.Command(program, "batch")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "0 problems") != n {
		t.Errorf("Java disagrees: %v\n%s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(root, "*.java"))
	for _, f := range files {
		java, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := os.ReadFile(strings.TrimSuffix(f, ".java"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, f, strings.Split(string(java), "\n")[1:], strings.Split(string(ours), "\n")[1:])
	}
	if len(files) == 0 {
		t.Error("Java dumped nothing")
	}
}

// TestJavaWritesToo lets Java Paimon and us write to one table in turn, each
// compacting it.
func TestJavaWritesToo(t *testing.T) {
	program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if program == "" {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon")
	}
	root := t.TempDir()
	for n, s := range shapes(1)[:2] {
		x := newTable(t, fileio.Local{NoSync: true}, filepath.Join(root, "default.db", fmt.Sprintf("law%d", n)), s)
		m := &model{x: x, rows: map[string]string{}}
		r := rand.New(rand.NewPCG(11, uint64(n)))
		id := int64(0)
		for round := range 2 {
			w, c := x.writer(nil), x.committer("cdc-turns")
			for range 7 {
				rows := make([]row, 1+r.IntN(30))
				for i := range rows {
					rows[i] = randomRow(r, s, 100)
				}
				m.apply(rows)
				id++
				x.do(w, c, id, rows...)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var script strings.Builder
			fmt.Fprintf(&script, `{"op":"use","table":"default.law%d"}`+"\n", n)
			for range 5 {
				rows := make([]row, 1+r.IntN(30))
				var texts []string
				for i := range rows {
					rows[i] = randomRow(r, s, 100)
					texts = append(texts, fmt.Sprintf(`{"%s":%s}`, vector.RowKindString(rows[i].kind), rowText(s, x.batch(rows[i]), 0)))
				}
				m.apply(rows)
				fmt.Fprintf(&script, `{"op":"write","rows":[%s]}`+"\n", strings.Join(texts, ","))
			}
			if round == 1 {
				script.WriteString(`{"op":"compact","full":true}` + "\n")
			}
			file := filepath.Join(root, "script.jsonl")
			if err := os.WriteFile(file, []byte(script.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(program, "exec", "--warehouse", root, file).CombinedOutput(); err != nil {
				t.Fatalf("Java cannot write: %v\n%s", err, out)
			}
			same(t, fmt.Sprintf("table %d, round %d", n, round), x.read(catalog.Ref{}), m.sorted())
		}
		out, err := exec.Command(program, "verify", x.dir, x.expect("turns", m.sorted())).CombinedOutput()
		if err != nil || !strings.Contains(string(out), " 0 problems") {
			t.Errorf("Java disagrees: %v\n%s", err, out)
		}
	}
}
