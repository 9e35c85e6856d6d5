package mysql

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
)

// zlibFrames carries the packet stream in frames of its own: 3 bytes length, a
// sequence number, 3 bytes length before compression (0: not compressed). It
// belongs to one goroutine.
type zlibFrames struct {
	src io.Reader
	dst io.Writer
	seq byte

	left  int              // bytes of the current frame's content still to come
	body  io.LimitedReader // of the current frame, from src
	plain bool
	zr    io.ReadCloser

	zw  *zlib.Writer
	buf bytes.Buffer
}

const (
	// minCompress is the length from which compressing pays, MySQL's.
	minCompress = 50
	// frameBytes is the most content of a frame that we write.
	frameBytes = 256 << 10
)

var errBadFrame = errors.New("malformed compressed frame")

// reset starts a command: sequence numbers start at zero.
func (z *zlibFrames) reset() { z.seq = 0 }

// Read streams the content of frames, so that a frame that grows a
// thousandfold costs no memory.
func (z *zlibFrames) Read(p []byte) (int, error) {
	for z.left == 0 {
		if err := z.next(); err != nil {
			return 0, err
		}
	}
	src := io.Reader(&z.body)
	if !z.plain {
		src = z.zr
	}
	n, err := src.Read(p[:min(len(p), z.left)])
	z.left -= n
	if z.left == 0 {
		// What is left of the frame is the checksum at most.
		if _, e := io.Copy(io.Discard, &z.body); e != nil {
			return n, e
		}
		return n, nil
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errBadFrame
		}
		return n, err
	}
	return n, nil
}

func (z *zlibFrames) next() error {
	var h [7]byte
	if _, err := io.ReadFull(z.src, h[:]); err != nil {
		return err
	}
	n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	size := int(h[4]) | int(h[5])<<8 | int(h[6])<<16
	if h[3] != z.seq {
		return errOutOfOrder
	}
	z.seq++
	if n == 0 {
		return errBadFrame
	}
	z.body = io.LimitedReader{R: z.src, N: int64(n)}
	if z.plain = size == 0; z.plain {
		z.left = n
		return nil
	}
	z.left = size
	var err error
	if z.zr == nil {
		z.zr, err = zlib.NewReader(&z.body)
	} else {
		err = z.zr.(zlib.Resetter).Reset(&z.body, nil)
	}
	if err != nil {
		return errBadFrame
	}
	return nil
}

// Write sends p in frames.
func (z *zlibFrames) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		k := min(len(p), frameBytes)
		z.buf.Reset()
		z.buf.Write(make([]byte, 7))
		size := 0
		if k >= minCompress {
			size = k
			if z.zw == nil {
				zw, err := zlib.NewWriterLevel(&z.buf, zlib.BestSpeed)
				if err != nil {
					return 0, err
				}
				z.zw = zw
			} else {
				z.zw.Reset(&z.buf)
			}
			_, _ = z.zw.Write(p[:k])
			_ = z.zw.Close()
		} else {
			z.buf.Write(p[:k])
		}
		b := z.buf.Bytes()
		n := len(b) - 7
		copy(b, []byte{byte(n), byte(n >> 8), byte(n >> 16), z.seq, byte(size), byte(size >> 8), byte(size >> 16)})
		z.seq++
		if _, err := z.dst.Write(b); err != nil {
			return total - len(p), err
		}
		p = p[k:]
	}
	return total, nil
}
