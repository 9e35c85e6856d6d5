package paimon

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// UpkeepConfig is what an Upkeep needs.
type UpkeepConfig struct {
	// Catalog has the tables; those that are not owned are left alone.
	Catalog catalog.Catalog
	Driver  *Driver
	// Budget pays for compactions.
	Budget *memory.Budget
	// Busy returns how many statements run now: while there are any, upkeep pauses
	// between its steps. nil: none ever.
	Busy func() int
	// BytesPerSecond bounds what compactions read; 0 is 128 MiB.
	BytesPerSecond int64
	// Scan is how often all tables are looked for; 0 is a minute. Commits of this
	// process are noticed at once.
	Scan time.Duration
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

// Upkeep maintains the owned tables of a catalog while Run runs: it compacts,
// expires, tags and cleans (DESIGN D13). One bucket is compacted by one at a time
// in the process, whoever does it. A table is looked at soon after a commit, at
// first, and the more seldom the less there is to do: work never takes more than
// about a fifth of the time.
type Upkeep struct {
	cfg  UpkeepConfig
	wake chan struct{}

	rested time.Duration // of the work under way, of which this much was waiting

	mu     sync.Mutex
	tables map[string]*kept // by directory of metadata
	doing  Activity

	stats upkeepCounters
}

type upkeepCounters struct {
	runs, compactions, dropped, files, bytes, failures atomic.Int64
}

// UpkeepStats are what an Upkeep has done since it started.
type UpkeepStats struct {
	Tables      int // owned ones, known now
	Runs        int64
	Compactions int64 // buckets
	Dropped     int64 // compactions that others' commits made void
	Files       int64 // compacted
	Bytes       int64
	Failures    int64
}

// Activity is what an Upkeep does now. Table is empty while it rests.
type Activity struct {
	Table string
	What  string
	Since time.Time
}

// kept is what an Upkeep knows of a table.
type kept struct {
	id    catalog.Identifier
	dirty bool          // there may be something to compact
	due   time.Time     // not looked at before, unless commits come
	free  time.Time     // and not before this whatever comes
	gap   time.Duration // between two looks
	keep  time.Time     // when Keep is due
	seen  int64         // the newest snapshot looked at
	// commits were told since the last look; idle is how many looks in a row found
	// nothing.
	commits, idle int
	quiet         bool // a failure that was told
	gone          bool
}

const (
	upkeepMinGap = time.Second
	upkeepMaxGap = 2 * time.Minute
	// upkeepKeep is the pause between two looks at what has to expire.
	upkeepKeep = 5 * time.Second
	// upkeepKeepMost bounds it: what has to expire grows meanwhile, and so would the
	// next pause.
	upkeepKeepMost = 30 * time.Second
	// upkeepCommits commits bring a look at a table forward, twice as many after
	// each that found nothing, up to upkeepIdle times.
	upkeepCommits = 5
	upkeepIdle    = 6
	// upkeepLimit is how many buckets one commit of upkeep compacts at most.
	upkeepLimit = 4
	// upkeepYield bounds how long a step waits for statements to end. It waits no
	// longer once upkeepBehind commits wait for it: what they add makes every
	// statement dearer than the step would.
	upkeepYield  = 10 * time.Second
	upkeepBehind = 20
)

// NewUpkeep makes an Upkeep, which the driver tells of commits from now on.
func NewUpkeep(cfg UpkeepConfig) *Upkeep {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Scan <= 0 {
		cfg.Scan = time.Minute
	}
	if cfg.BytesPerSecond <= 0 {
		cfg.BytesPerSecond = 128 << 20
	}
	u := &Upkeep{cfg: cfg, wake: make(chan struct{}, 1), tables: map[string]*kept{}}
	cfg.Driver.upkeep.Store(u)
	return u
}

// notify says that a table of this process has a new snapshot.
func (u *Upkeep) notify(t *Table) {
	u.mu.Lock()
	k := u.know(t)
	k.commits++
	first := !k.dirty || k.commits == upkeepCommits<<k.idle
	k.dirty = true
	if k.commits >= upkeepCommits<<k.idle {
		k.due = k.free
	}
	u.mu.Unlock()
	if first {
		select {
		case u.wake <- struct{}{}:
		default:
		}
	}
}

// know returns what is known of a table. u.mu is held.
func (u *Upkeep) know(t *Table) *kept {
	k := u.tables[t.MetaDir()]
	if k == nil {
		now := u.cfg.Now()
		k = &kept{id: t.id, gap: upkeepMinGap, due: now.Add(upkeepMinGap), keep: now.Add(10 * time.Second)}
		u.tables[t.MetaDir()] = k
	}
	return k
}

// Run maintains until ctx ends. It returns when the step under way has ended.
func (u *Upkeep) Run(ctx context.Context) {
	scan := u.cfg.Now()
	for ctx.Err() == nil {
		if now := u.cfg.Now(); !now.Before(scan) {
			if err := u.scan(ctx); err != nil && ctx.Err() == nil {
				slog.Warn("look for tables to maintain", "error", err)
				u.stats.failures.Add(1)
			}
			scan = u.cfg.Now().Add(u.cfg.Scan)
		}
		dir, k, wait := u.next()
		if k == nil {
			u.rest(ctx, min(wait, max(scan.Sub(u.cfg.Now()), 0)))
			continue
		}
		u.work(ctx, dir, k)
	}
}

// rest waits, or until a table gets its first commit since it was looked at.
func (u *Upkeep) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(max(d, 10*time.Millisecond))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-u.wake:
	}
}

// next returns the table that is due, the one that waits longest, or how long
// none is.
func (u *Upkeep) next() (string, *kept, time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.cfg.Now()
	wait := u.cfg.Scan
	var dir string
	var best *kept
	for d, k := range u.tables {
		at := k.keep
		if k.dirty && k.due.Before(at) {
			at = k.due
		}
		if left := at.Sub(now); left > 0 {
			wait = min(wait, left)
		} else if best == nil || k.due.Before(best.due) {
			dir, best = d, k
		}
	}
	return dir, best, wait
}

// scan looks for owned tables and their branches, and for commits of others.
func (u *Upkeep) scan(ctx context.Context) error {
	databases, err := u.cfg.Catalog.Databases(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, db := range databases {
		names, err := u.cfg.Catalog.Tables(ctx, db)
		if errs.Is(err, errs.UnknownDatabase) {
			continue
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := u.look(ctx, catalog.Identifier{Database: db, Table: name}, there); err != nil {
				slog.Debug("look at a table to maintain", "table", db+"."+name, "error", err)
			}
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for dir, k := range u.tables {
		if !there[dir] && k.gone {
			delete(u.tables, dir)
		}
		k.gone = !there[dir]
	}
	return nil
}

// look notes a table and its branches, if they are owned.
func (u *Upkeep) look(ctx context.Context, id catalog.Identifier, there map[string]bool) error {
	x, err := u.cfg.Catalog.Table(ctx, id)
	if err != nil {
		return err
	}
	t, ok := x.(*Table)
	if !ok {
		return nil
	}
	branches, err := t.Maintain().Branches(ctx)
	if err != nil {
		return err
	}
	for _, b := range append([]string{""}, branches...) {
		if b != "" {
			bid := id
			bid.Branch = b
			if x, err = u.cfg.Catalog.Table(ctx, bid); err != nil {
				return err
			}
			t, _ = x.(*Table)
		}
		if t == nil || !t.Owned() {
			continue
		}
		there[t.MetaDir()] = true
		s, err := t.Maintain().Store().Latest(ctx)
		if err != nil {
			return err
		}
		u.mu.Lock()
		if k := u.know(t); s != nil && s.ID != k.seen {
			k.dirty, k.seen = true, s.ID
		}
		u.mu.Unlock()
	}
	return nil
}

// work does what is due for a table.
func (u *Upkeep) work(ctx context.Context, dir string, k *kept) {
	started := u.cfg.Now()
	u.mu.Lock()
	dirty, keep := k.dirty && !started.Before(k.due), !started.Before(k.keep)
	if dirty {
		k.dirty, k.commits = false, 0
	}
	u.mu.Unlock()
	defer u.step("", "")
	u.stats.runs.Add(1)
	u.rested = 0
	done, err := u.maintain(ctx, k, dirty, keep)
	took := max(u.cfg.Now().Sub(started)-u.rested, 0)
	u.mu.Lock()
	defer u.mu.Unlock()
	if errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.UnknownDatabase) {
		delete(u.tables, dir)
		return
	}
	switch {
	case !dirty:
	case done.Dropped > 0: // somebody else compacts this table: stand back
		k.gap, k.idle = max(k.gap, 30*time.Second), upkeepIdle
	case done.Buckets > 0: // there may be more
		k.gap, k.dirty, k.idle = upkeepMinGap, true, 0
	default:
		k.gap, k.idle = min(k.gap*2, upkeepMaxGap), min(k.idle+1, upkeepIdle)
	}
	now := u.cfg.Now()
	k.free = now.Add(4 * took)
	k.due = k.free
	if k.gap > 4*took {
		k.due = now.Add(k.gap)
	}
	if keep {
		k.keep = now.Add(max(upkeepKeep, min(5*took, upkeepKeepMost)))
	}
	if err == nil || ctx.Err() != nil {
		k.quiet = false
		return
	}
	u.stats.failures.Add(1)
	k.due, k.free = now.Add(upkeepMaxGap), now.Add(upkeepMaxGap)
	level := slog.LevelWarn
	if k.quiet && errs.ClassOf(err) == errs.Unsupported || errs.ClassOf(err) == errs.Conflict {
		level = slog.LevelDebug
	}
	k.quiet = true
	slog.Log(ctx, level, "maintenance of a table failed", "table", k.id.String(), "error", err)
}

// maintain compacts what is due and keeps the table.
func (u *Upkeep) maintain(ctx context.Context, k *kept, compact, keep bool) (done Compacted, err error) {
	x, err := u.cfg.Catalog.Table(ctx, k.id)
	if err != nil {
		return done, err
	}
	t, ok := x.(*Table)
	if !ok || !t.Owned() {
		return done, errs.Userf(errs.UnknownTable, "the table %s is not maintained any more", k.id)
	}
	compact = compact && t.Schema().Options[connector.CopyingOption] != "true"
	for compact && ctx.Err() == nil {
		u.yield(ctx, k)
		u.step(k.id.String(), "compaction")
		started := u.cfg.Now()
		one, err := t.Compact(ctx, write.CompactOptions{Limit: upkeepLimit}, u.cfg.Budget)
		done.add(one)
		u.stats.compactions.Add(int64(one.Buckets))
		u.stats.dropped.Add(int64(one.Dropped))
		u.stats.files.Add(one.Files)
		u.stats.bytes.Add(one.Bytes)
		if err != nil {
			if errs.ClassOf(err) != errs.Unsupported || !keep {
				return done, err
			}
			break
		}
		u.throttle(ctx, one.Bytes, u.cfg.Now().Sub(started))
		if one.Buckets < upkeepLimit {
			break
		}
	}
	if keep && ctx.Err() == nil {
		u.yield(ctx, k)
		u.step(k.id.String(), "expiry")
		err = t.Keep(ctx)
	}
	return done, err
}

// step notes what is being done.
func (u *Upkeep) step(table, what string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.doing = Activity{table, what, u.cfg.Now()}
}

// yield waits for running statements to end, for a bounded time.
func (u *Upkeep) yield(ctx context.Context, k *kept) {
	if u.cfg.Busy == nil {
		return
	}
	u.step("", "")
	behind := func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return k.commits >= upkeepBehind
	}
	for until := u.cfg.Now().Add(upkeepYield); u.cfg.Busy() > 0 && !behind() && u.cfg.Now().Before(until) && ctx.Err() == nil; {
		u.pause(ctx, 50*time.Millisecond)
	}
}

// throttle pauses so that compactions read no more than the bound.
func (u *Upkeep) throttle(ctx context.Context, bytes int64, took time.Duration) {
	u.pause(ctx, time.Duration(float64(bytes)/float64(u.cfg.BytesPerSecond)*float64(time.Second))-took)
}

func (u *Upkeep) pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	began := u.cfg.Now()
	defer func() { u.rested += u.cfg.Now().Sub(began) }()
	t := time.NewTimer(min(d, 10*time.Second))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Activity returns what is being done now.
func (u *Upkeep) Activity() Activity {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.doing
}

// Stats returns the counters.
func (u *Upkeep) Stats() UpkeepStats {
	u.mu.Lock()
	n := len(u.tables)
	u.mu.Unlock()
	c := &u.stats
	return UpkeepStats{Tables: n, Runs: c.runs.Load(), Compactions: c.compactions.Load(), Dropped: c.dropped.Load(), Files: c.files.Load(), Bytes: c.bytes.Load(), Failures: c.failures.Load()}
}

// Tables returns the names of the tables that are maintained, sorted.
func (u *Upkeep) Tables() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []string
	for _, k := range u.tables {
		out = append(out, k.id.String())
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
