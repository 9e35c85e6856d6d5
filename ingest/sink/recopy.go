package sink

import (
	"context"
	"errors"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/evolve"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Add opens one more lake table, as Open does. One that cannot be written is added
// stopped, with the reason.
func (s *Set) Add(ctx context.Context, spec Spec) (*Table, error) {
	t := &Table{ID: spec.ID, Sources: spec.Sources, shard: spec.ShardKey, set: s}
	var low source.Position
	if s.state.Position != "" {
		var err error
		if low, err = s.o.Parse(s.state.Position); err != nil {
			return nil, err
		}
	}
	if _, err := s.resume(ctx, t, low); err != nil {
		if !tolerable(err) {
			return nil, err
		}
		t.Start, t.Stopped = nil, err.Error()
	}
	s.Tables = append(s.Tables, t)
	return t, nil
}

// Remove forgets a table that has not been copied, since its source went.
func (s *Set) Remove(ctx context.Context, t *Table) error {
	err := t.discard(ctx)
	s.Tables = slices.DeleteFunc(s.Tables, func(x *Table) bool { return x == t })
	return err
}

// MarkRecopy notes, in what is saved next, whether a table is to be copied again;
// Recopy follows when the position is behind what asks for it.
func (s *Set) MarkRecopy(t *Table, yes bool) {
	if st := s.state.Tables[t.ID.String()]; st != nil {
		st.Recopy = yes
	}
	s.dirty = true
}

// Recopy makes a table that is followed, or stopped, wait for a copy. Its rows
// stay as they are, at the position that they have, until the copied ones replace
// them in one step; with repair only the rows that differ are written. Nothing of it
// may wait for a commit.
func (s *Set) Recopy(ctx context.Context, t *Table, repair bool) error {
	st := s.state.Tables[t.ID.String()]
	if st == nil { // it was never copied
		t.Start, t.Stopped = nil, ""
		return nil
	}
	st.Recopy, st.Repair, st.Stopped, st.Position, st.Next = true, repair, "", "", nil
	if err := s.SaveState(ctx); err != nil {
		return err
	}
	err := t.discard(ctx)
	t.Start, t.Stopped, t.Definitions, t.Copying = nil, "", nil, nil
	t.repair = repair
	t.replace, t.CaughtUp, t.evolved, t.truncate, t.unshaped = true, false, false, false, false
	return err
}

// refit alters the lake table of a copy that replaces rows, so that it holds the
// definitions that the source has now.
func (s *Set) refit(ctx context.Context, t *Table, was, now []*source.Table) error {
	rules := s.o.Rules
	if rules == nil {
		rules = &transform.Rules{}
	}
	policy := evolve.Policy{Behavior: evolve.Lenient}
	if p := s.o.Policy; p != nil {
		policy = *p
	}
	if policy.Behavior == evolve.Exception || len(now) > 1 && policy.Behavior != evolve.Ignore {
		policy.Behavior = evolve.Lenient
	}
	ignored := map[string][]string{}
	for _, d := range now {
		old := &source.Table{ID: d.ID}
		if i := slices.IndexFunc(was, func(x *source.Table) bool { return x.ID == d.ID }); i >= 0 {
			old = was[i].Clone()
			old.Number()
			d.Adopt(old)
		} else {
			d.Number()
		}
		after, err := rules.Bind(d.Clone(), t.shard)
		if err != nil {
			return err
		}
		before := &transform.Shape{Output: &source.Table{ID: d.ID, PrimaryKey: after.Output.PrimaryKey}}
		if len(old.Columns) > 0 {
			if before, err = rules.Bind(old, t.shard); err != nil {
				return err
			}
		}
		lake := t.table.Schema()
		d2 := evolve.Decide(&policy, before.Output, after.Output, lake, t.ignored[d.ID.String()])
		if why := d2.Stop + d2.Fail; why != "" {
			return errs.New(errs.User, errs.TableStopped, "%s; drop the lake table to copy it again", why)
		}
		d2.Changes = slices.DeleteFunc(d2.Changes, func(c catalog.SchemaChange) bool {
			return c.Kind == catalog.AddColumn && lake.Column(c.Path[0]) >= 0
		})
		if len(d2.Ignored) > 0 {
			ignored[d.ID.String()] = d2.Ignored
		}
		if err := s.alter(ctx, t, d2.Changes); err != nil {
			if tolerable(err) {
				err = errs.New(errs.User, errs.TableStopped, "the lake table %s cannot follow: %w; drop it to copy it again", t.ID, err)
			}
			return err
		}
		if len(d2.Changes) > 0 {
			if err := s.reopen(ctx, t); err != nil {
				return err
			}
		}
	}
	t.ignored = ignored
	return nil
}

// Aside is the copy of a table beside the rounds of the others. It has a writer of
// its own, and is used by one goroutine, which may be another than the set's.
type Aside struct{ t *Table }

// Aside begins such a copy of a table that Create has prepared.
func (s *Set) Aside(t *Table) *Aside {
	x := &Table{ID: t.ID, Sources: t.Sources, Definitions: t.Definitions, set: &Set{o: s.o}, table: t.table, commit: t.commit,
		write: t.write, shard: t.shard, shapes: t.shapes, replace: t.replace, repair: t.repair}
	x.set.Tables = []*Table{x} // memory that is short is made here, not in the others' writers
	t.write = nil
	return &Aside{x}
}

// Append is Table.Append.
func (x *Aside) Append(ctx context.Context, def *source.Table, rows source.Rows) (n int64, done bool, _ error) {
	return x.t.Append(ctx, def, rows, true)
}

// From is Table.From.
func (x *Aside) From(o transform.Origin) { x.t.From(o) }

// Repairs returns the lake table whose rows are to be repaired, nil when they are to
// be replaced. Only tables whose rows have a key that deletes find, and that keep
// the last row of each, can be.
func (x *Aside) Repairs() connector.Readable {
	if !x.t.repair {
		return nil
	}
	r, ok := x.t.table.(connector.Readable)
	s := x.t.table.Schema()
	o := s.Options
	if e := o["merge-engine"]; !ok || len(s.PrimaryKeys) == 0 || e != "" && e != "deduplicate" || o["sequence.field"] != "" || o["rowkind.field"] != "" || o["changelog-producer"] == "input" {
		return nil
	}
	return r
}

// Whole says that a copy replaces all rows of a table.
func (s *Set) Whole(t *Table) { t.repair = false }

// Whole says that the rows are replaced after all.
func (x *Aside) Whole() { x.t.repair = false }

// Shape is how rows of a source table become those of the lake.
func (x *Aside) Shape(id source.ID) *transform.Shape { return x.t.shapes[id] }

// Write adds rows of the lake table, with their kinds.
func (x *Aside) Write(ctx context.Context, b *vector.Batch) error {
	t := x.t
	if err := t.openWriter(ctx, true); err != nil {
		return err
	}
	err := t.write.Write(ctx, b)
	if errs.Is(err, errs.MemoryLimit) {
		if err = t.set.relieve(ctx); err == nil {
			err = t.write.Write(ctx, b)
		}
	}
	t.rows += int64(b.Rows())
	return err
}

// Forget makes the low-water position unknown: the log does not lead on from it.
func (s *Set) Forget() {
	s.state.Position, s.dirty = "", true
	if s.o.Live != nil {
		s.o.Live.at = nil // where views were may never come again either
	}
}

// Finish makes files of everything appended.
func (x *Aside) Finish(ctx context.Context) error { return x.t.flush(ctx) }

// Discard throws away what was appended.
func (x *Aside) Discard(ctx context.Context) error { return x.t.discard(ctx) }

// CommitAside makes a finished copy visible as of pos. The stream must be read
// again from there for the table.
func (s *Set) CommitAside(ctx context.Context, t *Table, x *Aside, pos source.Position) (rows int64, err error) {
	t.pending, t.rows, t.bytes = x.t.pending, x.t.rows, x.t.bytes
	t.Read += x.t.Read
	t.write, t.repair = x.t.write, x.t.repair
	x.t.pending, x.t.write = nil, nil
	rows, err = s.CommitCopy(ctx, t, pos)
	if err != nil {
		err = errors.Join(err, t.discard(ctx))
	}
	return rows, err
}

// lower moves the low-water position back, before a table stands at pos that has
// less: what a start takes is the later of the two.
func (s *Set) lower(ctx context.Context, pos source.Position) error {
	if s.state.Position == "" {
		return nil
	}
	low, err := s.o.Parse(s.state.Position)
	if err != nil || pos.Covers(low) {
		return err
	}
	s.state.Position = low.Meet(pos).String()
	return s.SaveState(ctx)
}
