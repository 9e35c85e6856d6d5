package fileio

import (
	"os"
	"sync"
)

// directorySyncs lets changes of one directory that happen at the same time share
// a sync of it: one that begins after a change makes it durable, whoever asked.
type directorySyncs struct {
	mu   sync.Mutex
	dirs map[string]*directorySync
}

type directorySync struct {
	running bool
	next    *syncResult // of the sync after the running one; nil: nobody waits for it
}

type syncResult struct {
	done chan struct{}
	err  error
}

var syncs = directorySyncs{dirs: map[string]*directorySync{}}

// sync makes durable what has been done to a directory's entries.
func (s *directorySyncs) sync(dir string) error {
	s.mu.Lock()
	d := s.dirs[dir]
	if d == nil {
		d = &directorySync{}
		s.dirs[dir] = d
	}
	if d.running { // it may have begun before our change
		r := d.next
		if r == nil {
			r = &syncResult{done: make(chan struct{})}
			d.next = r
		}
		s.mu.Unlock()
		<-r.done
		return r.err
	}
	d.running = true
	s.mu.Unlock()
	err := fsyncDir(dir)
	s.pass(dir, d)
	return err
}

// pass ends a sync and begins the next, if anybody waits for one.
func (s *directorySyncs) pass(dir string, d *directorySync) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := d.next
	if r == nil {
		delete(s.dirs, dir)
		return
	}
	d.next = nil
	go func() { // those who wait for r wait for it
		r.err = fsyncDir(dir)
		s.pass(dir, d)
		close(r.done)
	}()
}

func fsyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
