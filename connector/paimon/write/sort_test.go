package write

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortByPrefix compares with a stable comparison sort, over sizes and over
// prefixes that differ in all, some and few bytes.
func TestSortByPrefix(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 100, 511, 512, 5000, 70000} {
		for _, mask := range []uint64{0, 1, 0xff, 0xff00ff, 0xff << 56, 1<<63 | 3, 1<<64 - 1} {
			list := make([]sortEntry, n)
			for i := range list {
				list[i] = sortEntry{r.Uint64()&mask | 0x40, uint32(i)}
			}
			want := slices.Clone(list)
			slices.SortStableFunc(want, func(a, b sortEntry) int { return cmp.Compare(a.prefix, b.prefix) })
			if sortByPrefix(list); !slices.Equal(list, want) {
				t.Fatalf("%d entries, mask %x", n, mask)
			}
			if sortByPrefix(list); !slices.Equal(list, want) {
				t.Fatalf("%d entries, mask %x: sorting twice", n, mask)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	list := make([]sortEntry, 1<<16)
	for b.Loop() {
		b.StopTimer()
		for i := range list {
			list[i] = sortEntry{r.Uint64N(1e7), uint32(i)}
		}
		b.StartTimer()
		sortByPrefix(list)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<16), "ns/row")
}
