package write_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon/write"
)

func postponeTables() []engineTable {
	return []engineTable{
		{name: "plain", options: map[string]string{"bucket": "-2", "postpone.default-bucket-num": "3"}, deletes: true},
		{name: "parts", options: map[string]string{"bucket": "-2", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, parts: true},
		{name: "vectors", options: map[string]string{"bucket": "-2", "deletion-vectors.enabled": "true"}, deletes: true},
	}
}

// postponeHistory writes and places rows, and returns what the table then must
// hold: what the same rows make in a table with buckets.
func postponeHistory(t *testing.T, x *table, e engineTable, seed uint64) []string {
	o := map[string]string{}
	for k, v := range e.options {
		o[k] = v
	}
	o["bucket"] = "1"
	twin := newTable(t, fileio.NewMemory(), "/db.db/t", engineTable{name: e.name, options: o, parts: e.parts}.schema())
	r := rand.New(rand.NewPCG(seed, 5))
	c, d := x.committer("cdc"), twin.committer("cdc")
	user := func(cfg *write.Config) { cfg.CommitUser, cfg.Synchronous = "cdc", true }
	for id := int64(1); id <= 9; id++ {
		rows := e.rows(r, 30)
		x.do(x.writer(user), c, id, rows...)
		twin.do(twin.writer(user), d, id, rows...)
		if id%3 == 0 {
			x.compactAll(c, 100+id) // places them
			x.compactAll(c, 200+id)
			twin.compactAll(d, 100+id)
			same(t, fmt.Sprintf("after commit %d", id), x.read(catalog.Ref{}), twin.read(catalog.Ref{}))
		}
	}
	return twin.read(catalog.Ref{})
}

func TestPostpone(t *testing.T) {
	for _, e := range postponeTables() {
		t.Run(e.name, func(t *testing.T) {
			x := newTable(t, fileio.NewMemory(), "/db.db/t", e.schema())
			postponeHistory(t, x, e, 1)
			x.sound("in the end")
		})
	}
}

// TestPostponeJava lets Java check such tables, and place rows that we wrote.
func TestPostponeJava(t *testing.T) {
	program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if program == "" {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon")
	}
	root := t.TempDir()
	var in strings.Builder
	for _, e := range postponeTables() {
		x := newTable(t, fileio.Local{NoSync: true}, filepath.Join(root, e.name, "default.db", "t"), e.schema())
		want := x.expect("want", postponeHistory(t, x, e, 2))
		fmt.Fprintf(&in, "verify\t%s\t%s\n", x.dir, want)
		r := rand.New(rand.NewPCG(3, 5))
		x.do(x.writer(func(cfg *write.Config) { cfg.CommitUser = "cdc" }), x.committer("cdc"), 50, e.rows(r, 30)...)
		x.do(x.writer(func(cfg *write.Config) { cfg.CommitUser = "cdc" }), x.committer("cdc"), 51, e.rows(r, 30)...)
		script := filepath.Join(root, e.name, "script")
		if err := os.WriteFile(script, []byte(`{"op":"use","table":"default.t"}`+"\n"+`{"op":"compact","full":true}`+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		// The same by us, in a copy.
		twin := filepath.Join(root, e.name+"_twin", "default.db")
		if err := os.CopyFS(twin, os.DirFS(filepath.Dir(x.dir))); err != nil {
			t.Fatal(err)
		}
		y := *x
		y.dir = filepath.Join(twin, "t")
		y.paths = newPaths(y.dir, x.schema)
		y.compactAll(y.committer("cdc"), 60)
		y.compactAll(y.committer("cdc"), 61)
		want = y.expect("want", y.read(catalog.Ref{}))
		fmt.Fprintf(&in, "exec\t--warehouse\t%s\t%s\n", filepath.Join(root, e.name), script)
		fmt.Fprintf(&in, "verify\t%s\t%s\n", x.dir, want)
		fmt.Fprintf(&in, "verify\t%s\t%s\n", y.dir, want)
	}
	cmd := exec.Command(program, "batch")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "0 problems") != 3*len(postponeTables()) {
		t.Errorf("Java disagrees: %v\n%s", err, out)
	}
}
