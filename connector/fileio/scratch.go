package fileio

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Scratch makes a process's temporary files (spilled rows) in a local folder. A
// file loses its name as soon as it is made, so that it is gone when it is closed
// or the process ends, however it ends. It is safe for concurrent use; a nil
// Scratch makes no files.
type Scratch struct {
	dir   string
	limit int64
	used  atomic.Int64
	open  atomic.Int64
	fault atomic.Pointer[func(verb string) error]
}

// NewScratch returns a Scratch for files in dir, which is made with the first of
// them. All together may have limit bytes; 0 is no limit.
func NewScratch(dir string, limit int64) *Scratch { return &Scratch{dir: dir, limit: limit} }

// Used returns the bytes of all open files, and how many there are.
func (s *Scratch) Used() (bytes int64, files int) {
	if s == nil {
		return 0, 0
	}
	return s.used.Load(), int(s.open.Load())
}

// SetFault makes each operation ("create", "write", "read") ask f, which returns
// the error that it has; for tests.
func (s *Scratch) SetFault(f func(verb string) error) { s.fault.Store(&f) }

func (s *Scratch) do(verb string) error {
	if f := s.fault.Load(); f != nil {
		return (*f)(verb)
	}
	return nil
}

const scratchSuffix = ".spill.tmp"

// Create makes an empty temporary file.
func (s *Scratch) Create(ctx context.Context) (*TempFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err := s.do("create")
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(s.dir, ".*"+scratchSuffix)
	}
	if err != nil {
		return nil, wrap("make a temporary file in", s.dir, err)
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(wrap("make a temporary file in", s.dir, err), f.Close())
	}
	s.open.Add(1)
	return &TempFile{s: s, f: f}, nil
}

// Clean removes what processes left that ended while they made a file.
func (s *Scratch) Clean() error {
	left, err := filepath.Glob(filepath.Join(s.dir, ".*"+scratchSuffix))
	for _, f := range left {
		if rerr := os.Remove(f); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, wrap("remove", f, rerr))
		}
	}
	return err
}

// TempFile is a temporary file: written from the start to the end, read at
// offsets, gone when closed. ReadAt is safe for concurrent use, after the writes.
type TempFile struct {
	s    *Scratch
	f    *os.File
	size int64
}

var _ File = (*TempFile)(nil)

// Write appends p. An error of class Resource says that the disk is full, or the
// Scratch.
func (t *TempFile) Write(p []byte) (int, error) {
	n := int64(len(p))
	if now := t.s.used.Add(n); t.s.limit > 0 && now > t.s.limit {
		t.s.used.Add(-n)
		return 0, errs.New(errs.Resource, errs.DiskLimit, "spill %s to %s: the limit of %s is reached", memory.FormatSize(n), t.s.dir, memory.FormatSize(t.s.limit))
	}
	err := t.s.do("write")
	if err == nil {
		_, err = t.f.WriteAt(p, t.size) // what a failed write has left is written over
	}
	if err != nil {
		t.s.used.Add(-n)
		return 0, wrap("write a temporary file in", t.s.dir, err)
	}
	t.size += n
	return len(p), nil
}

// ReadAt implements File.
func (t *TempFile) ReadAt(p []byte, at int64) (int, error) {
	if err := t.s.do("read"); err != nil {
		return 0, wrap("read a temporary file in", t.s.dir, err)
	}
	return t.f.ReadAt(p, at)
}

// Size implements File.
func (t *TempFile) Size() int64 { return t.size }

// Close implements File: the file is gone. A second call does nothing.
func (t *TempFile) Close() error {
	if t.f == nil {
		return nil
	}
	err := t.f.Close()
	t.f = nil
	t.s.used.Add(-t.size)
	t.s.open.Add(-1)
	return wrap("close a temporary file in", t.s.dir, err)
}
