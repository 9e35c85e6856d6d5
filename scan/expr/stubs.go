package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func jsonNumber(b []byte) (float64, bool)                { return 0, false }
func jsonInt(b []byte, unsigned bool) (int64, bool)      { return 0, false }
func jsonDec(b []byte) (dec, bool)                       { return dec{}, false }
func jsonTemporal(ctx *Context, b []byte) (parsed, bool) { return parsed{}, false }

var operatorText = map[string]func(*call) string{}

func toJSON(ev *evaluation) (*vector.Vec, error) { return nil, errs.Unsupportedf(-1, "JSON") }
func appendJSONKey(dst, b []byte) []byte         { return dst }
func compareJSON(a, b []byte) int                { return 0 }
func comparableJSON(ctx *Context, a, b Expr) (Expr, Expr, Type, error) {
	return nil, nil, Type{}, errs.Unsupportedf(-1, "comparisons of JSON")
}
func appendJSONDouble(dst []byte, x float64) []byte { return appendDouble(dst, x) }
