// Package s3 is the FileIO over Amazon S3 and the stores that speak its
// protocol, and the only door to the AWS SDK.
//
// Paths are URIs: s3://bucket/key; the schemes s3a and oss mean the same. What
// path.Clean makes of a URI, s3:/bucket/key, is understood too, so that callers
// may join paths as they do on disk.
//
// Invariants. A file appears whole: by one PUT, or by the completion of a
// multipart upload, which carries a mark of its writer so that a lost reply can
// be told from a lost upload. CreateExclusive is one conditional PUT that is
// never repeated by itself, for a repetition after a lost reply would report our
// own file as another's (DESIGN D12); before the first one in a bucket of a
// store other than AWS, the store has to show that it honours the condition. An
// open file reads one version: when it is replaced, reads fail.
//
// Everything that may be repeated is, with growing pauses. Secrets are in no
// error and no log.
//
// Start reading at FS; options.go has the settings, errors.go the classes.
package s3

import (
	"context"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Limits of single requests, in time.
const (
	callTimeout = time.Minute      // requests without much of a body
	bodyTimeout = 10 * time.Minute // whole files and parts of uploads
)

// FS implements fileio.FileIO. It is safe for concurrent use.
type FS struct {
	client *sdk.Client
	o      Options
	custom bool // the endpoint is not AWS's own
	ahead  *memory.Budget

	mu     sync.Mutex // guards probed, and is held while a bucket is probed
	probed map[string]error
}

var _ fileio.FileIO = (*FS)(nil)

// Handles reports whether p has a scheme of this package.
func Handles(p string) bool {
	scheme, _, ok := strings.Cut(p, ":")
	return ok && isScheme(scheme)
}

func isScheme(s string) bool { return s == "s3" || s == "s3a" || s == "oss" }

// Schemes returns the URI schemes that FS understands.
func Schemes() []string { return []string{"s3", "s3a", "oss"} }

// Split returns the bucket and key of a URI. The key is clean: without slashes
// at its ends, empty for the bucket itself.
func Split(p string) (bucket, key string, err error) {
	scheme, rest, ok := strings.Cut(p, ":")
	if !ok || !isScheme(scheme) || !strings.HasPrefix(rest, "/") {
		return "", "", errs.Userf(errs.InvalidConfig, "%q is no path of an object store: write s3://BUCKET/KEY", p)
	}
	bucket, key, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
	if bucket == "" || strings.ContainsAny(bucket, "?#@:") {
		return "", "", errs.Userf(errs.InvalidConfig, "%q names no bucket: write s3://BUCKET/KEY", p)
	}
	return bucket, strings.TrimPrefix(path.Clean("/"+key), "/"), nil
}

// object returns the bucket and key of a file.
func object(verb, p string) (bucket, key string, err error) {
	bucket, key, err = Split(p)
	if err == nil && key == "" {
		err = errs.Userf(errs.InvalidConfig, "%s %s: it is a bucket, not a file in one", verb, p)
	}
	return bucket, key, err
}

// ReadFile implements fileio.FileIO.
func (s *FS) ReadFile(ctx context.Context, p string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bucket, key, err := object("read", p)
	if err != nil {
		return nil, err
	}
	var data []byte
	err = s.repeat(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, bodyTimeout)
		defer cancel()
		out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			return err
		}
		defer out.Body.Close()
		data = make([]byte, max(aws.ToInt64(out.ContentLength), 0))
		if out.ContentLength == nil {
			data, err = io.ReadAll(out.Body)
		} else {
			_, err = io.ReadFull(out.Body, data)
		}
		return bodyError(err)
	})
	if err != nil {
		return nil, s.readError(ctx, "read", p, err)
	}
	return data, nil
}

// repeat calls f again while its body breaks off; what the SDK itself repeats
// (requests without a reply, refusals for load) does not come here.
func (s *FS) repeat(ctx context.Context, f func(context.Context) error) error {
	for n := 1; ; n++ {
		err := f(ctx)
		if !isBroken(err) || n >= s.o.Attempts || !s.pause(ctx, n) {
			return err
		}
	}
}

// pause waits before attempt n+1 and reports false when ctx ends first.
func (s *FS) pause(ctx context.Context, n int) bool {
	t := time.NewTimer(backoff(s.o.MaxBackoff, n))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func byteRange(off, n int64) *string {
	return aws.String("bytes=" + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(off+n-1, 10))
}
