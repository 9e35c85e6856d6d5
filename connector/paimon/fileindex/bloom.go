package fileindex

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// bloom is a bloom filter over the values that are not NULL:
//
//	int32 k, the number of hash functions | bits, the first is bit 0 of byte 0
type bloom struct {
	t    catalog.Type
	k    int32
	bits []byte
	rows int64
}

func openBloom(b []byte, t catalog.Type, rows int64) (index, error) {
	if !hashable(t) {
		return nil, nil
	}
	d := &decoder{b: b}
	k := d.int32()
	bits := b[d.at:]
	if d.err == nil && (k <= 0 || k > 1<<10 || len(bits) == 0 || len(bits) > math.MaxInt32/8) {
		d.fail("a bloom filter of %d functions and %d bytes", k, len(bits))
	}
	if d.err != nil {
		return nil, d.err
	}
	return &bloom{t: t, k: k, bits: bits, rows: rows}, nil
}

func (x *bloom) match(p *connector.Predicate) (Rows, error) {
	if p.Op != connector.Eq && p.Op != connector.In {
		return Rows{}, nil
	}
	for i := range p.Value.Len {
		if loose(p.Value, i) || x.has(hashOf(x.t, p.Value, i)) {
			return Rows{}, nil
		}
	}
	if p.Value.Len == 0 {
		return Rows{}, nil
	}
	return none(x.rows), nil
}

func (x *bloom) has(h uint64) bool {
	for i := int32(1); i <= x.k; i++ {
		p := bloomBit(h, i, len(x.bits))
		if x.bits[p>>3]&(1<<(p&7)) == 0 {
			return false
		}
	}
	return true
}

// bloomBit is the position of function i's bit among those of size bytes.
func bloomBit(h uint64, i int32, size int) int32 {
	c := int32(uint32(h)) + i*int32(uint32(h>>32))
	if c < 0 {
		c = ^c
	}
	return c % int32(size*8)
}

func hashable(t catalog.Type) bool {
	switch t.Kind {
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.BigInt, catalog.Float, catalog.Double, catalog.Date, catalog.Time,
		catalog.Char, catalog.Varchar, catalog.Binary, catalog.Varbinary, catalog.Timestamp, catalog.TimestampLTZ:
		return true
	}
	return false
}

// hashOf hashes a value of a hashable type.
func hashOf(t catalog.Type, v *vector.Vec, i int) uint64 {
	i, v = v.At(i), v.Values()
	switch v.Kind {
	case vector.Str:
		return xxhash.Sum64(v.Bytes(i))
	case vector.F32:
		return mix(int64(int32(floatBits(v.F32s[i]))))
	case vector.F64:
		return mix(int64(doubleBits(v.F64s[i])))
	}
	return mix(codec{t: t}.long(v, i))
}

// mix is Thomas Wang's mix of 64 bits with arithmetic shifts.
func mix(k int64) uint64 {
	k = ^k + k<<21
	k ^= k >> 24
	k = k + k<<3 + k<<8
	k ^= k >> 14
	k = k + k<<2 + k<<4
	k ^= k >> 28
	k += k << 31
	return uint64(k)
}

// bloomBuilder builds a bloom filter.
type bloomBuilder struct{ x bloom }

func newBloomBuilder(t catalog.Type, option func(string) string) (Builder, error) {
	items, err := number(option, "items", 1_000_000)
	if err != nil {
		return nil, err
	}
	fpp, err := fraction(option, "fpp", 0.1)
	if err != nil {
		return nil, err
	}
	m := math.Floor(-float64(items) * math.Log(fpp) / (math.Ln2 * math.Ln2))
	if m > 1<<30 {
		return nil, errs.Userf(errs.InvalidConfig, "a bloom-filter index of %d items at fpp %g needs %.0f bits: lower items", items, fpp, m)
	}
	m += 8 - math.Mod(m, 8)
	k := max(1, math.Floor(m/float64(items)*math.Ln2+0.5))
	return &bloomBuilder{bloom{t: t, k: int32(k), bits: make([]byte, int(m)/8)}}, nil
}

func (b *bloomBuilder) Add(v *vector.Vec, from, to int) {
	for i := from; i < to; i++ {
		if v.IsNull(i) {
			continue
		}
		h := hashOf(b.x.t, v, i)
		for k := int32(1); k <= b.x.k; k++ {
			p := bloomBit(h, k, len(b.x.bits))
			b.x.bits[p>>3] |= 1 << (p & 7)
		}
	}
}

func (b *bloomBuilder) Bytes() int64 { return int64(len(b.x.bits)) }

func (b *bloomBuilder) Finish() []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(b.x.k)), b.x.bits...)
}
