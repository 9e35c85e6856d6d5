package expr

import (
	"testing"

	"github.com/thermocline/thermocline/internal/vector"
)

// TestRandSeed has the first numbers that MySQL's manual shows for RAND(3).
func TestRandSeed(t *testing.T) {
	ctx := NewContext()
	e, err := Call(ctx, "RAND", Literal(IntValue(3)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Eval(ctx, &vector.Batch{Len: 2})
	if err != nil {
		t.Fatal(err)
	}
	w, err := e.Eval(ctx, &vector.Batch{Len: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.9057697559760601, 0.37307905813034536, 0.14808605345719125} {
		x := w.F64s[0]
		if i < 2 {
			x = v.F64s[i]
		}
		if x != want {
			t.Errorf("number %d: %v, want %v", i, x, want)
		}
	}
	if e.Traits()&Volatile == 0 || IsConst(e) {
		t.Error("RAND is not volatile")
	}
}
