package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Encodings, as parquet.thrift numbers them.
const (
	encPlain             = 0
	encPlainDict         = 2
	encRLE               = 3
	encBitPacked         = 4
	encDeltaBinary       = 5
	encDeltaLength       = 6
	encDeltaBytes        = 7
	encRLEDict           = 8
	encByteStreamSplit   = 9
	maxDeltaMiniBlocks   = 1 << 10
	maxDeltaValuesInMini = 1 << 16
)

var errValuesShort = errors.New("a page has fewer values than it says")

// hybrid decodes the RLE and bit-packed hybrid (Encodings.md): runs of one
// value, and runs of groups of eight packed values.
type hybrid struct {
	b      []byte
	width  uint
	run    int    // values left in an RLE run
	value  uint32 // of the RLE run
	packed []byte // bytes of the bit-packed run
	bit    int    // position in packed
	left   int    // values left in the bit-packed run
}

func (h *hybrid) reset(b []byte, width uint) error {
	if width > 32 {
		return fmt.Errorf("a bit width of %d", width)
	}
	*h = hybrid{b: b, width: width}
	return nil
}

// fill starts the next run.
func (h *hybrid) fill() error {
	x, n := binary.Uvarint(h.b)
	if n <= 0 {
		return errValuesShort
	}
	h.b = h.b[n:]
	if x > 1<<34 {
		return errors.New("a run is too long")
	}
	if x&1 == 0 {
		h.run = int(x >> 1)
		size := int(h.width+7) / 8
		if len(h.b) < size {
			return errValuesShort
		}
		var v [4]byte
		copy(v[:], h.b[:size])
		h.value = binary.LittleEndian.Uint32(v[:])
		if h.width < 32 && h.value>>h.width != 0 {
			return errors.New("a run's value is wider than its bit width")
		}
		h.b = h.b[size:]
		return nil
	}
	groups := int(x >> 1)
	size := groups * int(h.width)
	h.left = groups * 8
	if size > len(h.b) { // the last group may be cut off after its last value
		size = len(h.b)
		if h.width > 0 {
			h.left = min(h.left, size*8/int(h.width))
		}
		if h.left == 0 {
			return errValuesShort
		}
	}
	h.packed, h.bit = h.b[:size], 0
	h.b = h.b[size:]
	return nil
}

// read fills dst.
func (h *hybrid) read(dst []uint32) error {
	for len(dst) > 0 {
		switch {
		case h.run > 0:
			n := min(h.run, len(dst))
			v := h.value
			for i := range dst[:n] {
				dst[i] = v
			}
			h.run -= n
			dst = dst[n:]
		case h.left > 0:
			n := min(h.left, len(dst))
			unpack(dst[:n], h.packed, h.bit, h.width)
			h.bit += n * int(h.width)
			h.left -= n
			dst = dst[n:]
		default:
			if err := h.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// skip moves past n values.
func (h *hybrid) skip(n int) error {
	for n > 0 {
		switch {
		case h.run > 0:
			k := min(h.run, n)
			h.run -= k
			n -= k
		case h.left > 0:
			k := min(h.left, n)
			h.bit += k * int(h.width)
			h.left -= k
			n -= k
		default:
			if err := h.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// levels fills dst with levels of at most eight bits.
func (h *hybrid) levels(dst []uint8) error {
	for len(dst) > 0 {
		switch {
		case h.run > 0:
			n := min(h.run, len(dst))
			v := uint8(h.value)
			for i := range dst[:n] {
				dst[i] = v
			}
			h.run -= n
			dst = dst[n:]
		case h.left > 0:
			var tmp [64]uint32
			n := min(h.left, len(dst), len(tmp))
			unpack(tmp[:n], h.packed, h.bit, h.width)
			for i, v := range tmp[:n] {
				dst[i] = uint8(v)
			}
			h.bit += n * int(h.width)
			h.left -= n
			dst = dst[n:]
		default:
			if err := h.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// bits appends n levels of width 1 to the bitmap dst at bit at, whose words
// from there on are 0, and returns the number of ones. When all of them are one
// and dst is nil it leaves dst alone.
func (h *hybrid) bits(dst []uint64, at, n int) (ones int, err error) {
	for n > 0 {
		switch {
		case h.run > 0:
			k := min(h.run, n)
			if h.value != 0 {
				setBits(dst, at, k)
				ones += k
			}
			h.run -= k
			at, n = at+k, n-k
		case h.left > 0:
			k := min(h.left, n, 64-at&63, 56)
			w := load64(h.packed, h.bit>>3) >> (h.bit & 7) & (1<<k - 1)
			dst[at>>6] |= w << (at & 63)
			ones += bits.OnesCount64(w)
			h.bit += k
			h.left -= k
			at, n = at+k, n-k
		default:
			if err := h.fill(); err != nil {
				return ones, err
			}
		}
	}
	return ones, nil
}

// allOnes reports whether the next n values lie in one run of ones, and skips
// them if so. It is the common case of an optional column without NULLs.
func (h *hybrid) allOnes(n int) bool {
	if h.run == 0 && h.left == 0 && h.fill() != nil {
		return false
	}
	if h.run >= n && h.value == 1 {
		h.run -= n
		return true
	}
	return false
}

func setBits(dst []uint64, at, n int) {
	for n > 0 {
		k := min(n, 64-at&63)
		dst[at>>6] |= (^uint64(0) >> (64 - k)) << (at & 63)
		at, n = at+k, n-k
	}
}

// load64 reads eight bytes at o, with zeros after the end.
func load64(b []byte, o int) uint64 {
	if o+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[o:])
	}
	var x [8]byte
	if o < len(b) {
		copy(x[:], b[o:])
	}
	return binary.LittleEndian.Uint64(x[:])
}

// unpack reads len(dst) values of width bits, at most 32, from bit on.
func unpack(dst []uint32, b []byte, bit int, width uint) {
	mask := uint64(1)<<width - 1
	i := 0
	// One load has 57 bits of any alignment: several narrow values.
	w := width & 63
	switch {
	case width <= 7:
		for ; i+8 <= len(dst) && bit>>3+8 <= len(b); i += 8 {
			x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
			d := dst[i : i+8 : i+8]
			d[0] = uint32(x & mask)
			x >>= w
			d[1] = uint32(x & mask)
			x >>= w
			d[2] = uint32(x & mask)
			x >>= w
			d[3] = uint32(x & mask)
			x >>= w
			d[4] = uint32(x & mask)
			x >>= w
			d[5] = uint32(x & mask)
			x >>= w
			d[6] = uint32(x & mask)
			d[7] = uint32(x >> w & mask)
			bit += 8 * int(width)
		}
	case width <= 14:
		for ; i+4 <= len(dst) && bit>>3+8 <= len(b); i += 4 {
			x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
			d := dst[i : i+4 : i+4]
			d[0] = uint32(x & mask)
			x >>= w
			d[1] = uint32(x & mask)
			x >>= w
			d[2] = uint32(x & mask)
			d[3] = uint32(x >> w & mask)
			bit += 4 * int(width)
		}
	case width <= 28:
		for ; i+2 <= len(dst) && bit>>3+8 <= len(b); i += 2 {
			x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
			d := dst[i : i+2 : i+2]
			d[0] = uint32(x & mask)
			d[1] = uint32(x >> w & mask)
			bit += 2 * int(width)
		}
	}
	for ; i < len(dst) && bit>>3+8 <= len(b); i++ {
		dst[i] = uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		bit += int(width)
	}
	for ; i < len(dst); i++ {
		dst[i] = uint32(load64(b, bit>>3) >> (bit & 7) & mask)
		bit += int(width)
	}
}

// delta decodes DELTA_BINARY_PACKED: blocks of a least delta and mini blocks of
// packed differences to it.
type delta struct {
	b      []byte
	perMin int // values in a mini block
	minis  int // mini blocks in a block
	total  int // values left, the current one included
	last   int64
	first  bool // last was not delivered yet
	least  int64
	widths []byte // of the mini blocks not begun
	mini   []byte // rest of the current mini block
	width  uint
	bit    int
	left   int // values left in the current mini block
}

// reset starts decoding; most bounds the number of values. It returns the
// number of values.
func (d *delta) reset(b []byte, most int) (int, error) {
	*d = delta{}
	var h [3]uint64
	for i := range h {
		x, n := binary.Uvarint(b)
		if n <= 0 || x > 1<<32 {
			return 0, errors.New("a delta header is broken")
		}
		h[i], b = x, b[n:]
	}
	first, n := binary.Varint(b)
	if n <= 0 {
		return 0, errors.New("a delta header is broken")
	}
	d.b = b[n:]
	block, minis, total := int(h[0]), int(h[1]), int(h[2])
	if minis == 0 || minis > maxDeltaMiniBlocks || block%minis != 0 || block/minis > maxDeltaValuesInMini || block/minis%8 != 0 || block == 0 {
		return 0, fmt.Errorf("delta blocks of %d values in %d parts", block, minis)
	}
	if total > most {
		return 0, fmt.Errorf("%d delta values where at most %d can be", total, most)
	}
	d.perMin, d.minis, d.total, d.last, d.first = block/minis, minis, total, first, true
	return total, nil
}

// read fills dst.
func (d *delta) read(dst []int64) error {
	if len(dst) > d.total {
		return errValuesShort
	}
	d.total -= len(dst)
	for len(dst) > 0 {
		if d.first {
			d.first = false
			dst[0] = d.last
			dst = dst[1:]
			continue
		}
		if d.left == 0 {
			if err := d.fill(); err != nil {
				return err
			}
		}
		n := min(d.left, len(dst))
		mask := ^uint64(0)
		if d.width < 64 {
			mask = 1<<d.width - 1
		}
		for i := range dst[:n] {
			v := load64(d.mini, d.bit>>3) >> (d.bit & 7)
			if s := uint(d.bit & 7); s+d.width > 64 {
				v |= load64(d.mini, d.bit>>3+8) << (64 - s)
			}
			d.last += d.least + int64(v&mask)
			dst[i] = d.last
			d.bit += int(d.width)
		}
		d.left -= n
		dst = dst[n:]
	}
	return nil
}

// fill starts the next mini block.
func (d *delta) fill() error {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.b)
		if n <= 0 || len(d.b)-n < d.minis {
			return errValuesShort
		}
		d.least = least
		d.widths, d.b = d.b[n:n+d.minis], d.b[n+d.minis:]
	}
	d.width = uint(d.widths[0])
	d.widths = d.widths[1:]
	if d.width > 64 {
		return fmt.Errorf("a delta bit width of %d", d.width)
	}
	size := d.perMin / 8 * int(d.width)
	d.left = d.perMin
	if size > len(d.b) { // the last mini block may be cut off after its last value
		size = len(d.b)
		d.left = size * 8 / int(d.width)
		if d.left == 0 {
			return errValuesShort
		}
	}
	d.mini, d.b, d.bit = d.b[:size], d.b[size:], 0
	return nil
}

// rest returns the bytes after the values, when all of them have been read.
func (d *delta) rest() []byte {
	return d.b
}
