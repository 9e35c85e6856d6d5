package write

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/vector"
)

// runs makes runs from pairs of level and size, newest first.
func runs(pairs ...int64) []sortedRun {
	var out []sortedRun
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, sortedRun{int32(pairs[i]), []spec.DataFileMeta{{FileName: fmt.Sprint(i), Level: int32(pairs[i]), FileSize: pairs[i+1]}}, pairs[i+1]})
	}
	return out
}

// TestCut has the cases of Java Paimon's UniversalCompactionTest.testOutputLevel.
func TestCut(t *testing.T) {
	levels := runs(0, 1, 0, 1, 1, 1, 3, 1, 4, 1)
	for n, want := range map[int]int32{1: 1, 2: 1, 3: 2, 4: 3, 5: 5} {
		if u := cut(levels, n, 5); u.level != want {
			t.Errorf("%d runs go to level %d, want %d", n, u.level, want)
		}
	}
}

// TestPick has the cases of Java Paimon's UniversalCompactionTest.testPick, and
// the limits of each rule.
func TestPick(t *testing.T) {
	for _, c := range []struct {
		name       string
		amp, ratio int64
		trigger    int
		runs       []sortedRun
		sizes      []int64 // of what is picked, nil for nothing
		level      int32
	}{
		{"amplification", 25, 1, 3, runs(0, 1, 0, 2, 0, 3, 0, 3), []int64{1, 2, 3, 3}, 3},
		{"size ratio", 25, 1, 3, runs(0, 1, 1, 1, 2, 1, 3, 50), []int64{1, 1, 1}, 2},
		{"number, extended by size ratio", 25, 1, 3, runs(0, 1, 1, 2, 2, 3, 3, 50), []int64{1, 2, 3}, 2},
		{"below the trigger", 25, 1, 5, runs(0, 1, 0, 1, 0, 1, 3, 1), nil, 0},
		{"at the trigger, nothing alike", 200, 1, 3, runs(0, 1, 0, 20, 3, 500), nil, 0},
		{"amplification is not above the limit", 200, 0, 2, runs(0, 200, 3, 100), []int64{200, 100}, 3}, // by ratio
		{"one file at its level", 200, 1, 1, runs(3, 10), nil, 0},
		{"one file of level 0", 200, 1, 1, runs(0, 10), nil, 0},
	} {
		o := &options{maxAmp: c.amp, sizeRatio: c.ratio, trigger: c.trigger}
		u, ok := o.pick(c.runs, 4, false)
		var sizes []int64
		for _, r := range u.runs {
			sizes = append(sizes, r.size)
		}
		if ok != (c.sizes != nil) || ok && (!slices.Equal(sizes, c.sizes) || u.level != c.level) {
			t.Errorf("%s: picked %v into level %d (%v), want %v into %d", c.name, sizes, u.level, ok, c.sizes, c.level)
		}
	}
}

// TestPrefix checks that the prefixes of values order as the values do.
func TestPrefix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []catalog.Type{catalog.TBoolean, catalog.TInt, catalog.TBigInt, catalog.TDecimal(30, 2), catalog.TFloat, catalog.TDouble, catalog.TString} {
		v := typ.NewVec(0)
		for range 400 {
			switch n := r.Int64() >> r.IntN(64); v.Kind {
			case vector.I8:
				v.AppendI8(int8(n & 1))
			case vector.I32:
				v.AppendI32(int32(n))
			case vector.I64:
				v.AppendI64(n - 5)
			case vector.I128:
				v.AppendI128(vector.Int128{Hi: n >> 50, Lo: r.Uint64()})
			case vector.F32:
				v.AppendF32(math.Float32frombits(r.Uint32()))
			case vector.F64:
				v.AppendF64([]float64{math.Float64frombits(r.Uint64()), 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1}[r.IntN(7)])
			case vector.Str:
				b := make([]byte, r.IntN(12))
				for i := range b {
					b[i] = []byte{0, 1, 'a', 0xff}[r.IntN(4)]
				}
				v.AppendBytes(b)
			}
			if r.IntN(20) == 0 {
				v.SetNull(v.Len - 1)
			}
		}
		for i := range v.Len {
			for j := range v.Len {
				p := cmp.Compare(prefix(v, i), prefix(v, j))
				if want := vector.Compare(v, i, v, j); p != 0 && p != want {
					t.Fatalf("%s: rows %d and %d compare %d, their prefixes %d", typ, i, j, want, p)
				} else if p == 0 && want != 0 && fixedPrefix(v.Kind) && !v.IsNull(i) && !v.IsNull(j) {
					t.Fatalf("%s: the prefixes of rows %d and %d are the same", typ, i, j)
				}
			}
		}
	}
}

// TestKeepStats checks what the modes leave of a column's statistics.
func TestKeepStats(t *testing.T) {
	str := func(s string) *vector.Vec {
		v := vector.New(vector.Str, 1)
		v.AppendString(s)
		return v
	}
	c := format.ColumnStats{Min: str("abcdefgh"), Max: str("zzzzzzzz"), Nulls: 3}
	show := func(s spec.ColumnStats) string {
		out := "-"
		if s.Min != nil {
			out = s.Min.String(0) + ".." + s.Max.String(0)
		}
		if s.Nulls.OK {
			out += fmt.Sprint(" ", s.Nulls.V)
		}
		return out
	}
	for text, want := range map[string]string{"none": "-", "counts": "- 3", "full": "abcdefgh..zzzzzzzz 3", "truncate(3)": "abc..zz{ 3", "TRUNCATE(16)": "abcdefgh..zzzzzzzz 3"} {
		m, err := parseStatsMode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := show(keep(m, catalog.TString, c)); got != want {
			t.Errorf("%s keeps %q, want %q", text, got, want)
		}
	}
	top := format.ColumnStats{Min: str("\U0010ffff\U0010ffff"), Max: str("\U0010ffff\U0010ffff"), Nulls: 0}
	if got := show(keep(statsMode{truncate: 1}, catalog.TString, top)); got != "- 0" {
		t.Errorf("no upper bound exists, but %q is kept", got)
	}
	if got := keep(statsMode{}, catalog.TString, format.ColumnStats{Nulls: -1}); !got.None() {
		t.Errorf("unknown statistics are kept: %v", got)
	}
	if _, err := parseStatsMode("truncate(0)"); err == nil {
		t.Error("truncate(0) is a mode")
	}
	s := &catalog.Schema{PrimaryKeys: []string{"k"}, Fields: []catalog.Field{{Name: "k", Type: catalog.TInt.Required()}, {Name: "a", Type: catalog.TString}, {Name: "b", Type: catalog.TString}},
		Options: map[string]string{"bucket": "1", "metadata.stats-mode": "counts", "fields.b.stats-mode": "full", "metadata.stats-keep-first-n-columns": "1",
			"metadata.stats-mode.per.level": "0:none,5:truncate(2)"}}
	o, err := readOptions(s)
	if err != nil {
		t.Fatal(err)
	}
	if !o.stats[0].counts || !o.stats[1].none || o.stats[2] != (statsMode{}) || !o.statsLevels[0].none || o.statsLevels[5].truncate != 2 {
		t.Errorf("modes %+v %+v", o.stats, o.statsLevels)
	}
}
