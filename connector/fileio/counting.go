package fileio

import (
	"context"
	"maps"
	"sync"
)

// Counting counts what is asked of a store, by class of path: what tests of
// pruning and caches look at. It is safe for concurrent use.
type Counting struct {
	FileIO
	// Class names the class of a path.
	Class func(path string) string

	mu     sync.Mutex
	counts map[string]Counts
}

// Counts are operations on the files of one class.
type Counts struct {
	Opens int   // Open and ReadFile
	Reads int   // ReadAt
	Bytes int64 // read
	Stats int   // Stat
	Lists int
}

func (c *Counting) add(path string, f func(n *Counts)) {
	class := c.Class(path)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]Counts{}
	}
	n := c.counts[class]
	f(&n)
	c.counts[class] = n
}

// Take returns the counts by class since the last call.
func (c *Counting) Take() map[string]Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := maps.Clone(c.counts)
	c.counts = nil
	return out
}

// ReadFile implements FileIO.
func (c *Counting) ReadFile(ctx context.Context, path string) ([]byte, error) {
	b, err := c.FileIO.ReadFile(ctx, path)
	c.add(path, func(n *Counts) { n.Opens++; n.Bytes += int64(len(b)) })
	return b, err
}

// Open implements FileIO.
func (c *Counting) Open(ctx context.Context, path string) (File, error) {
	c.add(path, func(n *Counts) { n.Opens++ })
	f, err := c.FileIO.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &countedFile{f, c, path}, nil
}

// Stat implements FileIO.
func (c *Counting) Stat(ctx context.Context, path string) (Info, error) {
	c.add(path, func(n *Counts) { n.Stats++ })
	return c.FileIO.Stat(ctx, path)
}

// List implements FileIO.
func (c *Counting) List(ctx context.Context, dir string) ([]Info, error) {
	c.add(dir, func(n *Counts) { n.Lists++ })
	return c.FileIO.List(ctx, dir)
}

type countedFile struct {
	File
	c    *Counting
	path string
}

// ReadAt implements io.ReaderAt.
func (f *countedFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.c.add(f.path, func(x *Counts) { x.Reads++; x.Bytes += int64(n) })
	return n, err
}
