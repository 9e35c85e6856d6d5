package paimon_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// damaged reads the newest version of a table after one of its files was
// changed: removed for nil data.
func damaged(t *testing.T, files *fileio.Memory, dir, path string, data []byte) ([]string, error) {
	t.Helper()
	m := files.Clone()
	if data == nil {
		if err := m.Remove(ctx, path); err != nil {
			t.Fatal(err)
		}
	} else if err := m.WriteFile(ctx, path, data); err != nil {
		t.Fatal(err)
	}
	tb, err := driverOver(m).Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t"})
	if err != nil {
		return nil, err
	}
	got, _, err := rows(tb, catalog.Ref{}, scanOptions{})
	return got, err
}

// used returns the files that a read of the newest version needs.
func used(t *testing.T, files *fileio.Memory, dir string) (paths []string) {
	t.Helper()
	m := files.Clone()
	seen := map[string]bool{}
	m.SetFault(func(op fileio.Op) fileio.Outcome {
		if (op.Verb == "read" || op.Verb == "open") && !seen[op.Path] {
			seen[op.Path] = true
			paths = append(paths, op.Path)
		}
		return fileio.Proceed
	})
	tb, err := driverOver(m).Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := rows(tb, catalog.Ref{}, scanOptions{}); err != nil {
		t.Fatal(err)
	}
	return paths
}

// kindOf names the kind of file by its path.
func kindOf(path string) string {
	for _, k := range []string{"/schema/", "/snapshot/", "manifest-list-", "/manifest/", "bucket-"} {
		if strings.Contains(path, k) {
			return strings.Trim(k, "/-")
		}
	}
	return path
}

// TestDamagedFiles removes, cuts and changes each file that a read needs. A
// missing or cut file is an error that names the table and the file; a changed
// one never makes a panic, and what its checksums cover is an error too.
func TestDamagedFiles(t *testing.T) {
	files, _ := loadCorpus(t)
	r := rand.New(rand.NewPCG(9, 9))
	detected, flips, silent := map[string]int{}, map[string]int{}, map[string]int{}
	for _, name := range []string{"pk_dedup_levels_parquet", "types_append_parquet"} {
		dir := "/lake/" + name + "/default.db/t"
		tb, err := driverOver(files).Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := rows(tb, catalog.Ref{}, scanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range used(t, files, dir) {
			data, err := files.ReadFile(ctx, path)
			if errs.Is(err, errs.FileNotFound) || strings.HasSuffix(path, "LATEST") {
				continue // hints may be missing or wrong
			}
			if err != nil {
				t.Fatal(err)
			}
			file := path[strings.LastIndexByte(path, '/')+1:]
			fail := func(what string, err error, classes ...errs.Class) {
				t.Helper()
				if err == nil {
					t.Errorf("%s: %s %s is no error", name, what, path)
					return
				}
				ok := false
				for _, c := range classes {
					ok = ok || errs.ClassOf(err) == c
				}
				if !ok || !strings.Contains(err.Error(), "default.t") && !strings.Contains(err.Error(), dir) ||
					!strings.Contains(err.Error(), file) && kindOf(path) != "schema" && kindOf(path) != "snapshot" || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %s %s: class %s, %v", name, what, path, errs.ClassOf(err), err)
				}
			}
			if kindOf(path) != "snapshot" { // without its file, the one before is the newest
				_, err = damaged(t, files, dir, path, nil)
				fail("removing", err, errs.Unavailable, errs.Corruption, errs.User)
			}
			for _, n := range []int{0, 1, len(data) / 2, len(data) - 1} {
				_, err = damaged(t, files, dir, path, append([]byte{}, data[:n]...))
				fail("cutting", err, errs.Corruption)
			}
			for range 12 {
				bad := append([]byte(nil), data...)
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
				got, err := damaged(t, files, dir, path, bad)
				flips[kindOf(path)]++
				if err == nil {
					if !slices.Equal(got, want) {
						silent[kindOf(path)]++
					}
					continue
				}
				detected[kindOf(path)]++
				if strings.Contains(err.Error(), "parquet.(") {
					t.Errorf("%s: a changed %s made a panic: %v", name, path, err)
				}
				if c := errs.ClassOf(err); c == errs.Internal || c == errs.UnknownOutcome {
					t.Errorf("%s: changing %s: class %s: %v", name, path, c, err)
				}
			}
		}
	}
	t.Logf("of %v changed bits %v were detected, %v changed rows", flips, detected, silent)
	if silent["bucket"] > flips["bucket"]/100 {
		t.Errorf("%d of %d changed bits of data files changed rows", silent["bucket"], flips["bucket"])
	}
}

// TestMetadataComesBack replaces a table by another of the same name: caches
// must not mix them up.
func TestMetadataComesBack(t *testing.T) {
	files, _ := loadCorpus(t)
	m := fileio.NewMemory()
	d := driverOver(m)
	copyTable := func(name string) {
		t.Helper()
		if err := m.RemoveAll(ctx, "/w/t"); err != nil {
			t.Fatal(err)
		}
		prefix := "/lake/" + name + "/default.db/t/"
		for _, p := range files.Paths() {
			if rel, ok := strings.CutPrefix(p, prefix); ok {
				data, err := files.ReadFile(ctx, p)
				if err == nil {
					err = m.WriteFile(ctx, "/w/t/"+rel, data)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var uuids []string
	var counts []int
	for _, name := range []string{"pk_dedup_levels_parquet", "types_append_parquet", "pk_dedup_levels_parquet"} {
		copyTable(name)
		tb, err := d.Open(ctx, "/w/t", catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := rows(tb, catalog.Ref{}, scanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		uuids, counts = append(uuids, tb.UUID()), append(counts, len(got))
	}
	if uuids[0] == uuids[1] || uuids[0] != uuids[2] || counts[0] == counts[1] || counts[0] != counts[2] {
		t.Error(uuids, counts)
	}
}
