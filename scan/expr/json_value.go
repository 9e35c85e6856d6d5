package expr

import (
	"errors"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
)

// JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR]): the value that
// a path names, converted. NULL is the default where the path names nothing, and
// where the document is no JSON, the path names several values, or the
// conversion fails.
func (b *binder) jsonValue(e *syntax.JSONValue) (Expr, error) {
	args, err := b.all([]syntax.Expr{e.Doc, e.Path})
	if err != nil {
		return nil, err
	}
	if err := isNested(args...); err != nil {
		return nil, err
	}
	if jsonOrigin(args[0]) != jNull {
		return nil, errs.Unsupportedf(-1, "JSON_VALUE of JSON made from dates, times, decimals and binary strings")
	}
	t := TString(512, jsonValueCollation)
	if e.Returning != nil {
		if t, err = CastType(b.ctx, e.Returning); err != nil {
			return nil, err
		}
		if (t.Class == String || t.Class == Bytes) && t.Length < 0 {
			t.Length = 512
		}
		if r := e.Returning; t.Class == String && r.Charset == "" && r.Collate == "" && !r.National && !r.Binary && r.Name != "NCHAR" && r.Name != "NVARCHAR" {
			t.Collation, t.Coercibility = jsonValueCollation, 4
		}
	}
	lit, ok := args[1].(*LiteralExpr)
	if !ok || lit.Val.IsNull() || !isString(lit.Val.Type) {
		return nil, errs.Userf(errs.Syntax, "the path of JSON_VALUE must be a text")
	}
	path, err := parsePath(lit.Val.Vec.String(0))
	if err != nil {
		return nil, err
	}
	t.Nullable = true
	col := &jsonColumn{JSONColumn: JSONColumn{Name: "json_value", Type: t}}
	switch t.Class {
	case Date, DateTime, Timestamp, Time, Bytes:
		col.convert = convert(b.ctx, Column(0, TString(1<<20, "utf8mb4_bin"), ""), t)
	}
	empty, err := b.jsonDefault(e.OnEmpty, t)
	if err != nil {
		return nil, err
	}
	failure, err := b.jsonDefault(e.OnError, t)
	if err != nil {
		return nil, err
	}
	c := newCall("JSON_VALUE", t, nil, args[0])
	c.inner = " " + lit.Val.Vec.String(0) + " " + t.key() + empty.key() + failure.key()
	c.text = "json_value(" + args[0].String() + ", " + lit.String() + ")"
	c.nulls, c.typ.Nullable = true, true
	c.kern = func(ev *evaluation) (*vector.Vec, error) {
		out := vector.New(t.Physical(), ev.n)
		ctx := *ev.ctx
		ctx.Mode |= TimeTruncateFractional
		row := jsonTableRow{ctx: &ctx}
		instead := func(d *jsonInstead, fail error) error {
			switch {
			case d.fails:
				return fail
			case d.value == nil:
				out.AppendNull()
			default:
				out.AppendFrom(d.value, 0)
			}
			return nil
		}
		sel := ev.sel
		one := func(i int) error {
			if ev.sel != nil { // rows that nobody asks for
				if len(sel) == 0 || int(sel[0]) != i {
					out.AppendNull()
					return nil
				}
				sel = sel[1:]
			}
			doc, err := jsonDoc(ev.ctx, "JSON_VALUE", 1, ev.c.args[0].Type(), ev.args[0], i)
			switch {
			case errs.Is(err, errs.InvalidJSONArg):
				if !failure.fails {
					ev.ctx.warn("Warning", errs.InvalidJSONArg, "%s", err)
				}
				return instead(failure, err)
			case err != nil:
				return err
			case doc == nil:
				out.AppendNull()
				return nil
			}
			found := path.all(doc)
			switch {
			case len(found) == 0:
				return instead(empty, errs.Userf(errs.JSONMissing, "No value was found by 'json_value' on the specified path."))
			case len(found) > 1:
				return instead(failure, errs.Userf(errs.JSONSeveral, "More than one value was found by 'json_value' on the specified path."))
			}
			v := found[0]
			if t.Class == String && (v.kind == jArray || v.kind == jObject) {
				v = &jsonValue{kind: jString, s: string(v.appendText(nil))}
			}
			if t.IsTemporal() && t.Class != Year && v.kind != jString && v.kind != jNull {
				err = errs.Userf(errs.OutOfRange, "no date")
			} else {
				err = row.store(col, out, v)
			}
			var u *errs.Error
			if errors.As(err, &u) && u.Class == errs.User {
				return instead(failure, errs.Userf(errs.OutOfRange, "%s value is out of range in 'json_value'", jsonValueType(t)))
			}
			return err
		}
		for i := range ev.n {
			if err := one(i); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return fold(b.ctx, c), nil
}

// jsonValueCollation is the collation of texts that JSON_VALUE gives when it is
// not told another: they compare as JSON does, by code point.
const jsonValueCollation = "utf8mb4_0900_bin"

// jsonValueType names a type as errors of JSON_VALUE do.
func jsonValueType(t Type) string {
	switch t.Class {
	case Int, Bool:
		if t.Unsigned {
			return "UNSIGNED"
		}
		return "SIGNED"
	case String:
		return "STRING"
	case Decimal:
		return "DECIMAL"
	case Bytes:
		return "BINARY"
	}
	return t.sqlName()
}

// jsonInstead is what stands for a value that is not there.
type jsonInstead struct {
	fails bool
	value *vector.Vec // of one row; nil: NULL
	text  string
}

func (d *jsonInstead) key() string {
	if d.fails {
		return " error"
	}
	return " " + d.text
}

// jsonDefault converts the constant of DEFAULT x. One that does not fit is an error.
func (b *binder) jsonDefault(on *syntax.JSONOn, t Type) (*jsonInstead, error) {
	out := &jsonInstead{}
	switch {
	case on == nil || on.Kind == syntax.JSONOnNull:
		return out, nil
	case on.Kind == syntax.JSONOnError:
		out.fails = true
		return out, nil
	}
	x, err := b.bind(on.Default)
	if err != nil {
		return nil, err
	}
	if !IsConst(x) {
		return nil, errs.Userf(errs.Syntax, "DEFAULT of JSON_VALUE must be a constant")
	}
	plain, err := EvalConst(b.ctx, x)
	if err != nil {
		return nil, err
	}
	outOfRange := func() error {
		name := jsonValueType(t)
		if t.Class == String {
			name = "CHAR"
		}
		return errs.Userf(errs.OutOfRange, "%s DEFAULT value is out of range in 'json_value'", name)
	}
	if t.Class == String && len([]rune(string(AppendText(nil, plain.Type, plain.Vec, 0, b.ctx.zone())))) > t.Length {
		return nil, outOfRange()
	}
	quiet := b.ctx.quiet()
	c, err := Cast(quiet, x, t)
	if err != nil {
		return nil, err
	}
	v, err := EvalConst(quiet, c)
	if err != nil {
		return nil, err
	}
	if list := quiet.Warnings.List(); len(list) > 0 {
		if list[0].Kind == errs.TruncatedValue {
			return nil, errs.Userf(errs.TruncatedValue, "%s", list[0].Message)
		}
		return nil, outOfRange()
	}
	if t.Class == Decimal {
		// Digits may not get lost.
		back, err := Call(quiet, "=", c, x)
		if err != nil {
			return nil, err
		}
		if same, err := EvalConst(quiet, back); err != nil || same.IsNull() || same.Vec.I8s[0] == 0 {
			return nil, outOfRange()
		}
	}
	out.value, out.text = v.Vec, v.literal()
	return out, nil
}
