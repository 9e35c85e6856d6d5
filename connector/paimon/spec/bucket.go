package spec

import (
	"encoding/binary"
	"math/bits"
)

// Hash is the hash of a row's bytes without the arity (BinaryRow.Row), which
// chooses its bucket: Murmur3, 32 bits, seed 42, over 4-byte words. The length
// is always a multiple of 8. Java: MurmurHashUtils.hashBytesByWords.
func Hash(row []byte) int32 {
	h := uint32(42)
	for i := 0; i+4 <= len(row); i += 4 {
		k := binary.LittleEndian.Uint32(row[i:]) * 0xcc9e2d51
		k = bits.RotateLeft32(k, 15) * 0x1b873593
		h ^= k
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	h ^= uint32(len(row))
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return int32(h)
}

// Bucket returns the bucket among n of a bucket-key row under the default
// bucket function: |hash % n| with the remainder truncated towards zero.
func Bucket(key BinaryRow, n int32) int32 {
	b := Hash(key.Row()) % n
	if b < 0 {
		return -b
	}
	return b
}
