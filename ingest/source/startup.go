package source

import (
	"context"
	"time"
)

// Starting is a Source whose log can be followed from other places than its end.
type Starting interface {
	Source
	// StartAt returns the position that a startup mode names (earliest-offset,
	// specific-offset, timestamp) by the source's options, and the time from which
	// on transactions count; zero for all of them.
	StartAt(ctx context.Context, mode string) (Position, time.Time, error)
}
