package spec

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/thermocline/thermocline/internal/errs"
)

// Avro object container files (https://avro.apache.org/docs/1.11.1/specification/,
// "Object Container Files"): a header with the writer's schema and the codec,
// then blocks of records, each compressed and ended by the file's sync marker.

const (
	avroMagic = "Obj\x01"
	// maxBlock bounds a block's uncompressed size, maxDecoded a file's: Java's
	// writer ends a block after 64,000 bytes and a manifest after some 8 MB.
	maxBlock   = 64 << 20
	maxDecoded = 1 << 30
	// blockBytes is when a written block ends, as in Java's DataFileWriter.
	blockBytes = 64000
	// maxHeader bounds the header's entries.
	maxHeader = 1 << 20
)

// Zstandard coders are safe for concurrent EncodeAll and DecodeAll.
var (
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			panic(err) // the options are constant
		}
		return d
	})
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	})
)

// IsAvro reports whether b starts like an Avro object container file.
func IsAvro(b []byte) bool { return bytes.HasPrefix(b, []byte(avroMagic)) }

// container reads the blocks of an object container file.
type container struct {
	d      dec
	schema []byte
	codec  string
	sync   []byte
	total  int
}

// openContainer reads the header.
func openContainer(b []byte) (*container, error) {
	if !IsAvro(b) {
		if bytes.HasPrefix(b, []byte("ORC")) || bytes.HasPrefix(b, []byte("PAR1")) {
			return nil, errs.Unsupportedf(-1, "manifests in another format than Avro (table option manifest.format)")
		}
		return nil, errs.Corruptf("it is not an Avro file: the first bytes are %q", b[:min(len(b), 4)])
	}
	c := &container{d: dec{b: b, at: len(avroMagic)}, codec: "null"}
	d := &c.d
	for n := d.blockCount(); n > 0; n = d.blockCount() {
		for ; n > 0 && d.err == nil; n-- {
			key, val := d.bytes(), d.bytes()
			switch string(key) {
			case "avro.schema":
				c.schema = val
			case "avro.codec":
				c.codec = string(val)
			}
		}
		if d.at > maxHeader {
			d.fail("the header is longer than %d bytes", maxHeader)
		}
	}
	c.sync = d.take(16)
	if d.err == nil && len(c.schema) == 0 {
		d.fail("the header has no schema")
	}
	return c, d.err
}

// next returns the records of the next block; no bytes at the end of the file.
func (c *container) next() (records int64, data []byte, err error) {
	d := &c.d
	for d.err == nil && d.at < len(d.b) {
		n, size := d.long(), d.long()
		if n < 0 || size < 0 {
			d.fail("a block of %d records and %d bytes", n, size)
		}
		raw := d.take(size)
		if sync := d.take(16); d.err == nil && !bytes.Equal(sync, c.sync) {
			d.fail("a block does not end with the sync marker")
		}
		if d.err != nil {
			break
		}
		data, err := decompress(c.codec, raw)
		if err != nil {
			return 0, nil, errs.Corruptf("the block before byte %d: %w", d.at, err)
		}
		if c.total += len(data); c.total > maxDecoded {
			return 0, nil, errs.New(errs.Resource, errs.MemoryLimit, "the file has more than %d bytes uncompressed", maxDecoded)
		}
		if n > int64(len(data)) {
			return 0, nil, errs.Corruptf("the block before byte %d has %d bytes for %d records", d.at, len(data), n)
		}
		if n > 0 {
			return n, data, nil
		}
	}
	return 0, nil, d.err
}

func decompress(codec string, raw []byte) ([]byte, error) {
	switch codec {
	case "null":
		return raw, nil
	case "deflate":
		r := flate.NewReader(bytes.NewReader(raw))
		out, err := io.ReadAll(io.LimitReader(r, maxBlock+1))
		if err == nil && len(out) > maxBlock {
			err = errs.Corruptf("it is larger than %d bytes", maxBlock)
		}
		return out, err
	case "snappy":
		if len(raw) < 4 {
			return nil, errs.Corruptf("it is too short")
		}
		body, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
		n, err := snappy.DecodedLen(body)
		if err != nil {
			return nil, err
		}
		// No snappy element expands more than 64 bytes out of 2.
		if n > maxBlock || n > 64*len(body) {
			return nil, errs.Corruptf("it claims %d bytes", n)
		}
		out, err := snappy.Decode(nil, body)
		if err != nil {
			return nil, err
		}
		if crc32.ChecksumIEEE(out) != sum {
			return nil, errs.Corruptf("its checksum is wrong")
		}
		return out, nil
	case "zstandard":
		return zstdDecoder().DecodeAll(raw, nil)
	}
	return nil, errs.Unsupportedf(-1, "the Avro codec %q", codec)
}

// avroCodec returns Avro's name of a manifest.compression.
func avroCodec(option string) (string, error) {
	switch option {
	case "", "zstd", "zstandard":
		return "zstandard", nil
	case "snappy", "deflate", "null":
		return option, nil
	case "none":
		return "null", nil
	}
	return "", errs.Unsupportedf(-1, "manifest.compression = %s", option)
}

// containerWriter writes an object container file into memory.
type containerWriter struct {
	out   []byte
	block []byte // records of the block being built
	n     int64
	codec string
	sync  [16]byte
}

func newContainerWriter(schema, compression string) (*containerWriter, error) {
	codec, err := avroCodec(compression)
	if err != nil {
		return nil, err
	}
	w := &containerWriter{codec: codec}
	if _, err := rand.Read(w.sync[:]); err != nil {
		return nil, errs.Internalf("make a sync marker: %w", err)
	}
	w.out = append(w.out, avroMagic...)
	w.out = binary.AppendVarint(w.out, 2)
	w.out = appendString(w.out, "avro.schema")
	w.out = appendString(w.out, schema)
	w.out = appendString(w.out, "avro.codec")
	w.out = appendString(w.out, codec)
	w.out = append(w.out, 0)
	w.out = append(w.out, w.sync[:]...)
	return w, nil
}

// end counts a record that was appended to w.block.
func (w *containerWriter) end() {
	w.n++
	if len(w.block) >= blockBytes {
		w.flush()
	}
}

// size estimates the file's size if it were finished now.
func (w *containerWriter) size() int {
	return len(w.out) + len(w.block)
}

func (w *containerWriter) flush() {
	if w.n == 0 {
		return
	}
	data := w.block
	switch w.codec {
	case "deflate":
		var b bytes.Buffer
		f, _ := flate.NewWriter(&b, flate.DefaultCompression) // the level is valid
		f.Write(data)                                         //nolint:errcheck // a bytes.Buffer does not fail
		f.Close()
		data = b.Bytes()
	case "snappy":
		sum := crc32.ChecksumIEEE(data)
		data = binary.BigEndian.AppendUint32(snappy.Encode(nil, data), sum)
	case "zstandard":
		data = zstdEncoder().EncodeAll(data, nil)
	}
	w.out = binary.AppendVarint(w.out, w.n)
	w.out = binary.AppendVarint(w.out, int64(len(data)))
	w.out = append(w.out, data...)
	w.out = append(w.out, w.sync[:]...)
	w.block, w.n = w.block[:0], 0
}

// finish returns the file.
func (w *containerWriter) finish() []byte {
	w.flush()
	return w.out
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendVarint(b, int64(len(s))), s...)
}

func appendBytes(b []byte, s []byte) []byte {
	return append(binary.AppendVarint(b, int64(len(s))), s...)
}
