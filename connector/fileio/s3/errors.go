package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/thermocline/thermocline/internal/errs"
)

// brokenBody is an answer whose body ended early. The request may be repeated.
type brokenBody struct{ err error }

func (b brokenBody) Error() string { return "the answer broke off: " + b.err.Error() }
func (b brokenBody) Unwrap() error { return b.err }

func bodyError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return brokenBody{err}
}

func isBroken(err error) bool {
	var b brokenBody
	return errors.As(err, &b) && !errors.Is(err, context.Canceled)
}

// status returns the HTTP status and the store's code of an error; 0 and ""
// where there was no answer.
func status(err error) (int, string) {
	n := 0
	var re *awshttp.ResponseError
	if errors.As(err, &re) {
		n = re.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return n, api.ErrorCode()
	}
	return n, ""
}

// cause says in one line what the store or the network answered.
func cause(err error) error {
	n, code := status(err)
	var api smithy.APIError
	if errors.As(err, &api) {
		msg := strings.TrimSuffix(strings.TrimSpace(api.ErrorMessage()), ".")
		text := code
		if msg != "" && msg != code {
			text += ": " + msg
		}
		switch code {
		case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
			text += "; set s3.region to the bucket's region"
		}
		if n > 0 {
			return fmt.Errorf("%s (HTTP %d)", strings.ReplaceAll(text, "\n", " "), n)
		}
		return errors.New(strings.ReplaceAll(text, "\n", " "))
	}
	var oe *smithy.OperationError
	if errors.As(err, &oe) {
		err = oe.Err
	}
	if strings.Contains(err.Error(), "failed to refresh cached credentials") {
		return errors.New("there are no credentials: give s3.access-key and s3.secret-key, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")
	}
	return err
}

func notFound(verb, p string) error {
	return errs.New(errs.Unavailable, errs.FileNotFound, "%s %s: no such file", verb, p)
}

// readError gives an error of a request that changes nothing its class and kind.
func (s *FS) readError(ctx context.Context, verb, p string, err error) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	n, code := status(err)
	switch {
	case code == "NoSuchBucket":
		return noBucket(verb, p)
	case n == http.StatusNotFound && code != "NoSuchUpload":
		return notFound(verb, p)
	case n == http.StatusPreconditionFailed:
		return errs.New(errs.Conflict, errs.FilesVanished, "%s %s: the file was replaced while it was being read, run the statement again", verb, p)
	}
	return errs.New(errs.Unavailable, errs.KindNone, "%s %s: %w", verb, p, cause(err))
}

func noBucket(verb, p string) error {
	bucket, _, _ := Split(p)
	return errs.New(errs.Unavailable, errs.KindNone, "%s %s: the bucket %s does not exist", verb, p, bucket)
}

// sent watches whether a request was written to a connection at all.
type sent struct{ wrote atomic.Bool }

func (s *sent) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { s.wrote.Store(true) }})
}

// writeError gives an error of a request that changes something its class and
// kind. The outcome is unknown unless nothing was sent or the store refused.
func (s *FS) writeError(ctx context.Context, sent *sent, verb, p string, err error) error {
	n, code := status(err)
	switch {
	case !sent.wrote.Load():
		if e := ctx.Err(); e != nil {
			return e
		}
		return errs.New(errs.Unavailable, errs.KindNone, "%s %s: %w", verb, p, cause(err))
	case code == "NoSuchBucket":
		return noBucket(verb, p)
	case n >= 400 && n < 500 && n != http.StatusRequestTimeout:
		return errs.New(errs.Unavailable, errs.KindNone, "%s %s: %w", verb, p, cause(err))
	}
	if e := ctx.Err(); e != nil {
		err = e
	} else {
		err = cause(err)
	}
	return errs.New(errs.UnknownOutcome, errs.KindNone, "%s %s: it may have happened: %w", verb, p, err)
}
