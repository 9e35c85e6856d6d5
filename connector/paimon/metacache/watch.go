package metacache

import (
	"context"

	"github.com/thermocline/thermocline/connector/fileio"
)

// Forgetting is a cache that can be told that files are gone.
type Forgetting interface {
	Forget(path string)
	ForgetBelow(dir string)
}

// Watch returns files whose Remove and RemoveAll tell caches what they remove:
// expiry removes manifests by the thousand that nobody asks for again, and that
// would stay in memory until the caches are full. It is Leaving where files is.
func Watch(files fileio.FileIO, caches ...Forgetting) fileio.FileIO {
	w := watched{files, caches}
	if l, ok := files.(fileio.Leaving); ok {
		return struct {
			watched
			fileio.Leaving
		}{w, l}
	}
	return w
}

type watched struct {
	fileio.FileIO
	caches []Forgetting
}

// Remove implements fileio.FileIO.
func (w watched) Remove(ctx context.Context, path string) error {
	err := w.FileIO.Remove(ctx, path)
	for _, c := range w.caches {
		c.Forget(path)
	}
	return err
}

// RemoveAll implements fileio.FileIO.
func (w watched) RemoveAll(ctx context.Context, dir string) error {
	err := w.FileIO.RemoveAll(ctx, dir)
	for _, c := range w.caches {
		c.ForgetBelow(dir)
	}
	return err
}
