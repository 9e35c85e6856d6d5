package write

import (
	"context"
	"hash/crc32"
	"io"
	"log/slog"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/merge"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// Rows that memory is too short for go to a temporary file until PrepareCommit
// ('write-buffer-spillable'): each time the largest buffer becomes a run. Those of
// keyed tables are sorted, so that a flush merges them with what is in memory,
// a block of each at a time, and makes one run of level 0 of all; others keep the
// order in which the rows came. A run is blocks of encoded batches
// (vector.Batch.AppendEncoded) whose last column is the row's ordinal, its number
// among the rows that the next flush takes.
//
// All runs of a writer lie in one file. It is given up when no bucket has runs in
// it; until then the space of flushed ones is not used again.

// spillBlockBytes is about what a block takes in memory; a reader holds two of a
// run. hotRows bounds the rows of one key in a block.
const (
	spillBlockBytes = 128 << 10
	hotRows         = 8192
)

// spillFile is where a writer's runs lie.
type spillFile struct {
	file  *fileio.TempFile
	users int // buckets with runs in it
}

// spilled are the runs of a bucket, the oldest first.
type spilled struct {
	runs [][]spillBlock
	rows int64 // ordinal of the first row after them
	held int64 // bytes reserved for reading them
}

type spillBlock struct {
	at           int64
	packed, size int // bytes, compressed and not
	sum          uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pending returns how many rows of the bucket wait for a flush.
func (k *bucket) pending() int64 { return k.spill.rows + int64(k.buf.rows) }

// whole reports whether a flush needs every row, not only the last of each key.
func (w *Writer) whole() bool {
	return !w.opts.keyed || w.opts.mode == postponeBucket || w.opts.producer == producerInput || !w.plain()
}

// plain reports whether of the rows of a key only the last counts.
func (w *Writer) plain() bool { return w.rules.Plain() && !w.rules.IgnoreDeletes }

// relieve frees the memory of a bucket's buffer: its rows are spilled, or
// written to files where they cannot be.
func (w *Writer) relieve(ctx context.Context, k *bucket) error {
	if w.spills(k) {
		err := w.spill(ctx, k)
		if err == nil || ctx.Err() != nil {
			return err
		}
		slog.Warn("rows are written to a file of their own instead of spilled", "table", w.cfg.Paths.Root(), "bucket", k.bucket, "error", err)
		w.noSpill = true
	}
	return w.flush(ctx, k)
}

// spills reports whether the bucket's rows may be spilled.
func (w *Writer) spills(k *bucket) bool {
	o := w.opts
	if w.cfg.Spill == nil || w.noSpill || !o.spillable || len(k.spill.runs) >= o.spillRuns || !o.keyed && !o.bufferAppend {
		return false
	}
	return o.spillDisk <= 0 || w.spillTo.file == nil || w.spillTo.file.Size() < o.spillDisk
}

// spill moves a bucket's buffer to the writer's temporary file. After an error
// the buffer is as it was.
func (w *Writer) spill(ctx context.Context, k *bucket) error {
	if k.buf.rows == 0 {
		return nil
	}
	if w.spillTo.file == nil {
		f, err := w.cfg.Spill.Create(ctx)
		if err != nil {
			return err
		}
		w.spillTo = spillFile{file: f}
	}
	u := &k.buf
	sorted := w.opts.keyed && w.opts.mode != postponeBucket
	var order []sortEntry
	if sorted {
		order = u.sorted(w.layout.keys, 0, len(u.chunks), !w.whole())
	} else {
		order = u.arrived()
	}
	perBlock := int(min(max(int64(spillBlockBytes)*int64(u.rows)/max(u.bytes(), 1), 16), fileRows))
	out := spillWriter{w: w, k: k}
	var runs [][]spillBlock
	largest, held := 0, int64(0)
	for len(order) > 0 {
		var run []spillBlock
		var rest []sortEntry // of keys with too many rows: in runs of their own
		largest = 0
		for len(order) > 0 {
			if err := ctx.Err(); err != nil {
				w.leaveSpill(k)
				return err
			}
			n := min(perBlock, len(order))
			next := n
			if sorted && w.whole() {
				if n, next = u.keyEnd(w.layout.keys, order, n); n < next {
					rest = append(rest, order[n:next]...)
				}
			}
			b, err := out.write(order[:n])
			if err != nil {
				w.leaveSpill(k)
				return err
			}
			run = append(run, b)
			largest = max(largest, b.size)
			order = order[next:]
		}
		runs = append(runs, run)
		held += 2 * int64(largest)
		order = rest
	}
	if len(k.spill.runs) == 0 {
		w.spillTo.users++
	}
	k.spill.runs = append(k.spill.runs, runs...)
	k.spill.rows += int64(u.rows)
	w.spilled += int64(u.rows)
	// Of what the buffer held, reading needs a part.
	if k.need < held && w.cfg.Budget.Reserve(held-k.need) == nil {
		w.reserved += held - k.need
		k.need = held
	}
	held = min(held, k.need)
	k.spill.held += held
	w.cfg.Budget.Release(k.need - held)
	w.reserved -= k.need
	k.need = 0
	k.buf = buffer{types: w.types}
	return nil
}

// leaveSpill gives up the temporary file when no bucket has rows in it.
func (w *Writer) leaveSpill(k *bucket) {
	if w.spillTo.users == 0 && w.spillTo.file != nil {
		w.closeSpill()
	}
}

func (w *Writer) closeSpill() {
	if w.spillTo.file == nil {
		return
	}
	if err := w.spillTo.file.Close(); err != nil {
		slog.Warn("close spilled rows", "table", w.cfg.Paths.Root(), "error", err)
	}
	w.spillTo = spillFile{}
}

// unspill forgets the runs of a bucket after a flush.
func (w *Writer) unspill(k *bucket) {
	w.cfg.Budget.Release(k.spill.held)
	if len(k.spill.runs) > 0 {
		w.spillTo.users--
	}
	k.spill = spilled{}
	w.leaveSpill(k)
}

// arrived returns the rows in the order in which they came.
func (u *buffer) arrived() []sortEntry {
	list := make([]sortEntry, 0, u.rows)
	for c, chunk := range u.chunks {
		for i := range chunk.Len {
			list = append(list, sortEntry{at: uint32(c)<<16 | uint32(i)})
		}
	}
	return list
}

// keyEnd returns where, about n rows from the first of order on, a block ends, so
// that it has all rows of its last key, and where the next one begins: what lies
// between is of a key with more than hotRows rows.
func (u *buffer) keyEnd(keys []int, order []sortEntry, n int) (end, next int) {
	same := func(i, j int) bool {
		a, b := order[i], order[j]
		if a.prefix != b.prefix {
			return false
		}
		x, y := u.chunks[a.at>>16], u.chunks[b.at>>16]
		for _, k := range keys {
			if vector.Compare(x.Cols[k], int(a.at&0xffff), y.Cols[k], int(b.at&0xffff)) != 0 {
				return false
			}
		}
		return true
	}
	start := n - 1
	for start > 0 && same(start-1, n-1) {
		start--
	}
	for n < len(order) && same(n-1, n) {
		n++
	}
	return min(n, start+hotRows), n
}

// spillWriter appends blocks of a bucket's buffer to the temporary file.
type spillWriter struct {
	w      *Writer
	k      *bucket
	batch  vector.Batch
	srcs   []*vector.Vec
	bases  []int
	list   []vector.Stretch
	blocks blockWriter
}

func (s *spillWriter) write(rows []sortEntry) (spillBlock, error) {
	u := &s.k.buf
	s.list = s.list[:0]
	for _, e := range rows {
		c, i := e.at>>16, e.at&0xffff
		if n := len(s.list); n > 0 && s.list[n-1].Src == c && s.list[n-1].To == i {
			s.list[n-1].To++
			continue
		}
		s.list = append(s.list, vector.Stretch{Src: c, From: i, To: i + 1})
	}
	if s.batch.Cols == nil {
		for _, t := range u.types {
			s.batch.Cols = append(s.batch.Cols, t.NewVec(len(rows)))
		}
		s.batch.Cols = append(s.batch.Cols, vector.New(vector.I64, len(rows)))
		s.srcs, s.bases = make([]*vector.Vec, len(u.chunks)), make([]int, len(u.chunks))
	}
	kinds := s.batch.Kinds
	s.batch.Reset()
	s.batch.Len, s.batch.Kinds = len(rows), kinds[:0]
	last := len(u.types)
	for c, v := range s.batch.Cols[:last] {
		for i, chunk := range u.chunks {
			s.srcs[i] = chunk.Cols[c]
			if v.Kind == vector.Str {
				s.bases[i] = v.ShareBufs(chunk.Cols[c])
			}
		}
		v.AppendStretches(s.srcs, s.bases, s.list)
	}
	added := true
	for _, e := range rows {
		s.batch.Cols[last].AppendI64(s.k.spill.rows + u.ordinal(e))
		kind := u.kind(e)
		added = added && kind == vector.Insert
		s.batch.Kinds = append(s.batch.Kinds, kind)
	}
	b := s.batch
	if added {
		b.Kinds = nil
	}
	return s.blocks.write(s.w.spillTo.file, s.w.opts.spillCodec, &b)
}

// blockWriter appends blocks to temporary files.
type blockWriter struct{ text, packed []byte }

func (s *blockWriter) write(f *fileio.TempFile, c spillCodec, b *vector.Batch) (spillBlock, error) {
	s.text = b.AppendEncoded(s.text[:0])
	s.packed = c.pack(s.packed[:0], s.text)
	out := spillBlock{at: f.Size(), packed: len(s.packed), size: len(s.text), sum: crc32.Checksum(s.packed, castagnoli)}
	_, err := f.Write(s.packed)
	return out, err
}

// spillReader gives out a spilled run. It implements merge.Run.
type spillReader struct {
	file   io.ReaderAt
	codec  spillCodec
	blocks []spillBlock // still to be read
	first  int64        // sequence number of the row with ordinal 0
	flat   bool         // all rows have the sequence number 0
	level  int32
	name   string
	packed []byte
	rows   merge.Rows
	batch  vector.Batch
}

// spilledRuns returns a bucket's spilled runs, the newest first. Sequence numbers
// go on from first, or all are 0 (flat).
func (w *Writer) spilledRuns(k *bucket, first int64, flat bool) []merge.Run {
	out := make([]merge.Run, len(k.spill.runs))
	for i, blocks := range k.spill.runs {
		out[len(out)-1-i] = &spillReader{file: w.spillTo.file, codec: w.opts.spillCodec, blocks: blocks, first: first, flat: flat, name: "the spilled rows"}
	}
	return out
}

// Next implements merge.Run.
func (r *spillReader) Next(ctx context.Context) (*merge.Rows, error) {
	if len(r.blocks) == 0 {
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := r.blocks[0]
	r.blocks = r.blocks[1:]
	if cap(r.packed) < b.packed {
		r.packed = make([]byte, b.packed)
	}
	packed := r.packed[:b.packed]
	if _, err := r.file.ReadAt(packed, b.at); err != nil {
		return nil, errs.New(errs.Unavailable, errs.KindNone, "read spilled rows: %w", err)
	}
	if crc32.Checksum(packed, castagnoli) != b.sum {
		return nil, errs.Corruptf("read spilled rows: a block of %d bytes has changed on disk", b.packed)
	}
	text, err := r.codec.unpack(vector.AlignedBytes(b.size), packed)
	if err != nil {
		return nil, errs.Corruptf("read spilled rows: %w", err)
	}
	batch, err := vector.Decode(text)
	if err != nil {
		return nil, err
	}
	n := len(batch.Cols) - 1
	seqs := batch.Cols[n].I64s
	for i := range seqs {
		if seqs[i] += r.first; r.flat {
			seqs[i] = 0
		}
	}
	r.batch = *batch
	r.batch.Cols = batch.Cols[:n:n]
	r.rows = merge.Rows{Batch: &r.batch, Seqs: seqs, Level: r.level, File: r.name}
	return &r.rows, nil
}

// eachPending calls f with a bucket's rows in the order in which they came; rows
// of tables without runs of sorted keys.
func (w *Writer) eachPending(ctx context.Context, k *bucket, f func(*vector.Batch) error) error {
	for _, blocks := range k.spill.runs {
		r := &spillReader{file: w.spillTo.file, codec: w.opts.spillCodec, blocks: blocks}
		for {
			rows, err := r.Next(ctx)
			if err != nil {
				return err
			}
			if rows == nil {
				break
			}
			if err := f(rows.Batch); err != nil {
				return err
			}
		}
	}
	for _, c := range k.buf.chunks {
		for at := 0; at < c.Len; at += fileRows {
			sel := make([]uint16, min(c.Len-at, fileRows))
			for i := range sel {
				sel[i] = uint16(at + i)
			}
			if err := f((&vector.Batch{Len: c.Len, Sel: sel, Cols: c.Cols, Kinds: c.Kinds, Seq: -1}).Compact()); err != nil {
				return err
			}
		}
	}
	return nil
}
