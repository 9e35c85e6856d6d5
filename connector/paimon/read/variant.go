package read

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/variant"
	"github.com/thermocline/thermocline/internal/vector"
)

// checkedVariants returns a cast to type t that also checks the values of type
// VARIANT, so that nothing above meets one that cannot be shown. It is c itself
// when t has none.
func checkedVariants(c cast, t catalog.Type) cast {
	if !holdsVariant(t) {
		return c
	}
	return func(v *vector.Vec) (*vector.Vec, error) {
		if c != nil {
			var err error
			if v, err = c(v); err != nil {
				return nil, err
			}
		}
		return v, checkVariants(t, v)
	}
}

func holdsVariant(t catalog.Type) bool {
	if t.Kind == catalog.Variant || t.Key != nil && holdsVariant(*t.Key) || t.Elem != nil && holdsVariant(*t.Elem) {
		return true
	}
	for _, f := range t.Fields {
		if holdsVariant(f.Type) {
			return true
		}
	}
	return false
}

func checkVariants(t catalog.Type, v *vector.Vec) error {
	if !holdsVariant(t) {
		return nil
	}
	v = v.Values()
	if t.Kind == catalog.Variant {
		var text []byte
		for i := range v.Len {
			if v.IsNull(i) {
				continue
			}
			var err error
			if text, err = variant.AppendJSON(text[:0], v.Child[0].Bytes(i), v.Child[1].Bytes(i)); err != nil {
				return err
			}
		}
		return nil
	}
	var kids []catalog.Type
	switch {
	case t.Kind == catalog.Multiset:
		kids = []catalog.Type{*t.Elem}
	case t.Key != nil:
		kids = []catalog.Type{*t.Key, *t.Elem}
	case t.Elem != nil:
		kids = []catalog.Type{*t.Elem}
	}
	for _, f := range t.Fields {
		kids = append(kids, f.Type)
	}
	for i, k := range kids {
		if err := checkVariants(k, v.Child[i]); err != nil {
			return err
		}
	}
	return nil
}
