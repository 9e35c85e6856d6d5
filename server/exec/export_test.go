package exec

// SmallPartitions makes groups go into partitions after a few rows, and several workers
// make the tables of joins of a few, and returns what undoes it.
func SmallPartitions() (undo func()) {
	old := []int{sampleRows, localGroups, chunkRows, rawRows, smallGroups, queueRows, groupRange, parallelRows}
	limits := []*int{&sampleRows, &localGroups, &chunkRows, &rawRows, &smallGroups, &queueRows, &groupRange, &parallelRows}
	for i, n := range []int{64, 40, 128, 256, 16, 700, 512, 8} {
		*limits[i] = n
	}
	return func() {
		for i, n := range old {
			*limits[i] = n
		}
	}
}

// Partitions is how many chunks were put in a queue since the program started.
func Partitions() int64 { return queued.Load() }
