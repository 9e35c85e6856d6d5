package catalog

import (
	"context"
	"slices"
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

// NeedDatabase returns an error, with a similar name if there is one, when a
// catalog has no such database.
func NeedDatabase(ctx context.Context, c Catalog, name string) error {
	list, err := c.Databases(ctx)
	if err == nil && !slices.Contains(list, name) {
		err = errs.Userf(errs.UnknownDatabase, "Unknown database '%s'%s", name, Nearest(name, list))
	}
	return err
}

// MissingTable is the error for a table that a catalog does not have: of its
// database, when that is missing, else with a similar name if there is one.
func MissingTable(ctx context.Context, c Catalog, id Identifier) error {
	if err := NeedDatabase(ctx, c, id.Database); err != nil {
		return err
	}
	list, err := c.Tables(ctx, id.Database)
	if err != nil {
		return err
	}
	return errs.Userf(errs.UnknownTable, "Table '%s' doesn't exist%s", id, Nearest(id.Table, list))
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
