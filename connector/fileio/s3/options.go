package s3

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Options configure an FS. What is empty comes from the environment, the
// profile or the machine, as the AWS SDK's default chain finds it:
// AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_PROFILE and so on.
type Options struct {
	Endpoint     string // a URL; https when it has no scheme
	Region       string
	AccessKey    string
	SecretKey    string
	SessionToken string
	// PathStyle puts the bucket into the path instead of the host's name. nil
	// does so for endpoints that are not AWS's or Alibaba's.
	PathStyle *bool
	// Attempts bounds how often a request that may be repeated is sent; 0 is 6.
	Attempts int
	// MaxBackoff bounds the pauses between attempts; 0 is 5 s.
	MaxBackoff time.Duration
	// Budget is charged with the buffers of uploads and of reads ahead; nil
	// grants everything. Reads ahead take at most 64 MiB in any case.
	Budget *memory.Budget
}

// IsOption reports whether a catalog property configures this package.
func IsOption(key string) bool {
	_, ok := optionName(key)
	return ok
}

// optionName strips the prefix of a property. Paimon and Hadoop write one
// setting in many ways: s3.access-key, s3.access.key, s3a.access-key,
// fs.s3a.access.key (Paimon, S3FileIO); fs.oss.accessKeyId (OSSFileIO).
func optionName(key string) (string, bool) {
	for _, p := range []string{"fs.s3a.", "fs.s3.", "s3a.", "s3.", "fs.oss."} {
		if name, ok := strings.CutPrefix(key, p); ok {
			return strings.ToLower(strings.ReplaceAll(name, "-", ".")), true
		}
	}
	return "", false
}

// ParseOptions reads the options among catalog properties; properties of others
// are left alone, unknown ones of this package are an error.
func ParseOptions(properties map[string]string) (Options, error) {
	var o Options
	plain := false
	for k, v := range properties {
		name, ok := optionName(k)
		if !ok {
			continue
		}
		var err error
		switch name {
		case "endpoint":
			o.Endpoint = v
		case "region", "endpoint.region":
			o.Region = v
		case "access.key", "accesskeyid":
			o.AccessKey = v
		case "secret.key", "accesskeysecret":
			o.SecretKey = v
		case "session.token", "securitytoken":
			o.SessionToken = v
		case "path.style.access":
			var b bool
			b, err = strconv.ParseBool(v)
			o.PathStyle = &b
		case "connection.ssl.enabled":
			var b bool
			b, err = strconv.ParseBool(v)
			plain = !b
		case "attempts.maximum":
			o.Attempts, err = strconv.Atoi(v)
			if err == nil && o.Attempts < 1 {
				err = strconv.ErrRange
			}
		default:
			return o, errs.Unsupportedf(-1, "the option %s", k)
		}
		if err != nil {
			return o, errs.Userf(errs.InvalidConfig, "the option %s cannot be %q", k, v)
		}
	}
	if o.Endpoint != "" && !strings.Contains(o.Endpoint, "://") {
		if plain {
			o.Endpoint = "http://" + o.Endpoint
		} else {
			o.Endpoint = "https://" + o.Endpoint
		}
	}
	return o, nil
}

// readAhead bounds what all open files of an FS keep of reads ahead.
const readAhead = 64 << 20

// Open makes an FS. It reads the environment and profiles but sends nothing
// unless credentials have to be fetched.
func Open(ctx context.Context, o Options) (*FS, error) {
	if o.Attempts == 0 {
		o.Attempts = 6
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 5 * time.Second
	}
	if (o.AccessKey == "") != (o.SecretKey == "") {
		return nil, errs.Userf(errs.InvalidConfig, "open the object store: give both s3.access-key and s3.secret-key, or neither")
	}
	if o.Endpoint != "" {
		if u, err := url.Parse(o.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return nil, errs.Userf(errs.InvalidConfig, "open the object store: s3.endpoint must be http://HOST:PORT or https://HOST:PORT")
		}
	}
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(httpClient()),
		config.WithLogger(logging.Nop{}),
		config.WithRetryer(func() aws.Retryer { return retryer(o) }),
	}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.AccessKey != "" {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, o.SessionToken)))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, errs.New(errs.User, errs.InvalidConfig, "open the object store: %w", err)
	}
	s := &FS{o: o, ahead: o.Budget.Child("s3 read-ahead", readAhead), probed: map[string]error{}}
	if o.Budget == nil {
		s.ahead = memory.New("s3 read-ahead", readAhead)
	}
	s.client = sdk.NewFromConfig(cfg, func(c *sdk.Options) {
		if o.Endpoint != "" {
			c.BaseEndpoint = aws.String(o.Endpoint)
		}
		c.DisableLogOutputChecksumValidationSkipped = true
		host := ""
		if u, err := url.Parse(aws.ToString(c.BaseEndpoint)); err == nil {
			host = u.Hostname()
		}
		s.custom = host != "" && !strings.HasSuffix(host, ".amazonaws.com") && !strings.HasSuffix(host, ".amazonaws.com.cn")
		if s.custom {
			// Checksums in trailers came late to S3; other stores refuse them.
			// Bodies are covered by the signature over HTTP, by TLS over HTTPS.
			c.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			c.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
			if c.Region == "" {
				c.Region = "us-east-1"
			}
		}
		c.UsePathStyle = s.custom && !strings.HasSuffix(host, ".aliyuncs.com")
		if o.PathStyle != nil {
			c.UsePathStyle = *o.PathStyle
		}
	})
	if s.client.Options().Region == "" {
		return nil, errs.Userf(errs.InvalidConfig, "open the object store: no region is set; give s3.region or AWS_REGION")
	}
	return s, nil
}

func httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithDialerOptions(func(d *net.Dialer) {
		d.Timeout = 5 * time.Second
	}).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 256
		t.MaxIdleConnsPerHost = 64
		t.ResponseHeaderTimeout = 30 * time.Second
		t.TLSHandshakeTimeout = 10 * time.Second
	})
}

// retryer is for requests that may be repeated.
func retryer(o Options) aws.Retryer {
	return retry.NewStandard(func(s *retry.StandardOptions) {
		s.MaxAttempts = o.Attempts
		s.MaxBackoff = o.MaxBackoff
		s.Retryables = append(s.Retryables, retry.IsErrorRetryableFunc(brokeOff))
		s.Backoff = retry.BackoffDelayerFunc(func(n int, _ error) (time.Duration, error) { return backoff(o.MaxBackoff, n), nil })
	})
}

// brokeOff finds answers that ended early within what the SDK itself reads, such
// as lists. It repeats only some of these by itself.
func brokeOff(err error) aws.Ternary {
	if n, _ := status(err); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || n >= 200 && n < 300 {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}

// backoff is the pause before attempt n+1: a random time below 100 ms doubled
// with each attempt ("full jitter", Brooker, AWS Architecture Blog, 2015).
func backoff(limit time.Duration, n int) time.Duration {
	d := min(100*time.Millisecond<<min(n-1, 10), limit)
	return rand.N(d) + time.Millisecond
}

// once makes a request that is sent at most once.
func once(o *sdk.Options) { o.Retryer = aws.NopRetryer{} }
