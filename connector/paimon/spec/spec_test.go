package spec_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// vec makes a one-row vector from text: "" with null for NULL.
func vec(t testing.TB, typ catalog.Type, text string, null bool) *vector.Vec {
	t.Helper()
	v := typ.NewVec(1)
	if null {
		v.AppendNull()
		return v
	}
	i64 := func() int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch typ.Kind {
	case catalog.Boolean:
		v.AppendBool(text == "true")
	case catalog.TinyInt, catalog.SmallInt, catalog.Int, catalog.Date, catalog.Time:
		v.AppendI32(int32(i64()))
	case catalog.BigInt:
		v.AppendI64(i64())
	case catalog.Float:
		f, _ := strconv.ParseFloat(text, 32)
		v.AppendF32(float32(f))
	case catalog.Double:
		f, _ := strconv.ParseFloat(text, 64)
		v.AppendF64(f)
	case catalog.Decimal:
		u, exact, ok := vector.ParseDecimal(text, typ.Scale)
		if !ok || !exact || !v.AppendDecimal(u) {
			t.Fatalf("decimal %q", text)
		}
	case catalog.Timestamp, catalog.TimestampLTZ:
		var nanos *big.Int
		if n, ok := new(big.Int).SetString(text, 10); ok {
			nanos = n
		} else {
			ts, err := time.Parse("2006-01-02T15:04:05.999999999", text)
			if err != nil {
				if ts, err = time.Parse("2006-01-02T15:04", text); err != nil {
					t.Fatal(err)
				}
			}
			nanos = new(big.Int).Add(new(big.Int).Mul(big.NewInt(ts.Unix()), big.NewInt(1e9)), big.NewInt(int64(ts.Nanosecond())))
		}
		if typ.Length > 6 {
			x, _ := vector.Int128FromBig(nanos)
			v.AppendI128(x)
		} else {
			v.AppendI64(new(big.Int).Div(nanos, big.NewInt(1000)).Int64())
		}
	default:
		v.AppendString(text)
	}
	return v
}

func vecs(t testing.TB, types []catalog.Type, texts ...string) []*vector.Vec {
	out := make([]*vector.Vec, len(types))
	for i := range types {
		out[i] = vec(t, types[i], texts[i], texts[i] == "NULL")
	}
	return out
}

// TestBucketHash checks the buckets that Java's extractor gave for random rows.
func TestBucketHash(t *testing.T) {
	ts := func(p int) catalog.Type { return catalog.TTimestamp(p) }
	ltz := func(p int) catalog.Type { return catalog.TTimestampLTZ(p) }
	head := []catalog.Type{catalog.TBoolean, catalog.TTinyInt, catalog.TSmallInt, catalog.TInt, catalog.TBigInt, catalog.TFloat, catalog.TDouble, catalog.TDate, ts(9)}
	with := func(more ...catalog.Type) []catalog.Type { return append(append([]catalog.Type{}, head...), more...) }
	for file, types := range map[string][]catalog.Type{
		"record_for_bucket_id":                with(catalog.TDecimal(30, 20), catalog.TString, catalog.TBytes),
		"record_with_null_for_bucket_id":      with(catalog.TDecimal(5, 2), catalog.TDecimal(30, 2), catalog.TString, catalog.TBytes),
		"record_with_timestamp_for_bucket_id": {ts(0), ts(3), ts(6), ts(9), ltz(0), ltz(3), ltz(6), ltz(9)},
	} {
		t.Run(file, func(t *testing.T) {
			f, err := os.Open(testkit.Shared(t, "fixtures/bucket-hash/"+file+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			enc := spec.NewRowEncoder(types)
			lines := bufio.NewScanner(f)
			n := 0
			for lines.Scan() {
				line := strings.TrimSuffix(strings.TrimSpace(lines.Text()), ",")
				if line == "" {
					continue
				}
				d := json.NewDecoder(strings.NewReader(line))
				d.UseNumber()
				var rec []any
				if err := d.Decode(&rec); err != nil {
					t.Fatal(err)
				}
				cols := make([]*vector.Vec, len(types))
				for i, typ := range types {
					switch x := rec[i].(type) {
					case nil:
						cols[i] = vec(t, typ, "", true)
					case bool:
						cols[i] = vec(t, typ, strconv.FormatBool(x), false)
					case json.Number:
						cols[i] = vec(t, typ, x.String(), false)
					case string:
						cols[i] = vec(t, typ, x, false)
					}
				}
				want, _ := rec[len(types)].(json.Number).Int64()
				row := enc.Encode(cols, 0)
				if got := spec.Bucket(row, 12345); int64(got) != want {
					t.Fatalf("line %d: bucket %d, Java's is %d: %s", n+1, got, want, line)
				}
				back, err := row.Decode(types)
				if err != nil {
					t.Fatal(err)
				}
				for i := range back {
					if vector.Compare(back[i], 0, cols[i], 0) != 0 && types[i].Length != 0 {
						t.Fatalf("line %d: column %d decodes to another value", n+1, i)
					}
				}
				n++
			}
			if n < 5000 {
				t.Errorf("only %d records", n)
			}
		})
	}
}

// TestBinaryRowExamples are bytes that the Java classes produced.
func TestBinaryRowExamples(t *testing.T) {
	cases := []struct {
		name  string
		types []catalog.Type
		vals  []string
		hex   string
		hash  int32
	}{
		{"mixed", []catalog.Type{catalog.TInt, catalog.TString, catalog.TString, catalog.TBigInt}, []string{"7", "cn", "2024-01-15", "NULL"},
			"0008000000000000 0700000000000000 636e000000000082 0a00000028000000 0000000000000000 323032342d30312d3135000000000000", 137524722},
		{"wide", []catalog.Type{catalog.TDecimal(10, 2), catalog.TDecimal(20, 2), catalog.TTimestamp(3), catalog.TTimestamp(6)},
			[]string{"12.34", "-1.00", "1000000000", "1705312800123456000"},
			"0000000000000000 d204000000000000 0100000028000000 e803000000000000 40f5060038000000 9c000000000000000000000000000000 7b4d900c8d010000", 694779533},
		{"nulls", []catalog.Type{catalog.TDecimal(20, 2), catalog.TTimestamp(6), catalog.TInt}, []string{"NULL", "NULL", "3"},
			"0003000000000000 0000000020000000 0000000030000000 0300000000000000" + strings.Repeat("00", 24), -1030957232},
		{"empty", nil, nil, "0000000000000000", -1670924195},
		{"int", []catalog.Type{catalog.TInt}, []string{"1"}, "0000000000000000 0100000000000000", 1465514398},
		{"bigint", []catalog.Type{catalog.TBigInt}, []string{"1001"}, "0000000000000000 e903000000000000", 1254117331},
		{"hello", []catalog.Type{catalog.TString}, []string{"hello"}, "0000000000000000 68656c6c6f000085", 243722546},
		{"string", []catalog.Type{catalog.TString}, []string{"20240101"}, "0000000000000000 0800000010000000 3230323430313031", -887995373},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			row := spec.NewRowEncoder(c.types).Encode(vecs(t, c.types, c.vals...), 0)
			if !bytes.Equal(row.Row(), want) || row.Arity() != len(c.types) {
				t.Errorf("got  %x\nwant %x", row.Row(), want)
			}
			if h := spec.Hash(row.Row()); h != c.hash {
				t.Errorf("hash %d, want %d", h, c.hash)
			}
		})
	}
	for _, c := range []struct {
		v      string
		typ    catalog.Type
		n, out int32
	}{{"1", catalog.TInt, 4, 2}, {"1", catalog.TBigInt, 5, 3}, {"42", catalog.TInt, 4, 1}, {"1001", catalog.TBigInt, 5, 1},
		{"hello", catalog.TString, 4, 2}, {"20240101", catalog.TString, 5, 3}} {
		types := []catalog.Type{c.typ}
		if b := spec.Bucket(spec.NewRowEncoder(types).Encode(vecs(t, types, c.v), 0), c.n); b != c.out {
			t.Errorf("bucket of %s of %d: %d, want %d", c.v, c.n, b, c.out)
		}
	}
	if !bytes.Equal(spec.EmptyRow, spec.NewRowEncoder(nil).Encode(nil, 0)) {
		t.Error("EmptyRow is not the row without fields")
	}
}

// TestManyFields has more fields than the null bits of one word.
func TestManyFields(t *testing.T) {
	for _, n := range []int{55, 56, 57, 120, 121} {
		types := make([]catalog.Type, n)
		cols := make([]*vector.Vec, n)
		for i := range types {
			types[i] = catalog.TInt
			cols[i] = vec(t, types[i], strconv.Itoa(i), i%3 == 0)
		}
		row := spec.NewRowEncoder(types).Encode(cols, 0)
		header := (n + 63 + 8) / 64 * 8
		if len(row) != 4+header+8*n {
			t.Errorf("%d fields: %d bytes", n, len(row))
		}
		back, err := row.Decode(types)
		if err != nil {
			t.Fatal(err)
		}
		for i := range back {
			if vector.Compare(back[i], 0, cols[i], 0) != 0 {
				t.Errorf("%d fields: field %d differs", n, i)
			}
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in       string
		n        int
		text     bool
		min, max string
		none     bool
	}{
		{"abc", 16, true, "abc", "abc", false},
		{"0123456789abcdefg", 16, true, "0123456789abcdef", "0123456789abcdeg", false},
		{"ééé", 2, true, "éé", "éê", false},
		{"a\U0010ffff\U0010ffff", 2, true, "a\U0010ffff", "b", false},
		{"\U0010ffff\U0010ffff", 1, true, "\U0010ffff", "", true},
		{"\ud7ff\ud7ff", 1, true, "\ud7ff", "\ue000", false},
		{"\x01\xff\xff\x01", 3, false, "\x01\xff\xff", "\x02", false},
		{"\xff\xff\xff", 2, false, "\xff\xff", "", true},
		{"", 4, true, "", "", false},
	} {
		if got := spec.TruncateMin([]byte(c.in), c.n, c.text); string(got) != c.min {
			t.Errorf("min of %q: %q", c.in, got)
		}
		got, ok := spec.TruncateMax([]byte(c.in), c.n, c.text)
		if ok == c.none || ok && string(got) != c.max {
			t.Errorf("max of %q: %q %v", c.in, got, ok)
		}
	}
}

func TestPartitionPath(t *testing.T) {
	s := &catalog.Schema{PartitionKeys: []string{"a:b", "d", "ts"}, Options: map[string]string{}, Fields: []catalog.Field{
		{Name: "a:b", Type: catalog.TString}, {Name: "d", Type: catalog.TDate}, {Name: "ts", Type: catalog.TTimestamp(6)}}}
	types := spec.TypesOf(s, s.PartitionKeys)
	for _, c := range []struct {
		vals   []string
		legacy string
		path   string
	}{
		{[]string{"x/y z", "19737", "2024-01-15T10:00"}, "true", "a%3Ab=x%2Fy z/d=19737/ts=2024-01-15T10%3A00/"},
		{[]string{" ", "-1", "1969-12-31T23:59:59.5"}, "true", "a%3Ab=__DEFAULT_PARTITION__/d=-1/ts=1969-12-31T23%3A59%3A59.500/"},
		{[]string{"NULL", "19737", "2024-01-15T10:00:01.000001"}, "false", "a%3Ab=__DEFAULT_PARTITION__/d=2024-01-15/ts=2024-01-15 10%3A00%3A01.000001/"},
	} {
		s.Options["partition.legacy-name"] = c.legacy
		got, err := spec.NewPartitioner(s).Path(spec.NewRowEncoder(types).Encode(vecs(t, types, c.vals...), 0))
		if err != nil || got != c.path {
			t.Errorf("%v: %q %v, want %q", c.vals, got, err, c.path)
		}
	}
	if got := spec.UnescapePath(spec.EscapePath("a/b%=ü\x01")); got != "a/b%=ü\x01" {
		t.Errorf("escaping does not round-trip: %q", got)
	}
	for f, want := range map[float64]string{1: "1.0", 0.001: "0.001", 1e7: "1.0E7", 1.5e-4: "1.5E-4", -123456.75: "-123456.75", 1e21: "1.0E21"} {
		if got := spec.JavaFloat(f, 64); got != want {
			t.Errorf("%v prints as %s, want %s", f, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	o := spec.NewOptions(map[string]string{"a": "128 mb", "b": "1 h", "c": "30", "d": "TRUE", "e": "10s"})
	if o.Size("a", 0) != 128<<20 || o.Duration("b", 0) != time.Hour || o.Duration("c", 0) != 30*time.Millisecond || !o.Bool("d", false) ||
		o.Duration("e", 0) != 10*time.Second || o.Int("c", 0) != 30 || o.Err != nil {
		t.Errorf("options read wrongly: %v", o.Err)
	}
	if o.Size("b", 7) != 7 || o.Err == nil {
		t.Error("a bad size was accepted")
	}
}
