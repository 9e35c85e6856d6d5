// Package commit makes changes of Paimon tables visible: it writes manifests and
// creates snapshot-N exclusively, so that a commit happens wholly or not at all,
// once, whatever fails in between (DESIGN D7, D12, D20).
//
// Invariants. A snapshot's files exist before the snapshot does. Files are
// removed only when it is certain that no snapshot refers to them: after the
// creation of snapshot-N is known to be lost. A committable is applied at most
// once, told by its nonce. Properties named cdc.* of the newest own snapshot are
// copied into our compaction snapshots, so that the newest own snapshot always
// has them.
//
// The protocol is Java Paimon's FileStoreCommitImpl, with exclusive creation in
// place of renaming.
//
// Start reading at Committer.Commit. Store reads a table's state; package write
// uses it too.
package commit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Store reads the state of one table or branch. It holds no state of its own and
// is safe for concurrent use.
type Store struct {
	Files fileio.FileIO
	Paths *spec.Paths
	// Cache keeps what was decoded; nil: nothing does.
	Cache *Cache
}

// hintSteps is how far the LATEST hint may be behind to be of use.
const hintSteps = 16

// Latest returns the newest snapshot, nil for a table without snapshots. It
// goes on from the LATEST hint to the first snapshot without a next one, and lists
// where that is not there or far: the hint is written after the snapshot, so that
// those who read between them find it one behind. Since the oldest snapshots go
// first, one that is there has all the newer ones.
func (s Store) Latest(ctx context.Context) (*spec.Snapshot, error) {
	if id := s.hint(ctx, s.Paths.Latest()); id > 0 {
		next, err := s.exists(ctx, s.Paths.Snapshot(id+1))
		for steps := 0; err == nil && next && steps < hintSteps; steps++ {
			id++
			next, err = s.exists(ctx, s.Paths.Snapshot(id+1))
		}
		if err != nil {
			return nil, err
		}
		if !next {
			snap, err := s.Snapshot(ctx, id)
			if !errs.Is(err, errs.FileNotFound) {
				return snap, err
			}
		}
	}
	for range 3 { // a snapshot can vanish between listing and reading (rollback)
		ids, err := s.SnapshotIDs(ctx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		snap, err := s.Snapshot(ctx, ids[len(ids)-1])
		if !errs.Is(err, errs.FileNotFound) {
			return snap, err
		}
	}
	return nil, errs.New(errs.Conflict, errs.KindNone, "find the newest snapshot in %s: it keeps changing", s.Paths.SnapshotDir())
}

// hint returns the number in a hint file, 0 when there is none.
func (s Store) hint(ctx context.Context, path string) int64 {
	b, err := s.Files.ReadFile(ctx, path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (s Store) exists(ctx context.Context, path string) (bool, error) {
	_, err := s.Files.Stat(ctx, path)
	if errs.Is(err, errs.FileNotFound) {
		return false, nil
	}
	return err == nil, err
}

// SnapshotIDs returns the ids of all snapshots, ascending.
func (s Store) SnapshotIDs(ctx context.Context) ([]int64, error) {
	return s.versions(ctx, s.Paths.SnapshotDir(), "snapshot-")
}

func (s Store) versions(ctx context.Context, dir, prefix string) ([]int64, error) {
	infos, err := s.Files.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, in := range infos {
		if id, ok := spec.VersionOf(in.Name, prefix); ok && !in.Dir {
			ids = append(ids, id)
		}
	}
	sortIDs(ids)
	return ids, nil
}

// Snapshot reads snapshot-id.
func (s Store) Snapshot(ctx context.Context, id int64) (*spec.Snapshot, error) {
	path := s.Paths.Snapshot(id)
	b, err := s.Files.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	snap, err := spec.ParseSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if snap.ID != id {
		return nil, errs.Corruptf("read %s: it holds snapshot %d", path, snap.ID)
	}
	return snap, nil
}

// ManifestList reads a manifest list; "" has no manifests.
func (s Store) ManifestList(ctx context.Context, name string) ([]spec.ManifestMeta, error) {
	if name == "" {
		return nil, nil
	}
	path := s.Paths.Manifest(name)
	if list, ok := s.Cache.get(path).([]spec.ManifestMeta); ok {
		return list, nil
	}
	b, err := s.Files.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	list, err := spec.ReadManifestList(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	s.Cache.putList(path, list)
	return list, nil
}

// Manifest calls fn with the entries of a manifest; see spec.ReadManifest. What an
// entry refers to is shared with other callers: fn may keep it, and must not
// change it.
func (s Store) Manifest(ctx context.Context, name string, fn func(*spec.ManifestEntry) error) error {
	path := s.Paths.Manifest(name)
	if list, ok := s.Cache.get(path).([]spec.ManifestEntry); ok {
		for _, e := range list {
			if err := fn(&e); err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
		}
		return nil
	}
	b, err := s.Files.ReadFile(ctx, path)
	if err != nil {
		return err
	}
	keep := s.Cache.takes(int64(len(b)))
	var list []spec.ManifestEntry
	err = spec.ReadManifest(b, func(e *spec.ManifestEntry) error {
		if keep {
			list = append(list, *e)
		}
		return fn(e)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if keep {
		s.Cache.putEntries(path, list)
	}
	return nil
}

// Manifests returns the manifests of a snapshot's whole state, oldest first.
func (s Store) Manifests(ctx context.Context, snap *spec.Snapshot) ([]spec.ManifestMeta, error) {
	if snap == nil {
		return nil, nil
	}
	base, err := s.ManifestList(ctx, snap.BaseManifestList)
	if err != nil {
		return nil, err
	}
	delta, err := s.ManifestList(ctx, snap.DeltaManifestList)
	if err != nil {
		return nil, err
	}
	return slices.Concat(base, delta), nil
}

// Live returns the live files of a snapshot whose entries keep accepts. manifest
// may leave out manifests that have no such entries; nil reads all.
func (s Store) Live(ctx context.Context, snap *spec.Snapshot, manifest func(*spec.ManifestMeta) bool, keep func(*spec.ManifestEntry) bool) ([]spec.ManifestEntry, error) {
	metas, err := s.Manifests(ctx, snap)
	if err != nil {
		return nil, err
	}
	var m spec.MergeEntries
	for i := range metas {
		if manifest != nil && !manifest(&metas[i]) {
			continue
		}
		err := s.Manifest(ctx, metas[i].FileName, func(e *spec.ManifestEntry) error {
			if !keep(e) {
				return nil
			}
			return m.Add(*e)
		})
		if err != nil {
			return nil, err
		}
	}
	live, err := m.Live()
	if err != nil {
		return nil, fmt.Errorf("read snapshot %d: %w", snap.ID, err)
	}
	return live, nil
}

// latestSchemaID returns the id of the newest schema.
func (s Store) latestSchemaID(ctx context.Context) (int64, error) {
	ids, err := s.versions(ctx, s.Paths.SchemaDir(), "schema-")
	if err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		return 0, errs.New(errs.Unavailable, errs.UnknownTable, "read %s: the table has no schema; it was dropped", s.Paths.SchemaDir())
	}
	return ids[len(ids)-1], nil
}

// Index returns the index files of a snapshot's state.
func (s Store) Index(ctx context.Context, snap *spec.Snapshot) ([]spec.IndexEntry, error) {
	if snap == nil || snap.IndexManifest == "" {
		return nil, nil
	}
	path := s.Paths.Manifest(snap.IndexManifest)
	b, err := s.Files.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	list, err := spec.ReadIndexManifest(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return list, nil
}
