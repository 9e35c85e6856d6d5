package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
)

// fault is what a proxy does to a request.
type fault int

const (
	none     fault = iota
	lose           // forward, then close the connection without a reply
	refuse         // close the connection without forwarding
	cut            // forward, and break the reply's body off in the middle
	cutEarly       // the same after its headers
	code500        // forward, then answer 500
	code503        // answer 503 SlowDown without forwarding
	code409        // answer 409 ConditionalRequestConflict without forwarding
	code409b       // the same after forwarding
	code412        // forward, then answer 412
	code501        // answer 501 NotImplemented without forwarding
)

// proxy stands between a client and a store and breaks what decide says.
type proxy struct {
	*httptest.Server
	mu     sync.Mutex
	decide func(r *http.Request) fault
	log    []string
}

func newProxy(t *testing.T, o *testkit.ObjectStore) *proxy {
	p := &proxy{}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		p.mu.Lock()
		what := none
		if p.decide != nil {
			what = p.decide(r)
		}
		p.log = append(p.log, fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Range")))
		p.mu.Unlock()
		answer := func(status int, code string) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>injected</Message></Error>", code)
		}
		switch what {
		case refuse:
			panic(http.ErrAbortHandler)
		case code503:
			answer(503, "SlowDown")
			return
		case code409:
			answer(409, "ConditionalRequestConflict")
			return
		case code501:
			answer(501, "NotImplemented")
			return
		}
		req, _ := http.NewRequest(r.Method, o.Endpoint+r.URL.RequestURI(), bytes.NewReader(body))
		req.Header, req.Host = r.Header.Clone(), r.Host
		req.Header.Del("Expect")
		resp, err := client.Do(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		switch what {
		case lose:
			panic(http.ErrAbortHandler)
		case code500:
			answer(500, "InternalError")
			return
		case code409b:
			answer(409, "ConditionalRequestConflict")
			return
		case code412:
			answer(412, "PreconditionFailed")
			return
		case cut:
			got = got[:len(got)/2]
		case cutEarly:
			got = nil
		}
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		w.Write(got)
		if what == cutEarly {
			w.(http.Flusher).Flush()
		}
		if what == cut || what == cutEarly {
			panic(http.ErrAbortHandler)
		}
	}))
	p.Config.ErrorLog = nil
	t.Cleanup(func() {
		p.Close()
		client.CloseIdleConnections()
	})
	return p
}

// set installs what happens to the requests from now on.
func (p *proxy) set(decide func(r *http.Request) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decide, p.log = decide, nil
}

func (p *proxy) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.log...)
}

// first applies f to the first n requests that match.
func first(n int, f fault, match func(*http.Request) bool) func(*http.Request) fault {
	return func(r *http.Request) fault {
		if n > 0 && match(r) {
			n--
			return f
		}
		return none
	}
}

func conditional(r *http.Request) bool { return r.Header.Get("If-None-Match") != "" }
func every(*http.Request) bool         { return true }

// TestExclusiveFaults: one request, and no outcome but the true one or "unknown".
func TestExclusiveFaults(t *testing.T) {
	ctx := context.Background()
	o := testkit.S3(t)
	p := newProxy(t, o)
	fs := open(t, o, p.URL)
	if err := fs.CreateExclusive(ctx, "s3://lake/t/first", nil); err != nil { // finds out about conditions
		t.Fatal(err)
	}
	for i, c := range []struct {
		f        fault
		class    errs.Class // Internal for success
		kind     errs.Kind
		exists   bool
		requests int
	}{
		{none, errs.Internal, "", true, 1},
		{lose, errs.UnknownOutcome, "", true, 1},
		{refuse, errs.UnknownOutcome, "", false, 1},
		{code500, errs.UnknownOutcome, "", true, 1},
		{code503, errs.UnknownOutcome, "", false, 1},
		{code409, errs.Internal, "", true, 2},
		{code409b, errs.Conflict, errs.FileExists, true, 2},
		{code412, errs.Conflict, errs.FileExists, true, 1},
	} {
		name := fmt.Sprintf("s3://lake/t/snapshot-%d", i)
		p.set(first(1, c.f, conditional))
		err := fs.CreateExclusive(ctx, name, []byte("mine"))
		n := len(p.requests())
		p.set(nil)
		if (err == nil) != (c.class == errs.Internal) || err != nil && (errs.ClassOf(err) != c.class || errs.KindOf(err) != c.kind) {
			t.Errorf("fault %d: %v", c.f, err)
		}
		if n != c.requests {
			t.Errorf("fault %d: %d requests", c.f, n)
		}
		b, err := fs.ReadFile(ctx, name)
		if c.exists != (string(b) == "mine") || !c.exists && !errs.Is(err, errs.FileNotFound) {
			t.Errorf("fault %d: the file says %q, %v", c.f, b, err)
		}
	}
}

// TestIdempotentFaults: what may be repeated is, until it works.
func TestIdempotentFaults(t *testing.T) {
	ctx := context.Background()
	o := testkit.S3(t)
	p := newProxy(t, o)
	fs := open(t, o, p.URL)
	want := make([]byte, 2<<20)
	for i := range want {
		want[i] = byte(i * 7 / 3)
	}
	for _, f := range []fault{lose, refuse, cut, cutEarly, code500, code503} {
		step := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s with fault %d: %v", what, f, err)
			}
			if len(p.requests()) < 2 {
				t.Fatalf("%s with fault %d: no request was repeated", what, f)
			}
			p.set(first(2, f, every))
		}
		put := f
		if f == cut || f == cutEarly { // an answer without a body cannot break off
			put = lose
		}
		p.set(first(2, put, every))
		step("write", fs.WriteFile(ctx, "s3://lake/d/x", want))
		b, err := fs.ReadFile(ctx, "s3://lake/d/x")
		step("read", err)
		if !bytes.Equal(b, want) {
			t.Fatal("other bytes")
		}
		file, err := fs.Open(ctx, "s3://lake/d/x")
		step("open", err)
		got := make([]byte, 1000)
		_, err = file.ReadAt(got, 5)
		step("read at", err)
		if !bytes.Equal(got, want[5:1005]) {
			t.Fatal("other bytes")
		}
		file.Close()
		if f != cut && f != cutEarly {
			_, err = fs.Stat(ctx, "s3://lake/d/x")
			step("stat", err)
		}
		l, err := fs.List(ctx, "s3://lake/d")
		step("list", err)
		if len(l) != 1 {
			t.Fatal(l)
		}
		if f != cut && f != cutEarly {
			step("remove all", fs.RemoveAll(ctx, "s3://lake/d"))
		}
	}
	p.set(func(*http.Request) fault { return code503 })
	if _, err := fs.ReadFile(ctx, "s3://lake/d/x"); errs.ClassOf(err) != errs.Unavailable || errs.Is(err, errs.FileNotFound) {
		t.Fatal(err)
	}
	if n := len(p.requests()); n != fs.o.Attempts {
		t.Fatalf("%d requests", n)
	}
	p.set(first(1, code501, func(r *http.Request) bool { return r.Method == "POST" }))
	if err := fs.WriteFile(ctx, "s3://lake/e/x", nil); err != nil {
		t.Fatal(err)
	}
	if err := fs.RemoveAll(ctx, "s3://lake/e"); err != nil {
		t.Fatalf("a store without batches: %v", err)
	}
	p.set(nil)
	if l, err := fs.List(ctx, "s3://lake/e"); err != nil || len(l) != 0 {
		t.Fatal(l, err)
	}
}

// TestUploadFaults: a multipart upload survives what may be repeated, and knows
// its own completion although the reply was lost.
func TestUploadFaults(t *testing.T) {
	ctx := context.Background()
	o := testkit.S3(t)
	p := newProxy(t, o)
	fs := open(t, o, p.URL)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
	write := func(name string) error {
		w, err := fs.Create(ctx, name)
		if err != nil {
			return err
		}
		if _, err := w.Write(append([]byte(name), data...)); err != nil {
			return errors.Join(err, w.Abort())
		}
		return w.Close()
	}
	completion := func(r *http.Request) bool {
		return r.Method == "POST" && strings.Contains(r.URL.RawQuery, "uploadId=")
	}
	part := func(r *http.Request) bool {
		return r.Method == "PUT" && strings.Contains(r.URL.RawQuery, "partNumber=")
	}
	for i, decide := range []func(*http.Request) fault{
		first(2, lose, part), first(2, code503, part), first(1, lose, completion), first(1, code500, completion), first(1, refuse, completion),
	} {
		p.set(decide)
		name := fmt.Sprintf("s3://lake/u/%d", i)
		if err := write(name); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		p.set(nil)
		if b, err := fs.ReadFile(ctx, name); err != nil || !bytes.Equal(b, append([]byte(name), data...)) {
			t.Fatalf("case %d: %d bytes, %v", i, len(b), err)
		}
	}
	p.set(func(r *http.Request) fault { // no completion, no news of it
		if completion(r) || r.Method == "HEAD" {
			return refuse
		}
		return none
	})
	if err := write("s3://lake/u/unknown"); errs.ClassOf(err) != errs.UnknownOutcome {
		t.Fatalf("an upload of unknown outcome: %v", err)
	}
	p.set(func(r *http.Request) fault {
		if part(r) {
			return code503
		}
		return none
	})
	if err := write("s3://lake/u/failed"); errs.ClassOf(err) != errs.Unavailable {
		t.Fatalf("an upload that fails: %v", err)
	}
	aborted := false
	for _, r := range p.requests() {
		aborted = aborted || strings.HasPrefix(r, "DELETE") && strings.Contains(r, "uploadId=")
	}
	if !aborted {
		t.Error("a failed upload was not aborted")
	}
	p.set(nil)
	cancelled, cancel := context.WithCancel(ctx)
	w, err := fs.Create(cancelled, "s3://lake/u/cancelled")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := w.Close(); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled upload: %v", err)
	}
	if _, err := fs.Stat(ctx, "s3://lake/u/cancelled"); !errs.Is(err, errs.FileNotFound) {
		t.Fatal(err)
	}
	// One upload of unknown outcome may be left, of the others nothing.
	left, _ := filepath.Glob(filepath.Join(o.Dir, ".sgwtmp", "multipart", "*", "*"))
	if len(left) > 1 {
		t.Errorf("left over: %v", left)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "u")); err != nil {
		t.Error(err)
	}
}

// TestReadsCoalesce: small reads in sequence and in a footer cost few requests.
func TestReadsCoalesce(t *testing.T) {
	ctx := context.Background()
	o := testkit.S3(t)
	p := newProxy(t, o)
	fs := open(t, o, p.URL)
	want := make([]byte, 12<<20)
	for i := range want {
		want[i] = byte(i >> 8)
	}
	if err := fs.WriteFile(ctx, "s3://lake/x", want); err != nil {
		t.Fatal(err)
	}
	p.set(nil)
	f, err := fs.Open(ctx, "s3://lake/x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 4096)
	for off := len(want) - 100<<10; off < len(want); off += len(b) {
		if _, err := f.ReadAt(b, int64(off)); err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	if n := len(p.requests()); n != 1 {
		t.Errorf("open and footer: %d requests", n)
	}
	for off := 0; off < len(want); off += len(b) {
		if _, err := f.ReadAt(b, int64(off)); err != nil || !bytes.Equal(b, want[off:off+len(b)]) {
			t.Fatal(off, err)
		}
	}
	if n := len(p.requests()); n > 9 {
		t.Errorf("12 MiB by pages: %d requests", n)
	}
	if used := fs.ahead.Used(); used > 32<<20 {
		t.Errorf("%d bytes are kept of one file", used)
	}
	f.Close()
	if used := fs.ahead.Used(); used != 0 {
		t.Errorf("%d bytes are kept of a closed file", used)
	}
	dying, cancel := context.WithTimeout(ctx, time.Hour)
	g, err := fs.Open(dying, "s3://lake/x")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	cancel()
	if _, err := g.ReadAt(b, 0); err != context.Canceled {
		t.Errorf("a read after its statement ended: %v", err)
	}
}

// TestPages: directories of more keys than a page has.
func TestPages(t *testing.T) {
	ctx := context.Background()
	o := testkit.S3(t)
	fs := open(t, o, "")
	const n = 2100
	if err := fs.WriteFile(ctx, "s3://lake/many/file", nil); err != nil {
		t.Fatal(err)
	}
	for i := range n { // objects are files
		if err := os.WriteFile(filepath.Join(o.Dir, "many", fmt.Sprintf("f%05d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := fs.List(ctx, "s3://lake/many")
	if err != nil || len(l) != n+1 || l[0].Name != "f00000" || l[n].Name != "file" {
		t.Fatal(len(l), err)
	}
	if err := fs.RemoveAll(ctx, "s3://lake/many"); err != nil {
		t.Fatal(err)
	}
	if l, err = fs.List(ctx, "s3://lake/many"); err != nil || len(l) != 0 {
		t.Fatal(len(l), err)
	}
}
