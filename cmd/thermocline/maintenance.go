package main

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/live"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/server/session"
)

// maxPin is how long a statement or transaction keeps expiry from the snapshots
// that it reads (DESIGN D19).
const maxPin = 6 * time.Hour

// unmaintained configures a warehouse that this process does not maintain:
// another may, which knows what it reads.
func unmaintained(compaction *memory.Budget) func(*paimon.Config) {
	return func(c *paimon.Config) { c.Maintained, c.CompactionBudget = true, compaction }
}

// pinned tells a warehouse's driver which snapshots sessions read. The sessions
// come later than the driver.
type pinned struct {
	sessions atomic.Pointer[session.Server]
	live     live.Registry // its views are based on snapshots too
}

// snapshots returns the snapshots of a table that are read now. It ends what has
// read for too long.
func (p *pinned) snapshots(table string) []int64 {
	out := p.live.Snapshots(table)
	s := p.sessions.Load()
	if s == nil {
		return out
	}
	for _, x := range s.Pins() {
		if x.Table != table {
			continue
		}
		if time.Since(x.Since) > maxPin {
			s.CancelPins(x.Session, errs.New(errs.Resource, errs.Timeout, "the snapshot %d was read for more than %s and expires now; shorten the statement or transaction, or tag the snapshot", x.Snapshot, maxPin))
			continue
		}
		out = append(out, x.Snapshot)
	}
	return out
}

// busy returns how many statements run now.
func (p *pinned) busy() int {
	if s := p.sessions.Load(); s != nil {
		return s.Running()
	}
	return 0
}

// newUpkeep makes the default maintenance of a warehouse's owned tables.
func newUpkeep(c catalog.Catalog, d *paimon.Driver, p *pinned, budget *memory.Budget) *paimon.Upkeep {
	return paimon.NewUpkeep(paimon.UpkeepConfig{Catalog: c, Driver: d, Budget: budget, Busy: p.busy})
}

// background shows Upkeeps in the process list.
func background(running func() []*paimon.Upkeep) func() []session.BackgroundTask {
	return func() (out []session.BackgroundTask) {
		for i, u := range running() {
			t := session.BackgroundTask{ID: math.MaxUint32 - uint32(i), Name: "maintenance", State: "Waiting for commits"}
			if a := u.Activity(); a.Table != "" {
				t.State, t.Info, t.Since = "Running", a.What+" of "+a.Table, a.Since
			}
			out = append(out, t)
		}
		return out
	}
}
