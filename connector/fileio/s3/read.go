package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// Sizes of reads, in bytes. A request costs tens of milliseconds, in which a
// store sends about a mebibyte: it does not pay to ask for less.
const (
	tailBytes  = 128 << 10 // fetched with Open: footers are there, and small files whole
	firstAhead = 256 << 10
	mostAhead  = 4 << 20
	windowsMax = 8
)

// file is an open object. It keeps a few windows of what was read, so that a
// footer's parts and the pages of column chunks do not cost a request each.
// Windows are reserved from the FS's budget; where it grants none, reads fetch
// what was asked for and nothing else.
type file struct {
	s           *FS
	ctx         context.Context
	cancel      context.CancelFunc
	path        string
	bucket, key string
	etag        *string
	size        int64

	mu      sync.Mutex
	closed  bool
	clock   int64
	windows []*window
}

type window struct {
	off  int64
	data []byte
	used int64
}

func (w *window) end() int64 { return w.off + int64(len(w.data)) }

// Open implements fileio.FileIO. Reads end with ctx.
func (s *FS) Open(ctx context.Context, p string) (fileio.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bucket, key, err := object("open", p)
	if err != nil {
		return nil, err
	}
	f := &file{s: s, path: p, bucket: bucket, key: key}
	f.ctx, f.cancel = context.WithCancel(ctx)
	if err := f.open(); err != nil {
		f.cancel()
		return nil, err
	}
	return f, nil
}

// open asks for the file's tail, which tells its size and version too.
func (f *file) open() error {
	err := f.s.repeat(f.ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		out, err := f.s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &f.bucket, Key: &f.key, Range: aws.String("bytes=-" + strconv.Itoa(tailBytes))})
		if n, _ := status(err); n == http.StatusRequestedRangeNotSatisfiable {
			return f.head(ctx) // an empty file has no last bytes
		}
		if err != nil {
			return err
		}
		defer out.Body.Close()
		f.etag = out.ETag
		f.size = aws.ToInt64(out.ContentLength)
		if out.ContentRange != nil { // bytes FIRST-LAST/SIZE
			_, total, _ := strings.Cut(*out.ContentRange, "/")
			if f.size, err = strconv.ParseInt(total, 10, 64); err != nil {
				return fmt.Errorf("the store answered the range %q", *out.ContentRange)
			}
		}
		n := aws.ToInt64(out.ContentLength)
		if n > tailBytes || n > f.size || f.s.ahead.Reserve(n) != nil {
			return nil // read when it is asked for
		}
		tail := make([]byte, n)
		if _, err := io.ReadFull(out.Body, tail); err != nil {
			f.s.ahead.Release(n)
			return bodyError(err)
		}
		f.windows = append(f.windows, &window{off: f.size - n, data: tail})
		return nil
	})
	if err != nil {
		return f.s.readError(f.ctx, "open", f.path, err)
	}
	return nil
}

func (f *file) head(ctx context.Context) error {
	out, err := f.s.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &f.bucket, Key: &f.key})
	if err != nil {
		return err
	}
	f.etag, f.size = out.ETag, aws.ToInt64(out.ContentLength)
	return nil
}

// Size implements fileio.File.
func (f *file) Size() int64 { return f.size }

// Close implements fileio.File.
func (f *file) Close() error {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.drop(len(f.windows))
	return nil
}

// drop forgets the n windows that were used longest ago.
func (f *file) drop(n int) {
	slices.SortFunc(f.windows, func(a, b *window) int { return int(a.used - b.used) })
	for _, w := range f.windows[:n] {
		f.s.ahead.Release(int64(len(w.data)))
	}
	f.windows = slices.Delete(f.windows, 0, n)
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errs.Internalf("read %s: offset %d", f.path, off)
	}
	done, short := 0, false
	if off > f.size {
		off = f.size
	}
	if int64(len(p)) > f.size-off {
		p, short = p[:f.size-off], true
	}
	for done < len(p) {
		n, err := f.read(p[done:], off+int64(done))
		if done += n; err != nil {
			return done, err
		}
	}
	if short {
		return done, io.EOF
	}
	return done, nil
}

// read reads some bytes at off, at least one.
func (f *file) read(p []byte, off int64) (int, error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return 0, errs.Internalf("read %s: the file is closed", f.path)
	}
	ahead := int64(firstAhead)
	for _, w := range f.windows {
		if off >= w.off && off < w.end() {
			n := copy(p, w.data[off-w.off:])
			f.clock++
			w.used = f.clock
			f.mu.Unlock()
			return n, nil
		}
		if off == w.end() { // sequential: ask for more each time
			ahead = max(ahead, min(2*int64(len(w.data)), mostAhead))
		}
	}
	n := min(max(int64(len(p)), ahead), f.size-off)
	for _, w := range f.windows { // fetch nothing twice
		if w.off > off {
			n = min(n, w.off-off)
		}
	}
	if extra := len(f.windows) + 1 - windowsMax; extra > 0 {
		f.drop(extra)
	}
	keep := int64(len(p)) < mostAhead
	if keep && f.s.ahead.Reserve(n) != nil {
		f.drop(len(f.windows))
		keep = f.s.ahead.Reserve(n) == nil
	}
	f.mu.Unlock()
	if !keep {
		p = p[:min(int64(len(p)), n)]
		if err := f.fetch(p, off); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	w := &window{off: off, data: make([]byte, n)}
	err := f.fetch(w.data, off)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || f.closed {
		f.s.ahead.Release(n)
		if err == nil {
			err = errs.Internalf("read %s: the file is closed", f.path)
		}
		return 0, err
	}
	f.clock++
	w.used = f.clock
	f.windows = append(f.windows, w)
	return copy(p, w.data), nil
}

// fetch fills p with the bytes at off of the version that was opened.
func (f *file) fetch(p []byte, off int64) error {
	err := f.s.repeat(f.ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, bodyTimeout)
		defer cancel()
		out, err := f.s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &f.bucket, Key: &f.key, IfMatch: f.etag, Range: byteRange(off, int64(len(p)))})
		if err != nil {
			return err
		}
		defer out.Body.Close()
		if n := aws.ToInt64(out.ContentLength); n != int64(len(p)) {
			return fmt.Errorf("the store answered %d bytes instead of %d", n, len(p))
		}
		_, err = io.ReadFull(out.Body, p)
		return bodyError(err)
	})
	if err != nil {
		return f.s.readError(f.ctx, "read", f.path, err)
	}
	return nil
}
