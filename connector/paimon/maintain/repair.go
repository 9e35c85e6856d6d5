package maintain

import (
	"context"

	"github.com/thermocline/thermocline/internal/errs"
)

// RepairHints writes EARLIEST and LATEST anew from the snapshots that are there.
func (t *Table) RepairHints(ctx context.Context) error {
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	return t.hints(ctx, ids[0], ids[len(ids)-1])
}

// RepairEarliest makes a snapshot the earliest by its hint, for a history with
// gaps. It returns the hint before, 0 for none.
func (t *Table) RepairEarliest(ctx context.Context, id int64) (before int64, err error) {
	if _, err := t.store.Snapshot(ctx, id); errs.Is(err, errs.FileNotFound) {
		return 0, t.noSnapshot(ctx, id)
	} else if err != nil {
		return 0, err
	}
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return 0, err
	}
	return ids[0], t.hints(ctx, id, 0)
}
