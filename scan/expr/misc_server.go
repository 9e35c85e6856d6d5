package expr

import (
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Functions of MySQL about its server that have a meaning, or a harmless answer,
// here.

// shortUUIDs counts on from the time at which the process started.
var shortUUIDs = func() *atomic.Uint64 {
	var n atomic.Uint64
	n.Store(uint64(time.Now().Unix())<<24&(1<<56-1) | 1<<56)
	return &n
}()

func init() {
	fn(spec{name: "UUID_SHORT", min: 0, max: 0, class: "misc", usage: "UUID_SHORT()", doc: "A 64-bit number that the server gives once only.", volatile: true,
		ret: func(*Context, string, []Expr) (Type, error) { return TUint64.NotNull(), nil },
		body: func(*evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				out.I64s[i] = int64(shortUUIDs.Add(1) - 1)
				return nil
			}
		}})
	fn(spec{name: "LOAD_FILE", min: 1, max: 1, class: "misc", usage: "LOAD_FILE(s)", doc: "NULL: no file can be read this way. See read_parquet, read_csv and read_json.", kinds: "t", nullable: true,
		ret: func(*Context, string, []Expr) (Type, error) { return TBytes(1<<31 - 1), nil },
		body: func(*evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				out.SetNull(i)
				return nil
			}
		}})
	fn(spec{name: "VALIDATE_PASSWORD_STRENGTH", min: 1, max: 1, class: "misc", usage: "VALIDATE_PASSWORD_STRENGTH(s)", doc: "0: no rules for passwords are installed.", kinds: "t", ret: returns(Type{Class: Int, Width: 4, Nullable: true, Coercibility: 5}),
		body: func(*evaluation) func(i int, out *vector.Vec) error {
			return func(int, *vector.Vec) error { return nil }
		}})
	register(&function{name: "NAME_CONST", min: 2, max: 2, class: "misc", usage: "NAME_CONST(name, x)", doc: "The constant x as a column of that name.",
		resolve: func(_ *Context, args []Expr) (Expr, error) {
			for _, a := range args {
				if l, ok := a.(*LiteralExpr); !ok || l.folded != nil && Operator(l.folded) != "NEG" {
					return nil, errs.Userf(errs.WrongArguments, "Incorrect arguments to NAME_CONST")
				}
			}
			return args[1], nil
		}})
	register(&function{name: "BENCHMARK", min: 2, max: 2, class: "misc", usage: "BENCHMARK(n, x)", doc: "0, after x was computed n times.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) {
			if err := isNested(args[0]); err != nil {
				return nil, err
			}
			t := TBigInt
			t.Told.Length = 1
			c := newCall("BENCHMARK", t, nil, convert(ctx, args[0], TBigInt), args[1])
			c.nulls = true
			c.perRow = true
			c.kern = func(ev *evaluation) (*vector.Vec, error) {
				out := ev.out(t.Physical())
				return out, ev.each(func(i int) error {
					n := intAt(ev.args[0], i)
					switch {
					case ev.args[0].IsNull(i):
						out.SetNull(i)
						return nil
					case n < 0:
						ev.ctx.warn("Warning", errs.WrongValueForFunc, "Incorrect count value: '%d' for function benchmark", n)
						out.SetNull(i)
						return nil
					}
					quiet := ev.ctx.quiet()
					for range n {
						select {
						case <-ev.ctx.Done:
							return nil // the statement ends anyway
						default:
						}
						if _, err := ev.c.args[1].Eval(quiet, ev.b); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return c, nil
		}})
}
