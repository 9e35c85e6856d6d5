package sink

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/ingest/evolve"
	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/ingest/transform"
	"github.com/thermocline/thermocline/internal/errs"
)

// Evolving is a change of definitions that was begun: written to the state before
// the lake table is altered, gone when a snapshot has the position behind it.
//
//	1  commit everything up to the statement
//	2  state: Next = the new definitions, and the lake's schema before
//	3  alter the lake table, all in one schema
//	4  commit, empty: the position behind the statement, the new fingerprint
//	5  state: the new definitions, Next gone
//
// After a crash the fingerprint of the newest own snapshot tells 4 apart, and the
// lake's schema id tells 3 apart; before 4 the statement comes again from the log.
type Evolving struct {
	Sources []*source.Table     `json:"sources"`
	Schema  int64               `json:"schema"`
	Ignored map[string][]string `json:"ignored,omitempty"`
}

// Evolve follows a change of a source table's definition: it alters the lake
// table as the policy says, and fits rows by the new definition from now on. The
// next commit makes it last. notes are for people.
//
// Errors: of kind errs.TableStopped when the table cannot follow; others end the
// pipeline.
func (s *Set) Evolve(ctx context.Context, t *Table, def *source.Table, p *evolve.Policy) (notes []string, _ error) {
	stopped := func(format string, args ...any) error {
		return errs.New(errs.User, errs.TableStopped, format, args...)
	}
	i := slices.IndexFunc(t.Definitions, func(d *source.Table) bool { return d.ID == def.ID })
	if i < 0 {
		return nil, errs.Internalf("alter %s: it has no source %s", t.ID, def.ID)
	}
	rules := s.o.Rules
	if rules == nil {
		rules = &transform.Rules{}
	}
	before, err := rules.Bind(t.Definitions[i].Clone(), t.shard)
	if err != nil {
		return nil, err
	}
	after, err := rules.Bind(def.Clone(), t.shard)
	if err != nil {
		return nil, stopped("the new definition does not fit the transform: %w", err)
	}
	definitions := slices.Clone(t.Definitions)
	definitions[i] = def.Clone()
	st := s.state.Tables[t.ID.String()]
	lake := t.table.Schema()
	ignored := map[string][]string{}
	for k, v := range t.ignored {
		ignored[k] = v
	}
	if st.Next != nil && Fingerprint(st.Next.Sources) == Fingerprint(definitions) && st.Next.Schema != lake.ID {
		ignored = st.Next.Ignored // the lake table was altered before a crash
	} else {
		policy := *p
		merged := len(t.Definitions) > 1
		if merged && policy.Behavior != evolve.Ignore && policy.Behavior != evolve.Exception {
			// Other tables feed it too: it gains columns and types, and loses none.
			policy.Behavior = evolve.Lenient
		}
		d := evolve.Decide(&policy, before.Output, after.Output, lake, t.ignored[def.ID.String()])
		if merged {
			d.Changes = slices.DeleteFunc(d.Changes, func(c catalog.SchemaChange) bool {
				f := lake.Column(c.Path[0])
				o := after.Output.Column(c.Path[0])
				return c.Kind == catalog.SetColumnType && f >= 0 && o >= 0 && transform.Holds(after.Output.Columns[o], lake.Fields[f].Type, lake.MySQLType(lake.Fields[f]))
			})
		}
		switch {
		case d.Fail != "":
			return nil, errs.Userf(errs.InvalidTable, "follow %s: %s", def.ID, d.Fail)
		case d.Stop != "":
			return nil, stopped("%s", d.Stop)
		}
		notes = d.Notes
		if delete(ignored, def.ID.String()); len(d.Ignored) > 0 {
			ignored[def.ID.String()] = d.Ignored
		}
		st.Next = &Evolving{Sources: definitions, Schema: lake.ID, Ignored: ignored}
		if err := s.SaveState(ctx); err != nil {
			return nil, err
		}
		s.o.Live.freeze(t.ID.String(), lake.ID)
		if err := s.alter(ctx, t, d.Changes); err != nil {
			if policy.Behavior == evolve.TryEvolve && tolerable(err) {
				// What the lake refuses is left as it was.
				policy.Behavior = evolve.Ignore
				if d = evolve.Decide(&policy, before.Output, after.Output, lake, t.ignored[def.ID.String()]); d.Stop == "" {
					notes = append(d.Notes, "the lake table refuses the change: "+err.Error())
					if delete(ignored, def.ID.String()); len(d.Ignored) > 0 {
						ignored[def.ID.String()] = d.Ignored
					}
					err = s.alter(ctx, t, d.Changes)
				}
			}
			if tolerable(err) {
				st.Next = nil
				return nil, stopped("the lake table %s cannot follow: %w", t.ID, err)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if err := s.reopen(ctx, t); err != nil {
		return nil, err
	}
	t.Definitions, t.ignored = definitions, ignored
	if err := t.shape(); err != nil {
		return nil, stopped("its rows do not fit any more: %w", err)
	}
	t.unshaped = false
	t.print = Fingerprint(definitions)
	t.evolved = true
	t.wait()
	return notes, nil
}

// tolerable reports whether the lake table refused a change, other than failing.
func tolerable(err error) bool {
	c := errs.ClassOf(err)
	return err != nil && (c == errs.User || c == errs.Unsupported)
}

func (s *Set) alter(ctx context.Context, t *Table, changes []catalog.SchemaChange) error {
	if len(changes) == 0 {
		return nil
	}
	k, ok := s.o.Catalog.(catalog.Altering)
	if !ok {
		return errs.Unsupportedf(-1, "changing tables of this sink")
	}
	return k.AlterTable(ctx, t.ID, changes)
}

// Truncate empties the lake table with the next commit.
func (t *Table) Truncate() {
	t.truncate = true
	t.wait()
}

// settle makes the new definitions of committed tables the ones of the state. It
// reports whether the state must be written.
func (s *Set) settle(t *Table) bool {
	t.truncate = false
	if !t.evolved {
		return false
	}
	t.evolved = false
	st := s.state.Tables[t.ID.String()]
	st.Sources, st.Ignored, st.Next = t.Definitions, t.ignored, nil
	s.dirty = true
	return true
}

// resumeEvolving finds out whether a change that was begun is in the table. It
// reports whether the definitions are those that the newest own snapshot, whose
// fingerprint print is, was made by.
func (t *Table) resumeEvolving(st *TableState, print string) bool {
	if st.Next != nil && print == Fingerprint(st.Next.Sources) {
		st.Sources, st.Ignored, st.Next = st.Next.Sources, st.Next.Ignored, nil
	}
	t.Definitions, t.ignored = st.Sources, st.Ignored
	same := print == Fingerprint(t.Definitions)
	for _, d := range t.Definitions {
		if d.NextColumn == 0 { // kept by an earlier version, which counted them otherwise
			d.Number()
			same = true
		}
	}
	return same
}

// Definition returns the definition of a source table, nil when it does not feed
// the lake table.
func (t *Table) Definition(id source.ID) *source.Table {
	for _, d := range t.Definitions {
		if d.ID == id {
			return d
		}
	}
	return nil
}
