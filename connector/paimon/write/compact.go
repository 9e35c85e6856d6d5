package write

import (
	"context"
	"log/slog"
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// sortedRun is a set of files with ascending key ranges: one file of level 0, or
// all files of another level.
type sortedRun struct {
	level int32
	files []spec.DataFileMeta
	size  int64
}

// runsOf returns the sorted runs of a bucket, newest first (Java's Levels).
func runsOf(files []spec.DataFileMeta) []sortedRun {
	var zero []spec.DataFileMeta
	levels := map[int32][]spec.DataFileMeta{}
	var numbers []int32
	for _, f := range files {
		if f.Level == 0 {
			zero = append(zero, f)
			continue
		}
		if levels[f.Level] == nil {
			numbers = append(numbers, f.Level)
		}
		levels[f.Level] = append(levels[f.Level], f)
	}
	slices.SortFunc(zero, func(a, b spec.DataFileMeta) int {
		switch {
		case a.MaxSequence != b.MaxSequence:
			return less(b.MaxSequence < a.MaxSequence)
		case a.MinSequence != b.MinSequence:
			return less(a.MinSequence < b.MinSequence)
		case a.CreationTime.V != b.CreationTime.V:
			return less(a.CreationTime.V < b.CreationTime.V)
		}
		return less(a.FileName < b.FileName)
	})
	slices.Sort(numbers)
	var runs []sortedRun
	for _, f := range zero {
		runs = append(runs, sortedRun{0, []spec.DataFileMeta{f}, f.FileSize})
	}
	for _, n := range numbers {
		r := sortedRun{level: n, files: levels[n]}
		for _, f := range r.files {
			r.size += f.FileSize
		}
		runs = append(runs, r)
	}
	return runs
}

func less(b bool) int {
	if b {
		return -1
	}
	return 1
}

// unit is what one compaction takes and where it puts the result.
type unit struct {
	runs  []sortedRun
	level int32
}

// pick chooses the runs to compact, as Java's UniversalCompaction does: all when
// the upper ones have grown large beside the last, else the newest of similar
// size, else as many as it takes to have fewer than the trigger.
func (o *options) pick(runs []sortedRun, levels int32) (unit, bool) {
	top := levels - 1
	if len(runs) < o.trigger {
		return unit{}, false
	}
	var upper int64
	for _, r := range runs[:len(runs)-1] {
		upper += r.size
	}
	if last := runs[len(runs)-1].size; upper*100 > o.maxAmp*last {
		return worth(unit{runs, top})
	}
	if n := o.extend(runs, 1); n > 1 {
		return worth(cut(runs, n, top))
	}
	if len(runs) > o.trigger {
		return worth(cut(runs, o.extend(runs, len(runs)-o.trigger+1), top))
	}
	return unit{}, false
}

// full takes everything.
func full(runs []sortedRun, levels int32) (unit, bool) {
	return worth(unit{runs, levels - 1})
}

// extend adds runs to the first n as long as they are not larger than those
// before together.
func (o *options) extend(runs []sortedRun, n int) int {
	var size int64
	for _, r := range runs[:n] {
		size += r.size
	}
	for ; n < len(runs); n++ {
		if size*(100+o.sizeRatio)/100 < runs[n].size {
			break
		}
		size += runs[n].size
	}
	return n
}

// cut makes a unit of the first n runs, and of more where the result would
// otherwise be of level 0.
func cut(runs []sortedRun, n int, top int32) unit {
	level := top
	if n < len(runs) {
		level = max(0, runs[n].level-1)
	}
	if level == 0 {
		for ; n < len(runs); n++ {
			if next := runs[n].level; next != 0 {
				level = next
				n++
				break
			}
		}
	}
	if n == len(runs) {
		level = top
	}
	return unit{runs[:n], level}
}

// worth reports whether the unit changes anything.
func worth(u unit) (unit, bool) {
	files := 0
	for _, r := range u.runs {
		files += len(r.files)
	}
	if files == 0 || files == 1 && u.runs[0].level == u.level {
		return unit{}, false
	}
	if len(u.runs) == 1 && u.runs[0].level == u.level {
		return unit{}, false
	}
	return u, true
}

// compaction compacts one bucket. It works on the committed state, so it never
// depends on a commit that is still under way; files of such commits are newer
// than all it takes.
type compaction struct {
	w      *Writer
	b      *bucket
	budget *memory.Budget
	full   bool

	done    chan struct{}
	message *commit.Message // nil: nothing to do
	runs    int             // sorted runs that were seen, the result applied
	written []spec.DataFileMeta
	err     error
}

// start runs the compaction in its own goroutine; wait for done.
func (c *compaction) start(ctx context.Context) {
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			c.run(ctx)
		case <-ctx.Done():
			c.err = ctx.Err()
		}
	}()
}

// run does the work and leaves its outcome in c.
func (c *compaction) run(ctx context.Context) {
	c.err = c.compact(ctx)
	if c.err != nil {
		c.w.remove(ctx, c.b, c.written) //nolint:errcheck // what stays is an orphan
		c.written, c.message = nil, nil
	}
}

func (c *compaction) compact(ctx context.Context) error {
	w := c.w
	snap, err := w.store.Latest(ctx)
	if err != nil || snap == nil {
		return err
	}
	live, err := w.store.Live(ctx, snap, c.b.inManifest, func(e *spec.ManifestEntry) bool {
		return e.Bucket == c.b.bucket && string(e.Partition) == string(c.b.partition)
	})
	if err != nil {
		return err
	}
	files := make([]spec.DataFileMeta, len(live))
	levels := w.opts.levels
	for i := range live {
		files[i] = live[i].File
		levels = max(levels, files[i].Level+1)
	}
	runs := runsOf(files)
	c.runs = len(runs)
	u, ok := w.opts.pick(runs, levels)
	if c.full {
		u, ok = full(runs, levels)
	}
	if !ok {
		return nil
	}
	// Retractions may go where nothing older remains below.
	highest := int32(0)
	for _, r := range runs {
		highest = max(highest, r.level)
	}
	drop := u.level >= highest
	if err := c.budget.Reserve(groupBytes); err != nil { // for the file being written
		return err
	}
	defer c.budget.Release(groupBytes)
	m := &commit.Message{Partition: c.b.partition, Bucket: c.b.bucket, TotalBuckets: w.opts.buckets, Base: snap.ID}
	if err := c.rewrite(ctx, u, levels-1, drop, m); err != nil {
		return err
	}
	if len(m.CompactBefore)+len(m.CompactAfter) > 0 {
		c.message = m
	}
	c.runs = len(runs) - len(u.runs) + 1
	slog.Debug("compacted", "table", w.cfg.Paths.Root(), "bucket", c.b.bucket, "runs", len(u.runs), "level", u.level,
		"before", len(m.CompactBefore), "after", len(m.CompactAfter))
	return nil
}

// keyed is a file with its decoded key range.
type keyed struct {
	file     spec.DataFileMeta
	run      int
	min, max []*vector.Vec
}

func compareKeys(a, b []*vector.Vec) int {
	for i := range a {
		if r := vector.Compare(a[i], 0, b[i], 0); r != 0 {
			return r
		}
	}
	return 0
}

// rewrite moves the unit's files to its level: files that overlap others, and
// small ones, are merged into new ones, large ones that lie alone only change
// their level (Java's MergeTreeCompactTask).
func (c *compaction) rewrite(ctx context.Context, u unit, top int32, drop bool, m *commit.Message) error {
	w := c.w
	var files []keyed
	for i, r := range u.runs {
		for _, f := range r.files {
			lo, err := f.MinKey.Decode(w.layout.types)
			if err != nil {
				return err
			}
			hi, err := f.MaxKey.Decode(w.layout.types)
			if err != nil {
				return err
			}
			files = append(files, keyed{f, i, lo, hi})
		}
	}
	slices.SortStableFunc(files, func(a, b keyed) int {
		if r := compareKeys(a.min, b.min); r != 0 {
			return r
		}
		return compareKeys(a.max, b.max)
	})
	small := int64(float64(w.opts.target) * w.opts.smallRatio)
	var together []keyed
	flush := func() error {
		// A lone file needs no rewriting, unless it has retractions to drop.
		if len(together) == 1 {
			if f := together[0].file; f.Level == u.level {
				if !drop || noRetract(&f) {
					together = nil
					return nil
				}
			} else if u.level != top || noRetract(&f) {
				f.Level = u.level
				m.CompactBefore, m.CompactAfter = append(m.CompactBefore, together[0].file), append(m.CompactAfter, f)
				together = nil
				return nil
			}
		}
		if len(together) > 0 {
			if err := c.merge(ctx, together, u.level, drop, m); err != nil {
				return err
			}
		}
		together = nil
		return nil
	}
	for i := 0; i < len(files); {
		// A section: files whose key ranges overlap, one leading to the next.
		end, bound := i+1, files[i].max
		for end < len(files) && compareKeys(files[end].min, bound) <= 0 {
			if compareKeys(files[end].max, bound) > 0 {
				bound = files[end].max
			}
			end++
		}
		section := files[i:end]
		i = end
		if len(section) == 1 && section[0].file.FileSize >= small {
			if err := flush(); err != nil {
				return err
			}
			together = section
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		together = append(together, section...)
	}
	return flush()
}

func noRetract(f *spec.DataFileMeta) bool { return f.DeleteRowCount.OK && f.DeleteRowCount.V == 0 }

// merge rewrites files into new ones.
func (c *compaction) merge(ctx context.Context, files []keyed, level int32, drop bool, m *commit.Message) (err error) {
	byRun := map[int]*run{}
	var runs []*run
	for _, f := range files { // in key order, so each run's files are too
		k := byRun[f.run]
		if k == nil {
			k = &run{c: c}
			byRun[f.run] = k
			runs = append(runs, k)
		}
		k.files = append(k.files, f.file)
	}
	defer func() {
		for _, k := range runs {
			k.close()
		}
	}()
	out := c.w.newRolling(c.b, c.w.shapes.level(level), level, spec.SourceCompact)
	if err := c.mergeRuns(ctx, runs, drop, out); err != nil {
		c.written = append(c.written, out.abort()...)
		return err
	}
	done, err := out.finish()
	c.written = append(c.written, done...)
	if err != nil {
		return err
	}
	for _, f := range files {
		m.CompactBefore = append(m.CompactBefore, f.file)
	}
	m.CompactAfter = append(m.CompactAfter, done...)
	return nil
}
