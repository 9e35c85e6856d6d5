// Package memory accounts for memory that grows with data: buffers, hash
// tables, sort runs, caches. Budgets form a tree (process, query, operator);
// a reservation counts against every budget up to the root. A guaranteed budget
// counts against its parent with what it was guaranteed, used or not, so that a
// reservation within the guarantee never fails for want of memory elsewhere.
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
	least  int64 // guaranteed: parent counts at least this much
	parent *Budget
	used   atomic.Int64
	peak   atomic.Int64
	// reclaim, when set, is memory that can be done without; see Reclaim.
	reclaim atomic.Pointer[Reclaimable]
}

// New makes a root budget of limit bytes; limit <= 0 means no limit.
func New(name string, limit int64) *Budget { return &Budget{name: name, limit: limit} }

// Child makes a budget below b. limit <= 0 means that only b limits it.
func (b *Budget) Child(name string, limit int64) *Budget {
	return &Budget{name: name, limit: limit, parent: b}
}

// Guaranteed makes a budget below b that may always reserve least bytes, which b
// sets aside until the budget is closed, and more while b has more. The error is
// that b does not have them now.
func (b *Budget) Guaranteed(name string, least, limit int64) (*Budget, error) {
	if err := b.Reserve(least); err != nil {
		return nil, err
	}
	return &Budget{name: name, limit: limit, least: least, parent: b}, nil
}

// charge is what a change of the use from before to after costs the parent.
func (b *Budget) charge(before, after int64) int64 {
	return max(after, b.least) - max(before, b.least)
}

// Reserve takes n bytes, or returns an error of class Resource that names the
// budget and its limit. A nil budget grants everything.
func (b *Budget) Reserve(n int64) error {
	if b == nil || n == 0 {
		return nil
	}
	now := b.used.Add(n)
	if b.limit > 0 && now > b.limit && now-b.reclaimed(now-b.limit) > b.limit {
		b.parent.add(b.charge(now-n, now)) // which the release gives back
		b.Release(n)
		return errs.New(errs.Resource, errs.MemoryLimit, "reserve %s: the %s limit of %s is reached (%s in use)",
			FormatSize(n), b.name, FormatSize(b.limit), FormatSize(now-n))
	}
	cost := b.charge(now-n, now)
	if err := b.parent.Reserve(cost); err != nil {
		b.parent.add(cost)
		b.Release(n)
		return err
	}
	for {
		p := b.peak.Load()
		if now <= p || b.peak.CompareAndSwap(p, now) {
			return nil
		}
	}
}

// Reclaimable is memory that its owner can do without.
type Reclaimable interface {
	// Used is how many bytes of the budget it holds.
	Used() int64
	// Free releases at least n bytes, if it can, and returns how many. It must not wait
	// for locks under which the owner reserves.
	Free(n int64) int64
}

// Reclaim makes Reserve free memory of r, which reserves from b or below it, when b
// has too little left.
func (b *Budget) Reclaim(r Reclaimable) { b.reclaim.Store(&r) }

// reclaimed frees n bytes, if it can, and returns how many.
func (b *Budget) reclaimed(n int64) int64 {
	if r := b.reclaim.Load(); r != nil {
		return (*r).Free(n)
	}
	return 0
}

// add counts n bytes whatever the limits are.
func (b *Budget) add(n int64) {
	if b == nil || n == 0 {
		return
	}
	now := b.used.Add(n)
	b.parent.add(b.charge(now-n, now))
}

// Release gives n reserved bytes back.
func (b *Budget) Release(n int64) { b.add(-n) }

// Room returns how many bytes could be reserved now. Unlimited is a very large
// number.
func (b *Budget) Room() int64 {
	if b == nil {
		return 1 << 62
	}
	used := b.used.Load()
	room := max(0, b.least-used)
	if up := b.parent.Room(); up < 1<<62-room {
		room += up
	} else {
		room = 1 << 62
	}
	if b.limit > 0 {
		left := b.limit - used
		if r := b.reclaim.Load(); r != nil {
			left += (*r).Used()
		}
		room = min(room, left)
	}
	return max(room, 0)
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

// Close releases what is still reserved through b from b and its parents, and what
// it was guaranteed. Nothing reserves through b any more.
func (b *Budget) Close() {
	if b == nil {
		return
	}
	b.Release(b.used.Load())
	b.parent.Release(b.least)
	b.least = 0
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
