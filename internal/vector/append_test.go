package vector

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestAppendRange compares with AppendFrom over random forms, NULLs and borders.
func TestAppendRange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	kinds := []Kind{I8, I32, I64, I128, I256, F32, F64, Str}
	fill := func(v *Vec, n int, nulls bool) {
		for i := range n {
			if nulls && r.IntN(3) == 0 {
				v.AppendNull()
				continue
			}
			switch v.Kind {
			case I8:
				v.AppendI8(int8(i))
			case I32:
				v.AppendI32(r.Int32())
			case I64:
				v.AppendI64(r.Int64())
			case I128:
				v.AppendI128(Int128{r.Uint64(), r.Int64()})
			case I256:
				v.AppendI256(Int256{r.Uint64(), 1, 2, 3})
			case F32:
				v.AppendF32(r.Float32())
			case F64:
				v.AppendF64(r.Float64())
			case Str:
				v.AppendString(fmt.Sprintf("%0*d", r.IntN(30), i))
			}
		}
	}
	for range 3000 {
		k := kinds[r.IntN(len(kinds))]
		got, want := New(k, 0), New(k, 0)
		for range r.IntN(5) {
			n := 1 + r.IntN(200)
			src := New(k, n)
			switch r.IntN(4) {
			case 0:
				fill(src, 1, true)
				src.AsConst(n)
			case 1:
				words := New(k, 5)
				fill(words, r.IntN(5), false)
				src.Form, src.Dict, src.Len = Dict, words, n
				for range n {
					src.Codes = append(src.Codes, uint32(r.IntN(max(words.Len, 1))))
				}
				for i := range n {
					if words.Len == 0 || r.IntN(5) == 0 {
						src.SetNull(i)
					}
				}
			default:
				fill(src, n, r.IntN(2) == 0)
			}
			base := got.ShareBufs(src)
			for range r.IntN(4) {
				from := r.IntN(n)
				to := from + r.IntN(n-from+1)
				got.AppendRange(src, from, to, base)
				for i := from; i < to; i++ {
					want.AppendFrom(src, i)
				}
			}
		}
		if got.Len != want.Len || got.NullCount() != want.NullCount() {
			t.Fatalf("%s: %d rows (%d NULL), want %d (%d)", k, got.Len, got.NullCount(), want.Len, want.NullCount())
		}
		for i := range got.Len {
			if Compare(got, i, want, i) != 0 {
				t.Fatalf("%s: row %d differs", k, i)
			}
		}
		if got.Valid != nil { // bits after the end are 0 or rewritten by the next append
			got.AppendNull()
			if !got.IsNull(got.Len - 1) {
				t.Fatal("an appended NULL is not one")
			}
		}
	}
}
