package vector

import "encoding/binary"

// Stretch is rows From to To (exclusive) of vector Src of a list.
type Stretch struct{ Src, From, To uint32 }

// AppendStretches adds rows of several Flat vectors of v's kind to the Flat
// vector v, in the order of list. String bytes are shared, not copied: bases are
// where ShareBufs put each vector's buffers. Nested kinds copy.
func (v *Vec) AppendStretches(srcs []*Vec, bases []int, list []Stretch) {
	if v.Kind == List || v.Kind == Map || v.Kind == Struct {
		for _, s := range list {
			for i := s.From; i < s.To; i++ {
				v.AppendFrom(srcs[s.Src], int(i))
			}
		}
		return
	}
	n, nulls := 0, v.Valid != nil
	for _, s := range list {
		n += int(s.To - s.From)
		nulls = nulls || srcs[s.Src].Valid != nil
	}
	if nulls {
		at := v.Len
		for _, s := range list {
			v.appendValid(srcs[s.Src], int(s.From), int(s.To-s.From))
			v.Len += int(s.To - s.From)
		}
		v.Len = at
	}
	v.Len += n
	switch v.Kind {
	case I8:
		v.I8s = appendStretches(v.I8s, n, list, srcs, func(x *Vec) []int8 { return x.I8s })
	case I32:
		v.I32s = appendStretches(v.I32s, n, list, srcs, func(x *Vec) []int32 { return x.I32s })
	case I64:
		v.I64s = appendStretches(v.I64s, n, list, srcs, func(x *Vec) []int64 { return x.I64s })
	case I128:
		v.I128s = appendStretches(v.I128s, n, list, srcs, func(x *Vec) []Int128 { return x.I128s })
	case I256:
		v.I256s = appendStretches(v.I256s, n, list, srcs, func(x *Vec) []Int256 { return x.I256s })
	case F32:
		v.F32s = appendStretches(v.F32s, n, list, srcs, func(x *Vec) []float32 { return x.F32s })
	case F64:
		v.F64s = appendStretches(v.F64s, n, list, srcs, func(x *Vec) []float64 { return x.F64s })
	case Str:
		at := len(v.Views)
		v.Views = appendStretches(v.Views, n, list, srcs, func(x *Vec) []View { return x.Views })
		for _, s := range list {
			base := uint32(bases[s.Src])
			if base == 0 {
				at += int(s.To - s.From)
				continue
			}
			for range s.To - s.From {
				if w := &v.Views[at]; w.Len() > 12 {
					binary.LittleEndian.PutUint32(w[8:12], binary.LittleEndian.Uint32(w[8:12])+base)
				}
				at++
			}
		}
	}
}

func appendStretches[T any](dst []T, n int, list []Stretch, srcs []*Vec, payload func(*Vec) []T) []T {
	var few [16][]T
	from := few[:0]
	for _, s := range srcs {
		if s == nil {
			from = append(from, nil)
			continue
		}
		from = append(from, payload(s))
	}
	at := len(dst)
	if cap(dst)-at < n {
		grown := make([]T, at, max(at+n, 2*cap(dst)))
		copy(grown, dst)
		dst = grown
	}
	dst = dst[:at+n]
	for _, s := range list {
		src := from[s.Src]
		if s.To-s.From == 1 {
			dst[at] = src[s.From]
			at++
			continue
		}
		at += copy(dst[at:], src[s.From:s.To])
	}
	return dst
}

// Moved returns the view for a vector that has the view's buffers from position
// base on.
func (w View) Moved(base uint32) View {
	if w.Len() > 12 {
		binary.LittleEndian.PutUint32(w[8:12], binary.LittleEndian.Uint32(w[8:12])+base)
	}
	return w
}
