package exec

import (
	"context"
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/server/exec/spill"
)

// grower is an operator whose memory grows with its rows: its budget, and the
// rule by which it spills.
//
// Every grower may always hold its fair share: a quarter of the memory that is
// sure for the query, divided by the growers. Above it, a grower holds what it
// likes while the query as a whole holds less than half of its memory; the rest is
// for what does not spill (batches on their way, readers) and for the moments in
// which a table is copied to grow. So one big operator gets half of the memory, and
// many of them do not starve each other. When other queries need the memory that
// this one could borrow, half of what is sure takes the place of half of all.
type grower struct {
	x      *query
	name   string // for errors, as in "hash join"
	budget *memory.Budget
	// blocked is why it must not spill, "" when it may.
	blocked string
	spilled atomic.Int64 // bytes written
}

// grower makes a grower; it is called while the plan is compiled, so that the
// share is known when the first one starts.
func (x *query) grower(name string) *grower {
	x.grow.Add(1)
	return &grower{x: x, name: name, budget: x.budget.Child(name, 0)}
}

// queryLimit returns the bytes that a query may hold, 0 when nothing limits it.
// One query takes at most half of what all of them have (DESIGN D18).
func queryLimit(env Env) int64 {
	n, half := env.Options.Memory, env.Budget.Limit()/2
	if half > 0 && (n <= 0 || half < n) {
		n = half
	}
	return max(n, 0)
}

// spilling lets the query spill, when it may.
func (x *query) spilling() {
	if x.env.Spill != nil && !x.env.Options.NoSpill {
		x.disk = spill.NewScope(x.env.Spill)
	}
}

// spills reports whether the operator may spill.
func (g *grower) spills() bool { return g.x.disk != nil && g.blocked == "" }

// least is a share below which spilling makes no sense.
const least = 64 << 10

// forced reports whether everything is to be spilled.
func (g *grower) forced() bool { return g.x.env.Options.ForceSpill && g.spills() }

// little reports whether n bytes are too few to be worth writing.
func (g *grower) little(n int64) bool { return !g.forced() && n < g.target()/4 }

// share is what the operator may hold in any case.
func (g *grower) share() int64 {
	if g.x.limit == 0 {
		return 1 << 62
	}
	return max(g.x.sure()/4/max(g.x.grow.Load(), 1), least)
}

// target is the memory that one of the operator's workers should fill before it
// writes, or load at once when it reads back.
func (g *grower) target() int64 {
	return max(g.share()/int64(g.x.env.Options.Workers()), least/2)
}

// full reports whether the operator shall spill when it holds n bytes more.
func (g *grower) full(n int64) bool {
	if g.forced() {
		return n > 0
	}
	if !g.spills() || g.x.limit == 0 || g.budget.Used()+n <= g.share() {
		return false
	}
	used := g.x.budget.Used() + n
	if used > g.x.limit/2 {
		return true
	}
	// The last that there is to borrow is for what cannot spill.
	return used > g.x.sure()/2 && g.x.env.Budget.Room() < n+g.x.limit/8
}

// sure is the memory that the query can rely on.
func (x *query) sure() int64 {
	if s := x.env.Sure; s > 0 && s < x.limit {
		return s
	}
	return x.limit
}

// account returns an account that the operator's budget pays.
func (g *grower) account() account { return account{pays: g.budget} }

// hold makes a's reservation cover n bytes. spill is true when the operator is
// to spill instead; then nothing was reserved.
func (g *grower) hold(a *account, n int64) (spill bool, err error) {
	if g.full(n - a.held) {
		return true, nil
	}
	if err = a.hold(n); err != nil && g.spills() && errs.Is(err, errs.MemoryLimit) {
		return true, nil
	}
	return false, g.failed(err)
}

// failed names the operator in an error about memory.
func (g *grower) failed(err error) error {
	if err == nil || !errs.Is(err, errs.MemoryLimit) {
		return err
	}
	why := ""
	switch {
	case g.blocked != "":
		why = " (" + g.blocked + ")"
	case g.x.disk == nil:
		why = " (spilling is off)"
	}
	return errs.New(errs.ClassOf(err), errs.KindOf(err), "%s%s: %w", g.name, why, err)
}

// create starts a spill file.
func (g *grower) create(ctx context.Context) (*spill.Writer, error) {
	return g.x.disk.Create(ctx)
}
