package exec

// What is too big for memory is cut into fanout partitions by the hashes of its
// keys (grace partitioning; reference: the hybrid hash algorithms of DeWitt et
// al.), a partition that is still too big again by other bits, down to deepest.
// Hash tables use a hash's low half and, as a tag, its high half: rows of one
// partition differ in enough other bits of it.
const (
	fanoutBits = 4
	fanout     = 1 << fanoutBits
	deepest    = 5
)

// partOf returns the partition of a hash at a level, from 0.
func partOf(h uint64, level int) int {
	return int(h >> (64 - fanoutBits*(level+1)) & (fanout - 1))
}

// scattered returns the rows of each partition: row sel[k], or k when sel is nil,
// has hashes[k].
func scattered(hashes []uint64, sel []uint16, level int) (out [fanout][]uint16) {
	for k, h := range hashes {
		row := uint16(k)
		if sel != nil {
			row = sel[k]
		}
		p := partOf(h, level)
		out[p] = append(out[p], row)
	}
	return out
}
