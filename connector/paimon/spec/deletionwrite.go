package spec

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/thermocline/thermocline/internal/roaring"
)

// DeletionFileVersion is the first byte of an index file of deletion vectors; the
// blocks of AppendDeletionVector follow it.
const DeletionFileVersion = 1

// AppendDeletionVector appends the block of a data file's deletion vector to an
// index file: what ReadDeletionVector reads. positions ascend. wide chooses the
// 64-bit layout (deletion-vectors.bitmap64):
//
//	narrow:  int32 size | int32 0x5E43F2D0 | bitmap | int32 CRC-32                      (big endian)
//	wide:    int32 size | int32 D1D33964 | int64 count | count × (int32 high | bitmap) (little endian) | int32 CRC-32
//
// The size is that of what lies between it and the checksum, over which the
// checksum is.
func AppendDeletionVector(dst []byte, file string, positions []uint32, wide bool) ([]byte, IndexRange) {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if wide {
		dst = binary.BigEndian.AppendUint32(dst, deletionMagic64)
		dst = binary.LittleEndian.AppendUint64(dst, 1)
		dst = binary.LittleEndian.AppendUint32(dst, 0)
	} else {
		dst = binary.BigEndian.AppendUint32(dst, deletionMagic32)
	}
	dst = roaring.Append32(dst, positions)
	body := dst[start+4:]
	binary.BigEndian.PutUint32(dst[start:], uint32(len(body)))
	r := IndexRange{DataFile: file, Offset: int32(start), Length: int32(len(body)), Cardinality: Some(int64(len(positions)))}
	if wide {
		r.Length += 8
	}
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(body)), r
}
