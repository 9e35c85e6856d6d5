// Package exec runs plans: vectorized operators that pull batches.
//
// A plan becomes pipelines. A pipeline is a source of independent ranges (of a
// table's splits) and the operators above it that keep no state across rows:
// filter, project, the probing side of joins. Workers take ranges in order and
// run the whole pipeline on each; what ends a pipeline (aggregation, sorting,
// the build side of a join, the client) combines what the ranges gave in the
// order of the ranges.
//
// Invariants. The rows of a query, and their order, do not depend on the number
// of workers or the size of batches; only where operators spill, rows come in
// another order, unless an ORDER BY says which. Memory that grows with data is reserved
// from the query's budget first; an operator that may hold no more spills
// (see grower). Every goroutine has ended when Close of the
// reader that Run returned has; Close may be called at any time, more than once.
//
// Start reading at Run, then compiler and pipe.
package exec

import (
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/scan/expr"
)

// Env is what a plan runs in.
type Env struct {
	// Expr is the Context that the plan was bound with.
	Expr *expr.Context
	// Options are the session's switches.
	Options scan.Options
	// Budget is the budget of all queries; the query takes a child of it.
	Budget *memory.Budget
	// Sure is how much of Budget is set aside for this query; 0: others have no
	// less right to it.
	Sure int64
	// Spill is where operators put rows that do not fit their memory; nil: nowhere.
	Spill *fileio.Scratch
	// Meter, when set, counts what is read.
	Meter *Meter
	// Profile, when set, collects what the operators do; see Analyze.
	Profile *Profile
	// Progress, when set, is told now and then how many rows a statement that
	// changes rows has gone through.
	Progress func(rows uint64)
}
