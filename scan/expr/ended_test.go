package expr

import (
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// A function that takes long ends within endRows rows when its statement does,
// whichever loop it uses.
func TestEnded(t *testing.T) {
	for _, kind := range []string{"each", "rows"} {
		for _, sel := range [][]uint16{nil, {1, 3, 5, 7, 100, 101, 102, 103, 200, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 311, 312, 313, 314, 315, 316, 317, 318, 319, 320, 321, 322, 323, 324, 325, 326, 327, 328, 329, 330}} {
			done := make(chan struct{})
			ctx := NewContext()
			ctx.Done = done
			n := 0
			row := func() {
				if n++; n == 4 {
					close(done)
				}
			}
			c := newCall("slow", TBigInt, func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(vector.I64)
				if kind == "rows" {
					ev.rows(func(int) { row() })
					return out, nil
				}
				return out, ev.each(func(int) error { row(); return nil })
			}, Column(0, TBigInt, "c"))
			v := vector.NewFlat(vector.I64, 4096)
			_, err := c.Eval(ctx, &vector.Batch{Len: 4096, Sel: sel, Seq: -1, Cols: []*vector.Vec{v}})
			if !errs.Is(err, errs.Killed) || n > endRows {
				t.Errorf("%s: %v after %d rows", kind, err, n)
			}
		}
	}
}

// A match that backtracks for long ends when its statement does.
func TestEndedMatch(t *testing.T) {
	done := make(chan struct{})
	ctx := NewContext()
	ctx.Done = done
	e, err := Call(ctx, "REGEXP_LIKE", Column(0, TString(100, DefaultCollation), "s"), Literal(StringValue("(?=(a+)+$)x", "")))
	if err != nil {
		t.Fatal(err)
	}
	v := vector.New(vector.Str, 1)
	v.AppendString("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")
	b := &vector.Batch{Len: 1, Seq: -1, Cols: []*vector.Vec{v}}
	if _, err := e.Eval(ctx, b); !errs.Is(err, errs.RegexpTimeout) {
		t.Errorf("%v, want a timeout", err)
	}
	go close(done)
	for err = nil; !errs.Is(err, errs.Killed); {
		if _, err = e.Eval(ctx, b); err == nil {
			t.Fatal("it matched")
		}
	}
}
