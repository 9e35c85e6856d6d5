package roaring

import (
	"encoding/binary"
	"math/bits"

	"github.com/thermocline/thermocline/internal/errs"
)

// ReadPrefix32 reads the bitmap of 32-bit positions at the front of b and
// returns the bytes after it.
func ReadPrefix32(b []byte) (*Bitmap, []byte, error) {
	m := &Bitmap{}
	rest, err := m.add(b, 0)
	if err != nil {
		return nil, nil, err
	}
	return m, rest, nil
}

// Append32 appends the portable serialisation of a set of 32-bit positions,
// which ascend, to dst: what Parse32 reads. Each container takes its smallest
// form.
func Append32(dst []byte, set []uint32) []byte {
	type span struct{ from, to, runs int }
	var spans []span // of set, one a container
	hasRuns := false
	for from := 0; from < len(set); {
		to, runs := from+1, 1
		for to < len(set) && set[to]>>16 == set[from]>>16 {
			if set[to] != set[to-1]+1 {
				runs++
			}
			to++
		}
		if 2+4*runs >= min(2*(to-from), 8*words) {
			runs = 0
		}
		hasRuns = hasRuns || runs > 0
		spans = append(spans, span{from, to, runs})
		from = to
	}
	le := binary.LittleEndian
	start := len(dst)
	if hasRuns {
		dst = le.AppendUint32(dst, uint32(cookieRuns|(len(spans)-1)<<16))
		at := len(dst)
		dst = append(dst, make([]byte, (len(spans)+7)/8)...)
		for i, s := range spans {
			if s.runs > 0 {
				dst[at+i/8] |= 1 << (i % 8)
			}
		}
	} else {
		dst = le.AppendUint32(dst, cookieNoRuns)
		dst = le.AppendUint32(dst, uint32(len(spans)))
	}
	for _, s := range spans {
		dst = le.AppendUint16(dst, uint16(set[s.from]>>16))
		dst = le.AppendUint16(dst, uint16(s.to-s.from-1))
	}
	offsets := len(dst)
	withOffsets := !hasRuns || len(spans) >= offsetsFrom
	if withOffsets {
		dst = append(dst, make([]byte, 4*len(spans))...)
	}
	for i, s := range spans {
		if withOffsets {
			le.PutUint32(dst[offsets+4*i:], uint32(len(dst)-start))
		}
		part := set[s.from:s.to]
		switch {
		case s.runs > 0:
			dst = le.AppendUint16(dst, uint16(s.runs))
			for k := 0; k < len(part); {
				end := k + 1
				for end < len(part) && part[end] == part[end-1]+1 {
					end++
				}
				dst = le.AppendUint16(dst, uint16(part[k]))
				dst = le.AppendUint16(dst, uint16(end-k-1))
				k = end
			}
		case len(part) > maxArray:
			at := len(dst)
			dst = append(dst, make([]byte, 8*words)...)
			for _, p := range part {
				dst[at+int(p&0xffff)/8] |= 1 << (p % 8)
			}
		default:
			for _, p := range part {
				dst = le.AppendUint16(dst, uint16(p))
			}
		}
	}
	return dst
}

// AppendPositions appends the positions of the set, ascending. A set of more
// than limit positions is an error.
func (m *Bitmap) AppendPositions(dst []int64, limit int64) ([]int64, error) {
	if m.cardinality > limit {
		return nil, errs.Corruptf("list a bitmap: it has %d positions, more than %d", m.cardinality, limit)
	}
	for i, key := range m.keys {
		base := key << 16
		c := &m.containers[i]
		switch {
		case c.array != nil:
			for _, p := range c.array {
				dst = append(dst, base+int64(p))
			}
		case c.runs != nil:
			for k := 0; k < len(c.runs); k += 2 {
				for p := range int64(c.runs[k+1]) + 1 {
					dst = append(dst, base+int64(c.runs[k])+p)
				}
			}
		default:
			for w, x := range c.words {
				for ; x != 0; x &= x - 1 {
					dst = append(dst, base+int64(w<<6+bits.TrailingZeros64(x)))
				}
			}
		}
	}
	return dst, nil
}
