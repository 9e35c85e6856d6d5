package write

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/memory"
)

// TestHashTable compares the table with a map.
func TestHashTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	table, want := newHashTable(), map[int32]hashPlace{}
	for range 60_000 {
		h := int32(r.Uint32()) >> r.IntN(20)
		p := hashPlace(r.IntN(maxBuckets))
		if r.IntN(4) == 0 {
			p |= hashPending
		}
		table.put(h, p)
		want[h] = p
	}
	if len(table.leaves) < 8 || table.n != len(want) {
		t.Fatalf("%d keys in %d leaves, not %d", table.n, len(table.leaves), len(want))
	}
	for h, p := range want {
		if got, ok := table.get(h); !ok || got != p {
			t.Fatalf("hash %d: %d %v, not %d", h, got, ok, p)
		}
		if _, ok := table.get(h + 1); ok {
			if _, is := want[h+1]; !is {
				t.Fatalf("hash %d was never put", h+1)
			}
		}
	}
	n, last := 0, int64(-1)
	table.each(func(h int32, p hashPlace) {
		if int64(uint32(h)) <= last || want[h] != p {
			t.Fatalf("hash %d comes with %d after %d", h, p, last)
		}
		n, last = n+1, int64(uint32(h))
	})
	if n != len(want) {
		t.Errorf("%d hashes, not %d", n, len(want))
	}
}

// TestKeyStore compares a store whose runs go to disk with a map.
func TestKeyStore(t *testing.T) {
	ctx := context.Background()
	for _, most := range []int64{1 << 40, 2 << 20, 1_500_000} {
		budget := memory.New("test", 0)
		scratch := fileio.NewScratch(t.TempDir(), 0)
		s := newKeyStore(budget, func(_ context.Context, n int64) error { return budget.Reserve(n) }, scratch)
		s.most = most
		if most == 2<<20 { // keys whose hashes are the same: none is lost
			s.most = 1
		}
		r := rand.New(rand.NewPCG(2, 2))
		want := map[string]int32{}
		var keys []string
		n := 250_000
		if s.most == 1 {
			n = 20_000
		}
		for i := range n {
			key := fmt.Sprintf("key %d %s", r.IntN(n), "of some length that differs a lot"[:r.IntN(30)])
			if i%10_000 == 0 {
				key = string(make([]byte, 3000+i/1000))
			}
			if r.IntN(3) == 0 && len(keys) > 0 {
				key = keys[r.IntN(len(keys))]
			}
			got, ok, err := s.get([]byte(key))
			if err != nil {
				t.Fatal(err)
			}
			if w, is := want[key]; ok != is || got != w {
				t.Fatalf("key %.40q is %d (%v), not %d (%v)", key, got, ok, w, is)
			}
			if r.IntN(5) > 0 {
				keys = append(keys, key)
				want[key] = int32(i)
				if err := s.put(ctx, []byte(key), int32(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for k, w := range want {
			if got, ok, err := s.get([]byte(k)); err != nil || !ok || got != w {
				t.Fatalf("key %.40q is %d (%v, %v), not %d", k, got, ok, err, w)
			}
		}
		if _, files := scratch.Used(); (files > 0) != (most < 1<<40) {
			t.Errorf("%d files with %d bytes of memory", files, most)
		}
		s.close()
		if bytes, files := scratch.Used(); bytes != 0 || files != 0 || budget.Used() != 0 {
			t.Errorf("%d bytes in %d files and %d bytes of memory stay", bytes, files, budget.Used())
		}
	}
}

// TestKeyStoreFaults lets each operation on the temporary files fail.
func TestKeyStoreFaults(t *testing.T) {
	ctx := context.Background()
	broken := errors.New("broken")
	all := 0
	for fail := 0; fail <= all; fail += 1 + all/12 {
		budget := memory.New("test", 0)
		scratch := fileio.NewScratch(t.TempDir(), 0)
		ops := 0
		scratch.SetFault(func(string) error {
			if ops++; ops == fail {
				return broken
			}
			return nil
		})
		s := newKeyStore(budget, func(_ context.Context, n int64) error { return budget.Reserve(n) }, scratch)
		s.most = 1
		var failed error
		for i := 0; i < 11_000 && failed == nil; i++ { // more than keyRuns tables in memory
			if failed = s.put(ctx, binary.BigEndian.AppendUint32(nil, uint32(i)), int32(i)); failed == nil && i%500 == 0 {
				_, _, failed = s.get(binary.BigEndian.AppendUint32(nil, uint32(i/2)))
			}
		}
		if fail == 0 {
			if all = ops; all < 3*keyRuns {
				t.Fatalf("%d operations", all)
			}
		}
		if (fail > 0 && ops >= fail) != errors.Is(failed, broken) {
			t.Fatalf("operation %d of %d failed: %v", fail, ops, failed)
		}
		s.close()
		if bytes, files := scratch.Used(); bytes != 0 || files != 0 || budget.Used() != 0 {
			t.Fatalf("operation %d: %d bytes in %d files and %d bytes of memory stay", fail, bytes, files, budget.Used())
		}
	}
}
