package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/memory"
)

const spillLimitHelp = "the disk that rows of queries beyond their memory may take, such as 100GiB (default half of what is free)"

// spillFolder returns the folder of temporary rows of queries below dir, emptied
// of what a process left that was killed while it made a file. limit is the text
// of --spill-limit.
func spillFolder(dir, limit string) (*fileio.Scratch, error) {
	n := int64(0)
	var err error
	if limit != "" {
		if n, err = memory.ParseSize(limit); err != nil {
			return nil, fmt.Errorf("spill-limit: %w", err)
		}
	} else {
		n = freeDisk(dir) / 2
	}
	s := fileio.NewScratch(filepath.Join(dir, "spill"), max(n, 1))
	return s, s.Clean()
}

// temporaryFolder is where commands without a data directory put temporary rows:
// TMPDIR, else a folder that is on a disk as a rule.
func temporaryFolder() string {
	dir := cmp.Or(os.Getenv("TMPDIR"), "/var/tmp")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		dir = os.TempDir()
	}
	return filepath.Join(dir, fmt.Sprintf("thermocline-%d", os.Getuid()))
}

// freeDisk returns the bytes that are free where dir is or will be.
func freeDisk(dir string) int64 {
	for {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil {
			return int64(st.Bavail) * st.Bsize
		}
		up := filepath.Dir(dir)
		if up == dir {
			return 1 << 40
		}
		dir = up
	}
}
