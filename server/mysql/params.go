package mysql

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// maxParams is the most placeholders of a statement, MySQL's.
const maxParams = 65535

var errMalformed = errs.Userf(errs.WrongArguments, "Malformed communication packet: the parameters do not fit the statement")

// paramType is a parameter's type as the client tells it.
type paramType struct {
	code     byte
	unsigned bool
}

// readParams reads n values: a bitmap of NULLs, types where they are new, and
// the values. types are those of the last execution; named says that each type
// has a name behind it, as for query attributes. It returns the types in force.
// Values do not refer to the packet.
func readParams(f *fields, n int, types []paramType, long map[int][]byte, named bool, text *transcoder) ([]expr.Value, []paramType, error) {
	nulls := f.take((n + 7) / 8)
	if f.uint(1) == 1 {
		// A type takes two bytes at least, so n is bounded by what has come.
		if f.bad || len(f.b) < 2*n {
			return nil, nil, errMalformed
		}
		types = make([]paramType, n)
		for i := range types {
			t := f.uint(2)
			types[i] = paramType{byte(t), t&0x8000 != 0}
			if named {
				f.str()
			}
		}
	}
	if f.bad || len(types) != n {
		return nil, nil, errMalformed
	}
	values := make([]expr.Value, n)
	for i := range values {
		var err error
		if b, isLong := long[i]; isLong {
			values[i], err = stringParam(types[i], b, text)
		} else if nulls[i/8]&(1<<(i%8)) != 0 {
			values[i] = expr.NullValue()
		} else {
			values[i], err = readParam(f, types[i], text)
		}
		if f.bad {
			err = errMalformed
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return values, types, nil
}

// readParam reads one value.
func readParam(f *fields, t paramType, text *transcoder) (expr.Value, error) {
	switch t.code {
	case typeNull:
		return expr.NullValue(), nil
	case typeTiny:
		return intParam(f, t, 1), nil
	case typeShort, typeYear:
		return intParam(f, t, 2), nil
	case typeLong, typeInt24:
		return intParam(f, t, 4), nil
	case typeLongLong:
		return intParam(f, t, 8), nil
	case typeFloat:
		return expr.DoubleValue(float64(math.Float32frombits(uint32(f.uint(4))))), nil
	case typeDouble:
		return expr.DoubleValue(math.Float64frombits(f.uint(8))), nil
	case typeDate, typeNewDate, typeDateTime, typeTimestamp:
		return dateParam(f, t)
	case typeTime:
		return timeParam(f)
	case typeDecimal, typeNewDecimal, typeVarchar, typeBit, typeJSON, typeEnum, typeSet, typeTinyBlob, typeMediumBlob, typeLongBlob,
		typeBlob, typeVarString, typeString, typeGeometry, typeVector:
		return stringParam(t, f.str(), text)
	}
	return expr.Value{}, errs.Unsupportedf(-1, "parameters of protocol type %d", t.code)
}

func intParam(f *fields, t paramType, width int) expr.Value {
	u := f.uint(width)
	if t.unsigned {
		return expr.UintValue(u)
	}
	shift := 64 - 8*width
	return expr.IntValue(int64(u<<shift) >> shift)
}

// stringParam makes a value of what came as bytes. Texts that are not valid in
// their character set are binary strings: drivers send bytes as strings.
func stringParam(t paramType, b []byte, text *transcoder) (expr.Value, error) {
	switch t.code {
	case typeDecimal, typeNewDecimal:
		return decimalParam(string(b))
	case typeTinyBlob, typeMediumBlob, typeLongBlob, typeBlob, typeBit, typeGeometry, typeVector:
		return expr.BytesValue(b), nil
	}
	if s := text.fromClient(b); utf8.ValidString(s) {
		return expr.StringValue(s, ""), nil
	}
	return expr.BytesValue(b), nil
}

func decimalParam(s string) (expr.Value, error) {
	bad := func() (expr.Value, error) {
		return expr.Value{}, errs.Userf(errs.IncorrectDecimal, "Incorrect DECIMAL value: '%.80s' for a parameter", s)
	}
	whole, frac, point := 0, 0, false
	for i := range len(s) {
		switch ch := s[i]; {
		case ch >= '0' && ch <= '9' && point:
			frac++
		case ch >= '0' && ch <= '9':
			whole++
		case ch == '.' && !point:
			point = true
		case (ch == '-' || ch == '+') && i == 0:
		default:
			return bad()
		}
	}
	if whole+frac == 0 || whole+frac > 65 || frac > 30 {
		return bad()
	}
	u, _, ok := vector.ParseDecimal(s, frac)
	if !ok {
		return bad()
	}
	t := expr.TDecimal(max(whole+frac, 1), frac).NotNull()
	v := vector.New(t.Physical(), 1)
	if !v.AppendDecimal(u) {
		return bad()
	}
	return expr.Value{Type: t, Vec: v.AsConst(1)}, nil
}

// dateParam reads a date, or a date with time: 0, 4, 7 or 11 bytes. A time of day
// has six fraction digits, as MySQL's parameters have.
func dateParam(f *fields, t paramType) (expr.Value, error) {
	d := fields{b: f.take(int(f.uint(1)))}
	if n := len(d.b); n != 0 && n != 4 && n != 7 && n != 11 {
		f.fail()
		return expr.Value{}, nil
	}
	read := func(n int) int64 {
		if len(d.b) == 0 {
			return 0
		}
		return int64(d.uint(n))
	}
	y, m, day := int(read(2)), int(read(1)), int(read(1))
	h, mi, s, us := read(1), read(1), read(1), read(4)
	if y > 9999 || m < 1 || m > 12 || day < 1 || day > daysIn(y, m) || h > 23 || mi > 59 || s > 59 || us >= microsPerSecond {
		return expr.Value{}, errs.Userf(errs.TruncatedValue, "Incorrect datetime value: '%04d-%02d-%02d %02d:%02d:%02d' for a parameter",
			y, m, day, h, mi, s)
	}
	n := days(y, m, day)
	if t.code == typeDate || t.code == typeNewDate {
		v := vector.New(vector.I32, 1)
		v.AppendI32(int32(n))
		return expr.Value{Type: expr.TDate.NotNull(), Vec: v.AsConst(1)}, nil
	}
	v := vector.New(vector.I64, 1)
	v.AppendI64(n*microsPerDay + (h*3600+mi*60+s)*microsPerSecond + us)
	return expr.Value{Type: expr.TDateTime(6).NotNull(), Vec: v.AsConst(1)}, nil
}

// timeParam reads a time: 0, 8 or 12 bytes.
func timeParam(f *fields) (expr.Value, error) {
	d := fields{b: f.take(int(f.uint(1)))}
	if n := len(d.b); n != 0 && n != 8 && n != 12 {
		f.fail()
		return expr.Value{}, nil
	}
	read := func(n int) int64 {
		if len(d.b) == 0 {
			return 0
		}
		return int64(d.uint(n))
	}
	neg, days, h, mi, s, us := read(1), read(4), read(1), read(1), read(1), read(4)
	if h > 23 || mi > 59 || s > 59 || us >= microsPerSecond || days > 34 || days*24+h > 838 {
		return expr.Value{}, errs.Userf(errs.TruncatedValue, "Incorrect time value: '%s' for a parameter",
			fmt.Sprintf("%d %02d:%02d:%02d", days, h, mi, s))
	}
	x := (days*secondsPerDay+h*3600+mi*60+s)*microsPerSecond + us
	if neg != 0 {
		x = -x
	}
	v := vector.New(vector.I64, 1)
	v.AppendI64(x)
	return expr.Value{Type: expr.TTime(6).NotNull(), Vec: v.AsConst(1)}, nil
}

func daysIn(y, m int) int {
	switch m {
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
