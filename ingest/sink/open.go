package sink

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
)

// Open finds out where each table stands, verifies that nobody else changed
// what the positions rely on, and raises the epoch. It creates no table.
func Open(ctx context.Context, o Options, specs []Spec) (*Set, error) {
	s := &Set{o: o, state: o.State}
	if s.state == nil {
		s.state = &State{Pipeline: o.Pipeline, Source: o.Identity, Tables: map[string]*TableState{}, n: -1}
	}
	var low source.Position
	if s.state.Position != "" {
		var err error
		if low, err = o.Parse(s.state.Position); err != nil {
			return nil, err
		}
	}
	if s.state.Source != o.Identity {
		now, err := s.adopt(ctx, low)
		if err != nil {
			return nil, errs.New(errs.ClassOf(err), errs.KindOf(err), "start pipeline %s: its positions are of the server %q, but the source is now %q, which cannot take over (%w); point it back, or drop its tables and %s to copy from the new one",
				o.Pipeline, s.state.Source, o.Identity, err, o.Dir)
		}
		o.Log.Warn("another server has taken over: it has every transaction up to the pipeline's position", "pipeline", o.Pipeline, "was", s.state.Source, "now", o.Identity)
		low = now
		s.state.Position = low.String()
	}
	newest := s.state.Epoch
	orderly := o.State == nil || o.State.Closed
	var fence []*Table
	for _, spec := range specs {
		t := &Table{ID: spec.ID, Sources: spec.Sources, shard: spec.ShardKey, set: s}
		own, err := s.resume(ctx, t, low)
		if err != nil {
			return nil, err
		}
		if own != nil {
			newest = max(newest, epochOf(own))
			s.state.Seq = max(s.state.Seq, own.Identifier)
			if !orderly && t.Stopped == "" && t.Start != nil {
				fence = append(fence, t)
			}
		}
		s.Tables = append(s.Tables, t)
	}
	s.state.Epoch, s.state.Closed, s.state.Source = newest+1, false, o.Identity
	if err := s.SaveState(ctx); err != nil {
		return nil, err
	}
	// Who ran the pipeline before did not say that it ended: it may be alive. An
	// empty commit of the new epoch in each table makes its late ones fail.
	s.state.Seq++
	for _, t := range fence {
		if err := t.commitRows(ctx, nil, t.Start, time.Time{}, true); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// adopt asks whether the present server leads on from a position of another.
func (s *Set) adopt(ctx context.Context, pos source.Position) (source.Position, error) {
	if s.o.Adopt == nil || pos == nil {
		return nil, errs.Userf(errs.SourceGone, "it has no global transaction ids")
	}
	return s.o.Adopt(ctx, pos)
}

func orNone(rules string) string {
	if rules == "" {
		return "none"
	}
	return rules
}

func epochOf(info *connector.SnapshotInfo) int64 {
	n, err := strconv.ParseInt(info.Properties[PropEpoch], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// resume opens an existing lake table and decides where it stands.
func (s *Set) resume(ctx context.Context, t *Table, low source.Position) (*connector.SnapshotInfo, error) {
	st := s.state.Tables[t.ID.String()]
	tb, err := s.o.Catalog.Table(ctx, t.ID)
	if errs.Is(err, errs.UnknownTable) || errs.Is(err, errs.UnknownDatabase) {
		if st != nil {
			s.o.Log.Info("the lake table is gone and is copied again", "pipeline", s.o.Pipeline, "table", t.ID.String())
			delete(s.state.Tables, t.ID.String())
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.open(ctx, tb); err != nil {
		return nil, err
	}
	// The version is read first: what comes late between the two is then an own
	// snapshot, not a stranger's.
	version := int64(0)
	if r, ok := tb.(connector.Readable); ok {
		sn, err := r.Snapshot(ctx, catalog.Ref{})
		if err != nil {
			return nil, err
		}
		version = sn.Version()
		t.show(version)
	}
	t.checked = version
	own, err := t.commit.LatestOwn(ctx)
	if err != nil {
		return nil, err
	}
	if t.newest = -1; own != nil {
		t.newest = own.ID
	}
	start := func(format string, args ...any) error {
		return errs.Userf(errs.InvalidTable, "start pipeline %s: the lake table %s "+format, append([]any{s.o.Pipeline, t.ID}, args...)...)
	}
	switch {
	case own == nil && version == 0: // empty: a copy that did not end, or made by the user
		delete(s.state.Tables, t.ID.String())
		if t.making = st != nil && st.Making; t.making {
			s.state.Tables[t.ID.String()] = &TableState{Making: true}
		}
		return nil, nil
	case own == nil && st == nil:
		return nil, start("has rows that this pipeline did not write; drop the table, or route to another one")
	case st != nil && st.UUID != tb.UUID():
		return nil, start("was created anew since the pipeline wrote it; drop the table to copy it again")
	}
	if st == nil {
		st = &TableState{UUID: tb.UUID(), Copied: true}
		s.state.Tables[t.ID.String()] = st
	}
	var adopted source.Position // of own, where another server has taken over
	if own != nil && own.Properties[PropSource] != s.o.Identity && !st.Recopy {
		was, err := s.o.Parse(own.Properties[PropPosition])
		if err != nil {
			return nil, err
		}
		if adopted, err = s.adopt(ctx, was); err != nil {
			return nil, errs.New(errs.ClassOf(err), errs.KindOf(err), "start pipeline %s: the positions of the lake table %s are of the server %q, but the source is now %q, which cannot take over (%w); drop the table to copy it again",
				s.o.Pipeline, t.ID, own.Properties[PropSource], s.o.Identity, err)
		}
	}
	if own != nil && s.o.State != nil && epochOf(own) > s.o.State.Epoch {
		return nil, errs.New(errs.Conflict, errs.Fenced, "start pipeline %s: the lake table %s was committed by a later start (epoch %d) than the state in %s knows (%d): another process runs the pipeline, or the state was restored from a copy",
			s.o.Pipeline, t.ID, epochOf(own), s.o.Dir, s.o.State.Epoch)
	}
	t.Stopped, t.Snapshot, t.seq = st.Stopped, st.Snapshot, st.Seq
	if own != nil {
		t.print = own.Properties[PropSchema]
	} else {
		t.print = Fingerprint(st.Sources)
	}
	same := t.resumeEvolving(st, t.print)
	if own != nil && t.Definitions != nil && !same && t.Stopped == "" {
		t.Stopped = "its newest snapshot was made by other definitions of the source than the pipeline's state has; drop the table to copy it again"
	}
	if own != nil && (own.ID < st.Snapshot || own.Identifier < st.Seq) || own == nil && version < st.Snapshot {
		t.Stopped = "its newest snapshot of this pipeline is older than the one that the pipeline's state knows: it was rolled back; drop the table to copy it again"
	}
	if own == nil && st.Copied && t.Stopped == "" && !s.state.Closed && !s.known(ctx, tb, st.Snapshot+1) {
		t.Stopped = "others have expired its snapshots of this pipeline, which did not end in order: it is not known which changes it has; CALL sys.resnapshot copies it again"
	}
	if st.Recopy {
		t.Definitions, t.Stopped, t.replace, t.repair = nil, "", true, st.Repair
		return own, nil
	}
	if t.Definitions != nil && t.Stopped == "" {
		if was, now := st.Rules, s.rulesOf(t); was != now {
			return nil, start("holds rows that other transform rules made (%s, now %s), which a change of the rules does not make again; drop the table to copy it again, or change the rules back", orNone(was), orNone(now))
		}
		err := t.shape()
		if t.unshaped = err != nil && st.Next != nil; err != nil && !t.unshaped {
			return nil, err
		}
	}
	if t.Stopped != "" {
		if st.Position != "" {
			if t.Start, err = s.o.Parse(st.Position); err != nil {
				return nil, err
			}
		}
		st.Stopped = t.Stopped
		return own, nil
	}
	if own == nil {
		if low == nil || !st.Copied {
			return nil, start("has no snapshot of this pipeline any more, and the state no position; drop the table to copy it again")
		}
		s.o.Log.Warn("the lake table's own snapshots have expired; using the pipeline's position", "pipeline", s.o.Pipeline, "table", t.ID.String())
		t.Start = low
		return nil, nil
	}
	t.Snapshot, t.seq = own.ID, own.Identifier
	if t.Start, err = s.o.Parse(own.Properties[PropPosition]); err != nil {
		return nil, err
	}
	if adopted != nil {
		t.Start = adopted
	}
	if low != nil && st.Copied && low.Covers(t.Start) {
		t.Start = low
	}
	st.Copied = true
	if err := t.resumeCopy(own); err != nil {
		return nil, err
	}
	return own, s.setCopying(ctx, t, t.Copying != nil)
}

// known reports whether the table's snapshots from first on are all there, so
// that none of the pipeline's own is among those that have expired.
func (s *Set) known(ctx context.Context, tb catalog.Table, first int64) bool {
	r, ok := tb.(connector.Readable)
	if !ok {
		return true // keeps no snapshots
	}
	sn, err := r.Snapshot(ctx, catalog.Ref{Kind: catalog.BySnapshot, ID: first})
	return err == nil && sn.Version() == first
}

// open keeps the opened table and its committer.
func (t *Table) open(ctx context.Context, tb catalog.Table) error {
	w, ok := tb.(connector.Writable)
	if !ok {
		return errs.Unsupportedf(-1, "writing the table %s", t.ID)
	}
	t.table = w
	var err error
	t.commit, err = w.NewCommit(ctx, t.set.o.User)
	return err
}

// Intend notes which tables will be made by the pipeline, before they are.
func (s *Set) Intend(ctx context.Context, tables []*Table) error {
	noted := false
	for _, t := range tables {
		if s.state.Tables[t.ID.String()] == nil && (t.table == nil || t.making) {
			t.making, noted = true, true
			s.state.Tables[t.ID.String()] = &TableState{Making: true}
		}
	}
	if !noted {
		return nil
	}
	return s.SaveState(ctx)
}

// sameTable reports whether an empty table is what schema would make.
func sameTable(have, want *catalog.Schema) bool {
	for k, v := range want.Options {
		if have.Options[k] != v && k != connector.CopyingOption {
			return false
		}
	}
	return slices.Equal(have.PrimaryKeys, want.PrimaryKeys) && slices.Equal(have.PartitionKeys, want.PartitionKeys) &&
		slices.EqualFunc(have.Fields, want.Fields, func(a, b catalog.Field) bool { return a.Name == b.Name && a.Type.Equal(b.Type) })
}

// Create makes the lake table for its first copy, or takes the empty one that
// is there. One that the pipeline made, for a copy that did not end, and that the
// source's tables have left behind since, is made anew.
func (s *Set) Create(ctx context.Context, t *Table, definitions []*source.Table, schema *catalog.Schema) error {
	return s.create(ctx, t, definitions, schema, false)
}

func (s *Set) create(ctx context.Context, t *Table, definitions []*source.Table, schema *catalog.Schema, copying bool) error {
	if copying {
		schema.Options[connector.CopyingOption] = "true"
	}
	if err := s.o.Catalog.CreateDatabase(ctx, t.ID.Database, true); err != nil {
		return err
	}
	made := t.table == nil
	if made {
		t.newest = -1
	}
	tb, err := s.o.Catalog.CreateTable(ctx, t.ID, schema, true)
	if err != nil {
		return err
	}
	if t.making && !made && !sameTable(tb.Schema(), schema) {
		if err := s.o.Catalog.DropTable(ctx, t.ID); err != nil {
			return err
		}
		if tb, err = s.o.Catalog.CreateTable(ctx, t.ID, schema, true); err != nil {
			return err
		}
	}
	if err := t.open(ctx, tb); err != nil {
		return err
	}
	was := s.state.Tables[t.ID.String()]
	t.ignored = nil
	if was != nil && t.replace && len(was.Sources) > 0 {
		t.ignored = was.Ignored
		if err := s.refit(ctx, t, was.Sources, definitions); err != nil {
			return err
		}
	}
	// A table that asks for what cannot be written is not left behind.
	if err := t.openWriter(ctx, true); err != nil {
		if made {
			err = errors.Join(err, s.o.Catalog.DropTable(ctx, t.ID))
		}
		return err
	}
	if err := s.setCopying(ctx, t, copying); err != nil {
		return err
	}
	t.Definitions = definitions
	if err := t.shape(); err != nil {
		return err
	}
	t.print = Fingerprint(definitions)
	st := &TableState{UUID: tb.UUID(), Sources: definitions, Rules: s.rulesOf(t), Making: t.making}
	if was != nil && t.replace {
		st.Ignored = t.ignored
		st.Repair = was.Repair
		st.Recopy, st.Snapshot, st.Seq = true, was.Snapshot, was.Seq
	}
	s.state.Tables[t.ID.String()] = st
	s.dirty = true
	return nil
}

// shape binds the pipeline's rules to the table's definitions and verifies that
// the lake table holds what they give. It tells the definitions what the source
// must deliver for the lake table's key.
func (t *Table) shape() error {
	rules := t.set.o.Rules
	if rules == nil {
		rules = &transform.Rules{}
	}
	lake := t.table.Schema()
	keys := slices.Clone(lake.PrimaryKeys)
	for _, p := range lake.PartitionKeys {
		if len(keys) > 0 && !slices.Contains(keys, p) {
			keys = append(keys, p)
		}
	}
	shapes := map[source.ID]*transform.Shape{}
	for _, def := range t.Definitions {
		s, err := rules.Bind(def, t.shard)
		if err == nil {
			s.Leave(t.ignored[def.ID.String()])
			if err = s.Fit(lake); err == nil {
				err = s.Keys(keys, lake.Options["changelog-producer"] == "input")
			}
		}
		if err != nil {
			return errs.New(errs.ClassOf(err), errs.KindOf(err), "write the lake table %s: %w; drop the table to copy it again, or route to another one", t.ID, err)
		}
		shapes[def.ID] = s
	}
	t.shapes = shapes
	return nil
}

// rulesOf identifies the transform rules that rows of the table pass.
func (s *Set) rulesOf(t *Table) string {
	var text string
	if t.shard != "" {
		text = "shard-key " + t.shard + ";"
	}
	if s.o.Rules == nil {
		return text
	}
	for _, id := range t.Sources {
		text += s.o.Rules.Text(id)
	}
	return text
}
