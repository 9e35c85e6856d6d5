package vector

import (
	"encoding/binary"
	"math"
)

// AppendKey adds an encoding of row i of v, which is not nested, to key: equal for
// values of the same bits and for no others, also as a part of longer keys.
func AppendKey(key []byte, v *Vec, i int) []byte {
	if v.IsNull(i) {
		return append(key, 0)
	}
	key = append(key, 1)
	i = v.At(i)
	v = v.Values()
	switch v.Kind {
	case I8:
		return append(key, byte(v.I8s[i]))
	case I32:
		return binary.LittleEndian.AppendUint32(key, uint32(v.I32s[i]))
	case I64:
		return binary.LittleEndian.AppendUint64(key, uint64(v.I64s[i]))
	case I128:
		key = binary.LittleEndian.AppendUint64(key, v.I128s[i].Lo)
		return binary.LittleEndian.AppendUint64(key, uint64(v.I128s[i].Hi))
	case I256:
		for _, w := range v.I256s[i] {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
		return key
	case F32:
		return binary.LittleEndian.AppendUint32(key, math.Float32bits(v.F32s[i]))
	case F64:
		return binary.LittleEndian.AppendUint64(key, math.Float64bits(v.F64s[i]))
	}
	b := v.Bytes(i)
	key = binary.LittleEndian.AppendUint32(key, uint32(len(b)))
	return append(key, b...)
}
