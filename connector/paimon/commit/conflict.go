package commit

import (
	"context"
	"log/slog"
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// entries returns the manifest entries of a change on top of latest, after
// looking for conflicts. nil means that a compaction has nothing left to do.
func (c *Committer) entries(ctx context.Context, ch *change, latest *spec.Snapshot, previous []spec.ManifestMeta) ([]spec.ManifestEntry, error) {
	switch ch.kind {
	case spec.KindCompact:
		return c.compactEntries(ctx, ch, latest)
	case spec.KindOverwrite:
		out := []spec.ManifestEntry{}
		live, err := c.store.Live(ctx, latest, nil, func(*spec.ManifestEntry) bool { return true })
		if err != nil {
			return nil, err
		}
		for _, e := range live {
			e.Kind = spec.FileDelete
			out = append(out, e)
		}
		return append(out, added(ch.messages)...), nil
	}
	if err := c.checkTotals(ctx, ch.messages, latest); err != nil {
		return nil, err
	}
	return added(ch.messages), nil
}

func added(messages []*Message) []spec.ManifestEntry {
	out := []spec.ManifestEntry{}
	for _, m := range messages {
		for _, f := range m.New {
			out = append(out, m.entry(spec.FileAdd, f))
		}
	}
	return out
}

// checkTotals fails when somebody else has given a partition another number of
// buckets since the writers looked: their rows would lie in wrong buckets. Only
// an OVERWRITE can do that.
func (c *Committer) checkTotals(ctx context.Context, messages []*Message, latest *spec.Snapshot) error {
	fixed := slices.DeleteFunc(slices.Clone(messages), func(m *Message) bool { return m.TotalBuckets <= 0 })
	if len(fixed) == 0 || latest == nil {
		return nil
	}
	base := fixed[0].Base
	for _, m := range fixed {
		base = min(base, m.Base)
	}
	if latest.ID <= base || c.totalsSafe(ctx, latest, base) {
		return nil
	}
	totals := map[string]int32{}
	for _, m := range fixed {
		totals[string(m.Partition)] = m.TotalBuckets
	}
	live, err := c.store.Live(ctx, latest, nil, func(e *spec.ManifestEntry) bool {
		want, ok := totals[string(e.Partition)]
		return ok && e.TotalBuckets > 0 && e.TotalBuckets != want
	})
	if err != nil {
		return err
	}
	if len(live) > 0 {
		return errs.New(errs.Conflict, errs.KindNone, "commit to %s: a partition has %d buckets now, the rows were written for %d; write them again",
			c.cfg.Paths.Root(), live[0].TotalBuckets, totals[string(live[0].Partition)])
	}
	return nil
}

// totalsSafe reports whether no foreign OVERWRITE happened after base.
func (c *Committer) totalsSafe(ctx context.Context, latest *spec.Snapshot, base int64) bool {
	if c.totals.id == latest.ID && c.totals.identity == latest.Identity() && c.totals.overwrite <= base {
		return true
	}
	floor, newest := base, int64(0)
	if c.totals.id > 0 && c.totals.id < latest.ID && c.totals.overwrite <= base {
		floor = max(floor, c.totals.id)
		newest = c.totals.overwrite
	}
	oldest := latest.ID
	s, err := c.walk(ctx, latest, floor, func(s *spec.Snapshot) bool {
		oldest = s.ID
		return s.CommitKind == spec.KindOverwrite && s.CommitUser != c.cfg.User
	})
	if err != nil || s != nil || oldest > floor+1 {
		return false // found one, or some have expired: look at the files
	}
	c.totals = totalsHistory{id: latest.ID, identity: latest.Identity(), overwrite: newest}
	return true
}

// totalsHistory remembers up to where totalsSafe has looked.
type totalsHistory struct {
	id        int64
	identity  string
	overwrite int64 // the newest foreign OVERWRITE at or before it that is known
}

// compactEntries returns the entries of the compactions that still apply: whose
// replaced files are all live and whose results do not overlap others of their
// level. It marks the others as dropped and removes their files.
func (c *Committer) compactEntries(ctx context.Context, ch *change, latest *spec.Snapshot) ([]spec.ManifestEntry, error) {
	type place struct {
		partition string
		bucket    int32
	}
	touched := map[place]bool{}
	lo, hi := ch.messages[0].Bucket, ch.messages[0].Bucket
	for _, m := range ch.messages {
		touched[place{string(m.Partition), m.Bucket}] = true
		lo, hi = min(lo, m.Bucket), max(hi, m.Bucket)
	}
	live, err := c.store.Live(ctx, latest, func(m *spec.ManifestMeta) bool {
		return !m.MinBucket.OK || !m.MaxBucket.OK || m.MinBucket.V <= hi && m.MaxBucket.V >= lo
	}, func(e *spec.ManifestEntry) bool { return touched[place{string(e.Partition), e.Bucket}] })
	if err != nil {
		return nil, err
	}
	byPlace := map[place][]spec.ManifestEntry{}
	for _, e := range live {
		p := place{string(e.Partition), e.Bucket}
		byPlace[p] = append(byPlace[p], e)
	}
	var out []spec.ManifestEntry
	var kept, dropped []*Message
	for _, m := range ch.messages {
		p := place{string(m.Partition), m.Bucket}
		after, err := c.applyCompaction(m, byPlace[p])
		if err != nil {
			return nil, err
		}
		if after == nil {
			dropped = append(dropped, m)
			continue
		}
		byPlace[p] = after
		kept = append(kept, m)
		for _, f := range m.CompactBefore {
			out = append(out, m.entry(spec.FileDelete, f))
		}
		for _, f := range m.CompactAfter {
			out = append(out, m.entry(spec.FileAdd, f))
		}
	}
	for _, m := range dropped {
		slog.Info("a compaction is dropped: other commits changed its files", "table", c.cfg.Paths.Root(), "bucket", m.Bucket)
		m.dropped.Store(true)
	}
	if !ch.search { // else an earlier call may have applied them
		c.removeCompacted(ctx, dropped)
	}
	ch.messages = kept
	return out, nil
}

// applyCompaction returns a bucket's live files after a compaction, nil when it
// does not apply.
func (c *Committer) applyCompaction(m *Message, live []spec.ManifestEntry) ([]spec.ManifestEntry, error) {
	gone := map[spec.FileID]bool{}
	for _, f := range m.CompactBefore {
		e := m.entry(spec.FileDelete, f)
		gone[e.ID()] = true
	}
	var after []spec.ManifestEntry
	for _, e := range live {
		if e.TotalBuckets != m.TotalBuckets {
			return nil, nil
		}
		if id := e.ID(); gone[id] {
			delete(gone, id)
			continue
		}
		after = append(after, e)
	}
	if len(gone) > 0 {
		return nil, nil // a replaced file is not there any more
	}
	have := map[spec.FileID]bool{}
	for i := range after {
		have[after[i].ID()] = true
	}
	for _, f := range m.CompactAfter {
		e := m.entry(spec.FileAdd, f)
		if have[e.ID()] {
			return nil, nil
		}
		after = append(after, e)
	}
	overlap, err := c.overlaps(after)
	if err != nil || overlap {
		return nil, err
	}
	if after == nil {
		after = []spec.ManifestEntry{}
	}
	return after, nil
}

// overlaps reports whether files of one level above 0 share keys.
func (c *Committer) overlaps(files []spec.ManifestEntry) (bool, error) {
	type span struct {
		level    int32
		min, max []*vector.Vec
	}
	var spans []span
	for i := range files {
		f := &files[i].File
		if f.Level == 0 || len(c.keyTypes) == 0 {
			continue
		}
		lo, err := f.MinKey.Decode(c.keyTypes)
		if err != nil {
			return false, err
		}
		hi, err := f.MaxKey.Decode(c.keyTypes)
		if err != nil {
			return false, err
		}
		spans = append(spans, span{f.Level, lo, hi})
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.level != b.level {
			return int(a.level - b.level)
		}
		return compareKeys(a.min, b.min)
	})
	for i := 1; i < len(spans); i++ {
		if spans[i].level == spans[i-1].level && compareKeys(spans[i].min, spans[i-1].max) <= 0 {
			return true, nil
		}
	}
	return false, nil
}

func compareKeys(a, b []*vector.Vec) int {
	for i := range a {
		if r := vector.Compare(a[i], 0, b[i], 0); r != 0 {
			return r
		}
	}
	return 0
}
