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
