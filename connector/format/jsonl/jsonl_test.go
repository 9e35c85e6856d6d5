package jsonl

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/vector"
)

// TestFloats compares with encoding/json, which lays floats out as ECMAScript.
func TestFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20000 {
		f := math.Float64frombits(r.Uint64())
		if i < 8 {
			f = []float64{0, math.Copysign(0, -1), 1e21, 1e-7, 1e-6, 123456789012345678901, 0.1, -1e-9}[i]
		}
		if !math.IsNaN(f) && !math.IsInf(f, 0) {
			if want, _ := json.Marshal(f); string(appendFloat(nil, f, 64)) != string(want) {
				t.Fatalf("%v: %s, want %s", f, appendFloat(nil, f, 64), want)
			}
		}
		g := math.Float32frombits(r.Uint32())
		if i < 8 {
			g = float32(f)
		}
		if f := float64(g); !math.IsNaN(f) && !math.IsInf(f, 0) {
			if want, _ := json.Marshal(g); string(appendFloat(nil, f, 32)) != string(want) {
				t.Fatalf("%v: %s, want %s", g, appendFloat(nil, f, 32), want)
			}
		}
	}
}

// TestTimestamps compares with package time.
func TestTimestamps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		us := r.Int64N(2*253402300800e6) - 62135596800e6 // years 1 and after
		if us >= 253402300800e6 {
			us -= 253402300800e6
		}
		want := time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000000")
		if got := string(AppendTimestamp(nil, us, 6)); got != want {
			t.Fatalf("%d: %s, want %s", us, got, want)
		}
		if got := string(AppendTimestampNanos(nil, vector.Int128From(us).Add(vector.Int128{}), 9)); !strings.Contains(got, ":") {
			t.Fatal(got)
		}
	}
	big := vector.Int128FromUint(math.MaxUint64).Add(vector.Int128FromUint(math.MaxUint64))
	if got := string(AppendTimestampNanos(nil, big, 9)); got != "3139-02-09 23:09:07.419103230" {
		t.Error(got)
	}
	if got := string(AppendTimestampNanos(nil, big.Neg(), 9)); got != "0800-11-22 00:50:52.580896770" {
		t.Error(got)
	}
	for days, want := range map[int64]string{0: "1970-01-01", -719528: "0000-01-01", -719529: "-0001-12-31", 2932897: "10000-01-01"} {
		if got := string(AppendDate(nil, days)); got != want {
			t.Errorf("%d: %s, want %s", days, got, want)
		}
	}
}

func TestText(t *testing.T) {
	str := vector.New(vector.Str, 1)
	str.AppendString("a\"\\\b\f\n\r\t\x01\x1f<\u2028é")
	if got, want := string(AppendValue(nil, str, 0, catalog.TString)), `"a\"\\\b\f\n\r\t\u0001\u001f<`+"\u2028é\""; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(AppendValue(nil, str, 0, catalog.TBytes)); !strings.HasPrefix(got, `{"b":"61225c08`) {
		t.Error(got)
	}
	m := catalog.Type{Kind: catalog.Map, Key: &catalog.TString, Elem: &catalog.TInt}
	v := m.NewVec(1)
	for _, k := range []string{"b", "a"} {
		v.Child[0].AppendString(k)
		v.Child[1].AppendI32(int32(k[0]))
	}
	v.CloseList()
	if got, want := string(AppendValue(nil, v, 0, m)), `{"m":[["a",97],["b",98]]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(Header("t", []string{"<k"}, []catalog.Type{catalog.TInt.Required()})), `{"table":"t","columns":[{"name":"<k","type":"INT NOT NULL"}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
