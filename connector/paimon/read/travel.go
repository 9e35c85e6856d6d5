package read

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Resolve returns what ref names. The newest version is read under the table's
// newest schema, any other under the columns of its snapshot's schema and the
// newest options, as Java does; changes under the newest schema.
func (s *Source) Resolve(ctx context.Context, ref catalog.Ref) (*State, error) {
	var snap *spec.Snapshot
	var err error
	switch ref.Kind {
	case catalog.Latest:
		if snap, err = s.Latest(ctx); err != nil {
			return nil, err
		}
		schema, err := s.NewestSchema(ctx)
		if err != nil {
			return nil, err
		}
		if travels(schema.Options) {
			return s.byOptions(ctx, schema, ref.Zone)
		}
		return s.newestState(ctx, snap, schema), nil
	case catalog.ByOptions:
		schema, err := s.NewestSchema(ctx)
		if err == nil {
			schema, err = s.merged(schema, ref.Options)
		}
		if err != nil {
			return nil, err
		}
		return s.byOptions(ctx, schema, ref.Zone)
	case catalog.BySnapshot:
		snap, err = s.ByID(ctx, ref.ID)
	case catalog.ByTag:
		snap, err = s.Tag(ctx, ref.Name)
	case catalog.ByTimestamp:
		snap, err = s.AtTime(ctx, ref.Time)
	case catalog.ByVersion:
		snap, err = s.Version(ctx, ref.Name)
	default:
		err = errs.Internalf("a table reference of kind %d", ref.Kind)
	}
	if err != nil {
		return nil, err
	}
	newest, err := s.NewestSchema(ctx)
	if err != nil {
		return nil, err
	}
	st, err := s.at(ctx, snap, newest)
	if err != nil {
		return nil, err
	}
	st.fallback, st.fallbackErr = s.fallbackAt(ctx, newest, ref, snap)
	return st, nil
}

// Newest returns the newest version whatever the table's options say to read:
// what writers go on from.
func (s *Source) Newest(ctx context.Context) (*State, error) {
	snap, err := s.Latest(ctx)
	if err != nil {
		return nil, err
	}
	schema, err := s.NewestSchema(ctx)
	if err != nil {
		return nil, err
	}
	return s.newestState(ctx, snap, schema), nil
}

// newestState makes the state of the newest snapshot under the newest schema.
func (s *Source) newestState(ctx context.Context, snap *spec.Snapshot, schema *catalog.Schema) *State {
	st := s.whole(ctx, snap, schema)
	st.newest = schema
	return st
}

// whole makes the state of the newest snapshot.
func (s *Source) whole(ctx context.Context, snap *spec.Snapshot, schema *catalog.Schema) *State {
	st := NewState(s, snap, schema)
	st.fallback, st.fallbackErr = s.fallback(ctx, schema)
	return st
}

// at makes the state of a snapshot under its own schema with the options of
// newest.
func (s *Source) at(ctx context.Context, snap *spec.Snapshot, newest *catalog.Schema) (*State, error) {
	if newest.ID == snap.SchemaID {
		return NewState(s, snap, newest), nil
	}
	schema, err := s.Schema(ctx, snap.SchemaID)
	if err != nil {
		return nil, err
	}
	c := *schema
	c.Options = newest.Options
	return NewState(s, snap, &c), nil
}

// byOptions returns what the options of schema say to read, in a batch
// (paimon-format: time travel and scan modes).
func (s *Source) byOptions(ctx context.Context, schema *catalog.Schema, zone *time.Location) (*State, error) {
	start, err := s.startupOf(schema.Options)
	if err != nil {
		return nil, err
	}
	newest := func() (*State, error) {
		snap, err := s.Latest(ctx)
		if err != nil {
			return nil, err
		}
		return s.whole(ctx, snap, schema), nil
	}
	switch start.mode {
	case "latest-full", "latest":
		return newest()
	case "compacted-full":
		snap, err := s.compacted(ctx, start.o)
		if err != nil {
			return nil, err
		}
		return NewState(s, snap, schema), nil
	case "from-timestamp", "from-snapshot", "from-snapshot-full":
		snap, err := s.chosen(ctx, start, zone)
		if err != nil {
			return nil, err
		}
		return s.at(ctx, snap, schema)
	case "from-file-creation-time", "from-creation-timestamp":
		millis, err := start.number(optFileCreation)
		if start.mode == "from-creation-timestamp" {
			if millis, err = start.number(optCreation); err != nil {
				return nil, err
			}
			snap, err := s.firstFrom(ctx, millis)
			if err != nil {
				return nil, err
			}
			if snap != nil {
				return NewState(s, snap, schema), nil
			}
		}
		if err != nil {
			return nil, err
		}
		st, err := newest()
		if err == nil {
			st.createdFrom = &millis
		}
		return st, err
	case "latest-delta":
		snap, err := s.Latest(ctx)
		if err != nil || snap == nil {
			return NewState(s, nil, schema), err
		}
		return s.changesOf(ctx, []*spec.Snapshot{snap}, false, schema), nil
	}
	return s.incremental(ctx, start, schema, zone)
}

// number reads an option that is a whole number and is there.
func (st startup) number(key string) (int64, error) {
	n, err := strconv.ParseInt(st.o.String(key, ""), 10, 64)
	if err != nil {
		return 0, errs.Userf(errs.WrongArguments, "read the option '%s': '%s' is no whole number", key, st.o.String(key, ""))
	}
	return n, nil
}

// chosen returns the snapshot that the options of a start name.
func (s *Source) chosen(ctx context.Context, start startup, zone *time.Location) (*spec.Snapshot, error) {
	o := start.o
	switch {
	case o.Has(optTimestamp):
		at, err := parseTime(o.String(optTimestamp, ""), zone)
		if err != nil {
			return nil, errs.Userf(errs.WrongArguments, "read the option '%s': %w", optTimestamp, err)
		}
		return s.AtTime(ctx, at)
	case o.Has(optTimestampMilli):
		ms, err := start.number(optTimestampMilli)
		if err != nil {
			return nil, err
		}
		return s.AtTime(ctx, time.UnixMilli(ms))
	case o.Has(optSnapshot):
		id, err := start.number(optSnapshot)
		if err != nil {
			return nil, err
		}
		return s.ByID(ctx, id)
	case o.Has(optTag):
		return s.Tag(ctx, o.String(optTag, ""))
	case o.Has(optWatermark):
		w, err := start.number(optWatermark)
		if err != nil {
			return nil, err
		}
		return s.atWatermark(ctx, w)
	}
	return s.Version(ctx, o.String(optVersion, ""))
}

// timeLayouts are the forms of a date and time in options; digits of a second
// may follow.
var timeLayouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// parseTime reads a date and time in a zone, to the millisecond as Java does.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	if zone == nil {
		zone = time.UTC
	}
	text = strings.TrimSpace(text)
	for _, l := range timeLayouts {
		if t, err := time.ParseInLocation(l, text, zone); err == nil {
			return time.UnixMilli(t.UnixMilli()), nil
		}
	}
	return time.Time{}, fmt.Errorf("'%s' is no date and time such as '2026-06-20 00:00:00'", text)
}

// compacted returns the newest snapshot that compaction made, or with
// 'full-compaction.delta-commits' the newest that compacted everything; the
// newest of all when there is none.
func (s *Source) compacted(ctx context.Context, o *spec.Options) (*spec.Snapshot, error) {
	every := int64(0)
	if o.Has("full-compaction.delta-commits") || strings.EqualFold(o.String("changelog-producer", "none"), "full-compaction") {
		if every = o.Int("full-compaction.delta-commits", 1); o.Err != nil || every <= 0 {
			return nil, errs.Userf(errs.InvalidConfig, "read table %s: 'full-compaction.delta-commits' is no number above 0", s.Name)
		}
	}
	ids, err := s.IDs(ctx)
	if err != nil {
		return nil, err
	}
	var newest *spec.Snapshot
	for _, id := range slices.Backward(ids) {
		snap, err := s.read(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue // expired or rolled back meanwhile
		}
		if err != nil {
			return nil, err
		}
		if newest == nil {
			newest = snap
		}
		if snap.CommitKind == spec.KindCompact && (every == 0 || snap.CommitIdentifier%every == 0 || snap.CommitIdentifier == 1<<63-1) {
			return snap, nil
		}
	}
	return newest, nil
}

// before returns the newest snapshot that is older than millis (with orAt: or as
// old), nil when there is none, and the earliest snapshot, nil without any.
// Commit times do not decrease, so that a binary search finds it.
func (s *Source) before(ctx context.Context, millis int64, orAt bool) (found, earliest *spec.Snapshot, err error) {
	ids, err := s.IDs(ctx)
	if err != nil {
		return nil, nil, err
	}
	for len(ids) > 0 && earliest == nil {
		if earliest, err = s.read(ctx, ids[0]); errs.Is(err, errs.FileNotFound) {
			ids, err = ids[1:], nil // expired meanwhile
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for lo, hi := 0, len(ids); lo < hi; {
		mid := (lo + hi) / 2
		snap, err := s.read(ctx, ids[mid])
		if errs.Is(err, errs.FileNotFound) { // so are all before
			lo = mid + 1
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if snap.TimeMillis < millis || orAt && snap.TimeMillis == millis {
			found, lo = snap, mid+1
		} else {
			hi = mid
		}
	}
	return found, earliest, nil
}

// firstFrom returns the first snapshot as young as millis or younger, nil when
// there is none or when nothing older is left: what was before is not known.
func (s *Source) firstFrom(ctx context.Context, millis int64) (*spec.Snapshot, error) {
	older, earliest, err := s.before(ctx, millis, false)
	if err != nil || earliest == nil {
		return nil, err
	}
	next := int64(0)
	if older != nil {
		next = older.ID + 1
	} else {
		// A changelog that outlived its snapshot is older, too.
		log, err := s.changelog(ctx, earliest.ID-1)
		if errs.Is(err, errs.FileNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if log.TimeMillis >= millis {
			return nil, errs.Userf(errs.UnknownSnapshot, "table %s: the snapshot of %s has expired; its earliest, %d, is of %s", s.Name, stamp(time.UnixMilli(millis)), earliest.ID, stamp(time.UnixMilli(earliest.TimeMillis)))
		}
		next = earliest.ID
	}
	snap, err := s.read(ctx, next)
	if errs.Is(err, errs.FileNotFound) {
		return nil, nil
	}
	return snap, err
}

// changelog returns a changelog that outlived its snapshot (paimon-format:
// decoupled changelog).
func (s *Source) changelog(ctx context.Context, id int64) (*spec.Snapshot, error) {
	path := fmt.Sprintf("%s/changelog-%d", s.paths(nil).ChangelogDir(), id)
	snap, err := parse(ctx, s, path, spec.ParseSnapshot)
	if err == nil && snap.ID != id {
		err = errs.Corruptf("table %s: the file of changelog %d holds changelog %d", s.Name, id, snap.ID)
	}
	return snap, err
}
