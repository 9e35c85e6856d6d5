// Package memory accounts for memory that grows with data: buffers, hash
// tables, sort runs, caches. Budgets form a tree (process, query, operator);
// a reservation counts against every budget up to the root.
//
// Invariants: a budget never goes above its limit; what is reserved is released
// exactly once; Close of a child with reservations left gives them back, so
// that a failed query cannot leak.
//
// Start reading at Budget.
package memory

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/thermocline/thermocline/internal/errs"
)

// Budget is one node of the tree. It is safe for concurrent use.
type Budget struct {
	name   string
	limit  int64
	parent *Budget
	used   atomic.Int64
	peak   atomic.Int64
}

// New makes a root budget of limit bytes; limit <= 0 means no limit.
func New(name string, limit int64) *Budget { return &Budget{name: name, limit: limit} }

// Child makes a budget below b. limit <= 0 means that only b limits it.
func (b *Budget) Child(name string, limit int64) *Budget {
	return &Budget{name: name, limit: limit, parent: b}
}

// Reserve takes n bytes, or returns an error of class Resource that names the
// budget and its limit. A nil budget grants everything.
func (b *Budget) Reserve(n int64) error {
	for at := b; at != nil; at = at.parent {
		now := at.used.Add(n)
		if at.limit > 0 && now > at.limit {
			for undo := b; ; undo = undo.parent {
				undo.used.Add(-n)
				if undo == at {
					break
				}
			}
			return errs.New(errs.Resource, errs.MemoryLimit, "reserve %s: the %s limit of %s is reached (%s in use)",
				FormatSize(n), at.name, FormatSize(at.limit), FormatSize(now-n))
		}
		for {
			p := at.peak.Load()
			if now <= p || at.peak.CompareAndSwap(p, now) {
				break
			}
		}
	}
	return nil
}

// Release gives n reserved bytes back.
func (b *Budget) Release(n int64) {
	for at := b; at != nil; at = at.parent {
		at.used.Add(-n)
	}
}

// Used returns the bytes reserved now, children included.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Peak returns the most bytes that were reserved at once.
func (b *Budget) Peak() int64 {
	if b == nil {
		return 0
	}
	return b.peak.Load()
}

// Limit returns the limit in bytes, 0 when there is none.
func (b *Budget) Limit() int64 {
	if b == nil || b.limit < 0 {
		return 0
	}
	return b.limit
}

// Close releases what is still reserved through b from b and its parents.
func (b *Budget) Close() {
	if b == nil {
		return
	}
	b.Release(b.used.Load())
}

// FormatSize prints bytes as 512MiB, 1.5GiB, 17B.
func FormatSize(n int64) string {
	const unit = 1024
	if n < unit && n > -unit {
		return fmt.Sprintf("%dB", n)
	}
	f, i := float64(n), -1
	for (f >= unit || f <= -unit) && i < 4 {
		f /= unit
		i++
	}
	return strconv.FormatFloat(float64(int64(f*10))/10, 'f', -1, 64) + [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"}[i]
}

// ParseSize reads "512MiB", "1 GiB", "64mb", "1024" as bytes. Both spellings
// of a unit mean powers of 1024, as Flink and Paimon read them.
func ParseSize(s string) (int64, error) {
	t := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), " ", ""))
	i := 0
	for i < len(t) && (t[i] >= '0' && t[i] <= '9' || t[i] == '.') {
		i++
	}
	num, unit := t[:i], t[i:]
	shift, ok := map[string]uint{"": 0, "b": 0, "bytes": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20,
		"g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40}[unit]
	f, err := strconv.ParseFloat(num, 64)
	if !ok || err != nil || f < 0 || f*float64(int64(1)<<shift) > 1<<62 {
		return 0, errs.Userf(errs.InvalidConfig, "read size %q: write a number and a unit, such as 512MiB or 1GiB", s)
	}
	return int64(f * float64(int64(1)<<shift)), nil
}
