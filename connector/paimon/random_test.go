package paimon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/testkit"
)

// fromEnv is a number from the environment, or def.
func fromEnv(t *testing.T, name string, def int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return def
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s is no number", name, s)
	}
	return n
}

// TestJavaRandom has Java Paimon make tables with random schemas, options and
// histories of writes, deletions, compactions, schema changes, tags, rollbacks and
// expiry, and compares the newest state, the last snapshot of every step and
// every tag with what Java reads. THERMOCLINE_PAIMON_JAVA names a program that
// makes them (`random`, `batch`); THERMOCLINE_RANDOM_TABLES is how many, from the
// seed THERMOCLINE_RANDOM_SEED on, and THERMOCLINE_RANDOM_STEPS the length of their
// histories, 0 for 30 to 100 as the seed says.
func TestJavaRandom(t *testing.T) {
	java := javaPaimon(t)
	tables, first := fromEnv(t, "THERMOCLINE_RANDOM_TABLES", 30), fromEnv(t, "THERMOCLINE_RANDOM_SEED", 1)
	steps := fromEnv(t, "THERMOCLINE_RANDOM_STEPS", 8)
	const chunk = 30 // made by one JVM, and on disk at once
	equal, refused, wrong := 0, map[string]int{}, 0
	for from := first; from < first+tables; from += chunk {
		root := t.TempDir()
		to := min(from+chunk, first+tables)
		var batch strings.Builder
		for seed := from; seed < to; seed++ {
			fmt.Fprintf(&batch, "random\t--seed\t%d\t--dir\t%s/%d\t--quiet", seed, root, seed)
			if steps > 0 {
				fmt.Fprintf(&batch, "\t--steps\t%d", steps)
			}
			batch.WriteByte('\n')
		}
		java.must(t, batch.String())
		for seed := from; seed < to; seed++ {
			dir := filepath.Join(root, strconv.Itoa(seed))
			files, err := filepath.Glob(filepath.Join(dir, "expected", "*.jsonl"))
			if err != nil || len(files) == 0 {
				t.Fatalf("seed %d has no expected rows: %v", seed, err)
			}
			d := newDriver()
			for _, f := range files {
				name := strings.TrimSuffix(filepath.Base(f), ".jsonl")
				e, ok := randomRead(name)
				if !ok {
					continue
				}
				if e.Ref.Kind == catalog.BySnapshot && replaced(t, f, filepath.Join(dir, "warehouse", e.Table, "snapshot", name)) {
					continue
				}
				got, err := outcome(d, filepath.Join(dir, "warehouse"), e, testkit.LoadRows(t, f), scanOptions{})
				if strings.Contains(got, "LOCAL TIME ZONE in ORC") {
					// Which zone the writer was in is known here: UTC.
					e.Ref = catalog.Ref{Kind: catalog.ByOptions, Options: exactInstants(e.Ref)}
					got, err = outcome(d, filepath.Join(dir, "warehouse"), e, testkit.LoadRows(t, f), scanOptions{})
				}
				switch {
				case err != nil:
					wrong++
					t.Errorf("seed %d, %s: %v", seed, filepath.Base(f), err)
				case got == "equal":
					equal++
				default:
					refused[got]++
				}
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d tables: %d reads are equal, %d differ, refused: %v", tables, equal, wrong, refused)
}

// exactInstants are the options of a statement that read a version, and say that
// ORC has instants as they are.
func exactInstants(ref catalog.Ref) map[string]string {
	o := map[string]string{"orc.timestamp-ltz.legacy.type": "false"}
	switch ref.Kind {
	case catalog.BySnapshot:
		o["scan.snapshot-id"] = strconv.FormatInt(ref.ID, 10)
	case catalog.ByTag:
		o["scan.tag-name"] = ref.Name
	}
	return o
}

// replaced reports whether a snapshot was made after the rows that another one of
// its number was read with: a rollback came between.
func replaced(t *testing.T, rows, snapshot string) bool {
	t.Helper()
	a, err := os.Stat(rows)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.Stat(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return b.ModTime().After(a.ModTime())
}

// randomRead is the read that a file of expected rows is of.
func randomRead(name string) (testkit.Expected, bool) {
	e := testkit.Expected{Path: name, Table: "default.db/t"}
	switch {
	case name == "latest":
	case strings.HasPrefix(name, "snapshot-"):
		id, err := strconv.ParseInt(name[len("snapshot-"):], 10, 64)
		if err != nil {
			return e, false
		}
		e.Ref = catalog.Ref{Kind: catalog.BySnapshot, ID: id}
	case strings.HasPrefix(name, "tag-"):
		e.Ref = catalog.Ref{Kind: catalog.ByTag, Name: name[len("tag-"):]}
	default: // changelogs
		return e, false
	}
	return e, true
}
