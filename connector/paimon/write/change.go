package write

import (
	"context"
	"slices"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/read"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Change deletes rows of a snapshot of a table without primary key by their
// addresses, and adds others. Where the table has deletion vectors the rows are
// marked in them; otherwise the rest of each file is written anew.
//
// The address of a row is the number of its data file, shifted by addressBits,
// plus its position in the file.
type Change struct {
	*Writer
	st    *read.State // the rows, with their addresses
	plain *read.State // the rows as they are, and their ids when the table tracks them
	index []spec.IndexEntry

	files  []*spec.ManifestEntry // by number
	marked map[int64]*marks      // by number
	held   int64                 // bytes reserved for marked
	made   []*commit.Message     // what PrepareCommit handed out, until then to be removed
}

// addressBits is how many bits of an address are the position in the file.
const addressBits = 32

// NewChange starts a change of the rows of a state.
func NewChange(ctx context.Context, cfg Config, base *read.State) (*Change, error) {
	cfg.NoCompaction = true
	w, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if w.opts.keyed {
		return nil, errs.Internalf("change rows of %s by their addresses: the table has a primary key", cfg.Paths.Root())
	}
	c := &Change{Writer: w, plain: base, marked: map[int64]*marks{}}
	if w.opts.tracking {
		c.plain = base.RowTracking()
	}
	entries, err := base.Entries(ctx)
	if err != nil {
		return nil, err
	}
	numbers := map[string]int64{}
	for i := range entries {
		e := &entries[i]
		if e.File.RowCount >= 1<<31 {
			return nil, errs.Unsupportedf(-1, "changing rows of files with %d rows (%s)", e.File.RowCount, e.File.FileName)
		}
		numbers[e.File.FileName] = int64(i)
		c.files = append(c.files, e)
	}
	if c.index, err = base.Indexes(ctx); err != nil {
		return nil, err
	}
	c.st, err = base.Addressed(func(e *spec.ManifestEntry) int64 { return numbers[e.File.FileName] << addressBits })
	return c, err
}

// State returns the rows with their addresses.
func (c *Change) State() *read.State { return c.st }

// Delete implements connector.RowChange.
func (c *Change) Delete(_ context.Context, addresses *vector.Vec, sel []uint16) error {
	if err := c.usable(); err != nil {
		return err
	}
	n := addresses.Len
	if sel != nil {
		n = len(sel)
	}
	vals := addresses.Values()
	for i := range n {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		a := int64(-1)
		if !addresses.IsNull(row) {
			a = vals.I64s[addresses.At(row)]
		}
		number, at := a>>addressBits, a&(1<<addressBits-1)
		if number < 0 || number >= int64(len(c.files)) || at >= c.files[number].File.RowCount {
			return errs.Internalf("delete rows of %s: %d is not the address of a row", c.cfg.Paths.Root(), a)
		}
		m := c.marked[number]
		if m == nil {
			words := (c.files[number].File.RowCount + 63) / 64
			if err := c.cfg.Budget.Reserve(8 * words); err != nil {
				return err
			}
			c.held += 8 * words
			m = &marks{words: make([]uint64, words)}
			c.marked[number] = m
		}
		if !m.set(at) {
			return errs.Internalf("delete rows of %s: the row at %d is deleted twice", c.cfg.Paths.Root(), a)
		}
	}
	return nil
}

// PrepareCommit implements connector.TableWrite.
func (c *Change) PrepareCommit(ctx context.Context) ([]connector.CommitMessage, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	var numbers []int64
	for n := range c.marked {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	messages := map[*bucket]*commit.Message{}
	var order []*commit.Message
	for _, n := range numbers {
		e := c.files[n]
		k := c.bucketAt(e.Partition, e.Bucket)
		m := messages[k]
		if m == nil {
			m = &commit.Message{Partition: k.partition, Bucket: k.bucket, TotalBuckets: e.TotalBuckets, Base: c.plain.Version()}
			messages[k] = m
			order = append(order, m)
			c.made = append(c.made, m)
		}
		if !c.opts.vectors {
			if err := c.rewrite(ctx, k, e, c.marked[n], m); err != nil {
				c.err = err
				return nil, err
			}
		}
	}
	if c.opts.vectors {
		for _, m := range order {
			if err := c.mark(ctx, m, numbers); err != nil {
				c.err = err
				return nil, err
			}
		}
	}
	out, err := c.Writer.PrepareCommit(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range order {
		out = append(out, m)
	}
	c.made = nil
	c.marked = map[int64]*marks{}
	c.cfg.Budget.Release(c.held)
	c.held = 0
	return out, nil
}

// rewrite writes what remains of a file into new ones.
func (c *Change) rewrite(ctx context.Context, k *bucket, e *spec.ManifestEntry, gone *marks, m *commit.Message) error {
	m.Deleted = append(m.Deleted, e.File)
	if gone.n == e.File.RowCount {
		return nil
	}
	if err := c.openAll(ctx, []*bucket{k}); err != nil {
		return err
	}
	if err := c.cfg.Budget.Reserve(appendGroupBytes); err != nil {
		return err
	}
	defer c.cfg.Budget.Release(appendGroupBytes)
	columns := make([]int, len(c.types))
	for i := range columns {
		columns[i] = i
	}
	r, err := c.plain.ReadFile(ctx, e, columns, c.cfg.Budget)
	if err != nil {
		return err
	}
	defer r.Close()
	sh := c.shapes.data
	if c.opts.tracking {
		if sh, err = c.trackedShape(); err != nil {
			return err
		}
	}
	out := c.newRolling(k, sh, 0, spec.SourceAppend)
	fail := func(err error) error {
		m.New = append(m.New, out.abort()...)
		return err
	}
	seq := k.nextSeq
	var sel []uint16
	for {
		b, err := r.Next(ctx)
		if err != nil {
			return fail(err)
		}
		if b == nil {
			break
		}
		sel = sel[:0]
		for i := range b.Rows() {
			if row := b.Row(i); !gone.has(b.Seq + int64(row)) {
				sel = append(sel, uint16(row))
			}
		}
		for at := 0; at < len(sel); at += fileRows {
			part := (&vector.Batch{Len: b.Len, Sel: sel[at:min(at+fileRows, len(sel))], Cols: b.Cols, Seq: -1}).Compact()
			if err := out.write(ctx, part, nil, nil, seq); err != nil {
				return fail(err)
			}
			seq += int64(part.Len)
		}
	}
	done, err := out.finish(ctx)
	m.New = append(m.New, done...)
	if err != nil {
		return err
	}
	if c.opts.buckets > 0 {
		k.nextSeq = seq
	}
	return nil
}

// mark writes the deletion vectors of a bucket's marked files, those that they
// had included. Index files that have them, or in a table with buckets the
// bucket's one, are replaced.
func (c *Change) mark(ctx context.Context, m *commit.Message, numbers []int64) error {
	target := c.opts.indexTarget
	if m.TotalBuckets > 0 {
		target = 0
	}
	out := c.newVectorFiles(m.Partition, m.Bucket, target)
	defer func() { m.Index.New = out.done }()
	old := map[string]bool{} // index files that are replaced
	changed := map[string]bool{}
	for i := range c.index {
		if e := &c.index[i]; m.TotalBuckets > 0 && e.IndexType == spec.IndexDeletionVectors && e.Bucket == m.Bucket && string(e.Partition) == string(m.Partition) {
			old[e.FileName] = true
		}
	}
	for _, n := range numbers {
		e := c.files[n]
		if e.Bucket != m.Bucket || string(e.Partition) != string(m.Partition) {
			continue
		}
		changed[e.File.FileName] = true
		gone := c.marked[n]
		twice := false
		in, err := c.plain.DeletionPositions(ctx, e, func(i int, word uint64) {
			twice = twice || gone.words[i]&word != 0
			gone.or(i, word)
		})
		if err != nil {
			return err
		}
		if twice {
			return errs.Internalf("delete rows of %s: rows of %s are deleted already", c.cfg.Paths.Root(), e.File.FileName)
		}
		if in != "" {
			old[in] = true
		}
		if gone.n == e.File.RowCount {
			m.Deleted = append(m.Deleted, e.File)
			continue
		}
		if err := out.add(ctx, e.File.FileName, gone); err != nil {
			return err
		}
	}
	for i := range c.index {
		e := &c.index[i]
		if !old[e.FileName] {
			continue
		}
		m.Index.Deleted = append(m.Index.Deleted, *e)
		for j := range e.Ranges.V {
			r := &e.Ranges.V[j]
			if changed[r.DataFile] {
				continue
			}
			block, err := c.vectorBlock(ctx, e, r)
			if err != nil {
				return err
			}
			if err := out.copy(ctx, block, *r); err != nil {
				return err
			}
		}
	}
	return out.flush(ctx)
}

// Close implements connector.TableWrite.
func (c *Change) Close() error {
	ctx := context.Background()
	for _, m := range c.made {
		k := &bucket{partition: m.Partition, bucket: m.Bucket}
		c.remove(ctx, k, m.New)           //nolint:errcheck // what stays is an orphan
		c.removeIndexes(ctx, m.Index.New) //nolint:errcheck // likewise
	}
	c.made, c.marked = nil, nil
	c.cfg.Budget.Release(c.held)
	c.held = 0
	return c.Writer.Close()
}
