package fileio

import (
	"bytes"
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
)

// Op is one operation on a Memory store.
type Op struct {
	Verb string // "read", "open", "readat", "create" (Writer.Close), "write", "exclusive", "stat", "list", "remove", "removeall"
	Path string
	N    int // its number among the operations that change something, from 1; 0 for reads
}

// Changes reports whether the operation changes the store.
func (o Op) Changes() bool { return o.N > 0 }

// Outcome is what a Fault decides for an operation.
type Outcome uint8

const (
	// Proceed lets the operation happen.
	Proceed Outcome = iota
	// FailBefore makes it fail without an effect, with class Unavailable.
	FailBefore
	// FailAfter lets it happen but loses the reply: class UnknownOutcome for
	// changes, Unavailable for reads.
	FailAfter
	// CrashBefore stops the process before the operation: it and all later ones
	// fail until Restart.
	CrashBefore
	// CrashAfter stops the process right after it took effect.
	CrashAfter
)

// Memory is a store in memory that can fail and crash at every operation, to
// test that state on disk is always old or new and never between. It is safe
// for concurrent use.
//
// A crash loses unfinished writers and nothing else: what a FileIO reports as
// done is durable.
type Memory struct {
	mu      sync.Mutex
	files   map[string]memFile
	fault   func(Op) Outcome
	log     []Op
	n       int
	crashed bool
	life    int // raised by Restart, so that writers from before the crash are dead
	clock   time.Time
}

type memFile struct {
	data []byte
	mod  time.Time
}

var _ FileIO = (*Memory)(nil)

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{files: map[string]memFile{}, clock: time.Unix(1_700_000_000, 0)}
}

// SetFault installs f, which decides the outcome of each operation; nil lets
// all proceed. f is called with the store locked and must not use it.
func (m *Memory) SetFault(f func(Op) Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

// CrashAt makes the n-th change from now on (from 1) end in a crash, before or
// after it took effect.
func (m *Memory) CrashAt(n int, after bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.n + n
	m.fault = func(o Op) Outcome {
		switch {
		case o.N != at:
			return Proceed
		case after:
			return CrashAfter
		}
		return CrashBefore
	}
}

// Crashed reports whether the store has crashed and was not restarted.
func (m *Memory) Crashed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.crashed
}

// Restart brings a crashed store back, without faults.
func (m *Memory) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashed, m.fault = false, nil
	m.life++
}

// Changes returns how many changing operations there were.
func (m *Memory) Changes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

// Log returns the operations so far, reads included.
func (m *Memory) Log() []Op {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}

// Clone returns a copy of the store's files, without faults or log.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{files: maps.Clone(m.files), clock: m.clock}
}

// Paths returns the paths of all files, sorted.
func (m *Memory) Paths() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files))
}

// do runs apply as one operation under the fault's decision.
func (m *Memory) do(ctx context.Context, verb, p string, change bool, apply func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return errs.New(errs.Unavailable, errs.KindNone, "%s %s: the store has crashed", verb, p)
	}
	op := Op{Verb: verb, Path: p}
	if change {
		m.n++
		op.N = m.n
	}
	m.log = append(m.log, op)
	what := Proceed
	if m.fault != nil {
		what = m.fault(op)
	}
	switch what {
	case FailBefore:
		return errs.New(errs.Unavailable, errs.KindNone, "%s %s: injected failure", verb, p)
	case CrashBefore:
		m.crashed = true
		return errs.New(errs.Unavailable, errs.KindNone, "%s %s: the store has crashed", verb, p)
	}
	m.clock = m.clock.Add(time.Millisecond)
	err := apply()
	switch {
	case what == CrashAfter:
		m.crashed = true
		return errs.New(errs.UnknownOutcome, errs.KindNone, "%s %s: the store has crashed", verb, p)
	case what == FailAfter && change && err == nil:
		return errs.New(errs.UnknownOutcome, errs.KindNone, "%s %s: injected loss of the reply", verb, p)
	case what == FailAfter:
		return errs.New(errs.Unavailable, errs.KindNone, "%s %s: injected loss of the reply", verb, p)
	}
	return err
}

func missing(verb, p string) error {
	return errs.New(errs.Unavailable, errs.FileNotFound, "%s %s: no such file", verb, p)
}

// ReadFile implements FileIO.
func (m *Memory) ReadFile(ctx context.Context, p string) (data []byte, err error) {
	p = path.Clean(p)
	err = m.do(ctx, "read", p, false, func() error {
		f, ok := m.files[p]
		if !ok {
			return missing("read", p)
		}
		data = bytes.Clone(f.data)
		return nil
	})
	return data, err
}

type memReader struct {
	m    *Memory
	path string
	data []byte
}

func (r *memReader) Size() int64  { return int64(len(r.data)) }
func (r *memReader) Close() error { return nil }

func (r *memReader) ReadAt(p []byte, off int64) (n int, err error) {
	err = r.m.do(context.Background(), "readat", r.path, false, func() error {
		if off < 0 || off > int64(len(r.data)) {
			return io.EOF
		}
		if n = copy(p, r.data[off:]); n < len(p) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

// Open implements FileIO.
func (m *Memory) Open(ctx context.Context, p string) (f File, err error) {
	p = path.Clean(p)
	err = m.do(ctx, "open", p, false, func() error {
		got, ok := m.files[p]
		if !ok {
			return missing("open", p)
		}
		f = &memReader{m: m, path: p, data: got.data}
		return nil
	})
	return f, err
}

type memWriter struct {
	m    *Memory
	ctx  context.Context
	path string
	buf  bytes.Buffer
	life int
	done bool
}

func (w *memWriter) Write(b []byte) (int, error) {
	w.m.mu.Lock()
	dead := w.m.crashed || w.life != w.m.life
	w.m.mu.Unlock()
	if dead || w.done {
		return 0, errs.New(errs.Unavailable, errs.KindNone, "write %s: the store has crashed", w.path)
	}
	return w.buf.Write(b)
}

func (w *memWriter) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.m.do(context.WithoutCancel(w.ctx), "create", w.path, true, func() error {
		if w.life != w.m.life {
			return errs.New(errs.Unavailable, errs.KindNone, "create %s: the store has crashed", w.path)
		}
		w.m.files[w.path] = memFile{w.buf.Bytes(), w.m.clock}
		return nil
	})
}

func (w *memWriter) Abort() error {
	w.done = true
	return nil
}

// Create implements FileIO.
func (m *Memory) Create(ctx context.Context, p string) (Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return nil, errs.New(errs.Unavailable, errs.KindNone, "create %s: the store has crashed", p)
	}
	return &memWriter{m: m, ctx: ctx, path: path.Clean(p), life: m.life}, nil
}

// WriteFile implements FileIO.
func (m *Memory) WriteFile(ctx context.Context, p string, data []byte) error {
	p = path.Clean(p)
	return m.do(ctx, "write", p, true, func() error {
		m.files[p] = memFile{bytes.Clone(data), m.clock}
		return nil
	})
}

// CreateExclusive implements FileIO.
func (m *Memory) CreateExclusive(ctx context.Context, p string, data []byte) error {
	p = path.Clean(p)
	return m.do(ctx, "exclusive", p, true, func() error {
		if _, ok := m.files[p]; ok {
			return errs.New(errs.Conflict, errs.FileExists, "create %s: the file exists", p)
		}
		m.files[p] = memFile{bytes.Clone(data), m.clock}
		return nil
	})
}

// Stat implements FileIO.
func (m *Memory) Stat(ctx context.Context, p string) (in Info, err error) {
	p = path.Clean(p)
	err = m.do(ctx, "stat", p, false, func() error {
		f, ok := m.files[p]
		if !ok {
			for name := range m.files {
				if strings.HasPrefix(name, p+"/") {
					in = Info{Name: path.Base(p), Dir: true}
					return nil
				}
			}
			return missing("stat", p)
		}
		in = Info{Name: path.Base(p), Size: int64(len(f.data)), ModTime: f.mod}
		return nil
	})
	return in, err
}

// List implements FileIO.
func (m *Memory) List(ctx context.Context, dir string) (out []Info, err error) {
	dir = strings.TrimSuffix(path.Clean(dir), "/") + "/"
	err = m.do(ctx, "list", dir, false, func() error {
		seen := map[string]Info{}
		for name, f := range m.files {
			rest, ok := strings.CutPrefix(name, dir)
			if !ok {
				continue
			}
			first, _, deeper := strings.Cut(rest, "/")
			if deeper {
				seen[first] = Info{Name: first, Dir: true}
			} else {
				seen[first] = Info{Name: first, Size: int64(len(f.data)), ModTime: f.mod}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(seen)) {
			out = append(out, seen[name])
		}
		return nil
	})
	return out, err
}

// Remove implements FileIO.
func (m *Memory) Remove(ctx context.Context, p string) error {
	p = path.Clean(p)
	return m.do(ctx, "remove", p, true, func() error {
		delete(m.files, p)
		return nil
	})
}

// RemoveAll implements FileIO.
func (m *Memory) RemoveAll(ctx context.Context, dir string) error {
	p := path.Clean(dir)
	return m.do(ctx, "removeall", p, true, func() error {
		for name := range m.files {
			if name == p || strings.HasPrefix(name, p+"/") {
				delete(m.files, name)
			}
		}
		return nil
	})
}
