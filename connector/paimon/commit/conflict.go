package commit

import (
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// entries returns the manifest entries of a change on top of latest, after
// looking for conflicts, and changes index as the change does. nil means that a
// compaction has nothing left to do.
func (c *Committer) entries(ctx context.Context, ch *change, latest *spec.Snapshot, index *indexState) ([]spec.ManifestEntry, error) {
	switch {
	case ch.rewrite:
		return []spec.ManifestEntry{}, nil
	case ch.statistics != nil:
		if latest == nil {
			return nil, errs.Internalf("store the statistics of %s: it has no snapshot", c.cfg.Paths.Root())
		}
		return []spec.ManifestEntry{}, nil
	case ch.restore != nil:
		return c.restoreEntries(ctx, ch.restore, latest, index)
	case ch.kind == spec.KindCompact:
		return c.compactEntries(ctx, ch, latest, index)
	}
	if err := c.checkRead(ctx, ch, latest); err != nil {
		return nil, err
	}
	if ch.overwrite != nil {
		return c.overwriteEntries(ctx, ch, latest, index)
	}
	if err := c.checkWriters(ctx, ch.messages, latest); err != nil {
		return nil, err
	}
	out, err := c.deleted(ctx, ch.messages, latest)
	if err != nil {
		return nil, err
	}
	before := *index
	for _, m := range ch.messages {
		if err := c.checkHashes(&before, index, m); err != nil {
			return nil, err
		}
		if !index.applies(m, &m.Index, m.Deleted) {
			return nil, c.changedMeanwhile(m)
		}
		index.apply(m, &m.Index)
	}
	return append(out, added(ch.messages)...), nil
}

func (c *Committer) changedMeanwhile(m *Message) error {
	return errs.New(errs.Conflict, errs.KindNone, "commit to %s: another commit has changed bucket %d since the rows were read; run the statement again",
		c.cfg.Paths.Root(), m.Bucket)
}

// deleted returns the entries of the files that a row-level change removes. All
// of them must be there.
func (c *Committer) deleted(ctx context.Context, messages []*Message, latest *spec.Snapshot) ([]spec.ManifestEntry, error) {
	out := []spec.ManifestEntry{}
	var touched []*Message
	for _, m := range messages {
		if len(m.Deleted) > 0 {
			touched = append(touched, m)
		}
	}
	if len(touched) == 0 {
		return out, nil
	}
	live, err := c.liveOf(ctx, touched, latest)
	if err != nil {
		return nil, err
	}
	ids := map[spec.FileID]*spec.ManifestEntry{}
	for i := range live {
		ids[live[i].ID()] = &live[i]
	}
	for _, m := range touched {
		for _, f := range m.Deleted {
			e := m.entry(spec.FileDelete, f)
			there := ids[e.ID()]
			if there == nil {
				return nil, c.changedMeanwhile(m)
			}
			delete(ids, e.ID())
			e.TotalBuckets = there.TotalBuckets
			out = append(out, e)
		}
	}
	return out, nil
}

// liveOf returns the live files of the messages' buckets.
func (c *Committer) liveOf(ctx context.Context, messages []*Message, latest *spec.Snapshot) ([]spec.ManifestEntry, error) {
	touched := map[place]bool{}
	var parts []spec.BinaryRow
	lo, hi := messages[0].Bucket, messages[0].Bucket
	for _, m := range messages {
		touched[m.place()] = true
		parts = append(parts, m.Partition)
		lo, hi = min(lo, m.Bucket), max(hi, m.Bucket)
	}
	has := c.partitionRange(parts)
	return c.store.Live(ctx, latest, func(m *spec.ManifestMeta) bool {
		return (!m.MinBucket.OK || !m.MaxBucket.OK || m.MinBucket.V <= hi && m.MaxBucket.V >= lo) && has(m)
	}, func(e *spec.ManifestEntry) bool { return touched[place{string(e.Partition), e.Bucket}] })
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

// place is a bucket of a partition.
type place struct {
	partition string
	bucket    int32
}

func (m *Message) place() place { return place{string(m.Partition), m.Bucket} }

// minSequence is the lowest sequence number of a message's new rows.
func (m *Message) minSequence() int64 {
	n := int64(math.MaxInt64)
	for i := range m.New {
		n = min(n, m.New[i].MinSequence)
	}
	return n
}

// checkWriters fails when somebody else has written to the messages' buckets
// since their writers looked at the table: gave a partition another number of
// buckets, so that the rows would lie in wrong ones, or used the sequence numbers
// of the rows, so that older rows would win over newer ones.
func (c *Committer) checkWriters(ctx context.Context, messages []*Message, latest *spec.Snapshot) error {
	keyed := len(c.keyTypes) > 0
	conflict := func(m *Message) error {
		return errs.New(errs.Conflict, errs.KindNone, "commit to %s: another writer has written to bucket %d since these rows were numbered; write them again",
			c.cfg.Paths.Root(), m.Bucket)
	}
	stale := map[place]*Message{}
	totals := map[string]int32{}
	for _, m := range messages {
		if !c.numbered(m) {
			continue
		}
		if last, ok := c.written[m.place()]; ok && keyed && last.snapshot > m.Base && last.sequence >= m.minSequence() {
			return conflict(m)
		}
		other, err := c.others.since(ctx, c, latest, m.Base)
		if err != nil {
			return err
		}
		if other && m.Exclusive {
			return errs.New(errs.Conflict, errs.KindNone, "commit to %s: another writer has written to the table since the places of its keys were read; write the rows again",
				c.cfg.Paths.Root())
		}
		if other {
			stale[m.place()] = m
			totals[string(m.Partition)] = m.TotalBuckets
		}
	}
	if len(stale) == 0 {
		return nil
	}
	live, err := c.store.Live(ctx, latest, nil, func(e *spec.ManifestEntry) bool {
		total, ok := totals[string(e.Partition)]
		return ok && (e.TotalBuckets != total || stale[place{string(e.Partition), e.Bucket}] != nil)
	})
	if err != nil {
		return err
	}
	for i := range live {
		e := &live[i]
		if total := totals[string(e.Partition)]; e.TotalBuckets > 0 && e.TotalBuckets != total {
			return errs.New(errs.Conflict, errs.KindNone, "commit to %s: a partition has %d buckets now, the rows were written for %d; write them again",
				c.cfg.Paths.Root(), e.TotalBuckets, total)
		}
		if m := stale[place{string(e.Partition), e.Bucket}]; m != nil && keyed && e.File.MaxSequence >= m.minSequence() {
			return conflict(m)
		}
	}
	return nil
}

// numbered reports whether the sequence numbers of a message's new rows depend on
// what its bucket has.
func (c *Committer) numbered(m *Message) bool {
	return len(m.New) > 0 && !m.Lowest && (m.TotalBuckets > 0 || m.TotalBuckets == -1 && len(c.keyTypes) > 0)
}

// lastWrite is what a Committer committed last to a bucket.
type lastWrite struct {
	snapshot int64
	sequence int64 // the highest
}

// noteWritten remembers what a commit of ours added.
func (c *Committer) noteWritten(messages []*Message, snapshot int64) {
	for _, m := range messages {
		if !c.numbered(m) {
			continue
		}
		last := lastWrite{snapshot, 0}
		for i := range m.New {
			last.sequence = max(last.sequence, m.New[i].MaxSequence)
		}
		c.written[m.place()] = last
	}
}

// others remembers which snapshots with data somebody else than this Committer
// made, as far as it has looked: those after lo up to hi.
type others struct {
	lo, hi   int64
	identity string // of hi
	ids      []int64
}

// since reports whether somebody else made a snapshot with data after base, or
// may have made one that has expired.
func (o *others) since(ctx context.Context, c *Committer, latest *spec.Snapshot, base int64) (bool, error) {
	if latest == nil || latest.ID <= base {
		return false, nil
	}
	if o.hi > latest.ID || o.hi == latest.ID && o.identity != latest.Identity() {
		*o = others{}
	}
	if o.hi == 0 {
		*o = others{lo: latest.ID, hi: latest.ID, identity: latest.Identity()}
		if data(latest) {
			o.ids = append(o.ids, latest.ID)
		}
		o.lo--
	}
	var newer []int64
	for s := latest; s.ID > o.hi; {
		if data(s) {
			newer = append(newer, s.ID)
		}
		next, err := c.store.Snapshot(ctx, s.ID-1)
		if errs.Is(err, errs.FileNotFound) || err == nil && next.ID == o.hi && next.Identity() != o.identity {
			*o = others{} // expired or rolled back: nothing is known
			return true, nil
		}
		if err != nil {
			return false, err
		}
		s = next
	}
	o.ids = append(o.ids, newer...)
	o.hi, o.identity = latest.ID, latest.Identity()
	for o.lo > base {
		s, err := c.store.Snapshot(ctx, o.lo)
		if errs.Is(err, errs.FileNotFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if data(s) {
			o.ids = append(o.ids, s.ID)
		}
		o.lo--
	}
	for _, id := range o.ids {
		if id > base {
			return true, nil
		}
	}
	return false, nil
}

// ours adds a snapshot of this Committer.
func (o *others) ours(s *spec.Snapshot) {
	if o.hi == s.ID-1 {
		if o.hi == 0 {
			o.lo = 0
		}
		o.hi, o.identity = s.ID, s.Identity()
	}
}

func data(s *spec.Snapshot) bool {
	return s.CommitKind != spec.KindCompact && s.CommitKind != spec.KindAnalyze
}

// compactEntries returns the entries of the compactions that still apply: whose
// replaced files are all live and whose results do not overlap others of their
// level. It marks the others as dropped and removes their files.
func (c *Committer) compactEntries(ctx context.Context, ch *change, latest *spec.Snapshot, index *indexState) ([]spec.ManifestEntry, error) {
	live, err := c.liveOf(ctx, ch.messages, latest)
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
		p := m.place()
		after, err := c.applyCompaction(m, byPlace[p])
		if err != nil {
			return nil, err
		}
		if after == nil || !index.applies(m, &m.CompactIndex, m.rewritten()) {
			dropped = append(dropped, m)
			continue
		}
		byPlace[p] = after
		index.apply(m, &m.CompactIndex)
		kept = append(kept, m)
		for _, f := range m.CompactBefore {
			out = append(out, m.entry(spec.FileDelete, f))
		}
		for _, f := range m.CompactAfter {
			out = append(out, m.entry(spec.FileAdd, f))
		}
	}
	if len(dropped) > 0 && slices.ContainsFunc(ch.messages, func(m *Message) bool { return m.Together }) {
		dropped, kept, out = ch.messages, nil, nil
		index.changed = false
	}
	for _, m := range dropped {
		slog.Debug("a compaction is dropped: other commits changed its files", "table", c.cfg.Paths.Root(), "bucket", m.Bucket)
		m.dropped.Store(true)
	}
	if !ch.search { // else an earlier call may have applied them
		c.removeCompacted(ctx, dropped)
	}
	ch.messages = kept
	if out == nil && index.changed {
		out = []spec.ManifestEntry{}
	}
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
