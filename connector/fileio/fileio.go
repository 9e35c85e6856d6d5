// Package fileio is the only door to bytes: files on local disk, in an object
// store, or in a simulated store that crashes (DESIGN §2).
//
// Paths are slash-separated and absolute within a FileIO; Local takes operating
// system paths. Directories appear with their first file and are no objects of
// their own, so that every implementation behaves like an object store.
//
// Durability. A file is visible and durable when WriteFile, CreateExclusive or
// Writer.Close returned nil; before that a reader may see nothing of it. After
// an error of CreateExclusive the caller does not know whether the file exists
// and reads it back (DESIGN D12).
//
// Start reading at FileIO; Local is the implementation users have, Memory the
// one that tests crash.
package fileio

import (
	"context"
	"io"
	"time"
)

// FileIO is a store of files. Implementations are safe for concurrent use.
//
// Errors: a missing file is of kind errs.FileNotFound; CreateExclusive on an
// existing one of kind errs.FileExists; others are of class Unavailable or,
// where the operation may have happened, UnknownOutcome.
type FileIO interface {
	// ReadFile returns a whole file.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// Open opens a file for reads at offsets.
	Open(ctx context.Context, path string) (File, error)
	// Create starts a new file, replacing one of that name when it is closed.
	// Use it for names that nobody else writes (uuids).
	Create(ctx context.Context, path string) (Writer, error)
	// WriteFile replaces a small file atomically (hints, states).
	WriteFile(ctx context.Context, path string, data []byte) error
	// CreateExclusive makes a small file only if no file of that name exists.
	CreateExclusive(ctx context.Context, path string, data []byte) error
	// Stat describes a file.
	Stat(ctx context.Context, path string) (Info, error)
	// List returns the files and directories directly in dir, sorted by name.
	// A missing directory is empty.
	List(ctx context.Context, dir string) ([]Info, error)
	// Remove deletes a file; a missing one is fine.
	Remove(ctx context.Context, path string) error
	// RemoveAll deletes a directory and everything below it.
	RemoveAll(ctx context.Context, dir string) error
}

// Leaving is a store in which crashed processes leave temporary files, which List
// does not show.
type Leaving interface {
	// Leftovers returns the temporary files directly in dir. Those that are not old
	// may belong to a write that goes on.
	Leftovers(ctx context.Context, dir string) ([]Info, error)
}

// Info describes a file or directory.
type Info struct {
	Name    string // last element of the path
	Size    int64
	ModTime time.Time
	Dir     bool
	// ETag changes with the content where the store has such tags; else it is
	// empty, and size and time have to do.
	ETag string
}

// File is an open file. ReadAt is safe for concurrent use.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Writer writes a new file. Close makes it visible and durable; Abort gives it
// up. After Close, Abort does nothing.
type Writer interface {
	io.Writer
	Close() error
	Abort() error
}
