package exec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// assigner converts the values of one column of an INSERT to what the table
// stores, as MySQL assigns: numbers are rounded, text is parsed, and what does
// not fit is an error that names column and row (in strict mode), or a warning
// and the nearest value.
type assigner struct {
	ctx    *expr.Context
	table  string // for messages
	field  catalog.Field
	typ    expr.Type // of the column, as SQL sees it
	strict bool
	// decimal is the scale of the DECIMAL that is assigned to an integer, else -1.
	decimal int
	from    expr.Type
	text    bool // what is assigned is a text
	// yearZero says that the text at hand is the year 0, as '0000' is, and what has
	// no digits: another '0' is 2000.
	yearZero bool
	zero     bool        // NULL in a NOT NULL column becomes the zero of its type
	nought   *vector.Vec // that zero, as stored
	cast     expr.Expr   // of column 0 of a batch
	quiet    *expr.Context
}

func newAssigner(ctx *expr.Context, f catalog.Field, typ, from expr.Type, strict bool) (*assigner, error) {
	a := &assigner{ctx: ctx, field: f, typ: typ, from: from, strict: strict}
	q := *ctx
	q.Warnings = &expr.Warnings{}
	a.quiet = &q
	to := typ
	text := from.Class == expr.String || from.Class == expr.Bytes || from.Class == expr.Enum || from.Class == expr.Set || from.Class == expr.JSON
	a.text, a.decimal = text, -1
	if from.Class == expr.Decimal && (typ.Class == expr.Int || typ.Class == expr.Year || typ.Class == expr.Bit) {
		a.decimal = from.Scale
	}
	switch typ.Class {
	case expr.Int, expr.Bool, expr.Year:
		to = expr.TDecimal(38, 0)
		switch {
		case from.Class == expr.Double || from.Class == expr.Float: // halves become even
			to = expr.TDouble
		case typ.Class == expr.Year && from.IsTemporal():
			to = typ
		}
	case expr.Bit: // of a text its bytes are the bits: '5' is 0x35
		switch from.Class {
		case expr.Int, expr.Bool, expr.Year, expr.Decimal, expr.Bit:
			to = expr.TDecimal(38, 0)
		case expr.Double, expr.Float:
			to = expr.TDouble
		default:
			to = expr.TBytes(-1)
		}
	case expr.Enum, expr.Set: // numbers are positions in the list, from 1, or its bits
		to = expr.TString(-1, typ.Collation)
		switch from.Class {
		case expr.Int, expr.Bool, expr.Year, expr.Bit:
			to = expr.TDecimal(38, 0)
		case expr.Decimal, expr.Double, expr.Float: // fractions are cut
			to = expr.TDouble
		}
	case expr.String:
		to = expr.TString(-1, typ.Collation)
	case expr.Bytes:
		to = expr.TBytes(-1)
	case expr.Float:
		to = expr.TDouble
	case expr.Timestamp:
		if from.Class != expr.Timestamp {
			to = expr.TDateTime(typ.Scale)
		}
	case expr.Decimal, expr.Double, expr.Date, expr.DateTime, expr.Time, expr.JSON:
	default:
		return nil, errs.Unsupportedf(-1, "INSERT into column %s of type %s", f.Name, f.Type)
	}
	var err error
	if from.Class == expr.Bytes && to.Class == expr.String || from.Class == expr.Null {
		a.cast = expr.Column(0, to, f.Name) // the bytes are checked below; NULLs need nothing
		if from.Class == expr.Null {
			a.cast = nil
		}
		return a, nil
	}
	a.cast, err = expr.Cast(a.quiet, expr.Column(0, from, f.Name), to)
	return a, err
}

// convert returns the stored form of n rows of v (the k-th is row sel[k]). row is
// the number of the first of them in the statement, from 1.
func (a *assigner) convert(v *vector.Vec, sel []uint16, n, row int) (*vector.Vec, error) {
	out := a.field.Type.NewVec(n)
	pos := func(k int) int {
		if sel != nil {
			return int(sel[k])
		}
		return k
	}
	var w *vector.Vec
	if a.cast != nil {
		b := &vector.Batch{Len: v.Len, Sel: sel, Seq: -1, Cols: []*vector.Vec{v}}
		a.quiet.Warnings.Reset()
		var err error
		if w, err = a.cast.Eval(a.quiet, b); err != nil {
			return nil, a.refused(err)
		}
		if warned(a.quiet) {
			if err := a.blame(b, n, pos, row); err != nil {
				return nil, err
			}
		}
	}
	for k := range n {
		i := pos(k)
		if w != nil && !v.IsNull(i) && w.IsNull(i) && a.typ.Class == expr.Time && !a.strict {
			if ok, err := a.appendZero(out); err != nil || ok { // what is no time is 00:00:00
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		if w == nil || v.IsNull(i) || w.IsNull(i) {
			if !a.field.Type.NotNull {
				out.AppendNull()
			} else if err := a.storeZero(out); err != nil {
				return nil, err
			}
			continue
		}
		if a.typ.Class == expr.JSON && !a.text {
			return nil, errs.Userf(errs.InvalidJSON, "Invalid JSON text: \"not a JSON text, may need CAST\" at position 0 in value for column '%s'.", a.table+"."+a.field.Name)
		}
		if a.strict && v.Kind == vector.Str && (a.typ.Class == expr.Double || a.typ.Class == expr.Float) && len(bytes.TrimSpace(v.Bytes(i))) == 0 {
			return nil, a.incorrect(v.String(i), row+k) // a cast reads it as 0
		}
		if a.text {
			a.yearZero = v.Kind == vector.Str && (len(v.Bytes(i)) == 4 || !bytes.ContainsAny(v.Bytes(i), "0123456789"))
		} else if a.decimal >= 0 && (a.typ.Unsigned || a.typ.Class == expr.Year || a.typ.Class == expr.Bit) && vector.AppendDecimalText(nil, v, i, a.decimal)[0] == '-' && whole(w, i, math.Trunc) == (vector.Int128{}) {
			// A negative number does not fit even when it rounds to 0.
			if err := a.warnRange(row + k); err != nil {
				return nil, err
			}
		}
		if a.typ.Class == expr.Decimal && a.typ.Unsigned && a.from.Class == expr.Decimal && vector.AppendDecimalText(nil, v, i, a.from.Scale)[0] == '-' && vector.AppendDecimalText(nil, w, i, a.typ.Scale)[0] != '-' {
			if err := a.warnRange(row + k); err != nil { // negative, though it rounds to 0
				return nil, err
			}
		}
		if err := a.store(out, w, i, row+k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// refused is the error of a value that cannot be converted at all.
func (a *assigner) refused(err error) error {
	if a.typ.Class != expr.JSON || !errs.Is(err, errs.InvalidJSONArg) {
		return err
	}
	_, what, _ := strings.Cut(err.Error(), ": ")
	return errs.Userf(errs.InvalidJSON, "Invalid JSON text: %s in value for column '%s'.", strings.TrimSuffix(what, "."), a.table+"."+a.field.Name)
}

// storeZero stores what a NOT NULL column has for NULL without strict mode.
func (a *assigner) storeZero(out *vector.Vec) error {
	null := errs.Userf(errs.NotNull, "Column '%s' cannot be null", a.field.Name)
	if !a.zero {
		return null
	}
	ok, err := a.appendZero(out)
	if err == nil && !ok {
		err = null
	}
	if err == nil {
		a.ctx.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.NotNull, Message: null.Error()})
	}
	return err
}

// appendZero appends the zero of the column's type, if it has one.
func (a *assigner) appendZero(out *vector.Vec) (bool, error) {
	if a.nought == nil {
		v, ok := expr.ZeroValue(a.typ)
		if !ok {
			return false, nil
		}
		b, err := newAssigner(a.ctx, a.field, a.typ, v.Type, true)
		if err != nil {
			return false, err
		}
		if a.nought, err = b.convert(v.Vec, nil, 1, 1); err != nil {
			return false, nil
		}
	}
	out.AppendFrom(a.nought, 0)
	return true, nil
}

func warned(ctx *expr.Context) bool {
	for _, x := range ctx.Warnings.List() {
		if x.Level != "Note" {
			return true
		}
	}
	return false
}

// blame finds the rows whose conversion warned and says what is wrong with them:
// with the first one in strict mode, else as a warning each.
func (a *assigner) blame(b *vector.Batch, n int, pos func(int) int, row int) error {
	for k := range n {
		one := *b
		one.Sel = []uint16{uint16(pos(k))}
		a.quiet.Warnings.Reset()
		if _, err := a.cast.Eval(a.quiet, &one); err != nil {
			return err
		}
		if !warned(a.quiet) {
			continue
		}
		err := a.fault(b, pos(k), row+k)
		if a.strict {
			return err
		}
		a.ctx.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.KindOf(err), Message: err.Error()})
	}
	return nil
}

// fault says what is wrong with the value at a position, whose conversion has
// just warned.
func (a *assigner) fault(b *vector.Batch, i, row int) error {
	wide, cut := false, false
	for _, x := range a.quiet.Warnings.List() {
		wide = wide || x.Kind == errs.ValueOutOfRange || x.Kind == errs.OutOfRange
		cut = cut || x.Kind == errs.TruncatedValue
	}
	if wide && !(cut && a.typ.Class == expr.Decimal) {
		return a.outOfRange(row)
	}
	return a.incorrect(string(expr.AppendText(nil, a.from, b.Cols[0], i, nil)), row)
}

func (a *assigner) outOfRange(row int) error {
	return errs.Userf(errs.ValueOutOfRange, "Out of range value for column '%s' at row %d", a.field.Name, row)
}

// warnRange says that a value does not fit: it is an error in strict mode, else a
// warning, and the nearest value is stored.
func (a *assigner) warnRange(row int) error {
	err := a.outOfRange(row)
	if a.strict {
		return err
	}
	a.ctx.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.ValueOutOfRange, Message: err.Error()})
	return nil
}

func (a *assigner) truncated(row int) error {
	return errs.Userf(errs.DataTruncated, "Data truncated for column '%s' at row %d", a.field.Name, row)
}

func (a *assigner) tooLong(row int) error {
	return errs.Userf(errs.DataTooLong, "Data too long for column '%s' at row %d", a.field.Name, row)
}

// incorrect is the error of text that cannot be read as the column's type.
func (a *assigner) incorrect(text string, row int) error {
	kind, what := errs.TruncatedValue, ""
	switch a.typ.Class {
	case expr.Date:
		what = "date"
	case expr.DateTime, expr.Timestamp:
		what = "datetime"
	case expr.Time:
		what = "time"
	case expr.Decimal:
		kind, what = errs.IncorrectDecimal, "decimal"
	case expr.Double:
		kind, what = errs.IncorrectDecimal, "DOUBLE"
	case expr.Float:
		kind, what = errs.IncorrectDecimal, "FLOAT"
	case expr.JSON:
		return errs.Userf(errs.InvalidJSON, "Invalid JSON text in column '%s' at row %d", a.field.Name, row)
	default:
		kind, what = errs.IncorrectDecimal, "integer"
	}
	if what == "integer" {
		// A number with something behind it is only cut.
		t := strings.TrimLeft(text, " \t\n\r")
		if d := strings.TrimLeft(t, "+-."); d != "" && d[0] >= '0' && d[0] <= '9' {
			n := 0
			for n < len(t) && strings.IndexByte("+-", t[n]) >= 0 {
				n++
			}
			for n < len(t) && t[n] >= '0' && t[n] <= '9' {
				n++
			}
			if x, err := strconv.ParseInt(t[:n], 10, 64); err == nil && a.typ.Class != expr.Year {
				if low, high := a.bounds(); vector.Int128From(x).Cmp(low) < 0 || vector.Int128From(x).Cmp(high) > 0 {
					return a.outOfRange(row)
				}
			}
			return a.truncated(row)
		}
	}
	return errs.Userf(kind, "Incorrect %s value: '%s' for column '%s' at row %d", what, text, a.field.Name, row)
}

// store appends row i of w, which has the cast's form, to the stored column.
func (a *assigner) store(out, w *vector.Vec, i, row int) error {
	switch a.typ.Class {
	case expr.Int, expr.Bool, expr.Year:
		x := whole(w, i, math.RoundToEven)
		if a.typ.Class == expr.Year {
			return a.storeYear(out, x, row)
		}
		return a.storeInteger(out, x, row)
	case expr.Bit:
		var x vector.Int128
		if w.Kind == vector.Str {
			b := bytes.TrimLeft(w.Bytes(i), "\x00")
			if len(b) > 8 {
				return a.tooLong(row)
			}
			x = vector.Int128FromUint(binary.BigEndian.Uint64(append(make([]byte, 8-len(b)), b...)))
		} else if x = whole(w, i, math.RoundToEven); x.Hi < 0 && x.Cmp(vector.Int128From(math.MinInt64)) >= 0 {
			x.Hi = 0 // the 64 bits of a negative number
		}
		if low, high := a.bounds(); a.strict && (x.Cmp(low) < 0 || x.Cmp(high) > 0) {
			return a.tooLong(row)
		}
		return a.storeInteger(out, x, row)
	case expr.Decimal:
		return a.storeDecimal(out, w, i, row)
	case expr.Double, expr.Float:
		return a.storeFloat(out, w, i, row)
	case expr.String, expr.Bytes:
		b, err := a.fit(w.Bytes(i), row)
		if err != nil {
			return err
		}
		out.AppendBytes(b)
		return nil
	case expr.Enum, expr.Set:
		if w.Kind != vector.Str {
			return a.storeNumbered(out, whole(w, i, math.Trunc), row)
		}
		return a.storeLabel(out, w.String(i), row)
	case expr.DateTime, expr.Timestamp:
		us := w.I64s[w.At(i)]
		if a.typ.Class == expr.Timestamp && a.cast.Type().Class != expr.Timestamp {
			us = a.instant(us)
		}
		if out.Kind == vector.I128 {
			x, _ := vector.Int128FromBig(new(big.Int).Mul(big.NewInt(us), big.NewInt(1000)))
			out.AppendI128(x)
			return nil
		}
		out.AppendI64(us)
		return nil
	case expr.Time:
		us := w.I64s[w.At(i)]
		if out.Kind == vector.I32 { // a time of day in milliseconds
			if us < 0 || us >= 24*3600*1e6 {
				return a.outOfRange(row)
			}
			out.AppendI32(int32(us / 1000))
			return nil
		}
		out.AppendI64(us)
		return nil
	}
	if k := out.Kind; (k == vector.List || k == vector.Map || k == vector.Struct) && w.Kind != k {
		return errs.Unsupportedf(-1, "writing JSON into column %s of type %s (only NULL can be written)", a.field.Name, a.field.Type)
	}
	out.AppendFrom(w, i)
	return nil
}

// whole returns the number that a cast to a DECIMAL without fraction, a DOUBLE or
// a YEAR gave. One beyond 38 digits is as far out of range.
func whole(w *vector.Vec, i int, round func(float64) float64) vector.Int128 {
	switch w.Kind {
	case vector.I32:
		return vector.Int128From(int64(w.I32s[w.At(i)]))
	case vector.F64:
		f, _ := big.NewFloat(round(w.F64s[w.At(i)])).Int(nil)
		if x, ok := vector.Int128FromBig(f); ok {
			return x
		}
		if f.Sign() < 0 {
			return vector.Int128{Hi: math.MinInt64}
		}
		return vector.Int128{Hi: math.MaxInt64, Lo: math.MaxUint64}
	}
	return w.I128s[w.At(i)]
}

// storeYear stores a YEAR: two digits are 1970 to 2069.
func (a *assigner) storeYear(out *vector.Vec, x vector.Int128, row int) error {
	y := x.Int64()
	switch {
	case x.Cmp(vector.Int128From(0)) < 0, x.Cmp(vector.Int128From(2155)) > 0, y > 99 && y < 1901:
		if a.strict {
			return a.outOfRange(row)
		}
		a.ctx.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.ValueOutOfRange, Message: a.outOfRange(row).Error()})
		y = 0
	case y == 0 && a.text && !a.yearZero, y > 0 && y < 70:
		y += 2000
	case y >= 70 && y < 100:
		y += 1900
	}
	return a.storeInteger(out, vector.Int128From(y), row)
}

// storeInteger stores a whole number.
func (a *assigner) storeInteger(out *vector.Vec, x vector.Int128, row int) error {
	low, high := a.bounds()
	if x.Cmp(low) < 0 || x.Cmp(high) > 0 {
		if err := a.warnRange(row); err != nil {
			return err
		}
		if x.Cmp(low) < 0 {
			x = low
		} else {
			x = high
		}
	}
	switch out.Kind {
	case vector.I8:
		out.AppendI8(int8(x.Int64()))
	case vector.I32:
		out.AppendI32(int32(x.Int64()))
	case vector.I64:
		out.AppendI64(int64(x.Lo))
	case vector.I128:
		out.AppendI128(x)
	case vector.Str: // BIT(n): the bytes, highest first
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], x.Lo)
		out.AppendBytes(b[8-min(max(a.field.Type.Length, 1), 8):])
	default:
		return errs.Internalf("insert: column %s of type %s does not hold integers", a.field.Name, a.field.Type)
	}
	return nil
}

// bounds are the least and greatest value of an integer column.
func (a *assigner) bounds() (low, high vector.Int128) {
	bits := uint(8 * max(1, a.typ.Width))
	switch {
	case a.field.Type.Kind == catalog.Boolean:
		return vector.Int128From(0), vector.Int128From(1)
	case a.typ.Class == expr.Bool:
		bits = 8
	case a.typ.Class == expr.Year:
		return vector.Int128From(0), vector.Int128From(2155)
	case a.typ.Class == expr.Bit:
		return vector.Int128From(0), vector.Int128FromUint(^uint64(0) >> (64 - uint(min(max(a.typ.Length, 1), 64))))
	}
	if a.typ.Unsigned {
		return vector.Int128From(0), vector.Int128FromUint(^uint64(0) >> (64 - bits))
	}
	return vector.Int128From(-1 << (bits - 1)), vector.Int128From(1<<(bits-1) - 1)
}

// fit cuts text to the column's length: blanks beyond it are dropped, anything
// else is an error.
func (a *assigner) fit(b []byte, row int) ([]byte, error) {
	most := a.field.Type.Length
	text := a.typ.Class == expr.String
	if text && !utf8.Valid(b) {
		return nil, errs.Userf(errs.IncorrectDecimal, "Incorrect string value: '%q' for column '%s' at row %d", cutBytes(b, 20), a.field.Name, row)
	}
	switch a.field.Type.Kind {
	case catalog.Char, catalog.Varchar, catalog.Binary, catalog.Varbinary:
	default:
		return b, nil
	}
	end := 0
	if text {
		if len(b) <= most || utf8.RuneCount(b) <= most {
			return a.pad(b), nil
		}
		for range most {
			_, size := utf8.DecodeRune(b[end:])
			end += size
		}
	} else if len(b) <= most {
		return a.pad(b), nil
	} else {
		end = most
	}
	if len(bytes.TrimRight(b[end:], " ")) == 0 && text {
		return a.pad(b[:end]), nil
	}
	if a.strict {
		return nil, a.tooLong(row)
	}
	a.ctx.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.DataTruncated, Message: a.truncated(row).Error()})
	return b[:end], nil
}

// pad brings BINARY(n) to its length; CHAR(n) loses its trailing blanks, as
// MySQL returns it.
func (a *assigner) pad(b []byte) []byte {
	switch a.field.Type.Kind {
	case catalog.Binary:
		if len(b) < a.field.Type.Length {
			b = append(bytes.Clone(b), make([]byte, a.field.Type.Length-len(b))...)
		}
	case catalog.Char:
		b = bytes.TrimRight(b, " ")
	}
	return b
}

func cutBytes(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}

// label returns the position of a label of an ENUM or SET, -1 when there is none.
func (a *assigner) label(s string) int {
	if i := slices.Index(a.typ.Labels, s); i >= 0 || strings.HasSuffix(a.typ.Collation, "_bin") || strings.HasSuffix(a.typ.Collation, "_cs") {
		return i
	}
	return slices.IndexFunc(a.typ.Labels, func(l string) bool { return strings.EqualFold(l, s) })
}

// storeLabel stores a text in an ENUM or SET. One that is no label may be the
// number of one.
func (a *assigner) storeLabel(out *vector.Vec, s string, row int) error {
	number := func() error {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return a.truncated(row)
		}
		if n == 0 && a.typ.Class == expr.Enum {
			out.AppendString("") // as MySQL, though no label has that number
			return nil
		}
		return a.storeNumbered(out, vector.Int128FromUint(n), row)
	}
	if a.typ.Class == expr.Enum {
		i := a.label(s)
		if i < 0 {
			return number()
		}
		out.AppendString(a.typ.Labels[i])
		return nil
	}
	var bits uint64
	if s != "" {
		for _, p := range strings.Split(s, ",") {
			i := a.label(p)
			if i < 0 {
				return number()
			}
			bits |= 1 << uint(i)
		}
	}
	return a.storeNumbered(out, vector.Int128FromUint(bits), row)
}

// storeNumbered stores an ENUM by its position in the list, from 1, and a SET by
// the bits of its members, which come in the list's order.
func (a *assigner) storeNumbered(out *vector.Vec, x vector.Int128, row int) error {
	n := len(a.typ.Labels)
	high := vector.Int128From(int64(n))
	if a.typ.Class == expr.Set {
		high = vector.Int128FromUint(^uint64(0) >> (64 - uint(min(max(n, 1), 64))))
	}
	if x.Cmp(vector.Int128From(0)) < 0 || x.Cmp(high) > 0 || a.typ.Class == expr.Enum && x.Lo == 0 {
		return a.truncated(row)
	}
	if a.typ.Class == expr.Enum {
		out.AppendString(a.typ.Labels[x.Lo-1])
		return nil
	}
	var parts []string
	for i, l := range a.typ.Labels {
		if x.Lo>>uint(i)&1 != 0 {
			parts = append(parts, l)
		}
	}
	out.AppendString(strings.Join(parts, ","))
	return nil
}

// instant reads wall-clock microseconds in the session's zone.
func (a *assigner) instant(us int64) int64 {
	zone := a.ctx.Zone
	if zone == nil {
		return us
	}
	t := time.UnixMicro(us).UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).UnixMicro()
}
