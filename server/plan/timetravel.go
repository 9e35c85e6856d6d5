package plan

import (
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
)

// streamingOption makes reading a table continuous, or not.
const streamingOption = "streaming"

// ref returns what a statement asks for of a table, in whatever spelling: a
// version by AS OF, or Flink's /*+ OPTIONS(…) */, which the table's connector
// understands. continuous says whether it is to be read continuously: 1 yes, 0 no,
// -1 the statement does not say.
func (b *binder) ref(t *syntax.TableName) (ref catalog.Ref, continuous int, err error) {
	continuous = -1
	if t.AsOf != nil {
		if ref, err = b.asOf(t.AsOf); err != nil {
			return ref, 0, err
		}
	}
	ref.Zone = b.env.Expr.Zone
	options := map[string]string{}
	for _, o := range t.Options {
		if _, twice := options[o.Key]; twice {
			return ref, 0, errs.UserAt(o.Pos(), errs.WrongArguments, "the option '%s' is given twice", o.Key)
		}
		options[o.Key] = o.Value
		if o.Key == streamingOption {
			switch strings.ToLower(o.Value) {
			case "true":
				continuous = 1
			case "false":
				continuous = 0
			default:
				return ref, 0, errs.UserAt(o.Pos(), errs.WrongArguments, "the option '%s' is '%s', not true or false", o.Key, o.Value)
			}
		}
	}
	delete(options, streamingOption)
	if t.AsOf != nil {
		if continuous == 1 {
			return ref, 0, errs.UserAt(t.AsOf.Pos(), errs.WrongArguments, "AS OF names one version, which cannot be read continuously")
		}
		continuous = 0
	}
	if len(options) == 0 {
		return ref, continuous, nil
	}
	// A version that is given in both ways contradicts itself there.
	as := map[catalog.RefKind]string{catalog.ByVersion: "scan.version", catalog.ByTimestamp: "scan.timestamp-millis"}[ref.Kind]
	if _, twice := options[as]; twice {
		return ref, 0, errs.UserAt(t.AsOf.Pos(), errs.WrongArguments, "a table's version is given twice, by OPTIONS and by AS OF")
	}
	switch ref.Kind {
	case catalog.ByVersion:
		options[as] = ref.Name
	case catalog.ByTimestamp:
		options[as] = strconv.FormatInt(ref.Time.UnixMilli(), 10)
	}
	return catalog.Ref{Kind: catalog.ByOptions, Options: options, Zone: ref.Zone}, continuous, nil
}

// constant evaluates an expression that reads nothing.
func (b *binder) constant(e syntax.Expr) (expr.Value, error) {
	bl := &block{b: b}
	x, err := bl.bind(e, &scope{bl: bl, clause: inFields, rel: &bl.rel, noAggs: true, noSubs: "subqueries in a table's version"})
	if err != nil {
		return expr.Value{}, err
	}
	if !expr.IsConst(x) {
		return expr.Value{}, errs.UserAt(e.Pos(), errs.WrongArguments, "a table's version must be a constant")
	}
	return b.evaluate(x)
}

func (b *binder) evaluate(x expr.Expr) (expr.Value, error) {
	v, err := x.Eval(b.env.Expr, &vector.Batch{Len: 1, Seq: -1})
	if err != nil {
		return expr.Value{}, err
	}
	w := vector.NewLike(v.Values(), 1)
	w.AppendFrom(v, 0)
	return expr.Value{Type: x.Type(), Vec: w.AsConst(1)}, nil
}

func (b *binder) asOf(a *syntax.AsOf) (catalog.Ref, error) {
	if b.env.Preparing {
		if _, ok := a.Expr.(*syntax.Placeholder); ok {
			return catalog.Ref{}, nil // the newest schema stands for the version's
		}
	}
	v, err := b.constant(a.Expr)
	if err != nil {
		return catalog.Ref{}, err
	}
	if v.IsNull() {
		return catalog.Ref{}, errs.UserAt(a.Pos(), errs.WrongArguments, "a table's version is NULL")
	}
	number := v.Type.Class == expr.Int || v.Type.Class == expr.Bool
	text := string(expr.AppendText(nil, v.Type, v.Vec, 0, b.env.Expr.Zone))
	switch a.Kind {
	case syntax.AsOfVersion:
		if !number && v.Type.Class != expr.String {
			return catalog.Ref{}, errs.UserAt(a.Pos(), errs.WrongArguments, "FOR VERSION AS OF takes a snapshot id or the name of a tag")
		}
		return catalog.Ref{Kind: catalog.ByVersion, Name: text}, nil
	case syntax.AsOfAny:
		if number {
			return catalog.Ref{Kind: catalog.ByVersion, Name: text}, nil
		}
		if v.Type.Class == expr.String {
			if at, err := b.instant(v, a.Pos()); err == nil {
				return catalog.Ref{Kind: catalog.ByTimestamp, Time: at}, nil
			}
			return catalog.Ref{Kind: catalog.ByVersion, Name: text}, nil
		}
	}
	if number {
		return catalog.Ref{}, errs.UserAt(a.Pos(), errs.WrongArguments, "FOR TIMESTAMP AS OF takes a date and time, such as '2026-06-20 00:00:00'")
	}
	at, err := b.instant(v, a.Pos())
	return catalog.Ref{Kind: catalog.ByTimestamp, Time: at}, err
}

// instant reads a value as a point in time in the session's zone.
func (b *binder) instant(v expr.Value, pos int) (time.Time, error) {
	bad := func() (time.Time, error) {
		text := string(expr.AppendText(nil, v.Type, v.Vec, 0, b.env.Expr.Zone))
		return time.Time{}, errs.UserAt(pos, errs.WrongValue, "Incorrect DATETIME value: '%s'", text)
	}
	if v.Type.Class == expr.Timestamp {
		return time.UnixMicro(v.Vec.I64s[0]), nil
	}
	// A cast warns about what it cannot read; here that is an error instead.
	quiet := *expr.NewContext()
	quiet.Zone, quiet.Mode, quiet.Now, quiet.Warnings = b.env.Expr.Zone, b.env.Expr.Mode, b.env.Expr.Now, &expr.Warnings{}
	x, err := expr.Cast(&quiet, expr.Literal(v), expr.TDateTime(6))
	if err != nil {
		return time.Time{}, positioned(err, pos)
	}
	w, err := x.Eval(&quiet, &vector.Batch{Len: 1, Seq: -1})
	if err != nil || w.IsNull(0) || quiet.Warnings.Count() > 0 {
		return bad()
	}
	zone := b.env.Expr.Zone
	if zone == nil {
		zone = time.UTC
	}
	wall := time.UnixMicro(w.I64s[w.At(0)]).UTC()
	return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone), nil
}
