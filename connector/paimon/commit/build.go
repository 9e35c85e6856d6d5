package commit

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// build writes the manifests of a change on top of latest and returns its
// snapshot; nil when nothing of a compaction is left to do.
func (c *Committer) build(ctx context.Context, ch *change, latest *spec.Snapshot, files *scratch) (*spec.Snapshot, error) {
	previous := c.last.metas
	var err error
	if latest == nil || c.last.identity != latest.Identity() {
		if previous, err = c.store.Manifests(ctx, latest); err != nil {
			return nil, err
		}
	}
	index, err := c.index(ctx, ch, latest)
	if err != nil {
		return nil, err
	}
	entries, err := c.entries(ctx, ch, latest, index)
	if err != nil || entries == nil {
		return nil, err
	}
	schemaID, err := c.store.latestSchemaID(ctx)
	if err != nil {
		return nil, err
	}
	snap := &spec.Snapshot{Version: 3, UUID: uuid.NewString(), ID: 1, SchemaID: max(schemaID, c.cfg.Schema.ID), CommitUser: c.cfg.User,
		WriterVersion: c.cfg.WriterVersion, CommitIdentifier: ch.cm.Identifier, CommitKind: ch.kind, TimeMillis: c.cfg.Now().UnixMilli()}
	total, next := int64(0), int64(0)
	if latest != nil {
		snap.ID = latest.ID + 1
		snap.SchemaID = max(snap.SchemaID, latest.SchemaID)
		if ch.rewrite {
			snap.SchemaID = latest.SchemaID // the same rows, as Java's
		}
		snap.TimeMillis = max(snap.TimeMillis, latest.TimeMillis)
		snap.Watermark = latest.Watermark
		snap.IndexManifest = latest.IndexManifest
		if latest.SchemaID == snap.SchemaID {
			snap.Statistics = latest.Statistics
		}
		if latest.NextRowID != nil {
			next = *latest.NextRowID
		}
		if total, err = c.totalRows(ctx, latest); err != nil {
			return nil, err
		}
	}
	if ch.statistics != nil && snap.SchemaID != ch.described {
		return nil, errs.New(errs.Conflict, errs.KindNone, "store the statistics of %s: its schema is not the one that was analysed any more; analyse it again", c.cfg.Paths.Root())
	}
	if c.rowTracking {
		assignRows(entries, snap.ID, &next)
	}
	if w := ch.cm.Watermark; w != nil && ch.kind != spec.KindCompact {
		if old, ok := snap.HasWatermark(); !ok || *w > old {
			snap.Watermark = w
		}
	}
	var delta int64
	for i := range entries {
		if n := entries[i].File.RowCount; entries[i].Kind == spec.FileAdd {
			delta += n
		} else {
			delta -= n
		}
	}
	changelog := ch.changelog()
	changes := int64(0)
	for i := range changelog {
		changes += changelog[i].File.RowCount
	}
	total += delta
	snap.TotalRecordCount, snap.DeltaRecordCount, snap.NextRowID = &total, &delta, &next
	if snap.Properties, err = c.properties(ctx, ch, latest); err != nil {
		return nil, err
	}

	var base []spec.ManifestMeta
	if ch.rewrite {
		if base, err = files.mergeAll(ctx, previous); err == nil && (latest == nil || !gains(base, previous)) {
			return nil, nil
		}
	} else if ch.rebase {
		base, err = files.mergeAll(ctx, previous)
	} else {
		base, err = files.mergeManifests(ctx, previous)
	}
	if err != nil {
		return nil, err
	}
	if snap.BaseManifestList, snap.BaseManifestListSize, err = files.writeList(ctx, base); err != nil {
		return nil, err
	}
	metas, err := files.writeEntries(ctx, entries)
	if err != nil {
		return nil, err
	}
	if snap.DeltaManifestList, snap.DeltaManifestListSize, err = files.writeList(ctx, metas); err != nil {
		return nil, err
	}
	if len(changelog) > 0 {
		list, err := files.writeEntries(ctx, changelog)
		if err != nil {
			return nil, err
		}
		if snap.ChangelogManifestList, snap.ChangelogManifestListSize, err = files.writeList(ctx, list); err != nil {
			return nil, err
		}
		snap.ChangelogRecordCount = &changes
	}
	if ch.statistics != nil {
		snap.Statistics = files.writeStatistics(ctx, ch.statistics)
	}
	if index.changed {
		if snap.IndexManifest, err = files.writeIndex(ctx, index.list); err != nil {
			return nil, err
		}
	}
	files.metas = append(slices.Clip(base), metas...)
	return snap, files.wait()
}

// changelog returns the entries of a change's changelog files. An overwrite has
// none, as in Java.
func (ch *change) changelog() []spec.ManifestEntry {
	var out []spec.ManifestEntry
	if ch.overwrite != nil {
		return nil
	}
	for _, m := range ch.messages {
		files := m.Changelog
		if ch.kind == spec.KindCompact {
			files = m.CompactChangelog
		}
		for _, f := range files {
			out = append(out, m.entry(spec.FileAdd, f))
		}
	}
	return out
}

// assignRows gives new files their row ids and sequence numbers, as
// row-tracking.enabled demands: ids go on from next, files that were rewritten
// keep theirs.
func assignRows(entries []spec.ManifestEntry, snapshot int64, next *int64) {
	for i := range entries {
		f := &entries[i].File
		if entries[i].Kind != spec.FileAdd {
			continue
		}
		if f.FileSource.OK && f.FileSource.V == spec.SourceAppend && !f.FirstRowID.OK &&
			!(f.WriteCols.OK && slices.Contains(f.WriteCols.V, "_ROW_ID")) {
			f.FirstRowID = spec.Some(*next)
			*next += f.RowCount
		}
		switch {
		case f.MinSequence == 0:
			f.MinSequence, f.MaxSequence = snapshot, snapshot
		case f.MaxSequence == 0:
			f.MaxSequence = snapshot
		}
	}
}

// properties returns the properties of a change's snapshot.
func (c *Committer) properties(ctx context.Context, ch *change, latest *spec.Snapshot) (map[string]string, error) {
	if ch.rewrite {
		return nil, nil
	}
	if ch.kind != spec.KindCompact {
		out := maps.Clone(ch.cm.Properties)
		if out == nil {
			out = map[string]string{}
		}
		out[NonceProperty] = ch.cm.Nonce
		if ch.cm.Epoch > 0 {
			out[EpochProperty] = strconv.FormatInt(ch.cm.Epoch, 10)
		}
		return out, nil
	}
	newest, err := c.newestOwn(ctx, latest)
	if err != nil || newest == nil {
		return nil, err
	}
	out := map[string]string{}
	for k, v := range newest.Properties {
		if strings.HasPrefix(k, PropertyPrefix) {
			out[k] = v
		}
	}
	return out, nil
}

// totalRows returns the rows of a snapshot's live files.
func (c *Committer) totalRows(ctx context.Context, s *spec.Snapshot) (int64, error) {
	if s.TotalRecordCount != nil {
		return *s.TotalRecordCount, nil
	}
	live, err := c.store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	var n int64
	for i := range live {
		n += live[i].File.RowCount
	}
	return n, err
}
