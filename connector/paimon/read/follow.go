package read

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Follower reads a table on and on (paimon-format: streaming read): first the
// state that the options ask for, if they do, then of each snapshot what it
// added, or its changelog where the table has a changelog producer. It belongs to
// one goroutine.
type Follower struct {
	src      *Source
	schema   *catalog.Schema // of all rounds, with the merged options
	start    startup
	producer string
	zone     *time.Location
	poll     time.Duration
	delay    time.Duration
	bound    *int64 // the watermark after which the stream ends
	consumer string
	// overwrites: the difference that an overwrite made is read, too.
	overwrites bool

	first     bool  // the first round is still to come
	next      int64 // the snapshot that comes next; 0: not known yet
	stored    int64 // the progress of the consumer, as stored
	storedAt  time.Time
	refresh   time.Duration
	delivered int64 // what may be stored; 0: nothing
}

// defaultPoll is how often a follower looks for a new snapshot when
// 'continuous.discovery-interval' does not say.
const defaultPoll = time.Second

// Follow starts following the table as the options of ref, over the table's,
// say.
func (s *Source) Follow(ctx context.Context, ref catalog.Ref) (*Follower, error) {
	schema, err := s.NewestSchema(ctx)
	if err == nil {
		schema, err = s.merged(schema, ref.Options)
	}
	if err != nil {
		return nil, err
	}
	f := &Follower{src: s, schema: schema, zone: ref.Zone, first: true}
	if f.start, err = s.startupOf(schema.Options); err != nil {
		return nil, err
	}
	o := f.start.o
	switch {
	case ref.Kind != catalog.ByOptions && ref.Kind != catalog.Latest:
		return nil, errs.Userf(errs.WrongArguments, "follow table %s: AS OF names one version, which does not change; 'scan.mode' and 'scan.snapshot-id' say where to start", s.Name)
	case f.start.mode == "incremental" || f.start.mode == "latest-delta":
		return nil, errs.Userf(errs.WrongArguments, "follow table %s: '%s' = '%s' has an end, it cannot be read continuously", s.Name, optMode, f.start.mode)
	case o.Has(optTag) || o.Has(optWatermark) || o.Has(optVersion):
		return nil, errs.Userf(errs.WrongArguments, "follow table %s: '%s', '%s' and '%s' name one version; start at a '%s' or a '%s'", s.Name, optTag, optWatermark, optVersion, optSnapshot, optTimestamp)
	case o.Has(fallbackOption):
		return nil, errs.Unsupportedf(-1, "continuous reads of tables with '%s' (table %s)", fallbackOption, s.Name)
	}
	f.producer = strings.ToLower(o.String("changelog-producer", "none"))
	f.poll = o.Duration("continuous.discovery-interval", defaultPoll)
	f.delay = o.Duration("streaming.read.snapshot.delay", 0)
	if o.Has("scan.bounded.watermark") {
		w, err := f.start.number("scan.bounded.watermark")
		if err != nil {
			return nil, err
		}
		f.bound = &w
	}
	f.consumer = o.String("consumer-id", "")
	if o.Has("consumer-id") && (f.consumer == "" || strings.ContainsAny(f.consumer, "/\\\x00")) {
		return nil, errs.Userf(errs.WrongArguments, "follow table %s: 'consumer-id' is '%s', which is no name of a file", s.Name, f.consumer)
	}
	f.overwrites = o.Bool("streaming-read-overwrite", false)
	if len(schema.PrimaryKeys) == 0 {
		if f.overwrites {
			return nil, errs.Userf(errs.WrongArguments, "follow table %s: it has no primary key; there 'streaming-read-append-overwrite' reads what an overwrite added", s.Name)
		}
		f.overwrites = o.Bool("streaming-read-append-overwrite", false)
	}
	f.refresh = o.Duration("consumer.expiration-time", 0) / 3
	if o.Err != nil {
		return nil, o.Err
	}
	return f, s.refuseTable(schema)
}

// Consumer returns the name under which progress is stored, "" for none.
func (f *Follower) Consumer() string { return f.consumer }

// Empty is a version without rows with the schema of all rounds.
func (f *Follower) Empty() *State { return NewState(f.src, nil, f.schema) }

// Next waits for the next round. nil is the end.
func (f *Follower) Next(ctx context.Context) (*State, error) {
	if err := f.store(ctx); err != nil {
		return nil, err
	}
	for {
		st, end, err := f.step(ctx)
		if err != nil || end {
			return nil, err
		}
		if st != nil {
			f.delivered = f.next
			return st, nil
		}
		// What was passed over need not be kept for the consumer.
		if f.next > 0 && !f.first {
			f.delivered = f.next
			if err := f.store(ctx); err != nil {
				return nil, err
			}
		}
		t := time.NewTimer(max(f.poll, time.Millisecond))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		case <-t.C:
		}
	}
}

// step returns a round that is there, nil when there is none yet.
func (f *Follower) step(ctx context.Context) (st *State, end bool, err error) {
	if f.first {
		st, err = f.begin(ctx)
		if err != nil || f.next == 0 {
			return nil, false, err
		}
		f.first = false
		if st != nil {
			return st, false, nil
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, context.Cause(ctx)
		}
		snap, err := f.read(ctx)
		if err != nil || snap == nil {
			return nil, false, err
		}
		if w, ok := snap.HasWatermark(); ok && f.bound != nil && w > *f.bound {
			return nil, true, nil
		}
		if f.delay > 0 && snap.TimeMillis > time.Now().Add(-f.delay).UnixMilli() {
			return nil, false, nil
		}
		f.next++
		if snap.CommitKind == spec.KindOverwrite && f.overwrites {
			st := f.src.changesOf(ctx, []*spec.Snapshot{snap}, false, f.schema)
			st.changes.overwrite, st.keepDeletes = true, true
			return st, false, nil
		}
		if changelog := f.producer != "none"; changelog && snap.ChangelogManifestList != "" || !changelog && snap.CommitKind == spec.KindAppend {
			st := f.src.changesOf(ctx, []*spec.Snapshot{snap}, changelog, f.schema)
			st.changes.postponed = !changelog
			st.keepDeletes = true
			return st, false, nil
		}
	}
}

// read returns the snapshot that comes next, nil when there is none yet.
func (f *Follower) read(ctx context.Context) (*spec.Snapshot, error) {
	snap, err := f.src.read(ctx, f.next)
	if !errs.Is(err, errs.FileNotFound) {
		return snap, err
	}
	ids, err := f.src.IDs(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case len(ids) == 0:
		return nil, nil
	case f.next > ids[len(ids)-1]+1:
		return nil, errs.Userf(errs.UnknownSnapshot, "follow table %s: snapshot %d comes next, but the newest is %d; the table was rolled back or made anew", f.src.Name, f.next, ids[len(ids)-1])
	case f.next > ids[len(ids)-1]:
		return nil, nil
	}
	// A changelog may have outlived its snapshot; a snapshot may have come since.
	if snap, err = f.src.changelog(ctx, f.next); !errs.Is(err, errs.FileNotFound) {
		return snap, err
	}
	if snap, err = f.src.read(ctx, f.next); !errs.Is(err, errs.FileNotFound) {
		return snap, err
	}
	return nil, errs.Userf(errs.UnknownSnapshot, "follow table %s: snapshot %d, whose changes come next, has expired; the earliest is %d", f.src.Name, f.next, ids[0])
}

// begin finds out where to start: the first state, if the options ask for one,
// and the snapshot that comes next, 0 while there is none to start at.
func (f *Follower) begin(ctx context.Context) (*State, error) {
	earliest, latest, err := f.span(ctx)
	if err != nil {
		return nil, err
	}
	if f.consumer != "" && !f.start.o.Bool("consumer.ignore-progress", false) {
		n, err := f.progress(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			f.stored = n
			if earliest > 0 {
				f.next = max(n, earliest)
			}
			return nil, nil
		}
	}
	o := f.start.o
	switch mode := f.start.mode; mode {
	case "latest":
		if f.next = latest + 1; latest == 0 {
			f.next = 1
		}
		return nil, nil
	case "from-snapshot":
		id, err := f.start.number(optSnapshot)
		if err == nil && earliest > 0 {
			f.next = max(id, earliest)
		}
		return nil, err
	case "from-timestamp", "from-creation-timestamp":
		var at time.Time
		if mode == "from-timestamp" && o.Has(optTimestamp) {
			if at, err = parseTime(o.String(optTimestamp, ""), f.zone); err != nil {
				return nil, errs.Userf(errs.WrongArguments, "read the option '%s': %w", optTimestamp, err)
			}
		} else {
			key := optTimestampMilli
			if mode == "from-creation-timestamp" {
				key = optCreation
			}
			ms, err := f.start.number(key)
			if err != nil {
				return nil, err
			}
			at = time.UnixMilli(ms)
		}
		if latest == 0 {
			return nil, nil
		}
		if f.next, err = f.from(ctx, at.UnixMilli(), earliest, latest); err != nil || mode == "from-timestamp" || f.next > earliest && f.next <= latest {
			return nil, err
		}
		millis := at.UnixMilli()
		return f.state(ctx, latest, &millis)
	case "from-snapshot-full":
		id, err := f.start.number(optSnapshot)
		if err != nil || latest == 0 {
			return nil, err
		}
		ids, err := f.src.IDs(ctx)
		if err != nil {
			return nil, err
		}
		return f.state(ctx, max(id, ids[0]), nil)
	case "from-file-creation-time":
		ms, err := f.start.number(optFileCreation)
		if err != nil || latest == 0 {
			return nil, err
		}
		return f.state(ctx, latest, &ms)
	case "compacted-full":
		snap, err := f.src.compacted(ctx, o)
		if err != nil || snap == nil {
			return nil, err
		}
		return f.state(ctx, snap.ID, nil)
	}
	if latest == 0 {
		return nil, nil // the first snapshot is waited for, as Java does
	}
	return f.state(ctx, latest, nil)
}

// span returns the ids of the earliest and the newest snapshot, 0 without any.
// A changelog that outlived its snapshot is the earliest.
func (f *Follower) span(ctx context.Context) (earliest, latest int64, err error) {
	ids, err := f.src.IDs(ctx)
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	logs, err := f.src.versions(ctx, f.src.paths(nil).ChangelogDir(), "changelog-")
	if err != nil {
		return 0, 0, err
	}
	earliest = ids[0]
	if len(logs) > 0 {
		earliest = min(earliest, logs[0])
	}
	return earliest, ids[len(ids)-1], nil
}

// from returns the id of the first snapshot or changelog as young as millis or
// younger, one after the newest when there is none.
func (f *Follower) from(ctx context.Context, millis, earliest, latest int64) (int64, error) {
	for earliest <= latest {
		mid := (earliest + latest) / 2
		snap, err := f.src.read(ctx, mid)
		if errs.Is(err, errs.FileNotFound) {
			snap, err = f.src.changelog(ctx, mid)
		}
		if errs.Is(err, errs.FileNotFound) { // expired meanwhile: so are all before
			earliest = mid + 1
			continue
		}
		if err != nil {
			return 0, err
		}
		if snap.TimeMillis < millis {
			earliest = mid + 1
		} else {
			latest = mid - 1
		}
	}
	return earliest, nil
}

// state makes the first round: a version, as far as the changes that come after
// it do not tell its rows again.
func (f *Follower) state(ctx context.Context, id int64, createdFrom *int64) (*State, error) {
	snap, err := f.src.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	f.next = id + 1
	st := NewState(f.src, snap, f.schema)
	st.createdFrom = createdFrom
	st.level0 = showLevel0
	switch f.producer {
	case "lookup":
		st.level0 = hideLevel0 // compaction will make a changelog of it
	case "full-compaction":
		st.level = topLevel(f.schema)
	}
	return st, nil
}

// progress reads the consumer's position, 0 when there is none.
func (f *Follower) progress(ctx context.Context) (int64, error) {
	path := f.consumerFile()
	data, err := f.src.Files.ReadFile(ctx, path)
	if errs.Is(err, errs.FileNotFound) {
		return 0, nil
	}
	var c struct {
		Next int64 `json:"nextSnapshot"`
	}
	if err == nil {
		err = json.Unmarshal(data, &c)
		if err != nil || c.Next < 1 {
			return 0, errs.Corruptf("table %s: %s holds no position of a consumer", f.src.Name, path)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("table %s: %w", f.src.Name, err)
	}
	return c.Next, nil
}

func (f *Follower) consumerFile() string {
	return f.src.paths(nil).ConsumerDir() + "/consumer-" + f.consumer
}

// store stores the consumer's position, when it moved or its file gets old.
func (f *Follower) store(ctx context.Context) error {
	old := f.refresh > 0 && time.Since(f.storedAt) > f.refresh
	if f.consumer == "" || f.delivered == 0 || f.delivered == f.stored && !old {
		return nil
	}
	text := fmt.Sprintf("{\n  \"nextSnapshot\" : %d\n}", f.delivered)
	if err := f.src.Files.WriteFile(ctx, f.consumerFile(), []byte(text)); err != nil {
		return fmt.Errorf("store the position of consumer %s of table %s: %w", f.consumer, f.src.Name, err)
	}
	f.stored, f.storedAt = f.delivered, time.Now()
	return nil
}
