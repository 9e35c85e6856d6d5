package fileio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/thermocline/thermocline/internal/errs"
)

// Renamer is a store that gives a directory another name in one step. Object
// stores are none: there a directory is many objects, and renaming it is no
// step.
type Renamer interface {
	// RenameDir renames a directory. An existing target is of kind
	// errs.FileExists, a missing source of kind errs.FileNotFound.
	RenameDir(ctx context.Context, from, to string) error
}

// RenameDir renames a directory where the store can, else it is refused as
// Unsupported.
func RenameDir(ctx context.Context, f FileIO, from, to string) error {
	if m, ok := f.(*Mux); ok {
		a, from, err := m.pick(ctx, from)
		if err != nil {
			return err
		}
		b, to, err := m.pick(ctx, to)
		if err != nil {
			return err
		}
		if a != b {
			return errs.Unsupportedf(-1, "renaming %s to another store (%s)", from, to)
		}
		return RenameDir(ctx, a, from, to)
	}
	if r, ok := f.(Renamer); ok {
		return r.RenameDir(ctx, from, to)
	}
	return errs.Unsupportedf(-1, "renaming a directory in an object store (%s), where it would not be one step", from)
}

// RenameDir implements Renamer.
func (l Local) RenameDir(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.mkdirAll(filepath.Dir(to)); err != nil {
		return wrap("rename", to, err)
	}
	// rename(2) replaces an empty directory: nothing is lost by that.
	err := os.Rename(from, to)
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	switch {
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.ENOTDIR):
		return wrap("rename", to, fs.ErrExist)
	case err != nil:
		return wrap("rename", from, err)
	}
	err = l.syncDir(filepath.Dir(to))
	if d := filepath.Dir(from); err == nil && d != filepath.Dir(to) {
		err = l.syncDir(d)
	}
	if err != nil {
		return errs.New(errs.UnknownOutcome, errs.KindNone, "rename %s: %w", from, err)
	}
	return nil
}

// RenameDir implements Renamer.
func (m *Memory) RenameDir(ctx context.Context, from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	return m.do(ctx, "rename", from, true, func() error {
		moved := map[string]memFile{}
		for name, f := range m.files {
			if strings.HasPrefix(name, to+"/") {
				return errs.New(errs.Conflict, errs.FileExists, "rename %s: the directory %s exists", from, to)
			}
			if rest, ok := strings.CutPrefix(name, from+"/"); ok {
				moved[rest] = f
			}
		}
		if len(moved) == 0 {
			return missing("rename", from)
		}
		for rest, f := range moved {
			delete(m.files, from+"/"+rest)
			m.files[to+"/"+rest] = f
		}
		return nil
	})
}
