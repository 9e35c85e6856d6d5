package maintain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/connector/paimon/maintain"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// step does one random thing to the table. It returns what it was, and whether it
// may leave files that nobody refers to.
func (x *table) step(r *rand.Rand) (what string, leaves bool, err error) {
	m := x.maintain()
	tags, terr := m.Tags(ctx)
	x.must(terr)
	branches, berr := m.Branches(ctx)
	x.must(berr)
	ids := x.ids()
	switch n := r.IntN(30); {
	case n < 10 || len(ids) == 0:
		x.write()
		return "write", false, nil
	case n < 14:
		x.compact(true)
		return "compact", false, nil
	case n < 17:
		x.compact(false)
		return "lift", false, nil
	case n < 20:
		name := fmt.Sprint("t", r.IntN(1000))
		err = m.CreateTag(ctx, name, ids[r.IntN(len(ids))], 0)
		if errs.Is(err, errs.TableExists) {
			err = nil
		}
		return "tag " + name, false, err
	case n < 22 && len(tags) > 0:
		g := tags[r.IntN(len(tags))]
		return "delete tag " + g.Name, false, m.DeleteTag(ctx, g.Name)
	case n < 25:
		keep := maintain.Retention{Min: 1 + int64(r.IntN(5)), Max: 1000, Time: time.Duration(r.IntN(10)) * time.Minute}
		_, err = m.ExpireSnapshots(ctx, keep)
		return fmt.Sprint("expire ", keep), false, err
	case n == 25:
		_, err = m.ExpireChangelogs(ctx, maintain.Retention{Min: 1 + int64(r.IntN(12)), Max: 1000})
		return "expire changelogs", false, err
	case n == 26 && x.branch == "" && len(tags) > 0 && len(branches) < 3:
		name := fmt.Sprint("b", x.n, "-", r.IntN(1<<20))
		return "branch " + name, false, m.CreateBranch(ctx, name, tags[r.IntN(len(tags))].Name, false)
	case n == 27 && len(branches) > 0:
		b := x.on(branches[r.IntN(len(branches))])
		b.reload()
		b.write()
		b.compact(r.IntN(2) == 0)
		x.n, x.id, x.now = b.n, b.id, b.now
		return "write to " + b.branch, false, nil
	case n == 28 && len(branches) > 0 && r.IntN(2) == 0:
		b := branches[r.IntN(len(branches))]
		if r.IntN(2) == 0 {
			err = m.FastForward(ctx, b)
			x.reload()
			return "fast-forward to " + b, true, err
		}
		return "delete branch " + b, true, m.DeleteBranch(ctx, b)
	case n == 29 && len(ids) > 1:
		switch r.IntN(3) {
		case 0:
			_, _, err = m.RollbackTo(ctx, ids[r.IntN(len(ids))])
		case 1:
			_, _, _, err = m.RestoreAsLatest(ctx, "", ids[r.IntN(len(ids))])
		default:
			if len(tags) == 0 {
				return "nothing", false, nil
			}
			_, _, err = m.RollbackToTag(ctx, tags[r.IntN(len(tags))].Name)
		}
		x.reload()
		return "go back", true, err
	}
	return "nothing", false, nil
}

func lawTables() []map[string]string {
	return []map[string]string{
		{"manifest.merge-min-count": "3"},
		{"manifest.merge-min-count": "3", "changelog-producer": "input"},
		{"manifest.merge-min-count": "3", "changelog.num-retained.min": "20", "changelog.num-retained.max": "10000", "changelog.time-retained": "1 d"},
		{"manifest.merge-min-count": "3", "changelog-producer": "input", "changelog.num-retained.min": "20"},
	}
}

// TestLaw does random things. At every moment everything that is referred to is
// there; orphan cleaning removes all else and nothing more.
func TestLaw(t *testing.T) {
	// Those above 12 once found files that an expiry took from a tag, after a
	// rollback_to_as_latest had brought them back.
	seeds, steps := []uint64{10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 20, 22, 31}, 90
	if testing.Short() {
		seeds = seeds[:3]
	}
	for n, options := range lawTables() {
		for _, seed := range seeds {
			x := newTable(t, options)
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			left, log := false, []string{}
			for range steps {
				what, leaves, err := x.step(r)
				log = append(log, what)
				if err != nil {
					t.Fatalf("table %d, seed %d: %s: %v\n%q", n, seed, what, err, log)
				}
				left = left || leaves
				over := x.leftovers(fmt.Sprintf("table %d, seed %d: %q", n, seed, log))
				if !left && len(over) > 0 && options["changelog.num-retained.min"] == "" {
					t.Fatalf("table %d, seed %d: %s: nothing refers to %q\n%q", n, seed, what, over, log)
				}
			}
			x.clean(fmt.Sprintf("table %d, seed %d", n, seed))
		}
	}
}

// taggedChangelogs returns the names of what tags name of their snapshots'
// changelogs. Nobody reads a changelog through a tag, but orphan cleaning leaves
// what a tag names.
func (x *table) taggedChangelogs() map[string]bool {
	x.t.Helper()
	branches, err := x.on("").maintain().Branches(ctx)
	x.must(err)
	out := map[string]bool{}
	for _, b := range append(branches, "") {
		tags, err := x.on(b).maintain().Tags(ctx)
		x.must(err)
		for _, g := range tags {
			list := g.Snapshot.ChangelogManifestList
			if list == "" {
				continue
			}
			out[list] = true
			metas, err := x.store().ManifestList(ctx, list)
			if errs.Is(err, errs.FileNotFound) {
				continue // it has expired
			}
			x.must(err)
			for _, m := range metas {
				out[m.FileName] = true
				x.must(x.store().Manifest(ctx, m.FileName, func(e *spec.ManifestEntry) error {
					out[e.File.FileName] = true
					return nil
				}))
			}
		}
	}
	return out
}

// clean removes orphans and demands that what nobody refers to went and nothing
// else. Data files that a manifest in use still names, as deleted or for a
// changelog, may stay until the manifest goes.
func (x *table) clean(what string) {
	x.t.Helper()
	want := x.leftovers(what)
	x.now = time.Now().Add(48 * time.Hour) // the store's clock is older
	m := x.maintain()
	dry, err := m.Orphans(ctx, x.now.Add(-maintain.OrphanAge), true)
	x.must(err)
	if got := x.leftovers(what); len(got) != len(want) {
		x.t.Fatalf("%s: a dry run removes files", what)
	}
	found, err := m.Orphans(ctx, x.now.Add(-maintain.OrphanAge), false)
	x.must(err)
	if !slices.Equal(found.Paths, dry.Paths) {
		x.t.Fatalf("%s: orphan cleaning removes %d files, a dry run says %d", what, len(found.Paths), len(dry.Paths))
	}
	for _, p := range found.Paths {
		if !slices.Contains(want, p) {
			x.t.Fatalf("%s: orphan cleaning removes %s", what, p)
		}
	}
	named := map[string]bool{}
	for p := range x.complete(what + ", cleaned") {
		if name, ok := strings.CutPrefix(p, x.paths().ManifestDir()+"/manifest-"); ok && !strings.HasPrefix(name, "list-") {
			x.must(x.store().Manifest(ctx, "manifest-"+name, func(e *spec.ManifestEntry) error {
				named[e.File.FileName] = true
				return nil
			}))
		}
	}
	for p := range x.taggedChangelogs() {
		named[p] = true
	}
	for _, p := range x.leftovers(what + ", cleaned") {
		if named[p[strings.LastIndexByte(p, '/')+1:]] {
			continue
		}
		if !named[strings.TrimSuffix(p[strings.LastIndexByte(p, '/')+1:], ".index")] {
			x.t.Fatalf("%s: %s is left", what, p)
		}
	}
}

// TestCrashes cuts every operation at every change of the store: what is referred
// to is there, the same operation again succeeds, and orphan cleaning finds the
// rest.
func TestCrashes(t *testing.T) {
	for n, options := range lawTables() {
		if testing.Short() && n%2 == 1 {
			continue
		}
		x := newTable(t, options)
		for i := range 6 {
			x.write()
			if i%2 == 1 {
				x.compact(i == 3)
			}
			if i == 2 {
				x.must(x.maintain().CreateTag(ctx, "mid", 0, 0))
			}
		}
		x.must(x.maintain().CreateTag(ctx, "late", 0, 0))
		x.must(x.maintain().CreateBranch(ctx, "b", "mid", false))
		b := x.on("b")
		b.reload()
		b.write()
		b.compact(true)
		x.n, x.id, x.now = b.n, b.id, b.now
		expired := x.copied()
		_, err := expired.maintain().ExpireSnapshots(ctx, maintain.Retention{Min: 1, Max: 1})
		x.must(err)
		for name, c := range map[string]struct {
			from *table
			run  func(*maintain.Table) error
		}{
			"expire": {x, func(m *maintain.Table) error {
				_, err := m.ExpireSnapshots(ctx, maintain.Retention{Min: 1, Max: 1})
				return err
			}},
			"expire changelogs": {expired, func(m *maintain.Table) error { _, err := m.DropChangelogs(ctx); return err }},
			"delete tag":        {expired, func(m *maintain.Table) error { return m.DeleteTag(ctx, "mid") }},
			"rename tag": {x, func(m *maintain.Table) error {
				if err := m.DeleteTag(ctx, "new"); err != nil { // what a cut call left
					return err
				}
				err := m.RenameTag(ctx, "mid", "new")
				if errs.Is(err, errs.UnknownSnapshot) {
					err = m.CreateTag(ctx, "new", 0, 0)
				}
				return err
			}},
			"roll back":        {x, func(m *maintain.Table) error { _, _, err := m.RollbackTo(ctx, 3); return err }},
			"roll back to tag": {expired, func(m *maintain.Table) error { _, _, err := m.RollbackToTag(ctx, "mid"); return err }},
			"restore":          {x, func(m *maintain.Table) error { _, _, _, err := m.RestoreAsLatest(ctx, "mid", 0); return err }},
			"drop partition":   {x, func(m *maintain.Table) error { v := "a"; return m.DropPartitions(ctx, []map[string]*string{{"p": &v}}) }},
			"manifests":        {x, func(m *maintain.Table) error { return m.CompactManifests(ctx) }},
			"create branch":    {x, func(m *maintain.Table) error { return m.CreateBranch(ctx, "c", "mid", false) }},
			"fast forward":     {x, func(m *maintain.Table) error { return m.FastForward(ctx, "b") }},
			"delete branch": {x, func(m *maintain.Table) error {
				err := m.DeleteBranch(ctx, "b")
				if errs.Is(err, errs.UnknownTable) {
					return nil
				}
				return err
			}},
			"purge":   {x, func(m *maintain.Table) error { return m.Purge(ctx) }},
			"orphans": {expired, func(m *maintain.Table) error { _, err := m.Orphans(ctx, time.Now(), false); return err }},
		} {
			what := fmt.Sprintf("table %d, %s", n, name)
			before, after := newest(c.from), int64(0)
			for at := 1; ; at++ {
				y := c.from.copied()
				y.now = time.Now().Add(time.Hour)
				y.mem.CrashAt((at+1)/2, at%2 == 0)
				err := c.run(y.maintain())
				if !y.mem.Crashed() {
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if at < 3 && name != "orphans" && name != "expire changelogs" {
						t.Errorf("%s: it changes nothing", what)
					}
					break
				}
				y.mem.Restart()
				y.complete(fmt.Sprintf("%s, crash %d", what, at))
				if at == 1 {
					z := c.from.copied()
					z.now = y.now
					if err := c.run(z.maintain()); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					after = newest(z)
				}
				if got := newest(y); got != before && got != after && name != "fast forward" && name != "purge" {
					t.Errorf("%s, crash %d: snapshot %d is the newest, neither %d nor %d", what, at, got, before, after)
				}
				err = c.run(y.maintain())
				if err != nil && !(errs.Is(err, errs.TableExists) && name == "create branch") {
					t.Fatalf("%s, again after crash %d: %v", what, at, err)
				}
				if got := newest(y); got != after && name != "restore" && name != "drop partition" && name != "purge" {
					t.Errorf("%s, again after crash %d: snapshot %d is the newest, not %d", what, at, got, after)
				}
				y.clean(fmt.Sprintf("%s, after crash %d", what, at))
			}
		}
	}
}

func newest(x *table) int64 {
	s, err := x.store().Latest(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	return s.ID
}
