package write

import (
	"context"
	"log/slog"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// compaction compacts one bucket of a primary-key table: the committed state, and
// with extra the writer's files that the same commit adds. Files of other commits
// that are under way are newer than all it takes.
type compaction struct {
	w      *Writer
	b      *bucket
	budget *memory.Budget
	full   bool // everything, whatever the triggers say
	early  bool // everything if there is more than one run
	extra  []spec.DataFileMeta

	snap   *spec.Snapshot
	opener *read.Opener
	unit   unit
	top    int32             // the highest level
	drop   bool              // deletions need not be kept
	above  []sortedRun       // runs that are not compacted, older than those that are
	finds  bool              // level 0 is looked up in above
	logs   bool              // changes are found out
	log    *rolling          // and written here, nil: none yet
	group  int64             // bytes that a file may buffer
	direct int               // most runs that are merged from their files; others are spilled
	fanIn  int               // the most that were to be merged at once
	marks  map[string]*marks // rows above that new ones replace, by file
	held   int64             // bytes reserved for marks

	done    chan struct{}
	message *commit.Message // nil: nothing to do
	runs    int             // sorted runs that were seen, the result applied
	written []spec.DataFileMeta
	indexes []spec.IndexEntry // index files that were written
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
	release, err := c.w.cfg.Registry.compact(ctx, c.w.cfg.Paths, c.b, len(c.extra) > 0 || c.full)
	if err != nil || release == nil {
		c.err = err // or another compaction is at work
		c.runs = c.b.runs
		return
	}
	defer release()
	for c.direct = c.w.opts.sortSpill; ; {
		c.err = c.compact(ctx)
		c.budget.Release(c.held)
		c.held, c.marks, c.above, c.log, c.finds, c.logs = 0, nil, nil, nil, false, false
		if c.err == nil {
			return
		}
		c.discard(ctx)
		if errs.ClassOf(c.err) != errs.Resource || c.w.cfg.Spill == nil || c.fanIn < 2 || c.direct == 0 || ctx.Err() != nil {
			return
		}
		c.direct = min(c.direct, c.fanIn) / 2 // readers of files take more memory than there is
	}
}

// discard removes what the compaction wrote.
func (c *compaction) discard(ctx context.Context) {
	c.w.remove(ctx, c.b, c.written)   //nolint:errcheck // what stays is an orphan
	c.w.removeIndexes(ctx, c.indexes) //nolint:errcheck // likewise
	c.written, c.indexes, c.message = nil, nil, nil
}

func (c *compaction) compact(ctx context.Context) error {
	w := c.w
	snap, err := w.store.Latest(ctx)
	if err != nil {
		return err
	}
	if snap == nil {
		if len(c.extra) == 0 {
			return nil
		}
		snap = &spec.Snapshot{}
	}
	c.snap = snap
	var live []spec.ManifestEntry
	if snap.ID > 0 {
		live, err = w.store.Live(ctx, snap, c.b.inManifest, func(e *spec.ManifestEntry) bool {
			return e.Bucket == c.b.bucket && string(e.Partition) == string(c.b.partition)
		})
		if err != nil {
			return err
		}
	}
	files := make([]spec.DataFileMeta, len(live))
	names := map[string]bool{}
	levels := w.opts.levels
	for i := range live {
		files[i] = live[i].File
		names[files[i].FileName] = true
		levels = max(levels, files[i].Level+1)
	}
	for _, f := range c.extra {
		if !names[f.FileName] {
			files = append(files, f)
		}
	}
	runs := runsOf(files)
	c.runs, c.top = len(runs), levels-1
	var ok bool
	if c.unit, ok = w.opts.pick(runs, levels, c.early); c.full {
		c.unit, ok = full(runs, levels)
		if !ok && len(runs) == 1 {
			c.unit, ok = unit{runs, c.top}, w.opts.vectors
		}
	}
	if !ok {
		return nil
	}
	columns := make([]int, len(w.types))
	for i := range columns {
		columns[i] = i
	}
	if c.opener, err = read.NewState(w.source(), snap, w.cfg.Schema).NewOpener(ctx, columns, c.budget); err != nil {
		return err
	}
	// Deletions may go where nothing older remains below, or where deletion vectors
	// take the older rows away.
	highest := int32(0)
	for _, r := range runs {
		highest = max(highest, r.level)
	}
	c.drop = c.unit.level != 0 && (c.unit.level >= highest || w.opts.vectors)
	if w.opts.needsLookup && c.unit.runs[0].level == 0 {
		c.finds, c.logs = true, w.opts.producer == producerLookup
		for _, r := range runs[len(c.unit.runs):] {
			if r.level > c.unit.level {
				c.above = append(c.above, r)
			}
		}
	}
	if w.opts.producer == producerFull && c.unit.level == c.top {
		c.logs = true
	}
	c.group = groupBytes // for the file being written
	if l := c.budget.Limit(); l > 0 {
		c.group = min(c.group, max(l/4, leastGroup))
	}
	if err := c.budget.Reserve(c.group); err != nil {
		return err
	}
	defer c.budget.Release(c.group)
	m := &commit.Message{Partition: c.b.partition, Bucket: c.b.bucket, TotalBuckets: w.opts.buckets, Base: snap.ID}
	if err := c.rewrite(ctx, m); err != nil {
		if c.log != nil {
			c.written = append(c.written, c.log.abort()...)
		}
		return err
	}
	if c.log != nil {
		done, err := c.log.finish(ctx)
		c.written = append(c.written, done...)
		if err != nil {
			return err
		}
		m.CompactChangelog = done
	}
	if w.opts.vectors {
		if err := c.writeVectors(ctx, m); err != nil {
			return err
		}
	}
	if len(m.CompactBefore)+len(m.CompactAfter)+len(m.CompactChangelog) > 0 || !m.CompactIndex.Empty() {
		c.message = m
	}
	c.runs = len(runs) - len(c.unit.runs) + 1
	slog.Debug("compacted", "table", w.cfg.Paths.Root(), "bucket", c.b.bucket, "runs", len(c.unit.runs), "level", c.unit.level,
		"before", len(m.CompactBefore), "after", len(m.CompactAfter))
	return nil
}

// keyed is a file with its decoded key range.
type keyed struct {
	file     spec.DataFileMeta
	run      int
	min, max []*vector.Vec
}

func (w *Writer) keyed(f spec.DataFileMeta, run int) (keyed, error) {
	lo, err := f.MinKey.Decode(w.layout.types)
	if err != nil {
		return keyed{}, err
	}
	hi, err := f.MaxKey.Decode(w.layout.types)
	return keyed{f, run, lo, hi}, err
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
func (c *compaction) rewrite(ctx context.Context, m *commit.Message) error {
	w, u := c.w, c.unit
	var files []keyed
	for i, r := range u.runs {
		for _, f := range r.files {
			k, err := w.keyed(f, i)
			if err != nil {
				return err
			}
			files = append(files, k)
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
		list := together
		together = nil
		if len(list) == 1 {
			if done, err := c.upgrade(ctx, list[0], m); done || err != nil {
				return err
			}
		}
		if len(list) == 0 {
			return nil
		}
		return c.merge(ctx, list, m)
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

// upgrade moves a file that lies alone to the unit's level without writing it
// anew, if that is possible.
func (c *compaction) upgrade(ctx context.Context, k keyed, m *commit.Message) (bool, error) {
	w, f := c.w, k.file
	if f.Level == c.unit.level {
		return !(c.drop && !noRetract(&f)) && !(c.full && c.opener.HasDeletions(f.FileName)), nil
	}
	switch {
	case !noRetract(&f) && (c.unit.level == c.top || w.opts.vectors),
		w.shapes.level(f.Level) != w.shapes.level(c.unit.level),
		// Rows above may have to be merged with these.
		f.Level == 0 && c.finds && !(w.rules.Plain() || c.unit.level == c.top):
		return false, nil
	case f.Level == 0 && c.finds, c.logs && !c.finds:
		// The file stays; what it changes is found out all the same.
		if err := c.mergeRuns(ctx, []keyed{k}, nil); err != nil {
			return false, err
		}
	}
	f.Level = c.unit.level
	m.CompactBefore, m.CompactAfter = append(m.CompactBefore, k.file), append(m.CompactAfter, f)
	return true, nil
}

// merge rewrites files into new ones.
func (c *compaction) merge(ctx context.Context, files []keyed, m *commit.Message) error {
	out := c.w.newRolling(c.b, c.w.shapes.level(c.unit.level), c.unit.level, spec.SourceCompact)
	out.group = c.group
	if err := c.mergeRuns(ctx, files, out); err != nil {
		c.written = append(c.written, out.abort()...)
		return err
	}
	done, err := out.finish(ctx)
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

// mergeRuns merges files, which come in key order, and writes what remains into
// out; with out of nil it only finds out what they change.
func (c *compaction) mergeRuns(ctx context.Context, files []keyed, out *rolling) error {
	w := c.w
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
	cfg := merge.Config{Rules: w.rules, KeepDeletes: !c.drop, Sequences: true, BatchRows: fileRows, Budget: c.budget, Out: len(w.types)}
	for i := range w.types {
		cfg.Columns = append(cfg.Columns, i)
	}
	if c.finds || c.logs {
		cfg.Changes = &merge.Changes{Lookup: c.finds, TopLevel: c.top, NoChangelog: !c.logs, Deduplicate: w.opts.rowDeduplicate}
		for _, n := range w.opts.rowDeduplicateIgnore {
			if i := w.cfg.Schema.Column(n); i >= 0 {
				cfg.Changes.Ignore = append(cfg.Changes.Ignore, i)
			}
		}
		if w.opts.vectors {
			cfg.Changes.Obsolete = c.obsolete
		}
		lookups, err := c.lookups(files)
		if err != nil {
			return err
		}
		runs = append(runs, lookups...)
		cfg.Changes.Lookups = len(lookups)
	}
	inputs, done, err := c.inputs(ctx, runs, cfg.Changes)
	if err != nil {
		return err
	}
	defer done()
	m, err := merge.New(cfg, inputs)
	if err != nil {
		return err
	}
	defer m.Close()
	for {
		rows, err := m.Next(ctx)
		if err != nil || rows == nil {
			return err
		}
		if out != nil {
			if err := out.writeRows(ctx, rows); err != nil {
				return err
			}
		}
		changes := m.Changes()
		if changes == nil || !c.logs {
			continue
		}
		if c.log == nil {
			c.log = w.newRolling(c.b, w.shapes.changelog, c.unit.level, spec.SourceCompact)
			c.log.group = c.group
		}
		if err := c.log.writeRows(ctx, changes); err != nil {
			return err
		}
	}
}

// lookups returns the runs above the unit's level that may have the keys of
// files, which come in key order: of each run the files with such keys.
func (c *compaction) lookups(files []keyed) ([]*run, error) {
	if len(c.above) == 0 {
		return nil, nil
	}
	lo, hi := files[0].min, files[0].max
	for _, f := range files {
		if compareKeys(f.max, hi) > 0 {
			hi = f.max
		}
	}
	key := c.w.layout.keys[0]
	filter := connector.AndOf(&connector.Predicate{Op: connector.Ge, Column: key, Value: lo[0]}, &connector.Predicate{Op: connector.Le, Column: key, Value: hi[0]})
	var out []*run
	for _, r := range c.above {
		x := &run{c: c, filter: filter}
		var in []keyed
		for _, f := range r.files {
			k, err := c.w.keyed(f, 0)
			if err != nil {
				return nil, err
			}
			if compareKeys(k.max, lo) >= 0 && compareKeys(k.min, hi) <= 0 {
				in = append(in, k)
			}
		}
		slices.SortFunc(in, func(a, b keyed) int { return compareKeys(a.min, b.min) })
		for _, k := range in {
			x.files = append(x.files, k.file)
		}
		if len(in) > 0 {
			out = append(out, x)
		}
	}
	return out, nil
}

// obsolete marks a row above the unit's level that a new one replaces.
func (c *compaction) obsolete(file string, position int64) error {
	m := c.marks[file]
	if m == nil {
		var rows int64
		for _, r := range c.above {
			for i := range r.files {
				if r.files[i].FileName == file {
					rows = r.files[i].RowCount
				}
			}
		}
		words := (rows + 63) / 64
		if err := c.budget.Reserve(8 * words); err != nil {
			return err
		}
		c.held += 8 * words
		m = &marks{words: make([]uint64, words)}
		if c.marks == nil {
			c.marks = map[string]*marks{}
		}
		c.marks[file] = m
	}
	m.set(position)
	return nil
}

// writeVectors writes the bucket's deletion vectors after the compaction: those of
// the files that stay, with the rows that were marked.
func (c *compaction) writeVectors(ctx context.Context, m *commit.Message) error {
	index, err := c.w.store.Index(ctx, c.snap)
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, f := range m.CompactAfter {
		stays[f.FileName] = true
	}
	gone := map[string]bool{}
	for _, f := range m.CompactBefore {
		gone[f.FileName] = !stays[f.FileName]
	}
	out := c.w.newVectorFiles(c.b.partition, c.b.bucket, 0)
	changed := len(c.marks) > 0
	var old []spec.IndexEntry
	for _, e := range index {
		if e.IndexType != spec.IndexDeletionVectors || e.Bucket != c.b.bucket || string(e.Partition) != string(c.b.partition) {
			continue
		}
		old = append(old, e)
		for j := range e.Ranges.V {
			r := &e.Ranges.V[j]
			if gone[r.DataFile] {
				changed = true
				continue
			}
			block, err := c.w.vectorBlock(ctx, &e, r)
			if err != nil {
				return err
			}
			k := c.marks[r.DataFile]
			if k == nil {
				if err := out.copy(ctx, block, *r); err != nil {
					return err
				}
				continue
			}
			before, err := spec.ReadDeletionVector(block, r)
			if err != nil {
				return err
			}
			words := make([]uint64, len(k.words))
			before.Mask(words, 0, 64*len(words))
			for i, x := range words {
				k.or(i, x)
			}
			if err := out.add(ctx, r.DataFile, k); err != nil {
				return err
			}
			delete(c.marks, r.DataFile)
		}
	}
	if !changed {
		return nil
	}
	files := make([]string, 0, len(c.marks))
	for f := range c.marks {
		files = append(files, f)
	}
	slices.Sort(files)
	for _, f := range files {
		if err := out.add(ctx, f, c.marks[f]); err != nil {
			return err
		}
	}
	err = out.flush(ctx)
	c.indexes = append(c.indexes, out.done...)
	m.CompactIndex = commit.IndexChange{New: out.done, Deleted: old}
	return err
}

// due reports whether the bucket's last full compaction is older than the table
// wants it to be.
func (w *Writer) due(k *bucket) bool {
	return w.opts.interval > 0 && w.cfg.Now().Sub(k.lastFull) > w.opts.interval
}
