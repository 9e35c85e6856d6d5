package write

import (
	"slices"

	"github.com/thermocline/thermocline/connector/paimon/spec"
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
// the options say that it is time (early), or when the upper ones have grown large
// beside the last, else the newest of similar size, else as many as it takes to
// have fewer than the trigger. Where rows of level 0 wait for compaction
// (ForceUpLevel0Compaction), they are taken when nothing else is.
func (o *options) pick(runs []sortedRun, levels int32, early bool) (unit, bool) {
	if len(runs) == 0 {
		return unit{}, false
	}
	top := levels - 1
	if len(runs) > 1 && (early || o.early(runs, top)) {
		return worth(unit{runs, top})
	}
	if u, ok := o.universal(runs, top); ok {
		return u, true
	}
	zero := 0
	for zero < len(runs) && runs[zero].level == 0 {
		zero++
	}
	if !o.forceUp || zero == 0 {
		return unit{}, false
	}
	return worth(cut(runs, o.extend(runs, zero), top))
}

// early reports whether sizes ask for a full compaction (Java's
// EarlyFullCompaction).
func (o *options) early(runs []sortedRun, top int32) bool {
	var total, upper int64
	for _, r := range runs {
		total += r.size
		if r.level != top {
			upper += r.size
		}
	}
	return o.totalSize > 0 && total < o.totalSize || o.increment > 0 && upper > o.increment
}

func (o *options) universal(runs []sortedRun, top int32) (unit, bool) {
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
