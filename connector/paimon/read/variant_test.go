package read

import (
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
)

// TestCheckedVariants: a VARIANT that is none is an error wherever it is.
func TestCheckedVariants(t *testing.T) {
	variant := catalog.Type{Kind: catalog.Variant}
	list := catalog.Type{Kind: catalog.Array, Elem: &variant}
	row := catalog.Type{Kind: catalog.Row, Fields: []catalog.Field{{Name: "a", Type: catalog.TInt}, {Name: "v", Type: list}}}
	for _, bad := range []bool{false, true} {
		v := row.NewVec(1)
		v.Child[0].AppendI32(1)
		l := v.Child[1]
		value := []byte{12, 1}
		if bad {
			value = []byte{14, 1}
		}
		l.Child[0].Child[0].AppendBytes(value)
		l.Child[0].Child[1].AppendBytes([]byte{1, 0, 0})
		l.Child[0].Len = 1
		l.Offset = append(l.Offset[:0], 0, 1)
		l.Len = 1
		v.Len = 1
		_, err := checkedVariants(nil, row)(v)
		if bad && errs.ClassOf(err) != errs.Corruption || !bad && err != nil {
			t.Errorf("bad %t: %v", bad, err)
		}
	}
	if checkedVariants(nil, catalog.TInt) != nil {
		t.Error("an INT is checked")
	}
}
