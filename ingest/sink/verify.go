package sink

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
)

// verify makes sure that what the table's position stands for is still below its
// newest snapshot: rows on top of a table that somebody rolled back, fast-forwarded
// or created anew would hide that the rows between are lost.
func (t *Table) verify(ctx context.Context) error {
	if t.seq == 0 {
		return nil
	}
	lost := func(what string) error {
		return &TableError{t, errs.New(errs.User, errs.TableStopped, "the lake table %s was rolled back, fast-forwarded or created anew while it was followed: %s", t.ID, what)}
	}
	own, err := t.commit.LatestOwn(ctx)
	if err != nil {
		return err
	}
	if own != nil {
		if own.Identifier < t.seq || own.ID < t.Snapshot {
			return lost("its newest snapshot of this pipeline is an older one than the pipeline made")
		}
		return t.verifyForeign(ctx)
	}
	// None is left: they have expired, or the table is another one.
	r, ok := t.table.(connector.Readable)
	if !ok {
		return nil // keeps no snapshots
	}
	sn, err := r.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		return err
	}
	if sn.Version() < t.Snapshot {
		return lost("it has no snapshot of this pipeline")
	}
	return nil
}

// verifyForeign makes sure that nobody has removed or replaced rows of the table
// since the last look, or since it was opened. Compactions and rows that others add
// are no matter here, nor are partitions that expire by the table's own options.
func (t *Table) verifyForeign(ctx context.Context) error {
	l, ok := t.commit.(connector.Lineage)
	if !ok || t.table.Schema().Options["partition.expiration-time"] != "" {
		return nil
	}
	by, newest, err := l.Overwritten(ctx, t.checked)
	if err != nil {
		return err
	}
	if by != nil {
		return &TableError{t, errs.New(errs.User, errs.TableStopped, "rows of the lake table %s were removed or replaced by another writer while it was followed (snapshot %d, user %s)", t.ID, by.ID, by.User)}
	}
	t.checked = newest
	return nil
}
