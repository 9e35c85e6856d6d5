package maintain

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/commit"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// CloneSource says which state of a table is copied: a tag, a snapshot, or with
// neither the newest snapshot.
type CloneSource struct {
	Tag      string
	Snapshot int64
}

const (
	copyWorkers = 4
	copyBuffer  = 1 << 20
	// copyGuard is how long a copy keeps expiry from its source at most.
	copyGuard = 7 * 24 * time.Hour
)

// Clone copies a state of the table, rows and schemas but not the history, into
// another table, in any store.
//
// A target that does not exist is made: data first, then manifests, the snapshot,
// and the schemas in descending order, so that a table of one schema appears at
// once and whole; what an interrupted call leaves is completed by the next. A
// target that exists gets the rows in place of its own, in one OVERWRITE
// snapshot; it must have the same definition.
func (t *Table) Clone(ctx context.Context, from CloneSource, target Config) error {
	fail := func(err error) error { return fmt.Errorf("clone %s to %s: %w", t.cfg.Name, target.Name, err) }
	s, unguard, err := t.guarded(ctx, from)
	if err != nil {
		return fail(err)
	}
	defer unguard()
	schemas, err := t.schemas(ctx, s)
	if err != nil {
		return fail(err)
	}
	target.Schema = schemas[len(schemas)-1]
	dst := New(target)
	if dst.cfg.Root == t.cfg.Root {
		return fail(errs.Userf(errs.WrongArguments, "a table cannot be cloned to itself"))
	}
	there, err := dst.schemaIDs(ctx)
	if err != nil {
		return fail(err)
	}
	c := &clone{src: t, dst: dst, snap: s, schemas: schemas}
	switch {
	case len(there) == 0:
		err = c.create(ctx)
	case c.interrupted(ctx, there):
		err = c.writeSchemas(ctx)
	default:
		err = c.replace(ctx, there)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// guarded returns the state to copy, nil for a table without snapshots, and keeps
// it from expiry by a tag until unguard is called. A source that cannot be
// written is copied without.
func (t *Table) guarded(ctx context.Context, from CloneSource) (s *spec.Snapshot, unguard func(), err error) {
	none := func() {}
	if from.Tag != "" {
		g, err := t.needTag(ctx, from.Tag)
		if err != nil {
			return nil, none, err
		}
		return g.Snapshot, none, nil
	}
	if from.Snapshot > 0 {
		s, err = t.snapshot(ctx, from.Snapshot)
	} else {
		s, err = t.store.Latest(ctx)
	}
	if err != nil || s == nil {
		return nil, none, err
	}
	name := "clone-" + uuid.NewString()
	if err := t.tagSnapshot(ctx, name, s, copyGuard, false); err != nil {
		if errs.Is(err, errs.UnknownSnapshot) {
			return nil, none, err
		}
		slog.Info("a table is copied without a tag that keeps its snapshot", "table", t.cfg.Name, "error", err)
		return s, none, nil
	}
	return s, func() {
		if err := t.DeleteTag(context.WithoutCancel(ctx), name); err != nil {
			slog.Warn("remove the tag of a copy; it expires by itself", "table", t.cfg.Name, "tag", name, "error", err)
		}
	}, nil
}

// schemas returns the schemas up to the one of the snapshot, or all, by id.
func (t *Table) schemas(ctx context.Context, s *spec.Snapshot) ([]*catalog.Schema, error) {
	ids, err := t.schemaIDs(ctx)
	if err != nil {
		return nil, err
	}
	var out []*catalog.Schema
	for _, id := range ids {
		if s != nil && id > s.SchemaID {
			break
		}
		x, err := t.schema(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	if len(out) == 0 {
		return nil, errs.Userf(errs.UnknownTable, "it has no schema")
	}
	return out, nil
}

func (t *Table) schema(ctx context.Context, id int64) (*catalog.Schema, error) {
	b, err := t.cfg.Files.ReadFile(ctx, t.paths.Schema(id))
	if err != nil {
		return nil, err
	}
	s, err := spec.ParseSchema(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.paths.Schema(id), err)
	}
	return s, nil
}

// clone is one copy under way.
type clone struct {
	src, dst *Table
	snap     *spec.Snapshot // nil: no rows
	schemas  []*catalog.Schema
	entries  []spec.ManifestEntry // of the copied files, as the target has them
	index    []spec.IndexEntry
	// live are the names of the data and index files that an existing target has:
	// from an earlier copy, and nothing else has such a name.
	live map[string]bool
}

// interrupted reports whether the target is what an interrupted call of the same
// clone left: the newest schemas are there and equal, older ones are not.
func (c *clone) interrupted(ctx context.Context, there []int64) bool {
	last := len(c.schemas) - 1
	if there[0] == c.schemas[0].ID || there[len(there)-1] != c.schemas[last].ID {
		return false
	}
	for _, id := range there {
		a, err := c.src.cfg.Files.ReadFile(ctx, c.src.paths.Schema(id))
		if err != nil {
			return false
		}
		b, err := c.dst.cfg.Files.ReadFile(ctx, c.dst.paths.Schema(id))
		if err != nil || string(a) != string(b) {
			return false
		}
	}
	return true
}

// create makes the target.
func (c *clone) create(ctx context.Context) error {
	if c.snap != nil {
		if err := c.copyFiles(ctx, nil); err != nil {
			return err
		}
		if err := c.writeSnapshot(ctx); err != nil {
			return err
		}
	}
	return c.writeSchemas(ctx)
}

func (c *clone) writeSchemas(ctx context.Context) error {
	for i := len(c.schemas) - 1; i >= 0; i-- {
		id := c.schemas[i].ID
		b, err := c.src.cfg.Files.ReadFile(ctx, c.src.paths.Schema(id))
		if err != nil {
			return err
		}
		if err := c.dst.create(ctx, c.dst.paths.Schema(id), b); err != nil {
			return err
		}
	}
	return nil
}

// writeSnapshot writes manifests that hold the copied files, and a snapshot that
// has the source's number, time, and properties: pipelines go on from it. One
// that an interrupted call left is replaced: there is no table yet.
func (c *clone) writeSnapshot(ctx context.Context) error {
	put := func(name string, b []byte) error {
		return c.dst.cfg.Files.WriteFile(ctx, c.dst.paths.Manifest(name), b)
	}
	names := spec.NewNamer()
	codec := "zstd"
	o := spec.NewOptions(c.dst.cfg.Schema.Options)
	codec = o.String("manifest.compression", codec)
	target := o.Size("manifest.target-file-size", 8<<20)
	if o.Err != nil {
		return o.Err
	}
	var metas []spec.ManifestMeta
	var w *spec.ManifestWriter
	flush := func() error {
		if w == nil {
			return nil
		}
		b, m := w.Finish(names.Manifest())
		w = nil
		metas = append(metas, m)
		return put(m.FileName, b)
	}
	rows := int64(0)
	for i := range c.entries {
		if w == nil {
			var err error
			if w, err = spec.NewManifestWriter(c.dst.paths.Partitioner().Types, codec); err != nil {
				return err
			}
		}
		if err := w.Add(&c.entries[i]); err != nil {
			return err
		}
		rows += c.entries[i].File.RowCount
		if int64(w.Size()) >= target {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	s := *c.snap
	s.UUID, s.CommitKind, s.Operation, s.WriterVersion, s.Extra = uuid.NewString(), spec.KindAppend, "", c.dst.cfg.WriterVersion, nil
	s.ChangelogManifestList, s.ChangelogManifestListSize, s.ChangelogRecordCount, s.Statistics, s.IndexManifest = "", nil, nil, "", ""
	s.TotalRecordCount, s.DeltaRecordCount = &rows, &rows
	lists := [2][]spec.ManifestMeta{nil, metas}
	for i, l := range lists {
		b, err := spec.WriteManifestList(l, codec)
		if err != nil {
			return err
		}
		name, size := names.ManifestList(), int64(len(b))
		if err := put(name, b); err != nil {
			return err
		}
		if i == 0 {
			s.BaseManifestList, s.BaseManifestListSize = name, &size
		} else {
			s.DeltaManifestList, s.DeltaManifestListSize = name, &size
		}
	}
	if len(c.index) > 0 {
		b, err := spec.WriteIndexManifest(c.index, codec)
		if err != nil {
			return err
		}
		s.IndexManifest = names.IndexManifest()
		if err := put(s.IndexManifest, b); err != nil {
			return err
		}
	}
	old, err := c.dst.store.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range old {
		if err := c.dst.cfg.Files.Remove(ctx, c.dst.paths.Snapshot(id)); err != nil {
			return err
		}
	}
	b, err := s.Marshal()
	if err != nil {
		return err
	}
	if err := c.dst.create(ctx, c.dst.paths.Snapshot(s.ID), b); err != nil {
		return err
	}
	return c.dst.hints(ctx, s.ID, s.ID)
}

// replace gives an existing target the rows in one snapshot.
func (c *clone) replace(ctx context.Context, there []int64) error {
	var have []*catalog.Schema
	var err error
	for _, id := range there {
		s, err := c.dst.schema(ctx, id)
		if err != nil {
			return err
		}
		have = append(have, s)
	}
	now := have[len(have)-1]
	mine := c.schemas[len(c.schemas)-1]
	if why := differs(mine, now); why != "" {
		return errs.Userf(errs.InvalidTable, "the target exists and has another definition (%s): drop it, or name another table", why)
	}
	c.dst.cfg.Schema = now
	c.dst = New(c.dst.cfg)
	same := map[int64]int64{}
	for _, x := range c.schemas {
		for _, y := range have {
			if differs(x, y) == "" {
				same[x.ID] = y.ID
			}
		}
	}
	if c.snap != nil {
		if c.live, err = c.dst.liveNames(ctx); err != nil {
			return err
		}
		if err := c.copyFiles(ctx, same); err != nil {
			return err
		}
	}
	type place struct {
		partition string
		bucket    int32
	}
	messages := map[place]*commit.Message{}
	at := func(p spec.BinaryRow, bucket, total int32) *commit.Message {
		k := place{string(p), bucket}
		if messages[k] == nil {
			messages[k] = &commit.Message{Partition: p, Bucket: bucket, TotalBuckets: total}
		}
		return messages[k]
	}
	for i := range c.entries {
		e := &c.entries[i]
		m := at(e.Partition, e.Bucket, e.TotalBuckets)
		m.New = append(m.New, e.File)
	}
	for _, x := range c.index {
		m := at(x.Partition, x.Bucket, -1)
		m.Index.New = append(m.Index.New, x)
	}
	var list []*commit.Message
	for _, m := range messages {
		list = append(list, m)
	}
	com, err := c.dst.committer()
	if err != nil {
		return err
	}
	// Some of the files may be the target's already: after a failure, all are left
	// to orphan cleaning.
	_, err = com.Replace(ctx, list)
	return err
}

// differs says what keeps files of one schema from being files of another, "" for
// nothing.
func differs(a, b *catalog.Schema) string {
	switch {
	case !slices.Equal(a.PartitionKeys, b.PartitionKeys):
		return "other partition columns"
	case !slices.Equal(a.PrimaryKeys, b.PrimaryKeys):
		return "another primary key"
	case !slices.EqualFunc(a.Fields, b.Fields, sameField):
		return "other columns"
	}
	for _, k := range []string{"bucket", "bucket-key", "bucket-function.type", "merge-engine", "sequence.field", "sequence.field.sort-order", "rowkind.field",
		"data-file.thin-mode", "deletion-vectors.enabled", "row-tracking.enabled", "data-evolution.enabled"} {
		if a.Options[k] != b.Options[k] {
			return "another option " + k
		}
	}
	return ""
}

func sameField(a, b catalog.Field) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Type.String() == b.Type.String() && slices.EqualFunc(a.Type.Fields, b.Type.Fields, sameField)
}

// copyFiles copies the live data and index files. schemas gives the target's
// number of a schema; nil leaves the numbers.
func (c *clone) copyFiles(ctx context.Context, schemas map[int64]int64) error {
	live, err := c.src.store.Live(ctx, c.snap, nil, func(*spec.ManifestEntry) bool { return true })
	if err != nil {
		return err
	}
	list, err := c.src.store.Index(ctx, c.snap)
	if err != nil {
		return err
	}
	jobs := map[string]string{}
	for _, e := range live {
		from, err := c.src.paths.DataFile(&e)
		if err != nil {
			return err
		}
		beside, err := c.src.paths.ExtraFiles(&e)
		if err != nil {
			return err
		}
		e.File.ExternalPath = spec.Opt[string]{}
		if schemas != nil {
			id, ok := schemas[e.File.SchemaID]
			if !ok {
				return errs.Userf(errs.InvalidTable, "the target exists and never had the definition of schema %d, with which files are written: drop it, or name another table", e.File.SchemaID)
			}
			e.File.SchemaID = id
		}
		to, err := c.dst.paths.DataFile(&e)
		if err != nil {
			return err
		}
		toBeside, err := c.dst.paths.ExtraFiles(&e)
		if err != nil {
			return err
		}
		jobs[spec.LocalPath(from)] = to
		for i := range beside {
			jobs[spec.LocalPath(beside[i])] = toBeside[i]
		}
		c.entries = append(c.entries, e)
	}
	for _, x := range list {
		if x.Global != nil {
			return errs.Unsupportedf(-1, "copying tables with table indexes (%s)", x.IndexType)
		}
		from, err := c.src.paths.IndexFile(&x)
		if err != nil {
			return err
		}
		x.ExternalPath = spec.Opt[string]{}
		to, err := c.dst.paths.IndexFile(&x)
		if err != nil {
			return err
		}
		jobs[spec.LocalPath(from)] = to
		c.index = append(c.index, x)
	}
	return c.copyAll(ctx, jobs)
}

// liveNames returns the names of the newest snapshot's data files, of those beside
// them, and of its index files.
func (t *Table) liveNames(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	s, err := t.store.Latest(ctx)
	if err != nil || s == nil {
		return out, err
	}
	live, err := t.store.Live(ctx, s, nil, func(*spec.ManifestEntry) bool { return true })
	if err != nil {
		return nil, err
	}
	for i := range live {
		out[live[i].File.FileName] = true
		for _, x := range live[i].File.ExtraFiles {
			out[x] = true
		}
	}
	list, err := t.store.Index(ctx, s)
	for i := range list {
		out[list[i].FileName] = true
	}
	return out, err
}

// copyAll copies files, several at once.
func (c *clone) copyAll(ctx context.Context, jobs map[string]string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	next := make(chan string)
	for range copyWorkers {
		wait.Go(func() {
			buf := make([]byte, copyBuffer)
			for from := range next {
				if c.live[jobs[from][strings.LastIndexByte(jobs[from], '/')+1:]] {
					continue
				}
				if err := copyFile(ctx, c.src.cfg.Files, from, c.dst.cfg.Files, jobs[from], buf, c.live == nil); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for _, from := range slices.Sorted(maps.Keys(jobs)) {
		select {
		case next <- from:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

// copyFile copies a file whose name nobody else uses. With resume, one that is
// there with the same size is a copy that an interrupted call made.
func copyFile(ctx context.Context, src fileio.FileIO, from string, dst fileio.FileIO, to string, buf []byte, resume bool) error {
	f, err := src.Open(ctx, from)
	if err != nil {
		return err
	}
	defer f.Close()
	if resume {
		if in, err := dst.Stat(ctx, to); err == nil && in.Size == f.Size() {
			return nil
		} else if err != nil && !errs.Is(err, errs.FileNotFound) {
			return err
		}
	}
	w, err := dst.Create(ctx, to)
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.NewSectionReader(f, 0, f.Size()), buf)
	if err == nil && n != f.Size() {
		err = errs.New(errs.Unavailable, errs.KindNone, "copy %s: %d of %d bytes were read", from, n, f.Size())
	}
	if err != nil {
		w.Abort() //nolint:errcheck // the copy has failed already
		return err
	}
	return w.Close()
}
