package read

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// SnapshotFile is a snapshot that exists.
type SnapshotFile struct {
	ID   int64
	info fileio.Info
}

// SnapshotFiles lists the snapshots, ascending.
func (s *Source) SnapshotFiles(ctx context.Context) ([]SnapshotFile, error) {
	files, err := s.numberedFiles(ctx, s.paths(nil).SnapshotDir(), "snapshot-")
	if err != nil {
		return nil, err
	}
	out := make([]SnapshotFile, len(files))
	for i, f := range files {
		out[i] = SnapshotFile{f.id, f.info}
	}
	return out, nil
}

// readers is how many small files are read at once: a store that is far away
// answers many questions in the time of one.
const readers = 16

// ReadSnapshots reads snapshots, several at once; those whose files did not
// change since they were last read are remembered. A snapshot that has expired
// meanwhile is nil.
func (s *Source) ReadSnapshots(ctx context.Context, files []SnapshotFile) ([]*spec.Snapshot, error) {
	out := make([]*spec.Snapshot, len(files))
	paths := s.paths(nil)
	var missing []int
	for i, f := range files {
		if out[i] = s.Cache.snapshot(paths.Snapshot(f.ID), f.info); out[i] == nil {
			missing = append(missing, i)
		}
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		for failed.Load() == nil {
			k := int(next.Add(1)) - 1
			if k >= len(missing) {
				return
			}
			i := missing[k]
			snap, err := s.read(ctx, files[i].ID)
			if errs.Is(err, errs.FileNotFound) {
				continue
			}
			if err != nil {
				failed.CompareAndSwap(nil, &err)
				return
			}
			out[i] = snap
			s.Cache.putSnapshot(paths.Snapshot(snap.ID), files[i].info, snap)
		}
	}
	var wg sync.WaitGroup
	for range min(readers, len(missing)) {
		wg.Go(work)
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return out, nil
}

// LiveFiles are the live data files of a state that batch reads see, in the order
// in which they were added. They take little memory; each is made when it is
// asked for.
type LiveFiles struct{ l *liveFiles }

// LiveFiles returns the live files of the state.
func (st *State) LiveFiles(ctx context.Context) (LiveFiles, error) {
	l, err := st.live(ctx, entryFilter{visible: true})
	return LiveFiles{l}, err
}

// Len returns their number.
func (f LiveFiles) Len() int { return len(f.l.files) }

// Entry fills e with file i.
func (f LiveFiles) Entry(i int, e *spec.ManifestEntry) {
	r := f.l.files[i]
	*e = spec.ManifestEntry{}
	f.l.sets[r.Set].Entry(int(r.Index), e)
}
