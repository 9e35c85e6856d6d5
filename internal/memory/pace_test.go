package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGrowth(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct {
		live, scanned uint64
		want          int
	}{
		{0, 0, 400},
		{5 * mib, mib, 400},          // little lives
		{gib, gib, 400},              // all of it is looked at
		{gib, gib / 4, 100},          // as many bytes as four times what is looked at
		{gib, 0, 25},                 // 256 MiB
		{2 * gib, 200 * mib, 39},     // pages
		{10 * gib, 100 * mib, 25},    // a quarter
		{100 * mib, 500 * mib, 400},  // a count that is ahead of the other
		{512 * mib, 10 * mib, 50},    // 256 MiB
		{512 * mib, 1000 * gib, 400}, // never more
	} {
		if got := growth(c.live, c.scanned); got != c.want {
			t.Errorf("%d live bytes, %d looked at: %d %%, want %d", c.live, c.scanned, got, c.want)
		}
	}
}

// TestPace: when much lives that has no pointers the percentage falls, and it rises
// again when that is gone.
func TestPace(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	Pace()
	percent := func() int {
		n := debug.SetGCPercent(100)
		debug.SetGCPercent(n)
		return n
	}
	// collect returns when a collection is over and its finalizers have run, but for
	// those beside the one that tells of it.
	collect := func() {
		done := make(chan struct{})
		runtime.SetFinalizer(&[64]byte{}, func(*[64]byte) { close(done) })
		runtime.GC()
		<-done
	}
	settled := func() int {
		for range 3 { // one for what lives, one for the finalizers of that
			collect()
		}
		return percent()
	}
	pages := make([]byte, 512<<20)
	if n := settled(); n >= 100 {
		t.Errorf("with 512 MiB of pages the heap grows by %d %%", n)
	}
	runtime.KeepAlive(pages)
	pages = nil
	if n := settled(); n != mostGrowth {
		t.Errorf("with nothing the heap grows by %d %%", n)
	}
}
