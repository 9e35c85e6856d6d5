package transform

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// clocks are functions of the current time, with the type of their value.
var clocks = map[string]expr.Class{
	"NOW": expr.DateTime, "CURRENT_TIMESTAMP": expr.DateTime, "LOCALTIME": expr.DateTime, "LOCALTIMESTAMP": expr.DateTime, "SYSDATE": expr.DateTime,
	"CURDATE": expr.Date, "CURRENT_DATE": expr.Date, "CURTIME": expr.Time, "CURRENT_TIME": expr.Time,
	"UNIX_TIMESTAMP": expr.Int,
}

// function binds what differs from MySQL's functions: the clock, UUID, and the
// functions of Flink SQL that pipelines use.
func (c *scope) function(e *syntax.FuncCall) (expr.Expr, error) {
	if len(e.Name.Parts) != 1 || e.Over != nil {
		return nil, nil
	}
	name := strings.ToUpper(e.Name.Object())
	if class, ok := clocks[name]; ok && (name != "UNIX_TIMESTAMP" || len(e.Args) == 0) {
		return c.clock(name, class, e)
	}
	again := func(x syntax.Expr) (expr.Expr, error) { return expr.Bind(c.s.ctx, x, c) }
	arg := func(i int) syntax.Expr { return e.Args[i] }
	switch name {
	case "UUID":
		if err := arguments(e, 0, 0); err != nil {
			return nil, err
		}
		c.uuids++
		return uuidExpr{pos: c.s.need(hiddenSeed), call: c.s.uuidCalls()}, nil
	case "TO_DATE":
		if err := arguments(e, 1, 2); err != nil {
			return nil, err
		}
		format := textOf("%Y-%m-%d")
		if len(e.Args) == 2 {
			var err error
			if format, err = patternOf(arg(1)); err != nil {
				return nil, err
			}
		}
		return again(callOf("DATE", callOf("STR_TO_DATE", arg(0), format)))
	case "TO_TIMESTAMP":
		if err := arguments(e, 1, 2); err != nil {
			return nil, err
		}
		if len(e.Args) == 1 {
			return again(&syntax.Cast{X: arg(0), Type: &syntax.DataType{Name: "DATETIME", HasLength: true, Length: 3}})
		}
		format, err := patternOf(arg(1))
		if err != nil {
			return nil, err
		}
		return again(&syntax.Cast{X: callOf("STR_TO_DATE", arg(0), format), Type: &syntax.DataType{Name: "DATETIME", HasLength: true, Length: 3}})
	case "TO_TIMESTAMP_LTZ":
		return c.toInstant(e)
	case "DATE_FORMAT", "FROM_UNIXTIME":
		// Flink's formats are Java's patterns: 'HH:mm' is no constant text.
		if len(e.Args) != 2 || !javaPattern(arg(1)) {
			return nil, nil
		}
		format, err := shownPattern(arg(1))
		if err != nil {
			return nil, err
		}
		return again(callOf(name, arg(0), format))
	case "DATE_FORMAT_TZ":
		// DATE_FORMAT_TZ(instant, format, zone): an instant in a zone.
		if err := arguments(e, 3, 3); err != nil {
			return nil, err
		}
		x, err := again(arg(0))
		if err != nil {
			return nil, err
		}
		if x.Type().Class != expr.Timestamp {
			return nil, errs.Unsupportedf(-1, "DATE_FORMAT_TZ of what is no TIMESTAMP column; write DATE_FORMAT(CONVERT_TZ(d, from, to), format)")
		}
		utc, err := expr.Cast(c.s.ctx, x, expr.TDateTime(x.Type().Scale))
		if err != nil {
			return nil, err
		}
		zone, err := again(arg(2))
		if err != nil {
			return nil, err
		}
		pattern := arg(1)
		if javaPattern(pattern) {
			if pattern, err = shownPattern(pattern); err != nil {
				return nil, err
			}
		}
		format, err := again(pattern)
		if err != nil {
			return nil, err
		}
		from := expr.Literal(expr.StringValue(c.s.zoneName(), expr.DefaultCollation))
		moved, err := expr.Call(c.s.ctx, "CONVERT_TZ", utc, from, zone)
		if err != nil {
			return nil, err
		}
		return expr.Call(c.s.ctx, "DATE_FORMAT", moved, format)
	case "PARSE_JSON":
		if err := arguments(e, 1, 1); err != nil {
			return nil, err
		}
		return again(&syntax.Cast{X: arg(0), Type: &syntax.DataType{Name: "JSON"}})
	case "TRY_PARSE_JSON":
		if err := arguments(e, 1, 1); err != nil {
			return nil, err
		}
		// CASE WHEN JSON_VALID(x) THEN CAST(x AS JSON) END
		return again(&syntax.Case{Whens: []*syntax.When{{Cond: callOf("JSON_VALID", arg(0)), Result: &syntax.Cast{X: arg(0), Type: &syntax.DataType{Name: "JSON"}}}}})
	case "BTRIM":
		if err := arguments(e, 1, 1); err != nil {
			return nil, err
		}
		return again(callOf("TRIM", arg(0)))
	case "STARTSWITH":
		if err := arguments(e, 2, 2); err != nil {
			return nil, err
		}
		return again(&syntax.Binary{Op: syntax.OpEq, L: callOf("LEFT", arg(0), callOf("CHAR_LENGTH", arg(1))), R: arg(1)})
	case "ENDSWITH":
		if err := arguments(e, 2, 2); err != nil {
			return nil, err
		}
		return again(&syntax.Binary{Op: syntax.OpEq, L: callOf("RIGHT", arg(0), callOf("CHAR_LENGTH", arg(1))), R: arg(1)})
	}
	return nil, nil
}

// patternLetters are the letters of Java's date patterns in MySQL's spelling.
var patternLetters = map[string]string{"yyyy": "%Y", "yy": "%y", "MM": "%m", "M": "%c", "dd": "%d", "d": "%e", "HH": "%H", "H": "%k", "hh": "%h", "mm": "%i", "ss": "%s",
	"SSSSSS": "%f", "SSS": "%f", "a": "%p", "h": "%l", "DDD": "%j", "EEE": "%a", "EEEE": "%W", "MMM": "%b", "MMMM": "%M"}

// patternOf turns a pattern such as yyyy-MM-dd, by which Flink reads texts, into
// a format of STR_TO_DATE. One with % is MySQL's already.
func patternOf(e syntax.Expr) (syntax.Expr, error) {
	l, ok := e.(*syntax.StringLit)
	if !ok {
		return nil, errs.Unsupportedf(-1, "a date pattern that is no literal")
	}
	p := l.Value
	if strings.Contains(p, "%") {
		return l, nil
	}
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	var sb strings.Builder
	for i := 0; i < len(p); {
		if p[i] == '\'' { // quoted text; '' is a quote
			end := strings.IndexByte(p[i+1:], '\'')
			if end < 0 {
				return nil, errs.Userf(errs.InvalidConfig, "the date pattern %q has an open quote", p)
			}
			if end == 0 {
				sb.WriteByte('\'')
			}
			sb.WriteString(p[i+1 : i+1+end])
			i += end + 2
			continue
		}
		if !letter(p[i]) {
			sb.WriteByte(p[i])
			i++
			continue
		}
		end := i
		for end < len(p) && p[end] == p[i] {
			end++
		}
		f, ok := patternLetters[p[i:end]]
		if !ok {
			return nil, errs.Unsupportedf(-1, "%s in the date pattern %q", p[i:end], p)
		}
		sb.WriteString(f)
		i = end
	}
	return textOf(sb.String()), nil
}

// javaPattern reports whether a format is a pattern of Java's: it has letters and
// no %.
func javaPattern(e syntax.Expr) bool {
	l, ok := e.(*syntax.StringLit)
	return ok && !strings.Contains(l.Value, "%") && strings.ContainsFunc(l.Value, func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' })
}

// shownPattern is patternOf for a format that dates are shown in: MySQL has no
// milliseconds there.
func shownPattern(e syntax.Expr) (syntax.Expr, error) {
	if l := e.(*syntax.StringLit); strings.Contains(strings.ReplaceAll(l.Value, "SSSSSS", ""), "SSS") {
		return nil, errs.Unsupportedf(-1, "milliseconds (SSS) in the date pattern %q; write SSSSSS", l.Value)
	}
	return patternOf(e)
}

// subscript is JSON's: x['k'] is a member, x[n] the n-th element, from 1.
func (c *scope) subscript(e *syntax.Subscript) (expr.Expr, error) {
	x, err := expr.Bind(c.s.ctx, e.X, c)
	if err != nil {
		return nil, err
	}
	if x.Type().Class != expr.JSON {
		return nil, errs.Unsupportedf(-1, "a subscript of what is no JSON; write PARSE_JSON(text)['key']")
	}
	path := ""
	switch i := e.Index.(type) {
	case *syntax.StringLit:
		path = `$."` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(i.Value) + `"`
	case *syntax.NumberLit:
		n, ok := i.Uint64()
		if !ok || n == 0 {
			return nil, errs.Userf(errs.InvalidConfig, "the subscript %s: elements are counted from 1", i.Text)
		}
		path = "$[" + strconv.FormatUint(n-1, 10) + "]"
	default:
		return nil, errs.Unsupportedf(-1, "a subscript that is no literal")
	}
	return expr.Call(c.s.ctx, "JSON_EXTRACT", x, expr.Literal(expr.StringValue(path, expr.DefaultCollation)))
}

// toInstant is TO_TIMESTAMP_LTZ(number[, precision]): seconds with 0,
// milliseconds with 3 (the default).
func (c *scope) toInstant(e *syntax.FuncCall) (expr.Expr, error) {
	if err := arguments(e, 1, 2); err != nil {
		return nil, err
	}
	precision := uint64(3)
	if len(e.Args) == 2 {
		n, ok := e.Args[1].(*syntax.NumberLit)
		if ok {
			precision, ok = n.Uint64()
		}
		if !ok || precision != 0 && precision != 3 {
			return nil, errs.Unsupportedf(-1, "TO_TIMESTAMP_LTZ with a precision that is neither 0 nor 3")
		}
	}
	x, err := expr.Bind(c.s.ctx, e.Args[0], c)
	if err != nil {
		return nil, err
	}
	if x.Type().Class != expr.Int {
		return nil, errs.Unsupportedf(-1, "TO_TIMESTAMP_LTZ of what is no integer; write TO_TIMESTAMP(text, format)")
	}
	scale := int64(1000)
	if precision == 0 {
		scale = 1_000_000
	}
	return instantExpr{x, scale, int(precision)}, nil
}

// instantExpr makes instants of a number of seconds or milliseconds.
type instantExpr struct {
	x     expr.Expr
	scale int64
	fsp   int
}

func (i instantExpr) Type() expr.Type {
	t := expr.TTimestamp(i.fsp)
	t.Nullable = true
	return t
}

func (i instantExpr) Eval(ctx *expr.Context, b *vector.Batch) (*vector.Vec, error) {
	v, err := i.x.Eval(ctx, b)
	if err != nil {
		return nil, err
	}
	w := v.Flatten()
	out := vector.NewFlat(vector.I64, b.Len)
	for k := range b.Rows() {
		r := b.Row(k)
		if w.IsNull(r) {
			out.SetNull(r)
			continue
		}
		n := int64(0)
		if w.Kind == vector.I32 {
			n = int64(w.I32s[r])
		} else {
			n = w.I64s[r]
		}
		if m := n * i.scale; m/i.scale == n && m > -62135596800000000 && m < 253402300800000000 {
			out.I64s[r] = m
		} else {
			out.SetNull(r)
			ctx.Warnings.Add(expr.Warning{Level: "Warning", Kind: errs.OutOfRange, Message: "TO_TIMESTAMP_LTZ: " + strconv.FormatInt(n, 10) + " is no time"})
		}
	}
	return out, nil
}

func (i instantExpr) Children() []expr.Expr { return []expr.Expr{i.x} }
func (i instantExpr) With(k []expr.Expr) expr.Expr {
	return instantExpr{k[0], i.scale, i.fsp}
}
func (i instantExpr) Traits() expr.Traits { return i.x.Traits() }
func (i instantExpr) Key() string {
	return "to_timestamp_ltz " + strconv.FormatInt(i.scale, 10) + " " + i.x.Key()
}
func (i instantExpr) String() string { return "to_timestamp_ltz(" + i.x.String() + ")" }

// clock binds a function of the current time: it is the time of the source's
// commit, so that a row that is read again gives the same.
func (c *scope) clock(name string, class expr.Class, e *syntax.FuncCall) (expr.Expr, error) {
	if err := arguments(e, 0, 1); err != nil {
		return nil, err
	}
	fsp := 0
	if len(e.Args) == 1 {
		n, ok := e.Args[0].(*syntax.NumberLit)
		var x uint64
		if ok {
			x, ok = n.Uint64()
		}
		if !ok || x > 6 || class == expr.Date || class == expr.Int {
			return nil, errs.Userf(errs.WrongArguments, "%s takes a number of fraction digits, 0 to 6", name)
		}
		fsp = int(x)
	}
	now := clockExpr{pos: c.s.need(hiddenNow), fsp: fsp}
	switch class {
	case expr.Int:
		return expr.Call(c.s.ctx, "UNIX_TIMESTAMP", now)
	case expr.Date:
		return expr.Cast(c.s.ctx, now, expr.TDate)
	case expr.Time:
		return expr.Cast(c.s.ctx, now, expr.TTime(fsp))
	}
	return expr.Cast(c.s.ctx, now, expr.TDateTime(fsp))
}

// clockExpr is the time of a change, cut to fsp fraction digits.
type clockExpr struct{ pos, fsp int }

func (c clockExpr) Type() expr.Type {
	t := expr.TTimestamp(c.fsp)
	t.Nullable = false
	return t
}

func (c clockExpr) Eval(_ *expr.Context, b *vector.Batch) (*vector.Vec, error) {
	unit := int64(1)
	for range 6 - c.fsp {
		unit *= 10
	}
	in, out := b.Cols[c.pos], vector.NewFlat(vector.I64, b.Len)
	for i := range b.Len {
		us := in.I64s[i]
		m := us % unit
		if m < 0 {
			m += unit
		}
		out.I64s[i] = us - m
	}
	return out, nil
}

func (c clockExpr) Children() []expr.Expr      { return nil }
func (c clockExpr) With([]expr.Expr) expr.Expr { return c }
func (c clockExpr) Traits() expr.Traits        { return expr.ReadsColumns }
func (c clockExpr) Key() string                { return "clock " + strconv.Itoa(c.fsp) }
func (c clockExpr) String() string             { return "now()" }

// kindExpr is __data_event_type__.
type kindExpr struct{}

func (kindExpr) Type() expr.Type {
	t := expr.TString(2, "utf8mb4_0900_bin")
	t.Nullable = false
	return t
}

func (kindExpr) Eval(_ *expr.Context, b *vector.Batch) (*vector.Vec, error) {
	if b.Kinds == nil {
		v := vector.New(vector.Str, 1)
		v.AppendString(vector.RowKindString(vector.Insert))
		return v.AsConst(b.Len), nil
	}
	v := vector.New(vector.Str, b.Len)
	for i := range b.Len {
		v.AppendString(vector.RowKindString(b.Kinds[i]))
	}
	return v, nil
}

func (kindExpr) Children() []expr.Expr        { return nil }
func (k kindExpr) With([]expr.Expr) expr.Expr { return k }
func (kindExpr) Traits() expr.Traits          { return expr.ReadsColumns }
func (kindExpr) Key() string                  { return "kind" }
func (kindExpr) String() string               { return eventType }

// uuidExpr is UUID(): a name-based UUID (version 8, RFC 9562) of the row's
// transaction and its number in it, so that a row that is read again keeps it.
type uuidExpr struct{ pos, call int }

func (uuidExpr) Type() expr.Type {
	t := expr.TString(36, "utf8mb4_0900_bin")
	t.Nullable = false
	return t
}

func (u uuidExpr) Eval(_ *expr.Context, b *vector.Batch) (*vector.Vec, error) {
	out := vector.NewFlat(vector.Str, b.Len)
	for k := range b.Rows() {
		r := b.Row(k)
		h := sha256.Sum256(strconv.AppendInt(append(b.Cols[u.pos].Bytes(r), 0), int64(u.call), 10))
		h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
		var text [36]byte
		hex.Encode(text[:8], h[:4])
		hex.Encode(text[9:13], h[4:6])
		hex.Encode(text[14:18], h[6:8])
		hex.Encode(text[19:23], h[8:10])
		hex.Encode(text[24:], h[10:16])
		text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
		out.SetBytes(r, text[:])
	}
	return out, nil
}

func (uuidExpr) Children() []expr.Expr        { return nil }
func (u uuidExpr) With([]expr.Expr) expr.Expr { return u }
func (uuidExpr) Traits() expr.Traits          { return expr.ReadsColumns }
func (u uuidExpr) Key() string                { return "uuid " + strconv.Itoa(u.call) }
func (uuidExpr) String() string               { return "uuid()" }
