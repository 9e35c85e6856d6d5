package spec

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// Entries are the entries of one manifest in memory: what planning looks at of
// every entry in columns, the rest packed into one block of bytes, so that a
// million entries take a few hundred megabytes and a scan over them allocates
// nothing. Full entries are made on demand. Immutable once made, and safe for
// concurrent use.
//
// The block has a record an entry, of varints and of bytes after their length:
//
//	name | min key | max key | [key min | key max] | key nulls | value min | value max | value nulls
//	min sequence | max sequence | the optional fields that flags name, in their order
//
// Key bounds that are the keys, as writers leave them, are not repeated.
type Entries struct {
	kinds      []fileKind8
	partition  []uint32 // into Partitions
	bucket     []int32
	buckets    []int32 // total
	level      []int32
	size, rows []int64
	shape      []uint32 // into shapes
	hash       []uint64 // of the identity
	at         []uint32 // of the record
	flags      []uint16
	block      []byte

	partitions []BinaryRow
	shapes     []Shape
	deletes    int
	known      dictionaries // only while building
}

type fileKind8 uint8

// Shape says which columns the statistics of a file cover, which it has, and what
// its name ends with.
type Shape struct {
	SchemaID       int64
	Extension      string // ".parquet", ".csv.gz": the last one, or the last two
	ValueStatsCols Opt[[]string]
	WriteCols      Opt[[]string]
}

type dictionaries struct {
	partitions map[string]uint32
	shapes     map[string]uint32
	buf        []byte
}

const (
	flagKeys uint16 = 1 << iota // key bounds are the keys
	flagCreation
	flagDeletes
	flagEmbedded
	flagSource
	flagExternal
	flagFirstRow
	flagWriteSeq
	flagExtra
	flagClean // the file holds no deletions
)

// NewEntries makes room for n entries.
func NewEntries(n int) *Entries {
	return &Entries{kinds: make([]fileKind8, 0, n), partition: make([]uint32, 0, n), bucket: make([]int32, 0, n), buckets: make([]int32, 0, n), level: make([]int32, 0, n),
		size: make([]int64, 0, n), rows: make([]int64, 0, n), shape: make([]uint32, 0, n), hash: make([]uint64, 0, n), at: make([]uint32, 0, n),
		flags: make([]uint16, 0, n), known: dictionaries{partitions: map[string]uint32{}, shapes: map[string]uint32{}}}
}

// ReadEntries decodes a manifest of about n entries.
func ReadEntries(b []byte, n int) (*Entries, error) {
	x := NewEntries(n)
	if err := ReadManifest(b, func(e *ManifestEntry) error { x.Add(e); return nil }); err != nil {
		return nil, err
	}
	x.Done()
	return x, nil
}

// Add appends an entry, copying it. It is not for concurrent use.
func (x *Entries) Add(e *ManifestEntry) {
	f := &e.File
	x.kinds = append(x.kinds, fileKind8(e.Kind))
	if e.Kind == FileDelete {
		x.deletes++
	}
	p, ok := x.known.partitions[string(e.Partition)]
	if !ok {
		p = uint32(len(x.partitions))
		x.partitions = append(x.partitions, e.Partition.Clone())
		x.known.partitions[string(e.Partition)] = p
	}
	x.partition = append(x.partition, p)
	x.bucket, x.buckets = append(x.bucket, e.Bucket), append(x.buckets, e.TotalBuckets)
	x.level = append(x.level, f.Level)
	x.size, x.rows = append(x.size, f.FileSize), append(x.rows, f.RowCount)
	x.shape = append(x.shape, x.shapeOf(f))
	x.hash = append(x.hash, x.hashOf(e))
	x.at = append(x.at, uint32(len(x.block)))

	flags := uint16(0)
	b := packBytes(x.block, unsafe.Slice(unsafe.StringData(f.FileName), len(f.FileName)))
	b = packBytes(packBytes(b, f.MinKey), f.MaxKey)
	if bytes.Equal(f.KeyStats.Min, f.MinKey) && bytes.Equal(f.KeyStats.Max, f.MaxKey) {
		flags |= flagKeys
	} else {
		b = packBytes(packBytes(b, f.KeyStats.Min), f.KeyStats.Max)
	}
	b = packNulls(b, f.KeyStats.NullCounts)
	b = packBytes(packBytes(b, f.ValueStats.Min), f.ValueStats.Max)
	b = packNulls(b, f.ValueStats.NullCounts)
	b = binary.AppendVarint(binary.AppendVarint(b, f.MinSequence), f.MaxSequence)
	number := func(ok bool, v int64, flag uint16) {
		if ok {
			flags |= flag
			b = binary.AppendVarint(b, v)
		}
	}
	number(f.CreationTime.OK, f.CreationTime.V, flagCreation)
	number(f.DeleteRowCount.OK, f.DeleteRowCount.V, flagDeletes)
	if f.DeleteRowCount.OK && f.DeleteRowCount.V == 0 {
		flags |= flagClean
	}
	if f.EmbeddedIndex != nil {
		flags |= flagEmbedded
		b = packBytes(b, f.EmbeddedIndex)
	}
	number(f.FileSource.OK, int64(f.FileSource.V), flagSource)
	if f.ExternalPath.OK {
		flags |= flagExternal
		b = packBytes(b, []byte(f.ExternalPath.V))
	}
	number(f.FirstRowID.OK, f.FirstRowID.V, flagFirstRow)
	if f.WriteColsSeq.OK {
		flags |= flagWriteSeq
		b = binary.AppendUvarint(b, uint64(len(f.WriteColsSeq.V)))
		for _, v := range f.WriteColsSeq.V {
			b = binary.AppendVarint(b, v)
		}
	}
	if len(f.ExtraFiles) > 0 {
		flags |= flagExtra
		b = binary.AppendUvarint(b, uint64(len(f.ExtraFiles)))
		for _, n := range f.ExtraFiles {
			b = packBytes(b, []byte(n))
		}
	}
	x.block = b
	x.flags = append(x.flags, flags)
}

// Done ends the adding and gives memory back that only adding needs.
func (x *Entries) Done() {
	x.known = dictionaries{}
	if cap(x.block)-len(x.block) > len(x.block)/16 {
		x.block = append(make([]byte, 0, len(x.block)), x.block...)
	}
}

func (x *Entries) shapeOf(f *DataFileMeta) uint32 {
	ext := extension(f.FileName)
	if n := len(x.shape); n > 0 && !f.ValueStatsCols.OK && !f.WriteCols.OK {
		last := x.shape[n-1]
		if s := &x.shapes[last]; s.SchemaID == f.SchemaID && s.Extension == ext && !s.ValueStatsCols.OK && !s.WriteCols.OK {
			return last
		}
	}
	b := packBytes(binary.AppendVarint(x.known.buf[:0], f.SchemaID), []byte(ext))
	for _, l := range []Opt[[]string]{f.ValueStatsCols, f.WriteCols} {
		if !l.OK {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(append(b, 1), uint64(len(l.V)))
		for _, s := range l.V {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	x.known.buf = b
	s, ok := x.known.shapes[string(b)]
	if !ok {
		s = uint32(len(x.shapes))
		x.shapes = append(x.shapes, Shape{f.SchemaID, strings.Clone(ext), f.ValueStatsCols, f.WriteCols})
		x.known.shapes[string(b)] = s
	}
	return s
}

// extension returns the end of a name that tells the format of the file: its last
// extension, with the one before, where that is no part of a longer name.
func extension(name string) string {
	const most = 16
	end := len(name)
	for i := len(name) - 1; i >= 0 && i >= end-most && name[i] != '/'; i-- {
		if name[i] == '.' {
			if end < len(name) {
				return name[i:]
			}
			end = i
		}
	}
	return name[end:]
}

// hashOf hashes what FileID holds.
func (x *Entries) hashOf(e *ManifestEntry) uint64 {
	f := &e.File
	b := binary.LittleEndian.AppendUint32(x.known.buf[:0], uint32(e.Bucket))
	b = append(b, byte(f.Level))
	b = append(append(b, f.FileName...), e.Partition...)
	for _, n := range f.ExtraFiles {
		b = append(b, n...)
	}
	b = append(append(b, f.EmbeddedIndex...), f.ExternalPath.V...)
	x.known.buf = b
	return xxhash.Sum64(b)
}

func packBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// packNulls writes null counts: their number plus one, 0 for none; then each plus
// one, 0 for an unknown one, and negative ones, which mean nothing, as they are.
func packNulls(dst []byte, n []Opt[int64]) []byte {
	if n == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(n))+1)
	for _, c := range n {
		switch {
		case !c.OK:
			dst = append(dst, 0)
		case c.V >= 0:
			dst = binary.AppendVarint(dst, c.V+1)
		default:
			dst = binary.AppendVarint(dst, c.V)
		}
	}
	return dst
}

// packed reads what Add wrote.
type packed struct{ b []byte }

func (p *packed) uint() uint64 {
	v, n := binary.Uvarint(p.b)
	p.b = p.b[n:]
	return v
}

func (p *packed) int() int64 {
	v, n := binary.Varint(p.b)
	p.b = p.b[n:]
	return v
}

func (p *packed) bytes() []byte {
	n := p.uint()
	b := p.b[:n:n]
	p.b = p.b[n:]
	return b
}

func (p *packed) string() string {
	b := p.bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (p *packed) nulls() NullCounts {
	n := p.uint()
	if n == 0 {
		return NullCounts{}
	}
	start := p.b
	for range n - 1 {
		p.int()
	}
	return NullCounts{n: int(n), b: start}
}

// NullCounts are the packed null counts of statistics.
type NullCounts struct {
	n int // plus one
	b []byte
}

// Len returns their number, 0 when there are none.
func (c NullCounts) Len() int { return max(0, c.n-1) }

// At returns the count of column i.
func (c NullCounts) At(i int) Opt[int64] {
	p := packed{c.b}
	for range i {
		p.int()
	}
	switch v := p.int(); {
	case v == 0:
		return Opt[int64]{}
	case v > 0:
		return Some(v - 1)
	default:
		return Some(v)
	}
}

func (c NullCounts) list() []Opt[int64] {
	if c.n == 0 {
		return nil
	}
	out := make([]Opt[int64], c.n-1)
	p := packed{c.b}
	for i := range out {
		if v := p.int(); v > 0 {
			out[i] = Some(v - 1)
		} else if v < 0 {
			out[i] = Some(v)
		}
	}
	return out
}

// Len returns the number of entries.
func (x *Entries) Len() int { return len(x.kinds) }

// Deletes returns the number of entries that delete a file.
func (x *Entries) Deletes() int { return x.deletes }

// Partitions are the distinct partitions, by the number that Partition returns.
func (x *Entries) Partitions() []BinaryRow { return x.partitions }

// Shapes are the distinct shapes, by the number that Shape returns.
func (x *Entries) Shapes() []Shape { return x.shapes }

// Partition is the number of the partition of entry i.
func (x *Entries) Partition(i int) int { return int(x.partition[i]) }

// Bucket is the bucket of entry i.
func (x *Entries) Bucket(i int) int32 { return x.bucket[i] }

// TotalBuckets is the number of buckets that the partition of entry i had.
func (x *Entries) TotalBuckets(i int) int32 { return x.buckets[i] }

// Level is the level of entry i.
func (x *Entries) Level(i int) int32 { return x.level[i] }

// Kind says whether entry i adds or deletes.
func (x *Entries) Kind(i int) FileKind { return FileKind(x.kinds[i]) }

// Size is the size of the file of entry i.
func (x *Entries) Size(i int) int64 { return x.size[i] }

// Rows is the number of rows of the file of entry i.
func (x *Entries) Rows(i int) int64 { return x.rows[i] }

// Shape is the number of the shape of entry i.
func (x *Entries) Shape(i int) int { return int(x.shape[i]) }

// Clean reports whether the file of entry i is known to hold no deletions.
func (x *Entries) Clean(i int) bool { return x.flags[i]&flagClean != 0 }

// Embedded reports whether entry i has an index of its file.
func (x *Entries) Embedded(i int) bool { return x.flags[i]&flagEmbedded != 0 }

// Name is the file name of entry i. It shares the memory of x.
func (x *Entries) Name(i int) string { p := packed{x.block[x.at[i]:]}; return p.string() }

// FileStats are the statistics of an entry, undecoded. They share the memory of
// the Entries.
type FileStats struct {
	MinKey, MaxKey     BinaryRow
	KeyMin, KeyMax     BinaryRow
	KeyNulls           NullCounts
	ValueMin, ValueMax BinaryRow
	ValueNulls         NullCounts
}

// Stats fills s with the statistics of entry i.
func (x *Entries) Stats(i int, s *FileStats) {
	p := packed{x.block[x.at[i]:]}
	p.bytes()
	x.stats(&p, i, s)
}

func (x *Entries) stats(p *packed, i int, s *FileStats) {
	s.MinKey, s.MaxKey = p.bytes(), p.bytes()
	s.KeyMin, s.KeyMax = s.MinKey, s.MaxKey
	if x.flags[i]&flagKeys == 0 {
		s.KeyMin, s.KeyMax = p.bytes(), p.bytes()
	}
	s.KeyNulls = p.nulls()
	s.ValueMin, s.ValueMax = p.bytes(), p.bytes()
	s.ValueNulls = p.nulls()
}

// Entry fills e with entry i. Its slices and strings share the memory of x and
// must not be changed.
func (x *Entries) Entry(i int, e *ManifestEntry) { x.entry(i, e, true) }

// Brief fills e as Entry does, but without statistics.
func (x *Entries) Brief(i int, e *ManifestEntry) { x.entry(i, e, false) }

func (x *Entries) entry(i int, e *ManifestEntry, stats bool) {
	p := packed{x.block[x.at[i]:]}
	shape := &x.shapes[x.shape[i]]
	var s FileStats
	name := p.string()
	x.stats(&p, i, &s)
	*e = ManifestEntry{Kind: x.Kind(i), Partition: x.partitions[x.partition[i]], Bucket: x.bucket[i], TotalBuckets: x.buckets[i], File: DataFileMeta{
		FileName: name, FileSize: x.size[i], RowCount: x.rows[i], MinKey: s.MinKey, MaxKey: s.MaxKey,
		SchemaID: shape.SchemaID, Level: x.level[i], ValueStatsCols: shape.ValueStatsCols, WriteCols: shape.WriteCols}}
	f, flags := &e.File, x.flags[i]
	if stats {
		f.KeyStats = Stats{s.KeyMin, s.KeyMax, s.KeyNulls.list()}
		f.ValueStats = Stats{s.ValueMin, s.ValueMax, s.ValueNulls.list()}
	}
	f.MinSequence, f.MaxSequence = p.int(), p.int()
	if flags&flagCreation != 0 {
		f.CreationTime = Some(p.int())
	}
	if flags&flagDeletes != 0 {
		f.DeleteRowCount = Some(p.int())
	}
	if flags&flagEmbedded != 0 {
		f.EmbeddedIndex = p.bytes()
	}
	if flags&flagSource != 0 {
		f.FileSource = Some(int32(p.int()))
	}
	if flags&flagExternal != 0 {
		f.ExternalPath = Some(p.string())
	}
	if flags&flagFirstRow != 0 {
		f.FirstRowID = Some(p.int())
	}
	if flags&flagWriteSeq != 0 {
		list := make([]int64, p.uint())
		for k := range list {
			list[k] = p.int()
		}
		f.WriteColsSeq = Some(list)
	}
	if flags&flagExtra != 0 {
		f.ExtraFiles = make([]string, p.uint())
		for k := range f.ExtraFiles {
			f.ExtraFiles[k] = p.string()
		}
	}
}

// same reports whether entry i of x and entry j of y are about the same file.
func (x *Entries) same(i int, y *Entries, j int) bool {
	if x.hash[i] != y.hash[j] || x.level[i] != y.level[j] || x.bucket[i] != y.bucket[j] ||
		!bytes.Equal(x.partitions[x.partition[i]], y.partitions[y.partition[j]]) || x.Name(i) != y.Name(j) {
		return false
	}
	const rest = flagEmbedded | flagExternal | flagExtra
	if (x.flags[i]|y.flags[j])&rest == 0 {
		return true
	}
	var a, b ManifestEntry
	x.Entry(i, &a)
	y.Entry(j, &b)
	return a.ID() == b.ID()
}

// Bytes is the memory that x takes.
func (x *Entries) Bytes() int64 {
	n := int64(cap(x.block)) + 60*int64(cap(x.kinds))
	for _, p := range x.partitions {
		n += int64(len(p)) + 24
	}
	return n + 220*int64(len(x.shapes)) + 512
}
