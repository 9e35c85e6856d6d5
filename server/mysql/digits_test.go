package mysql

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// Every day of the years 0 to 9999, and days far beyond, are those of package time.
func TestCivilDays(t *testing.T) {
	from, to := days(0, 3, 1), days(9999, 12, 31)
	at := time.Date(0, 3, 1, 0, 0, 0, 0, time.UTC)
	for z := from; z <= to; z++ {
		y, m, d := civil(z)
		if wy, wm, wd := at.Date(); y != wy || m != int(wm) || d != wd {
			t.Fatalf("day %d: %d-%d-%d, want %s", z, y, m, d, at.Format(time.DateOnly))
		}
		at = at.AddDate(0, 0, 1)
	}
	for _, z := range []int64{-719468, -719469, -800000, 1<<24 - 1, 1 << 24, 1<<24 + 1, -1 << 31, 1<<31 - 1} {
		y, m, d := civil(z)
		if got := days(y, m, d); got != z {
			t.Errorf("day %d: %d-%d-%d is day %d", z, y, m, d, got)
		}
	}
}

// Numbers are those of package big, at every scale and of every length.
func TestAppendNumber(t *testing.T) {
	values := []int64{0, 1, -1, 9, 10, 99, 100, 101, -100, math.MaxInt64, math.MinInt64, math.MaxUint32, math.MaxUint32 + 1}
	for i, p := 0, int64(1); i < 19; i, p = i+1, p*10 {
		values = append(values, p-1, p, p+1, -p)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		values = append(values, int64(r.Uint64())>>r.IntN(64))
	}
	for _, v := range values {
		for scale := range maxScale + 1 {
			want := new(big.Rat).SetFrac(big.NewInt(v), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
			if got := string(appendNumber(nil, v, scale)); got != want {
				t.Fatalf("%d at scale %d: %s, want %s", v, scale, got, want)
			}
		}
	}
}

// Wall clock times are those of package time.
func TestAppendDateTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for scale, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05.0", "2006-01-02 15:04:05.00", "", "", "", "2006-01-02 15:04:05.000000"} {
		if layout == "" {
			continue
		}
		c := &cell{scale: scale, date: date{day: math.MinInt64}}
		for range 20000 {
			us := r.Int64N(9998*365*microsPerDay) - 1900*365*microsPerDay
			want := time.UnixMicro(us).UTC()
			if y := want.Year(); y < 0 || y > 9999 {
				continue
			}
			if got := string(c.appendDateTime(nil, us)); got != want.Format(layout) {
				t.Fatalf("%d at scale %d: %s, want %s", us, scale, got, want.Format(layout))
			}
		}
	}
}
