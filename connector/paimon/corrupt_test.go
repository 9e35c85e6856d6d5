package paimon_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
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
	flips, silent := damage(t, files, 12, "pk_dedup_levels_parquet", "types_append_parquet")
	if silent > flips/100 { // pages have checksums
		t.Errorf("%d of %d changed bits of data files changed rows", silent, flips)
	}
}

// TestDamagedFixtures does the same with tables in ORC and Avro.
func TestDamagedFixtures(t *testing.T) {
	names := []string{"pk_dedup_levels_orc", "types_append_orc", "pk_dedup_levels_avro", "types_append_avro", "type_blob", "manifest_format_orc"}
	files := fileio.NewMemory()
	for _, name := range names {
		root := testkit.Shared(t, "fixtures/paimon-latest/"+name+"/default.db/t")
		err := filepath.WalkDir(root, func(path string, de fs.DirEntry, err error) error {
			if err != nil || de.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return files.WriteFile(ctx, "/lake/"+name+"/default.db/t"+strings.TrimPrefix(path, root), data)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// Neither format has checksums, so that a changed bit may be another value.
	damage(t, files, 4, names...)
}

// foreign are files of other kinds, and of other formats' magic.
var foreign = [][]byte{[]byte("PAR1PAR1"), []byte("ORC"), []byte("Obj\x01\x00"), []byte("{}"), []byte("\x7fELF\x02\x01\x01 this is no data file, whatever its name says, and it goes on for a while")}

// damage damages each file that reading tables below /lake needs, and changes n
// bits of each. It returns how many changed bits of data files there were, and how
// many of them changed rows without an error.
func damage(t *testing.T, files *fileio.Memory, n int, names ...string) (changed, unseen int) {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	detected, flips, silent := map[string]int{}, map[string]int{}, map[string]int{}
	for _, name := range names {
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
			for _, bad := range foreign {
				_, err = damaged(t, files, dir, path, bad)
				fail("replacing", err, errs.Corruption, errs.Unsupported)
				// Of the size that manifests say, so that the format itself notices.
				bad = append(append([]byte(nil), bad...), make([]byte, len(data))...)[:len(data)]
				_, err = damaged(t, files, dir, path, bad)
				fail("replacing in size", err, errs.Corruption, errs.Unsupported)
			}
			for range n {
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
				if strings.Contains(err.Error(), "parquet.(") || strings.Contains(err.Error(), "goroutine") {
					t.Errorf("%s: a changed %s made a panic: %v", name, path, err)
				}
				if c := errs.ClassOf(err); c == errs.Internal || c == errs.UnknownOutcome {
					t.Errorf("%s: changing %s: class %s: %v", name, path, c, err)
				}
			}
		}
	}
	t.Logf("of %v changed bits %v were detected, %v changed rows", flips, detected, silent)
	return flips["bucket"], silent["bucket"]
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

// TestDamagedIndexes cuts and changes file indexes: a cut one is an error that
// names the table and the file, and nothing makes a panic. (The format has no
// checksums: a changed bit of a bloom filter is another filter.)
func TestDamagedIndexes(t *testing.T) {
	files, _ := loadCorpus(t)
	dir := "/lake/file_index_files/default.db/t"
	filter := &connector.Predicate{Op: connector.Eq, Column: 1, Value: one(catalog.TString, func(v *vector.Vec) { v.AppendString("v47") })}
	scan := func(m *fileio.Memory) error {
		tb, err := driverOver(m).Open(ctx, dir, catalog.Identifier{Database: "default", Table: "t"})
		if err != nil {
			return err
		}
		snap, err := tb.Snapshot(ctx, catalog.Ref{})
		if err != nil {
			return err
		}
		plan, err := snap.Plan(ctx, connector.ScanRequest{Columns: []int{0, 1}, Filter: filter})
		for i := 0; err == nil && i < len(plan.Splits); i++ {
			var r connector.BatchReader
			if r, err = plan.Splits[i].Open(ctx); err != nil {
				break
			}
			for b, e := r.Next(ctx); b != nil || e != nil; b, e = r.Next(ctx) {
				if err = e; e != nil {
					break
				}
			}
			r.Close()
		}
		return err
	}
	if err := scan(files); err != nil {
		t.Fatal(err)
	}
	list, err := files.List(ctx, dir+"/bucket-0")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	n := 0
	for _, in := range list {
		if !strings.HasSuffix(in.Name, ".index") {
			continue
		}
		n++
		path := dir + "/bucket-0/" + in.Name
		data, err := files.ReadFile(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, data []byte, must bool) {
			m := files.Clone()
			if data == nil {
				err = m.Remove(ctx, path)
			} else {
				err = m.WriteFile(ctx, path, data)
			}
			if err != nil {
				t.Fatal(err)
			}
			err := scan(m)
			if err == nil && must || err != nil && (!strings.Contains(err.Error(), in.Name) || !strings.Contains(err.Error(), "default.t")) {
				t.Errorf("%s: %v", what, err)
			}
		}
		try("missing", nil, true)
		try("foreign", []byte("PAR1 this is not an index, though it is long enough"), true)
		for _, cut := range []int{0, 10, 40, 100, len(data) / 2} {
			try("cut", data[:cut], true)
		}
		for range 60 {
			b := slices.Clone(data)
			b[r.IntN(min(len(b), 300))] ^= 1 << r.IntN(8)
			try("changed", b, false)
		}
	}
	if n == 0 {
		t.Error("the table has no indexes beside its files")
	}
}
