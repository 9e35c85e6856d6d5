package orc

import (
	"encoding/binary"
	"errors"
)

// Messages are encoded as protocol buffers
// (https://protobuf.dev/programming-guides/encoding/); their fields are those of
// orc_proto.proto. This reads what the format needs.

var errProto = errors.New("a metadata message ends early or is malformed")

// Wire types.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// value is a field's value: num for numbers, bytes for the rest.
type value struct {
	num   uint64
	bytes []byte
	wire  byte
}

// int returns a number that must not be negative nor beyond int64.
func (v value) int() (int64, error) {
	if v.wire != wireVarint || v.num > 1<<63-1 {
		return 0, errProto
	}
	return int64(v.num), nil
}

// sint returns a zigzag number.
func (v value) sint() (int64, error) {
	if v.wire != wireVarint {
		return 0, errProto
	}
	return unzigzag(v.num), nil
}

// message returns the bytes of a message or string.
func (v value) message() ([]byte, error) {
	if v.wire != wireBytes {
		return nil, errProto
	}
	return v.bytes, nil
}

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// fields calls each for every field of a message.
func fields(b []byte, each func(id uint64, v value) error) error {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 || key>>3 == 0 {
			return errProto
		}
		b = b[n:]
		v := value{wire: byte(key & 7)}
		switch v.wire {
		case wireVarint:
			if v.num, n = binary.Uvarint(b); n <= 0 {
				return errProto
			}
			b = b[n:]
		case wire64, wire32:
			size := 8
			if v.wire == wire32 {
				size = 4
			}
			if len(b) < size {
				return errProto
			}
			v.bytes, b = b[:size], b[size:]
		case wireBytes:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return errProto
			}
			v.bytes, b = b[n:n+int(size)], b[n+int(size):]
		default:
			return errProto
		}
		if err := each(key>>3, v); err != nil {
			return err
		}
	}
	return nil
}

// numbers appends a repeated number, packed or not.
func numbers(dst []uint64, v value) ([]uint64, error) {
	switch v.wire {
	case wireVarint:
		return append(dst, v.num), nil
	case wireBytes:
		for b := v.bytes; len(b) > 0; {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errProto
			}
			dst, b = append(dst, x), b[n:]
		}
		return dst, nil
	}
	return nil, errProto
}

// set stores a number that must not be negative.
func set(dst *int64, v value) (err error) {
	*dst, err = v.int()
	return err
}
