package paimon

import (
	"context"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/maintain"
)

// Maintain returns the table, or branch, for maintenance.
func (t *Table) Maintain() *maintain.Table {
	cfg := maintain.Config{Files: t.driver.cfg.Files, Root: t.dir, Branch: t.id.Branch, Schema: t.schema, Name: t.id.String(), WriterVersion: writerVersion, Lock: t.lock()}
	if pinned := t.driver.cfg.Pinned; pinned != nil {
		cfg.Pinned = func() []int64 { return pinned(t.uuid) }
	}
	return maintain.New(cfg)
}

// MaintainConfig is what package maintain needs for a table in dir, which need not
// exist, but for its schema.
func (d *Driver) MaintainConfig(dir string, id catalog.Identifier) maintain.Config {
	return maintain.Config{Files: d.cfg.Files, Root: dir, Branch: id.Branch, Schema: &catalog.Schema{Options: map[string]string{}}, Name: id.String(),
		WriterVersion: writerVersion, Lock: d.lock(id)}
}

// Keep does what maintenance is due on an owned table besides compaction: expiry,
// automatic tags, orphan cleaning (DESIGN D13). It looks at most once a minute.
func (t *Table) Keep(ctx context.Context) error {
	k, _ := t.driver.keepers.LoadOrStore(t.MetaDir(), &maintain.Keeper{})
	return k.(*maintain.Keeper).Run(ctx, t.Maintain())
}

// committed returns what is called after commits to an owned table.
func (t *Table) committed() func(context.Context, int64) error {
	switch {
	case !t.Owned():
		return nil
	case t.driver.cfg.Maintained:
		return func(context.Context, int64) error {
			if u := t.driver.upkeep.Load(); u != nil {
				u.notify(t)
			}
			return nil
		}
	}
	return func(ctx context.Context, _ int64) error { return t.Keep(ctx) }
}

// Owned reports whether the table is maintained without being asked for.
func (t *Table) Owned() bool { return maintain.Owned(t.schema.Options) }
