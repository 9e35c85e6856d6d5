package paimon

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Compacted is what compactions did.
type Compacted struct {
	Buckets, Dropped int
	Files, Bytes     int64 // read
	Snapshot         int64 // the newest that was made
}

func (c *Compacted) add(x Compacted) {
	c.Buckets, c.Dropped = c.Buckets+x.Buckets, c.Dropped+x.Dropped
	c.Files, c.Bytes, c.Snapshot = c.Files+x.Files, c.Bytes+x.Bytes, max(c.Snapshot, x.Snapshot)
}

// Compact compacts the chosen buckets of the table, at most o.Limit of them, and
// commits the result. A compaction whose files another commit has replaced
// meanwhile is dropped: no row depends on it. budget pays for what it holds; nil
// is the driver's for compactions.
func (t *Table) Compact(ctx context.Context, o write.CompactOptions, budget *memory.Budget) (Compacted, error) {
	if budget == nil {
		budget = t.driver.cfg.CompactionBudget
	}
	cfg := t.writeConfig(connector.WriteOptions{Budget: budget})
	messages, err := write.Compact(ctx, cfg, o)
	if err != nil || len(messages) == 0 {
		return Compacted{}, compactError(t, err)
	}
	c, err := t.NewCommit(ctx, uuid.NewString())
	if err != nil {
		return Compacted{}, err
	}
	res, err := c.Commit(ctx, &connector.Committable{Identifier: commit.BatchIdentifier, Messages: messages})
	out := Compacted{Snapshot: res.Snapshot}
	if err != nil {
		if errs.ClassOf(err) != errs.UnknownOutcome {
			if aerr := c.Abort(context.WithoutCancel(ctx), messages); aerr != nil {
				err = fmt.Errorf("%w; and files are left: %w", err, aerr)
			}
		}
		return out, compactError(t, err)
	}
	for _, x := range messages {
		m := x.(*commit.Message)
		if m.CompactionDropped() {
			out.Dropped++
			continue
		}
		out.Buckets++
		for i := range m.CompactBefore {
			out.Files++
			out.Bytes += m.CompactBefore[i].FileSize
		}
	}
	return out, nil
}

func compactError(t *Table, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("compact %s: %w", t.id, err)
}
