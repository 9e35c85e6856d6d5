package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/lease"
	"github.com/thermocline/thermocline/internal/memory"
)

// caretakers maintain the owned tables of the catalogs that statements made, as
// serve does those of its own warehouse (DESIGN D13). A warehouse without an
// owned table gets no lease: nothing is written into somebody else's.
type caretakers struct {
	run     context.Context // ends them all
	wait    *sync.WaitGroup
	dataDir string
	pins    *pinned
	budget  *memory.Budget
	pause   time.Duration // between two looks for owned tables; 0 is a minute

	mu      sync.Mutex
	held    map[string]bool // warehouses that this process maintains, its own too
	upkeeps []*paimon.Upkeep
	past    paimon.UpkeepStats // of those that ended
}

// cared is what is maintained.
type cared struct {
	catalog catalog.Catalog
	driver  *paimon.Driver
	files   fileio.FileIO
	path    string
}

// start maintains a catalog, in a lease of its own under the catalog's name, until stop is called, which waits for the step under
// way.
func (c *caretakers) start(name string, x cared) (stop func()) {
	ctx, cancel := context.WithCancel(c.run)
	done := make(chan struct{})
	c.wait.Go(func() {
		defer close(done)
		c.care(ctx, name, x)
	})
	return func() {
		cancel()
		<-done
	}
}

func (c *caretakers) care(ctx context.Context, name string, x cared) {
	pause := c.pause
	if pause == 0 {
		pause = time.Minute
	}
	told := false
	for wait := pause / 12; ; wait = pause {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if !ownsAny(ctx, x.catalog) || !c.hold(x.path) {
			continue
		}
		l, err := lease.Acquire(ctx, lease.Options{Files: x.files, Warehouse: x.path, DataDir: c.dataDir + "/catalogs/" + name})
		if err != nil {
			c.release(x.path)
			if !told && ctx.Err() == nil {
				slog.Warn("catalog "+name+" is not maintained", "because", err)
				told = true
			}
			continue
		}
		told = false
		c.maintain(ctx, x, l)
		stop, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if err := l.Release(stop); err != nil {
			slog.Warn("release the lease of catalog "+name, "error", err)
		}
		done()
		c.release(x.path)
	}
}

// maintain runs an Upkeep as long as the lease is held.
func (c *caretakers) maintain(ctx context.Context, x cared, l *lease.Lease) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		select {
		case <-ctx.Done():
		case <-l.Lost():
			cancel()
		}
	})
	defer cancel() // before the wait
	u := newUpkeep(x.catalog, x.driver, c.pins, c.budget)
	c.mu.Lock()
	c.upkeeps = append(c.upkeeps, u)
	c.mu.Unlock()
	u.Run(ctx)
	c.mu.Lock()
	c.upkeeps = slices.DeleteFunc(c.upkeeps, func(o *paimon.Upkeep) bool { return o == u })
	past := u.Stats()
	past.Tables = 0
	c.past = add(c.past, past)
	c.mu.Unlock()
}

// hold takes a warehouse for one caretaker; a process has one lease a warehouse.
func (c *caretakers) hold(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[path] {
		return false
	}
	c.held[path] = true
	return true
}

func (c *caretakers) release(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, path)
}

// running returns the Upkeeps that run now.
func (c *caretakers) running() []*paimon.Upkeep {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.upkeeps)
}

// stats are what all caretakers have done, those that ended too.
func (c *caretakers) stats() paimon.UpkeepStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.past
	for _, u := range c.upkeeps {
		sum = add(sum, u.Stats())
	}
	return sum
}

func add(a, b paimon.UpkeepStats) paimon.UpkeepStats {
	return paimon.UpkeepStats{Tables: a.Tables + b.Tables, Runs: a.Runs + b.Runs, Compactions: a.Compactions + b.Compactions, Dropped: a.Dropped + b.Dropped,
		Files: a.Files + b.Files, Bytes: a.Bytes + b.Bytes, Failures: a.Failures + b.Failures}
}

// ownsAny reports whether a catalog has a table to maintain.
func ownsAny(ctx context.Context, c catalog.Catalog) bool {
	dbs, err := c.Databases(ctx)
	if err != nil {
		return false
	}
	for _, db := range dbs {
		names, err := c.Tables(ctx, db)
		if err != nil {
			continue
		}
		for _, n := range names {
			t, err := c.Table(ctx, catalog.Identifier{Database: db, Table: n})
			if err != nil {
				if ctx.Err() != nil {
					return false
				}
				if !errs.Is(err, errs.UnknownTable) {
					slog.Debug("look at a table to maintain", "table", db+"."+n, "error", err)
				}
				continue
			}
			if p, ok := t.(*paimon.Table); ok && p.Owned() {
				return true
			}
		}
	}
	return false
}
