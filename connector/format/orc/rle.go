package orc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// byteRLE decodes byte run lengths (ORCv1, "Byte Run Length Encoding").
type byteRLE struct {
	s    *stream
	left int  // bytes left in the run
	run  bool // of the same byte
	val  byte
}

func (r *byteRLE) reset(s *stream) { *r = byteRLE{s: s} }

func (r *byteRLE) start() error {
	c, err := r.s.byte()
	if err != nil {
		return err
	}
	if c < 0x80 {
		r.left, r.run = int(c)+3, true
		r.val, err = r.s.byte()
		return err
	}
	r.left, r.run = 0x100-int(c), false
	return nil
}

func (r *byteRLE) next() (byte, error) {
	if r.left == 0 {
		if err := r.start(); err != nil {
			return 0, err
		}
	}
	r.left--
	if r.run {
		return r.val, nil
	}
	return r.s.byte()
}

// bitReader decodes booleans: bytes in byte run lengths, most significant bit
// first.
type bitReader struct {
	bytes byteRLE
	cur   byte
	left  int // bits left in cur
}

func (r *bitReader) reset(s *stream) {
	r.bytes.reset(s)
	r.cur, r.left = 0, 0
}

// read puts the next n bits into dst from bit 0 on, dst being zero, and returns
// how many are set.
func (r *bitReader) read(dst []uint64, n int) (int, error) {
	count := 0
	for i := 0; i < n; {
		if r.left == 0 {
			b, err := r.bytes.next()
			if err != nil {
				return 0, err
			}
			r.cur, r.left = b, 8
		}
		k := min(r.left, n-i)
		// The next k bits, first one lowest.
		x := uint64(bits.Reverse8(r.cur)) & (1<<k - 1)
		r.cur <<= k
		r.left -= k
		count += bits.OnesCount64(x)
		dst[i>>6] |= x << (i & 63)
		if over := i&63 + k - 64; over > 0 {
			dst[i>>6+1] |= x >> (k - over)
		}
		i += k
	}
	return count, nil
}

// intRLE decodes integer run lengths of version 1 or 2.
type intRLE struct {
	s      *stream
	signed bool
	v2     bool
	pos    int
	n      int
	vals   [512]int64 // the current run; the longest has 512 values
}

func (r *intRLE) reset(s *stream, signed, v2 bool) {
	r.s, r.signed, r.v2, r.pos, r.n = s, signed, v2, 0, 0
}

// read fills dst.
func (r *intRLE) read(dst []int64) error {
	for len(dst) > 0 {
		if r.pos == r.n {
			r.pos, r.n = 0, 0
			var err error
			if r.v2 {
				err = r.runV2()
			} else {
				err = r.runV1()
			}
			if err != nil {
				return err
			}
		}
		k := copy(dst, r.vals[r.pos:r.n])
		r.pos += k
		dst = dst[k:]
	}
	return nil
}

func (r *intRLE) varint(signed bool) (int64, error) {
	u, err := r.s.uvarint()
	if signed {
		return unzigzag(u), err
	}
	return int64(u), err
}

func (r *intRLE) runV1() error {
	c, err := r.s.byte()
	if err != nil {
		return err
	}
	if c < 0x80 {
		delta, err := r.s.byte()
		if err != nil {
			return err
		}
		x, err := r.varint(r.signed)
		if err != nil {
			return err
		}
		r.n = int(c) + 3
		for i := range r.vals[:r.n] {
			r.vals[i] = x
			x += int64(int8(delta))
		}
		return nil
	}
	r.n = 0x100 - int(c)
	for i := range r.vals[:r.n] {
		if r.vals[i], err = r.varint(r.signed); err != nil {
			return err
		}
	}
	return nil
}

// widths are the bits that a code of five bits stands for.
var widths = [32]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64}

// closestWidth returns the least width with a code that holds n bits.
func closestWidth(n int) int {
	for _, w := range widths {
		if w >= n {
			return w
		}
	}
	return 64
}

func (r *intRLE) runV2() error {
	h, err := r.s.byte()
	if err != nil {
		return err
	}
	if h>>6 == 0 { // short repeat
		b, err := r.s.take(int(h>>3&7) + 1)
		if err != nil {
			return err
		}
		x := bigEndian(b)
		v := int64(x)
		if r.signed {
			v = unzigzag(x)
		}
		r.n = int(h&7) + 3
		for i := range r.vals[:r.n] {
			r.vals[i] = v
		}
		return nil
	}
	low, err := r.s.byte()
	if err != nil {
		return err
	}
	code := h >> 1 & 0x1f
	r.n = int(h&1)<<8 | int(low) + 1
	switch h >> 6 {
	case 1:
		if err := r.unpack(r.vals[:r.n], widths[code]); err != nil {
			return err
		}
		if r.signed {
			for i, v := range r.vals[:r.n] {
				r.vals[i] = unzigzag(uint64(v))
			}
		}
		return nil
	case 2:
		return r.patched(widths[code])
	}
	return r.delta(int(code))
}

func (r *intRLE) delta(code int) error {
	base, err := r.varint(r.signed)
	if err != nil {
		return err
	}
	delta, err := r.varint(true)
	if err != nil {
		return err
	}
	r.vals[0] = base
	if code == 0 {
		for i := 1; i < r.n; i++ {
			r.vals[i] = r.vals[i-1] + delta
		}
		return nil
	}
	if r.n < 2 {
		return errors.New("a run of deltas has one value")
	}
	if err := r.unpack(r.vals[2:r.n], widths[code]); err != nil {
		return err
	}
	r.vals[1] = base + delta
	for i := 2; i < r.n; i++ {
		if delta < 0 {
			r.vals[i] = r.vals[i-1] - r.vals[i]
		} else {
			r.vals[i] = r.vals[i-1] + r.vals[i]
		}
	}
	return nil
}

func (r *intRLE) patched(width int) error {
	b, err := r.s.take(2)
	if err != nil {
		return err
	}
	baseBytes, patchWidth := int(b[0]>>5)+1, widths[b[0]&0x1f]
	gapWidth, patches := int(b[1]>>5)+1, int(b[1]&0x1f)
	if patches == 0 || gapWidth+patchWidth > 64 {
		return fmt.Errorf("a patched run has %d patches of %d bits", patches, gapWidth+patchWidth)
	}
	if b, err = r.s.take(baseBytes); err != nil {
		return err
	}
	// The base's highest bit is its sign.
	base := int64(bigEndian(b))
	if sign := int64(1) << (baseBytes*8 - 1); base&sign != 0 {
		base = -(base &^ sign)
	}
	vals := r.vals[:r.n]
	if err := r.unpack(vals, width); err != nil {
		return err
	}
	var list [31]int64
	if err := r.unpack(list[:patches], closestWidth(gapWidth+patchWidth)); err != nil {
		return err
	}
	at := 0
	for _, p := range list[:patches] {
		at += int(uint64(p) >> patchWidth)
		patch := uint64(p) & (1<<patchWidth - 1)
		if patch == 0 { // a gap of more than 255
			continue
		}
		if at >= len(vals) {
			return errors.New("a patch lies beyond its run")
		}
		if width < 64 {
			vals[at] |= int64(patch << width)
		}
	}
	for i := range vals {
		vals[i] += base
	}
	return nil
}

// unpack reads big-endian numbers of width bits, padded to a byte at the end.
func (r *intRLE) unpack(dst []int64, width int) error {
	b, err := r.s.take((len(dst)*width + 7) / 8)
	if err != nil {
		return err
	}
	switch width {
	case 8:
		for i := range dst {
			dst[i] = int64(b[i])
		}
		return nil
	case 16:
		for i := range dst {
			dst[i] = int64(binary.BigEndian.Uint16(b[2*i:]))
		}
		return nil
	case 32:
		for i := range dst {
			dst[i] = int64(binary.BigEndian.Uint32(b[4*i:]))
		}
		return nil
	case 64:
		for i := range dst {
			dst[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
		}
		return nil
	}
	var acc uint64 // the next have bits, at its low end
	have, at := 0, 0
	mask := uint64(1)<<width - 1
	for i := range dst {
		for have < width {
			acc = acc<<8 | uint64(b[at])
			at++
			have += 8
		}
		have -= width
		dst[i] = int64(acc >> have & mask)
	}
	return nil
}

func bigEndian(b []byte) uint64 {
	var x uint64
	for _, c := range b {
		x = x<<8 | uint64(c)
	}
	return x
}
