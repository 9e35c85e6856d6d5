package paimon_test

import (
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/connector/paimon/pagecache"
	"github.com/thermocline/thermocline/internal/memory"
)

// Pages of a table that is read again and again are kept, and paid for, unless who
// reads it wants none; memory that others need is taken from them.
func TestPagesKept(t *testing.T) {
	root := memory.New("process", 1<<20)
	pages := pagecache.New(512<<10, root.Child("pages", 512<<10))
	root.Reclaim(pages)
	l := newLake(t, fileio.NewMemory(), func(c *paimon.Config) { c.Pages = pages })
	x := l.create("t", map[string]string{"bucket": "1"})
	keys := make([]int, 3000)
	for i := range keys {
		keys[i] = i * 7 % 3001
	}
	l.put(x, "p", "a value of some length", keys...)
	snap, err := x.Snapshot(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(none bool) {
		for range 4 {
			if _, n := scanAll(t, snap, connector.ScanRequest{Columns: []int{0, 1, 2}, NoPages: none}); n != len(keys) {
				t.Fatalf("read %d rows", n)
			}
		}
	}
	if read(true); pages.Used() != 0 {
		t.Errorf("%d bytes are kept, nobody wanted pages", pages.Used())
	}
	if read(false); pages.Used() == 0 || root.Used() != pages.Used() {
		t.Errorf("%d bytes are kept, %d are reserved", pages.Used(), root.Used())
	}
	other := root.Child("query", 0)
	if err := other.Reserve(1<<20 - 100); err != nil {
		t.Errorf("reserve what pages have: %v", err)
	}
	if pages.Used() != 0 {
		t.Errorf("%d bytes are still kept", pages.Used())
	}
	if read(false); pages.Used() != 0 {
		t.Errorf("%d bytes are kept beside a query that needs all", pages.Used())
	}
}
