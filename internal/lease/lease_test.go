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

// TestDeadClaim: a process that was killed between its claim and its lease does
// not keep the next one from the same data directory waiting; another waits.
func TestDeadClaim(t *testing.T) {
	ctx := context.Background()
	m := fileio.NewMemory()
	now := time.Now()
	opts := func(dir string) Options {
		return Options{Files: m, Warehouse: "/w", DataDir: dir, Now: func() time.Time { return now }}
	}
	end := func(l *Lease) {
		l.cancel()
		l.wait.Wait()
	}
	a, err := Acquire(ctx, opts("a"))
	if err != nil {
		t.Fatal(err)
	}
	end(a)
	dead := &Lease{o: opts("a"), mine: record{Nonce: "dead", DataDir: "a"}}
	if err := m.CreateExclusive(ctx, dead.o.file()+".claim-"+a.mine.Nonce, dead.text()); err != nil {
		t.Fatal(err)
	}
	// What it still sent is no other's lease.
	old := a.text()
	now = now.Add(time.Second)
	b, err := Acquire(ctx, opts("a"))
	if err != nil {
		t.Fatalf("held by a dead process: %v", err)
	}
	if err := m.WriteFile(ctx, b.o.file(), old); err != nil {
		t.Fatal(err)
	}
	if !b.renewOnce(ctx) {
		t.Error("a late renewal of a dead process took the lease away")
	}
	end(b)
	now = now.Add(time.Minute)
	if err := m.CreateExclusive(ctx, b.o.file()+".claim-"+b.mine.Nonce, dead.text()); err != nil {
		t.Fatal(err)
	}
	m.SetFault(nil)
	if _, err := Acquire(ctx, Options{Files: fresh{m, now}, Warehouse: "/w", DataDir: "c", Now: func() time.Time { return now }}); !errs.Is(err, errs.LeaseHeld) {
		t.Errorf("another's claim was ignored: %v", err)
	}
}

// fresh is a store whose files were all written just now.
type fresh struct {
	fileio.FileIO
	now time.Time
}

func (f fresh) Stat(ctx context.Context, p string) (fileio.Info, error) {
	in, err := f.FileIO.Stat(ctx, p)
	in.ModTime = f.now
	return in, err
}

// failing lets every creation fail, without a word of whether it happened.
type failing struct {
	fileio.FileIO
	left   int
	happen bool
}

func (f *failing) CreateExclusive(ctx context.Context, p string, b []byte) error {
	if f.left == 0 {
		return f.FileIO.CreateExclusive(ctx, p, b)
	}
	f.left--
	if f.happen {
		_ = f.FileIO.CreateExclusive(ctx, p, b)
	}
	return errs.New(errs.UnknownOutcome, errs.KindNone, "SlowDown")
}

// TestUnknownCreation: replies that are lost, of the lease and of a claim.
func TestUnknownCreation(t *testing.T) {
	ctx := context.Background()
	for _, happen := range []bool{false, true} {
		f := &failing{FileIO: fileio.NewMemory(), happen: happen}
		for range 3 { // the lease, then takeovers
			f.left = 2
			l, err := Acquire(ctx, Options{Files: f, Warehouse: "/w", DataDir: "a"})
			if err != nil {
				t.Fatalf("happen %v: %v", happen, err)
			}
			l.cancel()
			l.wait.Wait()
		}
	}
}
