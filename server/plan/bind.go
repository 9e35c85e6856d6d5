package plan

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// Bind resolves, types and optimizes a query without executing it. Errors carry
// MySQL's kinds (errs.UnknownColumn, NotInGroupBy, …) and a position.
func Bind(ctx context.Context, q *syntax.Query, env *Env) (*Query, error) {
	return nil, errs.Unsupportedf(q.Pos(), "queries")
}

// Insert is a bound INSERT.
type Insert struct {
	Catalog string
	Table   connector.Writable
	Schema  *catalog.Schema
	// Source gives the rows, a column for each of the schema's.
	Source *Query
	// Overwrite replaces what the table holds.
	Overwrite bool
	// Ignore turns errors of values into warnings.
	Ignore bool
}

// BindInsert binds INSERT … VALUES and INSERT … SELECT.
func BindInsert(ctx context.Context, s *syntax.Insert, env *Env) (*Insert, error) {
	return nil, errs.Unsupportedf(s.Pos(), "INSERT")
}
