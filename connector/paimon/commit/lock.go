package commit

import (
	"context"
	"log/slog"
)

// LockFunc takes the lock of a table in its catalog, which engines that know no
// exclusive creation rely on. It waits until it has the lock or returns an
// error. unlock gives it back; its error means that the lock ends later by
// itself.
type LockFunc func(ctx context.Context) (unlock func() error, err error)

// take is f where there is one.
func (f LockFunc) take(ctx context.Context) (unlock func(), err error) {
	if f == nil {
		return func() {}, nil
	}
	give, err := f(ctx)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := give(); err != nil {
			slog.Warn("the lock of a table was not given back; others wait until it expires", "error", err)
		}
	}, nil
}
