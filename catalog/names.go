package catalog

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// ValidName refuses names of databases and tables that would leave their
// directory or be hidden. what is "database" or "table".
func ValidName(what, name string) error {
	switch {
	case name == "", strings.TrimSpace(name) == "":
		return errs.Userf(errs.InvalidTable, "a %s needs a name", what)
	case strings.ContainsAny(name, "/\\\x00"), strings.HasPrefix(name, "."):
		return errs.Userf(errs.InvalidTable, "%q cannot be the name of a %s: it must not start with a dot or contain slashes", name, what)
	}
	return nil
}

// ValidNewTable refuses names that a table cannot be given.
func ValidNewTable(id Identifier) error {
	if id.Branch != "" || id.System != "" || strings.Contains(id.Table, "$") {
		return errs.Userf(errs.InvalidTable, "%s cannot be the name of a table: it contains $", id)
	}
	return ValidName("table", id.Table)
}

// Nearest returns "; did you mean 'x'?" for a name close to a wrong one, or "".
func Nearest(name string, known []string) string {
	best, at := 3, ""
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < best && d < len([]rune(name)) {
			best, at = d, k
		}
	}
	if at == "" {
		return ""
	}
	return "; did you mean '" + at + "'?"
}

// distance is the number of characters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
