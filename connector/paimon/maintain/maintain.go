// Package maintain keeps Paimon tables healthy and moves their references: tags,
// branches, consumers, rollback; expiry of snapshots, changelogs, tags and
// partitions; cleaning of orphan files; copies of tables.
//
// Invariants. What a snapshot, tag or long-lived changelog of any branch refers
// to is never removed. References go before the files that only they keep, so
// that a crash leaves files that nobody refers to, and never a reference without
// its files; such leftovers are found by Orphans. What has to be one step is one
// operation of the store; where Paimon's layout needs several (fast forward), a
// repeated call completes what was interrupted.
//
// The rules are Java Paimon's TagManager, BranchManager, ExpireSnapshotsImpl,
// ExpireChangelogImpl, PartitionExpire, RollbackHelper and OrphanFilesClean.
//
// Start reading at Table, then Expire in expire.go.
package maintain

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Config is what a Table needs.
type Config struct {
	Files fileio.FileIO
	// Root is the table's directory, Branch the branch, "" for main, Schema its
	// newest schema.
	Root, Branch string
	Schema       *catalog.Schema
	// Name is how messages call the table.
	Name string
	// WriterVersion is stored in the snapshots.
	WriterVersion string
	// Lock is the table's lock in its catalog, see commit.Config.
	Lock commit.LockFunc
	// Pinned returns the snapshots that statements of this process read now. It may
	// end statements that have read for too long (DESIGN D19). nil: there are none.
	Pinned func() []int64
	// Now is the clock; nil is the real one. Location is the zone of the wall clock
	// times in tags and of partition values; nil is the local one.
	Now      func() time.Time
	Location *time.Location
}

// Table is a table or branch under maintenance. It holds no state and is safe
// for concurrent use.
type Table struct {
	cfg   Config
	paths *spec.Paths
	store commit.Store
}

// New makes a Table.
func New(cfg Config) *Table {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Location == nil {
		cfg.Location = time.Local
	}
	cfg.Root = strings.TrimRight(cfg.Root, "/")
	paths := spec.NewPaths(cfg.Root, cfg.Branch, cfg.Schema)
	return &Table{cfg: cfg, paths: paths, store: commit.Store{Files: cfg.Files, Paths: paths}}
}

// Store returns the reader of the table's state.
func (t *Table) Store() commit.Store { return t.store }

// of returns another branch of the same table.
func (t *Table) of(branch string) *Table {
	cfg := t.cfg
	cfg.Branch = branch
	return New(cfg)
}

// committer returns a committer of a user of its own.
func (t *Table) committer() (*commit.Committer, error) {
	return commit.New(commit.Config{Files: t.cfg.Files, Paths: t.paths, Schema: t.cfg.Schema, User: uuid.NewString(),
		WriterVersion: t.cfg.WriterVersion, Lock: t.cfg.Lock, Now: t.cfg.Now})
}

// latest returns the newest snapshot; a table without any is an error.
func (t *Table) latest(ctx context.Context) (*spec.Snapshot, error) {
	s, err := t.store.Latest(ctx)
	if err == nil && s == nil {
		err = errs.Userf(errs.UnknownSnapshot, "the table %s has no snapshot yet", t.cfg.Name)
	}
	return s, err
}

// snapshot returns a snapshot, from a tag when it has expired.
func (t *Table) snapshot(ctx context.Context, id int64) (*spec.Snapshot, error) {
	s, err := t.store.Snapshot(ctx, id)
	if !errs.Is(err, errs.FileNotFound) {
		return s, err
	}
	tags, err := t.tags(ctx)
	if err != nil {
		return nil, err
	}
	for _, tag := range tags {
		if tag.Snapshot.ID == id {
			return tag.Snapshot, nil
		}
	}
	return nil, t.noSnapshot(ctx, id)
}

func (t *Table) noSnapshot(ctx context.Context, id int64) error {
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return errs.Userf(errs.UnknownSnapshot, "snapshot %d of table %s does not exist: there is none", id, t.cfg.Name)
	}
	return errs.Userf(errs.UnknownSnapshot, "snapshot %d of table %s does not exist; there are %d to %d", id, t.cfg.Name, ids[0], ids[len(ids)-1])
}

// At returns the newest snapshot at or before a time.
func (t *Table) At(ctx context.Context, millis int64) (*spec.Snapshot, error) {
	return t.newestBefore(ctx, fmt.Sprintf("from %s or before", time.UnixMilli(millis).In(t.cfg.Location).Format("2006-01-02 15:04:05.000")),
		func(s *spec.Snapshot) bool { return s.TimeMillis <= millis })
}

// newestBefore returns the newest snapshot that ok accepts.
func (t *Table) newestBefore(ctx context.Context, what string, ok func(*spec.Snapshot) bool) (*spec.Snapshot, error) {
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(ids) - 1; i >= 0; i-- {
		s, err := t.store.Snapshot(ctx, ids[i])
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if ok(s) {
			return s, nil
		}
	}
	return nil, errs.Userf(errs.UnknownSnapshot, "the table %s has no snapshot %s", t.cfg.Name, what)
}

// create makes a small file that must be there afterwards with this content; it
// finds out after a lost reply.
func (t *Table) create(ctx context.Context, path string, data []byte) error {
	err := t.cfg.Files.CreateExclusive(ctx, path, data)
	if err == nil {
		return nil
	}
	there, rerr := t.cfg.Files.ReadFile(ctx, path)
	if rerr == nil && string(there) == string(data) {
		return nil
	}
	return err
}

// FirstSince returns the first snapshot whose time, or watermark, is at least
// since.
func (t *Table) FirstSince(ctx context.Context, since int64, watermark bool) (*spec.Snapshot, error) {
	ids, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		s, err := t.store.Snapshot(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		at, ok := s.TimeMillis, true
		if watermark {
			at, ok = s.HasWatermark()
		}
		if ok && at >= since {
			return s, nil
		}
	}
	what := "time"
	if watermark {
		what = "watermark"
	}
	return nil, errs.Userf(errs.UnknownSnapshot, "the table %s has no snapshot with a %s of %d or later", t.cfg.Name, what, since)
}
