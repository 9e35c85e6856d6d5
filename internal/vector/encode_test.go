package vector

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// batchOf makes a batch of every kind with NULLs, long and short texts, and nested
// values.
func batchOf(r *rand.Rand, n int) *Batch {
	element := New(List, n)
	element.Child = []*Vec{New(Str, n)}
	pairs := New(Map, n)
	pairs.Child = []*Vec{New(I32, n), New(F64, n)}
	row := New(Struct, n)
	row.Child = []*Vec{New(I64, n), New(Str, n)}
	b := NewBatch([]Kind{I8, I32, I64, I128, I256, F32, F64, Str}, n)
	b.Cols = append(b.Cols, element, pairs, row)
	for range n {
		for _, v := range b.Cols {
			if r.IntN(5) == 0 {
				v.AppendNull()
				continue
			}
			switch v.Kind {
			case I8:
				v.AppendI8(int8(r.Int()))
			case I32:
				v.AppendI32(int32(r.Int()))
			case I64:
				v.AppendI64(r.Int64())
			case I128:
				v.AppendI128(Int128{Hi: r.Int64(), Lo: r.Uint64()})
			case I256:
				v.AppendI256(Int256{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})
			case F32:
				v.AppendF32(r.Float32())
			case F64:
				v.AppendF64(r.Float64())
			case Str:
				v.AppendBytes(bytes.Repeat([]byte{'x'}, r.IntN(40)))
			case List:
				for range r.IntN(3) {
					v.Child[0].AppendString(fmt.Sprint("element ", r.Int()))
				}
				v.CloseList()
			case Map:
				for range r.IntN(3) {
					v.Child[0].AppendI32(int32(r.Int()))
					v.Child[1].AppendF64(r.Float64())
				}
				v.CloseList()
			case Struct:
				v.Child[0].AppendI64(r.Int64())
				v.Child[1].AppendString(fmt.Sprint("a field of a row ", r.Int()))
				v.CloseStruct()
			}
		}
		b.Len++
	}
	return b
}

func sameRows(t *testing.T, got, want *Batch) {
	t.Helper()
	if got.Rows() != want.Rows() || len(got.Cols) != len(want.Cols) {
		t.Fatalf("%d rows of %d columns, not %d of %d", got.Rows(), len(got.Cols), want.Rows(), len(want.Cols))
	}
	for i := range want.Rows() {
		g, w := got.Row(i), want.Row(i)
		if got.Kind(g) != want.Kind(w) {
			t.Fatalf("row %d: kind %d, not %d", i, got.Kind(g), want.Kind(w))
		}
		for c := range want.Cols {
			if got.Cols[c].IsNull(g) != want.Cols[c].IsNull(w) || Compare(got.Cols[c], g, want.Cols[c], w) != 0 {
				t.Fatalf("row %d, column %d (%s) differs", i, c, want.Cols[c].Kind)
			}
		}
	}
}

func TestEncodedRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, 64, 65, 1000} {
		b := batchOf(r, n)
		if n > 7 {
			for i := range n {
				b.Kinds = append(b.Kinds, RowKind(i%4))
				if i%3 != 0 {
					b.Sel = append(b.Sel, uint16(i))
				}
			}
			b.Cols[7] = &Vec{Kind: Str, Form: Dict, Len: n, Codes: make([]uint32, n), Dict: b.Cols[7].Gather([]uint16{1})}
			b.Cols[7].Dict.Valid = nil
			b.Cols[2] = NewNull(I64, n)
		}
		text := b.AppendEncoded(nil)
		if len(text)%8 != 0 {
			t.Fatalf("%d bytes are no multiple of eight", len(text))
		}
		got, err := Decode(append(AlignedBytes(len(text))[:0], text...))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, got, b)
		if got, err = Decode(append([]byte{0}, text...)[1:]); err != nil { // at an odd address
			t.Fatal(err)
		}
		sameRows(t, got, b)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 9} {
		f.Add(batchOf(r, n).AppendEncoded(nil))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Decode(text)
		if err != nil {
			return
		}
		sameRows(t, b.Clone(), b) // every value can be read
		again, err := Decode(b.AppendEncoded(nil))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, again, b)
	})
}
