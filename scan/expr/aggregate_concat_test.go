package expr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/thermocline/thermocline/internal/vector"
)

// concatOf runs GROUP_CONCAT over rows in several states, which are merged, one of
// them after it was unloaded and loaded, and returns the groups' texts and the most
// bytes that the states held.
func concatOf(t *testing.T, ctx *Context, spec AggregateSpec, groups []uint32, cols []*vector.Vec, n int, cuts []int) ([]string, int64) {
	t.Helper()
	a, err := NewAggregate(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	const count = 3
	var all State
	most := int64(0)
	from := 0
	for c, to := range append(cuts, n) {
		st := a.NewState(ctx)
		st.Grow(count)
		for ; from < to; from += 500 {
			end := min(from+500, to)
			sel := make([]uint16, 0, 500)
			for i := from; i < end; i++ {
				sel = append(sel, uint16(i))
			}
			b := &vector.Batch{Len: n, Sel: sel, Seq: -1, Cols: cols}
			var args []*vector.Vec
			for _, x := range a.Args() {
				v, err := x.Eval(ctx, b)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, v)
			}
			if err := st.Update(groups[from:end], args, sel, len(sel)); err != nil {
				t.Fatal(err)
			}
			most = max(most, st.Bytes())
		}
		from = to
		if c == 1 {
			of, unloaded := st.Unload()
			st = a.NewState(ctx)
			st.Grow(count)
			if unloaded != nil {
				if err := st.Load(of, unloaded); err != nil {
					t.Fatal(err)
				}
			}
		}
		if all == nil {
			all = st
		} else if err := all.Merge(st, nil); err != nil {
			t.Fatal(err)
		}
		most = max(most, all.Bytes())
	}
	v, err := all.Result(0, count)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for g := range count {
		if v.IsNull(g) {
			out = append(out, "NULL")
		} else {
			out = append(out, v.String(g))
		}
	}
	return out, most
}

// What GROUP_CONCAT gives within group_concat_max_len is the beginning of what it
// would give without it, and it holds little more than that.
func TestGroupConcatHoldsWhatItGives(t *testing.T) {
	const n = 8000
	r := rand.New(rand.NewPCG(7, 7))
	texts, numbers := vector.New(vector.Str, n), vector.New(vector.I64, n)
	groups := make([]uint32, n)
	for i := range n {
		groups[i] = uint32(r.IntN(2)) // the third group has no rows
		if r.IntN(20) == 0 {
			texts.AppendNull()
		} else {
			texts.AppendString(fmt.Sprintf("%s%d", []string{"a", "A", "b", ""}[r.IntN(4)], r.IntN(3000)))
		}
		numbers.AppendI64(int64(r.IntN(500)))
	}
	cols := []*vector.Vec{texts, numbers}
	text, number := Column(0, TString(20, "utf8mb4_0900_ai_ci"), "s"), Column(1, TBigInt, "n")
	none, dash := "", "-"
	for i, spec := range []AggregateSpec{
		{Args: []Expr{text}},
		{Args: []Expr{text}, Separator: &none},
		{Args: []Expr{text, number}, Separator: &dash, Distinct: true},
		{Args: []Expr{text}, Distinct: true},
		{Args: []Expr{text}, Order: []OrderItem{{Expr: text, Desc: true}}},
		{Args: []Expr{text}, Order: []OrderItem{{Expr: number}}},
		{Args: []Expr{number}, Order: []OrderItem{{Expr: number, Desc: true}}, Distinct: true},
		{Args: []Expr{text, number}, Order: []OrderItem{{Expr: number}, {Expr: text, Desc: true}}, Distinct: true},
		{Args: []Expr{text}, Order: []OrderItem{{Expr: number}}, Distinct: true},
		{Args: []Expr{number}, Order: []OrderItem{{Expr: text}}, Separator: &none},
	} {
		spec.Name = "GROUP_CONCAT"
		all := NewContext()
		all.GroupConcatMaxLen = 1 << 30
		cuts := []int{3000, 5500, 5700}
		want, whole := concatOf(t, all, spec, groups, cols, n, cuts)
		for _, limit := range []int{4, 50, 1024, 7000} {
			ctx := NewContext()
			ctx.GroupConcatMaxLen = limit
			got, most := concatOf(t, ctx, spec, groups, cols, n, cuts)
			for g, s := range want {
				if s = s[:min(limit, len(s))]; got[g] != s {
					t.Errorf("%d, limit %d, group %d: %.80q, want %.80q", i, limit, g, got[g], s)
				}
			}
			// Numbers of items that are the same decide late which one counts.
			late := spec.Distinct && len(spec.Order) == 1 && spec.Order[0].Expr == Expr(number) && len(spec.Args) == 1 && spec.Args[0] == Expr(text)
			if limit <= 1024 && most > 200<<10 && most > whole/2 && !late {
				t.Errorf("%d, limit %d: held %d bytes, %d without a limit", i, limit, most, whole)
			}
		}
	}
}

// Identities in parts that are settled one after the other, the rows of each told where
// they were among all, give what all rows give in one state, and less is held.
func TestGroupConcatSettles(t *testing.T) {
	const n, count = 9000, 2
	r := rand.New(rand.NewPCG(3, 3))
	ids, keys, texts, at := vector.New(vector.Str, n), vector.New(vector.Str, n), vector.New(vector.Str, n), vector.New(vector.I64, n)
	groups := make([]uint32, n)
	for i := range n {
		id := r.IntN(3000)
		groups[i] = uint32(r.IntN(count))
		ids.AppendString(fmt.Sprint(id))
		keys.AppendString(fmt.Sprint("k", r.IntN(40)))
		texts.AppendString(fmt.Sprint("text", id))
		at.AppendI64(int64(i))
	}
	for _, order := range [][]OrderItem{nil, {{Expr: Column(1, TString(20, ""), "k")}}} {
		for _, limit := range []int{3, 700, 4000, 8000, 12000, 1 << 20} {
			ctx := NewContext()
			ctx.GroupConcatMaxLen = limit
			a, err := NewAggregate(ctx, AggregateSpec{Name: "GROUP_CONCAT", Args: []Expr{Column(0, TString(20, ""), "s")}, Distinct: true, Order: order})
			if err != nil {
				t.Fatal(err)
			}
			cols := []*vector.Vec{ids, keys, texts, at}
			if order == nil {
				cols[1] = vector.New(vector.Str, n)
				for range n {
					cols[1].AppendString("")
				}
			}
			load := func(s State, part, parts int) {
				var sel []uint16
				var of []uint32
				for i := range n {
					if int(ids.Bytes(i)[len(ids.Bytes(i))-1])%parts == part {
						sel, of = append(sel, uint16(i)), append(of, groups[i])
					}
				}
				var picked []*vector.Vec
				for _, c := range cols {
					picked = append(picked, c.Gather(sel))
				}
				if err := s.Load(of, picked); err != nil {
					t.Fatal(err)
				}
			}
			one, parts := a.NewState(ctx), a.NewState(ctx)
			one.Grow(count)
			parts.Grow(count)
			load(one, 0, 1)
			most := int64(0)
			for p := range 7 {
				load(parts, p, 7)
				most = max(most, parts.Bytes())
				if err := parts.(Settling).Settle(); err != nil {
					t.Fatal(err)
				}
			}
			want, err := one.Result(0, count)
			if err != nil {
				t.Fatal(err)
			}
			whole := one.Bytes()
			got, err := parts.Result(0, count)
			if err != nil {
				t.Fatal(err)
			}
			for g := range count {
				if got.String(g) != want.String(g) {
					t.Errorf("order %v, limit %d, group %d: %.200q, want %.200q", order, limit, g, got.String(g), want.String(g))
				}
			}
			if order != nil && limit < 1000 && most > whole/3 {
				t.Errorf("limit %d: %d bytes were held, %d by one state", limit, most, whole)
			}
		}
	}
}
