package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// PartitionExpiry says which partitions are too old.
type PartitionExpiry struct {
	// After is the age, 0 for never.
	After time.Duration
	// ByUpdate takes the time of a partition's newest file; else it is read from the
	// partition's values by Pattern ("$dt $hour:00:00"; "" is the first column) and
	// Formatter (Java's letters; "" is yyyy-MM-dd HH:mm:ss or yyyy-MM-dd).
	ByUpdate           bool
	Pattern, Formatter string
	// Max is how many go in one call at most.
	Max int64
	// Interval is the time between two looks.
	Interval time.Duration
}

// PartitionExpiry reads the table's partition.* options, with overrides.
func (t *Table) PartitionExpiry(overrides map[string]string) (PartitionExpiry, error) {
	m := map[string]string{}
	for k, v := range t.cfg.Schema.Options {
		m[k] = v
	}
	for k, v := range overrides {
		m[k] = v
	}
	o := spec.NewOptions(m)
	p := PartitionExpiry{
		After:     o.Duration("partition.expiration-time", 0),
		Pattern:   o.String("partition.timestamp-pattern", ""),
		Formatter: o.String("partition.timestamp-formatter", ""),
		Max:       o.Int("partition.expiration-max-num", 100),
		Interval:  o.Duration("partition.expiration-check-interval", time.Hour),
	}
	switch s := strings.ToLower(o.String("partition.expiration-strategy", "values-time")); s {
	case "values-time":
	case "update-time":
		p.ByUpdate = true
	default:
		return p, errs.Userf(errs.InvalidConfig, "the expiration strategy %q is not values-time or update-time", s)
	}
	if o.Err != nil {
		return p, o.Err
	}
	_, err := javaLayouts(p.Formatter)
	return p, err
}

// partition is one that has files.
type partition struct {
	row     spec.BinaryRow
	updated int64 // millis of the wall clock, as if it were UTC
}

// partitions returns the partitions with live files.
func (t *Table) partitions(ctx context.Context) ([]partition, error) {
	s, err := t.store.Latest(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	live, err := t.store.Live(ctx, s, nil, func(e *spec.ManifestEntry) bool {
		e.File = spec.DataFileMeta{FileName: e.File.FileName, Level: e.File.Level, CreationTime: e.File.CreationTime, ExternalPath: e.File.ExternalPath,
			ExtraFiles: e.File.ExtraFiles, EmbeddedIndex: e.File.EmbeddedIndex}
		return true
	})
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var out []partition
	for i := range live {
		e := &live[i]
		n, ok := at[string(e.Partition)]
		if !ok {
			n = len(out)
			at[string(e.Partition)] = n
			out = append(out, partition{row: e.Partition})
		}
		out[n].updated = max(out[n].updated, e.File.CreationTime.V)
	}
	return out, nil
}

// ExpirePartitions drops the partitions that are too old, in one snapshot, and
// returns them as "a=1, b=2". Partitions whose values are no time are kept.
func (t *Table) ExpirePartitions(ctx context.Context, x PartitionExpiry) ([]string, error) {
	p := t.paths.Partitioner()
	if x.After <= 0 || len(p.Keys) == 0 {
		return nil, nil
	}
	all, err := t.partitions(ctx)
	if err != nil {
		return nil, err
	}
	layouts, err := javaLayouts(x.Formatter)
	if err != nil {
		return nil, err
	}
	limit := t.cfg.Now().In(t.cfg.Location).Add(-x.After)
	type dropped struct {
		values map[string]*string
		text   string
		at     time.Time
	}
	var old []dropped
	for _, part := range all {
		values, err := p.Texts(part.row)
		if err != nil {
			return nil, err
		}
		shown, err := t.shownValues(part.row)
		if err != nil {
			return nil, err
		}
		var at time.Time
		if x.ByUpdate {
			w := time.UnixMilli(part.updated).UTC()
			at = time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), t.cfg.Location)
		} else if at, err = partitionTime(x.Pattern, layouts, p.Keys, shown, t.cfg.Location); err != nil {
			continue
		}
		if at.Before(limit) {
			var text []string
			for i, k := range p.Keys {
				text = append(text, k+"="+shown[i])
			}
			old = append(old, dropped{values, strings.Join(text, ", "), at})
		}
	}
	slices.SortStableFunc(old, func(a, b dropped) int { return a.at.Compare(b.at) })
	if x.Max > 0 && int64(len(old)) > x.Max {
		old = old[:x.Max]
	}
	if len(old) == 0 {
		return nil, nil
	}
	var specs []map[string]*string
	var names []string
	for _, d := range old {
		specs, names = append(specs, d.values), append(names, d.text)
	}
	return names, t.DropPartitions(ctx, specs)
}

// shownValues returns a partition's values as SQL shows them.
func (t *Table) shownValues(row spec.BinaryRow) ([]string, error) {
	p := t.paths.Partitioner()
	vals, err := row.Decode(p.Types)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(vals))
	for i, v := range vals {
		out[i] = "null"
		if !v.IsNull(0) {
			out[i] = spec.PathText(p.Types[i], v, 0, false)
		}
	}
	return out, nil
}

// partitionTime reads the time of a partition from its values.
func partitionTime(pattern string, layouts, keys, values []string, zone *time.Location) (time.Time, error) {
	text := values[0]
	if pattern != "" {
		text = pattern
		order := make([]int, len(keys))
		for i := range order {
			order[i] = i
		}
		// The longest name first: $hour must not be read as $h.
		slices.SortFunc(order, func(a, b int) int { return len(keys[b]) - len(keys[a]) })
		for _, i := range order {
			text = strings.ReplaceAll(text, "$"+keys[i], values[i])
		}
	}
	var first error
	for _, l := range layouts {
		at, err := time.ParseInLocation(l, text, zone)
		if err == nil {
			return at, nil
		}
		if first == nil {
			first = err
		}
	}
	return time.Time{}, first
}

var javaLetters = []struct{ java, layout string }{
	{"yyyy", "2006"}, {"uuuu", "2006"}, {"MM", "01"}, {"dd", "02"}, {"HH", "15"}, {"mm", "04"}, {"ss", "05"}, {"M", "1"}, {"d", "2"}, {"H", "15"},
}

// javaLayouts turns the letters of Java's DateTimeFormatter into Go's layouts.
func javaLayouts(formatter string) ([]string, error) {
	if formatter == "" {
		return []string{"2006-1-2 15:4:5", "2006-1-2"}, nil
	}
	var b strings.Builder
next:
	for rest := formatter; rest != ""; {
		for _, l := range javaLetters {
			if strings.HasPrefix(rest, l.java) {
				b.WriteString(l.layout)
				rest = rest[len(l.java):]
				continue next
			}
		}
		switch c := rest[0]; {
		case c == '\'':
			quoted, after, ok := strings.Cut(rest[1:], "'")
			if !ok {
				return nil, errs.Userf(errs.InvalidConfig, "the timestamp formatter %q has a quote that does not end", formatter)
			}
			b.WriteString(quoted)
			rest = after
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			return nil, errs.Unsupportedf(-1, "the letter %c in the timestamp formatter %q", c, formatter)
		default:
			b.WriteByte(c)
			rest = rest[1:]
		}
	}
	return []string{b.String()}, nil
}

// DropPartitions removes the rows of partitions, in one snapshot. See
// connector.Committable.OverwriteIn for the values.
func (t *Table) DropPartitions(ctx context.Context, specs []map[string]*string) error {
	c, err := t.committer()
	if err != nil {
		return err
	}
	_, err = c.DropPartitions(ctx, specs)
	return err
}

// MarkDone marks partitions as complete for readers: by a file _SUCCESS in their
// directories (partition.mark-done-action = success-file, the default).
func (t *Table) MarkDone(ctx context.Context, specs []map[string]*string) error {
	action := t.cfg.Schema.Options["partition.mark-done-action"]
	for _, a := range strings.Split(action, ",") {
		if a = strings.TrimSpace(a); a != "" && a != "success-file" {
			return errs.Unsupportedf(-1, "partition.mark-done-action = %s", a)
		}
	}
	p := t.paths.Partitioner()
	for _, values := range specs {
		dir := t.paths.DataDir()
		for i, k := range p.Keys {
			v, ok := values[k]
			if !ok {
				return errs.Userf(errs.WrongArguments, "mark a partition of %s: a value for %s is missing", t.cfg.Name, k)
			}
			text := p.DefaultName()
			if v != nil {
				text = pathForm(p.Types[i], *v, p.Legacy())
			}
			dir += "/" + spec.EscapePath(k) + "=" + spec.EscapePath(text)
		}
		now := t.cfg.Now().UnixMilli()
		made := now
		path := dir + "/_SUCCESS"
		if b, err := t.cfg.Files.ReadFile(ctx, path); err == nil {
			made = successTime(b, now)
		} else if !errs.Is(err, errs.FileNotFound) {
			return err
		}
		if err := t.cfg.Files.WriteFile(ctx, path, fmt.Appendf(nil, "{\n  \"creationTime\" : %d,\n  \"modificationTime\" : %d\n}", made, now)); err != nil {
			return err
		}
	}
	return nil
}

// pathForm turns the text of a partition value into that of paths: dates are day
// numbers in the legacy form.
func pathForm(t catalog.Type, text string, legacy bool) string {
	if t.Kind != catalog.Date || !legacy {
		return text
	}
	d, err := time.Parse("2006-01-02", text)
	if err != nil {
		return text
	}
	return fmt.Sprint(d.Unix() / 86400)
}

// IdlePartitions returns the partitions, as binary rows, that got no file for
// the given time.
func (t *Table) IdlePartitions(ctx context.Context, idle time.Duration) (map[string]bool, error) {
	list, err := t.partitions(ctx)
	if err != nil {
		return nil, err
	}
	now := t.cfg.Now().In(t.cfg.Location)
	_, offset := now.Zone()
	limit := now.UnixMilli() + int64(offset)*1000 - idle.Milliseconds()
	out := map[string]bool{}
	for _, p := range list {
		if p.updated <= limit {
			out[string(p.row)] = true
		}
	}
	return out, nil
}
