package read

import (
	"context"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// changes is what a state stands for when it is no version of the table
// (paimon-format: incremental). Either the rows of the files that snapshots
// added, in their data files or in their changelog, read as they are; or, with
// diff, what differs between the files of two versions.
type changes struct {
	snaps     []*spec.Snapshot // ascending; their delta or changelog
	changelog bool

	diff   bool
	before *spec.Snapshot // nil: the table was empty

	postponed bool // files that wait for a bucket count, too
	overwrite bool // the one snapshot is an overwrite, which takes files away
}

// changesOf makes the state of the rows that snapshots added, without any when
// there are no snapshots.
func (s *Source) changesOf(_ context.Context, snaps []*spec.Snapshot, changelog bool, schema *catalog.Schema) *State {
	if len(snaps) == 0 {
		return NewState(s, nil, schema)
	}
	st := NewState(s, snaps[len(snaps)-1], schema)
	st.changes = &changes{snaps: snaps, changelog: changelog}
	return st
}

// diffOf makes the state of what differs between two versions.
func (s *Source) diffOf(before, after *spec.Snapshot, schema *catalog.Schema) *State {
	st := NewState(s, after, schema)
	st.changes = &changes{diff: true, before: before}
	st.level0 = showLevel0 // levels hide nothing: what was written is there
	return st
}

// incremental returns what incremental options say to read.
func (s *Source) incremental(ctx context.Context, start startup, schema *catalog.Schema, zone *time.Location) (*State, error) {
	mode := strings.ToLower(start.o.String(optBetweenMode, "auto"))
	changelog := mode == "changelog"
	switch mode {
	case "auto":
		changelog = strings.ToLower(start.o.String("changelog-producer", "none")) != "none"
	case "delta", "changelog", "diff":
	default:
		return nil, errs.Userf(errs.WrongArguments, "read table %s: '%s' is '%s', which is none of auto, delta, changelog and diff", s.Name, optBetweenMode, mode)
	}
	switch {
	case start.o.Has(optBetween):
		return s.between(ctx, start, mode == "diff", changelog, schema)
	case start.o.Has(optBetweenTime):
		return s.betweenTimes(ctx, start, mode == "diff", changelog, schema, zone)
	}
	return s.toAutoTag(ctx, start, schema)
}

// pair cuts "a,b".
func (s *Source) pair(start startup, key string) (a, b string, err error) {
	parts := strings.Split(start.o.String(key, ""), ",")
	if len(parts) != 2 {
		return "", "", errs.Userf(errs.WrongArguments, "read table %s: '%s' is '%s', not two values with a comma between", s.Name, key, start.o.String(key, ""))
	}
	return strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), nil
}

// between reads the changes between two tags, or two snapshots.
func (s *Source) between(ctx context.Context, start startup, diff, changelog bool, schema *catalog.Schema) (*State, error) {
	a, b, err := s.pair(start, optBetween)
	if err != nil {
		return nil, err
	}
	from, err := s.tag(ctx, a)
	if err != nil {
		return nil, err
	}
	to, err := s.tag(ctx, b)
	if err != nil {
		return nil, err
	}
	if from != nil && to != nil {
		if from.ID > to.ID {
			return nil, errs.Userf(errs.WrongArguments, "read table %s: '%s' is '%s': the first tag has snapshot %d, the second the older one %d", s.Name, optBetween, start.o.String(optBetween, ""), from.ID, to.ID)
		}
		switch {
		case from.ID == to.ID:
			return NewState(s, nil, schema), nil
		case start.o.Bool(optTagToSnapshot, false) && !diff:
			return s.range_(ctx, from.ID, to.ID, changelog, schema)
		}
		return s.diffOf(from, to, schema), start.o.Err
	}
	i, err1 := strconv.ParseInt(a, 10, 64)
	j, err2 := strconv.ParseInt(b, 10, 64)
	switch {
	case err1 != nil || err2 != nil:
		return nil, errs.Userf(errs.UnknownSnapshot, "read table %s: '%s' is '%s', which are neither two tags nor two snapshot ids", s.Name, optBetween, start.o.String(optBetween, ""))
	case i > j:
		return nil, errs.Userf(errs.WrongArguments, "read table %s: '%s' is '%s': the second snapshot is before the first", s.Name, optBetween, start.o.String(optBetween, ""))
	case i == j:
		return NewState(s, nil, schema), nil
	}
	if !diff {
		return s.range_(ctx, i, j, changelog, schema)
	}
	if from, err = s.ByID(ctx, i); err == nil {
		to, err = s.ByID(ctx, j)
	}
	if err != nil {
		return nil, err
	}
	return s.diffOf(from, to, schema), nil
}

// range_ reads what the snapshots after from, up to to, added.
func (s *Source) range_(ctx context.Context, from, to int64, changelog bool, schema *catalog.Schema) (*State, error) {
	ids, err := s.IDs(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case len(ids) == 0:
		return NewState(s, nil, schema), nil
	case from < ids[0]-1 || to > ids[len(ids)-1]:
		return nil, errs.Userf(errs.UnknownSnapshot, "table %s has no changes from snapshot %d to %d: its snapshots are %d to %d", s.Name, from, to, ids[0], ids[len(ids)-1])
	}
	var snaps []*spec.Snapshot
	var last *spec.Snapshot
	for id := from + 1; id <= to; id++ {
		if last, err = s.ByID(ctx, id); err != nil {
			return nil, err
		}
		if changelog && last.CommitKind != spec.KindOverwrite || !changelog && last.CommitKind == spec.KindAppend {
			snaps = append(snaps, last)
		}
	}
	st := s.changesOf(ctx, snaps, changelog, schema)
	if st.snap != nil {
		st.snap = last
	}
	return st, nil
}

// betweenTimes reads the changes between two moments.
func (s *Source) betweenTimes(ctx context.Context, start startup, diff, changelog bool, schema *catalog.Schema, zone *time.Location) (*State, error) {
	a, b, err := s.pair(start, optBetweenTime)
	if err != nil {
		return nil, err
	}
	i, err1 := strconv.ParseInt(a, 10, 64)
	j, err2 := strconv.ParseInt(b, 10, 64)
	if err1 != nil || err2 != nil {
		from, err := parseTime(a, zone)
		if err == nil {
			var to time.Time
			to, err = parseTime(b, zone)
			i, j = from.UnixMilli(), to.UnixMilli()
		}
		if err != nil {
			return nil, errs.Userf(errs.WrongArguments, "read the option '%s': %w", optBetweenTime, err)
		}
	}
	if i > j {
		return nil, errs.Userf(errs.WrongArguments, "read table %s: '%s' is '%s': the second moment is before the first", s.Name, optBetweenTime, start.o.String(optBetweenTime, ""))
	}
	latest, err := s.Latest(ctx)
	if err != nil {
		return nil, err
	}
	from, earliest, err := s.before(ctx, i, true)
	if err != nil {
		return nil, err
	}
	to, _, err := s.before(ctx, j, true)
	if err != nil {
		return nil, err
	}
	if latest == nil || i == j || i > latest.TimeMillis || to == nil {
		return NewState(s, nil, schema), nil
	}
	if !diff {
		first := earliest.ID - 1
		if from != nil {
			first = from.ID
		}
		return s.range_(ctx, first, to.ID, changelog, schema)
	}
	if from == nil && earliest.ID > 1 {
		// What was there before the earliest is not known any more; Java counts it
		// as unchanged.
		from = earliest
	}
	return s.diffOf(from, to, schema), nil
}

// autoTagLayouts are the forms of the names of tags that are made by period.
var autoTagLayouts = map[string]map[string]string{
	"daily":     {"with_dashes": "2006-01-02", "without_dashes": "20060102", "without_dashes_and_spaces": "20060102"},
	"hourly":    {"with_dashes": "2006-01-02 15", "without_dashes": "20060102 15", "without_dashes_and_spaces": "2006010215"},
	"two-hours": {"with_dashes": "2006-01-02 15", "without_dashes": "2006-01-02 15", "without_dashes_and_spaces": "2006-01-02 15"},
}

// toAutoTag reads what differs between a tag that was made by period and the one
// before it.
func (s *Source) toAutoTag(ctx context.Context, start startup, schema *catalog.Schema) (*State, error) {
	period, form := strings.ToLower(start.o.String("tag.creation-period", "daily")), strings.ToLower(start.o.String("tag.period-formatter", "with_dashes"))
	layout := autoTagLayouts[period][form]
	if start.o.Has("tag.creation-period-duration") {
		layout = "200601021504"
	}
	if layout == "" {
		return nil, errs.Userf(errs.InvalidConfig, "read table %s: 'tag.creation-period' = '%s' with 'tag.period-formatter' = '%s' names no tags", s.Name, period, form)
	}
	when := func(name string) (time.Time, bool) {
		if layout == autoTagLayouts["daily"][form] {
			name, _, _ = strings.Cut(name, " ")
		}
		t, err := time.Parse(layout, name)
		return t, err == nil
	}
	name := start.o.String(optAutoTag, "")
	end, ok := when(name)
	if !ok {
		return nil, errs.Userf(errs.WrongArguments, "read table %s: '%s' is '%s', which is no name of a tag made by period, such as %s", s.Name, optAutoTag, name, layout)
	}
	to, err := s.tag(ctx, name)
	if err != nil || to == nil {
		return NewState(s, nil, schema), err
	}
	names, err := s.Tags(ctx)
	if err != nil {
		return nil, err
	}
	best, at := "", time.Time{}
	for _, n := range names {
		if t, ok := when(n); ok && t.Before(end) && (best == "" || t.After(at)) {
			best, at = n, t
		}
	}
	if best == "" {
		return NewState(s, nil, schema), nil
	}
	from, err := s.tag(ctx, best)
	if err != nil || from == nil {
		return NewState(s, nil, schema), err
	}
	return s.diffOf(from, to, schema), nil
}

// madeFrom reports whether a data file was made at or after a moment. Its time is
// a wall clock.
func madeFrom(e *spec.ManifestEntry, millis int64, zone *time.Location) bool {
	if !e.File.CreationTime.OK {
		return false
	}
	return Instant(e.File.CreationTime.V, zone) >= millis
}

// Instant returns the milliseconds since the epoch at which a wall clock, given
// as milliseconds as if it were UTC's, showed that time in a zone.
func Instant(wall int64, zone *time.Location) int64 {
	if zone == nil {
		return wall
	}
	t := time.UnixMilli(wall).UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).UnixMilli()
}

// planChanges plans the state of changes.
func (st *State) planChanges(ctx context.Context, req connector.ScanRequest) (*connector.Plan, error) {
	for _, c := range req.Columns {
		if c < 0 || c >= len(st.schema.Fields) {
			return nil, errs.Internalf("plan table %s: column %d of %d", st.src.Name, c, len(st.schema.Fields))
		}
		if err := st.src.refuseColumn(st.schema, st.schema.Fields[c]); err != nil {
			return nil, err
		}
	}
	if st.tracking || st.address != nil {
		return nil, errs.Unsupportedf(-1, "row ids of changes (table %s)", st.src.Name)
	}
	if err := st.src.refuseTable(st.schema); err != nil {
		return nil, err
	}
	if evolves(st.schema) {
		return nil, errs.Unsupportedf(-1, "incremental reads of tables with '%s' = 'true' (table %s)", evolutionOption, st.src.Name)
	}
	if st.schema.Options[fallbackOption] != "" {
		return nil, errs.Unsupportedf(-1, "incremental reads of tables with '%s' (table %s)", fallbackOption, st.src.Name)
	}
	g, err := merge.NewRules(st.src.Name, st.schema)
	if err != nil {
		return nil, err
	}
	switch {
	case st.changes.diff:
		return st.planDiff(ctx, req, g)
	case st.changes.overwrite && len(st.schema.PrimaryKeys) > 0:
		return st.planOverwritten(ctx, req, g)
	}
	return st.planAdded(ctx, req, g)
}

// changed returns the files that the snapshots of the changes added, or took
// away, in that order.
func (st *State) changed(ctx context.Context, keep *partitionFilter, kind spec.FileKind) (*liveFiles, error) {
	var metas []spec.ManifestMeta
	var of []*spec.Snapshot
	for _, snap := range st.changes.snaps {
		list := snap.DeltaManifestList
		if st.changes.changelog {
			if list = snap.ChangelogManifestList; list == "" {
				continue
			}
		}
		at := *st
		at.snap = snap
		all, err := at.manifestList(ctx, list)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if keep == nil || keep.manifest(&all[i]) {
				metas, of = append(metas, all[i]), append(of, snap)
			}
		}
	}
	l := &liveFiles{schemas: st.knownSchemas()}
	var err error
	if l.sets, err = st.manifests(ctx, metas); err != nil {
		return nil, err
	}
	for s, x := range l.sets {
		wanted := make([]bool, len(x.Partitions()))
		for p, row := range x.Partitions() {
			wanted[p] = true
			if keep == nil {
				continue
			}
			if wanted[p], err = keep.partition(row); err != nil {
				return nil, st.src.vanished(of[s], metas[s].FileName, err)
			}
		}
		for i := range x.Len() {
			switch {
			case st.changes.overwrite && x.Kind(i) != kind:
			case x.Kind(i) != kind:
				return nil, errs.Corruptf("table %s, snapshot %d: %s takes the file %s away, although the snapshot only adds", st.src.Name, of[s].ID, metas[s].FileName, x.Name(i))
			case !wanted[x.Partition(i)], x.Bucket(i) == spec.PostponeBucket && !st.changes.postponed, st.level > 0 && x.Level(i) != st.level:
			default:
				l.files = append(l.files, spec.Ref{Set: uint32(s), Index: uint32(i)})
			}
		}
	}
	return l, nil
}

// planAdded plans reading files as they are: each row counts, with its kind.
func (st *State) planAdded(ctx context.Context, req connector.ScanRequest, g *merge.Rules) (*connector.Plan, error) {
	filter := req.Filter
	if req.NoPruning {
		filter = nil
	}
	p := newPruner(st, g, filter)
	l, err := st.changed(ctx, p.partitions(), spec.FileAdd)
	if err != nil {
		return nil, err
	}
	buckets, err := st.byBucket(ctx, l)
	if err != nil {
		return nil, err
	}
	sc := &scan{st: st, live: l, req: req, rules: g, filter: filter, paths: st.src.paths(st.schema)}
	if err := sc.loadSchemas(ctx); err != nil {
		return nil, err
	}
	plan := &connector.Plan{}
	var sections []*section
	j := newJudge(p, sc)
	for _, b := range buckets {
		kept := b.refs
		if filter != nil {
			kept = nil
			if p.hashes.keep(l, b) {
				// No row hides another: each file is judged on its own.
				for _, r := range b.refs {
					if err := j.file(r); err != nil {
						return nil, err
					}
					if j.mayMatch() {
						kept = append(kept, r)
					}
				}
			}
		}
		plan.Files += len(kept)
		plan.PrunedFiles += len(b.refs) - len(kept)
		sections = sc.single(sections, kept, len(st.schema.PrimaryKeys) > 0)
	}
	if plan.Splits, plan.Bytes, err = sc.splits(sections); err != nil {
		return nil, err
	}
	return plan, nil
}

// differing returns the files of both versions, and by bucket those that only
// one of them has, in the order of partitions and buckets.
func (st *State) differing(ctx context.Context, g *merge.Rules, keep *partitionFilter) (live [2]*liveFiles, out []*diffBucket, err error) {
	type key struct {
		partition string
		bucket    int32
	}
	index := map[key]*diffBucket{}
	for side, snap := range []*spec.Snapshot{st.changes.before, st.snap} {
		live[side] = &liveFiles{schemas: st.knownSchemas()}
		if snap == nil {
			continue
		}
		at := *st
		at.snap, at.changes = snap, nil
		var list []*bucket
		if live[side], list, err = at.buckets(ctx, keep, g); err != nil {
			return live, nil, err
		}
		for _, b := range list {
			b.open(live[side])
			k := key{string(b.partition), b.id}
			d := index[k]
			if d == nil {
				d = &diffBucket{}
				for i := range d.sides {
					d.sides[i] = &bucket{partition: b.partition, id: b.id}
				}
				index[k] = d
				out = append(out, d)
			}
			d.sides[side] = b
		}
	}
	// Rows of a partition that was divided into another number of buckets cannot
	// be compared bucket by bucket.
	totals := map[string][2]int32{}
	for _, d := range out {
		partition := string(d.sides[0].partition)
		t := totals[partition]
		for side, b := range d.sides {
			for _, f := range b.files {
				if f.TotalBuckets > 0 {
					t[side] = f.TotalBuckets
				}
			}
		}
		totals[partition] = t
	}
	for _, t := range totals {
		if t[0] > 0 && t[1] > 0 && t[0] != t[1] {
			return live, nil, errs.Unsupportedf(-1, "the difference of two versions that have %d and %d buckets (table %s)", t[0], t[1], st.src.Name)
		}
	}
	for _, d := range out {
		same := map[spec.FileID]bool{}
		for _, f := range d.sides[0].files {
			same[f.ID()] = false
		}
		for _, f := range d.sides[1].files {
			if _, ok := same[f.ID()]; ok {
				same[f.ID()] = true
			}
		}
		for _, b := range d.sides {
			files, refs := b.files, b.refs
			b.files, b.refs = nil, nil
			for i, f := range files {
				if !same[f.ID()] {
					b.files, b.refs = append(b.files, f), append(b.refs, refs[i])
				}
			}
		}
	}
	out = slices.DeleteFunc(out, func(d *diffBucket) bool { return len(d.sides[0].refs)+len(d.sides[1].refs) == 0 })
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].sides[0], out[j].sides[0]
		if c := strings.Compare(string(a.partition), string(b.partition)); c != 0 {
			return c < 0
		}
		return a.id < b.id
	})
	return live, out, nil
}

// Oldest implements connector.Spanning.
func (st *State) Oldest() int64 {
	oldest := st.Version()
	if c := st.changes; c != nil {
		if c.before != nil {
			oldest = min(oldest, c.before.ID)
		}
		if len(c.snaps) > 0 {
			oldest = min(oldest, c.snaps[0].ID)
		}
	}
	return oldest
}

// Changes reports whether the state is changes, not a version.
func (st *State) Changes() bool { return st.changes != nil }

// Log reports whether the state is a log of changes, whose rows stand in the
// order in which they were made and may be several of one key.
func (st *State) Log() bool { return st.changes != nil && !st.changes.diff }

// diffBucket is a bucket with the files that only the version before, and only
// the version after has.
type diffBucket struct{ sides [2]*bucket }
