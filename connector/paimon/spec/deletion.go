package spec

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
)

// Magic numbers of the two layouts of a deletion vector, as big-endian values.
const (
	deletionMagic32 = 0x5E43F2D0
	deletionMagic64 = 0xD1D33964 // 0x6439D3D1, little-endian
)

// DeletionBlock returns the place in the index file of the block that holds a
// deletion vector: from the size field to the checksum. The length that an index
// range states is the size field's value in the 32-bit layout and that of the
// whole block in the 64-bit one; the block is never longer than the result.
func (r *IndexRange) DeletionBlock() (offset, length int64) {
	return int64(r.Offset), int64(r.Length) + 8
}

// ReadDeletionVector reads the deletion vector at the front of block: a
// big-endian size, the magic number and bitmap of that size, and their CRC-32.
// Positions are 0-based ordinals of rows in the data file.
func ReadDeletionVector(block []byte, r *IndexRange) (*roaring.Bitmap, error) {
	if len(block) < 12 {
		return nil, errs.Corruptf("read the deletion vector of %s: it ends early", r.DataFile)
	}
	size := int64(int32(binary.BigEndian.Uint32(block)))
	if size < 4 || size+8 > int64(len(block)) {
		return nil, errs.Corruptf("read the deletion vector of %s: it states %d bytes of %d", r.DataFile, size, len(block)-8)
	}
	body := block[4 : 4+size]
	if sum := binary.BigEndian.Uint32(block[4+size:]); sum != crc32.ChecksumIEEE(body) {
		return nil, errs.Corruptf("read the deletion vector of %s: its checksum does not match", r.DataFile)
	}
	var m *roaring.Bitmap
	var err error
	switch magic := binary.BigEndian.Uint32(body); {
	case magic == deletionMagic32 && size == int64(r.Length):
		m, err = roaring.Parse32(body[4:])
	case magic == deletionMagic64 && size+8 == int64(r.Length):
		m, err = roaring.Parse64(body[4:])
	default:
		return nil, errs.Corruptf("read the deletion vector of %s: magic number %08x with %d bytes, its index states %d", r.DataFile, magic, size, r.Length)
	}
	if err != nil {
		return nil, errs.Corruptf("read the deletion vector of %s: %w", r.DataFile, err)
	}
	if r.Cardinality.OK && r.Cardinality.V != m.Cardinality() {
		return nil, errs.Corruptf("read the deletion vector of %s: it has %d positions, its index states %d", r.DataFile, m.Cardinality(), r.Cardinality.V)
	}
	return m, nil
}
