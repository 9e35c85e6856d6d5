package write_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// changeSchemas are append tables whose rows are changed in each way.
func changeSchemas() map[string]*catalog.Schema {
	out := map[string]*catalog.Schema{}
	for name, options := range map[string]map[string]string{
		"copy":     {"file-index.bitmap.columns": "a", "file-index.in-manifest-threshold": "10 bytes"},
		"vectors":  {"deletion-vectors.enabled": "true"},
		"wide":     {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true", "deletion-vector.index-file.target-size": "100 bytes"},
		"buckets":  {"bucket": "3", "bucket-key": "a"},
		"buckets2": {"bucket": "3", "bucket-key": "a", "deletion-vectors.enabled": "true"},
		"tracking": {"row-tracking.enabled": "true"},
		"parts":    {"deletion-vectors.enabled": "true"},
	} {
		s := &catalog.Schema{Fields: []catalog.Field{{Name: "a", Type: catalog.TInt}, {Name: "b", Type: catalog.TString}, {Name: "p", Type: catalog.TInt}}, Options: options}
		if name == "parts" {
			s.PartitionKeys = []string{"p"}
		}
		out[name] = s
	}
	return out
}

// change deletes the rows that want accepts and adds others, as one commit.
func (x *table) change(c connector.TableCommit, id int64, budget *memory.Budget, want func(row string) bool, add ...row) error {
	x.t.Helper()
	tb := x.open().(connector.RowChanger)
	snap, err := tb.(connector.Readable).Snapshot(ctx, catalog.Ref{})
	if err != nil {
		return err
	}
	ch, err := tb.NewRowChange(ctx, snap, connector.WriteOptions{CommitUser: "me", Budget: budget})
	if err != nil {
		return err
	}
	defer ch.Close()
	rows := ch.Rows()
	n := len(rows.Schema().Fields)
	if rows.Schema().Fields[n-1].Name != connector.AddressColumn {
		x.t.Fatal("no column of addresses")
	}
	cols := []int{n - 1}
	for i := range n - 1 {
		cols = append(cols, i)
	}
	plan, err := rows.Plan(ctx, connector.ScanRequest{Columns: cols, BatchRows: 7})
	if err != nil {
		return err
	}
	for _, s := range plan.Splits {
		r, err := s.Open(ctx)
		if err != nil {
			return err
		}
		for {
			b, err := r.Next(ctx)
			if err != nil {
				return err
			}
			if b == nil {
				break
			}
			sel := []uint16{}
			inner := *b
			inner.Cols = b.Cols[1:]
			for i := range b.Rows() {
				if want(rowText(x.schema, &inner, b.Row(i))) {
					sel = append(sel, uint16(b.Row(i)))
				}
			}
			if err := ch.Delete(ctx, b.Cols[0], sel); err != nil {
				return err
			}
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	if len(add) > 0 {
		if err := ch.Write(ctx, x.batch(add...)); err != nil {
			return err
		}
	}
	ms, err := ch.PrepareCommit(ctx)
	if err != nil {
		return err
	}
	_, err = c.Commit(ctx, &connector.Committable{Identifier: id, Messages: ms, ReadVersion: snap.Version()})
	return err
}

// changeHistory writes and changes a table at random and checks it after every
// step.
func changeHistory(t *testing.T, x *table, seed uint64, steps int) []string {
	r := rand.New(rand.NewPCG(seed, 4))
	budget := memory.New("test", 0)
	var want []string
	c := x.committer("me")
	for id := int64(1); id <= int64(steps); id++ {
		var rows []row
		for range r.IntN(12) {
			rows = append(rows, row{vals: []string{fmt.Sprint(r.IntN(40)), strings.Repeat("x", r.IntN(9)), fmt.Sprint(r.IntN(2))}})
		}
		if r.IntN(6) == 0 {
			x.compact(c, 1000+id, r.IntN(2) == 0)
			same(t, fmt.Sprintf("compaction before step %d", id), x.read(catalog.Ref{}), want)
		}
		k := fmt.Sprintf("[%d", r.IntN(6))
		drop := func(s string) bool { return strings.HasPrefix(s, k) || r.IntN(50) == 0 }
		if r.IntN(3) == 0 {
			x.do(x.writer(nil), c, id, rows...)
		} else {
			gone := map[string]int{}
			if err := x.change(c, id, budget, func(s string) bool {
				if drop(s) {
					gone[s]++
					return true
				}
				return false
			}, rows...); err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, s := range want {
				if gone[s] > 0 {
					gone[s]--
					continue
				}
				kept = append(kept, s)
			}
			want = kept
		}
		if len(rows) > 0 {
			b := x.batch(rows...)
			for i := range b.Rows() {
				want = append(want, rowText(x.schema, b, i))
			}
		}
		slices.Sort(want)
		same(t, fmt.Sprintf("step %d", id), x.read(catalog.Ref{}), want)
	}
	if budget.Used() != 0 {
		t.Errorf("%d bytes are still reserved", budget.Used())
	}
	return want
}

func TestRowChange(t *testing.T) {
	for name, s := range changeSchemas() {
		t.Run(name, func(t *testing.T) {
			changeHistory(t, newTable(t, fileio.NewMemory(), "/db.db/t", s), 1, 25)
		})
	}
}

// TestRowChangeJava lets Java check changed tables.
func TestRowChangeJava(t *testing.T) {
	program := os.Getenv("THERMOCLINE_PAIMON_JAVA")
	if program == "" {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon")
	}
	root := t.TempDir()
	var in strings.Builder
	n := 0
	for name, s := range changeSchemas() {
		x := newTable(t, fileio.Local{NoSync: true}, filepath.Join(root, "default.db", name), s)
		want := changeHistory(t, x, 2, 20)
		fmt.Fprintf(&in, "verify\t%s\t%s\n", x.dir, x.expect(name, want))
		if name == "tracking" {
			fmt.Fprintf(&in, "dump\t%s\t--system\trow_tracking\t--all\t> %s/tracked\n", x.dir, root)
		}
		n++
	}
	cmd := exec.Command(program, "batch")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "0 problems") != n {
		t.Errorf("Java disagrees: %v\n%s", err, out)
	}
	tracked, err := os.ReadFile(filepath.Join(root, "tracked"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, l := range strings.Split(strings.TrimSpace(string(tracked)), "\n")[1:] {
		f := strings.Split(strings.Trim(l, "[]"), ",")
		id := f[len(f)-2]
		if id == "null" || ids[id] {
			t.Errorf("the row id of %s", l)
		}
		ids[id] = true
	}
}

// TestRowChangeMisuse checks that wrong addresses are told.
func TestRowChangeMisuse(t *testing.T) {
	x := newTable(t, fileio.NewMemory(), "/db.db/t", changeSchemas()["copy"])
	x.do(x.writer(nil), x.committer("me"), 1, row{vals: []string{"1", "a", "1"}})
	tb := x.open().(connector.RowChanger)
	snap, err := tb.(connector.Readable).Snapshot(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]int64{{0, 0}, {1}, {-1}, {1 << 32}} {
		ch, err := tb.NewRowChange(ctx, snap, connector.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v := vector.New(vector.I64, 2)
		for _, a := range list {
			v.AppendI64(a)
		}
		if err := ch.Delete(ctx, v, nil); err == nil {
			t.Errorf("addresses %v are accepted", list)
		}
		ch.Close()
	}
}
