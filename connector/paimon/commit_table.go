package paimon

import (
	"context"
	"log/slog"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
)

// tableCommit commits to a table. Rows that were numbered, or given their buckets,
// on a state of the table that is not the newest any more are written again on the
// newest, if they do not depend on it otherwise. Where rows stay invisible until
// they are compacted, a compaction that other commits made void is done again.
type tableCommit struct {
	*commit.Committer
	t    *Table
	user string
}

// replays bounds how often rows are written again for one commit.
const replays = 8

// Commit implements connector.TableCommit.
func (c *tableCommit) Commit(ctx context.Context, cm *connector.Committable) (res connector.CommitResult, err error) {
	for _, x := range cm.Messages {
		if m, ok := x.(*commit.Message); ok {
			m.Turn.Wait(ctx)
		}
	}
	release, err := c.t.driver.registry.Commit(ctx, c.t.paths())
	if err != nil {
		return connector.CommitResult{}, err
	}
	defer release()
	original := cm.Messages
	defer func() {
		if err != nil && errs.ClassOf(err) == errs.UnknownOutcome {
			return // the caller asks again
		}
		for _, x := range original {
			if m, ok := x.(*commit.Message); ok {
				m.Turn.Done()
			}
		}
	}()
	res, err = c.Committer.Commit(ctx, cm)
	for try := 0; try < replays && c.again(cm, err); try++ {
		again, rerr := write.Replay(ctx, c.t.writeConfig(c.own(true)), original)
		if rerr != nil {
			return res, errs.New(errs.Conflict, errs.KindNone, "%w; writing them again: %v", err, rerr)
		}
		slog.Info("rows are written again: another commit came first", "table", c.t.id, "error", err)
		cm.Messages = again
		if res, err = c.Committer.Commit(ctx, cm); err == nil {
			c.replaced(ctx, original, res.Snapshot)
			break
		}
		if errs.ClassOf(err) == errs.UnknownOutcome {
			return res, err // the caller asks again with the messages as they are now
		}
		c.Committer.Abort(ctx, again) //nolint:errcheck // what stays is an orphan
		cm.Messages = original
	}
	if err == nil {
		c.show(ctx, cm)
	}
	return res, err
}

// own are the options of writers that the commit needs itself.
func (c *tableCommit) own(noCompaction bool) connector.WriteOptions {
	return connector.WriteOptions{CommitUser: c.user, Budget: c.t.driver.cfg.CompactionBudget, NoCompaction: noCompaction, KeepNulls: true}
}

// again reports whether the rows of a commit that failed can be written again.
func (c *tableCommit) again(cm *connector.Committable, err error) bool {
	return err != nil && errs.ClassOf(err) == errs.Conflict && !errs.Is(err, errs.Fenced) && !errs.Is(err, errs.CommittedLate) && cm.ReadVersion == 0 && !cm.Overwrite && write.Replayable(cm.Messages)
}

// replaced removes what the original messages wrote and tells their writer.
func (c *tableCommit) replaced(ctx context.Context, original []connector.CommitMessage, snapshot int64) {
	if err := c.Committer.Abort(context.WithoutCancel(ctx), original); err != nil {
		slog.Debug("remove the files of rows that were written again", "table", c.t.id, "error", err)
	}
	for _, x := range original {
		if m, ok := x.(*commit.Message); ok {
			m.Replace(snapshot)
		}
	}
}

// show compacts the buckets whose new rows wait on level 0 because their
// compaction was dropped.
func (c *tableCommit) show(ctx context.Context, cm *connector.Committable) {
	if !write.WaitsForCompaction(c.t.schema) {
		return
	}
	waiting := map[string]map[int32]bool{}
	for _, x := range cm.Messages {
		if m, ok := x.(*commit.Message); ok && len(m.New) > 0 && (m.CompactionDropped() || len(m.CompactAfter) == 0) {
			if waiting[string(m.Partition)] == nil {
				waiting[string(m.Partition)] = map[int32]bool{}
			}
			waiting[string(m.Partition)][m.Bucket] = true
		}
	}
	for try := 0; try < 3 && len(waiting) > 0; try++ {
		ms, err := write.Compact(ctx, c.t.writeConfig(c.own(false)), write.CompactOptions{
			Place: func(p spec.BinaryRow, bucket int32) (bool, error) { return waiting[string(p)][bucket], nil }})
		if err == nil && len(ms) > 0 {
			_, err = c.Committer.Commit(ctx, &connector.Committable{Identifier: cm.Identifier, Messages: ms})
		}
		if err != nil {
			slog.Warn("new rows stay invisible until the next compaction", "table", c.t.id, "error", err)
			return
		}
		left := false
		for _, x := range ms {
			left = left || x.(*commit.Message).CompactionDropped()
		}
		if !left {
			return
		}
	}
}

func (t *Table) paths() *spec.Paths { return spec.NewPaths(t.dir, t.id.Branch, t.schema) }
