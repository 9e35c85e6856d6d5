package maintain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// Tag is a named snapshot that expiry keeps.
type Tag struct {
	Name string
	// Snapshot is the tagged one. Its TagCreateTime and TagTimeRetained are nil.
	Snapshot *spec.Snapshot
	// Created and Retained say when the tag expires: zero for never.
	Created  time.Time
	Retained time.Duration
}

// Expires reports whether, and when, the tag expires by itself.
func (g Tag) Expires() (time.Time, bool) { return g.Created.Add(g.Retained), g.Retained > 0 }

// Tags returns the tags, by snapshot and then name.
func (t *Table) Tags(ctx context.Context) ([]Tag, error) { return t.tags(ctx) }

func (t *Table) tags(ctx context.Context) ([]Tag, error) {
	list, err := t.cfg.Files.List(ctx, t.paths.TagDir())
	if err != nil {
		return nil, err
	}
	var out []Tag
	for _, in := range list {
		name, ok := strings.CutPrefix(in.Name, "tag-")
		if !ok || in.Dir {
			continue
		}
		tag, err := t.tag(ctx, name)
		if errs.Is(err, errs.FileNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, *tag)
	}
	slices.SortFunc(out, func(a, b Tag) int {
		if a.Snapshot.ID != b.Snapshot.ID {
			return int(min(max(a.Snapshot.ID-b.Snapshot.ID, -1), 1))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// tag reads a tag. A missing one is of kind errs.FileNotFound.
func (t *Table) tag(ctx context.Context, name string) (*Tag, error) {
	b, err := t.cfg.Files.ReadFile(ctx, t.paths.Tag(name))
	if err != nil {
		return nil, err
	}
	s, err := spec.ParseSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("read the tag %s of %s: %w", name, t.cfg.Name, err)
	}
	out := &Tag{Name: name, Snapshot: s}
	if out.Created, err = t.parseTagTime(s.TagCreateTime); err == nil {
		out.Retained, err = parseSeconds(s.TagTimeRetained)
	}
	if err != nil {
		return nil, fmt.Errorf("read the tag %s of %s: %w", name, t.cfg.Name, err)
	}
	s.TagCreateTime, s.TagTimeRetained = nil, nil
	return out, nil
}

// needTag reads a tag that the user has named.
func (t *Table) needTag(ctx context.Context, name string) (*Tag, error) {
	if err := validTag(name); err != nil {
		return nil, err
	}
	tag, err := t.tag(ctx, name)
	if errs.Is(err, errs.FileNotFound) {
		return nil, errs.Userf(errs.UnknownSnapshot, "the table %s has no tag %q", t.cfg.Name, name)
	}
	return tag, err
}

// parseTagTime reads [y,mo,d,h,mi(,s(,nanos))], a wall clock.
func (t *Table) parseTagTime(raw json.RawMessage) (time.Time, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return time.Time{}, nil
	}
	var v []int
	if err := json.Unmarshal(raw, &v); err != nil || len(v) < 5 || len(v) > 7 {
		return time.Time{}, errs.Corruptf("its tagCreateTime %s is not a date and time", raw)
	}
	v = append(v, 0, 0)
	return time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], v[6], t.cfg.Location), nil
}

// tagTime writes what parseTagTime reads, as Java does: without trailing zeros
// after the minutes.
func (t *Table) tagTime(at time.Time) json.RawMessage {
	at = at.In(t.cfg.Location)
	v := []int{at.Year(), int(at.Month()), at.Day(), at.Hour(), at.Minute()}
	if at.Second() != 0 || at.Nanosecond() != 0 {
		v = append(v, at.Second())
	}
	if at.Nanosecond() != 0 {
		v = append(v, at.Nanosecond())
	}
	b, _ := json.Marshal(v) // numbers never fail
	return b
}

// parseSeconds reads decimal seconds, or an ISO-8601 duration such as "PT24H".
func parseSeconds(raw json.RawMessage) (time.Duration, error) {
	text := strings.Trim(string(raw), `"`)
	if text == "" || text == "null" {
		return 0, nil
	}
	if text[0] == 'P' {
		return parseISO(text)
	}
	whole, frac, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || s < 0 || s > int64(1<<62/time.Second) || len(frac) > 9 {
		return 0, errs.Corruptf("its tagTimeRetained %s is not a duration", raw)
	}
	n := int64(0)
	if frac != "" {
		if n, err = strconv.ParseInt(frac+strings.Repeat("0", 9-len(frac)), 10, 64); err != nil {
			return 0, errs.Corruptf("its tagTimeRetained %s is not a duration", raw)
		}
	}
	return time.Duration(s)*time.Second + time.Duration(n), nil
}

// parseISO reads P[nD]T[nH][nM][nS].
func parseISO(text string) (time.Duration, error) {
	bad := errs.Corruptf("its tagTimeRetained %s is not a duration", text)
	var total time.Duration
	unit := map[byte]time.Duration{'D': 24 * time.Hour, 'H': time.Hour, 'M': time.Minute, 'S': time.Second}
	rest := strings.Replace(text[1:], "T", "", 1)
	for rest != "" {
		i := strings.IndexAny(rest, "DHMS")
		if i <= 0 {
			return 0, bad
		}
		n, err := strconv.ParseFloat(rest[:i], 64)
		if err != nil || n < 0 || n*float64(unit[rest[i]]) > 1<<62 {
			return 0, bad
		}
		total += time.Duration(n * float64(unit[rest[i]]))
		rest = rest[i+1:]
	}
	return total, nil
}

func seconds(d time.Duration) json.RawMessage {
	return fmt.Appendf(nil, "%d.%09d", d/time.Second, d%time.Second)
}

// validTag refuses names that are no file names.
func validTag(name string) error {
	if strings.TrimSpace(name) == "" || !spec.ValidFileName("tag-"+name) {
		return errs.Userf(errs.WrongArguments, "%q is not the name of a tag", name)
	}
	return nil
}

// marshalTag writes a tag file.
func (t *Table) marshalTag(s *spec.Snapshot, retained time.Duration) ([]byte, error) {
	c := *s
	if retained > 0 {
		c.TagCreateTime, c.TagTimeRetained = t.tagTime(t.cfg.Now()), seconds(retained)
	}
	return c.Marshal()
}

// defaultRetained is how long a tag is kept for which nobody said it.
func (t *Table) defaultRetained() (time.Duration, error) {
	o := spec.NewOptions(t.cfg.Schema.Options)
	d := o.Duration("tag.default-time-retained", 0)
	return d, o.Err
}

// CreateTag tags a snapshot; snapshot 0 is the newest, retained 0 the table's
// tag.default-time-retained. An existing tag is an error.
func (t *Table) CreateTag(ctx context.Context, name string, snapshot int64, retained time.Duration) error {
	return t.putTag(ctx, name, snapshot, retained, false)
}

// ReplaceTag gives an existing tag another snapshot or retention.
func (t *Table) ReplaceTag(ctx context.Context, name string, snapshot int64, retained time.Duration) error {
	if _, err := t.needTag(ctx, name); err != nil {
		return err
	}
	return t.putTag(ctx, name, snapshot, retained, true)
}

func (t *Table) putTag(ctx context.Context, name string, snapshot int64, retained time.Duration, replace bool) error {
	if err := validTag(name); err != nil {
		return err
	}
	var s *spec.Snapshot
	var err error
	if snapshot == 0 {
		s, err = t.latest(ctx)
	} else {
		s, err = t.snapshot(ctx, snapshot)
	}
	if err != nil {
		return err
	}
	return t.tagSnapshot(ctx, name, s, retained, replace)
}

// tagSnapshot writes a tag and looks whether the snapshot is still there, or
// kept by another tag: expiry removes snapshots before it looks for tags.
func (t *Table) tagSnapshot(ctx context.Context, name string, s *spec.Snapshot, retained time.Duration, replace bool) error {
	if retained == 0 {
		var err error
		if retained, err = t.defaultRetained(); err != nil {
			return err
		}
	}
	if retained < 0 {
		return errs.Userf(errs.WrongArguments, "a tag cannot be kept for %s", retained)
	}
	data, err := t.marshalTag(s, retained)
	if err != nil {
		return err
	}
	path := t.paths.Tag(name)
	if replace {
		return t.cfg.Files.WriteFile(ctx, path, data)
	}
	if err := t.create(ctx, path, data); err != nil {
		if errs.Is(err, errs.FileExists) {
			return errs.Userf(errs.TableExists, "the table %s has a tag %q already; use replace_tag", t.cfg.Name, name)
		}
		return fmt.Errorf("create the tag %s of %s: %w", name, t.cfg.Name, err)
	}
	if _, err := t.store.Snapshot(ctx, s.ID); errs.Is(err, errs.FileNotFound) {
		tags, terr := t.tags(ctx)
		kept := slices.ContainsFunc(tags, func(g Tag) bool { return g.Name != name && g.Snapshot.ID == s.ID })
		if terr == nil && !kept {
			if err := t.cfg.Files.Remove(ctx, path); err != nil {
				return err
			}
			return errs.Userf(errs.UnknownSnapshot, "tag snapshot %d of %s: it has expired meanwhile", s.ID, t.cfg.Name)
		}
		return terr
	}
	return nil
}

// RenameTag gives a tag another name.
func (t *Table) RenameTag(ctx context.Context, from, to string) error {
	if err := validTag(to); err != nil {
		return err
	}
	if _, err := t.needTag(ctx, from); err != nil {
		return err
	}
	data, err := t.cfg.Files.ReadFile(ctx, t.paths.Tag(from))
	if err != nil {
		return err
	}
	if err := t.create(ctx, t.paths.Tag(to), data); err != nil {
		if errs.Is(err, errs.FileExists) {
			return errs.Userf(errs.TableExists, "the table %s has a tag %q already", t.cfg.Name, to)
		}
		return fmt.Errorf("rename the tag %s of %s: %w", from, t.cfg.Name, err)
	}
	return t.cfg.Files.Remove(ctx, t.paths.Tag(from))
}

// DeleteTag removes a tag, and the files that only it kept. A tag that does not
// exist is fine.
func (t *Table) DeleteTag(ctx context.Context, name string) error {
	if err := validTag(name); err != nil {
		return err
	}
	tag, err := t.tag(ctx, name)
	if errs.Is(err, errs.FileNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.deleteTag(ctx, tag)
}

// ExpireTags removes the tags whose time is over, or that were made before
// olderThan (zero: only the former), and returns their names.
func (t *Table) ExpireTags(ctx context.Context, olderThan time.Time) ([]string, error) {
	tags, err := t.tags(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range tags {
		g := &tags[i]
		end, expires := g.Expires()
		if expires && !end.After(t.cfg.Now()) || !olderThan.IsZero() && !g.Created.IsZero() && g.Created.Before(olderThan) {
			if err := t.deleteTag(ctx, g); err != nil {
				return out, err
			}
			out = append(out, g.Name)
		}
	}
	return out, nil
}

// deleteTag removes a tag. Files go when neither its snapshot nor another tag of
// it is there: those that the tags and the snapshot next to it do not have.
func (t *Table) deleteTag(ctx context.Context, tag *Tag) error {
	s := tag.Snapshot
	if slices.Contains(t.pins(), s.ID) {
		return errs.New(errs.Conflict, errs.KindNone, "delete the tag %s of %s: a statement is reading it", tag.Name, t.cfg.Name)
	}
	g := t.newGarbage()
	tags, err := t.tags(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(tags), func(x Tag) bool { return x.Name == tag.Name })
	alone := !slices.ContainsFunc(others, func(x Tag) bool { return x.Snapshot.ID == s.ID })
	if alone {
		_, err := t.store.Snapshot(ctx, s.ID)
		if err != nil && !errs.Is(err, errs.FileNotFound) {
			return err
		}
		alone = err != nil
	}
	if alone {
		if err := g.addTag(ctx, s); err != nil {
			return fmt.Errorf("delete the tag %s of %s: %w", tag.Name, t.cfg.Name, err)
		}
	}
	if err := t.cfg.Files.Remove(ctx, t.paths.Tag(tag.Name)); err != nil {
		return err
	}
	if !alone {
		return nil
	}
	// All that remains, not the neighbours alone: rollback_to_as_latest may have
	// brought files back anywhere.
	if err := g.keepBranch(ctx, t); err != nil {
		return err
	}
	if err := g.keepBranches(ctx); err != nil {
		return err
	}
	_, err = g.remove(ctx)
	return err
}

// addTag adds everything that a tagged snapshot refers to. While long-lived
// changelogs are made of data files, those of ingestion are left to them.
func (g *garbage) addTag(ctx context.Context, s *spec.Snapshot) error {
	logs, err := g.t.changelogIDs(ctx)
	if err != nil {
		return err
	}
	shared := len(logs) > 0 && !g.t.producesChangelog()
	live, err := g.t.store.Live(ctx, s, nil, func(e *spec.ManifestEntry) bool {
		return !shared || e.File.FileSource.OK && e.File.FileSource.V == spec.SourceCompact
	})
	if err != nil {
		return err
	}
	for i := range live {
		if err := g.addFile(&live[i]); err != nil {
			return err
		}
	}
	if !shared {
		if err := g.addList(ctx, s.BaseManifestList, false); err != nil {
			return err
		}
		if err := g.addList(ctx, s.DeltaManifestList, false); err != nil {
			return err
		}
	}
	return g.addIndex(ctx, s)
}

// revived returns the snapshot that a tag's file makes. The changelog of a tagged
// snapshot goes when the snapshot expires; then it has none, and has none either
// when the tag brought it back.
func (t *Table) revived(ctx context.Context, s *spec.Snapshot) (*spec.Snapshot, error) {
	if s.ChangelogManifestList == "" {
		return s, nil
	}
	x, err := t.store.Snapshot(ctx, s.ID)
	if err != nil && !errs.Is(err, errs.FileNotFound) {
		return nil, err
	}
	if err == nil && x.DeltaManifestList == s.DeltaManifestList {
		return x, nil // itself, not another one that took its number after a rollback
	}
	c := *s
	c.ChangelogManifestList, c.ChangelogManifestListSize, c.ChangelogRecordCount = "", nil, nil
	return &c, nil
}
