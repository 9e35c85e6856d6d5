package s3

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// Parts of uploads, in bytes. S3 allows 10 000 parts of 5 MiB to 5 GiB, the last
// one may be smaller; the size doubles every 1 000 parts so that 5 TiB fit.
const (
	firstPart = 8 << 20
	leastPart = 5 << 20
	growEvery = 1000
)

// upload is a file being written. Small ones go out in one PUT at Close; larger
// ones as parts, one of which is under way while the next fills. Its buffers
// are reserved from the FS's budget.
type upload struct {
	s           *FS
	ctx         context.Context
	cancel      context.CancelFunc // of the part under way
	path        string
	bucket, key string
	mark        string

	buf      []byte
	held     int64 // reserved for buf
	size     int64 // handed over to parts
	id       *string
	parts    []types.CompletedPart
	underway chan error // of the part that is being sent, nil when none is
	err      error      // sticky
	done     bool
}

var _ fileio.Writer = (*upload)(nil)

// Create implements fileio.FileIO. Writes end with ctx.
func (s *FS) Create(ctx context.Context, p string) (fileio.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bucket, key, err := object("create", p)
	if err != nil {
		return nil, err
	}
	u := &upload{s: s, path: p, bucket: bucket, key: key, mark: uuid.NewString()}
	u.ctx, u.cancel = context.WithCancel(ctx)
	return u, nil
}

func (u *upload) partSize() int { return firstPart << (len(u.parts) / growEvery) }

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.done {
		return 0, errs.Internalf("write %s: the file is closed", u.path)
	}
	done := 0
	for u.err == nil && done < len(p) {
		room := u.partSize() - len(u.buf)
		if room <= 0 {
			u.err = u.flush()
			continue
		}
		n := min(room, len(p)-done)
		if u.err = u.grow(len(u.buf) + n); u.err != nil {
			short := errs.ClassOf(u.err) == errs.Resource
			switch {
			case short && u.underway != nil: // gives its memory back
				u.err = u.await()
			case short && len(u.buf) >= leastPart: // a smaller part than wanted
				u.err = u.flush()
			}
			continue
		}
		u.buf = append(u.buf, p[done:done+n]...)
		done += n
	}
	return done, u.err
}

// grow makes room for n bytes.
func (u *upload) grow(n int) error {
	if n <= cap(u.buf) {
		return nil
	}
	size := max(64<<10, 2*cap(u.buf), n)
	if size > u.partSize() {
		size = max(n, u.partSize())
	}
	if err := u.s.o.Budget.Reserve(int64(size)); err != nil {
		return err
	}
	b := make([]byte, len(u.buf), size)
	copy(b, u.buf)
	u.s.o.Budget.Release(u.held)
	u.buf, u.held = b, int64(size)
	return nil
}

// flush hands the buffer to a part, after the one before it has gone out.
func (u *upload) flush() error {
	if err := u.await(); err != nil {
		return err
	}
	if u.id == nil {
		call, cancel := context.WithTimeout(u.ctx, callTimeout)
		defer cancel()
		out, err := u.s.client.CreateMultipartUpload(call, &sdk.CreateMultipartUploadInput{Bucket: &u.bucket, Key: &u.key, Metadata: map[string]string{mark: u.mark}})
		if err != nil {
			return u.s.readError(u.ctx, "write", u.path, err) // nothing is visible of it
		}
		u.id = out.UploadId
	}
	buf, held := u.buf, u.held
	u.buf, u.held = nil, 0
	u.size += int64(len(buf))
	u.parts = append(u.parts, types.CompletedPart{PartNumber: aws.Int32(int32(len(u.parts) + 1))})
	part := &u.parts[len(u.parts)-1] // the slice grows only after the part is out
	u.underway = make(chan error, 1)
	go func(done chan<- error) {
		call, cancel := context.WithTimeout(u.ctx, bodyTimeout)
		defer cancel()
		out, err := u.s.client.UploadPart(call, &sdk.UploadPartInput{Bucket: &u.bucket, Key: &u.key, UploadId: u.id, PartNumber: part.PartNumber, Body: bytes.NewReader(buf)})
		u.s.o.Budget.Release(held)
		if err == nil {
			part.ETag = out.ETag
		}
		done <- err
	}(u.underway)
	return nil
}

// await waits for the part under way.
func (u *upload) await() error {
	if u.underway == nil {
		return nil
	}
	err := <-u.underway
	u.underway = nil
	if err != nil {
		return u.s.readError(u.ctx, "write", u.path, err)
	}
	return nil
}

// Close implements fileio.Writer.
func (u *upload) Close() error {
	if u.done {
		return nil
	}
	if u.err == nil && u.id == nil {
		u.done = true
		err := u.s.put(u.ctx, "create", u.path, u.bucket, u.key, u.buf)
		u.release()
		return err
	}
	if u.err == nil && len(u.buf) > 0 {
		u.err = u.flush()
	}
	if u.err == nil {
		u.err = u.await()
	}
	if u.err != nil {
		return errors.Join(u.err, u.Abort())
	}
	u.done = true
	defer u.release()
	var sent sent
	call, cancel := context.WithTimeout(sent.watch(u.ctx), bodyTimeout)
	defer cancel()
	_, err := u.s.client.CompleteMultipartUpload(call, &sdk.CompleteMultipartUploadInput{Bucket: &u.bucket, Key: &u.key, UploadId: u.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts}})
	if err == nil {
		return nil
	}
	// A repeated completion finds no upload when the first one's reply was lost.
	clean, stop := cleanup(u.ctx)
	defer stop()
	out, herr := u.s.client.HeadObject(clean, &sdk.HeadObjectInput{Bucket: &u.bucket, Key: &u.key})
	if herr == nil && marked(out, u.mark, u.size) {
		return nil
	}
	wrapped := u.s.writeError(u.ctx, &sent, "create", u.path, err)
	if n, _ := status(herr); herr != nil && n != http.StatusNotFound {
		return errs.New(errs.UnknownOutcome, errs.KindNone, "create %s: it may have happened: %w", u.path, cause(err))
	}
	if errs.ClassOf(wrapped) != errs.UnknownOutcome {
		_ = u.abandon(clean) // what it leaves is invisible
	}
	return wrapped
}

// Abort implements fileio.Writer.
func (u *upload) Abort() error {
	if u.done {
		return nil
	}
	u.done = true
	u.release()
	if u.id == nil {
		return nil
	}
	clean, stop := cleanup(u.ctx)
	defer stop()
	if err := u.abandon(clean); err != nil {
		return errs.New(errs.Unavailable, errs.KindNone, "remove the unfinished %s: %w", u.path, cause(err))
	}
	return nil
}

// release ends the part under way and gives the memory back.
func (u *upload) release() {
	u.cancel()
	_ = u.await()
	u.s.o.Budget.Release(u.held)
	u.buf, u.held = nil, 0
}

func (u *upload) abandon(ctx context.Context) error {
	_, err := u.s.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &u.bucket, Key: &u.key, UploadId: u.id})
	if n, _ := status(err); n == http.StatusNotFound {
		return nil
	}
	return err
}
