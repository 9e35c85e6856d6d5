package paimon

import (
	"context"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/write"
	"github.com/thermocline/thermocline/internal/errs"
)

var _ connector.LiveReadable = (*Table)(nil)

// Live implements connector.LiveReadable.
func (t *Table) Live(ctx context.Context, l connector.LiveRows) (connector.Snapshot, error) {
	runs := func(context.Context) ([]read.HeldRun, error) { return nil, nil }
	if l.Rows != nil {
		h, ok := l.Rows.(*write.Held)
		if !ok {
			return nil, errs.Internalf("read table %s live: its rows were held by another connector", t.id)
		}
		runs = h.Runs
	}
	st, err := t.Source().Live(ctx, l.Base, l.Schema, l.Position, runs)
	if err != nil {
		return nil, err
	}
	return st, nil
}
