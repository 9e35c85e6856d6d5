package connector

import "context"

// Partitioned is a table that can list its partitions from its metadata alone.
type Partitioned interface {
	// Partitions returns the partitions of the newest version that have files,
	// in no particular order. A table without partition columns has none.
	Partitions(ctx context.Context) ([]PartitionInfo, error)
}

// PartitionInfo describes the files of one partition.
type PartitionInfo struct {
	// Name is "k1=v1/k2=v2" with the texts of the table's paths, not escaped.
	Name string
	// Rows counts the rows of the files: those of one key in several files, and
	// those that deletion vectors hide, too.
	Rows, Bytes, Files int64
	// Created is when the newest file was made, in milliseconds since the epoch;
	// 0 where no file says.
	Created int64
}

// Located is a table whose files lie in a directory.
type Located interface {
	// Location is that directory, as the table's format names it.
	Location() string
}
