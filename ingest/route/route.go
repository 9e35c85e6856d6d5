package route

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
)

// Routes map source tables to lake tables.
type Routes struct {
	rules      []rule
	firstMatch bool
}

type rule struct {
	pipeline.Route
	re *regexp.Regexp
}

// ParseRoutes reads the rules of a pipeline.
func ParseRoutes(list []pipeline.Route, firstMatch bool) (*Routes, error) {
	r := &Routes{firstMatch: firstMatch}
	for _, x := range list {
		bad := func(format string, args ...any) error {
			return errs.Userf(errs.InvalidConfig, "line %d: route %s: "+format, append([]any{x.Line, x.SourceTable}, args...)...)
		}
		if classWithBar(x.SourceTable) {
			return nil, bad("the pattern has a | in a character class, which matches single characters; write (a|b)")
		}
		var alternatives []string
		for _, a := range strings.Split(x.SourceTable, ",") {
			a = strings.TrimSpace(a)
			if unbalanced(a) {
				return nil, bad("the pattern is cut by a comma (a quantifier such as {1,3} cannot be written in a list) or has an open bracket")
			}
			alternatives = append(alternatives, swapDots(a))
		}
		re, err := regexp.Compile(`(?s)\A(?:` + strings.Join(alternatives, "|") + `)\z`)
		if err != nil {
			return nil, bad(`the pattern is no regular expression (a bare dot is a dot, \. is "any character")`)
		}
		r.rules = append(r.rules, rule{x, re})
	}
	return r, nil
}

// swapDots turns a bare dot into a literal one and `\.` into any character.
func swapDots(s string) string {
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '.':
			sb.WriteByte('.')
			i++
		case s[i] == '\\' && i+1 < len(s):
			sb.WriteString(s[i : i+2])
			i++
		case s[i] == '.':
			sb.WriteString(`\.`)
		default:
			sb.WriteByte(s[i])
		}
	}
	return sb.String()
}

// Target is a lake table and the source tables that feed it.
type Target struct {
	ID      catalog.Identifier
	Sources []source.ID
	// ShardKey is the column that tells the source table, "" for none.
	ShardKey string
}

// Resolve maps every table. A table that no rule matches keeps its own name;
// all matching rules apply, or the first (FIRST_MATCH). A rule that has no
// effect is an error. Targets come sorted.
func (r *Routes) Resolve(tables []source.ID) ([]Target, error) {
	used := make([]bool, len(r.rules))
	matched := make([]bool, len(r.rules))
	targets := map[catalog.Identifier][]source.ID{}
	shard := map[catalog.Identifier]string{}
	for _, id := range tables {
		any := false
		for i, x := range r.rules {
			m := x.re.FindStringSubmatch(id.String())
			if m == nil {
				continue
			}
			matched[i] = true
			if any && r.firstMatch {
				continue
			}
			any, used[i] = true, true
			to, err := x.target(id, m)
			if err != nil {
				return nil, err
			}
			if was, ok := shard[to]; ok && was != x.ShardKey {
				return nil, errs.Userf(errs.InvalidConfig, "line %d: route %s: an earlier rule to %s has another shard-key; give both the same", x.Line, x.SourceTable, to)
			}
			shard[to] = x.ShardKey
			if !slices.Contains(targets[to], id) {
				targets[to] = append(targets[to], id)
			}
		}
		if !any {
			to := catalog.Identifier{Database: id.Database, Table: id.Name}
			targets[to] = append(targets[to], id)
		}
	}
	for i, x := range r.rules {
		switch {
		case !matched[i]:
			return nil, errs.Userf(errs.InvalidConfig, "line %d: route %s: it matches no captured table (letters are matched by case; a bare dot is a dot)", x.Line, x.SourceTable)
		case !used[i]:
			return nil, errs.Userf(errs.InvalidConfig, "line %d: route %s: an earlier rule takes all its tables (route-mode: FIRST_MATCH)", x.Line, x.SourceTable)
		}
	}
	out := make([]Target, 0, len(targets))
	for id, src := range targets {
		slices.SortFunc(src, func(a, b source.ID) int { return strings.Compare(a.String(), b.String()) })
		out = append(out, Target{id, src, shard[id]})
	}
	slices.SortFunc(out, func(a, b Target) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	return out, nil
}

// target names the lake table of a source table that the rule matched.
func (x rule) target(id source.ID, m []string) (catalog.Identifier, error) {
	var name string
	if x.ReplaceSymbol != "" {
		name = strings.ReplaceAll(x.SinkTable, x.ReplaceSymbol, id.Name)
	} else {
		var ok bool
		if name, ok = expand(x.SinkTable, m); !ok {
			return catalog.Identifier{}, errs.Userf(errs.InvalidConfig, "line %d: route %s: sink-table %s names a group that the pattern does not have", x.Line, x.SourceTable, x.SinkTable)
		}
	}
	db, table, ok := strings.Cut(name, ".")
	if !ok || db == "" || table == "" || strings.ContainsAny(table, "./$") || strings.ContainsAny(db, "/$") {
		return catalog.Identifier{}, errs.Userf(errs.InvalidConfig, "line %d: route %s: %q is no lake table; write sink-table as database.table", x.Line, x.SourceTable, name)
	}
	return catalog.Identifier{Database: db, Table: table}, nil
}

// expand replaces $0 … $n by the groups, as many digits as name a group.
func expand(s string, groups []string) (string, bool) {
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			sb.WriteByte(s[i])
		case s[i] == '$':
			end := i + 1
			group := -1
			for end < len(s) && s[end] >= '0' && s[end] <= '9' {
				n, err := strconv.Atoi(s[i+1 : end+1])
				if err != nil || n >= len(groups) {
					break
				}
				group = n
				end++
			}
			if group < 0 {
				return "", false
			}
			sb.WriteString(groups[group])
			i = end - 1
		default:
			sb.WriteByte(s[i])
		}
	}
	return sb.String(), true
}
