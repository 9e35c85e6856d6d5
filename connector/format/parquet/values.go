package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// decoder turns the values of a leaf's pages into a vector's payload. Values are
// dense: NULLs are not among them.
type decoder interface {
	// dict takes a dictionary page of n values.
	dict(data []byte, n int) error
	// page starts a data page of at most n values.
	page(enc int32, data []byte, n int) error
	// read appends m values to the payload of out, without touching out.Len.
	read(out *vector.Vec, m int) error
	// skip moves past m values of the page.
	skip(m int) error
	// begin is called once a batch, before read.
	begin()
	// reset forgets dictionary and page.
	reset()
	// views reports whether vectors refer to the page's bytes, so that the next
	// page must not overwrite them.
	views() bool
}

// newDecoder returns the decoder of a leaf for an accepted type.
func newDecoder(n *node, t catalog.Type, charge func(int64) error) (decoder, error) {
	k := t.Physical()
	switch k {
	case vector.Str:
		d := &stringDecoder{charge: charge}
		if n.phys == physFixed {
			d.fixed = int(n.length)
		}
		return d, nil
	case vector.I8:
		return &boolDecoder{}, nil
	case vector.F32:
		return newFixed(charge, 4, plainF32, func(v *vector.Vec) *[]float32 { return &v.F32s }), nil
	case vector.F64:
		return newFixed(charge, 8, plainF64, func(v *vector.Vec) *[]float64 { return &v.F64s }), nil
	case vector.I32:
		return newFixed(charge, 4, plainI32, func(v *vector.Vec) *[]int32 { return &v.I32s }), nil
	case vector.I64:
		at := func(v *vector.Vec) *[]int64 { return &v.I64s }
		ts := t.Kind == catalog.Timestamp || t.Kind == catalog.TimestampLTZ
		switch {
		case n.phys == physInt32 && n.logical == logInteger && !n.signed:
			return newFixed(charge, 4, plainU32AsI64, at), nil
		case n.phys == physInt32:
			return newFixed(charge, 4, plainI32AsI64, at), nil
		case n.phys == physInt64 && ts && n.unit == unitMillis:
			return newFixed(charge, 8, plainMillis, at), nil
		case n.phys == physInt64:
			return newFixed(charge, 8, plainI64, at), nil
		case n.phys == physFixed:
			return newFixed(charge, int(n.length), bigEndianI64(int(n.length)), at), nil
		case n.phys == physBytes:
			return &decimalBytes{stringDecoder: stringDecoder{charge: charge}}, nil
		}
	case vector.I128:
		at := func(v *vector.Vec) *[]vector.Int128 { return &v.I128s }
		ts := t.Kind == catalog.Timestamp || t.Kind == catalog.TimestampLTZ
		switch {
		case n.phys == physInt96:
			return newFixed(charge, 12, plainInt96, at), nil
		case n.phys == physInt64 && ts:
			f := map[int16]int64{unitMillis: 1e6, unitMicros: 1e3, unitNanos: 1}[n.unit]
			return newFixed(charge, 8, plainI64AsI128(f), at), nil
		case n.phys == physInt64 && n.logical == logInteger && !n.signed:
			return newFixed(charge, 8, plainU64AsI128, at), nil
		case n.phys == physInt64:
			return newFixed(charge, 8, plainI64AsI128(1), at), nil
		case n.phys == physInt32:
			return newFixed(charge, 4, plainI32AsI128, at), nil
		case n.phys == physFixed:
			return newFixed(charge, int(n.length), bigEndianI128(int(n.length)), at), nil
		case n.phys == physBytes:
			return &decimalBytes{stringDecoder: stringDecoder{charge: charge}}, nil
		}
	}
	return nil, errs.Unsupportedf(-1, "reading Parquet column %q of type %s as %s", n.name, n, t)
}

// grow appends m unset values to s.
func grow[T any](s *[]T, m int) []T {
	n := len(*s)
	if cap(*s)-n < m {
		t := make([]T, n, max(n+m, 2*cap(*s)))
		copy(t, *s)
		*s = t
	}
	*s = (*s)[:n+m]
	return (*s)[n:]
}

// Modes of a page's values.
const (
	modeNone = iota
	modePlain
	modeDict
	modeDelta
	modeBytes // modePlain over bytes that were made while the page began
)

// fixed decodes values of width bytes into T.
type fixed[T any] struct {
	width  int
	charge func(int64) error
	plain  func(dst []T, src []byte) error
	at     func(*vector.Vec) *[]T
	words  []T // dictionary
	hasD   bool
	mode   int
	data   []byte // rest of the page's plain values
	codes  hybrid
	delta  delta
	code   []uint32
	ints   []int64
	buf    []byte
}

func newFixed[T any](charge func(int64) error, width int, plain func([]T, []byte) error, at func(*vector.Vec) *[]T) *fixed[T] {
	return &fixed[T]{charge: charge, width: width, plain: plain, at: at}
}

func (d *fixed[T]) begin()      {}
func (d *fixed[T]) views() bool { return false }
func (d *fixed[T]) reset()      { d.words, d.hasD, d.mode = d.words[:0], false, modeNone }

func (d *fixed[T]) dict(data []byte, n int) error {
	if n > len(data)/d.width {
		return fmt.Errorf("a dictionary of %d values in %d bytes", n, len(data))
	}
	d.words, d.hasD = d.words[:0], true
	return d.plain(grow(&d.words, n), data[:n*d.width])
}

func (d *fixed[T]) page(enc int32, data []byte, n int) error {
	d.mode = modeNone
	switch enc {
	case encPlain:
		d.mode, d.data = modePlain, data
	case encPlainDict, encRLEDict:
		if !d.hasD {
			return errors.New("a page needs a dictionary that is missing")
		}
		d.mode = modeDict
		return startCodes(&d.codes, data)
	case encDeltaBinary:
		if d.width != 4 && d.width != 8 {
			return badEncoding(enc)
		}
		d.mode = modeDelta
		_, err := d.delta.reset(data, n)
		return err
	case encByteStreamSplit:
		count := len(data) / d.width
		if len(data)%d.width != 0 {
			return errors.New("a split stream of uneven length")
		}
		d.buf = d.buf[:0]
		b := grow(&d.buf, len(data))
		for i := range count {
			for j := range d.width {
				b[i*d.width+j] = data[j*count+i]
			}
		}
		d.mode, d.data = modePlain, b
	case encDeltaBytes:
		b, err := deltaByteArrays(data, n, d.width, d.charge)
		d.mode, d.data = modePlain, b
		return err
	default:
		return badEncoding(enc)
	}
	return nil
}

func badEncoding(enc int32) error {
	return errs.Unsupportedf(-1, "the Parquet encoding %d for this type", enc)
}

// startCodes begins a page of dictionary codes: a bit width, then the hybrid.
func startCodes(h *hybrid, data []byte) error {
	if len(data) == 0 { // a page of NULLs only
		return h.reset(nil, 0)
	}
	return h.reset(data[1:], uint(data[0]))
}

func (d *fixed[T]) read(out *vector.Vec, m int) error {
	dst := grow(d.at(out), m)
	switch d.mode {
	case modePlain:
		n := m * d.width
		if n > len(d.data) {
			return errValuesShort
		}
		src := d.data[:n]
		d.data = d.data[n:]
		return d.plain(dst, src)
	case modeDict:
		d.code = d.code[:0]
		codes := grow(&d.code, m)
		if err := d.codes.read(codes); err != nil {
			return err
		}
		if err := checkCodes(codes, len(d.words)); err != nil {
			return err
		}
		words := d.words
		for i, c := range codes {
			dst[i] = words[c]
		}
		return nil
	case modeDelta:
		d.ints, d.buf = d.ints[:0], d.buf[:0]
		ints, b := grow(&d.ints, m), grow(&d.buf, m*d.width)
		if err := d.delta.read(ints); err != nil {
			return err
		}
		for i, x := range ints {
			if d.width == 4 {
				binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
			} else {
				binary.LittleEndian.PutUint64(b[8*i:], uint64(x))
			}
		}
		return d.plain(dst, b)
	}
	if m > 0 {
		return errValuesShort
	}
	return nil
}

func (d *fixed[T]) skip(m int) error {
	switch d.mode {
	case modePlain:
		if m*d.width > len(d.data) {
			return errValuesShort
		}
		d.data = d.data[m*d.width:]
		return nil
	case modeDict:
		return d.codes.skip(m)
	case modeDelta:
		d.ints = d.ints[:0]
		return d.delta.read(grow(&d.ints, m))
	}
	if m > 0 {
		return errValuesShort
	}
	return nil
}

// checkCodes reports codes that lie outside a dictionary of n words.
func checkCodes(codes []uint32, n int) error {
	most := uint32(0)
	for _, c := range codes {
		most = max(most, c)
	}
	if len(codes) > 0 && int64(most) >= int64(n) {
		return fmt.Errorf("dictionary code %d of %d", most, n)
	}
	return nil
}

// Plain values to payloads. len(src) is len(dst) times the width.

func plainI32(dst []int32, src []byte) error {
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return nil
}

func plainI64(dst []int64, src []byte) error {
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return nil
}

func plainI32AsI64(dst []int64, src []byte) error {
	for i := range dst {
		dst[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
	}
	return nil
}

func plainU32AsI64(dst []int64, src []byte) error {
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return nil
}

func plainMillis(dst []int64, src []byte) error {
	for i := range dst {
		ms := int64(binary.LittleEndian.Uint64(src[8*i:]))
		if ms > math.MaxInt64/1000 || ms < math.MinInt64/1000 {
			return fmt.Errorf("timestamp %d ms is out of range", ms)
		}
		dst[i] = ms * 1000
	}
	return nil
}

func plainF32(dst []float32, src []byte) error {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return nil
}

func plainF64(dst []float64, src []byte) error {
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return nil
}

func plainI32AsI128(dst []vector.Int128, src []byte) error {
	for i := range dst {
		dst[i] = vector.Int128From(int64(int32(binary.LittleEndian.Uint32(src[4*i:]))))
	}
	return nil
}

func plainI64AsI128(factor int64) func([]vector.Int128, []byte) error {
	return func(dst []vector.Int128, src []byte) error {
		for i := range dst {
			dst[i] = mul64(int64(binary.LittleEndian.Uint64(src[8*i:])), factor)
		}
		return nil
	}
}

func plainU64AsI128(dst []vector.Int128, src []byte) error {
	for i := range dst {
		dst[i] = vector.Int128FromUint(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return nil
}

// julianEpoch is the Julian day of 1970-01-01.
const julianEpoch = 2440588

// plainInt96 reads nanoseconds of the day, then the Julian day. Java's writer
// divides towards zero, so that instants before 1970 have negative nanoseconds
// of the following day: adding is right for both.
func plainInt96(dst []vector.Int128, src []byte) error {
	for i := range dst {
		nanos := int64(binary.LittleEndian.Uint64(src[12*i:]))
		day := int64(int32(binary.LittleEndian.Uint32(src[12*i+8:])))
		dst[i] = mul64(day-julianEpoch, 86400e9).Add(vector.Int128From(nanos))
	}
	return nil
}

// mul64 returns x * y for y > 0.
func mul64(x, y int64) vector.Int128 {
	neg := x < 0
	u := uint64(x)
	if neg {
		u = -u
	}
	hi, lo := mulU64(u, uint64(y))
	r := vector.Int128{Lo: lo, Hi: int64(hi)}
	if neg {
		r = r.Neg()
	}
	return r
}

// bigEndianI64 reads signed big-endian numbers of n bytes that fit in an int64.
func bigEndianI64(n int) func([]int64, []byte) error {
	return func(dst []int64, src []byte) error {
		for i := range dst {
			x, ok := vector.Int128FromBigEndian(src[i*n : (i+1)*n])
			if !ok || !x.IsInt64() {
				return errors.New("a decimal is larger than its precision")
			}
			dst[i] = x.Int64()
		}
		return nil
	}
}

func bigEndianI128(n int) func([]vector.Int128, []byte) error {
	return func(dst []vector.Int128, src []byte) error {
		for i := range dst {
			x, ok := vector.Int128FromBigEndian(src[i*n : (i+1)*n])
			if !ok {
				return errors.New("a decimal is larger than its precision")
			}
			dst[i] = x
		}
		return nil
	}
}

// boolDecoder decodes BOOLEAN: plain bits or the hybrid of width 1.
type boolDecoder struct {
	mode int
	data []byte
	bit  int
	rle  hybrid
	code []uint32
}

func (d *boolDecoder) begin()                 {}
func (d *boolDecoder) views() bool            { return false }
func (d *boolDecoder) reset()                 { d.mode = modeNone }
func (d *boolDecoder) dict([]byte, int) error { return errors.New("a dictionary of booleans") }

func (d *boolDecoder) page(enc int32, data []byte, _ int) error {
	switch enc {
	case encPlain:
		d.mode, d.data, d.bit = modePlain, data, 0
		return nil
	case encRLE:
		d.mode = modeDict
		if len(data) == 0 { // NULLs only
			return d.rle.reset(nil, 1)
		}
		if len(data) < 4 {
			return errValuesShort
		}
		n := int(binary.LittleEndian.Uint32(data))
		if n > len(data)-4 {
			return errValuesShort
		}
		return d.rle.reset(data[4:4+n], 1)
	}
	return badEncoding(enc)
}

func (d *boolDecoder) read(out *vector.Vec, m int) error {
	dst := grow(&out.I8s, m)
	switch d.mode {
	case modePlain:
		if d.bit+m > 8*len(d.data) {
			return errValuesShort
		}
		for i := range dst {
			dst[i] = int8(d.data[d.bit>>3] >> (d.bit & 7) & 1)
			d.bit++
		}
		return nil
	case modeDict:
		d.code = d.code[:0]
		codes := grow(&d.code, m)
		if err := d.rle.read(codes); err != nil {
			return err
		}
		for i, c := range codes {
			dst[i] = int8(c & 1)
		}
		return nil
	}
	if m > 0 {
		return errValuesShort
	}
	return nil
}

func (d *boolDecoder) skip(m int) error {
	var tmp vector.Vec
	return d.read(&tmp, m)
}
