package fileio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/internal/errs"
)

// Local is the local file system. Writes go to a hidden temporary file in the
// target's directory, are synced, and appear under their name in one step:
// rename for Create and WriteFile, link for CreateExclusive, which fails when
// the name exists. Directories are synced after each change of their entries.
type Local struct {
	// NoSync leaves out fsync, for tests and throwaway tables.
	NoSync bool
}

var _ FileIO = Local{}

// wrap gives an operating system error a class and kind.
func wrap(verb, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errs.New(errs.Unavailable, errs.FileNotFound, "%s %s: no such file", verb, path)
	case errors.Is(err, fs.ErrExist):
		return errs.New(errs.Conflict, errs.FileExists, "%s %s: the file exists", verb, path)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return errs.New(errs.Unavailable, errs.KindNone, "%s %s: %w", verb, path, err)
}

// ReadFile implements FileIO.
func (Local) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	return b, wrap("read", path, err)
}

type localFile struct {
	*os.File
	size int64
}

func (f localFile) Size() int64 { return f.size }

// Open implements FileIO.
func (Local) Open(ctx context.Context, path string) (File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, wrap("open", path, err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		f.Close()
		return nil, wrap("open", path, err)
	}
	return localFile{f, st.Size()}, nil
}

// localWriter writes a temporary file that Close moves to its name.
type localWriter struct {
	fs        Local
	f         *os.File
	path      string
	exclusive bool
	done      bool
}

func (l Local) create(ctx context.Context, verb, path string, exclusive bool) (*localWriter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := l.mkdirAll(dir); err != nil {
		return nil, wrap(verb, path, err)
	}
	tmp := filepath.Join(dir, "."+filepath.Base(path)+"."+uuid.NewString()+".tmp")
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, wrap(verb, path, err)
	}
	return &localWriter{fs: l, f: f, path: path, exclusive: exclusive}, nil
}

// mkdirAll makes dir and syncs the parents of what it made, so that the new
// directories survive a power failure too.
func (l Local) mkdirAll(dir string) error {
	if st, err := os.Stat(dir); err == nil {
		if !st.IsDir() {
			return errors.New(dir + " is not a directory")
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := l.mkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.syncDir(parent)
}

func (l Local) syncDir(dir string) error {
	if l.NoSync {
		return nil
	}
	return syncs.sync(dir)
}

func (w *localWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	return n, wrap("write", w.path, err)
}

func (w *localWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	err := errors.Join(w.f.Close(), os.Remove(w.f.Name()))
	return wrap("remove", w.f.Name(), err)
}

func (w *localWriter) Close() error {
	if w.done {
		return nil
	}
	var err error
	if !w.fs.NoSync {
		err = w.f.Sync()
	}
	if err != nil {
		return errors.Join(wrap("sync", w.path, err), w.Abort())
	}
	w.done = true
	if err = w.f.Close(); err != nil {
		return errors.Join(wrap("close", w.path, err), wrap("remove", w.f.Name(), os.Remove(w.f.Name())))
	}
	if w.exclusive {
		err = os.Link(w.f.Name(), w.path)
		rm := os.Remove(w.f.Name())
		if errors.Is(err, fs.ErrExist) {
			return wrap("create", w.path, fs.ErrExist)
		}
		if err == nil {
			err = rm
		}
	} else {
		err = os.Rename(w.f.Name(), w.path)
	}
	if err == nil {
		err = w.fs.syncDir(filepath.Dir(w.path))
	}
	if err != nil {
		return errs.New(errs.UnknownOutcome, errs.KindNone, "create %s: %w", w.path, err)
	}
	return nil
}

// Create implements FileIO.
func (l Local) Create(ctx context.Context, path string) (Writer, error) {
	w, err := l.create(ctx, "create", path, false)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (l Local) put(ctx context.Context, verb, path string, data []byte, exclusive bool) error {
	w, err := l.create(ctx, verb, path, exclusive)
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}

// WriteFile implements FileIO.
func (l Local) WriteFile(ctx context.Context, path string, data []byte) error {
	return l.put(ctx, "write", path, data, false)
}

// CreateExclusive implements FileIO.
func (l Local) CreateExclusive(ctx context.Context, path string, data []byte) error {
	return l.put(ctx, "create", path, data, true)
}

func localInfo(st fs.FileInfo) Info {
	return Info{Name: st.Name(), Size: st.Size(), ModTime: st.ModTime(), Dir: st.IsDir()}
}

// Stat implements FileIO.
func (Local) Stat(ctx context.Context, path string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	st, err := os.Stat(path)
	if err != nil {
		return Info{}, wrap("stat", path, err)
	}
	return localInfo(st), nil
}

// List implements FileIO. Temporary files are left out.
func (Local) List(ctx context.Context, dir string) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("list", dir, err)
	}
	out := make([]Info, 0, len(entries))
	for _, e := range entries {
		if isTemporary(e.Name()) {
			continue
		}
		st, err := os.Stat(filepath.Join(dir, e.Name())) // follows links
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, wrap("list", dir, err)
		}
		in := localInfo(st)
		in.Name = e.Name()
		out = append(out, in)
	}
	return out, nil
}

// Leftovers implements Leaving: the temporary files of writes that a crash cut.
func (Local) Leftovers(ctx context.Context, dir string) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("list", dir, err)
	}
	var out []Info
	for _, e := range entries {
		if !isTemporary(e.Name()) {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, wrap("list", dir, err)
		}
		if st.Mode().IsRegular() {
			out = append(out, localInfo(st))
		}
	}
	return out, nil
}

func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// Remove implements FileIO.
func (Local) Remove(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("remove", path, err)
	}
	return nil
}

// removeTries bounds how often a folder is removed in which files appear meanwhile.
const removeTries = 50

// RemoveAll implements FileIO. Whoever writes into the folder meanwhile, such as a
// compaction of a table that is dropped, keeps it from being empty: it is tried again
// for about a second.
func (Local) RemoveAll(ctx context.Context, dir string) error {
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := os.RemoveAll(dir)
		if err == nil || try == removeTries || !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrExist) {
			return wrap("remove", dir, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}
