package commit

import (
	"context"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// expiryOptions say which snapshots may go.
type expiryOptions struct {
	enabled  bool
	min, max int64
	retained time.Duration
	limit    int64
}

func readExpiryOptions(o *spec.Options) expiryOptions {
	return expiryOptions{}
}

// expire removes old snapshots after a commit.
func (c *Committer) expire(context.Context, *spec.Snapshot) {}
