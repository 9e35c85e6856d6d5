package fileio

import (
	"context"
	"strings"
	"sync"

	"github.com/thermocline/thermocline/internal/errs"
)

// Mux is the stores of a process in one: paths with a scheme, s3://bucket/key,
// go to the store of that scheme, all others, and those of the scheme file, to
// the local one. It is safe for concurrent use.
type Mux struct {
	local FileIO

	mu    sync.Mutex
	open  map[string]func(context.Context) (FileIO, error)
	ready map[string]FileIO
}

var _ FileIO = (*Mux)(nil)

// NewMux makes a Mux of a local store alone.
func NewMux(local FileIO) *Mux {
	return &Mux{local: local, open: map[string]func(context.Context) (FileIO, error){}, ready: map[string]FileIO{}}
}

// Handle adds a store for schemes. open is called when the first path of one of
// them is used; after an error, again with the next path.
func (m *Mux) Handle(open func(context.Context) (FileIO, error), schemes ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var mu sync.Mutex
	var fs FileIO
	shared := func(ctx context.Context) (_ FileIO, err error) {
		mu.Lock()
		defer mu.Unlock()
		if fs == nil {
			if fs, err = open(ctx); err != nil {
				fs = nil
			}
		}
		return fs, err
	}
	for _, s := range schemes {
		m.open[s] = shared
	}
}

// Scheme returns the scheme of a path, "" for a local one. A path that was
// cleaned like a local one, s3:/bucket/key, keeps its scheme; one letter is a
// drive and no scheme.
func Scheme(path string) string {
	s, rest, ok := strings.Cut(path, ":")
	if !ok || len(s) < 2 || s == "file" || !strings.HasPrefix(rest, "/") {
		return ""
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return ""
		}
	}
	return s
}

// pick returns the store of a path and the path within it.
func (m *Mux) pick(ctx context.Context, path string) (FileIO, string, error) {
	s := Scheme(path)
	if s == "" {
		if rest, ok := strings.CutPrefix(path, "file:"); ok {
			path = "/" + strings.TrimLeft(rest, "/")
		}
		return m.local, path, nil
	}
	m.mu.Lock()
	fs, open := m.ready[s], m.open[s]
	m.mu.Unlock()
	if fs != nil {
		return fs, path, nil
	}
	if open == nil {
		return nil, "", errs.Unsupportedf(-1, "paths of the scheme %s, as in %s", s, path)
	}
	fs, err := open(ctx)
	if err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	m.ready[s] = fs
	m.mu.Unlock()
	return fs, path, nil
}

// ReadFile implements FileIO.
func (m *Mux) ReadFile(ctx context.Context, path string) ([]byte, error) {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(ctx, path)
}

// Open implements FileIO.
func (m *Mux) Open(ctx context.Context, path string) (File, error) {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return nil, err
	}
	return fs.Open(ctx, path)
}

// Create implements FileIO.
func (m *Mux) Create(ctx context.Context, path string) (Writer, error) {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return nil, err
	}
	return fs.Create(ctx, path)
}

// WriteFile implements FileIO.
func (m *Mux) WriteFile(ctx context.Context, path string, data []byte) error {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return err
	}
	return fs.WriteFile(ctx, path, data)
}

// CreateExclusive implements FileIO.
func (m *Mux) CreateExclusive(ctx context.Context, path string, data []byte) error {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return err
	}
	return fs.CreateExclusive(ctx, path, data)
}

// Stat implements FileIO.
func (m *Mux) Stat(ctx context.Context, path string) (Info, error) {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return Info{}, err
	}
	return fs.Stat(ctx, path)
}

// List implements FileIO.
func (m *Mux) List(ctx context.Context, dir string) ([]Info, error) {
	fs, dir, err := m.pick(ctx, dir)
	if err != nil {
		return nil, err
	}
	return fs.List(ctx, dir)
}

// Leftovers implements Leaving.
func (m *Mux) Leftovers(ctx context.Context, dir string) ([]Info, error) {
	fs, dir, err := m.pick(ctx, dir)
	if err != nil {
		return nil, err
	}
	if l, ok := fs.(Leaving); ok {
		return l.Leftovers(ctx, dir)
	}
	return nil, nil
}

// Remove implements FileIO.
func (m *Mux) Remove(ctx context.Context, path string) error {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return err
	}
	return fs.Remove(ctx, path)
}

// RemoveAll implements FileIO.
func (m *Mux) RemoveAll(ctx context.Context, dir string) error {
	fs, dir, err := m.pick(ctx, dir)
	if err != nil {
		return err
	}
	return fs.RemoveAll(ctx, dir)
}
