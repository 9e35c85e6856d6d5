package mysql

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/session"
)

// The encoders here are for speed; what they write must be what the engine
// says values look like.
func TestTextRowsAgreeWithTheEngine(t *testing.T) {
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	types := []expr.Type{
		{Class: expr.Bool, Width: 1}, {Class: expr.Bool, Width: 8}, {Class: expr.Int, Width: 1}, {Class: expr.Int, Width: 4},
		{Class: expr.Int, Width: 4, Unsigned: true}, expr.TBigInt, expr.TUint64, expr.TDate, {Class: expr.Year}, expr.TDouble,
		{Class: expr.Double, Scale: 4}, {Class: expr.Float, Scale: expr.NotFixed}, {Class: expr.Bit, Length: 13}, {Class: expr.Bit, Length: 64},
	}
	for s := range 7 {
		types = append(types, expr.TDateTime(s), expr.TTimestamp(s), expr.TTime(s), expr.TDecimal(18, 3*s), expr.TDecimal(38, 6*s), expr.TDecimal(65, 5*s))
	}
	for _, typ := range types {
		v := vector.New(typ.Physical(), 200)
		for range 200 {
			small := r.Int64N(2_000_000_000_000_000) - 500_000_000_000_000
			switch typ.Class {
			case expr.Date:
				v.AppendI32(int32(r.IntN(2932896+719163) - 719162)) // 0001-01-01 to 9999-12-30
				continue
			case expr.Year:
				v.AppendI32(int32(1901 + r.IntN(255)))
				continue
			case expr.Time:
				v.AppendI64(r.Int64N(2*838*3600*microsPerSecond) - 838*3600*microsPerSecond)
				continue
			case expr.Timestamp:
				v.AppendI64(r.Int64N(2147483647 * microsPerSecond))
				continue
			case expr.DateTime:
				v.AppendI64(small)
				continue
			case expr.Bit:
				v.AppendI64(int64(r.Uint64() >> (64 - typ.Length)))
				continue
			}
			switch v.Kind {
			case vector.I8:
				v.AppendI8(int8(r.IntN(2)))
			case vector.I32:
				v.AppendI32(int32(r.Uint32()) >> r.IntN(32))
			case vector.I64:
				v.AppendI64(int64(r.Uint64()) >> r.IntN(64))
			case vector.I128:
				v.AppendI128(vector.Int128{Lo: r.Uint64(), Hi: int64(r.Uint64()) >> r.IntN(64)})
			case vector.I256:
				v.AppendI256(vector.Int256From(vector.Int128{Lo: r.Uint64(), Hi: int64(r.Uint64()) >> r.IntN(64)}))
			case vector.F32:
				v.AppendF32(float32(r.NormFloat64()))
			case vector.F64:
				v.AppendF64(r.NormFloat64() * 1e6)
			}
		}
		w := wire{mark: -1}
		e := newRowEncoder([]session.Column{{Type: typ}}, false, loc, &transcoder{})
		if err := e.rows(&w, vecBatch(v), 0, v.Len); err != nil {
			t.Fatal(err)
		}
		p := w.out
		for i := range v.Len {
			f := fields{b: p[4 : 4+int(p[0])]}
			p = p[4+int(p[0]):]
			if got, want := string(f.str()), string(expr.AppendText(nil, typ, v, i, loc)); got != want {
				t.Fatalf("%+v: %q, want %q", typ, got, want)
			}
		}
	}
}

func TestLongNumbers(t *testing.T) {
	v := vector.New(vector.F64, 1)
	v.AppendF64(1e300)
	w := wire{mark: -1}
	e := newRowEncoder([]session.Column{{Type: expr.Type{Class: expr.Double, Scale: 2}}}, false, nil, &transcoder{})
	if err := e.rows(&w, vecBatch(v), 0, 1); err != nil {
		t.Fatal(err)
	}
	f := fields{b: w.out[4:]}
	if s := string(f.str()); len(s) != 304 || !strings.HasSuffix(s, ".00") || f.bad || len(f.b) != 0 {
		t.Errorf("%d digits: %s", len(s), s)
	}
}
