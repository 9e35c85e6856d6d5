package metacache_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/metacache"
	"github.com/thermocline/thermocline/internal/memory"
)

// TestBounded fills a cache beyond its limit: what was used least recently goes,
// and the budget is paid for exactly what is kept.
func TestBounded(t *testing.T) {
	root := memory.New("test", 1<<20)
	c := metacache.New[int](10_000, root)
	for i := range 100 {
		c.Put(fmt.Sprint("m", i), i, 700)
		if i >= 50 {
			continue
		}
		if _, ok := c.Get("m0"); !ok {
			t.Fatalf("m0, which is used all the time, went at %d", i)
		}
	}
	if _, ok := c.Get("m0"); ok {
		t.Error("m0 stayed without being used")
	}
	if v, ok := c.Get("m99"); !ok || v != 99 {
		t.Error(v, ok)
	}
	if used := c.Used(); used > 10_000 || used != root.Used() {
		t.Errorf("%d bytes of 10000 are used, %d paid", used, root.Used())
	}
	c.Put("large", 1, 10_001)
	if _, ok := c.Get("large"); ok {
		t.Error("what is larger than the cache was kept")
	}
	c.Shed()
	if c.Used() != 0 || root.Used() != 0 {
		t.Errorf("%d bytes are used after all, %d paid", c.Used(), root.Used())
	}
}

// TestRemoved removes files: what was kept of them goes, and nothing else.
func TestRemoved(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	a, b := metacache.New[int](1<<20, nil), metacache.New[int](1<<20, nil)
	files := metacache.Watch(fileio.Local{}, a, b)
	if _, ok := files.(fileio.Leaving); !ok {
		t.Error("local files show no leftovers any more")
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"t/m1", "t/m2", "tt/m3", "t/b/m4"} {
		if err := files.WriteFile(ctx, path(name), []byte("x")); err != nil {
			t.Fatal(err)
		}
		a.Put(path(name), 1, 1)
		b.Put(path(name), 2, 1)
	}
	kept := func() (s string) {
		for _, name := range []string{"t/m1", "t/m2", "tt/m3", "t/b/m4"} {
			_, x := a.Get(path(name))
			_, y := b.Get(path(name))
			if x != y {
				t.Errorf("only one cache has %s", name)
			}
			if x {
				s += name + " "
			}
		}
		return s
	}
	if err := files.Remove(ctx, path("t/m2")); err != nil {
		t.Fatal(err)
	}
	if got := kept(); got != "t/m1 tt/m3 t/b/m4 " {
		t.Error(got)
	}
	if err := files.RemoveAll(ctx, path("t")); err != nil {
		t.Fatal(err)
	}
	if got := kept(); got != "tt/m3 " {
		t.Error(got)
	}
}
