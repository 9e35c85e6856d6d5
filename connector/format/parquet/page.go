package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
)

// Kinds of pages.
const (
	pageData   = 0
	pageIndex  = 1
	pageDict   = 2
	pageDataV2 = 3
)

// Limits of one page. Writers make pages of about 1 MiB; a page is larger only
// when a single value is.
const (
	maxPageBytes   = 1 << 30
	readAhead      = 1 << 20
	maxHeaderBytes = 1 << 20 // page statistics may hold long strings
)

// Codecs, as parquet.thrift numbers them.
var codecNames = [...]string{"none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4"}

func codecName(c int32) string {
	if c >= 0 && int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", c)
}

// page is a decompressed page. Its bytes are valid until the next page is read,
// unless the reader was told to keep them.
type page struct {
	pageHeader
	head   int64  // of its header in the file
	at     int64  // of its bytes in the file
	levels []byte // v2: repetition, then definition levels; v1: empty
	data   []byte // v1: levels and values; v2: values
	loaded bool   // levels and data are there
}

// keptPage is a page in format.Pages. Nothing in it changes.
type keptPage struct {
	page
	size int64 // of the file
}

// pageBytes is what a keptPage takes beside its bytes, about.
const pageBytes = 200

// pageReader walks the pages of one chunk.
type pageReader struct {
	pf      *file
	c       *chunk
	off     int64 // of the next page header
	end     int64
	win     []byte // bytes of the file from winOff
	winOff  int64
	ahead   int64 // bytes to read at once
	body    []byte
	fresh   bool  // every page's bytes get memory of their own, for views into it
	keep    bool  // the page at hand goes into pf.pages
	charged int64 // bytes of buffers paid for
	seen    int64 // entries in the data pages so far
}

func (p *pageReader) reset(pf *file, c *chunk) {
	p.pf, p.c = pf, c
	p.off, p.end = c.start, c.start+c.compressed
	p.seen = 0
	p.ahead = min(readAhead, max(c.compressed, 1))
	if p.winOff > p.off || p.winOff+int64(len(p.win)) < p.off {
		p.win = p.win[:0]
	}
}

// need charges the reader's buffers at their new total.
func (p *pageReader) need(total int64) error {
	if total <= p.charged {
		return nil
	}
	if err := p.pf.charge(total - p.charged); err != nil {
		return err
	}
	p.charged = total
	return nil
}

// bytes returns n bytes at off, at most to the chunk's end. They are valid until
// the next call.
func (p *pageReader) bytes(off, n int64) ([]byte, error) {
	if n > p.end-off {
		n = p.end - off
	}
	if at := off - p.winOff; at >= 0 && at+n <= int64(len(p.win)) {
		return p.win[at : at+n], nil
	}
	want := min(max(n, p.ahead), p.end-off)
	if int64(cap(p.win)) < want {
		if err := p.need(want + 2*int64(cap(p.body))); err != nil {
			return nil, err
		}
		p.win = make([]byte, want)
	}
	p.win = p.win[:want]
	p.winOff = off
	if err := readFull(p.pf.f, p.win, off); err != nil {
		p.win = p.win[:0]
		return nil, format.ReadError(p.pf.path, err)
	}
	return p.win[:n], nil
}

// next returns the next dictionary or data page, or false at the end.
func (p *pageReader) next() (pg page, ok bool, err error) {
	if pg, ok, err = p.header(); err == nil && ok {
		err = p.load(&pg)
	}
	return pg, ok, err
}

// header moves past the next dictionary or data page and returns it without its
// bytes, for load.
func (p *pageReader) header() (pg page, ok bool, err error) {
	for p.off < p.end {
		if p.pf.pages != nil {
			k, ok := p.pf.pages.Load(p.pf.path, p.off).(*keptPage)
			if ok && k.size == p.pf.f.Size() && k.at+int64(k.compressedSize) <= p.end {
				if err := p.pass(&k.page); err != nil {
					return pg, false, err
				}
				return k.page, true, nil
			}
		}
		var n int
		for size := int64(512); ; size *= 8 {
			b, err := p.bytes(p.off, size)
			if err != nil {
				return pg, false, err
			}
			pg.pageHeader, n, err = parsePageHeader(b)
			if err == nil {
				break
			}
			if !errors.Is(err, errShort) || int64(len(b)) < size || size > maxHeaderBytes {
				return pg, false, fmt.Errorf("page header at %d: %w", p.off, err)
			}
		}
		at := p.off + int64(n)
		size := int64(pg.compressedSize)
		if size > p.end-at {
			return pg, false, fmt.Errorf("the page at %d is longer than its column", p.off)
		}
		if int64(pg.uncompressedSize) > maxPageBytes {
			return pg, false, errs.Unsupportedf(-1, "Parquet pages of more than 1 GiB (%s)", p.pf.path)
		}
		if pg.kind != pageData && pg.kind != pageDict && pg.kind != pageDataV2 {
			p.off = at + size // an index page, or one of a later version
			continue
		}
		pg.head, pg.at = p.off, at
		return pg, true, p.pass(&pg)
	}
	return pg, false, nil
}

// pass moves past a page.
func (p *pageReader) pass(pg *page) error {
	if pg.kind != pageDict {
		p.seen += int64(pg.values)
		if p.seen > p.c.values {
			return fmt.Errorf("the pages hold more than the column's %d values", p.c.values)
		}
	}
	p.off = pg.at + int64(pg.compressedSize)
	return nil
}

// load reads and decompresses a page.
func (p *pageReader) load(pg *page) error {
	if pg.loaded {
		return nil
	}
	raw, err := p.bytes(pg.at, int64(pg.compressedSize))
	if err != nil {
		return err
	}
	if pg.hasCRC && crc32.ChecksumIEEE(raw) != pg.crc {
		return fmt.Errorf("the page at %d fails its checksum", pg.at)
	}
	if err = p.decompress(pg, raw); err != nil {
		return fmt.Errorf("page at %d: %w", pg.at, err)
	}
	pg.loaded = true
	if p.keep {
		p.pf.pages.Store(p.pf.path, pg.head, &keptPage{*pg, p.pf.f.Size()}, int64(pg.uncompressedSize)+pageBytes)
	}
	return nil
}

// slack is the capacity beyond a page's bytes with which zstd need not take care of
// the end of its output: it works in blocks of at most 128 KiB.
func slack(size int) int {
	const block, over = 128 << 10, 32
	if size <= block {
		return over
	}
	return -size&(block-1) + over
}

// decompress fills pg.levels and pg.data.
func (p *pageReader) decompress(pg *page, raw []byte) error {
	size := int(pg.uncompressedSize)
	stored := p.c.codec == 0
	levels := 0
	if pg.kind == pageDataV2 {
		levels = int(pg.repBytes) + int(pg.defBytes)
		if levels > len(raw) || levels > size {
			return errors.New("its levels are longer than the page")
		}
		stored = stored || pg.uncompressed
	}
	if stored && size != len(raw) {
		return fmt.Errorf("%d bytes, %d expected", len(raw), size)
	}
	if err := p.need(int64(cap(p.win)) + 2*int64(max(size, cap(p.body)))); err != nil {
		return err
	}
	p.keep = p.pf.pages != nil && p.c.codec != 0 && p.pf.pages.Wants(p.pf.path, pg.head, int64(size)+pageBytes)
	own := p.fresh || p.keep
	var body []byte
	switch {
	case stored && own:
		body = slices.Clone(raw)
	case stored:
		p.body = append(p.body[:0], raw...)
		body = p.body
	default:
		if cap(p.body) < size {
			p.body = make([]byte, size, size+slack(size))
		}
		body = p.body[:size]
		copy(body, raw[:levels])
		// A v2 page of NULLs only may store nothing.
		if size > levels {
			if err := decompress(p.c.codec, body[levels:], raw[levels:]); err != nil {
				return err
			}
		}
		if own {
			body = slices.Clone(body)
		}
	}
	pg.levels = body[:levels:levels]
	pg.data = body[levels:size:size]
	return nil
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxPageBytes))
})

// decompress fills dst, whose length is the expected size, exactly.
func decompress(codec int32, dst, src []byte) error {
	n := -1
	switch codec {
	case 1:
		l, err := snappy.DecodedLen(src)
		if err != nil || l != len(dst) {
			return fmt.Errorf("snappy data of %d bytes, %d expected", l, len(dst))
		}
		out, err := snappy.Decode(dst, src)
		if err != nil {
			return err
		}
		n = len(out)
	case 2:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return err
		}
		if n, err = io.ReadFull(r, dst); err != nil {
			return err
		}
		if extra, err := r.Read(make([]byte, 1)); extra > 0 || err != io.EOF {
			return errors.New("gzip data longer than expected")
		}
	case 5:
		return lz4Hadoop(dst, src)
	case 6:
		d, err := zstdDecoder()
		if err != nil {
			return err
		}
		out, err := d.DecodeAll(src, dst[:0:min(cap(dst), len(dst)+slack(len(dst)))])
		if err != nil {
			return err
		}
		n = len(out)
	case 7:
		var err error
		if n, err = lz4.UncompressBlock(src, dst); err != nil {
			return err
		}
	default:
		return errs.Unsupportedf(-1, "the Parquet codec %s", codecName(codec))
	}
	if n != len(dst) {
		return fmt.Errorf("%d bytes after decompression, %d expected", n, len(dst))
	}
	return nil
}

// lz4Hadoop reads the LZ4 codec of older writers: blocks with Hadoop's frame
// (uncompressed and compressed length, big endian), or one bare block.
func lz4Hadoop(dst, src []byte) error {
	out, in := dst, src
	for len(in) >= 8 {
		u, c := int(binary.BigEndian.Uint32(in)), int(binary.BigEndian.Uint32(in[4:]))
		if u > len(out) || c > len(in)-8 {
			break
		}
		n, err := lz4.UncompressBlock(in[8:8+c], out[:u])
		if err != nil || n != u {
			break
		}
		out, in = out[u:], in[8+c:]
	}
	if len(in) == 0 && len(out) == 0 {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		err = fmt.Errorf("%d bytes after decompression, %d expected", n, len(dst))
	}
	return err
}
