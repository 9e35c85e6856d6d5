package expr

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/thermocline/thermocline/internal/vector"
)

// TestCollationOrder: characters of many scripts and some words have the ranks
// among all of them that MySQL 9.7 gives them, compared and by sort keys, and
// its upper and lower case. testdata/collation-order.json.gz has its answers.
func TestCollationOrder(t *testing.T) {
	var cases []map[string]any
	if err := json.Unmarshal(unzipped(t, "collation-order.json.gz"), &cases); err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range cases[0] {
		if collations[n] != nil {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	if len(names) != 8 {
		t.Fatalf("collations: %v", names)
	}
	for _, n := range names {
		ty := TString(40, n)
		v := vector.New(vector.Str, len(cases))
		for _, c := range cases {
			v.AppendString(c["text"].(string))
		}
		keys := make([][]byte, len(cases))
		for i := range cases {
			keys[i] = AppendSortKey(nil, ty, v, i)
		}
		rank := func(i int) float64 { return cases[i][n].(float64) }
		order := Comparer(ty)
		wrong := 0
		for i := range cases {
			for _, j := range []int{(i + 1) % len(cases), (i * 7) % len(cases), (i*31 + 5) % len(cases), (i*101 + 17) % len(cases), (i*389 + 3) % len(cases)} {
				want := b2i(rank(i) > rank(j)) - b2i(rank(i) < rank(j))
				if got, key := sign(order(v, i, v, j)), bytes.Compare(keys[i], keys[j]); got != want || key != want {
					if wrong++; wrong < 10 {
						t.Errorf("%s: %q and %q compare %d, by key %d, want %d", n, cases[i]["text"], cases[j]["text"], got, key, want)
					}
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d differ", n, wrong)
		}
	}
	for _, c := range cases {
		for _, f := range []string{"UPPER", "LOWER"} {
			x, err := Call(NewContext(), f, Literal(StringValue(c["text"].(string), DefaultCollation)))
			if err != nil {
				t.Fatal(err)
			}
			if c[lower(f)] == "" && c["text"] != "" {
				continue // MySQL cuts what needs more bytes in its other case: Ⱥ, Ⱦ, ȿ, ɀ
			}
			if got := string(x.(*LiteralExpr).Val.Vec.Bytes(0)); got != c[lower(f)] {
				t.Errorf("%s(%q) is %q, want %q", f, c["text"], got, c[lower(f)])
			}
		}
	}
}
