package orc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
)

// codec is a compression, as orc_proto.proto numbers them.
type codec int64

const (
	codecNone codec = iota
	codecZlib
	codecSnappy
	codecLZO
	codecLZ4
	codecZstd
	codecBrotli
)

func (c codec) String() string {
	names := []string{"none", "zlib", "snappy", "lzo", "lz4", "zstd", "brotli"}
	if c >= 0 && int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("codec %d", int64(c))
}

// streamKind is what a stream holds.
type streamKind int64

const (
	streamPresent streamKind = iota
	streamData
	streamLength
	streamDictionary
	streamDictionaryCount
	streamSecondary
)

// chunkHeader is the header of a compression chunk: 23 bits of length, and
// whether the chunk is stored as it is.
const chunkHeader = 3

var errShort = errors.New("a stream ends early")

// expand decompresses a whole section: the footer, statistics, a stripe's
// footer. The result is charged for until the file is released.
func (of *file) expand(raw []byte) ([]byte, error) {
	if of.compression == codecNone {
		return raw, nil
	}
	var out []byte
	var scratch []byte
	for len(raw) > 0 {
		body, stored, rest, err := of.nextChunk(raw)
		if err != nil {
			return nil, err
		}
		raw = rest
		if !stored {
			if scratch, err = of.decompress(scratch, body, func(n int64) error { return of.charge(n) }); err != nil {
				return nil, err
			}
			body = scratch
		}
		if len(out)+len(body) > maxTail {
			return nil, errs.Unsupportedf(-1, "ORC metadata of more than 256 MiB (%s)", of.path)
		}
		if err := of.charge(int64(len(body))); err != nil {
			return nil, err
		}
		out = append(out, body...)
	}
	return out, nil
}

// nextChunk splits the first chunk off b.
func (of *file) nextChunk(b []byte) (body []byte, stored bool, rest []byte, err error) {
	if len(b) < chunkHeader {
		return nil, false, nil, errShort
	}
	h := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	n := h >> 1
	if n > len(b)-chunkHeader {
		return nil, false, nil, errShort
	}
	return b[chunkHeader : chunkHeader+n], h&1 == 1, b[chunkHeader+n:], nil
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<30))
})

// decompress decompresses a chunk into dst, which it may replace; pay is called
// for what dst grows by.
func (of *file) decompress(dst, src []byte, pay func(int64) error) ([]byte, error) {
	room := func(n int64) error {
		if n > of.chunk {
			n = of.chunk
		}
		if int64(cap(dst)) >= n {
			return nil
		}
		if err := pay(n - int64(cap(dst))); err != nil {
			return err
		}
		dst = make([]byte, 0, n)
		return nil
	}
	if of.compression == codecSnappy {
		n, err := snappy.DecodedLen(src)
		if err != nil {
			return nil, err
		}
		if int64(n) > of.chunk {
			return nil, fmt.Errorf("a chunk of %d bytes, more than the file's %d", n, of.chunk)
		}
		if err := room(int64(n)); err != nil {
			return nil, err
		}
		return snappy.Decode(dst[:cap(dst)], src)
	}
	for n := max(int64(cap(dst)), 4*int64(len(src)), 1024); ; n *= 4 {
		if err := room(n); err != nil {
			return nil, err
		}
		out, full, err := of.tryDecompress(dst[:0], src)
		if err == nil || !full || n >= of.chunk {
			return out, err
		}
	}
}

// tryDecompress decompresses within dst's capacity. full says that an error may
// come from lack of room.
func (of *file) tryDecompress(dst, src []byte) (out []byte, full bool, err error) {
	switch of.compression {
	case codecZstd:
		d, err := zstdDecoder()
		if err != nil {
			return nil, false, err
		}
		out, err := d.DecodeAll(src, dst)
		return out, errors.Is(err, zstd.ErrDecoderSizeExceeded), err
	case codecLZ4:
		n, err := lz4.UncompressBlock(src, dst[:cap(dst)])
		if err != nil {
			return nil, true, err
		}
		return dst[:n], false, nil
	}
	if of.inflate == nil {
		of.inflate = flate.NewReader(bytes.NewReader(src))
	} else if err := of.inflate.(flate.Resetter).Reset(bytes.NewReader(src), nil); err != nil {
		return nil, false, err
	}
	for {
		if len(dst) == cap(dst) {
			var one [1]byte
			n, err := of.inflate.Read(one[:])
			if n == 0 && err == io.EOF {
				return dst, false, nil
			}
			if n == 0 && err == nil {
				continue
			}
			if n == 0 {
				return nil, false, err
			}
			return nil, true, errors.New("a chunk is larger than the file's chunks")
		}
		n, err := of.inflate.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

// windowBytes is read at once from a stream.
const windowBytes = 256 << 10

// stream reads the uncompressed bytes of one stream of one stripe. The zero
// value is an empty stream. Its buffers are kept from stripe to stripe.
type stream struct {
	of      *file
	loaded  []byte // the stream's compressed bytes, when the stripe was read whole
	off     int64  // of the next compressed byte, in loaded or the file
	end     int64
	win     []byte // compressed bytes of the file from winOff on
	winOff  int64
	scratch []byte // the current chunk, decompressed
	buf     []byte // what is left of the current chunk
	tmp     []byte
}

func (s *stream) reset(of *file, at section, loaded []byte, loadedOff int64) {
	s.of, s.buf, s.loaded = of, nil, nil
	s.off, s.end = at.off, at.off+at.size
	s.win = s.win[:0]
	if loaded != nil && at.off >= loadedOff && s.end-loadedOff <= int64(len(loaded)) {
		s.loaded = loaded[at.off-loadedOff : s.end-loadedOff]
		s.off, s.end = 0, at.size
	}
}

// raw returns n compressed bytes at off, or fewer at the stream's end. They are
// valid until the next call.
func (s *stream) raw(off, n int64) ([]byte, error) {
	n = min(n, s.end-off)
	if s.loaded != nil {
		return s.loaded[off : off+n], nil
	}
	if at := off - s.winOff; at >= 0 && at+n <= int64(len(s.win)) {
		return s.win[at : at+n], nil
	}
	want := min(max(n, windowBytes), s.end-off)
	if int64(cap(s.win)) < want {
		if err := s.of.charge(want - int64(cap(s.win))); err != nil {
			return nil, err
		}
		s.win = make([]byte, want)
	}
	s.win, s.winOff = s.win[:want], off
	if err := format.ReadFull(s.of.f, s.of.path, s.win, off); err != nil {
		s.win = s.win[:0]
		return nil, err
	}
	return s.win[:n], nil
}

// fill makes buf hold at least a byte.
func (s *stream) fill() error {
	for len(s.buf) == 0 {
		if s.off >= s.end {
			return errShort
		}
		if s.of.compression == codecNone {
			b, err := s.raw(s.off, windowBytes)
			if err != nil {
				return err
			}
			s.buf = b
			s.off += int64(len(b))
			return nil
		}
		b, err := s.raw(s.off, chunkHeader)
		if err != nil {
			return err
		}
		if len(b) < chunkHeader {
			return errShort
		}
		n := int64(b[0])>>1 | int64(b[1])<<7 | int64(b[2])<<15
		if b, err = s.raw(s.off, chunkHeader+n); err != nil {
			return err
		}
		body, stored, _, err := s.of.nextChunk(b)
		if err != nil {
			return err
		}
		if !stored {
			if s.scratch, err = s.of.decompress(s.scratch, body, s.of.charge); err != nil {
				return err
			}
			body = s.scratch
		}
		s.buf = body
		s.off += chunkHeader + n
	}
	return nil
}

func (s *stream) byte() (byte, error) {
	if len(s.buf) == 0 {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	b := s.buf[0]
	s.buf = s.buf[1:]
	return b, nil
}

// take returns the next n bytes, at most some thousand, valid until the next
// call of a method.
func (s *stream) take(n int) ([]byte, error) {
	if len(s.buf) >= n {
		b := s.buf[:n]
		s.buf = s.buf[n:]
		return b, nil
	}
	s.tmp = s.tmp[:0]
	for len(s.tmp) < n {
		if err := s.fill(); err != nil {
			return nil, err
		}
		k := min(n-len(s.tmp), len(s.buf))
		s.tmp = append(s.tmp, s.buf[:k]...)
		s.buf = s.buf[k:]
	}
	return s.tmp, nil
}

// appendTo appends the next n bytes to dst, or with n < 0 all that are left. pay
// is called for what dst grows by.
func (s *stream) appendTo(dst []byte, n int64, pay func(int64) error) ([]byte, error) {
	for n != 0 {
		if len(s.buf) == 0 {
			if n < 0 && s.off >= s.end {
				return dst, nil
			}
			if err := s.fill(); err != nil {
				if n < 0 && errors.Is(err, errShort) {
					return dst, nil
				}
				return nil, err
			}
		}
		k := len(s.buf)
		if n > 0 {
			k = int(min(n, int64(k)))
			n -= int64(k)
		}
		if need := len(dst) + k; need > cap(dst) {
			size := max(need, 2*cap(dst))
			if n >= 0 && int64(size) > int64(need)+n {
				size = need + int(n)
			}
			if err := pay(int64(size - cap(dst))); err != nil {
				return nil, err
			}
			next := make([]byte, len(dst), size)
			copy(next, dst)
			dst = next
		}
		dst = append(dst, s.buf[:k]...)
		s.buf = s.buf[k:]
	}
	return dst, nil
}

// uvarint reads a base-128 number.
func (s *stream) uvarint() (uint64, error) {
	var x uint64
	for shift := uint(0); ; shift += 7 {
		b, err := s.byte()
		if err != nil {
			return 0, err
		}
		if shift == 63 && b > 1 {
			return 0, errors.New("a number has more than 64 bits")
		}
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x, nil
		}
	}
}
