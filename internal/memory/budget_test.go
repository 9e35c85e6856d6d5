package memory

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

func TestGuarantee(t *testing.T) {
	root := New("root", 100)
	a, err := root.Guaranteed("a", 40, 60)
	if err != nil {
		t.Fatal(err)
	}
	if root.Used() != 40 || a.Used() != 0 {
		t.Fatalf("a guarantee of 40 counts %d above and %d in itself", root.Used(), a.Used())
	}
	if err := root.Reserve(60); err != nil {
		t.Fatal(err)
	}
	if a.Room() != 40 {
		t.Errorf("room %d beside a full root, want what is guaranteed", a.Room())
	}
	if err := a.Reserve(40); err != nil {
		t.Errorf("within the guarantee: %v", err)
	}
	if err := a.Reserve(1); !errs.Is(err, errs.MemoryLimit) {
		t.Errorf("beyond the guarantee while the root is full: %v", err)
	}
	root.Release(60)
	if a.Room() != 20 {
		t.Errorf("room %d, want what its own limit leaves", a.Room())
	}
	if err := a.Reserve(20); err != nil {
		t.Errorf("borrowing: %v", err)
	}
	if err := a.Reserve(1); !errs.Is(err, errs.MemoryLimit) {
		t.Errorf("beyond its own limit: %v", err)
	}
	if root.Used() != 60 {
		t.Errorf("root counts %d, want 60", root.Used())
	}
	if _, err := root.Guaranteed("b", 41, 0); !errs.Is(err, errs.MemoryLimit) {
		t.Errorf("a guarantee that the root does not have: %v", err)
	}
	a.Release(50)
	if root.Used() != 40 {
		t.Errorf("root counts %d after the release, want the guarantee", root.Used())
	}
	a.Close()
	if root.Used() != 0 {
		t.Errorf("root counts %d at the end", root.Used())
	}
}

// However reservations, failures and releases meet, what is left is nothing.
func TestGuaranteeConcurrent(t *testing.T) {
	root := New("root", 1000)
	var wg sync.WaitGroup
	for w := range 4 {
		a, err := root.Guaranteed("a", 100, 400)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		c := a.Child("query", 350)
		for range 2 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 1))
				held := int64(0)
				for range 5000 {
					if n := r.Int64N(200); held > 0 && r.IntN(2) == 0 {
						n = min(n, held)
						c.Release(n)
						held -= n
					} else if c.Reserve(n) == nil {
						held += n
					}
				}
				c.Release(held)
			})
		}
	}
	wg.Wait()
	if root.Used() != 400 {
		t.Errorf("root counts %d, want the four guarantees", root.Used())
	}
}
