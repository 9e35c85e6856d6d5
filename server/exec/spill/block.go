package spill

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/s2"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// A block is a batch as it lies in a file:
//
//	| bytes unpacked u32 | crc32c of what follows u32 | vector.Batch.AppendEncoded, packed by S2 … |
//
// The integers are little-endian. Dictionaries are resolved, selections applied.

const blockHeader = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBlock appends b's rows that count. raw is room for their bytes before
// they are packed, which it returns too.
func appendBlock(dst, raw []byte, b *vector.Batch) ([]byte, []byte) {
	raw = b.AppendEncoded(raw[:0])
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(raw)))
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	body := len(dst)
	dst = append(dst, make([]byte, s2.MaxEncodedLen(len(raw)))...)
	packed := s2.Encode(dst[body:], raw)
	dst = dst[:body+len(packed)]
	binary.LittleEndian.PutUint32(dst[body-4:], crc32.Checksum(packed, castagnoli))
	return dst, raw
}

// decodeBlock reads a block. The batch shares nothing with data.
func decodeBlock(data []byte) (*vector.Batch, error) {
	if len(data) < blockHeader {
		return nil, damaged("it ends within a header")
	}
	size, packed := int(binary.LittleEndian.Uint32(data)), data[blockHeader:]
	if crc32.Checksum(packed, castagnoli) != binary.LittleEndian.Uint32(data[4:]) {
		return nil, damaged("a checksum does not match")
	}
	if n, err := s2.DecodedLen(packed); err != nil || n != size {
		return nil, damaged("a length is wrong")
	}
	raw, err := s2.Decode(vector.AlignedBytes(size), packed)
	if err != nil {
		return nil, damaged(err.Error())
	}
	return vector.Decode(raw)
}

func damaged(why string) error {
	return errs.New(errs.Corruption, errs.KindNone, "read spilled rows: the file is damaged: %s", why)
}
