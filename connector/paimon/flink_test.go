package paimon_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/testkit"
)

// TestFlinkTables reads the tables that Flink and Flink CDC left, at their newest
// and older snapshots, and compares with what Flink SQL read.
func TestFlinkTables(t *testing.T) {
	root := testkit.Shared(t, "fixtures/flink-paimon")
	for _, c := range []struct{ dir, expected string }{
		{"quickstart/dwd.db/orders_paimon", "quickstart"},
		{"upsert004/my_db.db/my_tbl", "upsert004"},
	} {
		tb, err := newDriver().Open(ctx, filepath.Join(root, c.dir), catalog.Identifier{Database: "d", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]string{}
		f, err := os.Open(filepath.Join(root, "expected", c.expected+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			var row map[string]json.RawMessage
			if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			var q string
			if err := json.Unmarshal(row["q"], &q); err != nil {
				t.Fatal(err)
			}
			var b []byte
			for i, fd := range tb.Schema().Fields {
				if i > 0 {
					b = append(b, ',')
				}
				v := row[fd.Name]
				if fd.Type.Kind == catalog.Timestamp { // Flink's JSON has a T and no trailing zeros
					var s string
					if err := json.Unmarshal(v, &s); err != nil {
						t.Fatal(err)
					}
					s = strings.Replace(s, "T", " ", 1)
					if fd.Type.Length > 0 {
						whole, frac, _ := strings.Cut(s, ".")
						s = whole + "." + (frac + "000000000")[:fd.Type.Length]
					}
					v = jsonl.AppendString(nil, []byte(s))
				}
				if fd.Type.Kind == catalog.Double { // 32.0
					v = json.RawMessage(strings.TrimSuffix(string(v), ".0"))
				}
				b = append(b, v...)
			}
			want[q] = append(want[q], "["+string(b)+"]")
		}
		if len(want) < 2 {
			t.Fatal(want)
		}
		for q, rowsWanted := range want {
			ref := catalog.Ref{}
			if id, ok := strings.CutPrefix(q, "snapshot-"); ok {
				n, err := strconv.ParseInt(id, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				ref = catalog.Ref{Kind: catalog.BySnapshot, ID: n}
			}
			got, _, err := rows(tb, ref, scanOptions{})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(rowsWanted)
			if !slices.Equal(got, rowsWanted) {
				t.Errorf("%s %s:\n got %s\nwant %s", c.dir, q, strings.Join(got, "\n     "), strings.Join(rowsWanted, "\n     "))
			}
		}
	}
}
