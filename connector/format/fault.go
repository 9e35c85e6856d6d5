package format

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// Corrupt wraps err as corruption of the named file, one of a kind such as "ORC",
// unless err has a class of its own already or is the end of a context.
func Corrupt(kind, path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var e *errs.Error
	if errors.As(err, &e) {
		return err
	}
	return errs.Corruptf("read %s: broken %s file: %w", path, kind, err)
}

// ReadFull reads len(b) bytes at off. Its errors are those of ReadError.
func ReadFull(f fileio.File, path string, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return ReadError(path, err)
}

// ReadError names the file in an error of its store. A file that ends before what
// its own metadata says is corrupt.
func ReadError(path string, err error) error {
	var e *errs.Error
	switch {
	case errors.As(err, &e):
		return fmt.Errorf("read %s: %w", path, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errs.Corruptf("read %s: the file ends early", path)
	}
	return errs.New(errs.Unavailable, errs.KindNone, "read %s: %w", path, err)
}
