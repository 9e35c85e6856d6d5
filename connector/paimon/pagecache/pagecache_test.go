package pagecache

import (
	"fmt"
	"testing"

	"github.com/thermocline/thermocline/internal/memory"
)

// read asks for a page as a reader does.
func read(c *Cache, path string, at, bytes int64) (hit bool) {
	if c.Load(path, at) != nil {
		return true
	}
	if c.Wants(path, at, bytes) {
		c.Store(path, at, at, bytes)
	}
	return false
}

func TestCache(t *testing.T) {
	budget := memory.New("test", 0)
	c := New(100*(1000+entryBytes), budget)
	scan := func(path string, pages int) (hits int) {
		for i := range pages {
			if read(c, path, int64(i), 1000) {
				hits++
			}
		}
		return hits
	}
	if h := scan("a", 50); h != 0 || c.Used() != 0 {
		t.Fatal("a page that was read once is kept", h, c.Used())
	}
	if h := scan("a", 50); h != 0 || c.Used() != 50*(1000+entryBytes) {
		t.Fatal(h, c.Used())
	}
	if h := scan("a", 50); h != 50 {
		t.Fatal(h)
	}
	// Scans of more than fits leave what is used more, and keep a share of their own.
	for range 6 {
		scan("large", 500)
		scan("a", 50)
		scan("a", 50)
	}
	if h := scan("a", 50); h < 45 {
		t.Errorf("a large scan pushed out what is used often: %d of 50 are left", h)
	}
	if h := scan("large", 500); h < 40 {
		t.Errorf("%d pages of the large file are kept", h)
	}
	// What is no longer used makes room.
	for range 60 {
		scan("b", 80)
	}
	if h := scan("b", 80); h < 75 {
		t.Errorf("%d of 80 pages that are used now are kept", h)
	}
	if c.Used() > 100*(1000+entryBytes) || budget.Used() != c.Used() {
		t.Errorf("%d bytes are kept, %d are paid", c.Used(), budget.Used())
	}
	c.Forget("b")
	if h := scan("b", 80); h != 0 {
		t.Errorf("%d pages of a forgotten file", h)
	}
	for i := range 20 {
		read(c, fmt.Sprintf("dir/%d", i), 7, 10)
		read(c, fmt.Sprintf("dir/%d", i), 7, 10)
	}
	c.ForgetBelow("dir")
	for i := range 20 {
		if c.Load(fmt.Sprintf("dir/%d", i), 7) != nil {
			t.Fatal("a page below a forgotten directory")
		}
	}
	c.Shed()
	if c.Used() != 0 || budget.Used() != 0 {
		t.Error(c.Used(), budget.Used())
	}
	for range 3 {
		if read(c, "big", 0, 1<<20) {
			t.Error("a page larger than the cache is kept")
		}
	}
	var none *Cache
	if read(none, "a", 1, 1) || none.Used() != 0 || none.Free(1) != 0 || New(0, nil) != nil {
		t.Error("a nil cache keeps something")
	}
	none.Forget("a")
	none.ForgetBelow("a")
	none.Shed()
}

// TestAging: what was wanted very often, but a while ago, makes room for what is
// wanted now, in caches of any size.
func TestAging(t *testing.T) {
	for _, pages := range []int{20, 2000} {
		c := New(int64(pages)*(1000+entryBytes), nil)
		for range 100 {
			for i := range pages {
				read(c, "old", int64(i), 1000)
			}
		}
		hits := 0
		for range 30 {
			hits = 0
			for i := range pages {
				if read(c, "new", int64(i), 1000) {
					hits++
				}
			}
		}
		if hits < pages*9/10 {
			t.Errorf("%d of %d pages that are used now are kept", hits, pages)
		}
	}
}

// TestReclaim: others get the memory that pages hold when they need it, and pages
// do not push others out.
func TestReclaim(t *testing.T) {
	root := memory.New("process", 100_000)
	kept := root.Child("pages", 50_000)
	c := New(kept.Limit(), kept)
	root.Reclaim(c)
	for range 3 {
		for i := range int64(40) {
			read(c, "a", i, 1000)
		}
	}
	if c.Used() != 40*(1000+entryBytes) {
		t.Fatal(c.Used())
	}
	query := root.Child("query", 95_000)
	if query.Room() != 95_000 {
		t.Errorf("room for %d bytes: what pages hold can be had", query.Room())
	}
	if err := query.Reserve(90_000); err != nil {
		t.Fatal(err)
	}
	if c.Used() > 10_000 || root.Used() != c.Used()+90_000 {
		t.Error(c.Used(), root.Used())
	}
	for range 3 {
		for i := range int64(40) {
			read(c, "b", i, 1000)
		}
	}
	if root.Used() > 100_000 || query.Used() != 90_000 {
		t.Error(root.Used(), query.Used())
	}
	if err := query.Reserve(6_000); err == nil {
		t.Error("a query got more than its own limit")
	}
	if err := root.Reserve(20_000); err == nil {
		t.Error("more than there is was reserved")
	}
	query.Close()
	c.Shed()
	if root.Used() != 0 {
		t.Error(root.Used())
	}
}

// When the process holds too much, pages go.
func TestRelieve(t *testing.T) {
	c := New(1<<20, nil)
	over := int64(0)
	c.Relieve(func() int64 { return over })
	for range 3 {
		for i := range 200 {
			read(c, "a", int64(i), 1000)
		}
	}
	full := c.Used()
	if full != 200*(1000+entryBytes) {
		t.Fatal(full)
	}
	over = full / 2
	for range askEvery {
		c.Load("a", 0)
	}
	if used := c.Used(); used > full/2 || used < full/2-1000-entryBytes {
		t.Errorf("%d of %d bytes are kept, half are too many", used, full)
	}
}
