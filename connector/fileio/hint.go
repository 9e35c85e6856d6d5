package fileio

import (
	"context"
)

// Hinting is implemented by stores that can write a file cheaply when it need not
// survive a crash: afterwards it may have its old content, or none.
type Hinting interface {
	WriteHint(ctx context.Context, path string, data []byte) error
}

// WriteHint writes a file that is only a hint: readers must do without it. Those
// that run see the old content or the new one, never a part.
func WriteHint(ctx context.Context, f FileIO, path string, data []byte) error {
	if h, ok := f.(Hinting); ok {
		return h.WriteHint(ctx, path, data)
	}
	return f.WriteFile(ctx, path, data)
}

// WriteHint implements Hinting: nothing is synced.
func (l Local) WriteHint(ctx context.Context, path string, data []byte) error {
	l.NoSync = true
	return l.put(ctx, "write", path, data, false)
}

// WriteHint implements Hinting.
func (m *Mux) WriteHint(ctx context.Context, path string, data []byte) error {
	fs, path, err := m.pick(ctx, path)
	if err != nil {
		return err
	}
	return WriteHint(ctx, fs, path, data)
}
