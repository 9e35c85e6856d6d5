package merge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// row is a row of the tests: a key, a number, a text and another number, NULL
// where ok is false.
type row struct {
	key      int64
	a, b     int64
	aOK, bOK bool
	text     string
	textOK   bool
	seq      int64
	kind     vector.RowKind
	level    int32
}

func (r row) String() string {
	s := fmt.Sprintf("%s %d:", vector.RowKindString(r.kind), r.key)
	for _, x := range []struct {
		v  any
		ok bool
	}{{r.a, r.aOK}, {r.text, r.textOK}, {r.b, r.bOK}} {
		if x.ok {
			s += fmt.Sprintf(" %v", x.v)
		} else {
			s += " NULL"
		}
	}
	return s
}

// keyForm is how a key is stored.
type keyForm struct {
	name   string
	fields []catalog.Field
	fill   func(cols []*vector.Vec, key int64)
	get    func(cols []*vector.Vec, i int) int64
}

var keyForms = []keyForm{
	{"BIGINT", []catalog.Field{{Name: "k", Type: catalog.TBigInt.Required()}},
		func(c []*vector.Vec, k int64) { c[0].AppendI64(k) },
		func(c []*vector.Vec, i int) int64 { return c[0].Flatten().I64s[i] }},
	{"STRING", []catalog.Field{{Name: "k", Type: catalog.TString.Required()}},
		func(c []*vector.Vec, k int64) { c[0].AppendString(fmt.Sprintf("key %014d", k)) },
		func(c []*vector.Vec, i int) (k int64) { fmt.Sscanf(c[0].String(i), "key %d", &k); return k }},
	{"INT, INT", []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}, {Name: "l", Type: catalog.TInt.Required()}},
		func(c []*vector.Vec, k int64) { c[0].AppendI32(int32(k/7) - 50); c[1].AppendI32(int32(k%7) - 3) },
		func(c []*vector.Vec, i int) int64 {
			return int64(c[0].Flatten().I32s[i]+50)*7 + int64(c[1].Flatten().I32s[i]+3)
		}},
	{"DOUBLE", []catalog.Field{{Name: "k", Type: catalog.TDouble.Required()}},
		func(c []*vector.Vec, k int64) { c[0].AppendF64(float64(k-300) / 4) },
		func(c []*vector.Vec, i int) int64 { return int64(4*c[0].Flatten().F64s[i]) + 300 }},
	{"DECIMAL(30), INT", []catalog.Field{{Name: "k", Type: catalog.TDecimal(30, 0).Required()}, {Name: "l", Type: catalog.TInt.Required()}},
		func(c []*vector.Vec, k int64) {
			c[0].AppendI128(vector.Int128{Hi: k/9 - 20, Lo: uint64(k / 3)})
			c[1].AppendI32(int32(k))
		},
		func(c []*vector.Vec, i int) int64 { return int64(c[1].Flatten().I32s[i]) }},
	{"BIGINT, STRING", []catalog.Field{{Name: "k", Type: catalog.TBigInt.Required()}, {Name: "l", Type: catalog.TString.Required()}},
		func(c []*vector.Vec, k int64) { c[0].AppendI64(k / 5); c[1].AppendString(fmt.Sprint(k % 5)) },
		func(c []*vector.Vec, i int) (k int64) {
			fmt.Sscan(c[1].String(i), &k)
			return c[0].Flatten().I64s[i]*5 + k
		}},
}

func testSchema(f keyForm, options map[string]string) *catalog.Schema {
	s := &catalog.Schema{Options: options}
	s.Fields = append(append([]catalog.Field(nil), f.fields...), catalog.Field{Name: "a", Type: catalog.TBigInt}, catalog.Field{Name: "t", Type: catalog.TString}, catalog.Field{Name: "b", Type: catalog.TBigInt})
	for i := range s.Fields {
		s.Fields[i].ID = i
	}
	for _, k := range f.fields {
		s.PrimaryKeys = append(s.PrimaryKeys, k.Name)
	}
	return s
}

// memoryRun is a run of rows, which spoils each batch when the next is asked for,
// as readers that reuse their buffers do.
type memoryRun struct {
	form  keyForm
	rows  []row
	cut   func() int
	at    int
	dicts bool
	blind bool // no sequence numbers
	given *Rows

	physical int64           // position in the file of the next row
	places   map[int64]int64 // by key
}

func (m *memoryRun) Next(context.Context) (*Rows, error) {
	if m.given != nil {
		for _, c := range m.given.Batch.Cols {
			for _, v := range []*vector.Vec{c, c.Values()} {
				for i := range v.I64s {
					v.I64s[i] = -999
				}
				for i := range v.I32s {
					v.I32s[i] = -999
				}
				for i := range v.Views {
					v.Views[i] = vector.View{3, 0, 0, 0, 'b', 'a', 'd'}
				}
				clear(v.Codes)
				clear(v.Valid)
			}
		}
		clear(m.given.Seqs)
		m.given = nil
	}
	if m.at == len(m.rows) {
		return nil, nil
	}
	n := min(m.cut(), len(m.rows)-m.at)
	for n > 0 && m.at+n < len(m.rows) && m.rows[m.at+n].key == m.rows[m.at+n-1].key {
		n++ // the rows of a key lie in one batch
	}
	level := m.rows[m.at].level
	if m.places == nil {
		m.places = map[int64]int64{}
	}
	out := &Rows{Batch: &vector.Batch{Seq: m.physical}, Level: level, File: fmt.Sprint("file of level ", level)}
	b := out.Batch
	for _, f := range testSchema(m.form, nil).Fields {
		b.Cols = append(b.Cols, f.Type.NewVec(0))
	}
	k := len(m.form.fields)
	var kinds []vector.RowKind
	all := vector.Insert
	number := func(v *vector.Vec, x int64, ok bool) {
		if ok {
			v.AppendI64(x)
		} else {
			v.AppendNull()
		}
	}
	var sel []uint16
	for i, r := range m.rows[m.at : m.at+n] {
		if m.at%3 == 2 { // a row that is not selected before each
			m.form.fill(b.Cols[:k], -5)
			number(b.Cols[k], 1, true)
			b.Cols[k+1].AppendString("not selected")
			number(b.Cols[k+2], 1, true)
			kinds, out.Seqs = append(kinds, vector.Delete), append(out.Seqs, 1<<40)
			sel = append(sel, uint16(2*i+1))
		}
		m.form.fill(b.Cols[:k], r.key)
		number(b.Cols[k], r.a, r.aOK)
		if r.textOK {
			b.Cols[k+1].AppendString(r.text)
		} else {
			b.Cols[k+1].AppendNull()
		}
		number(b.Cols[k+2], r.b, r.bOK)
		m.places[r.key] = m.physical + int64(len(kinds))
		kinds, out.Seqs = append(kinds, r.kind), append(out.Seqs, r.seq)
		all |= r.kind
	}
	b.Len, b.Sel = len(kinds), sel
	if all != vector.Insert {
		b.Kinds = kinds
	}
	if m.dicts {
		b.Cols[k+1] = asDict(b.Cols[k+1])
	}
	if m.blind {
		out.Seqs = nil
	}
	m.at += n
	m.physical += int64(b.Len)
	m.given = out
	return out, nil
}

func asDict(v *vector.Vec) *vector.Vec {
	d := &vector.Vec{Kind: v.Kind, Form: vector.Dict, Len: v.Len, Valid: v.Valid, Dict: vector.New(v.Kind, 0)}
	for i := range v.Len {
		d.Codes = append(d.Codes, uint32(d.Dict.Len))
		if v.IsNull(i) {
			d.Codes[i] = 0
			continue
		}
		d.Dict.AppendFrom(v, i)
	}
	if d.Dict.Len == 0 {
		d.Dict.AppendString("")
	}
	return d
}

// rowsOf reads merged rows back.
func rowsOf(f keyForm, r *Rows) (out []row) {
	b := r.Batch
	k := len(f.fields)
	for i := range b.Rows() {
		at := b.Row(i)
		x := row{key: f.get(b.Cols[:k], at), kind: b.Kind(at)}
		if x.aOK = !b.Cols[k].IsNull(at); x.aOK {
			x.a = b.Cols[k].Flatten().I64s[at]
		}
		if x.textOK = !b.Cols[k+1].IsNull(at); x.textOK {
			x.text = b.Cols[k+1].String(at)
		}
		if x.bOK = !b.Cols[k+2].IsNull(at); x.bOK {
			x.b = b.Cols[k+2].Flatten().I64s[at]
		}
		if r.Seqs != nil {
			x.seq = r.Seqs[at]
		}
		out = append(out, x)
	}
	return out
}

// history makes runs: each has some of the keys once, in stretches and alone.
func history(r *rand.Rand, runs, keys int, kinds []vector.RowKind) [][]row {
	out := make([][]row, runs)
	seqs := r.Perm(runs * keys)
	for i := range out {
		dense := r.IntN(4)
		for k := 0; k < keys; k++ {
			switch {
			case dense == 0 && k%runs != i, dense == 1 && r.IntN(10) > 0, dense == 2 && k/200%runs != i:
				continue
			}
			x := row{key: int64(k), a: r.Int64N(100), aOK: r.IntN(3) > 0, b: r.Int64N(1000) - 500, bOK: r.IntN(4) > 0,
				text: strings.Repeat("x", r.IntN(20)) + fmt.Sprint(k, i), textOK: r.IntN(5) > 0,
				kind: kinds[r.IntN(len(kinds))], level: int32(max(0, i-runs/2))}
			x.seq = int64(seqs[i*keys+k])
			out[i] = append(out[i], x)
		}
	}
	return out
}

// oracle merges the rows of a key, oldest first, as a row-wise reading of the
// documentation has it; ok is false when no row remains.
type oracle struct {
	name    string
	options map[string]string
	kinds   []vector.RowKind
	order   func(a, b row) int // before the sequence numbers; nil: none
	merge   func(rows []row) (row, bool)
}

var adds = []vector.RowKind{vector.Insert, vector.Insert, vector.UpdateAfter}
var any4 = []vector.RowKind{vector.Insert, vector.Insert, vector.Insert, vector.UpdateAfter, vector.Delete, vector.UpdateBefore}

func newest(rows []row) (row, bool) { return rows[len(rows)-1], true }

func nonNull(acc *row, x row) {
	if x.aOK {
		acc.a, acc.aOK = x.a, true
	}
	if x.textOK {
		acc.text, acc.textOK = x.text, true
	}
	if x.bOK {
		acc.b, acc.bOK = x.b, true
	}
}

var oracles = []oracle{
	{"deduplicate", nil, any4, nil, newest},
	{"deduplicate, ignore-delete", map[string]string{"ignore-delete": "true"}, any4, nil, func(rows []row) (row, bool) {
		rows = slices.DeleteFunc(slices.Clone(rows), func(x row) bool { return retracts(x.kind) })
		if len(rows) == 0 {
			return row{}, false
		}
		return newest(rows)
	}},
	{"deduplicate, sequence.field", map[string]string{"sequence.field": "b"}, any4, func(x, y row) int {
		switch {
		case !x.bOK && !y.bOK:
			return 0
		case !x.bOK:
			return -1
		case !y.bOK:
			return 1
		}
		return int(x.b - y.b)
	}, newest},
	{"first-row", map[string]string{"merge-engine": "first-row"}, adds, nil, func(rows []row) (row, bool) { return rows[0], true }},
	{"partial-update", map[string]string{"merge-engine": "partial-update"}, adds, nil, func(rows []row) (row, bool) {
		acc := row{key: rows[0].key}
		for _, x := range rows {
			nonNull(&acc, x)
		}
		return acc, true
	}},
	{"partial-update, remove-record-on-delete", map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		[]vector.RowKind{vector.Insert, vector.Insert, vector.Insert, vector.UpdateAfter, vector.Delete}, nil, func(rows []row) (row, bool) {
			acc, ok := row{key: rows[0].key}, false
			for _, x := range rows {
				if x.kind == vector.Delete {
					acc, ok = x, false
					acc.kind = vector.Insert
					continue
				}
				nonNull(&acc, x)
				ok = true
			}
			return acc, ok
		}},
	{"aggregation", map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max"}, adds, nil, func(rows []row) (row, bool) {
		acc := row{key: rows[0].key}
		for _, x := range rows {
			if x.aOK {
				acc.a, acc.aOK = acc.a+x.a, true
			}
			if x.bOK && (!acc.bOK || x.b > acc.b) {
				acc.b, acc.bOK = x.b, true
			}
			if x.textOK {
				acc.text, acc.textOK = x.text, true
			}
		}
		return acc, true
	}},
	{"aggregation, retracting", map[string]string{"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "sum"}, any4, nil, func(rows []row) (row, bool) {
		acc := row{key: rows[0].key}
		for _, x := range rows {
			sign := int64(1)
			if retracts(x.kind) {
				sign = -1
				if x.textOK {
					acc.text, acc.textOK = "", false
				}
			} else if x.textOK {
				acc.text, acc.textOK = x.text, true
			}
			if x.aOK {
				acc.a, acc.aOK = acc.a+sign*x.a, true
			}
			if x.bOK {
				acc.b, acc.bOK = acc.b+sign*x.b, true
			}
		}
		return acc, true
	}},
}

// state merges runs by the oracle. A row that is alone stays as it is.
func (o *oracle) state(runs [][]row) (out []row) {
	byKey := map[int64][]row{}
	for _, run := range runs {
		for _, x := range run {
			byKey[x.key] = append(byKey[x.key], x)
		}
	}
	for _, rows := range byKey {
		slices.SortStableFunc(rows, func(x, y row) int {
			if o.order != nil {
				if d := o.order(x, y); d != 0 {
					return d
				}
			}
			return int(x.seq - y.seq)
		})
		x, ok := rows[0], !retracts(rows[0].kind)
		if len(rows) > 1 {
			x, ok = o.merge(rows)
			ok = ok && !retracts(x.kind)
		}
		if ok {
			x.kind = vector.Insert
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(x, y row) int { return int(x.key - y.key) })
	return out
}

// differ returns the first line in which two texts differ.
func differ(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("row %d is %q, not %q", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d rows, not %d", len(g), len(w))
}

func text(rows []row) string {
	var s []string
	for _, x := range rows {
		s = append(s, x.String())
	}
	return strings.Join(s, "\n")
}

// mergeRows runs a Merger.
func mergeRows(t *testing.T, f keyForm, o oracle, cfg Config, runs [][]row, r *rand.Rand) (rows, changes []row, in []Run) {
	t.Helper()
	s := testSchema(f, o.options)
	var err error
	if cfg.Rules, err = NewRules("t", s); err != nil {
		t.Fatal(err)
	}
	for i := range s.Fields {
		cfg.Columns = append(cfg.Columns, i)
	}
	cfg.Out = len(s.Fields)
	most := 1 + r.IntN(600)
	for _, run := range runs {
		in = append(in, &memoryRun{form: f, rows: run, cut: func() int { return 1 + r.IntN(most) }, dicts: r.IntN(2) == 0, blind: cfg.Ranked && r.IntN(2) == 0})
	}
	m, err := New(cfg, in)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for {
		got, err := m.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			return rows, changes, in
		}
		rows = append(rows, rowsOf(f, got)...)
		if c := m.Changes(); c != nil {
			changes = append(changes, rowsOf(f, c)...)
		}
	}
}

func plainKinds(rows []row) []row {
	for i := range rows {
		rows[i].kind = vector.Insert
	}
	return rows
}

// keyOf makes one key.
func keyOf(f keyForm, k int64) (cols []*vector.Vec) {
	for _, c := range f.fields {
		cols = append(cols, c.Type.NewVec(1))
	}
	f.fill(cols, k)
	return cols
}

// TestEngines merges random runs by every engine and compares with the oracle:
// in order and not, at several batch sizes, and in two steps, the first keeping
// deletions as compaction does.
func TestEngines(t *testing.T) {
	for _, f := range keyForms {
		for _, o := range oracles {
			t.Run(f.name+"/"+o.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, uint64(len(f.name)+100*len(o.name))))
				for range 5 {
					runs := history(r, 1+r.IntN(6), 1+r.IntN(1500), o.kinds)
					want := text(o.state(runs))
					for _, cfg := range []Config{{}, {Unordered: true}, {BatchRows: 1 + r.IntN(300)}, {BatchRows: 1 + r.IntN(300), Unordered: true}} {
						got, _, _ := mergeRows(t, f, o, cfg, runs, r)
						if !cfg.Unordered && !slices.IsSortedFunc(got, func(x, y row) int { return int(x.key - y.key) }) {
							t.Fatal("not in order")
						}
						slices.SortFunc(got, func(x, y row) int { return int(x.key - y.key) })
						if text(plainKinds(got)) != want {
							t.Fatalf("%+v: %s", cfg, differ(text(got), want))
						}
					}
					// A range of keys.
					lo, hi := int64(r.IntN(1500)), int64(r.IntN(1500))
					for _, cfg := range []Config{{}, {Unordered: true}} {
						low, high := keyOf(f, lo), keyOf(f, hi)
						var some []row
						for _, x := range o.state(runs) {
							if x.key >= lo && x.key < hi {
								some = append(some, x)
							}
						}
						cfg.From, cfg.To = low, high
						if hi%3 == 0 {
							cfg.To = nil
							some = slices.DeleteFunc(o.state(runs), func(x row) bool { return x.key < lo })
						}
						got, _, _ := mergeRows(t, f, o, cfg, runs, r)
						slices.SortFunc(got, func(x, y row) int { return int(x.key - y.key) })
						if text(plainKinds(got)) != text(some) {
							t.Fatalf("keys %d to %d: %s", lo, hi, differ(text(got), text(some)))
						}
					}
					if len(runs) < 3 || o.order == nil && strings.Contains(o.name, "first") || strings.Contains(o.name, "retracting") {
						continue // deletions of the first step are not those of the rows
					}
					// Runs of ascending age. In two steps: the older half by sequence numbers first.
					slices.SortFunc(runs, func(a, b []row) int { return len(a) - len(b) })
					for i := range runs {
						for j := range runs[i] {
							runs[i][j].seq += int64(1000000 * i)
						}
					}
					want = text(o.state(runs))
					newest := slices.Clone(runs)
					slices.Reverse(newest)
					for _, unordered := range []bool{false, true} {
						got, _, _ := mergeRows(t, f, o, Config{Ranked: true, Unordered: unordered, BatchRows: 1 + r.IntN(500)}, newest, r)
						slices.SortFunc(got, func(x, y row) int { return int(x.key - y.key) })
						if text(plainKinds(got)) != want {
							t.Fatalf("ranked: %s", differ(text(got), want))
						}
					}
					half := len(runs) / 2
					older, _, _ := mergeRows(t, f, o, Config{KeepDeletes: true, Sequences: true}, runs[:half], r)
					got, _, _ := mergeRows(t, f, o, Config{}, append([][]row{older}, runs[half:]...), r)
					if text(plainKinds(got)) != want {
						t.Fatalf("two steps: %s", differ(text(got), want))
					}
				}
			})
		}
	}
}

// TestRepeats merges one run that has keys several times, as a sorted buffer.
func TestRepeats(t *testing.T) {
	for _, f := range keyForms {
		for _, o := range oracles {
			r := rand.New(rand.NewPCG(8, uint64(len(f.name)+100*len(o.name))))
			for range 5 {
				runs := history(r, 1+r.IntN(6), 1+r.IntN(300), o.kinds)
				var all []row
				for _, run := range runs {
					all = append(all, run...)
				}
				slices.SortFunc(all, func(x, y row) int {
					if x.key != y.key {
						return int(x.key - y.key)
					}
					return int(x.seq - y.seq)
				})
				got, _, _ := mergeRows(t, f, o, Config{Repeats: true, BatchRows: 1 + r.IntN(300)}, [][]row{all}, r)
				if want := o.state(runs); text(plainKinds(got)) != text(want) {
					t.Fatalf("%s, %s: %s", f.name, o.name, differ(text(got), text(want)))
				}
			}
		}
	}
}

// apply applies changes to a state and checks that each fits.
func apply(t *testing.T, state map[int64]string, changes []row) {
	t.Helper()
	for _, c := range changes {
		kind := c.kind
		c.kind = vector.Insert
		old, is := state[c.key]
		switch {
		case kind == vector.Insert && is, kind != vector.Insert && kind != vector.UpdateAfter && (!is || old != c.String()):
			t.Fatalf("change %s %s: the state has %q", vector.RowKindString(kind), c, old)
		}
		if kind == vector.Delete || kind == vector.UpdateBefore {
			delete(state, c.key)
		} else {
			state[c.key] = c.String()
		}
	}
}

func asState(rows []row) map[int64]string {
	m := map[int64]string{}
	for _, x := range rows {
		x.kind = vector.Insert
		m[x.key] = x.String()
	}
	return m
}

// TestChangelog compacts runs of level 0 with what is above, all in the
// compaction or a part of it only looked up: the changelog leads from the state
// before to that after, and looked up rows with newer ones are named.
func TestChangelog(t *testing.T) {
	for _, f := range keyForms {
		for _, o := range oracles {
			if strings.Contains(o.name, "sequence.field") || strings.Contains(o.name, "retracting") {
				continue // older rows may win; the state before is not one level's
			}
			for _, lookups := range []int{-1, 0, 1} { // -1: full compaction
				r := rand.New(rand.NewPCG(9, uint64(len(f.name)+100*len(o.name))))
				for range 6 {
					runs := history(r, 4, 1+r.IntN(900), o.kinds)
					older := o.state(runs[:1])
					for i := range older {
						older[i].level, older[i].seq = 5, older[i].seq-1<<40
					}
					for _, run := range runs[1:] {
						for i := range run {
							run[i].level = 0
						}
					}
					// What is merged: rows of level 0 among themselves may make a deletion only
					// with what is below, so the state after is that of all.
					in := append(slices.Clone(runs[1:]), older)
					options := map[string]string{"changelog-producer": "lookup"}
					if lookups < 0 {
						options = map[string]string{"changelog-producer": "full-compaction"}
					}
					for k, v := range o.options {
						options[k] = v
					}
					p := o
					p.options = options
					if strings.Contains(o.name, "partial-update") && !strings.Contains(o.name, "remove") {
						p.kinds = adds
					}
					var named []int64
					h := &Changes{Lookup: lookups >= 0, TopLevel: 5, Lookups: max(lookups, 0), Deduplicate: r.IntN(2) == 0,
						Obsolete: func(file string, position int64) error {
							if file != "file of level 5" {
								t.Fatal(file)
							}
							named = append(named, position)
							return nil
						}}
					got, changes, read := mergeRows(t, f, p, Config{Changes: h, BatchRows: 1 + r.IntN(500), Sequences: true}, in, r)
					before, after := asState(older), asState(p.state(in))
					state := asState(older)
					apply(t, state, changes)
					if fmt.Sprint(state) != fmt.Sprint(after) {
						t.Fatalf("%s, %s, %d lookups: the changes lead to\n%v\nnot\n%v", f.name, o.name, lookups, state, after)
					}
					if h.Deduplicate {
						for i, c := range changes {
							if c.kind == vector.UpdateBefore {
								n := changes[i+1]
								n.kind = c.kind
								if n.String() == c.String() {
									t.Fatalf("%s: a change of nothing: %s", o.name, c)
								}
							}
						}
					}
					if lookups < 1 {
						if fmt.Sprint(asState(got)) != fmt.Sprint(after) {
							t.Fatal("rows")
						}
						continue
					}
					// The rows of keys that level 0 has, and the obsolete places of those.
					zero := asState(nil)
					for _, run := range runs[1:] {
						for _, x := range run {
							zero[x.key] = ""
						}
					}
					out := asState(got)
					var places []int64
					for _, x := range older {
						if _, is := zero[x.key]; is {
							places = append(places, read[len(read)-1].(*memoryRun).places[x.key])
							if strings.Contains(o.name, "first-row") {
								zero[x.key] = "none"
							}
						}
					}
					for k, v := range zero {
						want, is := after[k]
						if v == "none" {
							is = false
						}
						if g, has := out[k]; has != is || is && g != want {
							t.Fatalf("%s: key %d: got %q, want %q (%t); before %q", o.name, k, g, want, is, before[k])
						}
					}
					if strings.Contains(o.name, "first-row") {
						places = nil
					}
					if len(out) > len(zero) || fmt.Sprint(named) != fmt.Sprint(places) && len(named)+len(places) > 0 {
						t.Fatalf("%s: named %v, want %v", o.name, named, places)
					}
				}
			}
		}
	}
}

// TestOrderIsVerified gives runs whose keys do not ascend.
func TestOrderIsVerified(t *testing.T) {
	for _, f := range keyForms {
		for _, keys := range [][]int64{{1, 1}, {2, 1}, {0, 1, 2, 3, 4, 5, 5}, {0, 1, 2, 3, 4, 5, 4}} {
			for _, cut := range []int{1, 2, 100} {
				rules, err := NewRules("t", testSchema(f, nil))
				if err != nil {
					t.Fatal(err)
				}
				var run []row
				for _, k := range keys {
					run = append(run, row{key: k})
				}
				var columns []int
				for i := range testSchema(f, nil).Fields {
					columns = append(columns, i)
				}
				in := &memoryRun{form: f, rows: run, cut: func() int { return cut }}
				m, err := New(Config{Rules: rules, Columns: columns, Out: len(columns)}, []Run{in, &memoryRun{}})
				if err != nil {
					t.Fatal(err)
				}
				var got *Rows
				for got, err = m.Next(context.Background()); got != nil && err == nil; got, err = m.Next(context.Background()) {
				}
				if err == nil || !strings.Contains(err.Error(), "not in the order of their keys") {
					t.Errorf("%s, %v, batches of %d: %v", f.name, keys, cut, err)
				}
			}
		}
	}
}

// TestLookupOfOne compacts with lookups under a sequence group whose ordering
// value is NULL: even a key that is in one run alone loses the group's values, at
// whatever level it was, since Java's lookup merges even one row (a reader, and a
// compaction without lookups, leave it as it is).
func TestLookupOfOne(t *testing.T) {
	f := keyForms[0]
	one := func(key, seq int64, level int32, b bool) row {
		return row{key: key, seq: seq, level: level, a: key * 10, aOK: true, text: "x", textOK: true, b: 1, bOK: b}
	}
	runs := [][]row{{one(2, 11, 0, false), one(4, 12, 0, true)}, {one(1, 1, 4, false), one(3, 2, 4, true)}}
	for lookup, want := range map[bool]string{
		true:  "+I 1: NULL x NULL\n+I 2: NULL x NULL\n+I 3: 30 x 1\n+I 4: 40 x 1",
		false: "+I 1: 10 x NULL\n+I 2: 20 x NULL\n+I 3: 30 x 1\n+I 4: 40 x 1",
	} {
		o := oracle{name: "sequence group", options: map[string]string{"merge-engine": "partial-update", "fields.b.sequence-group": "a"}}
		r := rand.New(rand.NewPCG(1, 1))
		got, _, _ := mergeRows(t, f, o, Config{Changes: &Changes{Lookup: lookup, TopLevel: 5, NoChangelog: true}, BatchRows: 100, Sequences: true}, runs, r)
		if text(got) != want {
			t.Errorf("lookup %v:\n%s\nwant\n%s", lookup, text(got), want)
		}
	}
}
