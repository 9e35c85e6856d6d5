package parquet

import (
	"math"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/vector"
)

// unknown is what a file says of a column without statistics.
var unknown = connector.Bounds{Nulls: -1, Rows: -1}

// bounds returns what a row group's statistics say of a column of type t. n is
// nil when the file lacks the column, which then is all NULL.
func (pf *file) bounds(g *rowGroup, n *node, t catalog.Type) connector.Bounds {
	if n == nil {
		return connector.Bounds{Nulls: g.rows, Rows: g.rows}
	}
	if n.phys < 0 || n.repetition == repeated || !n.accepts(t) {
		return unknown
	}
	s := g.chunks[n.leaf].stats
	if s == nil {
		return unknown
	}
	return pf.statBounds(s, g.rows, n, t)
}

// statBounds returns what statistics of a number of rows say.
func (pf *file) statBounds(s *chunkStats, rows int64, n *node, t catalog.Type) connector.Bounds {
	b := connector.Bounds{Nulls: s.nulls, Rows: rows}
	if b.Nulls > rows {
		return unknown
	}
	lo, hi := s.min, s.max
	if !s.hasMin || !s.hasMax {
		// The deprecated fields are ordered as signed values, which is right for
		// numbers only.
		lo, hi = s.legacyMin, s.legacyMax
		if n.phys == physBytes || n.phys == physFixed || lo == nil || hi == nil || unsigned(n) {
			return b
		}
	} else if n.leaf >= len(pf.meta.typeOrders) || !pf.meta.typeOrders[n.leaf] {
		if len(pf.meta.typeOrders) > 0 || n.phys == physBytes || n.phys == physFixed || unsigned(n) {
			return b
		}
	}
	if n.phys == physInt96 { // no order is defined
		return b
	}
	mn, ok1 := bound(n, t, lo)
	mx, ok2 := bound(n, t, hi)
	if !ok1 || !ok2 || vector.Compare(mn, 0, mx, 0) > 0 {
		return b
	}
	pf.widenFloats(mn, mx)
	b.Min, b.Max = mn, mx
	return b
}

// widenFloats makes float bounds hold for every value in the order of
// vector.Compare: zeros may have either sign whatever the bound's, and NaN, the
// largest, is left out of the bounds by all writers but parquet-mr, which then
// writes none.
func (pf *file) widenFloats(mn, mx *vector.Vec) {
	nan := !strings.HasPrefix(pf.meta.createdBy, "parquet-mr")
	switch mn.Kind {
	case vector.F32:
		if mn.F32s[0] == 0 {
			mn.F32s[0] = float32(math.Copysign(0, -1))
		}
		if nan {
			mx.F32s[0] = float32(math.NaN())
		} else if mx.F32s[0] == 0 {
			mx.F32s[0] = 0
		}
	case vector.F64:
		if mn.F64s[0] == 0 {
			mn.F64s[0] = math.Copysign(0, -1)
		}
		if nan {
			mx.F64s[0] = math.NaN()
		} else if mx.F64s[0] == 0 {
			mx.F64s[0] = 0
		}
	}
}

func unsigned(n *node) bool { return n.logical == logInteger && !n.signed }

// bound decodes a statistics value, which is stored plain and, for byte arrays,
// without its length.
func bound(n *node, t catalog.Type, raw []byte) (*vector.Vec, bool) {
	v := vector.New(t.Physical(), 1)
	if v.Kind == vector.Str {
		v.AppendBytes(raw)
		return v, true
	}
	if (n.phys == physBytes || n.phys == physFixed) && t.Kind == catalog.Decimal {
		x, ok := vector.Int128FromBigEndian(raw)
		if !ok || v.Kind == vector.I64 && !x.IsInt64() {
			return nil, false
		}
		if v.Kind == vector.I64 {
			v.AppendI64(x.Int64())
		} else {
			v.AppendI128(x)
		}
		return v, true
	}
	if n.phys == physBoolean {
		if len(raw) != 1 {
			return nil, false
		}
		v.AppendBool(raw[0] != 0)
		return v, true
	}
	d, err := newDecoder(n, t, func(int64) error { return nil })
	if err != nil || len(raw) != map[int32]int{physInt32: 4, physInt64: 8, physFloat: 4, physDouble: 8}[n.phys] {
		return nil, false
	}
	if d.page(encPlain, raw, 1) != nil || d.read(v, 1) != nil {
		return nil, false
	}
	v.Len = 1
	switch v.Kind { // writers may leave NaN out of the bounds, or put it in
	case vector.F32:
		return v, !math.IsNaN(float64(v.F32s[0]))
	case vector.F64:
		return v, !math.IsNaN(v.F64s[0])
	}
	return v, true
}
