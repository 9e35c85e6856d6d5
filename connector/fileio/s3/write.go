package s3

import (
	"bytes"
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"

	"github.com/thermocline/thermocline/internal/errs"
)

// WriteFile implements fileio.FileIO.
func (s *FS) WriteFile(ctx context.Context, p string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bucket, key, err := object("write", p)
	if err != nil {
		return err
	}
	return s.put(ctx, "write", p, bucket, key, data)
}

// put writes an object in one request, again and again if need be: the last
// one to succeed writes what the first would have.
func (s *FS) put(ctx context.Context, verb, p, bucket, key string, data []byte) error {
	var sent sent
	call, cancel := context.WithTimeout(sent.watch(ctx), bodyTimeout)
	defer cancel()
	_, err := s.client.PutObject(call, &sdk.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data)})
	if err != nil {
		return s.writeError(ctx, &sent, verb, p, err)
	}
	return nil
}

// putIfAbsent sends one conditional PUT, at most once.
func (s *FS) putIfAbsent(ctx context.Context, bucket, key string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := s.client.PutObject(ctx, &sdk.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data), IfNoneMatch: aws.String("*")}, once)
	return err
}

// undecided reports the answer to a conditional PUT that met another one under
// way: it had no effect and may be repeated.
func undecided(err error) bool {
	n, code := status(err)
	return n == http.StatusConflict && (code == "ConditionalRequestConflict" || code == "OperationAborted")
}

// conflictAttempts bounds how often a conditional PUT that had no effect is
// repeated.
const conflictAttempts = 10

// CreateExclusive implements fileio.FileIO. That the file exists may be news of
// this very call, whose reply was lost: the caller reads it back (DESIGN D12).
func (s *FS) CreateExclusive(ctx context.Context, p string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bucket, key, err := object("create", p)
	if err != nil {
		return err
	}
	if err := s.probe(ctx, p, bucket, key); err != nil {
		return err
	}
	var sent sent
	for n := 1; ; n++ {
		err := s.putIfAbsent(sent.watch(ctx), bucket, key, data)
		switch code, _ := status(err); {
		case err == nil:
			return nil
		case code == http.StatusPreconditionFailed:
			return errs.New(errs.Conflict, errs.FileExists, "create %s: the file exists", p)
		case undecided(err) && n < conflictAttempts && s.pause(ctx, n):
			continue
		}
		return s.writeError(ctx, &sent, "create", p, err)
	}
}

// probe makes sure that a store honours If-None-Match, once a bucket: one that
// ignores it would let two commits overwrite each other without a word. AWS
// does since 2024; gateways do or do not, by version and by configuration. It
// writes a small file beside key and removes it.
func (s *FS) probe(ctx context.Context, p, bucket, key string) error {
	if !s.custom {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err, ok := s.probed[bucket]; ok {
		return err
	}
	err, sure := s.probeBucket(ctx, p, bucket, path.Join(path.Dir(key), ".conditional-put-"+uuid.NewString()+".tmp"))
	if sure {
		s.probed[bucket] = err
	}
	return err
}

func (s *FS) probeBucket(ctx context.Context, p, bucket, key string) (err error, sure bool) {
	if err := s.put(ctx, "create", p, bucket, key, []byte("1")); err != nil {
		if errs.ClassOf(err) == errs.UnknownOutcome { // of the probe; the file itself was not sent
			err = errs.New(errs.Unavailable, errs.KindNone, "%w", err)
		}
		return err, false
	}
	defer s.remove(context.WithoutCancel(ctx), p, bucket, key)
	for n := 1; ; n++ {
		err = s.putIfAbsent(ctx, bucket, key, []byte("2"))
		switch code, _ := status(err); {
		case code == http.StatusPreconditionFailed:
			return nil, true
		case err == nil, code == http.StatusNotImplemented, code == http.StatusBadRequest:
			return errs.Unsupportedf(-1, "writing to the object store of bucket %s: it does not honour If-None-Match, so that concurrent commits would overwrite each other", bucket), true
		case code >= 400 && code < 500 && !undecided(err), n >= s.o.Attempts, !s.pause(ctx, n):
			if e := ctx.Err(); e != nil {
				return e, false
			}
			return errs.New(errs.Unavailable, errs.KindNone, "create %s: find out whether the store honours If-None-Match: %w", p, cause(err)), false
		}
	}
}

// abortTimeout bounds the cleaning up after a writer whose context has ended.
const abortTimeout = 30 * time.Second

// cleanup returns a context for cleaning up after ctx.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
}

// mark is the key of the metadata by which a writer knows its own upload.
const mark = "thermocline-upload"

// marked reports whether the object is the upload of that mark and size.
func marked(out *sdk.HeadObjectOutput, id string, size int64) bool {
	for k, v := range out.Metadata {
		if strings.EqualFold(k, mark) {
			return v == id && aws.ToInt64(out.ContentLength) == size
		}
	}
	return false
}
