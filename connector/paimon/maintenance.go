package paimon

import (
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
