package write

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/thermocline/thermocline/internal/errs"
)

// spillCodec compresses spilled blocks ('spill-compression').
type spillCodec struct {
	name  string // "none", "lz4", "zstd"
	level int    // of zstd
}

// readSpillCodec checks a codec's name.
func readSpillCodec(name string, level int) (spillCodec, error) {
	switch name {
	case "none", "lz4", "zstd":
		return spillCodec{name, level}, nil
	}
	return spillCodec{}, errs.Unsupportedf(-1, "writing tables with spill-compression = %s (use zstd, lz4 or none)", name)
}

// Encoders by level, and the decoder, which the whole process shares. Of each there
// are as many inside as processors; blocks are small, and so is what they hold.
var (
	zstdEncoders sync.Map
	zstdDecoder  = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(1<<30))
	})
)

func zstdEncoder(level int) *zstd.Encoder {
	if e, ok := zstdEncoders.Load(level); ok {
		return e.(*zstd.Encoder)
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithWindowSize(512<<10), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	got, _ := zstdEncoders.LoadOrStore(level, e)
	return got.(*zstd.Encoder)
}

// pack appends text to dst, compressed.
func (c spillCodec) pack(dst, text []byte) []byte {
	switch c.name {
	case "zstd":
		return zstdEncoder(c.level).EncodeAll(text, dst)
	case "lz4":
		if n := lz4.CompressBlockBound(len(text)); cap(dst) < n {
			dst = make([]byte, n)
		}
		dst = dst[:cap(dst)]
		if n, err := lz4.CompressBlock(text, dst, nil); err == nil && n > 0 && n < len(text) {
			return dst[:n]
		}
		dst = dst[:0] // as it is: as long as it was
	}
	return append(dst, text...)
}

// unpack makes text of what pack made, into dst, which has its length.
func (c spillCodec) unpack(dst, packed []byte) ([]byte, error) {
	var err error
	n := len(dst)
	switch {
	case c.name == "zstd":
		var d *zstd.Decoder
		if d, err = zstdDecoder(); err == nil {
			var out []byte
			if out, err = d.DecodeAll(packed, dst[:0]); err == nil && (len(out) != len(dst) || n > 0 && &out[0] != &dst[0]) {
				n, err = len(out), errs.Corruptf("%d bytes where %d should be", len(out), len(dst))
			}
		}
	case c.name == "lz4" && len(packed) < len(dst):
		n, err = lz4.UncompressBlock(packed, dst)
	default:
		n = copy(dst, packed)
	}
	if err == nil && n != len(dst) {
		err = errs.Corruptf("%d bytes where %d should be", n, len(dst))
	}
	return dst, err
}
