// Package read answers what a Paimon table contains: it resolves a version,
// plans the files to read, and reads them as batches, merging the runs of
// primary-key tables.
//
// Invariants: metadata that can come back with other content under the same name
// (snapshots, schemas, tags) is read anew or revalidated; manifests, whose names
// hold uuids, are cached for ever (DESIGN D9). Everything a version needs that
// this package cannot do is refused by name while planning, before a row is
// returned. Pruning never loses a row that satisfies the filter: bounds that are
// not known to be sound are taken as unknown.
//
// Start reading at Source, then State.Plan (plan.go), section (split.go) and
// mergeReader (merge.go), which feeds the runs of a section to package merge.
package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Source is a table or branch as reading sees it. It holds no state of the table
// and is safe for concurrent use.
type Source struct {
	Name    string // of the table, for errors
	Files   fileio.FileIO
	Formats *format.Registry
	Cache   *Cache
	Pages   format.Pages // of data files that queries read; nil keeps none
	Dir     string       // the table's directory
	Branch  string       // "" is main
	// Zone is where the wall clocks in files were read, such as the time when a
	// data file was made; nil is UTC.
	Zone *time.Location
}

// paths places the files under a schema. The zero schema is enough for
// metadata.
func (s *Source) paths(schema *catalog.Schema) *spec.Paths {
	if schema == nil {
		schema = &catalog.Schema{}
	}
	return spec.NewPaths(s.Dir, s.Branch, schema)
}

// parse reads a metadata file that somebody may be replacing: a parse that fails
// is tried again before it counts.
func parse[T any](ctx context.Context, s *Source, path string, f func([]byte) (T, error)) (T, error) {
	var zero T
	for try := 0; ; try++ {
		b, err := s.Files.ReadFile(ctx, path)
		if err != nil {
			return zero, fmt.Errorf("table %s: %w", s.Name, err)
		}
		v, err := f(b)
		if err == nil {
			return v, nil
		}
		if errs.ClassOf(err) == errs.Unsupported || try == 2 {
			return zero, fmt.Errorf("table %s: %s: %w", s.Name, path, err)
		}
		select {
		case <-ctx.Done():
			return zero, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// find describes a file; false when it does not exist.
func (s *Source) find(ctx context.Context, path string) (fileio.Info, bool, error) {
	in, err := s.Files.Stat(ctx, path)
	if errs.Is(err, errs.FileNotFound) {
		return in, false, nil
	}
	return in, err == nil, err
}

// numbered is a file <prefix><id> that exists.
type numbered struct {
	id   int64
	info fileio.Info
}

// numberedFiles lists the files dir/<prefix><number>, ascending.
func (s *Source) numberedFiles(ctx context.Context, dir, prefix string) ([]numbered, error) {
	list, err := s.Files.List(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.Name, err)
	}
	out := make([]numbered, 0, len(list))
	for _, in := range list {
		if id, ok := spec.VersionOf(in.Name, prefix); ok && !in.Dir {
			out = append(out, numbered{id, in})
		}
	}
	slices.SortFunc(out, func(a, b numbered) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

// versions lists the numbers of the files dir/<prefix><number>, ascending.
func (s *Source) versions(ctx context.Context, dir, prefix string) ([]int64, error) {
	files, err := s.numberedFiles(ctx, dir, prefix)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, f := range files {
		ids = append(ids, f.id)
	}
	return ids, nil
}

// hint reads a hint file; 0 when it is absent or not a number.
func (s *Source) hint(ctx context.Context, path string) (int64, error) {
	b, err := s.Files.ReadFile(ctx, path)
	if errs.Is(err, errs.FileNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("table %s: %w", s.Name, err)
	}
	id, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || id < 0 {
		return 0, nil
	}
	return id, nil
}

// LatestID returns the id of the newest snapshot, 0 when there is none.
func (s *Source) LatestID(ctx context.Context) (int64, error) {
	f, err := s.newest(ctx)
	return f.id, err
}

// newest finds the newest snapshot; id 0: there is none. The hint is only a place
// to start: the newest is the last one that exists from there on, or the largest
// listed.
func (s *Source) newest(ctx context.Context) (numbered, error) {
	p := s.paths(nil)
	id, err := s.hint(ctx, p.Latest())
	if err != nil {
		return numbered{}, err
	}
	if id > 0 {
		in, ok, err := s.find(ctx, p.Snapshot(id))
		for ok && err == nil {
			next, more, err := s.find(ctx, p.Snapshot(id+1))
			if err != nil {
				return numbered{}, err
			}
			if !more {
				return numbered{id, in}, nil
			}
			id, in = id+1, next
		}
		if err != nil {
			return numbered{}, err
		}
	}
	files, err := s.numberedFiles(ctx, p.SnapshotDir(), "snapshot-")
	if err != nil || len(files) == 0 {
		return numbered{}, err
	}
	return files[len(files)-1], nil
}

// Latest returns the newest snapshot, nil when there is none.
func (s *Source) Latest(ctx context.Context) (*spec.Snapshot, error) {
	for try := 0; ; try++ {
		f, err := s.newest(ctx)
		if err != nil || f.id == 0 {
			return nil, err
		}
		path := s.paths(nil).Snapshot(f.id)
		if snap := s.Cache.snapshot(path, f.info); snap != nil {
			return snap, nil
		}
		snap, err := s.read(ctx, f.id)
		if errs.Is(err, errs.FileNotFound) && try < 3 {
			continue // expired or rolled back meanwhile
		}
		if err == nil {
			s.Cache.putSnapshot(path, f.info, snap)
		}
		return snap, err
	}
}

func (s *Source) read(ctx context.Context, id int64) (*spec.Snapshot, error) {
	snap, err := parse(ctx, s, s.paths(nil).Snapshot(id), spec.ParseSnapshot)
	if err == nil && snap.ID != id {
		err = errs.Corruptf("table %s: the file of snapshot %d holds snapshot %d", s.Name, id, snap.ID)
	}
	return snap, err
}

// IDs returns the ids of the snapshots that exist, ascending.
func (s *Source) IDs(ctx context.Context) ([]int64, error) {
	return s.versions(ctx, s.paths(nil).SnapshotDir(), "snapshot-")
}

// ByID returns a snapshot by its id.
func (s *Source) ByID(ctx context.Context, id int64) (*spec.Snapshot, error) {
	snap, err := s.read(ctx, id)
	if errs.Is(err, errs.FileNotFound) {
		return nil, s.unknown(ctx, fmt.Sprintf("snapshot %d", id))
	}
	return snap, err
}

// unknown makes the error for a version that does not exist.
func (s *Source) unknown(ctx context.Context, what string) error {
	ids, err := s.IDs(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return errs.Userf(errs.UnknownSnapshot, "table %s has no %s: it has no snapshots", s.Name, what)
	}
	return errs.Userf(errs.UnknownSnapshot, "table %s has no %s: its snapshots are %d to %d", s.Name, what, ids[0], ids[len(ids)-1])
}

// Tag returns the snapshot of a tag.
func (s *Source) Tag(ctx context.Context, name string) (*spec.Snapshot, error) {
	snap, err := s.tag(ctx, name)
	if err == nil && snap == nil {
		tags, err := s.Tags(ctx)
		if err != nil {
			return nil, err
		}
		if len(tags) == 0 {
			return nil, errs.Userf(errs.UnknownSnapshot, "table %s has no tag %q: it has no tags", s.Name, name)
		}
		return nil, errs.Userf(errs.UnknownSnapshot, "table %s has no tag %q: its tags are %s", s.Name, name, strings.Join(tags[:min(len(tags), 20)], ", "))
	}
	return snap, err
}

// tag returns nil when there is no such tag.
func (s *Source) tag(ctx context.Context, name string) (*spec.Snapshot, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return nil, nil
	}
	snap, err := parse(ctx, s, s.paths(nil).Tag(name), spec.ParseSnapshot)
	if errs.Is(err, errs.FileNotFound) {
		return nil, nil
	}
	return snap, err
}

// Tags returns the names of the tags, sorted.
func (s *Source) Tags(ctx context.Context) ([]string, error) {
	list, err := s.Files.List(ctx, s.paths(nil).TagDir())
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.Name, err)
	}
	var names []string
	for _, in := range list {
		if n, ok := strings.CutPrefix(in.Name, "tag-"); ok && !in.Dir {
			names = append(names, n)
		}
	}
	return names, nil
}

// AtTime returns the newest snapshot whose commit time is not after t.
func (s *Source) AtTime(ctx context.Context, t time.Time) (*spec.Snapshot, error) {
	found, first, err := s.before(ctx, t.UnixMilli(), true)
	switch {
	case err != nil || found != nil:
		return found, err
	case first == nil:
		return nil, errs.Userf(errs.UnknownSnapshot, "table %s has no snapshot at %s: it has no snapshots", s.Name, stamp(t))
	}
	return nil, errs.Userf(errs.UnknownSnapshot, "table %s has no snapshot at %s: its earliest, %d, is of %s",
		s.Name, stamp(t), first.ID, stamp(time.UnixMilli(first.TimeMillis)))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// Version returns what FOR VERSION AS OF names: a tag, a watermark
// ("watermark-<millis>"), or a snapshot id.
func (s *Source) Version(ctx context.Context, name string) (*spec.Snapshot, error) {
	snap, err := s.tag(ctx, name)
	if err != nil || snap != nil {
		return snap, err
	}
	if w, ok := strings.CutPrefix(name, "watermark-"); ok {
		if n, err := strconv.ParseInt(w, 10, 64); err == nil {
			return s.atWatermark(ctx, n)
		}
	}
	if id, err := strconv.ParseInt(name, 10, 64); err == nil && id >= 0 {
		return s.ByID(ctx, id)
	}
	return s.Tag(ctx, name)
}

// atWatermark returns the first snapshot with a watermark of at least w.
func (s *Source) atWatermark(ctx context.Context, w int64) (*spec.Snapshot, error) {
	ids, err := s.IDs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		snap, err := s.read(ctx, id)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if at, ok := snap.HasWatermark(); ok && at >= w {
			return snap, nil
		}
	}
	return nil, s.unknown(ctx, fmt.Sprintf("snapshot with a watermark of %d or later", w))
}

// SchemaIDs returns the ids of the schemas that exist, ascending.
func (s *Source) SchemaIDs(ctx context.Context) ([]int64, error) {
	return s.versions(ctx, s.paths(nil).SchemaDir(), "schema-")
}

// Schema returns a schema by its id.
func (s *Source) Schema(ctx context.Context, id int64) (*catalog.Schema, error) {
	path := s.paths(nil).Schema(id)
	in, ok, err := s.find(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", s.Name, err)
	}
	if !ok {
		return nil, errs.Corruptf("table %s has no schema %d: the file %s is missing", s.Name, id, path)
	}
	return s.schemaIn(ctx, numbered{id, in})
}

// schemaIn reads a schema of which a file exists.
func (s *Source) schemaIn(ctx context.Context, f numbered) (*catalog.Schema, error) {
	path := s.paths(nil).Schema(f.id)
	if c := s.Cache.schema(path, f.info); c != nil {
		return c, nil
	}
	schema, err := parse(ctx, s, path, spec.ParseSchema)
	if err != nil {
		return nil, err
	}
	if schema.ID != f.id {
		return nil, errs.Corruptf("table %s: the file of schema %d holds schema %d", s.Name, f.id, schema.ID)
	}
	s.Cache.putSchema(path, f.info, schema)
	return schema, nil
}

// NewestSchema returns the schema with the largest id.
func (s *Source) NewestSchema(ctx context.Context) (*catalog.Schema, error) {
	l, err := s.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	d, err := l.Newest(ctx)
	return d.Schema, err
}

// vanished says that a file which metadata names is gone.
func (s *Source) vanished(snap *spec.Snapshot, path string, err error) error {
	if !errs.Is(err, errs.FileNotFound) {
		var e *errs.Error
		if errors.As(err, &e) && e.Class == errs.Corruption {
			return errs.Corruptf("table %s, snapshot %d: %w", s.Name, snap.ID, err)
		}
		return fmt.Errorf("table %s, snapshot %d: %w", s.Name, snap.ID, err)
	}
	return errs.New(errs.Unavailable, errs.FilesVanished, "table %s, snapshot %d: the file %s is gone; it was removed by expiry or from outside, run the statement again", s.Name, snap.ID, path)
}
