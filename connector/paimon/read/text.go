package read

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// CastText reads a text as a value of a type, as ALTER's casts do: the default
// values in schemas are written so. The result has one row.
func CastText(text string, to catalog.Type) (*vector.Vec, error) {
	from := catalog.TString
	v := from.NewVec(1)
	v.AppendString(text)
	c, err := newCast(from, to)
	if err != nil || c == nil {
		return v, err
	}
	return c(v)
}
