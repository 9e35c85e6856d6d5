package files

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// kind is what the texts of a column seen so far can be read as.
type kind uint8

const (
	nothing kind = iota
	whole        // BIGINT
	wide         // DECIMAL(38, 0)
	real         // DOUBLE
	truth        // BOOLEAN
	day          // DATE
	moment       // TIMESTAMP(6)
	text         // STRING
)

// kindOf is the kind of one value.
func kindOf(v value) kind {
	s := v.text
	if s == "true" || s == "false" || !v.quoted && (strings.EqualFold(s, "true") || strings.EqualFold(s, "false")) {
		if v.quoted {
			return text
		}
		return truth
	}
	if !v.quoted && isNumber(s) {
		digits := strings.TrimLeft(s, "+-")
		if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
			return text // leading zeros mean something
		}
		if strings.ContainsAny(s, ".eE") {
			return real
		}
		if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			return whole
		}
		if len(digits) <= 38 {
			return wide
		}
		return text
	}
	if len(s) >= 10 && s[4] == '-' {
		if _, ok := parseDate(s); ok {
			return day
		}
		if _, ok := parseMoment(s); ok {
			return moment
		}
	}
	return text
}

// isNumber reports whether s is written as a decimal number.
func isNumber(s string) bool {
	i, digits := 0, 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			digits++
		}
	}
	if digits == 0 {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		start := i
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		}
		if i == start {
			return false
		}
	}
	return i == len(s)
}

// both is the kind that holds values of two.
func both(a, b kind) kind {
	if a > b {
		a, b = b, a
	}
	switch {
	case a == nothing, a == b:
		return b
	case a == whole && b <= real:
		return b
	case a == day && b == moment:
		return moment
	}
	return text
}

// typeOf is the type of a column.
func (k kind) typeOf() catalog.Type {
	switch k {
	case whole:
		return catalog.TBigInt
	case wide:
		return catalog.TDecimal(38, 0)
	case real:
		return catalog.TDouble
	case truth:
		return catalog.TBoolean
	case day:
		return catalog.TDate
	case moment:
		return catalog.TTimestamp(6)
	}
	return catalog.TString
}

// sampleRows is the number of rows that decide the types of columns.
const sampleRows = 10_000

// sniff finds the columns out.
func (t *Table) sniff(ctx context.Context) error {
	f := t.files[0]
	src, in, err := t.store.open(ctx, f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	var names []string
	var kinds []kind
	if t.options.Format == "csv" {
		names, kinds, err = sampleCSV(src, f.path, t.options)
	} else {
		names, kinds, err = sampleJSON(src, f.path)
	}
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errs.Userf(errs.WrongArguments, "read %s: it has no columns; give columns => '…'", f.path)
	}
	for i, n := range names {
		typ := kinds[i].typeOf()
		if t.options.Text {
			typ = catalog.TString
		}
		t.schema.Fields = append(t.schema.Fields, catalog.Field{ID: i, Name: n, Type: typ})
	}
	return nil
}

// checkTypes refuses types that text cannot be read as.
func checkTypes(fields []catalog.Field) error {
	for _, f := range fields {
		if storing(f.Type) == nil {
			return errs.Unsupportedf(-1, "columns of type %s in text files", f.Type)
		}
	}
	return nil
}

// storing returns what appends a text to a vector of a type, or says what is
// wrong with it; nil for types that are not read from text.
func storing(t catalog.Type) func(v *vector.Vec, x value) string {
	integer := func(bits int) func(v *vector.Vec, x value) string {
		return func(v *vector.Vec, x value) string {
			n, err := strconv.ParseInt(x.text, 10, bits)
			if err != nil {
				return " "
			}
			if v.Kind == vector.I64 {
				v.AppendI64(n)
			} else {
				v.AppendI32(int32(n))
			}
			return ""
		}
	}
	switch t.Kind {
	case catalog.Boolean:
		return func(v *vector.Vec, x value) string {
			switch {
			case strings.EqualFold(x.text, "true") || x.text == "1":
				v.AppendBool(true)
			case strings.EqualFold(x.text, "false") || x.text == "0":
				v.AppendBool(false)
			default:
				return " "
			}
			return ""
		}
	case catalog.TinyInt:
		return integer(8)
	case catalog.SmallInt:
		return integer(16)
	case catalog.Int:
		return integer(32)
	case catalog.BigInt:
		return integer(64)
	case catalog.Float, catalog.Double:
		bits := 64
		if t.Kind == catalog.Float {
			bits = 32
		}
		return func(v *vector.Vec, x value) string {
			if !isNumber(x.text) {
				return " "
			}
			f, err := strconv.ParseFloat(x.text, bits)
			if err != nil || math.IsInf(f, 0) {
				return " "
			}
			if bits == 32 {
				v.AppendF32(float32(f))
			} else {
				v.AppendF64(f)
			}
			return ""
		}
	case catalog.Decimal:
		most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Length)), nil)
		return func(v *vector.Vec, x value) string {
			n, ok := unscaled(x.text, t.Scale)
			if !ok {
				return " "
			}
			if n.CmpAbs(most) >= 0 || !v.AppendDecimal(n) {
				return ": it is too large"
			}
			return ""
		}
	case catalog.Char, catalog.Varchar:
		return func(v *vector.Vec, x value) string {
			if !utf8.ValidString(x.text) {
				return ": it is not UTF-8"
			}
			if t.Length < catalog.MaxLength && utf8.RuneCountInString(x.text) > t.Length {
				return ": it is too long"
			}
			v.AppendString(x.text)
			return ""
		}
	case catalog.Date:
		return func(v *vector.Vec, x value) string {
			d, ok := parseDate(x.text)
			if !ok {
				return " "
			}
			v.AppendI32(int32(d.Unix() / 86400))
			return ""
		}
	case catalog.Binary, catalog.Varbinary:
		return func(v *vector.Vec, x value) string {
			b, err := base64.StdEncoding.AppendDecode(nil, []byte(x.text))
			if err != nil {
				return " in base64"
			}
			if t.Length < catalog.MaxLength && len(b) > t.Length || t.Kind == catalog.Binary && len(b) != t.Length {
				return fmt.Sprintf(": it has %d bytes", len(b))
			}
			v.AppendBytes(b)
			return ""
		}
	case catalog.Time:
		unit := int64(math.Pow10(9 - t.Length))
		return func(v *vector.Vec, x value) string {
			m, err := time.Parse("15:04:05.999999999", x.text)
			if err != nil {
				return " "
			}
			ns := m.Sub(m.Truncate(24 * time.Hour)).Nanoseconds()
			if ns%max(unit, 1e6) != 0 {
				return ": it has more digits of seconds"
			}
			v.AppendI32(int32(ns / 1e6))
			return ""
		}
	case catalog.Timestamp, catalog.TimestampLTZ:
		if t.Length > 6 {
			return nil
		}
		unit := int64(math.Pow10(6 - t.Length))
		return func(v *vector.Vec, x value) string {
			s := x.text
			if t.Kind == catalog.TimestampLTZ {
				var ok bool
				if s, ok = strings.CutSuffix(s, "Z"); !ok {
					return ": it does not end in Z for UTC"
				}
			}
			m, ok := parseMoment(s)
			if !ok {
				d, ok := parseDate(s)
				if !ok {
					return " "
				}
				m = d
			}
			us := m.UnixMicro()
			if us%unit != 0 {
				return ": it has more digits of seconds"
			}
			v.AppendI64(us)
			return ""
		}
	}
	return nil
}

// unscaled reads a decimal number with at most scale digits behind the point.
func unscaled(s string, scale int) (*big.Int, bool) {
	if !isNumber(s) || strings.ContainsAny(s, "eE") {
		return nil, false
	}
	whole, frac, _ := strings.Cut(s, ".")
	frac = strings.TrimRight(frac, "0")
	if len(frac) > scale || len(s) > 200 {
		return nil, false
	}
	n, ok := new(big.Int).SetString(strings.TrimPrefix(whole, "+")+frac+strings.Repeat("0", scale-len(frac)), 10)
	if !ok && (whole == "" || whole == "-" || whole == "+") {
		n, ok = new(big.Int).SetString(strings.TrimPrefix(whole, "+")+"0"+frac+strings.Repeat("0", scale-len(frac)), 10)
	}
	return n, ok
}

func parseDate(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil
}

// parseMoment reads 2026-01-31 10:20:30.123456, also with T.
func parseMoment(s string) (time.Time, bool) {
	if len(s) < 16 || s[10] != ' ' && s[10] != 'T' || len(s) > 26 {
		return time.Time{}, false
	}
	layout := "2006-01-02" + s[10:11] + "15:04:05.999999"
	if len(s) == 16 {
		layout = layout[:16]
	}
	t, err := time.Parse(layout, s)
	return t, err == nil
}

// endOf tells the end of a file from other errors.
func endOf(err error, path string) error {
	if err == io.EOF || errs.ClassOf(err) != errs.Internal {
		return err
	}
	return errs.Corruptf("read %s: %w", path, err)
}
