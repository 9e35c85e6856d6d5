package read

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/format/jsonl"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// appendText appends a value in the canonical text of package jsonl.
func appendText(t *testing.T, v *vector.Vec, typ catalog.Type, text json.RawMessage) {
	t.Helper()
	if string(text) == "null" {
		v.AppendNull()
		return
	}
	into := func(p any) {
		if err := json.Unmarshal(text, p); err != nil {
			t.Fatalf("%s as %s: %v", text, typ, err)
		}
	}
	var s string
	switch typ.Kind {
	case catalog.Boolean:
		v.AppendBool(string(text) == "true")
	case catalog.TinyInt, catalog.SmallInt, catalog.Int:
		var x int32
		into(&x)
		v.AppendI32(x)
	case catalog.BigInt:
		var x int64
		into(&x)
		v.AppendI64(x)
	case catalog.Float, catalog.Double:
		f, ok := javaParseFloat(strings.Trim(string(text), `"`), 64)
		if !ok {
			t.Fatal(string(text))
		}
		if typ.Kind == catalog.Float {
			v.AppendF32(float32(f))
		} else {
			v.AppendF64(f)
		}
	case catalog.Decimal:
		into(&s)
		u, scale, ok := javaParseDecimal(s)
		if !ok || scale != typ.Scale || !v.AppendDecimal(u) {
			t.Fatal(s)
		}
	case catalog.Binary, catalog.Varbinary:
		var b struct{ B string }
		into(&b)
		x, err := hex.DecodeString(b.B)
		if err != nil {
			t.Fatal(err)
		}
		v.AppendBytes(x)
	case catalog.Array:
		var list []json.RawMessage
		into(&list)
		for _, x := range list {
			appendText(t, v.Child[0], *typ.Elem, x)
		}
		v.CloseList()
	case catalog.Map:
		var m struct{ M [][2]json.RawMessage }
		into(&m)
		for _, x := range m.M {
			appendText(t, v.Child[0], *typ.Key, x[0])
			appendText(t, v.Child[1], *typ.Elem, x[1])
		}
		v.CloseList()
	case catalog.Row:
		var r struct{ R []json.RawMessage }
		into(&r)
		for i, x := range r.R {
			appendText(t, v.Child[i], typ.Fields[i].Type, x)
		}
		v.CloseStruct()
	case catalog.Date, catalog.Time, catalog.Timestamp, catalog.TimestampLTZ:
		into(&s)
		layout := map[catalog.TypeKind]string{catalog.Date: "2006-01-02", catalog.Time: "15:04:05", catalog.Timestamp: "2006-01-02 15:04:05", catalog.TimestampLTZ: "2006-01-02 15:04:05Z"}[typ.Kind]
		at, err := time.Parse(layout, s)
		if err != nil {
			t.Fatal(err)
		}
		switch typ.Kind {
		case catalog.Date:
			v.AppendI32(int32(floorDays(at.Unix())))
		case catalog.Time:
			v.AppendI32(int32((at.Hour()*3600+at.Minute()*60+at.Second())*1000 + at.Nanosecond()/1e6))
		default:
			if err := appendTimestamp(v, at.UnixMilli(), int64(at.Nanosecond()%1e6)); err != nil {
				t.Fatal(err)
			}
		}
	default:
		into(&s)
		v.AppendString(s)
	}
}

func floorDays(seconds int64) int64 {
	d := seconds / 86400
	if seconds%86400 < 0 {
		d--
	}
	return d
}

// TestCastsAsJavaReads casts values between all types that Java Paimon lets a
// column change between, and compares with what it reads then.
//
// testdata/casts.golden has, for each pair of types, values as Java wrote them into
// an append table in Parquet (in) and as Java Paimon 2.0.0 read them after ALTER
// TABLE changed the column's type (out), or the error of that read.
func TestCastsAsJavaReads(t *testing.T) {
	f, err := os.Open("testdata/casts.golden")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused := map[string]bool{}
	n := 0
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var c struct {
			From, To catalog.Type
			In, Out  []json.RawMessage
			Error    string
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		unquote := func(list []json.RawMessage) (out []json.RawMessage) {
			for _, x := range list {
				var s string
				if err := json.Unmarshal(x, &s); err != nil {
					t.Fatal(err)
				}
				out = append(out, json.RawMessage(s))
			}
			return out
		}
		in, out := unquote(c.In), unquote(c.Out)
		g, err := newCast(c.From, c.To)
		if errs.ClassOf(err) == errs.Unsupported && err != nil {
			refused[kindName(c.From)+" to "+kindName(c.To)] = true
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		v := c.From.NewVec(len(in))
		for i := 0; i < len(in); {
			// Seconds that overflow as milliseconds wrap in Java; here they are an error.
			if c.From.Kind == catalog.BigInt && c.To.Kind == catalog.Timestamp && len(in[i]) >= 19 {
				in, out = append(in[:i:i], in[i+1:]...), append(out[:i:i], out[i+1:]...)
				continue
			}
			i++
		}
		for _, x := range in {
			appendText(t, v, c.From, x)
		}
		got := v
		if g != nil {
			got, err = g(v)
		}
		n++
		switch {
		case c.Error != "":
			if err == nil {
				t.Errorf("%s to %s, %s: %s, but Java fails with %s", c.From, c.To, in, jsonl.AppendValue(nil, got, 0, c.To), c.Error)
			} else if errs.ClassOf(err) != errs.User {
				t.Errorf("%s to %s: class %s, %v", c.From, c.To, errs.ClassOf(err), err)
			}
		case err != nil:
			t.Errorf("%s to %s, %s: %v, want %s", c.From, c.To, in, err, out)
		default:
			for i, want := range out {
				if text := string(jsonl.AppendValue(nil, got, i, c.To)); text != string(want) {
					t.Errorf("%s to %s, %s: %s, want %s", c.From, c.To, in[i], text, want)
				}
			}
		}
	}
	if err := sc.Err(); err != nil || n < 300 {
		t.Fatalf("%d casts, %v", n, err)
	}
	// These depend on the zone of who reads; the golden values are of UTC.
	for pair := range refused {
		if !strings.Contains(pair, "LOCAL") {
			t.Errorf("%s is refused", pair)
		}
	}
	t.Logf("%d casts; refused: %d pairs", n, len(refused))
}

func kindName(t catalog.Type) string {
	s := t.String()
	if t.Kind == catalog.TimestampLTZ {
		return "LOCAL"
	}
	if i := strings.IndexAny(s, "(<"); i > 0 {
		s = s[:i]
	}
	return s
}

// FuzzCastTexts: any text becomes a value of each type, or an error.
func FuzzCastTexts(f *testing.F) {
	for _, s := range []string{"", "1", "-1.5e3", "NaN", "2024-02-29", "2024-2-9 1:2:3.4", "23:59:59.999999999", "9999999-1-1", "1e99999", "+", ".", "0x1p3", "-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, to := range []catalog.Type{catalog.TFloat, catalog.TDouble, catalog.TDecimal(10, 2), catalog.TDecimal(38, 38), catalog.TDate, catalog.TTime(0), catalog.TTime(9),
			catalog.TTimestamp(0), catalog.TTimestamp(9), catalog.TBigInt, catalog.TBoolean} {
			g, err := newCast(catalog.TString, to)
			if err != nil {
				t.Fatal(err)
			}
			v := catalog.TString.NewVec(1)
			v.AppendString(s)
			if out, err := g(v); err == nil && out.Len != 1 || err != nil && errs.ClassOf(err) != errs.User {
				t.Errorf("%q as %s: %v", s, to, err)
			}
		}
	})
}
