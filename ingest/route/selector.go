// Package route decides which source tables a pipeline captures and which lake
// tables they go to: Flink CDC's two pattern dialects, with its traps turned
// into errors.
//
// Selectors (tables, tables.exclude, partition.key): a comma list; a bare dot
// separates database and table; `\.` is the regular expression "any character";
// each part must match fully, letters of any case.
//
// Routes (source-table): a comma list; a bare dot is a dot; `\.` is "any
// character"; the whole id must match, case-sensitively.
//
// Start reading at ParseSelectors and ParseRoutes.
package route

import (
	"regexp"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// Selectors are the patterns of one list.
type Selectors []Selector

// Selector is one pattern of a list.
type Selector struct {
	Text            string
	database, table *regexp.Regexp
}

// ParseSelectors reads a list such as `sales.\.*, crm.customers`. what names the
// key for messages.
func ParseSelectors(what, list string) (Selectors, error) {
	var out Selectors
	for _, text := range splitComma(list) {
		s, err := parseSelector(what, text)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errs.Userf(errs.InvalidConfig, "read %s: the list is empty", what)
	}
	return out, nil
}

// splitComma splits at commas but those written `\,`, and trims.
func splitComma(list string) (out []string) {
	var sb strings.Builder
	flush := func() {
		if s := strings.TrimSpace(sb.String()); s != "" {
			out = append(out, s)
		}
		sb.Reset()
	}
	for i := 0; i < len(list); i++ {
		switch {
		case list[i] == '\\' && i+1 < len(list) && list[i+1] == ',':
			sb.WriteByte(',')
			i++
		case list[i] == ',':
			flush()
		default:
			sb.WriteByte(list[i])
		}
	}
	flush()
	return out
}

func parseSelector(what, text string) (Selector, error) {
	s := Selector{Text: text}
	bad := func(format string, args ...any) (Selector, error) {
		return s, errs.Userf(errs.InvalidConfig, "read %s: the pattern %s "+format, append([]any{what, text}, args...)...)
	}
	if unbalanced(text) {
		return bad("is cut by a comma (a quantifier such as {1,3} cannot be written in a list) or has an open bracket")
	}
	if classWithBar(text) {
		return bad("has a | in a character class, which matches single characters; write (a|b)")
	}
	parts := splitDot(text)
	if len(parts) != 2 {
		return bad(`has %d part(s), a table has two: write database.table, with a bare dot between them; all tables of a database are db.\.*%s`, len(parts), corrected(text))
	}
	for i, p := range parts {
		if p == "" {
			return bad("has an empty part; write database.table")
		}
		re, err := regexp.Compile(`(?is)\A(?:` + p + `)\z`)
		if err != nil {
			return bad(`is no regular expression: all tables of a database are written db.\.*  (a bare dot separates, \. is "any character")%s`, corrected(text))
		}
		if i == 0 {
			s.database = re
		} else {
			s.table = re
		}
	}
	return s, nil
}

// corrected is the pattern that was probably meant by one in which the meaning of
// bare and escaped dots is turned around, as in usual regular expressions: the
// end of a message, "" when that is no pattern either.
func corrected(text string) string {
	database, table, ok := strings.Cut(text, `\.`)
	if !ok {
		if database, ok = strings.CutSuffix(text, ".*"); !ok || strings.Contains(database, ".") {
			return ""
		}
		table = ".*"
	}
	table = swapDots(table)
	meant := database + "." + table
	if s, err := parseSelector("", meant); err != nil || s.Text == text {
		return ""
	}
	return "; write " + meant
}

// splitDot splits at bare dots and turns `\.` into ".".
func splitDot(text string) (out []string) {
	var sb strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			if text[i+1] != '.' {
				sb.WriteByte('\\')
			}
			sb.WriteByte(text[i+1])
			i++
		case text[i] == '.':
			out = append(out, sb.String())
			sb.Reset()
		default:
			sb.WriteByte(text[i])
		}
	}
	return append(out, sb.String())
}

// unbalanced reports an open bracket, parenthesis or brace.
func unbalanced(s string) bool {
	var open []byte
	class := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(' || c == '{':
			open = append(open, c)
		case c == ')' || c == '}':
			want := byte('(')
			if c == '}' {
				want = '{'
			}
			if len(open) == 0 || open[len(open)-1] != want {
				return true
			}
			open = open[:len(open)-1]
		}
	}
	return class || len(open) > 0
}

func classWithBar(s string) bool {
	class := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[':
			class = true
		case s[i] == ']':
			class = false
		case s[i] == '|' && class:
			return true
		}
	}
	return false
}

// Match reports whether the pattern matches the table.
func (s Selector) Match(id source.ID) bool {
	return s.database.MatchString(id.Database) && s.table.MatchString(id.Name)
}

// Match reports whether any pattern matches the table.
func (s Selectors) Match(id source.ID) bool {
	return slices.ContainsFunc(s, func(x Selector) bool { return x.Match(id) })
}

// Resolve returns the tables that include matches and exclude does not, sorted.
// A pattern of include that matches none of all is an error.
func Resolve(all []source.ID, include, exclude Selectors) ([]source.ID, error) {
	var out []source.ID
	for _, id := range all {
		if include.Match(id) && !exclude.Match(id) {
			out = append(out, id)
		}
	}
	for _, s := range include {
		if !slices.ContainsFunc(all, s.Match) {
			return nil, errs.Userf(errs.UnknownTable, "resolve tables: the pattern %s matches no table that the account sees; %s", s.Text, hint(s.Text, all))
		}
	}
	if len(out) == 0 {
		return nil, errs.Userf(errs.UnknownTable, "resolve tables: tables.exclude leaves no table")
	}
	slices.SortFunc(out, func(a, b source.ID) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

// hint says what may be meant by a pattern without a match.
func hint(text string, all []source.ID) string {
	if len(all) == 0 {
		return "it sees none: grant SELECT on them"
	}
	names := make([]string, len(all))
	for i, id := range all {
		names[i] = id.String()
	}
	if strings.ContainsAny(text, "*+?[(|") {
		return `its tables begin with ` + names[0] + ` (for "any text" write \.*)`
	}
	return "the nearest is " + strings.TrimPrefix(source.Nearest(text, names), "the nearest known key is ")
}
