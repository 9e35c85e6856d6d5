package exec

// SmallPartitions makes groups go into partitions after a few rows, and returns what
// undoes it.
func SmallPartitions() (undo func()) {
	old := []int{sampleRows, localGroups, chunkRows, rawRows, smallGroups, queueRows, groupRange}
	limits := []*int{&sampleRows, &localGroups, &chunkRows, &rawRows, &smallGroups, &queueRows, &groupRange}
	for i, n := range []int{64, 40, 128, 256, 16, 700, 512} {
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
