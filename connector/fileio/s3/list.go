package s3

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// Stat implements fileio.FileIO. A directory is a prefix of keys and has
// neither size nor time.
func (s *FS) Stat(ctx context.Context, p string) (fileio.Info, error) {
	if err := ctx.Err(); err != nil {
		return fileio.Info{}, err
	}
	bucket, key, err := Split(p)
	if err != nil {
		return fileio.Info{}, err
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	prefix := ""
	if key != "" {
		out, err := s.client.HeadObject(call, &sdk.HeadObjectInput{Bucket: &bucket, Key: &key})
		if err == nil {
			return fileio.Info{Name: path.Base(key), Size: aws.ToInt64(out.ContentLength), ModTime: aws.ToTime(out.LastModified), ETag: aws.ToString(out.ETag)}, nil
		}
		if n, _ := status(err); n != http.StatusNotFound {
			return fileio.Info{}, s.readError(ctx, "stat", p, err)
		}
		prefix = key + "/"
	}
	out, err := s.client.ListObjectsV2(call, &sdk.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix, MaxKeys: aws.Int32(1)})
	switch {
	case err != nil:
		return fileio.Info{}, s.readError(ctx, "stat", p, err)
	case len(out.Contents) == 0 && key != "":
		return fileio.Info{}, notFound("stat", p)
	case key == "":
		return fileio.Info{Name: bucket, Dir: true}, nil
	}
	return fileio.Info{Name: path.Base(key), Dir: true}, nil
}

// pages calls f with every page of the keys below prefix.
func (s *FS) pages(ctx context.Context, verb, p, bucket, prefix string, delimiter *string, f func(*sdk.ListObjectsV2Output) error) error {
	in := &sdk.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix, Delimiter: delimiter}
	for {
		out, err := func() (*sdk.ListObjectsV2Output, error) {
			call, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return s.client.ListObjectsV2(call, in)
		}()
		if err != nil {
			return s.readError(ctx, verb, p, err)
		}
		if err := f(out); err != nil {
			return err
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		if next := out.NextContinuationToken; next == nil || in.ContinuationToken != nil && *next == *in.ContinuationToken {
			return errs.New(errs.Unavailable, errs.KindNone, "%s %s: the store says that there are more keys but not where", verb, p)
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// List implements fileio.FileIO. Temporary files are left out.
func (s *FS) List(ctx context.Context, dir string) ([]fileio.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bucket, key, err := Split(dir)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if key != "" {
		prefix = key + "/"
	}
	var out []fileio.Info
	err = s.pages(ctx, "list", dir, bucket, prefix, aws.String("/"), func(page *sdk.ListObjectsV2Output) error {
		for _, o := range page.Contents {
			name := strings.TrimPrefix(aws.ToString(o.Key), prefix)
			if name == "" || isTemporary(name) {
				continue // the mark of a directory, or a file that comes and goes
			}
			out = append(out, fileio.Info{Name: name, Size: aws.ToInt64(o.Size), ModTime: aws.ToTime(o.LastModified), ETag: aws.ToString(o.ETag)})
		}
		for _, c := range page.CommonPrefixes {
			name := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(c.Prefix), prefix), "/")
			if name != "" {
				out = append(out, fileio.Info{Name: name, Dir: true})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b fileio.Info) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// Remove implements fileio.FileIO.
func (s *FS) Remove(ctx context.Context, p string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bucket, key, err := object("remove", p)
	if err != nil {
		return err
	}
	return s.remove(ctx, p, bucket, key)
}

func (s *FS) remove(ctx context.Context, p, bucket, key string) error {
	var sent sent
	call, cancel := context.WithTimeout(sent.watch(ctx), callTimeout)
	defer cancel()
	_, err := s.client.DeleteObject(call, &sdk.DeleteObjectInput{Bucket: &bucket, Key: &key})
	if n, code := status(err); err == nil || n == http.StatusNotFound && code != "NoSuchBucket" {
		return nil
	}
	return s.writeError(ctx, &sent, "remove", p, err)
}

// RemoveAll implements fileio.FileIO. A whole bucket is refused.
func (s *FS) RemoveAll(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bucket, key, err := object("remove", dir)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, dir, bucket, key); err != nil {
		return err
	}
	return s.pages(ctx, "remove", dir, bucket, key+"/", nil, func(page *sdk.ListObjectsV2Output) error {
		if len(page.Contents) == 0 {
			return nil
		}
		ids := make([]types.ObjectIdentifier, len(page.Contents)) // a page has at most 1000 keys, as a deletion may
		for i, o := range page.Contents {
			ids[i].Key = o.Key
		}
		return s.removeBatch(ctx, dir, bucket, ids)
	})
}

func (s *FS) removeBatch(ctx context.Context, dir, bucket string, ids []types.ObjectIdentifier) error {
	var sent sent
	call, cancel := context.WithTimeout(sent.watch(ctx), callTimeout)
	defer cancel()
	out, err := s.client.DeleteObjects(call, &sdk.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
	if n, _ := status(err); n == http.StatusNotImplemented || n == http.StatusBadRequest || n == http.StatusMethodNotAllowed {
		// Some stores know no batches, or want another checksum of them.
		for _, id := range ids {
			if err := s.remove(ctx, dir, bucket, *id.Key); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return s.writeError(ctx, &sent, "remove", dir, err)
	}
	var all []error
	for _, e := range out.Errors {
		if aws.ToString(e.Code) != "NoSuchKey" && len(all) < 3 {
			all = append(all, errs.New(errs.Unavailable, errs.KindNone, "remove %s: %s: %s: %s", dir, aws.ToString(e.Key), aws.ToString(e.Code), aws.ToString(e.Message)))
		}
	}
	return errors.Join(all...)
}
