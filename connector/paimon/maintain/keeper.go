package maintain

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// Owned reports whether a table is maintained without being asked for: one that
// we made, or that says so (DESIGN D13).
func Owned(options map[string]string) bool {
	on := func(k string) bool { return strings.EqualFold(strings.TrimSpace(options[k]), "true") }
	return on("thermocline.maintenance") && !on("write-only")
}

// Pace says how often a Keeper looks.
const (
	keeperPause = time.Minute
	// Where snapshots are kept for minutes only, it looks keeperShare times while one
	// is kept: what waits for the next look is little beside what must be there.
	keeperShare = 8
	// Where keeperMany snapshots went, many come: the next are looked for after
	// keeperSoon, so that what must go never is so much that it delays compactions.
	keeperMany = 50
	keeperSoon = 5 * time.Second
	// keeperLimit is how many snapshots go at once at most.
	keeperLimit = 20_000
)

// Keeper does what is due on one owned table now and then: automatic tags, expiry
// of snapshots, changelogs, tags and partitions, orphan cleaning. It is safe for
// concurrent use; one that comes while another works does nothing.
type Keeper struct {
	mu         sync.Mutex
	next       time.Time
	partitions time.Time
	orphans    time.Time
}

// pause is how long a Keeper of a table pauses.
func pause(options map[string]string) time.Duration {
	kept := spec.NewOptions(options).Duration("snapshot.time-retained", time.Hour)
	return min(keeperPause, max(keeperSoon, kept/keeperShare))
}

// Run does what is due, at most once a minute or as often as pause says, and less often
// when it takes long. It does nothing for tables that are not owned.
func (k *Keeper) Run(ctx context.Context, t *Table) error {
	if !Owned(t.cfg.Schema.Options) || !k.mu.TryLock() {
		return nil
	}
	defer k.mu.Unlock()
	now := t.cfg.Now()
	if now.Before(k.next) {
		return nil
	}
	started := time.Now()
	again := pause(t.cfg.Schema.Options)
	defer func() { k.next = now.Add(max(again, 10*time.Since(started))) }()
	if names, err := t.CreateAutoTags(ctx); err != nil {
		return err
	} else if len(names) > 0 {
		slog.Info("tags created", "table", t.cfg.Name, "tags", strings.Join(names, ", "))
	}
	if err := k.expirePartitions(ctx, t, now); err != nil {
		return err
	}
	n, err := t.ExpireBy(ctx, keeperLimit)
	if n >= keeperMany {
		again = keeperSoon
	}
	if n > 0 {
		slog.Debug("snapshots expired", "table", t.cfg.Name, "snapshots", n)
	}
	if err != nil {
		return err
	}
	return k.cleanOrphans(ctx, t, now)
}

func (k *Keeper) expirePartitions(ctx context.Context, t *Table, now time.Time) error {
	x, err := t.PartitionExpiry(nil)
	if err != nil || x.After <= 0 || now.Before(k.partitions) {
		return err
	}
	k.partitions = now.Add(x.Interval)
	names, err := t.ExpirePartitions(ctx, x)
	if len(names) > 0 {
		slog.Info("partitions expired", "table", t.cfg.Name, "partitions", strings.Join(names, "; "))
	}
	return err
}

// cleanOrphans cleans once a day, for the first time an hour after the start.
func (k *Keeper) cleanOrphans(ctx context.Context, t *Table, now time.Time) error {
	if k.orphans.IsZero() {
		k.orphans = now.Add(time.Hour)
	}
	if t.cfg.Branch != "" || now.Before(k.orphans) {
		return nil
	}
	k.orphans = now.Add(24 * time.Hour)
	o := spec.NewOptions(t.cfg.Schema.Options)
	age := max(o.Duration("thermocline.orphan-age", 7*24*time.Hour), OrphanAge)
	if o.Err != nil {
		return o.Err
	}
	found, err := t.Orphans(ctx, now.Add(-age), false)
	if found.Files > 0 {
		slog.Info("orphan files removed", "table", t.cfg.Name, "files", found.Files, "bytes", found.Bytes)
	}
	return err
}
