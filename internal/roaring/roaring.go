// Package roaring reads sets of row positions in the portable serialisation of
// Roaring bitmaps (https://github.com/RoaringBitmap/RoaringFormatSpec), as
// deletion vectors of table formats store them: one bitmap of 32-bit positions,
// or the 64-bit layout of several, each with its high 32 bits.
//
// Invariants: a Bitmap is immutable and safe for concurrent use. Bytes that are
// not exactly one well-formed bitmap are refused, never read as another set.
//
// Start reading at Parse32 and Bitmap.Mask.
package roaring

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
)

// Bitmap is a set of positions, cut into containers of 2^16 positions.
type Bitmap struct {
	keys        []int64 // ascending: position >> 16 of each container
	containers  []container
	cardinality int64
}

// container holds the low 16 bits of positions in one of three forms.
type container struct {
	array []uint16 // ascending
	runs  []uint16 // pairs of first and length-1, ascending, not touching
	words []uint64 // 1024 words of bits
}

const (
	cookieNoRuns = 12346
	cookieRuns   = 12347
	maxArray     = 4096 // larger containers are stored as bits
	words        = 1 << 16 / 64
	// offsetsFrom is the number of containers from which a bitmap with runs has
	// an offset header.
	offsetsFrom = 4
)

// Parse32 reads a bitmap of 32-bit positions, which fills b.
func Parse32(b []byte) (*Bitmap, error) {
	m := &Bitmap{}
	rest, err := m.add(b, 0)
	if err == nil && len(rest) > 0 {
		err = errs.Corruptf("read a bitmap: %d bytes follow its end", len(rest))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Parse64 reads the 64-bit layout, which fills b: a little-endian count, then
// that many pairs of the high 32 bits, ascending, and a bitmap of the low ones.
func Parse64(b []byte) (*Bitmap, error) {
	if len(b) < 8 {
		return nil, errs.Corruptf("read a bitmap: it ends early")
	}
	m := &Bitmap{}
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	last := int64(-1)
	for range n {
		if len(b) < 4 {
			return nil, errs.Corruptf("read a bitmap: it ends early")
		}
		high := int64(binary.LittleEndian.Uint32(b))
		if high <= last || high > 1<<31-1 {
			return nil, errs.Corruptf("read a bitmap: its keys do not ascend")
		}
		last = high
		var err error
		if b, err = m.add(b[4:], high<<16); err != nil {
			return nil, err
		}
	}
	if len(b) > 0 {
		return nil, errs.Corruptf("read a bitmap: %d bytes follow its end", len(b))
	}
	return m, nil
}

// add reads one 32-bit bitmap at the front of b, whose container keys lie above
// high, and returns what follows.
func (m *Bitmap) add(b []byte, high int64) ([]byte, error) {
	short := func() ([]byte, error) { return nil, errs.Corruptf("read a bitmap: it ends early") }
	if len(b) < 4 {
		return short()
	}
	cookie := binary.LittleEndian.Uint32(b)
	b = b[4:]
	var n int
	var runs []byte
	switch {
	case cookie&0xffff == cookieRuns:
		n = int(cookie>>16) + 1
		if len(b) < (n+7)/8 {
			return short()
		}
		runs, b = b[:(n+7)/8], b[(n+7)/8:]
	case cookie == cookieNoRuns:
		if len(b) < 4 {
			return short()
		}
		c := binary.LittleEndian.Uint32(b)
		if c > 1<<16 {
			return nil, errs.Corruptf("read a bitmap: it has %d containers", c)
		}
		n, b = int(c), b[4:]
	default:
		return nil, errs.Corruptf("read a bitmap: the cookie %d is unknown", cookie)
	}
	header := b
	size := 4 * n
	if runs == nil || n >= offsetsFrom {
		size += 4 * n // offsets follow from the sizes
	}
	if len(b) < size {
		return short()
	}
	b = b[size:]
	for i := range n {
		key := high + int64(binary.LittleEndian.Uint16(header[4*i:]))
		card := int(binary.LittleEndian.Uint16(header[4*i+2:])) + 1
		if k := len(m.keys); k > 0 && m.keys[k-1] >= key {
			return nil, errs.Corruptf("read a bitmap: its keys do not ascend")
		}
		var c container
		var used int
		switch {
		case runs != nil && runs[i/8]&(1<<(i%8)) != 0:
			c.runs, used = parseRuns(b, card)
		case card <= maxArray:
			c.array, used = parseArray(b, card)
		default:
			c.words, used = parseWords(b, card)
		}
		if used == 0 {
			return nil, errs.Corruptf("read a bitmap: a container is not well-formed")
		}
		b = b[used:]
		m.keys = append(m.keys, key)
		m.containers = append(m.containers, c)
		m.cardinality += int64(card)
	}
	return b, nil
}

// parseRuns, parseArray and parseWords read a container of card positions and
// return the bytes used, 0 when it is not well-formed.
func parseRuns(b []byte, card int) ([]uint16, int) {
	if len(b) < 2 {
		return nil, 0
	}
	n := int(binary.LittleEndian.Uint16(b))
	if n == 0 || len(b) < 2+4*n {
		return nil, 0
	}
	out := uint16s(b[2:], 2*n)
	total, end := 0, -1
	for i := 0; i < len(out); i += 2 {
		first, length := int(out[i]), int(out[i+1])+1
		if first <= end || first+length > 1<<16 {
			return nil, 0
		}
		end = first + length - 1
		total += length
	}
	if total != card {
		return nil, 0
	}
	return out, 2 + 4*n
}

func parseArray(b []byte, card int) ([]uint16, int) {
	if len(b) < 2*card {
		return nil, 0
	}
	out := uint16s(b, card)
	for i := 1; i < card; i++ {
		if out[i-1] >= out[i] {
			return nil, 0
		}
	}
	return out, 2 * card
}

func parseWords(b []byte, card int) ([]uint64, int) {
	if len(b) < 8*words {
		return nil, 0
	}
	out := make([]uint64, words)
	n := 0
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
		n += bits.OnesCount64(out[i])
	}
	if n != card {
		return nil, 0
	}
	return out, 8 * words
}

func uint16s(b []byte, n int) []uint16 {
	out := make([]uint16, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return out
}

// Cardinality returns the number of positions.
func (m *Bitmap) Cardinality() int64 { return m.cardinality }

// Max returns the largest position, -1 when there is none.
func (m *Bitmap) Max() int64 {
	if len(m.keys) == 0 {
		return -1
	}
	base := m.keys[len(m.keys)-1] << 16
	c := m.containers[len(m.containers)-1]
	switch {
	case c.array != nil:
		return base + int64(c.array[len(c.array)-1])
	case c.runs != nil:
		return base + int64(c.runs[len(c.runs)-2]) + int64(c.runs[len(c.runs)-1])
	}
	for i := words - 1; ; i-- {
		if c.words[i] != 0 {
			return base + int64(64*i+63-bits.LeadingZeros64(c.words[i]))
		}
	}
}

// Bytes returns the memory of the bitmap.
func (m *Bitmap) Bytes() int64 {
	n := int64(len(m.keys)) * 80
	for i := range m.containers {
		c := &m.containers[i]
		n += int64(2*len(c.array) + 2*len(c.runs) + 8*len(c.words))
	}
	return n
}

// Mask sets bit i of dst, which has room for n bits, for every position from+i of
// the set with 0 <= i < n, leaves the others, and returns their number.
func (m *Bitmap) Mask(dst []uint64, from int64, n int) (count int) {
	end := from + int64(n)
	i, _ := slices.BinarySearch(m.keys, from>>16)
	for ; i < len(m.keys) && m.keys[i]<<16 < end; i++ {
		base := m.keys[i] << 16
		lo := int(max(from-base, 0)) // of the container's positions
		hi := int(min(end-base, 1<<16))
		shift := int(base - from) // container position + shift is the bit
		c := &m.containers[i]
		switch {
		case c.array != nil:
			k, _ := slices.BinarySearch(c.array, uint16(lo))
			for ; k < len(c.array) && int(c.array[k]) < hi; k++ {
				at := int(c.array[k]) + shift
				dst[at>>6] |= 1 << (at & 63)
				count++
			}
		case c.runs != nil:
			for k := 0; k < len(c.runs) && int(c.runs[k]) < hi; k += 2 {
				a, b := max(int(c.runs[k]), lo), min(int(c.runs[k])+int(c.runs[k+1])+1, hi)
				for at := a + shift; at < b+shift; at++ {
					dst[at>>6] |= 1 << (at & 63)
					count++
				}
			}
		default:
			for w := lo >> 6; w <= (hi-1)>>6; w++ {
				for x := c.words[w]; x != 0; x &= x - 1 {
					p := w<<6 + bits.TrailingZeros64(x)
					if p < lo || p >= hi {
						continue
					}
					at := p + shift
					dst[at>>6] |= 1 << (at & 63)
					count++
				}
			}
		}
	}
	return count
}
