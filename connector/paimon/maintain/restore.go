package maintain

import (
	"context"
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// droppedDir keeps a dropped table's schemas while its files are removed, so that
// it can be restored as long as the files survive.
const droppedDir = "/dropped"

// Drop removes a table: its schemas first, so that an interrupted call leaves no
// table. Until the last of its files is gone, copies of the schemas stay, from
// which Restore makes the table again.
func Drop(ctx context.Context, files fileio.FileIO, dir string) error {
	dir = strings.TrimRight(dir, "/")
	list, err := files.List(ctx, dir+"/schema")
	if err != nil {
		return err
	}
	for _, in := range list {
		if in.Dir {
			continue
		}
		b, err := files.ReadFile(ctx, dir+"/schema/"+in.Name)
		if err != nil {
			return err
		}
		if err := files.WriteFile(ctx, dir+droppedDir+"/"+in.Name, b); err != nil {
			return err
		}
	}
	if err := files.RemoveAll(ctx, dir+"/schema"); err != nil {
		return err
	}
	if list, err = files.List(ctx, dir); err != nil {
		return err
	}
	for _, in := range list {
		if sub := dir + "/" + in.Name; sub != dir+droppedDir {
			if err := files.RemoveAll(ctx, sub); err != nil {
				return err
			}
		}
	}
	return files.RemoveAll(ctx, dir)
}

// Restore makes a dropped table again from what has survived of it in cfg.Root:
// its schemas, or the copies that an interrupted drop left, and a newest snapshot
// all of whose files are there. cfg.Schema does not matter.
func Restore(ctx context.Context, cfg Config) error {
	dir := strings.TrimRight(cfg.Root, "/")
	fail := func(err error) error { return fmt.Errorf("restore %s: %w", cfg.Name, err) }
	from := dir + droppedDir
	list, err := cfg.Files.List(ctx, from)
	if err != nil {
		return fail(err)
	}
	newest := int64(-1)
	for _, in := range list {
		if id, ok := spec.VersionOf(in.Name, "schema-"); ok && !in.Dir {
			newest = max(newest, id)
		}
	}
	if newest < 0 {
		return fail(errs.Userf(errs.UnknownTable, "no schema of it has survived in %s", dir))
	}
	b, err := cfg.Files.ReadFile(ctx, fmt.Sprintf("%s/schema-%d", from, newest))
	if err != nil {
		return fail(err)
	}
	if cfg.Schema, err = spec.ParseSchema(b); err != nil {
		return fail(err)
	}
	t := New(cfg)
	s, err := t.store.Latest(ctx)
	if err != nil {
		return fail(err)
	}
	if s == nil {
		return fail(errs.New(errs.Corruption, errs.FilesVanished, "no snapshot of it has survived in %s", dir))
	}
	if err := t.whole(ctx, s); err != nil {
		return fail(err)
	}
	// As for a copy: with the oldest schema the table is whole.
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Dir {
			continue
		}
		if err := t.copyTo(ctx, from+"/"+list[i].Name, t.paths.SchemaDir()+"/"+list[i].Name); err != nil {
			return fail(err)
		}
	}
	return cfg.Files.RemoveAll(ctx, from)
}

// whole checks that every file of a snapshot is there.
func (t *Table) whole(ctx context.Context, s *spec.Snapshot) error {
	lost := func(path string, err error) error {
		return errs.New(errs.Corruption, errs.FilesVanished, "snapshot %d is not whole, %s is gone: %w; the table cannot be restored", s.ID, path, err)
	}
	live, err := t.store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	if err != nil {
		return lost("a manifest", err)
	}
	list, err := t.store.Index(ctx, s)
	if err != nil {
		return lost("a manifest", err)
	}
	var paths []string
	for i := range live {
		p, err := t.paths.DataFile(&live[i])
		if err != nil {
			return err
		}
		paths = append(paths, p)
	}
	for i := range list {
		p, err := t.paths.IndexFile(&list[i])
		if err != nil {
			return err
		}
		paths = append(paths, p)
	}
	for _, p := range paths {
		if _, err := t.cfg.Files.Stat(ctx, spec.LocalPath(p)); err != nil {
			return lost(p, err)
		}
	}
	return nil
}
