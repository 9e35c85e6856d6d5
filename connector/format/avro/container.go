package avro

import (
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

const (
	magic = "Obj\x01"
	// maxHeader bounds the header, whose size is the schema's.
	maxHeader = 16 << 20
	// maxBlock bounds a block, compressed or not. Java's writer ends a block after
	// 64,000 bytes; it is larger only when a record is.
	maxBlock = 1 << 30
	// windowBytes is read at once. Files up to it are read once only.
	windowBytes = 1 << 20
	syncBytes   = 16
)

// container is an open object container file: a header with the writer's schema
// and the codec, then blocks of records, each compressed and ended by the file's
// sync marker.
type container struct {
	f      fileio.File
	path   string
	budget *memory.Budget
	held   int64
	codec  string
	sync   [syncBytes]byte
	root   *node // a record
	union  int   // branch of the root record in a union, -1 for none
	unions int   // number of branches
	blocks []block
	rows   int64

	win    []byte // bytes of the file from winOff on
	winOff int64
	raw    []byte // a block that is larger than the window
	body   []byte // a decompressed block
	inpay  int64  // charged for body
	flate  io.ReadCloser
}

// block is a block of records.
type block struct {
	rows int64
	off  int64 // of its data
	size int64 // of its data, compressed
}

// openContainer reads the header and finds the blocks. Its memory is charged to
// budget until release.
func openContainer(ctx context.Context, f fileio.File, path string, budget *memory.Budget) (*container, error) {
	c := &container{f: f, path: path, budget: budget, codec: "null", union: -1}
	err := c.open(ctx)
	if err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

func (c *container) charge(n int64) error {
	if err := c.budget.Reserve(n); err != nil {
		return err
	}
	c.held += n
	return nil
}

func (c *container) release() {
	c.budget.Release(c.held)
	c.held = 0
	c.win, c.raw, c.body, c.blocks = nil, nil, nil, nil
}

func (c *container) open(ctx context.Context) error {
	size := c.f.Size()
	n := min(size, windowBytes)
	if err := c.charge(n); err != nil {
		return err
	}
	c.win = make([]byte, 0, n)
	at, err := c.header()
	if err != nil {
		return err
	}
	for at < size {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Two numbers of at most ten bytes each.
		b, err := c.bytes(at, min(2*binary.MaxVarintLen64, size-at))
		if err != nil {
			return err
		}
		cur := cursor{b: b}
		rows, length := cur.long(), cur.long()
		if cur.err != nil {
			return fmt.Errorf("the block at byte %d: %w", at, cur.err)
		}
		start := at + int64(cur.at)
		if rows < 0 || length < 0 || length > size-start-syncBytes {
			return fmt.Errorf("the block at byte %d has %d rows in %d bytes, more than the file", at, rows, length)
		}
		if rows > maxBlock || length > maxBlock {
			return errs.Unsupportedf(-1, "Avro blocks of more than 1 GiB (%s)", c.path)
		}
		end, err := c.bytes(start+length, syncBytes)
		if err != nil {
			return err
		}
		if !bytes.Equal(end, c.sync[:]) {
			return fmt.Errorf("the block at byte %d does not end with the sync marker", at)
		}
		if rows > 0 {
			if err := c.addBlock(block{rows: rows, off: start, size: length}); err != nil {
				return err
			}
		}
		at = start + length + syncBytes
	}
	return nil
}

func (c *container) addBlock(b block) error {
	if len(c.blocks) == cap(c.blocks) {
		if err := c.charge(24 * int64(max(cap(c.blocks), 64))); err != nil {
			return err
		}
		next := make([]block, len(c.blocks), max(2*cap(c.blocks), 64))
		copy(next, c.blocks)
		c.blocks = next
	}
	c.blocks = append(c.blocks, b)
	c.rows += b.rows
	return nil
}

// bytes returns n bytes at off, of a file that has them; n is at most the
// window. They are valid until the next call.
func (c *container) bytes(off, n int64) ([]byte, error) {
	if at := off - c.winOff; at >= 0 && at+n <= int64(len(c.win)) {
		return c.win[at : at+n], nil
	}
	c.winOff = off
	c.win = c.win[:min(int64(cap(c.win)), c.f.Size()-off)]
	if err := format.ReadFull(c.f, c.path, c.win, off); err != nil {
		c.win = c.win[:0]
		return nil, err
	}
	return c.win[:n], nil
}

// header reads the header and returns where it ends.
func (c *container) header() (int64, error) {
	size := c.f.Size()
	if size < int64(len(magic)) {
		return 0, fmt.Errorf("not an Avro file: it has %d bytes", size)
	}
	b, err := c.bytes(0, min(size, windowBytes))
	if err != nil {
		return 0, err
	}
	if string(b[:len(magic)]) != magic {
		return 0, fmt.Errorf("not an Avro file: it does not begin with %q", magic)
	}
	meta, at, err := c.metadata(b)
	if err != nil && int64(len(b)) < size { // a schema larger than the window
		n := min(size, maxHeader)
		if err := c.charge(n); err != nil {
			return 0, err
		}
		b = make([]byte, n)
		if err := format.ReadFull(c.f, c.path, b, 0); err != nil {
			return 0, err
		}
		meta, at, err = c.metadata(b)
	}
	if err != nil {
		return 0, fmt.Errorf("header: %w", err)
	}
	if codec := string(meta["avro.codec"]); codec != "" {
		c.codec = codec
	}
	switch c.codec {
	case "null", "deflate", "snappy", "zstandard", "bzip2":
	default:
		return 0, errs.Unsupportedf(-1, "the Avro codec %q (%s)", c.codec, c.path)
	}
	// The parsed schema takes some multiple of its text.
	if err := c.charge(16 * int64(len(meta["avro.schema"]))); err != nil {
		return 0, err
	}
	root, err := parseSchema(meta["avro.schema"])
	if err != nil {
		return 0, err
	}
	c.root = root
	if root.kind == kindUnion {
		of, null := root.value()
		if of == nil {
			return 0, errors.New("the schema is a union of several types")
		}
		c.unions = len(root.branches)
		c.union = c.unions - 1
		if null == c.union {
			c.union = 0
		}
		c.root = of
	}
	if c.root.kind != kindRecord {
		return 0, fmt.Errorf("the schema is not a record but %s", c.root)
	}
	if c.root.min == 0 {
		return 0, errs.Unsupportedf(-1, "Avro records without bytes (%s)", c.path)
	}
	return int64(at), nil
}

// metadata reads the header's entries and sync marker.
func (c *container) metadata(b []byte) (map[string][]byte, int, error) {
	cur := cursor{b: b, at: len(magic)}
	meta := map[string][]byte{}
	for n := cur.blockCount(2); n > 0; n = cur.blockCount(2) {
		for ; n > 0 && cur.err == nil; n-- {
			key := string(cur.bytes())
			if _, ok := meta[key]; ok && cur.err == nil {
				return nil, 0, fmt.Errorf("the entry %q occurs twice", key)
			}
			meta[key] = cur.bytes()
		}
	}
	copy(c.sync[:], cur.take(syncBytes))
	if cur.err == nil && len(meta["avro.schema"]) == 0 {
		return nil, 0, errors.New("it has no schema")
	}
	return meta, cur.at, cur.err
}

// read returns the decompressed records of a block, valid until the next call.
func (c *container) read(b block) ([]byte, error) {
	var raw []byte
	var err error
	if b.size <= int64(cap(c.win)) {
		raw, err = c.bytes(b.off, b.size)
	} else {
		if int64(cap(c.raw)) < b.size {
			if err := c.charge(b.size - int64(cap(c.raw))); err != nil {
				return nil, err
			}
			c.raw = make([]byte, b.size)
		}
		raw = c.raw[:b.size]
		err = format.ReadFull(c.f, c.path, raw, b.off)
	}
	if err != nil {
		return nil, err
	}
	data, err := c.decompress(raw)
	if err != nil {
		return nil, fmt.Errorf("the block at byte %d: %w", b.off, err)
	}
	least := c.root.min
	if c.union >= 0 {
		least++
	}
	if b.rows*least > int64(len(data)) {
		return nil, fmt.Errorf("the block at byte %d has %d bytes for %d rows", b.off, len(data), b.rows)
	}
	return data, nil
}

// room makes body hold at least n bytes.
func (c *container) room(n int64) error {
	if n > maxBlock {
		return errs.Unsupportedf(-1, "Avro blocks of more than 1 GiB (%s)", c.path)
	}
	if int64(cap(c.body)) >= n {
		return nil
	}
	if err := c.charge(n - c.inpay); err != nil {
		return err
	}
	c.inpay = n
	c.body = nil
	c.body = make([]byte, 0, n)
	return nil
}

// firstGuess is the room that a block of Java's writer needs: its 64,000 bytes
// and a record.
const firstGuess = 128 << 10

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxBlock))
})

func (c *container) decompress(raw []byte) ([]byte, error) {
	switch c.codec {
	case "null":
		return raw, nil
	case "snappy":
		if len(raw) < 4 {
			return nil, errors.New("snappy data without a checksum")
		}
		data, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
		n, err := snappy.DecodedLen(data)
		if err != nil {
			return nil, err
		}
		if n > 64*len(data) { // no element expands more than 64 bytes out of 2
			return nil, fmt.Errorf("%d bytes of snappy data claim to be %d", len(data), n)
		}
		if err := c.room(int64(n)); err != nil {
			return nil, err
		}
		out, err := snappy.Decode(c.body[:cap(c.body)], data)
		if err != nil {
			return nil, err
		}
		if crc32.ChecksumIEEE(out) != sum {
			return nil, errors.New("the checksum is wrong")
		}
		return out, nil
	case "zstandard":
		d, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		for n := max(firstGuess, int64(cap(c.body))); ; n *= 2 {
			if err := c.room(n); err != nil {
				return nil, err
			}
			out, err := d.DecodeAll(raw, c.body[:0])
			if err == nil || !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
				return out, err
			}
		}
	case "deflate":
		if c.flate == nil {
			c.flate = flate.NewReader(bytes.NewReader(raw))
		} else if err := c.flate.(flate.Resetter).Reset(bytes.NewReader(raw), nil); err != nil {
			return nil, err
		}
		return c.drain(c.flate)
	}
	return c.drain(bzip2.NewReader(bytes.NewReader(raw))) // header checked the codec
}

// drain reads r to its end into body.
func (c *container) drain(r io.Reader) ([]byte, error) {
	if err := c.room(firstGuess); err != nil {
		return nil, err
	}
	out := c.body[:0]
	for {
		if len(out) == cap(out) {
			if err := c.room(2 * int64(cap(out))); err != nil {
				return nil, err
			}
			out = append(c.body[:0], out...)
		}
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
