package commit

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// expiryOptions say which snapshots may go.
type expiryOptions struct {
	enabled  bool
	min, max int64
	retained time.Duration
}

const (
	// expiryPause is the least time between two looks for old snapshots; a look
	// that took long is followed by a longer pause.
	expiryPause = time.Minute
	// expiryLimit is how many snapshots go at once.
	expiryLimit = 500
)

// readExpiryOptions reads the options of snapshot expiry. It is on only where
// tables are maintained by us (DESIGN D13).
func readExpiryOptions(o *spec.Options) expiryOptions {
	return expiryOptions{
		enabled:  o.Bool("thermocline.maintenance", false) && !o.Bool("write-only", false),
		min:      max(o.Int("snapshot.num-retained.min", 10), 1),
		max:      max(o.Int("snapshot.num-retained.max", 1<<31-1), 1),
		retained: o.Duration("snapshot.time-retained", time.Hour),
	}
}

// expireSometimes removes old snapshots after a commit, now and then. Failure
// only delays it.
func (c *Committer) expireSometimes(ctx context.Context) {
	now := c.cfg.Now()
	if !c.expiry.enabled || now.Before(c.nextExpiry) {
		return
	}
	n, err := c.Expire(ctx)
	took := c.cfg.Now().Sub(now)
	c.nextExpiry = now.Add(max(expiryPause, 50*took))
	if err != nil {
		slog.Info("snapshots are not expired", "table", c.cfg.Paths.Root(), "error", err)
	} else if n > 0 {
		slog.Debug("snapshots expired", "table", c.cfg.Paths.Root(), "snapshots", n)
	}
}

// Expire removes the snapshots that the table's snapshot.* options do not keep,
// with the files that only they refer to, and returns how many. It never removes
// the newest own snapshot, nor the newest of another pipeline: they hold source
// positions. Tables with branches are left alone.
//
// Snapshots go before their files, so that a crash leaves files that nobody
// refers to, and never a snapshot without its files.
func (c *Committer) Expire(ctx context.Context) (int, error) {
	first, end, err := c.expirable(ctx)
	if err != nil || first >= end {
		return 0, err
	}
	d := &deletion{c: c, data: map[string][]string{}, meta: map[string]bool{}}
	if err := d.collect(ctx, first, end); err != nil {
		return 0, err
	}
	for id := first; id < end; id++ {
		if err := c.store.Files.Remove(ctx, c.cfg.Paths.Snapshot(id)); err != nil {
			return int(id - first), err
		}
	}
	if err := c.store.Files.WriteFile(ctx, c.cfg.Paths.Earliest(), []byte(strconv.FormatInt(end, 10))); err != nil {
		slog.Debug("write the EARLIEST hint", "table", c.cfg.Paths.Root(), "error", err)
	}
	for _, path := range d.paths() {
		if err := c.store.Files.Remove(ctx, path); err != nil {
			return int(end - first), err
		}
	}
	return int(end - first), nil
}

// expirable returns the snapshots [first, end) that may go.
func (c *Committer) expirable(ctx context.Context) (first, end int64, err error) {
	if !c.cfg.Paths.Main() {
		return 0, 0, nil
	}
	branches, err := c.store.Files.List(ctx, c.cfg.Paths.BranchDir())
	if err != nil || len(branches) > 0 {
		return 0, 0, err
	}
	ids, err := c.store.SnapshotIDs(ctx)
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	first, last := ids[0], ids[len(ids)-1]
	latest, err := c.store.Snapshot(ctx, last)
	if err != nil {
		return 0, 0, err
	}
	bound := min(last-c.expiry.min+1, first+expiryLimit)
	own, err := c.newestOwn(ctx, latest)
	if err != nil {
		return 0, 0, err
	}
	if own != nil {
		bound = min(bound, own.ID)
	}
	consumer, err := c.consumers(ctx)
	if err != nil {
		return 0, 0, err
	}
	bound = min(bound, consumer)
	old := c.cfg.Now().Add(-c.expiry.retained).UnixMilli()
	newest := map[string]int64{} // of other pipelines, as far as it was looked for
	for end = first; end < bound; end++ {
		s, err := c.store.Snapshot(ctx, end)
		if err != nil {
			return 0, 0, err
		}
		next, err := c.store.Snapshot(ctx, end+1)
		if err != nil {
			return 0, 0, err
		}
		if end > last-c.expiry.max && next.TimeMillis >= old {
			break
		}
		if s.ChangelogManifestList != "" {
			break // its change log is not ours to remove
		}
		if u := s.CommitUser; u != c.cfg.User && s.Properties[EpochProperty] != "" && newest[u] <= end {
			newer, err := c.walk(ctx, latest, end, func(s *spec.Snapshot) bool { return s.CommitUser == u })
			if err != nil {
				return 0, 0, err
			}
			if newer == nil {
				break // another pipeline's position
			}
			newest[u] = newer.ID
		}
	}
	return first, end, nil
}

// consumers returns the oldest snapshot that a registered consumer still needs.
func (c *Committer) consumers(ctx context.Context) (int64, error) {
	oldest := int64(1<<63 - 1)
	list, err := c.store.Files.List(ctx, c.cfg.Paths.ConsumerDir())
	if err != nil {
		return 0, err
	}
	for _, in := range list {
		if !strings.HasPrefix(in.Name, "consumer-") {
			continue
		}
		b, err := c.store.Files.ReadFile(ctx, c.cfg.Paths.ConsumerDir()+"/"+in.Name)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		var v struct{ NextSnapshot int64 }
		if err == nil {
			err = json.Unmarshal(b, &v)
		}
		if err != nil {
			return 0, err
		}
		oldest = min(oldest, v.NextSnapshot)
	}
	return oldest, nil
}

// deletion is what goes with some snapshots.
type deletion struct {
	c    *Committer
	data map[string][]string // by name of the data file: the paths of it and of files beside it
	meta map[string]bool     // names of manifests and manifest lists
}

// collect finds the files that snapshots [first, end) refer to and nobody else.
func (d *deletion) collect(ctx context.Context, first, end int64) error {
	store := d.c.store
	for id := first; id <= end; id++ {
		s, err := store.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		if id > first { // what it deleted, only older ones have
			if err := d.deleted(ctx, s); err != nil {
				return err
			}
		}
		if id == end {
			break
		}
		metas, err := store.Manifests(ctx, s)
		if err != nil {
			return err
		}
		d.meta[s.BaseManifestList], d.meta[s.DeltaManifestList] = true, true
		for _, m := range metas {
			d.meta[m.FileName] = true
		}
	}
	return d.keepUsed(ctx, end)
}

// deleted adds the files that a snapshot deleted. A file that it adds again, at
// another level, stays.
func (d *deletion) deleted(ctx context.Context, s *spec.Snapshot) error {
	metas, err := d.c.store.ManifestList(ctx, s.DeltaManifestList)
	if err != nil {
		return err
	}
	gone := map[spec.FileID]spec.ManifestEntry{}
	again := map[string]bool{}
	for _, m := range metas {
		err := d.c.store.Manifest(ctx, m.FileName, func(e *spec.ManifestEntry) error {
			if e.Kind == spec.FileAdd {
				again[e.File.FileName] = true
			} else {
				gone[e.ID()] = *e
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, e := range gone {
		if again[e.File.FileName] || e.File.ExternalPath.OK {
			continue
		}
		path, err := d.c.cfg.Paths.DataFile(&e)
		if err != nil {
			return err
		}
		beside, err := d.c.cfg.Paths.ExtraFiles(&e)
		if err != nil {
			return err
		}
		d.data[e.File.FileName] = append(beside, path)
	}
	return nil
}

// keepUsed takes out what the oldest remaining snapshot, the newest one and the
// tags refer to.
func (d *deletion) keepUsed(ctx context.Context, end int64) error {
	store := d.c.store
	var keep []*spec.Snapshot
	oldest, err := store.Snapshot(ctx, end)
	if err != nil {
		return err
	}
	newest, err := store.Latest(ctx)
	if err != nil {
		return err
	}
	if newest == nil {
		return errs.New(errs.Conflict, errs.KindNone, "expire snapshots of %s: they are gone", d.c.cfg.Paths.Root())
	}
	keep = append(keep, oldest, newest)
	tags, err := store.Files.List(ctx, d.c.cfg.Paths.TagDir())
	if err != nil {
		return err
	}
	for _, in := range tags {
		name, ok := strings.CutPrefix(in.Name, "tag-")
		if !ok {
			continue
		}
		b, err := store.Files.ReadFile(ctx, d.c.cfg.Paths.Tag(name))
		if err != nil {
			return err
		}
		t, err := spec.ParseSnapshot(b)
		if err != nil {
			return err
		}
		keep = append(keep, t)
	}
	for i, s := range keep {
		if i > 0 && s.Identity() == keep[i-1].Identity() {
			continue
		}
		if err := d.keepOf(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (d *deletion) keepOf(ctx context.Context, s *spec.Snapshot) error {
	store := d.c.store
	delete(d.meta, s.BaseManifestList)
	delete(d.meta, s.DeltaManifestList)
	metas, err := store.Manifests(ctx, s)
	if err != nil {
		return err
	}
	for _, m := range metas {
		delete(d.meta, m.FileName)
	}
	if len(d.data) == 0 {
		return nil
	}
	// By name: a file may be live at another level than the one it was deleted at.
	live, err := store.Live(ctx, s, nil, func(e *spec.ManifestEntry) bool {
		_, ok := d.data[e.File.FileName]
		return ok
	})
	if err != nil {
		return err
	}
	for i := range live {
		delete(d.data, live[i].File.FileName)
	}
	return nil
}

// paths returns the files to remove.
func (d *deletion) paths() []string {
	var out []string
	for _, p := range d.data {
		out = append(out, p...)
	}
	for name := range d.meta {
		out = append(out, d.c.cfg.Paths.Manifest(name))
	}
	return out
}
