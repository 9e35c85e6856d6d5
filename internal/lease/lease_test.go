package lease

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

func TestOneHolder(t *testing.T) {
	ctx := context.Background()
	m := fileio.NewMemory()
	now := time.Unix(1_700_000_000, 0)
	opts := func(dir string) Options {
		return Options{Files: m, Warehouse: "/w", DataDir: dir, Now: func() time.Time { return now }}
	}
	a, err := Acquire(ctx, opts("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(ctx, opts("b")); !errs.Is(err, errs.LeaseHeld) {
		t.Fatalf("a living lease was taken: %v", err)
	}
	// The same data directory, whose lock we must hold, takes over at once.
	a2, err := Acquire(ctx, opts("a"))
	if err != nil {
		t.Fatal(err)
	}
	if a.renewOnce(ctx) {
		t.Fatal("the old holder renews a lease that was taken over")
	}
	now = now.Add(DeadAfter + time.Second)
	b, err := Acquire(ctx, opts("b"))
	if err != nil {
		t.Fatalf("a dead lease was not taken: %v", err)
	}
	if err := a2.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if !b.renewOnce(ctx) {
		t.Fatal("the release of an old holder ended the new one's lease")
	}
	if err := a.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if p := m.Paths(); len(p) != 0 {
		t.Fatalf("left over: %v", p)
	}
}

// TestRace: of many that want an absent or a dead lease, one gets it.
func TestRace(t *testing.T) {
	ctx := context.Background()
	for round := range 50 {
		m := fileio.NewMemory()
		now := time.Unix(1_700_000_000, 0)
		opts := func(dir string, at time.Time) Options {
			return Options{Files: m, Warehouse: "/w", DataDir: dir, Now: func() time.Time { return at }}
		}
		if round%2 == 0 {
			dead, err := Acquire(ctx, opts("dead", now.Add(-time.Minute)))
			if err != nil {
				t.Fatal(err)
			}
			dead.cancel()
			dead.wait.Wait()
		}
		var got atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				l, err := Acquire(ctx, opts(string(rune('a'+i)), now))
				if err == nil {
					got.Add(1)
					l.cancel()
					l.wait.Wait()
				} else if !errs.Is(err, errs.LeaseHeld) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 {
			t.Fatalf("round %d: %d holders", round, got.Load())
		}
	}
}
