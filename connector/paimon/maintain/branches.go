package maintain

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Branches returns the names of the table's branches, without main.
func (t *Table) Branches(ctx context.Context) ([]string, error) {
	list, err := t.cfg.Files.List(ctx, t.paths.BranchDir())
	if err != nil {
		return nil, err
	}
	var out []string
	for _, in := range list {
		if name, ok := strings.CutPrefix(in.Name, "branch-"); ok && in.Dir && name != "" {
			out = append(out, name)
		}
	}
	return out, nil
}

func validBranch(name string) error {
	_, err := strconv.ParseInt(name, 10, 64)
	switch {
	case strings.TrimSpace(name) == "" || !spec.ValidFileName("branch-"+name):
		return errs.Userf(errs.WrongArguments, "%q is not the name of a branch", name)
	case name == "main":
		return errs.Userf(errs.WrongArguments, "main is the table itself; give the branch another name")
	case err == nil:
		return errs.Userf(errs.WrongArguments, "%q cannot be the name of a branch: it must not be a number", name)
	}
	return nil
}

// needBranch returns a branch that must exist.
func (t *Table) needBranch(ctx context.Context, name string) (*Table, error) {
	if err := validBranch(name); err != nil {
		return nil, err
	}
	list, err := t.Branches(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(list, name) {
		return nil, errs.Userf(errs.UnknownTable, "the table %s has no branch %q", t.cfg.Name, name)
	}
	return t.of(name), nil
}

func (t *Table) schemaIDs(ctx context.Context) ([]int64, error) {
	list, err := t.cfg.Files.List(ctx, t.paths.SchemaDir())
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, in := range list {
		if id, ok := spec.VersionOf(in.Name, "schema-"); ok && !in.Dir {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// CreateBranch makes a branch: without rows for tag "", else at the tag's
// snapshot. With ifNotExists an existing one is fine. The snapshot is written
// last; a branch without one, which an interrupted call leaves, is completed.
func (t *Table) CreateBranch(ctx context.Context, name, tag string, ifNotExists bool) error {
	if err := validBranch(name); err != nil {
		return err
	}
	var at *Tag
	var err error
	if tag != "" {
		if at, err = t.needTag(ctx, tag); err != nil {
			return err
		}
	}
	list, err := t.Branches(ctx)
	if err != nil {
		return err
	}
	b := t.of(name)
	if slices.Contains(list, name) {
		if ifNotExists {
			return nil
		}
		there, err := b.store.SnapshotIDs(ctx)
		if err != nil {
			return err
		}
		if at == nil || len(there) > 0 {
			return errs.Userf(errs.TableExists, "the table %s has a branch %q already", t.cfg.Name, name)
		}
	}
	ids, err := t.schemaIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if at != nil && id > at.Snapshot.SchemaID {
			break
		}
		if err := t.copyTo(ctx, t.paths.Schema(id), b.paths.Schema(id)); err != nil {
			return fmt.Errorf("create the branch %s of %s: %w", name, t.cfg.Name, err)
		}
	}
	if at == nil {
		return nil
	}
	if err := t.copyTo(ctx, t.paths.Tag(tag), b.paths.Tag(tag)); err != nil {
		return fmt.Errorf("create the branch %s of %s: %w", name, t.cfg.Name, err)
	}
	first, err := t.revived(ctx, at.Snapshot)
	if err != nil {
		return err
	}
	data, err := first.Marshal()
	if err != nil {
		return err
	}
	if err := t.create(ctx, b.paths.Snapshot(at.Snapshot.ID), data); err != nil {
		return fmt.Errorf("create the branch %s of %s: %w", name, t.cfg.Name, err)
	}
	return b.hints(ctx, at.Snapshot.ID, at.Snapshot.ID)
}

// copyTo copies a small file; one that is there with this content is fine.
func (t *Table) copyTo(ctx context.Context, from, to string) error {
	data, err := t.cfg.Files.ReadFile(ctx, from)
	if err != nil {
		return err
	}
	return t.create(ctx, to, data)
}

// hints writes EARLIEST and LATEST. 0 leaves one as it is.
func (t *Table) hints(ctx context.Context, earliest, latest int64) error {
	if earliest > 0 {
		if err := t.cfg.Files.WriteFile(ctx, t.paths.Earliest(), strconv.AppendInt(nil, earliest, 10)); err != nil {
			return err
		}
	}
	if latest > 0 {
		return t.cfg.Files.WriteFile(ctx, t.paths.Latest(), strconv.AppendInt(nil, latest, 10))
	}
	return nil
}

// DeleteBranch removes a branch. Files that only it referred to are left to
// orphan cleaning, as in Java. The schemas go first: without them it is no
// branch.
func (t *Table) DeleteBranch(ctx context.Context, name string) error {
	b, err := t.needBranch(ctx, name)
	if err != nil {
		return err
	}
	if fallback := t.cfg.Schema.Options["scan.fallback-branch"]; fallback == name {
		return errs.Userf(errs.WrongArguments, "delete the branch %s of %s: 'scan.fallback-branch' names it; reset that option first", name, t.cfg.Name)
	}
	if err := t.cfg.Files.RemoveAll(ctx, b.paths.SchemaDir()); err != nil {
		return err
	}
	return t.cfg.Files.RemoveAll(ctx, t.paths.BranchDir()+"/branch-"+name)
}

// RenameBranch gives a branch another name, by copying its files, snapshots
// last, and removing the old one.
func (t *Table) RenameBranch(ctx context.Context, from, to string) error {
	if err := validBranch(to); err != nil {
		return err
	}
	if _, err := t.needBranch(ctx, from); err != nil {
		return err
	}
	list, err := t.Branches(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(list, to) {
		return errs.Userf(errs.TableExists, "the table %s has a branch %q already", t.cfg.Name, to)
	}
	for _, dir := range []string{"/schema", "/tag", "/consumer", "/changelog", "/snapshot"} {
		src, dst := t.paths.BranchDir()+"/branch-"+from+dir, t.paths.BranchDir()+"/branch-"+to+dir
		files, err := t.cfg.Files.List(ctx, src)
		if err != nil {
			return err
		}
		for _, f := range files {
			if f.Dir {
				continue
			}
			if err := t.copyTo(ctx, src+"/"+f.Name, dst+"/"+f.Name); err != nil {
				return fmt.Errorf("rename the branch %s of %s: %w", from, t.cfg.Name, err)
			}
		}
	}
	return t.cfg.Files.RemoveAll(ctx, t.paths.BranchDir()+"/branch-"+from)
}

// FastForward makes main what a branch is: from the branch's first snapshot on,
// main has the branch's snapshots, schemas and tags; its own of these numbers
// are dropped. What is equal stays. The newest snapshots of main go first and the
// branch's come in ascending order, so that at every moment main is at a snapshot
// of its own or of the branch; a call that was interrupted is completed by the
// next.
func (t *Table) FastForward(ctx context.Context, name string) error {
	if t.cfg.Branch != "" {
		return errs.Unsupportedf(-1, "fast_forward of a branch of a branch")
	}
	b, err := t.needBranch(ctx, name)
	if err != nil {
		return err
	}
	theirs, err := b.store.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	if len(theirs) == 0 {
		return errs.Userf(errs.UnknownSnapshot, "fast-forward %s to its branch %s: the branch has no snapshot", t.cfg.Name, name)
	}
	first, err := b.store.Snapshot(ctx, theirs[0])
	if err != nil {
		return err
	}
	same := func(from, to string) (bool, error) {
		x, err := t.cfg.Files.ReadFile(ctx, from)
		if err != nil {
			return false, err
		}
		y, err := t.cfg.Files.ReadFile(ctx, to)
		if errs.Is(err, errs.FileNotFound) {
			return false, nil
		}
		return bytes.Equal(x, y), err
	}
	ours, err := t.store.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	keep := map[int64]bool{}
	for _, id := range theirs {
		ok, err := same(b.paths.Snapshot(id), t.paths.Snapshot(id))
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		keep[id] = true
	}
	for i := len(ours) - 1; i >= 0 && ours[i] >= theirs[0]; i-- {
		if !keep[ours[i]] {
			if err := t.cfg.Files.Remove(ctx, t.paths.Snapshot(ours[i])); err != nil {
				return err
			}
		}
	}
	if err := t.replaceSchemas(ctx, b, first.SchemaID, same); err != nil {
		return err
	}
	if err := t.replaceTags(ctx, b, theirs[0]); err != nil {
		return err
	}
	for _, id := range theirs {
		if !keep[id] {
			if err := t.copyTo(ctx, b.paths.Snapshot(id), t.paths.Snapshot(id)); err != nil {
				return fmt.Errorf("fast-forward %s to its branch %s: %w", t.cfg.Name, name, err)
			}
		}
	}
	return t.hints(ctx, 0, theirs[len(theirs)-1])
}

// replaceSchemas replaces the schemas from first on by the branch's.
func (t *Table) replaceSchemas(ctx context.Context, b *Table, first int64, same func(from, to string) (bool, error)) error {
	theirs, err := b.schemaIDs(ctx)
	if err != nil {
		return err
	}
	ours, err := t.schemaIDs(ctx)
	if err != nil {
		return err
	}
	for i := len(ours) - 1; i >= 0 && ours[i] >= first; i-- {
		ok := false
		if slices.Contains(theirs, ours[i]) {
			if ok, err = same(b.paths.Schema(ours[i]), t.paths.Schema(ours[i])); err != nil {
				return err
			}
		}
		if !ok {
			if err := t.cfg.Files.Remove(ctx, t.paths.Schema(ours[i])); err != nil {
				return err
			}
		}
	}
	for _, id := range theirs {
		if id >= first || !slices.Contains(ours, id) {
			if err := t.copyTo(ctx, b.paths.Schema(id), t.paths.Schema(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceTags replaces the tags of snapshots from first on by the branch's.
func (t *Table) replaceTags(ctx context.Context, b *Table, first int64) error {
	theirs, err := b.tags(ctx)
	if err != nil {
		return err
	}
	ours, err := t.tags(ctx)
	if err != nil {
		return err
	}
	for _, g := range ours {
		if g.Snapshot.ID >= first && !slices.ContainsFunc(theirs, func(x Tag) bool { return x.Name == g.Name }) {
			if err := t.cfg.Files.Remove(ctx, t.paths.Tag(g.Name)); err != nil {
				return err
			}
		}
	}
	for _, g := range theirs {
		data, err := t.cfg.Files.ReadFile(ctx, b.paths.Tag(g.Name))
		if err != nil {
			return err
		}
		if err := t.cfg.Files.WriteFile(ctx, t.paths.Tag(g.Name), data); err != nil {
			return err
		}
	}
	return nil
}
