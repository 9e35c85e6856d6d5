package merge

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/roaring"
)

// union makes an aggregate of f, which joins two serialized sets.
func union(a *aggregate, t catalog.Type, f func(dst, x, y []byte) ([]byte, error)) (ok bool) {
	a.agg = both(func(c *cell, acc, in value) (value, error) {
		out, err := f(nil, acc.v.Bytes(acc.i), in.v.Bytes(in.i))
		if err != nil {
			return value{}, err
		}
		c.out().AppendBytes(out)
		return c.last(), nil
	})
	return t.Kind == catalog.Varbinary
}

// maxBitmap bounds the numbers of bitmaps that are joined, which are held one by
// one meanwhile.
const maxBitmap = 1 << 22

// uniteBitmaps joins two Roaring bitmaps of 32-bit numbers.
func uniteBitmaps(dst, x, y []byte) ([]byte, error) {
	var all []int64
	for _, b := range [][]byte{x, y} {
		m, err := roaring.Parse32(b)
		if err == nil && m.Cardinality() > maxBitmap {
			err = errs.Unsupportedf(-1, "merging bitmaps of more than %d numbers", maxBitmap)
		}
		if err == nil {
			all, err = m.AppendPositions(all, maxBitmap)
		}
		if err != nil {
			return dst, err
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	set := make([]uint32, len(all))
	for i, p := range all {
		set[i] = uint32(p)
	}
	if (hasRuns(x) || hasRuns(y)) && tied(set) {
		return dst, errs.Unsupportedf(-1, "merging bitmaps whose union has a container that is as long in runs as it is in numbers")
	}
	return roaring.Append32(dst, set), nil
}

// hasRuns reports whether a bitmap has containers of runs: its cookie is 12347.
func hasRuns(b []byte) bool { return len(b) >= 2 && binary.LittleEndian.Uint16(b) == 12347 }

// tied reports whether a container of the set takes as many bytes in runs as it
// takes in numbers: then Java leaves it in the form that the union gave it.
func tied(set []uint32) bool {
	for from := 0; from < len(set); {
		to, runs := from+1, 1
		for to < len(set) && set[to]>>16 == set[from]>>16 {
			if set[to] != set[to-1]+1 {
				runs++
			}
			to++
		}
		if 2+4*runs == 2*(to-from) {
			return true
		}
		from = to
	}
	return false
}

// Theta sketches of the Apache DataSketches library, compact and ordered
// (https://datasketches.apache.org, "Theta Sketch Framework"):
//
//	preamble longs (1 or 2) | version 3 | family 3 | 0 | 0 | flags | hash of the seed (2 bytes)
//	with two: number of hashes (int32, little-endian) | sampling probability (float32)
//	the hashes (int64), ascending
//
// A sketch of one hash has a preamble of one long. One that has more than
// thetaEntries hashes, or has thrown some away, estimates.
const (
	thetaEntries = 4096
	thetaEmpty   = 1 << 2
	thetaFlags   = 1<<1 | 1<<3 | 1<<4 // read-only, compact, ordered
	thetaSingle  = 1 << 5
)

// thetaHashes reads a sketch that does not estimate.
func thetaHashes(b []byte) (seed [2]byte, hashes []uint64, err error) {
	bad := func() ([2]byte, []uint64, error) {
		return seed, nil, errs.Corruptf("a theta sketch of %d bytes is broken", len(b))
	}
	le := binary.LittleEndian
	if len(b) < 8 {
		return bad()
	}
	seed = [2]byte{b[6], b[7]}
	if b[1] != 3 || b[2] != 3 || b[5]&thetaFlags != thetaFlags || b[0] > 2 {
		return seed, nil, errs.Unsupportedf(-1, "merging theta sketches that estimate, or are not compact and ordered")
	}
	n := 0
	rest := b[8:]
	switch {
	case b[0] == 2:
		if len(b) < 16 {
			return bad()
		}
		n, rest = int(int32(le.Uint32(b[8:]))), b[16:]
		if math.Float32frombits(le.Uint32(b[12:])) != 1 {
			return seed, nil, errs.Unsupportedf(-1, "merging theta sketches of samples")
		}
	case b[5]&thetaEmpty == 0:
		n = 1
	}
	if n < 0 || n > thetaEntries || len(rest) != 8*n {
		return bad()
	}
	for i := range n {
		hashes = append(hashes, le.Uint64(rest[8*i:]))
	}
	return seed, hashes, nil
}

// uniteThetas joins two theta sketches.
func uniteThetas(dst, x, y []byte) ([]byte, error) {
	seed, all, err := thetaHashes(x)
	if err != nil {
		return dst, err
	}
	other, more, err := thetaHashes(y)
	if err != nil {
		return dst, err
	}
	if seed != other {
		return dst, errs.Corruptf("theta sketches of two seeds meet")
	}
	all = append(all, more...)
	slices.Sort(all)
	all = slices.Compact(all)
	le := binary.LittleEndian
	switch n := len(all); {
	case n > thetaEntries:
		return dst, errs.Unsupportedf(-1, "merging theta sketches of more than %d values", thetaEntries)
	case n == 0:
		dst = append(dst, 1, 3, 3, 0, 0, thetaFlags|thetaEmpty, seed[0], seed[1])
	case n == 1:
		dst = append(dst, 1, 3, 3, 0, 0, thetaFlags|thetaSingle, seed[0], seed[1])
	default:
		dst = append(dst, 2, 3, 3, 0, 0, thetaFlags, seed[0], seed[1])
		dst = le.AppendUint32(dst, uint32(n))
		dst = le.AppendUint32(dst, math.Float32bits(1))
	}
	for _, h := range all {
		dst = le.AppendUint64(dst, h)
	}
	return dst, nil
}
