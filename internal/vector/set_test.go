package vector

import "testing"

func TestNewFlatSetBytes(t *testing.T) {
	v := NewFlat(Str, 3)
	v.SetBytes(2, []byte("a string longer than twelve bytes"))
	v.SetBytes(0, []byte("short"))
	v.SetNull(1)
	if v.String(0) != "short" || v.String(2) != "a string longer than twelve bytes" || !v.IsNull(1) || v.IsNull(2) {
		t.Fatalf("got %q, %q", v.String(0), v.String(2))
	}
	for k := I8; k <= F64; k++ {
		if w := NewFlat(k, 5); w.Len != 5 || w.NullCount() != 0 {
			t.Fatalf("%s: %d rows", k, w.Len)
		}
	}
}

func TestSetRows(t *testing.T) {
	a := New(Str, 4)
	b := New(Str, 4)
	for i := range 4 {
		a.AppendString(string(rune('a'+i)) + " is the first of two long strings")
		if i == 2 {
			b.AppendNull()
		} else {
			b.AppendString(string(rune('a'+i)) + " is the second of two long strings")
		}
	}
	v := NewFlat(Str, 4)
	v.SetRows(a, []uint16{0, 3})
	v.SetRows(b, []uint16{1, 2})
	for i, want := range []string{a.String(0), b.String(1), "", a.String(3)} {
		if v.IsNull(i) != (want == "") || want != "" && v.String(i) != want {
			t.Errorf("row %d: got %q, want %q", i, v.String(i), want)
		}
	}
	v.SetRows(New(Str, 1).AsConstString("c"), nil)
	if v.String(2) != "c" || v.HasNulls() {
		t.Errorf("a constant over all rows: got %q, %d NULLs", v.String(2), v.NullCount())
	}
}

// AsConstString makes v a Const of one short string for tests.
func (v *Vec) AsConstString(s string) *Vec {
	v.AppendString(s)
	return v.AsConst(4)
}
