// Package write turns batches of rows into data files of Paimon tables: append
// tables and primary-key tables of every bucket mode, with all merge engines and
// changelog producers. It also compacts: the buckets that a Writer writes, and
// whole tables apart from any writer.
//
// Invariants. Rows of a bucket get sequence numbers in the order in which they
// were written, above all that the bucket has; where another commit came first,
// Replay writes them again. A file is finished before a message names it. Files
// that no message named are removed by Close. What a table asks for and this
// version cannot do is refused by name before anything is written (Check).
// Buffered rows are reserved from the budget; the largest buffer is spilled first.
//
// The formats follow Java Paimon's KeyValueFileStoreWrite, AppendOnlyWriter,
// MergeTreeCompactManager, HashBucketAssigner, GlobalIndexAssigner and
// AppendCompactCoordinator.
//
// Start reading at Writer. Where rows go is in route.go (assign.go, keyindex.go,
// postpone.go), how they wait on disk in spill.go, how they become files in flush.go and file.go, what PrepareCommit
// hands out in handout.go. compact.go is one compaction of a bucket, levels.go
// what it takes, compacttable.go and appendcompact.go are those of tables.
// change.go changes rows of append tables by their addresses.
package write

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Config is what a Writer needs.
type Config struct {
	Files   fileio.FileIO
	Paths   *spec.Paths
	Schema  *catalog.Schema
	Formats *format.Registry
	// Budget pays for buffered rows and compaction; nil is unlimited.
	Budget *memory.Budget
	// Spill takes rows that memory is too short for; nil: they are written to files
	// of their own.
	Spill *fileio.Scratch
	// NoCompaction keeps the writer from compacting, as write-only does.
	NoCompaction bool
	// Once makes PrepareCommit begin no compactions that it does not wait for, and
	// gives its messages a place in the queue of commits: they are committed at once.
	Once bool
	// Metadata keeps decoded manifests; nil: nothing does.
	Metadata *commit.Cache
	// Overwrite makes every bucket new: its keys have no places, its rows no
	// sequence numbers. NoCompaction goes with it.
	Overwrite bool
	// KeepNulls leaves NULLs where columns have defaults.
	KeepNulls bool
	// Layer: rows of the base have the sequence number 0, those above it start at
	// 1, so that merging finds which counts. NoCompaction goes with both.
	Layer connector.Layer
	// Synchronous makes PrepareCommit wait for the compactions it starts.
	Synchronous bool
	// Branch is the branch that is written, "" for main.
	Branch string
	// CommitUser is the user of the commits that the messages go into.
	CommitUser string
	// Registry keeps this writer apart from others in the process; nil: it does not.
	Registry *Registry
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

// slots bounds the compactions that run at once in the process, so that they
// leave processors to queries.
var slots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// Writer writes one table. It implements connector.TableWrite and belongs to one
// goroutine.
type Writer struct {
	cfg    Config
	opts   *options
	layout *layout
	rules  *merge.Rules
	shapes *shapes
	store  commit.Store

	types    []catalog.Type // of the columns
	defaults []*vector.Vec  // of the columns, in place of NULL
	partCols []int
	keyCols  []int // bucket key
	partEnc  *spec.RowEncoder
	keyEnc   *spec.RowEncoder

	spillTo  spillFile
	noSpill  bool                         // it failed
	spilled  int64                        // rows, for tests
	buckets  map[string]map[int32]*bucket // by partition
	list     []*bucket                    // in the order in which they were opened
	reserved int64                        // bytes in all buffers
	cache    *read.Cache
	hashes   map[string]*hashIndex // by partition, of dynamic buckets
	keys     *keyIndex             // of cross-partition tables
	commits  int64                 // calls of PrepareCommit
	turn     *commit.Turn          // of the messages of PrepareCommit

	hold *holder // rows for live reads, nil: none are held

	background context.Context // of compactions
	cancel     context.CancelFunc
	err        error // the writer is broken
	closed     bool
}

var _ connector.TableWrite = (*Writer)(nil)

// bucket is the state of one bucket of one partition.
type bucket struct {
	partition spec.BinaryRow
	bucket    int32
	base      int64 // the snapshot that was seen when it was opened
	total     int32 // _TOTAL_BUCKETS as the table has it, 0: not looked at
	nextSeq   int64
	counted   bool // the registry numbers its rows, see Registry.enter
	promised  bool // the rows in the buffer have their numbers, from nextSeq on
	runs      int  // sorted runs, about: what is committed and what was written since

	buf       buffer
	spill     spilled  // rows from before those in buf
	sel       []uint16 // rows of the batch being added
	need      int64    // bytes reserved for the buffer
	held      buffer   // rows for live reads that are in no segment
	open      *rolling // append tables: the file being written
	hold      int64    // bytes reserved for it
	sent      *commit.Message
	changed   bool // new runs since a compaction was last tried
	since     int  // and how many its look at the table may not have seen
	fresh     []spec.DataFileMeta
	changelog []spec.DataFileMeta // of fresh
	compact   *compaction         // running, or finished and not yet handed out
	lastFull  time.Time           // when a full compaction was begun last
	dirty     bool                // written since the last full compaction
	waiting   []*commit.Message   // handed out, and not committed when last looked
}

// New makes a Writer. Errors of class Unsupported name what the table asks for
// and this version cannot write.
func New(cfg Config) (*Writer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	o, err := readOptions(cfg.Schema)
	if err != nil {
		return nil, err
	}
	s := cfg.Schema
	l := newLayout(s, o, false)
	sh, err := newShapes(o, l, cfg.Formats)
	if err != nil {
		return nil, err
	}
	if cfg.Layer == connector.LayerBase && (o.mode != fixedBuckets || !o.keyed) {
		return nil, errs.Unsupportedf(-1, "writing below the rows of %s: it takes a primary key and a fixed number of buckets", cfg.Paths.Root())
	}
	rules, err := merge.NewRules(cfg.Paths.Root(), s)
	if err != nil {
		return nil, err
	}
	keys := bucketKey(s, spec.NewOptions(s.Options))
	w := &Writer{cfg: cfg, opts: o, layout: l, rules: rules, shapes: sh, store: commit.Store{Files: cfg.Files, Paths: cfg.Paths, Cache: cfg.Metadata},
		partCols: s.Columns(s.PartitionKeys), partEnc: spec.NewRowEncoder(spec.TypesOf(s, s.PartitionKeys)),
		keyCols: s.Columns(keys), keyEnc: spec.NewRowEncoder(spec.TypesOf(s, keys)),
		buckets: map[string]map[int32]*bucket{}, hashes: map[string]*hashIndex{}, cache: read.NewCache(1<<20, nil)}
	for _, f := range s.Fields {
		w.types = append(w.types, f.Type)
	}
	w.defaults = make([]*vector.Vec, len(s.Fields))
	if !cfg.KeepNulls {
		if w.defaults, err = readDefaults(s); err != nil {
			return nil, err
		}
	}
	w.background, w.cancel = context.WithCancel(context.Background())
	return w, nil
}

// localMillis is the wall clock of t's zone as if it were UTC, which is how
// Paimon stores creation times.
func localMillis(t time.Time) int64 {
	_, offset := t.Zone()
	return t.UnixMilli() + int64(offset)*1000
}

// checkShape validates a batch against the schema.
func (w *Writer) checkShape(b *vector.Batch) error {
	if len(b.Cols) != len(w.types) {
		return errs.Internalf("write to %s: the batch has %d columns, the table %d", w.cfg.Paths.Root(), len(b.Cols), len(w.types))
	}
	if b.Len > vector.MaxBatchRows {
		return errs.Internalf("write to %s: the batch has %d rows", w.cfg.Paths.Root(), b.Len)
	}
	for i, v := range b.Cols {
		f := w.cfg.Schema.Fields[i]
		if v.Kind != f.Type.Physical() || v.Len < b.Len {
			return errs.Internalf("write to %s: column %s comes as %d rows of %s, not %d of %s", w.cfg.Paths.Root(), f.Name, v.Len, v.Kind, b.Len, f.Type.Physical())
		}
	}
	return nil
}

// checkNulls refuses NULL in columns that are NOT NULL.
func (w *Writer) checkNulls(b *vector.Batch) error {
	for i, v := range b.Cols {
		f := w.cfg.Schema.Fields[i]
		if !f.Type.NotNull || v.Valid == nil {
			continue
		}
		for r := range b.Rows() {
			if v.IsNull(b.Row(r)) {
				return errs.Userf(errs.NotNull, "write to %s: column %s cannot be null", w.cfg.Paths.Root(), f.Name)
			}
		}
	}
	return nil
}

// Write implements connector.TableWrite.
func (w *Writer) Write(ctx context.Context, b *vector.Batch) error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.checkShape(b); err != nil {
		return err
	}
	b, err := w.complete(b)
	if err != nil {
		return err
	}
	if err := w.checkNulls(b); err != nil {
		return err
	}
	if err := w.refresh(ctx); err != nil {
		return err
	}
	if w.opts.mode == crossBuckets && b.Rows() > vector.MaxBatchRows/2 {
		// Rows that move take two places.
		b = b.Compact()
		half := b.Len / 2
		for _, at := range [][2]int{{0, half}, {half, b.Len}} {
			sel := make([]uint16, 0, at[1]-at[0])
			for i := at[0]; i < at[1]; i++ {
				sel = append(sel, uint16(i))
			}
			part := *b
			part.Sel = sel
			if err := w.take(ctx, part.Compact()); err != nil {
				return err
			}
		}
		return nil
	}
	return w.take(ctx, b)
}

func (w *Writer) usable() error {
	if w.closed {
		return errs.Internalf("write to %s: the writer is closed", w.cfg.Paths.Root())
	}
	if w.err != nil {
		return errs.New(errs.ClassOf(w.err), errs.KindOf(w.err), "write to %s: an earlier write failed: %w", w.cfg.Paths.Root(), w.err)
	}
	return nil
}

// bucketAt returns a bucket. It may not be open yet.
func (w *Writer) bucketAt(p spec.BinaryRow, number int32) *bucket {
	in := w.buckets[string(p)]
	if in == nil {
		in = map[int32]*bucket{}
		w.buckets[string(p)] = in
	}
	k := in[number]
	if k == nil {
		k = &bucket{partition: p.Clone(), bucket: number, nextSeq: -1, buf: buffer{types: w.types}}
		in[number] = k
		w.list = append(w.list, k)
	}
	return k
}

func pickCols(b *vector.Batch, cols []int) []*vector.Vec {
	out := make([]*vector.Vec, len(cols))
	for i, c := range cols {
		out[i] = b.Cols[c]
	}
	return out
}

func (k *bucket) isOpen() bool { return k.nextSeq >= 0 }

func (k *bucket) inManifest(m *spec.ManifestMeta) bool {
	return !m.MinBucket.OK || !m.MaxBucket.OK || m.MinBucket.V <= k.bucket && k.bucket <= m.MaxBucket.V
}

// openAll reads what the new ones among the buckets have: their highest sequence
// number and sorted runs, and that their partitions have our number of buckets.
func (w *Writer) openAll(ctx context.Context, list []*bucket) error {
	closed := slices.DeleteFunc(slices.Clone(list), (*bucket).isOpen)
	if len(closed) == 0 {
		return nil
	}
	if w.opts.mode == unawareBuckets || w.opts.mode == postponeBucket { // rows need nothing of what is there
		for _, k := range closed {
			k.nextSeq = 0
		}
		return nil
	}
	if w.cfg.Layer == connector.LayerBase {
		for _, k := range closed {
			k.nextSeq = 0
		}
		return nil
	}
	for _, k := range closed {
		w.cfg.Registry.enter(w.cfg.Paths, k) // before looking: what others number from now on counts
	}
	snap, err := w.store.Latest(ctx)
	if err != nil {
		return err
	}
	base := int64(0)
	type seen struct {
		next int64
		runs map[int32]bool
		zero int
	}
	states := map[*bucket]*seen{}
	for _, k := range closed {
		states[k] = &seen{runs: map[int32]bool{}}
	}
	if snap != nil {
		base = snap.ID
	}
	if snap != nil && !w.cfg.Overwrite {
		live, err := w.store.Live(ctx, snap, nil, func(e *spec.ManifestEntry) bool {
			in := w.buckets[string(e.Partition)]
			return in != nil && (in[e.Bucket] != nil || e.TotalBuckets != w.opts.buckets)
		})
		if err != nil {
			return err
		}
		for i := range live {
			e := &live[i]
			if e.TotalBuckets != w.opts.buckets && e.Bucket >= 0 {
				return errs.Unsupportedf(-1, "writing to a partition of %s that has %d buckets, while the table's option 'bucket' is %d; overwrite the partition to change its buckets",
					w.cfg.Paths.Root(), e.TotalBuckets, w.opts.buckets)
			}
			st := states[w.buckets[string(e.Partition)][e.Bucket]]
			if st == nil {
				continue
			}
			st.next = max(st.next, e.File.MaxSequence+1)
			if e.File.Level == 0 {
				st.zero++
			} else {
				st.runs[e.File.Level] = true
			}
		}
	}
	for k, st := range states {
		if w.cfg.Layer == connector.LayerAbove {
			st.next = max(st.next, 1)
		}
		k.base, k.nextSeq, k.runs, k.changed = base, st.next, st.zero+len(st.runs), true
	}
	return nil
}

// source returns the table as package read sees it.
func (w *Writer) source() *read.Source {
	return &read.Source{Name: w.cfg.Paths.Root(), Files: w.cfg.Files, Formats: w.cfg.Formats, Cache: w.cache, Dir: w.cfg.Paths.Root(), Branch: w.cfg.Branch}
}

// remove deletes files that nobody will commit.
func (w *Writer) remove(ctx context.Context, k *bucket, files []spec.DataFileMeta) error {
	ctx = context.WithoutCancel(ctx)
	var all error
	for _, f := range files {
		e := spec.ManifestEntry{Partition: k.partition, Bucket: k.bucket, File: f}
		path, err := w.cfg.Paths.DataFile(&e)
		if err == nil {
			err = w.cfg.Files.Remove(ctx, path)
		}
		for _, x := range f.ExtraFiles {
			err = errors.Join(err, w.cfg.Files.Remove(ctx, path[:len(path)-len(f.FileName)]+x))
		}
		all = errors.Join(all, err)
	}
	return all
}

// Close implements connector.TableWrite.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.cancel()
	w.letGo()
	var all error
	w.turn.Done()
	for _, k := range w.list {
		w.cfg.Registry.leave(w.cfg.Paths, k)
		if c := k.compact; c != nil {
			<-c.done
			c.discard(context.Background())
		}
		if k.open != nil {
			all = errors.Join(all, w.remove(context.Background(), k, k.open.abort()))
		}
		all = errors.Join(all, w.remove(context.Background(), k, k.fresh), w.remove(context.Background(), k, k.changelog))
		w.cfg.Budget.Release(k.need + k.hold + k.spill.held)
	}
	w.closeSpill()
	for _, x := range w.hashes {
		w.cfg.Budget.Release(x.size)
	}
	if w.keys != nil {
		w.keys.places.close()
	}
	w.list, w.buckets, w.hashes, w.keys = nil, nil, nil, nil
	return all
}
