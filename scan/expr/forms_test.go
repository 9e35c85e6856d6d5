package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
)

// rowTexts evaluates expressions over a batch and returns the text of every row
// that counts, by physical position.
func rowTexts(ctx *Context, es []Expr, b *vector.Batch) (map[int]string, error) {
	out := map[int]string{}
	for _, e := range es {
		v, err := e.Eval(ctx, b)
		if err != nil {
			return nil, err
		}
		if err := checkVec(e.Type(), v, b.Len); err != nil {
			return nil, fmt.Errorf("%s: %w", e, err)
		}
		for k := range b.Rows() {
			i := b.Row(k)
			s := "NULL"
			if !v.IsNull(i) {
				s = string(AppendText(nil, e.Type(), v, i, nil))
			}
			out[i] += s + "|"
		}
	}
	return out, nil
}

// tableForms are the ways in which a batch may hold the rows of a table, with
// the row that each position shows.
func tableForms(b *vector.Batch) []struct {
	name  string
	batch *vector.Batch
	row   func(i int) int
} {
	n := b.Len
	type form = struct {
		name  string
		batch *vector.Batch
		row   func(i int) int
	}
	var out []form
	// Many copies of the rows, Dict form, so that kernels run over dictionaries.
	const copies = 9
	dict := &vector.Batch{Len: n * copies, Seq: -1}
	flat := &vector.Batch{Len: n * copies, Seq: -1}
	for _, c := range b.Cols {
		d := &vector.Vec{Kind: c.Kind, Form: vector.Dict, Len: n * copies, Codes: make([]uint32, n*copies), Dict: vector.New(c.Kind, n)}
		f := vector.New(c.Kind, n*copies)
		at := map[string]uint32{}
		for i := range n * copies {
			f.AppendFrom(c, i%n)
			if c.IsNull(i % n) {
				if d.Valid == nil {
					d.Valid = vector.AllValid(d.Len)
				}
				d.SetNull(i)
				continue
			}
			key := string(AppendSortKey(nil, Type{}, c, i%n))
			code, ok := at[key]
			if !ok {
				code = uint32(len(at))
				at[key] = code
				d.Dict.AppendFrom(c, i%n)
			}
			d.Codes[i] = code
		}
		dict.Cols, flat.Cols = append(dict.Cols, d), append(flat.Cols, f)
	}
	mod := func(i int) int { return i % n }
	out = append(out, form{"flat", flat, mod}, form{"dictionary", dict, mod})
	// A few rows of many, most not selected; and most selected.
	for _, src := range []*vector.Batch{flat, dict} {
		few, most := *src, *src
		for i := range src.Len {
			if i%7 == 3 {
				few.Sel = append(few.Sel, uint16(i))
			} else {
				most.Sel = append(most.Sel, uint16(i))
			}
		}
		out = append(out, form{"few selected", &few, mod}, form{"most selected", &most, mod})
	}
	none := *flat
	none.Sel = []uint16{}
	out = append(out, form{"none selected", &none, mod})
	for r := range n {
		c := &vector.Batch{Len: 3, Seq: -1}
		for _, col := range b.Cols {
			v := vector.New(col.Kind, 1)
			v.AppendFrom(col, r)
			c.Cols = append(c.Cols, v.AsConst(3))
		}
		out = append(out, form{"constant", c, func(int) int { return r }})
	}
	return out
}

// TestForms checks that an expression gives the same for every form of the
// batch: Flat, Const and Dict columns, with and without a selection.
func TestForms(t *testing.T) {
	tables := loadTables(t)
	seen := map[string]bool{}
	checked := 0
	for k, c := range loadCases(t) {
		ctx, ok := contextOf(c)
		if !ok || seen[c.SQL] || testing.Short() && k%10 != 0 {
			continue
		}
		seen[c.SQL] = true
		p, err := syntax.ParseOne(c.SQL, syntax.Options{})
		if err != nil {
			continue
		}
		q, ok := p.Statement.(*syntax.Query)
		if !ok {
			continue
		}
		sel, ok := q.Body.(*syntax.Select)
		if !ok {
			continue
		}
		tn, ok := sel.From.(*syntax.TableName)
		if !ok || tables[tn.Name.Object()] == nil {
			continue
		}
		table := tables[tn.Name.Object()]
		scope := &semScope{ctx: ctx, table: table, name: tn.Name.Object()}
		var es []Expr
		bind := func(e syntax.Expr) {
			if x, err := Bind(ctx, e, scope); err == nil && !strings.Contains(x.Key(), "RAND") && !strings.Contains(x.Key(), "UUID") {
				es = append(es, x)
			}
		}
		for _, it := range sel.Items {
			bind(it.Expr)
		}
		if sel.Where != nil {
			bind(sel.Where)
		}
		for _, e := range es {
			want := map[int]string{}
			failed := false
			for r := range table.batch.Len {
				one := *table.batch
				one.Sel = []uint16{uint16(r)}
				got, err := rowTexts(ctx, []Expr{e}, &one)
				if err != nil {
					failed = true // some row raises an error; forms without it must not
					continue
				}
				want[r] = got[r]
			}
			for _, f := range tableForms(table.batch) {
				touches := false
				for k := range f.batch.Rows() {
					if _, ok := want[f.row(f.batch.Row(k))]; !ok {
						touches = true
					}
				}
				got, err := rowTexts(ctx, []Expr{e}, f.batch)
				if err != nil {
					if !failed || !touches {
						t.Errorf("%s: %s over %s: %v", c.ID, e, f.name, err)
					}
					continue
				}
				if touches {
					t.Errorf("%s: %s over %s: no error, although a row raises one", c.ID, e, f.name)
					continue
				}
				checked++
				for i, s := range got {
					if s != want[f.row(i)] {
						t.Errorf("%s: %s over %s: row %d gives %s, alone %s", c.ID, e, f.name, i, s, want[f.row(i)])
						break
					}
				}
			}
		}
	}
	t.Logf("%d evaluations", checked)
	if checked < 10000 && !testing.Short() {
		t.Errorf("only %d evaluations", checked)
	}
}
