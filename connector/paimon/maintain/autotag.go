package maintain

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// successTime returns the creation time in a _SUCCESS file.
func successTime(b []byte, otherwise int64) int64 {
	var v struct{ CreationTime int64 }
	if json.Unmarshal(b, &v) != nil || v.CreationTime == 0 {
		return otherwise
	}
	return v.CreationTime
}

// autoTags says which tags are made by themselves: one a period, named for the
// period that just ended, of the first snapshot after it.
type autoTags struct {
	watermark bool // by watermark; else by the commit's time
	period    time.Duration
	delay     time.Duration
	layout    string
	fill      bool // periods without a snapshot get one too
	max       int64
	retained  time.Duration
	zone      *time.Location
}

// AutoTags reports whether the table's options ask for automatic tags, and
// refuses what this version cannot do.
func AutoTags(o *spec.Options) (bool, error) {
	switch v := strings.ToLower(o.String("tag.automatic-creation", "none")); v {
	case "none":
		return false, nil
	case "process-time", "watermark":
		return true, nil
	default:
		return false, errs.Unsupportedf(-1, "tag.automatic-creation = %s", v)
	}
}

func (t *Table) autoTags() (*autoTags, error) {
	o := spec.NewOptions(t.cfg.Schema.Options)
	on, err := AutoTags(o)
	if err != nil || !on {
		return nil, err
	}
	a := &autoTags{
		watermark: strings.EqualFold(o.String("tag.automatic-creation", ""), "watermark"),
		delay:     o.Duration("tag.creation-delay", 0),
		fill:      o.Bool("tag.automatic-completion", false),
		max:       o.Int("tag.num-retained-max", 0),
		retained:  o.Duration("tag.default-time-retained", 0),
		zone:      t.cfg.Location,
	}
	if z := o.String("sink.watermark-time-zone", ""); a.watermark && z != "" {
		if a.zone, err = time.LoadLocation(z); err != nil {
			return nil, errs.Userf(errs.InvalidConfig, "read the option sink.watermark-time-zone of %s: %q is not a time zone", t.cfg.Name, z)
		}
	}
	formatter := strings.ToLower(o.String("tag.period-formatter", "with_dashes"))
	day, hour := "2006-01-02", "2006-01-02 15"
	switch formatter {
	case "with_dashes":
	case "without_dashes":
		day, hour = "20060102", "20060102 15"
	case "without_dashes_and_spaces":
		day, hour = "20060102", "2006010215"
	default:
		return nil, errs.Unsupportedf(-1, "tag.period-formatter = %s", formatter)
	}
	switch p := strings.ToLower(o.String("tag.creation-period", "daily")); p {
	case "daily":
		a.period, a.layout = 24*time.Hour, day
	case "hourly":
		a.period, a.layout = time.Hour, hour
	case "two-hours":
		a.period, a.layout = 2*time.Hour, hour
	default:
		return nil, errs.Unsupportedf(-1, "tag.creation-period = %s", p)
	}
	if d := o.Duration("tag.creation-period-duration", 0); d > 0 {
		if 24*time.Hour%d != 0 && d%(24*time.Hour) != 0 {
			return nil, errs.Userf(errs.InvalidConfig, "read the option tag.creation-period-duration of %s: %s does not divide a day", t.cfg.Name, d)
		}
		a.period, a.layout = d, "200601021504" // whatever the formatter
	}
	return a, o.Err
}

// wall turns an instant into its wall clock, as if that were UTC, so that periods
// are plain arithmetic.
func (a *autoTags) wall(millis int64) time.Time {
	w := time.UnixMilli(millis).In(a.zone)
	return time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), time.UTC)
}

// at returns the time of a snapshot that counts.
func (a *autoTags) at(s *spec.Snapshot) (time.Time, bool) {
	if !a.watermark {
		return a.wall(s.TimeMillis), true
	}
	w, ok := s.HasWatermark()
	return a.wall(w), ok
}

// previous returns the start of the period before the one that at lies in.
func (a *autoTags) previous(at time.Time) time.Time {
	return at.Truncate(a.period).Add(-a.period)
}

// CreateAutoTags makes the automatic tags that are due, for the snapshots after
// the newest such tag, and removes those beyond tag.num-retained-max. It returns
// the names of new tags.
func (t *Table) CreateAutoTags(ctx context.Context) ([]string, error) {
	a, err := t.autoTags()
	if err != nil || a == nil {
		return nil, err
	}
	latest, err := t.store.Latest(ctx)
	if err != nil || latest == nil {
		return nil, err
	}
	tags, err := t.tags(ctx)
	if err != nil {
		return nil, err
	}
	var auto []Tag
	var next time.Time // the period of the next tag
	after := int64(0)
	for _, g := range tags {
		if start, err := time.Parse(a.layout, g.Name); err == nil && start.Equal(start.Truncate(a.period)) {
			auto = append(auto, g)
			if p := start.Add(a.period); p.After(next) {
				next, after = p, g.Snapshot.ID
			}
		}
	}
	if at, ok := a.at(latest); !ok || !next.IsZero() && at.Add(-a.delay).Before(next.Add(a.period)) {
		return nil, nil
	}
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return nil, err
	}
	var made []string
	for _, id := range ids {
		if id <= after {
			continue
		}
		s, err := t.store.Snapshot(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return made, err
		}
		at, ok := a.at(s)
		if !ok || !next.IsZero() && at.Add(-a.delay).Before(next.Add(a.period)) {
			continue
		}
		periods := []time.Time{a.previous(at)}
		if a.fill && !next.IsZero() {
			periods = nil
			for p := next; !p.After(a.previous(at)); p = p.Add(a.period) {
				periods = append(periods, p)
			}
		}
		for _, p := range periods {
			name := p.Format(a.layout)
			if !slices.ContainsFunc(tags, func(g Tag) bool { return g.Name == name }) {
				if err := t.tagSnapshot(ctx, name, s, a.retained, false); err != nil && !errs.Is(err, errs.TableExists) {
					return made, err
				}
				made = append(made, name)
				auto = append(auto, Tag{Name: name, Snapshot: s})
			}
			next = p.Add(a.period)
		}
	}
	if a.max > 0 && int64(len(auto)) > a.max {
		slices.SortFunc(auto, func(x, y Tag) int { return strings.Compare(x.Name, y.Name) })
		for i := range auto[:int64(len(auto))-a.max] {
			if err := t.deleteTag(ctx, &auto[i]); err != nil {
				return made, err
			}
		}
	}
	return made, nil
}
