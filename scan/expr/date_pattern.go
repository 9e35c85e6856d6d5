package expr

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// javaLetters are the letters of Java's date patterns, which Flink's DATE_FORMAT
// takes, as MySQL's.
var javaLetters = map[string]string{"yyyy": "%Y", "yy": "%y", "MM": "%m", "M": "%c", "dd": "%d", "d": "%e", "HH": "%H", "H": "%k", "hh": "%h", "h": "%l",
	"mm": "%i", "ss": "%s", "SSSSSS": "%f", "a": "%p", "DDD": "%j", "EEE": "%a", "EEEE": "%W", "MMM": "%b", "MMMM": "%M"}

// javaPattern reads a constant format as a pattern of Java's, when it is one: it
// has no % but a year of four letters, as in 'yyyy-MM-dd'. As a format of
// MySQL's it would give these very letters for every date.
func javaPattern(format Expr) (Expr, error) {
	l, ok := format.(*LiteralExpr)
	if !ok || l.Val.IsNull() || l.Val.Vec.Kind != vector.Str {
		return format, nil
	}
	p := l.Val.Vec.String(0)
	if strings.Contains(p, "%") || !strings.Contains(p, "yyyy") {
		return format, nil
	}
	var sb strings.Builder
	for i := 0; i < len(p); {
		c := p[i]
		n := 1
		switch {
		case c == '\'':
			end := strings.IndexByte(p[i+1:], '\'')
			if end < 0 {
				return nil, errs.Userf(errs.WrongArguments, "the pattern '%s' of DATE_FORMAT has a quote that does not end", p)
			}
			if end == 0 {
				sb.WriteByte('\'')
			}
			sb.WriteString(p[i+1 : i+1+end])
			n = end + 2
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			for i+n < len(p) && p[i+n] == c {
				n++
			}
			m, ok := javaLetters[p[i:i+n]]
			if !ok {
				return nil, errs.Unsupportedf(-1, "'%s' in the pattern '%s' of DATE_FORMAT; MySQL's letters are %%Y-%%m-%%d %%H:%%i:%%s.%%f", p[i:i+n], p)
			}
			sb.WriteString(m)
		default:
			sb.WriteByte(c)
		}
		i += n
	}
	return Literal(StringValue(sb.String(), l.Val.Type.Collation)), nil
}
