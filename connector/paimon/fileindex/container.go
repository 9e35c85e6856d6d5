// Package fileindex reads and writes Paimon's file indexes: what the rows of one
// data file have in chosen columns, so that files, and rows in them, are left
// out of a scan. They lie in the manifest entry (_EMBEDDED_FILE_INDEX) or beside
// the data file (<data file>.index). Kinds: bloom-filter, bitmap, bsi and
// range-bitmap. Facts: paimon-format §25; the layouts are drawn beside the code.
// Integers are big-endian.
//
// Invariants: an index answers with a superset of the rows that satisfy a
// condition; what it cannot answer exactly enough leaves all rows. Bytes that
// contradict a layout are Corruption, never another answer; no length in a file
// is trusted, and memory is bounded by the file's bytes and rows.
//
// Start reading at File and Builder.
package fileindex

import (
	"encoding/binary"
	"io"

	"github.com/thermocline/thermocline/internal/errs"
)

// The kinds of indexes.
const (
	BloomFilter = "bloom-filter"
	Bitmap      = "bitmap"
	BSI         = "bsi"
	RangeBitmap = "range-bitmap"
)

const (
	magic   = 1493475289347502
	version = 1
	// prefix is the bytes up to the head's length.
	prefix  = 16
	maxHead = 16 << 20
	// maxRows bounds the files whose rows are told apart: their sets take two MiB
	// each.
	maxRows = 1 << 24
)

// A container holds the indexes of all columns:
//
//	int64 magic | int32 version | int32 bytes up to the body | int32 columns
//	per column  { text name | int32 indexes | per index { text kind | int32 start | int32 length } }
//	int32 0, for what later versions add
//	body
//
// A text is a uint16 length and modified UTF-8; a start of -1 is an index
// without rows. Starts count from the file's first byte.

// place is where an index lies.
type place struct {
	kind       string
	start, len int64
}

// File is a container whose indexes are read when they are asked.
type File struct {
	r       io.ReaderAt
	size    int64
	rows    int64
	columns map[string][]place
	names   []string // of the columns, in the file's order
}

// Open reads the head of a container of size bytes, which indexes a data file of
// the given rows.
func Open(r io.ReaderAt, size, rows int64) (*File, error) {
	if size < prefix+4 {
		return nil, errs.Corruptf("read a file index: it has %d bytes", size)
	}
	head := make([]byte, prefix)
	if err := readAt(r, head, 0); err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint64(head) != magic {
		return nil, errs.Corruptf("read a file index: it does not begin with the magic number")
	}
	if v := int32(binary.BigEndian.Uint32(head[8:])); v != version {
		return nil, errs.Unsupportedf(-1, "file indexes of version %d", v)
	}
	n := int64(int32(binary.BigEndian.Uint32(head[12:])))
	if n < prefix+4 || n > size || n > maxHead {
		return nil, errs.Corruptf("read a file index: a head of %d bytes in a file of %d", n, size)
	}
	head = make([]byte, n-prefix)
	if err := readAt(r, head, prefix); err != nil {
		return nil, err
	}
	f := &File{r: r, size: size, rows: rows, columns: map[string][]place{}}
	d := &decoder{b: head, base: prefix}
	for columns := d.count(6); columns > 0 && d.err == nil; columns-- {
		name := d.text()
		if _, seen := f.columns[name]; !seen {
			f.names = append(f.names, name)
		}
		for indexes := d.count(10); indexes > 0 && d.err == nil; indexes-- {
			p := place{kind: d.text(), start: int64(d.int32()), len: int64(d.int32())}
			if d.err == nil && p.start != -1 && (p.start < n || p.len < 0 || p.len > size-p.start) {
				return nil, errs.Corruptf("read a file index: the %s index of column %q, %d bytes at %d, lies outside its %d bytes", p.kind, name, p.len, p.start, size)
			}
			f.columns[name] = append(f.columns[name], p)
		}
	}
	return f, d.err
}

func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return errs.Corruptf("read a file index: it ends at byte %d", at+int64(n))
	}
	return err
}

// Kinds returns the kinds of the indexes that a column has, in the file's order.
func (f *File) Kinds(column string) []string {
	var out []string
	for _, p := range f.columns[column] {
		out = append(out, p.kind)
	}
	return out
}

// Info describes an index of a column.
type Info struct {
	Column, Kind string
	Bytes        int64
	// Empty says that the index has nothing to say: all rows are NULL.
	Empty bool
}

// All describes the indexes, in the file's order.
func (f *File) All() (out []Info) {
	for _, name := range f.names {
		for _, p := range f.columns[name] {
			out = append(out, Info{Column: name, Kind: p.kind, Bytes: p.len, Empty: p.start == -1})
		}
	}
	return out
}

// Columns returns the number of columns with indexes.
func (f *File) Columns() int { return len(f.columns) }

// body reads an index.
func (f *File) body(p place) ([]byte, error) {
	b := make([]byte, p.len)
	return b, readAt(f.r, b, p.start)
}

// Entry is one index to put into a container. Entries of one column follow each
// other.
type Entry struct {
	Column, Kind string
	Body         []byte
}

// Append appends a container of the given indexes to dst.
func Append(dst []byte, entries []Entry) ([]byte, error) {
	type column struct {
		name string
		list []Entry
	}
	var columns []column
	head := prefix + 4 + 4
	for _, e := range entries {
		if len(columns) == 0 || columns[len(columns)-1].name != e.Column {
			columns = append(columns, column{name: e.Column})
			head += 2 + len(modified(e.Column)) + 4
		}
		c := &columns[len(columns)-1]
		c.list = append(c.list, e)
		head += 2 + len(e.Kind) + 8
	}
	be := binary.BigEndian
	at := int64(head)
	dst = be.AppendUint64(dst, magic)
	dst = be.AppendUint32(dst, version)
	dst = be.AppendUint32(dst, uint32(head))
	dst = be.AppendUint32(dst, uint32(len(columns)))
	for _, c := range columns {
		dst = appendText(dst, c.name)
		dst = be.AppendUint32(dst, uint32(len(c.list)))
		for _, e := range c.list {
			dst = appendText(dst, e.Kind)
			dst = be.AppendUint32(dst, uint32(at))
			dst = be.AppendUint32(dst, uint32(len(e.Body)))
			at += int64(len(e.Body))
		}
	}
	if at > 1<<31-1 {
		return nil, errs.New(errs.Resource, errs.MemoryLimit, "write a file index: its %d bytes are more than its layout can hold", at)
	}
	dst = be.AppendUint32(dst, 0)
	for _, e := range entries {
		dst = append(dst, e.Body...)
	}
	return dst, nil
}

// decoder reads big-endian values. After an error all methods return zeros.
type decoder struct {
	b    []byte
	at   int
	base int // of b in the file, for errors
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = errs.Corruptf("read a file index: "+format, args...)
	}
}

func (d *decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.b)-d.at {
		d.fail("%d bytes at byte %d reach beyond the end", n, d.base+d.at)
		return nil
	}
	d.at += n
	return d.b[d.at-n : d.at : d.at]
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// count reads the number of items of at least size bytes each.
func (d *decoder) count(size int) int {
	n := int(d.int32())
	if n < 0 || n > (len(d.b)-d.at)/size {
		d.fail("%d items at byte %d reach beyond the end", n, d.base+d.at)
		return 0
	}
	return n
}

// text reads a uint16 length and modified UTF-8: as UTF-8, but with zero in two
// bytes and characters beyond U+FFFF as two surrogates of three.
func (d *decoder) text() string {
	b := d.take(2)
	if b == nil {
		return ""
	}
	raw := d.take(int(binary.BigEndian.Uint16(b)))
	return unmodified(raw)
}

func appendText(dst []byte, s string) []byte {
	m := modified(s)
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(m))), m...)
}

// modified returns s in Java's modified UTF-8.
func modified(s string) []byte {
	var out []byte
	three := func(c rune) {
		out = append(out, 0xe0|byte(c>>12), 0x80|byte(c>>6)&0xbf, 0x80|byte(c)&0xbf)
	}
	for _, c := range s {
		switch {
		case c == 0:
			out = append(out, 0xc0, 0x80)
		case c > 0xffff:
			c -= 0x10000
			three(0xd800 + c>>10)
			three(0xdc00 + c&0x3ff)
		default:
			out = append(out, string(c)...)
		}
	}
	return out
}

func unmodified(b []byte) string {
	plain := true
	for i := 0; i < len(b) && plain; i++ {
		plain = b[i] != 0xc0 && b[i] != 0xed
	}
	if plain {
		return string(b)
	}
	surrogate := func(i int) rune { // of the three bytes at i, 0 if there is none
		if i+2 < len(b) && b[i] == 0xed && b[i+1]&0xe0 == 0xa0 && b[i+2]&0xc0 == 0x80 {
			return 0xd000 | rune(b[i+1]&0x3f)<<6 | rune(b[i+2]&0x3f)
		}
		return 0
	}
	var out []byte
	for i := 0; i < len(b); {
		hi, lo := surrogate(i), surrogate(i+3)
		switch {
		case b[i] == 0xc0 && i+1 < len(b) && b[i+1] == 0x80:
			out = append(out, 0)
			i += 2
		case hi >= 0xd800 && hi < 0xdc00 && lo >= 0xdc00:
			out = append(out, string(0x10000+(hi-0xd800)<<10+(lo-0xdc00))...)
			i += 6
		default:
			out = append(out, b[i])
			i++
		}
	}
	return string(out)
}
