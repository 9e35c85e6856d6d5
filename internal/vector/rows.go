package vector

// AppendRows adds the rows of src, of any form, at the positions sel, or all rows
// when sel is nil, to the Flat vector v of the same kind, copying string bytes.
func (v *Vec) AppendRows(src *Vec, sel []uint16) {
	if v.Kind == List || v.Kind == Map || v.Kind == Struct {
		if sel == nil {
			for i := range src.Len {
				v.AppendFrom(src, i)
			}
			return
		}
		for _, i := range sel {
			v.AppendFrom(src, int(i))
		}
		return
	}
	n := src.Len
	if sel != nil {
		n = len(sel)
	}
	if n == 0 {
		return
	}
	if sel == nil {
		v.appendValid(src, 0, n)
	} else {
		v.appendValidRows(src, sel)
	}
	v.Len += n
	p := src.Values()
	switch v.Kind {
	case I8:
		v.I8s = appendPicked(v.I8s, p.I8s, src, sel)
	case I32:
		v.I32s = appendPicked(v.I32s, p.I32s, src, sel)
	case I64:
		v.I64s = appendPicked(v.I64s, p.I64s, src, sel)
	case I128:
		v.I128s = appendPicked(v.I128s, p.I128s, src, sel)
	case I256:
		v.I256s = appendPicked(v.I256s, p.I256s, src, sel)
	case F32:
		v.F32s = appendPicked(v.F32s, p.F32s, src, sel)
	case F64:
		v.F64s = appendPicked(v.F64s, p.F64s, src, sel)
	case Str:
		at := len(v.Views)
		v.Views = appendPicked(v.Views, p.Views, src, sel)
		for i := at; i < len(v.Views); i++ {
			if w := &v.Views[i]; w.Len() > 12 {
				if v.IsNull(i) {
					*w = View{}
					continue
				}
				*w = v.store(p.bytesOf(w))
			}
		}
	}
}

// appendPicked adds the payload of rows of src at sel, nil: all.
func appendPicked[T any](dst, payload []T, src *Vec, sel []uint16) []T {
	if sel == nil {
		return appendForm(dst, payload, src, 0, src.Len)
	}
	at, n := len(dst), len(sel)
	if cap(dst)-at < n {
		grown := make([]T, at, max(at+n, 2*cap(dst)))
		copy(grown, dst)
		dst = grown
	}
	dst = dst[:at+n]
	out := dst[at:]
	switch {
	case src.Form == Const:
		for i := range out {
			out[i] = payload[0]
		}
	case src.Form == Dict && len(payload) == 0: // all NULL
		clear(out)
	case src.Form == Dict:
		for o, i := range sel {
			out[o] = payload[src.Codes[i]]
		}
	default:
		for o, i := range sel {
			out[o] = payload[i]
		}
	}
	return dst
}

// appendValidRows adds the validity of the rows of src at sel to v, which has
// v.Len rows.
func (v *Vec) appendValidRows(src *Vec, sel []uint16) {
	n := len(sel)
	if src.Valid == nil || src.Form == Const {
		v.appendValid(src, 0, n) // all alike
		return
	}
	if v.Valid == nil {
		v.Valid = AllValid(v.Len)
	}
	v.growValid(n)
	at := v.Len
	for o, i := range sel {
		v.Valid[(at+o)>>6] |= (src.Valid[i>>6] >> (i & 63) & 1) << ((at + o) & 63)
	}
}
