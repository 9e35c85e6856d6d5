package commit

import (
	"context"
	"log/slog"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// Abort implements connector.TableCommit. Messages that were committed, or may
// have been, are left alone.
func (c *Committer) Abort(ctx context.Context, list []connector.CommitMessage) error {
	messages, err := own(list)
	if err != nil {
		return err
	}
	var first error
	for _, m := range messages {
		if m.state.Load() != messageOpen {
			continue
		}
		files := append(append([]spec.DataFileMeta(nil), m.New...), m.Changelog...)
		err := c.removeFiles(ctx, m, append(files, m.compactedOnly()...), append(append([]spec.IndexEntry(nil), m.Index.New...), m.CompactIndex.New...))
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// removeCompacted deletes the files of dropped compactions.
func (c *Committer) removeCompacted(ctx context.Context, messages []*Message) {
	ctx = context.WithoutCancel(ctx)
	for _, m := range messages {
		if err := c.removeFiles(ctx, m, m.compactedOnly(), m.CompactIndex.New); err != nil {
			slog.Debug("remove the files of a dropped compaction", "table", c.cfg.Paths.Root(), "error", err)
		}
	}
}

// forgetCompactions takes the compactions from the messages of an overwrite. Their
// writer knew what is overwritten: it may have merged the new rows with it, left
// out those that it has already (first-row), or marked its rows as deleted.
func (c *Committer) forgetCompactions(ctx context.Context, messages []*Message) {
	var compacted []*Message
	for _, m := range messages {
		if m.compacts() {
			compacted = append(compacted, m)
		}
	}
	c.removeCompacted(ctx, compacted)
	for _, m := range compacted {
		m.dropped.Store(true)
		m.CompactBefore, m.CompactAfter, m.CompactChangelog, m.CompactIndex = nil, nil, nil, IndexChange{}
	}
}

// removeChangelogs deletes the changelog files of an overwrite, which has none.
func (c *Committer) removeChangelogs(ctx context.Context, messages []*Message) {
	ctx = context.WithoutCancel(ctx)
	for _, m := range messages {
		if err := c.removeFiles(ctx, m, m.Changelog, nil); err != nil {
			slog.Debug("remove the changelog of an overwrite", "table", c.cfg.Paths.Root(), "error", err)
		}
	}
}

// removeFiles deletes files of a message that nothing refers to.
func (c *Committer) removeFiles(ctx context.Context, m *Message, files []spec.DataFileMeta, index []spec.IndexEntry) error {
	var paths []string
	for _, f := range files {
		e := m.entry(spec.FileAdd, f)
		path, err := c.cfg.Paths.DataFile(&e)
		if err != nil {
			return err
		}
		extra, err := c.cfg.Paths.ExtraFiles(&e)
		if err != nil {
			return err
		}
		paths = append(append(paths, path), extra...)
	}
	for _, x := range index {
		x = m.indexEntry(x)
		path, err := c.cfg.Paths.IndexFile(&x)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	var first error
	for _, p := range paths {
		if err := c.store.Files.Remove(ctx, p); err != nil && first == nil {
			first = err
		}
	}
	return first
}
