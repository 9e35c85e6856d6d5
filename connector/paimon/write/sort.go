package write

import (
	"cmp"
	"slices"
)

// sortByPrefix sorts rows by the prefixes of their keys; those with the same
// prefix stay in order. It is a radix sort from the lowest byte up that leaves
// out the bytes in which no two prefixes differ (Knuth, The Art of Computer
// Programming, volume 3, section 5.2.5).
func sortByPrefix(list []sortEntry) {
	if len(list) < 2 {
		return
	}
	varies, ascending := uint64(0), true
	for i, e := range list[1:] {
		varies |= e.prefix ^ list[0].prefix
		ascending = ascending && list[i].prefix <= e.prefix
	}
	if ascending {
		return
	}
	if len(list) < 512 {
		slices.SortStableFunc(list, func(a, b sortEntry) int { return cmp.Compare(a.prefix, b.prefix) })
		return
	}
	from, to := list, make([]sortEntry, len(list))
	for shift := 0; shift < 64; shift += 8 {
		if varies>>shift&0xff == 0 {
			continue
		}
		var at [256]uint32
		for _, e := range from {
			at[uint8(e.prefix>>shift)]++
		}
		sum := uint32(0)
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for _, e := range from {
			b := uint8(e.prefix >> shift)
			to[at[b]] = e
			at[b]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}
