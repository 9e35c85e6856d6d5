package parquet

import (
	"encoding/binary"
	"errors"
)

// pageHeader is the part of parquet.thrift's PageHeader that a reader needs.
type pageHeader struct {
	kind             int32 // 0 data, 1 index, 2 dictionary, 3 data v2
	uncompressedSize int32
	compressedSize   int32
	values           int32 // entries, with NULLs and levels of empty lists
	encoding         int32
	defEncoding      int32 // v1
	repEncoding      int32 // v1
	rows             int32 // v2
	nulls            int32 // v2
	defBytes         int32 // v2
	repBytes         int32 // v2
	uncompressed     bool  // v2: is_compressed = false
	crc              uint32
	hasCRC           bool
}

var errShort = errors.New("it ends early")

// thriftReader reads Thrift's compact protocol: structs of (field id, type)
// pairs, zigzag varints, and skipping of what is not known.
type thriftReader struct {
	b   []byte
	pos int
}

func (r *thriftReader) byte() (byte, error) {
	if r.pos >= len(r.b) {
		return 0, errShort
	}
	c := r.b[r.pos]
	r.pos++
	return c, nil
}

func (r *thriftReader) varint() (uint64, error) {
	x, n := binary.Uvarint(r.b[r.pos:])
	if n == 0 {
		return 0, errShort
	}
	if n < 0 {
		return 0, errors.New("a number in the header is too long")
	}
	r.pos += n
	return x, nil
}

func (r *thriftReader) int() (int64, error) {
	x, err := r.varint()
	return int64(x>>1) ^ -int64(x&1), err
}

func (r *thriftReader) int32() (int32, error) {
	x, err := r.int()
	if err == nil && x != int64(int32(x)) {
		err = errors.New("a number in the header is too large")
	}
	return int32(x), err
}

// The compact protocol's types.
const (
	tStop   = 0
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
)

func (r *thriftReader) skip(typ byte, depth int) error {
	if depth > 16 {
		return errors.New("the header is nested too deeply")
	}
	switch typ {
	case tTrue, tFalse:
		return nil
	case tByte:
		_, err := r.byte()
		return err
	case tI16, tI32, tI64:
		_, err := r.varint()
		return err
	case tDouble:
		return r.advance(8)
	case tBinary:
		n, err := r.varint()
		if err != nil {
			return err
		}
		return r.advance(n)
	case tList, tSet:
		h, err := r.byte()
		if err != nil {
			return err
		}
		n := uint64(h >> 4)
		if n == 15 {
			if n, err = r.varint(); err != nil {
				return err
			}
		}
		elem := h & 15
		for range n { // each takes at least a byte, so errShort ends it
			if elem == tTrue || elem == tFalse { // in lists, one byte each
				err = r.advance(1)
			} else {
				err = r.skip(elem, depth+1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case tStruct:
		return r.fields(func(_ int16, t byte) error { return r.skip(t, depth+1) })
	}
	return errors.New("the header has an unknown field type")
}

func (r *thriftReader) advance(n uint64) error {
	if n > uint64(len(r.b)-r.pos) {
		return errShort
	}
	r.pos += int(n)
	return nil
}

// fields calls f for each field of a struct; f must consume the field's value.
func (r *thriftReader) fields(f func(id int16, typ byte) error) error {
	id := int16(0)
	for {
		h, err := r.byte()
		if err != nil {
			return err
		}
		if h == tStop {
			return nil
		}
		if d := h >> 4; d != 0 {
			id += int16(d)
		} else {
			x, err := r.int()
			if err != nil {
				return err
			}
			id = int16(x)
		}
		if err := f(id, h&15); err != nil {
			return err
		}
	}
}

// parsePageHeader reads a page header at the start of b and returns its length.
// errShort means that b may be too short.
func parsePageHeader(b []byte) (h pageHeader, n int, err error) {
	r := thriftReader{b: b}
	h.kind, h.uncompressedSize, h.compressedSize = -1, -1, -1
	h.encoding = -1
	err = r.fields(func(id int16, typ byte) (err error) {
		switch {
		case typ == tI32 && id == 1:
			h.kind, err = r.int32()
		case typ == tI32 && id == 2:
			h.uncompressedSize, err = r.int32()
		case typ == tI32 && id == 3:
			h.compressedSize, err = r.int32()
		case typ == tI32 && id == 4:
			var x int32
			x, err = r.int32()
			h.crc, h.hasCRC = uint32(x), true
		case typ == tStruct && (id == 5 || id == 7): // data page, dictionary page
			err = r.fields(func(id int16, typ byte) (err error) {
				switch {
				case typ == tI32 && id == 1:
					h.values, err = r.int32()
				case typ == tI32 && id == 2:
					h.encoding, err = r.int32()
				case typ == tI32 && id == 3:
					h.defEncoding, err = r.int32()
				case typ == tI32 && id == 4:
					h.repEncoding, err = r.int32()
				default:
					err = r.skip(typ, 1)
				}
				return err
			})
		case typ == tStruct && id == 8: // data page v2
			err = r.fields(func(id int16, typ byte) (err error) {
				switch {
				case typ == tI32 && id == 1:
					h.values, err = r.int32()
				case typ == tI32 && id == 2:
					h.nulls, err = r.int32()
				case typ == tI32 && id == 3:
					h.rows, err = r.int32()
				case typ == tI32 && id == 4:
					h.encoding, err = r.int32()
				case typ == tI32 && id == 5:
					h.defBytes, err = r.int32()
				case typ == tI32 && id == 6:
					h.repBytes, err = r.int32()
				case id == 7 && typ == tFalse:
					h.uncompressed = true
				default:
					err = r.skip(typ, 1)
				}
				return err
			})
		default:
			err = r.skip(typ, 1)
		}
		return err
	})
	if err != nil {
		return h, 0, err
	}
	if h.kind < 0 || h.uncompressedSize < 0 || h.compressedSize < 0 || h.values < 0 ||
		h.defBytes < 0 || h.repBytes < 0 || h.rows < 0 || h.nulls < 0 {
		return h, 0, errors.New("a page header lacks its sizes")
	}
	return h, r.pos, nil
}

// bytes reads a binary field; the result aliases the buffer.
func (r *thriftReader) bytes() ([]byte, error) {
	n, err := r.varint()
	if err != nil {
		return nil, err
	}
	start := r.pos
	if err := r.advance(n); err != nil {
		return nil, err
	}
	return r.b[start:r.pos:r.pos], nil
}

func (r *thriftReader) int32As64() (int64, error) {
	n, err := r.int32()
	return int64(n), err
}

// list calls f for each struct of a list; f must consume it.
func (r *thriftReader) list(f func() error) error {
	return r.listOf(func(typ byte) bool { return typ == tStruct }, f)
}

// listOf calls f for each element of a list whose elements are of a type that ok
// accepts; f must consume it.
func (r *thriftReader) listOf(ok func(typ byte) bool, f func() error) error {
	h, err := r.byte()
	if err != nil {
		return err
	}
	n := uint64(h >> 4)
	if n == 15 {
		if n, err = r.varint(); err != nil {
			return err
		}
	}
	if !ok(h&15) && n > 0 {
		return errors.New("a list has elements of another type")
	}
	for range n { // each takes at least a byte, so errShort ends it
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
