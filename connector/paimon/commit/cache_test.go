package commit

import (
	"fmt"
	"testing"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/memory"
)

// TestCache says that a cache stays within its limit and its budget, and returns
// what it takes.
func TestCache(t *testing.T) {
	budget := memory.New("cache", 60_000)
	c := NewCache(80_000, budget)
	for i := range 500 {
		c.putList(fmt.Sprint("list-", i), []spec.ManifestMeta{{FileName: fmt.Sprint(i)}})
		c.putEntries(fmt.Sprint("manifest-", i), make([]spec.ManifestEntry, 2))
		if c.Used() > 80_000 || budget.Used() != c.Used() {
			t.Fatalf("the cache has %d bytes and the budget %d", c.Used(), budget.Used())
		}
	}
	if x, ok := c.get("list-499").([]spec.ManifestMeta); !ok || x[0].FileName != "499" {
		t.Errorf("the last list is not there: %v", x)
	}
	if x := c.get("list-0"); x != nil {
		t.Errorf("the first list is there still: %v", x)
	}
	c.putEntries("large", make([]spec.ManifestEntry, 50))
	if c.get("large") != nil || c.takes(1<<20) {
		t.Error("one that is too large is kept")
	}
	c.Shed()
	if c.Used() != 0 || budget.Used() != 0 {
		t.Errorf("%d bytes stay", budget.Used())
	}
	var none *Cache
	none.putList("x", nil)
	if none.get("x") != nil || none.takes(1) {
		t.Error("a cache that is not there keeps something")
	}
}
