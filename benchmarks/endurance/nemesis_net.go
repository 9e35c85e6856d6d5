package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// journal writes down what was done to the system, with its time.
type journal struct {
	mu     sync.Mutex
	out    io.Writer
	begin  time.Time
	counts map[string]int
}

func (j *journal) note(kind, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts[kind]++
	fmt.Fprintf(j.out, "%9.3f %s %s\n", time.Since(j.begin).Seconds(), kind, fmt.Sprintf(format, args...))
}

func (j *journal) summary() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(j.counts)) {
		parts = append(parts, fmt.Sprint(j.counts[k], " ", k))
	}
	return strings.Join(parts, ", ")
}

// faults is the number of what was noted.
func (j *journal) faults() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.counts {
		n += c
	}
	return n
}

// cutter forwards TCP connections and cuts some after a random number of bytes,
// or lets them hang.
type cutter struct {
	l      net.Listener
	target string
	j      *journal
	calm   atomic.Bool
	mu     sync.Mutex
	r      *rand.Rand
	conns  map[net.Conn]bool
	all    sync.WaitGroup
}

func newCutter(target string, seed uint64, j *journal) (*cutter, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &cutter{l: l, target: target, j: j, r: rand.New(rand.NewPCG(seed, 11)), conns: map[net.Conn]bool{}}
	c.all.Add(1)
	go c.accept()
	return c, nil
}

func (c *cutter) close() {
	c.l.Close()
	c.cut()
	c.all.Wait()
}

// cut ends all connections.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for x := range c.conns {
		x.Close()
	}
	clear(c.conns)
}

func (c *cutter) accept() {
	defer c.all.Done()
	for n := 1; ; n++ {
		in, err := c.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.target)
		if err != nil {
			in.Close()
			continue
		}
		c.mu.Lock()
		c.conns[in], c.conns[out] = true, true
		limit, hang := int64(-1), false
		if !c.calm.Load() && c.r.IntN(4) == 0 {
			limit, hang = int64(256)<<c.r.IntN(16), c.r.IntN(10) == 0
			limit += c.r.Int64N(limit)
		}
		c.mu.Unlock()
		c.all.Add(2)
		go func() { defer c.all.Done(); io.Copy(out, in); out.Close(); in.Close() }()
		go func() {
			defer c.all.Done()
			if limit < 0 {
				io.Copy(in, out)
			} else if _, err := io.CopyN(in, out, limit); err == nil {
				if hang {
					c.j.note("hung connections", "%d after %d bytes", n, limit)
					io.Copy(io.Discard, out) // nothing comes any more, and nobody says so
				}
				c.j.note("cut connections", "%d after %d bytes", n, limit)
			}
			in.Close()
			out.Close()
			c.mu.Lock()
			delete(c.conns, in)
			delete(c.conns, out)
			c.mu.Unlock()
		}()
	}
}

// badStore stands before an object store and lets requests fail in the ways in
// which they fail.
type badStore struct {
	srv      *http.Server
	endpoint string
	target   string // host:port
	j        *journal
	calm     atomic.Bool
	share    int // so many of a thousand requests fail
	mu       sync.Mutex
	r        *rand.Rand
	client   http.Client
	requests atomic.Int64
	stop     func() // the store behind it
}

func newBadStore(target string, share int, seed uint64, j *journal) (*badStore, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &badStore{endpoint: "http://" + l.Addr().String(), target: target, j: j, share: share, r: rand.New(rand.NewPCG(seed, 13)),
		client: http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	b.srv = &http.Server{Handler: b, ErrorLog: log.New(io.Discard, "", 0)}
	go b.srv.Serve(l)
	return b, nil
}

func (b *badStore) close() {
	b.srv.Close()
	b.stop()
}

func (b *badStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.requests.Add(1)
	fault, part, wait := "", 0.0, time.Duration(0)
	if !b.calm.Load() {
		b.mu.Lock()
		if b.r.IntN(1000) < b.share {
			fault = []string{"500", "503", "slow", "lost", "cut", "reset", "half"}[b.r.IntN(7)]
			part, wait = b.r.Float64(), time.Duration(b.r.IntN(2000))*time.Millisecond
		}
		b.mu.Unlock()
	}
	if fault != "" {
		b.j.note("store "+fault, "%s %s", r.Method, r.URL.Path)
	}
	drop := func() { panic(http.ErrAbortHandler) }
	switch fault {
	case "500", "503":
		code, name := http.StatusInternalServerError, "InternalError"
		if fault == "503" {
			code, name = http.StatusServiceUnavailable, "SlowDown"
		}
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(code)
		fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>%s</Code><Message>as asked for</Message></Error>", name)
		return
	case "reset":
		drop()
	case "slow":
		pause(r.Context(), wait)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		drop()
	}
	if fault == "half" { // the store sees a part of what was sent
		b.half(r, body, part)
		drop()
	}
	resp, err := b.forward(r, body)
	if err != nil {
		drop()
	}
	defer resp.Body.Close()
	if fault == "lost" {
		io.Copy(io.Discard, resp.Body)
		drop()
	}
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	if resp.ContentLength >= 0 {
		w.Header().Set("Content-Length", fmt.Sprint(resp.ContentLength))
	}
	w.WriteHeader(resp.StatusCode)
	if fault == "cut" && resp.ContentLength > 0 {
		io.CopyN(w, resp.Body, int64(part*float64(resp.ContentLength)))
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		drop()
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		drop()
	}
}

func (b *badStore) request(r *http.Request, body io.Reader, size int) (*http.Request, error) {
	u := &url.URL{Scheme: "http", Host: b.target, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	// What the client has given up may still happen in the store.
	q, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, u.String(), body)
	if err != nil {
		return nil, err
	}
	q.Header = r.Header.Clone()
	q.Host = r.Host // it is signed
	q.ContentLength = int64(size)
	return q, nil
}

func (b *badStore) forward(r *http.Request, body []byte) (*http.Response, error) {
	q, err := b.request(r, bytes.NewReader(body), len(body))
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		q.Body = http.NoBody
	}
	return b.client.Do(q)
}

// half sends the first part of a body and breaks the connection.
func (b *badStore) half(r *http.Request, body []byte, part float64) {
	if len(body) < 2 {
		return
	}
	broken := io.MultiReader(bytes.NewReader(body[:int(part*float64(len(body)))]), failing{})
	q, err := b.request(r, broken, len(body))
	if err != nil {
		return
	}
	if resp, err := b.client.Do(q); err == nil {
		resp.Body.Close()
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken off") }
