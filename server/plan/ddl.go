package plan

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
)

// Define runs CREATE and DROP of databases and tables. It returns the number of
// rows that MySQL's OK packet tells, and false when stmt is none of these.
func Define(ctx context.Context, stmt syntax.Statement, env *Env) (affected uint64, handled bool, err error) {
	switch stmt.(type) {
	case *syntax.CreateDatabase, *syntax.DropDatabase, *syntax.CreateTable, *syntax.DropTable:
		return 0, true, errs.Unsupportedf(stmt.Pos(), "this statement")
	}
	return 0, false, nil
}
