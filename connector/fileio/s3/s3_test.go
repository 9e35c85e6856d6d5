package s3

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thermocline/thermocline/connector/fileio/fileiotest"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/testkit"
)

// open returns an FS on a private store, by way of endpoint if it is not empty.
func open(t *testing.T, o *testkit.ObjectStore, endpoint string, change ...func(*Options)) *FS {
	t.Helper()
	if endpoint == "" {
		endpoint = o.Endpoint
	}
	opts := Options{Endpoint: endpoint, Region: o.Region, AccessKey: o.AccessKey, SecretKey: o.SecretKey, MaxBackoff: 10 * time.Millisecond}
	for _, f := range change {
		f(&opts)
	}
	fs, err := Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestContract(t *testing.T) {
	o := testkit.S3(t)
	budget := memory.New("test", 256<<20)
	fs := open(t, o, "", func(o *Options) { o.Budget = budget })
	before := goleak.IgnoreCurrent()
	fileiotest.Run(t, fs, "s3://"+o.Bucket+"/some/where")
	if budget.Used() != 0 {
		t.Errorf("%d bytes are still reserved", budget.Used())
	}
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))

	t.Run("no memory to spare", func(t *testing.T) { // smaller parts, no reading ahead
		tight := memory.New("test", 14<<20)
		fileiotest.Run(t, open(t, o, "", func(o *Options) { o.Budget = tight }), "oss:/"+o.Bucket+"/tight")
		if tight.Used() != 0 {
			t.Errorf("%d bytes are still reserved", tight.Used())
		}
	})
	t.Run("no memory at all", func(t *testing.T) {
		none := open(t, o, "", func(o *Options) { o.Budget = memory.New("test", 1<<20) })
		w, err := none.Create(context.Background(), "s3://"+o.Bucket+"/x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = w.Write(make([]byte, 3<<20)); errs.ClassOf(err) != errs.Resource {
			t.Fatal(err)
		}
		if err := w.Close(); errs.ClassOf(err) != errs.Resource {
			t.Fatal(err)
		}
		if used := none.o.Budget.Used(); used != 0 {
			t.Errorf("%d bytes are still reserved", used)
		}
	})
}

func TestMissingBucketAndWrongKeys(t *testing.T) {
	ctx := context.Background()
	o := testkit.S3(t)
	fs := open(t, o, "")
	check := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || errs.Is(err, errs.FileNotFound) || errs.ClassOf(err) != errs.Unavailable {
			t.Fatalf("%v; want %s", err, want)
		}
	}
	_, err := fs.ReadFile(ctx, "s3://nothing/x")
	check(err, "bucket nothing does not exist")
	_, err = fs.List(ctx, "s3://nothing/x")
	check(err, "bucket nothing does not exist")
	_, err = fs.Stat(ctx, "s3://nothing/x")
	check(err, "bucket nothing does not exist")
	check(fs.WriteFile(ctx, "s3://nothing/x", nil), "bucket nothing does not exist")
	check(fs.CreateExclusive(ctx, "s3://nothing/x", nil), "bucket nothing does not exist")

	wrong := open(t, o, "", func(o *Options) { o.SecretKey = "a-secret-that-is-not-shown" })
	_, err = wrong.ReadFile(ctx, "s3://lake/x")
	check(err, "SignatureDoesNotMatch")
	if strings.Contains(err.Error(), "not-shown") {
		t.Fatal(err)
	}
	check(wrong.CreateExclusive(ctx, "s3://lake/x", nil), "SignatureDoesNotMatch")

	o.Endpoint = "http://127.0.0.1:1"
	dead := open(t, o, "", func(o *Options) { o.Attempts = 2 })
	_, err = dead.ReadFile(ctx, "s3://lake/x")
	check(err, "connection refused")
	check(dead.CreateExclusive(ctx, "s3://lake/x", nil), "connection refused")
	if err := fs.RemoveAll(ctx, "s3://lake"); errs.ClassOf(err) != errs.User {
		t.Fatalf("removal of a bucket: %v", err)
	}
}

// TestStoreWithoutConditions: a store that ignores If-None-Match is refused
// before anything of a table is written to it.
func TestStoreWithoutConditions(t *testing.T) {
	o := testkit.S3(t, "--nometa")
	fs := open(t, o, "")
	for range 2 {
		err := fs.CreateExclusive(context.Background(), "s3://lake/t/snapshot-1", []byte("1"))
		if errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), "If-None-Match") {
			t.Fatal(err)
		}
	}
	if l, err := fs.List(context.Background(), "s3://lake"); err != nil || len(l) != 0 {
		t.Fatalf("left over: %v, %v", l, err)
	}
}

func TestReplacedWhileOpen(t *testing.T) {
	ctx := context.Background()
	o := testkit.S3(t)
	fs := open(t, o, "")
	p := "s3://lake/file"
	if err := fs.WriteFile(ctx, p, make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	one, err := fs.Stat(ctx, p)
	if err != nil || one.ETag == "" {
		t.Fatal(one, err)
	}
	f, err := fs.Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fs.WriteFile(ctx, p, []byte(strings.Repeat("x", 3<<20))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 10), 0); !errs.Is(err, errs.FilesVanished) {
		t.Fatalf("a replaced file: %v", err)
	}
	if two, err := fs.Stat(ctx, p); err != nil || two.ETag == one.ETag {
		t.Fatal(two, err)
	}
	if err := fs.Remove(ctx, p); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 10), 0); !errs.Is(err, errs.FileNotFound) {
		t.Fatalf("a removed file: %v", err)
	}
}

// FuzzSplit: a path is refused, or its key is clean and means the same again.
func FuzzSplit(f *testing.F) {
	for _, p := range []string{"s3://b/k/l", "s3:/b/k/", "s3a://b", "oss://b//k//../l", "s3://b/../../x", "/b/k", "s3://", "s3://b/a b%2F?x"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		b, k, err := Split(p)
		if err != nil {
			return
		}
		if b == "" || strings.Contains(b, "/") || strings.HasPrefix(k, "/") || strings.HasSuffix(k, "/") {
			t.Fatalf("%q: bucket %q, key %q", p, b, k)
		}
		for _, e := range strings.Split(k, "/") {
			if e == "." || e == ".." || e == "" && k != "" {
				t.Fatalf("%q: key %q", p, k)
			}
		}
		if b2, k2, err := Split("s3://" + b + "/" + k); b2 != b || k2 != k || err != nil {
			t.Fatalf("%q: %q %q, then %q %q, %v", p, b, k, b2, k2, err)
		}
	})
}

func TestOptions(t *testing.T) {
	for _, spelling := range [][4]string{
		{"s3.endpoint", "s3.access-key", "s3.secret-key", "s3.path.style.access"},
		{"s3a.endpoint", "s3a.access.key", "s3a.secret.key", "s3a.path-style-access"},
		{"fs.s3a.endpoint", "fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.path.style.access"},
		{"fs.oss.endpoint", "fs.oss.accessKeyId", "fs.oss.accessKeySecret", "s3.path-style-access"},
	} {
		o, err := ParseOptions(map[string]string{spelling[0]: "store:9000", spelling[1]: "k", spelling[2]: "s", spelling[3]: "true", "warehouse": "x"})
		if err != nil || o.Endpoint != "https://store:9000" || o.AccessKey != "k" || o.SecretKey != "s" || o.PathStyle == nil || !*o.PathStyle {
			t.Errorf("%v: %+v, %v", spelling, o, err)
		}
	}
	if _, err := ParseOptions(map[string]string{"s3.acess-key": "k"}); errs.ClassOf(err) != errs.Unsupported {
		t.Error(err)
	}
	for _, o := range []Options{{AccessKey: "k"}, {Endpoint: "ftp://x"}, {Endpoint: "http://user:secret@x"}} {
		if _, err := Open(context.Background(), o); errs.KindOf(err) != errs.InvalidConfig || strings.Contains(err.Error(), "user:secret") {
			t.Errorf("%v", err)
		}
	}
	for p, want := range map[string]string{"s3://b/k/l": "b k/l", "s3:/b/k/": "b k", "s3a://b": "b ", "oss://b//k//../l": "b l"} {
		b, k, err := Split(p)
		if b+" "+k != want || err != nil {
			t.Errorf("%s: %s %s %v", p, b, k, err)
		}
	}
	for _, p := range []string{"/b/k", "s3://", "hdfs://b/k", "s3:b/k", "s3://user:pw@b/k"} {
		if _, _, err := Split(p); err == nil {
			t.Errorf("%s is accepted", p)
		}
	}
}
