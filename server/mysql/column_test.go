package mysql

import (
	"math"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/vector"
)

// recorded is a column definition that MySQL sent.
type recorded struct {
	Name     string   `json:"name"`
	Code     byte     `json:"code"`
	Length   uint32   `json:"length"`
	Decimals byte     `json:"decimals"`
	Charset  uint16   `json:"charset"`
	Flags    []string `json:"flags"`
}

var flagNames = []struct {
	bit  uint16
	name string
}{{flagNotNull, "NOT_NULL"}, {flagPriKey, "PRI_KEY"}, {flagBlob, "BLOB"}, {flagUnsigned, "UNSIGNED"}, {flagZerofill, "ZEROFILL"},
	{flagBinary, "BINARY"}, {flagEnum, "ENUM"}, {flagSet, "SET"}, {flagPartKey, "PART_KEY"}}

func TestCivil(t *testing.T) {
	for d := int64(-719528); d < 2932897; d += 97 {
		y, m, day := civil(d)
		at := time.Unix(d*secondsPerDay, 0).UTC()
		if y != at.Year() || m != int(at.Month()) || day != at.Day() || days(y, m, day) != d {
			t.Fatalf("day %d: %d-%d-%d, want %s; back %d", d, y, m, day, at, days(y, m, day))
		}
	}
}

func TestZone(t *testing.T) {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	z := zone{loc: loc}
	for s := int64(-3_000_000_000); s < 3_000_000_000; s += 1_234_567 {
		at := time.Unix(s, 0).In(loc)
		_, off := at.Zone()
		if got := z.wall(s*microsPerSecond + 5); got != (s+int64(off))*microsPerSecond+5 {
			t.Fatalf("%s: %d", at, got)
		}
	}
}

func TestDecimalText(t *testing.T) {
	for _, x := range []int64{0, 1, -1, 9, 10, 99, -100, 12345, math.MaxInt64, math.MinInt64} {
		for scale := range 19 {
			v := vector.New(vector.I64, 1)
			v.AppendI64(x)
			c := cell{kind: vector.I64, vals: v, i64s: v.I64s, scale: scale}
			if got, want := string(appendDecimal(nil, &c, 0)), string(vector.FormatDecimal(nil, x, scale)); got != want {
				t.Errorf("%d scale %d: %s, want %s", x, scale, got, want)
			}
		}
	}
}
