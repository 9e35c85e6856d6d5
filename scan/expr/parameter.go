package expr

import (
	"math"

	"github.com/thermocline/thermocline/internal/vector"
)

// Parameter is a placeholder of a statement that is prepared: it has no value, but
// MySQL tells clients the type that it expects, which is the first that the
// placeholder's surroundings give it (Item_param::propagate_type).
type Parameter struct {
	Type  Type // text until something else is found
	typed bool
}

// ParameterExpr returns a placeholder as an expression: NULL, of the parameter's
// type, which calls around it may change.
func ParameterExpr(ctx *Context, p *Parameter) Expr {
	if !p.typed {
		p.Type = parameterText(ctx.collation())
	}
	return p.literal()
}

func parameterText(collation string) Type {
	t := TString(65532/4, collation)
	t.Coercibility = 4
	return t
}

func (p *Parameter) literal() Expr {
	p.Type.Nullable = true
	l := Literal(Value{Type: p.Type, Vec: vector.NewNull(p.Type.Physical(), 1)})
	l.text, l.parameter = "?", p
	return l
}

// parameterOf returns e's parameter when it is one whose type is not found yet.
func parameterOf(e Expr) *Parameter {
	if l, ok := e.(*LiteralExpr); ok && l.parameter != nil && !l.parameter.typed {
		return l.parameter
	}
	return nil
}

// asParameter gives a parameter without a type one that holds all values of t's
// family, and returns other expressions as they are.
func asParameter(e Expr, t Type) Expr {
	p := parameterOf(e)
	if p == nil {
		return e
	}
	switch t.Class {
	case Null, Nested:
		return e
	case Bool, Int:
		u := unsigned(t)
		if t = TBigInt; u {
			t = TUint64
		}
	case Decimal:
		t = TDecimal(65, 30)
	case Float, Double:
		t = TDouble
	case Date:
		t = TDate
	case Time:
		t = TTime(6)
	case DateTime, Timestamp:
		t = TDateTime(6)
	case Year:
		t = Type{Class: Year, Coercibility: 5}
	case Bit:
		t = Type{Class: Bit, Length: 64, Coercibility: 5}
	case JSON:
		t = TJSON
	case Bytes:
		large := t.Told.Form == Large
		if t = TBytes(65535); large {
			t.Length, t.Told.Form = math.MaxInt32, Long
		}
	default:
		large := t.Told.Form == Large
		if t = parameterText(t.Collation); large {
			t.Length, t.Told.Form = math.MaxInt32, Long
		}
	}
	p.Type, p.typed = t, true
	return p.literal()
}

// castParameter gives a parameter that is cast its type.
func castParameter(e Expr, to Type) Expr {
	switch to.Class {
	case Int:
		to = TBigInt
	case Time:
		to = TDateTime(6)
	}
	return asParameter(e, to)
}

// parameterKinds are the kinds of arguments, as those of a spec, where parameters
// are others; N is DECIMAL, E is DATE.
var parameterKinds = map[string]string{
	"JSON_EXTRACT": "jt", "JSON_SET": "jtj", "JSON_INSERT": "jtj", "JSON_REPLACE": "jtj", "JSON_VALID": "j", "JSON_REMOVE": "jt", "JSON_CONTAINS": "jt", "JSON_LENGTH": "jt",
	"JSON_KEYS": "jt", "JSON_TYPE": "j", "JSON_DEPTH": "j", "JSON_SEARCH": "jt", "JSON_CONTAINS_PATH": "jt", "JSON_MERGE_PATCH": "j", "JSON_MERGE_PRESERVE": "j",
	"JSON_ARRAY_APPEND": "jt", "JSON_ARRAY_INSERT": "jt", "JSON_OVERLAPS": "j", "JSON_PRETTY": "j",
	"DATE_FORMAT": "Tt", "TIME_FORMAT": "Mt", "YEAR": "T", "HOUR": "T", "MINUTE": "T", "SECOND": "T", "MONTH": "T", "DAYOFMONTH": "T", "QUARTER": "T", "WEEK": "Ti",
	"DATE": "E", "UNIX_TIMESTAMP": "T", "FROM_UNIXTIME": "Nt", "SEC_TO_TIME": "N", "TIMESTAMPDIFF": "tTT", "LAST_DAY": "T", "DAYNAME": "T", "MONTHNAME": "T",
	"TIMESTAMP": "T", "ADDTIME": "M", "SUBTIME": "M", "TIME_TO_SEC": "M", "TO_DAYS": "T", "CONV": "i", "BIN": "i", "OCT": "i",
}

// typeParameters gives the parameters among a call's arguments the types that the
// function or the other arguments suggest.
func typeParameters(ctx *Context, name string, args []Expr) []Expr {
	found := false
	for _, a := range args {
		found = found || parameterOf(a) != nil
	}
	if !found {
		return args
	}
	args = append([]Expr(nil), args...)
	each := func(at []Expr, t Type) {
		for i := range at {
			at[i] = asParameter(at[i], t)
		}
	}
	// like gives parameters the type of the others, or t when there are none.
	like := func(at []Expr, t Type) {
		var others []Expr
		for _, a := range at {
			if parameterOf(a) == nil {
				others = append(others, a)
			}
		}
		if len(others) > 0 {
			if merged, err := resultType(ctx.quiet(), name, others); err == nil {
				t = merged
			}
		}
		each(at, t)
	}
	text := parameterText(ctx.collation())
	switch name {
	case "+", "-", "*", "/", "DIV", "%":
		like(args, TDouble)
	case "NEG", "ABS", "CEILING", "FLOOR", "SIGN":
		each(args, TDouble)
	case "ROUND", "TRUNCATE", "FORMAT":
		each(args[:1], TDecimal(65, 30))
		each(args[1:], TBigInt)
	case "=", "<>", "!=", "<", ">", "<=", ">=", "<=>", "BETWEEN", "IN", "NULLIF", "COALESCE", "IFNULL", "GREATEST", "LEAST":
		like(args, text)
	case "AND", "OR", "XOR", "NOT", "IS TRUE", "IS FALSE", "&", "|", "^", "INTERVAL":
		each(args, TBigInt)
	case "IF":
		each(args[:1], TBigInt)
		if len(args) > 1 {
			like(args[1:], text)
		}
	case "ELT":
		each(args[:1], TBigInt)
	case "CASE":
		var values []Expr
		for i := range args {
			if i%2 == 1 || i == len(args)-1 {
				values = append(values, args[i])
			}
		}
		like(values, text)
		k := 0
		for i := range args {
			if i%2 == 1 || i == len(args)-1 {
				args[i] = values[k]
				k++
			}
		}
	case "DATE_ADD", "DATE_SUB", "TIMESTAMPADD":
		// The unit is a word, the number may be a parameter.
		seconds := false
		for _, a := range args {
			w, ok := word(a)
			seconds = seconds || ok && upper(w) == "SECOND"
		}
		number, dated := 1, 0
		if name == "TIMESTAMPADD" {
			number, dated = 1, 2
		}
		if number < len(args) {
			n := TBigInt
			if seconds {
				n = TDecimal(65, 30)
			}
			args[number] = asParameter(args[number], n)
		}
		if dated < len(args) {
			args[dated] = asParameter(args[dated], TDate)
		}
	default:
		kinds := parameterKinds[name]
		if f := functions[name]; kinds == "" && f != nil {
			kinds = f.kinds
		}
		if kinds == "" {
			break
		}
		for i := range args {
			switch kinds[min(i, len(kinds)-1)] {
			case 'E':
				args[i] = asParameter(args[i], TDate)
			case 'N':
				args[i] = asParameter(args[i], TDecimal(65, 30))
			case 'i':
				args[i] = asParameter(args[i], TBigInt)
			case 'd', 'n':
				args[i] = asParameter(args[i], TDouble)
			case 'D', 'T':
				args[i] = asParameter(args[i], TDateTime(6))
			case 'M':
				args[i] = asParameter(args[i], TTime(6))
			case 'j':
				args[i] = asParameter(args[i], TJSON)
			}
		}
	}
	return args
}
