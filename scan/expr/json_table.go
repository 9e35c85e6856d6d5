package expr

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// JSONColumnKind says what a column of JSON_TABLE shows.
type JSONColumnKind uint8

// The kinds of columns.
const (
	JSONOrdinality JSONColumnKind = iota // the number of the match, from 1
	JSONValueAt                          // the value that a path names
	JSONExistsAt                         // whether the path names one
	JSONNestedAt                         // the columns of the matches of a path
)

// JSONColumn is a column of JSON_TABLE, or its NESTED PATH.
type JSONColumn struct {
	Kind             JSONColumnKind
	Name             string
	Type             Type // but for nested paths
	Padded           bool // CHAR: texts lose the blanks at their end
	Path             string
	OnEmpty, OnError JSONOn
	Columns          []JSONColumn // nested
}

// JSONOn says what stands for a value that is missing or does not fit: NULL,
// an error, or a value given as JSON text.
type JSONOn struct {
	Error   bool
	Default *string
}

// NewJSONTable resolves JSON_TABLE(doc, path COLUMNS (…)), with MySQL's
// semantics: columns come in the order in which they are written, those of nested
// paths in their place. For each match of the path there is a row for each row
// of each nested path, with NULL in the columns of the others; one row when no
// nested path has any.
func NewJSONTable(ctx *Context, doc Expr, path string, cols []JSONColumn) (TableFunction, error) {
	t := &jsonTable{doc: doc, docType: doc.Type()}
	if c := t.docType.Class; c != JSON && c != Null && !t.docType.IsText() {
		if c == Bytes {
			return nil, errs.Userf(errs.InvalidJSONCharset, "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")
		}
		return nil, errs.Userf(errs.InvalidJSONType, "Invalid data type for JSON data in argument 1 to function json_table; a JSON string or JSON type is required.")
	}
	var err error
	t.root, err = t.level(ctx, path, cols)
	return t, err
}

type jsonTable struct {
	doc     Expr
	docType Type
	root    *jsonLevel
	cols    []*jsonColumn // flat
}

// jsonLevel are the columns of one path.
type jsonLevel struct {
	path     jsonPath
	cols     []*jsonColumn
	children []*jsonLevel
	from, to int // positions of its columns and those below it
}

type jsonColumn struct {
	JSONColumn
	at             int // position
	path           jsonPath
	empty, failure *jsonValue // the defaults, nil for none
	convert        Expr       // from text, for types that have no reader of their own
}

func (t *jsonTable) level(ctx *Context, path string, cols []JSONColumn) (*jsonLevel, error) {
	p, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	l := &jsonLevel{path: p, from: len(t.cols)}
	for _, c := range cols {
		if c.Kind == JSONNestedAt {
			in, err := t.level(ctx, c.Path, c.Columns)
			if err != nil {
				return nil, err
			}
			l.children = append(l.children, in)
			continue
		}
		x := &jsonColumn{JSONColumn: c, at: len(t.cols)}
		x.Type.Nullable = true
		if c.Kind != JSONOrdinality {
			if x.path, err = parsePath(c.Path); err != nil {
				return nil, err
			}
		}
		for _, d := range []struct {
			on JSONOn
			to **jsonValue
		}{{c.OnEmpty, &x.empty}, {c.OnError, &x.failure}} {
			if d.on.Default == nil {
				continue
			}
			v, bad := parseJSON([]byte(*d.on.Default))
			if bad != nil {
				return nil, invalidJSON("JSON_TABLE", 1, bad)
			}
			*d.to = v
		}
		switch x.Type.Class {
		case Int, Bool, Double, Float, Decimal, String, JSON, Year:
		case Date, DateTime, Timestamp, Time, Bytes:
			x.convert = convert(ctx, Column(0, TString(1<<20, "utf8mb4_bin"), ""), x.Type)
		default:
			return nil, errs.Unsupportedf(-1, "columns of type %s in JSON_TABLE", x.Type.sqlName())
		}
		l.cols = append(l.cols, x)
		t.cols = append(t.cols, x)
	}
	l.to = len(t.cols)
	return l, nil
}

func (t *jsonTable) Types() []Type {
	out := make([]Type, len(t.cols))
	for i, c := range t.cols {
		out[i] = c.Type
	}
	return out
}

func (t *jsonTable) Args() []Expr   { return []Expr{t.doc} }
func (t *jsonTable) String() string { return "json_table(" + t.doc.String() + ")" }

// Append implements TableFunction.
func (t *jsonTable) Append(ctx *Context, args []*vector.Vec, i int, out []*vector.Vec) (int, error) {
	doc, err := jsonDoc(ctx, "json_table", 1, t.docType, args[0], i)
	if doc == nil || err != nil {
		return 0, err
	}
	r := &jsonTableRow{ctx: ctx, row: make([]*vector.Vec, len(t.cols)), out: out}
	for i, c := range t.cols {
		r.row[i] = vector.New(c.Type.Physical(), 1)
	}
	return r.rows, r.fill(t.root, doc)
}

// jsonTableRow is a row that is being made.
type jsonTableRow struct {
	ctx  *Context
	row  []*vector.Vec // its values so far, a vector of one each
	out  []*vector.Vec
	rows int
}

func (r *jsonTableRow) fill(l *jsonLevel, v *jsonValue) error {
	for n, m := range l.path.all(v) {
		for _, c := range l.cols {
			r.row[c.at].Reset()
			if err := r.set(c, r.row[c.at], m, n+1); err != nil {
				return err
			}
		}
		for _, in := range l.children {
			r.blank(in)
		}
		before := r.rows
		for _, in := range l.children {
			if err := r.fill(in, m); err != nil {
				return err
			}
			r.blank(in)
		}
		if r.rows == before {
			for i, x := range r.row {
				r.out[i].AppendFrom(x, 0)
			}
			r.rows++
		}
	}
	return nil
}

// blank makes the columns of a nested path NULL.
func (r *jsonTableRow) blank(l *jsonLevel) {
	for _, x := range r.row[l.from:l.to] {
		x.Reset()
		x.AppendNull()
	}
}

// set appends a column's value for match n.
func (r *jsonTableRow) set(c *jsonColumn, out *vector.Vec, v *jsonValue, n int) error {
	if c.Kind == JSONOrdinality {
		appendInt(out, int64(n))
		return nil
	}
	found := c.path.all(v)
	switch {
	case c.Kind == JSONExistsAt:
		v = &jsonValue{kind: jNumber, num: number{class: Int, i: int64(b2i(len(found) > 0))}}
	case len(found) == 0 && c.OnEmpty.Error:
		return errs.Userf(errs.JSONTableMissing, "Missing value for JSON_TABLE column '%s'", c.Name)
	case len(found) == 0 && c.empty == nil:
		out.AppendNull()
		return nil
	case len(found) == 0:
		v = c.empty
	case len(found) == 1:
		v = found[0]
	default:
		v = &jsonValue{kind: jArray, arr: found}
	}
	err := r.store(c, out, v)
	switch {
	case err == nil || c.OnError.Error || errs.ClassOf(err) != errs.User:
		return err
	case c.failure == nil:
		out.AppendNull()
		return nil
	}
	return r.store(c, out, c.failure)
}

// store appends a JSON value converted to the column's type, or fails and
// appends nothing.
func (r *jsonTableRow) store(c *jsonColumn, out *vector.Vec, v *jsonValue) error {
	t := c.Type
	if v.kind == jNull {
		out.AppendNull()
		return nil
	}
	if t.Class == JSON {
		out.AppendBytes(v.appendText(nil))
		return nil
	}
	if v.kind == jArray || v.kind == jObject {
		return errs.Userf(errs.JSONTableScalar, "Can't store an array or an object in the scalar JSON_TABLE column '%s'", c.Name)
	}
	outOfRange := errs.Userf(errs.JSONTableRange, "Value is out of range for JSON_TABLE's column '%s'", c.Name)
	invalid := func(what string) error {
		return errs.Userf(errs.InvalidJSONCast, "Invalid JSON value for CAST to %s from column %s at row 1", what, c.Name)
	}
	switch t.Class {
	case Year:
		x, ok := jsonInt(v.appendText(nil), false)
		switch {
		case ok && x > 0 && x < 70:
			x += 2000
		case ok && x >= 70 && x < 100:
			x += 1900
		case !ok || x != 0 && (x < 1901 || x > 2155):
			return outOfRange
		}
		appendInt(out, x)
		return nil
	case Int, Bool:
		wide := t.Unsigned && v.kind == jString || v.kind == jNumber && v.num.unsigned
		x, ok := jsonInt(v.appendText(nil), wide)
		switch {
		case !ok || v.kind == jString && strings.TrimRight(v.s, " ") != v.s:
			return invalid("INTEGER")
		case wide && !t.Unsigned && x < 0, !wide && t.Unsigned && x < 0, !intFits(t, x):
			return outOfRange
		}
		appendInt(out, x)
		return nil
	case Double, Float:
		x, ok := jsonNumber(v.appendText(nil))
		if v.kind == jString && v.s == "" {
			ok = true // 0, as MySQL reads an empty text for doubles only
		}
		if !ok || v.kind == jString && strings.TrimRight(v.s, " ") != v.s {
			return invalid("DOUBLE")
		}
		if t.Unsigned && x < 0 {
			return outOfRange
		}
		if t.Class == Double {
			out.AppendF64(x)
			return nil
		}
		f := float32(x)
		if math.IsInf(float64(f), 0) {
			return outOfRange
		}
		out.AppendF32(f)
		return nil
	case Decimal:
		d, ok := jsonDec(v.appendText(nil))
		if !ok {
			return invalid("DECIMAL")
		}
		u := d.rescale(t.Scale)
		if u.CmpAbs(pow10big(t.Precision)) >= 0 || t.Unsigned && u.Sign() < 0 || !out.AppendDecimal(u) {
			return outOfRange
		}
		return nil
	case String:
		// Blanks at the end are cut, other characters are not.
		s := v.plain()
		if c.Padded {
			s = bytes.TrimRight(s, " ")
		}
		for n := utf8.RuneCount(s) - t.Length; n > 0 && len(s) > 0 && s[len(s)-1] == ' '; n-- {
			s = s[:len(s)-1]
		}
		if utf8.RuneCount(s) > t.Length {
			return outOfRange
		}
		out.AppendBytes(s)
		return nil
	}
	// Dates, times and binary strings are read from the value's text.
	if t.IsTemporal() && v.kind == jBool {
		return outOfRange
	}
	s := v.plain()
	if t.Class == Bytes && t.Length >= 0 && len(s) > t.Length {
		return outOfRange
	}
	text := vector.New(vector.Str, 1)
	text.AppendBytes(s)
	quiet := r.ctx.quiet()
	x, err := c.convert.Eval(quiet, &vector.Batch{Len: 1, Seq: -1, Cols: []*vector.Vec{text}})
	if err != nil {
		return err
	}
	for _, w := range quiet.Warnings.List() {
		if w.Level != "Note" {
			return outOfRange
		}
	}
	if x.IsNull(0) {
		return outOfRange
	}
	out.AppendFrom(x, 0)
	return nil
}

// plain is a scalar's text, of a string without quotes.
func (v *jsonValue) plain() []byte {
	if v.kind == jString {
		return []byte(v.s)
	}
	return v.appendText(nil)
}

// intFits reports whether a value, with its sign checked, fits an integer type.
func intFits(t Type, x int64) bool {
	if t.Class == Bool || t.Width >= 8 {
		return true
	}
	bits := 8 * t.Width
	if t.Unsigned {
		return x >= 0 && x < 1<<bits
	}
	return x >= -(1<<(bits-1)) && x < 1<<(bits-1)
}

// appendInt appends to a vector of integers of any width.
func appendInt(out *vector.Vec, x int64) {
	switch out.Kind {
	case vector.I8:
		out.AppendI8(int8(x))
	case vector.I32:
		out.AppendI32(int32(x))
	default:
		out.AppendI64(x)
	}
}
