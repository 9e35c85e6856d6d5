package read

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// scan is one planned scan of a state. After planning it is immutable.
type scan struct {
	st      *State
	live    *liveFiles
	req     connector.ScanRequest
	rules   *merge.Rules
	filter  *connector.Predicate // nil with NoPruning
	paths   *spec.Paths
	schemas map[int64]*catalog.Schema // of the files
	layouts map[layoutKey]*layout
	// mergeCols are the columns read for merging: the scan's, then those that
	// merging needs besides; mergeKeys are the positions of the keys in them.
	mergeCols []int
	mergeKeys []int
	ordered   bool // the rows of a section must come in the order of keys
	once      bool // what is read will hardly be read again

	deletions deletions
}

// loadSchemas reads the schemas of all files and works out how their columns
// become the table's, so that what cannot be read is refused before a row is
// returned.
func (sc *scan) loadSchemas(ctx context.Context) error {
	sc.schemas = map[int64]*catalog.Schema{}
	sc.layouts = map[layoutKey]*layout{}
	sc.mergeCols = append([]int(nil), sc.req.Columns...)
	position := func(c int) int {
		i := slices.Index(sc.mergeCols, c)
		if i < 0 {
			i = len(sc.mergeCols)
			sc.mergeCols = append(sc.mergeCols, c)
		}
		return i
	}
	for _, k := range sc.st.schema.Columns(sc.st.schema.TrimmedPrimaryKeys()) {
		sc.mergeKeys = append(sc.mergeKeys, position(k))
	}
	for _, c := range sc.rules.Extras() {
		position(c)
	}
	for _, r := range sc.live.files {
		x := sc.live.sets[r.Set]
		id := x.Shapes()[x.Shape(int(r.Index))].SchemaID
		if sc.schemas[id] != nil {
			continue
		}
		s, err := sc.live.schemaOf(ctx, sc.st.src, id)
		if err != nil {
			return err
		}
		sc.schemas[id] = s
		for _, merge := range []bool{false, true} {
			l, err := sc.newLayout(s, merge)
			if err != nil {
				return err
			}
			sc.layouts[layoutKey{id, merge}] = l
		}
	}
	return nil
}

// section is a set of files whose rows do not meet those of other sections.
type section struct {
	runs    [][]*spec.ManifestEntry // newest first does not matter: sequence numbers decide; nil: the one file
	file    spec.Ref                // the one file
	merge   bool                    // several runs: rows of one hide rows of another
	deletes bool                    // not merge: files may hold rows that are deletions
	part    int32                   // the one file, parts > 1: the share of it to read
	parts   int32
	keys    *keyRange // merge: only rows with these keys; nil: all
	family  *family   // files that hold columns of the same rows; runs has all of them
	rows    int64
	bytes   int64
}

// openCost is what a file costs besides its bytes, when splits are sized.
const openCost = 1 << 20

func newSection(runs [][]*spec.ManifestEntry) *section {
	s := &section{runs: runs, merge: len(runs) > 1}
	for _, r := range runs {
		for _, e := range r {
			s.rows += e.File.RowCount
			s.bytes += e.File.FileSize + openCost
			s.deletes = s.deletes || merge.HoldsDeletions(e)
		}
	}
	return s
}

// sections appends the sections of the wanted files of a bucket.
func (sc *scan) sections(out []*section, files []spec.Ref) ([]*section, error) {
	if evolves(sc.st.schema) {
		list, err := sc.st.src.families(sc.live.entries(files))
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			s := newSection([][]*spec.ManifestEntry{append(slices.Clone(f.files), f.parts...)})
			s.family, s.rows, s.deletes = f, f.rows, false
			out = append(out, s)
		}
		return out, nil
	}
	keyed := len(sc.st.schema.PrimaryKeys) > 0
	if !keyed || sc.rules.AloneAt(len(files), sc.live.state(files)) {
		return sc.single(out, files, keyed && sc.st.keepDeletes), nil
	}
	parts, err := Sections(sc.live.entries(files), spec.TypesOf(sc.st.schema, sc.st.schema.TrimmedPrimaryKeys()))
	if err != nil {
		return nil, sc.st.src.vanished(sc.st.snap, "manifest", err)
	}
	for _, runs := range parts {
		s := newSection(runs)
		s.deletes = s.deletes || sc.st.keepDeletes
		if s.merge {
			if err := sc.rules.Refuse(sc.req.Columns); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// single appends a section a file.
func (sc *scan) single(out []*section, files []spec.Ref, deletes bool) []*section {
	slab := make([]section, len(files))
	for i, r := range files {
		x, at := sc.live.sets[r.Set], int(r.Index)
		slab[i] = section{file: r, deletes: deletes, rows: x.Rows(at), bytes: x.Size(at) + openCost}
		out = append(out, &slab[i])
	}
	return out
}

// keyed is a file with its decoded key range.
type keyed struct {
	e        *spec.ManifestEntry
	min, max []*vector.Vec
}

func compareKeys(a, b []*vector.Vec) int {
	for i := range a {
		if c := vector.Compare(a[i], 0, b[i], 0); c != 0 {
			return c
		}
	}
	return 0
}

// Sections cuts the files of a bucket, whose keys have the given types, into
// groups whose key ranges overlap, in key order, and each group into the least
// number of sorted runs, each with its files in key order (Java's
// IntervalPartition).
func Sections(files []*spec.ManifestEntry, types []catalog.Type) ([][][]*spec.ManifestEntry, error) {
	ks := make([]keyed, len(files))
	for i, e := range files {
		var err error
		ks[i], err = keysOf(e, types)
		if err == nil && compareKeys(ks[i].min, ks[i].max) > 0 {
			err = errs.Corruptf("the smallest key of a file is larger than its largest")
		}
		if err != nil {
			return nil, errs.Corruptf("read the key range of %s: %w", e.File.FileName, err)
		}
	}
	sort.SliceStable(ks, func(i, j int) bool {
		if c := compareKeys(ks[i].min, ks[j].min); c != 0 {
			return c < 0
		}
		return compareKeys(ks[i].max, ks[j].max) < 0
	})
	var out [][][]*spec.ManifestEntry
	for from := 0; from < len(ks); {
		to, bound := from+1, ks[from].max
		for to < len(ks) && compareKeys(ks[to].min, bound) <= 0 {
			if compareKeys(ks[to].max, bound) > 0 {
				bound = ks[to].max
			}
			to++
		}
		out = append(out, runsOf(ks[from:to]))
		from = to
	}
	return out, nil
}

// runHeap orders runs by the end of their last file.
type runHeap struct {
	ends []keyed
	runs []int
}

func (h *runHeap) Len() int           { return len(h.runs) }
func (h *runHeap) Less(i, j int) bool { return compareKeys(h.ends[i].max, h.ends[j].max) < 0 }
func (h *runHeap) Swap(i, j int) {
	h.ends[i], h.ends[j] = h.ends[j], h.ends[i]
	h.runs[i], h.runs[j] = h.runs[j], h.runs[i]
}
func (h *runHeap) Push(any) {}
func (h *runHeap) Pop() any { return nil }

// runsOf puts each file, in order of its smallest key, after the run that ends
// first, if that ends before the file begins, and else into a new run.
func runsOf(ks []keyed) [][]*spec.ManifestEntry {
	var h runHeap
	var runs [][]*spec.ManifestEntry
	for _, k := range ks {
		if len(h.runs) > 0 && compareKeys(h.ends[0].max, k.min) < 0 {
			r := h.runs[0]
			runs[r] = append(runs[r], k.e)
			h.ends[0] = k
			heap.Fix(&h, 0)
			continue
		}
		h.ends = append(h.ends, k)
		h.runs = append(h.runs, len(runs))
		runs = append(runs, []*spec.ManifestEntry{k.e})
		heap.Fix(&h, len(h.runs)-1)
	}
	return runs
}

// Sizes of splits: small enough that a few workers share a small table, large
// enough that opening does not dominate. Parts of one file, whose footer is read
// once, cost little to open: they may be smaller than splits of several files. Of a
// file of five parts, the last would keep one worker busy while the others are idle.
const (
	minPartBytes  = 1 << 20
	minSplitBytes = 8 << 20
	maxSplitBytes = 128 << 20
	splitsWanted  = 32
	maxSplits     = 1 << 14 // of a table of any size, about
)

// splits packs sections, in order, into splits.
func (sc *scan) splits(sections []*section) (splits []connector.Split, total int64, err error) {
	for _, s := range sections {
		total += s.bytes
	}
	o := spec.NewOptions(sc.st.schema.Options)
	target := min(max(total/splitsWanted, minSplitBytes), maxSplitBytes)
	target = max(1, total/maxSplits, min(target, o.Size("source.split.target-size", maxSplitBytes)))
	if o.Err != nil {
		return nil, 0, o.Err
	}
	if sections, err = sc.divide(sections, target); err != nil {
		return nil, 0, err
	}
	list := cut(sections, min(target, max(total/splitsWanted, minPartBytes)))
	slab := make([]split, 0, min(total/target+1, int64(len(list))))
	for from := 0; from < len(list); {
		sp := split{sc: sc, rows: list[from].rows, bytes: list[from].bytes}
		to := from + 1
		for ; to < len(list) && list[to].parts <= 1 && list[from].parts <= 1 && sp.bytes+list[to].bytes <= target; to++ {
			sp.rows += list[to].rows
			sp.bytes += list[to].bytes
		}
		sp.sections = list[from:to:to]
		slab = append(slab, sp)
		from = to
	}
	splits = make([]connector.Split, len(slab))
	for i := range slab {
		splits[i] = &slab[i]
	}
	return splits, total, nil
}

// cut divides large files that are read alone into parts of about target bytes.
func cut(sections []*section, target int64) []*section {
	parts := func(s *section) int {
		if s.runs != nil {
			return 1
		}
		return int(s.bytes / target)
	}
	if !slices.ContainsFunc(sections, func(s *section) bool { return parts(s) > 1 }) {
		return sections
	}
	out := make([]*section, 0, len(sections))
	for _, s := range sections {
		n := parts(s)
		if n < 2 {
			out = append(out, s)
			continue
		}
		for i := range n {
			p := *s
			p.part, p.parts = int32(i), int32(n)
			p.rows, p.bytes = s.rows/int64(n), s.bytes/int64(n)
			out = append(out, &p)
		}
	}
	return out
}

// split implements connector.Split.
type split struct {
	sc       *scan
	sections []*section
	rows     int64
	bytes    int64
}

// Rows implements connector.Split.
func (s *split) Rows() int64 { return s.rows }

// Bytes implements connector.Split.
func (s *split) Bytes() int64 { return s.bytes }

// Open implements connector.Split.
func (s *split) Open(ctx context.Context) (connector.BatchReader, error) {
	return &splitReader{split: s}, ctx.Err()
}

// splitReader reads the sections of a split one after the other.
type splitReader struct {
	split *split
	next  int
	cur   connector.BatchReader
	err   error
	done  bool
	first []int
	pick  connector.Pick

	dynamic *connector.Dynamic
	judge   *judge // of files by it
	order   []int  // in which sections are read; nil: their own
	// With dynamic: the section being read, where its rows begin among those of the
	// split (at least, counting all that its files may have), and rows given of it.
	section *section
	bases   []int64
	base    int64
	given   int64
	out     vector.Batch
}

// Pick implements connector.Picking.
func (r *splitReader) Pick(first []int, pick connector.Pick) { r.first, r.pick = first, pick }

// Narrow implements connector.Narrowing.
func (r *splitReader) Narrow(d *connector.Dynamic) {
	sc := r.split.sc
	if d.Column >= len(sc.st.schema.Fields) {
		d = inOrder(d)
		d.Load = func() *connector.Predicate { return nil }
	}
	r.dynamic = d
	at := int64(0)
	for _, s := range r.split.sections {
		r.bases = append(r.bases, at)
		at += s.most()
	}
	if n := len(r.bases); n <= mostOrdered {
		j := sc.judgeOf()
		r.order = d.Order(n, func(i int) connector.Bounds { return sc.sectionRange(j, r.split.sections[i], d.Column) })
		d.Reordered = d.Reordered || r.order != nil
	}
}

// mostOrdered is the most sections whose statistics are looked at for an order.
const mostOrdered = 1 << 12

// most is an upper bound of the positions of a section's rows.
func (s *section) most() int64 { return (s.rows + 1) * int64(max(s.parts, 1)) }

// take makes a section current.
func (r *splitReader) take() *section {
	at := r.next
	if r.order != nil {
		at = r.order[at]
	}
	r.next++
	if r.dynamic != nil {
		r.base, r.given = r.bases[at], 0
	}
	r.section = r.split.sections[at]
	return r.section
}

// placed gives a batch the place of its rows in the split.
func (r *splitReader) placed(b *vector.Batch) *vector.Batch {
	r.out = *b
	at := r.given
	if r.section.runs == nil {
		at = b.Seq // of the one file
	}
	r.out.Seq = r.base + at
	r.given += int64(b.Len)
	return &r.out
}

// beyond reports whether no row of a section can satisfy the condition that
// changes.
func (r *splitReader) beyond(s *section) (bool, error) {
	if r.dynamic == nil || s.runs != nil || s.family != nil {
		return false, nil
	}
	if r.judge == nil {
		r.judge = r.split.sc.judgeOf()
	}
	beyond, err := r.judge.beyond(s.file, r.dynamic)
	if beyond {
		r.split.sc.lateFile()
	}
	return beyond, err
}

// Next implements connector.BatchReader.
func (r *splitReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.done || r.err != nil {
		return nil, r.err
	}
	for {
		if r.cur == nil {
			if r.next == len(r.split.sections) {
				return nil, nil
			}
			s := r.take()
			var beyond bool
			if beyond, r.err = r.beyond(s); r.err != nil {
				return nil, r.err
			}
			if beyond {
				continue
			}
			r.cur, r.err = r.split.sc.open(ctx, s)
			if r.err != nil {
				return nil, r.err
			}
			if n, ok := r.cur.(connector.Narrowing); ok && r.dynamic != nil {
				n.Narrow(r.dynamic)
			}
			if p, ok := r.cur.(connector.Picking); ok && r.pick != nil {
				p.Pick(r.first, r.pick)
			}
		}
		b, err := r.cur.Next(ctx)
		if err == nil && b == nil {
			err = r.cur.Close()
			r.cur = nil
		}
		if err != nil {
			r.err = err
			return nil, err
		}
		if b != nil && b.Rows() > 0 {
			if r.dynamic != nil {
				return r.placed(b), nil
			}
			return b, nil
		}
	}
}

// Close implements connector.BatchReader.
func (r *splitReader) Close() error {
	r.done = true
	if r.cur == nil {
		return nil
	}
	err := r.cur.Close()
	r.cur = nil
	return err
}

// open starts reading a section.
func (sc *scan) open(ctx context.Context, s *section) (connector.BatchReader, error) {
	if s.family != nil {
		return sc.openFamily(s)
	}
	if !s.merge {
		return &rawReader{sc: sc, s: s}, nil
	}
	return newMergeReader(sc, s)
}

// rawReader reads the files of a section without merging.
type rawReader struct {
	sc    *scan
	s     *section
	next  int
	cur   *fileReader
	sel   []uint16
	kinds []vector.RowKind
	out   vector.Batch
	first []int
	pick  connector.Pick

	dynamic *connector.Dynamic
}

// Narrow implements connector.Narrowing.
func (r *rawReader) Narrow(d *connector.Dynamic) {
	if r.s.runs != nil {
		d = inOrder(d)
	}
	r.dynamic = d
}

// Pick implements connector.Picking.
func (r *rawReader) Pick(first []int, pick connector.Pick) {
	if !r.s.deletes {
		r.first, r.pick = first, pick
	}
}

// file returns the file to open next, nil after the last.
func (r *rawReader) file() *spec.ManifestEntry {
	switch {
	case r.s.runs == nil && r.next == 0:
		return r.sc.live.entry(r.s.file)
	case r.s.runs != nil && r.next < len(r.s.runs[0]):
		return r.s.runs[0][r.next]
	}
	return nil
}

// Next implements connector.BatchReader.
func (r *rawReader) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if r.cur == nil {
			e := r.file()
			if e == nil {
				return nil, nil
			}
			if r.s.runs != nil && r.sc.beyond(e, r.dynamic, false) {
				r.sc.lateFile()
				r.next++
				continue
			}
			f, err := r.sc.openFile(ctx, e, fileOptions{kinds: r.s.deletes, filter: r.sc.filter, dynamic: r.dynamic, part: int(r.s.part), parts: int(r.s.parts)})
			if err != nil {
				return nil, err
			}
			if r.pick != nil {
				f.pick(r.first, r.pick)
			}
			r.cur = f
			r.next++
		}
		b, err := r.cur.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			if err := r.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if !r.s.deletes {
			return b, nil
		}
		n := len(b.Cols) - 1
		kinds := b.Cols[n]
		r.out = *b
		r.out.Cols = b.Cols[:n:n]
		if r.sc.st.keepDeletes {
			r.kinds = r.kinds[:0]
			for _, k := range kinds.I32s[:b.Len] {
				r.kinds = append(r.kinds, vector.RowKind(k))
			}
			r.out.Kinds = r.kinds
			return &r.out, nil
		}
		if r.sel == nil {
			r.sel = make([]uint16, 0, b.Len) // a nil selection would mean all rows
		}
		r.sel = r.sel[:0]
		for i := range b.Rows() {
			if at := b.Row(i); !retracts(kinds.I32s[at]) {
				r.sel = append(r.sel, uint16(at))
			}
		}
		if len(r.sel) < b.Len {
			r.out.Sel = r.sel
		}
		return &r.out, nil
	}
}

// retracts reports whether a stored row kind takes a row away: -U or -D.
func retracts(kind int32) bool {
	return kind == int32(vector.Delete) || kind == int32(vector.UpdateBefore)
}

// Close implements connector.BatchReader.
func (r *rawReader) Close() error {
	if r.cur == nil {
		return nil
	}
	err := r.cur.Close()
	r.cur = nil
	return err
}

// closeAll closes files and joins their errors.
func closeAll(files []*fileReader) error {
	var list []error
	for _, f := range files {
		if f != nil {
			list = append(list, f.Close())
		}
	}
	return errors.Join(list...)
}
