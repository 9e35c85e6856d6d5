package commit

import (
	"context"
	"log/slog"
	"math"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// BatchIdentifier is the identifier of commits that are not numbered.
const BatchIdentifier = math.MaxInt64

// DropPartitions removes the rows of all partitions that have the values of one
// of the given maps (see connector.Committable.OverwriteIn), in one snapshot.
func (c *Committer) DropPartitions(ctx context.Context, specs []map[string]*string) (connector.CommitResult, error) {
	var matchers []*spec.PartitionMatcher
	for _, s := range specs {
		m, err := c.cfg.Paths.Partitioner().Matcher(s)
		if err != nil {
			return connector.CommitResult{}, err
		}
		matchers = append(matchers, m)
	}
	return c.maintain(ctx, &change{kind: spec.KindOverwrite, overwrite: func(part spec.BinaryRow) (bool, error) {
		for _, m := range matchers {
			if ok, err := m.Match(part); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}})
}

// CompactManifests rewrites the manifests so that only live files remain in
// them. It reports no snapshot when there is nothing to gain.
func (c *Committer) CompactManifests(ctx context.Context) (connector.CommitResult, error) {
	return c.maintain(ctx, &change{kind: spec.KindCompact, rewrite: true})
}

// Restore makes a snapshot with the state of an older one, which must still have
// its files: a snapshot or tag of the table.
func (c *Committer) Restore(ctx context.Context, s *spec.Snapshot) (connector.CommitResult, error) {
	return c.maintain(ctx, &change{kind: spec.KindOverwrite, restore: s, rebase: true})
}

// Replace gives the table the files of messages in place of its own. Files that
// it has already, or once had, may be among them.
func (c *Committer) Replace(ctx context.Context, messages []*Message) (connector.CommitResult, error) {
	return c.maintain(ctx, &change{kind: spec.KindOverwrite, messages: messages, overwrite: func(spec.BinaryRow) (bool, error) { return true, nil }, rebase: true})
}

// Describe stores statistics of a version with the given schema (see
// spec.MarshalStatistics), in a snapshot in which nothing else changes.
func (c *Committer) Describe(ctx context.Context, statistics []byte, schemaID int64) (connector.CommitResult, error) {
	return c.maintain(ctx, &change{kind: spec.KindAnalyze, statistics: statistics, described: schemaID})
}

// maintain applies a change that is not a writer's.
func (c *Committer) maintain(ctx context.Context, ch *change) (res connector.CommitResult, err error) {
	ch.cm = &connector.Committable{Identifier: BatchIdentifier, Nonce: newNonce()}
	c.mu.Lock()
	defer c.mu.Unlock()
	res.Snapshot, res.Already, err = c.apply(ctx, ch)
	return res, err
}

// restoreEntries returns what turns latest into the state of an older snapshot.
func (c *Committer) restoreEntries(ctx context.Context, old, latest *spec.Snapshot, index *indexState) ([]spec.ManifestEntry, error) {
	all := func(*spec.ManifestEntry) bool { return true }
	want, err := c.store.Live(ctx, old, nil, all)
	if err != nil {
		return nil, err
	}
	have, err := c.store.Live(ctx, latest, nil, all)
	if err != nil {
		return nil, err
	}
	ids := map[spec.FileID]bool{}
	for i := range want {
		ids[want[i].ID()] = true
	}
	out := []spec.ManifestEntry{}
	for _, e := range have {
		if id := e.ID(); ids[id] {
			delete(ids, id)
			continue
		}
		e.Kind = spec.FileDelete
		out = append(out, e)
	}
	for _, e := range want {
		if ids[e.ID()] {
			e.Kind = spec.FileAdd
			out = append(out, e)
		}
	}
	if index.list, err = c.store.Index(ctx, old); err != nil {
		return nil, err
	}
	index.changed = true
	return out, nil
}

// after tells whoever maintains the table that a commit was made.
func (c *Committer) after(ctx context.Context, snapshot int64) {
	if c.cfg.Committed == nil || snapshot == 0 {
		return
	}
	if err := c.cfg.Committed(context.WithoutCancel(ctx), snapshot); err != nil {
		slog.Info("maintenance after a commit failed", "table", c.cfg.Paths.Root(), "snapshot", snapshot, "error", err)
	}
}
