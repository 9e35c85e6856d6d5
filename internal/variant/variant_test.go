package variant

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// Values that Java Paimon 2.0.0 wrote, with their texts, and some of the types
// that no JSON gives, made by hand from the encoding's description.
var values = []struct{ value, metadata, text string }{
	{"0c01", "010000", `1`},
	{"0d737472", "010000", `"str"`},
	{"00", "010000", `null`},
	{"04", "010000", `true`},
	{"0202000100021" + "30c010303000204" + "0b0c010c0202010200020578", "01030001020361" + "6263", `{"a":1,"b":[1,2,{"c":"x"}]}`},
	{"030000", "010000", `[]`},
	{"20010f000000", "010000", `1.5`},
	{"2800d20a1feb8ca954ab0000000000000000", "010000", `12345678901234567890`},
	{"2c00000000", "010000", `"1970-01-01"`},
	{"30ffffffffffffffff", "010000", `"1969-12-31 23:59:59.999999+00:00"`},
	{"34a086010000000000", "010000", `"1970-01-01 00:00:00.1"`},
	{"3cfeffffff", "010000", ``},
	{"3c0200000000ff", "010000", `"AP8="`},
	{"1c0000000000003e40", "010000", `30.0`},
	{"380000c07f", "010000", `"NaN"`},
	{"5000112233445566778899aabbccddeeff", "010000", `"00112233-4455-6677-8899-aabbccddeeff"`},
	{"2002f4010000", "010000", `5`},
	{"0204010003020600393846200296000000030600090f181e20291c000000205fa002422001000000001c800558693a38d74720010a0000000c641c48afbc9af2d77a3e0031011f0a095c20c3bcf09f9880",
		"0104000102030562617a6b22", `{"a":[1.0E10,0,1.2345678901234568E38,1,100,1.0E-7],"b":1.5,"k\"":"\u0001\u001F\n\t\\ ü😀","z":null}`},
	{"1470110100", "010000", `70000`},
	{"18000efad5feffffff", "010000", `-5000000000`},
	{"200601000000", "010000", `0.000001`},
	{"0304000102030d0408012403d5ff954900000000", "010000", `[true,false,"",1234567.125]`},
}

func TestAppendJSON(t *testing.T) {
	for _, v := range values {
		value, _ := hex.DecodeString(v.value)
		metadata, _ := hex.DecodeString(v.metadata)
		got, err := AppendJSON(nil, value, metadata)
		if v.text == "" {
			if errs.ClassOf(err) != errs.Corruption {
				t.Errorf("%s: %s, %v", v.value, got, err)
			}
			continue
		}
		if err != nil || string(got) != v.text {
			t.Errorf("%s: %s, %v, want %s", v.value, got, err, v.text)
		}
	}
}

// FuzzAppendJSON: any bytes give JSON or an error.
func FuzzAppendJSON(f *testing.F) {
	for _, v := range values {
		value, _ := hex.DecodeString(v.value)
		metadata, _ := hex.DecodeString(v.metadata)
		f.Add(value, metadata)
	}
	f.Fuzz(func(t *testing.T, value, metadata []byte) {
		if len(value) > 200 {
			return
		}
		got, err := AppendJSON(nil, value, metadata)
		if err == nil && !json.Valid(got) {
			t.Errorf("%x %x: %q", value, metadata, got)
		}
	})
}
