package ingest

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/vector"
)

// A repair is a copy that writes only what differs: the lake table stands still, its
// rows are compared with one consistent read of the source, and the rows that are
// missing, have other values or are not in the source are written in one commit, at
// the position of the read. Then the table is what a copy would make it.

// repairTable repairs a table. done is false, and nothing is written, when its rows
// cannot be compared.
func (s *asides) repairTable(sn source.Snapshot, c *asideCopy, lake connector.Readable) (done bool, err error) {
	v := newVerifier(s.a.p)
	t := &verified{Verified: Verified{Table: c.t.ID.String()}, from: c.from}
	if t.lake, err = lake.Snapshot(s.ctx, catalog.Ref{}); err != nil {
		return false, err
	}
	for _, def := range c.defs {
		t.add(def, c.x.Shape(def.ID))
	}
	if t.comparable(); t.Skipped != "" || t.soft {
		s.a.p.log.Info("rows cannot be compared; all are copied again", "table", t.Table, "reason", t.Skipped)
		return false, nil
	}
	w := &repairer{ctx: s.ctx, c: c}
	if err := v.compare(s.ctx, t, sn, w); err != nil {
		return false, err
	}
	s.a.p.log.Info("repaired", "table", t.Table, "rows", t.Rows, "written", w.n)
	return true, c.x.Finish(s.ctx)
}

// repairer writes what differs.
type repairer struct {
	ctx context.Context
	c   *asideCopy
	n   int64
	// Rows of one batch, and what is done with them.
	b    *vector.Batch
	kind vector.RowKind
	rows []uint16
}

func (w *repairer) missing(b *vector.Batch, i int) error { return w.add(b, i, vector.Insert) }

func (w *repairer) changed(b *vector.Batch, i int) error { return w.add(b, i, vector.UpdateAfter) }

func (w *repairer) surplus(b *vector.Batch, i int) error { return w.add(b, i, vector.Delete) }

func (w *repairer) add(b *vector.Batch, i int, kind vector.RowKind) error {
	if b != w.b || kind != w.kind {
		if err := w.batchEnds(); err != nil {
			return err
		}
		w.b, w.kind = b, kind
	}
	w.rows = append(w.rows, uint16(i))
	return nil
}

// batchEnds writes the rows that were chosen of a batch.
func (w *repairer) batchEnds() error {
	if len(w.rows) == 0 {
		w.b = nil
		return nil
	}
	b := &vector.Batch{Cols: w.b.Cols, Len: w.b.Len, Sel: w.rows, Kinds: make([]vector.RowKind, w.b.Len), Seq: -1}
	for i := range b.Kinds {
		b.Kinds[i] = w.kind
	}
	w.n += int64(len(w.rows))
	err := w.c.x.Write(w.ctx, b)
	w.b, w.rows = nil, w.rows[:0]
	return err
}

// mostHeals is how often an attempt may find that the log does not lead on.
const mostHeals = 3

// heal makes the tables that are followed be compared with the source and repaired,
// where the source's log does not lead on from their positions and the pipeline says
// so. Otherwise, and when it happens again and again, it returns the cause.
func (a *attempt) heal(cause error) error {
	p := a.p
	if !p.def.Settings.Heal || p.def.Source.Startup != pipeline.Initial || a.heals == mostHeals {
		return cause
	}
	a.heals++
	p.log.Error("the log of the source does not lead on; the tables are compared with it and repaired", "error", cause)
	a.set.Forget()
	for _, t := range a.set.Tables {
		if t.Start == nil || t.Stopped != "" {
			continue
		}
		if err := a.set.Recopy(a.work, t, true); err != nil {
			return errors.Join(cause, err)
		}
	}
	return errAgain
}

// add adds a source table that feeds the lake table.
func (t *verified) add(def *source.Table, s *transform.Shape) {
	t.soft = t.soft || s.Soft()
	t.defs, t.shapes = append(t.defs, def), append(t.shapes, s)
}

// comparable finds the columns that are compared; t.Skipped says why none can be.
func (t *verified) comparable() {
	schema := t.lake.Schema()
	if len(schema.PrimaryKeys) == 0 {
		t.skip("it has no primary key")
		return
	}
	t.steady = make([]bool, len(schema.Fields))
	for i := range t.steady {
		t.steady[i] = true
	}
	for _, s := range t.shapes {
		if len(t.shapes) > 1 && !s.TellsTable(schema.PrimaryKeys) {
			t.skip("rows of several source tables may overwrite each other; give the route a shard-key")
			return
		}
		for i, ok := range s.Steady(len(schema.Fields)) {
			t.steady[i] = t.steady[i] && ok
		}
	}
	for _, k := range keysOf(schema) {
		i := schema.Column(k)
		if !t.steady[i] {
			t.skip("its key column %s depends on how a row came", k)
			return
		}
		t.keys = append(t.keys, i)
	}
}

// keysOf are the columns that identify a row: the key, partition columns included.
func keysOf(schema *catalog.Schema) []string {
	keys := slices.Clone(schema.PrimaryKeys)
	for _, k := range schema.PartitionKeys {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func newVerifier(p *run) *verifier {
	return &verifier{p: p, seeds: [3]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()}}
}
