package expr

import (
	"encoding/binary"
	"hash/maphash"
	"math"

	"github.com/thermocline/thermocline/internal/vector"
)

// The functions in this file compare, hash and encode values of one type: for
// GROUP BY, DISTINCT, joins and sorting. Both sides must have the very same
// type (class, scale, collation): convert with Unify first. NULLs are equal to
// each other and come first; -0 equals 0; NaN equals itself and comes last;
// strings follow the type's collation, PAD SPACE included.

// AppendSortKey appends a byte string whose bytes.Compare order is the order of
// the values of t; equal values have equal keys. Every key is self-delimiting,
// so keys of several columns may be concatenated. For a descending column,
// invert the appended bytes.
func AppendSortKey(dst []byte, t Type, v *vector.Vec, row int) []byte {
	if v.IsNull(row) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	i := v.At(row)
	w := v.Values()
	switch w.Kind {
	case vector.I8:
		return append(dst, byte(w.I8s[i])^0x80)
	case vector.I32:
		return binary.BigEndian.AppendUint32(dst, uint32(w.I32s[i])^1<<31)
	case vector.I64:
		x := uint64(w.I64s[i])
		if !(t.Unsigned && t.Class == Int || t.Class == Bit) {
			x ^= 1 << 63
		}
		return binary.BigEndian.AppendUint64(dst, x)
	case vector.I128:
		x := w.I128s[i]
		dst = binary.BigEndian.AppendUint64(dst, uint64(x.Hi)^1<<63)
		return binary.BigEndian.AppendUint64(dst, x.Lo)
	case vector.I256:
		x := w.I256s[i]
		dst = binary.BigEndian.AppendUint64(dst, x[3]^1<<63)
		for k := 2; k >= 0; k-- {
			dst = binary.BigEndian.AppendUint64(dst, x[k])
		}
		return dst
	case vector.F32, vector.F64:
		return binary.BigEndian.AppendUint64(dst, doubleKey(floatAt(w, i)))
	case vector.Str:
		switch t.Class {
		case Enum:
			return binary.BigEndian.AppendUint64(dst, uint64(enumPosition(t, w.Bytes(i))))
		case Set:
			return binary.BigEndian.AppendUint64(dst, uint64(ints(nil, t, w, true)(i)))
		case JSON:
			return appendJSONKey(dst, w.Bytes(i))
		}
		return collationOf(t).ready().appendKey(dst, w.Bytes(i))
	case vector.List, vector.Map:
		for j := w.Offset[i]; j < w.Offset[i+1]; j++ {
			dst = append(dst, 1)
			for _, c := range w.Child {
				dst = AppendSortKey(dst, Type{}, c, int(j))
			}
		}
		return append(dst, 0)
	}
	for _, c := range w.Child {
		dst = AppendSortKey(dst, Type{}, c, i)
	}
	return dst
}

// doubleKey maps a double to bits that order as it does.
func doubleKey(x float64) uint64 {
	switch {
	case x == 0:
		return 1 << 63
	case math.IsNaN(x):
		return math.MaxUint64
	}
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// enumPosition is the 1-based position of a label, 0 for none.
func enumPosition(t Type, s []byte) int {
	for k, l := range t.Labels {
		if l == string(s) {
			return k + 1
		}
	}
	return 0
}

var hashSeed = maphash.MakeSeed()

// mix folds a 64-bit value into a hash (the finalizer of MurmurHash3).
func mix(h, x uint64) uint64 {
	h = h*0x9E3779B97F4A7C15 ^ x
	h ^= h >> 33
	h *= 0xFF51AFD7ED558CCD
	h ^= h >> 33
	h *= 0xC4CEB9FE1A85EC53
	return h ^ h>>33
}

const nullHash = 0x6E756C6C

// Hash mixes the hashes of a column into h, one element a row that counts (the
// k-th is row sel[k], or k when sel is nil). Equal values have equal hashes.
// Start with a random seed a process in every element.
func Hash(t Type, v *vector.Vec, sel []uint16, h []uint64) {
	row := func(k int) int {
		if sel != nil {
			return int(sel[k])
		}
		return k
	}
	if v.Form != vector.Flat && len(h) > 0 {
		// Hash the distinct values once.
		d := v.Values()
		n := d.Len
		if v.Form == vector.Const {
			n = 1
		}
		if v.Form == vector.Const || n <= len(h) {
			vals := make([]uint64, n)
			inner := *d
			inner.Form, inner.Len = vector.Flat, n
			for i := range vals {
				vals[i] = hashValue(t, &inner, i)
			}
			for k := range h {
				i := row(k)
				if v.IsNull(i) {
					h[k] = mix(h[k], nullHash)
				} else {
					h[k] = mix(h[k], vals[v.At(i)])
				}
			}
			return
		}
	}
	if v.Form == vector.Flat && v.Valid == nil {
		switch {
		case v.Kind == vector.I32:
			hashWhole(v.I32s, sel, h)
			return
		case v.Kind == vector.I64:
			hashWhole(v.I64s, sel, h)
			return
		case v.Kind == vector.Str && BinaryEqual(t) && t.Class != Enum && t.Class != Set:
			for k := range h {
				h[k] = mix(h[k], hashBytes(v.Bytes(row(k))))
			}
			return
		}
	}
	if v.Form == vector.Flat {
		switch {
		case v.Kind == vector.I32:
			for k := range h {
				i := row(k)
				if v.IsNull(i) {
					h[k] = mix(h[k], nullHash)
				} else {
					h[k] = mix(h[k], uint64(v.I32s[i]))
				}
			}
			return
		case v.Kind == vector.I64:
			for k := range h {
				i := row(k)
				if v.IsNull(i) {
					h[k] = mix(h[k], nullHash)
				} else {
					h[k] = mix(h[k], uint64(v.I64s[i]))
				}
			}
			return
		case v.Kind == vector.F64:
			for k := range h {
				i := row(k)
				if v.IsNull(i) {
					h[k] = mix(h[k], nullHash)
				} else {
					h[k] = mix(h[k], doubleKey(v.F64s[i]))
				}
			}
			return
		}
	}
	for k := range h {
		i := row(k)
		if v.IsNull(i) {
			h[k] = mix(h[k], nullHash)
		} else {
			h[k] = mix(h[k], hashValue(t, v, i))
		}
	}
}

func hashWhole[T int32 | int64](x []T, sel []uint16, h []uint64) {
	if sel == nil {
		x = x[:len(h)]
		for k := range h {
			h[k] = mix(h[k], uint64(x[k]))
		}
		return
	}
	for k, i := range sel[:len(h)] {
		h[k] = mix(h[k], uint64(x[i]))
	}
}

// hashBytes hashes short texts by two words.
func hashBytes(s []byte) uint64 {
	n := len(s)
	switch {
	case n > 16:
		return maphash.Bytes(hashSeed, s)
	case n >= 8:
		return mix(binary.LittleEndian.Uint64(s)^uint64(n)<<56, binary.LittleEndian.Uint64(s[n-8:]))
	case n >= 4:
		return mix(uint64(binary.LittleEndian.Uint32(s))<<8^uint64(n), uint64(binary.LittleEndian.Uint32(s[n-4:])))
	case n > 0:
		return mix(uint64(n), uint64(s[0])|uint64(s[n/2])<<8|uint64(s[n-1])<<16)
	}
	return 0
}

func hashValue(t Type, v *vector.Vec, row int) uint64 {
	i := v.At(row)
	w := v.Values()
	switch w.Kind {
	case vector.I8:
		return uint64(w.I8s[i])
	case vector.I32:
		return uint64(w.I32s[i])
	case vector.I64:
		return uint64(w.I64s[i])
	case vector.I128:
		return mix(w.I128s[i].Lo, uint64(w.I128s[i].Hi))
	case vector.I256:
		x := w.I256s[i]
		return mix(mix(x[0], x[1]), mix(x[2], x[3]))
	case vector.F32, vector.F64:
		return doubleKey(floatAt(w, i))
	case vector.Str:
		switch t.Class {
		case JSON:
			return maphash.Bytes(hashSeed, appendJSONKey(nil, w.Bytes(i)))
		case Enum, Set:
			return maphash.Bytes(hashSeed, w.Bytes(i))
		}
		c := collationOf(t)
		s := w.Bytes(i)
		if c.family == byBytes {
			if c.pad {
				s = trimSpaces(s)
			}
			return hashBytes(s)
		}
		var buf [128]byte
		return maphash.Bytes(hashSeed, c.ready().appendKey(buf[:0], s))
	}
	return maphash.Bytes(hashSeed, AppendSortKey(nil, t, v, row))
}

// Equal reports whether two values are equal, NULLs being equal to each other.
func Equal(t Type, a *vector.Vec, i int, b *vector.Vec, j int) bool {
	return comparer(t)(a, i, b, j) == 0
}

// Comparer returns the three-way comparison of values of t.
func Comparer(t Type) func(a *vector.Vec, i int, b *vector.Vec, j int) int { return comparer(t) }

// BinaryEqual reports whether values of t are equal exactly when their vectors'
// payloads are (bytes, integers), so that a hash table may compare payloads.
func BinaryEqual(t Type) bool {
	switch t.Class {
	case Float, Double, JSON, Nested:
		return false
	case String:
		c := collationOf(t)
		return c.family == byBytes && !c.pad
	}
	return true
}

func comparer(t Type) func(a *vector.Vec, i int, b *vector.Vec, j int) int {
	notNull := func(f func(a *vector.Vec, i int, b *vector.Vec, j int) int) func(a *vector.Vec, i int, b *vector.Vec, j int) int {
		return func(a *vector.Vec, i int, b *vector.Vec, j int) int {
			an, bn := a.IsNull(i), b.IsNull(j)
			if an || bn {
				return b2i(bn) - b2i(an)
			}
			return f(a, i, b, j)
		}
	}
	switch t.Class {
	case Float, Double:
		return notNull(func(a *vector.Vec, i int, b *vector.Vec, j int) int {
			return compareDouble(floatAt(a, i), floatAt(b, j))
		})
	case String:
		c := collationOf(t).ready()
		if c.family == byBytes && !c.pad {
			return vector.Compare
		}
		return notNull(func(a *vector.Vec, i int, b *vector.Vec, j int) int { return sign(c.compare(a.Bytes(i), b.Bytes(j))) })
	case Int, Bit:
		if t.Class == Bit || t.Unsigned && t.Width == 8 {
			return notNull(func(a *vector.Vec, i int, b *vector.Vec, j int) int {
				x, y := uint64(intAt(a, i)), uint64(intAt(b, j))
				return b2i(x > y) - b2i(x < y)
			})
		}
	case Enum:
		return notNull(func(a *vector.Vec, i int, b *vector.Vec, j int) int {
			return sign(enumPosition(t, a.Bytes(i)) - enumPosition(t, b.Bytes(j)))
		})
	case Set:
		return notNull(func(a *vector.Vec, i int, b *vector.Vec, j int) int {
			x, y := uint64(ints(nil, t, a, true)(i)), uint64(ints(nil, t, b, true)(j))
			return b2i(x > y) - b2i(x < y)
		})
	case JSON:
		return notNull(func(a *vector.Vec, i int, b *vector.Vec, j int) int { return compareJSON(a.Bytes(i), b.Bytes(j)) })
	}
	return vector.Compare
}
