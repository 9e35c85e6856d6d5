package expr

import "slices"

// toldRule says what MySQL tells of a call's result, from the arguments as they
// were before their conversions. It changes what is told, and the digits with which
// floating point is shown; nothing else.
type toldRule func(ctx *Context, args []Expr, t *Type)

// toldCall applies a function's rule to a call of it.
func toldCall(ctx *Context, name string, args []Expr, e Expr) Expr {
	if c, ok := e.(*call); ok && !c.hidden {
		c.typ.Told.Field = false
		toldResult(ctx, name, args, &c.typ)
		return c
	}
	if l, ok := e.(*LiteralExpr); ok && !slices.Contains(args, e) {
		t := l.Val.Type
		toldResult(ctx, name, args, &t)
		return relabel(e, t)
	}
	// The argument itself: ABS of what is unsigned, ROUND of integers.
	switch name {
	case "ABS", "CEILING", "FLOOR", "ROUND", "TRUNCATE", "NAME_CONST":
		t := e.Type()
		t.Told.Field = false
		toldResult(ctx, name, args, &t)
		return relabel(e, t)
	}
	return e
}

func toldResult(ctx *Context, name string, args []Expr, t *Type) {
	if rule := toldRules[name]; rule != nil {
		rule(ctx, args, t)
	}
	if (t.Class == String || t.Class == Bytes) && !passesOn[name] {
		// A function that makes a text gives NULL when it is longer than
		// max_allowed_packet.
		t.Told.Null = true
	}
}

// passesOn are the functions that give one of their arguments.
var passesOn = map[string]bool{"CASE": true, "IF": true, "IFNULL": true, "COALESCE": true, "NULLIF": true, "GREATEST": true, "LEAST": true, "NAME_CONST": true,
	"MAKE_SET": true, "@": true, ":=": true, "VERSION": true, "ICU_VERSION": true}

// maxTold is the most bytes, and where the length is not known the most characters,
// that MySQL tells of a function's text (MAX_BLOB_WIDTH).
const maxTold = 1 << 24

// toldChars is a rule of a fixed length.
func toldChars(n int) toldRule {
	return func(_ *Context, _ []Expr, t *Type) { t.Told.Length = n }
}

// tell sets the told length.
func (t *Type) tell(n int) {
	if n = min(n, maxTold/maxBytes(*t)); n <= 0 {
		n = empty
	}
	t.Told.Length = n
}

// toldOf is the length that an argument adds to a text of the type.
func toldOf(t *Type, e Expr) int {
	if t.Class == Bytes {
		return e.Type().toldBytes()
	}
	return textLength(e.Type())
}

// toldAs is a rule: as long as an argument.
func toldAs(i int) toldRule {
	return func(_ *Context, args []Expr, t *Type) { t.tell(toldOf(t, args[i])) }
}

// toldNull is a rule: MySQL does not say that the result is never NULL.
func toldNull(_ *Context, _ []Expr, t *Type) { t.Told.Null = true }

// constInt is the value of an integer constant.
func constInt(e Expr) (int, bool) {
	l, ok := e.(*LiteralExpr)
	if !ok || l.Val.IsNull() || l.Val.Type.Class != Int && l.Val.Type.Class != Bool {
		return 0, false
	}
	return clampInt(intAt(l.Val.Vec, 0)), true
}

// toldRules are the rules of functions and operators whose results are not told
// by their types alone.
var toldRules = map[string]toldRule{
	"+": toldSum, "-": toldSum, "*": toldProduct, "/": toldQuotient, "DIV": toldWhole, "%": toldRest, "NEG": toldNegated,

	"ABS": func(_ *Context, args []Expr, t *Type) {
		switch t.Class {
		case Int:
			t.Told.Length = args[0].Type().toldLength()
		case Double:
			toldFloat(args[0], t)
		}
	},
	"CEILING": toldRounded, "FLOOR": toldRounded, "ROUND": toldRounded, "TRUNCATE": toldRounded,
	"SIN": toldNull, "COS": toldNull, "TAN": toldNull, "COT": toldNull, "EXP": toldNull, "ATAN": toldNull, "POW": toldNull,
	"BENCHMARK": toldNull, "CHARSET": toldChars(64), "COLLATION": toldChars(64), "COERCIBILITY": toldChars(10), "REGEXP_REPLACE": toldChars(maxTold / 4),
	"PI": toldChars(8), "CRC32": toldChars(10), "NAME_CONST": toldNull, "IS_UUID": toldNull, "SEC_TO_TIME": toldNull,

	"ASCII": toldChars(4), "LENGTH": toldChars(11), "CHAR_LENGTH": toldChars(11), "BIT_LENGTH": toldChars(11), "UNCOMPRESSED_LENGTH": toldChars(11),
	"FIELD": toldChars(11), "FIND_IN_SET": toldChars(11), "INSTR": toldChars(11), "LOCATE": toldChars(11), "STRCMP": toldChars(2), "INTERVAL": toldChars(2),
	"JSON_VALID": toldChars(21), "JSON_CONTAINS": toldChars(21), "JSON_CONTAINS_PATH": toldChars(21),

	"DATEDIFF": toldChars(9), "DAYOFMONTH": toldChars(3), "DAYOFYEAR": toldChars(4), "DAYOFWEEK": toldChars(2), "WEEKDAY": toldChars(2),
	"WEEKOFYEAR": toldChars(3), "WEEK": toldChars(3), "HOUR": toldChars(4), "MINUTE": toldChars(3), "SECOND": toldChars(3), "QUARTER": toldChars(2),
	"MONTH": toldChars(3), "YEARWEEK": toldChars(7), "TO_DAYS": toldChars(8), "TIME_TO_SEC": toldChars(10), "UNIX_TIMESTAMP": toldUnix,
	"EXTRACT": func(_ *Context, args []Expr, t *Type) {
		unit, _ := word(args[0])
		t.Told.Length = toldUnits[upper(unit)]
	},
	"CURTIME":  func(_ *Context, _ []Expr, t *Type) { t.Told.Length = 8 + toldFraction(t.Scale) },
	"UTC_TIME": func(_ *Context, _ []Expr, t *Type) { t.Told.Length = 8 + toldFraction(t.Scale) },
	"DATE_ADD": toldDated, "DATE_SUB": toldDated, "TIMESTAMPADD": toldDated, "ADDTIME": toldDated, "SUBTIME": toldDated,
	"DATE_FORMAT": toldFormat(1), "TIME_FORMAT": toldFormat(1), "FROM_UNIXTIME": toldFormat(1),

	"CONCAT": func(_ *Context, args []Expr, t *Type) { t.tell(toldAll(t, args)) },
	"CONCAT_WS": func(_ *Context, args []Expr, t *Type) {
		t.tell(toldAll(t, args[1:]) + (len(args)-2)*toldOf(t, args[0]))
	},
	"INSERT": func(_ *Context, args []Expr, t *Type) { t.tell(toldOf(t, args[0]) + toldOf(t, args[3])) },
	"LEFT":   toldCut, "RIGHT": toldCut,
	"SUBSTRING":       toldPart,
	"SUBSTRING_INDEX": toldAs(0), "UPPER": toldAs(0), "LOWER": toldAs(0), "REVERSE": toldAs(0), "REGEXP_SUBSTR": toldAs(0),
	"TRIM": toldAs(0), "LTRIM": toldAs(0), "RTRIM": toldAs(0), "TRIM TRIM": toldAs(0), "TRIM LTRIM": toldAs(0), "TRIM RTRIM": toldAs(0),
	"LPAD": toldPadded, "RPAD": toldPadded,
	"REPEAT": func(_ *Context, args []Expr, t *Type) {
		if n, ok := constInt(args[1]); ok {
			t.tell(max(n, 0) * toldOf(t, args[0]))
			return
		}
		t.Told.Length = maxTold
	},
	"SPACE": func(_ *Context, args []Expr, t *Type) {
		if n, ok := constInt(args[0]); ok {
			t.tell(n)
			return
		}
		t.Told.Length = maxTold
	},
	"REPLACE": func(_ *Context, args []Expr, t *Type) {
		n, from, to := toldOf(t, args[0]), toldOf(t, args[1]), toldOf(t, args[2])
		if to > from && from > 0 {
			n = n / from * (to - from)
		}
		t.tell(n)
	},
	"QUOTE":    func(_ *Context, args []Expr, t *Type) { t.tell(max(2*textLength(args[0].Type())+2, 4)) },
	"MAKE_SET": func(_ *Context, args []Expr, t *Type) { t.tell(toldAll(t, args[1:]) + len(args) - 2) },
	"EXPORT_SET": func(_ *Context, args []Expr, t *Type) {
		separator := 1
		if len(args) > 3 {
			separator = toldOf(t, args[3])
		}
		t.tell(64*max(toldOf(t, args[1]), toldOf(t, args[2])) + 63*separator)
	},
	"FORMAT": func(_ *Context, args []Expr, t *Type) {
		n := textLength(args[0].Type())
		t.tell(n + n/3 + 32)
	},
	"HEX": func(_ *Context, args []Expr, t *Type) {
		if x := args[0].Type(); isString(x) {
			t.tell(2 * x.toldBytes())
		}
	},
	"UNHEX":       func(_ *Context, args []Expr, t *Type) { t.tell((args[0].Type().toldBytes() + 1) / 2) },
	"FROM_BASE64": func(_ *Context, args []Expr, t *Type) { t.tell(args[0].Type().toldBytes() * 3 / 4) },
	"TO_BASE64": func(_ *Context, args []Expr, t *Type) {
		n := (args[0].Type().toldBytes() + 2) / 3 * 4
		t.tell(n + max(n-1, 0)/76)
	},
	"WEIGHT_STRING": func(_ *Context, args []Expr, t *Type) { t.tell(16 * args[0].Type().toldBytes()) },
	"COMPRESS": func(_ *Context, args []Expr, t *Type) {
		n := args[0].Type().toldBytes()
		t.tell(n + n>>12 + n>>14 + n>>25 + 18)
	},
	"AES_DECRYPT": func(_ *Context, args []Expr, t *Type) { t.tell(textLength(args[0].Type())) },
	"SHA2": func(_ *Context, args []Expr, t *Type) {
		if n, ok := constInt(args[1]); ok {
			if n == 0 {
				n = 256
			}
			t.tell(n / 4)
		}
	},
	"INET_NTOA": toldChars(31), "FORMAT_PICO_TIME": toldChars(11), "LOAD_FILE": toldChars(maxTold),
	"JSON_TYPE": toldChars(17), "JSON_PRETTY": toldChars(maxTold),
	"JSON_QUOTE": func(_ *Context, args []Expr, t *Type) { t.tell(6*textLength(args[0].Type()) + 2) },
	"JSON_UNQUOTE": func(_ *Context, args []Expr, t *Type) {
		if x := args[0].Type(); x.Class != JSON {
			t.tell(textLength(x))
		}
	},
}

func toldAll(t *Type, args []Expr) int {
	n := 0
	for _, a := range args {
		n += toldOf(t, a)
	}
	return n
}

func toldRounded(_ *Context, _ []Expr, t *Type) {
	if t.Class == Int {
		t.Told.Length = 21
	}
}

func toldUnix(_ *Context, args []Expr, t *Type) {
	if len(args) == 0 {
		t.Told.Length = 21
	}
}

// toldUnits are the lengths of what EXTRACT gives.
var toldUnits = map[string]int{"YEAR": 5, "MONTH": 3, "DAY": 3, "HOUR": 4, "MINUTE": 3, "SECOND": 3, "MICROSECOND": 7, "QUARTER": 2, "WEEK": 3,
	"YEAR_MONTH": 7, "DAY_HOUR": 9, "DAY_MINUTE": 11, "DAY_SECOND": 13, "DAY_MICROSECOND": 20, "HOUR_MINUTE": 6, "HOUR_SECOND": 8, "HOUR_MICROSECOND": 14,
	"MINUTE_SECOND": 5, "MINUTE_MICROSECOND": 11, "SECOND_MICROSECOND": 9}

// toldDated: date arithmetic on texts gives a CHAR.
func toldDated(_ *Context, _ []Expr, t *Type) {
	if t.Class == String {
		t.Told.Form = Fixed
	}
}

// toldFormat: each code of a constant format counts with the most characters that
// it may become.
func toldFormat(at int) toldRule {
	return func(_ *Context, args []Expr, t *Type) {
		if len(args) <= at || t.Class != String {
			return
		}
		format, ok := word(args[at])
		if !ok {
			return
		}
		n := 0
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				n++
				continue
			}
			i++
			switch format[i] {
			case 'M', 'W':
				n += 64
			case 'a', 'b':
				n += 32
			case 'D', 'Y', 'x', 'X':
				n += 4
			case 'j':
				n += 3
			case 'u', 'U', 'v', 'V', 'y', 'm', 'd', 'h', 'i', 'I', 'l', 'p', 'S', 's', 'c', 'e':
				n += 2
			case 'k', 'H':
				n += 7
			case 'r':
				n += 11
			case 'T':
				n += 8
			case 'f':
				n += 6
			default:
				n++
			}
		}
		t.tell(n)
	}
}

// toldCut is LEFT and RIGHT.
func toldCut(_ *Context, args []Expr, t *Type) {
	n := toldOf(t, args[0])
	if k, ok := constInt(args[1]); ok {
		n = min(n, max(k, 0))
	}
	t.tell(n)
}

// toldPart is SUBSTRING.
func toldPart(_ *Context, args []Expr, t *Type) {
	n := toldOf(t, args[0])
	if at, ok := constInt(args[1]); ok {
		switch {
		case at > 0:
			n = max(n-(at-1), 0)
		case at < 0:
			n = min(n, -at)
		default:
			n = 0
		}
	}
	if len(args) > 2 {
		if k, ok := constInt(args[2]); ok {
			n = min(n, max(k, 0))
		}
	}
	t.tell(n)
}

// toldPadded is LPAD and RPAD.
func toldPadded(_ *Context, args []Expr, t *Type) {
	n, ok := constInt(args[1])
	switch {
	case !ok:
		t.Told.Length = maxTold
	case n < 0:
		t.tell(maxTold)
	default:
		t.tell(n)
	}
}

// toldExtreme is GREATEST and LEAST where they give texts of times: these have as
// many fraction digits as the argument that has the most.
func toldExtreme(args []Expr, t *Type) {
	if t.Class != String && t.Class != Bytes {
		return
	}
	digits, timed := 0, false
	for _, a := range args {
		x := a.Type()
		timed = timed || x.IsTemporal() && x.Class != Date
		if digits = max(digits, min(toldScale(x), 6)); notFixed(x) {
			digits = 6
		}
	}
	if !timed {
		return
	}
	for _, a := range args {
		if x := a.Type(); x.IsTemporal() && x.Class != Date {
			if x.Scale < digits && t.Told.Form == Fixed {
				t.Told.Form = Varying
			}
			x.Scale, x.Told.Length = digits, 0
			t.Told.Length = max(t.Told.Length, x.toldLength())
		}
	}
}
