package expr

import (
	"time"

	"github.com/thermocline/thermocline/internal/vector"
)

func unixTimestamp(ctx *Context, args []Expr) (Expr, error) {
	if len(args) == 0 {
		return Literal(IntValue(floorDiv(ctx.nowMicros(), usPerSecond))), nil
	}
	x := args[0]
	if err := isNested(x); err != nil {
		return nil, err
	}
	fsp := 6
	t := x.Type()
	switch {
	case t.Class == Date || t.Class == Int || t.Class == Bool || t.Class == Null:
		fsp = 0
	case t.IsTemporal():
		fsp = t.Scale
	case t.Class == Decimal:
		fsp = min(t.Scale, 6)
	case constText(x):
		if p := parseDateTime(x.(*LiteralExpr).Val.Vec.Bytes(0), false); p.kind != Null {
			fsp = p.fsp
		}
	}
	ret := TBigInt
	if fsp > 0 {
		ret = TDecimal(11+fsp, fsp)
	}
	c := newCall("UNIX_TIMESTAMP", ret, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		f := dateTimes(ev.ctx, t, ev.args[0], "datetime")
		z := ev.ctx.zone()
		instants := t.Class == Timestamp
		ev.rows(func(i int) {
			p, ok := f(i)
			if !ok {
				return
			}
			us := p.rounded(fsp, false)
			if instants {
				us = intAt(ev.args[0], i)
			} else {
				us = instantOf(us, z)
			}
			if us < 0 || us/usPerSecond > maxUnix {
				return
			}
			if fsp == 0 {
				out.I64s[i] = us / usPerSecond
			} else {
				out.I64s[i] = us / usUnit[fsp]
			}
		})
		return out, nil
	}, x)
	return c, nil
}

func fromUnixtime(ctx *Context, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	x := args[0]
	fsp := 6
	switch n := numeric(x); n.Class {
	case Int:
		fsp = 0
		x = toNumeric(ctx, x)
	case Decimal:
		fsp = min(n.Scale, 6)
		x = toNumeric(ctx, x)
	default:
		if n := numberOfChoice(ctx, x, TDecimal(65, 30)); n != nil {
			x = n
		}
	}
	if len(args) == 2 {
		fsp = 6
	}
	t := TDateTime(fsp)
	c := newCall("FROM_UNIXTIME", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		d := seconds(ev.ctx, ev.c.args[0].Type(), ev.args[0])
		z := ev.ctx.zone()
		ev.rows(func(i int) {
			u := d(i).rescale(6)
			if u.Sign() < 0 || !u.IsInt64() || u.Int64()/usPerSecond > maxUnix {
				out.SetNull(i)
				return
			}
			out.I64s[i] = roundWallFraction(wallOf(u.Int64(), z), fsp, false)
		})
		return out, nil
	}, x).nullable()
	if len(args) == 1 {
		return c, nil
	}
	return Call(ctx, "DATE_FORMAT", fold(ctx, c), args[1])
}

func convertTZ(ctx *Context, args []Expr) (Expr, error) {
	if err := isNested(args...); err != nil {
		return nil, err
	}
	t := TDateTime(fractionOf(args[0]))
	c := newCall("CONVERT_TZ", t, func(ev *evaluation) (*vector.Vec, error) {
		out := ev.out(vector.I64)
		zones := map[string]*time.Location{}
		zone := func(s []byte) *time.Location {
			z, ok := zones[string(s)]
			if !ok {
				z, _ = ParseTimeZone(string(s))
				zones[string(s)] = z
			}
			return z
		}
		f := dateTimes(ev.ctx, ev.c.args[0].Type(), ev.args[0], "datetime")
		return out, ev.each(func(i int) error {
			p, ok := f(i)
			from, to := zone(ev.args[1].Bytes(i)), zone(ev.args[2].Bytes(i))
			if !ok || from == nil || to == nil {
				out.SetNull(i)
				if !ok {
					return ev.ctx.zeroDate(p, false)
				}
				return nil
			}
			us := p.rounded(t.Scale, false)
			at := instantOf(us, from)
			if at < usPerSecond || at/usPerSecond > maxUnix {
				out.I64s[i] = us
				return nil
			}
			out.I64s[i] = wallOf(at, to)
			return nil
		})
	}, args[0], asText(ctx, args[1]), asText(ctx, args[2]))
	return c.nullable(), nil
}
